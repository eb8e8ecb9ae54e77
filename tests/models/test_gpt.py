"""The decoder: causal, switchable, seeded, resumable to the same bytes."""

import numpy as np
import pytest
import torch

from icl import training
from icl.chapters import mlp_gpt
from icl.models.gpt import GPT, GPTConfig
from icl.prompts import PromptLaw
from icl.training import Schedule
from icl.validation import InputError


def test_mlp_switch_changes_the_parameters_only_by_the_mlp(rng):
    names = {mlp: {name for name, _ in GPT(GPTConfig(3, 5, mlp=mlp), rng=rng).named_parameters()} for mlp in (0, 1)}
    assert names[0] < names[1]
    assert all(".mlp." in name or ".norm_2." in name for name in names[1] - names[0])


def test_attention_is_causal_and_the_answer_reads_every_example(rng):
    model = GPT(GPTConfig(2, 4, layers=3), rng=rng)
    E = torch.from_numpy(rng.standard_normal((1, 3, 5))).float().requires_grad_()
    (gradient,) = torch.autograd.grad(model(E).sum(), E)
    assert (gradient.abs().sum(1) > 0).all()
    x = model.read_in(E.mT) + model.position
    hidden = model.blocks[0](x)
    (backward,) = torch.autograd.grad(hidden[0, 1].sum(), E)
    assert (backward[0, :, 2:] == 0).all() and (backward[0, :, :2] != 0).any()


def test_one_head_of_attention_by_hand(rng):
    model = GPT(GPTConfig(2, 4, heads=1, width=6), rng=rng)
    attention, x = model.blocks[0].attention, torch.from_numpy(rng.standard_normal((1, 5, 6))).float()
    q, k, v = attention.qkv(x)[0].split(6, -1)
    scores = (q @ k.T / np.sqrt(6)).masked_fill(torch.ones(5, 5).triu(1).bool(), -torch.inf)
    torch.testing.assert_close(attention(x)[0], attention.out(scores.softmax(-1) @ v), rtol=1e-4, atol=1e-6)


def test_interrupted_training_resumes_to_the_same_bytes(tmp_path, monkeypatch):
    law, config = PromptLaw.isotropic(2, 4, 0.1, np.ones(2)), GPTConfig(2, 4)

    def run(checkpoint):
        rng = np.random.default_rng(5)
        return mlp_gpt.train_gpt(config, law, Schedule(12, 1e-2, 1.0), rng, label="t", batch=8, checkpoint=checkpoint)

    whole = run(None)
    calls, real = [0], mlp_gpt.squared_errors

    def interrupted(*args):
        calls[0] += 1
        if calls[0] == 9:
            raise KeyboardInterrupt
        return real(*args)

    path, train = tmp_path / "run.safetensors", training.train
    monkeypatch.setattr(mlp_gpt, "train", lambda *a, **k: train(*a, **k, every=4))
    monkeypatch.setattr(mlp_gpt, "squared_errors", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(path)
    monkeypatch.setattr(mlp_gpt, "squared_errors", real)
    for a, b in zip(whole.parameters(), run(path).parameters(), strict=True):
        assert torch.equal(a, b)


def test_bad_input(rng):
    with pytest.raises(InputError, match="multiple of heads"):
        GPTConfig(3, 5, heads=3, width=32)
    with pytest.raises(InputError, match="layers"):
        GPTConfig(3, 5, layers=0)
    with pytest.raises(InputError, match="d \\+ 1 rows"):
        GPT(GPTConfig(3, 5), rng=rng)(torch.zeros(1, 4, 5))
