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
# (how-the-step-is-learned)=
# # How the step is learned
#
# Loss curves of transformers wait, fall and wait again, and hardly ever can one say beforehand how long. For one layer of linear attention one can:
# every level on which training rests, and when it leaves it, is a formula. {cite:t}`zhang2025dynamics` found what decides the shape of the curve. If
# keys and queries are **one merged matrix**, the risk falls in a single drop. If they are **two matrices**, as in every real transformer, it comes down a
# **staircase**: one stair for each eigenvector of the covariance, the strongest first. On stair $m$ the layer steps rightly in $m$ directions, and not in the others.
#
# ```{admonition} What you need
# :class: note
# {doc}`Chapter 2 <02_preconditioned_gd>`, of {doc}`chapter 5 <05_gd_beta_gradient_flow>` the flow, and {doc}`/book/notation`. Reading takes about {glue:text}`reading_minutes:.0f` minutes; rerunning, under a minute.
# ```

# %% tags=["hide-input"]
import numpy as np
from icl.chapters import begin
from icl.chapters.how_the_step_is_learned import experiments as chapter
from icl.chapters.how_the_step_is_learned import optimiser_runs as trained
from icl.chapters.how_the_step_is_learned import pictures, searches
from icl.chapters.how_the_step_is_learned.explorable import explorable
from icl.prompts import PromptLaw
from icl.theory.how_the_step_is_learned import resting_levels

# %% tags=["parameters"]
d = 5
n = 20
sigma2 = 0.25
slope = 1.0
seed = 0
profile = "quick"

# %% tags=["hide-input", "remove-output"]
own = dict(d=d, n=n, sigma2=sigma2, slope=slope, seed=seed, profile=profile)
parameters, ledger, stream = begin("08_how_the_step_is_learned", **own)
budget = chapter.budget(parameters)
small = ledger.number("flow_d", min(d, chapter.MATRIX_D))
spectra = chapter.spectra(small, slope)
law = chapter.diagonal_law(spectra["chapter"], n, sigma2)

# %% [markdown]
# ## The layer
#
# Covariates are $N(0, H)$, tasks $N(0, I)$, labels have noise $\sigma^2$. Head $m$ holds a value $v_m$, which multiplies the label, a query matrix $Q_m$ and a key matrix
# $K_m$, which read the covariates. (A layer's other weights stay at zero if they begin there: the risk is even in them, so that its slope vanishes.) All heads together take one step from zero, with the matrix $\Gamma = \sum_m v_m Q_m^\top K_m$:


# %%
def layer(v, Q, K, X, y, x):
    """The guess for prompts X (…, n, d), y (…, n) and queries x (…, d)."""
    guess = 0
    for value, query, key in zip(v, Q, K, strict=True):
        scores = (X @ key.T) @ (x @ query.T)[..., None]  # <K x_i, Q x>
        guess = guess + value * (y * scores[..., 0]).mean(-1)
    return guess


# Γ of m heads of rank R, v (…, m), Q and K (…, m, R, d); and the guess after
# one step from 0, the gradient multiplied by Γ
product = lambda *parts: np.einsum("...m,...mri,...mrj->...ij", *parts)
step = lambda Gamma, X, y, x: x @ Gamma @ X.T @ y / len(y)

# %% [markdown]
# **By hand.** Two examples of the task $(1, 1)$ without noise, $x_1 = (2, 1)$ and $x_2 = (1, -1)$, have labels $3$ and $0$, so that
# $\tfrac12 X^\top y = (3, \tfrac32)$. The query is $(1, 2)$. A head with $v = \tfrac12$ that reads the first covariate alone guesses
# $\tfrac12 \cdot 3 \cdot 1 = \tfrac32$: the first stair. A second head for the second covariate adds $\tfrac12 \cdot \tfrac32 \cdot 2 = \tfrac32$: $3$, the truth. Attention and step, with one head and with two:

# %%
X2, y2, x2 = map(np.array, ([[2.0, 1], [1, -1]], [3.0, 0], [1.0, 2]))
half, axes = np.full(2, 0.5), np.eye(2)[:, None]  # two heads of rank one
for parts in [(half[:k], axes[:k], axes[:k]) for k in (1, 2)]:
    print(layer(*parts, X2, y2, x2), step(product(*parts), X2, y2, x2))

# %% [markdown]
# ## The risk and its flow
#
# With the tasks' covariance $\Psi$, here $I$, $\tau = \operatorname{tr}(H\Psi) + \sigma^2$ and $N = \tfrac{n+1}{n} H\Psi H + \tfrac{\tau}{n} H$, the risk is that of
# {eq}`eq-gd-beta-risk` at $\beta = \beta^\ast$. Minus half its slope by $\Gamma$ is a matrix $G$:
#
# ```{math}
# :label: eq-learning-risk
# \mathcal R = \tau - 2 \operatorname{tr}(\Gamma H \Psi H) + \operatorname{tr}(H \Gamma N \Gamma^\top) , \qquad
# G = H \Psi H - H \Gamma N .
# ```
#
# Training slides down $\tfrac12 \mathcal R$, but not in $\Gamma$: in its factors. The chain rule multiplies $G$ by the other two:
#
# ```{math}
# :label: eq-learning-flow
# \dot v_m = \operatorname{tr}(Q_m G K_m^\top) , \qquad \dot Q_m = v_m K_m G^\top , \qquad \dot K_m = v_m Q_m G .
# ```
#
# Here lies the whole story: *a small factor makes the others slow.* The differences $v_m^2 - \|Q_m\|^2$ and $\|Q_m\|^2 - \|K_m\|^2$ never change, for their
# speeds are equal by {eq}`eq-learning-flow`: factors that begin alike stay alike. And since the flow looks the same in every orthonormal basis, let $H$ be diagonal,
# of trace $1$, with eigenvalues proportional to $d, \dots, 2, 1$ to the power {glue:text}`slope:g`, $d =$ {glue:text}`flow_d:.0f`, $n =$ {glue:text}`n:.0f`,
# $\sigma^2 =$ {glue:text}`sigma2:g`.


# %%
def moments(law, context=1):
    """HΨH, N and τ."""
    H, n, HPH = law.H, law.n, law.H @ law.Psi @ law.H
    tau = np.trace(law.H @ law.Psi) + law.sigma2
    return HPH, (n + 1) / n * HPH + context * tau / n * H, tau


def risk(law, Gamma, context=1):
    """The closed form, for Γ (…, d, d)."""
    HPH, N, tau = moments(law, context)
    fitted = (HPH * Gamma).sum((-2, -1))
    return tau - 2 * fitted + (law.H @ Gamma @ N * Gamma).sum((-2, -1))


def apart(law):
    """The flow of keys and queries: v (m,), Q and K (m, R, d)."""
    H, (HPH, N, _) = law.H, moments(law)

    def velocity(v, Q, K):
        G, w = HPH - H @ product(v, Q, K) @ N, v[..., None, None]
        G = G[..., None, :, :]  # the same one for every head
        KG, QG = K @ G.mT, Q @ G
        return (Q * KG).sum((-2, -1)), w * KG, w * QG

    return velocity


# %% tags=["hide-input"]
rng = stream("random heads")
three = rng.standard_normal(3), *rng.standard_normal((2, 3, 2, small))
guess = lambda *prompt: layer(*three, *prompt)
on_prompts = searches.over_prompts(law, guess, budget.prompts, rng)
formula, without = (risk(law, product(*three), on) for on in (1, 0))
exchanged = lambda v, Q, K: [apart(law)(v, Q, K)[k] for k in (0, 2, 1)]
off = [searches.off_slope(f, law, three) for f in (apart(law), exchanged)]
of_risk, of_flow = (formula, on_prompts, without), (0, *off)
ledger.claims({"learning.risk": of_risk, "learning.velocity": of_flow})

# %% [markdown]
# ## One matrix: one drop
#
# Theory papers like to train $K^\top Q$ as one matrix. Then $\Gamma = vU$ with a number $v$ and a matrix $U$, and
# $\dot v = \operatorname{tr}(U^\top G)$, $\dot U = v\, G$.
#
# ```{prf:theorem} A merged matrix rests at the start or at the end
# :label: thm-one-drop
# Where this flow rests, $\mathcal R = \tau$ or $\mathcal R$ is the least risk. At $H = I$, from $v = \sqrt{s_0}$ and $U = \sqrt{s_0/d}\, I$, it is a logistic curve,
# with $c = 1 + \tfrac{1 + d + \sigma^2}{n}$; from any other small start its time is right to leading order with $s_0 = \tfrac14 \big(v + \tfrac{1}{\sqrt d} \operatorname{tr} U\big)^2$:
#
# $$
# \|\Gamma\| = \frac{\sqrt d / c}{1 + \big(\tfrac{\sqrt d}{c\, s_0} - 1\big)\, e^{-2\sqrt d\, t}} , \qquad
# t_{1/2} = \frac{1}{2 \sqrt d} \ln\Big(\frac{\sqrt d}{c\, s_0} - 1\Big) .
# $$
# ```
#
# ```{admonition} Proof
# :class: dropdown
# *Rest.* If $v \ne 0$, then $G = 0$, and $\Gamma = HN^{-1}$ is the minimiser. If $v = 0$, then $\Gamma = 0$. *The curve.* At $H = I$, $N = cI$ and $G = I - c\Gamma$. With $U = u I/\sqrt d$ this is
# $\dot v = u(\sqrt d - cuv)$, $\dot u = v(\sqrt d - cuv)$; from $u = v$ they stay equal, and $s = uv = \|\Gamma\|$ has $\dot s = 2s(\sqrt d - cs)$. Noise enters through $c$ alone. *Any start.* While
# $\Gamma$ is small, $G = I$: $v + \operatorname{tr} U/\sqrt d$ grows like $e^{\sqrt d\, t}$, $v - \operatorname{tr} U/\sqrt d$ dies out, and what is orthogonal to $I$ in $U$ does not move; so $\|\Gamma\|$ becomes
# $\tfrac14(v + \operatorname{tr}U/\sqrt d)^2\, e^{2\sqrt d\, t}$, the early part of the curve. For other $H$ the same holds with $H^2/\|H^2\|$ for $I/\sqrt d$ and the rate $\|H^2\|$. ∎
# ```
#
# The least risk is a sum over the eigenvalues $\lambda_1 \ge \dots \ge \lambda_d$ of $H$ ({prf:ref}`thm-gd-beta` at $\Psi = I$):
#
# ```{math}
# :label: eq-stairs
# L_m = \tau - \sum_{i \le m} \frac{\lambda_i}{1 + \tfrac1n \big( 1 + \tfrac{\tau}{\lambda_i} \big)} , \qquad \min \mathcal R = L_d .
# ```


# %%
def stairs(law, one=1):
    """L_0 … L_d."""
    lam, tau = np.diag(law.H), np.trace(law.H) + law.sigma2
    takes_off = lam / (1 + (one + tau / lam) / law.n)
    return tau - np.r_[0, np.cumsum(takes_off)]


def merged(law):
    """The flow of v () and U (d, d)."""
    H, (HPH, N, _) = law.H, moments(law)

    def velocity(v, U):
        v = v[..., None, None]
        G = HPH - H @ (v * U) @ N
        return (U * G).sum((-2, -1)), v * G

    return velocity


white, root_d = chapter.diagonal_law(np.ones(small), n, sigma2), small**0.5
half_time = lambda c, s0: np.log(root_d / (c * s0) - 1) / (2 * root_d)
fade = lambda t: np.exp(-2 * root_d * t)
logistic = lambda c, s0, t: root_d / (c + (root_d / s0 - c) * fade(t))
c = 1 + (1 + small + sigma2) / n
s0 = 1e-4 * min(1, root_d / c)  # small beside the end, under any noise
aligned = np.array(s0**0.5), (s0 / small) ** 0.5 * np.eye(small)
v0, U0 = chapter.small_matrix(white, 1e-4, stream("merged, white"))
grown = ((v0 + np.trace(U0) / root_d) / 2) ** 2
fall, other = (
    chapter.follow(merged(white), start, 50 / root_d, rtol=1e-11)
    for start in (aligned, (v0, U0))
)
length = lambda v, U: np.linalg.norm(v[..., None, None] * U, axis=(-2, -1))

# %% tags=["hide-input"]
curve = lambda c: np.abs(length(*fall.parts) - logistic(c, s0, fall.times))
size = lambda at: length(*at)
of_matrix = lambda at: risk(law, at[0][..., None, None] * at[1])
seen = [chapter.crossing(f, size, root_d / c / 2) for f in (fall, other)]
counts, ends = chapter.drops(law, merged(law), of_matrix, stream)
h = spectra["chapter"]
near = 1 + sigma2 - (h**2 * n / (n * h + 1 + sigma2)).sum()
from_length = half_time(c, length(v0, U0))
in_units = [curve(near_c).max() * c / root_d for near_c in (c, c - 1 / n)]
ledger.claims({
    "drop.two_levels": (0, max(counts), small - 1),
    "drop.end": (stairs(law)[-1], max(ends), near),
    "drop.curve": (0, *in_units),
    "drop.time": (half_time(c, s0), seen[0], half_time(1, s0)),
    "drop.random_start": (half_time(c, grown), seen[1], from_length),
})

# %% [markdown]
# ## Two matrices: stairs
#
# ```{prf:theorem} The stairs
# :label: thm-stairs
# 1. Let $\lambda_1 > \dots > \lambda_d > 0$. Wherever the flow {eq}`eq-learning-flow` rests, with any number of heads of any rank, $\Gamma$ is $\Gamma^\ast$ on a set of
#    eigenvectors and $0$ on the others: the risk is $\tau$ minus the summands of {eq}`eq-stairs` over that set.
# 2. $L_m$ is the least risk of all $\Gamma$ of rank $m$.
# 3. Heads that begin on the eigenvectors, $v = a_0$ and $q = k = a_0 e_i$, do not feel one another. Each follows
#    $\dot a = a^2 \lambda_i^2 \big(1 - (a/\alpha_i)^3\big)$ with $\alpha_i^3 = \frac{n}{(n+1)\lambda_i + \tau}$, and has climbed half of its entry of $\Gamma$ at
#
# $$
# t_i = \frac{F(2^{-1/3}) - F(a_0/\alpha_i)}{\lambda_i^2\, \alpha_i} , \qquad
# F(z) = -\tfrac1z - \tfrac13 \ln(1-z) + \tfrac16 \ln(1 + z + z^2) - \tfrac{1}{\sqrt 3} \arctan \tfrac{2z+1}{\sqrt 3} .
# $$
# ```
#
# ```{admonition} Proof
# :class: dropdown
# With $M = H^{1/2} \Gamma N^{1/2}$ and $M_\ast = H^{3/2} N^{-1/2}$ the risk is a square, $\mathcal R = \mathcal R^\ast + \|M - M_\ast\|_F^2$, and $G = H^{1/2} (M_\ast - M) N^{1/2}$. $M_\ast$ is diagonal,
# and its squares $\lambda^3/\nu$, $\nu$ the eigenvalue of $N$, are the summands of {eq}`eq-stairs`, which grow with $\lambda$.
#
# *1.* At rest $v_m Q_m G = 0$ and $v_m G K_m^\top = 0$ for every head, hence $\Gamma^\top G = 0$ and $G\Gamma^\top = 0$, that is $M^\top (M_\ast - M) = 0$ and $(M_\ast - M)M^\top = 0$. Let $P$ and $P'$
# project on the row and the column space of $M$: then $M = M_\ast P = P' M_\ast$. So $P' = M_\ast P M_\ast^{-1}$ is symmetric; hence $P$ commutes with $M_\ast^2$, whose eigenvalues are distinct. $P$ projects
# on a set of eigenvectors, and $M$ is $M_\ast$ there. *2.* $M$ has the rank of $\Gamma$; Eckart and Young: the best $M$ of rank $m$ keeps the $m$ largest entries of $M_\ast$.
# *3.* $\Gamma = \sum_i a_i^3 e_i e_i^\top$ makes $G$ diagonal, so {eq}`eq-learning-flow` keeps every head on its $e_i$, with $\dot a = a^2 (\lambda^2 - \lambda \nu a^3)$. With $z = a/\alpha$ it is
# $\lambda^2 \alpha\, dt = dz / (z^2 (1 - z^3))$, and $\frac{1}{z^2 (1 - z^3)} = \frac{1}{z^2} + \frac{1}{3(1-z)} + \frac{z - 1}{3 (1 + z + z^2)}$. ∎
# ```
#
# For small starts $t_i \approx 1/(a_0 \lambda_i^2)$: the wait is *inversely* proportional to the start, where the merged matrix waits for its logarithm, and the stairs
# come in the order of the eigenvalues. Of the $2^d$ sets at which it could rest the flow visits $\{1\}, \{1, 2\}, \dots$ only. That it does so from *random* starts is
# observed, not proved. Here is the exact flow of $d + 1$ heads from random directions; a stop is where its speed has a minimum, and knows of no formula:


# %%
def come_down(law, start, rng, rtol=1e-8):
    """Path and risks of d + 1 heads of rank one, and where they stop."""
    heads = chapter.small_heads(law, law.d + 1, 1, start, rng)
    end = chapter.horizon(law, start)
    path = chapter.follow(apart(law), heads, end, rtol=rtol)
    risks = risk(law, product(*path.parts))
    return path, risks, chapter.stops(risks, path.speed)


problems = {name: (h, n, sigma2) for name, h in spectra.items()}
problems["printed"], found = ([0.4, 0.3, 0.2, 0.1], 31, 0.0), {}
problems = {name: chapter.diagonal_law(*p) for name, p in problems.items()}
for name, problem in problems.items():
    _, risks, stops = come_down(problem, chapter.START, stream(f"on {name}"))
    found[name] = risks[stops]
print("d = 4, n = 31:", *(f"{level:.5f}" for level in found["printed"]))

# %% [markdown]
# The times from a start on the eigenvectors; and the resting points that least squares finds on the slope of the risk, with three eigenvalues at most:

# %%
lam, tau = np.diag(law.H), 1 + sigma2
alpha = np.cbrt(n / ((n + 1) * lam + tau))
logs = lambda z: np.log(1 + z + z**2) / 6 - np.log(1 - z) / 3
arc = lambda z: np.arctan((2 * z + 1) / 3**0.5) / 3**0.5
F = lambda z: logs(z) - 1 / z - arc(z)
a0 = 0.01 * alpha.min()
climb_times = (F(2 ** (-1 / 3)) - F(a0 / alpha)) / (lam**2 * alpha)
start = a0 * np.ones(small), *2 * [a0 * np.eye(small)[:, None]]
climb = chapter.follow(apart(law), start, 1.5 * climb_times[-1], rtol=1e-10)
share = lambda i: lambda parts: product(*parts)[..., i, i] / alpha[i] ** 3
seen_times = [chapter.crossing(climb, share(i), 0.5) for i in range(small)]
few_lam = chapter.spectra(min(small, 3), 1.0)["chapter"]
few, rng = chapter.diagonal_law(few_lam, n, sigma2), stream("resting points")
points = searches.resting_points(apart(few), few, budget.restarts, rng)
resting = np.array([risk(few, product(*point)) for point in points])

# %% tags=["hide-input"]
nearest = lambda levels: np.abs(resting[:, None] - levels).min(1).max()
relative = lambda times: np.abs(times / climb_times - 1).max()
sets = nearest(resting_levels(few_lam, n, sigma2)), nearest(stairs(few))
checked = {"stairs.resting_points": sets}
checked["stairs.times"] = relative(seen_times), relative(1 / (a0 * lam**2))
for name, levels in found.items():
    right, wrong = (stairs(problems[name], one) for one in (1, 0))
    to_both = chapter.missed(levels, right), chapter.missed(levels, wrong)
    checked[f"stairs.{name}"] = to_both
ledger.claims({name: (0, *pair) for name, pair in checked.items()})

# %% tags=["hide-input", "remove-output"]
of_heads = lambda parts: risk(law, product(*parts))
shown, risks, stops = come_down(law, 0.01, stream("picture"), rtol=1e-10)
start = chapter.small_matrix(law, 0.01, stream("picture, merged"))
fall = chapter.follow(merged(law), start, chapter.drop_horizon(law))
late = chapter.last_move(shown.times, risks)
both = (shown, of_heads), (fall, of_matrix)
grid = np.geomspace(0.3, 2 * late, 500)
curves = [chapter.sampled(*one, grid) for one in both]
Gammas = product(*(part[stops] for part in shown.parts))
ledger.figure(pictures.staircase(*curves, stairs(law), Gammas))

# %% [markdown]
# ```{glue:figure} fig-staircase
# :name: fig-staircase
#
# The same layer, the same risk, the same size of start. Merged (violet) it learns everything at once; with keys and queries apart (orange) it rests on every $L_m$
# (dashed). Below: $\Gamma$ where it rests, in the eigenbasis of $H$. Each stair is one more direction in which the layer steps.
# ```
#
# So a model that is stopped on stair $m$ has learned an algorithm of its own: one step on the first $m$ principal components. The weakest direction gets the
# *longest* step, for $\alpha_i^3$ grows as $\lambda_i$ falls, and it comes last: about $(\lambda_1/\lambda_d)^2$ times as late as the first, from equal starts.
#
# ## A head of rank R stops on stair R
#
# One head with $R$ keys and queries makes a $\Gamma$ of rank $R$ at most. By {prf:ref}`thm-stairs` nothing it could learn is better than $L_R$: the width of a head limits
# the *number of directions* in which it can step. L-BFGS over the two factors of $\Gamma$ finds no lower risk, and the flow
# of one head ends there. (On the way it hardly rests: its value is shared, and once the first direction has made it large, the others grow exponentially.)

# %%
HPH, N, _ = moments(law)
both_at = lambda Gamma: (risk(law, Gamma), 2 * (law.H @ Gamma @ N - HPH))
least, paths = [risk(law, np.zeros((small, small)))], {}
for R in range(1, small + 1):
    rng = stream("rank", R)
    unit = alpha[0] ** 3  # of Γ
    least.append(searches.least_of_rank(both_at, small, R, 10, rng, unit))
    start = chapter.small_heads(law, 1, R, 0.01, rng)
    paths[R] = chapter.follow(apart(law), start, chapter.horizon(law, 0.01))

# %% tags=["hide-input"]
both = stairs(law), tau - np.r_[0, (lam**2 * alpha**3)[::-1].cumsum()]
ends = np.array([of_heads(path.at(-1)) for path in paths.values()])
of_least = [chapter.missed(least, to) / max(1, sigma2) for to in both]
of_flow = [chapter.missed(ends, stairs(law)[k : small + k]) for k in (1, 0)]
ledger.claims({"rank.least": (0, *of_least), "rank.flow": (0, *of_flow)})

# %% [markdown]
# ## The start, and the optimiser
#
# What follows is measured. **A larger start rounds the stairs off.** On a stair the heads that still wait have the size of the start, and $\Gamma$ is a product of three
# factors: the stop misses its level by the third power in the limit, while from $0.003$ to $0.001$ the exponent is still {glue:text}`early_exponent:.2f`. The wait grows as starts shrink:


# %%
def first_fall(size):
    """Waits, apart and merged, and how far the stops miss the stairs."""
    path, risks, stops = come_down(law, size, np.random.default_rng(seeds[0]))
    rng, middle = np.random.default_rng(seeds[1]), stairs(law)[:2].mean()
    start = chapter.small_matrix(law, size, rng)
    fall = chapter.follow(merged(law), start, chapter.drop_horizon(law))
    both = (path, of_heads), (fall, of_matrix)
    waits = [chapter.crossing(*one, middle) for one in both]
    return *waits, chapter.missed(risks[stops], stairs(law)), path


seeds = stream.entropy("sizes"), stream.entropy("sizes, merged")
sizes = np.array([0.3, 0.1, 0.01, 0.003, 0.001, 1e-4, 2e-5])
waits, falls, misses, sized = zip(*map(first_fall, sizes), strict=True)
rate = np.linalg.norm(law.H @ law.H)  # ‖H²‖
per_e = (falls[-1] - falls[-2]) / np.log(sizes[-2] / sizes[-1])

# %% tags=["hide-input"]
exponent = lambda y, k: chapter.slope_of(sizes[k : k + 2], y[k : k + 2])
ledger.number("early_exponent", exponent(misses, 3))
ledger.claims({
    "start.missed": (3, exponent(misses, 5), 2),
    "start.wait_apart": (-1, exponent(waits, 5), 0),
    "start.wait_merged": (1 / rate, per_e, 1 / lam[0] ** 2),
})

# %% tags=["hide-input", "remove-output"]
wide, shown = np.geomspace(1, 20 * late, 300), (0, 1, 2, 4)
curves = {sizes[k]: chapter.sampled(sized[k], of_heads, wide) for k in shown}
line = falls[-1] + np.log(sizes[-1] / sizes) / rate
ledger.figure(pictures.starts(curves, stairs(law), sizes, waits, falls, line))

# %% [markdown]
# ```{glue:figure} fig-starts
# :name: fig-starts
#
# Left: starts of a third of the smallest head's end leave hardly a stair; each tenth of that makes the stairs ten times as long. Right: the wait for the first fall,
# like one over the start for keys and queries apart, a logarithm for the merged matrix (line: slope $1/\|H^2\|$ by theory).
# ```
#
# **Adam and Muon** rescale the gradient, and a stair is a place where the gradient is small. {cite:t}`dragutinovic2026muon` say of Muon, as we understand it, that it
# avoids the saddle points of linear attention. So here are heads of rank one on the exact risk, from the same starts. Of the steps between the first and the last hundredth of the
# descent, gradient descent spends {glue:text}`optimisers.descent.measured:.2f` within a hundredth of a stair between, Adam {glue:text}`Adam_least:.2f` to
# {glue:text}`Adam_most:.2f`, Muon {glue:text}`Muon_least:.2f` to {glue:text}`Muon_most:.2f` (three rates each, start {glue:text}`optimiser_start:g`); an even pace
# would give {glue:text}`even_pace:.2f`. No theorem here says so for Adam or Muon.

# %% tags=["hide-input"]
runs = trained.compare(law, apart(law), of_heads, stream)
for name, value in (numbers := runs.numbers(stairs(law))).items():
    ledger.number(name, value)
none = chapter.no_stair_between(small)
ledger.claims({
    "optimisers.descent": (0.5, none or numbers["descent_least"]),
    "optimisers.muon": (0.25, none or numbers["Muon_most"]),
})

# %% tags=["hide-input", "remove-output"]
ledger.figure(pictures.optimisers(runs.by_start, stairs(law)))

# %% [markdown]
# ```{glue:figure} fig-optimisers
# :name: fig-optimisers
#
# Trained heads, three starts (colours) and three optimisers. Gradient descent stands on the stairs (dotted), the longer the smaller its start. Adam and Muon do not wait
# for the small factors: they learn all directions together, and hardly notice the start.
# ```
#
# ## Try it
#
# Heads on the eigenvectors, by the closed form, beside the merged matrix. Make the spectrum flat (slope 0): the stairs fall together. Make the start large: they dissolve.

# %% tags=["hide-input"]
explorable(parameters)

# %% [markdown]
# (learning-limits)=
# ## Limits
#
# The flow is on the exact risk: endless prompts, no noise of sampling. Values read labels and keys and queries read covariates from the start; the flow keeps that, but a real
# layer's first weights do not. $\Psi = I$ and zero mean task ({ref}`ex-order` changes the first). Proved are the levels, the drop and the aligned times; that random starts visit
# nested sets, the third power and the wait are observed, at up to {glue:text}`flow_d:.0f` eigenvectors. {cite:t}`zhang2025dynamics` have no noise: our levels at $\sigma^2 = 0$ are theirs;
# their experiments with softmax are not repeated.
#
# ## Exercises
#
# ```{exercise} Stop early for short prompts ★★
# :label: ex-stop-early
# A model trained at $n$ is used on prompts with $m < n$ examples. Which stairs does it regret having climbed?
# ```
#
# ```{solution} ex-stop-early
# :label: sol-stop-early
# :class: dropdown
# Direction $i$ changes the risk at length $m$ by $\lambda^2 \gamma_n\,(\gamma_n/\gamma_m - 2)$, where $\gamma_n = \frac{n}{(n+1)\lambda + \tau}$ is its entry of $\Gamma^\ast$ at length $n$. It does harm
# if $\gamma_n > 2\gamma_m$; for weak directions, $\lambda \ll \tau/n$, simply if $m < n/2$. On prompts less than half as long as in training the late stairs lead *up*.
# ```
#
# ```{exercise} The wrong order ★★★
# :label: ex-order
# Let tasks be $N(0, \Psi)$ with $\Psi = \operatorname{diag}(\psi)$ in the eigenbasis of $H$. In which order are the stairs climbed? Is the first one always the highest?
# ```
#
# ```{solution-start} ex-order
# :label: sol-order
# :class: dropdown
# ```
#
# With $\varphi = \lambda\psi$ the stairs are the summands $\varphi / (1 + \frac1n(1 + \frac{\tau}{\varphi}))$ of the least risk, and grow with $\varphi$. But the speed at the start is
# $\lambda^2 \psi = \lambda\varphi$: a direction in which covariates vary much comes *before* one in which tasks vary more. With $\lambda = (1, \tfrac12)$ and $\psi = (1, 3)$,
# $\varphi = (1, \tfrac32)$, but $\lambda\varphi = (1, \tfrac34)$. The first head climbs the *lower* stair. It cannot stay: the best $\Gamma$ of rank one is the other one, and the head, whose factors are
# large by now, turns over to it in a time that is a logarithm of the start. Then a second head climbs the first stair again. The sets visited, $\{1\}$, $\{2\}$, $\{1, 2\}$, are not nested, and the first visit is short:

# %%
h, psi = np.array([1.0, 0.5]), np.array([1.0, 3.0])
tilted = PromptLaw(20, np.diag(h), np.diag(psi), np.zeros(2), 0.25)
_, risks, stops = come_down(tilted, chapter.START, stream("order"))
phi, tau_psi = h * psi, h @ psi + 0.25
first, second = phi / (1 + (1 + tau_psi / phi) / 20)
sets = tau_psi - np.array([0, first, second, first + second])
print("stops", *(f"{level:.4f}" for level in risks[stops]))
missed = np.abs(risks[stops] - sets)
assert first < second and missed[1] < 0.01 and missed[[0, 2, 3]].max() < 1e-6

# %% [markdown]
# ```{solution-end}
# ```
#
# ## Every claim of this chapter
#
# A claim holds when prediction and measurement differ by no more than its tolerance, fixed beforehand, and five standard errors.

# %% tags=["hide-input"]
ledger.save()
