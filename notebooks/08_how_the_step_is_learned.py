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
# Loss curves of transformers wait, fall and wait again, and nobody can say beforehand how long. For one layer of linear attention
# one can: every level on which training rests, and when it leaves it, is a formula. {cite:t}`zhang2025dynamics` found
# what decides the shape of the curve. If keys and queries are **one merged matrix**, the risk falls in a single drop. If they are
# **two matrices**, as in every real transformer, it comes down a **staircase**: one stair for each eigenvector of the covariance,
# the strongest first. On stair $m$ the layer already takes the right step, in the first $m$ directions and in no other.
#
# ```{admonition} What you need
# :class: note
# {doc}`Chapter 2 <02_preconditioned_gd>`, of {doc}`chapter 5 <05_gd_beta_gradient_flow>` the flow, and {doc}`/book/notation`.
# Reading takes about {glue:text}`reading_minutes:.0f` minutes; rerunning, under a minute.
# ```

# %% tags=["hide-input"]
from itertools import pairwise

import numpy as np
from icl.chapters import begin
from icl.chapters.how_the_step_is_learned import experiments as chapter
from icl.chapters.how_the_step_is_learned import optimiser_runs, pictures
from icl.chapters.how_the_step_is_learned.explorable import explorable
from icl.theory import how_the_step_is_learned as theory

# %% tags=["parameters"]
d = 5
n = 20
sigma2 = 0.25
slope = 1.0
seed = 0
profile = "quick"

# %% tags=["hide-input", "remove-output"]
parameters, ledger, stream = begin(
    "08_how_the_step_is_learned",
    d=d,
    n=n,
    sigma2=sigma2,
    slope=slope,
    seed=seed,
    profile=profile,
)
budget = chapter.budget(parameters)
small = ledger.number("flow_d", min(d, chapter.MATRIX_D))
spectra = chapter.spectra(small, slope)
law = chapter.diagonal_law(spectra["chapter"], n, sigma2)

# %% [markdown]
# ## The layer
#
# Covariates are $N(0, H)$, tasks $N(0, I)$, labels have noise $\sigma^2$. Head $m$ holds a value $v_m$, which multiplies the label, a
# query matrix $Q_m$ and a key matrix $K_m$, which read the covariates. (The other weights of a layer stay at zero if they begin
# there: the risk is even in them, so that their slope vanishes.) All heads together take one step from zero, with the
# matrix $\Gamma = \sum_m v_m Q_m^\top K_m$:


# %%
def layer(v, Q, K, X, y, x):
    """The guess for prompts X (…, n, d), y (…, n) and queries x (…, d)."""
    guess = 0
    for value, query, key in zip(v, Q, K, strict=True):
        scores = (X @ key.T) @ (x @ query.T)[..., None]  # <K x_i, Q x>
        guess = guess + value * (y * scores[..., 0]).mean(-1)
    return guess


def product(v, Q, K):
    """Γ of m heads of rank R: v (…, m), Q and K (…, m, R, d)."""
    return np.einsum("...m,...mri,...mrj->...ij", v, Q, K)


def step(Gamma, X, y, x):
    """The guess after one step from 0, the gradient multiplied by Γ."""
    return x @ Gamma @ X.T @ y / len(y)


# %% [markdown]
# **By hand.** Two examples of the task $(1, 1)$ without noise, $x_1 = (2, 1)$ and $x_2 = (1, -1)$, have labels $3$ and $0$, so that
# $\tfrac12 X^\top y = (3, \tfrac32)$. The query is $(1, 2)$. A head with $v = \tfrac12$ that reads the first covariate alone guesses
# $\tfrac12 \cdot 3 \cdot 1 = \tfrac32$: the first stair. A second head for the second covariate adds
# $\tfrac12 \cdot \tfrac32 \cdot 2 = \tfrac32$, which makes $3$, the truth.

# %%
X2, y2, x2 = (
    np.array([[2.0, 1], [1, -1]]),
    np.array([3.0, 0]),
    np.array([1.0, 2]),
)
half, axes = np.full(2, 0.5), np.eye(2)[:, None]  # two heads of rank one
for heads_on in (1, 2):
    parts = half[:heads_on], axes[:heads_on], axes[:heads_on]
    print("attention", layer(*parts, X2, y2, x2), end="   ")
    print("step", step(product(*parts), X2, y2, x2))

# %% [markdown]
# ## The risk and its flow
#
# With $\tau = \operatorname{tr} H + \sigma^2$ and $N = \tfrac{n+1}{n} H^2 + \tfrac{\tau}{n} H$ the risk is that of
# {eq}`eq-gd-beta-risk` at $\beta = \beta^\ast$, $\Psi = I$, and minus half its slope by $\Gamma$ is a matrix $G$:
#
# ```{math}
# :label: eq-learning-risk
# \mathcal R = \tau - 2 \operatorname{tr}(H \Gamma H) + \operatorname{tr}(H \Gamma N \Gamma^\top) , \qquad
# G = H^2 - H \Gamma N .
# ```
#
# Training slides down $\tfrac12 \mathcal R$, not in $\Gamma$ but in its factors, so the chain rule multiplies $G$ by the other two:
#
# ```{math}
# :label: eq-learning-flow
# \dot v_m = \operatorname{tr}(Q_m G K_m^\top) , \qquad \dot Q_m = v_m K_m G^\top , \qquad \dot K_m = v_m Q_m G .
# ```
#
# Here lies the whole story: *a small factor makes the others slow.* As $v_m \dot v_m = \operatorname{tr}(Q_m^\top \dot Q_m)$, the difference
# $v_m^2 - \|Q_m\|^2$ never changes, nor does $\|Q_m\|^2 - \|K_m\|^2$: factors that begin alike stay alike. And since the flow looks the same
# in every orthonormal basis, let $H$ be diagonal, here with eigenvalues proportional to
# $({glue:text}`flow_d:.0f`, \dots, 1)$ to the power {glue:text}`slope:g` and trace $1$.


# %%
def second_moment(law, plus=1):
    """N."""
    H, n = law.H, law.n
    return (n + plus) / n * H @ H + (np.trace(H) + law.sigma2) / n * H


def risk(law, Gamma, plus=1):
    """The closed form, for Γ (…, d, d)."""
    H, N = law.H, second_moment(law, plus)
    fitted = np.trace(H @ Gamma @ H, axis1=-2, axis2=-1)
    spread = (H @ Gamma @ N * Gamma).sum((-2, -1))
    return np.trace(H) + law.sigma2 - 2 * fitted + spread


def apart(law):
    """The flow of keys and queries: v (m,), Q and K (m, R, d)."""
    H, N = law.H, second_moment(law)

    def velocity(v, Q, K):
        G, w = H @ H - H @ product(v, Q, K) @ N, v[:, None, None]
        return (Q * (K @ G.T)).sum((1, 2)), w * (K @ G.T), w * (Q @ G)

    return velocity


# %% tags=["hide-input"]
rng = stream("random heads")
three = rng.standard_normal(3), *rng.standard_normal((2, 3, 2, small))
largest = max(np.abs(part).max() for part in chapter.half_slope(law, three))


def off(moved):
    """How far velocities are from minus half the automatic slope."""
    slopes = chapter.half_slope(law, three)
    gaps = (
        np.abs(a - b).max() / largest
        for a, b in zip(moved, slopes, strict=True)
    )
    return max(gaps)


moved = apart(law)(*three)
on_prompts = chapter.over_prompts(
    law,
    lambda X, y, x: layer(*three, X, y, x),
    budget.prompts,
    stream("prompts"),
)
Gamma3 = product(*three)
ledger.claims({
    "learning.risk": (
        risk(law, Gamma3),
        on_prompts,
        risk(law, Gamma3, plus=0),
    ),
    "learning.velocity": (0, off(moved), off((moved[0], moved[2], moved[1]))),
})

# %% [markdown]
# ## One matrix: one drop
#
# Theory papers like to write $K^\top Q$ as one matrix. Then $\Gamma = vU$ with a number $v$ and a matrix $U$, and
#
# $$
# \dot v = \operatorname{tr}(U^\top G) , \qquad \dot U = v\, G .
# $$
#
# ```{prf:theorem} A merged matrix rests at the start or at the end
# :label: thm-one-drop
# Where this flow rests, $\mathcal R = \tau$ or $\mathcal R$ is the least risk. At $H = I$, from $v = \sqrt{s_0}$ and
# $U = \sqrt{s_0/d}\, I$, it is a logistic curve: with $c = 1 + \tfrac{1 + d + \sigma^2}{n}$
#
# $$
# \|\Gamma\| = \frac{\sqrt d / c}{1 + \big(\tfrac{\sqrt d}{c\, s_0} - 1\big)\, e^{-2\sqrt d\, t}} , \qquad
# t_{1/2} = \frac{1}{2 \sqrt d} \ln\Big(\frac{\sqrt d}{c\, s_0} - 1\Big) .
# $$
#
# From any other small start the time is right to leading order with $s_0 = \tfrac14 \big(v + \tfrac{1}{\sqrt d} \operatorname{tr} U\big)^2$.
# ```
#
# ```{admonition} Proof
# :class: dropdown
# *Rest.* If $v \ne 0$, then $G = 0$, and $\Gamma = HN^{-1}$ is the minimiser. If $v = 0$, then $\Gamma = 0$.
# *The curve.* At $H = I$, $N = cI$ and $G = I - c\Gamma$. With $U = u I/\sqrt d$ this is $\dot v = u(\sqrt d - cuv)$,
# $\dot u = v(\sqrt d - cuv)$; from $u = v$ they stay equal, and $s = uv = \|\Gamma\|$ has $\dot s = 2s(\sqrt d - cs)$. Noise enters through $c$
# alone. *Any start.* While $\Gamma$ is small, $G = I$: $v + \operatorname{tr} U/\sqrt d$ grows like $e^{\sqrt d\, t}$, their difference dies out,
# and what is orthogonal to $I$ in $U$ does not move; so $s$ becomes $\tfrac14(v + \operatorname{tr}U/\sqrt d)^2\, e^{2\sqrt d\, t}$, the early part of
# the curve. For other $H$ the same holds with $H^2/\|H^2\|$ for $I/\sqrt d$ and the rate $\|H^2\|$. ∎
# ```
#
# The least risk is {eq}`eq-gd-beta-risk`'s at $\Gamma^\ast = HN^{-1}$, a sum over the eigenvalues $\lambda_1 \ge \dots \ge \lambda_d$ of $H$ (chapter 5 with $\Psi = I$):
#
# ```{math}
# :label: eq-stairs
# L_m = \tau - \sum_{i \le m} \frac{\lambda_i}{1 + \tfrac1n \big( 1 + \tfrac{\tau}{\lambda_i} \big)} , \qquad
# \min \mathcal R = L_d .
# ```


# %%
def stairs(law, one=1):
    """L_0 … L_d."""
    lam, tau = np.diag(law.H), np.trace(law.H) + law.sigma2
    takes_off = lam / (1 + (one + tau / lam) / law.n)
    return tau - np.r_[0, np.cumsum(takes_off)]


def merged(law):
    """The flow of v () and U (d, d)."""
    H, N = law.H, second_moment(law)

    def velocity(v, U):
        G = H @ H - H @ (v * U) @ N
        return (U * G).sum(), v * G

    return velocity


def size(parts):
    """‖Γ‖ of a merged matrix."""
    return np.linalg.norm(parts[0] * parts[1])


white = chapter.diagonal_law(np.ones(small), n, sigma2)
s0, c = 1e-4, 1 + (1 + small + sigma2) / n
identity = np.sqrt(s0) * np.eye(small) / np.sqrt(small)
end = np.sqrt(small) / c
half_time = np.log(end / s0 - 1) / (2 * np.sqrt(small))
path = chapter.follow(
    merged(white), (np.sqrt(s0), identity), 3 * half_time, rtol=1e-11
)
lengths = np.array([size(path.at(k)) for k in range(len(path.times))])
growth = np.exp(-2 * np.sqrt(small) * path.times)
logistic = end / (1 + (end / s0 - 1) * growth)

v0, U0 = chapter.small_matrix(white, 1e-4, stream("merged, white"))
from_start = ((v0 + np.trace(U0) / np.sqrt(small)) / 2) ** 2
random_time = np.log(end / from_start - 1) / (2 * np.sqrt(small))
other = chapter.follow(merged(white), (v0, U0), 3 * random_time)

# %% tags=["hide-input"]
c_near = c - 1 / n
near_curve = (
    np.sqrt(small) / c_near / (1 + (end * c / c_near / s0 - 1) * growth)
)
drops = []
for k in range(3):
    begin_at = chapter.small_matrix(law, chapter.START, stream("merged", k))
    fall = chapter.follow(merged(law), begin_at, chapter.drop_horizon(law))
    risks = risk(law, fall.parts[0][:, None, None] * fall.parts[1])
    drops.append((len(chapter.stops(risks, fall.speed)) - 2, risks[-1]))
counts, ends = np.array(drops).T
near_least = law.sigma2 + sum(
    lam - lam**2 * n / (n * lam + 1 + sigma2) for lam in np.diag(law.H)
)
ledger.claims({
    "drop.two_levels": (0, counts.max(), small - 1),
    "drop.end": (stairs(law)[-1], ends.max(), near_least),
    "drop.curve": (
        0,
        np.abs(lengths - logistic).max() / end,
        np.abs(lengths - near_curve).max() / end,
    ),
    "drop.time": (
        half_time,
        chapter.crossing(path, size, end / 2),
        np.log(np.sqrt(small) / s0 - 1) / (2 * np.sqrt(small)),
    ),
    "drop.random_start": (
        random_time,
        chapter.crossing(other, size, end / 2),
        np.log(end / size((v0, U0)) - 1) / (2 * np.sqrt(small)),
    ),
})

# %% [markdown]
# ## Two matrices: stairs
#
# Now keys and queries apart, in heads of rank one: $\Gamma = \sum_m v_m q_m k_m^\top$.
#
# ```{prf:theorem} The stairs
# :label: thm-stairs
# 1. Let $\lambda_1 > \dots > \lambda_d > 0$. Wherever the flow {eq}`eq-learning-flow` rests, with any number of heads of any rank, $\Gamma$ is $\Gamma^\ast$ on a set of
#    eigenvectors and $0$ on the others: the risk is $\tau$ minus the summands of {eq}`eq-stairs` over that set.
# 2. $L_m$ is the least risk of all $\Gamma$ of rank $m$.
# 3. Heads that begin on the eigenvectors, $v = a$ and $q = k = a e_i$, do not feel one another. Each follows
#    $\dot a = a^2 \lambda_i^2 \big(1 - (a/\alpha_i)^3\big)$ with $\alpha_i^3 = \frac{n}{(n+1)\lambda_i + \tau}$, and has climbed half of its stair at
#
# $$
# t_i = \frac{F(2^{-1/3}) - F(a_0/\alpha_i)}{\lambda_i^2\, \alpha_i} , \qquad
# F(z) = -\frac1z - \frac{\ln(1-z)}{3} + \frac{\ln(1 + z + z^2)}{6} - \frac{1}{\sqrt 3} \arctan \frac{2z+1}{\sqrt 3} .
# $$
# ```
#
# ```{admonition} Proof
# :class: dropdown
# With $M = H^{1/2} \Gamma N^{1/2}$ and $M_\ast = H^{3/2} N^{-1/2}$, both sides of {eq}`eq-learning-risk` complete squares:
# $\mathcal R = \mathcal R^\ast + \|M - M_\ast\|_F^2$ and $G = H^{1/2} (M_\ast - M) N^{1/2}$. $M_\ast$ is diagonal, and its squares
# $\lambda^3/\nu = \lambda / (1 + \tfrac1n(1 + \tfrac\tau\lambda))$, $\nu$ the eigenvalue of $N$, are the summands, which grow with $\lambda$.
#
# *1.* At rest $v_m Q_m G = 0$ and $v_m G K_m^\top = 0$ for every head, hence $G\Gamma^\top = 0$ and $\Gamma^\top G = 0$, that is $(M_\ast - M)M^\top = 0$
# and $M^\top (M_\ast - M) = 0$. Let $P$ and $P'$ project on the row and the column space of $M$: then $M = M_\ast P = P' M_\ast$.
# So $P' = M_\ast P M_\ast^{-1}$, which must be symmetric; hence $P$ commutes with $M_\ast^2$, whose eigenvalues are distinct. $P$ projects on a
# set of eigenvectors, and $M$ is $M_\ast$ there.
#
# *2.* $M$ has the rank of $\Gamma$; Eckart and Young: the best $M$ of rank $m$ keeps the $m$ largest entries of $M_\ast$.
#
# *3.* $\Gamma = \sum_i a_i^3 e_i e_i^\top$ makes $G$ diagonal, so {eq}`eq-learning-flow` keeps every head on its $e_i$, with
# $\dot a = a^2 (\lambda^2 - \lambda \nu a^3)$. With $z = a/\alpha$: $\lambda^2 \alpha\, dt = dz / (z^2 (1 - z^3))$, and
# $\frac{1}{z^2 (1 - z^3)} = \frac{1}{z^2} + \frac{1}{3(1-z)} + \frac{z - 1}{3 (1 + z + z^2)}$. ∎
# ```
#
# For small starts $t_i \approx 1/(a_0 \lambda_i^2)$: the wait is *inversely* proportional to the start, where the merged matrix waits for its
# logarithm, and the stairs come in the order of the eigenvalues. So the flow passes the sets $\{1\}, \{1, 2\}, \dots$ only, of the $2^d$ at which it could rest.
# That it does so from random starts is observed, not proved. Here is the exact flow of $d + 1$ heads from random directions; a stop is where its speed
# has a minimum, and knows of no formula:


# %%
def come_down(law, start, rng, rtol=1e-8):
    """Path and risks of d + 1 heads of rank one, and where they stop."""
    begin_at = chapter.small_heads(law, law.d + 1, 1, start, rng)
    horizon = chapter.horizon(law, start)
    path = chapter.follow(apart(law), begin_at, horizon, rtol=rtol)
    risks = risk(law, product(*path.parts))
    return path, risks, chapter.stops(risks, path.speed)


printed = chapter.diagonal_law(np.array([0.4, 0.3, 0.2, 0.1]), 31, 0.0)
problems = {"printed": printed} | {
    name: chapter.diagonal_law(h, n, sigma2) for name, h in spectra.items()
}
found = {}
for name, problem in problems.items():
    rng = stream(f"stairs, {name}")
    _, risks, stops = come_down(problem, chapter.START, rng)
    found[name] = risks[stops]
print("d = 4, n = 31:", *(f"{level:.5f}" for level in found["printed"]))

# %% [markdown]
# The times, from a start on the eigenvectors; and all resting points that least squares finds on the slope of the risk, for
# {glue:text}`rest_d:.0f` eigenvalues:

# %%
lam, tau = np.diag(law.H), np.trace(law.H) + sigma2
alpha = np.cbrt(n / ((n + 1) * lam + tau))


def F(z):
    logs = np.log(1 + z + z**2) / 6 - np.log(1 - z) / 3
    return logs - 1 / z - np.arctan((2 * z + 1) / np.sqrt(3)) / np.sqrt(3)


a0 = 0.01 * alpha.min()
climb_times = (F(2 ** (-1 / 3)) - F(a0 / alpha)) / (lam**2 * alpha)
on_axes = a0 * np.eye(small)[:, None]
climb = chapter.follow(
    apart(law),
    (np.full(small, a0), on_axes, on_axes),
    1.5 * climb_times[-1],
    rtol=1e-10,
)
share = lambda i: lambda parts: product(*parts)[i, i] / alpha[i] ** 3
seen_times = np.array([
    chapter.crossing(climb, share(i), 0.5) for i in range(small)
])

few = min(small, 3)
short = chapter.diagonal_law(chapter.spectra(few, 1.0)["chapter"], n, sigma2)
points = chapter.resting_points(
    apart(short), short, budget.restarts, stream("resting points")
)
resting = np.array([risk(short, product(*point)) for point in points])
nearest = lambda levels: np.abs(resting[:, None] - levels).min(1).max()
every_set = theory.resting_levels(np.diag(short.H), n, sigma2)

# %% tags=["hide-input"]
ledger.number("rest_d", few)
ledger.number("resting_points", len(points))
ledger.number("last_over_first", climb_times[-1] / climb_times[0])
checked = {
    f"stairs.{name}": (
        0,
        chapter.missed(levels, stairs(problems[name])),
        np.abs(stairs(problems[name], one=0) - stairs(problems[name])).max(),
    )
    for name, levels in found.items()
}
relative = lambda times: np.abs(times / climb_times - 1).max()
checked |= {
    "stairs.resting_points": (0, nearest(every_set), nearest(stairs(short))),
    "stairs.times": (0, relative(seen_times), relative(1 / (a0 * lam**2))),
}
ledger.claims(checked)

# %% tags=["hide-input", "remove-output"]
shown, risks, stops = come_down(law, 0.01, stream("picture"), rtol=1e-10)
Gammas = product(*(part[stops] for part in shown.parts))
begin_at = chapter.small_matrix(law, 0.01, stream("picture, merged"))
one = chapter.follow(merged(law), begin_at, chapter.drop_horizon(law))
late = chapter.last_move(shown.times, risks)
times = np.geomspace(0.3, 2 * late, 500)
grid = lambda path, Gamma: np.array([
    risk(law, Gamma(*path.between(min(t, path.times[-1])))) for t in times
])
curves = (times, grid(shown, product)), (times, grid(one, np.multiply))
ledger.figure(pictures.staircase(*curves, stairs(law), Gammas))

# %% [markdown]
# ```{glue:figure} fig-staircase
# :name: fig-staircase
#
# The same layer, the same risk, the same size of start. Merged (violet) it learns everything at once; with keys and queries apart
# (orange) it rests on every $L_m$ (dashed). Below: $\Gamma$ where it rests, in the eigenbasis of $H$. Each stair is one more direction in which
# the layer steps.
# ```
#
# So a model that is stopped on stair $m$ has learned an algorithm of its own: one step of gradient descent on the first $m$
# principal components of the covariates. The weakest direction's step is the *longest*, $\alpha_i^3$ grows as $\lambda_i$ falls, and it comes last:
# here {glue:text}`last_over_first:.0f` times as late as the first, from equal starts.
#
# ## A head of rank R stops on stair R
#
# One head with $R$ keys and queries makes a $\Gamma$ of rank $R$ at most. By {prf:ref}`thm-stairs` nothing it could learn is better than
# $L_R$: the width of a head limits the *number of directions* in which it can step. L-BFGS over the two factors of $\Gamma$ finds no lower
# risk, and the flow of one head ends there:


# %%
def value_and_slope(Gamma):
    G = law.H @ law.H - law.H @ Gamma @ second_moment(law)
    return risk(law, Gamma), -2 * G


least, head_paths = [risk(law, np.zeros((small, small)))], {}
for R in range(1, small + 1):
    rng = stream("rank", R)
    least.append(chapter.least_of_rank(value_and_slope, small, R, 10, rng))
    begin_at = chapter.small_heads(law, 1, R, 0.01, rng)
    horizon = chapter.horizon(law, 0.01)
    head_paths[R] = chapter.follow(apart(law), begin_at, horizon)
head_ends = np.array([
    risk(law, product(*path.at(-1))) for path in head_paths.values()
])

# %% tags=["hide-input"]
kept = np.diag(law.H) ** 2 * alpha**3  # summands; Γ* falls with λ
wrong = tau - np.r_[0, np.cumsum(kept[::-1])]
ledger.claims({
    "rank.least": (
        0,
        np.abs(least - stairs(law)).max(),
        np.abs(least - wrong).max(),
    ),
    "rank.flow": (
        0,
        np.abs(head_ends - stairs(law)[1:]).max(),
        np.abs(head_ends - stairs(law)[:-1]).max(),
    ),
})

# %% tags=["hide-input", "remove-output"]
head_times = np.geomspace(1, 4 * late, 300)
ledger.figure(
    pictures.ranks(
        {
            R: (
                head_times,
                np.array([
                    risk(law, product(*path.between(min(t, path.times[-1]))))
                    for t in head_times
                ]),
            )
            for R, path in head_paths.items()
        },
        stairs(law),
    )
)

# %% [markdown]
# ```{glue:figure} fig-ranks
# :name: fig-ranks
#
# One head of rank $R$, five times. Each ends on its own stair. On the way it hardly rests: its value is shared, and once the
# first direction has made it large, the others grow exponentially. Stairs between are the mark of several heads.
# ```
#
# ## The start, and the optimiser
#
# What follows is measured. **A larger start rounds the stairs off.** On a stair the heads still waiting have the size of the start, and
# $\Gamma$ is a product of three factors: the stop misses its level by the third power. The wait shrinks as the start grows:

# %%
sizes = np.array([0.3, 0.1, 0.03, 0.01, 0.003, 0.001])
descents, waits, falls, misses = {}, [], [], {}
midway = stairs(law)[:2].mean()
of_heads = lambda parts: risk(law, product(*parts))
of_matrix = lambda parts: risk(law, parts[0] * parts[1])
heads_key, matrix_key = stream.entropy("sizes"), stream.entropy("sizes, merged")
for s in sizes:
    path, risks, stops = come_down(law, s, np.random.default_rng(heads_key))
    descents[s] = path
    waits.append(chapter.crossing(path, of_heads, midway))
    misses[s] = chapter.missed(risks[stops], stairs(law))
    begin_at = chapter.small_matrix(law, s, np.random.default_rng(matrix_key))
    fall = chapter.follow(merged(law), begin_at, chapter.drop_horizon(law))
    falls.append(chapter.crossing(fall, of_matrix, midway))
rate = np.linalg.norm(law.H @ law.H)  # ‖H²‖
per_e = (falls[-1] - falls[-2]) / np.log(sizes[-2] / sizes[-1])
last_two = sizes[-2:], np.array(waits[-2:]), [misses[s] for s in sizes[-2:]]

# %% tags=["hide-input"]
ledger.claims({
    "start.missed": (3, chapter.slope_of(last_two[0], last_two[2]), 2),
    "start.wait_apart": (-1, chapter.slope_of(*last_two[:2]), 0),
    "start.wait_merged": (1 / rate, per_e, 1 / lam[0] ** 2),
})

# %% tags=["hide-input", "remove-output"]
wide = np.geomspace(1, 3 * chapter.last_move(path.times, risks), 300)
shown_curves = {
    s: (
        wide,
        np.array([
            of_heads(descents[s].between(min(t, descents[s].times[-1])))
            for t in wide
        ]),
    )
    for s in (0.3, 0.1, 0.01, 0.001)
}
line = falls[-1] + np.log(sizes[-1] / sizes) / rate
ledger.figure(
    pictures.starts(
        shown_curves,
        stairs(law),
        sizes,
        np.array(waits),
        np.array(falls),
        line,
    )
)

# %% [markdown]
# ```{glue:figure} fig-starts
# :name: fig-starts
#
# Left: from a start a third as large as the smallest head's end there are hardly any stairs; each tenth of that makes them ten times as long.
# Right: the first wait, for separate keys and queries like $1$ over the start, for the merged matrix a logarithm (line: slope
# $1/\|H^2\|$ by theory).
# ```
#
# **Adam and Muon.** Both rescale the gradient, and a stair is a place where the gradient is small. {cite:t}`dragutinovic2026muon` say
# of Muon on linear attention, as we understand it, that it avoids the saddle points. Below, heads of rank one on the exact risk, from the
# same starts. Of the steps between the first and the last hundredth of the descent, gradient descent spends
# {glue:text}`optimisers.descent.measured:.2f` within a hundredth of a stair between, Adam {glue:text}`adam_least:.2f` to
# {glue:text}`adam_most:.2f`, Muon {glue:text}`muon_least:.2f` to {glue:text}`muon_most:.2f` (three rates each, from the start of size
# {glue:text}`optimiser_start:g`); an even pace would give {glue:text}`even_pace:.2f`. No theorem here says so for Adam or Muon.

# %% tags=["hide-input", "remove-output"]
runs = optimiser_runs.compare(law, apart(law), of_heads, stream)

# %% tags=["hide-input"]
shares = {
    name: [
        optimiser_runs.on_the_stairs(run.curve, stairs(law)) for run in all_runs
    ]
    for name, all_runs in runs.by_rate.items()
}
ledger.number("optimiser_start", optimiser_runs.START)
ledger.number("even_pace", 0.02 * (small - 1))
for name in ("Adam", "Muon"):
    ledger.number(f"{name.lower()}_least", min(shares[name]))
    ledger.number(f"{name.lower()}_most", max(shares[name]))
no_stair = chapter.no_stair_between(small)
ledger.claims({
    "optimisers.descent": (0.5, no_stair or shares["descent"][0]),
    "optimisers.muon": (0.25, no_stair or max(shares["Muon"])),
})

# %% tags=["hide-input", "remove-output"]
ledger.figure(pictures.optimisers(runs.by_start, stairs(law)))

# %% [markdown]
# ```{glue:figure} fig-optimisers
# :name: fig-optimisers
#
# Trained heads, three starts (colours) and three optimisers. Gradient descent stands on the stairs (dotted), the longer the smaller
# its start. Adam and Muon do not wait for the small factors: they learn all directions at once, and hardly notice the start.
# ```
#
# ## Try it
#
# Heads on the eigenvectors, from the closed form, and the merged matrix. Make the spectrum flat (slope 0): the stairs fall
# together. Make the start large: they dissolve.

# %% tags=["hide-input"]
explorable(parameters)

# %% [markdown]
# (learning-limits)=
# ## Limits
#
# The flow is on the exact risk: endless prompts, no noise of sampling. Heads read labels into values and covariates into keys and
# queries from the start; that is kept, but not enforced, by a real layer's initial weights. $\Psi = I$ and zero mean task ({ref}`ex-order` changes the
# first). Flows are followed for {glue:text}`flow_d:.0f` eigenvectors. Proved are the levels, the drop and the aligned times; that random starts take the
# nested sets, with the third power and the wait, is observed. {cite:t}`zhang2025dynamics` train without noise; our $\tau$ with $\sigma^2 = 0$ gives
# their levels, and their softmax experiments are not repeated here.
#
# ## Exercises
#
# ```{exercise} Two factors ★
# :label: ex-two-factors
# Fix every value at $v_m = 1$ and train keys and queries only, from $q = k = a_0 e_i$. How long does stair $i$ take? Are there still stairs?
# ```
#
# ```{solution-start} ex-two-factors
# :label: sol-two-factors
# :class: dropdown
# ```
#
# $\gamma = a^2$ has $\dot\gamma = 2\gamma(\lambda^2 - \lambda\nu\gamma)$, a logistic curve with half time
# $\ln(\alpha^3/a_0^2 - 1)/(2\lambda^2)$. The levels are the same, for the proof of {prf:ref}`thm-stairs` never used the value; but waits are
# logarithms, and the stairs are only $\ln(1/a_0)$ times as long as the falls between. Three factors make one over the start, two a logarithm.

# %%
half_times = np.log(alpha**3 / a0**2 - 1) / (2 * lam**2)
flow = apart(law)
keys_only = lambda Q, K: flow(np.ones(small), Q, K)[1:]
two = chapter.follow(keys_only, (on_axes, on_axes), 2 * half_times[-1])
entry = lambda i: lambda parts: product(np.ones(small), *parts)[i, i]
for i in (0, small - 1):
    seen = chapter.crossing(two, entry(i), alpha[i] ** 3 / 2)
    print(f"stair {i + 1}: {half_times[i]:.3f} by formula, {seen:.3f} seen")
    assert abs(seen / half_times[i] - 1) < 1e-4

# %% [markdown]
# ```{solution-end}
# ```
#
# ```{exercise} Stop early for short prompts ★★
# :label: ex-stop-early
# A model trained at $n$ is used on prompts with $m < n$ examples. Which stairs does it regret having climbed?
# ```
#
# ```{solution-start} ex-stop-early
# :label: sol-stop-early
# :class: dropdown
# ```
#
# Direction $i$ changes the risk at length $m$ by $-2\lambda^2\gamma + \lambda\nu(m)\gamma^2 = \lambda^2 \gamma\,(\gamma/\gamma(m) - 2)$: it does harm if
# $\gamma(n) > 2\gamma(m)$, that is $\frac{n}{(n+1)\lambda + \tau} > \frac{2m}{(m+1)\lambda + \tau}$. For weak directions, $\lambda \ll \tau/n$, this is simply
# $m < n/2$: on prompts less than half as long as in training the late stairs lead *up*.

# %%
for m in sorted({max(1, n // 8), max(1, n // 3), n}):
    at_m = chapter.diagonal_law(lam, m, sigma2)
    steps = np.array([
        np.diag(alpha**3 * (np.arange(small) < k)) for k in range(small + 1)
    ])
    levels = risk(at_m, steps)
    harm = n / ((n + 1) * lam + tau) > 2 * m / ((m + 1) * lam + tau)
    assert ((np.diff(levels) > 0) == harm).all()
    print(f"m = {m:2}: " + "  ".join(f"{level:.3f}" for level in levels))

# %% [markdown]
# ```{solution-end}
# ```
#
# ```{exercise} The wrong order ★★★
# :label: ex-order
# Let tasks be $N(0, \Psi)$ with $\Psi = \operatorname{diag}(\psi)$ in the eigenbasis of $H$. In which order are the stairs climbed? Is the first one
# always the highest?
# ```
#
# ```{solution-start} ex-order
# :label: sol-order
# :class: dropdown
# ```
#
# $G = H\Psi H - H\Gamma N$ with $N = \frac{n+1}{n} H\Psi H + \frac\tau n H$, $\tau = \operatorname{tr} H\Psi + \sigma^2$. With $\varphi = \lambda\psi$ the stairs are the summands
# $\varphi / (1 + \frac1n(1 + \frac{\tau}{\varphi}))$ of the least risk, and grow with $\varphi$. But the speed at the start is $\lambda^2 \psi = \lambda\varphi$. So a direction in which
# covariates vary much comes *before* one in which tasks vary more. With $\lambda = (1, \tfrac12)$ and $\psi = (1, 3)$: $\varphi = (1, \tfrac32)$, but
# $\lambda\varphi = (1, \tfrac34)$. The first head climbs the *lower* stair. It cannot stay: the best $\Gamma$ of rank one is the other one, and the
# head, whose factors are large by now, turns over to it in a time that is a logarithm of the start. Then a second head climbs back the first stair. So the sets
# visited are $\{1\}$, $\{2\}$, $\{1, 2\}$, which are not nested, and the first visit is short:

# %%
h2, psi2 = np.array([1.0, 0.5]), np.array([1.0, 3.0])
phi, tau2 = h2 * psi2, h2 @ psi2 + 0.25
HPH, N2 = np.diag(h2 * phi), np.diag(21 / 20 * h2 * phi + tau2 / 20 * h2)


def with_psi(v, Q, K):
    G, w = HPH - np.diag(h2) @ product(v, Q, K) @ N2, v[:, None, None]
    return (Q * (K @ G.T)).sum((1, 2)), w * (K @ G.T), w * (Q @ G)


pair = chapter.diagonal_law(h2, 20, 0.25)
begin_at = chapter.small_heads(pair, 3, 1, chapter.START, stream("order"))
path = chapter.follow(with_psi, begin_at, 1e9)
Gamma = product(*path.parts)
fitted = np.trace(HPH @ Gamma, axis1=1, axis2=2)
risks = tau2 - 2 * fitted + (np.diag(h2) @ Gamma @ N2 * Gamma).sum((1, 2))
takes = phi / (1 + (1 + tau2 / phi) / 20)
levels = risks[chapter.stops(risks, path.speed)]
sets = tau2 - np.array([0, takes[0], takes[1], takes.sum()])
print("stops", *(f"{level:.4f}" for level in levels))
print("sets ", *(f"{level:.4f}" for level in sets))
assert np.abs(levels - sets)[[0, 2, 3]].max() < 1e-6
assert abs(levels[1] - sets[1]) < 0.01 and takes[0] < takes[1]

# %% [markdown]
# ```{solution-end}
# ```
#
# ```{exercise} Prompts instead of a flow ◇
# :label: ex-sampled-stairs
# Train the heads on a fresh batch of prompts at every step. Does the noise of the gradient shorten the stairs or blur them? From which batch size on?
# ```
#
# ```{solution} ex-sampled-stairs
# :label: sol-sampled-stairs
# :class: dropdown
# **Known:** at the start every factor is small, and so is the noise of its gradient, which is multiplied by the other two factors just as the mean is. A head of
# size $a$ moves by $\eta a^2 \lambda^2$ on average in a step of rate $\eta$, and by about $\eta a^2/\sqrt B$ at random for a batch of $B$ prompts; so the
# noise is a matter of the ratio $\lambda^2 \sqrt B$, and late stairs with small $\lambda$ suffer first.
#
# **Open:** a theorem on how long the stairs are then. On a stair the learned head trembles with the noise of its own large factors, and that, through the
# shared residual, pushes the waiting ones about.
# ```
#
# ## Every claim of this chapter
#
# A claim holds when prediction and measurement differ by no more than its tolerance, fixed beforehand, and five standard errors.

# %% tags=["hide-input"]
ledger.save()
