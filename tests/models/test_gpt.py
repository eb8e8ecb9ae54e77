"""The decoder: causal, switchable, seeded, resumable to the same bytes."""

import numpy as np
import pytest
import torch

from icl import training
from icl.chapters.mlp_benefit import gpt_sweep
from icl.models.gpt import GPT, Block, GPTConfig
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


@pytest.mark.parametrize("mlp", [True, False])
def test_the_last_layer_computes_one_row_of_what_it_would(rng, mlp):
    model = GPT(GPTConfig(3, 6, layers=3, mlp=mlp), rng=rng)
    E = torch.from_numpy(rng.standard_normal((5, 4, 7))).float()
    x = model.read_in(E.mT) + model.position
    for block in model.blocks:
        x = block(x)
    whole = model.read_out(model.norm(x[:, -1]))[:, 0]
    torch.testing.assert_close(model(E), whole, rtol=1e-5, atol=1e-6)
    gradients = [torch.autograd.grad(out.square().sum(), list(model.parameters())) for out in (model(E), whole)]
    for one, all_rows in zip(*gradients, strict=True):
        torch.testing.assert_close(one, all_rows, rtol=1e-4, atol=1e-5)


def test_interrupted_training_resumes_to_the_same_bytes(tmp_path, monkeypatch):
    law, config = PromptLaw.isotropic(2, 4, 0.1, np.ones(2)), GPTConfig(2, 4)

    def run(checkpoint):
        rng = np.random.default_rng(5)
        return gpt_sweep.train_gpt(
            config, lambda step: law, Schedule(12, 1e-2, 1.0), rng, label="t", batch=8, checkpoint=checkpoint
        )[0]

    whole = run(None)
    calls, real = [0], gpt_sweep.squared_errors

    def interrupted(*args):
        calls[0] += 1
        if calls[0] == 9:
            raise KeyboardInterrupt
        return real(*args)

    path, train = tmp_path / "run.safetensors", training.train
    monkeypatch.setattr(gpt_sweep, "train", lambda *a, **k: train(*a, **k, every=4))
    monkeypatch.setattr(gpt_sweep, "squared_errors", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(path)
    monkeypatch.setattr(gpt_sweep, "squared_errors", real)
    for a, b in zip(whole.parameters(), run(path).parameters(), strict=True):
        assert torch.equal(a, b)


def test_bad_input(rng):
    with pytest.raises(InputError, match="multiple of heads"):
        GPTConfig(3, 5, heads=3, width=32)
    with pytest.raises(InputError, match="layers"):
        GPTConfig(3, 5, layers=0)
    with pytest.raises(InputError, match="d \\+ 1 rows"):
        GPT(GPTConfig(3, 5), rng=rng)(torch.zeros(1, 4, 5))


@pytest.mark.parametrize("mlp", [True, False])
def test_a_block_by_hand(rng, mlp):
    """x + attention(norm x), then + MLP(norm of that), with norms that are not at their start."""
    block = GPT(GPTConfig(2, 4, mlp=mlp, width=6), rng=rng).blocks[0]
    with torch.no_grad():
        for norm in [block.norm_1] + ([block.norm_2] if mlp else []):
            norm.weight.copy_(torch.from_numpy(rng.standard_normal(6)))
    x = torch.from_numpy(3 * rng.standard_normal((1, 5, 6))).float()

    def norm(layer, t):
        return (t - t.mean(-1, keepdim=True)) / (t.var(-1, keepdim=True, correction=0) + 1e-5).sqrt() * layer.weight

    expected = x + block.attention(norm(block.norm_1, x))
    if mlp:
        expected = expected + block.mlp(norm(block.norm_2, expected))
    torch.testing.assert_close(block(x), expected, rtol=1e-4, atol=1e-5)


def test_gelu_itself_here_and_gpt2_s_approximation_for_released_weights(rng):
    """x Φ(x), or 0.5 x (1 + tanh(√(2/π) (x + 0.044715 x³))): Hendrycks and Gimpel (2016)."""
    config, x = GPTConfig(2, 4), torch.linspace(-4, 4, 81)
    exact = 0.5 * x * (1 + torch.erf(x / np.sqrt(2)))
    approximate = 0.5 * x * (1 + torch.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
    for block, expected in ((GPT(config, rng=rng).blocks[0], exact), (Block(config), approximate)):
        torch.testing.assert_close(block.mlp[1](x), expected, rtol=1e-5, atol=1e-6)
    assert 1e-4 < (exact - approximate).abs().max() < 5e-4


@pytest.mark.parametrize("mlp, layers", [(True, 2), (False, 9)])
def test_the_start_has_gpt2_s_scales(rng, mlp, layers):
    """N(0, 0.02²), smaller by one over the root of the number of branches where the residual stream is written."""
    model = GPT(GPTConfig(8, 4, layers=layers, width=64, heads=4, mlp=mlp), rng=rng)
    branches = (2 if mlp else 1) * layers
    for name, parameter in model.named_parameters():
        if name.endswith("weight") and "norm" not in name and "read_out" not in name:
            expected = 0.02 / np.sqrt(branches) if name.endswith(("out.weight", "mlp.2.weight")) else 0.02
            expected = 1 / 3 if name == "read_in.weight" else expected
            assert parameter.std().item() == pytest.approx(expected, rel=0.12), name
    assert model.read_out.bias.item() == 0


def test_the_answer_is_read_off_the_query(rng):
    """With attention shut, only the last token reaches the answer."""
    model = GPT(GPTConfig(2, 4), rng=rng)
    with torch.no_grad():
        for block in model.blocks:
            block.attention.out.weight.zero_()
    E = torch.from_numpy(rng.standard_normal((1, 3, 5))).float().requires_grad_()
    (gradient,) = torch.autograd.grad(model(E).sum(), E)
    assert (gradient[0, :, 4] != 0).any() and (gradient[0, :, :4] == 0).all()


def test_two_heads_of_attention_by_hand(rng):
    """The rows of the joint matrix are queries, keys, values, and in each the heads one after the other."""
    model = GPT(GPTConfig(2, 4, heads=2, width=6), rng=rng)
    attention, x = model.blocks[0].attention, torch.from_numpy(10 * rng.standard_normal((1, 5, 6))).float()
    q, k, v = attention.qkv(x)[0].split(6, -1)
    mask, heads = torch.ones(5, 5).triu(1).bool(), []
    for part in (slice(0, 3), slice(3, 6)):
        scores = (q[:, part] @ k[:, part].T / np.sqrt(3)).masked_fill(mask, -torch.inf)
        heads.append(scores.softmax(-1) @ v[:, part])
    torch.testing.assert_close(attention(x)[0], attention.out(torch.cat(heads, -1)), rtol=1e-4, atol=1e-6)
