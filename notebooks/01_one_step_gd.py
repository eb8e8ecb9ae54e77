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
# Linear regression and gradients. Reading takes about {glue:text}`reading_minutes:.0f` minutes; rerunning, under a minute.
# Symbols are collected in {doc}`/book/notation`.
# ```

# %% tags=["hide-input"]
import numpy as np
from icl import search
from icl.chapters import begin
from icl.chapters.one_step_gd import experiments as chapter
from icl.chapters.one_step_gd import pictures
from icl.chapters.one_step_gd.explorable import explorable
from icl.models.effective import EffectiveParameters
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
parameters, ledger, stream = begin(
    "01_one_step_gd", d=d, n=n, sigma2=sigma2, seed=seed, profile=profile
)
budget = chapter.budget(parameters)
law = PromptLaw.isotropic(d, n, sigma2)
eta = theory.step_size(d, n, sigma2)
floor = theory.minimal_risk(d, n, sigma2)

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
ratio = chapter.step_ratio(law, eta, stream("factor ½"))
ledger.claims({"thm1.gd_wording": (2, ratio)})

# %% [markdown]
# That such weights *exist* is quickly seen. Let keys and queries read only $x$, and values only $y$, and the full forward
# pass is the gradient step, to rounding:

# %%
error = chapter.construction_error(law, eta, stream("construction"))
ledger.claims({"thm1.construction": (0, error)})

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
estimates = chapter.lemma_estimates(law, budget.prompts, stream("lemmas"))
bayes = theory.lemma1_constant(d, n, sigma2)
to_step = theory.lemma2_constant(d, n, sigma2)
constants = {
    "lemma1.constant": (bayes, estimates.lemma1),
    "lemma2.constant": (to_step, estimates.lemma2),
    "lemma3.c1": (theory.c1(d, n, sigma2), estimates.c1),
    "lemma4.c2": (theory.c2(d, n, sigma2), estimates.c2),
}
ledger.claims(constants)

# %% [markdown]
# The constant of {prf:ref}`lem-bayes-distance` is itself an expectation over random matrices. For Gaussian covariates it
# can be computed without a single random number, from the joint law of a Wishart matrix's eigenvalues.
# The exact value is {glue:text}`bayes.risk.predicted:.10f`; ridge regression on random prompts agrees:

# %%
ledger.claims({"bayes.risk": (bayes, estimates.bayes)})

# %% [markdown]
# ## Does training get there?
#
# **Without noise.** The loss is a polynomial in Gaussian moments, so it has a closed form for *every* choice of weights.
# We minimise that form over all entries of $W_K, W_Q, W_V, W_P$ by L-BFGS from random starts, again and again, and let
# Newton's method take the last steps.

# %%
found = search.descents(law, budget.restarts, stream("search"))
ledger.claims({"thm1.risk": (floor, found.risks.min())})

# %%
step = search.learned_step(found.best, n)
ledger.claims({"thm1.step_size": (eta, step)})

# %% [markdown]
# {glue:text}`starts_reached:.0f` of {glue:text}`starts:.0f` starts reached the floor. (In larger dimensions some of them stall
# on the plateau around zero, and long contexts have a false valley, see the end of the chapter; starts with an open path from the
# labels to the output did neither, in all sizes tried up to $d = 20$.) Every weight matrix that reached it belongs to the family of the theorem:

# %%
reached = [found.weights[k] for k in np.flatnonzero(found.reached(floor))]
distances = [
    chapter.distance_from_family(weights, d, n, sigma2) for weights in reached
]
ledger.claims({"thm1.minimisers": (0, max(distances, default=np.inf))})

# %% [markdown]
# **With noise.** In practice nobody has the exact loss. Here Adam sees {glue:text}`batch:.0f` fresh prompts a step, in single
# precision, from random weights, {glue:text}`trainings:.0f` times over.

# %%
trained = chapter.trainings(law, budget, budget.trainings, stream)
risk = search.mean_over_trainings([
    search.exact_risk(law, run.weights) for run in trained
])
ledger.claims({"thm1.sampled_risk": (floor, risk)})

# %%
step = search.mean_over_trainings([
    search.learned_step(run.weights, n) for run in trained
])
visible_step = search.too_faint(floor, d + sigma2) or step
ledger.claims({"thm1.sampled_step_size": (eta, visible_step)})

# %% tags=["hide-input", "remove-output"]
exact = search.train_exactly(
    law, budget.schedule, stream.entropy("exact training"), "exact loss"
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
    stream("sweep of n"),
)
others = [max(1, n // 4), 3 * n]
sampled = chapter.sampled_risks(parameters, others, stream) | {n: risk}
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
    [PromptLaw.isotropic(d, n, s) for s in noises],
    noises,
    stream("sweep of σ²"),
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
# ## Move it yourself
#
# The risk of one step is a parabola in its size, and everything below is computed on the page. Move $n$ and look for two things: the
# lowest point slides along a straight line (dashed), since $L_{\min} = \sigma^2 + d\,(1 - n\eta^\ast)$; and it reaches the full
# step $n\eta = 1$ only when the context is endless. **A question:** at which step is the model exactly as bad as one that always
# answers $0$? Try several $n$, $d$ and $\sigma^2$ before you look.
#
# ```{admonition} Answer
# :class: dropdown
# At twice the best step, always. At $\eta = 0$ the model *is* the one that answers $0$, and a parabola is symmetric about its
# lowest point. A learner that overestimates its step by a factor of two has learned nothing.
# ```

# %% tags=["hide-input"]
explorable(parameters)

# %% [markdown]
# ## What the theorem does not say
#
# **In one dimension there are two answers.** For $d = 1$ the roles of the two attention factors can be swapped
# ($c = 0$, $V = 0$, $vu = \eta^\ast$), with the same predictions. Random starts find either family half of the time:

# %%
families = chapter.families_at_d1(n, sigma2, 160, stream("two families"))
ledger.claims({"thm1.two_families_d1": (0.5, families)})

# %% [markdown]
# **Training can get stuck.** For given $(v, c)$ the loss is a convex quadratic in the rest, and it depends on $(v, c)$ only
# through the angle $\varphi$ with $\tan\varphi = \|v\| / |c|$. So the whole landscape, for any $d$, is a curve in one
# variable, and its valleys are all the local minima there are. At $d = 2$ there are two, and only the one at
# $\varphi = 0$ is gradient descent. L-BFGS started beside the false one stays in it:

# %%
valleys = landscape.valleys(2, n, sigma2)
end = chapter.descend_from_valley(2, n, sigma2, stream("from the valley"))
ledger.claims({"thm1.landscape_d2": (valleys[-1].risk, end)})

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
# $d = 2$. In every dimension a second valley opens once the context is long enough: from
# $n =$ {glue:text}`first_n_d3:.0f` at $d = 3$, from $n =$ {glue:text}`first_n_d5:.0f` at $d = 5$.
# ```
#
# In the false valley the model weighs tokens by their covariate ($v \ne 0$) as well as by their label. It is a proper local
# minimum: any small change of the weights makes things worse. "Training finds gradient descent" is therefore a
# statement about where training *can* end, and about good starts; the theorem itself speaks of the global minimum only.
#
# **Other limits.**
#
# - *The model.* One layer, no softmax, no MLP, the query masked out of the sum. What two softmax heads can do is bounded in
#   {ref}`ex-softmax`, what more layers can do in {ref}`ex-more-steps`; neither question is settled.
# - *The data.* Isotropic Gaussian covariates, tasks with mean zero, and test prompts with the $n$ and $\sigma^2$ of training, since $\eta^\ast$
#   depends on both ({ref}`ex-too-long` says what happens otherwise). The next three chapters drop these one by one.
# - *Training.* The theorem is about the least loss over the population. It is silent on how training gets there, how fast, and from how many
#   prompts ({ref}`ex-finite-data`). It compares with no other learner: the Bayes risk is far below one step's.
# - *What is not proved here.* The valleys are found on a grid of angles, so «there is no other» rests on its fineness, and the lengths at which
#   a second valley opens come from a search.
# - *What the measurements cannot show.* {glue:text}`starts:.0f` starts of L-BFGS say little about the share of all starts, and
#   {glue:text}`trainings:.0f` trainings with one schedule, all from an open label path, say nothing about other optimisers or first weights. A claim that
#   holds has not been refuted by its tolerance and five standard errors; it has not been proved by that either.

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
    "first_n_d3": second(3, sigma2) or np.inf,
    "first_n_d5": second(5, sigma2) or np.inf,
}
for name, value in numbers.items():
    ledger.number(name, value)

# %% [markdown]
# ## Exercises
#
# ★ a pencil and ten minutes; ★★ more thought, or a few lines of code; ★★★ a proof; ◇ open: nobody we know of has
# answered it. The code in the solutions ran with this page, at sizes of its own, and stops the page if a number is off.
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
# On this page the squared bias is {glue:text}`ex_bias:.4f` and the variance {glue:text}`ex_variance:.4f`. For long contexts the variance is
# about $dk/n$. Ridge regression has $d\sigma^2/n$: the $d + 1$ in $k$ is what it costs that $X^\top X$ is not exactly $nI$, and that
# one step cannot divide by it.
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
# About twice the training length is the end: the step overshoots, and more evidence makes the answer worse. With the factor $1/m$ the
# effective step is $n\eta/m$, and the risk $\sigma^2 + d - 2 n\eta d + (n\eta)^2 d\,(1 + k/m)$ falls with $m$, down to
# $\sigma^2 + d\,(1 - n\eta)^2$. It never overshoots, and never unlearns its caution.

# %%
from icl.estimates import Estimate, joint_monte_carlo, monte_carlo
from icl.solvers.linear import gradient_step

trained_step = theory.step_size(5, 20, 0.25)


def tested_at(m):
    """The risk at length m of the step trained at n = 20."""
    longer = PromptLaw.isotropic(5, m, 0.25)
    rng = stream("exercise: other lengths", m)

    def squared_errors(B):
        batch = longer.sample(rng, B)
        w = gradient_step(batch.X, batch.y, trained_step)
        return ((batch.x_query * w).sum(1) - batch.y_query) ** 2

    return monte_carlo(squared_errors, 20_000)


print("answering 0 has risk 5.25; the end is at m = 46.25")
for m in (20, 46, 92):
    found = tested_at(m)
    formula = theory.one_step_risk(trained_step, 5, m, 0.25)
    measured = f"{found.mean:.2f} ± {found.stderr:.2f}"
    print(f"m = {m}: measured {measured}, formula {formula:.2f}")
    assert abs(found.mean - formula) < 5 * found.stderr

# %% [markdown]
# ```{solution-end}
# ```
#
# ```{exercise} Every prefix at once ★★
# :label: ex-prefixes
# Language models are trained on every prefix of a text. Let the loss be the average over prompts of lengths $j = 1, \dots, J$, with one
# set of weights and no factor $1/j$. Show that the best step is that of a *single* length, and which one. Is it longer or shorter than
# the average length?
# ```
#
# ```{solution-start} ex-prefixes
# :label: sol-prefixes
# :class: dropdown
# ```
#
# The symmetry argument does not mind the average, so a plain step is best. Up to factors that do not matter the loss is
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
# **1.** Any number of heads predicts $\langle T, G \otimes x\rangle$, linear in a tensor $T$ (sum over heads of the products in
# {eq}`eq-effective`). So the loss is a mean of convex functions of a linear function of $T$: convex in $T$. For an orthogonal $O$ the
# prompt $(Ox_i, y_i, Ox)$ has the law of $(x_i, y_i, x)$, so rotating $T$ does not change the loss, and by Jensen the average $\bar T$ of $T$
# over all $O$ has at most the loss of $T$. $\bar T$ is invariant: its block with three $x$-indices is an odd invariant tensor and zero (take
# $O = -I$), so is the one with a single $x$-index, and the block with two is a multiple of $I$. Hence $\hat y = \eta \sum_i y_i x_i^\top x$. ∎
#
# **2.** Given $w$ the label $y_i$ depends on $z_i$ only. The rest of $x_i$ is independent of it, so
# $\sum_i y_i x_{i\perp}$ is a standard Gaussian vector times $\sqrt n$, whatever the labels are, and its product with $x_\perp$ is
# $\sqrt n\, \|x_\perp\|\, g$.
#
# **3.** There is no closed form: the slope of a convex function of one variable is set to zero. Both routes give
# $\eta \approx$ {glue:text}`ex_cross_entropy:.3f`, and the cross-entropy falls from $\log 2 = 0.693$ to {glue:text}`ex_cross_entropy_loss:.3f`.

# %%
from scipy.optimize import brentq
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
    step = gradient_step(x[:, :shots], y[:, :shots], 1.0)
    return y[:, shots] * (x[:, shots] * step).sum(1)


def reduced_margins(B, rng):
    """The same law from components along w."""
    size = np.sqrt(rng.chisquare(features, (B, 1)))
    z, across = rng.standard_normal((B, shots + 1)), features - 1
    y = labels(size * z, rng)
    noise = np.sqrt(shots * rng.chisquare(across, B)) * rng.standard_normal(B)
    sums = (y[:, :shots] * z[:, :shots]).sum(1)
    return y[:, shots] * (z[:, shots] * sums + noise)


def best_logit_step(margins):
    """Where the mean of log(1 + exp(-eta margin)) is flat."""
    eta = brentq(lambda eta: (margins * expit(-eta * margins)).mean(), 0, 1)
    miss = expit(-eta * margins)
    curvature = (margins**2 * miss * (1 - miss)).mean()
    error = (margins * miss).std() / curvature / np.sqrt(len(margins))
    return Estimate(eta, error, len(margins))


margins = full_margins(60_000, stream("exercise: margins"))
full = best_logit_step(margins)
thin = reduced_margins(200_000, stream("exercise: thin margins"))
reduced = best_logit_step(thin)
print(f"whole prompts {full.mean:.4f} ± {full.stderr:.4f}")
print(f"reduction     {reduced.mean:.4f} ± {reduced.stderr:.4f}")
assert abs(full.mean - reduced.mean) < 5 * np.hypot(full.stderr, reduced.stderr)

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
# *centred* covariates. The softmax sums to one, and can only compare examples.
#
# **2.** With the centring matrix $C = I - \frac1n \mathbf 1 \mathbf 1^\top$, a projector of rank $n - 1$, the estimate is
# $\eta X^\top C\, y = \eta\,(X^\top C X\, w + X^\top C\, \varepsilon)$, and $X^\top C X$ has the law of $X^\top X$ with one example less. So every
# moment is that of the theorem with $n - 1$ for $n$: centring costs exactly one example, and
# $L = \sigma^2 + \frac{d\,(d+1+\sigma^2)}{n + d + \sigma^2}$.
#
# **3.** At small $q$ the measured risk is the formula's, {glue:text}`ex_softmax_formula:.4f`. A moderate $q$ changes it by less than
# the errors, so this experiment does not decide whether the limit is the best. The least risk of two softmax heads is not known; the
# formula bounds it from above. A single head does far worse at every $q$ tried.

# %%
from scipy.special import softmax

short = PromptLaw.isotropic(4, 20, 0.25)
same_prompts = stream.entropy("exercise: softmax heads")


def risk_of_heads(q, signs):
    """Softmax heads with the best V, on the same prompts for all q."""
    rng = np.random.default_rng(same_prompts)

    def draw(B):
        batch = short.sample(rng, B)
        scores = q * np.einsum("bnd,bd->bn", batch.X, batch.x_query)
        weights = sum(sign * softmax(sign * scores, axis=1) for sign in signs)
        guess, y = (weights * batch.y).sum(1), batch.y_query
        return np.stack([y * guess, guess**2, y**2], axis=1)

    return joint_monte_carlo(draw, 20_000).least_error()


softmax_formula = theory.minimal_risk(4, 19, 0.25)  # one example less
for q in (0.01, 0.16, 0.7):
    two, one = risk_of_heads(q, (1, -1)), risk_of_heads(q, (1,))
    both = f"two heads {two.mean:.3f} ± {two.stderr:.3f}"
    print(f"q = {q:4}: {both}, one head {one.mean:.2f}")
    if q == 0.01:
        assert abs(two.mean - softmax_formula) < 5 * two.stderr

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
# **Known:** where the valleys are (the curve of {numref}`fig-landscape` is exact); that $d = 2$ has two at this page's $n$ and $\sigma^2$ and larger
# $d$ for long contexts; that starts with an open path from the labels to the output never got stuck in all sizes tried up to $d = 20$.
#
# **A first guess.** Suppose $V$ and $u$ adapt at once and $(v, c)$ slowly. Then the angle $\varphi$ slides down the curve, and a start gets
# stuck when it begins beyond the ridge. With Gaussian weights $(v, c)$ points in a uniformly random direction, and at $d = 2$ the cosine of its
# angle is uniform (Archimedes), so the probability is $\cos \varphi_{\rm ridge} =$ {glue:text}`ex_ridge:.2f`. Counted were
# {glue:text}`stuck:.0f` of {glue:text}`starts_d2:.0f`, that is {glue:text}`ex_stuck_share:.2f` ± {glue:text}`ex_stuck_error:.2f`: not refuted,
# but so few starts could hardly refute it, and the two time scales do not exist.
#
# **Open:** any formula that does not assume them; the limit of large $d$; and whether stochastic gradients escape, which depends on how high the
# ridge stands above the valley compared with the noise of a batch.
# ```

# %% tags=["hide-input", "remove-output"]
caution = d + 1 + sigma2
angles = np.linspace(0, valleys[-1].angle, 2001)
ridge = angles[landscape.profile(angles, 2, n, sigma2).argmax()]
share = numbers["stuck"] / numbers["starts_d2"]
exercise_numbers = {
    "ex_bias": d * caution**2 / (n + caution) ** 2,
    "ex_variance": d * n * caution / (n + caution) ** 2,
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
# Predicted by a formula, measured by an independent computation; a claim holds when they differ by no more than its
# tolerance, fixed beforehand, and five standard errors.

# %% tags=["hide-input"]
ledger.save()
