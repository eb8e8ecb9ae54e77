"""The comparison names what it was not told: algorithms as functions, modules, estimators and constructions."""

import dataclasses

import numpy as np
import pytest
import torch

from icl.comparison import adapters
from icl.comparison.compare import compare, described
from icl.comparison.measure import fitted, measure
from icl.comparison.models import every_prefix, many_queries
from icl.comparison.questions import SequenceLaw, sequences
from icl.comparison.recognition import as_model
from icl.comparison.table import prompts_needed
from icl.comparison.words import drawn, markup, pair
from icl.constructions.newton_transformer import design_a, design_a_prime
from icl.estimates import Estimate
from icl.prompts import PromptLaw
from icl.solvers import linear, prefixes, queries
from icl.solvers.online import online_gradient_descent
from icl.targets import FAMILIES, TargetLaw
from icl.theory.gd_beta import optimal_gamma
from icl.validation import InputError

LAW = PromptLaw.isotropic(3, 12, 0.25)
FEW = dict(prompts=150, queries=5)


def ridge(penalty):
    return lambda X, y, x_query: (linear.ridge(X, y, penalty) * x_query).sum(1)


def descent(k, eta):
    def predict(X, y, x_query):
        w = np.zeros((len(X), X.shape[2]))
        for _ in range(k):
            w = w - eta * np.einsum("bnd,bn->bd", X, np.einsum("bnd,bd->bn", X, w) - y)
        return (w * x_query).sum(1)

    return predict


def attention(eta):
    """A layer of linear attention whose weights take one step, on token matrices (P, d + 1, n + 1)."""
    return lambda E: eta * torch.einsum("pin,pn,pi->p", E[:, :-1, :-1], E[:, -1, :-1], E[:, :-1, -1])


def row(found, key):
    return next(row for row in found.rows if row.key == key)


def test_ridge_of_the_law_is_bayes():
    found = compare(ridge(0.25), LAW, **FEW)
    assert found.named.key == "bayes" and "agree up to rounding" in found.verdict
    assert found.verdict.startswith("It is ridge, penalty 0.25 (Bayes)")
    assert row(found, "ridge").same  # fitted, it finds the same penalty


def test_another_penalty_is_told_from_it():
    found = compare(ridge(0.3), LAW, **FEW)
    assert found.named.name == "ridge, penalty 0.3 (fitted)" and row(found, "bayes").apart


@pytest.mark.parametrize("k", (1, 2, 3, 5, 8, 13, 20))
def test_gradient_descent_is_named_with_its_steps(k):
    found = compare(descent(k, 0.03), LAW, rng=k, **FEW)
    assert (found.named.key, found.named.steps) == ("gd_fixed", k) and "eta = 0.03 " in found.named.name


@pytest.mark.filterwarnings("ignore::icl.solvers.prefixes.StepSizeWarning")
@pytest.mark.parametrize("j", range(6))
def test_a_transformer_that_takes_newton_steps_is_named_with_them(j):
    found = compare(design_a(3, j, 1 / 2000).predict, LAW, rng=j, **FEW)
    assert (found.named.key, found.named.steps) == ("newton_fixed", j)


@pytest.mark.parametrize("k", (0, 3, 7))
def test_newton_with_a_start_of_each_prompt(k):
    found = compare(lambda X, y, q: prefixes.newton(queries.decompose(X, y, q[:, None]), [k])[:, 0, 0], LAW, **FEW)
    assert found.named.name.startswith(f"Newton, {k} step") and row(found, "newton").interval == (k, k)


def test_linear_attention_is_the_best_step():
    found = compare(adapters.columns(attention(1 / 16.25), "attention"), LAW, **FEW)
    assert found.named.key == "one_step" and found.named.exact == pytest.approx(0.25 + 3 * 4.25 / 16.25)


def test_measured_risks_are_the_exact_ones():
    found = compare(ridge(0.25), LAW, prompts=1500, queries=4)
    for each in found.rows:
        if np.isfinite(each.exact):
            assert abs(each.risk.mean - each.exact) < 5 * each.risk.stderr
    assert sum(np.isfinite(each.exact) for each in found.rows) == 4


def test_distance_is_the_ratio_of_sizes():
    found = compare(lambda X, y, q: 0.8 * ridge(0.25)(X, y, q), LAW, **FEW)
    assert row(found, "bayes").distance.mean == pytest.approx(0.25)


def test_every_prefix_and_online_descent():
    found = compare(lambda X, y: online_gradient_descent(X, y, [0.07])[..., 0], LAW, **FEW)
    assert found.named.name == "online GD, one pass, rate 0.07 (fitted)" and found.split and found.answers == 12


def test_an_estimator_is_fitted_to_each_prompt():
    class LeastSquares:
        def fit(self, X, y):
            self.w = np.linalg.lstsq(X, y, rcond=None)[0]

        def predict(self, X):
            return X @ self.w

    assert compare(LeastSquares(), LAW, **FEW).named.key == "least_squares"


def test_many_queries_at_once():
    model = lambda X, y, queries: np.einsum("pqd,pd->pq", queries, linear.ridge(X, y, 0.25))
    assert compare(model, LAW, **FEW).named.key == compare(many_queries(model), LAW, **FEW).named.key == "bayes"


def test_torch_modules_in_their_own_precision():
    class Step(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.eta = torch.nn.Parameter(torch.tensor(0.02))

        def forward(self, X, y, x_query):
            return self.eta * torch.einsum("pnd,pn,pd->p", X, y, x_query)

    found = compare(Step(), LAW, **FEW)
    assert (found.named.key, found.named.steps) == ("gd_fixed", 1) and found.named.distance.mean < 1e-5


def test_a_mean_task_asks_for_its_own_algorithms():
    law = PromptLaw(12, np.diag([2.0, 1.0, 0.5]), np.diag([1.0, 0.5, 2.0]), np.array([1.0, -1.0, 0.5]), 0.25)
    found = compare(lambda X, y, q: (linear.bayes(X, y, law) * q).sum(1), law, **FEW)
    assert found.named.key == "bayes" and found.named.distance.mean < 1e-7
    found = compare(lambda X, y, q: (linear.gd_beta(X, y, law.beta_star, optimal_gamma(law)) * q).sum(1), law, **FEW)
    assert found.named.key == "preconditioned" and found.named.distance.mean < 1e-7
    sequence = every_prefix(lambda X, y: np.stack([_bayes_at(law, X, y, t) for t in range(X.shape[1])], 1))
    assert compare(sequence, law, **FEW).named.key == "bayes"


def _bayes_at(law, X, y, t):
    w = linear.bayes(X[:, :t], y[:, :t], law) if t else np.tile(law.beta_star, (len(X), 1))
    return (w * X[:, t]).sum(1)


def test_zero_and_none_of_these():
    found = compare(lambda X, y, q: np.zeros(len(q)), LAW, **FEW)
    assert found.named.key == "zero" and found.named.distance.mean == 0
    found = compare(lambda X, y, q: q[:, 0], LAW, **FEW)
    assert found.verdict.startswith("It is none of these") and found.named.distance.mean > 0.5


def test_what_converged_cannot_be_told_apart_and_the_simplest_is_named():
    law = PromptLaw.isotropic(3, 12, 0.0)
    noise = lambda X, y, q: (linear.least_squares(X, y) * q).sum(1) + 1e-3 * np.sin(40 * q[:, 0])
    found = compare(noise, law, **FEW)
    assert found.named.key == "least_squares" and "cannot be told from" in found.verdict
    assert not row(found, "gd").apart


def test_kernel_ridge_for_nonlinear_targets():
    law = TargetLaw(FAMILIES["cosine"], 2, 10, 0.1)

    def gaussian(X, y, q):
        kernel = lambda a, b: np.exp(-0.18 * ((a[:, :, None] - b[:, None]) ** 2).sum(-1))
        K = kernel(X, X) + 0.1 * np.eye(10)
        return (kernel(q[:, None], X) @ np.linalg.solve(K, y[..., None]))[:, 0, 0]

    found = compare(gaussian, law, **FEW)
    assert found.named.key == "kernel" and found.named.distance.mean < 1e-5
    assert found.risk.mean < row(found, "bayes").risk.mean


def test_layers_of_a_transformer_whose_layers_are_newton_steps():
    design = design_a_prime(3, 4, 1 / 2000)

    model = many_queries(lambda X, y, queries: _each(design.predict, X, y, queries))
    last = lambda X, y, query: design.states(X, y, query)[:, :, -1]  # the query's token
    states = lambda X, y, queries: list(np.stack([last(X, y, query) for query in queries.transpose(1, 0, 2)], 2))
    found = compare(dataclasses.replace(model, states=states), LAW, prompts=300, queries=5)
    layers = found.layers.rows
    assert len(layers) == design.layers + 1 and not layers[0].normed
    assert layers[-1].error.mean < layers[2].error.mean and "can know more" in str(found)
    assert layers[0].nearest == "predict 0" and layers[-1].newton[1] <= layers[-1].newton[0] <= layers[-1].newton[2]


@pytest.mark.parametrize("law", [LAW, PromptLaw.isotropic(3, 2, 0.0)], ids=["noisy", "two examples for three"])
def test_a_read_out_does_not_learn_noise_by_heart(law):
    """A state that holds the best answer among forty other numbers: read out, it is that answer and no worse."""
    model = many_queries(lambda X, y, queries: queries[..., 0])
    held = lambda X, y, q: np.einsum("pd,prd->pr", linear.bayes(X, y, law), q)[..., None]
    others = lambda q: np.sin(1000 * q @ np.linspace(1, 9, 120).reshape(3, 40))
    states = lambda X, y, queries: [np.concatenate([held(X, y, queries), others(queries)], -1)]
    found = compare(dataclasses.replace(model, states=states), law, prompts=300, queries=5)
    (layer,) = found.layers.rows
    assert layer.distance.mean < 1e-6, layer.nearest


def _each(predict, X, y, queries):
    return np.stack([predict(X, y, q) for q in queries.transpose(1, 0, 2)], 1)


def test_records_csv_and_words():
    found = compare(ridge(0.25), LAW, **FEW)
    records = found.records()
    assert records[0].keys() >= {"algorithm", "distance", "risk_stderr", "prompts_needed"}
    assert len(records) == len(found.rows) and found.csv().splitlines()[1].startswith('"ridge, penalty 0.25')
    assert str(found).count("\n") > len(records) and "<table" in found._repr_html_()
    assert described(LAW) == "linear prompts, d = 3, n = 12, sigma2 = 0.25"


def test_the_same_seed_gives_the_same_table():
    assert str(compare(ridge(0.4), LAW, rng=3, **FEW)) == str(compare(ridge(0.4), LAW, rng=3, **FEW))


def test_laws_of_ones_own(rng):
    law = SequenceLaw(3, 12, lambda rng, P, T: sequences(LAW, rng, P, T))
    assert compare(ridge(0.3), law, **FEW).named.name == "ridge, penalty 0.3 (fitted)"
    with pytest.raises(InputError, match="a law must be"):
        sequences("linear", rng, 3, 4)
    with pytest.raises(InputError, match="prompts must be"):
        compare(ridge(1.0), LAW, prompts=10)


def test_the_prompts_that_a_table_asks_for_suffice_nine_times_in_ten(rng):
    """The nearest is ridge with the model's own penalty, the other the law's; the model rounds its labels."""
    model = as_model(lambda X, y, q: ridge(0.7)(X, np.round(y), q), "rounded")
    found, _ = fitted(model, LAW, rng, 5)
    two = [family for family in found if family.key in ("bayes", "ridge")]
    asked = lambda prompts: measure(model, LAW, two, prompts, rng, queries=5).farther(0, 1)
    prompts = prompts_needed(asked(60_000))
    told = [found.mean > 5 * found.stderr for found in map(asked, [prompts] * 150)]
    assert 300 < prompts < 600 and 0.8 < np.mean(told) < 0.97


def test_a_model_of_token_matrices_needs_no_adapter():
    class Step(torch.nn.Module):
        def forward(self, E):
            return attention(0.05)(E)

    assert compare(Step(), LAW, **FEW).named.name == "one GD step, eta = 0.05 (fitted)"


def test_numbers_in_words():
    assert pair(Estimate(0.149, 0.0097, 9)) == "0.15 ± 0.01" and pair(Estimate(2.0, 0.0, 9)) == "2"
    assert markup("S/λ_max² < 1") == "S/λ<sub>max</sub>² &lt; 1"
    assert drawn("S/λ_max², 1/λ_max") == r"S/$\lambda_{\mathrm{max}}^2$, 1/$\lambda_{\mathrm{max}}$"
