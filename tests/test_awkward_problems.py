"""Chapters 4 and 5 through the Python API where it is awkward: singular H and Psi that do not commute, huge means."""

import numpy as np
import pytest
import torch
from support import assert_within_errors, estimate

from icl.chapters import check_parameters
from icl.chapters.mlp_benefit import experiments as chapter
from icl.chapters.mlp_benefit import false_valleys, mean_task_laws
from icl.models.effective import EffectiveParameters
from icl.models.linear_block import LinearTransformerBlock
from icl.prompts import PromptLaw
from icl.theory import gd_beta, gradient_flow
from icl.theory import mlp_benefit as theory
from icl.theory.risk_profile import Profile
from icl.validation import InputError


def singular_law(rng, d=4, n=7, sigma2=0.35):
    H, Psi = (factor @ factor.T for factor in (rng.standard_normal((d, 2)), rng.standard_normal((d, 3))))
    assert np.linalg.norm(H @ Psi - Psi @ H) > 0.1
    return PromptLaw(n, H, Psi, rng.standard_normal(d), sigma2)


def sampled_risk(law, weights, rng, count=120_000):
    def draw(B):
        batch = law.sample(rng, B)
        answers = weights.predict(*map(torch.from_numpy, (batch.X, batch.y, batch.x_query))).numpy()
        return (answers - batch.y_query) ** 2

    return estimate(draw, count)


@pytest.mark.parametrize("block", [False, True])
def test_singular_and_non_commuting_predictions_on_prompts(rng, block):
    law = singular_law(rng)
    profile = Profile(law, block=block)
    optimum = theory.lsa_minimum(law) if not block else theory.ltb_valleys(law)[0]
    weights = EffectiveParameters.from_numpy(**profile.weights(optimum))
    predicted = optimum.risk if not block else theory.ltb_minimal_risk(law)
    assert_within_errors(sampled_risk(law, weights, rng), predicted)


def test_singular_flow_ends_at_the_least_risk(rng):
    law = singular_law(rng)
    slowest = min(rate for rate in gradient_flow.tail_rates(law) if rate > 1e-9)
    times = [60 / min(slowest, gradient_flow.gamma_rate(law))]
    flow = gradient_flow.integrate(law, rng.standard_normal(4), rng.standard_normal((4, 4)), times)
    assert gd_beta.excess(law, flow.beta[-1], flow.Gamma[-1]) < 1e-8 * gd_beta.minimal_risk(law)


def test_unrestricted_sphere_promises_the_impossible():
    parameters = check_parameters("04_mlp_benefit", beta_norm=4.0)
    law = mean_task_laws.singular_law(parameters, np.random.default_rng([0, 2]))
    assert chapter.unrestricted_sphere(law) < 0.99 * theory.lsa_minimum(law).risk
    regular = mean_task_laws.skewed_law(parameters, np.random.default_rng(4))
    assert chapter.unrestricted_sphere(regular) == pytest.approx(theory.lsa_minimum(regular).risk, rel=1e-9)


def test_a_huge_mean_in_a_long_context_without_noise():
    law = PromptLaw.isotropic(5, 1000, 0.0, np.full(5, 1000 / np.sqrt(5)))
    sphere, angle = theory.lsa_minimum(law).risk, theory.isotropic_lsa_risk(5, 1000, 0.0, 1000.0)
    assert sphere == pytest.approx(angle, rel=1e-8)
    assert theory.lower_bound(law) <= theory.gap(law) <= theory.upper_bound(law) * (1 + 1e-9)
    times = [0.0, 1.0, 20.0]
    flow = gradient_flow.integrate(law, np.zeros(5), np.zeros((5, 5)), times)
    distance = np.linalg.norm(flow.beta - law.beta_star, axis=1)
    assert np.all(distance <= gradient_flow.beta_bound(law, times) * distance[0] * (1 + 1e-9))
    risks = [float(gd_beta.risk(law, beta, Gamma)) for beta, Gamma in zip(flow.beta, flow.Gamma, strict=True)]
    assert risks[0] > risks[1] > risks[2] >= gd_beta.minimal_risk(law) * (1 - 1e-9)


def test_screened_starts_find_what_few_starts_miss():
    """At this law two of three descents of the block end in a false valley; screening finds the way down every time."""
    law, floor = false_valleys.TRAP, theory.ltb_minimal_risk(false_valleys.TRAP)
    for seed in range(3):
        ends = chapter.descend(law, 1, np.random.default_rng(seed), LinearTransformerBlock)
        assert ends.risks.min() == pytest.approx(floor, rel=1e-8)


def test_bad_laws_and_starts_are_said_in_a_sentence():
    with pytest.raises(InputError, match="tau"):
        PromptLaw(3, np.diag([1.0, 0.0]), np.diag([0.0, 1.0]), np.ones(2), 0.0)
    law = PromptLaw.isotropic(2, 3, 0.1)
    with pytest.raises(InputError, match="Gamma must have shape"):
        gd_beta.risk(law, np.zeros(2), np.zeros((2, 3)))
    with pytest.raises(InputError, match="Gamma must be finite"):
        gradient_flow.integrate(law, np.zeros(2), np.full((2, 2), np.nan), [1.0])
    with pytest.raises(InputError, match="cannot be met"):
        gradient_flow.integrate(law, np.zeros(2), np.eye(2), [1.0], rtol=1e-17)
    with pytest.raises(InputError, match="beta must have shape"):
        gd_beta.risk(law, np.zeros(3), np.eye(2))
