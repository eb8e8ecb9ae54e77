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
# ```

# %% tags=["hide-input"]
import numpy as np
from icl.chapters import attention, conditioning, task_laws
from icl.chapters import one_step_gd as chapter1
from icl.chapters import preconditioned_gd as chapter
from icl.claims import Claims, Ledger
from icl.parameters import check_parameters
from icl.pictures import conditioning as condition_pictures
from icl.pictures import preconditioned_gd as pictures
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
parameters = check_parameters(
    "02_preconditioned_gd",
    d=d,
    n=n,
    sigma2=sigma2,
    condition=condition,
    seed=seed,
    profile=profile,
)
ledger = Ledger("02_preconditioned_gd", parameters)
budget = chapter1.budget(parameters)
draws = max(200, budget.prompts // 50)  # of matrices X


def stream(number):
    """The random numbers of one experiment, independent of every other."""
    return np.random.default_rng([seed, number])


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
H = chapter.covariance(parameters)
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
# nothing of $H$:

# %%
found = attention.restarts(law, budget.restarts, stream(4))
ledger.decide("thm2.risk", predicted=floor, measured=found.risks.min())

# %% [markdown]
# To compare matrices we look at them as the data do. **Whitened**, $H^{1/2} \Gamma H^{1/2}$ acts on standard Gaussian
# covariates, and $H^{-1}$ becomes the identity.

# %%
step = attention.learned_step(chapter.whitened(found.best, H), n)
far = chapter.distance(found.best, target, H)
Claims(
    [
        ledger.decide("thm2.step_size", predicted=eta, measured=step),
        ledger.decide("thm2.preconditioner", predicted=0, measured=far),
    ]
)

# %% [markdown]
# {glue:text}`starts_reached:.0f` of {glue:text}`starts:.0f` random starts reached the least loss, and all of these have
# $v = 0$, $u = 0$ and the same product $cV$:

# %%
reached = [found.weights[k] for k in np.flatnonzero(found.reached(floor))]
distances = [
    chapter1.distance_from_family(chapter.whitened(end, H), d, n, sigma2)
    for end in reached
]
ledger.decide(
    "thm2.minimisers", predicted=0, measured=max(distances, default=np.inf)
)

# %% [markdown]
# **With noise.** Adam, {glue:text}`batch:.0f` fresh prompts a step, {glue:text}`trainings:.0f` times over:

# %%
trained = chapter1.trainings(law, budget, budget.trainings, seed)
risk = attention.mean_over_trainings(
    [attention.exact_risk(law, run.weights) for run in trained]
)
off = attention.mean_over_trainings(
    [chapter.distance(run.weights, target, H) for run in trained]
)
Claims(
    [
        ledger.decide_estimate(
            "thm2.sampled_risk", predicted=floor, estimate=risk
        ),
        ledger.decide_estimate(
            "thm2.sampled_preconditioner", predicted=0, estimate=off
        ),
    ]
)

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
runs = conditioning.adam_against_condition(parameters, budget, conditions)
excess = conditioning.excess_percent(parameters, conditions, runs)
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
weights = chapter.descend(identity, stream(5))
best = theory.preconditioner(identity)
Claims(
    [
        ledger.decide(
            "zero_mean.risk",
            predicted=theory.minimal_risk(identity),
            measured=attention.exact_risk(identity, weights),
        ),
        ledger.decide(
            "zero_mean.preconditioner",
            predicted=0,
            measured=chapter.distance(weights, best, H),
        ),
    ]
)

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
ledger.decide(
    "zero_mean.ridge_reading",
    predicted=moments.tau(identity),
    measured=chapter.learned_penalty(weights, identity),
)

# %% tags=["hide-input", "remove-output"]
ledger.figure(pictures.eigenvalues(identity, weights))

# %% [markdown]
# ```{glue:figure} fig-eigenvalues
# :name: fig-eigenvalues
#
# The learned preconditioner along the axes of $H$. Newton's method would use $1/h$ (dotted). Ridge regression with
# the true noise would bend away from it around $h = \sigma^2/n =$ {glue:text}`bend_noise:.4f` (blue); attention bends around
# $h = \tau/(n+1) =$ {glue:text}`bend_tau:.4f`, {glue:text}`bend_ratio:.0f` times as high. Below that the curve levels off:
# weak directions are amplified less and less of what Newton's method would.
# ```

# %% [markdown]
# ### When the axes disagree, and when there are none
#
# Nothing requires $\Psi$ to share the axes of $H$. Here is one that does not, with condition number 10 and axes of its own.
# The two matrices do not commute, yet $\Gamma^\ast$ is symmetric:

# %%
Psi = chapter.random_prior(d, stream(1))
skewed = chapter.with_prior(H, Psi, parameters)
ends = chapter.descend(skewed, stream(6))
Claims(
    [
        ledger.decide(
            "zero_mean.noncommuting_risk",
            predicted=theory.minimal_risk(skewed),
            measured=attention.exact_risk(skewed, ends),
        ),
        ledger.decide(
            "zero_mean.noncommuting_preconditioner",
            predicted=0,
            measured=chapter.distance(ends, theory.preconditioner(skewed), H),
        ),
    ]
)

# %% [markdown]
# Nor must either matrix be invertible. First we flatten the covariates: the smaller half of $H$'s eigenvalues becomes 0
# (Theorem 2's prior then does not exist, and the package says so when asked for it). What
# the preconditioner does on directions that never occur cannot matter, and indeed moving it there leaves the risk as it was.

# %%
names = [
    "zero_mean.singular_H",
    "zero_mean.singular_H_preconditioner",
    "zero_mean.singular_H_freedom",
]
if d == 1:
    reason = "d = 1: without its one direction there is nothing to learn"
    flat_claims = [ledger.not_run(name, reason) for name in names]
else:
    flat_H = chapter.without_directions(H, d // 2)
    flat = chapter.with_prior(flat_H, np.eye(d), parameters)
    ends = chapter.descend(flat, stream(7))
    measured = [
        (theory.minimal_risk(flat), attention.exact_risk(flat, ends)),
        (0, chapter.distance(ends, theory.preconditioner(flat), flat_H)),
        (0, chapter.change_off_support(ends, flat, stream(8))),
    ]
    flat_claims = [
        ledger.decide(name, predicted=predicted, measured=value)
        for name, (predicted, value) in zip(names, measured, strict=True)
    ]
Claims(flat_claims)

# %% [markdown]
# Then the tasks: $w$ lives in a subspace, half of the eigenvalues of the skewed $\Psi$ being 0. The preconditioner learns
# to look only there.

# %%
names = ["zero_mean.singular_Psi", "zero_mean.singular_Psi_preconditioner"]
if d == 1:
    thin_claims = [ledger.not_run(name, reason) for name in names]
else:
    thin_Psi = chapter.without_directions(Psi, d // 2)
    thin = chapter.with_prior(H, thin_Psi, parameters)
    ends = chapter.descend(thin, stream(9))
    measured = [
        (theory.minimal_risk(thin), attention.exact_risk(thin, ends)),
        (0, chapter.distance(ends, theory.preconditioner(thin), H)),
    ]
    thin_claims = [
        ledger.decide(name, predicted=predicted, measured=value)
        for name, (predicted, value) in zip(names, measured, strict=True)
    ]
Claims(thin_claims)

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
        sampler, identity, budget.prompts // 2, stream(10 + k)
    )
    for k, (name, sampler) in enumerate(samplers.items())
}

# %%
others = [regressions["sparse"], regressions["Rademacher"]]
ratios = [regression.ratio for regression in others]
risks = [regression.risk for regression in others]
least = theory.minimal_risk(identity)
Claims(
    [
        ledger.decide_estimate(
            "zero_mean.only_second_moment",
            predicted=1,
            estimate=task_laws.further_off(ratios, 1),
        ),
        ledger.decide_estimate(
            "zero_mean.only_second_moment_risk",
            predicted=least,
            estimate=task_laws.further_off(risks, least),
        ),
    ]
)

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
    law, budget.prompts, stream(14)
)
Claims(
    [
        ledger.decide_estimate(
            "plain_gd.step_size", predicted=plain_eta, estimate=measured_eta
        ),
        ledger.decide_estimate(
            "plain_gd.risk", predicted=plain_risk, estimate=measured_risk
        ),
    ]
)

# %% [markdown]
# At the other end stands the Bayes predictor. Under Theorem 2's prior its risk does not depend on $H$, so the exact value of
# chapter 1 applies; Monte Carlo over $X$ with our $H$ confirms it:

# %%
(bayes,) = conditioning.bayes_risks([law], draws, stream(15))
ledger.decide_estimate(
    "thm2.bayes",
    predicted=theorem1.lemma1_constant(d, n, sigma2),
    estimate=bayes,
)

# %% tags=["hide-input", "remove-output"]
grid, trained_at = np.geomspace(1, 1000, 19), conditions
sweeps = {
    title: conditioning.condition_sweep(
        parameters, prior, grid, trained_at, draws, stream(number)
    )
    for title, prior, number in [
        (r"$w \sim N(0, H^{-1})$", "inverse", 16),
        (r"$w \sim N(0, I)$", "identity", 17),
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
    angle: chapter.measured_risk(weights, there, budget.prompts, stream(18 + k))
    for k, (angle, there) in enumerate(elsewhere.items())
}
ledger.decide_estimate(
    "transfer.risk",
    predicted=theory.risk(best, elsewhere[np.pi / 2]),
    estimate=moved[np.pi / 2],
)

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
    k: chapter.measured_risk(weights, there, budget.prompts, stream(21 + j))
    for j, (k, there) in enumerate(longer.items())
}
ledger.decide_estimate(
    "zero_mean.length_generalisation",
    predicted=theory.risk(best, longer[4 * n]),
    estimate=at_length[4 * n],
)

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
# determined and $v = u = 0$ (`thm2.minimisers`: {glue:text}`starts_reached:.0f` ends of L-BFGS agree to
# {glue:text}`thm2.minimisers.measured:.0e`); how the product is split among four matrices is free. At $d = 1$ there is the second
# family of chapter 1, and for singular $H$ the matrix is free where $x$ never goes.
#
# **How large is $\eta^\ast$ beside $2/\lambda_{\max}$?** Gradient descent on one prompt's loss, preconditioned with $H^{-1}$, diverges
# for steps above $2/\lambda_{\max}$, $\lambda_{\max}$ the largest eigenvalue of $H^{-1/2} X^\top X H^{-1/2}$, a white Wishart matrix. If
# "$\lambda_{\max}$" is that of the *average* Hessian $nI$, then $\eta^\ast$ is {glue:text}`average_ratio:.2f` of the limit. Per prompt
# $\lambda_{\max}$ is larger, up to about $(\sqrt n + \sqrt d)^2$, and the step is closer to the edge. On average it never crosses it,
# whatever $d$, $n$ and $\sigma^2$ are:

# %%
edge = chapter.stability(d, n, eta, 4 * draws, stream(24))
bound = theory.stability_bound(d, n, sigma2)
ledger.decide_estimate(
    "thm2.step_stability", predicted=bound, estimate=edge.mean
)

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
    chapter.stability(d, int(k), step, 2000, stream(25)).mean
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
Claims(
    [
        ledger.decide(
            "prior.spread_inverse",
            predicted=1,
            measured=chapter.spread(found.best, H),
        ),
        ledger.decide(
            "prior.spread_identity",
            predicted=trust[-1] / trust[0],
            measured=chapter.spread(weights, H),
        ),
    ]
)

# %% [markdown]
# **What changes with $w \sim N(0, I)$?** The matrix, the step and the risk. Suppose one kept Theorem 2's direction $H^{-1} X^\top y$ and
# tuned only its length:

# %%
newton = theory.best_multiple(law.Psi, identity) * law.Psi
newton_measured = chapter.measured_risk(
    chapter.one_step(newton), identity, budget.prompts, stream(26)
)
newton_risk = theory.risk(newton, identity)
ledger.decide_estimate(
    "prior.newton_direction", predicted=newton_risk, estimate=newton_measured
)

# %% [markdown]
# The optimum is {glue:text}`zero_mean.risk.predicted:.4f`, $H^{-1}$ has {glue:text}`prior.newton_direction.predicted:.4f`, and the
# plain step {glue:text}`plain_identity:.4f`: {glue:text}`newton_percent:.0f` % more excess risk with the full inverse,
# {glue:text}`plain_percent:.0f` % more with no matrix at all. At condition number 1000 the two are
# {glue:text}`newton_percent_1000:.0f` % and {glue:text}`plain_percent_1000:.0f` %. Tasks that do not favour weak
# directions call for something between $I$ and $H^{-1}$, and $\Gamma^\ast$ is exactly that.

# %% [markdown]
# ## What the theory does not say
#
# The preconditioner is one matrix for all prompts. It corrects for the covariance of the *population*, and cannot correct for a
# prompt's own sample, nor adapt when each prompt has a covariance of its own. The theorems speak of the global
# minimum: random starts can end in false valleys, and {numref}`fig-adam-condition` shows that even good starts need
# more steps the worse $H$ is conditioned. With a task mean other than zero the optimum of linear attention is not a step
# from zero any more. And one step stays one step: the Bayes risk under Theorem 2's prior is
# {glue:text}`thm2.bayes.predicted:.4f`, against {glue:text}`thm2.risk.predicted:.4f`.

# %% tags=["hide-input", "remove-output"]
random_ends = attention.restarts(identity, budget.restarts // 2, stream(27))
inverse, same = sweeps.values()
tau = moments.tau(identity)


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
# ## Every claim of this chapter
#
# Predicted by a formula, measured by an independent computation; a claim holds when they differ by no more than its
# tolerance, fixed beforehand, and five standard errors.

# %% tags=["hide-input"]
ledger.save()
