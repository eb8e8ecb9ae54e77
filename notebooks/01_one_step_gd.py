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
# (one-step-gd)=
# # One step of gradient descent is optimal
#
# Show a transformer a list of examples $(x_1, y_1), \dots, (x_n, y_n)$ and a new $x$, and it guesses the missing $y$
# without changing a weight. What is it computing?
# For one layer of *linear* attention trained on linear regression, {cite:t}`mahankali2024` gave a complete answer:
# **the best it can do is one step of gradient descent, and it does exactly that.**
#
# Theory puts the least risk at {glue:text}`thm1.risk.predicted:.6f` and the step at
# {glue:text}`thm1.step_size.predicted:.6f`; training ends there, to {glue:text}`risk_digits:.0f` digits.
# Last come a second, equally good solution in one dimension, and a false valley in which training can get stuck.
#
# ```{admonition} What you need
# :class: note
# Linear regression and gradients. Reading takes about {glue:text}`reading_minutes:.0f` minutes; rerunning, under a minute.
# Symbols are collected in {doc}`/book/notation`.
# ```

# %% tags=["hide-input"]
from itertools import product

import numpy as np
from icl import search
from icl.chapters import begin
from icl.chapters.one_step_gd import experiments as chapter
from icl.chapters.one_step_gd import pictures, proof_pictures
from icl.chapters.one_step_gd.explorable import explorable
from icl.estimates import joint_monte_carlo, monte_carlo
from icl.models.effective import EffectiveParameters
from icl.prompts import PromptLaw
from icl.theory import landscape
from icl.theory import one_step_gd as theory
from numpy.polynomial import Polynomial

# %% tags=["parameters"]
d = 5
n = 20
sigma2 = 0.25
seed = 0
profile = "quick"

# %% tags=["hide-input", "remove-output"]
parameters, ledger, stream = begin(
    "01_one_step_gd", d=d, n=n, sigma2=sigma2, seed=seed, profile=profile
)
budget = chapter.budget(parameters)
law = PromptLaw.isotropic(d, n, sigma2)

# %% [markdown]
# ## The task and the model
#
# A **prompt** is drawn afresh each time: a task $w \sim N(0, I_d)$, covariates $x_1, \dots, x_n, x \sim N(0, I_d)$, and
# labels $y_i = w^\top x_i + \varepsilon_i$ with noise $\varepsilon_i \sim N(0, \sigma^2)$;
# here $d =$ {glue:text}`d:.0f`, $n =$ {glue:text}`n:.0f` and $\sigma^2 =$ {glue:text}`sigma2:g`. The rows of $X$ are the $x_i^\top$, and
# $\mathbf y$ holds the labels. The model sees the tokens $h_i = (x_i; y_i)$ and the query $h_{n+1} = (x; 0)$, and must fill in the $0$.
# **Linear self-attention** is attention without the softmax, with the query masked out of the sum:
#
# ```{math}
# :label: eq-lsa
# \hat y = \Big[\, W_P^\top W_V \sum_{i=1}^{n} h_i \, \big\langle W_K h_i,\; W_Q h_{n+1} \big\rangle \Big]_{d+1} .
# ```


# %%
def attention(W_K, W_Q, W_V, W_P, X, y, x):
    """The guess for prompts X (…, n, d), y (…, n) and queries x (…, d)."""
    h = np.concatenate([X, y[..., None]], axis=-1)  # tokens (x_i; y_i)
    query = np.concatenate([x, 0 * x[..., :1]], axis=-1)  # (x; 0)
    scores = (h @ W_K.T) @ (query @ W_Q.T)[..., None]  # (…, n, 1)
    return (W_P.T @ W_V @ h.mT @ scores)[..., -1, 0]  # the label's slot


def after_one_step(eta, X, y, x):
    """The guess after one step on ½ Σ (w'x_i − y_i)² from w = 0."""
    w = np.zeros_like(x)[..., None]
    w = w - eta * X.mT @ (X @ w - y[..., None])
    return (x * w[..., 0]).sum(-1)


# %% [markdown]
# These two are the same function, if the weights are right. Let keys and queries read only $x$, and values only $y$:
#
# $$
# W_K = W_Q = \begin{pmatrix} I_d & 0 \\ 0 & 0 \end{pmatrix}, \qquad
# W_V = \begin{pmatrix} 0 & 0 \\ 0 & \eta \end{pmatrix}, \qquad
# W_P = \begin{pmatrix} 0 & 0 \\ 0 & 1 \end{pmatrix} .
# $$


# %%
def optimal_weights(d, eta):
    """W_K, W_Q, W_V, W_P as above."""
    see_x = np.diag(np.append(np.ones(d), 0))
    see_y = np.eye(d + 1) - see_x
    return see_x, see_x, eta * see_y, see_y


# %% [markdown]
# **By hand.** Three examples without noise, the task being $w = (2, 1)$, and the query $x = (1, 0)$. Its products with
# $x_1, x_2, x_3$ are the attention scores, $1$, $-1$, $1$. Times the labels $3$, $-1$, $2$ they add up to $3 + 1 + 2 = 6$, and the best step for
# $d = 2$, $n = 3$, $\sigma^2 = 0$ will turn out to be a sixth: the guess is $1$. The truth is $2$; one step is cautious.

# %%
X3 = np.array([[1.0, 1.0], [-1.0, 1.0], [1.0, 0.0]])
task, query = np.array([2.0, 1.0]), np.array([1.0, 0.0])
y3 = X3 @ task
print("attention    ", attention(*optimal_weights(2, 1 / 6), X3, y3, query))
print("gradient step", after_one_step(1 / 6, X3, y3, query))

# %% tags=["hide-input", "remove-output"]
ledger.figure(proof_pictures.prompt_in_the_plane(X3, y3, task, 1 / 6))

# %% [markdown]
# ```{glue:figure} fig-prompt_in_the_plane
# :name: fig-prompt-in-the-plane
#
# The same prompt in the plane. Every example votes for its own direction, $y_i x_i$; the votes add up to $X^\top \mathbf y$, and the
# step is a short piece of the sum.
# ```
#
# ## The theorem
#
# The four matrices hold $4(d+1)^2$ numbers, but only a few combinations reach the output.
# Let $(v^\top, c)$ be the last row of $W_P^\top W_V$ and $\binom{V}{u^\top}$ the first $d$ columns of $W_K^\top W_Q$. Then
#
# ```{math}
# :label: eq-effective
# \hat y = \sum_{i=1}^n \big(v^\top x_i + c\, y_i\big)\big(x_i^\top V + y_i\, u^\top\big)\, x .
# ```
#
# So tokens are weighed by their covariate or by their label, on either side. The loss is $L = \mathbb E\,(\hat y - y)^2$.
#
# ```{prf:theorem} Mahankali, Hashimoto and Ma, Theorem 1
# :label: thm-one-step-gd
#
# Among all weights of single-head linear self-attention, the least loss is attained by
#
# $$
# \hat y = \eta^\ast \sum_{i=1}^n y_i\, x_i^\top x ,
# $$
#
# the prediction after one step of gradient descent on $\tfrac12 \sum_i (w^\top x_i - y_i)^2$ from $w = 0$, with
#
# $$
# \eta^\ast = \frac{1}{n + d + 1 + \sigma^2} , \qquad
# L_{\min} = \sigma^2 + \frac{d\,(d + 1 + \sigma^2)}{n + d + 1 + \sigma^2} .
# $$
#
# For $d \ge 2$ the minimisers are exactly the weights with $v = 0$, $u = 0$, $cV = \eta^\ast I$.
# ```
#
# The paper leaves $\eta^\ast$ as a ratio of two expectations; the closed forms, and the last sentence, are worked out
# in this book. (Without the $\tfrac12$ the same step has half the size.) Beside each formula stands a **near miss**, the most
# natural wrong one, which the measurement has to refute.

# %%
k = d + 1 + sigma2
eta, floor = 1 / (n + k), sigma2 + d * k / (n + k)
lost = d + sigma2  # the near miss: k without its 1
near_eta, near_floor = 1 / (n + lost), sigma2 + d * lost / (n + lost)

# %%
some = law.sample(stream("construction"), 256)
layer = attention(*optimal_weights(d, eta), some.X, some.y, some.x_query)
step = after_one_step(eta, some.X, some.y, some.x_query)
apart = abs(layer - step).max() / abs(step).max()
ledger.claims({"thm1.construction": (0, apart, 1 - 1 / n)})

# %% [markdown]
# ## Why it is true
#
# **By symmetry, in three lines.** {eq}`eq-effective` is linear in the tensor $T$ of products of $(v, c)$ with
# $(V, u)$, so over *all* tensors the loss is convex. Turning or mirroring all $x$ changes nothing, so averaging $T$ over turns and mirrors
# cannot raise the loss, and what no turn or mirror changes has no entry with one or three $x$-indices, while the entries
# with two form a multiple of $I$: what is left is $\hat y = \eta \sum_i y_i x_i^\top x$, and $\eta$ minimises a parabola.
# The average of a head is no head in general, but $\eta I$ is one ($c = 1$, $V = \eta I$), so one head attains the least loss of them all.
#
# In the plane the eight symmetries of a square are turns enough:


# %%
def turned(T, O):
    """T after x → Ox, which leaves y alone."""
    O_h = np.block([[O, np.zeros((2, 1))], [np.zeros((1, 2)), 1]])
    return np.einsum("abj,ac,be,jk->cek", T, O_h, O_h, O)


v_c, V_u = np.array([1, -1, 2]), np.array([[2, -1], [1, 1], [1, -2]])
T = np.einsum("a,bj->abj", v_c, V_u)  # multiplies h_a h_b x_j
mirrored = (T + turned(T, -np.eye(2))) / 2
flips = [np.diag(signs) for signs in product((1, -1), repeat=2)]
square = flips + [flip[::-1] for flip in flips]
averaged = np.mean([turned(T, O) for O in square], axis=0)

# %% tags=["hide-input", "remove-output"]
ledger.figure(
    proof_pictures.tensor_blocks({
        "one head": T,
        "with its mirror image": mirrored,
        "all turns of the square": averaged,
    })
)

# %% [markdown]
# ```{glue:figure} fig-tensor_blocks
# :name: fig-tensor-blocks
#
# The proof as a picture: one row for each pair of token entries, one column for each entry of the query. Under $x \to -x$ rows with two
# covariates or none change sign together with the query, and average out. Turns then make the middle block a multiple of $I$.
# ```
#
# Gaussian covariates, a squared loss, one query and one head only set the value of $\eta$; later chapters cash this in.
#
# **By computing the loss.** For any weights, $X^\top X = S$ and $\Gamma = c V^\top + u v^\top$, the layer's estimate of $w$ is
#
# $$
# \Gamma X^\top \mathbf y \;+\; \big(V^\top S\, v + c\, u\, \|\mathbf y\|^2\big) ,
# $$
#
# a part that changes sign with the labels, and one that does not and can only do harm. Gaussian moments give both squares:


# %%
tau = d + sigma2  # E y²


def odd_and_even(v, c, V, u):
    """E|Γ X'y − w|² and E|V'Sv + c u |y|²|²: two parts of the loss."""
    Gamma, Vv = c * V.T + np.outer(u, v), V.T @ v
    odd = d - 2 * n * np.trace(Gamma) + n * (n + k) * (Gamma**2).sum()
    even = n * (n + 1) * Vv @ Vv + n * (v @ v) * (V**2).sum()
    even += 2 * c * n * (n * tau + 2) * (u @ Vv)
    even += c**2 * n * (n + 2) * (tau**2 + 2 * d) * (u @ u)
    return odd, even


random = stream("random weights")
W = random.standard_normal((4, d + 1, d + 1)) / (2 * n * d * (d + 1)) ** 0.25
W_K, W_Q, W_V, W_P = W
p, A = W_V.T @ W_P[:, -1], (W_K.T @ W_Q)[:, :d].T  # (v; c) and (V' u)
odd, even = odd_and_even(p[:d], p[d], A[:, :d].T, A[:, d])


def squared_errors(B):
    prompts = law.sample(random, B)
    guess = attention(*W, prompts.X, prompts.y, prompts.x_query)
    return {"loss": (guess - prompts.y_query) ** 2, "y²": prompts.y_query**2}


sampled = chapter.means(law, squared_errors, {"y²": tau}, budget.prompts)
loss = (sigma2 + odd + even, sampled["loss"], sigma2 + odd)
ledger.claims({"thm1.exact_loss": loss})

# %% [markdown]
# The odd part is $n(n + k)\,\|\Gamma - \eta^\ast I\|^2 + d\,(1 - n\eta^\ast)$ with $k = d + 1 + \sigma^2$, the even part is at least $0$, and that is the
# theorem once more.
#
# ```{admonition} Proof that the minimisers are one family
# :class: dropdown
# At a minimiser $\Gamma = \eta^\ast I$ and $V^\top S v + c\,u\,\|\mathbf y\|^2 = 0$ for almost every prompt, hence for every one, both sides being
# polynomials. Its two terms have degrees $0$ and $2$ in the labels, so each is $0$: $cu = 0$, and $V^\top S v = 0$ for all $S$. If
# $c = 0$, then $\Gamma = u v^\top = \eta^\ast I$ has rank one, which is impossible for $d \ge 2$. So $u = 0$, $cV^\top = \eta^\ast I$, and
# $V^\top S v = 0$ leaves $v = 0$. ∎
# ```
#
# **By the authors' road**: four lemmas, each a number that can be measured. Let $p = (v; c)$, $A = (V^\top\; u)$ and
# $G = \sum_i h_i h_i^\top$, so that the estimate is $A G p$.
#
# ```{prf:lemma} Distance to the Bayes estimate
# :label: lem-bayes-distance
# Let $\hat w$ be the Bayes estimate, ridge regression with penalty $\sigma^2$. The loss is
# $L = \mathbb E\,\| A G p - \hat w\|^2 + C$, where $C$ is the Bayes risk.
# ```
#
# ```{prf:lemma} Distance to a gradient step
# :label: lem-gd-distance
# $\mathbb E\,\|A G p - \hat w\|^2 = \mathbb E\,\|A G p - \eta^\ast X^\top \mathbf y\|^2 + C_2$, whatever $A$ and $p$ are.
# ```
#
# ```{prf:lemma} First constant
# :label: lem-c1
# $\mathbb E\, X^\top \mathbf y \mathbf y^\top X = c_1 I$ with $c_1 = n\,(n + d + 1 + \sigma^2)$.
# ```
#
# ```{prf:lemma} Second constant
# :label: lem-c2
# $\mathbb E\, X^\top \mathbf y\, \hat w^\top = c_2 I$ with $c_2 = n$.
# ```
#
# ```{admonition} Proof, by the lemmas' road
# :class: dropdown
# *{prf:ref}`lem-bayes-distance`.* Given the context, the density of $w$ is proportional to
# $\exp(-\tfrac12 \|w\|^2 - \|\mathbf y - Xw\|^2 / 2\sigma^2)$: a Gaussian with mean $\hat w = (S + \sigma^2 I)^{-1} X^\top \mathbf y$, the ridge estimate.
# Pythagoras splits the loss into the distance from $\hat w$ and what no function of the context can explain, the Bayes risk.
#
# *{prf:ref}`lem-c1`.* $X^\top \mathbf y = S w + X^\top \varepsilon$, so
# $\mathbb E X^\top \mathbf y \mathbf y^\top X = \mathbb E S^2 + \sigma^2 \mathbb E S = n(n+d+1) I + \sigma^2 n I$ by the second moment
# of a Wishart matrix.
#
# *{prf:ref}`lem-c2`.* $\mathbb E X^\top \mathbf y\, \hat w^\top = \mathbb E X^\top \mathbf y\, w^\top = \mathbb E S = n I$ by the tower rule.
#
# *{prf:ref}`lem-gd-distance`.* Expand both squares. The difference of the cross terms is
# $2\,\mathbb E \langle A G p,\ \hat w - \eta^\ast X^\top \mathbf y\rangle$. The even part of $A G p$ pairs to zero with the other factor, which is odd
# under $(w, \varepsilon) \to -(w, \varepsilon)$. The part $\Gamma X^\top \mathbf y$ pairs to a multiple of $c_2 - \eta^\ast c_1$, by the two lemmas before, and that is
# zero: this is where $\eta^\ast = c_2 / c_1$ comes from. What remains does not depend on $A$ and $p$;
# and $A G p = \eta^\ast X^\top \mathbf y$ makes the other square zero, which is the theorem. ∎
# ```
#
# The sides that are measured, on {glue:text}`prompts:,.0f` random prompts, at the same random weights:


# %%
def sides(B):
    """What each lemma takes the mean of, for B prompts."""
    prompts = law.sample(random, B)
    X, y, w = prompts.X, prompts.y, prompts.beta
    h = np.concatenate([X, y[..., None]], axis=2)
    AGp = np.einsum("bni,bn->bi", h, h @ p) @ A.T
    Xy = np.einsum("bni,bn->bi", X, y)
    inverse = np.linalg.pinv(X.mT @ X + sigma2 * np.eye(d), 1e-12, True)
    w_hat = np.einsum("bij,bj->bi", inverse, Xy)
    from_w, from_w_hat, from_step, bayes = (
        (gap**2).sum(1)
        for gap in (AGp - w, AGp - w_hat, AGp - eta * Xy, w_hat - w)
    )
    return {
        "lemma 1": from_w + sigma2 - from_w_hat,
        "lemma 2": from_w_hat - from_step,
        "lemma 3": Xy[:, :, None] * Xy[:, None],
        "lemma 4": Xy[:, :, None] * w_hat[:, None],
        "c1": (Xy**2).sum(1) / d,
        "c2": (Xy * w_hat).sum(1) / d,
        "bayes": bayes + sigma2,
        "|y|²": (y**2).sum(1),  # its mean and the next are known:
        "|w|²": (w**2).sum(1),  # control variates
    }


known = {"|y|²": n * tau, "|w|²": d}
means = chapter.means(law, sides, known, budget.prompts)

# %% [markdown]
# And what is predicted. The Bayes risk follows, without a random number, from the joint law of a Wishart matrix's
# eigenvalues: {glue:text}`bayes.risk.predicted:.10f`.

# %%
C = theory.lemma1_constant(d, n, sigma2)
C_2 = d - (C - sigma2) - d * n * eta
c_1, c_2 = n * (n + k), n
signal = n - sigma2 + sigma2 * (C - sigma2) / d  # tr S (S + σ²I)⁻¹ S / d


# %% tags=["hide-input"]
def off(name, *matrices):
    """Largest deviation of an entry from each, in its standard errors."""
    return [chapter.farthest_entry(means[name], matrix) for matrix in matrices]


ones = np.ones((d, d))  # w w' of a task held fixed
unaveraged = n * (n + 1) * ones + n * (d + sigma2) * np.eye(d), n * ones
least_squares = theory.least_squares_risk(d, n, sigma2)
ledger.claims({
    "lemma1.constant": (C, means["lemma 1"], sigma2),
    "lemma2.constant": (C_2, means["lemma 2"], d - d * n * eta),
    "lemma3.c1": (c_1, means["c1"], n * (n + d + 1)),
    "lemma3.matrix": (0, *off("lemma 3", c_1 * np.eye(d), unaveraged[0])),
    "lemma4.c2": (c_2, means["c2"], signal),
    "lemma4.matrix": (0, *off("lemma 4", c_2 * np.eye(d), unaveraged[1])),
    "bayes.risk": (C, means["bayes"], least_squares),
})

# %% [markdown]
# ## Does training get there?
#
# **Without noise.** We minimise the closed form over all entries of $W_K, W_Q, W_V, W_P$ by L-BFGS from random starts and
# from two with an open label path, and let Newton's method take the last steps. {glue:text}`starts_reached:.0f` of
# {glue:text}`starts:.0f` random starts reached the floor, all of them in the family of the theorem; two heads get no lower.

# %%
starts = [dict(count=budget.restarts), dict(count=2, **search.OPEN)]
found = search.descents(law, starts, stream("search"))
learned = found.best.numpy()  # for a sum with the factor 1/n
Gamma = learned["c"] * learned["V"].T + np.outer(learned["u"], learned["v"])
step = np.trace(Gamma) / d / n

# %% tags=["hide-input"]
reached = [found.weights[i] for i in np.flatnonzero(found.reached(floor))]
distances = [chapter.distance_from_family(w, d, n, sigma2) for w in reached]
near_distance = np.sqrt(d) * abs(near_eta / eta - 1)
two_heads = chapter.best_of_heads(law, 2, 2, stream("two heads"))
ledger.claims({
    "thm1.risk": (floor, found.risks.min(), near_floor),
    "thm1.step_size": (eta, step, near_eta),
    "thm1.minimisers": (0, max(distances, default=np.inf), near_distance),
    "thm1.many_heads": (floor, two_heads, near_floor),
})

# %% [markdown]
# Starts can fail: on the plateau around zero, or in the false valley of the last section. An **open
# label path**, a $1$ added to the corners of $W_V$ and $W_P$ so that labels reach the output at once, avoided both at the
# sizes tried: of four such starts the one that lay lowest after thirty iterations went on, twice.

# %% tags=["hide-input"]
sizes = [(2, n), (5, 200), (20, 40)]
excess = chapter.open_path_excess(sizes, sigma2, 2, stream("open label path"))
floor_d2 = theory.minimal_risk(2, n, sigma2)
valleys = landscape.valleys(2, n, sigma2)
ledger.claims({"thm1.open_path": (0, excess, valleys[-1].risk / floor_d2 - 1)})

# %% [markdown]
# **With noise.** Here Adam sees {glue:text}`batch:.0f` fresh prompts a step, in single
# precision, from random weights with an open label path, {glue:text}`trainings:.0f` times over. (Of prompts with more than $2d$ examples the sums
# $X^\top X$, $X^\top y$ and $y^\top y$ are drawn, by their own law: the model sees no more of them.)

# %% tags=["hide-input"]
trained = chapter.trainings(law, budget, budget.trainings, stream)
risk = search.mean_over_trainings([
    search.exact_risk(law, run.weights) for run in trained
])
sampled_step = search.mean_over_trainings([
    search.learned_step(run.weights, n) for run in trained
])
visible_step = search.too_faint(floor, d + sigma2) or sampled_step
ledger.claims({
    "thm1.sampled_risk": (floor, risk, near_floor),
    "thm1.sampled_step_size": (eta, visible_step, near_eta),
})

# %% tags=["hide-input", "remove-output"]
exact = search.train_exactly(
    law, budget.schedule, stream.entropy("exact training"), "exact loss"
)
ledger.figure(pictures.training_curves(trained, exact, floor))

# %% [markdown]
# ```{glue:figure} fig-training_curves
# :name: fig-training-curves
#
# Both trainings fall to the predicted floor (dashed). The loss on samples keeps jittering, but its *exact* risk ends
# {glue:text}`sampled_excess_percent:.3f` % above the floor.
# ```

# %% tags=["hide-input", "remove-output"]
target = EffectiveParameters.from_numpy(
    np.zeros(d), np.zeros(d), 1.0, n * eta * np.eye(d), np.zeros(d)
)
ledger.figure(pictures.weights(target, found.best, trained[0].weights))

# %% [markdown]
# ```{glue:figure} fig-weights
# :name: fig-weights
#
# A constant diagonal of height $n\eta^\ast =$ {glue:text}`n_eta:.4f` in the
# key–query block, and nothing that would mix labels into keys ($u$) or covariates into values ($v$).
# ```

# %% [markdown]
# ## How good is one step?
#
# The Bayes predictor, which needs a matrix inverse, has risk
# {glue:text}`bayes.risk.predicted:.4f` here; one step has {glue:text}`thm1.risk.predicted:.4f`,
# {glue:text}`bayes_factor:.1f` times as much.

# %% tags=["hide-input", "remove-output"]
lengths = chapter.context_lengths(n, 9)
along_n = chapter.sweep(
    [PromptLaw.isotropic(d, int(m), sigma2) for m in lengths],
    lengths,
    stream("sweep of n"),
)
others = sorted({max(1, n // 4), 3 * n} - {n})
sampled_risks = chapter.sampled_risks(parameters, others, stream) | {n: risk}
ledger.figure(pictures.risk_against_n(d, n, sigma2, along_n, sampled_risks))

# %% [markdown]
# ```{glue:figure} fig-risk_against_n
# :name: fig-risk-against-n
#
# Trained attention sits on the curve of one gradient step at every context length. The step beats least squares only from
# $n =$ {glue:text}`beats_first:.0f` to {glue:text}`beats_last:.0f`, next to $n = d$, where inverting $X^\top X$ amplifies the noise without bound. For
# long contexts its excess over $\sigma^2$ falls like $1/n$, with a constant {glue:text}`tail_ratio:.0f` times that of ridge regression.
# ```

# %% tags=["hide-input", "remove-output"]
noises = np.linspace(0, n + d + 1, 7)
along_noise = chapter.sweep(
    [PromptLaw.isotropic(d, n, s) for s in noises],
    noises,
    stream("sweep of σ²"),
)
ledger.figure(pictures.step_sizes(d, n, sigma2, along_n, along_noise))

# %% [markdown]
# ```{glue:figure} fig-step_sizes
# :name: fig-step-sizes
#
# The step that training finds, as $n\eta$: towards the full Newton step $n\eta = 1$ for long contexts,
# shorter with few examples, many dimensions or much noise. The model has learned how much to trust its context.
# ```

# %% [markdown]
# ## Move it yourself
#
# The risk of one step is a parabola in its size. Move $n$: the
# lowest point slides along a straight line (dashed), since $L_{\min} = \sigma^2 + d\,(1 - n\eta^\ast)$, and reaches the full
# step $n\eta = 1$ only when the context is endless. **A question:** at which step is the model exactly as bad as one that always
# answers $0$? Try several $n$, $d$ and $\sigma^2$ before you look.
#
# ```{admonition} Answer
# :class: dropdown
# At twice the best step, always. At $\eta = 0$ the model *is* the one that answers $0$, and a parabola is symmetric about its
# lowest point.
# ```

# %% tags=["hide-input"]
explorable(parameters)

# %% [markdown]
# ## What the theorem does not say
#
# **In one dimension there are two answers.** For $d = 1$ the two attention factors can be swapped
# ($c = 0$, $V = 0$, $vu = \eta^\ast$), with the same predictions. Random starts find either family half of the time:

# %% tags=["hide-input"]
starts_d1 = min(240, 20 * budget.restarts)
share, worst = chapter.families_at_d1(
    n, sigma2, starts_d1, stream("two families")
)
floor_d1 = sigma2 + (2 + sigma2) / (n + 2 + sigma2)
near_d1 = sigma2 + (1 + sigma2) / (n + 1 + sigma2)
ledger.claims({
    "thm1.two_families_d1": (1 / 2, share, 0),
    "thm1.second_family_d1": (floor_d1, worst, near_d1),
})

# %% [markdown]
# **Training can get stuck.** For given $(v, c)$ the loss is a convex quadratic in $(V, u)$, and its minimum depends on $(v, c)$ only
# through the angle $\varphi$ with $\tan\varphi = \|v\| / |c|$. So the whole landscape, for any $d$, is a curve in one
# variable, whose valleys are all the local minima there are, and they can be counted: the curve is flat where a quartic vanishes. At
# $d = 2$ there are two valleys, and only the one at $\varphi = 0$ is gradient descent.
#
# ```{admonition} The curve, its quartic, and why long contexts have a false valley
# :class: dropdown
# Put $t = \tan^2 \varphi$, $\tau = d + \sigma^2$, $\omega = (n + 1 + \tau)/n$, $q = (n+2)(\tau^2 + 2d)/n$, $\alpha = (n+2)/n$,
# $\kappa = \tau + 2/n + \omega$. Minimising the quadratic leaves
#
# $$
# g = \sigma^2 + d - \frac{d-1}{\omega + t/n}
#   - \frac{q - 2(\tau + 2/n)\,t + \alpha t^2}{(\omega + \alpha t)(q + \omega t) - \kappa^2 t} = \sigma^2 + d - \frac{d-1}{B} - \frac{N}{D} ,
# $$
#
# and $g' = 0$ where $\frac{d-1}{n} D^2 = (N' D - N D')\, B^2$: of degree four, since the cubes in $N'D - ND'$ cancel.
#
# For $n \to \infty$ at fixed $t$, $g \to \sigma^2 + 2dt / (t^2 - 2\sigma^2 t + \tau^2 + 2d)$: a hill between two ends at the level of the noise.
# Far out, at $t \sim \sqrt n$, $g = \sigma^2 + 2d/t + (d-1)\,t/n + O(1/n)$, which turns up again: the false valley is at
# $t = \sqrt{2dn/(d-1)}$, and its excess tends to $2\sqrt{2d(d-1)/n}$, against the $1/n$ of gradient descent. So every $d \ge 2$ has one, once $n$ is
# long enough.
# ```
#
# At $d = 2$ the larger root is the false valley; after one example there is one root only, the hill, and the valley is
# the end $c = 0$. L-BFGS over all weights, started beside it, stays there, and so it does
# with {glue:text}`long_n:,.0f` examples at $d =$ {glue:text}`d:.0f`, where the excess is $2\sqrt{2d(d-1)/n}$ to a per cent:


# %%
def second_valley(n, sigma2):
    """Its risk at d = 2; with one root alone, a hill, the valley is at c = 0."""
    t = Polynomial([0, 1])
    tau, omega, alpha = 2 + sigma2, (n + 3 + sigma2) / n, (n + 2) / n
    q, kappa = alpha * (tau**2 + 4), tau + 2 / n + omega
    B = omega + t / n
    N = q - 2 * (tau + 2 / n) * t + alpha * t**2
    D = (omega + alpha * t) * (q + omega * t) - kappa**2 * t
    quartic = D**2 / n - (N.deriv() * D - N * D.deriv()) * B**2
    real = [r.real for r in quartic.roots() if abs(r.imag) < 1e-6]
    hill, *valley = sorted(t for t in real if t > 0) or [0]
    t = max(valley, default=1e15)  # c = 0 is t without end
    return sigma2 + 2 - 1 / B(t) - N(t) / D(t)


false_valley = second_valley(n, sigma2)

# %% tags=["hide-input"]
end = chapter.descend_from_valley(2, n, sigma2, stream("from the valley"))
end_at_c_0 = sigma2 + 2 - n / (n + 3 + sigma2)
long_n = chapter.length_of_the_limit(d, sigma2)
limit, far_excess = chapter.far_valley(d, sigma2, stream("from far away"))
ledger.claims({
    "thm1.landscape_d2": (false_valley, end, end_at_c_0),
    "thm1.far_valley": (limit, far_excess, limit / 2),
})

# %% tags=["hide-input", "remove-output"]
ends = search.restarts(
    PromptLaw.isotropic(2, n, sigma2),
    2 * budget.restarts,
    stream("search at d = 2"),
)
ledger.figure(pictures.landscape_d2(n, sigma2, ends))

# %% [markdown]
# ```{glue:figure} fig-landscape_d2
# :name: fig-landscape
#
# Left: at $d = 2$, {glue:text}`stuck:.0f` of {glue:text}`starts_d2:.0f` random starts end in the shallow valley, at risk
# {glue:text}`thm1.landscape_d2.predicted:.4f` instead of {glue:text}`floor_d2:.4f`. Right: the trap is not special to
# $d = 2$. A second valley opens from $n =$ {glue:text}`first_n_d3:.0f` on at $d = 3$, from $n =$ {glue:text}`first_n_d5:.0f` at $d = 5$.
# ```
#
# There the model weighs tokens by their covariate ($v \ne 0$) as well as by their label, and no small change of the weights makes things
# better (turning or rescaling them changes nothing).
# The theorem speaks of the global minimum only.
#
# **Other limits.**
#
# - *The model.* One layer, no softmax, no MLP, the query masked out of the sum ({ref}`ex-softmax` and {ref}`ex-more-steps` go on from there).
# - *The data.* Isotropic Gaussian covariates, tasks with mean zero, and test prompts with the $n$ and $\sigma^2$ of training
#   ({ref}`ex-too-long`). The next three chapters drop these one by one.
# - *Training.* The theorem is silent on how training gets there, how fast, and from how many
#   prompts ({ref}`ex-finite-data`); {glue:text}`trainings:.0f` trainings with one schedule say nothing about other optimisers.
# - *Not proved here.* That a second valley stays once it has opened, between the lengths shown and the limit.

# %% tags=["hide-input", "remove-output"]
second = landscape.first_n_with_second_valley
beats = [
    m
    for m in range(1, 4 * max(n, d) + 1)
    if theory.minimal_risk(d, m, sigma2)
    < theory.least_squares_risk(d, m, sigma2)
]
numbers = {
    "d": d,
    "n": n,
    "sigma2": sigma2,
    "prompts": budget.prompts,
    "batch": budget.batch,
    "trainings": budget.trainings,
    "starts": budget.restarts,
    "starts_reached": found.reached(floor)[: budget.restarts].sum(),
    "risk_digits": np.floor(
        -np.log10(max(abs(found.risks.min() / floor - 1), 1e-15))
    ),
    "sampled_excess_percent": 100 * (risk.mean / floor - 1),
    "n_eta": n * eta,
    "bayes_factor": floor / C if C > 0 else np.inf,
    "tail_ratio": k / sigma2 if sigma2 > 0 else np.inf,
    "beats_first": beats[0] if beats else np.inf,
    "beats_last": beats[-1] if beats else np.inf,
    "long_n": long_n if isinstance(long_n, int) else np.inf,
    "starts_d2": len(ends.risks),
    "stuck": len(ends.risks) - ends.reached(floor_d2).sum(),
    "floor_d2": floor_d2,
    "first_n_d3": second(3, sigma2) or np.inf,
    "first_n_d5": second(5, sigma2) or np.inf,
}
for name, value in numbers.items():
    ledger.number(name, value)

# %% [markdown]
# ## Exercises
#
# ★ a pencil and ten minutes; ★★ more thought, or a few lines of code; ★★★ a proof; ◇ open: nobody we know of has
# answered it.
#
# ```{exercise} Caution and luck ★
# :label: ex-caution
# Fix the task $w$ and look at the estimate $\hat w = \eta^\ast X^\top y$.
#
# 1. By what factor is $\mathbb E[\hat w \mid w]$ shorter than $w$?
# 2. Split $L_{\min} - \sigma^2$ into the squared bias and the variance of $\hat w$. Put $k = d + 1 + \sigma^2$.
# 3. At which context length do the two balance, and what share of the signal is explained there?
# ```
#
# ```{solution} ex-caution
# :label: sol-caution
# :class: dropdown
# 1. $\mathbb E[X^\top y \mid w] = n w$, so the factor is $n\eta^\ast = n/(n+k)$: the step is cautious on purpose.
# 2. Averaged over $w$ (with $\mathbb E\|w\|^2 = d$), the squared bias is $d\,(1 - n\eta^\ast)^2 = d\,k^2/(n+k)^2$. The whole excess is
#    $d\,k/(n+k)$, so the variance is $d\,nk/(n+k)^2$. Their ratio, variance over squared bias, is $n/k$.
# 3. They balance at $n = k = d + 1 + \sigma^2$, each at $d/4$: half of the signal is explained. Shorter contexts lose by
#    caution, longer ones by luck.
#
# Here the squared bias is {glue:text}`ex_bias:.4f` and the variance {glue:text}`ex_variance:.4f`, for long contexts
# about $dk/n$. Ridge regression has $d\sigma^2/n$: the $d + 1$ in $k$ is the price of an $X^\top X$ that is not exactly $nI$.
# ```
#
# ```{exercise} Too much of a good thing ★★
# :label: ex-too-long
# Attention that sums over the context, without a factor $1/n$, was trained at length $n$. Now it gets prompts of length $m$.
#
# 1. Write down its risk. For which $m$ is it worse than answering $0$ all the time?
# 2. What does the factor $1/m$ of the other convention change?
# 3. Check the first answer on random prompts, at $d = 5$, $n = 20$, $\sigma^2 = \tfrac14$.
# ```
#
# ```{solution-start} ex-too-long
# :label: sol-too-long
# :class: dropdown
# ```
#
# With $k = d + 1 + \sigma^2$ the risk of a step $\eta$ at length $m$ is
# $\sigma^2 + d + d\,m\eta\,\big[\eta\,(m + k) - 2\big]$, and $\eta = 1/(n+k)$. The bracket is positive for
#
# $$
# m > \frac{2}{\eta} - k = 2n + d + 1 + \sigma^2 .
# $$
#
# From about twice the training length on the step overshoots. With the factor $1/m$ the
# effective step is $n\eta/m$, and the risk $\sigma^2 + d - 2 n\eta d + (n\eta)^2 d\,(1 + k/m)$ falls with $m$, down to
# $\sigma^2 + d\,(1 - n\eta)^2$. It never overshoots.

# %%
trained_step = 1 / (20 + 5 + 1 + 0.25)


def tested_at(m):
    """The risk at length m of the step trained at n = 20."""
    longer = PromptLaw.isotropic(5, m, 0.25)
    rng = stream("exercise: other lengths", m)

    def squared_errors(B):
        batch = longer.sample(rng, B)
        guess = after_one_step(trained_step, batch.X, batch.y, batch.x_query)
        return (guess - batch.y_query) ** 2

    return monte_carlo(squared_errors, 20_000)


print("answering 0 has risk 5.25; the end is at m = 46.25")
for m in (20, 46, 92):
    tested = tested_at(m)
    formula = 5.25 + 5 * m * trained_step * (trained_step * (m + 6.25) - 2)
    measured = f"{tested.mean:.2f} ± {tested.stderr:.2f}"
    print(f"m = {m}: measured {measured}, formula {formula:.2f}")
    assert abs(tested.mean - formula) < 5 * tested.stderr

# %% [markdown]
# ```{solution-end}
# ```
#
# ```{exercise} Every prefix at once ★★
# :label: ex-prefixes
# Let the loss be the average over prompts of lengths $j = 1, \dots, J$, as for language models, with one
# set of weights and no factor $1/j$. Show that the best step is that of a *single* length. Is it longer or shorter than
# the average?
# ```
#
# ```{solution-start} ex-prefixes
# :label: sol-prefixes
# :class: dropdown
# ```
#
# By symmetry a plain step is best. Up to factors the loss is
# $\sum_j \big[-2\eta j + \eta^2 j\,(j + k)\big]$ with $k = d + 1 + \sigma^2$, so
#
# $$
# \eta = \frac{\sum_j j}{\sum_j j\,(j + k)} = \frac{1}{\frac{2J+1}{3} + d + 1 + \sigma^2} ,
# $$
#
# because $\sum_j j^2 / \sum_j j = (2J+1)/3$. It is the step for prompts of length $(2J+1)/3$, two thirds of the longest and *longer* than
# the average $(J+1)/2$: an error in the step hurts most where the sum has many terms. Regression over all prefixes of
# 40,000 prompts with $d = 4$, $J = 20$, $\sigma^2 = \tfrac14$:

# %%
whole = PromptLaw.isotropic(4, 20, 0.25)
rng = stream("exercise 3")


def parabola(B):
    """Its two coefficients, averaged over prefixes."""
    batch = whole.sample(rng, B)
    terms = batch.y * np.einsum("bnd,bd->bn", batch.X, batch.x_query)
    guess = terms.cumsum(axis=1)  # one column a prefix
    label = batch.y_query[:, None]
    return np.stack([(guess * label).mean(1), (guess**2).mean(1)], axis=1)


prefix_step = joint_monte_carlo(parabola, 40_000).vertex()
formula = 1 / (41 / 3 + 4 + 1 + 0.25)
print(f"measured {prefix_step.mean:.5f} ± {prefix_step.stderr:.5f}")
print(f"formula  {formula:.5f}")
assert abs(prefix_step.mean - formula) < 5 * prefix_step.stderr

# %% [markdown]
# ```{solution-end}
# ```
#
# ```{exercise} Yes or no ★★★
# :label: ex-cross-entropy
# The labels are now $y = \pm 1$ with $P(y = 1 \mid x) = 1/(1 + e^{-w^\top x})$, $w \sim N(0, I)$, and the loss is the cross-entropy
# $\log(1 + e^{-y \hat y})$ of the logit $\hat y$.
#
# 1. Prove: for *every* convex loss the best linear attention, with any number of heads, is plain gradient descent with some step.
# 2. Reduce the search for the step to one-dimensional random numbers: let $z_i$ be the component of $x_i$ along $w$, and show that
#    $x^\top X^\top y$ has the law of $z \sum_i y_i z_i + \sqrt n\, \|x_\perp\|\, g$ with a standard normal $g$.
# 3. Find the step at $d = 3$, $n = 10$, from full prompts and from the reduction.
# ```
#
# ```{solution-start} ex-cross-entropy
# :label: sol-cross-entropy
# :class: dropdown
# ```
#
# **1.** Any number of heads predicts $\langle T, G \otimes x\rangle$, linear in a tensor $T$, so the loss, a mean of convex functions of
# it, is convex in $T$. For an orthogonal $O$ the prompt $(Ox_i, y_i, Ox)$ has the law of $(x_i, y_i, x)$, so turning $T$ does not change the
# loss, and by Jensen the average over all $O$ has at most the loss of $T$. It is invariant, hence a multiple of $\sum_i y_i x_i^\top x$ as in
# {numref}`fig-tensor-blocks`. ∎
#
# **2.** Given $w$ the label $y_i$ depends on $z_i$ only. The rest of $x_i$ is independent of it, so
# $\sum_i y_i x_{i\perp}$ is a standard Gaussian vector times $\sqrt n$, whatever the labels are, and its product with $x_\perp$ is
# $\sqrt n\, \|x_\perp\|\, g$.
#
# **3.** There is no closed form: the slope of a convex function of one variable is set to zero. Both routes give
# $\eta \approx$ {glue:text}`ex_cross_entropy:.3f`, and the cross-entropy falls from $\log 2 = 0.693$ to {glue:text}`ex_cross_entropy_loss:.3f`.

# %%
from scipy.special import expit

features, shots = 3, 10


def labels(z, rng):
    """Random ±1 with log-odds z."""
    return np.where(rng.random(z.shape) < expit(z), 1.0, -1.0)


def full_margins(B, rng):
    """y x'X'y, from whole prompts."""
    w = rng.standard_normal((B, features, 1))
    x = rng.standard_normal((B, shots + 1, features))
    y = labels((x @ w)[..., 0], rng)
    guess = after_one_step(1.0, x[:, :shots], y[:, :shots], x[:, shots])
    return y[:, shots] * guess


def reduced_margins(B, rng):
    """The same law from components along w."""
    size = np.sqrt(rng.chisquare(features, (B, 1)))
    z, across = rng.standard_normal((B, shots + 1)), features - 1
    y = labels(size * z, rng)
    noise = np.sqrt(shots * rng.chisquare(across, B)) * rng.standard_normal(B)
    sums = (y[:, :shots] * z[:, :shots]).sum(1)
    return y[:, shots] * (z[:, shots] * sums + noise)


margins = full_margins(60_000, stream("exercise: margins"))
full = chapter.best_logit_step(margins)
thin = reduced_margins(200_000, stream("exercise: thin margins"))
reduced = chapter.best_logit_step(thin)
print(f"whole prompts {full.mean:.4f} ± {full.stderr:.4f}")
print(f"reduction     {reduced.mean:.4f} ± {reduced.stderr:.4f}")

# %% tags=["hide-input"]
squared = margins.mean() / (margins**2).mean()
ledger.claims({"ce.step": (reduced, full, squared)})

# %% [markdown]
# ```{solution-end}
# ```
#
# ```{exercise} What softmax can do ★★★
# :label: ex-softmax
# Give the model its softmax back, and two heads of opposite sign:
#
# $$
# \hat y = V \sum_i \big[\operatorname{softmax}_i(q\, x_i^\top x) - \operatorname{softmax}_i(-q\, x_i^\top x)\big]\, y_i .
# $$
#
# 1. Let $q \to 0$ with $2Vq/n = \eta$ fixed. Which algorithm is the limit?
# 2. What is its least risk? (No new integral is needed.)
# 3. Is the limit the best of this family? Try some $q$ at $d = 4$, $n = 20$, $\sigma^2 = \tfrac14$.
# ```
#
# ```{solution-start} ex-softmax
# :label: sol-softmax
# :class: dropdown
# ```
#
# **1.** With scores $s_i = x_i^\top x$ and their mean $\bar s$,
#
# $$
# \operatorname{softmax}_i(\pm q s) = \tfrac1n\big(1 \pm q\,(s_i - \bar s)\big) + O(q^2) .
# $$
#
# The difference is $\frac{2q}{n}(s_i - \bar s) + O(q^3)$, so the limit is $\hat y = \eta \sum_i y_i\,(x_i - \bar x)^\top x$: gradient descent with
# *centred* covariates.
#
# **2.** With the centring matrix $C = I - \frac1n \mathbf 1 \mathbf 1^\top$, a projector of rank $n - 1$, the estimate is
# $\eta X^\top C\, y = \eta\,(X^\top C X\, w + X^\top C\, \varepsilon)$, and $X^\top C X$ has the law of $X^\top X$ with one example less. So every
# moment is that of the theorem with $n - 1$ for $n$: centring costs exactly one example, and
# $L = \sigma^2 + \frac{d\,(d+1+\sigma^2)}{n + d + \sigma^2}$.
#
# **3.** At small $q$ the measured risk is the formula's, {glue:text}`ex_softmax_formula:.4f`. A moderate $q$ changes it by less than
# the errors, so this does not decide whether the limit is the best; the formula bounds the least risk of two heads
# from above. A single head does far worse at every $q$ tried.

# %%
from scipy.special import softmax

short = PromptLaw.isotropic(4, 20, 0.25)
same_prompts = stream.entropy("exercise: softmax heads")


def risk_of_heads(q, signs, prompts=20_000):
    """Softmax heads with the best V, on the same prompts for all q."""
    rng = np.random.default_rng(same_prompts)

    def draw(B):
        batch = short.sample(rng, B)
        scores = q * np.einsum("bnd,bd->bn", batch.X, batch.x_query)
        weights = sum(sign * softmax(sign * scores, axis=1) for sign in signs)
        guess, y = (weights * batch.y).sum(1), batch.y_query
        return np.stack([y * guess, guess**2, y**2], axis=1)

    return joint_monte_carlo(draw, prompts).least_error()


softmax_formula = theory.minimal_risk(4, 19, 0.25)  # one example less
for q in (0.01, 0.16, 0.7):
    two, one = risk_of_heads(q, (1, -1)), risk_of_heads(q, (1,))
    both = f"two heads {two.mean:.3f} ± {two.stderr:.3f}"
    print(f"q = {q:4}: {both}, one head {one.mean:.2f}")

# %% tags=["hide-input"]
two = risk_of_heads(0.01, (1, -1), min(400_000, 2 * budget.prompts))
all_examples = theory.minimal_risk(4, 20, 0.25)
ledger.claims({"softmax.two_heads": (softmax_formula, two, all_examples)})

# %% [markdown]
# ```{solution-end}
# ```
#
# ```{exercise} How likely is the false valley? ◇
# :label: ex-false-valley
# {numref}`fig-landscape` counts random starts that get stuck. Find the probability as a function of $d$, $n$, $\sigma^2$ and the law of the
# first weights, and say whether the noise of stochastic gradients leads out.
# ```
#
# ```{solution} ex-false-valley
# :label: sol-false-valley
# :class: dropdown
# **A first guess.** Suppose $V$ and $u$ adapt at once and $(v, c)$ slowly. Then the angle $\varphi$ slides down the curve, and a start gets
# stuck when it begins beyond the ridge. With Gaussian weights $(v, c)$ points in a uniformly random direction, and at $d = 2$ the cosine of its
# angle is uniform (Archimedes), so the probability is $\cos \varphi_{\rm ridge} =$ {glue:text}`ex_ridge:.2f`. Counted were
# {glue:text}`stuck:.0f` of {glue:text}`starts_d2:.0f`, that is {glue:text}`ex_stuck_share:.2f` ± {glue:text}`ex_stuck_error:.2f`: not refuted,
# but so few starts could hardly refute it.
#
# **Open:** any formula that does not assume two time scales; the limit of large $d$; and whether stochastic gradients escape.
# ```

# %% tags=["hide-input", "remove-output"]
angles = np.linspace(0, valleys[-1].angle, 2001)
ridge = angles[landscape.profile(angles, 2, n, sigma2).argmax()]
share = numbers["stuck"] / numbers["starts_d2"]
exercise_numbers = {
    "ex_bias": d * k**2 / (n + k) ** 2,
    "ex_variance": d * n * k / (n + k) ** 2,
    "ex_cross_entropy": reduced.mean,
    "ex_cross_entropy_loss": np.logaddexp(0, -reduced.mean * thin).mean(),
    "ex_softmax_formula": softmax_formula,
    "ex_ridge": np.cos(ridge) if len(valleys) > 1 else 0,
    "ex_stuck_share": share,
    "ex_stuck_error": np.sqrt(share * (1 - share) / numbers["starts_d2"]),
}
for name, value in exercise_numbers.items():
    ledger.number(name, value)

# %% [markdown]
# ## Every claim of this chapter
#
# A claim holds when prediction and measurement differ by no more than its tolerance, fixed beforehand, and five standard errors.

# %% tags=["hide-input"]
ledger.save()
