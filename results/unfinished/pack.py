"""pack STATE SMALL | unpack SMALL STATE: a training's state without Muon's momentum, weights in float16, and back."""
import sys
import torch
from icl import checkpoints
from icl.settling import LONGEST
how, src, dst = sys.argv[1:]
tensors, record = checkpoints.load(src)
if how == "pack":
    halved = lambda k, v: v.half() if ".blocks." in k and v.ndim == 2 else v
    kept = {k: halved(k, v) for k, v in tensors.items() if not k.startswith("muon.")}
    kept["curve"] = tensors["curve"][: record["step"]].clone()
else:
    kept = {k: (v.float() if k.startswith("model.") else v) for k, v in tensors.items()}
    curve = torch.full((LONGEST,), float("nan"), dtype=torch.float64)
    curve[: record["step"]] = tensors["curve"]
    kept["curve"] = curve
    for k in list(kept):
        if k.startswith("model.") and "blocks." in k and kept[k].ndim == 2:
            name, count = k[6:], 3 if k.endswith("qkv.weight") else 1
            for i, part in enumerate(torch.zeros_like(kept[k]).chunk(count)):
                kept[f"muon.{i}.{name}"] = part
print(checkpoints.save(dst, kept, record), record["step"])
