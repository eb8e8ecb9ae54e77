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
# (mlp-benefit)=
# # What the MLP is for
#
# One layer of linear attention takes one step of gradient descent from zero. When tasks scatter around some $\beta^\ast$,
# the sensible start is $\beta^\ast$, and attention
# has nowhere to keep it. {cite:t}`zhang2024block` proved that an MLP, even a linear one, closes the gap:
# **with the MLP the layer learns where to start.**
#
# Here the gap is {glue:text}`thm41.gap.predicted:.4f`: attention alone cannot get below the risk
# {glue:text}`thm41.lsa_risk.predicted:.4f`, attention with a linear MLP reaches {glue:text}`thm41.ltb_risk.predicted:.4f`.
# But training the block can get stuck, a mere read-out vector does what the MLP does, and a GPT-2 without
# MLPs is not bound by the theorem.
#
# ```{admonition} What you need
# :class: note
# {doc}`01_one_step_gd`. Reading takes about {glue:text}`reading_minutes:.0f` minutes; rerunning, two or three. The paper has no public
# code, and its constants in Theorem 4.1, its star patterns, its hypothesis on ranks and its Table 1's unit could
# not be restored: those here are this book's.
# ```

# %% tags=["hide-input"]

import numpy as np
from icl import search
from icl.chapters import begin
from icl.chapters.mlp_benefit import experiments as chapter
from icl.chapters.mlp_benefit import (
    false_valleys,
    gpt_sweep,
    ingredient_pictures,
    pictures,
    prompt_pictures,
    table1,
    table1_pictures,
)
from icl.chapters.mlp_benefit.explorable import explorable
from icl.chapters.mlp_benefit.mean_task_laws import laws
from icl.estimates import Estimate, monte_carlo
from icl.models.linear_attention import LinearSelfAttention
from icl.models.linear_block import LinearTransformerBlock
from icl.prompts import PromptLaw, token_matrix
from icl.theory import mlp_benefit as theory
from icl.theory.bayes_risk import isotropic_bayes_risk
from scipy.optimize import minimize_scalar

# %% tags=["parameters"]
d = 5
n = 20
sigma2 = 0.25
beta_norm = 3.0
seed = 0
profile = "quick"

# %% tags=["hide-input", "remove-output"]
parameters, ledger, stream = begin(
    "04_mlp_benefit",
    d=d,
    n=n,
    sigma2=sigma2,
    beta_norm=beta_norm,
    seed=seed,
    profile=profile,
)
budget = chapter.budget(parameters)
law, skewed, singular = laws(parameters, stream)

# %% [markdown]
# ## The two models
#
# Prompts are drawn as before, but the task is $\beta \sim N(\beta^\ast, \Psi)$ and the covariates are $x \sim N(0, H)$. Unless a
# sentence says otherwise $H = \Psi = I$, $d =$ {glue:text}`d:.0f`, $n =$ {glue:text}`n:.0f`,
# $\sigma^2 =$ {glue:text}`sigma2:g`, and $\beta^\ast$ is the vector along $(1, \dots, 1)$ of size
# $\|\beta^\ast\|_H =$ {glue:text}`beta_norm:g`, where $\|b\|_H^2 = b^\top H b$.
# With the token matrix $E$, whose columns are $(x_i; y_i)$ and $(x; 0)$, and the mask $M$ that keeps the query out of the sum,
#
# ```{math}
# :label: eq-mlp-models
# \text{LSA:} \quad A(E) = E + \tfrac1n W_P^\top W_V\, E M E^\top W_K^\top W_Q\, E, \qquad
# \text{LTB:} \quad W_2^\top W_1\, A(E),
# ```
#
# and the answer is the bottom right entry. *LSA* is linear self-attention, *LTB* the linear transformer block:


# %%
def block(E, MLP, PV, KQ):  # W_2'W_1, W_P'W_V and W_K'W_Q
    n = E.shape[-1] - 1
    M = np.diag(np.append(np.ones(n), 0))
    A = E + PV @ E @ M @ E.mT @ KQ @ E / n
    return (MLP @ A)[..., -1, -1]


def attention(E, PV, KQ):
    return block(E, np.eye(len(PV)), PV, KQ)


# %% [markdown]
# **GD-β** is one gradient step from a start $\beta$, preconditioned by $\Gamma$, read at $x$; **GD-0** is that from $0$.


# %%
def gd_beta(X, y, x, beta, Gamma):
    residuals = y - X @ beta
    step = (residuals[..., None] * X).mean(-2) @ Gamma.T
    return ((beta + step) * x).sum(-1)


# %% [markdown]
# ```{prf:lemma} Zhang, Wu and Bartlett, Lemma 5.1
# :label: lem-mlp-construction
# With
# $W_2^\top W_1 = \begin{pmatrix} * & * \\ \beta^\top & 1 \end{pmatrix}$,
# $W_P^\top W_V = \begin{pmatrix} 0 & 0 \\ -\beta^\top & 1 \end{pmatrix}$,
# $W_K^\top W_Q = \begin{pmatrix} \Gamma^\top & * \\ 0 & * \end{pmatrix}$
# the block is GD-β.
# ```
#
# Values are residuals, the MLP adds $\beta^\top x$. A prompt for a pencil: $d = 2$, $n = 3$, start
# $(3, 2)$, $\Gamma = I$. The residuals are $2, -1, 1$, a third of $X^\top$ times them is $(1, 0)$, and $(4, 2)$ read at
# $(2, -1)$ is $6$.


# %%
def lemma_5_1(beta, Gamma, stars):  # stars: (3, d + 1, d + 1)
    MLP, PV, KQ = stars.copy()
    MLP[-1] = *beta, 1
    PV[:] = 0
    PV[-1] = *-beta, 1
    KQ[:-1, :-1], KQ[-1, :-1] = Gamma.T, 0
    return MLP, PV, KQ


X, y = np.array([[1, 0], [0, 1], [1, 1]]), np.array([5, 1, 6])
x, start = np.array([2, -1]), np.array([3, 2])
E = np.block([[X.T, x[:, None]], [y, 0]])
MLP, PV, KQ = lemma_5_1(start, np.eye(2), np.zeros((3, 3, 3)))
print(f"the block           {block(E, MLP, PV, KQ):g}")
print(f"one step from start {gd_beta(X, y, x, start, np.eye(2)):g}")
PV[-1] = 0, 0, 1
print(f"attention alone     {attention(E, PV, KQ):g}")
print(f"one step from 0     {gd_beta(X, y, x, 0 * start, np.eye(2)):g}")

# %% tags=["hide-input", "remove-output"]
ledger.figure(prompt_pictures.attention_and_block(X, y, x, start))

# %% [markdown]
# ```{glue:figure} fig-attention_and_block
# :name: fig-mlp-diagram
#
# The same prompt: attention alone steps from $0$, the block from the mean task $\beta^\ast$, which its MLP stores. Each example sends value times score into the sum. The query's own path
# carries the $0$ of its label slot; through the MLP it carries $\beta^\top x = 4$, and values become residuals. (The true answer is 9.)
# ```
#
# With random numbers in the starred places, a random start and a random $\Gamma$, on random prompts:

# %%
rng = stream("construction")
start, Gamma = rng.standard_normal(d), rng.standard_normal((d, d))
stars, prompts = rng.standard_normal((3, d + 1, d + 1)), law.sample(rng, 256)
X, y, x = prompts.X, prompts.y, prompts.x_query
E = token_matrix(X, y, x)
step = gd_beta(X, y, x, start, Gamma)
apart = np.abs(block(E, *lemma_5_1(start, Gamma, stars)) - step).max()
transposed = np.abs(block(E, *lemma_5_1(start, Gamma.T, stars)) - step).max()
size = np.abs(step).max()

# %% tags=["hide-input"]
ledger.claims({"lemma51.construction": (0, apart / size, transposed / size)})

# %% [markdown]
# For any weights, let $r^\top$ be the last row of $W_2^\top W_1$. All that reaches the answer is
#
# ```{math}
# :label: eq-mlp-effective
# f = w_1^\top x + \tfrac1n \sum_i \big(v^\top x_i + c\, y_i\big)\big(x_i^\top V + y_i u^\top\big)\, x ,
# ```
#
# with $(v^\top, c) = r^\top W_P^\top W_V$, $\binom{V}{u^\top}$ the first $d$ columns of $W_K^\top W_Q$, and $w_1$ the first $d$ entries of
# $r$. Attention alone has $w_1 = 0$. **The whole difference is the vector $w_1$**, which reads the query without the examples.
#
# ## How much attention alone must lose
#
# Write $\Phi = H^{1/2} \Psi H^{1/2}$ (eigenvalues $\varphi_i$) and $\tau = \operatorname{tr}(H\Psi) + \sigma^2$, and let $\tau > 0$.
#
# ```{prf:theorem} Zhang, Wu and Bartlett, Theorem 4.1, with this book's constants
# :label: thm-mlp-gap
#
# The block's least risk does not depend on the mean task:
#
# $$
# \inf_{\rm LTB} \mathcal R = \sigma^2 + \sum_i \varphi_i \frac{\varphi_i + \tau}{(n+1)\varphi_i + \tau} .
# $$
#
# Attention without the MLP pays for it. For all $n$, $d$, $\sigma^2$, $\beta^\ast$ and all $H$, $\Psi$, singular ones included,
#
# $$
# \frac{\|\beta^\ast\|_H^2}{n+1} \;\le\; \inf_{\rm LSA} \mathcal R - \inf_{\rm LTB} \mathcal R \;\le\;
# \inf_{\text{GD-0}} \mathcal R - \inf_{\rm LTB} \mathcal R ,
# $$
#
# where $\inf_{\text{GD-0}} \mathcal R$ is the first formula with $\Psi + \beta^\ast \beta^{\ast\top}$ in place of $\Psi$.
# ```
#
# ````{admonition} Proof
# :class: dropdown
# *Odd and even.* Put $\theta = \beta - \beta^\ast$, $r = X\theta + \varepsilon$, $\hat S = X^\top X/n$, and
# $v' = v + c\beta^\ast$, $V' = V + \beta^\ast u^\top$, $\Gamma = cV'^\top + u v'^\top$. Then $f = x^\top \hat\beta$ with
#
# ```{math}
# :label: eq-mlp-split
# \hat\beta - \beta = \underbrace{V'^\top \hat S v' + c\,u\,\tfrac{\|r\|^2}{n} - (\beta^\ast - w_1)}_{\text{even in } (\theta, \varepsilon)}
# \;+\; \underbrace{\Gamma \tfrac{X^\top r}{n} - \theta}_{\text{odd}} ,
# ```
#
# and the risk is $\sigma^2$ plus the mean squares of the two parts. The odd part is the error of one step from $\beta^\ast$, at
# least the first formula. With $w_1 = \beta^\ast$, $v' = u = 0$ the even part vanishes: that is the block.
#
# *Lower bound.* Without the MLP $w_1 = 0$. Along $\beta^\ast$ the even part is $Y - \|\beta^\ast\|_H$, where, given $\theta$, $Y$ is a mean of
# $n$ independent quadratic forms in the Gaussian vectors $(H^{-1/2}x_i;\, \varepsilon_i/\sigma)$. Their matrix $Q$ has at most two positive
# eigenvalues: one part, from $V'^\top \hat S v'$, is $\tfrac12(\rho\nu^\top + \nu\rho^\top)$ for two vectors, with eigenvalues
# $\tfrac12(\rho^\top\nu \pm \|\rho\|\|\nu\|)$, one of each sign; the other, from $\|r\|^2$, has rank one; and a matrix of rank one adds at most one
# positive eigenvalue. So
# $(\operatorname{tr} Q)_+^2 \le 2 \|Q\|_F^2$ and the variance of $Y$ is at least $(\operatorname{tr} Q)_+^2/n$. What is left is
# $\min_t\, (t - \|\beta^\ast\|_H)^2 + t^2/n = \|\beta^\ast\|_H^2/(n+1)$.
#
# *Upper bound.* One step from $0$ is a choice of LSA's weights ($v = u = 0$), and its risk sees the task only through
# $\mathbb E \beta\beta^\top$.
# ````
#
# The first line of the proof, at random weights: the answer of the forward pass, and the two parts of its error.

# %%
rng, beta_star = stream("odd and even"), law.beta_star
MLP, PV, KQ = rng.standard_normal((3, d + 1, d + 1))
prompts = law.sample(rng, 256)
X, y, x, beta = prompts.X, prompts.y, prompts.x_query, prompts.beta
answers = block(token_matrix(X, y, x), MLP, PV, KQ)

w_1, v, c = MLP[-1, :-1], MLP[-1] @ PV[:, :-1], MLP[-1] @ PV[:, -1]
V, u = KQ[:-1, :-1], KQ[-1, :-1]
r, S = y - X @ beta_star, X.mT @ X / n


def odd_and_even(shift):  # V' = V + shift u'
    v_, V_ = v + c * beta_star, V + np.outer(shift, u)
    Gamma = c * V_.T + np.outer(u, v_)
    even = S @ v_ @ V_ + c * u * (r**2).mean(1)[:, None] - (beta_star - w_1)
    odd = (r[..., None] * X).mean(1) @ Gamma.T - (beta - beta_star)
    return ((beta + even + odd) * x).sum(1)


apart = np.abs(odd_and_even(beta_star) - answers).max()
unshifted = np.abs(odd_and_even(0 * beta_star) - answers).max()
size = np.abs(answers).max()

# %% tags=["hide-input"]
ledger.claims({"thm41.split": (0, apart / size, unshifted / size)})

# %% [markdown]
# So attention estimates the *number one* from the context, by $x_i$'s and $y_i$'s that
# multiply to something positive, and multiplies $\beta^\ast$ by it. The exact least risk lies between the bounds. For given $\nu = H^{1/2}(v + c\beta^\ast)$ and $c$ the risk is quadratic in all the other
# weights, and what remains is a smooth function on the sphere $\|\nu\|^2 + c^2 = 1$:
#
# ```{math}
# :label: eq-mlp-sphere
# \inf_{\rm LSA} \mathcal R = \sigma^2 + \min_{\|\nu\|^2 + c^2 = 1} \Big\{ \operatorname{tr}\Phi + \|b\|^2
#   - \sum_i \ell_i^\top K^{-1} \ell_i \Big\}, \qquad b = H^{1/2}\beta^\ast ,
# ```
#
# with the second moments $K$ and $\ell_i$ of the code. For singular $H$ the coordinates are those of its range; for $H = \Psi = I$ the
# minimiser has $\nu$ along $\beta^\ast$, so that one angle is left:


# %%
def one_step(phi, tau, N=n + 1):  # least risk of one step; near miss: N = n
    return sigma2 + (phi * (phi + tau) / (N * phi + tau)).sum()


phi, tau = np.ones(d), d + sigma2
with_mean = np.append(np.ones(d - 1), 1 + beta_norm**2)
ltb = one_step(phi, tau)
gd_0 = one_step(with_mean, tau + beta_norm**2)
lower, upper = beta_norm**2 / (n + 1), gd_0 - ltb

Phi, direction = np.eye(d), np.full(d, 1 / np.sqrt(d))
b, Omega = beta_norm * direction, (n + 1) / n * Phi + tau / n * np.eye(d)


def on_the_sphere(angle):  # c in units of a label: only the direction counts
    nu, c = np.sin(angle) * direction, np.cos(angle) / np.sqrt(tau + b @ b)
    K_11 = (n + 1) / n * np.outer(nu, nu) + c**2 * Omega
    K_11 += nu @ nu / n * np.eye(d)
    K_12 = c * (tau * nu + 2 / n * Phi @ nu + Omega @ nu)[:, None]
    K_22 = (n + 2) / n * (c * tau) ** 2 + nu @ Omega @ nu
    K_22 += 2 * (n + 2) / n * c**2 * np.trace(Phi @ Phi)
    ell = np.vstack([np.outer(nu, b) + c * Phi, c * tau * b + Phi @ nu])
    gain = ell * np.linalg.solve(np.block([[K_11, K_12], [K_12.T, K_22]]), ell)
    return sigma2 + np.trace(Phi) + b @ b - gain.sum()


angles = np.linspace(-np.pi / 2, np.pi / 2, 2001)
at = angles[np.argmin([on_the_sphere(angle) for angle in angles])]
bracket, fine = (at - 2e-3, at + 2e-3), dict(xatol=1e-13)
lsa = minimize_scalar(on_the_sphere, bounds=bracket, options=fine).fun

# %% [markdown]
# ### Is it true?
#
# The check knows none of this: L-BFGS on the exact loss over *all entries of all matrices*, finished by Newton's method; the best of
# {glue:text}`starts:.0f` random starts, for both landscapes have false valleys.

# %%
ends = {
    build: chapter.descend(law, budget.restarts, stream(name), build)
    for name, build in (
        ("attention", LinearSelfAttention),
        ("block", LinearTransformerBlock),
    )
}
lsa_found, ltb_found = (found.risks.min() for found in ends.values())
gap = lsa_found - ltb_found

# %% tags=["hide-input"]
ledger.claims({
    "thm41.lsa_risk": (lsa, lsa_found, gd_0),
    "thm41.ltb_risk": (ltb, ltb_found, one_step(phi, tau, n)),
    "thm41.gap": (lsa - ltb, gap, upper),
    "thm41.lower_bound": (lower, gap),
    "thm41.upper_bound": (upper, gap, one_step(with_mean, tau) - ltb),
})

# %% [markdown]
# For $H$ and $\Psi$ that do not commute, and for singular ones ({glue:text}`singular_d:.0f` covariates of which only
# {glue:text}`d:.0f` directions vary, and a task that does not vary in one). On the sphere of all {glue:text}`singular_d:.0f` coordinates the
# formula would give {glue:text}`sphere_unrestricted:.7f` for {glue:text}`sphere_in_range:.7f`.

# %% tags=["hide-input"]
skewed_gap, singular_gap = chapter.measured_gaps([
    (skewed, budget.restarts, stream("gap, skewed")),
    (singular, budget.restarts, stream("gap, singular")),
])
unrestricted = chapter.unrestricted_sphere(singular)
ledger.claims({
    "thm41.gap_anisotropic": (
        theory.gap(skewed),
        skewed_gap,
        chapter.gap_unwhitened(skewed),
    ),
    "thm41.gap_singular": (
        theory.gap(singular),
        singular_gap,
        unrestricted - theory.ltb_minimal_risk(singular),
    ),
})

# %% tags=["hide-input", "remove-output"]
lengths = pictures.lengths_shown(n)
measured = chapter.gaps_at_lengths(parameters, lengths, stream)
ledger.figure(pictures.gap(parameters, measured))

# %% [markdown]
# ```{glue:figure} fig-gap
# :name: fig-mlp-gap
#
# What attention alone loses: its least risk less that of the block, whose MLP stores the mean task; in units of the theorem's lower bound
# (dotted), below which it never falls. Left: it hardly feels the size of the mean until
# $\|\beta^\ast\|$ outgrows the spread of tasks; then one step from $0$ (dashed) is as good as anything.
# Green: L-BFGS over all weights. Right: the curves stay below $d + 1$, so the gap is of order $\|\beta^\ast\|^2/n$ throughout.
# ```
#
# ### The ends of the curve, and the sharp constant
#
# For $\|\beta^\ast\| \to 0$ and $\Phi = I$ the ratio $\mathrm{gap}/\|\beta^\ast\|^2$ tends to
#
# $$
# \min_x \Big\{1 - 2x + \tfrac{n+d+1}{n} x^2 - \tfrac{1}{K_0} \big(\tau - x(\tau + \tfrac2n)\big)^2\Big\},
# \qquad K_0 = \tfrac{n+2}{n}(\tau^2 + 2d);
# $$
#
# without the last term it would be $\tfrac{d+1}{n+d+1}$, the value of one step from $0$.
# For $\|\beta^\ast\| \to \infty$ it tends to $\tfrac{2}{n+2}$: labels are then $x^\top\beta^\ast$ and little else, and one step from $0$
# has only to measure $\hat S$ along $\beta^\ast$. That the limit is no larger follows from the upper bound; that it is no smaller is observed.


# %%
def parabola(x):
    K_0 = (n + 2) / n * (tau**2 + 2 * d)
    step = 1 - 2 * x + (n + d + 1) / n * x**2
    return step - (tau - x * (tau + 2 / n)) ** 2 / K_0


small_limit, large_limit = minimize_scalar(parabola).fun, 2 / (n + 2)

# %% [markdown]
# Could the lower bound be improved? Over {glue:text}`problems:.0f` random problems the gap never falls below it, whichever
# of two searches finds less (they agree on {glue:text}`problems_agree:.0f`). It is
# sharp for every $n$: two equal positive eigenvalues of $Q$ *and* an odd part that costs nothing can be had at once with
# one covariate, $\Psi = \|\beta^\ast\|\sigma/(n+1)$ and $\sigma \to \infty$.

# %% tags=["hide-input"]
problems = chapter.random_laws(budget.problems, stream("random problems"))
gaps, agree = chapter.least_gaps(problems, stream("their gaps"))
bounds = [p.beta_star @ p.H @ p.beta_star / (p.n + 1) for p in problems]
least = np.argmin(gaps / bounds)
small = chapter.law_with_mean(d, n, sigma2, 1e-2 * np.sqrt(d))
large = chapter.law_with_mean(d, n, sigma2, 1e2 * max(1, n / 20) * np.sqrt(tau))
sharp = chapter.sharp_law(n)
small_gap, sharp_gap = chapter.measured_gaps([
    (small, budget.restarts, stream("small gap")),
    (sharp, budget.restarts, stream("sharp gap")),
])
large_gap = chapter.descended_gap(large, stream("large gap"))
two_over = lambda m: 2 * (m + 1) / (m + 2)
ledger.claims({
    "thm41.small_norm_limit": (
        small_limit,
        chapter.too_loud(law) or small_gap / theory.mean_size(small),
        (d + 1) / (n + d + 1),
    ),
    "thm41.large_norm_limit": (
        large_limit,
        large_gap / theory.mean_size(large),
        2 / (n + 1),
    ),
    "thm41.bounds_random": (
        1,
        (gaps / bounds)[least],
        two_over(problems[least].n),
    ),
    "thm41.sharp": (1, sharp_gap / theory.lower_bound(sharp), two_over(n)),
})

# %% [markdown]
# ### Trained on samples
#
# Adam, single precision, {glue:text}`batch:.0f` fresh prompts a step, {glue:text}`trainings:.0f` trainings of each model:

# %% tags=["hide-input"]
builds = {"lsa": LinearSelfAttention, "ltb": LinearTransformerBlock}
trained = {
    name: chapter.trainings(law, budget, stream, build, name)
    for name, build in builds.items()
}
risks = {
    name: search.mean_over_trainings([
        search.exact_risk(law, run.weights) for run in runs.sampled
    ])
    for name, runs in trained.items()
}
ledger.claims({
    "thm41.sampled_lsa": (lsa, risks["lsa"], gd_0),
    "thm41.sampled_ltb": (ltb, risks["ltb"], one_step(phi, tau, n)),
})

# %% tags=["hide-input", "remove-output"]
ledger.figure(pictures.training_curves(law, trained["lsa"], trained["ltb"]))

# %% [markdown]
# ```{glue:figure} fig-training_curves
# :name: fig-mlp-training-curves
#
# Attention alone and the block with its MLP are trained to two floors (dashed), each where its formula says. Thick: Adam on the exact loss. Thin: Adam on fresh samples.
# ```
#
# ## No number of heads helps
#
# Several heads may estimate the number one from several even statistics of the context. With $s = \|r\|^2/n$, let $q$ and $C$ be the mean and covariance of $\operatorname{tr}\hat S$, $\operatorname{tr}\Phi\hat S$ and $s$
# ($x$ whitened).
#
# ```{prf:proposition} This book
# :label: prop-mlp-heads
# With any number of heads and no MLP the gap is at least
#
# $$
# \frac{\|\beta^\ast\|_H^2}{1 + q^\top C^{+} q} ,
# $$
#
# and $d + 1$ heads attain it. The MLP brings it to $0$.
# ```
#
# ```{admonition} Proof
# :class: dropdown
# *At least.* {eq}`eq-mlp-split` holds with sums over heads. The odd part costs at least the block's risk. Along $e = \beta^\ast/\|\beta^\ast\|$
# the even part is $\operatorname{tr} A\hat S + m\,s - \|\beta^\ast\|$, where heads can make any symmetric matrix $A$ and any number $m$. Its mean
# square depends on $A$ through the mean, $\operatorname{tr} A$, the covariance with $s$, $\tfrac2n \operatorname{tr} A\Phi$, and the variance,
# $\tfrac2n \operatorname{tr} A^2$. Given the first two the third is least for $A = \alpha I + \gamma\Phi$. So three statistics do, and the least
# mean square of $t^\top(\operatorname{tr}\hat S, \operatorname{tr}\Phi\hat S, s) - \|\beta^\ast\|$ is
# $\min_t (t^\top q - \|\beta^\ast\|)^2 + t^\top C t$, the fraction above.
#
# *Attained.* Let $f_1, \dots, f_d$ be an orthonormal basis. Head $k \le d$ has $c_k = 0$, $u_k = 0$, $v_k' = f_k$, $V_k' = A f_k e^\top$: together
# they add $e \operatorname{tr} A\hat S$ to the even part and nothing to the odd one. Head $d + 1$ has $c = 1$, $v' = 0$, $u = m\,e$, $V' = \Gamma^{\ast\top}$:
# it adds $e\,m\,s$, and makes the odd part as small as the block's. ∎
# ```
#
# Both sides at $d = 3$, $n = 8$, $\sigma^2 = 0.25$, $\|\beta^\ast\| = 3$: the fraction, and least squares of the
# constant 1 on *all six* entries of $\hat S$ and on $s$, over sampled prompts. (Without the 1 below the fraction it would be the best *unbiased*
# estimate.)

# %%
several = PromptLaw.isotropic(3, 8, 0.25, np.full(3, np.sqrt(3)))
q = np.array([3, 3, 3.25])  # tr I, tr Phi, tau
C = 2 / 8 * np.full((3, 3), 3.0)  # tr I, tr Phi and tr Phi² alike
C[2, 2] = 10 / 8 * (3.25**2 + 2 * 3) - 3.25**2  # the variance of s
precision = q @ np.linalg.pinv(C) @ q
floor, unbiased = 9 / (1 + precision), 9 / precision

prompts = several.sample(stream("the number one"), budget.prompts)
S = prompts.X.mT @ prompts.X / 8
s = ((prompts.y - prompts.X @ several.beta_star) ** 2).mean(1)
statistics = np.column_stack([S[:, *np.triu_indices(3)], s])
weights, *_ = np.linalg.lstsq(statistics, np.ones(len(s)))
many = statistics @ weights
lost = 9 * (many - 1) ** 2
left = Estimate(lost.mean(), lost.std() / np.sqrt(len(lost)), len(lost))

# %% [markdown]
# And L-BFGS over the weights of one to four heads, with what the best single head returns for the number one:

# %%
head_gaps = chapter.head_gaps(several, [1, 2, 3, 4], 3, stream("heads"))
best = chapter.descend(several, 1, stream("one head"), LinearSelfAttention).best
part, mean = best.numpy(), several.beta_star
V_, v_ = part["V"] + np.outer(mean, part["u"]), part["v"] + part["c"] * mean
even = S @ v_ @ V_ + part["c"] * np.outer(s, part["u"])
one = even @ mean / (mean @ mean)

# %% tags=["hide-input"]
ledger.figure(prompt_pictures.number_one(one, many))
ledger.claims({
    "multihead.number_one": (floor, left, unbiased),
    "multihead.floor": (floor, head_gaps[-1], unbiased),
})

# %% [markdown]
# ```{glue:figure} fig-number_one
# :name: fig-mlp-number-one
#
# Attention's estimate of the number one, over prompts. One head is off by {glue:text}`one_head_square:.3f` in mean square, and bends its
# step besides: a gap of {glue:text}`heads_1:.4f`. Two to four heads leave
# {glue:text}`heads_2:.4f`, {glue:text}`heads_3:.4f` and {glue:text}`heads_4:.4f`, in the end nine times the mean square of the orange curve.
# ```
#
# ## What the block learns
#
# ```{prf:theorem} Zhang, Wu and Bartlett, Theorem 5.3
# :label: thm-mlp-minimisers
#
# If $\operatorname{rank} \Phi \ge 2$, the block's minimisers are exactly the weights with
#
# $$
# \begin{gathered}
# c \ne 0, \qquad Hu = 0, \qquad H(v + c\beta^\ast) = 0, \\
# H(w_1 - \beta^\ast) = 0, \qquad H(cV^\top - \Gamma^\ast)H = 0,
# \end{gathered}
# $$
#
# where $\Gamma^\ast = \Psi\big(\tfrac{n+1}{n} H\Psi + \tfrac{\tau}{n} I\big)^{-1}$. They all are one function on the data: GD-β with start
# $\beta^\ast$ and step $\Gamma^\ast$.
# ```
#
# ```{admonition} Proof
# :class: dropdown
# Both parts of the error must be least. The odd part is, if and only if $H\Gamma H = H\Gamma^\ast H$. The even part must vanish.
# Given $X$, $\|r\|^2$ is not constant, so $c\,Hu = 0$. If $c = 0$, $\Gamma = u v'^\top$ has rank at most one, but
# $\operatorname{rank}(H\Gamma^\ast H) = \operatorname{rank}\Phi \ge 2$. So $c \ne 0$ and $Hu = 0$; then
# $H\Gamma H = cHV'^\top H \ne 0$, and $V'^\top \hat S v'$ can be constant only if $Hv' = 0$, which leaves $H(w_1 - \beta^\ast) = 0$.
# ```
#
# The risk of the block of
# {prf:ref}`lem-mlp-construction` at $\beta^\ast$ and $\Gamma^\ast$, by forward passes on {glue:text}`prompts:,.0f` random prompts:


# %%
def best_step(law, N=n + 1):  # Gamma*; near miss: N = n
    tau = np.trace(law.H @ law.Psi) + law.sigma2
    inner = N * law.H @ law.Psi + tau * np.eye(law.d)
    return n * law.Psi @ np.linalg.inv(inner)


rng = stream("constructed block")
products = lemma_5_1(law.beta_star, best_step(law), np.zeros((3, d + 1, d + 1)))


def risk(B):  # the query's noise adds sigma2
    p = law.sample(rng, B)
    answers = block(token_matrix(p.X, p.y, p.x_query), *products)
    return (answers - (p.beta * p.x_query).sum(1)) ** 2 + sigma2


chunk = max(100, 10**6 // (n * d))
constructed = monte_carlo(risk, budget.prompts, chunk=chunk)

# %% [markdown]
# *Necessary:* every block that L-BFGS found at the least risk satisfies the conditions.


# %%
def violation(beta_star, H, Gamma, w1, v, c, V, u):  # relative
    size, mean = np.linalg.norm, max(1, np.linalg.norm(H @ beta_star))
    step = size(H @ Gamma @ H)
    return max(
        size(c * H @ u) / step,
        size(H @ (v / c + beta_star)) / mean,
        size(H @ (w1 - beta_star)) / mean,
        size(H @ (c * V.T - Gamma) @ H) / step,
    )


# %% [markdown]
# *Sufficient:* whatever satisfies them has the least risk, by the exact loss. A draw from the set: any $c \ne 0$, and anything that
# $H$ cannot see.


# %%
def draw(law, Gamma, rng):
    seen = np.linalg.pinv(law.H, rcond=1e-10, hermitian=True) @ law.H
    unseen, c = np.eye(law.d) - seen, rng.choice([-1, 1]) * np.exp(rng.normal())
    w, v, u = rng.standard_normal((3, law.d)) @ unseen
    # u meets the labels twice
    u /= 1 + np.linalg.norm(law.beta_star) + np.sqrt(law.sigma2)
    free = rng.standard_normal((law.d, law.d))
    V = (Gamma + free - seen @ free @ seen).T / c
    return law.beta_star + w, v - c * law.beta_star, c, V, u


def excess(law, N, rng):
    weights = draw(law, best_step(law, N), rng)
    least = theory.ltb_minimal_risk(law)
    return abs(chapter.risk_of(law, *weights) / least - 1)


# %% [markdown]
# **Rank one is an exception.** If tasks vary along a single direction, $\Gamma^\ast = u v'^\top$ is itself of rank one, and a block with
# $c = 0$, whose values do not see the labels (only the keys do), does as well: $v = v'$, $V = -\beta^\ast u^\top$, $w_1 = \beta^\ast$. With
# $\Psi = \psi\psi^\top$ for a random $\psi$ and the correlated $H$ from above:

# %%
psi = stream("rank one").standard_normal(d)
line = PromptLaw(n, skewed.H, np.outer(psi, psi), skewed.beta_star, sigma2)
U, sizes, Vt = np.linalg.svd(best_step(line))
u, v, mean = U[:, 0] * sizes[0], Vt[0], line.beta_star
exception = chapter.risk_of(line, mean, v, 0.0, -np.outer(mean, u), u)
unshifted = chapter.risk_of(line, mean, v, 0.0, 0 * np.outer(mean, u), u)

# %% tags=["hide-input"]
singular_ends = chapter.descend(
    singular, budget.restarts, stream("singular block"), LinearTransformerBlock
)
found = chapter.minimisers(law, ends[LinearTransformerBlock])
singular_found = chapter.minimisers(singular, singular_ends)
undefined = chapter.rank_below_two(law)
worst = lambda found, H, law, N=n + 1: max(
    (violation(law.beta_star, H, best_step(law, N), **part) for part in found),
    default=np.inf,
)
sufficient = stream.entropy("sufficient")


def largest_excess(N):
    rng = np.random.default_rng(sufficient)
    tried = [p for p in (law, skewed, singular) for _ in range(20)]
    return max(excess(p, N, rng) for p in tried)


ledger.claims({
    "thm53.risk": (ltb, constructed, one_step(phi, tau, n)),
    "thm53.minimisers": (
        0,
        undefined or worst(found, law.H, law),
        worst(found, law.H, law, n),
    ),
    "thm53.minimisers_singular": (
        0,
        undefined or worst(singular_found, singular.H, singular),
        worst(singular_found, np.eye(singular.d), singular),
    ),
    "thm53.sufficient": (0, largest_excess(n + 1), largest_excess(n)),
    "thm53.rank_one_exception": (
        theory.ltb_minimal_risk(line),
        exception,
        unshifted,
    ),
})

# %% [markdown]
# ## Training can get stuck
#
# With the mean absorbed by $w_1$, the block's landscape is a function on a
# sphere as in {eq}`eq-mlp-sphere`, and on the circle through each axis of $\Phi$ it is a curve in one angle $\varphi$, with GD-β at
# $\varphi = 0$. For $H = \operatorname{diag}(1, \tfrac12, \tfrac13)$, $\Psi = I$, $\beta^\ast = (1,1,1)$, $n = 8$, $\sigma^2 = 0.25$
# the circle through the first axis has a second valley, at risk
# {glue:text}`landscape.spurious_valley.predicted:.6f` instead of {glue:text}`landscape.global_minimum.predicted:.6f`. The Hessian is
# positive there, its least eigenvalue {glue:text}`curvature:.3f`, and L-BFGS over all matrices, started beside it, stays:

# %% tags=["hide-input"]
valleys = theory.ltb_valleys(false_valleys.TRAP)
trap = false_valleys.trap_restarts(
    budget.landscape, stream("starts near the trap")
)
end = false_valleys.descend_from_valley(valleys[-1], stream("from the valley"))
bottom = theory.ltb_minimal_risk(false_valleys.TRAP)
lowest = min(ends_.risks.min() for ends_ in trap.values())
ledger.claims({
    "landscape.spurious_valley": (valleys[-1].risk, end, bottom),
    "landscape.global_minimum": (
        bottom,
        lowest,
        valleys[-1].risk,
    ),
})

# %% tags=["hide-input", "remove-output"]
ledger.figure(pictures.landscape(trap))

# %% [markdown]
# ```{glue:figure} fig-landscape
# :name: fig-mlp-landscape
#
# Left: the block's least risk at each angle has a second valley. Right: of {glue:text}`trap_starts:.0f`
# random starts of L-BFGS at each scale of the first weights a share ends in it, at the middle scale
# {glue:text}`false_share:.2f` ± {glue:text}`false_share_stderr:.2f` (what is missing to 1 had not settled after 800 iterations).
# ```
#
# There the block weighs tokens by one covariate besides the label. GD-β, trained in its own parameters
# $(\beta, \Gamma)$, reached the global minimum from {glue:text}`gd_beta_reached:.0f` of {glue:text}`gd_beta_starts:.0f` starts, as the next
# chapter's convergence theorem promises; for the block's own matrices it does not hold.
#
# ## Do real transformers need the MLP?
#
# The paper's Table 1 trains a GPT-2 with 6 layers and 4 heads, with and without its MLPs, and prints these test losses:
#
# | task mean | with MLP | without |
# |---|---|---|
# | zero | {glue:text}`published_1:g` | {glue:text}`published_2:g` |
# | «a vector of tens» | {glue:text}`published_3:g` | {glue:text}`published_4:g` |
#
# **Its settings.** Its runs «follow the setting of Garg et al. (2022), except that we use the token matrix», with
# GPT-2's start (residual projections scaled by the number of residual connections), Adam, new tasks at every step, and one law for
# training and test. {cite:t}`garg2022` have $d =$ {glue:text}`table1_d:.0f`, $n =$ {glue:text}`table1_n:.0f`, $H = \Psi = I$, no label
# noise, {glue:text}`table1_batch:.0f` prompts a step, Adam at $10^{-4}$ for 500,001 steps with a curriculum; their smaller GPT-2 of 6 layers
# and 4 heads has width {glue:text}`table1_width:.0f`. They divide errors by $d$. Whether Table 1 does is not known, so both
# units stand here. A vector of tens we read as $\beta^\ast = (10, \dots, 10)$.
#
# **What the theory says at this size, with no training at all**, for the tens:
#
# | | raw | divided by $d$ |
# |---|---|---|
# | linear attention, one head: at least | {glue:text}`table1_floor_lsa:.2f` | {glue:text}`table1_floor_lsa_d:.3f` |
# | one layer, any number of heads: at least | {glue:text}`table1_floor_heads:.2f` | {glue:text}`table1_floor_heads_d:.3f` |
# | the linear block: at least | {glue:text}`table1_floor_ltb:.3f` | {glue:text}`table1_floor_ltb_d:.3f` |
#
# If the printed losses are raw, {glue:text}`published_4:g` without MLP lies below both floors of attention: what that GPT-2's MLPs gain is not the gap of
# {prf:ref}`thm-mlp-gap`. If they are divided by $d$, it lies above
# all three: without MLPs it does worse than a single layer of linear attention can, which tells of its training more
# than of its architecture. For mean zero, where there is no gap, both printed losses are far below the common floor
# {glue:text}`table1_floor_zero:.3f` raw, {glue:text}`table1_floor_zero_d:.3f` divided by $d$. On neither reading does Table 1 show the gap of
# Theorem 4.1.
#
# **Our trainings** have that size, that batch and those laws. Every prompt asks {glue:text}`table1_queries:.0f` queries that do not see
# each other, Muon moves the matrices inside the blocks and Adam the rest, labels are in units of their size, without a
# curriculum. The rates, Muon's swept for every entry, stay up until {glue:text}`table1_stretch:.0f` more steps lower the loss by no more than two
# standard errors (*settled*), and then fall to zero over as many steps. The model is GPT-2 with GELU itself for its
# approximation. The book carries what came out, of trainings side by side on one GPU for {glue:text}`table1_gpu_minutes:.0f` minutes (products at
# constant rates in TF32); core minutes are what as many steps take on one core, by shorter trainings there. `python -m icl train table1 --anew` makes them again, with `--device cuda` on a GPU:

# %% tags=["hide-input"]
table1_pictures.trainings()

# %% [markdown]
# Each ± of the table is over test prompts, that of a claim over an entry's trainings. The printed loss is taken as raw, the
# stricter reading, and as a bound. The table's order is a ratio without a unit:

# %% tags=["hide-input"]
losses = table1.results(profile)
printed = {
    name: (entry.printed, losses[name])
    for name, entry in table1.ENTRIES.items()
}
orders = {name: (1, ratio) for name, ratio in table1.orders().items()}
ledger.claims(printed | orders)

# %% tags=["hide-input", "remove-output"]
ledger.figure(table1_pictures.curves())

# %% [markdown]
# ```{glue:figure} fig-table1_curves
# :name: fig-mlp-table1
#
# Each training's loss on fresh prompts, raw, with the printed test losses (dashed). Grey: knowing the mean task and nothing of
# the prompt's own. In the second half of each the rates fall. There are
# {glue:text}`table1_trainings:.0f` trainings for the table's {glue:text}`table1_entries:.0f` entries; settled: {glue:text}`table1_settled:.0f`.
# ```
#
# **The order is one of steps.** Without noise the least loss is $0$, and at constant rates the loss falls about as one over the
# step. *Settled* is the first stretch in which chance hides that, for one training sooner than for the next, and whoever settles later falls
# longer. So all were left at constant rates beyond that point, and can be compared step for step. After {glue:text}`table1_early_steps:,.0f` steps the
# loss with MLPs is {glue:text}`table1_early_1:.2f` ± {glue:text}`table1_early_1_stderr:.2f` times that without at mean zero and {glue:text}`table1_early_2:.2f` ±
# {glue:text}`table1_early_2_stderr:.2f` times for the tens; after {glue:text}`table1_late_steps:,.0f`, {glue:text}`table1_late_1:.2f` ± {glue:text}`table1_late_1_stderr:.2f` and
# {glue:text}`table1_late_2:.2f` ± {glue:text}`table1_late_2_stderr:.2f` times. Printed are {glue:text}`table1_printed_1:.3f` and {glue:text}`table1_printed_2:.4f`.
#
# **What each ingredient is worth.** A ladder at two smaller sizes, mean zero and no noise: $d =$ {glue:text}`ladder_d_1:.0f`, $n =$ {glue:text}`ladder_n_1:.0f`,
# {glue:text}`ladder_layers_1:.0f` layers of width {glue:text}`ladder_width_1:.0f`, about {glue:text}`ladder_seconds_1:.0f` seconds of a core a training; and $d =$ {glue:text}`ladder_d_2:.0f`, $n =$ {glue:text}`ladder_n_2:.0f`,
# {glue:text}`ladder_layers_2:.0f` of width {glue:text}`ladder_width_2:.0f`, about {glue:text}`ladder_seconds_2:.0f`. It begins with the recipe of {cite:t}`garg2022`; each rung adds one ingredient, and
# the last rows lack one ingredient of the whole recipe, or two, or train longer. Every row has its rate swept first, past the ends of the grid where the best lay there, and
# {glue:text}`ladder_seeds:.0f` seeds. Errors are after all $n$ examples, divided by $d$; answering $0$ errs by $1$.

# %% tags=["hide-input", "remove-output"]
ledger.figure(ingredient_pictures.ladder())

# %% [markdown]
# ```{glue:figure} fig-ladder
# :name: fig-mlp-ladder
#
# Test error a dimension against processor seconds: medians over seeds, and a dot for every seed's end. From pale to strong: the rungs that Adam
# trains, the published recipe the palest; in colour Muon. Dotted: errors .02, .005 and .001.
# ```

# %% tags=["hide-input"]
ingredient_pictures.table()

# %% [markdown]
# In so few seconds the published recipe has hardly begun: it was made for days of a GPU, and with more time the order may be another. Here,
# at the first size and the second, one token a pair in place of two divides the error by {glue:text}`ladder_pairs_1:.1f` and {glue:text}`ladder_pairs_2:.1f`, many queries
# at the full context by another {glue:text}`ladder_queries_1:.1f` and {glue:text}`ladder_queries_2:.1f`, the start by {glue:text}`ladder_start_1:.1f` and {glue:text}`ladder_start_2:.1f`, rates that
# rise, stay and fall by {glue:text}`ladder_decay_1:.1f` and {glue:text}`ladder_decay_2:.1f`, Muon by {glue:text}`ladder_muon_1:.1f` and {glue:text}`ladder_muon_2:.1f`. Taken out of the whole
# recipe, its many queries cost most: with one the error is {glue:text}`ladder_one_query_1:.1f` and {glue:text}`ladder_one_query_2:.1f` times as large, with a query for every prefix
# {glue:text}`ladder_prefixes_1:.1f` and {glue:text}`ladder_prefixes_2:.1f` times.
#
# **What helps little, or hurts.** Leaving the curriculum away hurts where it stands, with two tokens a pair: the error is
# {glue:text}`ladder_curriculum_1:.1f` and {glue:text}`ladder_curriculum_2:.1f` times as large, though seeds differ as much. Muon gains less where a prompt has but one
# query: there Adam's error is {glue:text}`ladder_one_adam_1:.2f` and {glue:text}`ladder_one_adam_2:.2f` times Muon's, each at its best rate. Beside Muon the start is worth little (GPT-2's own:
# {glue:text}`ladder_gpt2_1:.2f` and {glue:text}`ladder_gpt2_2:.2f` times), and the labels' unit as little (raw labels: {glue:text}`ladder_raw_1:.2f` and {glue:text}`ladder_raw_2:.2f` times): the
# latter is there for the tens.
#
# **What more time buys.** In the same time no row reaches $.001$ a dimension. The last row is the whole recipe with four times as many steps,
# its rate swept anew, at the first size alone: it ends at {glue:text}`ladder_longer:.5f`, and was below .02, .005 and .001 after
# {glue:text}`ladder_longer_1:.0f`, {glue:text}`ladder_longer_2:.0f` and {glue:text}`ladder_longer_3:.0f` seconds of a core. (At the pace of the other rows, for it was trained on a slower machine. The
# short training is sooner below .005, since its rates fall sooner.) The trainings of Table 1 reach .001 at their own size: with MLPs and mean zero
# the training loss is below .02, .005 and .001 a dimension after {glue:text}`table1_seconds_1:,.0f`, {glue:text}`table1_seconds_2:,.0f` and {glue:text}`table1_seconds_3:,.0f` seconds of a core.
#
# **What a GPT-2 without MLP can do that LSA cannot.** LSA's residual connection carries a $0$ to the answer ({numref}`fig-mlp-diagram`). In a GPT-2 the query's
# covariates pass every layer in the *residual stream* and at the end meet a learned read-out vector, the row $r$ of this chapter.
# It can contain $\beta^\ast$ and add $\beta^{\ast\top} x$ to the answer, with no MLP anywhere. Indeed a block whose MLP has a *single* hidden
# unit, which is a linear read-out, already has the full block's least risk:

# %%
one_unit = chapter.descend(
    law, budget.restarts, stream("one unit"), chapter.ONE_HIDDEN_UNIT
)

# %% tags=["hide-input"]
ledger.claims({"thm53.one_hidden_unit": (ltb, one_unit.risks.min(), lsa)})

# %% [markdown]
# So {prf:ref}`thm-mlp-gap` does not bind it, and what its MLPs are worth is a question about
# *training*. Below are decoders with {glue:text}`gpt_layers:.0f` layers, {glue:text}`gpt_heads:.0f` heads and width {glue:text}`gpt_width:.0f` at $d =$ {glue:text}`gpt_d:.0f`,
# $n =$ {glue:text}`gpt_n:.0f`, $\sigma^2 =$ {glue:text}`gpt_sigma2:g`, trained by the recipe above, each until a stretch at constant rates no longer helps,
# with every rate of Muon and {glue:text}`gpt_seeds:.0f` seeds: {glue:text}`gpt_runs:.0f` runs of {glue:text}`gpt_least_steps:,.0f` to {glue:text}`gpt_most_steps:,.0f` steps, all shown.
# The book carries them; `python -m icl train gpt_sweep` makes them anew.

# %% tags=["hide-input", "remove-output"]
sweep = gpt_sweep.sweep()
ledger.figure(pictures.gpt_sweep(sweep))

# %% [markdown]
# ```{glue:figure} fig-gpt_sweep
# :name: fig-mlp-gpt-sweep
#
# Each dot is one training; lines are geometric means over seeds. Dashed, from above: the least risk of linear attention, of the linear
# block (the same for mean zero), and Bayes. {glue:text}`gpt_below:.0f` of the trainings end below the linear block; settled: {glue:text}`gpt_settled:.0f`.
# ```
#
# Without the MLP the risk is {glue:text}`zero_ratio_low:.3f` to {glue:text}`zero_ratio_high:.3f` times as large for mean zero, depending on
# the rate, and {glue:text}`mean_ratio_low:.3f` to {glue:text}`mean_ratio_high:.3f` times for
# $\|\beta^\ast\| =$ {glue:text}`gpt_beta_norm:g`.
# With a mean task, the best GPT without MLP has test risk {glue:text}`best_without:.3f`, the best with it {glue:text}`best_with:.3f`, Bayes {glue:text}`bayes_small:.3f`;
# linear attention cannot get below {glue:text}`lsa_floor_small:.3f`. So attention alone has learned the mean task; an MLP still helps, with a mean
# task and without.

# %% [markdown]
# ## Move it yourself
#
# Move $\|\beta^\ast\|$: once the mean outgrows the spread of tasks and noise, attention falls back on one step from $0$. Move $n$: the gap
# shrinks, but not as fast as the bound. **A question:** how close to the bound can you get?
#
# ```{admonition} Answer
# :class: dropdown
# One covariate, much noise, and a mean that is not large: then the ratio tends to 1 as $\sigma \to \infty$. With more covariates it does
# not. For small means and $\sigma \to \infty$ the limit above becomes $\mathrm{gap}/\|\beta^\ast\|^2 \to \tfrac{2(d+1)}{(d+3)\,n + 2(d+1)}$, which is
# $\tfrac{1}{n+1}$ at $d = 1$ and climbs to $\tfrac{2}{n+2}$ with $d$.
# ```

# %% tags=["hide-input"]
explorable(parameters)

# %% [markdown]
# ## What the theory does not say
#
# - {prf:ref}`thm-mlp-gap` compares *least* risks of one layer, its «MLP» is linear, and every token is a random example: one that never
#   changes does the MLP's job ({ref}`ex-soft-prompt`).
# - Covariates, tasks and noise are Gaussian. The first formula needs of the tasks a symmetric law around $\beta^\ast$ and their covariance; the exact
#   least risk of LSA needs their fourth moments too.
# - Not proved: {ref}`ex-mlp-open`, and that the minimum over the sphere is found (many starts, no certificate). False valleys were looked for on the
#   circles through the axes of $\Phi$ only, and how often training ends in one at one problem.
# - The sweep is of a GPT-2 far smaller than the paper's; the trainings at the size of Table 1 follow a recipe of our own.

# %% tags=["hide-input", "remove-output"]
false_rate = false_valleys.stuck_rate(
    trap[false_valleys.SCALES[1]], valleys[-1].risk
)
zero_ratios, mean_ratios = sweep.ratios()
numbers = {
    "d": d,
    "n": n,
    "sigma2": sigma2,
    "beta_norm": beta_norm,
    "singular_d": singular.d,
    "sphere_in_range": theory.lsa_minimum(singular).risk,
    "sphere_unrestricted": unrestricted,
    "starts": len(ends[LinearSelfAttention].risks),
    "problems": budget.problems,
    "batch": budget.batch,
    "trainings": budget.trainings,
    "prompts": budget.prompts,
    "curvature": theory.Profile(false_valleys.TRAP, block=True).least_curvature(
        valleys[-1]
    ),
    "trap_starts": budget.landscape,
    "false_share": false_rate.mean,
    "false_share_stderr": false_rate.stderr,
    "gd_beta_starts": budget.landscape,
    "gd_beta_reached": false_valleys.gd_beta_reached(
        budget.landscape, stream("GD-β near the trap")
    ),
    "gpt_seeds": len(gpt_sweep.SEEDS),
    "gpt_runs": sweep.risks.size,
    "gpt_least_steps": sweep.steps.min(),
    "gpt_most_steps": sweep.steps.max(),
    "gpt_settled": sweep.settled.sum(),
    "gpt_sigma2": gpt_sweep.SIGMA2,
    "gpt_beta_norm": gpt_sweep.BETA_NORM,
    "gpt_below": (
        sweep.risks.reshape(2, -1)
        < [[theory.ltb_minimal_risk(p)] for p in sweep.laws]
    ).sum(),
    "problems_agree": agree,
    "one_head_square": ((one - 1) ** 2).mean(),
    "zero_ratio_low": zero_ratios.min(),
    "zero_ratio_high": zero_ratios.max(),
    "mean_ratio_low": mean_ratios.min(),
    "mean_ratio_high": mean_ratios.max(),
    "best_with": sweep.risks[1, 0].min(),
    "best_without": sweep.risks[1, 1].min(),
    "bayes_small": isotropic_bayes_risk(
        gpt_sweep.SIZES["d"], gpt_sweep.SIZES["n"], gpt_sweep.SIGMA2
    ),
    "lsa_floor_small": theory.lsa_minimum(sweep.laws[1]).risk,
}
numbers |= {f"heads_{k + 1}": value for k, value in enumerate(head_gaps)}
numbers |= {f"gpt_{name}": value for name, value in gpt_sweep.SIZES.items()}
trained = [run for runs in table1.runs().values() for run in runs.values()]
numbers |= {
    "table1_d": table1.SIZES["d"],
    "table1_n": table1.SIZES["n"],
    "table1_width": table1.SIZES["width"],
    "table1_batch": table1.BATCH,
    "table1_queries": table1.QUERIES,
    "table1_stretch": table1.PLAN.stretch,
    "table1_trainings": len(trained),
    "table1_entries": len(table1.runs()),
    "table1_settled": sum(run["settled"] for run in trained),
    "table1_gpu_minutes": max(run["gpu_seconds"] for run in trained) / 60,
}
for name, steps in (("early", 3000), ("late", None)):
    numbers[f"table1_{name}_steps"], compared = table1.step_for_step(steps)
    for k, ratio in enumerate(compared.values(), 1):
        numbers[f"table1_{name}_{k}"] = ratio.mean
        numbers[f"table1_{name}_{k}_stderr"] = ratio.stderr
for k, pair in enumerate(table1.ORDERS.values(), 1):
    over, under = (table1.ENTRIES[entry].printed for entry in pair)
    numbers[f"table1_printed_{k}"] = over / under
floors = table1.floors()
numbers |= {
    "table1_floor_lsa": floors["lsa"],
    "table1_floor_lsa_d": floors["lsa"] / table1.SIZES["d"],
    "table1_floor_heads": floors["heads"],
    "table1_floor_heads_d": floors["heads"] / table1.SIZES["d"],
    "table1_floor_ltb": floors["ltb"],
    "table1_floor_ltb_d": floors["ltb"] / table1.SIZES["d"],
    "table1_floor_zero": floors["zero"],
    "table1_floor_zero_d": floors["zero"] / table1.SIZES["d"],
}
printed = [entry.printed for entry in table1.ENTRIES.values()]
numbers |= {
    "published_1": printed[0],
    "published_2": printed[1],
    "published_3": printed[2],
    "published_4": printed[3],
}
rungs, whole = ingredient_pictures.ends(), ingredient_pictures.WHOLE
ratios = {  # of the errors of two recipes
    "pairs": ("without curriculum", "one token a pair"),
    "queries": ("one token a pair", "n queries after all examples"),
    "start": ("labels in their unit", "start by fan-in"),
    "decay": ("start by fan-in", "warm-up, flat, decay"),
    "muon": ("warm-up, flat, decay", whole),
    "curriculum": ("without curriculum", "Garg et al."),
    "one_query": ("whole recipe, but with one query", whole),
    "one_adam": (
        "whole recipe, but with one query, and Adam",
        "whole recipe, but with one query",
    ),
    "prefixes": ("whole recipe, but with a query for every prefix", whole),
    "gpt2": ("whole recipe, but with GPT-2's start", whole),
    "raw": ("whole recipe, but with raw labels", whole),
}
for k, size in enumerate(ingredient_pictures.sizes().values(), 1):
    for name in ("d", "n", "layers", "width", "seconds"):
        numbers[f"ladder_{name}_{k}"] = size[name]
    for name, (one, other) in ratios.items():
        numbers[f"ladder_{name}_{k}"] = rungs[one][k - 1] / rungs[other][k - 1]
numbers["ladder_seeds"] = ingredient_pictures.SEEDS
tried = {recipe.name: recipe for recipe in ingredient_pictures.recipes()["d5"]}
four_times = tried[ingredient_pictures.LONGER]
numbers["ladder_longer"] = np.median(four_times.errors[:, -1])
for k, level in enumerate(ingredient_pictures.LEVELS, 1):
    numbers[f"ladder_longer_{k}"] = four_times.reached(level)
for k, found in enumerate(
    ingredient_pictures.seconds_at_table1("table1.zero_mean_mlp"), 1
):
    numbers[f"table1_seconds_{k}"] = found
for name, value in numbers.items():
    ledger.number(name, value)

# %% [markdown]
# ## Exercises
#
# ★ a pencil and ten minutes; ★★ more thought, or a few lines of code; ★★★ a proof; ◇ open. The solutions' code ran with this page.
#
# ```{exercise} An MLP in units of examples ★
# :label: ex-mlp-examples
# Take $H = \Psi = I$ and $k = d + 1 + \sigma^2$. Attention without the MLP gets a longer context $n' > n$ and wants to be as good as the block at $n$. Use
# {prf:ref}`thm-mlp-gap` to bound $n'/n$ for long contexts.
# ```
#
# ```{solution} ex-mlp-examples
# :label: sol-mlp-examples
# :class: dropdown
# Let $B = \|\beta^\ast\|$. The block's excess is $\frac{dk}{n+k} \approx \frac{dk}{n}$. *At least:* attention's excess at $n'$ is at least
# $\frac{dk}{n'} + \frac{B^2}{n'}$ to leading order, so $n'/n \ge 1 + \frac{B^2}{dk}$. *At most:* one step from $0$ sees tasks of second moment $I + \beta^\ast\beta^{\ast\top}$,
# with labels of variance $\tau' = d + B^2 + \sigma^2$. Each term of its excess tends to $\frac{\varphi + \tau'}{n'}$, and the sum is
#
# $$
# \tfrac1{n'}\big[d + B^2 + d\tau'\big] = \tfrac1{n'}\big[dk + (d+1) B^2\big] ,
# $$
#
# so $n'/n \le 1 + (d+1)\frac{B^2}{dk}$.
#
# Here $B^2/(dk) =$ {glue:text}`ex_mlp_unit:.3f`, so the MLP saves attention between {glue:text}`ex_mlp_least:.2f` and
# {glue:text}`ex_mlp_most:.2f` times the context, if it is long. At $n =$ {glue:text}`n:.0f` the exact answer from {eq}`eq-mlp-sphere` is
# $n' =$ {glue:text}`ex_mlp_length:.0f`. A fixed mean is always worth a fixed *factor* of context, never an amount that fades.
# ```
#
# ```{exercise} One fixed example is worth an MLP ★★
# :label: ex-soft-prompt
# Do not touch the architecture: plain linear attention, no MLP. But put one more example $(x_0, y_0)$ into *every* prompt, always the same, and
# learn it like a weight. What is the least risk now?
# ```
#
# ```{solution-start} ex-soft-prompt
# :label: sol-soft-prompt
# :class: dropdown
# ```
#
# The block's. Let values be residuals, $v = -c\,\beta^\ast$, and $V = \Gamma^{\ast\top}$, $u = 0$. The real examples then add
# $\Gamma^\ast X^\top(y - X\beta^\ast)$ up to a factor, as they should. Choose $x_0 = \Gamma^{\ast -1}\beta^\ast$ and $y_0 = \beta^{\ast\top} x_0 + n$: its residual is
# $n$, and it adds $\tfrac1n\, \Gamma^\ast x_0\, n = \beta^\ast$. The output is
#
# $$
# f = x^\top\big\{\beta^\ast + \tfrac1n\, \Gamma^\ast X^\top (y - X\beta^\ast)\big\} ,
# $$
#
# which is GD-β, the block's optimum. In {prf:ref}`thm-mlp-gap` every token is a random example, from which the number
# one has to be *estimated*. A token that is always there is the number one. (Learned prompts and «begin of text»
# tokens do this job in real transformers.) The forward pass agrees to rounding:

# %%
mean, Gamma = np.full(5, 3 / np.sqrt(5)), 20 / 26.25 * np.eye(5)
shifted = PromptLaw.isotropic(5, 20, 0.25, mean)
x_0 = np.linalg.solve(Gamma, mean)
y_0 = mean @ x_0 + 20

p = shifted.sample(stream("exercise 2"), 500)
X = np.concatenate([p.X, np.tile(x_0, (500, 1, 1))], axis=1)
y = np.column_stack([p.y, np.full(500, y_0)])
_, PV, KQ = lemma_5_1(mean, Gamma, np.zeros((3, 6, 6)))
PV *= 21 / 20  # the model divides by 21 tokens, GD-β by 20
answers = attention(token_matrix(X, y, p.x_query), PV, KQ)
step = gd_beta(p.X, p.y, p.x_query, mean, Gamma)
difference = np.abs(answers - step).max()
print(f"largest difference from GD-β: {difference:.0e}")
assert difference < 1e-12

# %% [markdown]
# ```{solution-end}
# ```
#
# ```{exercise} What many heads can do ★★
# :label: ex-heads
# For $H = \Psi = I$ let the heads estimate the number one by $\operatorname{tr}\hat S$ alone, $\hat S = X^\top X/n$. What gap does
# the best multiple leave? Compare with the exact floor for any number of heads, and with the bound for one head.
# ```
#
# ```{solution-start} ex-heads
# :label: sol-heads
# :class: dropdown
# ```
#
# $\operatorname{tr}\hat S$ is $\tfrac1n$ times a $\chi^2$ with $nd$ degrees of freedom: mean $d$, variance $2d/n$. The best multiple $t$ minimises
# $(1 - td)^2 + t^2\, 2d/n$, which leaves
#
# $$
# \frac{1}{1 + d^2 / (2d/n)} = \frac{2}{nd + 2}
# $$
#
# of $\|\beta^\ast\|^2$. One head, whose $Q$ has two positive eigenvalues at most, has only two independent looks at each example, and
# stays above $\frac{1}{n+1}$. The labels' $\|r\|^2/n$ adds next to nothing, because it varies from task to task:

# %%
for heads_d, heads_n in ((3, 8), (5, 20), (10, 20)):
    direction = 3.0 * np.eye(heads_d)[0]
    problem = PromptLaw.isotropic(heads_d, heads_n, 0.25, direction)
    exact = theory.multi_head_floor(problem)
    trace_only = 9 * 2 / (heads_n * heads_d + 2)
    both = f"floor {exact:.5f}, trace only {trace_only:.5f}"
    print(f"d = {heads_d}, n = {heads_n}: {both}")
    assert exact <= trace_only < 1.001 * exact

# %% [markdown]
# ```{solution-end}
# ```
#
# ```{exercise} More heads beside an MLP ★★★
# :label: ex-heads-and-mlp
# Give the *block* $K$ heads: $f = w_1^\top x$ plus a sum of $K$ terms like the second one of {eq}`eq-mlp-effective`. Prove that its least risk is that of one
# head, for every $H$, $\Psi$, $\beta^\ast$ and $K$. Where does the proof use that tasks are Gaussian?
# ```
#
# ```{solution} ex-heads-and-mlp
# :label: sol-heads-and-mlp
# :class: dropdown
# {eq}`eq-mlp-split` holds with sums over heads, $\Gamma = \sum_k (c_k V_k'^\top + u_k v_k'^\top)$.
# The two parts are uncorrelated, so the risk is at least $\sigma^2$ plus the odd part's mean square. That depends on the weights through the matrix
# $\Gamma$ alone, and one head already reaches every matrix ($c = 1$, $V' = \Gamma^\top$, $u = v' = 0$). So the minimum over $\Gamma$, the first formula of
# {prf:ref}`thm-mlp-gap`, bounds the $K$-head block from below; the one-head block attains it. ∎
#
# Gaussian tasks: only $(\theta, \varepsilon) \overset{d}{=} (-\theta, -\varepsilon)$ and $\mathbb E\,\theta\theta^\top = \Psi$ were used. For skewed tasks the two parts
# correlate, and both the statement and the proof fail (compare {ref}`ex-skewed`).
# ```
#
# ```{exercise} Two observations without a proof ◇
# :label: ex-mlp-open
# 1. Prove that $\mathrm{gap}/\|\beta^\ast\|_H^2 \to \tfrac{2}{n+2}$ as $\|\beta^\ast\|_H \to \infty$ (the lower bound is missing).
# 2. Prove, or refute, that $K = d$ heads already attain the floor that $d + 1$ heads attain.
# ```
#
# ```{solution} ex-mlp-open
# :label: sol-mlp-open
# :class: dropdown
# **1. Known:** «at most», from one step from $0$. And «at least» if $c = 0$: then $Q = \operatorname{sym}(\rho\nu^\top)$ with
#
# $$
# \|Q\|_F^2 = \tfrac12\big(\|\rho\|^2\|\nu\|^2 + (\rho^\top\nu)^2\big) \ge (\operatorname{tr} Q)^2 ,
# $$
#
# and $\min_t\, (1-t)^2 + \tfrac2n t^2 = \tfrac{2}{n+2}$. A second positive eigenvalue, which would bring this down to $\tfrac{1}{n+1}$, needs
# the labels: $c\,u$ of the order of $\|\beta^\ast\|$. Then $\Gamma = cV'^\top + uv'^\top$ is of that order too, and the odd part pays in
# proportion to $\|\beta^\ast\|^2$. **Missing:** to make this trade precise for all weights at once. Computed gaps meet the limit.
#
# **2. Known:** $d + 1$ suffice ({prf:ref}`prop-mlp-heads`), and $d$ on a handful of problems, this page's among them. **Open:** the general case. A lower bound for $K < d$ is $\frac{2\|\beta^\ast\|_H^2}{(K+1)\,n + 2}$, from the number of positive eigenvalues of $Q$.
# ```

# %% tags=["hide-input", "remove-output"]
import bisect

unit = beta_norm**2 / (d * (d + 1 + sigma2))
enough = (n + d + 1 + sigma2) * (1 + (d + 1) * unit)  # one step from 0 arrives
lengths = range(n, int(enough) + 2)  # the least of them, by bisection
longer = lengths[
    bisect.bisect_left(
        lengths,
        True,
        key=lambda m: (
            theory.isotropic_lsa_risk(d, m, sigma2, beta_norm) < ltb + 1e-9
        ),
    )
]
exercise_numbers = {
    "ex_mlp_unit": unit,
    "ex_mlp_least": 1 + unit,
    "ex_mlp_most": 1 + (d + 1) * unit,
    "ex_mlp_length": longer,
}
for name, value in exercise_numbers.items():
    ledger.number(name, value)

# %% [markdown]
# ## Every claim of this chapter
#
# Each holds within its tolerance, fixed beforehand, and five standard errors.

# %% tags=["hide-input"]
ledger.save()
