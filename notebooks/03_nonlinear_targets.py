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
# (nonlinear-targets)=
# # Nonlinear targets: still one step
#
# Linear attention shown examples of a *linear* function takes one step of gradient descent; that was
# {doc}`chapter 1 </notebooks/01_one_step_gd>`. Now show it examples of a sine, of a staircase, of a random neural network.
# Does it do something cleverer?
#
# **No. It takes the same step of plain gradient descent for linear regression, with another step size.** That is Theorem 3 of
# {cite:t}`mahankali2024`. It holds whenever the law of the target has no preferred direction, and the step depends on the
# target through a single number. This chapter works it out for ten families, measures it, and shows what the
# theorem does not need (sign symmetry, Gaussian covariates) and what it does (that all axes are alike).
#
# ```{admonition} What you need
# :class: note
# Linear regression and {doc}`chapter 1 </notebooks/01_one_step_gd>`. Reading takes about {glue:text}`reading_minutes:.0f` minutes; rerunning, a minute.
# At the end you can say what the distribution of $x$ changes and what that of $y$ changes.
# ```

# %% tags=["hide-input"]
import textwrap
from itertools import permutations, product

import numpy as np
from icl import search, targets
from icl.chapters import begin
from icl.chapters.nonlinear_targets import experiments as chapter
from icl.chapters.nonlinear_targets import pictures
from icl.chapters.nonlinear_targets.explorable import explorable
from icl.chapters.nonlinear_targets.tensor_fit import tensor_fit
from icl.targets import FAMILIES, Family, TargetLaw
from icl.theory import nonlinear_targets as theory
from icl.validation import InputError

# %% tags=["parameters"]
d = 5
n = 20
sigma2 = 0.25
seed = 0
profile = "quick"

# %% tags=["hide-input", "remove-output"]
parameters, ledger, stream = begin(
    "03_nonlinear_targets", d=d, n=n, sigma2=sigma2, seed=seed, profile=profile
)
budget = chapter.BUDGETS[profile]
moments = {name: theory.moments(name, d) for name in FAMILIES}

# %% [markdown]
# ## The model, and a prompt for a pencil
#
# A prompt is drawn as before, with one change: instead of a task vector, a random **function** $f$ is drawn, and
# $y_i = f(x_i) + \varepsilon_i$, with $x_i \sim N(0, I_d)$ and noise of variance $\sigma^2$.
# Here $d =$ {glue:text}`d:.0f`, $n =$ {glue:text}`n:.0f` and $\sigma^2 =$ {glue:text}`sigma2:g`.
# The model is linear attention on the tokens $z_i = (x_i; y_i)$ and the query $(x; 0)$, with any number of heads
# ($W_V$ is the product of the value and output matrices). Beside it, the algorithm that it will turn out to be:


# %%
def attention(X, y, x, heads):
    """Linear attention on one prompt: X (n, d), y (n,), x (d,)."""
    Z = np.column_stack([X, y])  # tokens z_i = (x_i; y_i)
    query = np.append(x, 0)  # (x; 0): the label is to be filled in
    output = np.zeros(len(query))
    for W_V, W_K, W_Q in heads:
        scores = (Z @ W_K.T) @ (W_Q @ query)  # no softmax
        output += scores @ (Z @ W_V.T)  # heads add
    return output[-1]


def one_step(X, y, x, eta):
    """One step of gradient descent on ½ Σ (w'x_i − y_i)², from w = 0."""
    w = np.zeros(len(x))
    w = w - eta * X.T @ (X @ w - y)
    return w @ x


# %% [markdown]
# Three examples of $f(x) = \mathrm{sign}(x_1 + x_2)$. With a pencil: $\sum_i y_i x_i = (1, 2) - (0, -1) + (2, 0) = (3, 3)$, so a step of
# $\eta = \frac14$ leads to $w = (\frac34, \frac34)$, which answers $\frac34$ at $x = (2, -1)$. The truth is $1$: the step has the direction of
# $f$, and knows nothing of its shape. A head whose keys and queries read $x$, and whose values read $y$, gives the same answer:

# %%
X = np.array([[1, 2], [0, -1], [2, 0]])
y = np.sign(X @ [1, 1])
x, eta = np.array([2, -1]), 1 / 4
reads_x, reads_y = np.diag([1, 1, 0]), np.diag([0, 0, eta])
print("attention", attention(X, y, x, [(reads_y, reads_x, reads_x)]))
print("one step ", one_step(X, y, x, eta))

# %% [markdown]
# ## The theorem
#
# Write $w_f = \mathbb E_x[f(x)\,x]$ for the **linear part** of $f$: $w_f^\top x$ is the linear function nearest to it.
#
# ```{prf:theorem} Mahankali, Hashimoto and Ma, Theorem 3
# :label: thm-nonlinear
#
# If the law of $f$ is unchanged by rotations and reflections of $x$, then among all weights of linear self-attention, with
# any number of heads, the least loss is attained by plain gradient descent,
#
# $$
# \hat y = \eta^\ast \sum_{i=1}^n y_i\, x_i^\top x, \qquad
# \eta^\ast = \frac{a}{(n-1)\,a + b},
# $$
#
# with $a = \mathbb E\,\|w_f\|^2$ and $b = \mathbb E\big[y^2 \|x\|^2\big]$, and the least loss is
#
# $$
# L_{\min} = \mathbb E f(x)^2 + \sigma^2 - \frac{n\,a^2}{(n-1)\,a + b} .
# $$
# ```
#
# The paper also asks that $-f$ has the law of $f$, and leaves $\eta^\ast$ as a ratio of expectations; that the
# first is not needed, and the closed forms, are this book's.


# %%
def best_step(a, b, n):
    return a / ((n - 1) * a + b)


def least_risk(a, b, power, n):
    return power + sigma2 - n * a**2 / ((n - 1) * a + b)


# %% [markdown]
# **How to read the step.** Two different examples of one target agree on its linear part, and $a$ is how much they agree;
# $b$ is the size of what a single example contributes, useful or not. With $h = b/a - 1$,
#
# ```{math}
# :label: eq-half
# n\,\eta^\ast = \frac{1}{1 + h/n} ,
# ```
#
# so all that a target can do to the step is to delay it: after $h$ examples the learner dares half of the full step. For linear
# targets $h = d + 1 + \sigma^2 =$ {glue:text}`half_linear:.2f`; for $\mathrm{sign}(w^\top x)$ it is {glue:text}`half_sign:.2f`, for a ReLU
# network {glue:text}`half_relu_network:.2f`.
#
# ```{admonition} Proof
# :class: dropdown
# *The form.* With $z_i = (x_i; y_i)$ and $G = \sum_i z_i z_i^\top$, any number of heads predicts
# $\langle T, G \otimes x\rangle = \sum_{abj} T_{abj} G_{ab}\, x_j$, linear in a tensor $T$, so the loss is convex in $T$.
# Rotating all $x$ by an orthogonal $O$ leaves the law of the prompt alone, so the rotated $T$ is as good as $T$, and
# by convexity their average over all $O$ is at least as good. What no $O$ changes: the block of $T$ with
# three $x$-indices is then an odd tensor and zero; the block with one is an invariant vector and zero; the block
# with two is $\eta I$. Hence $\hat y = \eta \sum_i y_i x_i^\top x$, and a single head computes it.
#
# *The step.* $\mathbb E[y\, x^\top X^\top y_{1:n}] = n\,\mathbb E[w_f^\top w_f] = n a$, because given $f$ the query and each example are
# independent. $\mathbb E (x^\top X^\top y_{1:n})^2 = \mathbb E\|X^\top y_{1:n}\|^2 = n b + n(n-1) a$: $n$ terms with $i = j$ and
# $n(n-1)$ with $i \neq j$. The loss is the parabola
# $\mathbb E f^2 + \sigma^2 - 2\eta\, n a + \eta^2 n\,[(n-1)a + b]$, with the vertex stated.
# ```
#
# Nothing here used that the covariates are Gaussian, or that the loss is squared (for another convex loss only the value
# of $\eta$ changes).
#
# **The heart of the proof can be run.** It averages a tensor over changes of axes, and it does not need all of them: the $2^d\,d!$
# *signed permutations*, which flip and exchange axes, are enough. Take any heads at $d = 3$, a random $T$, and average over 48. Flips empty
# the blocks with one and three $x$-indices and what is off the diagonal; exchanges make the diagonal even.


# %%
def turned(T, O):
    """T seen from other axes: O acts on every x, the labels stay."""
    Q = np.block([[O, np.zeros((3, 1))], [np.zeros((1, 3)), np.ones((1, 1))]])
    return np.einsum("ia,jb,kc,abc->ijk", Q, Q, O, T)


T = stream("any heads").standard_normal((4, 4, 3))
T = T + T.transpose(1, 0, 2)  # G is symmetric
flips = [np.diag(signs) for signs in product([1, -1], repeat=3)]
orders = [np.eye(3)[list(order)] for order in permutations(range(3))]
flipped = sum(turned(T, F) for F in flips) / 8
average = sum(turned(flipped, P) for P in orders) / 6

gd = np.zeros((4, 4, 3))  # of Σ_i y_i x_i'x, once for each order of x and y
gd[[0, 1, 2], 3, [0, 1, 2]] = gd[3, [0, 1, 2], [0, 1, 2]] = 1
left = [np.abs(t - (t * gd).sum() / 6 * gd).max() for t in (average, flipped)]
print("what the average leaves:", np.unique(average.round(9)))
ledger.claims({"thm3.symmetry": (0, left[0], left[1])})

# %% [markdown]
# ## Ten families
#
# All are rotation invariant, because their directions $w$ are. The moments are one-line Gaussian integrals:
#
# | target $f(x)$ | $a = \mathbb E\|w_f\|^2$ | $b - \sigma^2 d$ | $\mathbb E f^2$ |
# |---|---|---|---|
# | $w^\top x$, $w \sim N(0, I)$ | $d$ | $d(d+2)$ | $d$ |
# | ReLU network | $\kappa d/4$ | $\kappa d(d+2)/2$ | $\kappa d/2$ |
# | $\mathrm{sign}(w^\top x)$ | $2/\pi$ | $d$ | $1$ |
# | $(w^\top x)^3$, $\lVert w\rVert = 1$ | $9$ | $15(d+6)$ | $15$ |
# | $(w^\top x)^3$, $w \sim N(0, I)$ | $9p$ | $15p(d+6)$ | $15p$ |
# | $x^\top Q x$ | $0$ | $p$ | $d(d+2)$ |
# | $w^\top x + \frac12 x^\top Q x$ | $d$ | $d(d+2) + p/4$ | $d + d(d+2)/4$ |
# | $\sqrt2\sin(w^\top x)$ | $2ds^2 r^{-d/2-1}$ | $d\,[1 - q^{-d/2} + 4s^2 q^{-d/2-1}]$ | $1 - q^{-d/2}$ |
# | $\sqrt2\cos(w^\top x + \varphi)$ | $ds^2 r^{-d/2-1}$ | $d$ | $1$ |
# | $\phi(w^\top x)$, $\lVert w\rVert = 1$ | $(\mathbb E\,\phi(z)z)^2$ | $\mathbb E[\phi(z)^2(z^2+d-1)]$ | $\mathbb E\,\phi(z)^2$ |
#
# Here $p = d(d+2)(d+4)$, $q = 1 + 4s^2$, $r = 1 + 2s^2$ and $z \sim N(0, 1)$.
# The network is $\sum_{j \le m} a_j\,\mathrm{relu}(w_j^\top x)$ with $a_j \sim N(0, s_a^2)$, $w_j \sim N(0, s_w^2 I)$ and
# $\kappa = m s_a^2 s_w^2$; here $\kappa =$ {glue:text}`kappa:g` with {glue:text}`hidden:.0f` units. $Q = (A + A^\top)/2$ with $A$ standard
# Gaussian. Sine and cosine have $w \sim N(0, s^2 I)$ with $s =$ {glue:text}`frequency:g`, and the phase $\varphi$ is uniform. The last
# family has the odd function $\phi(z) = \tanh 2z$, whose three integrals are done by quadrature.
#
# ```{admonition} Two of the lines, derived
# :class: dropdown
# Integration by parts gives $w_f$: $\mathbb E[g(w^\top x)\,x] = \mathbb E[g'(w^\top x)]\,w$ for Gaussian $x$ (Stein's lemma).
#
# *The ReLU network.* $g'$ is 1 half of the time, so $w_f = \tfrac12 \sum_j a_j w_j$ and $a = \tfrac14 m s_a^2\, s_w^2 d = \kappa d/4$.
# Given $x$ the units' products with $a_j$ are independent with mean 0, and $w_j^\top x \sim N(0, s_w^2 \|x\|^2)$, half of whose second moment
# lies above 0: $\mathbb E[f^2 \mid x] = \tfrac\kappa2 \|x\|^2$. Its mean is $\kappa d/2$; times $\|x\|^2$, with
# $\mathbb E\|x\|^4 = d(d+2)$, it is $\kappa d(d+2)/2$.
#
# *The sine.* $w_f = \sqrt2\,\mathbb E[\cos w^\top x]\,w = \sqrt2\, e^{-\|w\|^2/2}\, w$. For $w \sim N(0, s^2 I)$ the mean of $e^{-t\|w\|^2}$ is
# $(1 + 2s^2t)^{-d/2}$, and minus its derivative in $t$ is $\mathbb E\,\|w\|^2 e^{-t\|w\|^2} = ds^2 (1 + 2s^2t)^{-d/2-1}$; twice this at $t = 1$
# is $a$. Then $f^2 = 1 - \cos 2w^\top x$, and $\mathbb E\,\|x\|^2 \cos u^\top x = (d - \|u\|^2)\, e^{-\|u\|^2/2}$: with $u = 2w$ the two means at
# $t = 2$ give $\mathbb E\,f^2\|x\|^2 = d - d\,q^{-d/2} + 4ds^2 q^{-d/2-1}$.
# ```
#
# **The measurement** knows none of these formulas. It draws targets and prompts, lets every one of the $n + 1$ points of a prompt
# take its turn as the query, guesses with a step of size 1, and averages four products. The loss of a step $\eta$ is the parabola
# $Y - 2\eta P + \eta^2 Q$ of the first three averages, so $\eta^\ast$ is measured as $P/Q$, $L_{\min}$ as $Y - P^2/Q$, $a$ as $P/n$.


# %%
def turns(X, y):
    """Of X (B, n + 1, d) and y (B, n + 1), each point the query in turn."""
    norms = (X**2).sum(-1)
    total = np.einsum("bn,bnd->bd", y, X)  # Σ_i y_i x_i over all n + 1 points
    guess = (X @ total[..., None])[..., 0] - y * norms  # leave its own out
    return y * guess, guess**2, y**2, y**2 * norms  # means: P, Q, Y, b


measured = chapter.measure_families(parameters, budget, turns, stream)
predicted = {}
for name, m in moments.items():
    a, b = m.a, m.weighted + sigma2 * d
    step, risk = best_step(a, b, n), least_risk(a, b, m.power, n)
    predicted[name] = {"a": a, "b": b, "step_size": step, "risk": risk}

# %% tags=["hide-input", "remove-output"]
noise_once = ("sign", "cosine")  # there E f²|x|² is E f² E|x|²
endless = ("relu_network", "cosine", "cubic_unit", "cubic_gaussian")
endless += ("linear_quadratic",)
near = {}
for name, m in moments.items():
    a, b = m.a, m.weighted + sigma2 * d
    all_linear = m.power if name == "quadratic" else a
    near[name] = {
        "a": a + (b - a) / n,
        "b": m.weighted + sigma2
        if name in noise_once
        else (m.power + sigma2) * d,
        "step_size": best_step(all_linear, b + all_linear, n),
        "risk": m.power + sigma2 - a
        if name in endless
        else least_risk(all_linear, b + all_linear, m.power, n),
    }
ledger.claims({
    f"thm3.{name}.{key}": (
        formula,
        getattr(measured[name], key),
        near[name][key],
    )
    for name, formulas in predicted.items()
    for key, formula in formulas.items()
})

# %% tags=["hide-input", "remove-output"]
ledger.figure(pictures.deviations(FAMILIES, predicted, measured))

# %% [markdown]
# ```{glue:figure} fig-deviations
# :name: fig-deviations
#
# Forty claims: measured against predicted, in per cent, with bars of *five* standard errors. Filled dots: light tails; their longest bar
# reaches {glue:text}`longest_bar:.1f` % to either side, so that an $a$, $b$ or $\eta^\ast$ wrong by 2 % (grey band) would be found
# out. Open dots: heavy tails. The quadratic target has $a = \eta^\ast = 0$, and no per cent of it.
# ```
#
# **Heavy tails.** A cubed Gaussian is rarely large, and then very large. The polynomial families get
# {glue:text}`heavy:.0f` times as many prompts; still, one single prompt carries {glue:text}`share_cubic_gaussian:.0f` % of the variance for
# the cubic with Gaussian $w$ ({glue:text}`share_light:.1f` % at most with light tails). There the error bar is itself uncertain.

# %% [markdown]
# ## One picture for all steps
#
# The same step at five context lengths, on fresh prompts: against $n$ every family goes its own way; against $n/h$, by
# {eq}`eq-half`, all must lie on one curve.

# %%
lengths = [1, 3, 10, 30, 100]
half = {
    name: best["b"] / best["a"] - 1 if best["a"] else np.inf
    for name, best in predicted.items()
}

# %% tags=["hide-input", "remove-output"]
along = {
    name: chapter.steps_along_n(
        family, parameters, budget, lengths, turns, stream("lengths", k)
    )
    for k, (name, family) in enumerate(FAMILIES.items())
}
light = [name for name, family in FAMILIES.items() if not family.heavy]
dots = [dot for name in light for dot in along[name]]
curve, late = (
    [1 / (k + half[name] + one) for name in light for k in lengths]
    for one in (0, 1)
)
ledger.claims({
    "thm3.one_curve": (
        1,
        chapter.mean_square_deviation(dots, curve),
        chapter.mean_square_deviation(dots, late).mean,
    )
})
ledger.figure(pictures.one_curve(FAMILIES, half, lengths, along))

# %% [markdown]
# ```{glue:figure} fig-steps
# :name: fig-steps
#
# Whatever the target, the best is a gradient step, of a length set by one number $h$. Left: the measured step of ten kinds of target (open dots: heavy tails). Right: the same dots, each family's axis divided by its own $h$, on the
# curve $1/(1 + h/n)$. The quadratic target has no linear part, so $h = \infty$: it never starts. The mean square of the filled dots'
# distances from the curve, in their standard errors, is {glue:text}`thm3.one_curve.measured:.2f` (from one with $h + 1$ for $h$: {glue:text}`one_curve_late:.0f`).
# ```

# %% [markdown]
# ## Does training find it?
#
# The measurement presumed the *form*, plain gradient descent. Training does not: Adam sees {glue:text}`batch:.0f` fresh
# prompts a step, in single precision, {glue:text}`trainings:.0f` times a family. Every weight starts random, and 1 is added to the two
# that carry the label through values and output (an *open label path*, which does not linger near zero). The claims allow 5 %, and
# five standard errors from the spread of runs, pooled over the light-tailed families.

# %%
trained = chapter.train_families(parameters, budget, stream)
learned = {
    name: np.array([search.learned_step(run.weights, n) for run in runs])
    for name, runs in trained.items()
}


# %% tags=["hide-input", "remove-output"]
too_faint = {name: chapter.too_faint(name, parameters) for name in light}
aims = {name: predicted[name]["step_size"] for name in light}
clear = {name: learned[name] for name in light if not too_faint[name]}
mean_steps = chapter.mean_steps(clear, aims)
ledger.claims({
    f"thm3.{name}.trained_step": (
        aims[name],
        too_faint[name] or mean_steps[name],
        1 / n,
    )
    for name in light
})
ledger.figure(
    pictures.learned_steps(
        FAMILIES,
        {name: n * predicted[name]["step_size"] for name in FAMILIES},
        {name: n * steps for name, steps in learned.items()},
    )
)

# %% [markdown]
# ```{glue:figure} fig-learned_steps
# :name: fig-learned-steps
#
# The step that training finds (diamonds, one a run) and the predicted one (ticks). The runs on the cubic with Gaussian $w$ end
# between {glue:text}`learned_least:.0f` % and {glue:text}`learned_most:.0f` % of the predicted step.
# ```
#
# No claim is made about heavy-tailed families: that cubic's optimum is set by
# rare, huge targets, which most batches do not contain, so where a run ends depends on which of them it met. Nor is one made where
# the best step lowers the risk by less than 3 %, which the noise of the batches hides.

# %% [markdown]
# ## What the learner sees of $f$
#
# One target of each of six families along a line through the origin, in the direction of its linear part, and what the learner predicts
# there after {glue:text}`view_short:.0f`, {glue:text}`view_middle:.0f` and {glue:text}`view_long:.0f` examples:

# %% tags=["hide-input", "remove-output"]
view_lengths = [5, 30, 1000]
shown = ("sign", "single_index", "sine")
shown += ("cubic_unit", "linear_quadratic", "quadratic")
ledger.figure(
    pictures.views([
        chapter.view(FAMILIES[name], d, view_lengths, sigma2, stream)
        for name in shown
    ])
)

# %% [markdown]
# ```{glue:figure} fig-views
# :name: fig-views
#
# In the colour of the text: the target. Orange: the prediction after few (faint) and many (full) examples, always a straight line through
# the origin. With more examples its slope settles at that of the linear part $w_f$; the curvature stays unseen. For the quadratic
# target every prediction is zero.
# ```
#
# So a longer context cannot bring the risk down to the noise. As $n$ grows,
#
# ```{math}
# :label: eq-linear-floor
# L_{\min} \;\to\; \sigma^2 + \big(\mathbb E f^2 - a\big),
# ```
#
# and the bracket is the **linear floor**: what no linear function of $x$ explains. The right-hand side of
# {eq}`eq-linear-floor` is a lower bound for a linear transformer of any
# depth too: with the query masked out of the sums, each layer acts on the query by a matrix that depends on the
# context only, so the output stays linear in the query. For $\mathrm{sign}(w^\top x)$ the risks $R(N)$ and $R(2N)$ at two long contexts, extrapolated
# to $2R(2N) - R(N)$, which cancels what falls like $1/n$:

# %%
floor = 1 + sigma2 - 2 / np.pi
extrapolated = chapter.extrapolated_floor(
    FAMILIES["sign"], parameters, turns, budget.prompts, stream("linear floor")
)
ledger.claims({"thm3.linear_floor": (floor, extrapolated, sigma2)})

# %% tags=["hide-input", "remove-output"]
ledger.figure(pictures.risk_split(FAMILIES, moments, n, sigma2, measured))

# %% [markdown]
# ```{glue:figure} fig-risk_split
# :name: fig-risk-split
#
# The risk at $n =$ {glue:text}`n:.0f` as a share of the risk of predicting zero. Pale: label noise.
# Grey: the linear floor, out of reach at any $n$. Orange: what more examples would still remove. The empty rest is
# explained: {glue:text}`explained_linear:.0f` % for linear targets, {glue:text}`explained_sign:.0f` % for the sign,
# nothing for the quadratic. Diamonds are measured.
# ```

# %% [markdown]
# ## The target that cannot be learned
#
# $n$ examples of $f(x) = x^\top Q x$ say a lot about $Q$. Yet $f$ is
# even, its linear part is zero, and the best linear attention predicts $0$. To see that this is no artefact of one head, fit
# *all* coefficients that any number of heads could have, $T_{abj}$ with $a \le b$: a
# linear regression of the query's label on the products $G_{ab}\, x_j$. At $d = 3$ and $n = 6$ there are 30 of them.


# %%
def products(X, y, x):
    """G_ab x_j, a ≤ b: of these the answer of any heads is a sum; (B, K)."""
    Z = np.concatenate([X, y[..., None]], axis=-1)
    G = np.swapaxes(Z, 1, 2) @ Z
    a, b = np.triu_indices(Z.shape[-1])
    return (G[:, a, b, None] * x[:, None]).reshape(len(x), -1)


def plain(d):
    """1 at the products y_i x_ij x_j, whose sum is plain gradient descent."""
    a, b = np.triu_indices(d + 1)
    return ((a[:, None] == np.arange(d)) & (b[:, None] == d)).ravel() * 1.0


def fit_all(law, prompts=budget.fit):
    """Least squares over all coefficients, on prompts of their own."""
    seed = stream.entropy(f"fit {law.family.name}")
    return tensor_fit(law, products, plain(law.d), prompts, seed)


quadratic = fit_all(TargetLaw(FAMILIES["quadratic"], 3, 6, sigma2))
bound = 4.5  # standard errors, for the largest of the 30
ledger.claims({"thm3.quadratic_zero": (bound, np.abs(quadratic.z).max())})

# %% [markdown]
# ## Sign symmetry is not needed
#
# The paper assumes that $-f$ has the same law as $f$. The proof above did not. Two families that are not symmetric: $w^\top x + \frac12(\|x\|^2 - d) + 1$, whose values have mean 1, and a single
# $\mathrm{relu}(w^\top x)$, which is never negative. The theorem says that 27 of the 30 coefficients vanish, that the three of plain
# gradient descent are equal, and to what. The first two together are a pattern, and the fit's distance from it, $\chi^2$ by its 29
# degrees of freedom, must be 1; were one of the three 10 % larger, it would not be.

# %%
fits = {
    name: fit_all(TargetLaw(family, 3, 6, sigma2))
    for name, family in targets.ASYMMETRIC.items()
}
strays = max(np.abs(fit.strays).max() for fit in fits.values())
uneven = plain(3) * np.tile([1.1, 1, 1], 10)
plain_steps = {}
for name in fits:
    m = theory.moments(name, 3)
    a, b = m.a, m.weighted + 3 * sigma2
    plain_steps[name] = best_step(a, b, 6), fits[name].step, a / (6 * a + b)

# %% tags=["hide-input"]
ledger.claims(
    {"thm3.sign_symmetry_redundant": (bound, strays)}
    | {
        f"thm3.{name}.pattern": (
            1,
            fit.departure(plain(3)),
            fit.departure(uneven).mean,
        )
        for name, fit in fits.items()
    }
    | {f"thm3.{name}.step_size": step for name, step in plain_steps.items()}
)

# %% [markdown]
# ## Gaussian covariates are not needed either
#
# For any rotation-invariant $x$ with $\mathbb E xx^\top = \kappa I$ the proof gives plain gradient descent with
# $\eta^\ast = a / \{\kappa\,[(n-1)a + b]\}$. Three laws with the *same covariance* $I$, and the same linear targets: the
# Gaussian, the uniform law on the sphere of radius $\sqrt d$, and a mixture of two Gaussians of variance $\frac12$ and $\frac32$.
# They differ only in $\mathbb E\|x\|^4$, which for linear targets is $b - \sigma^2 d$:

# %%
linear = FAMILIES["linear"]
covariates = {
    "sphere": (targets.sphere_covariates, d**2),
    "scale_mixture": (targets.mixture_covariates, 1.25 * d * (d + 2)),
}
prompts, covariate_steps = chapter.affordable(budget.prompts, n, d), {}
for name, (draw, fourth) in covariates.items():
    law = TargetLaw(linear, d, n, sigma2, draw)
    step = chapter.measure(law, turns, prompts, stream(name)).step_size
    covariate_steps[name] = best_step(d, fourth + sigma2 * d, n), step

# %% tags=["hide-input", "remove-output"]
gaussian = best_step(d, d * (d + 2) + sigma2 * d, n)
ledger.claims({
    f"thm3.{name}": (*pair, gaussian) for name, pair in covariate_steps.items()
})

# %% [markdown]
# | linear targets, $x$ with $\mathbb E xx^\top = I$ | $\mathbb E\lVert x\rVert^4 / d^2$ | $n\eta^\ast$ predicted | measured |
# |---|---|---|---|
# | sphere | {glue:text}`fourth_sphere:.2f` | {glue:text}`n_eta_sphere:.4f` | {glue:text}`n_eta_sphere_measured:.4f` |
# | Gaussian | {glue:text}`fourth_gaussian:.2f` | {glue:text}`n_eta_linear:.4f` | {glue:text}`n_eta_linear_measured:.4f` |
# | scale mixture | {glue:text}`fourth_scale_mixture:.2f` | {glue:text}`n_eta_scale_mixture:.4f` | {glue:text}`n_eta_scale_mixture_measured:.4f` |
#
# The heavier the tails of $x$, the shorter the step: on the sphere all examples are equally informative, in the mixture some are
# mostly loud.

# %% [markdown]
# ## Rotation invariance is needed
#
# Some of it: as the proof was run above, it takes that flipping and exchanging axes leaves the law alone. The target
# $f(x) = \sum_j \pm\,\mathrm{sign}(x_j)$, with a coin for each axis, has preferred directions, all alike. There $a = 2d/\pi$ and
# $b = d^2 + \sigma^2 d$, and of all 30 coefficients only plain gradient descent remains:


# %%
def terraces(x, rng):
    """Σ_j ± sign(x_j): a stair along every axis, up or down by a coin."""
    coins = rng.choice([-1.0, 1.0], (len(x), 1, x.shape[2]))
    return (coins * np.sign(x)).sum(-1)


axes = fit_all(TargetLaw(Family("terraces", "", terraces), 3, 6, sigma2))
a, b = 3 * 2 / np.pi, 3**2 + sigma2 * 3
axes_step = best_step(a, b, 6)

# %% tags=["hide-input"]
ledger.claims({
    "thm3.axes.pattern": (
        1,
        axes.departure(plain(3)),
        axes.departure(uneven).mean,
    ),
    "thm3.axes.step_size": (axes_step, axes.step, a / (6 * a + b)),
})

# %% [markdown]
# Take that away as well, keep sign symmetry, and the optimum is a *preconditioned* step $\hat y = x^\top \Gamma X^\top y$ with
# $\Gamma = C_2 C_1^{-1}$, where $C_1 = \mathbb E[X^\top y y^\top X]$ and $C_2 = n\,\mathbb E[w_f w_f^\top]$. (The part of the answer that is
# even in the labels can only do harm, as in the proof of {prf:ref}`thm-zero-mean`; the odd part is left with the loss
# $\mathbb E\,\|\Gamma X^\top y - w_f\|^2$ and a constant, the regression of $w_f$ on $X^\top y$.) Two examples, both with $n = 10$:
#
# - **A**, $d = 2$: $f(x) = \pm x_1^3$. Only the first coordinate matters, and $\Gamma$ keeps only that one.
# - **B**, $d = 3$: $f(x) = w^\top x$ with $w \sim N(0, \operatorname{diag}(4, 1, \tfrac14))$. Likely directions get longer steps:
#   $n\Gamma$ has the diagonal {glue:text}`gamma_b_0:.4f`, {glue:text}`gamma_b_1:.4f`, {glue:text}`gamma_b_2:.4f`.
#
# The optimum is measured by the fit of all coefficients, plain gradient descent on the same prompts, so that their
# difference, the **penalty**, is sharper than either.


# %%
def optima(C1, C2, power):
    """Least risks of preconditioned and of plain gradient descent."""
    zero = power + sigma2  # the risk of predicting 0
    best = zero - np.trace(C2 @ np.linalg.inv(C1) @ C2)
    single = zero - np.trace(C2) ** 2 / np.trace(C1)
    return {"risk": best, "plain_risk": single, "penalty": single - best}


N, e1, Psi = 10, np.diag([1, 0]), np.diag([4, 1, 0.25])
alone = N * (np.diag([105, 15]) + sigma2 * np.eye(2))  # i = j in E X'yy'X
pairs = 9 * N * (N - 1) * e1  # i ≠ j
uneven_C1 = N * ((N + 1) * Psi + (np.trace(Psi) + sigma2) * np.eye(3))
C1 = {"a": alone + pairs, "b": uneven_C1}
C2 = {"a": 9 * N * e1, "b": N * Psi}
power = {"a": 15, "b": np.trace(Psi)}
exact_gaps = {name: optima(C1[name], C2[name], power[name]) for name in C2}

A = TargetLaw(targets.SIGNED_CUBE, 2, N, sigma2)
B = TargetLaw(targets.uneven_linear(np.diag(Psi)), 3, N, sigma2)
gaps = {"a": fit_all(A, 3 * budget.fit), "b": fit_all(B)}

# %% tags=["hide-input", "remove-output"]
slips = {
    "a": optima(alone, C2["a"], power["a"]),
    "b": optima(C1["b"] - N * Psi, C2["b"], power["b"]),
}
ledger.claims({
    f"thm3.counterexample_{name}.{label}": (
        exact,
        getattr(gaps[name], label),
        slips[name][label],
    )
    for name, formulas in exact_gaps.items()
    for label, exact in formulas.items()
})
titles = {"a": "A: $\\pm x_1^3$", "b": "B: uneven $w^T x$"}
ledger.figure(
    pictures.penalties({
        titles[name]: pictures.Gap(
            C1[name],
            C2[name],
            power[name] + sigma2,
            N,
            fit.risk,
            fit.plain_risk,
        )
        for name, fit in gaps.items()
    })
)

# %% [markdown]
# ```{glue:figure} fig-penalties
# :name: fig-penalties
#
# No scalar step reaches the optimum once directions differ. Plain gradient descent at its best loses
# {glue:text}`penalty_a_percent:.1f` % in A and {glue:text}`penalty_b_percent:.1f` % in B: {glue:text}`thm3.counterexample_a.penalty.predicted:.4f`
# and {glue:text}`thm3.counterexample_b.penalty.predicted:.4f` by the formulas, {glue:text}`thm3.counterexample_a.penalty.measured:.4f` and
# {glue:text}`thm3.counterexample_b.penalty.measured:.4f` measured (dots).
# ```

# %% [markdown]
# ## Your own target
#
# A target is a Python function: it gets covariates `x` of shape `(B, m, d)` and a generator, draws one target for each of the $B$
# rows, and returns its values, `(B, m)`. Put yours in the place of this staircase.


# %%
def staircase(x, rng):
    """floor(w'x), |w| = 1."""
    w = rng.standard_normal((len(x), x.shape[2], 1))
    w /= np.linalg.norm(w, axis=1, keepdims=True)
    return np.floor((x @ w)[..., 0])


trial = stream.entropy("your own target")
yours = targets.reader_family(staircase, d, np.random.default_rng(trial))

# %% [markdown]
# `reader_family` tries the function out first. A wrong shape or a NaN is refused, and so is a law that changes when $x$ is rotated:
# of 108 comparisons of values at rotated points the staircase's largest is {glue:text}`rotation_reader:.1f` standard errors, and up to 5 is
# accepted. A target with a preferred direction, $w^\top x$ with a first coordinate of $w$ that is 1.5 times as large, is found out:

# %%
lopsided = targets.uneven_linear(np.append(1.5**2, np.ones(d - 1))).values
try:
    targets.reader_family(
        lopsided, d, stream("a lopsided target"), name="lopsided"
    )
except InputError as refusal:
    print(textwrap.fill(str(refusal), 78))

# %% [markdown]
# No formula is known for your function, so $a$, $b$ and $\mathbb E f^2$ are sampled, and step and risk measured on *other* prompts;
# both error bars count.

# %%
sampled = chapter.moments_by_sampling(
    yours, d, budget.prompts, stream("moments of yours")
)
step, risk = chapter.predict_from_samples(sampled, d, n, sigma2)
law = TargetLaw(yours, d, n, sigma2)
fresh = chapter.measure(law, turns, prompts, stream("yours"))

# %% tags=["hide-input"]
a, weighted, its_power = sampled.mean
b = weighted + sigma2 * d
ledger.claims({
    "thm3.reader.step_size": (step, fresh.step_size, best_step(a, a + b, n)),
    "thm3.reader.risk": (risk, fresh.risk, least_risk(a, a + b, its_power, n)),
})

# %% tags=["hide-input", "remove-output"]
your_half = b / a - 1
your_steps = chapter.steps_along_n(
    yours, parameters, budget, lengths, turns, stream("lengths of yours")
)
ledger.figure(
    pictures.one_curve(
        {"linear": linear, "yours": yours},
        {"linear": half["linear"], "yours": your_half},
        lengths,
        {"linear": along["linear"], "yours": your_steps},
        name="your_steps",
    )
)

# %% [markdown]
# ```{glue:figure} fig-your_steps
# :name: fig-your-steps
#
# The reader's function, beside linear targets. Its sampled moments are
# $a =$ {glue:text}`reader_a:.4f`, $\mathbb E f^2\|x\|^2 =$ {glue:text}`reader_weighted:.4f` and
# $\mathbb E f^2 =$ {glue:text}`reader_power:.4f`, so it takes half a step after $h =$ {glue:text}`reader_half:.2f` examples.
# ```

# %% [markdown]
# ## What $x$ changes, and what $y$ changes
#
# **The law of $x$ decides the form.** If it is rotation invariant (and the targets are too) the learner is plain gradient descent, and
# beyond the covariance only the spread of $\|x\|$ counts, for the size of the step. If the covariance is not a multiple of
# $I$, the best step has a preconditioner ({doc}`chapter 2 </notebooks/02_preconditioned_gd>`), but for targets that happen to undo it
# ({ref}`ex-undone`). **The law of $y$ decides the size**, through $h$. Linear, curved, bounded, discontinuous or noisy: while it is rotation invariant
# given $x$, it never changes the form.
#
# *$x$ sets the geometry of the step, $y$ its length*; where the two are tied together by a preferred direction,
# as in A and B, $y$ bends the geometry as well.

# %% [markdown]
# ## Move it yourself
#
# Choose a target. All it can do to the step is to delay it, by its $h$; the faint curves are the other nine.
# The second picture splits the risk: noise (faint), what is not linear in $x$ (grey), what more examples still remove (orange). **A question:**
# for $\mathrm{sign}(w^\top x)$ the page says at which noise a *linear* target would take the same step. Choose $w^\top x$ and set that noise. Is
# everything the same now?
#
# ```{admonition} Answer
# :class: dropdown
# The step is, and at every $n$, for it depends on $b/a$ alone: to the step, curvature is noise. The risk is not. Of the whole
# label, $a / (\mathbb E f^2 + \sigma^2)$ is linear, and this share is not fixed by $b/a$; so the learner explains a different part.
# ```

# %% tags=["hide-input"]
explorable(parameters)

# %% [markdown]
# ## What the theorem does not say
#
# - **The model.** One layer of *linear* attention on tokens $(x, y)$. With other features in the
#   tokens the same layer learns the quadratic target ({ref}`ex-features`); what a softmax or a non-linear MLP would do is not touched.
# - **Depth.** The floor holds for any depth *if the query is masked*; how fast $L$ layers come to it is open
#   ({ref}`ex-depth-nonlinear`).
# - **The data.** Real targets have preferred directions. Without symmetry of the axes *and*
#   without sign symmetry the optimum is not known in closed form.
# - **Training.** The theorem says nothing about how hard it is. The claims are for light tails and one schedule, whose
#   {glue:text}`steps:.0f` steps are too few for the $d^2$ entries of a matrix once $d$ is several dozen.
# - **What the measurements cannot show.** The risks of heavy tails are too blurred to tell $n$
#   from $n - 1$ in the formula, which the steps do tell. The fits of all coefficients are at
#   one small size and see an effect only above a few standard errors; so does `reader_family`'s test.

# %% tags=["hide-input", "remove-output"]
cubic = (
    100 * learned["cubic_gaussian"] / predicted["cubic_gaussian"]["step_size"]
)
numbers = {
    "kappa": targets.KAPPA,
    "hidden": targets.HIDDEN,
    "frequency": targets.FREQUENCY,
    "heavy": budget.heavy,
    "batch": budget.batch,
    "steps": budget.schedule.steps,
    "trainings": budget.trainings,
    "bound": bound,
    "learned_least": min(cubic),
    "learned_most": max(cubic),
    "share_light": max(100 * measured[name].largest_share for name in light),
    "longest_bar": max(
        500 * getattr(measured[name], key).stderr / predicted[name][key]
        for name in light
        for key in ("a", "b", "step_size")
    ),
    "rotation_reader": targets.rotation_statistic(
        yours, d, np.random.default_rng(trial)
    ),
    "reader_a": sampled.mean[0],
    "reader_weighted": sampled.mean[1],
    "reader_power": sampled.mean[2],
    "reader_half": your_half,
    "one_curve_late": chapter.mean_square_deviation(dots, late).mean,
    "fourth_sphere": 1,
    "fourth_gaussian": (d + 2) / d,
    "fourth_scale_mixture": 1.25 * (d + 2) / d,
    "n_eta_linear_measured": n * measured["linear"].step_size.mean,
}
for k, length in zip(("short", "middle", "long"), view_lengths, strict=True):
    numbers[f"view_{k}"] = length
for name, m in moments.items():
    numbers[f"n_eta_{name}"] = n * predicted[name]["step_size"]
    share = predicted[name]["risk"] / (m.power + sigma2)
    numbers[f"explained_{name}"] = 100 * (1 - share)
    numbers[f"share_{name}"] = 100 * measured[name].largest_share
    if m.a > 0:
        numbers[f"half_{name}"] = half[name]
for name, (formula, step) in covariate_steps.items():
    numbers[f"n_eta_{name}"] = n * formula
    numbers[f"n_eta_{name}_measured"] = n * step.mean
for name, gap in exact_gaps.items():
    numbers[f"penalty_{name}_percent"] = 100 * gap["penalty"] / gap["risk"]
for k, entry in enumerate(np.diag(C2["b"] @ np.linalg.inv(C1["b"]))):
    numbers[f"gamma_b_{k}"] = N * entry
for name, value in numbers.items():
    ledger.number(name, value)

# %% [markdown]
# ## Exercises
#
# ★ a pencil and ten minutes; ★★ more thought, or a few lines of code; ★★★ a proof; ◇ open: nobody we know of has
# answered it. The code in the solutions ran with this page, at sizes of its own, and stops the page if a number is off.
#
# ```{exercise} A shift nobody told it about ★
# :label: ex-shift
# Add to linear targets a constant: $f(x) = w^\top x + m\,t$, where $t = \pm 1$ is tossed once a prompt. The mean label of the context nearly
# gives $m\,t$ away. What do linear attention's step and risk become?
# ```
#
# ```{solution} ex-shift
# :label: sol-shift
# :class: dropdown
# A constant has no linear part: $a = d$ as before. It is loud: $b = d(d+2) + (\sigma^2 + m^2)\,d$. So
#
# $$
# \eta^\ast = \frac{1}{n + d + 1 + (\sigma^2 + m^2)} ,
# $$
#
# and the risk is that of linear targets with noise of variance $\sigma^2 + m^2$. Linear attention takes what is the same in all labels for
# noise, since no weights can *subtract a mean*. Two softmax heads of opposite sign can, and pay one example for it
# ({ref}`ex-softmax`): then the shift is gone from the context. But heads that cancel cannot *add* a mean to the answer either, so the query's
# $m^2$ stays in the risk. In general whatever is uncorrelated with $w_f^\top x$, be it noise, curvature or a
# shift, enters only through its contribution to $b$.
# ```
#
# ```{exercise} Wrong labels ★
# :label: ex-flips
# Labels are $\operatorname{sign}(w^\top x)$, but a share $q < \tfrac12$ of them, each by its own coin, is flipped.
#
# 1. How do $a$, $b$ and $\eta^\ast$ change?
# 2. For any target, how does the risk approach the linear floor of {eq}`eq-linear-floor` as $n \to \infty$?
# 3. How many more examples make up for flips, when contexts are long?
# ```
#
# ```{solution} ex-flips
# :label: sol-flips
# :class: dropdown
# 1. A flip multiplies the label by $\pm 1$ with mean $1 - 2q$, independently for each example: $a = (1-2q)^2\,\tfrac2\pi$, and $b = d$
#    stays, because $y^2 = 1$. So $\eta^\ast = 1 \big/ \big\{ n - 1 + \tfrac{\pi d}{2 (1-2q)^2} \big\}$.
# 2. $L_{\min} - \text{floor} = a - \frac{n a^2}{(n-1)a + b} = \frac{a\,(b - a)}{(n-1)a + b} \approx \frac{b - a}{n}$.
# 3. Hardly any for *that* gap, $b - a$ being near $d$ with and without flips. What flips destroy is the floor itself: it rises from $1 - \tfrac2\pi$ to
#    $1 - (1-2q)^2\,\tfrac2\pi$, which no number of examples repairs, because the *query's* label may be flipped too. Measured on clean queries
#    the same step tends to the right direction $w$, only shorter.
# ```
#
# ```{exercise} The right features ★★
# :label: ex-features
# No linear attention learns $x^\top Q x$ from tokens $(x, y)$. Give it tokens $(z(x), y)$ instead, with features that satisfy $\mathbb E\,zz^\top = I$:
# $z = \big(1,\ (x_j^2 - 1)/\sqrt2,\ x_j x_k\ (j < k)\big)$.
#
# 1. Which part of the proof of {prf:ref}`thm-nonlinear` survives, and what are $a$ and $b$ now?
# 2. Predict step and risk at $d = 3$, $n = 20$, $\sigma^2 = \tfrac14$, and check the risk of that step.
# ```
#
# ```{solution-start} ex-features
# :label: sol-features
# :class: dropdown
# ```
#
# **1.** *The step* survives: it uses only $\mathbb E\,zz^\top = I$ and independence. *The form* does not: rotations of $x$ do not act on $z$ as all of
# $O(D)$, so a plain step in $z$ need not be the best (trace and traceless part of $Q$ might deserve steps of their own). It is good enough here.
# $f$ lies in the span of the features, so $a = \mathbb E f^2 = d(d+2)$. With $\rho = \|x\|$, $\|z\|^2 = 1 + \tfrac12(\rho^4 - 2\rho^2 + d)$ and
# $\mathbb E[f^2 \mid x] = \rho^4$, so with $p_4 = d(d+2)$, $p_6 = p_4(d+4)$, $p_8 = p_6(d+6)$
#
# $$
# b = p_4 + \tfrac12\big(p_8 - 2p_6 + d\,p_4\big) + \sigma^2 D, \qquad D = 1 + \tfrac{d(d+1)}{2} .
# $$
#
# **2.** Risk {glue:text}`ex_features_risk:.2f`, against {glue:text}`ex_features_zero:.2f` for answering $0$, which was the best without
# features. What a layer can learn in context is decided by what its tokens hold; providing $z(x)$ is work for the layers
# below, an MLP for instance.

# %%
from icl.estimates import monte_carlo
from icl.solvers.linear import gradient_step

pairs = np.triu_indices(3, 1)
rng = stream("exercise 3")


def features(x):
    """Seven orthonormal features of three covariates."""
    squares = (x**2 - 1) / np.sqrt(2)
    products = x[..., pairs[0]] * x[..., pairs[1]]
    return np.concatenate(
        [np.ones_like(x[..., :1]), squares, products], axis=-1
    )


fourth, sixth, eighth = 15, 105, 945
b_features = fourth + (eighth - 2 * sixth + 3 * fourth) / 2 + 0.25 * 7
bowl = theory.Moments(7, fourth, b_features - 0.25 * 7, fourth)
feature_step = theory.step_size(bowl, 20, 0.25)


def squared_errors(B):
    """One step of the predicted size, in feature space."""
    x = rng.standard_normal((B, 21, 3))
    f = FAMILIES["quadratic"](x, rng)
    y = f + 0.5 * rng.standard_normal(f.shape)
    z = features(x)
    w = gradient_step(z[:, :-1], y[:, :-1], feature_step)
    return ((z[:, -1] * w).sum(1) - y[:, -1]) ** 2


found = monte_carlo(squared_errors, 60_000)
formula = theory.minimal_risk(bowl, 20, 0.25)
print(f"measured {found.mean:.2f} ± {found.stderr:.2f}")
print(f"formula  {formula:.2f}")
assert abs(found.mean - formula) < 5 * found.stderr

# %% [markdown]
# ```{solution-end}
# ```
#
# ```{exercise} A target that undoes the covariance ★★
# :label: ex-undone
# Let $x \sim N(0, H)$ and $f(x) = w^\top x$ with $w \sim N(0, \Psi)$. By {doc}`chapter 2 </notebooks/02_preconditioned_gd>` the best step is
# $\frac1n \Gamma^\ast X^\top y$ with $\Gamma^\ast = \Psi \big(\tfrac{n+1}{n} H \Psi + \tfrac{\tau}{n} I\big)^{-1}$ and $\tau = \operatorname{tr}(H\Psi) + \sigma^2$.
# For which $\Psi$ is $\Gamma^\ast = \gamma I$, plain gradient descent, although $H$ is not a multiple of $I$?
# ```
#
# ```{solution-start} ex-undone
# :label: sol-undone
# :class: dropdown
# ```
#
# $\Psi = \gamma\big(\tfrac{n+1}{n} H\Psi + \tfrac{\tau}{n} I\big)$ is solved by $\Psi = \tfrac{\gamma\tau}{n} P$ with
# $P = \big(I - \tfrac{n+1}{n}\gamma H\big)^{-1}$, positive when $\gamma\,\tfrac{n+1}{n}\lambda_{\max}(H) < 1$. Then $\tau = \tfrac{\gamma\tau}{n}\operatorname{tr}(HP) + \sigma^2$, so
# $\tau = \sigma^2 \big/ \big(1 - \tfrac\gamma n \operatorname{tr} HP\big)$, which must be positive. For each such $\gamma$ there is exactly one $\Psi$: the tasks must
# vary *more* where the covariates do. The least squares over all coefficients finds one and the same step on both axes:

# %%
H, gamma, m = np.diag([1, 0.5]), 0.5, 10
P = np.linalg.inv(np.eye(2) - (m + 1) / m * gamma * H)
tau = 0.25 / (1 - gamma / m * np.trace(H @ P))
undoing = np.diag(gamma * tau / m * P)
print("diagonal of Ψ:", undoing.round(5))

undone = Family("undone", "", targets.uneven_linear(undoing).values)
scaled = lambda rng, shape: rng.standard_normal(shape) @ np.sqrt(H)
fit = fit_all(TargetLaw(undone, 2, m, 0.25, scaled), 300_000)
own = np.flatnonzero(plain(2))
steps, errors = fit.coefficients[own], np.sqrt(np.diag(fit.covariance)[own])
print(
    "n · step along each axis:",
    (m * steps).round(3),
    "±",
    (m * errors).round(3),
)
assert (np.abs(m * steps - gamma) < 5 * m * errors).all()

# %% [markdown]
# ```{solution-end}
# ```
#
# ```{exercise} The easiest target is not linear ★★★
# :label: ex-easiest
# Among single-index targets $\phi(w^\top x)$ with $\|w\| = 1$ uniform, $\phi$ odd, and no noise, $b/a$ decides on the step; for linear
# $\phi$ it is $d + 2$.
#
# 1. Find the $\phi$ with the least $b/a$, and show that it is not linear for $d \ge 2$.
# 2. Is it therefore the target with the least risk?
# ```
#
# ```{solution-start} ex-easiest
# :label: sol-easiest
# :class: dropdown
# ```
#
# **1.** From the last line of the table $b/a = \mathbb E[\phi^2\,(z^2 + d - 1)] / (\mathbb E\,\phi z)^2$. By Cauchy and Schwarz
#
# $$
# \begin{aligned}
# (\mathbb E\,\phi z)^2 &= \Big( \mathbb E\;\phi\,\sqrt{z^2 + d - 1} \cdot \frac{z}{\sqrt{z^2 + d - 1}} \Big)^2 \\
# &\le \mathbb E\big[\phi^2 (z^2 + d - 1)\big]\; \mathbb E\,\frac{z^2}{z^2 + d - 1} ,
# \end{aligned}
# $$
#
# with equality for $\phi(z) \propto z/(z^2 + d - 1)$ only. So $b/a \ge 1 \big/ \mathbb E\,\tfrac{z^2}{z^2 + d - 1}$, and a linear $\phi$, which is
# not proportional to it for $d \ge 2$, has more. ∎ The best target turns back at large $|z|$: there the covariate is long, and a
# long example is a loud one. At $d = 5$ the least $b/a$ is {glue:text}`ex_easiest_ratio:.4f` instead of 7.
#
# **2.** No. A larger step is not a smaller risk. The best-$b/a$ target has curvature that a line cannot follow, and its floor is
# {glue:text}`ex_easiest_floor:.3f` of its variance. At $n = 20$ its risk is {glue:text}`ex_easiest_risk:.3f` of the variance, that of a
# linear target {glue:text}`ex_linear_risk:.3f`. Up to two examples, though, it is ahead:
# {glue:text}`ex_easiest_risk_two:.4f` against {glue:text}`ex_linear_risk_two:.4f` at $n = 2$.


# %%
def easiest(z):
    """The single index with the least b/a at d = 5."""
    return z / (z**2 + 4)


def along_unit_direction(x, rng):
    """easiest(w'x), |w| = 1, w uniform."""
    w = rng.standard_normal((len(x), x.shape[2], 1))
    w /= np.linalg.norm(w, axis=1, keepdims=True)
    return easiest((x @ w)[..., 0])


z, weight = np.polynomial.hermite_e.hermegauss(300)
least_ratio = weight.sum() / (weight @ (z**2 / (z**2 + 4)))
easy = theory.single_index(5, easiest)
assert abs(easy.b(0) / easy.a - least_ratio) < 1e-9
family = targets.Family("easiest", "", along_unit_direction)
found = chapter.measure(
    TargetLaw(family, 5, 20, 0.0), turns, 40_000, stream("exercise 5")
)
formula = theory.step_size(easy, 20, 0.0)
print(f"20 η* measured {20 * found.step_size.mean:.4f}")
print(f"20 η* by the formula {20 * formula:.4f}")
print(f"20 η* linear {20 * theory.step_size(theory.linear(5), 20, 0):.4f}")
assert abs(found.step_size.mean - formula) < 5 * found.step_size.stderr

# %% [markdown]
# ```{solution-end}
# ```
#
# ```{exercise} Depth against a staircase ◇
# :label: ex-depth-nonlinear
# For masked linear transformers the linear floor holds at any depth. How fast can $L$ layers approach it on a nonlinear target, say
# $\operatorname{sign}(w^\top x)$, at finite $n$?
# ```
#
# ```{solution} ex-depth-nonlinear
# :label: sol-depth-nonlinear
# :class: dropdown
# **Known:** the floor bounds every depth from below, and one layer reaches it for $n \to \infty$, with a gap of about $(b-a)/n$
# ({ref}`ex-flips`). No masked linear transformer, however deep, can do better than the best predictor that is linear in the query,
# $x^\top \mathbb E[w_f \mid X, y]$. For linear targets that is ridge regression and the gain from depth can be computed ({ref}`ex-more-steps`).
#
# **Open:** the least risk of $L \ge 2$ layers for any nonlinear family. The loss is not convex in the weights, so the symmetry argument says
# nothing, and for $\operatorname{sign}$ neither $\mathbb E[w_f \mid X, y]$ nor the moments of $X^\top y$ beyond the second, which two layers
# need, are as simple as for Gaussian labels. Once the *query is not masked* even the floor is open: the output is then no longer linear in $x$.
# ```

# %% tags=["hide-input", "remove-output"]
line = theory.linear(5)
exercise_numbers = {
    "ex_features_risk": theory.minimal_risk(bowl, 20, 0.25),
    "ex_features_zero": fourth + 0.25,
    "ex_easiest_ratio": least_ratio,
    "ex_easiest_floor": theory.linear_floor(easy, 0) / easy.power,
    "ex_easiest_risk": theory.minimal_risk(easy, 20, 0) / easy.power,
    "ex_linear_risk": theory.minimal_risk(line, 20, 0) / line.power,
    "ex_easiest_risk_two": theory.minimal_risk(easy, 2, 0) / easy.power,
    "ex_linear_risk_two": theory.minimal_risk(line, 2, 0) / line.power,
}
for name, value in exercise_numbers.items():
    ledger.number(name, value)

# %% [markdown]
# ## Every claim of this chapter
#
# A claim holds when prediction and measurement differ by no more than its
# tolerance, fixed beforehand, and five standard errors. A bound (≤ or ≥) missed by less than that is *undecided*.

# %% tags=["hide-input"]
ledger.save()
