"""Prompts: their law, their tokens, their generator."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from support import assert_within_errors, estimate, random_covariance, random_law, random_weights

from icl.models.effective import EffectiveParameters
from icl.models.exact_risk import ExactRisk
from icl.prompts import PromptLaw, attention_mask, conditioned_covariance, symmetric_root, token_matrix
from icl.validation import InputError


def test_second_moments_are_those_of_the_law(rng):
    law = random_law(rng, 3, 2, 0.7)

    def draw(B):
        batch = law.sample(rng, B)
        theta = batch.beta - law.beta_star
        noise = batch.y[:, 0] - (batch.X[:, 0] * batch.beta).sum(1)
        outer = lambda left, right: left[:, :, None] * right[:, None]
        x = batch.X[:, 0]
        parts = [outer(x, x), outer(theta, theta), outer(x, batch.X[:, 1]), outer(x, batch.x_query), outer(x, theta)]
        return np.concatenate([np.stack(parts, 1).reshape(B, -1), noise[:, None] ** 2], axis=1)

    zero = np.zeros(27)
    predicted = np.r_[law.H.ravel(), law.Psi.ravel(), zero, law.sigma2]
    assert_within_errors(estimate(draw, 100_000), predicted)


def test_query_label_has_its_own_noise(rng):
    law = PromptLaw.isotropic(2, 3, 0.5)
    draw = lambda B: ((batch := law.sample(rng, B)).y_query - (batch.x_query * batch.beta).sum(1)) ** 2
    assert_within_errors(estimate(draw, 50_000), 0.5)


def test_same_generator_same_prompts():
    law = PromptLaw.isotropic(3, 4, 0.1)
    first, second = (law.sample(np.random.default_rng(7), 5) for _ in range(2))
    assert (first.X == second.X).all() and (first.y_query == second.y_query).all()
    assert first.X.dtype == np.float64


def test_tokens(rng):
    batch = PromptLaw.isotropic(2, 3, 0.1).sample(rng, 4)
    E = token_matrix(batch.X, batch.y, batch.x_query)
    assert E.shape == (4, 3, 4)
    np.testing.assert_array_equal(E[1, :2, 0], batch.X[1, 0])
    np.testing.assert_array_equal(E[1, 2, :3], batch.y[1])
    np.testing.assert_array_equal(E[1, :, 3], [*batch.x_query[1], 0.0])
    np.testing.assert_array_equal(attention_mask(3), np.diag([1.0, 1, 1, 0]))


@given(st.integers(0, 2**31), st.integers(1, 6), st.integers(1, 6))
def test_symmetric_root(seed, d, rank):
    matrix = random_covariance(np.random.default_rng(seed), d, rank)
    root = symmetric_root(matrix)
    np.testing.assert_allclose(root @ root, matrix, atol=1e-12 * (1 + np.abs(matrix).max()))
    np.testing.assert_allclose(root, root.T)


@pytest.mark.parametrize(
    "change, complaint",
    [
        (dict(n=0), "n must be"),
        (dict(sigma2=-1.0), "sigma2"),
        (dict(sigma2=float("nan")), "sigma2"),
        (dict(H=np.diag([1.0, -1.0])), "H must be positive"),
        (dict(Psi=np.eye(3)), "Psi must have shape"),
        (dict(beta_star=[1.0]), "beta_star must have shape"),
        (dict(Psi=np.zeros((2, 2)), sigma2=0.0), "tau"),
        (dict(H=1.0), "d must be"),
    ],
)
def test_bad_laws(change, complaint):
    good = dict(n=3, H=np.eye(2), Psi=np.eye(2), beta_star=np.zeros(2), sigma2=0.1)
    with pytest.raises(InputError, match=complaint):
        PromptLaw(**{**good, **change})


def test_batch_size_is_checked(rng):
    with pytest.raises(InputError, match="B must be"):
        PromptLaw.isotropic(2, 2, 0.1).sample(rng, 0)


def test_every_part_depends_on_the_generator():
    law = PromptLaw.isotropic(3, 4, 0.1)
    first, second = (law.sample(np.random.default_rng(seed), 5) for seed in (7, 8))
    for part in ("X", "y", "x_query", "y_query", "beta"):
        assert not np.isclose(getattr(first, part), getattr(second, part)).any(), part


def test_the_query_is_not_among_the_examples(rng):
    """Examples and query come from one draw: none of them twice."""
    batch = PromptLaw.isotropic(2, 3, 0.1).sample(rng, 50)
    assert batch.X.shape == (50, 3, 2) and batch.y.shape == (50, 3)
    assert not np.isclose(batch.X, batch.x_query[:, None]).all(-1).any()
    assert not np.isclose(batch.y, batch.y_query[:, None]).any()


def test_conditioned_covariance_has_even_ratios(rng):
    np.testing.assert_allclose(np.linalg.eigvalsh(conditioned_covariance(3, 100.0, rng)), [0.01, 0.1, 1.0])


def test_labels_scaled(rng):
    """The same draws with larger labels; weights for them predict larger by the same factor."""
    H, Psi = np.diag([1.0, 0.5, 2.0]), np.diag([0.3, 1.0, 0.0])
    law = PromptLaw(5, H, Psi, np.array([1.0, -2.0, 0.5]), 0.4)
    scaled = law.with_labels_scaled(7.0)
    one, other = law.sample(np.random.default_rng(3), 40), scaled.sample(np.random.default_rng(3), 40)
    np.testing.assert_allclose(other.y, 7 * one.y)
    np.testing.assert_allclose(other.y_query, 7 * one.y_query)
    weights = EffectiveParameters.from_numpy(*(rng.standard_normal(shape) for shape in (3, 3, (), (3, 3), 3)))
    tensors = [[torch.from_numpy(part) for part in (p.X, p.y, p.x_query)] for p in (one, other)]
    small, large = weights.predict(*tensors[0]), weights.with_labels_scaled(7.0).predict(*tensors[1])
    np.testing.assert_allclose(large.numpy(), 7 * small.numpy())


def test_the_root_of_a_singular_matrix_is_as_singular(rng):
    """An eigenvalue of 1e-17 has a root of 3e-9: covariates would leave the plane that H confines them to."""
    for _ in range(20):
        Q, _ = np.linalg.qr(rng.standard_normal((5, 5)))
        matrix = (Q * np.array([2.0, 1.0, 1e-6, 0.0, 0.0])) @ Q.T
        root = symmetric_root((matrix + matrix.T) / 2)
        assert np.abs(root @ root - matrix).max() < 1e-14
        assert np.abs(root @ Q[:, 3:]).max() < 1e-12
    assert not symmetric_root(np.zeros((2, 2))).any()


@pytest.mark.parametrize("rank", [4, 2])
def test_whitened_the_risks_are_the_same(rng, rank):
    """On z, as many numbers as H has rank, weights predict what they predict on x; and there is a way back."""
    Q, _ = np.linalg.qr(rng.standard_normal((4, 4)))
    H = (Q * np.r_[np.geomspace(1, 0.01, rank), np.zeros(4 - rank)]) @ Q.T
    law = PromptLaw(6, (H + H.T) / 2, random_covariance(rng, 4), np.arange(4.0), 0.3)
    root, inverse = law.whitening
    assert root.shape == (rank, 4) and np.array_equal(law.whitened.H, np.eye(rank))
    np.testing.assert_allclose(root.T @ root, law.H, atol=1e-14)
    np.testing.assert_allclose(inverse.T @ root.T, np.eye(rank), atol=1e-13)
    weights = EffectiveParameters.from_numpy(*(rng.standard_normal(shape) for shape in (4, 4, (), (4, 4), 4)))
    moved, risk = weights.substituted(root), ExactRisk(law)(weights).item()
    assert ExactRisk(law.whitened)(moved).item() == pytest.approx(risk, rel=1e-12)
    assert ExactRisk(law)(moved.substituted(inverse)).item() == pytest.approx(risk, rel=1e-12)
    prompts = law.sample(rng, 20)
    X, y, x_query = (torch.from_numpy(part) for part in (prompts.X, prompts.y, prompts.x_query))
    z = [covariates @ torch.from_numpy(inverse) for covariates in (X, x_query)]
    np.testing.assert_allclose(moved.predict(z[0], y, z[1]), weights.predict(X, y, x_query), atol=1e-10)


@pytest.mark.parametrize("d, n", [(3, 4), (3, 700), (1, 2)])
def test_weights_cannot_tell_condensed_prompts_from_whole_ones(rng, d, n):
    """Their risk on both is the exact one: squares of all sums, and their products with the query and its label."""
    law = random_law(rng, d, n)
    weights, exact = random_weights(rng, d), ExactRisk(law)

    def draw(B):
        p = law.condensed(rng, B)
        assert p.X.shape == (B, d + 1, d)
        X, y, x_query = (torch.from_numpy(part) for part in (p.X, p.y, p.x_query))
        return ((weights.predict(X, y, x_query).numpy() - p.y_query) ** 2)[:, None]

    assert_within_errors(estimate(draw, 400_000), np.array([exact(weights).item()]))
    drawn = law.condensed(rng, 100_000)
    assert_within_errors(estimate(lambda B: (law.condensed(rng, B).y ** 2).sum(1)[:, None], 100_000),
                         np.array([(d + 1) * (np.trace(law.H @ law.Psi) + law.beta_star @ law.H @ law.beta_star
                                              + law.sigma2)]))  # fmt: skip
    spread = (drawn.X**2).sum((1, 2)).var() / (d + 1) ** 2
    assert spread == pytest.approx(2 * np.trace(law.H @ law.H) / n, rel=0.05)


def test_short_prompts_are_not_condensed(rng):
    with pytest.raises(InputError, match="n = 3 examples in d = 3"):
        random_law(rng, 3, 3).condensed(rng, 2)
