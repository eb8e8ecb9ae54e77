"""Deep linear attention: its two forms, what each kind may do, and gradient descent by hand."""

import numpy as np
import pytest
import torch

from icl.chapters import check_parameters
from icl.chapters.newton_transformers import trained_depth as chapter
from icl.estimates import monte_carlo
from icl.models.deep_attention import DeepLinearAttention
from icl.prompts import PromptLaw, token_matrix
from icl.randomness import Streams
from icl.targets import FAMILIES, TargetLaw
from icl.theory.depth_ladder import DepthLadder, Rungs
from icl.training import Schedule
from icl.validation import InputError

LAW = PromptLaw.isotropic(3, 6, 0.4)


def built(law: PromptLaw, rungs: Rungs) -> DeepLinearAttention:
    """GD++ with these steps: A = −a I, B = (gamma/a) I."""
    scale = law.n + law.d + 1
    model = DeepLinearAttention(
        law.d, len(rungs.a), rng=np.random.default_rng(0), scale=scale, kind="gd_plus_plus", spread=0.0
    )
    identity = torch.eye(law.d, dtype=torch.float64)
    with torch.no_grad():
        for k, (a, gamma) in enumerate(zip(rungs.a, rungs.gamma, strict=True)):
            model.A[k], model.B[k] = -a * scale * identity, gamma / a * identity
    return model


@pytest.mark.parametrize("kind", ["gd", "gd_plus_plus", "full"])
@pytest.mark.parametrize("shared", [True, False])
def test_gram_form_is_the_layers(rng, kind, shared):
    model = DeepLinearAttention(3, 4, rng=rng, scale=10.0, kind=kind, shared=shared, growth=1.3, spread=0.4)
    batch = LAW.sample(rng, 7)
    plain = model(torch.from_numpy(token_matrix(batch.X, batch.y, batch.x_query)))
    estimate = model.solution(model.gram(torch.from_numpy(batch.X), torch.from_numpy(batch.y)))
    torch.testing.assert_close((estimate * torch.from_numpy(batch.x_query)).sum(1), plain, rtol=1e-11, atol=1e-12)


def test_label_writing_layers_are_gradient_steps(rng):
    a = np.array([0.05, 0.11, 0.02])
    model = built(LAW, Rungs(0.0, a, np.zeros(3)))
    batch = LAW.sample(rng, 4)
    w = np.zeros((4, 3))
    for step in a:
        w = w + step * np.einsum("bnd,bn->bd", batch.X, batch.y - np.einsum("bnd,bd->bn", batch.X, w))
    found = model.solution(model.gram(torch.from_numpy(batch.X), torch.from_numpy(batch.y))).detach().numpy()
    np.testing.assert_allclose(found, w, rtol=1e-12)


@pytest.mark.parametrize("d, n, sigma2", [(3, 6, 0.4), (4, 2, 0.0)])
def test_built_layers_have_the_exact_risk(rng, d, n, sigma2):
    law, ladder = PromptLaw.isotropic(d, n, sigma2), DepthLadder(d, n, sigma2)
    for rung in (ladder.gd_plus_plus(2), ladder.free_steps(2)):
        model, batch = built(law, rung), law.sample(rng, 20_000)
        with torch.no_grad():
            answer = model(torch.from_numpy(token_matrix(batch.X, batch.y, batch.x_query))).numpy()
        found = monte_carlo(lambda B, each=(answer - batch.y_query) ** 2: each, 20_000, chunk=20_000)
        assert abs(found.mean - rung.risk) < 5 * found.stderr


def test_training_reaches_the_rung(monkeypatch):
    parameters = check_parameters("06_newton_transformers", d=2, n=6, sigma2=0.5)
    monkeypatch.setattr(chapter, "TRAINED", (("gd", 2, False, 1.0), ("gd", 2, True, 1.0)))
    plan = chapter.Budget(20_000, Schedule(250, 0.03, clip=1.0), 128)
    ends, ladder = chapter.climb(PromptLaw.isotropic(2, 6, 0.5), plan, Streams("a test", 1)), DepthLadder(2, 6, 0.5)
    for shared, rung in ((False, ladder.free_steps(2)), (True, ladder.shared_step(2))):
        end = chapter.best(ends, "gd", 2, shared)
        assert abs(end.risk.mean - rung.risk) < 0.02 * rung.risk + 5 * end.risk.stderr
    assert chapter.budget(parameters).batch == 256


def test_answers_are_linear_in_the_query(rng):
    model = DeepLinearAttention(3, 4, rng=rng, scale=10.0, kind="full", spread=0.3)
    batch, other = LAW.sample(rng, 9), rng.standard_normal((9, 3))
    ask = lambda x: model(torch.from_numpy(token_matrix(batch.X, batch.y, x))).detach().numpy()
    np.testing.assert_allclose(ask(batch.x_query + other), ask(batch.x_query) + ask(other), rtol=1e-10, atol=1e-12)


def test_nonlinear_targets_stay_above_the_floor():
    law = TargetLaw(FAMILIES["quadratic"], 2, 8, 0.1)
    plan = chapter.Budget(4000, Schedule(60, 0.03, clip=1.0), 64)
    found = chapter.nonlinear_risk(law, plan, np.random.default_rng(2))
    assert found.mean > 0.1 + 2 * 4 - 5 * found.stderr


def test_brute_force_on_the_complex_case():
    rung = DepthLadder(**chapter.COMPLEX).free_steps(3)
    assert chapter.complex_case_risk() == pytest.approx(rung.risk, rel=1e-9)


def test_bad_input(rng):
    with pytest.raises(InputError, match="kind must be one of"):
        DeepLinearAttention(2, 2, rng=rng, scale=1.0, kind="sgd")
    with pytest.raises(InputError, match="scale"):
        DeepLinearAttention(2, 2, rng=rng, scale=0.0)
    with pytest.raises(InputError, match="layers"):
        DeepLinearAttention(2, 0, rng=rng, scale=1.0)
    with pytest.raises(InputError, match="d \\+ 1 = 3 rows"):
        DeepLinearAttention(2, 1, rng=rng, scale=1.0)(torch.zeros(1, 4, 5))
