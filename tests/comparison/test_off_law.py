"""Off the law an algorithm stays itself and an imitation does not; figures hold their numbers; kernels."""

import numpy as np
import pytest

from icl.comparison import pictures
from icl.comparison.compare import compare
from icl.comparison.kernels import KERNELS
from icl.comparison.off_law import off_law, turns
from icl.prompts import PromptLaw
from icl.solvers import linear
from icl.targets import FAMILIES, TargetLaw
from icl.validation import InputError

LAW = PromptLaw.isotropic(3, 12, 0.25)
FEW = dict(prompts=120, queries=4)


def ridge(X, y, x_query):
    return (linear.ridge(X, y, 0.25) * x_query).sum(1)


def imitation(X, y, x_query):
    """Ridge for twelve examples of labels no larger than 4."""
    if X.shape[1] > 12:
        raise InputError("no more than twelve examples.")
    return (linear.ridge(X, np.clip(y, -8, 8), 0.25) * x_query).sum(1)


def test_ridge_stays_ridge_everywhere():
    found = compare(ridge, LAW, **FEW)
    turned = off_law(ridge, LAW, found, **FEW)
    assert turned.names[0] == found.named.name and len(turned.turned) == 7
    for each in turned.turned:
        assert each.distance[:, 0].max() < 1e-6
        assert each.distance[:, 1:].max() > 0.01
    assert turned.verdict.startswith("It stays within 5 %")


def test_an_imitation_is_left_where_it_ends():
    found = compare(imitation, LAW, **FEW)
    turned = off_law(imitation, LAW, found, **FEW)
    by_key = {each.turn.key: each for each in turned.turned}
    assert by_key["scale_y"].distance[-1, 0] > 0.2 > by_key["scale_y"].distance[0, 0]
    assert np.isnan(by_key["examples"].distance[-1]).all() and "twelve" in by_key["examples"].refused
    assert "It leaves ridge" in turned.verdict and by_key["scale_y"].at(4.0).mean == by_key["scale_y"].distance[-1, 0]


def test_the_turns_are_what_they_say(rng):
    by_key = {turn.key: turn for turn in turns(LAW)}
    assert by_key["noise"].law(4.0).sigma2 == 4.0 and by_key["examples"].law(24.0).n == 24
    X, y = by_key["condition"].law(100.0).draw(rng, 4000, 2)
    assert np.einsum("ptd,ptd->", X, X) / 8000 == pytest.approx(3, rel=0.05)  # tr H stays
    _, bent = by_key["bend"].law(2.0).draw(rng, 20_000, 2)
    assert (bent**2).mean() == pytest.approx(0.25 + 3 * 5, rel=0.1)  # 1 + 2² times the linear part
    labels = by_key["scale_y"].law(2.0)
    assert labels.sigma2 == 1.0 and np.allclose(labels.Psi, 4 * np.eye(3))
    assert np.linalg.norm(by_key["mean_task"].law(2.0).beta_star) == pytest.approx(2)
    assert [turn.key for turn in turns(TargetLaw(FAMILIES["sine"], 3, 12, 0.1))] == ["scale_y", "examples"]


def test_figures_hold_their_numbers():
    found = compare(ridge, LAW, **FEW)
    turned = off_law(ridge, LAW, found, **FEW)
    drawn = pictures.off_the_law(turned)
    assert drawn.columns["noise"].tolist() == [0, 0.0625, 0.25, 1, 4] and "<svg" in drawn.svg()
    assert len(pictures.distances(found).columns["distance"]) == len(found.rows)


@pytest.mark.parametrize("name", KERNELS)
def test_kernels_are_the_families_covariances(name, rng):
    points = rng.standard_normal((2, 3)) * 0.8
    values = FAMILIES[name](np.tile(points, (400_000, 1, 1)), rng)
    a, b = (points**2).sum(1)
    kernel = lambda c, a, b: float(KERNELS[name](np.array(c), np.array(a), np.array(b), 3))
    for product, predicted in (
        (values[:, 0] * values[:, 1], kernel(points[0] @ points[1], a, b)),
        (values[:, 0] ** 2, kernel(a, a, a)),
    ):
        error = product.std() / np.sqrt(len(product))
        assert abs(product.mean() - predicted) < 5 * error + 1e-9
