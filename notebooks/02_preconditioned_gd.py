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
# (preconditioned-gd)=
# # Preconditioned gradient descent
#
# In {doc}`the first chapter </notebooks/01_one_step_gd>` every direction of the covariates was as likely as every other,
# and the best linear attention could do was one plain step of gradient descent. Real covariates are correlated: some
# directions vary a lot, others hardly. A plain step is then a poor idea, because it goes too far along the strong
# directions and hardly moves along the weak ones. What does attention do instead?
#
# **It learns the matrix that repairs this.** The best linear attention takes one step of *preconditioned* gradient
# descent: it multiplies the gradient by a fixed matrix, stored in its key and query weights. {cite:t}`mahankali2024` say
# which matrix for one special prior over tasks; {cite:t}`ahn2023`, {cite:t}`zhang2024trained` and {cite:t}`zhang2024block`
# for others. This chapter finds the matrix by training, here to a relative distance of
# {glue:text}`thm2.preconditioner.measured:.0e` from the formula, and asks what it is worth.
#
# ```{admonition} What you need
# :class: note
# The first chapter, and the eigenvalues of a symmetric matrix. Symbols are collected in {doc}`/book/notation`.
# Reading takes about {glue:text}`reading_minutes:.0f` minutes; rerunning, about one.
# ```

# %% tags=["hide-input"]
import numpy as np
from icl import search
from icl.chapters import begin
from icl.chapters.one_step_gd import experiments as chapter1
from icl.chapters.preconditioned_gd import (
    condition_pictures,
    condition_sweep,
    pictures,
    task_laws,
)
from icl.chapters.preconditioned_gd import experiments as chapter
from icl.chapters.preconditioned_gd.explorable import explorable
from icl.prompts import PromptLaw
from icl.theory import moments
from icl.theory import one_step_gd as theorem1
from icl.theory import preconditioned_gd as theory

# %% tags=["parameters"]
d = 5
n = 20
sigma2 = 0.25
condition = 10.0
seed = 0
profile = "quick"

# %% tags=["hide-input", "remove-output"]
parameters, ledger, stream = begin(
    "02_preconditioned_gd",
    d=d,
    n=n,
    sigma2=sigma2,
    condition=condition,
    seed=seed,
    profile=profile,
)
budget = chapter1.budget(parameters)
draws = max(200, budget.prompts // 50)  # of matrices X

# %% [markdown]
# ## The task
#
# Covariates are now $x_i \sim N(0, H)$. The eigenvalues of $H$ are spaced evenly in logarithm from
# $1/\kappa$ to $1$, with **condition number** $\kappa =$ {glue:text}`condition:g`, and its axes are rotated at random:
# nothing in the weights can be read off the coordinates. As before $d =$ {glue:text}`d:.0f`,
# $n =$ {glue:text}`n:.0f`, $\sigma^2 =$ {glue:text}`sigma2:g`, and $y_i = w^\top x_i + \varepsilon_i$.
#
# There remains the law of the task $w$. {cite:t}`mahankali2024` choose $w \sim N(0, H^{-1})$: tasks are large where
# covariates are small, so that every direction contributes equally to the labels.

# %%
axes = stream.entropy("axes of H")
H = chapter.covariance(parameters, axes)
law = theory.theorem2_law(H, n, sigma2)
eta = theorem1.step_size(d, n, sigma2)
floor = theorem1.minimal_risk(d, n, sigma2)
target = theory.theorem2_preconditioner(H, n, sigma2)

# %% [markdown]
# ## Theorem 2
#
# ```{prf:theorem} Mahankali, Hashimoto and Ma, Theorem 2
# :label: thm-preconditioned-gd
#
# Let $x_i, x \sim N(0, H)$ with $H$ invertible and $w \sim N(0, H^{-1})$. Among all weights of single-head linear
# self-attention, the least loss is attained by
#
# $$
# \hat y = \eta^\ast \sum_{i=1}^n y_i\, (H^{-1} x_i)^\top x , \qquad \eta^\ast = \frac{1}{n + d + 1 + \sigma^2} ,
# $$
#
# one step of gradient descent preconditioned with $H^{-1}$. Step size and least loss are those of
# {prf:ref}`thm-one-step-gd`, whatever $H$ is.
# ```
#
# ```{admonition} Proof
# :class: dropdown
# Write $x = H^{1/2} z$ and $w = H^{-1/2} \omega$. Then $z$ and $\omega$ are standard Gaussian, and $w^\top x = \omega^\top z$: the labels
# are those of chapter 1. The attention output depends on $v, V, u$ only through $H^{1/2} v$, $H^{1/2} V H^{1/2}$ and
# $H^{1/2} u$, which range over everything because $H^{1/2}$ is invertible. So this *is* chapter 1's problem, in the variables $z$.
# Its minimisers $v = u = 0$, $cV = \eta^\ast I$ become $v = u = 0$, $H^{1/2} cV H^{1/2} = \eta^\ast I$.
# ```
#
# In this chapter attention divides by $n$, and $\Gamma$ is the matrix in $\hat y = \tfrac1n x^\top \Gamma X^\top y$. The theorem
# says $\Gamma^\ast = n \eta^\ast H^{-1}$.

# %% [markdown]
# ## Does training find the matrix?
#
# **Without noise.** L-BFGS on the exact loss, over all entries of $W_K, W_Q, W_V, W_P$, from random starts that know
# nothing of $H$, and Newton's method for the last steps:

# %%
found = search.descents(law, budget.restarts, stream("search"))
lowest = found.risks.min()
ledger.claims({"thm2.risk": (floor, lowest)})

# %% [markdown]
# To compare matrices we look at them as the data do. **Whitened**, $H^{1/2} \Gamma H^{1/2}$ acts on standard Gaussian
# covariates, and $H^{-1}$ becomes the identity.

# %%
root, _ = law.whitening
step = search.learned_step(found.best.substituted(root), n)
far = chapter.distance(found.best, target, H)
ledger.claims({"thm2.step_size": (eta, step), "thm2.preconditioner": (0, far)})

# %% [markdown]
# {glue:text}`starts_reached:.0f` of {glue:text}`starts:.0f` random starts reached the least loss, and all of these have
# $v = 0$, $u = 0$ and the same product $cV$:

# %%
reached = [found.weights[k] for k in np.flatnonzero(found.reached(floor))]
distances = [
    chapter1.distance_from_family(end.substituted(root), d, n, sigma2)
    for end in reached
]
ledger.claims({"thm2.minimisers": (0, max(distances, default=np.inf))})

# %% [markdown]
# **With noise.** Adam, {glue:text}`batch:.0f` fresh prompts a step, {glue:text}`trainings:.0f` times over:

# %%
trained = chapter1.trainings(law, budget, budget.trainings, stream)
risk = search.mean_over_trainings([
    search.exact_risk(law, run.weights) for run in trained
])
off = search.mean_over_trainings([
    chapter.distance(run.weights, target, H) for run in trained
])
visible_matrix = search.too_faint(floor, d + sigma2) or off
ledger.claims({
    "thm2.sampled_risk": (floor, risk),
    "thm2.sampled_preconditioner": (0, visible_matrix),
})

# %% tags=["hide-input", "remove-output"]
ledger.figure(pictures.weights(target, found.best, trained[0].weights))

# %% [markdown]
# ```{glue:figure} fig-weights
# :name: fig-preconditioner-weights
#
# The matrix $n\eta^\ast H^{-1}$, the one that training finds on the exact loss, and the one it finds on samples. No
# weight was told about $H$: the model inferred the covariance of its data and inverted it, once and for all, in its weights.
# ```
#
# Finding the matrix is one thing, finding it fast another. The loss is flat along the weak directions of $H$, and the same
# schedule that is ample for a mild $H$ runs out of steps for a severe one. Run this chapter at condition number 1000 and the
# two claims on Adam above come out as «fails»: not the theorem, but the patience gave out.

# %% tags=["hide-input", "remove-output"]
conditions = [1.0, 10.0, 100.0, 1000.0]
runs = condition_sweep.adam_against_condition(
    parameters, axes, budget, conditions, stream
)
excess = condition_sweep.excess_percent(parameters, axes, conditions, runs)
ledger.figure(
    condition_pictures.adam_against_condition(conditions, excess, runs, floor)
)

# %% [markdown]
# ```{glue:figure} fig-adam_against_condition
# :name: fig-adam-condition
#
# One training on samples for each condition number, with one and the same schedule. The least loss is the same for all
# (dashed), but the larger the condition number, the later the loss comes down: after {glue:text}`steps:,.0f` steps the
# exact risk is {glue:text}`excess_1:.2g` % above the least at condition number 1 and {glue:text}`excess_1000:.2g` % at 1000.
# The theorem says where training should end; it is silent on when.
# ```

# %% [markdown]
# (any-prior)=
# ## Any prior over tasks
#
# Why should tasks know about $H^{-1}$? Let now $w \sim N(0, \Psi)$ with any covariance $\Psi$, and put
# $\tau = \operatorname{tr}(H \Psi) + \sigma^2$, the variance of a label.
#
# ```{prf:theorem} Zhang, Wu and Bartlett, Theorem 5.2, for tasks with mean zero
# :label: thm-zero-mean
#
# The least risk of single-head linear self-attention is attained by $\hat y = \tfrac1n x^\top \Gamma^\ast X^\top y$ with
#
# $$
# \Gamma^\ast = \Psi \Big( \frac{n+1}{n} H \Psi + \frac{\tau}{n} I \Big)^{-1} , \qquad
# \mathcal R^\ast = \sigma^2 + \sum_{i=1}^d \varphi_i\, \frac{\varphi_i + \tau}{(n+1)\varphi_i + \tau} ,
# $$
#
# where $\varphi_i$ are the eigenvalues of $\Phi = H^{1/2} \Psi H^{1/2}$. The matrix is unique up to $D$ with $H D H = 0$; $H$ and
# $\Psi$ may be singular.
# ```
#
# For $\Psi = H^{-1}$ this is {prf:ref}`thm-preconditioned-gd`: then $\Phi = I$. For $\Psi = I$ it is the preconditioner of
# {cite:t}`ahn2023` and {cite:t}`zhang2024trained` (both without noise):
# $\Gamma^\ast = \big(\tfrac{n+1}{n} H + \tfrac{\tau}{n} I\big)^{-1}$ with $\tau = \operatorname{tr} H + \sigma^2$.
#
# ```{admonition} Proof
# :class: dropdown
# The prediction is $x^\top \hat w$ with an estimate $\hat w$ that is a sum of two parts: one odd in $(w, \varepsilon)$, namely
# $\tfrac1n \Gamma X^\top y$ with $\Gamma = c V^\top + u v^\top$, and one even in $(w, \varepsilon)$. Flipping the signs of $w$ and $\varepsilon$ changes
# nothing in law, so the two parts do not correlate and the risk is
# $\sigma^2 + \mathbb E\|\text{even}\|_H^2 + \mathbb E\|\tfrac1n \Gamma X^\top y - w\|_H^2$. Weights with $v = u = 0$ make the even part zero and leave
# $\Gamma = cV^\top$ free, so only the last term counts.
# Gaussian moments give $\mathbb E X^\top y\, w^\top / n = H \Psi$ and
# $\mathbb E X^\top y y^\top X / n^2 = \tfrac{n+1}{n} H\Psi H + \tfrac{\tau}{n} H$. With $G = H^{1/2} \Gamma H^{1/2}$ and
# $\Omega = \tfrac{n+1}{n} \Phi + \tfrac{\tau}{n} I$ the last term is
# $\operatorname{tr}\Phi - 2 \operatorname{tr}(G\Phi) + \operatorname{tr}(G\Omega G^\top)$, a parabola with vertex $G^\ast = \Phi\Omega^{-1}$ and
# least value $\operatorname{tr}\Phi - \operatorname{tr}(\Phi\Omega^{-1}\Phi)$. $\Gamma^\ast$ as stated satisfies $H^{1/2} \Gamma^\ast H^{1/2} = \Phi\Omega^{-1}$.
# ```
#
# Again L-BFGS over all weights, with $\Psi = I$:

# %%
identity = chapter.with_prior(H, np.eye(d), parameters)
weights = chapter.descend(identity, stream("search, identity prior"))
best, least = theory.preconditioner(identity), theory.minimal_risk(identity)
ledger.claims({
    "zero_mean.risk": (least, search.exact_risk(identity, weights)),
    "zero_mean.preconditioner": (0, chapter.distance(weights, best, H)),
})

# %% [markdown]
# These runs, and those below, started from an open path from the labels to the output. Of
# {glue:text}`random_starts:.0f` wholly random starts {glue:text}`random_reached:.0f` ended at the least risk
# {glue:text}`zero_mean.risk.predicted:.4f`; the worst one ended at {glue:text}`random_worst:.4f`. The false valleys that
# chapter 1 met in the isotropic case are there for correlated covariates too.
#
# ### Ridge regression in disguise
#
# Write the step out for $\Psi = I$: the estimate of the task is
#
# $$
# \hat w = \big( (n+1) H + \tau I \big)^{-1} X^\top y .
# $$
#
# Compare the Bayes estimate, ridge regression: $(X^\top X + \sigma^2 I)^{-1} X^\top y$. One layer cannot invert $X^\top X$, which
# changes with every prompt. It uses the next best thing, the average $\mathbb E X^\top X = nH$ (with $n+1$ for $n$), and pays for
# the mismatch with a larger penalty: $\tau = \sigma^2 + \operatorname{tr} H$ instead of $\sigma^2$, as though the whole signal were noise. Inverting
# the *learned* matrix shows that penalty:

# %%
tau, penalty = moments.tau(identity), chapter.learned_penalty(weights, identity)
ledger.claims({"zero_mean.ridge_reading": (tau, penalty)})

# %% tags=["hide-input", "remove-output"]
ledger.figure(pictures.eigenvalues(identity, weights))

# %% [markdown]
# ```{glue:figure} fig-eigenvalues
# :name: fig-eigenvalues
#
# The learned preconditioner along the axes of $H$. Newton's method would use $1/h$ (dotted). Ridge regression with
# the true noise would bend away from it around $h = \sigma^2/n =$ {glue:text}`bend_noise:.4f` (dash-dotted); attention bends around
# $h = \tau/(n+1) =$ {glue:text}`bend_tau:.4f`, {glue:text}`bend_ratio:.0f` times as high. Below that the curve levels off:
# weak directions are amplified less and less of what Newton's method would.
# ```

# %% [markdown]
# ### When the axes disagree, and when there are none
#
# Nothing requires $\Psi$ to share the axes of $H$. Here is one that does not, with condition number 10 and axes of its own.
# The two matrices do not commute, yet $\Gamma^\ast$ is symmetric:

# %%
Psi = chapter.random_prior(d, stream("random prior"))
skewed = chapter.with_prior(H, Psi, parameters)
ends = chapter.descend(skewed, stream("search, skewed prior"))
risk = search.exact_risk(skewed, ends)
off = chapter.distance(ends, theory.preconditioner(skewed), H)
ledger.claims({
    "zero_mean.noncommuting_risk": (theory.minimal_risk(skewed), risk),
    "zero_mean.noncommuting_preconditioner": (0, off),
})

# %% [markdown]
# Nor must either matrix be invertible. First we flatten the covariates: the smaller half of $H$'s eigenvalues becomes 0
# (Theorem 2's prior then does not exist, and the package says so when asked for it). What
# the preconditioner does on directions that never occur cannot matter, and indeed moving it there leaves the risk as it was.

# %%
flat_H = chapter.without_directions(H, d // 2)
flat = chapter.with_prior(flat_H, np.eye(d), parameters)
ends = chapter.descend(flat, stream("search, singular H"))
nothing = chapter.nothing_to_learn(d)  # at d = 1
risk = nothing or search.exact_risk(flat, ends)
off = nothing or chapter.distance(ends, theory.preconditioner(flat), flat_H)
change = nothing or chapter.change_off_support(
    ends, flat, stream("off the support")
)
ledger.claims({
    "zero_mean.singular_H": (theory.minimal_risk(flat), risk),
    "zero_mean.singular_H_preconditioner": (0, off),
    "zero_mean.singular_H_freedom": (0, change),
})

# %% [markdown]
# Then the tasks: $w$ lives in a subspace, half of the eigenvalues of the skewed $\Psi$ being 0. The preconditioner learns
# to look only there.

# %%
thin_Psi = chapter.without_directions(Psi, d // 2)
thin = chapter.with_prior(H, thin_Psi, parameters)
ends = chapter.descend(thin, stream("search, singular prior"))
risk = nothing or search.exact_risk(thin, ends)
off = nothing or chapter.distance(ends, theory.preconditioner(thin), H)
ledger.claims({
    "zero_mean.singular_Psi": (theory.minimal_risk(thin), risk),
    "zero_mean.singular_Psi_preconditioner": (0, off),
})

# %% [markdown]
# ### Only the second moment matters
#
# The proof used the law of $w$ in two places: its sign symmetry, and $\mathbb E\, ww^\top = \Psi$. So tasks that look nothing
# like a Gaussian have the same optimum. **Sparse** tasks have one coordinate $\pm\sqrt d$ and zeros elsewhere;
# **Rademacher** tasks have coordinates $\pm 1$; for both $\mathbb E\, ww^\top = I$. We find their best preconditioners by
# regressing $w$ on $X^\top y / n$ over {glue:text}`regression_prompts:,.0f` prompts, with no formula in between:

# %%
samplers = {
    "Gaussian": identity,
    "sparse": task_laws.sparse_tasks(identity),
    "Rademacher": task_laws.rademacher_tasks(identity),
}
regressions = {
    name: task_laws.best_matrix(
        sampler, identity, budget.prompts // 2, stream(f"{name} tasks")
    )
    for name, sampler in samplers.items()
}

# %%
others = [regressions["sparse"], regressions["Rademacher"]]
ratios = [regression.ratio for regression in others]
risks = [regression.risk for regression in others]
ratio = task_laws.further_off(ratios, 1)
risk = task_laws.further_off(risks, least)
ledger.claims({
    "zero_mean.only_second_moment": (1, ratio),
    "zero_mean.only_second_moment_risk": (least, risk),
})

# %% tags=["hide-input", "remove-output"]
ledger.figure(pictures.only_second_moment(best, regressions))

# %% [markdown]
# ```{glue:figure} fig-only_second_moment
# :name: fig-only-second-moment
#
# Every entry of the best preconditioner, for Gaussian, sparse and Rademacher tasks (with two standard errors), against the
# one formula. A learner that looks for sparsity could exploit it; one layer of linear attention cannot see it.
# ```

# %% [markdown]
# ## What preconditioning buys
#
# Plain gradient descent at its best step is the fair competitor. From the risk of any $\Gamma$, set at $\Gamma = n\eta I$, its
# best step and risk follow; regression on random prompts under Theorem 2's prior agrees:

# %%
plain_eta, plain_risk = theory.plain_gd(law)
measured_eta, measured_risk = task_laws.plain_gd_by_regression(
    law, budget.prompts, stream("plain descent")
)
ledger.claims({
    "plain_gd.step_size": (plain_eta, measured_eta),
    "plain_gd.risk": (plain_risk, measured_risk),
})

# %% [markdown]
# At the other end stands the Bayes predictor. Under Theorem 2's prior its risk does not depend on $H$, so the exact value of
# chapter 1 applies; Monte Carlo over $X$ with our $H$ confirms it:

# %%
(bayes,) = condition_sweep.bayes_risks([law], draws, stream("Bayes"))
bayes_floor = theorem1.lemma1_constant(d, n, sigma2)
ledger.claims({"thm2.bayes": (bayes_floor, bayes)})

# %% tags=["hide-input", "remove-output"]
grid, trained_at = np.geomspace(1, 1000, 19), conditions
sweeps = {
    title: condition_sweep.condition_sweep(
        parameters, axes, prior, grid, trained_at, draws, stream(prior)
    )
    for title, prior in [
        (r"$w \sim N(0, H^{-1})$", "inverse"),
        (r"$w \sim N(0, I)$", "identity"),
    ]
}
ledger.figure(condition_pictures.against_condition(sweeps))

# %% [markdown]
# ```{glue:figure} fig-against_condition
# :name: fig-against-condition
#
# Excess risk as a share of the signal $\operatorname{tr}(H\Psi)$: 1 is predicting zero. Left, under Theorem 2's prior, plain
# gradient descent leaves {glue:text}`plain_lost_1:.0%` of the signal unexplained at condition number 1 and
# {glue:text}`plain_lost_1000:.0%` at 1000; the preconditioned step does not notice. Right, with $w \sim N(0, I)$, weak directions
# carry little signal, so there is less to gain: the matrix saves at most {glue:text}`gain_identity_percent:.0f` % of plain
# gradient descent's excess, and for a nearly degenerate $H$ both have fewer directions left to learn.
# ```
#
# Least squares, shown where $n \ge d + 2$, needs no prior; in the left panel it all but covers the Bayes curve when the noise is
# small. In both panels the gap from the preconditioned step down to Bayes is the price of not looking at this prompt's own $X^\top X$. The
# preconditioner knows the population; only the prompt knows its sample.

# %% [markdown]
# ## Away from home
#
# The learned matrix is a fixed property of the training distribution. The risk of *any* $\Gamma$ on *any* prompts has a closed form
# ({cite:t}`zhang2024block`, eq. 6.1):
#
# ```{math}
# :label: eq-any-gamma
# \mathcal R(\Gamma) = \sigma^2 + \operatorname{tr}(H\Psi) - 2 \operatorname{tr}(H\Gamma H\Psi)
# + \operatorname{tr}\!\Big( H\Gamma \Big[ \frac{n+1}{n} H\Psi H + \frac{\tau}{n} H \Big] \Gamma^\top \Big) ,
# ```
#
# with $H$, $\Psi$, $n$, $\sigma^2$ those of the *test* prompts. So we can say in advance what happens elsewhere.
#
# **Another covariance.** We train on $H$ with $\Psi = I$ and turn $H$ at test, in the plane of its strongest and its weakest
# axis. At 90 degrees the two have changed places. The claim is about that end; the trained weights face random prompts:

# %%
elsewhere = {
    angle: PromptLaw(
        n, chapter.turned(H, angle), np.eye(d), np.zeros(d), sigma2
    )
    for angle in (0.0, np.pi / 4, np.pi / 2)
}
moved = {
    angle: chapter.measured_risk(
        weights, there, budget.prompts, stream("turned", k)
    )
    for k, (angle, there) in enumerate(elsewhere.items())
}
transferred = theory.risk(best, elsewhere[np.pi / 2])
ledger.claims({"transfer.risk": (transferred, moved[np.pi / 2])})

# %% tags=["hide-input", "remove-output"]
ledger.figure(pictures.transfer(identity, best, moved))

# %% [markdown]
# ```{glue:figure} fig-transfer
# :name: fig-transfer
#
# A preconditioner for the wrong covariance amplifies what it should damp. Turned by 90 degrees, the risk is
# {glue:text}`transfer.risk.predicted:.3f` instead of {glue:text}`zero_mean.risk.predicted:.3f`. Plain gradient descent, which knows
# no axes, has {glue:text}`plain_identity:.3f` at every angle, and predicting zero has {glue:text}`zero_risk:.3f`.
# ```
#
# **Another context length.** We train at $n =$ {glue:text}`n:.0f` and show the model fewer or more examples:

# %%
lengths = sorted({max(1, n // 4), n, 4 * n})
longer = {
    k: PromptLaw(k, H, identity.Psi, np.zeros(d), sigma2) for k in lengths
}
at_length = {
    k: chapter.measured_risk(
        weights, there, budget.prompts, stream("length", k)
    )
    for k, there in longer.items()
}
at_4n = theory.risk(best, longer[4 * n])
ledger.claims({"zero_mean.length_generalisation": (at_4n, at_length[4 * n])})

# %% tags=["hide-input", "remove-output"]
ledger.figure(
    pictures.other_lengths(
        identity, best, chapter1.context_lengths(n, 40), at_length
    )
)

# %% [markdown]
# ```{glue:figure} fig-other_lengths
# :name: fig-other-lengths
#
# More examples help a model trained at $n =$ {glue:text}`n:.0f`, but only down to {glue:text}`length_floor:.3f`: its shrinkage was fixed
# for {glue:text}`n:.0f` examples, and with infinitely many it still shrinks. Retrained at each length (dashed) the risk would go to
# $\sigma^2 =$ {glue:text}`sigma2:g`. With far fewer examples the same matrix is too
# bold, and the risk can exceed that of predicting zero, {glue:text}`zero_risk:.3f`.
# ```

# %% [markdown]
# ## Questions readers of the paper asked
#
# **Is the minimiser unique?** The function is, the weights are not. For $d \ge 2$ and invertible $H$ the product $cV$ is
# determined and $v = u = 0$ (`thm2.minimisers`: {glue:text}`starts_reached:.0f` ends of the search agree to
# {glue:text}`thm2.minimisers.measured:.0e`); how the product is split among four matrices is free. At $d = 1$ there is the second
# family of chapter 1, and for singular $H$ the matrix is free where $x$ never goes.
#
# **How large is $\eta^\ast$ beside $2/\lambda_{\max}$?** Gradient descent on one prompt's loss, preconditioned with $H^{-1}$, diverges
# for steps above $2/\lambda_{\max}$, $\lambda_{\max}$ the largest eigenvalue of $H^{-1/2} X^\top X H^{-1/2}$, a white Wishart matrix. If
# "$\lambda_{\max}$" is that of the *average* Hessian $nI$, then $\eta^\ast$ is {glue:text}`average_ratio:.2f` of the limit. Per prompt
# $\lambda_{\max}$ is larger, up to about $(\sqrt n + \sqrt d)^2$, and the step is closer to the edge. On average it never crosses it,
# whatever $d$, $n$ and $\sigma^2$ are:

# %%
edge = chapter.stability(d, n, eta, 4 * draws, stream("stability"))
bound = theory.stability_bound(d, n, sigma2)
ledger.claims({"thm2.step_stability": (bound, edge.mean)})

# %% [markdown]
# ```{admonition} Why never
# :class: dropdown
# Let $s$ be the largest singular value of an $n \times d$ standard Gaussian matrix. Gordon's inequality says
# $\mathbb E s \le \sqrt n + \sqrt d$, and the Gaussian Poincaré inequality $\operatorname{Var} s \le 1$, because $s$ is 1-Lipschitz. So
# $\mathbb E \lambda_{\max} \le (\sqrt n + \sqrt d)^2 + 1 \le 2(n + d) + 1 < 2 (n + d + 1 + \sigma^2) = 2/\eta^\ast$.
# The closest call is $n = d$.
# ```

# %% tags=["hide-input", "remove-output"]
ns = chapter1.context_lengths(n, 12)
steps_at = [theorem1.step_size(d, int(k), sigma2) for k in ns]
edges = [
    chapter.stability(d, int(k), step, 2000, stream("stability at n", k)).mean
    for k, step in zip(ns, steps_at, strict=True)
]
bounds = [theory.stability_bound(d, int(k), sigma2) for k in ns]
ledger.figure(pictures.stability(edge, ns, edges, bounds))

# %% [markdown]
# ```{glue:figure} fig-stability
# :name: fig-stability
#
# Left: $\eta^\ast$ in units of $2/\lambda_{\max}$, prompt by prompt. The mean is {glue:text}`thm2.step_stability.measured:.3f`; in
# {glue:text}`unstable_percent:.2f` % of prompts the step is beyond the edge, where repeating it would diverge. Right: the mean against
# the context length, below the bound and below 1. The best single step is a bold one, not an infinitesimal one.
# ```
#
# **Why $w \sim N(0, H^{-1})$?** Because it is the prior for which the answer is a multiple of $H^{-1}$. For invertible matrices
# $\Gamma^{\ast -1} = \tfrac{n+1}{n} H + \tfrac{\tau}{n} \Psi^{-1}$, and this is a multiple of $H$ only if $\Psi^{-1}$ is. Whitened, the learned step
# then treats every direction alike: the ratio of its largest to its smallest eigenvalue is 1. With $w \sim N(0, I)$ the strong
# directions are trusted more.

# %%
trust = theory.shrinkage(identity)
predicted, measured = trust[-1] / trust[0], chapter.spread(weights, H)
ledger.claims({
    "prior.spread_inverse": (1, chapter.spread(found.best, H)),
    "prior.spread_identity": (predicted, measured),
})

# %% [markdown]
# **What changes with $w \sim N(0, I)$?** The matrix, the step and the risk. Suppose one kept Theorem 2's direction $H^{-1} X^\top y$ and
# tuned only its length:

# %%
newton = theory.best_multiple(law.Psi, identity) * law.Psi
newton_measured = chapter.measured_risk(
    chapter.one_step(newton), identity, budget.prompts, stream("one step")
)
newton_risk = theory.risk(newton, identity)
ledger.claims({"prior.newton_direction": (newton_risk, newton_measured)})

# %% [markdown]
# The optimum is {glue:text}`zero_mean.risk.predicted:.4f`, $H^{-1}$ has {glue:text}`prior.newton_direction.predicted:.4f`, and the
# plain step {glue:text}`plain_identity:.4f`: {glue:text}`newton_percent:.0f` % more excess risk with the full inverse,
# {glue:text}`plain_percent:.0f` % more with no matrix at all. At condition number 1000 the two are
# {glue:text}`newton_percent_1000:.0f` % and {glue:text}`plain_percent_1000:.0f` %. Tasks that do not favour weak
# directions call for something between $I$ and $H^{-1}$, and $\Gamma^\ast$ is exactly that.

# %% [markdown]
# ## Move it yourself
#
# Each direction of $x$ on its own, for $H$ and $\Psi$ with common axes. Left: how far the step goes in a direction, from 0 (ignore the
# examples) to 1 (believe them). Right: the excess risk that this leaves. Dots are the eigenvalues of $H$. Raise $n$ and the learned curve flattens
# towards $H^{-1}$, from the strong directions on; switch the law of the task and it is flat at once. **A question:** can you make plain
# gradient descent nearly as good as the learned matrix, without touching $\kappa$?
#
# ```{admonition} Answer
# :class: dropdown
# Take few examples and much noise, with $w \sim N(0, I)$. The learned share is $n\varphi / ((n+1)\varphi + \tau)$ with $\varphi = h$, and
# where $\tau$ dwarfs $(n+1)\varphi$ in every direction this is $n h/\tau$, proportional to $h$: that is plain gradient descent. It is the matrix for
# those who know little, $H^{-1}$ the one for those who know much.
# ```

# %% tags=["hide-input"]
explorable(parameters)

# %% [markdown]
# ## What the theory does not say
#
# - **One matrix for all prompts.** It corrects for the covariance of the *population*, and cannot correct for a
#   prompt's own sample, nor adapt when each prompt has a covariance ({ref}`ex-loud`) or a kind of task ({ref}`ex-mixture`) of its own.
# - **The data.** Covariates are Gaussian: their fourth moments are in $\Omega$. Tasks have mean zero, or the optimum is not a step from
#   zero ({doc}`/notebooks/04_mlp_benefit`); and a symmetric law, or a step is not all that attention can do ({ref}`ex-skewed`). The same $H$, $n$ and $\sigma^2$ rule in
#   training and test.
# - **Training.** The theorems speak of the global minimum of the population risk. Random starts can end in false valleys, of which there is no
#   complete list for correlated covariates. {numref}`fig-adam-condition` shows one training for each condition number, with one schedule: an
#   illustration that bad conditioning costs time, not a law of how much. Finite data are not covered.
# - **Stability.** That $\eta^\ast$ stays below $2/\lambda_{\max}$ is proved on average over prompts; single prompts cross the edge.
# - **One step stays one step.** The Bayes risk under Theorem 2's prior is {glue:text}`thm2.bayes.predicted:.4f`, against
#   {glue:text}`thm2.risk.predicted:.4f`. What several layers, each with a matrix of its own, attain at best is open ({ref}`ex-layers`).

# %% tags=["hide-input", "remove-output"]
random_ends = search.restarts(
    identity, budget.restarts // 2, stream("random starts")
)
inverse, same = sweeps.values()


def excess_over_signal(sweep, k):
    """Share of the signal that plain GD leaves, at the k-th condition number."""
    at = sweep.laws[k]
    return (theory.plain_gd(at)[1] - sigma2) / (moments.tau(at) - sigma2)


def percent_above(P, at):
    """By how much the best multiple of P exceeds the least excess risk."""
    excess = theory.risk(theory.best_multiple(P, at) * P, at) - sigma2
    return 100 * (excess / (theory.minimal_risk(at) - sigma2) - 1)


plain_identity = theory.plain_gd(identity)[1]
severe, severe_inverse = same.laws[-1], inverse.laws[-1].Psi
saved = [
    100 * (1 - 1 / (1 + percent_above(np.eye(d), at) / 100)) for at in same.laws
]
endless = PromptLaw(10**9, H, identity.Psi, np.zeros(d), sigma2)
numbers = {
    "d": d,
    "n": n,
    "sigma2": sigma2,
    "condition": condition,
    "batch": budget.batch,
    "trainings": budget.trainings,
    "steps": budget.schedule.steps,
    "starts": len(found.risks),
    "starts_reached": len(reached),
    "random_starts": len(random_ends.risks),
    "random_reached": random_ends.reached(least).sum(),
    "random_worst": random_ends.risks.max(),
    "excess_1": excess[0],
    "excess_1000": excess[-1],
    "bend_noise": sigma2 / n,
    "bend_tau": tau / (n + 1),
    "bend_ratio": tau / (n + 1) * n / sigma2 if sigma2 > 0 else np.inf,
    "regression_prompts": budget.prompts // 2,
    "plain_lost_1": excess_over_signal(inverse, 0),
    "plain_lost_1000": excess_over_signal(inverse, -1),
    "gain_identity_percent": max(saved),
    "plain_identity": plain_identity,
    "length_floor": theory.risk(best, endless),
    "average_ratio": n * eta / 2,
    "unstable_percent": 100 * edge.unstable.mean,
    "zero_risk": tau,
    "newton_percent": percent_above(law.Psi, identity),
    "plain_percent": percent_above(np.eye(d), identity),
    "newton_percent_1000": percent_above(severe_inverse, severe),
    "plain_percent_1000": percent_above(np.eye(d), severe),
}
for name, value in numbers.items():
    ledger.number(name, value)

# %% [markdown]
# ## Exercises
#
# ★ a pencil and ten minutes; ★★ more thought, or a few lines of code; ★★★ a proof; ◇ open: nobody we know of has
# answered it. The code in the solutions ran with this page, at sizes of its own, and stops the page if a number is off.
#
# ```{exercise} How many examples a direction needs ★
# :label: ex-direction
# Take $\Psi = I$. Along an axis of $H$ with eigenvalue $h$ the estimate of the task is on average $g\,w$ with some $g < 1$.
#
# 1. Compute $g$, and the context length at which $g = \tfrac12$.
# 2. Compare with ridge regression with the true noise, replacing $X^\top X$ by its mean $nH$.
# ```
#
# ```{solution} ex-direction
# :label: sol-direction
# :class: dropdown
# 1. $\mathbb E[\tfrac1n \Gamma^\ast X^\top y \mid w] = \Gamma^\ast H w$, so $g = \frac{nh}{(n+1)h + \tau}$, and $g = \tfrac12$ at
#    $n = 1 + \tau/h$.
# 2. Ridge regression has $g = \frac{nh}{nh + \sigma^2}$, and needs $n = \sigma^2/h$.
#
# On this page the strongest direction ($h = 1$) needs {glue:text}`ex_strong:.1f` examples and the weakest {glue:text}`ex_weak:.0f`; ridge
# regression {glue:text}`ex_strong_ridge:.2f` and {glue:text}`ex_weak_ridge:.1f`. One step must wait until the signal along $h$ stands out from the
# labels' *whole* variance $\tau$, because it cannot subtract what the other directions contribute.
# ```
#
# ```{exercise} The price of a plain step ★
# :label: ex-participation
# Under Theorem 2's prior the preconditioned step explains the part $E^\ast = d + \sigma^2 - L_{\min}$ of the labels' variance. Show that plain gradient
# descent at its best step explains $p\,E^\ast$ with
#
# $$
# p = \frac{(\operatorname{tr} H)^2}{d \operatorname{tr} H^2} .
# $$
#
# What is $p$ for the mildest and for the most extreme $H$?
# ```
#
# ```{solution} ex-participation
# :label: sol-participation
# :class: dropdown
# Here $\Phi = I$ and $\Omega = \omega I$ with $\omega = \frac{n + 1 + d + \sigma^2}{n}$. In the proof of {prf:ref}`thm-zero-mean` a step with
# $\Gamma = gI$ has $G = gH$, and explains $2 g \operatorname{tr} H - g^2 \omega \operatorname{tr} H^2$, at most
# $\frac{(\operatorname{tr} H)^2}{\omega \operatorname{tr} H^2}$. With $G = gI$ the same computation gives $E^\ast = d/\omega$. The quotient is $p$.
#
# $p$ is the *participation ratio* of the eigenvalues as a share of $d$: by Cauchy and Schwarz it is at most $1$, for $H = hI$, and at
# least $1/d$, when one direction has everything. Neither $n$ nor $\sigma^2$ matters: more examples never make up for the missing matrix. On this page
# $p =$ {glue:text}`ex_participation:.4f`; the two risks measured above give {glue:text}`ex_participation_measured:.4f`.
# ```
#
# ```{exercise} Two kinds of tasks ★★
# :label: ex-mixture
# Half of the prompts have tasks $w \sim N(0, \Psi_1)$, the other half $w \sim N(0, \Psi_2)$, and nothing says which is which.
#
# 1. What is the best preconditioner?
# 2. Let $d = 4$, $H = I$, $\Psi_1 = \operatorname{diag}(2, 2, 0, 0)$, $\Psi_2 = \operatorname{diag}(0, 0, 2, 2)$, $n = 10$, $\sigma^2 = \tfrac14$. What would it be worth to know the
#    kind? Check your answer to the first question by regression.
# ```
#
# ```{solution-start} ex-mixture
# :label: sol-mixture
# :class: dropdown
# ```
#
# **1.** The law of $w$ enters the proof of {prf:ref}`thm-zero-mean` through its sign symmetry and through moments that are affine in
# $\mathbb E\,ww^\top$. Both kinds are symmetric, so the answer is the $\Gamma^\ast$ of the mean, $\Psi = \tfrac12(\Psi_1 + \Psi_2)$. This
# holds for any mixture: linear attention cannot *recognise* a task family.
#
# **2.** The mean is $I$: four directions, risk {glue:text}`ex_mixture_blind:.4f`. Who knows the kind has two directions of variance 2, risk
# {glue:text}`ex_mixture_told:.4f`. A few examples would tell the kinds apart; one linear layer cannot make use of it.

# %%
blind = PromptLaw.isotropic(4, 10, 0.25)
told = PromptLaw(10, np.eye(4), np.diag([2.0, 2, 0, 0]), np.zeros(4), 0.25)


def either_kind(rng, B):
    """Tasks in the first two or the last two coordinates, a coin decides."""
    here = np.arange(4) // 2 == rng.integers(2, size=(B, 1))
    return np.sqrt(2) * here * rng.standard_normal((B, 4))


mixture = task_laws.best_matrix(
    task_laws.OtherTasks(blind, either_kind),
    blind,
    60_000,
    stream("exercise: blind"),
)
for name, found, formula in (
    ("matrix, relative to the formula", mixture.ratio, 1),
    ("its risk", mixture.risk, theory.minimal_risk(blind)),
):
    measured = f"{found.mean:.4f} ± {found.stderr:.4f}"
    print(f"{name}: measured {measured}, formula {formula:.4f}")
    assert abs(found.mean - formula) < 5 * found.stderr

# %% [markdown]
# ```{solution-end}
# ```
#
# ```{exercise} Loud prompts ★★
# :label: ex-loud
# Each prompt has a volume of its own: $x_i, x \sim N(0, sI)$ with one random $s > 0$ for the whole prompt, $w \sim N(0, I)$.
#
# 1. Show that the best linear attention is plain gradient descent, with
#    $\eta = 1 \big/ \big\{ (n + d + 1)\, \tfrac{\mathbb E s^3}{\mathbb E s^2} + \sigma^2 \big\}$.
# 2. Measure it for $s = \tfrac12$ or $\tfrac32$, equally likely, at $d = 5$, $n = 20$, $\sigma^2 = \tfrac14$. Which prompts does it suit?
# ```
#
# ```{solution-start} ex-loud
# :label: sol-loud
# :class: dropdown
# ```
#
# **1.** Prompts are rotation invariant, so the symmetry argument of chapter 1 gives a plain step. Given $s$,
#
# $$
# \mathbb E\,[y\, x^\top X^\top y_{1:n}] = n d s^2 , \qquad \mathbb E\,(x^\top X^\top y_{1:n})^2 = n d s^2\,[(n + d + 1)s + \sigma^2] .
# $$
#
# Average over $s$ and divide.
#
# **2.** $\mathbb E s^3/\mathbb E s^2 = 1.4$: the step is that of prompts with $s = 1.4$, nearly the louder kind. Quiet prompts would like
# a step {glue:text}`ex_loud_quiet:.1f` times as long, but a step that is too long costs loud prompts more than a short one costs quiet ones. An algorithm
# that looks at its own prompt would divide by the sample variance; one linear layer cannot.

# %%
from icl.estimates import joint_monte_carlo
from icl.solvers.linear import gradient_step

unit = PromptLaw.isotropic(5, 20, 0.25)
rng = stream("exercise 4")


def with_volume(B):
    """Coefficients of the loss parabola."""
    batch = unit.sample(rng, B)
    root = np.sqrt(rng.choice([0.5, 1.5], B))[:, None]
    X, x_query = root[..., None] * batch.X, root * batch.x_query
    noise = batch.y - np.einsum("bnd,bd->bn", batch.X, batch.beta)
    y = np.einsum("bnd,bd->bn", X, batch.beta) + noise
    guess = (x_query * gradient_step(X, y, 1.0)).sum(1)
    return np.stack([guess * (x_query * batch.beta).sum(1), guess**2], axis=1)


loud_step = joint_monte_carlo(with_volume, 60_000).vertex()
formula = 1 / (1.4 * (20 + 5 + 1) + 0.25)
print(f"measured {loud_step.mean:.5f} ± {loud_step.stderr:.5f}")
print(f"formula  {formula:.5f}")
assert abs(loud_step.mean - formula) < 5 * loud_step.stderr

# %% [markdown]
# ```{solution-end}
# ```
#
# ```{exercise} What skewness is worth ★★★
# :label: ex-skewed
# Only $\mathbb E\,ww^\top$ matters, *if the law of $w$ is symmetric*. Let now $H = I$ and let the coordinates of $w$ be independent with mean 0,
# variance 1, third moment $\mu_3$ and fourth moment $\mu_4$.
#
# 1. Show that linear attention can add to its gradient step a multiple of $s = \|y\|^2/n$, in any direction, and that this
#    lowers the risk as soon as $\mu_3 \ne 0$.
# 2. Compute the best risk of $\tfrac1n \Gamma X^\top y + s\,u$.
# 3. Check it for $w_j + 1$ exponential ($\mu_3 = 2$, $\mu_4 = 9$) at $d = 2$, $n = 20$, $\sigma^2 = \tfrac14$.
# ```
#
# ```{solution-start} ex-skewed
# :label: sol-skewed
# :class: dropdown
# ```
#
# **1.** With $v = 0$, $c = 1$, $V = \Gamma^\top$ the output is $x^\top\big(\tfrac1n \Gamma X^\top y + s\,u\big)$, and $u$ is free. Given $w$,
# $\mathbb E s = \|w\|^2 + \sigma^2$, so $\mathbb E[s\,w] = \mu_3 \mathbf 1$: the size of the labels says something about the sign of the task. Given
# $w$, $\mathbb E[s \cdot \tfrac1n X^\top y] = \tfrac{n+2}{n}(\|w\|^2 + \sigma^2)\,w$. So after the best multiple of $X^\top y$ is taken out of $w$ its covariance with
# $s$ is $\mu_3 \mathbf 1\,\big(1 - \tfrac{n+2}{n\omega}\big)$ with $\omega = \tfrac{n + 1 + d + \sigma^2}{n}$, not zero (but for
# $d + \sigma^2 = 1$), and regression on $s$ helps.
#
# **2.** It is a linear regression of $w$ on $(\tfrac1n X^\top y,\, s)$. With $m = \tfrac{n+2}{n}\mu_3$ and
#
# $$
# q = \mathbb E s^2 = \tfrac{n+2}{n}\big[(d + \sigma^2)^2 + d\,(\mu_4 - 1)\big] ,
# $$
#
# it has the risk
#
# $$
# \mathcal R = \sigma^2 + d - \operatorname{tr} B^\top M^{-1} B, \qquad
# M = \begin{pmatrix} \omega I & m \mathbf 1 \\ m \mathbf 1^\top & q \end{pmatrix}, \quad
# B = \begin{pmatrix} I \\ \mu_3 \mathbf 1^\top \end{pmatrix} .
# $$
#
# **3.** {glue:text}`ex_skewed_risk:.5f` instead of {glue:text}`ex_skewed_plain:.5f`: real, and small. (Whether all weights
# together can do still better is not asked here.)

# %%
skew_d, skew_n, noise = 2, 20, 0.25
omega = (skew_n + 1 + skew_d + noise) / skew_n
spread = (skew_n + 2) / skew_n
q = spread * ((skew_d + noise) ** 2 + skew_d * (9 - 1))
ones = np.ones((skew_d, 1))
M = np.block([
    [omega * np.eye(skew_d), 2 * spread * ones],
    [2 * spread * ones.T, q],
])
B = np.vstack([np.eye(skew_d), 2 * ones.T])
skewed_risk = noise + skew_d - np.trace(B.T @ np.linalg.solve(M, B))
plain_skewed = theorem1.minimal_risk(skew_d, skew_n, noise)

sampler = task_laws.OtherTasks(
    PromptLaw.isotropic(skew_d, skew_n, noise),
    lambda rng, B: rng.exponential(size=(B, skew_d)) - 1,
)
fit_to, test_on = (
    sampler.sample(stream("exercise: skewness", k), 150_000) for k in (0, 1)
)


def estimators(batch):
    """X'y/n and, beside it, s."""
    s = (batch.y**2).mean(axis=1, keepdims=True)
    return np.hstack([gradient_step(batch.X, batch.y, 1 / skew_n), s])


with_s, _, _, _ = np.linalg.lstsq(estimators(fit_to), fit_to.beta)
plain = np.eye(skew_d) / omega
guesses = estimators(test_on)
losses = [
    ((test_on.beta - guess) ** 2).sum(1)
    for guess in (guesses @ with_s, guesses[:, :skew_d] @ plain)
]
gain = losses[1] - losses[0]
error = gain.std() / np.sqrt(len(gain))
print(f"gain measured {gain.mean():.5f} ± {error:.5f}")
print(f"gain by the formula {plain_skewed - skewed_risk:.5f}")
assert abs(gain.mean() - (plain_skewed - skewed_risk)) < 5 * error

# %% [markdown]
# ```{solution-end}
# ```
#
# ```{exercise} A matrix for every layer? ◇
# :label: ex-layers
# Stack $L$ layers, each a preconditioned step with a matrix $\Gamma_l$ of its own, for $H = \Psi = I$. Is the best choice of all the matrices
# together a multiple of $I$ in every layer?
# ```
#
# ```{solution} ex-layers
# :label: sol-layers
# :class: dropdown
# **Known:** for $L = 1$ yes, that is chapter 1. The proof there does not carry over: with two layers the prediction is no longer *linear* in
# the weights, so the loss is not convex in them and averaging over rotations need not lower it. {cite:t}`ahn2023` find, for several layers and weights of a
# restricted form, critical points of the loss at which every layer is a preconditioned step. That one of them is the minimum is
# not proved. Among multiples of $I$ the best ones can be computed ({ref}`ex-more-steps`).
#
# **Open:** the minimum over all $\Gamma_1, \dots, \Gamma_L$, already for $L = 2$. A counterexample would be as welcome as a proof: the
# exact loss is a polynomial in Gaussian moments, and a search over $\Gamma_1, \Gamma_2$ at $d = 2$ is an evening's work.
# ```

# %% tags=["hide-input", "remove-output"]
strongest, weakest = np.linalg.eigvalsh(H)[[-1, 0]]
explained_by_plain = d + sigma2 - measured_risk.mean
explained_by_matrix = d + sigma2 - lowest
exercise_numbers = {
    "ex_strong": 1 + tau / strongest,
    "ex_weak": 1 + tau / weakest,
    "ex_strong_ridge": sigma2 / strongest,
    "ex_weak_ridge": sigma2 / weakest,
    "ex_participation": np.trace(H) ** 2 / (d * np.trace(H @ H)),
    "ex_participation_measured": explained_by_plain / explained_by_matrix,
    "ex_mixture_blind": theory.minimal_risk(blind),
    "ex_mixture_told": theory.minimal_risk(told),
    "ex_loud_quiet": theory.plain_gd(
        PromptLaw(20, np.eye(5) / 2, np.eye(5), np.zeros(5), 0.25)
    )[0]
    / loud_step.mean,
    "ex_skewed_risk": skewed_risk,
    "ex_skewed_plain": plain_skewed,
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
