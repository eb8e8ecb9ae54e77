"""Training: exact minimisation, Adam, resuming to the same bytes."""

import numpy as np
import pytest
import torch

from icl import search, training
from icl.chapters.mlp_benefit.query_losses import query_errors
from icl.models.exact_risk import ExactRisk
from icl.models.gpt import GPT, GPTConfig
from icl.models.linear_attention import LinearSelfAttention
from icl.prompts import PromptLaw
from icl.theory.one_step_gd import minimal_risk
from icl.training import Schedule, minimise, train
from icl.validation import InputError

LAW = PromptLaw.isotropic(3, 8, 0.25)


def sampled(rng):
    model = LinearSelfAttention(3, rng=rng, init="label_path", dtype=torch.float32)

    def loss(step):
        batch = LAW.sample(rng, 32)
        X, y, x, target = (torch.from_numpy(p).float() for p in (batch.X, batch.y, batch.x_query, batch.y_query))
        return ((model.effective(LAW.n).predict(X, y, x) - target) ** 2).mean()

    return model, loss


@pytest.mark.parametrize("d, n, sigma2", [(3, 8, 0.25), (20, 40, 0.25), (7, 2, 1.0)])
def test_lbfgs_reaches_the_minimum(d, n, sigma2):
    model = LinearSelfAttention(d, rng=np.random.default_rng(1), init="label_path")
    risk = ExactRisk(PromptLaw.isotropic(d, n, sigma2))
    found = minimise(model, lambda: risk(model.effective(n)))
    assert found.loss == pytest.approx(minimal_risk(d, n, sigma2), rel=1e-9)
    assert risk(model.effective(n)).item() == found.loss


def test_adam_on_the_exact_loss():
    run = search.train_exactly(LAW, Schedule(1500, 0.02), 0, "exact")
    assert search.exact_risk(LAW, run.weights) == pytest.approx(minimal_risk(3, 8, 0.25), rel=1e-7)


def asked_often(rng):
    model = GPT(GPTConfig(2, 4, width=8), rng=rng, start="fan_in")
    law = PromptLaw.isotropic(2, 4, 0.1)
    return model, lambda step: query_errors(model, law, 8, 3, rng).mean()


@pytest.mark.parametrize("killed_at", [1, 20, 33])
@pytest.mark.parametrize(
    "start, schedule",
    [
        (sampled, Schedule(40, 0.02, clip=1.0)),
        (asked_often, Schedule(40, 1e-3, clip=1.0, warm_up=5, decay_from=25, muon=0.01)),
    ],
)
def test_a_killed_run_resumes_to_the_same_bytes(tmp_path, killed_at, start, schedule):
    def run(path, stop=None):
        rng = np.random.default_rng(5)
        model, loss = start(rng)
        calls = iter(range(stop)) if stop else None

        def interruptible(step):
            if calls is not None and next(calls, None) is None:
                raise KeyboardInterrupt
            return loss(step)

        curve = train(model, interruptible, schedule, rng=rng, checkpoint=path, every=7)
        return curve, model.state_dict()

    curve, weights = run(tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "killed", stop=killed_at)
    again, resumed = run(tmp_path / "killed")
    assert again.tobytes() == curve.tobytes()
    assert all(torch.equal(weights[name], resumed[name]) for name in weights)
    assert (tmp_path / "whole").read_bytes() == (tmp_path / "killed").read_bytes()


def test_a_checkpoint_of_another_run_is_refused(tmp_path):
    rng = np.random.default_rng(0)
    model, loss = sampled(rng)
    train(model, loss, Schedule(5, 0.02), rng=rng, checkpoint=tmp_path / "c")
    with pytest.raises(InputError, match="another run"):
        train(model, loss, Schedule(6, 0.02), rng=rng, checkpoint=tmp_path / "c")


def test_muon_s_checkpoint_is_not_adam_s(tmp_path):
    rng = np.random.default_rng(0)
    model, loss = asked_often(rng)
    train(model, loss, Schedule(5, 1e-3, muon=0.01), rng=rng, checkpoint=tmp_path / "c")
    rng = np.random.default_rng(0)
    model, loss = asked_often(rng)
    with pytest.raises(InputError, match="another run"):
        train(model, loss, Schedule(5, 1e-3), rng=rng, checkpoint=tmp_path / "c")


def test_a_diverging_loss_is_named():
    model = LinearSelfAttention(2, rng=np.random.default_rng(0))
    with pytest.raises(InputError, match="step 0; lower the learning rate"):
        train(model, lambda step: model.W_K.sum() * torch.nan, Schedule(3, 0.1))


def test_bad_settings():
    for bad in (
        dict(steps=0, learning_rate=0.1),
        dict(steps=3, learning_rate=0.0),
        dict(steps=3, learning_rate=float("nan")),
    ):
        with pytest.raises(InputError):
            Schedule(**bad)
    model = LinearSelfAttention(2, rng=np.random.default_rng(0), dtype=torch.float32)
    with pytest.raises(InputError, match="float64"):
        minimise(model, lambda: model.W_K.sum())


def test_progress_shows_loss_and_remaining_time(capsys):
    rng = np.random.default_rng(0)
    model, loss = sampled(rng)
    training.train(model, loss, Schedule(3, 0.02), rng=rng, label="demo")
    shown = capsys.readouterr().err
    assert "demo" in shown and "loss" in shown and "<" in shown


def test_first_steps_have_the_scheduled_size():
    """Adam moves every weight by the learning rate at first; the cosine is at its peak there and ends near 0."""
    schedule = Schedule(4, 0.05)
    model = LinearSelfAttention(2, rng=np.random.default_rng(0))
    before = model.W_K.detach().clone()
    train(model, lambda step: model.W_K.sum(), Schedule(1, 0.05))
    torch.testing.assert_close(before - model.W_K.detach(), torch.full_like(before, 0.05), rtol=1e-6, atol=0)
    assert [schedule.rate(k) for k in (0, 2)] == pytest.approx([0.05, 0.025])
    assert 0 < schedule.rate(3) < schedule.rate(2)


def test_clipped_adam_with_the_cosine_schedule_by_hand():
    """Gradients of very different sizes, so that clipping, the moments and the schedule all show in the weights."""
    sizes, clip, peak = [0.3, 40.0, 2.0, 0.1], 1.0, 0.05
    model = torch.nn.Linear(2, 1, bias=False, dtype=torch.float64)
    weight = model.weight.detach().numpy().copy()
    direction, calls = np.array([[0.6, 0.8]]), iter(sizes)
    train(model, lambda step: next(calls) * (model.weight * torch.from_numpy(direction)).sum(), Schedule(4, peak, clip))
    m = v = 0.0
    for k, size in enumerate(sizes):
        gradient = min(size, clip) * direction
        m, v = 0.9 * m + 0.1 * gradient, 0.999 * v + 0.001 * gradient**2
        rate = peak * (1 + np.cos(np.pi * k / 4)) / 2
        weight -= rate * (m / (1 - 0.9 ** (k + 1))) / (np.sqrt(v / (1 - 0.999 ** (k + 1))) + 1e-8)
    np.testing.assert_allclose(model.weight.detach().numpy(), weight, rtol=1e-5)


def test_the_gradient_at_the_end_is_reported():
    """Cut off after two iterations, the largest entry of the gradient is what autograd says."""
    model = LinearSelfAttention(3, rng=np.random.default_rng(1), init="label_path")
    risk = ExactRisk(LAW)
    loss = lambda: risk(model.effective(LAW.n))
    found = minimise(model, loss, iterations=2)
    gradients = torch.autograd.grad(loss(), list(model.parameters()))
    assert found.gradient == pytest.approx(max(g.abs().max().item() for g in gradients), rel=1e-9)
    assert found.iterations == 2 and found.gradient > 1e-3
