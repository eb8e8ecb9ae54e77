"""Trained weights on disk: safetensors (no code can hide in it) with a record and a SHA-256.

A safetensors file alone notices truncation but not a flipped bit in the weights, so the record, kept
in the file's header, carries a digest of every tensor and of the record itself. What has been read must
also give the file again, byte for byte, so that no bit of the header or of the padding can differ either.
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

FOLDER = Path(__file__).resolve().parents[1] / "results" / "checkpoints"  # what the book ships
STATES = FOLDER.parents[1] / "_build" / "train"  # trainings under way


def save(path: Path | str, tensors: dict[str, torch.Tensor], record: dict) -> Path:
    """Write named tensors (any shapes) and a JSON-able `record`, whole or not at all; same bytes each time.

    Raises InputError for a record that holds NaN or infinity, and where the file cannot be written.
    """
    return write_atomically(path, _content(tensors, record))


def load(path: Path | str) -> tuple[dict[str, torch.Tensor], dict]:
    """Read (tensors, record). Raises InputError, with the file and the reason, for anything not intact."""
    path = Path(path)
    try:
        content = path.read_bytes()
    except (OSError, ValueError) as error:
        raise InputError(f"cannot read the checkpoint {path}: {getattr(error, 'strerror', error)}.") from error
    try:
        tensors = load_tensors(content)
        length = int.from_bytes(content[:8], "little")
        header = json.loads(json.loads(content[8 : 8 + length])["__metadata__"]["icl"])
        record = header["record"]
        intact = _content(tensors, record) == content  # the digest, computed anew, is part of it
    except (SafetensorError, ValueError, KeyError, TypeError, RuntimeError) as error:
        raise InputError(f"{path} is not an intact checkpoint ({error}); delete it and train again.") from error
    if not intact:
        raise InputError(f"{path} was altered after it was written: its SHA-256 differs; delete it and train again.")
    return tensors, record


def _content(tensors: dict[str, torch.Tensor], record: dict) -> bytes:
    tensors = {name: tensor.detach().contiguous() for name, tensor in tensors.items()}
    try:
        header = json.dumps({"record": record, "sha256": _digest(tensors, record)}, sort_keys=True, allow_nan=False)
    except ValueError as error:
        raise InputError(f"a checkpoint's record must be JSON ({error}).") from None
    return save_tensors(tensors, metadata={"icl": header})


def _digest(tensors: dict[str, torch.Tensor], record: dict) -> str:
    sha = hashlib.sha256(json.dumps(record, sort_keys=True).encode())
    for name in sorted(tensors):
        tensor = tensors[name]
        sha.update(f"{name}:{tensor.dtype}:{tuple(tensor.shape)}".encode())
        sha.update(tensor.cpu().reshape(-1).view(torch.uint8).numpy().tobytes())  # bytes, whatever the type
    return sha.hexdigest()
