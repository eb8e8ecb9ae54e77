"""The decoder: causal, switchable, seeded."""

import numpy as np
import pytest
import torch

from icl.models.gpt import GPT, Block, GPTConfig, query_mask
from icl.prompts import token_matrix
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


@pytest.mark.parametrize("mlp", [True, False])
def test_one_query_s_answer_is_the_same_with_and_without_the_others(rng, mlp):
    """And what the model says of that prompt's token matrix alone, weights at their gradients included."""
    model = GPT(GPTConfig(3, 6, layers=3, mlp=mlp, label_unit=4.0), rng=rng, start="fan_in")
    X, y, queries = (4 * rng.standard_normal(shape) for shape in ((5, 6, 3), (5, 6), (5, 4, 3)))
    as_tensors = [torch.from_numpy(array).float() for array in (X, y, queries)]
    together = model.answers(*as_tensors)
    for q in range(4):
        alone = model.answers(*as_tensors[:2], as_tensors[2][:, q : q + 1])[:, 0]
        E = torch.from_numpy(token_matrix(X, y, queries[:, q])).float()
        torch.testing.assert_close(together[:, q], alone, rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(together[:, q], model(E), rtol=1e-5, atol=1e-5)
        gradients = [
            torch.autograd.grad(out.square().sum(), list(model.parameters()), retain_graph=True)
            for out in (together[:, q], model(E))
        ]
        for one, other in zip(*gradients, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-4 * other.abs().max().item())


def test_a_query_for_every_prefix(rng):
    """After t examples a query is answered as if the prompt ended there; the first one has only itself."""
    model = GPT(GPTConfig(2, 5, layers=3), rng=rng, start="fan_in")
    X, y, queries = (torch.from_numpy(rng.standard_normal(s)).float() for s in ((4, 5, 2), (4, 5), (4, 6, 2)))
    after = torch.tensor([0, 1, 2, 3, 4, 5])
    together = model.answers(X, y, queries, after)
    for t in after.tolist():
        cut = model.answers(X[:, :t], y[:, :t], queries[:, t : t + 1])[:, 0]
        torch.testing.assert_close(together[:, t], cut, rtol=1e-5, atol=1e-5)
    shuffled = after[[3, 0, 5, 1, 2, 4]]
    torch.testing.assert_close(
        model.answers(X, y, queries[:, shuffled], shuffled), together[:, shuffled], rtol=1e-5, atol=1e-5
    )


def test_nobody_sees_a_query_but_itself():
    after = torch.tensor([3, 0, 2])
    sees = query_mask(3, after) == 0
    assert sees[:3, :3].equal(torch.ones(3, 3).tril().bool()) and not sees[:3, 3:].any()
    assert sees[3:, 3:].equal(torch.eye(3).bool())
    assert sees[3:, :3].sum(1).equal(after) and sees[5, :3].tolist() == [True, True, False]


def test_labels_in_a_unit_are_labels_over_it(rng):
    """A model that reads labels in units of 45 answers 45 times what its twin says of labels a 45th as large."""
    twins = [GPT(GPTConfig(2, 4, label_unit=unit), rng=np.random.default_rng(1)) for unit in (1.0, 45.0)]
    X, y, q = (torch.from_numpy(rng.standard_normal(shape)).float() for shape in ((3, 4, 2), (3, 4), (3, 2, 2)))
    plain, large = twins[0].answers(X, y, q), twins[1].answers(X, 45 * y, q)
    torch.testing.assert_close(large, 45 * plain, rtol=1e-4, atol=1e-4)
    E = torch.from_numpy(token_matrix(X.numpy(), 45 * y.numpy(), q[:, 0].numpy()))
    torch.testing.assert_close(twins[1](E), large[:, 0], rtol=1e-4, atol=1e-4)


def test_the_start_by_fan_in(rng):
    model = GPT(GPTConfig(8, 4, width=64, heads=4), rng=rng, start="fan_in")
    for name, parameter in model.named_parameters():
        if name.endswith("weight") and "norm" not in name and "read_out" not in name:
            fan_in = parameter.shape[1] / (3 if name == "read_in.weight" else 1)
            assert parameter.std().item() == pytest.approx(1 / np.sqrt(3 * fan_in), rel=0.12), name


def test_bad_questions(rng):
    model = GPT(GPTConfig(2, 4), rng=rng)
    X, y, q = torch.zeros(1, 4, 2), torch.zeros(1, 4), torch.zeros(1, 3, 2)
    for after in (torch.tensor([0, 1]), torch.tensor([0, 1, 5]), torch.tensor([-1, 1, 2])):
        with pytest.raises(InputError, match="for each of the 3 queries, a number of examples from 0 to 4"):
            model.answers(X, y, q, after)
    with pytest.raises(InputError, match="reads 2 covariates and up to 4 examples, not 2 and 5"):
        model.answers(torch.zeros(1, 5, 2), torch.zeros(1, 5), q)
    with pytest.raises(InputError, match="label_unit must be a positive number"):
        GPTConfig(2, 4, label_unit=0.0)
    with pytest.raises(InputError, match='start must be "gpt2" or "fan_in"'):
        GPT(GPTConfig(2, 4), rng=rng, start="zero")


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
