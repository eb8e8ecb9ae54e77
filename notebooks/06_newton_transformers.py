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
# (newton-transformers)=
# # Deep transformers and Newton's method
#
# One layer of linear attention is one step of gradient descent. What do twelve layers do? {cite:t}`fu2024` look inside a trained
# transformer and say: not twelve steps of gradient descent. Layer by layer its errors resemble those of **Newton's iteration**
# for the inverse of $S = X^\top X$,
#
# ```{math}
# :label: eq-newton
# M_0 = \alpha S, \qquad M_{k+1} = 2 M_k - M_k S M_k, \qquad w_k = M_k X^\top y ,
# ```
#
# whose steps are exponentially fewer. And they prove that a transformer can compute it: $k$ steps in $k + 8$ layers.
#
# This page takes the statement apart. How fast is Newton, exactly, and for which $\alpha$? Which transformer computes it? Here
# are five, with all their weights written down, that need as few as $k + 1$ layers. {doc}`07_trained_transformers` looks into
# trained ones. On the way we correct several statements of the paper, each with a number ({doc}`/book/errata` lists them).
#
# ```{admonition} What you need
# :class: note
# {doc}`Chapter 1 <01_one_step_gd>` and {doc}`/book/notation`; eigenvalues of a symmetric matrix. Reading takes about {glue:text}`reading_minutes:.0f` minutes;
# rerunning, under two.
# ```

# %% tags=["hide-input"]
import numpy as np
from icl.chapters import begin
from icl.chapters.newton_transformers import constructed as constructions
from icl.chapters.newton_transformers import (
    constructed_pictures as construction_pictures,
)
from icl.chapters.newton_transformers import (
    depth_pictures,
    fixed_alpha,
    pictures,
)
from icl.chapters.newton_transformers import experiments as chapter
from icl.chapters.newton_transformers import trained_depth as depth
from icl.chapters.newton_transformers.explorable import explorable
from icl.chapters.trained_transformers import published_code
from icl.prompts import PromptLaw
from icl.targets import FAMILIES, TargetLaw
from icl.theory import newton as theory
from icl.theory import nonlinear_targets
from icl.theory.bayes_risk import isotropic_bayes_risk
from icl.theory.depth_ladder import DepthLadder

# %% tags=["parameters"]
d = 5
n = 20
sigma2 = 0.25
condition = 10.0
k = 6
seed = 0
profile = "quick"

# %% tags=["hide-input", "remove-output"]
parameters, ledger, stream = begin(
    "06_newton_transformers",
    d=d,
    n=n,
    sigma2=sigma2,
    condition=condition,
    k=k,
    seed=seed,
    profile=profile,
)
budget = chapter.budget(parameters)

# %% [markdown]
# ## How fast Newton is
#
# Prompts are as in {doc}`/book/notation` with $\beta \sim N(0, I)$ and $x \sim N(0, H)$; here $d =$ {glue:text}`d:.0f`, $n =$
# {glue:text}`n:.0f`, $\sigma^2 =$ {glue:text}`sigma2:g`, and $H$ has condition number {glue:text}`condition:g`. On the
# eigenvectors of $S$ the iteration {eq}`eq-newton` is a recursion of numbers, and it can be solved.
#
# ```{prf:lemma} What is left after $k$ steps
# :label: lem-newton
#
# $$
# I - M_k S = (I - \alpha S^2)^{2^k} .
# $$
#
# So $M_k \to S^\dagger$, and $w_k$ tends to the least-squares estimate of least norm, if and only if $0 < \alpha < 2 / \lambda_{\max}(S)^2$.
# ```
#
# ```{admonition} Proof
# :class: dropdown
# $I - M_{k+1} S = I - 2 M_k S + M_k S M_k S = (I - M_k S)^2$, and $I - M_0 S = I - \alpha S^2$. On an eigenvalue $\lambda > 0$ the
# residual is $(1 - \alpha \lambda^2)^{2^k}$, which tends to $0$ if and only if $|1 - \alpha \lambda^2| < 1$. On $\lambda = 0$ the matrix
# $M_k$ is $0$ from the start, as $S^\dagger$ is.
# ```
#
# Once the residual is small, each step doubles the number of correct digits. To reach a relative accuracy $\varepsilon$ in the slowest
# direction, with $\alpha = 1/\lambda_{\max}^2$ and $\kappa = \lambda_{\max} / \lambda_{\min}$ of $S$, Newton and gradient descent need
#
# ```{math}
# :label: eq-newton-steps
# \begin{aligned}
# k &= \Big\lceil \log_2 \frac{\ln (1/\varepsilon)}{- \ln (1 - \kappa^{-2})} \Big\rceil \approx 2 \log_2 \kappa + \log_2 \ln \tfrac1\varepsilon
#   && \text{(Newton)}, \\
# s &= \Big\lceil \frac{\ln (1/\varepsilon)}{\ln \frac{\kappa+1}{\kappa-1}} \Big\rceil \approx \frac{\kappa}{2} \ln \tfrac1\varepsilon
#   && \text{(gradient descent)}
# \end{aligned}
# ```
#
# steps, the latter with its best constant step. We run both, on matrices with random axes, until they are there:

# %%
run_d = max(2, min(d, chapter.RUN_D))
batch = chapter.law(parameters, stream("axes")).sample(
    stream("prompts"), budget.prompts
)
S, moment = chapter.gram(batch.X), np.einsum("bnd,bn->bd", batch.X, batch.y)
steps = chapter.steps_by_condition(run_d, chapter.KAPPAS, stream("conditions"))
kappa = min(condition, chapter.RUN_KAPPA)
at_kappa = chapter.slowest_problem(run_d, kappa, stream("at κ"))
wide = steps.kappas >= 10
slope = np.polyfit(np.log2(steps.kappas[wide]), steps.newton[wide], 1)[0]
exponent = np.polyfit(np.log(steps.kappas[wide]), np.log(steps.gd[wide]), 1)[0]
predicted_steps = theory.steps_to_eps(kappa, chapter.EPS)
measured_steps = chapter.measured_newton_steps(*at_kappa, chapter.EPS)
speed = {
    "newton.residual_identity": (0, chapter.residual_identity_error(S, 12)),
    "newton.steps_to_eps": (predicted_steps, measured_steps),
    "newton.kappa": (0, chapter.largest_step_error(steps)),
    "newton.kappa_newton": (2, slope),
    "newton.kappa_gd": (1, exponent),
}
ledger.claims(speed)

# %% [markdown]
# ## Newton is gradient descent in a hurry
#
# *Exponentially faster* is meant literally: squaring the residual is what doubling the number of gradient steps does.
#
# ```{prf:lemma} Newton and gradient descent
# :label: lem-newton-gd
#
# Started at $M_0 = \eta I$, $k$ steps of Newton give exactly what $2^k$ steps of gradient descent
# $w \leftarrow w - \eta\, (S w - X^\top y)$ give. Started at $M_0 = \alpha S$, they give what $2^{k+1}$ steps of the alternating sizes
# $+\sqrt\alpha, -\sqrt\alpha, \dots$ give.
# ```
#
# ```{admonition} Proof
# :class: dropdown
# The residual of $s$ gradient steps is $\prod_{j \le s} (I - \eta_j S)$. From $M_0 = \eta I$ Newton's is $(I - \eta S)^{2^k}$. From $M_0 = \alpha S$
# it is $(I - \alpha S^2)^{2^k} = \big[ (I - \sqrt\alpha S)(I + \sqrt\alpha S) \big]^{2^k}$. Equal residuals $I - M S$, with $M$ a polynomial in $S$,
# mean equal $M$ on the range of $S$, where $X^\top y$ lies.
# ```
#
# Every second step of that schedule walks *uphill*. Two in a row multiply the residual by $1 - \alpha \lambda^2$, as one downhill step on the
# matrix $S^2$ would. The two sides, each run step by step:

# %%
error, alternating_error = chapter.gd_identity_errors(S, moment, 10)
ledger.claims({
    "newton.gd_identity": (0, error),
    "newton.gd_identity_alternating": (0, alternating_error),
})

# %% [markdown]
# ## The step size in print
#
# The paper sets $\alpha = 2 / \|S S^\top\|_2$ in its §3.1. That is the end point which {prf:ref}`lem-newton` excludes. In the top
# direction the residual is $1 - \alpha \lambda_{\max}^2 = -1$, and its square is $1$, for ever: from the first step on $M_k$ is blind to the
# direction that explains most of the data. On $S = \operatorname{diag}(1, 2, 4)$ the arithmetic in that direction is exact, and the limit is
# $\operatorname{diag}(1, \tfrac12, 0)$. On random prompts each step doubles the last bit of rounding, and after about fifty steps it
# has grown into a rescue or a divergence, as chance has it.
#
# The public code divides by the larger norm $\|S S^\top\|_F$ instead. One stored version starts at $1 / \|S S^\top\|_F$, which is
# always inside. Another starts at $2 / \|S S^\top\|_F$: inside too, unless $S$ has rank one, where the two norms are equal. So it is
# at the end point after the *first* example of every prompt, and only there (at $d = 1$: always). Newton's method fits that example at once;
# from this start it never learns anything from it, and predicts 0. On the prompts of this page $\alpha \lambda_{\max}^2$, which must
# stay below 2, is then 2 after one example, {glue:text}`frobenius_reach_2:.3f` after two, on average, and
# {glue:text}`frobenius_reach_n:.3f` after all $n$.

# %%
exact = np.diag([1.0, 2.0, 4.0])[None]
print_alpha = 2 / np.linalg.eigvalsh(S)[:, -1] ** 2
left = chapter.top_residual(exact, 2 / 16, 100)[-1, 0]
left_on_prompts = chapter.top_residual(S, print_alpha, 15)[-1].min()
left_by_code = published_code.residual_after_one(batch.X, 15).min()
ledger.claims({
    "newton.alpha_boundary": (1, left),
    "newton.alpha_boundary_prompts": (1, left_on_prompts),
    "newton.alpha_boundary_code": (1, left_by_code),
})

# %% tags=["hide-input", "remove-output"]
factors = (0.5, 1.0, 1.9, 2.0, 2.1)
# 20 steps: later the end point shows the machine's rounding, doubled each time
by_alpha = chapter.errors_by_alpha(S[0], moment[0], factors, 20)
ledger.figure(pictures.rates(steps, factors, by_alpha))

# %% [markdown]
# ```{glue:figure} fig-rates
# :name: fig-newton-rates
#
# Left: steps to a relative accuracy of $10^{-8}$, run (dots) and predicted (lines). A hundredfold condition number costs gradient
# descent a hundred times the steps, and Newton about thirteen more. Right: distance from least squares on one prompt. At the printed
# $\alpha$, $2 / \lambda_{\max}^2$, it soon stops falling. Inside the range the choice hardly matters; $2.1$ diverges at once.
# ```
#
# **The expansion.** The binomial theorem turns {prf:ref}`lem-newton` into
#
# ```{math}
# :label: eq-newton-expansion
# \begin{aligned}
# M_k &= \sum_{j=1}^{2^k} (-1)^{j+1} \binom{2^k}{j}\, \alpha^j S^{2j-1} , \\
# M_1 &= 2 \alpha S - \alpha^2 S^3 , \\
# M_2 &= 4 \alpha S - 6 \alpha^2 S^3 + 4 \alpha^3 S^5 - \alpha^4 S^7 .
# \end{aligned}
# ```
#
# In print (eqs. 38 and 39) $M_1 = 2\alpha S - 4\alpha^2 S^3$ and $M_2 = 4\alpha S - 12 \alpha^2 S^3 + 16 \alpha^3 S^5 - 16 \alpha^4 S^7$. The
# first term of $M_1$ belongs to $M_0 = \alpha S$, the second to $M_0 = 2 \alpha S$, and $M_2$ inherits the slip. On a prompt of this page, at
# $\alpha = 1/\lambda_{\max}^2$, the printed $M_1$ is off by {glue:text}`printed_expansion_percent:.0f` % of its size.

# %%
expanded = chapter.expanded_iterates(6)
off = max(
    np.abs(run - np.array(theory.expansion(j), dtype=object)).max()
    for j, run in enumerate(expanded)
)
ledger.claims({"newton.expansion_erratum": (0, off)})

# %% [markdown]
# ## One α for all prompts
#
# In a transformer $\alpha$ is a weight, so it is the same for every prompt. The theorem says *for some $\alpha > 0$*. Which prompts does it
# serve? Exactly those with $\lambda_{\max}(S)^2 < 2/\alpha$; and for Gaussian covariates there are always some beyond any bound. With
# $e = 1 - (1 - \alpha\lambda^2)^{2^k}$ the risk over isotropic prompts is an expectation over the eigenvalues of $S$,
#
# ```{math}
# :label: eq-newton-mean-risk
# \mathcal R_k = \sigma^2 + \mathbb E \sum_{i=1}^d \Big[ (1 - e(\lambda_i))^2 + \sigma^2\, e(\lambda_i)^2 / \lambda_i \Big] ,
# ```
#
# (terms with $\lambda_i = 0$ count $1$), which can be computed without sampling. The powers of $\lambda$ in it double at each step, and from
# some step on the mean belongs to prompts that are hardly ever met. For $\alpha = (\sqrt n + \sqrt d)^{-4}$, about $1/\lambda_{\max}^2$ of a typical prompt,
# it is {glue:text}`mean_risk_2:.4g` after 2 steps, {glue:text}`mean_risk_4:.4g` after 4 and {glue:text}`mean_risk_5:.4g` after 5. Plain
# Monte Carlo sees little of this. So we sample the prompts beyond the range on purpose, and weigh them down again:

# %%
formula = theory.mean_risk(d, n, sigma2, 4, theory.whole_range_alpha(d, n))
measured = fixed_alpha.mean_risk_estimate(
    d, n, sigma2, 4, budget.draws, stream("one fixed matrix")
)
ledger.claims({"newton.fixed_alpha": (formula, measured)})

# %% tags=["hide-input", "remove-output"]
fixed = fixed_alpha.fixed_alpha_risks(
    d, n, sigma2, 6, budget.draws, stream("fixed α")
)
limit = sigma2 * (1 + d / (n - d - 1)) if n > d + 1 else None
ledger.figure(pictures.fixed_alpha(fixed, limit))

# %% [markdown]
# ```{glue:figure} fig-fixed_alpha
# :name: fig-newton-fixed-alpha
#
# Isotropic prompts. With one $\alpha$ for all, the typical prompt (dashed) improves at every step. The mean (solid orange) is no longer
# useful once prompts outside the range have taken it over. With $\alpha$ set for each prompt (teal) it is, but that $\alpha$ is not a weight, and
# the layers below do not compute it. When you average Newton's risk, use $\alpha$ per prompt, or medians.
# ```

# %% [markdown]
# ## The theorem, with weights
#
# ```{prf:theorem} Fu, Chen, Jia and Sharan, Theorem 5.1
# :label: thm-newton
#
# For every $k$ there are transformer weights such that on every prompt the transformer outputs $x^\top w_k$, with $w_k$ of
# {eq}`eq-newton` for some $\alpha > 0$. It has $k + 8$ layers of width $O(d)$: three to form $M_0$, one for each step of Newton, five to
# read the answer out.
# ```
#
# One observation makes it short. $M_k$ is symmetric. Let every token $x_t$ carry $m_t = M_k x_t$ along. Then an attention head with keys
# $x_i$, values $m_i$ and query $m_t$ returns
#
# ```{math}
# :label: eq-newton-head
# \sum_i m_i\, \langle x_i, m_t \rangle = M_k \Big( \sum_i x_i x_i^\top \Big) M_k\, x_t = M_k S M_k\, x_t ,
# ```
#
# the very term that Newton needs; and the last layer returns $\sum_i y_i \langle x_i, m_t \rangle = x_t^\top M_k X^\top y$. From here on there is
# choice. We build five transformers:

# %% tags=["hide-input"]
table = construction_pictures.DesignTable(d, k)
table

# %% [markdown]
# ```{admonition} Design A: no MLP
# :class: dropdown
# Token $(x \,|\, \mu \,|\, y \,|\, o)$; context tokens start as $(x_i | 0 | y_i | 0)$, the query as $(x | 0 | 0 | 0)$, and no one attends to it. Layer 1:
# key $x_i$, query $x_t$, value $\alpha x_i \to \mu$, so $\mu_t = \alpha S x_t$. Layer $j + 2$, $j = 0, \dots, k-1$: key $x_i$, query $\mu_t$, value
# $-2^{j-1} \mu_i \to \mu$. With $\mu^{(j)} = 2^{-j} M_j x$,
#
# $$
# \mu^{(j+1)} = 2^{-j} M_j x - 2^{j-1}\, 2^{-2j} M_j S M_j x = 2^{-(j+1)} (2 M_j - M_j S M_j)\, x .
# $$
#
# The factor $2$ of Newton's step has moved into the weights; this is what removes the MLP. Layer $k + 2$: query $\mu_t$, value $2^k y_i \to o$.
# ```
#
# ```{admonition} Design D: one layer fewer
# :class: dropdown
# It carries the answer along, by the recursion $o_{j+1} = 2 o_j - \sum_i o_{j,i} \langle x_i, m_t \rangle$ for $o_j = x_t^\top M_j X^\top y$. Token
# $(x \,|\, \mu \,|\, y \,|\, r \,|\, p)$. Layer 1, key $x_i$, query $x_t$: values $\alpha x_i \to \mu$ and $y_i \to r$, so $r_t = x_t^\top X^\top y$. Layer 2, three heads:
# (query $\mu_t$, value $-\tfrac12 \mu_i \to \mu$), (query $x_t$, value $\alpha r_i \to p$), (key $\mu_i$, query $\mu_t$, value $-\tfrac12 r_i \to p$), which makes
# $p = \tfrac12 x^\top M_1 X^\top y$. Layer $j + 2$, $j \ge 1$: query $\mu_t$, values $-2^{j-1} (\mu_i, p_i) \to (\mu, p)$. The output is $2^k p$. (For $k = 0$ it
# needs two layers.)
# ```
#
# ```{admonition} Design A′: one Newton iterate behind every layer
# :class: dropdown
# As A, but before each attention a token-wise linear map doubles $m$ and clears $o$; then the heads (query $m_t$, value $-\tfrac14 m_i \to m$) and
# (query $m_t$, value $\tfrac12 y_i \to o$). Behind layer $l \ge 2$ the slot $o$ holds $x^\top M_{l-2} X^\top y$ and nothing else that depends on $y$: the
# model to take when *probe* shall mean *algorithm*.
# ```
#
# ```{admonition} Design B: the paper's own prompt, ReLU, no mask
# :class: dropdown
# Tokens $x_1, y_1, \dots, x_n, y_n, x_{\rm test}$ with slots $(x | q | m | y | o)$ and their position $p$, $p^2$ and a $1$. Layer 1: a head with the score
# $\operatorname{relu}(1 - (p_t - 1 - p_s)^2)$, which is $1$ for $s = t - 1$ and $0$ for every other token, copies $x_{t-1}$ into $q$: the token of $y_i$ now holds
# $(x_i, y_i)$, and the test token never becomes a key, so no mask is needed. Layer 2: two ReLU heads, $\operatorname{relu}(z) v + \operatorname{relu}(-z)(-v) = z v$, with
# key $q_s$, query $q_t + x_t$, value $\alpha q_s \to m$. Layers $3, \dots, k+2$: key $q_s$, query $m_t$, value $-\tfrac12 m_s \to m$, and a ReLU MLP that
# doubles $m$. Layer $k + 3$: value $y_s \to o$.
# ```
#
# ```{admonition} Design C: another second-order method
# :class: dropdown
# $x_t \leftarrow \tfrac32 x_t - \tfrac12 \sum_i x_i \langle x_i, x_t \rangle$ for all tokens drives $X$ to $X S^{-1/2}$: if $1 - \delta$ is an eigenvalue of $S$, the
# next $\delta$ is $\tfrac34 \delta^2 + \tfrac14 \delta^3$. Then $\sum_i y_i \langle x_i, x_t \rangle$ *is* least squares. This is the GD++ of {cite:t}`vonoswald2023`,
# $x \leftarrow x - \gamma S x$, with the coefficient that makes it second order. It never forms an inverse. Stored as $(2/3)^j x$ it needs no MLP.
# ```
#
# All are run as transformers, by one general forward pass with matrices $W_K, W_Q, W_V$ for each head, and compared with Newton's
# iteration on matrices (C: with the recursion on singular values), for $d$ from 1 to 20, $n$ from 1 to 40 and so also below $d$, $k$ from 0 to 12, with
# covariates of condition number {glue:text}`condition:g`, and at the chapter's own sizes. These are capped, for this check only, at $d =$
# {glue:text}`largest_d:.0f` and $n =$ {glue:text}`largest_n:.0f`. In design B all $2n + 1$ tokens attend to each other, through scores that
# must be written out because of the ReLU: at the cap {glue:text}`scores_at_cap:,.0f` numbers a head and prompt, at the chapter's largest
# $n$, 10 000, some 400 million, or 3 GB. The weights themselves can be built for any size.

# %%
worst = constructions.worst_errors(parameters, stream("designs"))
worst["A_prime"] = constructions.layerwise_error(
    parameters, stream("design A′")
)
whitened, newton_behind = constructions.least_squares_limit(
    parameters, stream("whitening")
)
worst["C_limit"] = whitened
ours = [table.designs[name][0].layers for name in ("A", "D", "A′", "B")]
layers = {"newton.layers": (k + 8, max(ours))}
errors = {f"newton.transformer_{name}": (0, worst[name]) for name in worst}
ledger.claims(errors | layers)

# %% [markdown]
# Whitening is even quicker than inverting: after 6 steps design C is as close to least squares as Newton is after
# {glue:text}`newton_behind:.0f` (isotropic prompts, $\alpha$ and scale set by their largest eigenvalue).
#
# **What the printed proof computes.** Its layers use pairs of ReLU heads with *equal* values, and the identity
# $\operatorname{ReLU}(z) + \operatorname{ReLU}(-z) = z$ (eqs. 21 and 28). The left side is $|z|$. With opposite values it works, as in design B. As printed, the
# second layer computes $\alpha \sum_i |\langle x_i, x \rangle|\, x_i$, which misses $\alpha S x$ by up to
# {glue:text}`printed_heads_percent:.0f` % of its size on the prompts of this page:

# %%
absolute, wanted = constructions.printed_heads(
    parameters, stream("printed heads")
)
ledger.claims({"newton.printed_heads": (0, absolute)})

# %% [markdown]
# ## One prompt on its way through
#
# What do the layers write, and where? Here is one prompt of this page in design A.

# %% tags=["hide-input", "remove-output"]
walk = constructions.walk(parameters, stream("one prompt"))
ledger.figure(construction_pictures.walk(walk))

# %% [markdown]
# ```{glue:figure} fig-walk
# :name: fig-newton-walk
#
# Above: the tokens of one prompt, a column each, in design A with $k =$ {glue:text}`k:.0f`; the query is right of the dotted line. Orange is
# positive, blue negative, each slot drawn to its own largest entry. Layer 1 fills $\mu$ with $\alpha S x$; each further layer turns it, for all tokens
# alike, towards $S^\dagger x$, because context tokens need $M_j x_i$ to serve the next layer. Only the last layer touches $y$. Below: what
# designs A′ and C answer after each layer, on the way to least squares, {glue:text}`walk_least_squares:.4f`.
# ```

# %% [markdown]
# ## Move it yourself
#
# Steps against the condition number: raise $\kappa$ a hundredfold, and in the second picture Newton's curve moves by about thirteen steps, while
# that of gradient descent goes flat. At $\kappa = 1$ all eigenvalues are equal, and $M_0$ is the inverse already. (The third picture runs design A
# on this page's prompt, in your browser; it has that prompt's own $\kappa$.) **A question:** gradient descent with its best step is drawn in orange.
# Is Newton's method ahead of it from the first step on?
#
# ```{admonition} Answer
# :class: dropdown
# No. For large $\kappa$ the slowest direction keeps about $e^{-2^k/\kappa^2}$ after $k$ steps of Newton, but $e^{-2k/\kappa}$ after $k$ steps of
# gradient descent, which is less as long as $2^k < 2k\kappa$: seven steps at $\kappa = 10$, eleven at $\kappa = 100$. The start $M_0 = \alpha S$
# costs Newton a whole factor $\kappa$, and squaring the residual takes $\log_2 \kappa$ steps and a few more to make that good. After that
# it is no contest.
# ```

# %% tags=["hide-input"]
explorable(parameters, walk)

# %% tags=["hide-input", "remove-output"]
numbers = {
    "printed_expansion_percent": 100 * chapter.printed_expansion_error(S[0]),
    "mean_risk_2": fixed.mean[2],
    "mean_risk_4": fixed.mean[4],
    "mean_risk_5": fixed.mean[5],
    "newton_behind": newton_behind,
    "printed_heads_percent": 100 * wanted,
    "walk_least_squares": walk.least_squares,
    "frobenius_reach_2": published_code.frobenius_reach(batch.X[:, :2]).mean(),
    "frobenius_reach_n": published_code.frobenius_reach(batch.X).mean(),
    "largest_d": constructions.LARGEST_D,
    "largest_n": constructions.LARGEST_N,
    "scores_at_cap": (2 * constructions.LARGEST_N + 1) ** 2,
}
for name, value in numbers.items():
    ledger.number(name, value)

# %% [markdown]
# (depth-ladder)=
# ## How much does depth buy?
#
# One layer takes one step. What is the best that $L$ layers can do? For isotropic tasks the question has exact answers, and
# they put numbers on the distance between gradient descent and Newton's method. Here $H = \Psi = I$,
# $d =$ {glue:text}`d:.0f`, $n =$ {glue:text}`n:.0f`, $\sigma^2 =$ {glue:text}`sigma2:g`.
#
# Take *deep linear attention* {cite:p}`ahn2023`: with the tokens $z_i = (x_i; y_i)$ as the columns of $Z$ and the mask $M$ that hides the
# query, layer $k$ is
#
# ```{math}
# :label: eq-depth-layer
# Z \leftarrow Z + P_k Z M\, (Z^\top Q_k Z) / s .
# ```
#
# How many steps it can imitate depends on what it is allowed to *write*.
#
# - **It writes labels only**, $P_k = \operatorname{diag}(0, 1)$, $Q_k = \operatorname{diag}(A_k, 0)$. With $A_k = -a_k s I$ the labels become
#   residuals, and $L$ layers are $L$ steps of gradient descent on the same data with steps $a_1, \dots, a_L$.
# - **All layers are the same layer**, run $L$ times: $L$ equal steps.
# - **It also writes covariates**, $P_k = \operatorname{diag}(B_k, 1)$: every $x$ becomes $x - \gamma_k S_k x$, $S_k = X_k^\top X_k$, before the
#   next layer looks. {cite:t}`vonoswald2023` found that trained models do this and named it **GD++**. It shrinks large
#   eigenvalues of $S$ and so conditions the problem for the layers above.
#
# In all three the estimate of the task is $\hat w = q(S)\, X^\top y$ with a polynomial $q$. Each layer multiplies what is left:
#
# ```{math}
# :label: eq-depth-risk
# \begin{gathered}
# 1 - \lambda q(\lambda) = \prod_{k=1}^{L} (1 - a_k \lambda_k), \qquad
# \lambda_{k+1} = \lambda_k (1 - \gamma_k \lambda_k)^2, \quad \lambda_1 = \lambda, \\
# \mathcal R = \sigma^2 + \mathbb E \sum_{i=1}^{d} \Big[ \big(1 - \lambda_i q(\lambda_i)\big)^2 + \sigma^2 \lambda_i\, q(\lambda_i)^2 \Big] ,
# \end{gathered}
# ```
#
# and $\lambda_1, \dots, \lambda_d$ are the eigenvalues of a Wishart matrix, whose law is known. The expectation is a sum over
# {glue:text}`depth_nodes:.0f` quadrature nodes, exact to rounding; minimising it over the steps needs no random number. In risk:
#
# | layers | one step size | free step sizes | GD++ |
# |---|---|---|---|
# | 1 | {glue:text}`depth_shared_1:.4f` | {glue:text}`depth_free_1:.4f` | {glue:text}`depth_plus_1:.4f` |
# | 2 | {glue:text}`depth_shared_2:.4f` | {glue:text}`depth_free_2:.4f` | {glue:text}`depth_plus_2:.4f` |
# | 3 | {glue:text}`depth_shared_3:.4f` | {glue:text}`depth_free_3:.4f` | {glue:text}`depth_plus_3:.4f` |
#
# The Bayes risk is {glue:text}`depth_bayes:.4f`. The first row is {doc}`01_one_step_gd`, three times.
#
# ### Is it true?
#
# The independent check knows nothing of eigenvalues. Deep attention with **free $d \times d$ matrices** in every layer, not multiples of
# $I$, is trained by Adam on fresh prompts, {glue:text}`depth_batch:.0f` a step for {glue:text}`depth_steps:,.0f` steps, and tested on
# {glue:text}`depth_prompts:,.0f` others.

# %%
rungs = DepthLadder(d, n, sigma2)
isotropic = PromptLaw.isotropic(d, n, sigma2)
depth_plan = depth.budget(parameters)
climbed = depth.climb(isotropic, depth_plan, stream)
free, shared, plus = (
    [find(layers) for layers in (1, 2, 3)]
    for find in (rungs.free_steps, rungs.shared_step, rungs.gd_plus_plus)
)
deepest = depth.best(climbed, "gd_plus_plus", 2).risk
risks = {
    "depth.gd_free": (free[2].risk, depth.best(climbed, "gd", 3).risk),
    "depth.gd_shared": (
        shared[2].risk,
        depth.best(climbed, "gd", 3, True).risk,
    ),
    "depth.gd_plus_plus": (plus[1].risk, deepest),
}
ledger.claims(risks)

# %% [markdown]
# That the best matrices are multiples of $I$ is proved for one layer only; training found none better. Nor did two layers in which
# *every* entry of $P_k$ and $Q_k$ is free: {glue:text}`depth_full:.4f` ± {glue:text}`depth_full_stderr:.4f`, beside
# {glue:text}`depth_plus_2:.4f` for GD++. And the steps that the quadrature found, written into the matrices of real layers with
# all their scores, have the predicted risk:

# %%
prompts = depth_plan.prompts
forward = depth.forward_risk(
    isotropic, plus[2], prompts, stream("forward pass")
)
ledger.claims({"depth.forward": (plus[2].risk, forward)})

# %% tags=["hide-input", "remove-output"]
depth_bayes = isotropic_bayes_risk(d, n, sigma2)
ledger.figure(depth_pictures.ladder(rungs, depth_bayes, climbed))

# %% [markdown]
# ```{glue:figure} fig-depth_ladder
# :name: fig-depth-ladder
#
# Each further layer of plain gradient descent takes a little less off the distance to Bayes than the one before; free step sizes
# take more than equal steps. GD++ falls faster and faster, as Newton's method does. Circles are trained models with their standard errors, the diamond has every entry free. At two layers GD++ was trained twice: from equal first steps it ends at
# {glue:text}`depth_plus_flat:.4f`, in a false valley or on its way there; from a short first and a long second step at
# {glue:text}`depth_plus_grown:.4f`.
# ```
#
# **A baseline must see what the model sees.** The gradient-descent baselines in the published code of {cite:t}`ahn2023` use $N - 1$ of a
# prompt's $N$ examples. At that paper's $d = 5$, $N = 20$, without noise, three gradient steps then have risk
# {glue:text}`depth_baseline_fewer:.4f` instead of {glue:text}`depth_baseline_all:.4f`, a handicap of
# {glue:text}`depth_baseline_percent:.0f` %. On random prompts of 19 examples:

# %%
seen_20, seen_19 = (
    DepthLadder(5, count, 0).free_steps(3) for count in (20, 19)
)
shorter = PromptLaw.isotropic(5, 19, 0)
forward = depth.forward_risk(
    shorter, seen_19, prompts, stream("forward pass, 19 examples")
)
ledger.claims({"depth.baseline_examples": (seen_19.risk, forward)})

# %% [markdown]
# ### What bounds the ladder
#
# The families contain one another, so Bayes ≤ GD++ ≤ free steps ≤ one step. More sharply, after $L$ layers $q$ has degree
# $L - 1$ for gradient descent and $(3^L - 3)/2$ for GD++, and the *best polynomial* of a degree is a least-squares problem in its
# coefficients, with a bound that no such model can beat. GD++ with two layers is {glue:text}`depth_plus_gap:.5f` above the
# best cubic polynomial, {glue:text}`depth_cubic:.4f`, which plain gradient descent needs at least four layers to reach.

# %%
slack = depth.shortfalls(free, shared, plus, depth_bayes).min()
above = min(
    rung.risk - rungs.best_polynomial(degree)
    for family, degrees in ((free, (0, 1, 2)), (plus, (0, 3, 12)))
    for rung, degree in zip(family, degrees, strict=True)
)
ledger.claims({"depth.order": (0, slack), "depth.polynomial_bound": (0, above)})

# %% [markdown]
# Do free steps always *reach* the best polynomial? They do if all roots of $1 - \lambda q(\lambda)$ are real, for the steps are their
# reciprocals. Without noise they are: $1 - \lambda q$ is then an orthogonal polynomial. With noise it can fail, and not only in odd corners. At
# $d = 1$, $n = 3$, $\sigma^2 = 1$ (sizes of this experiment only) the best quadratic $q$ has two complex roots and risk
# {glue:text}`depth_complex_polynomial:.6f`; three real steps reach {glue:text}`depth.complex_steps.predicted:.6f`, two of them equal.
# A second computation, Gauss–Laguerre sums against the $\chi^2$ law and a simplex search:

# %%
case = DepthLadder(**depth.COMPLEX)
reached = case.free_steps(3).risk
ledger.claims({"depth.complex_steps": (reached, depth.complex_case_risk())})

# %% [markdown]
# ### What depth does not buy
#
# Without softmax and MLP, every layer acts on the query token by a matrix made from the examples alone: with the Gram matrix
# $G = Z M Z^\top / s$ it is $I + P_k G Q_k$, and $G$ is handed on as $(I + P_k G Q_k)\, G\, (I + P_k G Q_k)^\top$. (Which is also how to compute it:
# the $n \times n$ scores are never needed, and the cost of a layer does not grow with $n$.) So a linear transformer of
# *any* depth answers linearly in the query,

# %%
gram_error = depth.gram_error(isotropic, 4, stream("Gram form"))
bend = depth.query_bend(isotropic, 5, stream("linear in the query"))
ledger.claims({
    "depth.gram_form": (0, gram_error),
    "depth.linear_in_query": (0, bend),
})

# %% [markdown]
# and for the targets of {doc}`03_nonlinear_targets` it cannot get below the *linear floor* $\sigma^2 + \mathbb E f^2 - \|\mathbb E f(x)\,x\|^2$,
# which a single layer already reaches as $n \to \infty$. For $f(x) = \operatorname{sign}(w^\top x)$ the floor is
# {glue:text}`depth.linear_floor.predicted:.4f` and one layer has {glue:text}`depth_sign_one:.4f`. Three layers, every entry free and trained:

# %%
sign_law = TargetLaw(FAMILIES["sign"], d, n, sigma2)
floor = nonlinear_targets.linear_floor(nonlinear_targets.sign(d), sigma2)
risk = depth.nonlinear_risk(sign_law, depth_plan, stream("sign"))
ledger.claims({"depth.linear_floor": (floor, risk)})

# %% tags=["hide-input", "remove-output"]
full = depth.best(climbed, "full", 2).risk
flat, grown = (end.risk.mean for end in climbed if end.kind == "gd_plus_plus")
numbers = {
    "depth_nodes": len(rungs.u),
    "depth_batch": depth_plan.batch,
    "depth_steps": depth_plan.schedule.steps,
    "depth_prompts": depth_plan.prompts,
    "depth_bayes": depth_bayes,
    "depth_full": full.mean,
    "depth_full_stderr": full.stderr,
    "depth_plus_flat": flat,
    "depth_plus_grown": grown,
    "depth_cubic": rungs.best_polynomial(3),
    "depth_plus_gap": plus[1].risk - rungs.best_polynomial(3),
    "depth_complex_polynomial": case.best_polynomial(2),
    "depth_baseline_all": seen_20.risk,
    "depth_baseline_fewer": seen_19.risk,
    "depth_baseline_percent": 100 * (seen_19.risk / seen_20.risk - 1),
    "depth_sign_one": nonlinear_targets.minimal_risk(
        nonlinear_targets.sign(d), n, sigma2
    ),
}
for family, found in {"free": free, "shared": shared, "plus": plus}.items():
    numbers |= {
        f"depth_{family}_{L}": rung.risk for L, rung in enumerate(found, 1)
    }
for name, value in numbers.items():
    ledger.number(name, value)

# %% [markdown]
# ## What the theory does not say
#
# **It is about what weights can do, not what training finds.** No theorem says that gradient descent on a transformer ends at any of these
# designs; what trained models do is measured in {doc}`07_trained_transformers`, at the sizes that we can train.
#
# **$\alpha$ is fixed.** The layers compute Newton with a given $\alpha$. The step size for this prompt, $1/\|S\|_2^2$, is not computed by them, nor by the theorem's.
# For prompts with $\alpha \lambda_{\max}^2 \ge 2$ the output is useless, and $k$ makes it worse.
#
# **Context tokens see the whole context.** $M_k x_i$ depends on all of $S$, the later examples included. These transformers are not causal, as
# our trained encoders are not. The paper's trained model is: a decoder must answer for every prefix, and would need the whole construction once for each. The paper's
# Remark B.6 sketches a causal variant for $n \gg d$, without error bounds.
#
# **No noise, no prior.** Newton's limit is least squares, which is not optimal with label noise: ridge regression is
# ({ref}`the picture of all solvers <fig-newton-solvers>`). Stopping early can help, but no choice of $k$ reaches it.
#
# **Counting steps is not counting work.** A step of Newton multiplies matrices; a step of gradient descent only applies one to a vector. Counted in
# products of a matrix and a vector, conjugate gradients beat both.

# %% [markdown]
# ## Exercises
#
# ★ a pencil and ten minutes; ★★ more thought, or a few lines of code; ★★★ a proof; ◇ open: nobody we know of has
# answered it. The code in the solutions ran with this page, at sizes of its own, and stops the page if a number is off.
#
# ```{exercise} Layers against multiplications ★
# :label: ex-newton-cost
# Let $S = X^\top X$ be given. A step of gradient descent multiplies $S$ by a vector ($d^2$ multiplications), a step of Newton's method takes two
# products of matrices ($2d^3$).
#
# 1. For which $d$ does Newton's method need fewer multiplications to reach a relative residual of $10^{-8}$ at $\kappa = 100$?
# 2. Why does a transformer not count that way?
# ```
#
# ```{solution} ex-newton-cost
# :label: sol-newton-cost
# :class: dropdown
# 1. Gradient descent takes {glue:text}`ex_newton_gd_steps:.0f` steps, Newton's method {glue:text}`ex_newton_steps:.0f`. Newton's is cheaper for
#    $2d\, \cdot$ {glue:text}`ex_newton_steps:.0f` $<$ {glue:text}`ex_newton_gd_steps:.0f`, that is for
#    $d \le$ {glue:text}`ex_newton_largest_d:.0f`. On a serial machine with one right-hand side it is the wrong method for larger $d$.
# 2. In one attention layer every token is multiplied by a matrix *at the same time*. The $n$ tokens $m_i = M x_i$ are the columns of a product of
#    matrices, which is there for the asking, and what is scarce is depth. Where products are cheap and sequence is dear, squaring the residual is the
#    right thing to do.
# ```
#
# ```{exercise} What kind of shrinkage ★
# :label: ex-newton-filter
# Stopped after $k$ steps, an algorithm multiplies the least-squares estimate along an eigenvector of $S$ by some $e(\lambda)$. Compare weak directions,
# $\lambda \to 0$, for ridge regression, gradient descent and Newton's method from $M_0 = \alpha S$. Which of the two iterations, stopped early, is
# the better stand-in for ridge regression?
# ```
#
# ```{solution} ex-newton-filter
# :label: sol-newton-filter
# :class: dropdown
# Ridge regression has $e = \frac{\lambda}{\lambda + \sigma^2} \approx \lambda/\sigma^2$, gradient descent after $s$ steps
# $1 - (1 - \eta\lambda)^s \approx s\eta\lambda$, Newton's method $1 - (1 - \alpha\lambda^2)^{2^k} \approx 2^k \alpha\lambda^2$. Gradient descent
# keeps a share proportional to $\lambda$, as ridge regression does with $\sigma^2 = 1/(s\eta)$. Newton's method keeps a share proportional to
# $\lambda^2$: it drops weak directions far more thoroughly, and takes up the ones above $\lambda \approx 2^{-k/2}/\sqrt\alpha$ almost whole, more like
# principal components than like ridge regression. The square comes from the start, $M_0 = \alpha S$; from $M_0 = \eta I$ Newton's method *is* gradient
# descent with $2^k$ steps.
# ```
#
# ```{exercise} Cubing instead of squaring ★★
# :label: ex-newton-cubic
# The iteration $M \leftarrow M\,\big(3I - SM\,(3I - SM)\big)$ is of third order.
#
# 1. What is its residual $I - M_k S$ from $M_0 = \alpha S$?
# 2. Count matrix products for a given accuracy, then attention layers. Should a transformer use it?
# ```
#
# ```{solution-start} ex-newton-cubic
# :label: sol-newton-cubic
# :class: dropdown
# ```
#
# **1.** All matrices are polynomials in $S$ and commute. With $R = I - MS$ the new $M S$ is
# $(I - R)\big(3I - (I-R)(2I + R)\big) = (I - R)(I + R + R^2) = I - R^3$. So the residual is $(I - \alpha S^2)^{3^k}$.
#
# **2.** Three products for a factor three in the exponent against two for a factor two: $3^{1/3} > 2^{1/2}$, so per product the third order is
# slightly *better* (and best of all orders, because $p^{1/p}$ peaks at $e$). Per layer it is worse. Attention with key $x_i$, value $m_i$, query
# $m_t$ returns $M S M x_t$, both of Newton's products at once; $M S M S M x_t$ needs another layer, with the
# first one's result as value. Two layers for a factor three is $\sqrt3 < 2$ per layer: Newton's method is the right one for attention.

# %%
rng = stream("exercise 1")
X_cubic = rng.standard_normal((20, 5))
S_cubic = X_cubic.T @ X_cubic
values, axes = np.linalg.eigh(S_cubic)
alpha_cubic, identity = 1 / values[-1] ** 2, np.eye(5)
M = alpha_cubic * S_cubic
for k in range(1, 5):
    SM = S_cubic @ M
    M = M @ (3 * identity - SM @ (3 * identity - SM))
    left = np.diag(axes.T @ (identity - M @ S_cubic) @ axes)
    formula = (1 - alpha_cubic * values**2) ** 3**k
    error = np.abs(left - formula).max()
    print(f"k = {k}: residual {formula.max():.4f}, off by {error:.0e}")
    assert error < 1e-12

# %% [markdown]
# ```{solution-end}
# ```
#
# ```{exercise} No α is safe ★★★
# :label: ex-newton-unsafe
# With one $\alpha$ for all prompts and Gaussian covariates, prove that the mean risk after $k$ steps tends to infinity for $k \to \infty$, whatever
# $\alpha > 0$ is, and how fast at least. What does it take to be safe?
# ```
#
# ```{solution-start} ex-newton-unsafe
# :label: sol-newton-unsafe
# :class: dropdown
# ```
#
# On the event $\alpha\lambda_{\max}^2 \ge 3$ the residual along the top eigenvector is $(1 - \alpha\lambda_{\max}^2)^{2^k} \ge 2^{2^k}$ in size. The task has variance 1 along
# every direction, so given $X$ the risk is at least $4^{2^k}$ there. A Gaussian $X$ has $\lambda_{\max} \ge \sqrt{3/\alpha}$ with some probability
# $p > 0$, however small $\alpha$ is, so
#
# $$
# \mathcal R_k \ \ge\ p \cdot 4^{2^k} \to \infty ,
# $$
#
# doubly exponentially. ∎ A smaller $\alpha$ makes $p$ smaller and merely postpones the end, while slowing down everything before it. To be safe,
# $\alpha$ must depend on the prompt, or the covariates must be bounded: with $\|x_i\| \le \rho$ one has $\lambda_{\max} \le n\rho^2$, and
# $\alpha = (n\rho^2)^{-2}$ works for every prompt, at the price of about $\log_2$ of (this bound over the typical $\lambda_{\max}$), doubled, in
# extra steps. The exact mean risk at $d = 5$, $n = 20$, $\sigma^2 = \tfrac14$, for a typical $\alpha$, a half and a quarter of it:

# %%
typical = theory.whole_range_alpha(5, 20)
for alpha in (typical, typical / 2, typical / 4):
    risks = [theory.mean_risk(5, 20, 0.25, k, alpha) for k in range(8)]
    finite = [f"{risk:.3g}" for risk in risks if risk < 1e9]
    print(f"α = {alpha:.1e}:", *finite, "then beyond 1e9" * (max(risks) > 1e9))
    assert risks[-1] > 1e9

# %% [markdown]
# ```{solution-end}
# ```
#
# ```{exercise} One pass, every prefix ◇
# :label: ex-newton-causal
# The constructions let every context token see the whole context. A decoder must answer after *each* prefix, and its tokens see only the past. Is there a
# causal linear transformer of depth $k + O(1)$ and width $O(d)$ that performs $k$ Newton steps for every prefix?
# ```
#
# ```{solution} ex-newton-causal
# :label: sol-newton-causal
# :class: dropdown
# **Known:** without a causal mask $k + 1$ layers do. With one, token $i$ can hold $M^{(i)}_k x_i$, built from the first $i$ examples, but prefix $t$
# needs $M^{(t)}_k x_i$ for all $i \le t$: other vectors at every $t$. Storing the matrix $M^{(t)}$ in token $t$ itself takes width $d^2$, and multiplying two such
# matrices takes more than a linear map of one token. One pass of the model per prefix is what this chapter does.
#
# **Also known:** by the paper's measure, trained decoders err *like* a second-order method at every prefix. That errors are similar does
# not say that they run Newton's iteration (in this chapter's small models they are as similar to those of gradient descent), and other methods with the same few-step errors (conjugate gradients, or the alternating gradient steps above with
# doubled lengths) cannot be told apart by it.
#
# **Open:** a construction, or a lower bound on width times depth.
# ```

# %% tags=["hide-input", "remove-output"]
newton_steps = theory.steps_to_eps(100, 1e-8)
gd_steps = theory.gd_steps_to_eps(100, 1e-8)
exercise_numbers = {
    "ex_newton_steps": newton_steps,
    "ex_newton_gd_steps": gd_steps,
    "ex_newton_largest_d": np.ceil(gd_steps / (2 * newton_steps)) - 1,
}
for name, value in exercise_numbers.items():
    ledger.number(name, value)

# %% [markdown]
# ## Every claim of this chapter
#
# Predicted by a formula, measured by an independent computation; a claim holds when they differ by no more than its
# tolerance, fixed beforehand, and five standard errors. A bound (≤ or ≥) that is missed, but by less than that, is *undecided*.

# %% tags=["hide-input"]
ledger.save()
