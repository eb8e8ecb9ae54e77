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
# (preconditioned-gd)=
# # Preconditioned gradient descent
#
# In {doc}`the first chapter </notebooks/01_one_step_gd>` every direction of the covariates was as likely as every other,
# and the best linear attention could do was one plain step of gradient descent. Real covariates are correlated: some
# directions vary a lot, others hardly. A plain step then goes too far along the strong directions and hardly moves along the
# weak ones. What does attention do instead?
#
# **It learns the matrix that repairs this.** The best linear attention takes one step of *preconditioned* gradient
# descent, with a fixed matrix stored in its key and query weights. {cite:t}`mahankali2024` say
# which matrix for one prior over tasks; {cite:t}`ahn2023`, {cite:t}`zhang2024trained` and {cite:t}`zhang2024block`
# for others. This chapter finds it by training, to a relative distance of
# {glue:text}`thm2.preconditioner.measured:.0e`, and asks what it is worth.
#
# ```{admonition} What you need
# :class: note
# The first chapter, and the eigenvalues of a symmetric matrix. Symbols are collected in {doc}`/book/notation`.
# Reading takes about {glue:text}`reading_minutes:.0f` minutes; rerunning, about one.
# ```

# %% tags=["hide-input"]
import numpy as np
from icl import search
from icl.chapters import begin
from icl.chapters.one_step_gd import experiments as chapter1
from icl.chapters.preconditioned_gd import (
    condition_pictures,
    condition_sweep,
    pictures,
    task_laws,
)
from icl.chapters.preconditioned_gd import experiments as chapter
from icl.chapters.preconditioned_gd.explorable import explorable
from icl.estimates import NotRun, joint_monte_carlo
from icl.prompts import PromptLaw, symmetric_root
from icl.solvers.linear import gradient_step
from icl.theory import one_step_gd as theorem1
from icl.theory import preconditioned_gd as theory

# %% tags=["parameters"]
d = 5
n = 20
sigma2 = 0.25
condition = 10.0
seed = 0
profile = "quick"

# %% tags=["hide-input", "remove-output"]
parameters, ledger, stream = begin(
    "02_preconditioned_gd",
    d=d,
    n=n,
    sigma2=sigma2,
    condition=condition,
    seed=seed,
    profile=profile,
)
budget = chapter1.budget(parameters)
draws = max(200, budget.prompts // 50)  # of matrices X

# %% [markdown]
# ## One prompt by hand
#
# Linear attention reads a prompt as a matrix $E$, a column $(x_i; y_i)$ for each example and a last one, $(x; 0)$, for
# the query, and fills in what is missing, with $\mathcal M = \operatorname{diag}(I_n, 0)$:
#
# $$
# \hat y = \big[ E + \tfrac1n W_P^\top W_V E\, \mathcal M E^\top W_K^\top W_Q E \big]_{-1,-1} .
# $$
#
# Of the four matrices only the last row $(v^\top, c)$ of $W_P^\top W_V$ and the first $d$ columns $(V; u^\top)$ of
# $W_K^\top W_Q$ reach the output.


# %%
def attention(X, y, x, W_P, W_V, W_K, W_Q):
    """What linear attention answers; any number of prompts at once."""
    n = y.shape[-1]
    examples = np.append(X, y[..., None], axis=-1)  # rows (x_i, y_i)
    query = np.append(x, np.zeros_like(x[..., :1]), axis=-1)  # (x, 0)
    E = np.append(examples, query[..., None, :], axis=-2).mT
    M = np.diag(np.append(np.ones(n), 0))
    return (E + W_P.T @ W_V @ E @ M @ E.mT @ W_K.T @ W_Q @ E / n)[..., -1, -1]


def layer(v, c, V, u):
    """The plainest W_P, W_V, W_K, W_Q with these four parts."""
    W_V, W_Q = np.zeros((2, len(v) + 1, len(v) + 1))
    W_V[-1], W_Q[:, :-1] = np.append(v, c), np.vstack([V, u])
    return np.eye(len(v) + 1), W_V, np.eye(len(v) + 1), W_Q


# %% [markdown]
# With $v = u = 0$ the answer is $\hat y = \tfrac1n x^\top \Gamma X^\top y$ with $\Gamma = cV^\top$: one step of gradient descent from 0,
# turned by $\Gamma$. Now a pencil. Let $H = \operatorname{diag}(8, 1)$ and $w = (1, 2)$, without
# noise. The three examples below have $X^\top y = (24, 6)$. Theorem 2 will ask for
# $\eta^\ast = 1/(3 + 2 + 1)$ and $H^{-1} = \operatorname{diag}(\tfrac18, 1)$: the estimate is $\tfrac16 (3, 6) = (\tfrac12, 1)$, half of the
# task, and the answer at the query $(2, 1)$ is 2.

# %%
X_hand = np.array([[2.0, 1], [2, 1], [-4, 1]])
w_hand, x_hand = np.array([1.0, 2]), np.array([2.0, 1])
y_hand = X_hand @ w_hand  # 4, 4, −2
inverse_hand = np.linalg.inv(np.diag([8.0, 1]))
step = 1 / 6 * inverse_hand @ X_hand.T @ y_hand
weights = layer(np.zeros(2), 1, 3 / 6 * inverse_hand, np.zeros(2))
print("gradient descent:", x_hand @ step)
print("attention:       ", attention(X_hand, y_hand, x_hand, *weights))

# %% tags=["hide-input", "remove-output"]
other_prompts = PromptLaw(3, np.diag([8.0, 1]), np.eye(2), np.zeros(2), 0)
X = other_prompts.sample(stream("other prompts"), 150).X
gradients = np.einsum("bni,bn->bi", X, X @ w_hand)
plain_hand = 9 / 65 / 6  # tr H / tr H² times eta*, by the formulas below
both_ends = {
    "gd": plain_hand * gradients,
    "preconditioned": gradients @ inverse_hand / 6,
}
both_steps = {"gd": plain_hand * X_hand.T @ y_hand, "preconditioned": step}
ledger.figure(
    pictures.one_prompt(np.diag([8.0, 1]), w_hand, both_steps, both_ends)
)

# %% [markdown]
# ```{glue:figure} fig-one_prompt
# :name: fig-one-prompt
#
# The same prompt in the space of tasks. Left: the loss $\tfrac12 \sum_i (b^\top x_i - y_i)^2$ has elliptic contours around $w$. The
# plain step leaves 0 at a right angle to them, along the strong direction; the preconditioned step points at $w$. Right: after
# whitening the ellipses are circles, and the normal of a circle points at its centre. Dots: the two steps on 150 other
# prompts of the task.
# ```

# %% [markdown]
# ## The task
#
# From here on the eigenvalues of $H$ are spaced evenly in logarithm from
# $1/\kappa$ to $1$, with **condition number** $\kappa =$ {glue:text}`condition:g`, and its axes are rotated at random:
# nothing can be read off the coordinates. As before $d =$ {glue:text}`d:.0f`,
# $n =$ {glue:text}`n:.0f`, $\sigma^2 =$ {glue:text}`sigma2:g`, $x_i \sim N(0, H)$ and $y_i = w^\top x_i + \varepsilon_i$.
# There remains the law of the task $w$. {cite:t}`mahankali2024` choose $w \sim N(0, H^{-1})$: tasks are large where
# covariates are small, so that every direction contributes equally to the labels.
#
# ## Theorem 2
#
# ```{prf:theorem} Mahankali, Hashimoto and Ma, Theorem 2
# :label: thm-preconditioned-gd
#
# Let $x_i, x \sim N(0, H)$ with $H$ invertible and $w \sim N(0, H^{-1})$. Among all weights of single-head linear
# self-attention, the least loss is attained by
#
# $$
# \begin{aligned}
# \hat y &= \eta^\ast \sum_{i=1}^n y_i\, (H^{-1} x_i)^\top x , \\
# \eta^\ast &= \frac{1}{n + d + 1 + \sigma^2} ,
# \end{aligned}
# $$
#
# one step of gradient descent preconditioned with $H^{-1}$. Step size and least loss are those of
# {prf:ref}`thm-one-step-gd`, whatever $H$ is.
# ```
#
# ```{admonition} Proof
# :class: dropdown
# Write $x = H^{1/2} z$ and $w = H^{-1/2} \omega$. Then $z$ and $\omega$ are standard Gaussian, and $w^\top x = \omega^\top z$: the labels
# are those of chapter 1. The attention output depends on $v, V, u$ only through $H^{1/2} v$, $H^{1/2} V H^{1/2}$ and
# $H^{1/2} u$, which range over everything because $H^{1/2}$ is invertible. So this *is* chapter 1's problem, in the variables $z$.
# Its minimisers $v = u = 0$, $cV = \eta^\ast I$ become $v = u = 0$, $H^{1/2} cV H^{1/2} = \eta^\ast I$.
# ```
#
# With attention's $1/n$ that is $\Gamma^\ast = n \eta^\ast H^{-1}$. The predictions:

# %%
axes = stream.entropy("axes of H")
H = chapter.covariance(parameters, axes)
law = theory.theorem2_law(H, n, sigma2)
eta = 1 / (n + d + 1 + sigma2)
target = n * eta * np.linalg.inv(H)
floor = sigma2 + d * (d + 1 + sigma2) / (n + d + 1 + sigma2)

# %% [markdown]
# ## Does training find the matrix?
#
# **Without noise.** L-BFGS on the exact loss, over all entries of $W_K, W_Q, W_V, W_P$, from random starts that know
# nothing of $H$ and two with an open label path; Newton's method for the last steps. Matrices are compared as the data see them, **whitened**:
# $H^{1/2} \Gamma H^{1/2}$ acts on standard Gaussian covariates.


# %%
def parts(weights):
    """v, c, V, u of trained weights."""
    return [weights.numpy()[part] for part in ("v", "c", "V", "u")]


def matrix(weights):
    """The Γ of trained weights."""
    v, c, V, u = parts(weights)
    return c * V.T + np.outer(u, v)


def apart(Gamma, formula, H):
    """Relative distance of two matrices, whitened."""
    root = symmetric_root(H)
    off, size = root @ (Gamma - formula) @ root, root @ formula @ root
    return np.linalg.norm(off) / np.linalg.norm(size)


def missed(weights, formula, H):
    """How far from v = u = 0, cV' = formula, whitened and relative."""
    root = symmetric_root(H)
    v, c, V, u = parts(weights)
    v, V, u, G = root @ v, root @ V @ root, root @ u, root @ formula @ root
    odd = [np.outer(v, V), c * u, np.outer(u, v), c * V.T - G]
    return max(np.linalg.norm(term) for term in odd) / np.linalg.norm(G)


starts = [dict(count=budget.restarts), dict(count=2, **search.OPEN)]
found = search.descents(law, starts, stream("search"))
Gamma = matrix(found.best)
learned_step = np.trace(symmetric_root(H) @ Gamma @ symmetric_root(H)) / d / n
reached = [found.weights[k] for k in np.flatnonzero(found.reached(floor))]
furthest = max((missed(end, target, H) for end in reached), default=np.inf)

# %% [markdown]
# {glue:text}`starts_reached:.0f` of {glue:text}`starts:.0f` random starts reached the least loss, and all of these have
# $v = 0$, $u = 0$ and the same product $cV$.
#
# **With noise.** Adam, {glue:text}`batch:.0f` fresh prompts a step, {glue:text}`trainings:.0f` trainings:

# %% tags=["hide-input"]
trained = chapter1.trainings(law, budget, budget.trainings, stream)
sampled_risk = search.mean_over_trainings([
    search.exact_risk(law, run.weights) for run in trained
])
sampled_off = search.mean_over_trainings([
    apart(matrix(run.weights), target, H) for run in trained
])

near_eta = 1 / (n + d + sigma2)
near_floor = sigma2 + d * (d + sigma2) / (n + d + sigma2)
newton_off = apart(np.linalg.inv(H), target, H)
if d == 1:
    furthest = NotRun("at d = 1 there is the second family of chapter 1")
visible = search.too_faint(floor, d + sigma2) or sampled_off
ledger.claims({
    "thm2.risk": (floor, found.risks.min(), near_floor),
    "thm2.step_size": (eta, learned_step, near_eta),
    "thm2.preconditioner": (0, apart(Gamma, target, H), newton_off),
    "thm2.minimisers": (0, furthest, near_eta / eta - 1),
    "thm2.sampled_risk": (floor, sampled_risk, near_floor),
    "thm2.sampled_preconditioner": (0, visible, newton_off),
})

# %% tags=["hide-input", "remove-output"]
ledger.figure(pictures.weights(H, n * eta, Gamma, matrix(trained[0].weights)))

# %% [markdown]
# ```{glue:figure} fig-weights
# :name: fig-preconditioner-weights
#
# The covariance, the matrix that Adam learned, and their product in units of $n\eta^\ast$: the identity. No
# weight was told about $H$: training inferred the covariance of the data and inverted it, once and for all.
# ```
#
# Finding the matrix is one thing, finding it fast another: the loss is flat along the weak directions of $H$. Run this chapter at
# condition number 1000 and the two claims on Adam come out as «fails»: not the theorem, but the patience gave out.

# %% tags=["hide-input", "remove-output"]
conditions = [1.0, 10.0, 100.0, 1000.0]
runs = condition_sweep.adam_against_condition(
    parameters, axes, budget, conditions, stream
)
excess = condition_sweep.excess_percent(parameters, axes, conditions, runs)
ledger.figure(
    condition_pictures.adam_against_condition(conditions, excess, runs, floor)
)

# %% [markdown]
# ```{glue:figure} fig-adam_against_condition
# :name: fig-adam-condition
#
# One training on samples for each condition number, all with one schedule. The least loss is the same (dashed), but the larger
# the condition number, the later the loss comes down: after {glue:text}`steps:,.0f` steps the
# exact risk is {glue:text}`excess_1:.2g` % above the least at condition number 1 and {glue:text}`excess_1000:.2g` % at 1000.
# ```

# %% [markdown]
# (any-prior)=
# ## Any prior over tasks
#
# Why should tasks know about $H^{-1}$? Let now $w \sim N(0, \Psi)$ with any covariance $\Psi$, and put
# $\tau = \operatorname{tr}(H \Psi) + \sigma^2$, the variance of a label. The risk of a step with *any* $\Gamma$ is a parabola
# ({cite:t}`zhang2024block`, eq. 6.1),
#
# ```{math}
# :label: eq-any-gamma
# \begin{aligned}
# \mathcal R(\Gamma) &= \tau - 2 \operatorname{tr}(H\Gamma H\Psi) + \operatorname{tr}( H\Gamma\, C_1 \Gamma^\top ) , \\
# C_1 &= \mathbb E\,\frac{X^\top y\, y^\top X}{n^2} = \frac{n+1}{n} H\Psi H + \frac{\tau}{n} H ,
# \end{aligned}
# ```
#
# and its vertex is the regression of $w$ on $\tfrac1n X^\top y$, $\Gamma^\ast = C_2 C_1^{-1}$ with
# $C_2 = \mathbb E\, w\, y^\top X / n = \Psi H$.
#
# ```{prf:theorem} Zhang, Wu and Bartlett, Theorem 5.2, for tasks with mean zero
# :label: thm-zero-mean
#
# The least risk of single-head linear self-attention is attained by $\hat y = \tfrac1n x^\top \Gamma^\ast X^\top y$ with
#
# $$
# \begin{aligned}
# \Gamma^\ast &= \Psi \Big( \frac{n+1}{n} H \Psi + \frac{\tau}{n} I \Big)^{-1} , \\
# \mathcal R^\ast &= \sigma^2 + \sum_{i=1}^d \varphi_i\, \frac{\varphi_i + \tau}{(n+1)\varphi_i + \tau} ,
# \end{aligned}
# $$
#
# where $\varphi_i$ are the eigenvalues of $\Phi = H^{1/2} \Psi H^{1/2}$. The matrix is unique up to $D$ with $H D H = 0$; $H$ and
# $\Psi$ may be singular.
# ```
#
# For $\Psi = H^{-1}$, $\Phi = I$, this is {prf:ref}`thm-preconditioned-gd`; for $\Psi = I$ the preconditioner of
# {cite:t}`ahn2023` and {cite:t}`zhang2024trained` (without noise).
#
# ```{admonition} Proof, and all minimisers
# :class: dropdown
# The prediction is $x^\top \hat w$ with an estimate $\hat w$ that is a sum of two parts: one odd in $(w, \varepsilon)$, namely
# $\tfrac1n \Gamma X^\top y$ with $\Gamma = c V^\top + u v^\top$, and one even, $V^\top \hat S v + \tfrac1n \|y\|^2 c\,u$ with
# $\hat S = \tfrac1n X^\top X$. Flipping the signs of $w$ and $\varepsilon$ changes
# nothing in law, so the two do not correlate and the risk is
# $\sigma^2 + \mathbb E\|\text{even}\|_H^2 + \mathbb E\|\tfrac1n \Gamma X^\top y - w\|_H^2$. Weights with $v = u = 0$ make the even part zero and leave
# $\Gamma = cV^\top$ free, so only the last term counts; with $\sigma^2$ it is {eq}`eq-any-gamma`.
# For $C_1$ write $y = Xw + \varepsilon$: by Wick's rule $\mathbb E\,\hat S A \hat S = \tfrac{n+1}{n} HAH + \tfrac1n \operatorname{tr}(HA) H$ for
# symmetric $A$, here $\Psi$, and the noise adds $\tfrac{\sigma^2}{n} H$.
# With $G = H^{1/2} \Gamma H^{1/2}$ and
# $\Omega = \tfrac{n+1}{n} \Phi + \tfrac{\tau}{n} I$ the parabola is
# $\tau - 2 \operatorname{tr}(G\Phi) + \operatorname{tr}(G\Omega G^\top)$, with vertex $G^\ast = \Phi\Omega^{-1}$ and
# least value $\tau - \operatorname{tr}(\Phi\Omega^{-1}\Phi)$. $\Gamma^\ast$ as stated satisfies $H^{1/2} \Gamma^\ast H^{1/2} = \Phi\Omega^{-1}$.
#
# *All minimisers, when $\Phi$ has rank 2 or more:* $c \ne 0$, $Hu = 0$, $Hv = 0$, $H(cV^\top - \Gamma^\ast)H = 0$. For at a minimum
# $G = G^\ast$, and $H^{1/2}$ times the even part is 0 for almost all $X, y$. Given $X$, $\|y\|^2$ still varies, so
# $H^{1/2} c u = 0$ and $H^{1/2} V^\top \hat S v = 0$. If $c = 0$, then $G = H^{1/2} u v^\top H^{1/2}$ has rank 1 at most, but $G^\ast$ has the
# rank of $\Phi$. So $c \neq 0$, $Hu = 0$ and $cH^{1/2} V^\top H^{1/2} = G^\ast$. The polynomial $H^{1/2} V^\top \hat S v$ vanishes for every $X$; with
# one row $H^{1/2} z$ and the others 0 it says $G^\ast z \cdot z^\top H^{1/2} v = 0$ for all $z$, and $G^\ast \ne 0$, so $Hv = 0$. Conversely these
# weights have no even part and the vertex's odd one. For $\Psi = H^{-1}$, $d \ge 2$: Theorem 2's minimiser is unique.
# ```


# %%
def risk(Gamma, n, H, Psi, sigma2):
    """R(Γ)."""
    tau = np.trace(H @ Psi) + sigma2
    C1 = (n + 1) / n * H @ Psi @ H + tau / n * H
    return tau - np.trace(2 * H @ Gamma @ H @ Psi - H @ Gamma @ C1 @ Gamma.T)


def best_matrix(n, H, Psi, sigma2):
    """Γ*."""
    tau = np.trace(H @ Psi) + sigma2
    inflated = (n + 1) / n * H @ Psi + tau / n * np.eye(len(H))
    return Psi @ np.linalg.inv(inflated)


def least_risk(n, H, Psi, sigma2):
    """R*."""
    tau, phi = np.trace(H @ Psi) + sigma2, np.linalg.eigvals(H @ Psi).real
    return sigma2 + (phi * (phi + tau) / ((n + 1) * phi + tau)).sum()


# %% [markdown]
# **The two moments**, from random prompts, for a $\Psi$ (condition number 10) whose axes have nothing to do with those of $H$:

# %%
Psi = chapter.random_prior(d, stream("random prior"))
skewed = chapter.with_prior(H, Psi, parameters)
root, B = symmetric_root(H), budget.prompts // 100


def gradients_and_tasks(law, rng):
    """m = X'y/n and w of B prompts, 100 times over: each (100, B, d)."""
    batches = (law.sample(rng, B) for _ in range(100))
    pairs = [(b.X.mT @ b.y[..., None] / n, b.beta[..., None]) for b in batches]
    return np.array(pairs).swapaxes(0, 1)[..., 0]


m, w = gradients_and_tasks(skewed, stream("moments"))
tau = np.trace(H @ Psi) + sigma2
C1 = (n + 1) / n * H @ Psi @ H + tau / n * H
Gamma = best_matrix(n, H, Psi, sigma2)
off_C1 = m.mT @ m / B - C1
off_Gamma = root @ ((w - m @ Gamma.T).mT @ m / B @ np.linalg.inv(C1)) @ root

# %% [markdown]
# **The search** over all weights, for $\Psi = I$, for that skewed $\Psi$, and for singular matrices: the smaller half of the eigenvalues
# of $H$, then of the skewed $\Psi$, set to 0.

# %%
cases = {
    "identity prior": (H, np.eye(d)),
    "skewed prior": (H, Psi),
    "singular H": (chapter.without_directions(H, d // 2), np.eye(d)),
    "singular prior": (H, chapter.without_directions(Psi, d // 2)),
}
laws, ends, lowest, off = {}, {}, {}, {}
for case, (cov, prior) in cases.items():
    laws[case] = chapter.with_prior(cov, prior, parameters)
    ends[case] = chapter.descend(laws[case], stream(f"search, {case}"))
    lowest[case] = search.exact_risk(laws[case], ends[case])
    formula = best_matrix(n, cov, prior, sigma2)
    off[case] = apart(matrix(ends[case]), formula, cov)

# %% [markdown]
# **The forward pass.** The search saw only formulas for the loss. So the weights it found for $\Psi = I$ answer
# {glue:text}`forward_prompts:,.0f` random prompts by `attention` (the query's noise averaged exactly):

# %%
identity, weights = laws["identity prior"], ends["identity prior"]
least = least_risk(n, H, np.eye(d), sigma2)


def squared_errors(batch):
    X, y, x = batch.X, batch.y, batch.x_query
    answers = attention(X, y, x, *layer(*parts(weights)))
    return (answers - (x * batch.beta).sum(1)) ** 2 + sigma2


forward = chapter.over_prompts(
    squared_errors, identity, 2 * budget.prompts, stream("forward pass")
)

# %% tags=["hide-input"]
flat = laws["singular H"]
flat_best = best_matrix(n, flat.H, flat.Psi, sigma2)
many = search.descents(
    flat,
    [
        dict(count=budget.restarts, init="label_path"),
        dict(count=1, **search.OPEN),
    ],
    stream("all minimisers"),
)
flat_reached = chapter.reached(
    flat, many, least_risk(n, flat.H, flat.Psi, sigma2)
)
agree = max(
    (missed(end, flat_best, flat.H) for end in flat_reached), default=np.inf
)

nothing = chapter.nothing_to_learn(d)
few = NotRun("the rank of Φ is 1: keys and values may change places")


def lost_one(n, H, Psi, sigma2):
    """Γ* and the least risk with n in place of n + 1."""
    tau, phi = np.trace(H @ Psi) + sigma2, np.linalg.eigvals(H @ Psi).real
    near = Psi @ np.linalg.inv(H @ Psi + tau / n * np.eye(len(H)))
    return near, sigma2 + (phi * (phi + tau) / (n * phi + tau)).sum()


found_by_search = {}
names = {
    "identity prior": ("risk", "preconditioner"),
    "skewed prior": ("noncommuting_risk", "noncommuting_preconditioner"),
    "singular H": ("singular_H", "singular_H_preconditioner"),
    "singular prior": ("singular_Psi", "singular_Psi_preconditioner"),
}
for case, (of_risk, of_matrix) in names.items():
    here = n, *cases[case], sigma2
    near, near_risk = lost_one(*here)
    near_off = apart(near, best_matrix(*here), here[1])
    if case == "skewed prior":  # as though H and Psi had the same axes
        phi = np.linalg.eigvalsh(H) * np.linalg.eigvalsh(Psi)
        near_risk = least_risk(n, np.diag(phi), np.eye(d), sigma2)
        turned_round = (n + 1) / n * Psi @ H + tau / n * np.eye(d)
        near_off = apart(Psi @ np.linalg.inv(turned_round), Gamma, H)
    missing = nothing if case.startswith("singular") else None
    found_by_search |= {
        f"zero_mean.{of_risk}": (
            least_risk(*here),
            missing or lowest[case],
            near_risk,
        ),
        f"zero_mean.{of_matrix}": (0, missing or off[case], near_off),
    }
near_flat = apart(lost_one(n, flat.H, flat.Psi, sigma2)[0], flat_best, flat.H)
near_C1 = np.linalg.norm(H @ Psi @ H) / n / np.linalg.norm(C1)
near_Gamma = apart(lost_one(n, H, Psi, sigma2)[0], Gamma, H)
ledger.claims({
    "zero_mean.moments": (0, chapter.squared_size(off_C1, C1), near_C1**2),
    "zero_mean.regression": (
        0,
        chapter.squared_size(off_Gamma, root @ Gamma @ root),
        near_Gamma**2,
    ),
    **found_by_search,
    "zero_mean.minimisers": (0, agree if d > 2 else few, near_flat),
    "zero_mean.forward_pass": (
        least,
        forward,
        lost_one(n, H, np.eye(d), sigma2)[1],
    ),
})

# %% [markdown]
# These searches started with an open path from the labels to the output (chapter 1). Of
# {glue:text}`random_starts:.0f` wholly random starts {glue:text}`random_reached:.0f` ended at the least risk
# {glue:text}`zero_mean.risk.predicted:.4f`, the worst at {glue:text}`random_worst:.4f`: chapter 1's false valleys are here too.
#
# ### Ridge regression in disguise
#
# Given the prompt, the log density of $w$ is
# $-\tfrac{1}{2\sigma^2} \|y - Xw\|^2 - \tfrac12 w^\top \Psi^{-1} w$ and a constant: a quadratic, whose top is the posterior mean. That
# is ridge regression, and the best step of attention is nearly the same formula:
#
# $$
# \begin{aligned}
# \hat w_{\text{Bayes}} &= \big( X^\top X + \sigma^2 \Psi^{-1} \big)^{-1} X^\top y , \\
# \hat w &= \big( (n+1) H + \tau \Psi^{-1} \big)^{-1} X^\top y .
# \end{aligned}
# $$
#
# One layer cannot invert $X^\top X$, which
# changes with every prompt. It uses the average $\mathbb E X^\top X = nH$ (with $n+1$ for $n$), and pays
# with a larger penalty: $\tau$ instead of $\sigma^2$, as though the whole signal were noise. The *learned* matrix, inverted, shows it:

# %%
Gamma = matrix(weights)
tau = np.trace(H) + sigma2
penalty = np.trace(n * np.linalg.inv(Gamma) - (n + 1) * H) / d
print("penalty:", penalty, " tau:", tau)

# %% tags=["hide-input", "remove-output"]
ledger.figure(pictures.eigenvalues(identity, Gamma))

# %% [markdown]
# ```{glue:figure} fig-eigenvalues
# :name: fig-eigenvalues
#
# The learned preconditioner along the axes of $H$, for $\Psi = I$. Newton's method would use $1/h$ (dotted). Ridge regression with
# the true noise would bend away from it around $h = \sigma^2/n =$ {glue:text}`bend_noise:.4f` (dash-dotted); attention bends around
# $h = \tau/(n+1) =$ {glue:text}`bend_tau:.4f`, {glue:text}`bend_ratio:.0f` times as high, and levels off below.
# ```

# %% [markdown]
# ### Only the second moment matters
#
# The proof used the law of $w$ twice: its sign symmetry, and $\mathbb E\, ww^\top = \Psi$. So tasks that look nothing
# like a Gaussian have the same optimum. **Sparse** tasks have one coordinate $\pm\sqrt d$ and zeros elsewhere,
# **Rademacher** tasks have coordinates $\pm 1$; for both $\mathbb E\, ww^\top = I$. Regression of $w$ on $X^\top y / n$ over
# {glue:text}`regression_prompts:,.0f` prompts:

# %% tags=["hide-input"]
samplers = {
    "Gaussian": identity,
    "sparse": task_laws.sparse_tasks(identity),
    "Rademacher": task_laws.rademacher_tasks(identity),
}
regressions = {
    name: task_laws.best_matrix(
        sampler, identity, budget.prompts // 2, stream(f"{name} tasks")
    )
    for name, sampler in samplers.items()
}
others = [regressions["sparse"], regressions["Rademacher"]]
ratio = task_laws.further_off([found.ratio for found in others], 1)
risk_of_others = task_laws.further_off([found.risk for found in others], least)
best = best_matrix(n, H, np.eye(d), sigma2)
near, near_risk = lost_one(n, H, np.eye(d), sigma2)
near_ratio = np.trace(near @ np.linalg.inv(best)) / d
ledger.claims({
    "zero_mean.only_second_moment": (1, ratio, near_ratio),
    "zero_mean.only_second_moment_risk": (least, risk_of_others, near_risk),
})

# %% tags=["hide-input", "remove-output"]
ledger.figure(pictures.only_second_moment(best, regressions))

# %% [markdown]
# ```{glue:figure} fig-only_second_moment
# :name: fig-only-second-moment
#
# Every entry of the best preconditioner, for Gaussian, sparse and Rademacher tasks (with two standard errors), against the
# one formula. One layer of linear attention cannot see sparsity.
# ```
#
# ### Other losses, several queries
#
# **Any convex loss** keeps Theorem 2's direction: its proof leads to chapter 1's problem, where the symmetry argument
# serves every convex loss. Only the length changes. For the absolute loss it minimises $\mathbb E \sqrt{\|\hat w - w\|_H^2 + \sigma^2}$
# (given prompt and task, the error at a random query is Gaussian). We fit this one number and ask whether the slope
# vanishes in all $d^2$ entries of $\Gamma$:

# %%
m, w = gradients_and_tasks(law, stream("absolute loss"))
m, w, g = m @ np.linalg.inv(root), w @ root, 0  # whitened


def slope(g):
    """Of −E|ŷ − y| at Γ = g H⁻¹, and what the prompts weigh."""
    off = w - g * m
    weight = 1 / np.sqrt((off**2).sum(-1, keepdims=True) + sigma2)
    return (weight * off).mT @ m / B, weight


for _ in range(30):
    weight = slope(g)[1]
    g = (weight * w * m).sum() / (weight * m * m).sum()
print("length for the absolute loss:", g, " for the squared loss:", n * eta)

# %% tags=["hide-input"]
at_zero, at_best, at_squares = (slope(length)[0] for length in (0, g, n * eta))
unit = at_zero.mean(axis=0)
ledger.claims({
    "thm2.absolute_loss": (
        0,
        chapter.squared_size(at_best, unit),
        chapter.squared_size(at_squares, unit).mean,
    ),
})

# %% [markdown]
# **Several queries** that share their examples change nothing in {prf:ref}`thm-zero-mean`, masked or not: a token $(x; 0)$ that is
# attended to adds terms without a label, hence to the even part, and the best weights have none.
#
# ## What preconditioning buys
#
# Plain gradient descent at its best step is the fair competitor: its step and risk follow from {eq}`eq-any-gamma` along the
# multiples of $I$, and are found again by regression. At the other end stands the Bayes predictor. Under Theorem 2's prior its
# risk does not depend on $H$, so chapter 1's exact value applies; beside it the posterior's variance over random $X$, with our $H$:


# %%
def best_multiple(P, *law):
    """The g with the least risk of gP: the vertex of a parabola."""
    below, zero, above = (risk(g * P, *law) for g in (-1, 0, 1))
    return (below - above) / (below + above - 2 * zero) / 2


under_theorem2 = n, H, np.linalg.inv(H), sigma2
plain = best_multiple(np.eye(d), *under_theorem2)
plain_risk = risk(plain * np.eye(d), *under_theorem2)
prior_root = symmetric_root(np.linalg.inv(H))


def posterior_risk(batch):
    S = prior_root @ batch.X.mT @ batch.X @ prior_root
    shrunk = S @ np.linalg.pinv(S + sigma2 * np.eye(d), 1e-10, hermitian=True)
    left = prior_root @ (np.eye(d) - shrunk) @ prior_root  # variance of w
    return sigma2 + np.trace(H @ left, axis1=1, axis2=2)


bayes = chapter.over_prompts(posterior_risk, law, draws, stream("Bayes"))

# %% tags=["hide-input"]
plain_eta, plain_measured = task_laws.plain_gd_by_regression(
    law, budget.prompts, stream("plain descent")
)
near_plain = plain / n * near_eta / eta
near_plain_risk = sigma2 + d - (sigma2 + d - plain_risk) * near_eta / eta
ledger.claims({
    "plain_gd.step_size": (plain / n, plain_eta, near_plain),
    "plain_gd.risk": (plain_risk, plain_measured, near_plain_risk),
    "thm2.bayes": (
        theorem1.lemma1_constant(d, n, sigma2),
        bayes,
        sigma2 + sigma2 * d / (n + sigma2),
    ),
})

# %% tags=["hide-input", "remove-output"]
grid, trained_at = np.geomspace(1, 1000, 19), conditions
sweeps = {
    title: condition_sweep.condition_sweep(
        parameters, axes, prior, grid, trained_at, draws, stream(prior)
    )
    for title, prior in [
        (r"$w \sim N(0, H^{-1})$", "inverse"),
        (r"$w \sim N(0, I)$", "identity"),
    ]
}
ledger.figure(condition_pictures.against_condition(sweeps))

# %% [markdown]
# ```{glue:figure} fig-against_condition
# :name: fig-against-condition
#
# Excess risk as a share of the signal $\operatorname{tr}(H\Psi)$: 1 is predicting zero. Left, under Theorem 2's prior, plain
# gradient descent leaves {glue:text}`plain_lost_1:.0%` of the signal unexplained at condition number 1 and
# {glue:text}`plain_lost_1000:.0%` at 1000; the preconditioned step does not notice. Right, with $w \sim N(0, I)$, weak directions
# carry little signal: the matrix saves at most {glue:text}`gain_identity_percent:.0f` % of plain
# gradient descent's excess. The gap down to Bayes is the price of not looking at this prompt's own $X^\top X$. Least squares is
# shown where $n \ge d + 2$; with little noise it all but covers Bayes.
# ```
#
# **What if one kept $H^{-1}$ for $w \sim N(0, I)$,** and tuned only its length?
# The optimum is {glue:text}`zero_mean.risk.predicted:.4f`, $H^{-1}$ has {glue:text}`prior.newton_direction.predicted:.4f`, and the
# plain step {glue:text}`plain_identity:.4f`: {glue:text}`newton_percent:.0f` % more excess risk with the full inverse,
# {glue:text}`plain_percent:.0f` % more with no matrix at all. At condition number 1000 the two are
# {glue:text}`newton_percent_1000:.0f` % and {glue:text}`plain_percent_1000:.0f` %.
#
# ## Away from home
#
# The parabola {eq}`eq-any-gamma` also says what a matrix does elsewhere, with $H$, $\Psi$, $n$,
# $\sigma^2$ those of the *test* prompts. **Another covariance:** trained on $H$ with $\Psi = I$, used where $H$ is turned
# in the plane of its strongest and its weakest axis. **Another context length:** trained at
# $n =$ {glue:text}`n:.0f`, used with four times as many examples. The measured side draws $X$ only: the step misses the part
# $I - \Gamma\hat S$ of the task and lets in noise, both averaged exactly over task, noise and query.


# %%
def measured(Gamma, law, rng):
    """Risk of a step over random X."""

    def given_X(batch):
        S = batch.X.mT @ batch.X / law.n
        missed, noise = np.eye(d) - Gamma @ S, law.sigma2 / law.n
        spread = missed @ law.Psi @ missed.mT + noise * Gamma @ S @ Gamma.T
        return law.sigma2 + np.trace(law.H @ spread, axis1=1, axis2=2)

    return chapter.over_prompts(given_X, law, budget.prompts, rng)


across = chapter.turned(H, np.pi / 2)
transferred = risk(best, n, across, np.eye(d), sigma2)
lengthened = risk(best, 4 * n, H, np.eye(d), sigma2)
at_home = n, H, np.eye(d), sigma2
newton = best_multiple(np.linalg.inv(H), *at_home) * np.linalg.inv(H)


# %% tags=["hide-input"]
turned = {
    angle: PromptLaw(
        n, chapter.turned(H, angle), np.eye(d), np.zeros(d), sigma2
    )
    for angle in (0.0, np.pi / 4, np.pi / 2)
}
longer = {
    k: PromptLaw(k, H, np.eye(d), np.zeros(d), sigma2)
    for k in sorted({max(1, n // 4), n, 4 * n})
}
moved = {
    angle: measured(Gamma, there, stream("turned", k))
    for k, (angle, there) in enumerate(turned.items())
}
at_length = {
    k: measured(Gamma, there, stream("length", k))
    for k, there in longer.items()
}
newton_measured = measured(newton, identity, stream("one step"))


def lost_in(Gamma, n, H):
    """How much lower `risk` is with n in place of n + 1, for Psi = I."""
    return np.trace(H @ Gamma @ H @ H @ Gamma.T) / n


newton_risk = risk(newton, *at_home)
ledger.claims({
    "transfer.risk": (
        transferred,
        moved[np.pi / 2],
        transferred - lost_in(best, n, across),
    ),
    "zero_mean.length_generalisation": (
        lengthened,
        at_length[4 * n],
        lengthened - lost_in(best, 4 * n, H),
    ),
    "prior.newton_direction": (
        newton_risk,
        newton_measured,
        newton_risk - lost_in(newton, n, H),
    ),
})

# %% tags=["hide-input", "remove-output"]
ledger.figure(pictures.transfer(identity, best, moved))

# %% [markdown]
# ```{glue:figure} fig-transfer
# :name: fig-transfer
#
# A preconditioner for the wrong covariance amplifies what it should damp. Turned by 90 degrees, the risk is
# {glue:text}`transfer.risk.predicted:.3f` instead of {glue:text}`zero_mean.risk.predicted:.3f`. Plain gradient descent, which knows
# no axes, has {glue:text}`plain_identity:.3f` at every angle, and predicting zero has {glue:text}`zero_risk:.3f`.
# ```

# %% tags=["hide-input", "remove-output"]
ledger.figure(
    pictures.other_lengths(
        identity, best, chapter1.context_lengths(n, 40), at_length
    )
)

# %% [markdown]
# ```{glue:figure} fig-other_lengths
# :name: fig-other-lengths
#
# More examples help a model trained at $n =$ {glue:text}`n:.0f`, but only down to {glue:text}`length_floor:.3f`: with infinitely many it
# still shrinks as for {glue:text}`n:.0f`. Retrained at each length (dashed) the risk would go to
# $\sigma^2 =$ {glue:text}`sigma2:g`. With far fewer examples the matrix is too bold: the risk can exceed that of predicting zero.
# ```

# %% [markdown]
# (questions-readers-of-the-paper-asked)=
# ## How bold is the step?
#
# Gradient descent on one prompt's loss, preconditioned with $H^{-1}$, diverges
# for steps above $2/\lambda_{\max}$, $\lambda_{\max}$ the largest eigenvalue of $H^{-1/2} X^\top X H^{-1/2}$, a white Wishart matrix.
# For the *average* Hessian $nI$, $\eta^\ast$ is {glue:text}`average_ratio:.2f` of that limit. A single prompt's
# $\lambda_{\max}$ is larger, but on average the step never crosses the edge, whatever $d$, $n$ and $\sigma^2$ are.
#
# ```{admonition} Why never
# :class: dropdown
# Let $s$ be the largest singular value of an $n \times d$ standard Gaussian matrix. Gordon's inequality says
# $\mathbb E s \le \sqrt n + \sqrt d$, and the Gaussian Poincaré inequality $\operatorname{Var} s \le 1$, because $s$ is 1-Lipschitz. So
# $\mathbb E \lambda_{\max} \le (\sqrt n + \sqrt d)^2 + 1 \le 2(n + d) + 1 < 2 (n + d + 1 + \sigma^2) = 2/\eta^\ast$.
# The closest call is $n = d$.
# ```

# %% tags=["hide-input", "remove-output"]
edge = chapter.stability(d, n, eta, 4 * draws, stream("stability"))
ns = chapter1.context_lengths(n, 12)
steps_at = [theorem1.step_size(d, int(k), sigma2) for k in ns]
edges = [
    chapter.stability(d, int(k), step, 2000, stream("stability at n", k)).mean
    for k, step in zip(ns, steps_at, strict=True)
]
bounds = [theory.stability_bound(d, int(k), sigma2) for k in ns]
ledger.figure(pictures.stability(edge, ns, edges, bounds))

# %% [markdown]
# ```{glue:figure} fig-stability
# :name: fig-stability
#
# Left: $\eta^\ast$ in units of $2/\lambda_{\max}$, prompt by prompt: {glue:text}`stability_mean:.3f` on average, beyond the edge in
# {glue:text}`unstable_percent:.2f` % of prompts. Right: the mean against
# the context length.
# ```

# %% [markdown]
# ## Move it yourself
#
# Each direction of $x$ on its own, for $H$ and $\Psi$ with common axes. First picture: how far the step goes, from 0 (ignore the
# examples) to 1 (believe them). Second picture: the excess risk that this leaves. Dots are the eigenvalues of $H$. Raise $n$ and the learned curve flattens
# towards $H^{-1}$, strong directions first. **A question:** can you make plain
# gradient descent nearly as good as the learned matrix, without touching $\kappa$?
#
# ```{admonition} Answer
# :class: dropdown
# Take few examples and much noise, with $w \sim N(0, I)$. The learned share is $n\varphi / ((n+1)\varphi + \tau)$ with $\varphi = h$, and
# where $\tau$ dwarfs $(n+1)\varphi$ this is $n h/\tau$, proportional to $h$: plain gradient descent. It is the matrix for
# those who know little, $H^{-1}$ the one for those who know much.
# ```

# %% tags=["hide-input"]
explorable(parameters)

# %% [markdown]
# ## What the theory does not say
#
# - **One matrix for all prompts** cannot correct for a prompt's own sample, nor adapt when each prompt has a covariance
#   ({ref}`ex-loud`) or a kind of task ({ref}`ex-mixture`) of its own.
# - **The data.** Covariates are Gaussian: their fourth moments are in $\Omega$. Tasks have mean zero, or the optimum is not a step from
#   zero ({doc}`/notebooks/04_mlp_benefit`); and a symmetric law, or a step is not all that attention can do ({ref}`ex-skewed`).
# - **Training.** The theorems speak of the global minimum of the population risk, not of finite data. The false valleys are not all
#   known; {numref}`fig-adam-condition` is one training a condition number, no law of how much time it costs.
# - **One step stays one step.** The Bayes risk under Theorem 2's prior is {glue:text}`thm2.bayes.predicted:.4f`, against
#   {glue:text}`thm2.risk.predicted:.4f`. What several layers, each with a matrix of its own, attain at best is open ({ref}`ex-layers`).

# %% tags=["hide-input", "remove-output"]
random_ends = search.restarts(
    identity, budget.restarts // 2, stream("random starts")
)
inverse, same = sweeps.values()


def excess_over_signal(sweep, k):
    """Share of the signal that plain GD leaves, at the k-th condition number."""
    at = sweep.laws[k]
    return (theory.plain_gd(at)[1] - sigma2) / np.trace(at.H @ at.Psi)


def percent_above(P, at):
    """By how much the best multiple of P exceeds the least excess risk."""
    excess = theory.risk(theory.best_multiple(P, at) * P, at) - sigma2
    return 100 * (excess / (theory.minimal_risk(at) - sigma2) - 1)


plain_identity = theory.plain_gd(identity)[1]
severe, severe_inverse = same.laws[-1], inverse.laws[-1].Psi
saved = [
    100 * (1 - 1 / (1 + percent_above(np.eye(d), at) / 100)) for at in same.laws
]
endless = PromptLaw(10**9, H, identity.Psi, np.zeros(d), sigma2)
numbers = {
    "d": d,
    "n": n,
    "sigma2": sigma2,
    "condition": condition,
    "batch": budget.batch,
    "trainings": budget.trainings,
    "steps": budget.schedule.steps,
    "starts": budget.restarts,
    "starts_reached": found.reached(floor)[: budget.restarts].sum(),
    "random_starts": len(random_ends.risks),
    "random_reached": random_ends.reached(least).sum(),
    "random_worst": random_ends.risks.max(),
    "excess_1": excess[0],
    "excess_1000": excess[-1],
    "bend_noise": sigma2 / n,
    "bend_tau": tau / (n + 1),
    "bend_ratio": tau / (n + 1) * n / sigma2 if sigma2 > 0 else np.inf,
    "forward_prompts": forward.count,
    "regression_prompts": budget.prompts // 2,
    "plain_lost_1": excess_over_signal(inverse, 0),
    "plain_lost_1000": excess_over_signal(inverse, -1),
    "gain_identity_percent": max(saved),
    "plain_identity": plain_identity,
    "length_floor": theory.risk(best, endless),
    "average_ratio": n * eta / 2,
    "unstable_percent": 100 * edge.unstable.mean,
    "stability_mean": edge.mean.mean,
    "zero_risk": tau,
    "newton_percent": percent_above(law.Psi, identity),
    "plain_percent": percent_above(np.eye(d), identity),
    "newton_percent_1000": percent_above(severe_inverse, severe),
    "plain_percent_1000": percent_above(np.eye(d), severe),
}
for name, value in numbers.items():
    ledger.number(name, value)

# %% [markdown]
# ## Exercises
#
# ★ a pencil and ten minutes; ★★ more thought, or a few lines of code; ★★★ a proof; ◇ open: nobody we know of has
# answered it. The code in the solutions ran with this page, at sizes of its own, and stops the page if a number is off.
#
# ```{exercise} How many examples a direction needs ★
# :label: ex-direction
# Take $\Psi = I$. Along an axis of $H$ with eigenvalue $h$ the estimate of the task is on average $g\,w$ with some $g < 1$.
#
# 1. Compute $g$, and the context length at which $g = \tfrac12$.
# 2. Compare with ridge regression with the true noise, replacing $X^\top X$ by its mean $nH$.
# ```
#
# ```{solution} ex-direction
# :label: sol-direction
# :class: dropdown
# 1. $\mathbb E[\tfrac1n \Gamma^\ast X^\top y \mid w] = \Gamma^\ast H w$, so $g = \frac{nh}{(n+1)h + \tau}$, and $g = \tfrac12$ at
#    $n = 1 + \tau/h$.
# 2. Ridge regression has $g = \frac{nh}{nh + \sigma^2}$, and needs $n = \sigma^2/h$.
#
# On this page the strongest direction ($h = 1$) needs {glue:text}`ex_strong:.1f` examples and the weakest {glue:text}`ex_weak:.0f`; ridge
# regression {glue:text}`ex_strong_ridge:.2f` and {glue:text}`ex_weak_ridge:.1f`. One step must wait until the signal along $h$ stands out from the
# labels' *whole* variance $\tau$, because it cannot subtract what the other directions contribute.
# ```
#
# ```{exercise} The price of a plain step ★
# :label: ex-participation
# Under Theorem 2's prior the preconditioned step explains the part $E^\ast = d + \sigma^2 - L_{\min}$ of the labels' variance. Show that plain gradient
# descent at its best step explains $p\,E^\ast$ with
#
# $$
# p = \frac{(\operatorname{tr} H)^2}{d \operatorname{tr} H^2} .
# $$
#
# What is $p$ for the mildest and for the most extreme $H$?
# ```
#
# ```{solution} ex-participation
# :label: sol-participation
# :class: dropdown
# Here $\Phi = I$ and $\Omega = \omega I$ with $\omega = \frac{n + 1 + d + \sigma^2}{n}$. In the proof of {prf:ref}`thm-zero-mean` a step with
# $\Gamma = gI$ has $G = gH$, and explains $2 g \operatorname{tr} H - g^2 \omega \operatorname{tr} H^2$, at most
# $\frac{(\operatorname{tr} H)^2}{\omega \operatorname{tr} H^2}$. With $G = gI$ the same computation gives $E^\ast = d/\omega$. The quotient is $p$.
#
# $p$ is the *participation ratio* of the eigenvalues as a share of $d$: by Cauchy and Schwarz it is at most $1$, for $H = hI$, and at
# least $1/d$, when one direction has everything. Neither $n$ nor $\sigma^2$ matters: more examples never make up for the missing matrix. On this page
# $p =$ {glue:text}`ex_participation:.4f`; the two risks measured above give {glue:text}`ex_participation_measured:.4f`.
# ```
#
# ```{exercise} Two kinds of tasks ★★
# :label: ex-mixture
# Half of the prompts have tasks $w \sim N(0, \Psi_1)$, the other half $w \sim N(0, \Psi_2)$, and nothing says which is which.
#
# 1. What is the best preconditioner?
# 2. Let $d = 4$, $H = I$, $\Psi_1 = \operatorname{diag}(2, 2, 0, 0)$, $\Psi_2 = \operatorname{diag}(0, 0, 2, 2)$, $n = 10$, $\sigma^2 = \tfrac14$. What would it be worth to know the
#    kind? Check your answer to the first question by regression.
# ```
#
# ```{solution-start} ex-mixture
# :label: sol-mixture
# :class: dropdown
# ```
#
# **1.** The law of $w$ enters the proof of {prf:ref}`thm-zero-mean` through its sign symmetry and through moments that are affine in
# $\mathbb E\,ww^\top$. Both kinds are symmetric, so the answer is the $\Gamma^\ast$ of the mean, $\Psi = \tfrac12(\Psi_1 + \Psi_2)$. This
# holds for any mixture: linear attention cannot *recognise* a task family.
#
# **2.** The mean is $I$: four directions, risk {glue:text}`ex_mixture_blind:.4f`. Who knows the kind has two directions of variance 2, risk
# {glue:text}`ex_mixture_told:.4f`. A few examples would tell the kinds apart; one linear layer cannot make use of it.

# %%
blind = PromptLaw.isotropic(4, 10, 0.25)
told = PromptLaw(10, np.eye(4), np.diag([2.0, 2, 0, 0]), np.zeros(4), 0.25)


def either_kind(rng, B):
    """Tasks in the first two or the last two coordinates, a coin decides."""
    here = np.arange(4) // 2 == rng.integers(2, size=(B, 1))
    return np.sqrt(2) * here * rng.standard_normal((B, 4))


both = task_laws.OtherTasks(blind, either_kind)
mixture = task_laws.best_matrix(both, blind, 60_000, stream("exercise: blind"))
for name, value, formula in (
    ("matrix, relative to the formula", mixture.ratio, 1),
    ("its risk", mixture.risk, theory.minimal_risk(blind)),
):
    print(
        f"{name}: {value.mean:.4f} ± {value.stderr:.4f}, formula {formula:.4f}"
    )
    assert abs(value.mean - formula) < 5 * value.stderr

# %% [markdown]
# ```{solution-end}
# ```
#
# ```{exercise} Loud prompts ★★
# :label: ex-loud
# Each prompt has a volume of its own: $x_i, x \sim N(0, sI)$ with one random $s > 0$ for the whole prompt, $w \sim N(0, I)$.
#
# 1. Show that the best linear attention is plain gradient descent, with
#    $\eta = 1 \big/ \big\{ (n + d + 1)\, \tfrac{\mathbb E s^3}{\mathbb E s^2} + \sigma^2 \big\}$.
# 2. Measure it for $s = \tfrac12$ or $\tfrac32$, equally likely, at $d = 5$, $n = 20$, $\sigma^2 = \tfrac14$. Which prompts does it suit?
# ```
#
# ```{solution-start} ex-loud
# :label: sol-loud
# :class: dropdown
# ```
#
# **1.** Prompts are rotation invariant, so the symmetry argument of chapter 1 gives a plain step. Given $s$,
#
# $$
# \mathbb E\,[y\, x^\top X^\top y_{1:n}] = n d s^2 , \qquad \mathbb E\,(x^\top X^\top y_{1:n})^2 = n d s^2\,[(n + d + 1)s + \sigma^2] .
# $$
#
# Average over $s$ and divide.
#
# **2.** $\mathbb E s^3/\mathbb E s^2 = 1.4$: the step is that of prompts with $s = 1.4$, nearly the louder kind. Quiet prompts would like
# a step {glue:text}`ex_loud_quiet:.1f` times as long, but a step that is too long costs loud prompts more than a short one costs quiet ones. An algorithm
# that looks at its own prompt would divide by the sample variance; one linear layer cannot.

# %%
unit = PromptLaw.isotropic(5, 20, 0.25)
rng = stream("exercise 4")


def with_volume(B):
    """Coefficients of the loss parabola."""
    batch = unit.sample(rng, B)
    root = np.sqrt(rng.choice([0.5, 1.5], B))[:, None]
    X, x_query = root[..., None] * batch.X, root * batch.x_query
    noise = batch.y - np.einsum("bnd,bd->bn", batch.X, batch.beta)
    y = np.einsum("bnd,bd->bn", X, batch.beta) + noise
    guess = (x_query * gradient_step(X, y, 1.0)).sum(1)
    return np.stack([guess * (x_query * batch.beta).sum(1), guess**2], axis=1)


loud_step = joint_monte_carlo(with_volume, 60_000).vertex()
formula = 1 / (1.4 * (20 + 5 + 1) + 0.25)
print(f"measured {loud_step.mean:.5f} ± {loud_step.stderr:.5f}")
print(f"formula  {formula:.5f}")
assert abs(loud_step.mean - formula) < 5 * loud_step.stderr

# %% [markdown]
# ```{solution-end}
# ```
#
# ```{exercise} What skewness is worth ★★★
# :label: ex-skewed
# Only $\mathbb E\,ww^\top$ matters, *if the law of $w$ is symmetric*. Let now $H = I$ and let the coordinates of $w$ be independent with mean 0,
# variance 1, third moment $\mu_3$ and fourth moment $\mu_4$.
#
# 1. Show that linear attention can add to its gradient step a multiple of $s = \|y\|^2/n$, in any direction, and that this
#    lowers the risk whenever $\mu_3 \ne 0$, unless $d + \sigma^2 = 1$.
# 2. Compute the best risk of $\tfrac1n \Gamma X^\top y + s\,u$.
# 3. Check it for $w_j + 1$ exponential ($\mu_3 = 2$, $\mu_4 = 9$) at $d = 2$, $n = 20$, $\sigma^2 = \tfrac14$.
# ```
#
# ```{solution-start} ex-skewed
# :label: sol-skewed
# :class: dropdown
# ```
#
# **1.** With $v = 0$, $c = 1$, $V = \Gamma^\top$ the output is $x^\top\big(\tfrac1n \Gamma X^\top y + s\,u\big)$, and $u$ is free. Given $w$,
# $\mathbb E s = \|w\|^2 + \sigma^2$, so $\mathbb E[s\,w] = \mu_3 \mathbf 1$: the size of the labels says something about the sign of the task. Given
# $w$, $\mathbb E[s \cdot \tfrac1n X^\top y] = \tfrac{n+2}{n}(\|w\|^2 + \sigma^2)\,w$. So after the best multiple of $X^\top y$ is taken out of $w$ its covariance with
# $s$ is $\mu_3 \mathbf 1\,\big(1 - \tfrac{n+2}{n\omega}\big)$ with $\omega = \tfrac{n + 1 + d + \sigma^2}{n}$, not zero (but for
# $d + \sigma^2 = 1$), and regression on $s$ helps.
#
# **2.** It is a linear regression of $w$ on $(\tfrac1n X^\top y,\, s)$. With $m = \tfrac{n+2}{n}\mu_3$ and
#
# $$
# q = \mathbb E s^2 = \tfrac{n+2}{n}\big[(d + \sigma^2)^2 + d\,(\mu_4 - 1)\big] ,
# $$
#
# it has the risk
#
# $$
# \mathcal R = \sigma^2 + d - \operatorname{tr} B^\top M^{-1} B, \qquad
# M = \begin{pmatrix} \omega I & m \mathbf 1 \\ m \mathbf 1^\top & q \end{pmatrix}, \quad
# B = \begin{pmatrix} I \\ \mu_3 \mathbf 1^\top \end{pmatrix} .
# $$
#
# **3.** {glue:text}`ex_skewed_risk:.5f` instead of {glue:text}`ex_skewed_plain:.5f`: real, and small. (Whether all weights
# together can do still better is not asked here.)

# %%
skew_d, skew_n, noise = 2, 20, 0.25
omega = (skew_n + 1 + skew_d + noise) / skew_n
spread = (skew_n + 2) / skew_n
q = spread * ((skew_d + noise) ** 2 + skew_d * (9 - 1))
ones = np.ones((skew_d, 1))
M = np.block([
    [omega * np.eye(skew_d), 2 * spread * ones],
    [2 * spread * ones.T, q],
])
B = np.vstack([np.eye(skew_d), 2 * ones.T])
skewed_risk = noise + skew_d - np.trace(B.T @ np.linalg.solve(M, B))
plain_skewed = theorem1.minimal_risk(skew_d, skew_n, noise)
sampler = task_laws.OtherTasks(
    PromptLaw.isotropic(skew_d, skew_n, noise),
    lambda rng, B: rng.exponential(size=(B, skew_d)) - 1,
)
fit_to, test_on = (
    sampler.sample(stream("exercise: skewness", k), 150_000) for k in (0, 1)
)


def estimators(batch):
    """X'y/n and, beside it, s."""
    s = (batch.y**2).mean(axis=1, keepdims=True)
    return np.hstack([gradient_step(batch.X, batch.y, 1 / skew_n), s])


with_s, _, _, _ = np.linalg.lstsq(estimators(fit_to), fit_to.beta)
plain = np.eye(skew_d) / omega
guesses = estimators(test_on)
losses = [
    ((test_on.beta - guess) ** 2).sum(1)
    for guess in (guesses @ with_s, guesses[:, :skew_d] @ plain)
]
gain = losses[1] - losses[0]
error = gain.std() / np.sqrt(len(gain))
print(f"gain measured {gain.mean():.5f} ± {error:.5f}")
print(f"gain by the formula {plain_skewed - skewed_risk:.5f}")
assert abs(gain.mean() - (plain_skewed - skewed_risk)) < 5 * error

# %% [markdown]
# ```{solution-end}
# ```
#
# ```{exercise} A matrix for every layer? ◇
# :label: ex-layers
# Stack $L$ layers, each a preconditioned step with a matrix $\Gamma_l$ of its own, for $H = \Psi = I$. Is the best choice of all the matrices
# together a multiple of $I$ in every layer?
# ```
#
# ```{solution} ex-layers
# :label: sol-layers
# :class: dropdown
# **Known:** for $L = 1$ yes, that is chapter 1. The proof there does not carry over: with two layers the prediction is no longer *linear* in
# the weights, so the loss is not convex in them and averaging over rotations need not lower it. {cite:t}`ahn2023` find, for several layers and weights of a
# restricted form, critical points of the loss at which every layer is a preconditioned step. That one of them is the minimum is
# not proved. Among multiples of $I$ the best ones can be computed ({ref}`ex-more-steps`).
#
# **Open:** the minimum over all $\Gamma_1, \dots, \Gamma_L$, already for $L = 2$. A counterexample would be as welcome as a proof: the
# exact loss is a polynomial in Gaussian moments, and a search over $\Gamma_1, \Gamma_2$ at $d = 2$ is an evening's work.
# ```

# %% tags=["hide-input", "remove-output"]
strongest, weakest = np.linalg.eigvalsh(H)[[-1, 0]]
explained_by_plain = d + sigma2 - plain_measured.mean
explained_by_matrix = d + sigma2 - found.risks.min()
exercise_numbers = {
    "ex_strong": 1 + tau / strongest,
    "ex_weak": 1 + tau / weakest,
    "ex_strong_ridge": sigma2 / strongest,
    "ex_weak_ridge": sigma2 / weakest,
    "ex_participation": np.trace(H) ** 2 / (d * np.trace(H @ H)),
    "ex_participation_measured": explained_by_plain / explained_by_matrix,
    "ex_mixture_blind": theory.minimal_risk(blind),
    "ex_mixture_told": theory.minimal_risk(told),
    "ex_loud_quiet": theory.plain_gd(
        PromptLaw(20, np.eye(5) / 2, np.eye(5), np.zeros(5), 0.25)
    )[0]
    / loud_step.mean,
    "ex_skewed_risk": skewed_risk,
    "ex_skewed_plain": plain_skewed,
}
for name, value in exercise_numbers.items():
    ledger.number(name, value)

# %% [markdown]
# ## Every claim of this chapter
#
# Predicted by the formulas above; measured on random prompts, or on the package's exact loss, which `zero_mean.forward_pass`
# tests on prompts. A claim holds when the two differ by no more than its tolerance, fixed beforehand, and five standard errors.

# %% tags=["hide-input"]
ledger.save()
