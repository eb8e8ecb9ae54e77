"""Stairs, times and the drop: against chapter 5's least risk, brute force over sets, integrated flows, hand values."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad, solve_ivp

from icl.prompts import PromptLaw
from icl.theory import gd_beta
from icl.theory import how_the_step_is_learned as theory
from icl.validation import InputError

H = np.array([0.4, 0.1, 0.3, 0.2])
problems = dict(
    h=st.lists(st.floats(0.05, 3), min_size=1, max_size=5),
    n=st.integers(1, 50),
    sigma2=st.sampled_from((0.0, 0.3, 4.0)),
)


def law_of(h, n, sigma2):
    return PromptLaw(n, np.diag(h), np.eye(len(h)), np.zeros(len(h)), sigma2)


@given(**problems)
def test_the_last_stair_is_the_least_risk(h, n, sigma2):
    law, stairs = law_of(h, n, sigma2), theory.stairs(h, n, sigma2)
    assert stairs[-1] == pytest.approx(gd_beta.minimal_risk(law), rel=1e-12)
    assert stairs[0] == pytest.approx(sum(h) + sigma2) and (np.diff(stairs) < 0).all()
    np.testing.assert_allclose(theory.best_entries(h, n, sigma2), np.diag(gd_beta.optimal_gamma(law)), rtol=1e-12)


@given(**problems)
def test_a_stair_is_the_risk_of_the_strongest_directions_and_the_best_of_its_rank(h, n, sigma2):
    law, gamma = law_of(h, n, sigma2), theory.best_entries(h, n, sigma2)
    stairs, every = theory.stairs(h, n, sigma2), []
    for m in range(len(h) + 1):
        of_rank = [
            gd_beta.risk(law, np.zeros(law.d), np.diag(gamma * np.isin(np.arange(law.d), kept)))
            for kept in combinations(range(law.d), m)
        ]
        assert min(of_rank) == pytest.approx(stairs[m], rel=1e-10)
        every += of_rank
    np.testing.assert_allclose(theory.resting_levels(h, n, sigma2), np.sort(every), rtol=1e-10)


def test_the_printed_stairs():
    printed = [1, 0.64058, 0.37737, 0.20980, 0.13600]
    np.testing.assert_allclose(theory.stairs(H, 31, 0.0), printed, atol=6e-6)
    assert len(theory.resting_levels(H, 31, 0.0)) == 16


def test_the_clock_is_an_antiderivative():
    for a, b in ((0.01, 0.02), (0.1, 0.9), (0.5, 0.999)):
        assert theory.climbed(b) - theory.climbed(a) == pytest.approx(
            quad(lambda z: 1 / (z**2 * (1 - z**3)), a, b, epsabs=1e-13, epsrel=1e-13)[0], rel=1e-10
        )


@settings(max_examples=20)
@given(share=st.floats(0.1, 0.95), start=st.floats(0.02, 0.3), **problems)
def test_a_head_climbs_as_its_equation_says(h, n, sigma2, share, start):
    """da/dt = a² (λ² − λ ν a³), integrated up to the predicted time, has the share that was asked for."""
    law, gamma = law_of(h, n, sigma2), theory.best_entries(h, n, sigma2)
    a = start * theory.factor_sizes(h, n, sigma2).min()
    nu = (n + 1) / n * np.array(h) ** 2 + (sum(h) + sigma2) / n * np.array(h)
    times = theory.stair_times(h, n, sigma2, a, share=share)
    lam = np.diag(law.H)
    for i, time in enumerate(times):
        speed = lambda _, s, i=i: s**2 * (lam[i] ** 2 - lam[i] * nu[i] * s**3)
        end = solve_ivp(speed, (0, time), [a], rtol=1e-10, atol=1e-14, method="LSODA").y[0, -1]
        assert end**3 / gamma[i] == pytest.approx(share, rel=1e-5)
        assert theory.aligned_shares(h, n, sigma2, a, [time])[0, i] == pytest.approx(share, rel=1e-9)


def test_the_risk_of_aligned_heads():
    n, sigma2, start = 9, 0.3, 0.05
    gamma, times = theory.best_entries(H, n, sigma2), np.array([0.0, 30.0, 300.0, 3000.0])
    shares = theory.aligned_shares(H, n, sigma2, start, times)
    np.testing.assert_allclose(shares[0], start**3 / gamma, rtol=1e-10)
    risks = [gd_beta.risk(law_of(H, n, sigma2), np.zeros(4), np.diag(row * gamma)) for row in shares]
    np.testing.assert_allclose(theory.aligned_risk(H, n, sigma2, start, times), risks, rtol=1e-12)
    assert (np.diff(risks) < 0).all()


@pytest.mark.parametrize("d, n, sigma2", [(1, 1, 0.0), (4, 31, 0.0), (3, 7, 2.0)])
def test_the_drop_follows_its_equation(d, n, sigma2):
    start, root, c = 1e-3, np.sqrt(d), 1 + (1 + d + sigma2) / n
    times = np.linspace(0, 12 / root, 50)
    curve = solve_ivp(
        lambda _, s: 2 * s * (root - c * s), (0, times[-1]), [start], t_eval=times, rtol=1e-11, atol=1e-14
    )
    np.testing.assert_allclose(theory.drop(d, n, sigma2, start, times), curve.y[0], rtol=1e-7)
    half = theory.drop_time(d, n, sigma2, start)
    assert theory.drop(d, n, sigma2, start, [half])[0] == pytest.approx(root / c / 2, rel=1e-12)
    law = PromptLaw.isotropic(d, n, sigma2)
    Gamma = root / c * np.eye(d) / root  # where it ends
    assert gd_beta.risk(law, np.zeros(d), Gamma) == pytest.approx(gd_beta.minimal_risk(law), rel=1e-12)


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: theory.stairs([0.1, -0.1], 5, 1), "at least 0"),
        (lambda: theory.stairs([0.0], 5, 0), "not all 0"),
        (lambda: theory.stairs([0.5], 0, 0), "n"),
        (lambda: theory.resting_levels(np.ones(21), 5, 0), "at most 20"),
        (lambda: theory.stair_times(H, 31, 0.0, 5.0), "a start above 0"),
        (lambda: theory.stair_times([1.0, 0.0], 31, 0.0, 0.1), "eigenvalues above 0"),
        (lambda: theory.aligned_shares(H, 31, 0.0, 5.0, [1]), "below"),
        (lambda: theory.drop(3, 5, 0, 0.0, [1]), "above 0"),
        (lambda: theory.drop_time(3, 5, 0, 100.0), "not below the end"),
    ],
)
def test_refusals(call, words):
    with pytest.raises(InputError, match=words):
        call()
