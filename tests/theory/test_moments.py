"""Phi, tau, Omega against Monte Carlo."""

import numpy as np
from support import assert_within_errors, estimate, random_law

from icl.prompts import symmetric_root
from icl.theory import moments


def test_omega_is_the_covariance_of_the_whitened_gradient(rng):
    law = random_law(rng, 3, 4, 0.6)
    whiten = np.linalg.inv(symmetric_root(law.H))

    def draw(B):
        batch = law.sample(rng, B)
        residual = batch.y - batch.X @ law.beta_star
        gradient = np.einsum("bnd,bn->bd", batch.X, residual) / law.n @ whiten
        return gradient[:, :, None] * gradient[:, None]

    assert_within_errors(estimate(draw, 100_000), moments.omega(law))


def test_tau_is_the_label_variance(rng):
    law = random_law(rng, 4, 2, 0.3)
    draw = lambda B: ((batch := law.sample(rng, B)).y[:, 0] - batch.X[:, 0] @ law.beta_star) ** 2
    assert_within_errors(estimate(draw, 100_000), moments.tau(law))


def test_omega_of_the_identity(rng):
    law = random_law(rng, 2, 5)
    expected = (law.n + 1) / law.n * moments.phi(law) + moments.tau(law) / law.n * np.eye(2)
    np.testing.assert_allclose(moments.omega(law), expected)
