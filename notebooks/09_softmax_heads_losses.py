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
# (softmax-heads-losses)=
# # Softmax, heads, losses: when an assumption goes
#
# One layer, one head, no softmax, squared loss, one query: {doc}`chapter 1 <01_one_step_gd>` needs all of this, and real transformers
# have none of it. {cite:t}`mahankali2024` end with such questions, and their readers have asked more.
# This page gives up one assumption at a time. Most answers are exact, and most say: **gradient descent again, with another length.**
#
# Softmax is the finest case. A head cannot weigh an example negatively, but two heads can: they do gradient descent with *centred*
# covariates and pay with one example, a risk of {glue:text}`softmax.limit.predicted:.4f` where linear attention has
# {glue:text}`linear:.4f`. A single head of the kind gets no further than {glue:text}`softmax.one_head.predicted:.2f`.
#
# ```{admonition} What you need
# :class: note
# {doc}`Chapter 1 <01_one_step_gd>`, above all its symmetry argument; {doc}`/book/notation`. Reading takes about
# {glue:text}`reading_minutes:.0f` minutes; rerunning, under a minute.
# ```

# %% tags=["hide-input"]
import numpy as np
from icl.chapters import begin
from icl.chapters.one_step_gd.experiments import best_of_heads
from icl.chapters.softmax_heads_losses import experiments as chapter
from icl.chapters.softmax_heads_losses import fits, losses, pictures
from icl.chapters.softmax_heads_losses.explorable import explorable
from icl.estimates import NotRun
from icl.prompts import PromptLaw
from icl.theory import causal_stack, mlp_benefit, one_step_gd, other_losses
from icl.theory import quadratic_attention as products
from icl.theory import softmax_heads as theory
from scipy.special import softmax

# %% tags=["parameters"]
d = 5
n = 20
sigma2 = 0.25
seed = 0
profile = "quick"

# %% tags=["hide-input", "remove-output"]
parameters, ledger, stream = begin(
    "09_softmax_heads_losses",
    d=d,
    n=n,
    sigma2=sigma2,
    seed=seed,
    profile=profile,
)
budget = chapter.budget(parameters)
law = PromptLaw.isotropic(d, n, sigma2)
small = PromptLaw.isotropic(3, 8, 0.25)
ten = PromptLaw.isotropic(3, 10, 0.0)

# %% [markdown]
# ## Softmax is centred gradient descent
#
# Head $k$ weighs the labels by $p_i \propto e^{q_k s_i}$, where $s_i = x_i^\top x$ are the scores, and the heads' answers add up with factors $V_k$:


# %%
def softmax_attention(q, V, X, y, x):
    """Answers (B,) of heads q, V (K,) to X (B, n, d), y (B, n), x (B, d)."""
    scores = (X @ x[..., None])[..., 0]  # (B, n)
    p = [softmax(q_k * scores, axis=-1) for q_k in q]
    a = np.tensordot(V, p, 1)
    return (a * y).sum(-1)


def centred_step(eta, X, y, x):
    """One gradient step from 0, on covariates less their mean."""
    w = eta * (X - X.mean(-2, keepdims=True)).mT @ y[..., None]
    return (w[..., 0] * x).sum(-1)


# %% [markdown]
# **By hand.** Scores $1, 0, -1$ and $q = \ln 2$: one head weighs by $2 : 1 : \tfrac12$, that is $\tfrac47, \tfrac27, \tfrac17$, its opposite by
# $\tfrac17, \tfrac27, \tfrac47$. With $V = \pm\tfrac76$ they leave $\tfrac12, 0, -\tfrac12$, and the labels $3, 1, -1$ give $2$. A
# centred step of $\tfrac12$ does the same: $\tfrac12 (3 \cdot 1 + 1 \cdot 0 + (-1)(-1)) = 2$.

# %%
X3, x = np.array([[[1.0, 1], [0, 1], [-1, 1]]]), np.array([[1.0, 0]])
y3 = X3 @ np.array([2.0, 1])
q3, V3 = np.log([2, 1 / 2]), np.array([7, -7]) / 6
print("two heads   ", softmax_attention(q3, V3, X3, y3, x))
print("centred step", centred_step(1 / 2, X3, y3, x))

# %% [markdown]
# **The limit.** $\operatorname{softmax}_i(\pm q s) = \tfrac1n (1 \pm q (s_i - \bar s)) + O(q^2)$. So two heads $\pm q$ with factors $\pm V$ and
# $2Vq/n = \eta$ tend, for $q \to 0$, to $\eta \sum_i y_i (x_i - \bar x)^\top x$. The centring matrix is a projector of rank $n - 1$, hence
# $X^\top (I - \tfrac1n \mathbf 1 \mathbf 1^\top) X$ has the law of $X^\top X$ with one example less, and the least risk is that of Theorem 1 at $n - 1$.
#
# **Every $q$.** Let $a_i$ be any weights made of scores, $r = \|x\|$, and $z_i = s_i / r$ the
# component of $x_i$ along $x$. The answer misses $y$ by $w_\parallel (\sum_i a_i z_i - r)$ along $x$; the other components of $w$, and the noise,
# meet components of the $x_i$ that the scores do not know. Averaging over them,
#
# ```{math}
# :label: eq-score-risk
# \mathcal R = \sigma^2 + \mathbb E\Big[ \big(r - \textstyle\sum_i a_i z_i\big)^2 + c \sum_i a_i^2 \Big], \qquad c = d - 1 + \sigma^2 .
# ```
#
# With $a_i = \eta\, r z_i$ this is Theorem 1 in a line. With softmax heads it is $\sigma^2 + d - 2 b^\top V + V^\top\! A V$, whose entries contain
# $1/S$ with $S = \sum_i e^{q r z_i}$; and $1/S = \int_0^\infty e^{-uS}\, du$ makes them integrals over $u$, $v$ and $r$ of *products* of Gaussian
# integrals, one an example. They are summed over a grid: no random number enters.

# %%
q_best, pair_risk = theory.best_pair(d, n, sigma2)
q = max(q_best, 0.01) * np.array([1, -1])  # the best pair
A, b = theory.moments(q, d, n, sigma2)
V = np.array([1, -1]) * b[0] / max(A[0, 0] - A[0, 1], 1e-12)
by_nodes = sigma2 + d - 2 * b @ V + V @ A @ V
A_near, _ = theory.moments(q, d, n, sigma2 + 1)  # c + 1 for c
near = sigma2 + d - 2 * b @ V + V @ A_near @ V
small_q = theory.pair_risk(1e-3 / np.sqrt(d), d, n, sigma2).risk
linear = sigma2 + d * (d + 1 + sigma2) / (n + d + 1 + sigma2)
limit = sigma2 + d * (d + 1 + sigma2) / (n - 1 + d + 1 + sigma2)


# %% tags=["hide-input"]
def on_prompts(answer, name):
    """An answer's risk on whole prompts."""
    return chapter.risk_of(law, answer, budget.prompts, stream(name))


pair = on_prompts(lambda *p: softmax_attention(q, V, *p), "pair")
ledger.claims({
    "softmax.score_risk": (by_nodes, pair, near),
    "softmax.limit": (limit, small_q, linear),
})

# %% [markdown]
# **Is that what training finds?** We let the key–query matrices of two heads, and what they read off the tokens, free, and fit them to
# {glue:text}`fitted_prompts:,.0f` prompts. The heads come out opposite, $\pm qI$ with factors $\pm V$, as
# {cite:t}`he2025` saw in training; $q =$ {glue:text}`fitted_q:.3f`, where $q =$ {glue:text}`q_best:.3f` is best among $\pm qI$. That no *other* pair of heads is
# better is observed, not proved. A single head has positive weights only and cannot subtract the mean.

# %% tags=["hide-input"]
q_one, one_head = theory.best_head(d, n, sigma2)
fitted = fits.fit_heads(law, 2, budget, stream("two heads"))
single = fits.fit_heads(law, 1, budget, stream("one head"))
done = isinstance(fitted, fits.Fitted)
ledger.claims({
    "softmax.fitted_pair": (pair_risk, fitted.risk if done else fitted, linear),
    "softmax.opposite_heads": (0, fits.opposite(fitted, budget), 1),
    "softmax.one_head": (one_head, single.risk if done else single, pair_risk),
})

# %% tags=["hide-input", "remove-output"]
ledger.figure(pictures.weights_and_risk(d, n, sigma2, q_best, one_head, fitted))

# %% [markdown]
# ```{glue:figure} fig-weights_and_risk
# :name: fig-weights-and-risk
#
# Two softmax heads of opposite sign do linear attention's step, on centred examples. Left: what each model gives a label whose example has this score. Two softmax heads draw a line through the *mean* score, bent at its ends.
# Right: bending helps a little, up to $q =$ {glue:text}`q_best:.3f`, then hurts. Dashed: linear attention, which spares the example that centring costs, and what no weights of sum $0$ can pass.
# ```
#
# **The floor.** For given scores {eq}`eq-score-risk` is ridge regression in one unknown: the best weights of all are $a_i = r z_i / (\|z\|^2 + c)$,
# and their risk is $\sigma^2 + d\, \mathbb E\, \frac{c}{\chi^2_n + c}$. Heads in pairs $\pm V$ have weights of sum $0$, so $z$ counts only after centring: $\chi^2_{n-1}$. However many such heads there are, and whatever their $q$, they stay above.


# %%
def ridge_along(X, y, x, centred):
    """The best weights that can be made of scores."""
    r = np.sqrt((x**2).sum(-1, keepdims=True))
    z = (X @ x[..., None])[..., 0] / r
    z = z - centred * z.mean(-1, keepdims=True)
    a = r * z / ((z**2).sum(-1, keepdims=True) + d - 1 + sigma2 + 1e-300)
    return (a * y).sum(-1)


floor = theory.score_floor(d, n, sigma2)
zero_sum = theory.score_floor(d, n, sigma2, zero_sum=True)
q4, four = theory.second_pair(d, n, sigma2)

# %% tags=["hide-input"]
any_sum = on_prompts(lambda *p: ridge_along(*p, False), "ridge")
sum_zero = on_prompts(lambda *p: ridge_along(*p, True), "centred ridge")
two = on_prompts(lambda *p: softmax_attention(q4, four.V, *p), "two pairs")
ledger.claims({
    "softmax.floor": (floor, any_sum, zero_sum),
    "softmax.zero_sum_floor": (zero_sum, sum_zero, floor),
    "softmax.four_heads": (four.risk, two, pair_risk),
    "softmax.above_floor": (zero_sum, min(pair_risk, four.risk)),
})

# %% [markdown]
# ## Several heads of linear attention
#
# Without a mean task several heads change nothing: the symmetry argument is about their sum. With one, they help, but never as much as the MLP of
# {doc}`chapter 4 <04_mlp_benefit>`, which also proves the floor for $d + 1$ heads. For $d = 3$, $n = 8$, $\sigma^2 = \tfrac14$,
# $\|\beta^\ast\| = 3$ the gap to the block is {glue:text}`heads.one.measured:.4f`, {glue:text}`heads.two.measured:.4f` and
# {glue:text}`heads.three.measured:.4f` for one, two and three heads, and then stays. That $d$ heads suffice is observed. The bound for fewer: in the proof of Theorem 4.1
# the matrix $Q$ has one positive eigenvalue a head and one more, so $(\operatorname{tr} Q)_+^2 \le (K + 1) \|Q\|_F^2$.
# {cite:t}`xie2025` observe, as we understand it, a gap that stays however many heads there are; their tokens hold a first guess in place of the query's $0$, so whether it is this one we leave open.

# %%
with_mean = PromptLaw.isotropic(3, 8, 0.25, np.array([3.0, 0, 0]))
block = 0.25 + 3 * (3 + 1 + 0.25) / (8 + 3 + 1 + 0.25)  # its least risk
bounds = [2 * 9 / ((K + 1) * 8 + 2) for K in (1, 2, 3)]
gap_one = mlp_benefit.isotropic_lsa_risk(3, 8, 0.25, 3.0) - block
least_gap = mlp_benefit.multi_head_floor(with_mean)  # of any K
gaps = np.array(chapter.heads_ladder(with_mean, 3, 2, stream("heads"))) - block

# %% tags=["hide-input"]
four_heads = best_of_heads(small, 4, 1, stream("four heads, no mean"))
ledger.claims({
    "heads.zero_mean": (block, four_heads, 0.25 + 3 * 3.25 / (8 + 3.25)),
    "heads.one": (gap_one, gaps[0], bounds[0]),
    "heads.two": (bounds[1], gaps[1]),
    "heads.three": (least_gap, gaps[2], bounds[2]),
})

# %% [markdown]
# ## Other losses
#
# The symmetry argument asks of the loss that it be convex, no more. So under every convex loss the best linear attention, with any number of
# heads, is $\hat y = \eta\, x^\top X^\top y$, and $\eta$ minimises a convex function of one variable. Given the examples the query is Gaussian, which leaves, with $g = X^\top y$,
#
# $$
# \mathbb E |\hat y - y| = \sqrt{\tfrac2\pi}\; \mathbb E \sqrt{\sigma^2 + \|\eta g - w\|^2}, \qquad
# \mathbb E \log(1 + e^{-y \hat y}) = \mathbb E\, F(\eta \|g\|) - \tfrac{\eta n}{2}\, \mathbb E\, \kappa(\|w\|)^2
# $$
#
# with $F(s) = \mathbb E \log(1 + e^{s \xi})$, $\kappa(\rho) = \mathbb E\, \xi \tanh(\rho \xi / 2)$ and $\xi$ standard normal; in the second, labels are $\pm1$ with
# log-odds $w^\top x$. (There $\mathbb E[y x \mid w] = \kappa w / \|w\|$, and $y \hat y$ enters as $\log(1 + e^{\hat y})$ less $\hat y$ where $y = 1$.) The laws of
# $\|\eta g - w\|$ and $\|g\|$ need sums over a few one-dimensional nodes:

# %%
absolute = other_losses.absolute_step(3, 8, 0.25)
logit = other_losses.logit_step(3, 10)
squared = 1 / (8 + 3 + 1 + 0.25)  # the step of squared loss
cross_entropy = other_losses.logit_loss(logit, 3, 10)  # log 2 at eta = 0
print(f"steps {absolute:.4f}, {logit:.4f}; cross-entropy {cross_entropy:.4f}")

# %% tags=["hide-input"]
steps = losses.losses_on_prompts(small, ten, budget.losses, stream)
learned = fits.steps_learned(small, ten, stream)
ledger.claims({
    "losses.absolute_step": (absolute, steps["absolute"], squared),
    "losses.absolute_learned": (absolute, learned["absolute"], squared),
    "losses.logit_step": (logit, steps["logit"], steps["squared"]),
    "losses.logit_learned": (logit, learned["logit"], steps["squared"]),
    "losses.absolute_slopes": (0, *steps["absolute slopes"]),
    "losses.logit_slopes": (0, *steps["logit slopes"]),
})

# %% [markdown]
# ## Several queries, and all prefixes
#
# *Masked* queries do not see each other: each has the risk of a prompt with one. *Unmasked*, the tokens $(x_q; 0)$ enter the sum, but as
# products of three covariates, which the symmetry argument sends to zero: the same step. If the loss is the mean over all prefixes $j \le n$, with one set of
# weights, it is a parabola again. With $k = d + 1 + \sigma^2$ the coefficients for $j$ examples are $j$ and $j(j + k)$ for sums and, divided by $j$ and $j^2$, $1$ and $(j + k)/j$ for means:

# %%
k, j, m = d + 1 + sigma2, np.arange(1, n + 1), chapter.QUERIES
step_for_sums = j.sum() / (j * (j + k)).sum()
step_for_means = n / ((j + k) / j).sum()
at_mean_length = 1 / ((n + 1) / 2 + k)

# %% tags=["hide-input"]
found = chapter.queries_and_prefixes(law, ten, budget.prompts, stream)
ledger.claims({
    "queries.masked": (linear, found["masked"], sigma2 + d * k / (n + m + k)),
    "queries.unmasked": (1 / 14, found["unmasked"], 1 / (14 + m)),
    "prefixes.sum": (step_for_sums, found["sum"], at_mean_length),
    "prefixes.mean": (step_for_means, found["mean"], n / (n + k)),
})

# %% [markdown]
# ## Causal or prefix mask, in depth
#
# A layer adds $\eta \sum_i r_i\, x_i^\top x_j$ to the prediction of token $j$, $r$ being what is left of the labels. With a *prefix* mask every token
# sees all examples, and all take the same gradient steps. With a *causal* mask token $j$ sees $i \le j$:


# %%
def deep_answer(scores, to_query, y, eta, layers):
    """The query's answer; scores (n, n) are XX', or its lower triangle."""
    residual, answer = y, 0.0
    for _ in range(layers):
        answer = answer + eta * residual @ to_query
        residual = residual - eta * scores @ residual
    return answer


one = PromptLaw.isotropic(max(d, 5), min(n, 12), sigma2)
one = one.sample(stream("one prompt"), 1)
X, y, x = one.X[0], one.y[0], one.x_query[0]
gram, to_query = X @ X.T, X @ x
eta = 1 / gram.diagonal().max()
causal = deep_answer(np.tril(gram), to_query, y, eta, 6000)
prefix = deep_answer(gram, to_query, y, 1 / np.linalg.norm(gram, 2), 6000)
online = np.linalg.solve(np.tril(gram), y) @ to_query
least_squares = np.linalg.pinv(X) @ y @ x

# %% [markdown]
# The residuals shrink by $I - \eta T$ a layer, $T$ the lower triangle of $XX^\top$. So a causal stack with one step, run to its end, answers
# $x^\top X^\top T^{-1} y$. Solving with a triangle is going through the examples once, $w_j = w_{j-1} + x_j (y_j - w_{j-1}^\top x_j) / \|x_j\|^2$: online descent with
# the longest sensible step, and each example is seen when it is too early. A projection takes a $d$-th off the error and adds
# $\sigma^2\, \mathbb E \|x\|^{-2} = \sigma^2 / (d - 2)$. That causal stacks do online descent and do not reach least squares even for endless contexts is due to {cite:t}`ding2024`; here is by how much.

# %%
kept = (1 - 1 / d) ** n
added = sigma2 / (d - 2) if d > 2 else np.inf if sigma2 else 0
causal_end = sigma2 + d * kept + d * (1 - kept) * added
endless = sigma2 + d * added

# %% tags=["hide-input"]
ends = chapter.causal_ends(law, budget.prompts, stream)
scales = np.linalg.svd(X, compute_uv=False) ** 2
ended = 6000 * scales.min() > 25 * scales.max()
slow = NotRun("6000 layers are not its end: X'X is all but singular")
from_online = abs(least_squares / online - 1)
from_inverse = abs(online / least_squares - 1)
ols = one_step_gd.least_squares_risk
ledger.claims({
    "masks.causal_end": (0, abs(causal / online - 1), from_online),
    "masks.prefix_end": (
        0,
        abs(prefix / least_squares - 1) if ended else slow,
        from_inverse,
    ),
    "masks.causal_risk": (causal_end, ends["here"], ols(d, n, sigma2)),
    "masks.endless": (endless, ends["endless"], ols(d, 40 * d, sigma2)),
})

# %% tags=["hide-input", "remove-output"]
layers = [1, 2, 4, 8, 16]
shared = chapter.best_shared_steps(law, layers, 600, stream("shared steps"))
bayes = one_step_gd.lemma1_constant(d, n, sigma2)
end = causal_stack.limit_risk(d, n, sigma2)
ledger.figure(pictures.masks_in_depth(layers, shared, end, bayes))

# %% [markdown]
# ```{glue:figure} fig-masks_in_depth
# :name: fig-masks-in-depth
#
# Where each example sees only earlier ones (causal mask) more layers do not lead to Bayes. Stopped early, with the best step, such a stack does better than at its end, and still does not come near the prefix mask.
# (One layer is the same for both: only the query looks.) Measured.
# ```
#
# ## Depth and nonlinear targets
#
# With the query masked, a layer acts on the query's token by a matrix made of the context. So a linear transformer of *any* depth and any number of heads
# answers linearly in $x$, and for a random target $f$ its risk is at least $\sigma^2 + \mathbb E f^2 - \mathbb E \|\mathbb E_x f(x) x\|^2$, which one layer
# attains for endless contexts. On quadratic targets no depth beats the answer $0$.
#
# An MLP *before* attention can: let it make the products $x_a x_b$ {cite:p}`sun2025`. By symmetry the best attention on them is
# $\hat y = \alpha \sum_i y_i (x_i^\top x)^2 + \gamma \sum_i y_i \|x_i\|^2 \|x\|^2$, a step on a quadratic kernel. For $f = x^\top Q x$,
# $\mathbb E f^2 = d(d+2)$, put $M = \sum_i y_i x_i x_i^\top$; then $\mathbb E[M \mid Q] = n(2Q + \operatorname{tr} Q\, I)$ and Gaussian moments give the rest.
# The linear floor is {glue:text}`linear_floor:.2f`; this step has {glue:text}`deep_targets.products_first.predicted:.2f`, and
# {glue:text}`products_long:.2f` with a hundred times as many examples:

# %%
p = d * (d + 2)
single = p * ((d + 4) * (d + 6) + sigma2)  # E y²|x|⁴
size = n * single + n * (n - 1) * 3 * p  # E|M|²
trace = n * single + n * (n - 1) * p * (d + 2)  # E tr² M
G = np.array([
    [2 * size + trace, (d + 2) * trace],
    [(d + 2) * trace, p * trace],
])
means = n * p * np.array([3, d + 2])  # of the two sums, times y
rates = np.linalg.pinv(G, 1e-12, True) @ means
by_moments = sigma2 + p - means @ rates


def on_products(X, y, x):
    """Linear attention on the products of covariates."""
    alike = (X @ x[..., None])[..., 0] ** 2
    sizes = (X**2).sum(-1) * (x**2).sum(-1, keepdims=True)
    return (y * (rates[0] * alike + rates[1] * sizes)).sum(-1)


# %% tags=["hide-input"]
misses = fits.nonlinearity_in_query(d, n, 3, stream("deep weights"))
deep = fits.fit_deep("sign", 3, 20, 0.25, 2, budget.deep, stream("deep"))
kernel = chapter.quadratic_risk(
    d, n, sigma2, on_products, budget.prompts, stream("products")
)
ledger.claims({
    "deep_targets.linear_in_query": (0, misses["masked"], misses["unmasked"]),
    "deep_targets.floor": (0.25 + 1 - 2 / np.pi, deep, 0.25 + 1),
    "deep_targets.products_first": (by_moments, kernel, sigma2 + p),
})

# %% [markdown]
# ## Move it yourself
#
# Turn $q$ up and watch the line break into two spikes: the pair then compares the two extreme examples and forgets the others. **A question:** can
# you find $q$, $n$, $d$ and $\sigma^2$ at which two softmax heads beat linear attention?
#
# ```{admonition} Answer
# :class: dropdown
# Barely, and only for $d = 1$ with little or no noise and four to a dozen examples: an example far out tells more, and bent weights know it. Elsewhere that we looked, centring costs more than bending gains.
# ```

# %% tags=["hide-input"]
explorable(parameters)

# %% [markdown]
# ## Where each question stands
#
# The first two are named at the end of the paper; the others are its readers'.
#
# | question | answer | status |
# |---|---|---|
# | several heads | one step; with a mean task a floor, attained by $d + 1$ heads | proved; $d$ heads: observed |
# | several layers, nonlinear targets | never below the linear floor; an MLP first passes it | proved |
# | several layers, linear targets | steps of gradient descent, {doc}`chapter 6 <06_newton_transformers>` | proved for given forms of the weights |
# | covariates with a covariance | preconditioned, {doc}`chapter 2 <02_preconditioned_gd>` | proved |
# | softmax | a pair is centred gradient descent; a floor for all weights made of scores | limit and floor proved; that training ends there: observed |
# | other losses | one step, its length from a convex problem | proved |
# | several queries | the same step; unmasked with a mean task: not worked out | proved, mean task open |
# | all prefixes, one set of weights | one step, its length in closed form | proved |
# | causal mask in depth | run to its end, online descent | proved; the best steps: measured |
#
# ## What this page does not say
#
# - *Softmax.* Keys read covariates only in our fits, and $\pm qI$ is assumed in the formulas. Nothing is said of softmax in depth.
# - *Losses.* Isotropic covariates, no mean task; $w \sim N(0, H^{-1})$ is the same with $H^{-1}X^\top y$. Without noise and for $d \le 2$ the sums over nodes
#   are good to three or four digits, elsewhere to six and more.
# - *Masks.* The causal end is for one step in all layers; free steps and free matrices may do better, and {numref}`fig-masks-in-depth` is a measurement.
# - *Fits.* {glue:text}`fitted_prompts:,.0f` prompts, one start; no statement about what gradient descent on fresh prompts would find.

# %% tags=["hide-input", "remove-output"]
fitted_q = np.trace(fitted.M[0] - fitted.M[1]) / (2 * d) if done else 0.0
numbers = {
    "linear": linear,
    "linear_floor": sigma2 + p,
    "q_best": q_best,
    "fitted_q": abs(fitted_q),
    "fitted_prompts": budget.fitted,
    "products_long": products.minimal_risk(d, 100 * n, sigma2),
}
for name, value in numbers.items():
    ledger.number(name, value)

# %% [markdown]
# ## Exercises
#
# ```{exercise} Longer prompts ★★
# :label: ex-longer-prompts
# The best pair for $n$ examples meets a prompt of $4n$. What does it do, and what does linear attention without a factor $1/n$ do?
# ```
#
# ```{solution-start} ex-longer-prompts
# :label: sol-longer-prompts
# :class: dropdown
# ```
#
# Softmax divides by the number of examples: the factor $2Vq/n$ becomes $2Vq/(4n)$, a mean over more examples. Linear attention adds four times as
# much, and overshoots. {cite:t}`he2025` saw this difference in training.

# %%
A4, b4 = theory.moments(q, d, 4 * n, sigma2)
print(f"two heads: {sigma2 + d - 2 * b4 @ V + V @ A4 @ V:.3f}")
overshot = one_step_gd.one_step_risk(1 / (n + k), d, 4 * n, sigma2)
print(f"linear attention: {overshot:.3f}")
assert overshot >= one_step_gd.minimal_risk(d, 4 * n, sigma2)

# %% [markdown]
# ```{solution-end}
# ```
#
# ```{exercise} Below two heads ◇
# :label: ex-best-heads
# Is $(qI, -qI)$ the best pair of key–query matrices? How close to the floor do many heads come?
# ```
#
# ```{solution} ex-best-heads
# :label: sol-best-heads
# :class: dropdown
# Open, as far as we know: softmax is not convex in its scores, so averaging over rotations proves nothing. Here the best pair $\pm qI$ leaves
# {glue:text}`softmax.score_risk.predicted:.4f`, two pairs {glue:text}`softmax.four_heads.predicted:.4f`; linear attention leaves {glue:text}`linear:.4f`, and the floor
# for weights of sum $0$ is {glue:text}`softmax.zero_sum_floor.predicted:.4f`: most of the way to it is left.
# ```

# %% [markdown]
# ## Every claim of this chapter
#
# A claim holds when prediction and measurement differ by no more than its tolerance, fixed beforehand, and five standard errors.

# %% tags=["hide-input"]
ledger.save()
