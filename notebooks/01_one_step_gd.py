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
# without changing a single weight. What is it computing?
# For one layer of *linear* attention trained on linear regression, {cite:t}`mahankali2024` gave a complete answer:
# **the best it can do is one step of gradient descent, and it does exactly that.**
#
# This chapter states their theorem, says in two lines why it is true, and then trains the model to see whether it
# ends where the theorem says: at risk {glue:text}`thm1.risk.predicted:.6f`, with step
# {glue:text}`thm1.step_size.predicted:.6f`. It does, to {glue:text}`risk_digits:.0f` digits.
# At the end stand two things the theorem does not mention: a second, equally good solution in one dimension, and a
# false valley in which training can get stuck.
#
# ```{admonition} What you need
# :class: note
# Linear regression and gradients. Reading takes about 20 minutes; rerunning, under a minute.
# Symbols are collected in {doc}`/book/notation`.
# ```

# %% tags=["hide-input"]
import numpy as np
from icl.chapters import attention
from icl.chapters import one_step_gd as chapter
from icl.claims import Claims, Ledger
from icl.models.effective import EffectiveParameters
from icl.parameters import check_parameters
from icl.pictures import one_step_gd as pictures
from icl.prompts import PromptLaw
from icl.theory import landscape
from icl.theory import one_step_gd as theory

# %% tags=["parameters"]
d = 5
n = 20
sigma2 = 0.25
seed = 0
profile = "quick"

# %% tags=["hide-input", "remove-output"]
parameters = check_parameters(
    "01_one_step_gd", d=d, n=n, sigma2=sigma2, seed=seed, profile=profile
)
ledger = Ledger("01_one_step_gd", parameters)
budget = chapter.budget(parameters)
law = PromptLaw.isotropic(d, n, sigma2)
eta = theory.step_size(d, n, sigma2)
floor = theory.minimal_risk(d, n, sigma2)


def stream(number):
    """The random numbers of one experiment, independent of every other."""
    return np.random.default_rng([seed, number])


# %% [markdown]
# ## The task and the model
#
# A **prompt** is drawn afresh each time: a task $w \sim N(0, I_d)$, covariates $x_1, \dots, x_n, x \sim N(0, I_d)$, and
# labels $y_i = w^\top x_i + \varepsilon_i$ with noise $\varepsilon_i \sim N(0, \sigma^2)$.
# Here $d =$ {glue:text}`d:.0f`, $n =$ {glue:text}`n:.0f` and $\sigma^2 =$ {glue:text}`sigma2:g`.
# The model sees the tokens $h_i = (x_i; y_i)$ and the query $h_{n+1} = (x; 0)$, and must fill in the $0$.
#
# **Linear self-attention** is attention without the softmax, with the query masked out of the sum:
#
# ```{math}
# :label: eq-lsa
# \hat y = \Big[\, W_P^\top W_V \sum_{i=1}^{n} h_i \, \big\langle W_K h_i,\; W_Q h_{n+1} \big\rangle \Big]_{d+1} .
# ```
#
# Its four matrices hold hundreds of numbers, but only a few combinations reach the output.
# Let $(v^\top, c)$ be the last row of $W_P^\top W_V$ and $\binom{V}{u^\top}$ the first $d$ columns of $W_K^\top W_Q$. Then
#
# ```{math}
# :label: eq-effective
# \hat y = \sum_{i=1}^n \big(v^\top x_i + c\, y_i\big)\big(x_i^\top V + y_i\, u^\top\big)\, x .
# ```
#
# So the model can weigh tokens by their covariate or by their label, on either side. The loss is
# $L = \mathbb E\,(\hat y - y)^2$, over prompts, query and noise.

# %% [markdown]
# ## The theorem
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
# \eta^\ast = \frac{1}{n + d + 1 + \sigma^2} .
# $$
#
# The least loss is
#
# $$
# L_{\min} = \sigma^2 + \frac{d\,(d + 1 + \sigma^2)}{n + d + 1 + \sigma^2} .
# $$
#
# For $d \ge 2$ the minimisers are exactly the weights with $v = 0$, $u = 0$, $cV = \eta^\ast I$.
# ```
#
# The paper leaves $\eta^\ast$ as a ratio of two expectations; the closed forms, and the last sentence, are worked out
# in this book. Note the $\tfrac12$: for the loss without it, which is the one printed in the paper, the same step has
# half the size. Automatic gradients of both losses confirm the factor:

# %%
ledger.decide(
    "thm1.gd_wording",
    predicted=2,
    measured=chapter.step_ratio(law, eta, stream(1)),
)

# %% [markdown]
# That such weights *exist* is quickly seen. Let keys and queries read only $x$, and values only $y$, and the full forward
# pass is the gradient step, to rounding:

# %%
ledger.decide(
    "thm1.construction",
    predicted=0,
    measured=chapter.construction_error(law, eta, stream(2)),
)

# %% [markdown]
# ## Why it is true
#
# **The symmetry argument, in two lines.** {eq}`eq-effective` is linear in the tensor $T$ of products of $(v, c)$ with
# $(V, u)$, so the loss is convex in $T$; rotating all $x$ changes nothing, so averaging $T$ over rotations can only
# lower the loss. A tensor that no rotation or reflection changes has no entry with one or three $x$-indices, and the entries
# with two form a multiple of $I$: what is left is $\hat y = \eta \sum_i y_i x_i^\top x$, and $\eta$ minimises a parabola.
#
# That is the whole proof. That the covariates are Gaussian, the loss squared and the head single was used only for the
# value of $\eta$; later chapters cash this in. The authors take a longer road, through four lemmas that are
# worth knowing because each one is a number that can be measured.
#
# ```{prf:lemma} Distance to the Bayes estimate
# :label: lem-bayes-distance
# Let $\hat w$ be the Bayes estimate, ridge regression with penalty $\sigma^2$. With $A$, $w$ the two attention
# factors and $G = \sum_i h_i h_i^\top$, the loss is $L = \mathbb E\,\| A G w - \hat w\|^2 + C$, where $C$ is the Bayes risk.
# ```
#
# ```{prf:lemma} Distance to a gradient step
# :label: lem-gd-distance
# $\mathbb E\,\|A G w - \hat w\|^2 = \mathbb E\,\|A G w - \eta^\ast X^\top y\|^2 + C_2$, whatever $A$ and $w$ are.
# ```
#
# ```{prf:lemma} First constant
# :label: lem-c1
# $\mathbb E\, X^\top y y^\top X = c_1 I$ with $c_1 = n\,(n + d + 1 + \sigma^2)$.
# ```
#
# ```{prf:lemma} Second constant
# :label: lem-c2
# $\mathbb E\, X^\top y\, \hat w^\top = c_2 I$ with $c_2 = n$.
# ```
#
# ```{admonition} Proof, by the lemmas' road
# :class: dropdown
# *{prf:ref}`lem-bayes-distance`.* Given the context $D$, the query's label is $x^\top w_{\rm task}$ plus noise, and
# $\hat w = \mathbb E[w_{\rm task} \mid D]$. Pythagoras in the space of square-integrable functions splits the loss into the
# distance from $\hat w$ and what no function of $D$ can explain, the Bayes risk.
#
# *{prf:ref}`lem-c1`.* With $S = X^\top X$, $X^\top y = S w + X^\top \varepsilon$, so
# $\mathbb E X^\top y y^\top X = \mathbb E S^2 + \sigma^2 \mathbb E S = n(n+d+1) I + \sigma^2 n I$ by the second moment
# of a Wishart matrix.
#
# *{prf:ref}`lem-c2`.* $\mathbb E X^\top y\, \hat w^\top = \mathbb E X^\top y\, w^\top = \mathbb E S = n I$ by the tower rule.
#
# *{prf:ref}`lem-gd-distance`.* Expand both squares. The difference of the cross terms is
# $2\,\mathbb E \langle A G w,\ \hat w - \eta^\ast X^\top y\rangle$. The parts of $A G w$ made of $X^\top X$ or $y^\top y$ are even
# under $(w_{\rm task}, \varepsilon) \to -(w_{\rm task}, \varepsilon)$, the other factor is odd, so they pair to zero. The parts made of
# $X^\top y$ pair to a multiple of $c_2 - \eta^\ast c_1$, by the two lemmas before, and that is zero: this is where
# $\eta^\ast = c_2 / c_1$ comes from. What remains does not depend on $A$ and $w$.
#
# *Theorem.* By the first two lemmas the loss is
# $\mathbb E\,\|A G w - \eta^\ast X^\top y\|^2$ plus constants, and the choice $A G w = \eta^\ast X^\top y$ makes the square zero.
# ```
#
# Each constant against {glue:text}`prompts:,.0f` random prompts, the first two at weights drawn at random:

# %%
estimates = chapter.lemma_estimates(law, budget.prompts, stream(3))
predictions = {
    "lemma1.constant": (theory.lemma1_constant, estimates.lemma1),
    "lemma2.constant": (theory.lemma2_constant, estimates.lemma2),
    "lemma3.c1": (theory.c1, estimates.c1),
    "lemma4.c2": (theory.c2, estimates.c2),
}
Claims(
    ledger.decide_estimate(
        name, predicted=formula(d, n, sigma2), estimate=estimate
    )
    for name, (formula, estimate) in predictions.items()
)

# %% [markdown]
# The constant of {prf:ref}`lem-bayes-distance` is itself an expectation over random matrices. For Gaussian covariates it
# can be computed without a single random number, from the joint law of a Wishart matrix's eigenvalues.
# The exact value is {glue:text}`bayes.risk.predicted:.10f`; ridge regression on random prompts agrees:

# %%
bayes = theory.lemma1_constant(d, n, sigma2)
ledger.decide_estimate("bayes.risk", predicted=bayes, estimate=estimates.bayes)

# %% [markdown]
# ## Does training get there?
#
# **Without noise.** The loss is a polynomial in Gaussian moments, so it has a closed form for *every* choice of weights.
# We minimise that form over all entries of $W_K, W_Q, W_V, W_P$ by L-BFGS from random starts, again and again.

# %%
found = attention.restarts(law, budget.restarts, stream(4))
ledger.decide("thm1.risk", predicted=floor, measured=found.risks.min())

# %%
ledger.decide(
    "thm1.step_size",
    predicted=eta,
    measured=attention.learned_step(found.best, n),
)

# %% [markdown]
# {glue:text}`starts_reached:.0f` of {glue:text}`starts:.0f` starts reached the floor. (In larger dimensions some of them stall
# on the plateau around zero, and long contexts have a false valley, see the end of the chapter; starts with an open path from the
# labels to the output did neither, in all sizes tried up to $d = 20$.) Every weight matrix that reached it belongs to the family of the theorem:

# %%
reached = [found.weights[k] for k in np.flatnonzero(found.reached(floor))]
distances = [
    chapter.distance_from_family(weights, d, n, sigma2) for weights in reached
]
ledger.decide(
    "thm1.minimisers", predicted=0, measured=max(distances, default=np.inf)
)

# %% [markdown]
# **With noise.** In practice nobody has the exact loss. Here Adam sees {glue:text}`batch:.0f` fresh prompts a step, in single
# precision, from random weights, {glue:text}`trainings:.0f` times over.

# %%
trained = chapter.trainings(law, budget, budget.trainings, seed)
risk = attention.mean_over_trainings(
    [attention.exact_risk(law, run.weights) for run in trained]
)
ledger.decide_estimate("thm1.sampled_risk", predicted=floor, estimate=risk)

# %%
step = attention.mean_over_trainings(
    [attention.learned_step(run.weights, n) for run in trained]
)
ledger.decide_estimate("thm1.sampled_step_size", predicted=eta, estimate=step)

# %% tags=["hide-input", "remove-output"]
exact = attention.train_exactly(
    law, budget.schedule, [seed, 5, 0], "exact loss"
)
ledger.figure(pictures.training_curves(trained, exact, floor))

# %% [markdown]
# ```{glue:figure} fig-training_curves
# :name: fig-training-curves
#
# Both trainings fall to the predicted floor (dashed). The exact loss lands on it; the loss on samples keeps jittering,
# because each step sees only {glue:text}`batch:.0f` prompts, but its *exact* risk ends
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
# What was learned is what was predicted: a constant diagonal of height $n\eta^\ast =$ {glue:text}`n_eta:.4f` in the
# key–query block, and nothing in the rows that would mix labels into keys ($u$) or covariates into values ($v$).
# ```

# %% [markdown]
# ## How good is one step?
#
# Optimal for this model is not optimal. The Bayes predictor, which needs a matrix inverse, has risk
# {glue:text}`bayes.risk.predicted:.4f` here; one step has {glue:text}`thm1.risk.predicted:.4f`, which is
# {glue:text}`bayes_factor:.1f` times as much.

# %% tags=["hide-input", "remove-output"]
lengths = chapter.context_lengths(n, 9)
along_n = chapter.sweep(
    [PromptLaw.isotropic(d, int(k), sigma2) for k in lengths],
    lengths,
    stream(6),
)
others = [max(1, n // 4), 3 * n]
sampled = chapter.sampled_risks(parameters, others) | {n: risk}
ledger.figure(pictures.risk_against_n(d, n, sigma2, along_n, sampled))

# %% [markdown]
# ```{glue:figure} fig-risk_against_n
# :name: fig-risk-against-n
#
# Trained attention sits on the curve of one gradient step at every context length. The step beats least squares while
# $n$ is near $d$, where inverting $X^\top X$ amplifies the noise, and loses to it once the context is long: its excess over
# $\sigma^2$ falls like $1/n$, with a constant {glue:text}`tail_ratio:.0f` times that of ridge regression.
# ```

# %% tags=["hide-input", "remove-output"]
noises = np.linspace(0, n + d + 1, 7)
along_noise = chapter.sweep(
    [PromptLaw.isotropic(d, n, s) for s in noises], noises, stream(8)
)
ledger.figure(pictures.step_sizes(d, n, sigma2, along_n, along_noise))

# %% [markdown]
# ```{glue:figure} fig-step_sizes
# :name: fig-step-sizes
#
# The step that training finds, as $n\eta$, follows the formula: towards the full Newton step $n\eta = 1$ for long contexts,
# shorter when there are few examples, many dimensions or much noise. The model has learned how much to trust its context.
# ```

# %% [markdown]
# ## What the theorem does not say
#
# **In one dimension there are two answers.** For $d = 1$ the roles of the two attention factors can be swapped
# ($c = 0$, $V = 0$, $vu = \eta^\ast$), with the same predictions. Random starts find either family half of the time:

# %%
families = chapter.families_at_d1(n, sigma2, 160, stream(9))
ledger.decide_estimate("thm1.two_families_d1", predicted=0.5, estimate=families)

# %% [markdown]
# **Training can get stuck.** For given $(v, c)$ the loss is a convex quadratic in the rest, and it depends on $(v, c)$ only
# through the angle $\varphi$ with $\tan\varphi = \|v\| / |c|$. So the whole landscape, for any $d$, is a curve in one
# variable, and its valleys are all the local minima there are. At $d = 2$ there are two, and only the one at
# $\varphi = 0$ is gradient descent. L-BFGS started beside the false one stays in it:

# %%
valleys = landscape.valleys(2, n, sigma2)
ledger.decide(
    "thm1.landscape_d2",
    predicted=valleys[-1].risk,
    measured=chapter.descend_from_valley(2, n, sigma2, stream(10)),
)

# %% tags=["hide-input", "remove-output"]
ends = attention.restarts(
    PromptLaw.isotropic(2, n, sigma2), 2 * budget.restarts, stream(11)
)
ledger.figure(pictures.landscape_d2(n, sigma2, ends))

# %% [markdown]
# ```{glue:figure} fig-landscape_d2
# :name: fig-landscape
#
# Left: at $d = 2$, {glue:text}`stuck:.0f` of {glue:text}`starts_d2:.0f` random starts end in the shallow valley, at risk
# {glue:text}`thm1.landscape_d2.predicted:.4f` instead of {glue:text}`floor_d2:.4f`. Right: the trap is not special to
# $d = 2$. In every dimension a second valley opens once the context is long enough: from
# $n =$ {glue:text}`first_n_d3:.0f` at $d = 3$, from $n =$ {glue:text}`first_n_d5:.0f` at $d = 5$.
# ```
#
# In the false valley the model weighs tokens by their covariate ($v \ne 0$) as well as by their label. It is a proper local
# minimum: any small change of the weights makes things worse. "Training finds gradient descent" is therefore a
# statement about where training *can* end, and about good starts; the theorem itself speaks of the global minimum only.
#
# **Other limits.** The theorem is about one layer, one step and no softmax. It needs the test prompts to have the same $n$
# and $\sigma^2$ as the training prompts, since $\eta^\ast$ depends on both. It says nothing about how fast training is. And one
# step of gradient descent, optimal or not, is a weak learner: the Bayes risk is far below it.

# %% tags=["hide-input", "remove-output"]
second = landscape.first_n_with_second_valley
numbers = {
    "d": d,
    "n": n,
    "sigma2": sigma2,
    "prompts": budget.prompts,
    "batch": budget.batch,
    "trainings": budget.trainings,
    "starts": len(found.risks),
    "starts_reached": len(reached),
    "risk_digits": np.floor(
        -np.log10(max(abs(found.risks.min() / floor - 1), 1e-15))
    ),
    "sampled_excess_percent": 100 * (risk.mean / floor - 1),
    "n_eta": n * eta,
    "bayes_factor": floor / bayes if bayes > 0 else np.inf,
    "tail_ratio": (d + 1 + sigma2) / sigma2 if sigma2 > 0 else np.inf,
    "starts_d2": len(ends.risks),
    "stuck": len(ends.risks)
    - ends.reached(theory.minimal_risk(2, n, sigma2)).sum(),
    "floor_d2": theory.minimal_risk(2, n, sigma2),
    "first_n_d3": second(3, sigma2),
    "first_n_d5": second(5, sigma2),
}
for name, value in numbers.items():
    ledger.number(name, value)

# %% [markdown]
# ## Every claim of this chapter
#
# Predicted by a formula, measured by an independent computation; a claim holds when they differ by no more than its
# tolerance, fixed beforehand, and five standard errors.

# %% tags=["hide-input"]
ledger.save()
