"""Trained weights on disk: safetensors (no code can hide in it) with a record and a SHA-256.

A safetensors file alone notices truncation but not a flipped bit in the weights, so the record, kept
in the file's header, carries a digest of every tensor and of the record itself.
"""

import hashlib
import json
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load as load_tensors
from safetensors.torch import save as save_tensors

from icl.files import write_atomically
from icl.validation import InputError


def save(path: Path | str, tensors: dict[str, torch.Tensor], record: dict) -> Path:
    """Write named tensors (any shapes) and a JSON-able `record`, whole or not at all; same bytes each time."""
    tensors = {name: tensor.detach().contiguous() for name, tensor in tensors.items()}
    header = json.dumps({"record": record, "sha256": _digest(tensors, record)}, sort_keys=True)
    return write_atomically(path, save_tensors(tensors, metadata={"icl": header}))


def load(path: Path | str) -> tuple[dict[str, torch.Tensor], dict]:
    """Read (tensors, record). Raises InputError, with the file and the reason, for anything not intact."""
    path = Path(path)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read the checkpoint {path}: {error.strerror}.") from error
    try:
        tensors = load_tensors(content)
        length = int.from_bytes(content[:8], "little")
        header = json.loads(json.loads(content[8 : 8 + length])["__metadata__"]["icl"])
        record, digest = header["record"], header["sha256"]
    except (SafetensorError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path} is not an intact checkpoint ({error}); delete it and train again.") from error
    if _digest(tensors, record) != digest:
        raise InputError(f"{path} was altered after it was written: its SHA-256 differs; delete it and train again.")
    return tensors, record


def _digest(tensors: dict[str, torch.Tensor], record: dict) -> str:
    sha = hashlib.sha256(json.dumps(record, sort_keys=True).encode())
    for name in sorted(tensors):
        tensor = tensors[name]
        sha.update(f"{name}:{tensor.dtype}:{tuple(tensor.shape)}".encode())
        sha.update(tensor.cpu().numpy().tobytes())
    return sha.hexdigest()
