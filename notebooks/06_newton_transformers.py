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
# This page is about the theorem. It begins with a transformer that does it in $k + 2$ layers, all weights written down; then asks how
# fast Newton is, exactly, and for which $\alpha$, and how much each layer buys. What *trained* transformers do is
# {doc}`chapter 7 <07_trained_transformers>`. Statements of the paper that we correct are in {doc}`/book/errata`.
#
# ```{admonition} What you need
# :class: note
# {doc}`Chapter 1 <01_one_step_gd>` and {doc}`/book/notation`; eigenvalues of a symmetric matrix. Reading takes about {glue:text}`reading_minutes:.0f` minutes;
# rerunning, one.
# ```

# %% tags=["hide-input"]
from math import comb

import numpy as np
from icl.chapters import begin
from icl.chapters.newton_transformers import constructed as constructions
from icl.chapters.newton_transformers import (
    constructed_pictures as construction_pictures,
)
from icl.chapters.newton_transformers import (
    depth_pictures,
    design_picture,
    fixed_alpha,
    pictures,
)
from icl.chapters.newton_transformers import experiments as chapter
from icl.chapters.newton_transformers import trained_depth as depth
from icl.chapters.newton_transformers.explorable import explorable
from icl.estimates import monte_carlo
from icl.prompts import PromptLaw, token_matrix
from icl.targets import FAMILIES, TargetLaw
from icl.theory import newton as theory
from icl.theory import nonlinear_targets
from icl.theory.bayes_risk import isotropic_bayes_risk
from icl.theory.depth_ladder import DepthLadder
from icl.theory.wishart import spectral_measure

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
# ## A transformer that is Newton's method
#
# $M_k$ is symmetric. So let every token $x_t$ carry $m_t = M_k x_t$ along: a head with keys $x_i$, values $m_i$ and query $m_t$ returns
#
# ```{math}
# :label: eq-newton-head
# \sum_i m_i\, \langle x_i, m_t \rangle = M_k \Big( \sum_i x_i x_i^\top \Big) M_k\, x_t = M_k S M_k\, x_t ,
# ```
#
# the very term that Newton needs. Here is the iteration, and a transformer that runs it: **design A**, linear attention and nothing else.


# %%
def newton(M, S, k):
    for _ in range(k):
        M = 2 * M - M @ S @ M
    return M


def layer(H, W_K, W_Q, W_V):
    """h_t ← h_t + Σ_i W_V h_i ⟨W_K h_i, W_Q h_t⟩ over the examples i."""
    examples = H[..., :-1, :]  # the query is last, and nobody's key
    scores = (H @ W_Q.T) @ np.swapaxes(examples @ W_K.T, -1, -2)
    return H + scores @ examples @ W_V.T


def design_a(d, k, alpha):
    """The k + 2 layers' W_K, W_Q, W_V; x, μ, y, o read a token's slots."""
    x, mu, y, o = np.split(np.eye(2 * d + 2), (d, 2 * d, 2 * d + 1))
    steps = [(x, mu, -(2.0 ** (j - 1)) * mu.T @ mu) for j in range(k)]
    return [(x, x, alpha * mu.T @ x), *steps, (x, mu, 2.0**k * o.T @ y)]


def transformer(X, y, x, k, alpha):
    *B, n, d = X.shape
    H = np.zeros((*B, n + 1, 2 * d + 2))  # (x_i | 0 | y_i | 0), (x | 0 | 0 | 0)
    H[..., :n, :d], H[..., n, :d], H[..., :n, 2 * d] = X, x, y
    for weights in design_a(d, k, alpha):
        H = layer(H, *weights)
    return H[..., -1, -1]


# %% [markdown]
# Layer 1 writes $\mu_t = \alpha S x_t$. Layer $j + 2$ finds $\mu = 2^{-j} M_j x$ and turns it into
#
# $$
# \begin{aligned} 2^{-j} M_j x - 2^{j-1}\, 2^{-2j} M_j S M_j x &= 2^{-(j+1)} (2 M_j - M_j S M_j)\, x \\
#   &= 2^{-(j+1)} M_{j+1} x ; \end{aligned}
# $$
#
# the factor 2 of Newton's step has moved into the weights, which is what saves an MLP. The last layer adds up
# $2^k \sum_i y_i \langle x_i, \mu \rangle = x^\top M_k X^\top y$.

# %% tags=["hide-input", "remove-output"]
ledger.figure(design_picture.design_a())

# %% [markdown]
# ```{glue:figure} fig-design_a
# :name: fig-newton-design-a
#
# Design A, one drawing for each kind of layer. Every token $t$ looks at every example $i$: the dashed line is the score, the arrow what is
# added in its proportion. All scores are taken with $x_i$; only the last layer touches $y$. One layer begins, each further one is a step of
# Newton's method, one reads out: $k + 2$ layers make $k$ steps.
# ```
#
# **By hand.** Three examples in the plane, $x_i = (1, 0), (0, 1), (1, 1)$ with labels $y_i = 1, 2, 3$; the query is $x = (2, 1)$. So $S$ has the rows
# $(2, 1), (1, 2)$ and $X^\top y = (4, 5)$. Take $\alpha = \tfrac1{10}$ and one step, $M_1 = \tfrac15 S - \tfrac1{100} S^3$, with rows $(.26, .07), (.07, .26)$:
# Newton says $w_1 = (1.39, 1.58)$, hence $4.36$. In the transformer the query's $\mu$ is $(.5, .4)$ after layer 1 and $(.295, .2)$ after layer 2, and
# layer 3 answers $2\,(1 \cdot .295 + 2 \cdot .2 + 3 \cdot .495)$.

# %%
X = np.array([[1, 0], [0, 1], [1, 1]])
y, x, S = np.array([1, 2, 3]), np.array([2, 1]), X.T @ X
print(f"transformer    {transformer(X, y, x, k=1, alpha=0.1):.2f}")
print(f"Newton         {x @ newton(0.1 * S, S, 1) @ X.T @ y:.2f}")
print(f"least squares  {x @ np.linalg.inv(S) @ X.T @ y:.2f}")

# %% [markdown]
# Now at $d$ from 1 to 20, $n$ from 1 to 40 and so also below $d$, $k$ from 0 to 12, with covariates of condition number {glue:text}`condition:g`, and at
# the chapter's own sizes (for these checks at most $d =$ {glue:text}`largest_d:.0f`, $n =$ {glue:text}`largest_n:.0f`):

# %%
off, off_by_a_step = [], []
for batch, steps, alpha in constructions.random_sizes(
    parameters, stream("designs")
):
    X, y, x = batch.X, batch.y, batch.x_query
    S, moment = np.swapaxes(X, 1, 2) @ X, np.einsum("bnd,bn->bd", X, y)
    answer = transformer(X, y, x, steps, alpha)
    for distances, k_ in ((off, steps), (off_by_a_step, steps + 1)):
        M = newton(alpha * S, S, k_)
        expected = np.einsum("bd,bde,be->b", x, M, moment)
        distances.append(np.abs(answer - expected) / (1 + np.abs(expected)))
ledger.claims({"newton.transformer_A": (0, np.max(off), np.max(off_by_a_step))})

# %% [markdown]
# ### One prompt on its way through

# %% tags=["hide-input", "remove-output"]
walk = constructions.walk(parameters, stream("one prompt"))
ledger.figure(construction_pictures.walk(walk))

# %% [markdown]
# ```{glue:figure} fig-walk
# :name: fig-newton-walk
#
# Above: the tokens of one prompt of this page, a column each, in design A with $k =$ {glue:text}`k:.0f`; the query is right of the dotted line. Orange is
# positive, blue negative, each slot drawn to its own largest entry. Layer 1 fills $\mu$ with $\alpha S x$; each further layer turns it, for all tokens
# alike, towards $S^\dagger x$, because context tokens need $M_j x_i$ to serve the next layer. Only the last layer touches $y$. Below: what
# designs A′ and C of the next section answer after each layer, on the way to least squares, {glue:text}`walk_least_squares:.4f`.
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

# %% [markdown]
# ## The theorem, and four more designs
#
# ```{prf:theorem} Fu, Chen, Jia and Sharan, Theorem 5.1
# :label: thm-newton
#
# For every $k$ there are transformer weights such that on every prompt the transformer outputs $x^\top w_k$, with $w_k$ of
# {eq}`eq-newton` for some $\alpha > 0$. It has $k + 8$ layers of width $O(d)$: three to form $M_0$, one for each step of Newton, five to
# read the answer out.
# ```
#
# Design A is a proof of it, with $k + 2$ layers. There is choice:

# %% tags=["hide-input"]
table = construction_pictures.DesignTable(d, k)
table

# %% [markdown]
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
# They run as transformers too, by one general forward pass of the package, and are compared with Newton's iteration (C: with the recursion on
# singular values) on the same sizes. In design B all $2n + 1$ tokens attend to each other, through scores that must be written out because of
# the ReLU: hence the cap, which has {glue:text}`scores_at_cap:,.0f` numbers a head and prompt. The near miss is one step more (C: Newton's method).

# %%
worst = constructions.worst_errors(parameters, stream("other designs"))
whitened, ridge, newton_behind = constructions.least_squares_limit(
    parameters, stream("whitening")
)
designs = {f"newton.transformer_{name}": (0, *worst[name]) for name in worst}
ledger.claims(designs | {"newton.transformer_C_limit": (0, whitened, ridge)})

# %% [markdown]
# Whitening is even quicker than inverting: after 6 steps design C is as close to least squares as Newton is after
# {glue:text}`newton_behind:.0f` (isotropic prompts, $\alpha$ and scale set by their largest eigenvalue).
#
# **What the printed proof computes.** Its layers use pairs of ReLU heads with *equal* values, and the identity
# $\operatorname{ReLU}(z) + \operatorname{ReLU}(-z) = z$ (eqs. 21 and 28). The left side is $|z|$. With opposite values it works, as in design B. As printed, the
# second layer computes $\alpha \sum_i |\langle x_i, x \rangle|\, x_i$, which misses $\alpha S x$ by up to
# {glue:text}`printed_heads_percent:.0f` % of its size:

# %%
batch, alpha, m = constructions.printed_second_layer(
    parameters, stream("printed heads")
)
scores = np.einsum("bnd,bd->bn", batch.X, batch.x_query)
with_sign, without = (
    alpha * np.einsum("bn,bnd->bd", each, batch.X)
    for each in (scores, np.abs(scores))
)
size = np.linalg.norm(with_sign, axis=1)
absolute = np.max(np.linalg.norm(m - without, axis=1) / size)
wanted = np.max(np.linalg.norm(m - with_sign, axis=1) / size)
ledger.claims({"newton.printed_heads": (0, absolute, wanted)})

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

# %%
law = chapter.law(parameters, stream("axes"))
batch = law.sample(stream("prompts"), budget.prompts)
S, moment = chapter.gram(batch.X), np.einsum("bnd,bn->bd", batch.X, batch.y)
values, axes = np.linalg.eigh(S)
top, identity = values[:, -1, None, None], np.eye(d)


def on_eigenvectors(left):
    return (axes * left[:, None]) @ np.swapaxes(axes, 1, 2)


left, doubled = [], []
for j in range(13):
    iterated = identity - newton(S / top**2, S, j) @ S
    share = 1 - (values / top[..., 0]) ** 2
    left.append(np.abs(iterated - on_eigenvectors(share**2**j)).max())
    doubled.append(np.abs(iterated - on_eigenvectors(share ** (2 * j))).max())
ledger.claims({"newton.residual_identity": (0, max(left), max(doubled))})

# %% [markdown]
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
# steps, the latter with its best constant step. Both are run, on matrices with random axes, until they are there:


# %%
def newton_steps(kappa, power=2):
    return np.ceil(
        np.log2(np.log(1 / chapter.EPS) / -np.log1p(-(kappa**-power)))
    )


def gd_steps(kappa):
    return np.ceil(np.log(1 / chapter.EPS) / np.log((kappa + 1) / (kappa - 1)))


run_d = max(2, min(d, chapter.RUN_D))
kappa = float(np.clip(condition, 2, chapter.RUN_KAPPA))
(S_1,), (b,) = chapter.slowest_problem(run_d, kappa, stream("at κ"))
k_run = 0
while np.linalg.norm(b - S_1 @ newton(S_1, S_1, k_run) @ b) > chapter.EPS:
    k_run += 1  # λ_max = |b| = 1
runs = chapter.steps_by_condition(run_d, chapter.KAPPAS, stream("conditions"))
missed = [
    np.abs(runs.newton - newton_steps(runs.kappas, power)).max()
    for power in (2.0, 1.0)
]
missed_gd = np.abs(runs.gd - gd_steps(runs.kappas)).max()
wide = runs.kappas >= 10
slope = np.polyfit(np.log2(runs.kappas[wide]), runs.newton[wide], 1)[0]
exponent = np.polyfit(np.log(runs.kappas[wide]), np.log(runs.gd[wide]), 1)[0]

# %% tags=["hide-input"]
ledger.claims({
    "newton.steps_to_eps": (
        newton_steps(kappa),
        k_run,
        newton_steps(kappa, power=1.0),
    ),
    "newton.kappa": (0, max(missed[0], missed_gd), missed[1]),
    "newton.kappa_newton": (2, slope, 1),
    "newton.kappa_gd": (1, exponent, 0.5),
})

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
def descend(sizes):
    w = np.zeros_like(moment)
    for size in sizes:
        w = w - size * (np.einsum("bij,bj->bi", S, w) - moment)
    return w


def distance(start, k, sizes):
    """Newton's w_k from M_0 = start, and gradient descent's."""
    w = np.einsum("bij,bj->bi", newton(start, S, k), moment)
    other = descend(sizes)
    away = np.linalg.norm(w - other, axis=1)
    return np.max(away / np.linalg.norm(other, axis=1))


eta = 1 / top
size = eta[..., 0]  # from α = η², √α = η
ks = range(chapter.EQUAL_STEPS + 1)
equal = max(distance(eta * identity, k, [size] * 2**k) for k in ks)
in_turn = max(distance(eta**2 * S, k, [size, -size] * 2**k) for k in ks)
linear = distance(eta * identity, 6, [size] * (2 * 6))
all_down = distance(eta**2 * S, 6, [size] * 2**7)

# %% tags=["hide-input"]
ledger.claims({
    "newton.gd_identity": (0, equal, linear),
    "newton.gd_identity_alternating": (0, in_turn, all_down),
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
def left_in_direction(u, S, alpha, k):
    """u'(I − M_k S) u, from M_0 = αS."""
    M = newton(alpha * S, S, k)
    return np.abs(1 - np.einsum("...i,...ij,...jk,...k->...", u, M, S, u))


exact = np.diag([1.0, 2.0, 4.0])
stuck = left_in_direction(np.array([0, 0, 1.0]), exact, 2 / 4**2, 100)
on_prompts = left_in_direction(axes[..., -1], S, 2 / top**2, 15)
first = batch.X[:, :1]
S_first = np.swapaxes(first, 1, 2) @ first  # after one example
frobenius = np.linalg.norm(S_first @ S_first, axis=(1, 2))[:, None, None]
direction = first[:, 0] / np.linalg.norm(first[:, 0], axis=1)[:, None]
by_code = left_in_direction(direction, S_first, 2 / frobenius, 15)

# %% tags=["hide-input"]
ledger.claims({
    "newton.alpha_boundary": (1, stuck, 0),
    "newton.alpha_boundary_prompts": (1, on_prompts.min(), 0),
    "newton.alpha_boundary_code": (1, by_code.min(), 0),
})

# %% tags=["hide-input", "remove-output"]
factors = (0.5, 1.0, 1.9, 2.0, 2.1)
# 16 steps: later the end point shows the machine's rounding, doubled each time
by_alpha = chapter.errors_by_alpha(S[0], moment[0], factors, 16)
predicted = {
    "newton": newton_steps(runs.kappas),
    "gd": gd_steps(runs.kappas),
}
ledger.figure(pictures.rates(runs, predicted, factors, by_alpha))

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
def iterated_coefficients(k):
    """Of M_k S in powers of z = αS²: e ← 2e − e², from e = z, in integers."""
    e = np.array([0, 1], dtype=object)
    for _ in range(k):
        square = np.convolve(e, e)
        e = 2 * np.pad(e, (0, len(square) - len(e))) - square
    return e[1:]


def binomial(k):
    return [(-1) ** (j + 1) * comb(2**k, j) for j in range(1, 2**k + 1)]


printed = {1: [2, -4], 2: [4, -12, 16, -16]}
off = max(
    np.abs(iterated_coefficients(k) - binomial(k)).max() for k in range(7)
)
print_off = max(
    np.abs(iterated_coefficients(k) - c).max() for k, c in printed.items()
)
ledger.claims({"newton.expansion_erratum": (0, off, print_off)})

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
alpha = (np.sqrt(n) + np.sqrt(d)) ** -4
nodes, weights = spectral_measure(d, n, degree=2**6)


def mean_risk(power):
    e = 1 - (1 - alpha * nodes**2) ** power
    terms = (1 - e) ** 2 + sigma2 * e**2 / nodes
    return sigma2 + d - min(n, d) + weights @ terms


sampled = fixed_alpha.mean_risk_estimate(
    d, n, sigma2, 4, budget.draws, stream("one fixed matrix")
)
ledger.claims({
    "newton.fixed_alpha": (mean_risk(2**4), sampled, mean_risk(2 * 4))
})

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


# %% tags=["hide-input", "remove-output"]
def frobenius_reach(X):
    """α λ_max² at α = 2 / |S S'|_F, of each context."""
    found = np.linalg.svd(X, compute_uv=False) ** 2
    return 2 * found[:, 0] ** 2 / np.linalg.norm(found**2, axis=1)


reached = values[0] / values[0, -1]  # α S², S³ in units of λ_max
wrong, right = 3 * reached**3, 2 * reached - reached**3
numbers = {
    "printed_expansion_percent": 100
    * np.linalg.norm(wrong)
    / np.linalg.norm(right),
    "mean_risk_2": fixed.mean[2],
    "mean_risk_4": fixed.mean[4],
    "mean_risk_5": fixed.mean[5],
    "newton_behind": newton_behind,
    "printed_heads_percent": 100 * wanted,
    "walk_least_squares": walk.least_squares,
    "frobenius_reach_2": frobenius_reach(batch.X[:, :2]).mean(),
    "frobenius_reach_n": frobenius_reach(batch.X).mean(),
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
# {glue:text}`depth_nodes:.0f` quadrature nodes, exact to rounding; minimising it over the steps needs no random number. The least risks for one,
# two and three layers follow below the code. The Bayes risk is {glue:text}`depth_bayes:.4f`. The first column is {doc}`01_one_step_gd`, three times.

# %%
rungs = DepthLadder(d, n, sigma2)
free, shared, plus = (
    [least(layers) for layers in (1, 2, 3)]
    for least in (rungs.free_steps, rungs.shared_step, rungs.gd_plus_plus)
)
eigenvalues, weights = spectral_measure(d, n, degree=3**3)


def ladder_risk(rung, power=2):
    seen, left = eigenvalues, 1  # λ_k, and 1 − λq so far
    for a, gamma in zip(rung.a, rung.gamma, strict=True):
        left = left * (1 - a * seen)
        seen = seen * (1 - gamma * seen) ** power
    fitted = (1 - left) ** 2 / eigenvalues  # λ q²
    return sigma2 + d - min(n, d) + weights @ (left**2 + sigma2 * fitted)


depths = {"one step size": shared, "free step sizes": free, "GD++": plus}
for name, family in depths.items():
    print(f"{name:16}", *(f"{ladder_risk(rung):.4f}" for rung in family))

# %% [markdown]
# ### Is it true?
#
# The independent check knows nothing of eigenvalues. Deep attention with **free $d \times d$ matrices** in every layer, not multiples of
# $I$, is trained by Adam on fresh prompts, {glue:text}`depth_batch:.0f` a step for {glue:text}`depth_steps:,.0f` steps, and tested on
# {glue:text}`depth_prompts:,.0f` others.

# %%
isotropic = PromptLaw.isotropic(d, n, sigma2)
depth_plan = depth.budget(parameters)
climbed = depth.climb(isotropic, depth_plan, stream)
trained_free, trained_shared, trained_plus = (
    depth.best(climbed, *kind).risk
    for kind in (("gd", 3), ("gd", 3, True), ("gd_plus_plus", 2))
)
one, several, both = map(ladder_risk, (shared[2], free[2], plus[1]))

# %% tags=["hide-input"]
ledger.claims({
    "depth.gd_free": (several, trained_free, one),
    "depth.gd_shared": (one, trained_shared, several),
    "depth.gd_plus_plus": (both, trained_plus, ladder_risk(free[1])),
})

# %% [markdown]
# That the best matrices are multiples of $I$ is proved for one layer only; training found none better. Nor did two layers in which
# *every* entry of $P_k$ and $Q_k$ is free: {glue:text}`depth_full:.4f` ± {glue:text}`depth_full_stderr:.4f`, beside
# {glue:text}`depth_plus_2:.4f` for GD++. And the steps that the quadrature found, written into the matrices of real layers with
# all their scores, have the predicted risk:


# %%
def attend(Z, P, Q):
    """Z + P Z M (Z'QZ): the last column, the query, is masked."""
    seen = Z[..., :-1]
    return Z + P @ seen @ (np.swapaxes(seen, -1, -2) @ (Q @ Z))


def squared_errors(law, rung, rng):
    """Of the steps of a rung, written into matrices, on B fresh prompts."""

    def draw(B):
        batch = law.sample(rng, B)
        Z = token_matrix(batch.X, batch.y, batch.x_query)
        for a, gamma in zip(rung.a, rung.gamma, strict=True):
            P = np.diag([gamma / a] * law.d + [1])
            Z = attend(Z, P, np.diag([-a] * law.d + [0]))
        return (-Z[:, -1, -1] - batch.y_query) ** 2

    return draw


errors = squared_errors(isotropic, plus[2], stream("forward pass"))
forward = depth.reliable_mean(errors, isotropic, depth_plan.prompts)
ledger.claims({
    "depth.forward": (ladder_risk(plus[2]), forward, ladder_risk(plus[2], 1))
})

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
seen_20, seen_19 = (DepthLadder(5, N, 0).free_steps(3) for N in (20, 19))
shorter = PromptLaw.isotropic(5, 19, 0)
errors = squared_errors(shorter, seen_19, stream("forward pass, 19 examples"))
forward = monte_carlo(
    errors, 4 * depth_plan.prompts, chunk=depth.chunk(shorter)
)
ledger.claims({
    "depth.baseline_examples": (seen_19.risk, forward, seen_20.risk)
})

# %% [markdown]
# ### What bounds the ladder
#
# The families contain one another, so Bayes ≤ GD++ ≤ free steps ≤ one step. More sharply, after $L$ layers $q$ has degree
# $L - 1$ for gradient descent and $(3^L - 3)/2$ for GD++, and the *best polynomial* of a degree is a least-squares problem in its
# coefficients, with a bound that no such model can beat. GD++ with two layers is {glue:text}`depth_plus_gap:.5f` above the
# best cubic polynomial, {glue:text}`depth_cubic:.4f`, which plain gradient descent needs at least four layers to reach.

# %%
ranks = np.array([
    [ladder_risk(rung) for rung in family] for family in (shared, free, plus)
])
gains = -np.diff([*ranks, [depth_bayes] * 3], axis=0)
best = rungs.best_polynomial
reach = [(free[L], L) for L in range(3)] + [
    (plus[L], (3 ** (L + 1) - 3) // 2) for L in range(3)
]  # layers L + 1: degree of q
above = [ladder_risk(rung) - best(D) for rung, D in reach]
lower = [best(D - 1) - best(D) for _, D in reach if D > 0]

# %% tags=["hide-input"]
ledger.claims({
    "depth.order": (0, gains.min() / max(1, sigma2) + 0.0),
    "depth.polynomial_bound": (0, min(above), min(lower)),
})

# %% [markdown]
# Do free steps always *reach* the best polynomial? They do if all roots of $1 - \lambda q(\lambda)$ are real, for the steps are their
# reciprocals. Without noise they are: $1 - \lambda q$ is then an orthogonal polynomial. With noise it can fail, and not only in odd corners. At
# $d = 1$, $n = 3$, $\sigma^2 = 1$ (sizes of this experiment only) the best quadratic $q$ has two complex roots and risk
# {glue:text}`depth_complex_polynomial:.6f`; three real steps reach {glue:text}`depth.complex_steps.predicted:.6f`, two of them equal.
# A second computation, Gauss–Laguerre sums against the $\chi^2$ law and a simplex search:

# %%
case = DepthLadder(**depth.COMPLEX)
reached = case.free_steps(3).risk
searched = depth.complex_case_risk()
ledger.claims({
    "depth.complex_steps": (reached, searched, case.best_polynomial(2))
})

# %% [markdown]
# ### What depth does not buy
#
# Without softmax and MLP, every layer acts on the query token by a matrix made from the examples alone: with the Gram matrix
# $G = Z M Z^\top / s$ it is $I + P_k G Q_k$, and $G$ is handed on as $(I + P_k G Q_k)\, G\, (I + P_k G Q_k)^\top$. (Which is also how to compute it:
# the $n \times n$ scores are never needed, and the cost of a layer does not grow with $n$.) So a linear transformer of
# *any* depth answers linearly in the query,

# %%
rng = stream("random layers")
batch = isotropic.sample(rng, 64)
P, Q = rng.standard_normal((2, 4, d + 1, d + 1)) / (d + 1)
Q /= n + d + 1


def answer(x, masked=True):
    Z = token_matrix(batch.X, batch.y, x)
    for P_k, Q_k in zip(P, Q, strict=True):
        blank = np.zeros_like(Z[..., :1])  # a column that attracts nothing
        Z = attend(Z if masked else np.dstack([Z, blank]), P_k, Q_k)
        Z = Z[..., : n + 1]
    return -Z[:, -1, -1]


def by_gram_matrix(columns):
    z, seen = token_matrix(batch.X, batch.y, batch.x_query)[..., -1:], columns
    G = seen @ np.swapaxes(seen, 1, 2)
    for P_k, Q_k in zip(P, Q, strict=True):
        T = np.eye(d + 1) + P_k @ G @ Q_k
        z, G = T @ z, T @ G @ np.swapaxes(T, 1, 2)
    return -z[:, -1, 0]


x, other = batch.x_query, rng.standard_normal((64, d))
Z = token_matrix(batch.X, batch.y, x)
size = np.abs(answer(x)).max()
gram_off, with_query = (
    np.abs(by_gram_matrix(seen) - answer(x)).max() / size
    for seen in (Z[..., :-1], Z)
)
bend, unmasked = (
    np.abs(answer(x + other, m) - answer(x, m) - answer(other, m)).max() / size
    for m in (True, False)
)

# %% tags=["hide-input"]
ledger.claims({
    "depth.gram_form": (0, gram_off, with_query),
    "depth.linear_in_query": (0, bend, unmasked),
})

# %% [markdown]
# and for the targets of {doc}`03_nonlinear_targets` it cannot get below the *linear floor* $\sigma^2 + \mathbb E f^2 - \|\mathbb E f(x)\,x\|^2$,
# which a single layer already reaches as $n \to \infty$. For $f(x) = \operatorname{sign}(w^\top x)$ the floor is
# {glue:text}`depth.linear_floor.predicted:.4f` and one layer has {glue:text}`depth_sign_one:.4f`. Three layers, every entry free and trained:

# %%
sign_law = TargetLaw(FAMILIES["sign"], d, n, sigma2)
floor = nonlinear_targets.linear_floor(nonlinear_targets.sign(d), sigma2)
risk = depth.nonlinear_risk(sign_law, depth_plan, stream("sign"))
ledger.claims({"depth.linear_floor": (floor, risk, sigma2 + 1)})

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
numbers["depth_plus_2"] = plus[1].risk
for name, value in numbers.items():
    ledger.number(name, value)

# %% [markdown]
# ## What trained transformers do
#
# ... is {doc}`chapter 7 <07_trained_transformers>`: probes of every layer, matched steps, similar errors, rivals, and other settings.
# What stood here before stands there now.

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
# the trained encoders of {doc}`chapter 7 <07_trained_transformers>` are not. The paper's trained model is: a decoder must answer for every prefix, and would need the whole construction once for each. The paper's
# Remark B.6 sketches a causal variant for $n \gg d$, without error bounds.
#
# **No noise, no prior.** Newton's limit is least squares, which is not optimal with label noise: ridge regression is
# ({ref}`the picture of all solvers <fig-newton-solvers>` in chapter 7). Stopping early can help, but no choice of $k$ reaches it.
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
# not say that they run Newton's iteration (in {doc}`chapter 7 <07_trained_transformers>`'s small models they are as similar to those of gradient descent), and other methods with the same few-step errors (conjugate gradients, or the alternating gradient steps above with
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
