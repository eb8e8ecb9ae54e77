# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
#       format_version: '1.3'
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# (your-own-model)=
# # How to test your own model
#
# You have trained something that learns in context, and want to know *which algorithm it is*: one step of gradient
# descent, ridge regression, Newton's method, none of these? One function answers, for anything that predicts:
#
# ```python
# import icl
#
# law = icl.PromptLaw.isotropic(d=5, n=20, sigma2=0.25)  # H = Psi = I
# found = icl.compare(my_model, law)  # my_model(X, y, x_query) -> one number a prompt
# print(found)
# ```
#
# It draws fresh prompts, asks the model, and sets its answers beside those of every algorithm in this book. This page
# tries it on models whose answer is known, on one with a mistake, and on two that were trained.
#
# ```{admonition} What you need
# :class: note
# {doc}`Chapter 1 <01_one_step_gd>`; {doc}`chapter 6 <06_newton_transformers>` for Newton's method,
# {doc}`chapter 7 <07_trained_transformers>` for the trained models.
# Reading takes about {glue:text}`reading_minutes:.0f` minutes; rerunning, about two.
# ```

# %% tags=["hide-input"]
from textwrap import fill

import numpy as np
from icl.chapters import begin
from icl.chapters.your_own_model import experiments as chapter
from icl.comparison import adapters, pictures
from icl.comparison.compare import compare
from icl.comparison.off_law import off_law
from icl.prompts import PromptLaw
from icl.search import minimiser
from icl.validation import InputError
from sklearn.linear_model import Ridge

# %% tags=["parameters"]
d = 5
n = 20
sigma2 = 0.25
seed = 0
profile = "quick"

# %% tags=["hide-input", "remove-output"]
parameters, ledger, stream = begin(
    "12_your_own_model", d=d, n=n, sigma2=sigma2, seed=seed, profile=profile
)
budget = chapter.budget(parameters)
law = PromptLaw.isotropic(d, n, sigma2)
P = ledger.number("prompts", budget.prompts)


# %% [markdown]
# ## A model whose answer is known
#
# Anything with `fit` and `predict`, as scikit-learn's estimators have, is fitted anew to the examples of each prompt.
# Here is its ridge regression. The comparison is told nothing about it.


# %%
def ridge_regression(penalty, estimator=Ridge):
    return estimator(penalty, fit_intercept=False, solver="svd")


# %% [markdown]
# How far is an algorithm from it? On one prompt, let $m$ be the mean squared difference of the answers and $s$ the mean
# square of the model's. Over prompts,
#
# ```{math}
# :label: eq-farness
# F = \mathbb E \sqrt{\frac{m}{m+s}}, \qquad \text{distance} = \frac{F}{\sqrt{1-F^2}} .
# ```
#
# The distance is the ratio of root mean squares $\sqrt{m/s}$ where that ratio is the same on every prompt, and single prompts
# cannot carry $F$ away, as they do a mean of $m$: after $n = d$ noisy examples the risk of least squares is infinite.
#
# **By hand.** One prompt with $x_1 = (1, 0)$, $x_2 = (0, 1)$, $x_3 = (1, 1)$, labels $3, 1, 4$ and the query $(1, 1)$. Then
# $S = X^\top X = \bigl(\begin{smallmatrix}2&1\\1&2\end{smallmatrix}\bigr)$ and $z = X^\top \mathbf y = (7, 5)$. Ridge with
# penalty $1$ solves $(S + I)w = z$ by $w = (2, 1)$ and answers $3$. Least squares solves $Sw = z$ by $(3, 1)$ and answers $4$, a
# third of that answer away; a step of length $1/8$ answers $(7 + 5)/8 = 3/2$, half of it away.


# %%
def farness(own, theirs):
    """F of each prompt, from answers (…, queries)."""
    m, s = ((theirs - own) ** 2).mean(-1), (own**2).mean(-1)
    return np.sqrt(m / (m + s))


def distance(F):
    return F / np.sqrt(1 - F**2)


X1 = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
y1 = np.array([3.0, 1.0, 4.0])
query = np.array([1.0, 1.0])
S, z = X1.T @ X1, X1.T @ y1
formula = query @ np.linalg.solve(S + np.eye(2), z)
least_squares = query @ np.linalg.solve(S, z)
step = query @ z / 8
answer = ridge_regression(1).fit(X1, y1).predict(query[None])
print(f"the model {answer[0]:.4f}, ridge's formula {formula:.4f}")
print(f"least squares is {distance(farness(answer, least_squares)):.4f} away")
print(f"one step of 1/8 is {distance(farness(answer, step)):.4f} away")

# %% [markdown]
# Now on prompts of the law, beside everything at once:

# %%
ridge = compare(ridge_regression(sigma2), law, prompts=P, rng=stream("ridge"))
ridge

# %% [markdown]
# Each row is the member of a family that comes nearest. Some are fixed by the law: the best single step, the Bayes
# penalty. Some are *counted*: $k$ steps of length $1/\lambda_{\max}$ of each prompt, with the interval that holds 95 % of
# the best counts. Some are *fitted*: the step length or penalty that comes nearest, found on other prompts. Rows are
# *told apart* by five standard errors of $F$, prompts being the unit. *Similarity* is the cosine between errors of model
# and algorithm {cite:p}`fu2024`; it sees less, for errors share the noise of the label.
#
# The *exact risk* is theory's, from the earlier chapters; beside it stands the risk on the very prompts of the table.
#
# So one row can be had without the package. Prompts of our own, ten queries each; ridge, and the best single step of
# {doc}`chapter 1 <01_one_step_gd>`:

# %%
best = 1 / (n + d + 1 + sigma2)
rng = stream("by hand")
X = rng.standard_normal((2000, n, d))
asked = rng.standard_normal((2000, 10, d))
beta = rng.standard_normal((2000, d, 1))
y = X @ beta + np.sqrt(sigma2) * rng.standard_normal((2000, n, 1))
S, z = X.mT @ X + sigma2 * np.eye(d), X.mT @ y
F = farness((asked @ np.linalg.pinv(S) @ z)[..., 0], (asked @ z * best)[..., 0])
print(f"one step is {distance(F.mean()):.2%} away from ridge")

# %% [markdown]
# ## One step, and counted steps
#
# A layer of linear attention, trained on the exact risk as in {doc}`chapter 1 <01_one_step_gd>`, reads a matrix of tokens.
# An adapter lays it out:

# %%
attention = minimiser(law, stream("attention"))
trained = adapters.columns(attention, "linear attention, trained")
one_step = compare(trained, law, prompts=P, rng=stream("one step"))
one_step

# %% [markdown]
# Gradient descent with $k$ steps, and transformers that were built to take $k$ steps of Newton's method (design A of
# {doc}`chapter 6 <06_newton_transformers>`), must be named with their $k$. Both have one step length or start for all
# prompts, which the comparison has to find as well.


# %%
def gradient_descent(k, eta):
    def predict(X, y, x_query):
        w = np.zeros((len(X), X.shape[2]))
        for _ in range(k):
            residual = np.einsum("bnd,bd->bn", X, w) - y
            w = w - eta * np.einsum("bnd,bn->bd", X, residual)
        return (w * x_query).sum(1)

    return predict


eta = 0.5 / (np.sqrt(n) + np.sqrt(d)) ** 2
descents = {k: gradient_descent(k, eta) for k in chapter.STEPS}
newtons = {k: chapter.newton_model(law, k) for k in chapter.NEWTON}

# %% tags=["hide-input"]
counted = {}
for name, models, keys in (
    ("gd_steps", descents, ("gd_fixed", "gd")),
    ("newton_steps", newtons, ("newton_fixed", "newton")),
):
    off, near = chapter.miscounted(
        models, law, keys, budget.counted, stream(name), budget.every
    )
    counted[f"compare.{name}"] = 0, off, near
if n == 1:
    counted["compare.gd_steps"] = 0, chapter.ONE_EXAMPLE["gd_steps"]
fitted = {
    key: family.values
    for found in (ridge, one_step)
    for family in found.families
    for key in [(found.model, family.key)]
}
step = fitted[one_step.model, "gd_fixed"][0]
near = 1 / (n + d + sigma2)
ledger.claims({
    "compare.distance": (
        chapter.with_error(F, distance),
        chapter.row(ridge, "one_step").distance,
        F.mean(),
    ),
    "compare.ridge": (sigma2, fitted["Ridge", "ridge"][0], sigma2 / n),
    "compare.one_step": (best, step, near),
    "compare.one_step_distance": (
        0,
        chapter.row(one_step, "one_step").distance.mean,
        abs(near - best) / best,
    ),
    **counted,
})

# %% [markdown]
# ## What cannot be told apart, and how many prompts it would take
#
# If $\Delta$ is how much larger one algorithm's $F$ is than the nearest one's, and $S$ the standard deviation of that
# difference over prompts, five standard errors are exceeded nine times out of ten at
#
# ```{math}
# :label: eq-prompts-needed
# N = \frac{(5 + 1.28)^2\, S^2}{\Delta^2}
# ```
#
# prompts: 1.28 is the 90 % quantile of the normal law. Wherever the table says *no*, it says this number. Does it keep
# the promise? A model that runs ridge with penalty $\sigma^2$ on labels rounded to whole numbers is near ridge without
# rounding. To tell it from ridge with penalty $\sigma^2 + 1$ takes {glue:text}`wanted:,.0f` prompts; in so many,
# drawn {glue:text}`repeats:,.0f` times, five standard errors were exceeded in {glue:text}`compare.power.measured:.0%`.

# %%
penalties = (sigma2, sigma2, sigma2 + 1)  # the model's, and the two rows'
Delta = chapter.farther(
    law, penalties, budget.differences, stream("difference")
)
N = np.ceil((5 + 1.2816) ** 2 * Delta.var() / Delta.mean() ** 2)
N = int(np.clip(N, 2, 10_000))
rng = stream("power")
tables = [
    chapter.farther(law, penalties, N, rng)
    for _ in range(chapter.worth(law, N, budget))
]
nearer = np.sign(Delta.mean())  # with n ≫ d rounding acts as a penalty
told = [nearer * D.mean() > 5 * D.std(ddof=1) / np.sqrt(N) for D in tables]
print(f"Δ = {Delta.mean():.4f}, S = {Delta.std():.4f}")
print(f"{N} prompts tell them apart in {np.mean(told):.0%} of the tables")

# %% tags=["hide-input"]
ledger.number("wanted", N)
ledger.number("repeats", len(told))
ledger.claims({"compare.power": (0.9, chapter.detected(told, N, Delta), 0.5)})

# %% [markdown]
# ## A mistake
#
# A ridge regression that reads its last label as 0, as a mask that is off by one would. Its risk is
# {glue:text}`bug_more:.2g` above ridge's: a loss curve alone does not tell that from a training that was too short.


# %%
class OffByOne(Ridge):
    def fit(self, X, y):
        return super().fit(X, np.append(y[:-1], 0))


off_by_one = compare(
    ridge_regression(sigma2, OffByOne), law, prompts=P, rng=stream("bug")
)
print(fill(off_by_one.verdict, 80))

# %% [markdown]
# Code of ridge would agree with ridge to rounding, whatever the number of prompts; this does not. Nor does `Ridge`
# itself unless it is told `fit_intercept=False`: with an intercept it is another algorithm, and the table says so.
#
# Some models cannot be compared at all. A few prompts find that out first, and one sentence says what to mend:


# %%
def squeezed(X, y, x_query):  # one number a prompt, but in a column
    return x_query.sum(1, keepdims=True)


rng = stream("dropout")


def noisy(X, y, x_query):  # dropout left on
    kept = rng.random(x_query.shape) > 0.5
    return 2 * (kept * x_query).sum(1)


def centred(X, y, x_query):  # a mean over the batch
    return y.sum(1) - y.sum(1).mean()


def peeking(X, y):  # an answer at every pair, from that pair's own label
    return y


for model in (squeezed, noisy, centred, peeking):
    try:
        compare(model, law)
    except InputError as error:
        print(fill(str(error), 80))

# %% [markdown]
# ## Two trained models
#
# The encoder of {doc}`chapter 7 <07_trained_transformers>` was trained on noiseless prompts with
# {glue:text}`encoder_n:.0f` examples. It shows its layers' states, so they are read out too, by linear maps fitted on
# other prompts to what can be foretold of their labels, before its last LayerNorm and behind it.

# %%
encoder, its_law = chapter.shipped("base")
found = compare(encoder, its_law, prompts=P, rng=stream("encoder"))
found

# %% tags=["hide-input", "remove-output"]
turned = off_law(
    encoder, its_law, found, prompts=budget.off_law, rng=stream("off")
)
ledger.figure(
    pictures.distances(found, name="encoder_distances", method="trained")
)
ledger.figure(
    pictures.off_the_law(turned, name="encoder_off_law", method="trained")
)
by_scale = next(each for each in turned.turned if each.turn.key == "scale_x")

# %% [markdown]
# ```{glue:figure} fig-encoder_distances
# :name: fig-encoder-distances
#
# On its own law the trained encoder is about as far from least squares as from everything that has converged there:
# {glue:text}`encoder_distance:.2%` of the size of its answers. Which of these it is, this law cannot say.
# ```
#
# That is why the comparison goes on *off the law*. One thing about the prompts is turned at a time, and the algorithms
# keep the numbers they had. Least squares does not care how large the inputs are; the encoder does.

# %% [markdown]
# ```{glue:figure} fig-encoder_off_law
# :name: fig-encoder-off-law
#
# Distance of the trained encoder from the algorithm it seemed to be, and from others, while one thing is turned; the
# dotted line is the law it was trained on. It keeps to that algorithm with more examples, ill-conditioned inputs and a mean
# task, and leaves it with larger inputs, with labels four times as large, with few examples, with noise and with bent targets.
# ```

# %%
recurrent, its_law = chapter.shipped("lstm")
lstm = compare(recurrent, its_law, prompts=P, rng=stream("lstm"), inside=False)
print(fill(lstm.verdict, 80))

# %% tags=["hide-input"]
encoder_distance = chapter.row(found, "least_squares").distance
ledger.number("encoder_distance", encoder_distance.mean)
ledger.number("encoder_n", its_law.n)
ledger.number("bug_more", off_by_one.worse.mean)
ledger.claims({
    "compare.bug": (
        0.001,
        off_by_one.named.distance if n > 1 else chapter.ONE_EXAMPLE["bug"],
    ),
    "compare.encoder": (0.1, encoder_distance),
    "compare.encoder_off_law": (0.5, by_scale.at(4.0)),
    "compare.lstm": (0.1, lstm.named.distance),
})

# %% [markdown]
# ## Your own
#
# From the command line, with a file of yours:
#
# ```bash
# python -m icl compare my_model.py:predict -p d=5 -p n=20 -p sigma2=0.25 --out page
# ```
#
# writes the table, both figures, their numbers as CSV and a page that opens from the disk. `predict` may be
#
# | what it is | how it is asked |
# |---|---|
# | a function or torch module of `(X, y, x_query)` | X (prompts, n, d), y (prompts, n), x_query (prompts, d); answers (prompts,) |
# | of `(X, y, queries)` | an encoder: queries (prompts, R, d), answers (prompts, R) |
# | of `(X, y)` | an answer at every pair, from the pairs before it: answers (prompts, T) |
# | an object with `fit` and `predict` | fitted anew to each prompt, as scikit-learn's estimators |
# | tokens in, states out | an adapter of `icl.comparison.adapters` lays them out: `interleaved` (x and y as tokens of their own), `pairs`, `recurrent`, `columns` |
#
# NumPy arrays or torch tensors, whichever it takes. A GPT-2 of Hugging Face's, with the layout of Garg et al.:
#
# ```python
# from icl.comparison.adapters import interleaved
#
# network = lambda tokens: gpt2.eval()(inputs_embeds=tokens).last_hidden_state
# read_in, read_out = torch.nn.Linear(d, width), torch.nn.Linear(width, 1)
# predict = interleaved(network, read_in, read_out)
# ```
#
# Other laws: any `PromptLaw` (correlated covariates, a mean task), a `TargetLaw` for nonlinear targets, with kernel ridge
# in the table, or a `SequenceLaw` around a function that draws. `found.records()` goes into a data frame.
#
# ## What it does not say
#
# - It compares *answers*. Two algorithms with the same answers on a law are one algorithm to it; that is why the last
#   column and the figure off the law exist.
# - A family it does not hold cannot be named. «None of these» is meant literally.
# - A read-out of a layer can know more than the algorithm has computed, as chapter 7's probes do on a transformer whose
#   algorithm is known. Step counts of layers are bounds.
# - The number of prompts that would do assumes that the difference is what it seems to be; where that is only two standard
#   errors large, the number can be wrong by a factor of two.

# %% tags=["hide-input"]
ledger.save()
