"""Steps: the schedule's shape, Muon matrix by matrix, Adam on the rest, and what has to be kept of them."""

import numpy as np
import pytest
import torch

from icl.models.gpt import GPT, GPTConfig
from icl.models.lstm import LSTM, LSTMConfig
from icl.optimisers import Optimiser, Schedule, StackedMuon, hidden_matrices, quickest_products
from icl.training import train
from icl.validation import InputError

QUINTIC = (3.4445, -4.7750, 2.0315)  # Jordan et al. (2024)


def orthogonalised(matrix: np.ndarray) -> np.ndarray:
    """Five Newton–Schulz steps with Jordan's coefficients, in float64."""
    X, (a, b, c) = matrix / np.linalg.norm(matrix), QUINTIC
    for _ in range(5):
        A = X @ X.T
        X = a * X + (b * A + c * A @ A) @ X
    return X


def gpt(seed=0, **sizes):
    return GPT(GPTConfig(2, 4, **{"width": 16, **sizes}), rng=np.random.default_rng(seed), start="fan_in")


def quadratic(model, seed=1):
    """A loss with a gradient of full rank in every parameter."""
    rng = np.random.default_rng(seed)
    targets = [torch.from_numpy(rng.standard_normal(p.shape)).float() for p in model.parameters()]
    return lambda step: sum(((p - t) ** 2).sum() for p, t in zip(model.parameters(), targets, strict=True))


def test_warm_up_then_flat_then_down():
    schedule = Schedule(10, 0.1, warm_up=4, decay_from=6, muon=0.2)
    expected = [0.25, 0.5, 0.75, 1, 1, 1, 1, 0.75, 0.5, 0.25]
    assert [schedule.share(step) for step in range(10)] == pytest.approx(expected)
    assert schedule.rate(1) == pytest.approx(0.05)
    assert {Schedule(10, 0.1, decay=False, warm_up=2).share(step) for step in range(1, 10)} == {1.0}
    kept = [one.kept for one in (schedule, Schedule(10, 0.1), Schedule(10, 0.1, decay=False))]
    assert kept == [6, 0, 10], "a cosine falls at once, rates without decay never"


def test_the_cosine_of_old_to_the_bit():
    schedule = Schedule(7, 2e-3)
    assert [schedule.rate(k) for k in range(7)] == [2e-3 * (1 + np.cos(np.pi * k / 7)) / 2 for k in range(7)]


@pytest.mark.parametrize(
    "bad, said",
    [
        (dict(muon=0.0), "muon must be a positive number"),
        (dict(muon=float("inf")), "muon must be a positive number"),
        (dict(warm_up=-1), "warm_up"),
        (dict(decay_from=10), "decay_from = 10 must lie before the last of 10 steps"),
    ],
)
def test_bad_schedules(bad, said):
    with pytest.raises(InputError, match=said):
        Schedule(10, 0.1, **bad)


def test_which_matrices_are_hidden():
    found = hidden_matrices(gpt(layers=1))
    inside = {"attention.qkv": 3, "attention.out": 1, "mlp.0": 1, "mlp.2": 1}
    assert found == {f"blocks.0.{name}.weight": count for name, count in inside.items()}
    lstm = LSTM(LSTMConfig(2, layers=2, width=4), rng=np.random.default_rng(0))
    assert found.keys().isdisjoint(hidden_matrices(lstm))
    assert hidden_matrices(lstm) == {f"cells.weight_{name}": 4 for name in ("hh_l0", "ih_l1", "hh_l1")}


def test_a_model_without_hidden_matrices_is_told_so():
    with pytest.raises(InputError, match="no hidden matrices for Muon"):
        Optimiser(torch.nn.Linear(2, 1), Schedule(3, 0.1, muon=0.1))


def able(monkeypatch, **instructions):
    """A processor with these instructions."""
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: instructions)


def test_bfloat16_is_for_those_who_have_instructions_for_it(monkeypatch):
    for name in ("amx_bf16", "avx512_bf16"):
        able(monkeypatch, avx512_f=True, **{name: True})
        assert quickest_products("cpu") == torch.bfloat16
    able(monkeypatch, avx512_f=True, amx_bf16=False)
    assert quickest_products("cpu") == torch.float32 and quickest_products("cuda") == torch.bfloat16


@pytest.mark.parametrize("kind, near", [("bfloat16", 0.1), ("float32", 1e-4), ("float64", 1e-12)])
def test_two_steps_of_muon_by_hand_queries_keys_and_values_apart(kind, near, monkeypatch):
    """Nesterov's momentum .95, orthogonalised, times .2 √max(shape); in bfloat16 to a few per cent.

    A float64 loss keeps its digits on every processor.
    """
    able(monkeypatch, amx_bf16=kind != "float32")
    model, rate = gpt(layers=1, width=8), 0.05
    if kind == "float64":
        model.double()
    loss, momenta = quadratic(model), {}
    optimiser = Optimiser(model, Schedule(5, 1e-9, decay=False, muon=rate))
    for _ in range(2):
        before = {name: value.detach().clone().double().numpy() for name, value in model.named_parameters()}
        optimiser.zero_grad()
        loss(0).backward()
        gradients = {name: value.grad.double().numpy() for name, value in model.named_parameters()}
        optimiser.step(0)
        for name, count in hidden_matrices(model).items():
            after = dict(model.named_parameters())[name].detach().double().numpy()
            moved = np.split(after - before[name], count)
            for k, (part, gradient) in enumerate(zip(moved, np.split(gradients[name], count), strict=True)):
                momentum = 0.95 * momenta.get((name, k), 0.0) + 0.05 * gradient
                momenta[name, k] = momentum
                expected = -rate * 0.2 * np.sqrt(max(part.shape)) * orthogonalised(0.05 * gradient + 0.95 * momentum)
                assert np.linalg.norm(part - expected) < near * np.linalg.norm(expected), (name, k)


@pytest.mark.parametrize("native, near", [(True, 0.03), (False, 0.1)], ids=["bfloat16", "float32"])
def test_in_stacks_muon_takes_the_steps_of_pytorch_s(native, near, monkeypatch):
    """Square, tall and wide matrices, to a few per cent of a step: PyTorch's are in bfloat16 on every machine."""
    able(monkeypatch, amx_bf16=native)
    rng = np.random.default_rng(5)
    draw = lambda shape: torch.from_numpy(rng.standard_normal(shape)).float()
    named = dict(lr=0.03, weight_decay=0.0, adjust_lr_fn="match_rms_adamw")
    one = [torch.nn.Parameter(draw(shape)) for shape in [(8, 8), (8, 8), (32, 8), (8, 32), (8, 8)]]
    other = [torch.nn.Parameter(matrix.detach().clone()) for matrix in one]
    plain, stacked = torch.optim.Muon(one, **named), StackedMuon(other, **named)
    for rate in (0.03, 0.01, 0.02):
        before = [matrix.detach().clone() for matrix in one]
        for matrix, copy in zip(one, other, strict=True):
            matrix.grad = draw(matrix.shape)
            copy.grad = matrix.grad.clone()
        for optimiser in (plain, stacked):
            optimiser.param_groups[0]["lr"] = rate
            optimiser.step()
        for start, matrix, copy in zip(before, one, other, strict=True):
            assert (matrix - copy).norm() < near * (matrix - start).norm()
            torch.testing.assert_close(stacked.state[copy]["momentum_buffer"], plain.state[matrix]["momentum_buffer"])


def test_muon_leaves_the_rest_to_adam():
    """Adam's first step moves every entry of its parameters by its rate; of Muon's matrices it moves none."""
    model, hidden = gpt(), hidden_matrices(gpt())
    before = {name: value.detach().clone() for name, value in model.named_parameters()}
    train(model, quadratic(model), Schedule(1, 0.01, muon=0.5))
    for name, value in model.named_parameters():
        moved = (value.detach() - before[name]).abs()
        alike = torch.allclose(moved, torch.full_like(moved, 0.01), rtol=1e-3)
        assert alike == (name not in hidden), name


def test_both_rates_follow_the_schedule():
    """From the same state a step at half of the rates goes half as far, on Muon's matrices and on Adam's parameters."""
    schedule, moved = Schedule(8, 0.01, warm_up=2, decay_from=7, muon=0.02), []
    for step in (0, 1):
        model = gpt()
        before, optimiser = [value.detach().clone() for value in model.parameters()], Optimiser(model, schedule)
        optimiser.zero_grad()
        quadratic(model)(0).backward()
        optimiser.step(step)
        moved.append([(a - b).detach() for a, b in zip(model.parameters(), before, strict=True)])
    for half, whole in zip(*moved, strict=True):
        torch.testing.assert_close(2 * half, whole, rtol=1e-3, atol=1e-6)


def test_adam_alone_takes_the_steps_it_always_took():
    """A plain loop around torch's fused Adam with clipping and cosine decay, to the last bit."""
    ours, plain = gpt(), gpt()
    schedule, loss = Schedule(6, 0.02, clip=1.0), quadratic(plain)
    train(ours, quadratic(ours), schedule)
    adam = torch.optim.Adam(plain.parameters(), lr=0.02, fused=True)
    for step in range(6):
        adam.zero_grad(set_to_none=True)
        loss(step).backward()
        torch.nn.utils.clip_grad_norm_(plain.parameters(), 1.0)
        adam.param_groups[0]["lr"] = 0.02 * (1 + np.cos(np.pi * step / 6)) / 2
        adam.step()
    assert all(torch.equal(a, b) for a, b in zip(ours.parameters(), plain.parameters(), strict=True))


def test_a_state_put_back_takes_the_same_next_step():
    schedule = Schedule(4, 0.01, muon=0.02)
    one, other = gpt(), gpt(seed=3)
    first, second = Optimiser(one, schedule), Optimiser(other, schedule)

    def step(model, optimiser, k):
        optimiser.zero_grad()
        quadratic(model)(k).backward()
        optimiser.step(k)

    for k in range(3):
        step(one, first, k)
    other.load_state_dict(one.state_dict())
    kept = {name: value.clone() for name, value in first.tensors().items()}
    second.put_back(kept)
    step(one, first, 3), step(other, second, 3)
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), other.parameters(), strict=True))
    assert sum(name.startswith("muon.") for name in kept) == sum(hidden_matrices(one).values())


def test_a_state_of_another_shape_or_with_a_gap_is_refused():
    schedule = Schedule(4, 0.01, muon=0.02)
    model = gpt()
    optimiser = Optimiser(model, schedule)
    optimiser.zero_grad()
    quadratic(model)(0).backward()
    optimiser.step(0)
    kept = optimiser.tensors()
    name = "muon.2.blocks.0.attention.qkv.weight"
    with pytest.raises(InputError, match="Muon's momentum of blocks.0.attention.qkv.weight has another shape"):
        Optimiser(gpt(), schedule).put_back(kept | {name: torch.zeros(3, 3)})
    with pytest.raises(KeyError, match="muon.2"):
        Optimiser(gpt(), schedule).put_back({key: value for key, value in kept.items() if key != name})
