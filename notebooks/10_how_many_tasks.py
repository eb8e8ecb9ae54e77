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
# The theorems so far train on endless prompts, each with a task of its own. Nobody has that. With fewer prompts, and fewer tasks still, a model can do well in training
# for a bad reason: it has memorised the tasks, and fails on a new one. How much is enough? For one layer of linear attention {cite:t}`lu2025` have the answer: **a few
# times $d^2$ prompts, of more than $d$ tasks.**
#
# At exactly $d^2$ prompts the error on new tasks has a peak, and at twice as many it is still twice the least: {glue:text}`descent.limit.predicted:.3f` for large $d$,
# to which fits tend ({glue:text}`descent.limit.measured:.3f`). How large $d$ must be for that is this book's own answer. Last come small deep transformers.
#
# ```{admonition} What you need
# :class: note
# {doc}`Chapter 1 <01_one_step_gd>`, least squares, eigenvalues. Reading takes about {glue:text}`reading_minutes:.0f` minutes.
# ```

# %% tags=["hide-input"]
import numpy as np
from icl.chapters import begin
from icl.chapters.how_many_tasks import deep, ladder, pictures
from icl.chapters.how_many_tasks import experiments as chapter
from icl.chapters.how_many_tasks.explorable import explorable
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
# A prompt has $n =$ {glue:text}`n:.0f` examples $x_i \sim N(0, I_d)$, $d =$ {glue:text}`d:.0f`, with labels $y_i = w^\top x_i + \varepsilon_i$ and noise of variance
# $\sigma^2 =$ {glue:text}`sigma2:g`, and a query $x$. By chapter 1, all that a layer of linear attention can make good use of is
#
# $$
# \hat y = x^\top \Gamma\, g, \qquad g = \tfrac1n X^\top \mathbf y .
# $$
#
# This is linear in the $d^2$ entries of $\Gamma$. So fitting attention is **linear regression**: one row a prompt, with the products $x_j g_k$ as its features.


# %%
def attention(Gamma, X, y, x):
    """Scores x_i'Γ'x, times the labels, averaged over the examples."""
    return (X @ Gamma.T @ x) @ y / len(y)


def features(X, y, x):
    """x ⊗ g: what the entries of Γ, row by row, are multiplied by."""
    return np.outer(x, X.T @ y / len(y)).ravel()


def fit(F, labels):
    """Γ by least squares on rows F (P, d²); the smallest if many fit."""
    Gamma = np.linalg.lstsq(F, labels, rcond=None)[0]
    return Gamma.reshape(2 * [round(len(Gamma) ** 0.5)])


# %% [markdown]
# **By hand.** Two examples without noise, $(1, 1)$ and $(1, -1)$, of the task $w = (2, 1)$: labels $3$ and $1$, and $g = \tfrac12 (3 + 1,\ 3 - 1) = (2, 1)$. At the
# query $x = (1, 2)$ the features are $2, 1, 4, 2$. With $\Gamma = \tfrac12 I$ the answer is half of the first plus half of the last, $2$. The truth is $4$.

# %%
X2, x2 = np.array([[1.0, 1.0], [1.0, -1.0]]), np.array([1.0, 2.0])
y2, half = X2 @ np.array([2.0, 1.0]), np.eye(2) / 2
print("attention ", attention(half, X2, y2, x2))
print("regression", features(X2, y2, x2) @ half.ravel())

# %% [markdown]
# ## Endless prompts of $K$ tasks
#
# Let all prompts' tasks be of $K$ vectors $w_1, \dots, w_K$, once drawn from $N(0, I_d)$, and $R = \frac1K \sum_k w_k w_k^\top$. Only $R$ matters:
#
# ```{prf:proposition} Endless prompts
# :label: prop-endless-prompts
# The best $\Gamma$ for prompts of these tasks is $\Gamma = R B^{-1}$, where $B = \mathbb E\, g g^\top = \frac{n+1}{n} R + \frac{\operatorname{tr} R + \sigma^2}{n} I$.
# On them its risk is $\sigma^2 + \operatorname{tr} R - \operatorname{tr} R^2 B^{-1}$; on new tasks any $\Gamma$ has
# $\sigma^2 + d - 2 \operatorname{tr} \Gamma + b\, \|\Gamma\|^2$ with $b = \frac{n + 1 + d + \sigma^2}{n}$.
# ```
#
# ```{admonition} Proof
# :class: dropdown
# With $S = X^\top X$ and given $w$, $\mathbb E\, g = w$ and $\mathbb E\, g g^\top = \frac1{n^2} (\mathbb E\, S w w^\top S + \sigma^2\, \mathbb E\, S)$, where
# $\mathbb E\, S w w^\top S = n(n+1)\, w w^\top + n\, \|w\|^2 I$ by Gaussian moments. Average over the tasks: $B$. The error is $x^\top (\Gamma g - w) - \varepsilon$
# with $x$ independent of the rest, so the risk is
# $\sigma^2 + \mathbb E \|\Gamma g - w\|^2 = \sigma^2 + \operatorname{tr} \Gamma B \Gamma^\top - 2 \operatorname{tr} \Gamma R + \operatorname{tr} R$, least where
# $\Gamma B = R$. A new task has $\mathbb E\, w w^\top = I$, so there $R = I$ and $B = b I$. ∎
# ```


# %%
def moments(R, plus=1):
    """E gg' for prompts of tasks with second moment R (near miss: plus=0)."""
    return (n + plus) / n * R + (np.trace(R) + sigma2) / n * np.eye(d)


def risk(Gamma, R):
    """On prompts of tasks with second moment R."""
    square = np.trace(Gamma @ moments(R) @ Gamma.T)
    return sigma2 + square - 2 * np.trace(Gamma @ R) + np.trace(R)


K = (d + 1) // 2
tasks = stream("tasks").standard_normal((K, d))
R = tasks.T @ tasks / K
Gamma = np.linalg.solve(moments(R), R).T  # R B⁻¹
seen, new = risk(Gamma, R), risk(Gamma, np.eye(d))

# %% tags=["hide-input"]
slip = sigma2 + np.trace(R - R @ R @ np.linalg.inv(moments(R, plus=0)))
law = PromptLaw.isotropic(d, n, sigma2)
mean = lambda *of: chapter.mean_error(law, Gamma, budget, *of)
ledger.claims({
    "prompts.seen": (seen, mean(stream("seen"), tasks), slip),
    "prompts.new": (new, mean(stream("new")), seen),
})

# %% [markdown]
# Fitted to {glue:text}`some_tasks:.0f` tasks, the layer has risk {glue:text}`prompts.seen.predicted:.3f` on these and {glue:text}`prompts.new.predicted:.3f` on new
# ones; answering $0$ costs {glue:text}`zero_risk:.2f`. It has **memorised**, and its memory is a subspace. This is plainest for endless contexts without noise, where
# $g = w$ and $B = R$: then $\Gamma$ only has to return the $w_k$, and the smallest such $\Gamma$ is the projector onto their span. A new task loses its part outside,
# $d - K$ of $d$ dimensions, exactly, at every $d$, and **nothing from $K = d$ on**. Prompts are fitted here, not formulas:


# %%
def excess_of_fit(dims, K, rng):
    """E|w − Γw|² for new tasks, Γ fitted to prompts with n = ∞, no noise."""
    w = rng.standard_normal((K, dims))[rng.integers(K, size=4 * dims * K)]
    x = rng.standard_normal(w.shape)
    F = (x[:, :, None] * w[:, None, :]).reshape(len(w), -1)
    return ((np.eye(dims) - fit(F, (x * w).sum(1))) ** 2).sum()


small, outside = min(d, 10), min(d, 10) // 2  # dimensions; d − K
below = excess_of_fit(small, small - outside, stream("projector"))
above = excess_of_fit(small, small, stream("as many tasks"))

# %% [markdown]
# ## The transition at $d$ tasks
#
# For finite contexts the bend is rounded. From now on $d$ is large and errors are **per dimension** (risk$/d$), with $\alpha = n/d =$ {glue:text}`alpha:g` and
# $\rho = \sigma^2/d =$ {glue:text}`rho:g` on this page, $\kappa = K/d$ and $\tau = P/d^2$. (In other chapters $\tau$ is $\mathbb E y^2$.) Then $B = R + q$ with
# $q = (1 + \rho)/\alpha$, and new tasks cost
#
# $$
# \begin{aligned} e &= \rho + 1 - 2 \operatorname{tr} \tfrac{R}{R + q} + (1 + q) \operatorname{tr} \big(\tfrac{R}{R+q}\big)^2 \\
#   &= \rho + 1 - 2 (1 - qM) + (1 + q)(1 - 2qM + q^2 D) , \end{aligned}
# $$
#
# with $\operatorname{tr}$ for the mean over the $d$ eigenvalues, $M = \operatorname{tr} (R + q)^{-1}$ and $D = \operatorname{tr} (R+q)^{-2} = -dM/dq$. For Gaussian
# tasks both are known (Marchenko and Pastur): **$M\,\big(q + \frac{1}{1 + M/\kappa}\big) = 1$.**
#
# ```{admonition} Why: one task at a time
# :class: dropdown
# The mean eigenvalue of $(R + q)(R + q)^{-1} = I$ is $1 = qM + \frac1{Kd} \sum_k w_k^\top (R + q)^{-1} w_k$. Without its own task $w_k$ the resolvent, $A_k$, is
# independent of $w_k$, so $\frac1d w_k^\top A_k w_k \approx \operatorname{tr} A_k \approx M$; putting the task back divides by
# $1 + \frac1K w_k^\top A_k w_k \approx 1 + M/\kappa$
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
climb = ladder.climb(parameters, (0.5, 2.0, 4.0), 0.25, stream)
flat = 1 / (1 + q / 2)  # r/(r + q) if r is 1/κ = 2 or 0
flat = rho + 1 - flat + (1 + q) * flat**2 / 2
curve = climb.tends("sets of tasks", 0, half_the_tasks)
ledger.claims({
    "transition.below": (outside, below, outside**2 / small),
    "transition.above": (0, above, 1),
    "transition.curve": (half_the_tasks, curve, flat),
})

# %% [markdown]
# At $\alpha = \infty$ this is $\rho + (1 - \kappa)_+$, the bend of the second panel below: memorising on its left, learning in context on its right. It is a matter of
# tasks alone: no number of prompts moves it.
#
# ## The double descent at $d^2$ prompts
#
# Now tasks are endless and prompts are not. Up to $P = d^2$ of them the $d^2$ weights fit any labels, noise and all:

# %%
dims = min(d, 6)
tiny = PromptLaw.isotropic(dims, n, sigma2).sample(stream("rank"), dims**2 + 2)
rows = zip(tiny.X, tiny.y, tiny.x_query, strict=True)
fitted = np.linalg.matrix_rank([features(*row) for row in rows])

# %% [markdown]
# **What it costs, above.** Let $F$ be a prompt's features, in units in which $\mathbb E F F^\top = I$, and $\xi$ its label's error at the best $\Gamma$, with
# $v = \mathbb E \xi^2$ the least error. Least squares misses by $\delta = A^{-1} \sum F \xi$ with $A = \sum F F^\top$. Take one prompt out, as above: with
# $E = \operatorname{Tr} A^{-1}$, the whole trace, and $s$ for $|F|^2 / d^2$,
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
# Below $d^2$ prompts the smallest $\Gamma$ that fits is, on average, the share $\tau$ of the best one, and
# $e = \big(1 + \rho - \frac{\tau (2 - \tau)}{1 + q}\big) / (1 - \tau)$. From both sides the error tends to infinity at $d^2$.
#
# ```{admonition} The second equation, and the error below d² prompts
# :class: dropdown
# Given the features, errors $\xi$ of different prompts are uncorrelated, so
# $\mathbb E |\delta|^2 = \sum \mathbb E\, \xi^2 F^\top A^{-2} F \approx P\, \mathbb E\, \xi^2 s\, T / (1 + sE)^2$ with $T = \operatorname{Tr} A^{-2}$, by taking one
# prompt out. With $A + t$ for $A$ the first equation reads $d^2 = tE + P\, \mathbb E \frac{sE}{1 + sE}$; its derivative at $t = 0$, where $dE/dt = -T$, is
# $E = P\, T\, \mathbb E \frac{s}{(1 + sE)^2}$. Divide.
#
# Below $d^2$, regression projects onto the span of $P$ random directions out of $d^2$: on average a share $\tau$ of every weight is kept. What the mean $\tau \Gamma$
# misses acts as noise, $v' = v + (1 - \tau)^2 / (1 + q)$ in all, and noise adds $\tau/(1 - \tau)$ of itself: $v'/(1 - \tau)$.
# ```
#
# **How large is large?** Feature vectors are not equally long: a prompt with a long query, a large task or lucky examples has a long one, *and* a larger error. Both
# fluctuate by $1/\sqrt d$. Put $\operatorname{Var} s = V/d$ and $\operatorname{Cov}(s, \xi^2) = Cv/d$ into the two equations and expand:
#
# ```{math}
# :label: eq-one-over-d
# \frac{e(d)}{e} = 1 + \frac{c}{d} + O(d^{-2}), \qquad c = c_0 + \frac1\tau \Big( \frac{V}{\tau} + C\, \big(1 - \tfrac2\tau\big) \Big) ,
# ```
#
# where $c_0$ is what the moments of {prf:ref}`prop-endless-prompts`, taken at $d$, add to $v$.

# %%
b, v = 1 + q, 1 + rho - 1 / (1 + q)
# |g|²/d moves with |w|², |Xw|², noise along Xw, all noise, and across w:
variances = np.array([2, 2 / alpha, rho / alpha, 2 / alpha, 2])  # times 1/d
of_g = np.array([1, 2, 2, 0, 0]) + np.array([1, 1, 2, rho, 1 + rho]) / alpha
of_miss = np.array([1, 0, 0, 0, 0]) - np.array([2, 2, 2, 0, 0]) / b
of_miss = of_miss + of_g / b**2  # |w − g/b|²/d, by the same five
V = 2 + variances @ of_g**2 / b**2  # the first 2 is |x|²
C = (2 * (1 - 1 / b) + variances @ (of_miss * of_g) / b) / v
c0 = 1 / (alpha * b**2 * v)
c = {tau: c0 + (V / tau + C * (1 - 2 / tau)) / tau for tau in (2, 4)}

# %% [markdown]
# **Measured** at $d = 8, 16, 24, 48$; the largest has $2304$ weights, and $9216$ prompts. (A prompt needs $d + 3$ random numbers, not $n(d + 1)$: along the task
# $X^\top \mathbf y$ is made of three, across it it is Gaussian with variance $|\mathbf y|^2$.)

# %% tags=["hide-input"]
limits = [theory.descent(tau, alpha, rho) for tau in (0.5, 2)]
below, twice = (climb.tends("endless tasks", k, limits[k]) for k in (0, 1))
rates = [climb.coefficient("endless tasks", k) for k in (1, 2)]
ledger.claims({
    "descent.threshold": (dims**2, fitted, dims * (dims + 1) / 2),
    "descent.limit": (limits[1], twice, 1.5 * v),
    "descent.below": (limits[0], below, 2 * v),
    "descent.power": (-1, climb.exponent("endless tasks", 2), -1 / 2),
    "descent.coefficient_two": (c[2], rates[0], c0),
    "descent.coefficient_four": (c[4], rates[1], c0),
})

# %% tags=["hide-input", "remove-output"]
ledger.figure(pictures.two_transitions(parameters, stream))
ledger.figure(pictures.convergence(climb, c))

# %% [markdown]
# ```{glue:figure} fig-two_transitions
# :name: fig-two-transitions
#
# Two thresholds, $d^2$ prompts and $d$ tasks. Left: endless tasks. More prompts help, then hurt up to $P = d^2$, then help again, down to the least error (dashed). Marks: fits, nearer to the limit the larger
# $d$. Right: endless prompts. From $K = d$ tasks on new tasks are learned, sharply so for endless contexts (thin line); circles: averages over tasks at $d = 24$.
# ```
#
# ```{glue:figure} fig-convergence
# :name: fig-tasks-convergence
#
# How far fits are from the limit. Lines: $c/d$ of {eq}`eq-one-over-d`, {glue:text}`c_two:.2f`$/d$ at $2d^2$ prompts and {glue:text}`c_four:.2f`$/d$ at $4d^2$. At
# $d = 8$ and $2d^2$ prompts the limit is a quarter too low.
# ```
#
# To compare with other programs, at $d = 24$, $n = 48$, $\sigma^2 = 6$ ($\alpha = 2$, $\rho = \frac14$): the limit with its $1/d$, and what happens when $\Gamma$ gets
# another column, for $\frac1n |\mathbf y|^2$ beside $g$, as in the paper. It cannot help, but it is fitted, and $d^2$ becomes $d(d+1)$.

# %% tags=["hide-input"]
ledger.claims(chapter.at_other_parameters(stream("other parameters")))

# %% [markdown]
# ## Few tasks, few prompts, and a ridge
#
# Put both together, with a penalty $P \lambda \|\Gamma\|^2$. For large $d$ ridge regression acts as with endless prompts and a larger ridge, $k$ for $\lambda$, plus noise:
#
# $$
# k = \lambda + \frac k\tau \operatorname{tr} \tfrac{B}{B + k} , \qquad \bar\Gamma = R (B + k)^{-1} , \qquad e_{\rm seen} = \frac{e_{\rm seen}(\bar\Gamma)}{1 - \ell} , \qquad
# e_{\rm new} = e_{\rm new}(\bar\Gamma) + \frac{1 + q}{\tau} \operatorname{tr} \tfrac{B}{(B+k)^2}\; e_{\rm seen} ,
# $$
#
# with $\ell = \frac1\tau \operatorname{tr} \frac{B^2}{(B + k)^2}$ and $e(\bar\Gamma)$ as in the proposition. All traces are $M$ and $D$ at $s = q + k$.
#
# ```{admonition} Where this comes from
# :class: dropdown
# Take one prompt out once more, now with the ridge and with $\mathbb E F F^\top = I \otimes B$: the resolvent
# $(\frac1P \sum F F^\top + \lambda)^{-1} \approx \frac k\lambda (I \otimes B + k)^{-1}$ solves the equation that results. The estimate is linear in the labels, which
# gives its mean, $\bar\Gamma$. What is left is the noise of prompts, each with error $e_{\rm seen}$ (its own included, hence the division by $1 - \ell$), spread over
# directions in proportion to $B / (B + k)^2$, and weighed on new tasks by $1 + q$. All this takes features for Gaussian vectors with the same second moment; that it
# does no harm for large $d$ is not proved here.
# ```


# %%
def equivalent(tau, alpha, kappa, rho, ridge=0.0):
    """Errors on new and on seen tasks, per dimension, d → ∞."""
    q = (1 + rho) / alpha
    df = lambda k: 1 - k * resolvent(q + k, kappa)[0]  # tr B/(B + k)
    k = theory.effective_ridge(df, 1 + q, tau, ridge)
    s = q + k
    M, D = resolvent(s, kappa)
    gain, gain2 = 1 - s * M, 1 - 2 * s * M + s**2 * D  # mean Γ, its square
    lost = (1 - 2 * k * M + k**2 * D) / tau
    seen = (rho + s - s**2 * M - k * gain2) / (1 - lost)
    new = rho + 1 - 2 * gain + (1 + q) * gain2
    return new + (1 + q) / tau * (M - k * D) * seen, seen


# %% tags=["hide-input"]
ours, slipped = chapter.off_the_printed(equivalent)
few_tasks = equivalent(2, alpha, 1 / 2, rho)[0]
ridged = equivalent(1, alpha, 1 / 2, rho, 1 / 4)[0]
plain_ridge = equivalent(np.inf, alpha, 1 / 2, rho, 1 / 4)[0]
fits = [climb.tends("few tasks", 0, few_tasks), climb.tends("ridge", 0, ridged)]
ledger.claims({
    "both.paper": (0, ours, slipped),
    "both.few_tasks": (few_tasks, fits[0], limits[1]),
    "both.ridge": (ridged, fits[1], plain_ridge),
})

# %% [markdown]
# Without a ridge this is, after some algebra, the formula that {cite:t}`lu2025` print. Move the five ratios. **A question:** you have $K = d/2$ tasks, and are tested
# on new ones. How many prompts of them are worth it? (Some ten times $d^2$. Beyond, the orange curve lies flat, far above what more tasks would give.)

# %% tags=["hide-input"]
explorable(parameters)

# %% [markdown]
# ## Deep transformers on few tasks and on many
#
# {cite:t}`raventos2023` asked this of transformers with softmax, MLPs and depth, and found a threshold far above $d$ tasks. Two rival predictors frame it. **Ridge
# regression** is best for ever new tasks. For $K$ known tasks the best is their mean, weighed by how likely each makes the labels:


# %%
def ridge(X, y, penalty):
    """Bayes for new tasks: estimates of w, (B, d)."""
    S = X.mT @ X + penalty * np.eye(X.shape[-1])
    return np.linalg.solve(S, X.mT @ y[..., None])[..., 0]


def mixture(X, y, tasks, noise):
    """Bayes for these tasks (K, d): estimates of w, (B, d)."""
    misfit = ((y[:, None] - tasks @ X.mT) ** 2).sum(-1)  # (B, K)
    weight = np.exp((misfit.min(1, keepdims=True) - misfit) / (2 * noise))
    return weight @ tasks / weight.sum(1, keepdims=True)


# %% tags=["hide-input"]
risks = deep.compare(ridge, mixture, profile, stream("deep"))
ledger.claims({
    "deep.few_tasks_new": (2, risks.ratio("transformer", "ridge", "new", 4)),
    "deep.few_tasks_seen": (1, risks.ratio("transformer", "ridge", "seen", 4)),
    "deep.fresh_tasks": (1.15, risks.ratio("transformer", "ridge", "new", 0)),
    "deep.not_bayes": (1, risks.ratio("transformer", "mixture", "new", 64)),
    "deep.many_like_ridge": (1, risks.nearer_to_ridge(256)),
    "deep.replay": deep.replayed(),
})

# %% tags=["hide-input", "remove-output"]
ledger.figure(pictures.deep_transformers(risks))

# %% [markdown]
# ```{glue:figure} fig-deep_transformers
# :name: fig-deep-transformers
#
# Softmax transformers of {glue:text}`deep_layers:.0f` layers trained on prompts of $K$ tasks ($d = 3$, $n = 6$, $\sigma^2 = \frac14$; mean of
# {glue:text}`deep_seeds:.0f` trainings of {glue:text}`deep_least_steps:,.0f` to {glue:text}`deep_most_steps:,.0f` steps, two standard errors; dotted: ridge regression). On 4 tasks they come near the
# best predictor for these, and fail on new ones. On many they turn to ridge regression, though on their own tasks they could do better.
# ```
#
# A linear layer remembers a subspace, which $d$ tasks fill. A deep one tells tasks apart: even 16, five times $d$, it answers far better than new ones.
#
# ## Limits
#
# - {prf:ref}`prop-endless-prompts` and the projector are proved, at every $d$; what follows is heuristics with Gaussian features, confirmed by fits.
# - $\Gamma$ alone is fitted, to the end, for isotropic covariates; {eq}`eq-one-over-d` wants endless tasks, no ridge and $P > d^2$.
# - No theory stands behind the last figure: one size, one recipe, not tuned. Rates began to fall when a stretch of 3,000 steps no longer lowered the loss by two
#   standard errors, in {glue:text}`deep_rested:.0f` of fifteen trainings; a slower gain is not seen. {cite:t}`raventos2023` have $d = 8$, larger models and longer training.
#
# ## Exercises
#
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
# The entries of the best $\Gamma = I/b$ have mean square $1 / (b^2 d)$, and every label has noise $vd$ beside it. Were the entries independent with this variance,
# their posterior mean would be ridge regression with $P\lambda = v b^2 d^2$, so $\lambda = v b^2 / \tau$; and as features look alike in all directions, the error
# depends on $\Gamma$ only through its size. A search agrees, and with it the error falls with every prompt: the peak is the price of fitting noise, not of the number
# $d^2$.

# %%
for tau in (0.5, 1.0, 2.0):
    best = v * b**2 / tau
    tried = best * np.geomspace(0.5, 2, 201)
    errors = [equivalent(tau, alpha, np.inf, rho, one)[0] for one in tried]
    print(f"{tau} d²: λ = {best:.4f}, found {tried[np.argmin(errors)]:.4f}")
    assert abs(np.log(tried[np.argmin(errors)] / best)) < 0.05

# %% [markdown]
# ```{solution-end}
# ```
#
# ```{exercise} How round is the bend? ★★
# :label: ex-bend
# $K = d$ tasks, endless prompts, long contexts. Show that the excess on new tasks is $\frac12 \sqrt q$ with $q = (1 + \rho)/\alpha$, to leading order. How long must
# contexts be for an excess of one per cent?
# ```
#
# ```{solution} ex-bend
# :label: sol-bend
# :class: dropdown
# At $\kappa = 1$ the equation is $M^2 q + Mq = 1$, so $M = q^{-1/2} + O(1)$ and $D = -dM/dq = \frac12 q^{-3/2} + \dots$. In $1 - 2(1 - qM) + (1 + q)(1 - 2qM + q^2 D)$
# the terms $\pm 2qM$ cancel up to order $q^{3/2}$, and $q^2 D = \frac12 \sqrt q$ is left: eigenvalues of $R$ reach down to $0$, and the layer does not trust
# directions in which tasks vary by less than $q$. One per cent needs $q = 0.0004$, contexts of some $2500\,d$ examples.
# ```
#
# ```{exercise} A theory of the last figure ◇
# :label: ex-deep-tasks
# How does the number of tasks at which a deep transformer leaves the mixture grow with $d$, its width, and its training?
# ```
#
# ```{solution} ex-deep-tasks
# :label: sol-deep-tasks
# :class: dropdown
# **Open.** {cite:t}`raventos2023` saw it grow about linearly with $d$. Telling $K$ tasks apart takes some $Kd$ remembered numbers; but the models above have a
# hundred weights and more for every task when they turn, so memory alone does not stop them.
# ```

# %% tags=["hide-input", "remove-output"]
page = dict(alpha=alpha, rho=rho, c_two=c[2], c_four=c[4], some_tasks=K)
for item in (page | deep.numbers() | {"zero_risk": d + sigma2}).items():
    ledger.number(*item)

# %% [markdown]
# ## Every claim of this chapter
#
# A claim holds when prediction and measurement differ by no more than its tolerance, fixed beforehand, and five standard errors.

# %% tags=["hide-input"]
ledger.save()
