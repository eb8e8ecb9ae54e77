"""Probes: what is linear is found exactly, and the two measures on cases solved by hand."""

import numpy as np
import pytest

from icl import probes
from icl.validation import InputError


def test_readouts_find_a_linear_map_on_other_states(rng):
    weights, states = rng.standard_normal((2, 4)), rng.standard_normal((2, 50, 3, 4))
    targets = states[0] @ weights[0] + 1.5
    found = probes.fit_readouts(states, targets)
    fresh = rng.standard_normal((2, 5, 3, 4))
    np.testing.assert_allclose(found(fresh)[0], fresh[0] @ weights[0] + 1.5, atol=1e-12)
    assert np.abs(found.weights[1]).max() < 0.5  # the other layer's states know nothing


def test_directions_without_variance_get_no_weight(rng):
    states = rng.standard_normal((1, 200, 4))
    states -= states.mean(-1, keepdims=True)  # as behind a LayerNorm
    found = probes.fit_readouts(states, states[0, :, 0])
    assert abs(found.weights[0].sum()) < 1e-10
    np.testing.assert_allclose(found(states)[0], states[0, :, 0], atol=1e-12)


def test_the_rounding_of_single_precision_gets_no_weight(rng):
    states, targets = rng.standard_normal((1, 200, 4)), rng.standard_normal(200)
    states -= states.mean(-1, keepdims=True)
    rounded = [probes.fit_readouts(np.float32(states * size) / size, targets) for size in (1, 3)]
    np.testing.assert_allclose(rounded[0](states), rounded[1](states), atol=1e-6)
    assert all(abs(found.weights[0].sum()) < 1e-6 for found in rounded)


def test_readouts_are_least_squares(rng):
    states, targets = rng.standard_normal((1, 60, 3)), rng.standard_normal(60)
    residual = probes.fit_readouts(states, targets)(states)[0] - targets
    np.testing.assert_allclose(states[0].T @ residual, 0, atol=1e-10)
    assert abs(residual.sum()) < 1e-10


def test_too_few_or_other_targets(rng):
    with pytest.raises(InputError, match="give as many"):
        probes.fit_readouts(np.zeros((1, 10, 2)), np.zeros(9))
    with pytest.raises(InputError, match="probe with more prompts"):
        probes.fit_readouts(np.zeros((1, 4, 4)), np.zeros(4))


def test_similarity_by_hand():
    a = np.array([[[3.0, 4.0], [1.0, 0.0]]])
    b = np.array([[[4.0, 3.0], [0.0, 2.0]], [[-3.0, -4.0], [0.0, 0.0]]])
    np.testing.assert_allclose(probes.similarities(a, b), [[[0.96, 0.0], [-1.0, 0.0]]])
    arrived = np.concatenate([b[:1], 1e-12 * b[:1], 1e-8 * b[:1]])
    np.testing.assert_allclose(probes.similarities(a, arrived)[0, :, 0], [0.96, 0.0, 0.96])  # rounding is no likeness
    with pytest.raises(InputError, match="different prompts"):
        probes.similarities(a, b[:, :1])


def test_matched_steps_on_geometric_errors():
    steps = np.arange(6)
    curve = 3.0 * 0.5**steps
    wanted = 3.0 * 0.5 ** np.array([0.25, 2.0, 4.5])
    np.testing.assert_allclose(probes.matched_steps(wanted, steps, curve), [0.25, 2.0, 4.5])
    np.testing.assert_array_equal(probes.matched_steps([10.0, 1e-9], steps, curve), [0.0, 5.0])  # clipped


def test_matched_steps_on_powers_and_stacked_curves():
    steps = 2 ** np.arange(7)
    curve = np.stack([steps**-1.5, steps**-0.5])
    wanted = np.array([[10.0**-1.5, 20.0**-1.5], [10.0**-0.5, 20.0**-0.5]])
    found = probes.matched_steps(wanted, steps, curve, logarithmic=True)
    np.testing.assert_allclose(found, [[10, 20], [10, 20]])


def test_a_curve_that_rises_again_is_matched_on_its_way_down():
    curve = np.array([4.0, 2.0, 1.0, 3.0, 5.0])
    np.testing.assert_allclose(probes.matched_steps([np.sqrt(8.0), 0.5], np.arange(5), curve), [0.5, 2.0])


def test_bootstrap_spread_is_the_standard_error(rng):
    values = rng.standard_normal((400, 2)) * [1.0, 3.0]
    draws = probes.resampled_means(values, 3000, rng)
    np.testing.assert_allclose(draws.std(0), values.std(0) / 20, rtol=0.06)
    np.testing.assert_allclose(draws.mean(0), values.mean(0), atol=0.02)


def test_linear_fit():
    slope, r2 = probes.linear_fit([0, 1, 2], [[1, 3, 5], [0, 1, 0], [2, 2, 2]])
    np.testing.assert_allclose(slope, [2, 0, 0])
    np.testing.assert_allclose(r2, [1, 0, 0])
