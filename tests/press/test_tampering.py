"""A thousand corrupted results: 500 checkpoints and 500 ledgers, every one refused with the file and the reason."""

import json
import pickle
import struct

import numpy as np
import pytest
import torch

from icl import checkpoints, search
from icl.chapters import catalogue, check_parameters, read_ledger
from icl.estimates import Estimate
from icl.figures import Figure, canvas, style
from icl.files import dumps, sealed
from icl.ledger import Ledger, read_figure
from icl.prompts import PromptLaw
from icl.randomness import Streams
from icl.training import Schedule, train
from icl.validation import InputError

EACH = 500
CHAPTER = "01_one_step_gd"
SCHEDULE = Schedule(6, 0.02)


class Evil:
    """A pickle of it writes a file when it is loaded."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


def model_and_loss(seed=5):
    rng = np.random.default_rng(seed)
    model = search.LinearSelfAttention(3, rng=rng, init="label_path")
    law = PromptLaw.isotropic(3, 8, 0.25)

    def loss(step):
        batch = law.sample(rng, 8)
        X, y, x, target = (torch.from_numpy(part) for part in (batch.X, batch.y, batch.x_query, batch.y_query))
        return ((model.effective(law.n).predict(X, y, x) - target) ** 2).mean()

    return model, loss, rng


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    """A training's own checkpoint."""
    path = tmp_path_factory.mktemp("checkpoint") / "run.safetensors"
    model, loss, rng = model_and_loss()
    train(model, loss, SCHEDULE, rng=rng, checkpoint=path)
    return path


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A chapter's ledger with a figure, as the notebook saves it."""
    folder = tmp_path_factory.mktemp("run")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ICL_OUT", str(folder))
        ledger = Ledger(CHAPTER, check_parameters(CHAPTER), catalogue(CHAPTER), Streams(CHAPTER, 0))
    for k, (id, entry) in enumerate(catalogue(CHAPTER).items()):
        near = (0.5,) if entry["near_miss"] else ()
        ledger.claims({id: (1 / (k + 3), Estimate(1 / (k + 3) + 1e-13, 0.001 * k, 10), *near)})
    ledger.number("digits", 9.25)
    with style():
        drawing, axis = canvas()
        axis.plot([0, 1], [1, 2])
    ledger.figure(Figure("demo", drawing, {"x": np.linspace(0, 1, 7), "y": np.array([1 / 3, 2 / 3])}, "a line"))
    ledger.save()
    return folder


def flip(content: bytes, rng, bits=1) -> bytes:
    damaged = bytearray(content)
    for bit in rng.choice(8 * len(content), bits, replace=False):
        damaged[bit // 8] ^= 1 << (bit % 8)
    return bytes(damaged)


def anywhere(content: bytes, rng, path) -> bytes:
    """Damage without knowledge of the format."""
    kind, place = rng.integers(6), int(rng.integers(len(content)))
    if kind <= 1:
        return flip(content, rng, bits=int(rng.integers(1, 4)))
    if kind == 2:
        return content[:place]
    if kind == 3:
        return content + rng.bytes(int(rng.integers(1, 9)))
    if kind == 4:
        return content[:place] + rng.bytes(4) + content[place:]
    return [b"", b"\0" * len(content), b" " + content, content + b"\n", pickle.dumps(Evil(path)), b"[]"][place % 6]


def in_checkpoint(content: bytes, rng, path) -> bytes:
    """Damage that keeps the format: the header's JSON, its length, an offset, a NaN, another tensor's type."""
    length = struct.unpack("<Q", content[:8])[0]
    header, body = content[8 : 8 + length], content[8 + length :]
    kind = rng.integers(6)
    if kind == 0:
        return content[:8] + flip(header, rng) + body
    if kind == 1:
        return struct.pack("<Q", length + int(rng.integers(1, 64))) + content[8:]
    fields = json.loads(header)
    name = str(rng.choice([key for key in fields if key != "__metadata__"]))
    inner = json.loads(fields["__metadata__"]["icl"])
    if kind == 2:
        fields[name]["dtype"] = str(rng.choice(["F16", "I64", "BF16", "U8", "F8_E4M3", "none"]))
    elif kind == 3:
        inner["record"]["step"] = [float("nan"), "7", None, -3, 10**30, [1]][rng.integers(6)]
    elif kind == 4:
        inner["record"]["rng"]["state"]["state"] += int(rng.integers(1, 99))
    else:
        inner = [None, [], {}, {"record": 3}, {"sha256": inner["sha256"]}, "text"][rng.integers(6)]
    fields["__metadata__"]["icl"] = json.dumps(inner, sort_keys=True)
    header = json.dumps(fields).encode()
    return struct.pack("<Q", len(header)) + header + body


def in_ledger(content: bytes, rng, path) -> bytes:
    """Damage that keeps the format: a digit, a verdict, a missing or wrong-typed field, NaN, some sealed anew."""
    ledger = json.loads(content)
    kind, claim = rng.integers(8), ledger["claims"][rng.integers(len(ledger["claims"]))]
    seal = sealed
    if kind == 0:  # one digit of one number
        digits = [k for k, byte in enumerate(content) if chr(byte).isdigit()]
        place = int(rng.choice(digits))
        return content[:place] + str((int(chr(content[place])) + 1) % 10).encode() + content[place + 1 :]
    if kind == 1:
        claim["measured"], seal = float("nan"), json.dumps
    elif kind == 2:
        claim["verdict"], seal = "holds" if claim["verdict"] == "fails" else "fails", dumps
    elif kind == 3:  # from here on with a right digest of the wrong content
        claim[str(rng.choice(["measured", "stderr"]))] = [True, "0.3", [1.0], {}, "<b>"][rng.integers(5)]
    elif kind == 4:
        del claim[str(rng.choice(["verdict", "method", "id", "measured"]))]
    elif kind == 5:
        del ledger[str(rng.choice(["chapter", "claims", "numbers", "figures", "parameters"]))]
    elif kind == 6:
        ledger["parameters"] |= [{"d": 0}, {"sigma": 1}, {"n": 2.5}, {"profile": "fast"}][rng.integers(4)]
    else:
        ledger |= [{"chapter": "02_preconditioned_gd"}, {"figures": {"../../x": {}}}, {"extra": 1}, {"claims": 3}][
            rng.integers(4)
        ]
    return seal(ledger).encode()


def refused(read, path, evil) -> str:
    with pytest.raises(InputError) as caught:
        read()
    message = str(caught.value)
    assert str(path) in message and len(message) > len(str(path)) + 20, message
    assert not evil.exists(), "code in a pickle was run"
    return message


def test_500_checkpoints(checkpoint, tmp_path):
    rng, content = np.random.default_rng(1), checkpoint.read_bytes()
    path, evil = tmp_path / "c.safetensors", tmp_path / "evil"
    for number in range(EACH):
        damage = anywhere if number % 2 else in_checkpoint
        damaged = damage(content, rng, evil)
        assert damaged != content
        path.write_bytes(damaged)
        refused(lambda: checkpoints.load(path), path, evil)
        if number % 10 == 0:  # and a training does not go on from it
            model, loss, generator = model_and_loss()
            resume = lambda: train(model, loss, SCHEDULE, rng=generator, checkpoint=path)  # noqa: B023
            refused(resume, path, evil)


def test_500_ledgers(run, tmp_path):
    rng, content = np.random.default_rng(2), (run / f"{CHAPTER}.json").read_bytes()
    path, evil = tmp_path / f"{CHAPTER}.json", tmp_path / "evil"
    for number in range(EACH):
        damage = anywhere if number % 2 else in_ledger
        damaged = damage(content, rng, evil)
        assert damaged != content
        path.write_bytes(damaged)
        refused(lambda: read_ledger(tmp_path, CHAPTER), path, evil)


def test_what_is_intact_is_read(run, checkpoint):
    assert len(read_ledger(run, CHAPTER)["claims"]) == len(catalogue(CHAPTER))
    assert checkpoints.load(checkpoint)[1]["step"] == SCHEDULE.steps


@pytest.mark.parametrize("suffix", ["svg", "csv"])
def test_figures_are_vouched_for(run, tmp_path, suffix):
    rng, ledger = np.random.default_rng(3), read_ledger(run, CHAPTER)
    source = run / CHAPTER / f"demo.{suffix}"
    path = tmp_path / CHAPTER / source.name
    path.parent.mkdir()
    for _ in range(50):
        path.write_bytes(anywhere(source.read_bytes(), rng, tmp_path / "evil"))
        refused(lambda: read_figure(tmp_path, ledger, "demo", suffix), path, tmp_path / "evil")


@pytest.mark.parametrize(
    "spoil",
    [
        lambda tensors, record: record.update(step=99),
        lambda tensors, record: record.update(step="6"),
        lambda tensors, record: record.update(rng={"state": 3}),
        lambda tensors, record: record.pop("rng"),
        lambda tensors, record: tensors.pop("adam.exp_avg.W_K"),
        lambda tensors, record: tensors.update(curve=torch.zeros(3)),
        lambda tensors, record: tensors.update({"model.W_K": torch.zeros(2, 2)}),
        lambda tensors, record: tensors.update({"adam.exp_avg.W_K": torch.zeros(1)}),
        lambda tensors, record: record.update(schedule={}),
    ],
)
def test_a_right_digest_of_the_wrong_run(checkpoint, tmp_path, spoil):
    tensors, record = checkpoints.load(checkpoint)
    spoil(tensors, record)
    path = checkpoints.save(tmp_path / "c", tensors, record)
    model, loss, rng = model_and_loss()
    refused(lambda: train(model, loss, SCHEDULE, rng=rng, checkpoint=path), path, tmp_path / "evil")


def test_a_checkpoint_of_another_seed(checkpoint):
    model, loss, rng = model_and_loss(seed=6)
    with pytest.raises(InputError, match="another run"):
        train(model, loss, SCHEDULE, rng=rng, checkpoint=checkpoint)


def test_a_record_must_be_json(tmp_path):
    with pytest.raises(InputError, match="must be JSON"):
        checkpoints.save(tmp_path / "c", {}, {"x": float("nan")})
    assert not (tmp_path / "c").exists()
