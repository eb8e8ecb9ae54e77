"""Chapter 10's experiments at parameters that stand nowhere else."""

import numpy as np
import pytest
from page_code import functions
from support import assert_within_errors

from icl.chapters import check_parameters
from icl.chapters.how_many_tasks import experiments as chapter
from icl.estimates import monte_carlo
from icl.prompts import PromptLaw
from icl.theory import how_many_tasks as theory

PAGE = functions("10_how_many_tasks", "attention", "features", "fit", "resolvent", "equivalent", theory=theory)
NAME = "10_how_many_tasks"


def test_the_page_s_attention_is_its_regression(rng):
    X, y, x, Gamma = (rng.standard_normal(shape) for shape in ((7, 3), 7, 3, (3, 3)))
    assert PAGE.attention(Gamma, X, y, x) == pytest.approx(PAGE.features(X, y, x) @ Gamma.ravel(), rel=1e-12)
    assert PAGE.attention(Gamma, X, y, x) == pytest.approx(x @ Gamma @ X.T @ y / 7, rel=1e-12)


def test_the_page_s_equivalents_are_the_theory_s():
    for corner in ((0.4, 3, 0.7, 0.1), (0.4, 3, 0.7, 0.1, 0.2), (5, 0.8, 3.0, 0), (np.inf, 2, 1.0, 0.3, 0.1)):
        assert PAGE.equivalent(*corner) == pytest.approx(theory.limit(*corner), rel=1e-12)


@pytest.mark.parametrize("d, n, sigma2", [(3, 5, 0.7), (2, 1, 0.0), (1, 4, 0.3)])
def test_short_prompts_have_the_moments_of_whole_ones(rng, d, n, sigma2):
    """Also those that hold the query's label: (x'g) y and (x'g)² y²."""
    draw, law = chapter.short_prompts(d, n, sigma2, label_row=True), PromptLaw.isotropic(d, n, sigma2)

    def statistics(x, g, squares, y):
        xg = (x * g).sum(1)
        return np.stack([(g**2).sum(1), xg * y, (xg * y) ** 2 / (1 + y**2), squares, squares * (g**2).sum(1)], axis=1)

    def short(B):
        x, g, y = draw(B, None, rng)
        return statistics(x, g[:, :-1], g[:, -1], y)

    def whole(B):
        p = law.sample(rng, B)
        return statistics(p.x_query, np.einsum("bnd,bn->bd", p.X, p.y) / n, (p.y**2).sum(1) / n, p.y_query)

    brief, long = monte_carlo(short, 100_000), monte_carlo(whole, 100_000)
    assert np.all(np.abs(brief.mean - long.mean) <= 5 * np.hypot(brief.stderr, long.stderr))
    assert abs(brief.mean[0] - (n + 1 + d + sigma2) / n * d) <= 5 * brief.stderr[0]


def test_short_prompts_of_given_tasks(rng):
    d, n, sigma2 = 3, 6, 0.4
    tasks = rng.standard_normal((2, d))
    R = tasks.T @ tasks / 2
    draw = chapter.short_prompts(d, n, sigma2)

    def products(B):
        x, g, y = draw(B, tasks, rng)
        return np.concatenate([g[:, :, None] * g[:, None], (y[:, None] * x)[:, :, None] * g[:, None]], axis=1)

    expected = np.concatenate([(n + 1) / n * R + (np.trace(R) + sigma2) / n * np.eye(d), R])
    assert_within_errors(monte_carlo(products, 200_000), expected)


@pytest.mark.parametrize("P", [5, 8, 9, 40])
def test_fits_are_the_page_s_least_squares(P):
    d, n, sigma2 = 3, 4, 0.5
    draw = chapter.short_prompts(d, n, sigma2)
    (found,) = chapter.fits(draw, [P], np.random.default_rng(7))
    x, g, y = draw(P, None, np.random.default_rng(7))
    np.testing.assert_allclose(found, PAGE.fit(chapter.products(x, g), y), rtol=1e-7, atol=1e-9)


def test_fits_grow_with_the_prompts_and_take_a_ridge(monkeypatch):
    draw = chapter.short_prompts(2, 5, 0.1)
    monkeypatch.setattr(chapter, "CHUNK", 7)  # several chunks
    found = chapter.fits(draw, [10, 30], np.random.default_rng(3), ridge=0.2)
    rng, parts = np.random.default_rng(3), []
    for count in (7, 3, 7, 7, 6):
        parts.append(draw(count, None, rng))
    x, g, y = (np.concatenate(part) for part in zip(*parts, strict=True))
    for Gamma, P in zip(found, (10, 30), strict=True):
        F = chapter.products(x[:P], g[:P])
        np.testing.assert_allclose(
            Gamma.ravel(), np.linalg.solve(F.T @ F + 0.2 * P * np.eye(4), F.T @ y[:P]), rtol=1e-9
        )
    assert np.linalg.norm(chapter.fits(draw, [30], np.random.default_rng(3), ridge=50.0)[0]) < 0.1


def test_a_fit_below_the_threshold_and_then_above():
    """Asked for both, it does not take one's shape for the other's."""
    draw = chapter.short_prompts(2, 5, 0.1)
    few, many = chapter.fits(draw, [3, 4000], np.random.default_rng(3))
    assert few.shape == many.shape == (2, 2)
    assert np.linalg.norm(many - np.eye(2) / (1 + 3.1 / 5)) < 0.2


def test_error_on_new_is_the_risk_on_prompts(rng):
    d, n, sigma2 = 3, 5, 0.4
    Gamma = rng.standard_normal((d, d + 1)) / 3
    draw = chapter.short_prompts(d, n, sigma2, label_row=True)

    def squared(B):
        x, g, y = draw(B, None, rng)
        return ((x * (g @ Gamma.T)).sum(1) - y) ** 2 / d

    assert_within_errors(monte_carlo(squared, 200_000), chapter.error_on_new(Gamma, n, sigma2))
    plain = d * chapter.error_on_new(Gamma[:, :d], n, sigma2)
    assert plain < d * chapter.error_on_new(Gamma, n, sigma2)


def test_the_label_row_costs_its_weights():
    found = chapter.with_label_row(6, 12, 1.5, (3.0, 6.0), 400, np.random.default_rng(5))
    more, less = theory.descent(3 * 6 / 7, 2, 0.25), theory.descent(3, 2, 0.25)
    assert found["two"].mean > found["four"].mean and found["label_row"].mean == pytest.approx(more / less, abs=0.1)
    assert found["label_row"].mean > 1 + 5 * found["label_row"].stderr


def test_points_along_the_prompts(monkeypatch):
    monkeypatch.setattr(chapter, "SIZES", (3, 4, 5, 6))
    found = chapter.along_prompts(check_parameters(NAME), (0.5, 4.0), np.random.default_rng)
    assert [*found] == [3, 4, 5] and all(len(errors) == 2 for errors in found.values())


def test_budget_shrinks_with_the_size_of_a_prompt():
    assert chapter.budget(check_parameters(NAME)).prompts == 200_000
    assert chapter.budget(check_parameters(NAME, d=100, n=1000)).prompts == 2000


def test_mean_error_is_the_risk(rng):
    """On new tasks by `error_on_new`, on given ones by the moments written out."""
    d, n, sigma2 = 2, 5, 0.4
    law, few = PromptLaw.isotropic(d, n, sigma2), chapter.Budget(60_000, (2,), 2)
    Gamma, tasks = rng.standard_normal((d, d)) / 2, rng.standard_normal((3, d))
    R = tasks.T @ tasks / 3
    B = (n + 1) / n * R + (np.trace(R) + sigma2) / n * np.eye(d)
    expected = sigma2 + np.trace(Gamma @ B @ Gamma.T) - 2 * np.trace(Gamma @ R) + np.trace(R)
    assert_within_errors(chapter.mean_error(law, Gamma, few, rng, tasks), expected)
    assert_within_errors(chapter.mean_error(law, Gamma, few, rng), d * chapter.error_on_new(Gamma, n, sigma2))


def test_the_grid_sees_a_difference():
    right = lambda *corner: theory.limit(*corner)
    wrong = lambda *corner: (1.001 * theory.limit(*corner)[0], 0)
    assert chapter.off_the_printed(right)[0] < 1e-10 < 1e-4 < chapter.off_the_printed(wrong)[0]
    assert chapter.off_the_printed(right)[1] > 1e-3
