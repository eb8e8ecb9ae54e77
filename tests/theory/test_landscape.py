"""The one-variable landscape: against the full loss, its Hessian, and known values."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from icl.models.effective import EffectiveParameters
from icl.models.exact_risk import ExactRisk
from icl.prompts import PromptLaw
from icl.theory import landscape
from icl.theory.one_step_gd import minimal_risk

cases = dict(d=st.integers(1, 6), n=st.integers(1, 40), sigma2=st.floats(0, 3), angle=st.floats(0, np.pi / 2))


def weights_at(angle, d, n, sigma2):
    return EffectiveParameters.from_numpy(np.zeros(d), *landscape.weights_at(angle, d, n, sigma2))


@given(**cases)
def test_profile_is_the_exact_risk_of_its_weights(d, n, sigma2, angle):
    risk = ExactRisk(PromptLaw.isotropic(d, n, sigma2))(weights_at(angle, d, n, sigma2)).item()
    assert landscape.profile(angle, d, n, sigma2) == pytest.approx(risk, rel=1e-9)


@given(**cases)
def test_no_other_V_and_u_do_better(d, n, sigma2, angle):
    """At fixed (v, c) the gradient in (V, u) vanishes; the risk is a convex quadratic in them."""
    found = weights_at(angle, d, n, sigma2)
    V, u = found.V.clone().requires_grad_(), found.u.clone().requires_grad_()
    risk = ExactRisk(PromptLaw.isotropic(d, n, sigma2))(EffectiveParameters(found.w1, found.v, found.c, V, u))
    gradients = torch.autograd.grad(risk, (V, u))
    assert max(gradient.abs().max().item() for gradient in gradients) < 1e-9 * max(1, risk.item())


@given(cases["d"], cases["n"], cases["sigma2"])
def test_gradient_descent_is_the_deepest_valley(d, n, sigma2):
    first, *others = landscape.valleys(d, n, sigma2)
    assert first.angle == 0
    assert first.risk == pytest.approx(minimal_risk(d, n, sigma2), rel=1e-12)
    assert all(other.risk >= first.risk * (1 - 1e-12) for other in others)


@pytest.mark.parametrize(
    "d, n, sigma2, value", [(2, 5, 0.3, 1.653648), (2, 20, 0.3, 1.155302), (3, 100, 0.3, 1.020146)]
)
def test_spurious_value(d, n, sigma2, value):
    assert landscape.valleys(d, n, sigma2)[-1].risk == pytest.approx(value, abs=5e-7)


def test_spurious_valley_is_a_local_minimum_of_the_full_loss():
    """Hessian in all effective parameters at d = 2: zero modes of scaling and rotation, then positive."""
    d, n, sigma2 = 2, 5, 0.3
    valley = landscape.valleys(d, n, sigma2)[-1]
    parts = weights_at(valley.angle, d, n, sigma2)
    flat = torch.cat([parts.v, parts.c[None], parts.V.reshape(-1), parts.u])
    risk = ExactRisk(PromptLaw.isotropic(d, n, sigma2))

    def loss(t):
        return risk(EffectiveParameters(torch.zeros(d).double(), t[:2], t[2], t[3:7].reshape(2, 2), t[7:]))

    eigenvalues = torch.linalg.eigvalsh(torch.autograd.functional.hessian(loss, flat))
    assert eigenvalues[:2].abs().max() < 1e-6
    assert eigenvalues[2] > 0.05


def test_where_the_second_valley_opens():
    assert [landscape.first_n_with_second_valley(d, 0.25) for d in (2, 3, 4, 5)] == [1, 23, 52, 89]
    assert len(landscape.valleys(5, 88, 0.25)) == 1 and len(landscape.valleys(5, 89, 0.25)) == 2
    assert landscape.first_n_with_second_valley(9, 0.25, largest=100) is None


def test_one_dimension_is_symmetric():
    """Swapping the two attention factors maps φ to π/2 − φ at d = 1."""
    angles = np.linspace(0, np.pi / 2, 11)
    profile = landscape.profile(angles, 1, 6, 0.4)
    np.testing.assert_allclose(profile[[0, -1]], minimal_risk(1, 6, 0.4), rtol=1e-12)


@pytest.mark.parametrize("d, n, sigma2", [(1, 5, 0.3), (2, 7, 0.0), (3, 40, 0.25), (4, 30, 1.2), (6, 700, 0.25)])
def test_the_quartic_finds_what_a_grid_finds(d, n, sigma2):
    angles = np.linspace(0, np.pi / 2, 4001)
    risks = np.r_[np.inf, landscape.profile(angles, d, n, sigma2), np.inf]
    lowest = np.flatnonzero((risks[1:-1] < risks[:-2]) & (risks[1:-1] < risks[2:]))
    found = landscape.valleys(d, n, sigma2)
    assert [valley.angle for valley in found] == pytest.approx(list(angles[lowest]), abs=1e-3)
    assert all(valley.risk <= risks[1 + i] + 1e-12 for valley, i in zip(found, lowest, strict=True))


def test_the_quartic_has_the_sign_of_the_slope():
    for t in (0.3, 2.0, 9.0, 40.0):
        up, down = (landscape.profile(np.arctan(np.sqrt(t * factor)), 3, 50, 0.4) for factor in (1.001, 0.999))
        assert (up > down) == (landscape.slope(3, 50, 0.4)(t) > 0)


@pytest.mark.parametrize("d, sigma2", [(2, 0.3), (5, 0.0), (9, 1.5)])
def test_far_valley_of_long_contexts(d, sigma2):
    excess = landscape.valleys(d, 10**8, sigma2)[-1].risk - sigma2
    assert excess == pytest.approx(landscape.far_valley_excess(d, 10**8), rel=2e-3)
