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
# (when-depth-pays)=
# # When depth pays
#
# If all prompts share one covariance $H$, one layer is enough: its matrix learns $H^{-1}$, and with many examples nothing is left to gain
# ({doc}`chapter 2 <02_preconditioned_gd>`). Why then are transformers deep? The simplest answer that can be computed to the end: **let every prompt have a covariance of
# its own.** No matrix suits them all, and layers earn their keep even if examples are endless. {cite:t}`bordelon2025` study this case, as we understand it, in a limit of large sizes; here $d$ is finite, and the formulas exact.
#
# One layer leaves an excess risk of {glue:text}`one_layer:.4f`; {glue:text}`layers:.0f` layers with a step each leave {glue:text}`pays.risk.predicted:.4f`, and as many
# that share one step, as in a looped transformer, {glue:text}`pays.shared.predicted:.4f`. Then a surprise: looped layers do better with a matrix that *turns*.
#
# ```{admonition} What you need
# :class: note
# {doc}`Chapter 1 <01_one_step_gd>` and {doc}`/book/notation`; eigenvalues and polynomials. Reading takes about {glue:text}`reading_minutes:.0f` minutes; rerunning, one.
# ```

# %% tags=["hide-input"]
import numpy as np
from icl.chapters import begin
from icl.chapters.when_depth_pays import experiments as chapter
from icl.chapters.when_depth_pays import matrices, pictures, step_flow
from icl.chapters.when_depth_pays.explorable import explorable
from icl.theory import when_depth_pays as theory

# %% tags=["parameters"]
d = 5
n = 20
sigma2 = 0.25
condition = 100.0
layers = 4
seed = 0
profile = "quick"

# %% tags=["hide-input", "remove-output"]
own = dict(condition=condition, layers=layers, seed=seed, profile=profile)
parameters, ledger, stream = begin(
    "11_when_depth_pays", d=d, n=n, sigma2=sigma2, **own
)
budget = chapter.budget(parameters)

# %% [markdown]
# ## The task and the model
#
# Fix eigenvalues $\lambda_1 \ge \dots \ge \lambda_d > 0$, here $d =$ {glue:text}`d:.0f` of them, evenly spaced in logarithm, with condition number $\kappa =$
# {glue:text}`condition:g` and sum $d$. A prompt draws a rotation $O$, uniformly from $O(d)$, then $x_i, x \sim N(0, H)$ with $H = O \Lambda O^\top$, a task
# $\beta \sim N(0, I)$ and labels $y_i = x_i^\top \beta + \varepsilon_i$ with noise of variance $\sigma^2$. Every layer of the transformer looks with a matrix $\Gamma_k$ and writes into the label slot only:


# %%
def layer(h, Gamma):
    """y_t ← y_t − (1/n) Σ_i y_i ⟨x_t, Γ x_i⟩, for tokens h_t = (x_t; y_t)."""
    x, y = h[..., :-1], h[..., -1:]
    scores = x @ Gamma @ x[..., :-1, :].mT  # of all tokens with the examples
    written = scores @ y[..., :-1, :] / (h.shape[-2] - 1)
    return np.concatenate([x, y - written], axis=-1)


def transformer(Gammas, X, y, x):
    """The guess: minus what L layers have written into the query's slot."""
    query = np.append(x, np.zeros((*x.shape[:-1], 1)), axis=-1)
    examples = np.concatenate([X, y[..., None]], axis=-1)
    h = np.concatenate([examples, query[..., None, :]], axis=-2)
    for Gamma in Gammas:
        h = layer(h, Gamma)
    return -h[..., -1, -1]


def gradient_steps(Gammas, X, y, x):
    """x'w after the steps w ← w + Γ X'(y − Xw)/n from w = 0."""
    w = np.zeros_like(x)[..., None]
    for Gamma in Gammas:
        w = w + Gamma @ X.mT @ (y[..., None] - X @ w) / X.shape[-2]
    return (x * w[..., 0]).sum(-1)


# %% [markdown]
# The two are one: while the query's slot collects $-x^\top w_k$, every example's slot holds its residual $y_i - x_i^\top w_k$, which is what the next gradient needs.
# ({cite:t}`ahn2023` found that trained layers settle in this form.)
#
# **By hand.** Two examples, $(2, 0)$ and $(0, 1)$, so that $X^\top X / 2$ has the eigenvalues $2$ and $\tfrac12$; the task is $(1, 1)$, the labels are $2$ and $1$, the query $(1, 1)$. A step $\tfrac12$
# leads to $w = (1, \tfrac14)$. What is left of the labels is $0$ and $\tfrac34$; a step $2$ adds $(0, \tfrac34)$: solved, the guess is $2$. One layer with $\Gamma = \operatorname{diag}(\tfrac12, 2)$ solves
# it too. Now turn the examples by a quarter, to $(0, 2)$ and $(-1, 0)$. The two steps solve the new prompt as well. The matrix says $w = (\tfrac14, 4)$, hence $4.25$.

# %%
X, two = np.diag([2.0, 1.0]), np.ones(2)  # two: the task, and the query
steps, matrix = [0.5 * np.eye(2), 2 * np.eye(2)], [np.diag([0.5, 2])]
for examples in (X, X @ [[0, 1], [-1, 0]]):
    prompt = examples, examples @ two, two
    guesses = transformer(steps, *prompt), gradient_steps(steps, *prompt)
    print("two steps", *guesses, " one matrix", transformer(matrix, *prompt))

# %%
random = stream("random matrices")
lam = theory.spectrum(d, condition)  # λ_1 ≥ … ≥ λ_d
Gammas = random.standard_normal((layers + 1, d, d)) / (2 * lam[0] * d)
some = chapter.prompts(lam, n, sigma2, random, 200)
answers = transformer(Gammas[:layers], some.X, some.y, some.x_query)
steps, one_more = (
    gradient_steps(Gammas[:L], some.X, some.y, some.x_query)
    for L in (layers, layers + 1)
)
apart = [abs(answers - w).max() / abs(steps).max() for w in (steps, one_more)]
ledger.claims({"pays.forward": (0, *apart)})

# %% [markdown]
# ## Endless examples: each layer adds a zero
#
# Let $n \to \infty$. Then $X^\top X / n \to H$, and a layer multiplies the error: $\beta - w_{k} = (I - \Gamma_k H)(\beta - w_{k-1})$. Take multiples of the identity,
# $\Gamma_k = a_k I$, the steps of plain gradient descent. All matrices then have the eigenvectors of $H$, and the **excess risk**, what exceeds $\sigma^2$, does not depend on the rotation:
#
# ```{math}
# :label: eq-depth-excess
# \mathcal R - \sigma^2 = \sum_{i=1}^d \lambda_i\, p(\lambda_i)^2, \qquad p(\lambda) = \prod_{k=1}^L (1 - a_k \lambda) .
# ```
#
# ```{prf:theorem} What L layers leave
# :label: thm-depth
#
# Let $\pi_0, \pi_1, \dots$ be the polynomials orthonormal in the weights $\lambda_i$, $\sum_i \lambda_i \pi_j(\lambda_i) \pi_k(\lambda_i) = \delta_{jk}$.
#
# 1. The least of {eq}`eq-depth-excess` over the steps is $1 / K_L(0, 0)$ with $K_L(0, 0) = \sum_{k=0}^L \pi_k(0)^2$, and $0$ once $L$ is the number of different
#    eigenvalues. One layer leaves $S_1 - S_2^2 / S_3$, where $S_k = \sum_i \lambda_i^k$.
# 2. The best steps are $1 / \text{roots}$ of the polynomial of degree $L$ orthogonal in the weights $\lambda_i^2$, all between $1/\lambda_{\max}$ and $1/\lambda_{\min}$.
# 3. The excess is at most $\operatorname{tr} H / T_L\big(\tfrac{\kappa + 1}{\kappa - 1}\big)^2$ (Chebyshev's $T_L$): about $4 \operatorname{tr} H\, e^{-4L/\sqrt\kappa}$.
# 4. For $L = 1$ no matrix $\Gamma$ does better than the step.
# ```
#
# ```{admonition} Proof
# :class: dropdown
# **1.** A polynomial with $p(0) = 1$ and degree $L$ is $\sum_{k \le L} c_k \pi_k$ with $\sum_k c_k \pi_k(0) = 1$, and {eq}`eq-depth-excess` is $\sum_k c_k^2$. By Cauchy
# and Schwarz the least is $1 / \sum_k \pi_k(0)^2$. With as many degrees as eigenvalues $p$ can vanish on all.
#
# **2.** Write $p = 1 - \lambda q$. At the least no change of $q$ by any $r$ of degree below $L$ helps: $\sum_i \lambda_i^2\, p(\lambda_i)\, r(\lambda_i) = 0$. Did $p$
# change sign at fewer than $L$ places inside $(\lambda_{\min}, \lambda_{\max})$, then $r = \prod (\lambda - \text{place})$ would make all terms of one sign, and the sum
# could not vanish. So there are $L$ real roots, $p$ *is* a product of steps, and nothing was lost by allowing all polynomials.
#
# **3.** $T_L\big(\tfrac{\lambda_{\max} + \lambda_{\min} - 2\lambda}{\lambda_{\max} - \lambda_{\min}}\big) / T_L\big(\tfrac{\kappa+1}{\kappa-1}\big)$ is such a $p$, and no larger than $1/T_L(\cdot)$ between the eigenvalues.
#
# **4.** $\mathbb E_O \operatorname{tr} H (I - \Gamma H)(I - \Gamma H)^\top$ is convex in $\Gamma$, and stays as it is when $\Gamma$ becomes $U \Gamma U^\top$,
# $U \in O(d)$. So the mean of $U \Gamma U^\top$ over all $U$, which is $\tfrac1d (\operatorname{tr} \Gamma) I$, does at least as well. ∎
# ```


# %%
def christoffel(lam, L):
    """1 / Σ π_k(0)², by Gram and Schmidt: π_k on the eigenvalues and at 0."""
    if L >= len(np.unique(lam.round(12))):
        return 0.0
    at, at_0 = [np.sqrt(lam / lam.sum())], [1 / np.sqrt(lam.sum())]
    for _ in range(L):
        f, f_0 = lam * at[-1], 0.0  # λ π_k: one degree more, and 0 at 0
        for pi, pi_0 in 2 * list(zip(at, at_0, strict=True)):
            overlap = f @ pi
            f, f_0 = f - overlap * pi, f_0 - overlap * pi_0
        at.append(f / np.sqrt(f @ f))
        at_0.append(f_0 / np.sqrt(f @ f))
    return 1 / np.sum(np.square(at_0))


def looped(lam, L, a=None):
    """What L layers leave that share a step, the best or a."""
    a = theory.shared_step(lam, L) if a is None else a
    return lam @ (1 - a * lam) ** (2 * L)


free, left = theory.free_steps(lam, layers), christoffel(lam, layers)
searched = chapter.descend_over_steps(lam, layers, 12, stream("search"))

# %% [markdown]
# Measured twice: by a search over the steps that knows no polynomials, and by the transformer on {glue:text}`prompts:,.0f` random prompts. (Endless examples need no limit
# there: $d$ examples $\sqrt{d\lambda_i}\, o_i$ along the eigenvectors have exactly the second moment $H$.)


# %%
def measure(Gammas, sample):
    """The transformer's mean squared error on prompts of `sample(B)`."""
    answer = lambda *prompt: transformer(Gammas, *prompt)
    return chapter.mean_squared_error(answer, sample, budget.prompts)


rng = stream("endless")
steps = free[:, None, None] * np.eye(d)
sampled = measure(steps, lambda B: chapter.endless(lam, rng, B))

# %% tags=["hide-input"]
ends, above = chapter.worst_over_depths(lam)
found = chapter.unless_too_steep(lam, layers, searched, sampled)
ledger.claims({
    "pays.risk": (left, found[0], looped(lam, layers)),
    "pays.prompts": (left, found[1], looped(lam, layers)),
    "pays.roots": (1, ends),
    "pays.chebyshev": (1, above),
})

# %% tags=["hide-input", "remove-output"]
ledger.figure(pictures.depth(lam, n, sigma2, layers, sampled))

# %% [markdown]
# ```{glue:figure} fig-depth
# :name: fig-when-depth-pays
#
# Left: the polynomial that is left after 1 to 4 layers; each layer adds a zero, and the zeros move to where the eigenvalues (dots) are heavy. Right: the excess risk. With
# a step for each layer it plunges, and is nothing at {glue:text}`d:.0f` layers; with one step for all it creeps; with $n =$ {glue:text}`n:.0f` examples it levels off, since then the context itself is inexact.
# ```
#
# ## Move it yourself
#
# Raise $\kappa$ and watch the zeros spread out. **A question:** put $\kappa = 1$. How many layers are needed, and why does $d$ not matter?
#
# ```{admonition} Answer
# :class: dropdown
# One. All eigenvalues are then the same, every $H$ is the identity however it is rotated, and one step $1/\lambda$ solves all prompts.
# ```

# %% tags=["hide-input"]
explorable(parameters)

# %% [markdown]
# ## The control: one covariance for all
#
# Fix $H = \Lambda$ and the rotation is gone. Now $\Gamma = H^{-1}$ makes $I - \Gamma H$ vanish: one layer leaves nothing, whatever $\kappa$, and depth has nothing to add.
# Only the *change* of covariance from prompt to prompt makes it pay. (Descent is over all matrices of that one layer.)

# %%
control = chapter.descend_over_one_matrix(lam, stream("control"))
S_1, S_2, S_3 = (np.sum(lam**k) for k in (1, 2, 3))
ledger.claims({"pays.fixed": (0, control, S_1 - S_2**2 / S_3)})

# %% [markdown]
# ## Are multiples of the identity the best matrices?
#
# For one layer, yes, by convexity. For more the risk is convex in each matrix but not in all, and symmetry proves nothing: it is a guess, an *ansatz*. We put it to the
# test. At $d = 3$ the mean over rotations is a finite sum, exactly: Euler angles in equal steps and at Gauss's nodes. L-BFGS then runs over all entries of all matrices,
# from starts far from the identity. Beyond $d = 3$ the rotations are sampled, and what was found is measured on fresh ones. What came out: no descent got below the steps. That is observed, not proved.

# %%
starts, three = budget.starts + 2, theory.spectrum(3, condition)
one, two = (
    matrices.exact_descent(condition, L, starts, stream("d3", L), shared=False)
    for L in (1, 2)
)
mean_inverted = three @ (1 - three) ** 2
capped = theory.spectrum(min(d, chapter.MOST_SAMPLED), condition)
fitted = matrices.sampled_descent(
    capped, 2, budget, stream("two matrices"), shared=False
)

# %% tags=["hide-input"]
ledger.claims({
    "pays.one_matrix": (christoffel(three, 1), one, mean_inverted),
    "pays.two_matrices": (christoffel(three, 2), two, looped(three, 2)),
    "pays.sampled_matrices": (christoffel(capped, 2), fitted),
})

# %% [markdown]
# ## Looped layers: one step for all
#
# In a **looped** transformer all layers have the same weights. {cite:t}`gatmiry2024` prove, as we understand it for a covariance that all prompts share, that gradient flow
# finds the best looped weights. Here the flow can be followed on paper. With one step $a$ the excess is
#
# $$
# f(a) = \sum_i \lambda_i\, (1 - a \lambda_i)^{2L}, \qquad f''(a) = 2L(2L-1) \sum_i \lambda_i^3\, (1 - a\lambda_i)^{2L-2} ,
# $$
#
# a convex function of one number. So there is one minimum $a^\ast$, where $\sum_i \lambda_i^2 (1 - a\lambda_i)^{2L-1} = 0$, and the flow $\dot a = -f'(a)$ reaches it from everywhere: with $m = \min f''$,
# positive if two eigenvalues differ, $\tfrac{d}{dt} (a - a^\ast)^2 = -2 (a - a^\ast) f'(a)$ is at most $-2m\,(a - a^\ast)^2$, hence $|a_t - a^\ast| \le e^{-mt} |a_0 - a^\ast|$, and late in the flow the rate
# is $f''(a^\ast)$. The flow of the full matrix from a multiple of $I$ is the same flow, $d$ times slower: the gradient there commutes with every rotation, so it is a multiple of $I$ as well.
#
# But the price of sharing is high. For large $L$ only the two outermost directions matter, $a^\ast \to 2/(\lambda_{\max} + \lambda_{\min})$, and every further layer
# multiplies the excess by $\big(\tfrac{\kappa - 1}{\kappa + 1}\big)^2$: $\kappa$ where steps of their own have $\sqrt\kappa$.

# %% tags=["hide-input"]
flow = step_flow.flow(lam, layers)
end, ratio, rate = (
    getattr(flow, name, flow) for name in ("excess", "ratio", "rate")
)
middle = 2 / (lam[0] + lam[-1])
curvature = step_flow.curvature(lam, layers, theory.shared_step(lam, layers))
ledger.claims({
    "pays.shared": (looped(lam, layers), end, looped(lam, layers, middle)),
    "pays.flow_bound": (1, ratio),
    "pays.flow_rate": (curvature, rate, curvature / 2),
    "pays.shared_rate": step_flow.tail_ratio(lam),
})

# %% [markdown]
# ## A matrix that turns
#
# Is the best step at least the best *matrix* that looped layers can share? No. At $d = 2$ let $J$ be the quarter turn, and $\Gamma = aI + bJ$. It commutes with every rotation, so
# all prompts look alike. $N = I - \Gamma\Lambda$ has $\operatorname{tr} N = 2 - a\,(\lambda_1 + \lambda_2)$ and $\det N = 1 - a\,(\lambda_1 + \lambda_2) + (a^2 + b^2)\, \lambda_1
# \lambda_2$. Choose $a = 2/(\lambda_1 + \lambda_2)$ and $a^2 + b^2 = 1/(\lambda_1 \lambda_2)$, which is possible since the geometric mean is at most the arithmetic. Both vanish;
# by Cayley and Hamilton **$N^2 = 0$: two looped layers solve every prompt.** (A mirrored prompt changes the sign of $b$, and nothing else.) From $\kappa =$ {glue:text}`saddle:.3f`
# on the best step is a local minimum, so descent from nearby stays there ({ref}`ex-depth-one`).

# %%
pair = theory.spectrum(2, condition)
a = 2 / pair.sum()
b = np.sqrt(max(1 / pair.prod() - a**2, 0))
turn = np.array([[a, -b], [b, a]])
plane = stream("plane")
solved = measure([turn, turn], lambda B: chapter.endless(pair, plane, B))

# %% tags=["hide-input"]
found = {
    L: matrices.exact_descent(10, L, starts, stream("looped", L), shared=True)
    for L in (1, 2, 3, 4)
}
turned = matrices.sampled_descent(
    capped, 2, budget, stream("one matrix"), shared=True
)
ledger.claims({
    "pays.turn": (0, solved, looped(pair, 2)),
    "pays.turned_d3": (looped(theory.spectrum(3, 10), 2), found[2]),
    "pays.sampled_turn": (looped(capped, 2), turned),
})

# %% tags=["hide-input", "remove-output"]
ledger.figure(pictures.turned(condition, found, 10))

# %% [markdown]
# ```{glue:figure} fig-turned
# :name: fig-depth-turned
#
# Shares of the risk of predicting 0. Left: two looped layers at $d = 2$, with the best $a$ for each turn $b$. For small $\kappa$ the step is a saddle, for large $\kappa$ a
# ridge keeps it apart from the solution. Right: at $d = 3$ (all matrices, exact mean over rotations) a turn helps two layers and four; for one layer it cannot, and for three no descent found one that does.
# ```
#
# At $d =$ {glue:text}`capped:.0f` two looped layers with a fitted matrix leave {glue:text}`pays.sampled_turn.measured:.4f`, with the best step
# {glue:text}`pays.sampled_turn.predicted:.4f`. So numbers for looped layers that rest on one step are those of one valley: the one, to be fair, in which a flow from $0$ stays by symmetry.
#
# ## Few examples
#
# With $n$ examples $\hat S = X^\top X / n$ takes the place of $H$ and does not commute with it. For one layer the risk follows from the second moment of $\hat S$, rotation
# by rotation the same, and is convex in $\Gamma$, so a step is best again: with $\tau = \operatorname{tr} H + \sigma^2$ the risk is
# $\sigma^2 + S_1 - S_2^2 \big/ \big(\frac{n+1}{n} S_3 + \frac{\tau}{n} S_2\big)$.
#
# For $L$ layers with steps, $p$ of {eq}`eq-depth-excess` and $q = (1 - p)/\lambda$, the estimate is $q(\hat S) X^\top y / n$ and
#
# ```{math}
# :label: eq-layers-n
# \mathcal R = \sigma^2 + \mathbb E \operatorname{tr} H p(\hat S)^2 + \tfrac{\sigma^2}{n}\, \mathbb E \operatorname{tr} H q(\hat S)^2 \hat S ,
# ```
#
# a sum of the moments $m_k = \mathbb E \operatorname{tr} H \hat S^k$, which Wick's rule gives exactly ($m_1 = S_2$, $m_2 = \frac{n+1}n S_3 + \frac1n S_1 S_2$, and so on up to $m_{2L}$).
#
# The control with $n$ examples is Theorem 5.2 of {cite:t}`zhang2024block` ({doc}`chapter 5 <05_gd_beta_gradient_flow>`): the best matrix is
# $\Gamma = \big(\tfrac{n+1}{n} H + \tfrac{\tau}{n} I\big)^{-1}$, and the risk $\sigma^2 + \sum_i \lambda_i \frac{\lambda_i + \tau}{(n+1)\lambda_i + \tau}$.


# %%
def one_layer(tau):
    return sigma2 + S_1 - S_2**2 / ((n + 1) / n * S_3 + tau / n * S_2)


def fixed(tau):
    return sigma2 + np.sum(lam * (lam + tau) / ((n + 1) * lam + tau))


def drawn(name, **law):
    rng = stream(name)
    return lambda B: chapter.prompts(lam, n, sigma2, rng, B, **law)


L = min(layers, 3)
m = theory.moments(lam, n, 2 * L)
short = theory.short_steps(m, sigma2 / n, L)  # the best steps
p = np.poly(1 / short) / np.poly(1 / short)[-1]  # falling powers, p(0) = 1
q = -p[:-1]
several = sigma2 + np.convolve(p, p)[::-1] @ m
several += sigma2 / n * np.convolve(q, q)[::-1] @ m[1:-1]
tau = S_1 + sigma2
best_step = S_2 / ((n + 1) / n * S_3 + tau / n * S_2)
ridge = np.diag(1 / ((n + 1) / n * lam + tau / n))
by_one = measure([best_step * np.eye(d)], drawn("one layer"))
by_several = measure(short[:, None, None] * np.eye(d), drawn("several"))
by_ridge = measure([ridge], drawn("fixed covariance", fixed=True))

# %% tags=["hide-input"]
ledger.claims({
    "pays.one_layer_n": (one_layer(tau), by_one, one_layer(sigma2)),
    "pays.layers_n": (several, by_several, sigma2 + christoffel(lam, L)),
    "pays.fixed_n": (fixed(tau), by_ridge, fixed(sigma2)),
})

# %% [markdown]
# With $n =$ {glue:text}`n:.0f` examples one layer has risk {glue:text}`pays.one_layer_n.predicted:.4f`, {glue:text}`short_layers:.0f` layers have
# {glue:text}`pays.layers_n.predicted:.4f`; with one covariance for all, one layer has {glue:text}`pays.fixed_n.predicted:.4f`.
#
# ## Where Newton begins
#
# All layers here write labels only, so a layer can raise the degree of $p$ by one and no more, and $e^{-4L/\sqrt\kappa}$ is the end of it. To do better a layer must
# rewrite the *covariates* too: then the next one multiplies polynomials instead of adding a factor. **Newton's iteration** squares what is left,
# $I - M_k H = (I - \alpha H^2)^{2^k}$: the degree doubles, with one free number $\alpha$ for all of it. {doc}`Chapter 6 <06_newton_transformers>` writes down the weights, $k + 2$ layers for $k$ steps.

# %%
O = chapter.haar(stream("one rotation"), 1, d)[0]
H, alpha = (O * lam) @ O.T, theory.newton_alpha(lam, layers)
M = alpha * H
for _ in range(layers):
    M = 2 * M - M @ H @ M
rest = np.eye(d) - M @ H
square = (1 - alpha * lam**2) ** 2
left, near = lam @ square**2**layers, lam @ square ** (2 * layers)
ledger.claims({"pays.newton": (left, (rest * (H @ rest)).sum(), near)})

# %% tags=["hide-input", "remove-output"]
ledger.figure(pictures.newton(theory.spectrum(64, condition), 30))
for name, value in chapter.prose_numbers(parameters, found[2]).items():
    ledger.number(name, value)

# %% [markdown]
# ```{glue:figure} fig-newton_begins
# :name: fig-depth-newton
#
# $d = 64$ eigenvalues, $\kappa =$ {glue:text}`condition:g`. Newton's iteration starts far behind, for $M_0 = \alpha H$ makes of every $\kappa$ a $\kappa^2$. It overtakes
# one step for all at {glue:text}`past_shared:.0f` layers and steps of their own at {glue:text}`past_free:.0f`; then its number of right digits doubles with each layer.
# ```
#
# So depth pays nothing for a covariance that is known, a constant factor a layer where prompts differ, and more than that only where layers rewrite what the next ones look at.
#
# ## What this does not say
#
# - *The law.* Isotropic tasks; every prompt has the same eigenvalues, and only their directions change.
# - *Not proved:* that steps are best for $L \ge 2$ layers with a matrix each, which every descent confirmed at two layers; with few examples even that was not tried. How
#   good the best looped matrix is for $d \ge 3$ is searched, not solved.
# - *Training.* Exact losses and flows; nothing was trained on samples. The asymptotic formulas of {cite:t}`bordelon2025` are not compared.

# %% [markdown]
# ## Exercises
#
# ```{exercise} One layer, one flow, one turn ★
# :label: ex-depth-one
# 1. Derive $S_1 - S_2^2/S_3$. For which spectra does one layer leave nothing?
# 2. Let all eigenvalues be $1$. How does the looped flow from $a = 0$ approach its end for $L \ge 2$, and why does the bound $e^{-mt}$ say nothing?
# 3. Expand the excess of $aI + bJ$, $d = L = 2$, to second order in $b$. When is the best step a minimum?
# ```
#
# ```{solution-start} ex-depth-one
# :label: sol-depth-one
# :class: dropdown
# ```
#
# **1.** $\sum \lambda (1 - a\lambda)^2 = S_1 - 2aS_2 + a^2 S_3$ is least at $a = S_2/S_3$. By Cauchy and Schwarz $S_2^2 \le S_1 S_3$, with equality only if all eigenvalues are equal.
#
# **2.** With $u = 1 - a$ the flow is $\dot u = -2Ld\, u^{2L-1}$, so $u = \big(1 + 4L(L-1)\, d\, t\big)^{-1/(2L-2)}$: a power of $t$, because the curvature at the end is $0$, and so is $m$.
#
# **3.** With $t_i = 1 - a\lambda_i$ the excess is
# $\sum_i \lambda_i t_i^4 + b^2 \lambda_1\lambda_2 \big[(\lambda_1 + \lambda_2)(t_1 + t_2)^2 - 2\lambda_1 t_1^2 - 2\lambda_2 t_2^2\big] + O(b^4)$. The bracket is negative
# for nearly equal eigenvalues, where the best step makes $t_1 + t_2$ small, and changes sign at $\kappa =$ {glue:text}`saddle:.4f`.


# %%
def bracket(kappa):
    """What stands before b² λ₁ λ₂ at the best step, for eigenvalues κ and 1."""
    lam = np.array([kappa, 1.0])
    t = 1 - theory.shared_step(lam, 2) * lam
    return lam.sum() * t.sum() ** 2 - 2 * (lam * t**2).sum()


print(*(f"{bracket(kappa):.4f} at {kappa}" for kappa in (3, 5, 6, 10)))
assert bracket(5.65) < 0 < bracket(5.66)

# %% [markdown]
# ```{solution-end}
# ```
#
# ```{exercise} The best matrices ◇
# :label: ex-depth-open
# Prove that for layers with a matrix each, multiples of the identity are best for every $L$; or find a spectrum where they are not. And find the best matrix of two looped layers at $d = 3$.
# ```
#
# ```{solution} ex-depth-open
# :label: sol-depth-open
# :class: dropdown
# **A first step.** With the others held fixed the risk is a convex quadratic in each matrix, so at multiples of the identity no *single* matrix can be improved: by the
# average over rotations its best value is again a multiple of $I$. What is open is a joint change of two. **For looped layers** a turn in a plane,
# $a_\parallel kk^\top + a_\perp (I - kk^\top) + b\, k \times$, is what descent ends in at $d = 3$, with {glue:text}`turned_d3:.6f` left at $\kappa = 10$.
# ```

# %% [markdown]
# ## Every claim of this chapter
#
# A claim holds when prediction and measurement differ by no more than its tolerance, fixed beforehand, and five standard errors.

# %% tags=["hide-input"]
ledger.save()
