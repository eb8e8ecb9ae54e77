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
# (how-many-tasks)=
# # How many prompts, and how many tasks?
#
# The theorems so far train on endless prompts, each with a task of its own. Nobody has that. With finitely many prompts, and fewer tasks
# still, a model can do well in training for a bad reason: it has memorised the tasks, and fails on a new one. How
# much is enough? For one layer of linear attention {cite:t}`lu2025` have the answer: **about $d^2$ prompts, and $d$ tasks.**
#
# At $d^2$ prompts the error on new tasks has a peak, not a dip: with twice as many it is still twice the least,
# {glue:text}`descent.limit.predicted:.3f` for large $d$, where fits tend to {glue:text}`descent.limit.measured:.3f`.
# And at $d$ tasks learning in context sets in. How far is $d = 8$ from "large $d$"? That has an answer of this book's. Last come small
# deep transformers, as {cite:t}`raventos2023` trained large ones.
#
# ```{admonition} What you need
# :class: note
# {doc}`Chapter 1 <01_one_step_gd>`, least squares, eigenvalues. Reading takes about {glue:text}`reading_minutes:.0f` minutes; rerunning, under a minute.
# ```

# %% tags=["hide-input"]
from itertools import product

import numpy as np
from icl.chapters import begin
from icl.chapters.how_many_tasks import deep, pictures, transformer
from icl.chapters.how_many_tasks import experiments as chapter
from icl.chapters.how_many_tasks.explorable import explorable
from icl.estimates import Estimate, monte_carlo
from icl.prompts import PromptLaw
from icl.theory import how_many_tasks as theory

# %% tags=["parameters"]
d = 5
n = 20
sigma2 = 0.25
seed = 0
profile = "quick"

# %% tags=["hide-input", "remove-output"]
parameters, ledger, stream = begin(
    "10_how_many_tasks", d=d, n=n, sigma2=sigma2, seed=seed, profile=profile
)
budget = chapter.budget(parameters)

# %% [markdown]
# ## The model, and what it means to fit it
#
# A prompt has $n =$ {glue:text}`n:.0f` examples $x_i \sim N(0, I_d)$, $d =$ {glue:text}`d:.0f`, with labels
# $y_i = w^\top x_i + \varepsilon_i$ and noise of variance $\sigma^2 =$ {glue:text}`sigma2:g`, and a query $x$. By chapter 1, all that a layer of
# linear attention can make good use of is
#
# ```{math}
# :label: eq-tasks-model
# \hat y = x^\top \Gamma\, g, \qquad g = \tfrac1n X^\top \mathbf y .
# ```
#
# This is linear in the $d^2$ entries of $\Gamma$. So fitting attention to prompts is **linear regression**: one row a prompt,
# with the $d^2$ products $x_j g_k$ as its features.


# %%
def attention(Gamma, X, y, x):
    """Scores x_i'Γ'x, times the labels, averaged over the examples."""
    return (X @ Gamma.T @ x) @ y / len(y)


def features(X, y, x):
    """x ⊗ g: what the entries of Γ, row by row, are multiplied by."""
    g = X.T @ y / len(y)
    return np.outer(x, g).ravel()


def fit(F, labels):
    """Γ by least squares on rows F (P, d²); the least one if many fit."""
    Gamma = np.linalg.lstsq(F, labels, rcond=None)[0]
    return Gamma.reshape(2 * [round(len(Gamma) ** 0.5)])


# %% [markdown]
# **By hand.** Two examples without noise, $(1, 1)$ and $(1, -1)$, of the task $w = (2, 1)$: labels $3$ and $1$, and
# $g = \tfrac12 (3 + 1,\ 3 - 1) = (2, 1)$. At the query $x = (1, 2)$ the features are $2, 1, 4, 2$. With $\Gamma = \tfrac12 I$ the answer is half of
# the first plus half of the last, $2$. The truth is $4$.

# %%
X2, x2 = np.array([[1.0, 1.0], [1.0, -1.0]]), np.array([1.0, 2.0])
y2, half = X2 @ np.array([2.0, 1.0]), np.eye(2) / 2
print("attention ", attention(half, X2, y2, x2))
print("regression", features(X2, y2, x2) @ half.ravel())

# %% [markdown]
# ## Endless prompts of $K$ tasks
#
# Let the tasks of all prompts come from $K$ fixed vectors $w_1, \dots, w_K$, once drawn from $N(0, I_d)$, and let
# $R = \frac1K \sum_k w_k w_k^\top$. Only $R$ matters:
#
# ```{prf:proposition} Endless prompts
# :label: prop-endless-prompts
# The best $\Gamma$ for prompts of these tasks is $\Gamma = R B^{-1}$, where
# $B = \mathbb E\, g g^\top = \frac{n+1}{n} R + \frac{\operatorname{tr} R + \sigma^2}{n} I$. On them its risk is
# $\sigma^2 + \operatorname{tr} R - \operatorname{tr} R^2 B^{-1}$; on new tasks any $\Gamma$ has
# $\sigma^2 + d - 2 \operatorname{tr} \Gamma + b\, \|\Gamma\|^2$ with $b = \frac{n + 1 + d + \sigma^2}{n}$.
# ```
#
# ```{admonition} Proof
# :class: dropdown
# With $S = X^\top X$ and given $w$, $\mathbb E\, g = w$ and
# $\mathbb E\, g g^\top = \frac1{n^2} (\mathbb E\, S w w^\top S + \sigma^2\, \mathbb E\, S)$, where
# $\mathbb E\, S w w^\top S = n(n+1)\, w w^\top + n\, \|w\|^2 I$ by Gaussian moments. Average over the tasks: $B$. The error is
# $x^\top (\Gamma g - w) - \varepsilon$, and $x$ is independent of the rest, so the risk is
# $\sigma^2 + \mathbb E \|\Gamma g - w\|^2 = \sigma^2 + \operatorname{tr} \Gamma B \Gamma^\top - 2 \operatorname{tr} \Gamma R + \operatorname{tr} R$,
# least where $\Gamma B = R$. A new task has $\mathbb E\, w w^\top = I$, so there $R = I$ and $B = b I$. ∎
# ```


# %%
def moments(R, plus=1):
    """E gg' for prompts of tasks with second moment R (near miss: plus=0)."""
    I = np.eye(len(R))
    return (n + plus) / n * R + (np.trace(R) + sigma2) / n * I


def risk(Gamma, R):
    """On prompts of tasks with second moment R."""
    square = np.trace(Gamma @ moments(R) @ Gamma.T)
    return sigma2 + square - 2 * np.trace(Gamma @ R) + np.trace(R)


K, everything = (d + 1) // 2, np.eye(d)
tasks = stream("tasks").standard_normal((K, d))
R = tasks.T @ tasks / K
Gamma = np.linalg.solve(moments(R), R).T  # R B⁻¹
law = PromptLaw.isotropic(d, n, sigma2)


def on_prompts(tasks, rng):
    """Mean squared error on whole prompts, of these tasks or of new ones."""

    def squared_errors(B):
        p = law.sample(rng, B)
        w = p.beta if tasks is None else tasks[rng.integers(K, size=B)]
        shift = w - p.beta  # the labels of another task, noise kept
        y = p.y + np.einsum("bnd,bd->bn", p.X, shift)
        g = np.einsum("bnd,bn->bd", p.X, y) / n
        answer = np.einsum("bi,ij,bj->b", p.x_query, Gamma, g)
        return (answer - p.y_query - (p.x_query * shift).sum(1)) ** 2

    return monte_carlo(squared_errors, budget.prompts, chunk=budget.chunk)


seen, new = risk(Gamma, R), risk(Gamma, everything)

# %% tags=["hide-input"]
without = np.trace(R) - np.trace(R @ R @ np.linalg.inv(moments(R, plus=0)))
ledger.claims({
    "prompts.seen": (
        seen,
        on_prompts(tasks, stream("seen")),
        sigma2 + without,
    ),
    "prompts.new": (new, on_prompts(None, stream("new")), seen),
})

# %% [markdown]
# Fitted to {glue:text}`some_tasks:.0f` tasks, the layer has risk {glue:text}`prompts.seen.predicted:.3f` on these and
# {glue:text}`prompts.new.predicted:.3f` on new ones; answering $0$ costs {glue:text}`zero_risk:.2f`. It has **memorised**, and its memory is a
# subspace. This is plainest for endless contexts without noise, where $g = w$ and $B = R$: then $\Gamma$ only has to
# return the $w_k$, and the least such $\Gamma$ is the projector onto their span. A new task loses its part outside,
# $d - K$ of $d$ dimensions, exactly, at every $d$, and **nothing from $K = d$ on**. Below, prompts are fitted, not formulas:


# %%
def excess_of_fit(dims, K, rng):
    """|w − Γw|² over new tasks, Γ fitted to prompts with n = ∞ and no noise."""
    w = rng.standard_normal((K, dims))[rng.integers(K, size=4 * dims * K)]
    x = rng.standard_normal(w.shape)
    F = (x[:, :, None] * w[:, None, :]).reshape(len(w), -1)
    Gamma = fit(F, (x * w).sum(1))
    return ((np.eye(dims) - Gamma) ** 2).sum()


small = min(d, 10)
few = (small + 1) // 2
below = excess_of_fit(small, few, stream("projector"))
above = excess_of_fit(small, small, stream("as many tasks"))

# %% tags=["hide-input"]
ledger.claims({
    "transition.below": (small - few, below, (small - few) ** 2 / small),
    "transition.above": (0, above, 1),
})

# %% [markdown]
# ## The transition at $d$ tasks
#
# For finite contexts the bend is rounded. From now on $d$ is large, and errors are **per dimension** (risk$/d$), with
# $\alpha = n/d$, $\kappa = K/d$, $\tau = P/d^2$ and $\rho = \sigma^2/d$ kept; on this page $\alpha =$ {glue:text}`alpha:g` and
# $\rho =$ {glue:text}`rho:g`. (In other chapters $\tau$ is $\mathbb E y^2$.) Then $B = R + q$ with $q = (1 + \rho)/\alpha$, and new tasks cost
#
# $$
# e = \rho + 1 - 2 \operatorname{tr} \tfrac{R}{R + q} + (1 + q) \operatorname{tr} \big(\tfrac{R}{R+q}\big)^2
#   = \rho + 1 - 2 (1 - qM) + (1 + q)(1 - 2qM + q^2 D) ,
# $$
#
# with $\operatorname{tr}$ for the mean over the $d$ eigenvalues, $M = \operatorname{tr} (R + q)^{-1}$ and $D = \operatorname{tr} (R+q)^{-2} = -dM/dq$.
# For Gaussian tasks both are known (Marchenko and Pastur): **$M\,\big(q + \frac{1}{1 + M/\kappa}\big) = 1$.**
#
# ```{admonition} Why: one task at a time
# :class: dropdown
# Multiply $(R + q)(R + q)^{-1} = I$ out and take the mean eigenvalue:
# $1 = qM + \frac1{Kd} \sum_k w_k^\top (R + q)^{-1} w_k$. Without its own task $w_k$ the resolvent, $A_k$, is independent of $w_k$, so
# $\frac1d w_k^\top A_k w_k \approx \operatorname{tr} A_k \approx M$; putting the task back divides by $1 + \frac1K w_k^\top A_k w_k \approx 1 + M/\kappa$
# (Sherman and Morrison). So $1 = qM + \frac{M}{1 + M/\kappa}$. The same step, with prompts for tasks, comes back below.
# ```


# %%
def resolvent(q, kappa):
    """M and D, from the quadratic equation and its derivative."""
    shift = q + 1 - 1 / kappa
    M = 2 / (shift + np.sqrt(shift**2 + 4 * q / kappa))
    return M, M**2 / (1 - M**2 / kappa / (1 + M / kappa) ** 2)


def on_new_tasks(alpha, kappa, rho):
    """Error per dimension, endless prompts of kappa·d tasks, d → ∞."""
    q = (1 + rho) / alpha
    M, D = resolvent(q, kappa)
    return rho + 1 - 2 * (1 - q * M) + (1 + q) * (1 - 2 * q * M + q**2 * D)


alpha, rho = n / d, sigma2 / d
q = (1 + rho) / alpha
half_the_tasks = on_new_tasks(alpha, 1 / 2, rho)

# %% tags=["hide-input"]
averages = chapter.task_averages(
    parameters, 0.5, lambda size: stream("sets of tasks", size)
)
flat = 1 / (1 + q / 2)  # both non-zero parts of R at 1/κ = 2: r/(r + q)
flat_error = rho + 1 - flat + (1 + q) * flat**2 / 2
scale = lambda ratio, limit: Estimate(
    ratio.mean * limit, ratio.stderr * limit, ratio.count
)
curve = chapter.run_if_long(
    parameters, scale(chapter.at_infinity(averages, 0), half_the_tasks)
)
ledger.claims({"transition.curve": (half_the_tasks, curve, flat_error)})

# %% [markdown]
# At $\alpha = \infty$ this is $\rho + (1 - \kappa)_+$, the bend of the right panel below: memorising on the left of it,
# learning in context on the right. It is a matter of tasks alone: no number of prompts, and no length of context, moves it.
#
# ## The double descent at $d^2$ prompts
#
# Now the tasks are endless and the prompts are not. Up to $P = d^2$ prompts the $d^2$ weights fit any labels, noise and all:

# %%
dims = min(d, 6)
tiny = PromptLaw.isotropic(dims, n, sigma2).sample(
    stream("threshold"), dims**2 + 2
)
rows = zip(tiny.X, tiny.y, tiny.x_query, strict=True)
F = np.array([features(*prompt) for prompt in rows])
misfit = [
    abs(F[:P] @ fit(F[:P], tiny.y_query[:P]).ravel() - tiny.y_query[:P]).max()
    for P in range(1, dims**2 + 3)
]
fitted = sum(np.array(misfit) < 1e-6 * abs(tiny.y_query).max())

# %% tags=["hide-input"]
ledger.claims({"descent.threshold": (dims**2, fitted, dims * (dims + 1) / 2)})

# %% [markdown]
# **What it costs, above.** Let $F$ be a prompt's features, in units in which $\mathbb E F F^\top = I$, and $\xi$ its label's error at the
# best $\Gamma$, with $v = \mathbb E \xi^2$ the least error. Least squares misses by $\delta = A^{-1} \sum F \xi$ with $A = \sum F F^\top$. Take one
# prompt out, as above: with $E = \operatorname{Tr} A^{-1}$ and $s$ for $|F|^2 / d^2$,
#
# $$
# d^2 = \sum F^\top A^{-1} F \approx P\, \mathbb E \frac{s E}{1 + s E} , \qquad
# \mathbb E |\delta|^2 \approx E\; \frac{\mathbb E\, \xi^2 s / (1 + sE)^2}{\mathbb E\, s / (1 + sE)^2} .
# $$
#
# For large $d$ all feature vectors are equally long, $s = 1$. Then $E = 1/(\tau - 1)$, and the error is $v + v E$:
#
# ```{math}
# :label: eq-double-descent
# e = \frac{\tau}{\tau - 1}\; v , \qquad v = 1 + \rho - \frac{1}{1 + q} , \qquad \tau = P/d^2 > 1 .
# ```
#
# Below $d^2$ prompts the least $\Gamma$ that fits is, on average, the share $\tau$ of the best one, and
# $e = \big(1 + \rho - \frac{\tau (2 - \tau)}{1 + q}\big) / (1 - \tau)$. From both sides the error tends to infinity at $d^2$.
#
# ```{admonition} The second equation, and the error below d² prompts
# :class: dropdown
# Given the features, the errors $\xi$ of two prompts are uncorrelated, so
# $\mathbb E |\delta|^2 = \sum \mathbb E\, \xi^2 F^\top A^{-2} F \approx P\, \mathbb E\, \xi^2 s\, T / (1 + sE)^2$ with $T = \operatorname{Tr} A^{-2}$, again by taking
# one prompt out. With $A + t$ for $A$ the first equation reads $d^2 = tE + P\, \mathbb E \frac{sE}{1 + sE}$; its derivative at $t = 0$,
# where $dE/dt = -T$, gives $E = P\, T\, \mathbb E \frac{s}{(1 + sE)^2}$. Divide.
#
# Below $d^2$, regression projects onto the span of $P$ random directions out of $d^2$: on average it keeps a share $\tau$ of every weight. The
# rest of $\Gamma$ acts as noise of size $v + (1 - \tau)^2 \|\Gamma\|^2$, and what noise costs is $\tau/(1 - \tau)$ times as much. Add up.
# ```
#
# **How large is large?** Feature vectors are not equally long: a prompt with a long query, a large task or lucky examples has long ones,
# *and* a larger error. Both fluctuate by $1/\sqrt d$. Put $\operatorname{Var} s = V/d$ and $\operatorname{Cov}(s, \xi^2) = Cv/d$ into the two equations
# and expand:
#
# ```{math}
# :label: eq-one-over-d
# \frac{e(d)}{e} = 1 + \frac{c}{d} + O(d^{-2}), \qquad c = c_0 + \frac1\tau \Big( \frac{V}{\tau} + C\, \big(1 - \tfrac2\tau\big) \Big) ,
# ```
#
# where $c_0$ is what the moments of the proposition, taken at $d$, add to $v$.

# %%
b = 1 + q
v = 1 + rho - 1 / b
# |g|²/d moves with |w|², |Xw|², noise along Xw, all noise, and across w:
variances = np.array([2, 2 / alpha, rho / alpha, 2 / alpha, 2])  # times 1/d
of_g = np.array([
    1 + 1 / alpha, 2 + 1 / alpha, 2 + 2 / alpha, rho / alpha, (1 + rho) / alpha
])  # fmt: skip
of_miss = np.array([1, 0, 0, 0, 0]) - np.array([2, 2, 2, 0, 0]) / b
of_miss = of_miss + of_g / b**2  # |w − g/b|²/d, by the same five
V = 2 + variances @ of_g**2 / b**2  # the first 2 is |x|²
C = (2 * (1 - 1 / b) + variances @ (of_miss * of_g) / b) / v
c0 = 1 / (alpha * b**2 * v)
c = {tau: c0 + (V / tau + C * (1 - 2 / tau)) / tau for tau in (2, 4)}

# %% [markdown]
# **Measured** at $d = 8, 16, 24, 48$. The largest has $2304$ weights and $9216$ prompts; that whole prompts need not be drawn makes it
# quick. Along $u = w / |w|$, $X^\top \mathbf y$ is $z^\top \mathbf y$ with $z = Xu$; across, the rows of $X$ are independent of the labels, so it is
# Gaussian with variance $|\mathbf y|^2$ in every direction:


# %%
def short(w, rng, across=True):
    """g = X'y/n for tasks w (P, d), given z = Xu and y alone."""
    size = np.linalg.norm(w, axis=1, keepdims=True)
    u, z = w / size, rng.standard_normal((len(w), n))
    y = size * z + np.sqrt(sigma2) * rng.standard_normal((len(w), n))
    side = rng.standard_normal(w.shape)
    if across:
        side = side - (side * u).sum(1, keepdims=True) * u
    length = np.sqrt((y**2).sum(1, keepdims=True))
    return (u * (z * y).sum(1, keepdims=True) + length * side) / n


def fourth(g):
    """|g|⁴, in units of its mean if g were constant in length."""
    return ((g**2).mean(1) / b) ** 2


def fourth_of_whole(B, rng):
    """The same from whole prompts."""
    p = law.sample(rng, B)
    return fourth(np.einsum("bnd,bn->bd", p.X, p.y) / n)


def fourth_of_short(B, rng, **how):
    return fourth(short(rng.standard_normal((B, d)), rng, **how))


# %% tags=["hide-input"]
def mean_fourth(name, draw, **how):
    """Its mean, from a stream of this name."""
    rng = stream(name)
    draws = lambda B: draw(B, rng, **how)
    return monte_carlo(draws, 2 * budget.prompts, chunk=budget.chunk)


whole = mean_fourth("whole prompts", fourth_of_whole)
brief = mean_fourth("short prompts", fourth_of_short)
wrong = mean_fourth("short prompts, not across", fourth_of_short, across=False)
found = {"descent.short_prompts": (brief, whole, wrong.mean)}
taus = (0.5, 2.0, 4.0)
limits = [theory.descent(tau, alpha, rho) for tau in taus]
ladder = chapter.ladder(parameters, taus, lambda size: stream("ladder", size))
tends = [scale(chapter.at_infinity(ladder, k), limits[k]) for k in range(3)]
found |= {
    "descent.limit": (limits[1], tends[1], 1.5 * v),
    "descent.below": (limits[0], tends[0], 2 * v),
    "descent.power": (-1, chapter.exponent(ladder, 2), -1 / 2),
    "descent.coefficient_two": (c[2], chapter.coefficient(ladder, 1), c0),
    "descent.coefficient_four": (c[4], chapter.coefficient(ladder, 2), c0),
}
found = {
    id: (predicted, chapter.run_if_long(parameters, measured), near)
    for id, (predicted, measured, near) in found.items()
}
ledger.claims(found)

# %% tags=["hide-input", "remove-output"]
grid = (0.15, 0.25, 0.4, 0.6, 0.8, 1.25, 1.6, 2.5, 4.0, 7.0)
points = chapter.along_prompts(
    parameters, grid, lambda size: stream("along prompts", size)
)
by_tasks = chapter.along_tasks(
    parameters, (0.25, 0.5, 1.0, 2.0, 4.0), stream("along tasks")
)
ledger.figure(pictures.two_transitions(parameters, points, grid, by_tasks))

# %% [markdown]
# ```{glue:figure} fig-two_transitions
# :name: fig-two-transitions
#
# Left: endless tasks. More prompts help, then hurt up to $P = d^2$, then help again, down to the least error (dashed). Marks:
# fits, nearer to the limit the larger $d$. Right: endless prompts. From $K = d$ tasks on new tasks are learned, sharply
# so for endless contexts (black); circles: exact errors, averaged over sets of tasks at $d = 24$.
# ```

# %% tags=["hide-input", "remove-output"]
few_tasks = chapter.ladder(
    parameters,
    (2.0,),
    lambda size: stream("few tasks", size),
    kappa=0.5,
    share=0.75,
)
ledger.figure(
    pictures.convergence(
        {
            "$P = 2d^2$": (ladder, 1),
            "$P = 4d^2$": (ladder, 2),
            "$P = 2d^2$, $K = d/2$": (few_tasks, 0),
        },
        {"$P = 2d^2$": c[2], "$P = 4d^2$": c[4]},
    )
)

# %% [markdown]
# ```{glue:figure} fig-convergence
# :name: fig-tasks-convergence
#
# How far fits are from the limit. Lines: $c/d$ as {eq}`eq-one-over-d` derives it, {glue:text}`c_two:.2f`$/d$ at $2d^2$ prompts and
# {glue:text}`c_four:.2f`$/d$ at $4d^2$. At $d = 8$ the limit is a third too low; finitely many tasks are no nearer to it.
# ```
#
# Two numbers at other parameters, to compare with other programs ($d = 24$, $n = 48$, $\sigma^2 = 6$, so $\alpha = 2$, $\rho = \frac14$). The paper
# gives $\Gamma$ another column, for $\frac1n |\mathbf y|^2$ beside $g$: it cannot help, but it is fitted, and $d^2$ becomes $d(d+1)$.

# %% tags=["hide-input"]
fixed = chapter.with_label_row(24, 48, 6.0, (2.0, 4.0), 60, stream("fixed"))
other = {
    tau: theory.descent(tau, 2, 0.25)
    * (1 + theory.first_correction(tau, 2, 0.25) / 24)
    for tau in (2.0, 4.0, 48 / 25)
}
ledger.claims({
    "fixed.two": (other[2.0], fixed["two"], theory.descent(2, 2, 0.25)),
    "fixed.four": (other[4.0], fixed["four"], theory.descent(4, 2, 0.25)),
    "fixed.label_row": (other[48 / 25] / other[2.0], fixed["label_row"], 1),
})

# %% [markdown]
# ## Few tasks, few prompts, and a ridge
#
# Put both together, and a penalty $P \lambda \|\Gamma\|^2$. Averaged over the prompts, and for large $d$, ridge regression acts as if the
# prompts were endless and the ridge larger, $k$ in place of $\lambda$, plus noise:
#
# $$
# k = \lambda + \frac k\tau \operatorname{tr} \tfrac{B}{B + k} , \qquad \bar\Gamma = R (B + k)^{-1} , \qquad
# e_{\rm seen} = \frac{e_{\rm seen}(\bar\Gamma)}{1 - \ell} , \qquad
# e_{\rm new} = e_{\rm new}(\bar\Gamma) + \frac{1 + q}{\tau} \operatorname{tr} \tfrac{B}{(B+k)^2}\; e_{\rm seen} ,
# $$
#
# with $\ell = \frac1\tau \operatorname{tr} \frac{B^2}{(B + k)^2}$ and $e(\bar\Gamma)$ as in the proposition. All traces are $M$ and $D$ at $s = q + k$.
#
# ```{admonition} Where this comes from
# :class: dropdown
# The first equation is $d^2 = \sum F^\top A^{-1} F + \dots$ once more, with ridge and with $\mathbb E F F^\top = I \otimes B$: one prompt out, and
# $A^{-1} \approx \frac{k}{\lambda P}\, (I \otimes B + k)^{-1}$ solves it. The estimate is linear in the labels, $A^{-1} \sum F y$, and taking the prompt of $y$ out
# gives its mean, $\bar\Gamma$. What is left is the noise of prompts, each with error $e_{\rm seen}$ (its own included, hence the
# division by $1 - \ell$), spread over directions in proportion to $B / (B + k)^2$, and weighed on new tasks by $1 + q$. All of this
# takes features for Gaussian vectors with the same second moment; that it does no harm for large $d$ is not proved here.
# ```


# %%
def equivalent(tau, alpha, kappa, rho, ridge=0.0, k=None):
    """Errors on new and on seen tasks, per dimension, d → ∞."""
    q = (1 + rho) / alpha
    if k is None:
        df = lambda k: 1 - k * resolvent(q + k, kappa)[0]  # tr B/(B + k)
        k = theory.effective_ridge(df, 1 + q, tau, ridge)
    s = q + k
    M, D = resolvent(s, kappa)
    gain, gain2 = 1 - s * M, 1 - 2 * s * M + s**2 * D  # of Γ̄ and its square
    seen = rho + s - s**2 * M - k * gain2
    seen = seen / (1 - (1 - 2 * k * M + k**2 * D) / tau)
    new = rho + 1 - 2 * gain + (1 + q) * gain2
    return new + (1 + q) / tau * (M - k * D) * seen, seen


# %% tags=["hide-input"]
corners = list(
    product((0.2, 0.7, 1.5, 6), (0.5, 3, 20), (0.3, 1, 2.5), (0, 0.3))
)
ours = np.array([equivalent(*corner)[0] for corner in corners])
printed = np.array([theory.printed(*corner) for corner in corners])
slipped = np.array([
    theory.printed(*corner, of_prompts=False) for corner in corners
])
ridged = chapter.ladder(
    parameters,
    (1.0,),
    lambda size: stream("ridge", size),
    kappa=0.5,
    ridge=0.25,
    share=0.5,
)
both = {
    "both.few_tasks": (equivalent(2, alpha, 1 / 2, rho)[0], limits[1]),
    "both.ridge": (
        equivalent(1, alpha, 1 / 2, rho, ridge=1 / 4)[0],
        equivalent(np.inf, alpha, 1 / 2, rho, k=1 / 4)[0],
    ),
}
ledger.claims(
    {
        "both.paper": (
            0,
            abs(ours / printed - 1).max(),
            abs(slipped / printed - 1).max(),
        )
    }
    | {
        id: (
            predicted,
            chapter.run_if_long(
                parameters, scale(chapter.at_infinity(rungs, 0), predicted)
            ),
            near,
        )
        for (id, (predicted, near)), rungs in zip(
            both.items(), (few_tasks, ridged), strict=True
        )
    }
)

# %% [markdown]
# Without a ridge this is, after some algebra, the formula that {cite:t}`lu2025` print, to rounding. Move the five ratios. **A
# question:** $K = d/2$ tasks; how many prompts are worth it, if you are tested on new ones?
#
# ```{admonition} Answer
# :class: dropdown
# Beyond some ten times $d^2$ hardly anything is gained: the orange curve lies flat, far above what endless tasks would reach, while the blue
# one, on the tasks seen, keeps its lead. More prompts of the same tasks only teach them better.
# ```

# %% tags=["hide-input"]
explorable(parameters)

# %% [markdown]
# ## Deep transformers on few tasks and on many
#
# {cite:t}`raventos2023` asked this of transformers with softmax, MLPs and depth, and found a threshold far above $d$ tasks. Two rival
# predictors frame it. **Ridge regression** is best for ever new tasks. For $K$ known tasks the best is their mean,
# weighed by how likely each makes the labels:


# %%
def ridge(X, y, penalty):
    """Bayes for new tasks: estimates of w, (B, d)."""
    S = X.mT @ X + penalty * np.eye(X.shape[-1])
    return np.linalg.solve(S, X.mT @ y[..., None])[..., 0]


def mixture(X, y, tasks, noise):
    """Bayes for these tasks (K, d): estimates of w, (B, d)."""
    misfit = ((y[:, None] - tasks @ X.mT) ** 2).sum(-1)  # (B, K)
    best = misfit.min(axis=1, keepdims=True)
    weight = np.exp((best - misfit) / (2 * noise))
    return weight @ tasks / weight.sum(axis=1, keepdims=True)


# %% tags=["hide-input"]
risks = deep.compare(ridge, mixture, profile, stream("deep"))
first, again, next_seed = deep.replayed()
ledger.claims({
    "deep.few_tasks_new": (2, risks.ratio("transformer", "ridge", "new", 4)),
    "deep.few_tasks_seen": (1, risks.ratio("transformer", "ridge", "seen", 4)),
    "deep.fresh_tasks": (1.15, risks.ratio("transformer", "ridge", "new", 0)),
    "deep.not_bayes": (1, risks.ratio("transformer", "mixture", "new", 64)),
    "deep.many_like_ridge": (1, risks.nearer_to_ridge(256)),
    "deep.replay": (first, again, next_seed),
})

# %% tags=["hide-input", "remove-output"]
ledger.figure(pictures.deep_transformers(risks))

# %% [markdown]
# ```{glue:figure} fig-deep_transformers
# :name: fig-deep-transformers
#
# Softmax transformers of {glue:text}`deep_layers:.0f` layers trained on prompts of $K$ tasks ($d = 3$, $n = 6$, $\sigma^2 = \frac14$; mean of
# {glue:text}`deep_seeds:.0f` trainings, two standard errors). On 4 tasks they do what the best predictor for these does, and fail on new ones. With more,
# they leave it and turn to ridge regression, though on their training tasks they could do better.
# ```
#
# Nobody has a theory of this figure. What it shares with the linear layer: few tasks are memorised, many are not, and the turn
# comes without any change of the training. What it does not share: a linear layer can only remember a subspace, which $d$
# tasks fill; a deep one recognises tasks one by one, and goes on doing so beyond $d$. These models are small and shortly trained
# (on {glue:text}`deep_prompts:,.0f` prompts); {cite:t}`raventos2023` trained on $d = 8$ and put the threshold between $2^{14}$ and $2^{15}$ tasks.
#
# ## Limits
#
# - {eq}`eq-double-descent`, {eq}`eq-one-over-d` and the equivalents are derived by taking one prompt out, with Gaussian features: heuristics,
#   confirmed by fits. The propositions on endless prompts and the projector are proved, at every $d$.
# - $\Gamma$ is fitted, as if $v = u = 0$ were known. Training all weights of attention by gradient descent on finitely many prompts is not
#   treated; nor are covariances other than $I$.
# - {eq}`eq-one-over-d` is derived for endless tasks, no ridge and $P > d^2$.
# - The last figure is observed, at one size, with one recipe that was not tuned.
#
# ## Exercises

# %% [markdown]
# ```{exercise} The best ridge ★
# :label: ex-best-ridge
# Endless tasks, so $B = bI$. Which $\lambda$ is best for new tasks? Is there still a peak at $d^2$ prompts?
# ```
#
# ```{solution-start} ex-best-ridge
# :label: sol-best-ridge
# :class: dropdown
# ```
#
# For endless tasks the best $\Gamma$ has entries of mean square $1 / (b^2 d)$ and each prompt is noise of variance $vd$ beside it. If the entries
# were independent with this variance, ridge with $P\lambda = v b^2 d^2$, that is $\lambda = v b^2 / \tau$, would be their posterior
# mean; and errors only depend on the size of $\Gamma$. Search agrees, and with it the error falls with every prompt: the
# peak is the price of fitting noise, not of the number $d^2$.


# %%
def with_ridge(tau, ridge):
    return equivalent(tau, alpha, np.inf, rho, ridge)[0]


for tau in (0.5, 1.0, 2.0):
    best = v * b**2 / tau
    ridges = best * np.geomspace(0.5, 2, 201)
    found = ridges[np.argmin([with_ridge(tau, r) for r in ridges])]
    error = with_ridge(tau, best)
    print(f"P = {tau} d²: search {found:.4f}, {best:.4f}; error {error:.4f}")

# %% [markdown]
# ```{solution-end}
# ```
#
# ```{exercise} How round is the bend? ★★
# :label: ex-bend
# $K = d$ tasks, endless prompts and long contexts. Show that the excess on new tasks is $\frac12 \sqrt q$ with $q = (1 + \rho)/\alpha$, to
# leading order. How long must contexts be for an excess of $1\,\%$?
# ```
#
# ```{solution-start} ex-bend
# :label: sol-bend
# :class: dropdown
# ```
#
# At $\kappa = 1$ the quadratic equation is $M^2 q + Mq = 1$, so $M = q^{-1/2} + O(1)$ and $D = -dM/dq = \frac12 q^{-3/2} + \dots$. In
# $1 - 2(1 - qM) + (1 + q)(1 - 2qM + q^2 D)$ the terms $\pm 2qM$ cancel to order $q^{3/2}$ and $q^2 D = \frac12 \sqrt q$ is left. Eigenvalues of
# $R$ reach down to $0$, and the layer does not trust directions in which tasks vary by less than $q$. One per cent needs
# $q = 0.0004$: contexts of some $2500\,d$ examples.

# %%
for length in (1e2, 1e4, 1e6):
    small_q = (1 + rho) / length
    excess = on_new_tasks(length, 1.0, rho) - rho
    print(f"n/d = {length:.0e}: {excess:.6f}, ½√q {small_q**0.5 / 2:.6f}")

# %% [markdown]
# ```{solution-end}
# ```
#
# ```{exercise} A turned Γ ★★
# :label: ex-symmetric
# The best $\Gamma$ is symmetric. Fit only symmetric ones: where is the peak now, and what is the limit?
# ```
#
# ```{solution-start} ex-symmetric
# :label: sol-symmetric
# :class: dropdown
# ```
#
# There are $d(d+1)/2$ weights left, with features $\frac12 (x_j g_k + x_k g_j)$, so the peak is at half as many prompts, and
# {eq}`eq-double-descent` holds with $2\tau$ for $\tau$: at $P = 2d^2$ the error is $\frac43 v$ in place of $2v$. Knowing a symmetry is worth
# as much as twice the prompts. A multiple of $I$, one weight, would be worth them all.

# %%
side, rng = 16, stream("exercise: symmetric")
long, noise = round(alpha * side) or 1, rho * side
draw = chapter.short_prompts(side, long, noise)
upper = np.triu_indices(side)
excesses = []
for _ in range(20):
    x, g, labels = draw(2 * side**2, None, rng)
    products = x[:, :, None] * g[:, None, :]
    F = (products + products.mT)[:, *upper] / 2
    Gamma = np.zeros((side, side))
    Gamma[upper] = np.linalg.lstsq(F, labels, rcond=None)[0]
    Gamma = (Gamma + Gamma.T) / 2
    excesses.append(chapter.error_on_new(Gamma, long, noise))
print(f"fits at d = 16: {np.mean(excesses):.4f}; limit {4 / 3 * v:.4f}")

# %% [markdown]
# ```{solution-end}
# ```
#
# ```{exercise} A theory of the last figure ◇
# :label: ex-deep-tasks
# How does the number of tasks at which a deep transformer leaves the mixture grow with $d$, with its width, with the length of training?
# ```
#
# ```{solution} ex-deep-tasks
# :label: sol-deep-tasks
# :class: dropdown
# **Open.** {cite:t}`raventos2023` measured that it grows about linearly with $d$ in their setting, falls with more regularisation, and that
# beyond it longer training leads towards ridge regression, below it away from it. To tell tasks apart takes memory, about $Kd$ numbers,
# which suggests $K \sim$ weights$/d$; but these models turn long before that, so memory is not what stops them here.
# ```

# %% tags=["hide-input", "remove-output"]
page_numbers = {
    "alpha": alpha,
    "rho": rho,
    "some_tasks": K,
    "zero_risk": d + sigma2,
    "c_two": c[2],
    "c_four": c[4],
    "deep_layers": transformer.MODEL.layers,
    "deep_seeds": len(transformer.SEEDS),
    "deep_prompts": transformer.BATCH * transformer.SCHEDULE.steps,
}
for name, value in page_numbers.items():
    ledger.number(name, value)

# %% [markdown]
# ## Every claim of this chapter
#
# A claim holds when prediction and measurement differ by no more than its tolerance, fixed beforehand, and five standard errors.

# %% tags=["hide-input"]
ledger.save()
