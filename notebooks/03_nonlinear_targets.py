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
# (nonlinear-targets)=
# # Nonlinear targets: still one step
#
# Linear attention shown examples of a *linear* function takes one step of gradient descent; that was
# {doc}`chapter 1 </notebooks/01_one_step_gd>`. Now show it examples of a sine, of a staircase, of a random neural network.
# Does it do something cleverer?
#
# **No. It takes the same step of plain gradient descent for linear regression, with another step size.** That is Theorem 3 of
# {cite:t}`mahankali2024`. It holds whenever the law of the target has no preferred direction, and the step depends on the
# target through two numbers only. This chapter works them out for ten families, measures them, and shows what the
# theorem does not need (sign symmetry, Gaussian covariates) and what it does need (rotation invariance).
#
# ```{admonition} What you need
# :class: note
# Linear regression and {doc}`chapter 1 </notebooks/01_one_step_gd>`. Reading takes about {glue:text}`reading_minutes:.0f` minutes; rerunning, a minute.
# At the end you can say what the distribution of $x$ changes and what that of $y$ changes.
# ```

# %% tags=["hide-input"]
import textwrap

import numpy as np
from icl import search, targets
from icl.chapters import begin
from icl.chapters.nonlinear_targets import experiments as chapter
from icl.chapters.nonlinear_targets import pictures
from icl.chapters.nonlinear_targets.explorable import explorable
from icl.chapters.nonlinear_targets.tensor_fit import tensor_fit
from icl.targets import FAMILIES, TargetLaw
from icl.theory import nonlinear_targets as theory
from icl.theory import sign_symmetry
from icl.validation import InputError

# %% tags=["parameters"]
d = 5
n = 20
sigma2 = 0.25
seed = 0
profile = "quick"

# %% tags=["hide-input", "remove-output"]
parameters, ledger, stream = begin(
    "03_nonlinear_targets", d=d, n=n, sigma2=sigma2, seed=seed, profile=profile
)
budget = chapter.BUDGETS[profile]
moments = {name: theory.moments(name, d) for name in FAMILIES}

# %% [markdown]
# ## The theorem
#
# A prompt is drawn as before, with one change: instead of a task vector, a random **function** $f$ is drawn, and
# $y_i = f(x_i) + \varepsilon_i$, with $x_i \sim N(0, I_d)$ and noise of variance $\sigma^2$.
# Here $d =$ {glue:text}`d:.0f`, $n =$ {glue:text}`n:.0f` and $\sigma^2 =$ {glue:text}`sigma2:g`.
# Write $w_f = \mathbb E_x[f(x)\,x]$ for the **linear part** of $f$: $w_f^\top x$ is the linear function nearest to it.
#
# ```{prf:theorem} Mahankali, Hashimoto and Ma, Theorem 3
# :label: thm-nonlinear
#
# If the law of $f$ is unchanged by rotations and reflections of $x$, then among all weights of linear self-attention, with
# any number of heads, the least loss is attained by plain gradient descent,
#
# $$
# \hat y = \eta^\ast \sum_{i=1}^n y_i\, x_i^\top x, \qquad
# \eta^\ast = \frac{a}{(n-1)\,a + b},
# $$
#
# with $a = \mathbb E\,\|w_f\|^2$ and $b = \mathbb E\big[y^2 \|x\|^2\big]$, and the least loss is
#
# $$
# L_{\min} = \mathbb E f(x)^2 + \sigma^2 - \frac{n\,a^2}{(n-1)\,a + b} .
# $$
# ```
#
# The paper also asks that $-f$ has the law of $f$, and leaves $\eta^\ast$ as a ratio of expectations; that the
# first is not needed, and the closed forms, are this book's.
#
# **How to read the step.** Multiply by $n$: $\; n\eta^\ast = n / (n - 1 + b/a)$. Two different examples of one target agree
# on its linear part, and $a$ is how much they agree; $b$ is the size of what a single example contributes, useful or not.
# So $b/a$ is the only thing the step needs to know about the target, and it counts examples: after $b/a - 1$ of them the
# learner dares half of the full step. For linear targets that is $d + 1 + \sigma^2 =$ {glue:text}`half_linear:.2f` examples;
# for $\mathrm{sign}(w^\top x)$ it is {glue:text}`half_sign:.2f`, for a ReLU network {glue:text}`half_relu_network:.2f`.
#
# ```{admonition} Proof
# :class: dropdown
# *The form.* With $z_i = (x_i; y_i)$ and $G = \sum_i z_i z_i^\top$, any number of heads predicts
# $\langle T, G \otimes x\rangle = \sum_{abj} T_{abj} G_{ab}\, x_j$, linear in a tensor $T$, so the loss is convex in $T$.
# Rotating all $x$ by an orthogonal $O$ leaves the law of the prompt alone, so the rotated $T$ is as good as $T$, and
# by convexity their average over all $O$ is at least as good. What no $O$ changes: the block of $T$ with
# three $x$-indices is then an odd tensor and zero; the block with one is an invariant vector and zero; the block
# with two is $\eta I$. Hence $\hat y = \eta \sum_i y_i x_i^\top x$, and a single head computes it.
#
# *The step.* $\mathbb E[y\, x^\top X^\top y_{1:n}] = n\,\mathbb E[w_f^\top w_f] = n a$, because given $f$ the query and each example are
# independent. $\mathbb E (x^\top X^\top y_{1:n})^2 = \mathbb E\|X^\top y_{1:n}\|^2 = n b + n(n-1) a$: $n$ terms with $i = j$ and
# $n(n-1)$ with $i \neq j$. The loss is the parabola
# $\mathbb E f^2 + \sigma^2 - 2\eta\, n a + \eta^2 n\,[(n-1)a + b]$, with the vertex stated.
# ```
#
# Nothing here used that the covariates are Gaussian, or that the loss is squared (for another convex loss only the value
# of $\eta$ changes).

# %% [markdown]
# ## Ten families
#
# All are rotation invariant, because their directions $w$ are. The moments are one-line Gaussian integrals:
#
# | target $f(x)$ | $a = \mathbb E\|w_f\|^2$ | $b - \sigma^2 d$ | $\mathbb E f^2$ |
# |---|---|---|---|
# | $w^\top x$, $w \sim N(0, I)$ | $d$ | $d(d+2)$ | $d$ |
# | ReLU network | $\kappa d/4$ | $\kappa d(d+2)/2$ | $\kappa d/2$ |
# | $\mathrm{sign}(w^\top x)$ | $2/\pi$ | $d$ | $1$ |
# | $(w^\top x)^3$, $\lVert w\rVert = 1$ | $9$ | $15(d+6)$ | $15$ |
# | $(w^\top x)^3$, $w \sim N(0, I)$ | $9p$ | $15p(d+6)$ | $15p$ |
# | $x^\top Q x$ | $0$ | $p$ | $d(d+2)$ |
# | $w^\top x + \frac12 x^\top Q x$ | $d$ | $d(d+2) + p/4$ | $d + d(d+2)/4$ |
# | $\sqrt2\sin(w^\top x)$ | $2ds^2 r^{-d/2-1}$ | $d\,[1 - q^{-d/2} + 4s^2 q^{-d/2-1}]$ | $1 - q^{-d/2}$ |
# | $\sqrt2\cos(w^\top x + \varphi)$ | $ds^2 r^{-d/2-1}$ | $d$ | $1$ |
# | $\phi(w^\top x)$, $\lVert w\rVert = 1$ | $(\mathbb E\,\phi(z)z)^2$ | $\mathbb E[\phi(z)^2(z^2+d-1)]$ | $\mathbb E\,\phi(z)^2$ |
#
# Here $p = d(d+2)(d+4)$, $q = 1 + 4s^2$, $r = 1 + 2s^2$ and $z \sim N(0, 1)$.
# The network is $\sum_{j \le m} a_j\,\mathrm{relu}(w_j^\top x)$ with $a_j \sim N(0, s_a^2)$, $w_j \sim N(0, s_w^2 I)$ and
# $\kappa = m s_a^2 s_w^2$; here $\kappa =$ {glue:text}`kappa:g` with {glue:text}`hidden:.0f` units. $Q = (A + A^\top)/2$ with $A$ standard
# Gaussian. Sine and cosine have $w \sim N(0, s^2 I)$ with $s =$ {glue:text}`frequency:g`, and the phase $\varphi$ is uniform. The last
# family has the odd function $\phi(z) = \tanh 2z$, whose three integrals are done by quadrature.
#
# **The measurement** knows none of these formulas. It draws targets and prompts, lets every one of the $n + 1$ points of a prompt
# take its turn as the query, and finds the vertex and the depth of the loss parabola.

# %%
measured = chapter.measure_families(parameters, budget, stream)
predicted = {
    name: {
        "a": m.a,
        "b": m.b(sigma2),
        "step_size": theory.step_size(m, n, sigma2),
        "risk": theory.minimal_risk(m, n, sigma2),
    }
    for name, m in moments.items()
}

# %% tags=["remove-output"]
ledger.claims({
    f"thm3.{name}.{key}": (formula, getattr(measured[name], key))
    for name, formulas in predicted.items()
    for key, formula in formulas.items()
})

# %% [markdown]
# | target | step $\eta^\ast$ | measured | risk $L_{\min}$ | measured |
# |---|---|---|---|---|
# | $w^\top x$ | {glue:text}`thm3.linear.step_size.predicted:.5f` | {glue:text}`thm3.linear.step_size.measured:.5f` ± {glue:text}`thm3.linear.step_size.stderr:.5f` | {glue:text}`thm3.linear.risk.predicted:.4g` | {glue:text}`thm3.linear.risk.measured:.4f` ± {glue:text}`thm3.linear.risk.stderr:.4f` |
# | ReLU network | {glue:text}`thm3.relu_network.step_size.predicted:.5f` | {glue:text}`thm3.relu_network.step_size.measured:.5f` ± {glue:text}`thm3.relu_network.step_size.stderr:.5f` | {glue:text}`thm3.relu_network.risk.predicted:.4g` | {glue:text}`thm3.relu_network.risk.measured:.4g` ± {glue:text}`thm3.relu_network.risk.stderr:.1g` |
# | $\mathrm{sign}(w^\top x)$ | {glue:text}`thm3.sign.step_size.predicted:.5f` | {glue:text}`thm3.sign.step_size.measured:.5f` ± {glue:text}`thm3.sign.step_size.stderr:.5f` | {glue:text}`thm3.sign.risk.predicted:.4g` | {glue:text}`thm3.sign.risk.measured:.4g` ± {glue:text}`thm3.sign.risk.stderr:.1g` |
# | $(w^\top x)^3$, $\lVert w\rVert = 1$ | {glue:text}`thm3.cubic_unit.step_size.predicted:.5f` | {glue:text}`thm3.cubic_unit.step_size.measured:.5f` ± {glue:text}`thm3.cubic_unit.step_size.stderr:.5f` | {glue:text}`thm3.cubic_unit.risk.predicted:.4g` | {glue:text}`thm3.cubic_unit.risk.measured:.4g` ± {glue:text}`thm3.cubic_unit.risk.stderr:.1g` |
# | $(w^\top x)^3$ | {glue:text}`thm3.cubic_gaussian.step_size.predicted:.5f` | {glue:text}`thm3.cubic_gaussian.step_size.measured:.5f` ± {glue:text}`thm3.cubic_gaussian.step_size.stderr:.5f` | {glue:text}`thm3.cubic_gaussian.risk.predicted:.4g` | {glue:text}`thm3.cubic_gaussian.risk.measured:.0f` ± {glue:text}`thm3.cubic_gaussian.risk.stderr:.0f` |
# | $x^\top Q x$ | {glue:text}`thm3.quadratic.step_size.predicted:.5f` | {glue:text}`thm3.quadratic.step_size.measured:.5f` ± {glue:text}`thm3.quadratic.step_size.stderr:.5f` | {glue:text}`thm3.quadratic.risk.predicted:.4g` | {glue:text}`thm3.quadratic.risk.measured:.4g` ± {glue:text}`thm3.quadratic.risk.stderr:.1g` |
# | $w^\top x + \frac12 x^\top Q x$ | {glue:text}`thm3.linear_quadratic.step_size.predicted:.5f` | {glue:text}`thm3.linear_quadratic.step_size.measured:.5f` ± {glue:text}`thm3.linear_quadratic.step_size.stderr:.5f` | {glue:text}`thm3.linear_quadratic.risk.predicted:.4g` | {glue:text}`thm3.linear_quadratic.risk.measured:.4g` ± {glue:text}`thm3.linear_quadratic.risk.stderr:.1g` |
# | $\sqrt2\sin(w^\top x)$ | {glue:text}`thm3.sine.step_size.predicted:.5f` | {glue:text}`thm3.sine.step_size.measured:.5f` ± {glue:text}`thm3.sine.step_size.stderr:.5f` | {glue:text}`thm3.sine.risk.predicted:.4g` | {glue:text}`thm3.sine.risk.measured:.4g` ± {glue:text}`thm3.sine.risk.stderr:.1g` |
# | $\sqrt2\cos(w^\top x+\varphi)$ | {glue:text}`thm3.cosine.step_size.predicted:.5f` | {glue:text}`thm3.cosine.step_size.measured:.5f` ± {glue:text}`thm3.cosine.step_size.stderr:.5f` | {glue:text}`thm3.cosine.risk.predicted:.4g` | {glue:text}`thm3.cosine.risk.measured:.4g` ± {glue:text}`thm3.cosine.risk.stderr:.1g` |
# | $\tanh(2w^\top x)$ | {glue:text}`thm3.single_index.step_size.predicted:.5f` | {glue:text}`thm3.single_index.step_size.measured:.5f` ± {glue:text}`thm3.single_index.step_size.stderr:.5f` | {glue:text}`thm3.single_index.risk.predicted:.4g` | {glue:text}`thm3.single_index.risk.measured:.4g` ± {glue:text}`thm3.single_index.risk.stderr:.1g` |
#
# All forty claims, those on $a$ and $b$ included, are in the table at the end; their deviations in one picture:

# %% tags=["hide-input", "remove-output"]
ledger.figure(pictures.deviations(FAMILIES, predicted, measured))

# %% [markdown]
# ```{glue:figure} fig-deviations
# :name: fig-deviations
#
# Measured against predicted, in per cent, with bars of *five* standard errors. Filled dots: light tails; their longest bar
# reaches {glue:text}`longest_bar:.1f` % to either side, so that an $a$, $b$ or $\eta^\ast$ wrong by 2 % (grey band) would be found
# out. Open dots: heavy tails. The quadratic target has $a = \eta^\ast = 0$, and no per cent of it.
# ```
#
# **About the heavy tails.** A cubed Gaussian is rarely large, and then very large: a few prompts carry much of every
# average. We give the polynomial families {glue:text}`heavy:.0f` times as many prompts, and look at how much of the
# variance comes from the one most extreme prompt. Among the light-tailed families it is {glue:text}`share_light:.1f` % at most, for the
# unit cubic {glue:text}`share_cubic_unit:.1f` %, and for the cubic with Gaussian $w$ {glue:text}`share_cubic_gaussian:.0f` %: there, the
# error bar is itself uncertain, and a claim that holds says less.

# %% [markdown]
# ## One picture for all steps
#
# The same step is measured at several context lengths, on fresh prompts.

# %%
lengths = [1, 3, 10, 30, 100]
along = {
    name: chapter.steps_along_n(
        family, parameters, budget, lengths, stream("lengths", k)
    )
    for k, (name, family) in enumerate(FAMILIES.items())
}

# %% tags=["hide-input", "remove-output"]
ledger.figure(
    pictures.steps_against_n(FAMILIES, moments, sigma2, lengths, along)
)

# %% [markdown]
# ```{glue:figure} fig-steps
# :name: fig-steps
#
# Ten kinds of target, one law: each curve is $n/(n-1+b/a)$, and all that a target can do is to delay it.
# (Dashed: heavy tails.) Every family with a linear part ends at the full step; the quadratic one, which has none, never
# starts. Dots are measured, with bars of two standard errors.
# ```

# %% [markdown]
# ## Does training find it?
#
# The measurement above presumed the *form*, plain gradient descent. Training does not: all weights start random, and Adam
# sees {glue:text}`batch:.0f` fresh prompts a step, in single precision, {glue:text}`trainings:.0f` times for each family.

# %%
trained = chapter.train_families(parameters, budget, stream)
learned = {
    name: [search.learned_step(run.weights, n) for run in runs]
    for name, runs in trained.items()
}
light = [name for name, family in FAMILIES.items() if not family.heavy]
visible_steps = {
    name: chapter.too_faint(name, parameters)
    or search.mean_over_trainings(learned[name])
    for name in light
}
ledger.claims({
    f"thm3.{name}.trained_step": (predicted[name]["step_size"], step)
    for name, step in visible_steps.items()
})

# %% tags=["hide-input", "remove-output"]
ledger.figure(
    pictures.learned_steps(
        FAMILIES,
        {name: n * predicted[name]["step_size"] for name in FAMILIES},
        {name: n * np.array(steps) for name, steps in learned.items()},
    )
)

# %% [markdown]
# ```{glue:figure} fig-learned_steps
# :name: fig-learned-steps
#
# The step that training finds (diamonds, one a run) and the predicted one (ticks). For the cubic with Gaussian $w$ one run ends
# at {glue:text}`learned_least:.0f` % of the predicted step, another at {glue:text}`learned_most:.0f` %.
# ```
#
# That scatter is no failure of the theorem, which is about the population loss. The optimum of that family is set by
# rare, huge targets, which most batches of {glue:text}`batch:.0f` prompts do not contain, so where a run ends depends on which
# of them it met. Because of this no claim is made about trained steps of heavy-tailed families.
#
# Training has limits of its own. A family whose best step lowers the risk by less than 3 % is left out, because the
# noise of the batches hides it. And the model has to learn $d^2$ entries of a matrix: rerun this page with several dozen dimensions, and
# {glue:text}`steps:.0f` steps are too few; the learned steps then fall short and their claims fail, while the measured ones stand.

# %% [markdown]
# ## What the learner sees of $f$
#
# The prediction is linear in the query, whatever the target. Here is one target of each of six families along a line through
# the origin, in the direction of its linear part, and what the learner predicts there after
# {glue:text}`view_short:.0f`, {glue:text}`view_middle:.0f` and {glue:text}`view_long:.0f` examples.

# %% tags=["hide-input", "remove-output"]
view_lengths = [5, 30, 1000]
shown = ("sign", "single_index", "sine")
shown += ("cubic_unit", "linear_quadratic", "quadratic")
ledger.figure(
    pictures.views([
        chapter.view(FAMILIES[name], d, view_lengths, sigma2, stream)
        for name in shown
    ])
)

# %% [markdown]
# ```{glue:figure} fig-views
# :name: fig-views
#
# In the colour of the text: the target. Orange: the prediction after few (pale) and many (full) examples, always a straight line through
# the origin. With more examples the slope settles at that of the linear part $w_f$, and the
# curvature of the target stays unseen. For the quadratic target the best step is zero, and so is every prediction.
# ```
#
# So a longer context cannot bring the risk down to the noise. As $n$ grows,
#
# ```{math}
# :label: eq-linear-floor
# L_{\min} \;\to\; \sigma^2 + \big(\mathbb E f^2 - a\big),
# ```
#
# and the bracket is the **linear floor**: what no linear function of $x$ explains. The right-hand side of
# {eq}`eq-linear-floor` is a lower bound for a linear transformer of any
# depth too: with the query masked out of the sums, each layer acts on the query by a matrix that depends on the
# context only, so the output stays linear in the query. Risks at two long contexts, extrapolated
# to infinity, for $\mathrm{sign}(w^\top x)$:

# %%
floor = theory.linear_floor(moments["sign"], sigma2)
extrapolated = chapter.extrapolated_floor(
    FAMILIES["sign"], parameters, budget.prompts, stream("linear floor")
)
ledger.claims({"thm3.linear_floor": (floor, extrapolated)})

# %% tags=["hide-input", "remove-output"]
ledger.figure(pictures.risk_split(FAMILIES, moments, n, sigma2, measured))

# %% [markdown]
# ```{glue:figure} fig-risk_split
# :name: fig-risk-split
#
# Where the risk comes from, at $n =$ {glue:text}`n:.0f`, as a share of the risk of predicting zero. Pale: label noise.
# Grey: the linear floor, out of reach at any $n$. Orange: what more examples would still remove. The empty rest is what the learner has
# explained: {glue:text}`explained_linear:.0f` % for linear targets, {glue:text}`explained_sign:.0f` % for the sign,
# nothing for the quadratic. Diamonds are measured.
# ```

# %% [markdown]
# ## The target that cannot be learned
#
# $f(x) = x^\top Q x$ is as simple a function as there is after linear ones, and $n$ examples of it say a lot about $Q$. Yet $f$ is
# even, its linear part is zero, and the best linear attention predicts $0$. To see that this is no artefact of one head, fit
# *all* coefficients that any number of heads could have, $T_{abj}$ with $a \le b$, by least squares. This is
# linear regression of the query's label on the products $G_{ab}\, x_j$; at $d = 3$ and $n = 6$ there are 30 of them.
# The largest of the 30, in standard errors, must stay below {glue:text}`bound:.1f`:

# %%
bound = 4.5


def fit_all(family):
    """All coefficients of multi-head attention, at d = 3 and n = 6."""
    return tensor_fit(
        TargetLaw(family, 3, 6, sigma2),
        budget.fit,
        stream.entropy(f"fit {family.name}"),
    )


quadratic = fit_all(FAMILIES["quadratic"])
ledger.claims({"thm3.quadratic_zero": (bound, np.abs(quadratic.z).max())})

# %% [markdown]
# ## Sign symmetry is not needed
#
# The paper assumes that $-f$ has the same law as $f$. The proof above did not. Two families that are not symmetric, with
# plenty of structure a cleverer learner could use: $w^\top x + \frac12(\|x\|^2 - d) + 1$, whose values have mean 1, and a single
# $\mathrm{relu}(w^\top x)$, which is never negative. Again we fit all 30 coefficients. Of the 27 that are not plain gradient
# descent, the largest for both families together:

# %%
fits = {
    name: fit_all(family)
    for k, (name, family) in enumerate(targets.ASYMMETRIC.items())
}
others = [np.abs(fit.z[fit.is_gd == 0]).max() for fit in fits.values()]
ledger.claims({"thm3.sign_symmetry_redundant": (bound, max(others))})

# %% [markdown]
# And the three that are, averaged, against $a / ((n-1)a + b)$:

# %%
plain_steps = {
    name: theory.step_size(theory.moments(name, 3), 6, sigma2) for name in fits
}
ledger.claims({
    f"thm3.{name}.step_size": (step, fits[name].step)
    for name, step in plain_steps.items()
})

# %% [markdown]
# ## Gaussian covariates are not needed either
#
# For any rotation-invariant $x$ with $\mathbb E xx^\top = \kappa I$ the proof gives plain gradient descent with
# $\eta^\ast = a / \{\kappa\,[(n-1)a + b]\}$. Three laws with the *same covariance* $I$, and the same linear targets: the
# Gaussian, the uniform law on the sphere of radius $\sqrt d$, and a mixture of two Gaussians of variance $\frac12$ and $\frac32$.
# They differ only in $\mathbb E\|x\|^4$: $d(d+2)$, $d^2$ and $\frac54 d(d+2)$.

# %%
linear = FAMILIES["linear"]
covariates = {
    "sphere": (targets.sphere_covariates, d**2),
    "scale_mixture": (targets.mixture_covariates, 1.25 * d * (d + 2)),
}
prompts, covariate_steps = chapter.affordable(budget.prompts, n, d), {}
for name, (draw, fourth) in covariates.items():
    exact = theory.linear_with_covariates(d, 1.0, fourth)
    law = TargetLaw(linear, d, n, sigma2, draw)
    step = chapter.measure(law, prompts, stream(name)).step_size
    covariate_steps[name] = theory.step_size(exact, n, sigma2), step
ledger.claims({f"thm3.{name}": pair for name, pair in covariate_steps.items()})

# %% [markdown]
# The heavier the tails of $x$, the shorter the step: on the sphere every example is equally informative, in the mixture some are
# mostly loud.

# %% [markdown]
# ## Rotation invariance is needed
#
# Take it away, keep sign symmetry, and the optimum is a *preconditioned* step $\hat y = x^\top \Gamma X^\top y$ with
# $\Gamma = C_2 C_1^{-1}$, where $C_1 = \mathbb E[X^\top y y^\top X]$ and $C_2 = n\,\mathbb E[w_f w_f^\top]$. Two examples, both
# with $n = 10$:
#
# - **A**, $d = 2$: $f(x) = \pm x_1^3$. Only the first coordinate matters, and $\Gamma$ keeps only that one.
# - **B**, $d = 3$: $f(x) = w^\top x$ with $w \sim N(0, \operatorname{diag}(4, 1, \tfrac14))$. Likely directions get longer steps:
#   $n\Gamma = \operatorname{diag}(${glue:text}`gamma_b_0:.4f`, {glue:text}`gamma_b_1:.4f`, {glue:text}`gamma_b_2:.4f`$)$.
#
# The optimum is measured by the fit of all coefficients, plain gradient descent on the same prompts, so that their
# difference, the **penalty**, is sharper than either. (A has heavy tails and gets three times the prompts.)

# %%
variances = np.array([4, 1, 0.25])
examples = {
    "a": (
        sign_symmetry.signed_cube(2, 10, sigma2),
        TargetLaw(targets.SIGNED_CUBE, 2, 10, sigma2),
        3 * budget.fit,
    ),
    "b": (
        sign_symmetry.uneven_linear(variances, 10, sigma2),
        TargetLaw(targets.uneven_linear(variances), 3, 10, sigma2),
        budget.fit,
    ),
}
gaps = {
    name: tensor_fit(law, prompts, stream.entropy("no rotation", k))
    for k, (name, (_, law, prompts)) in enumerate(examples.items())
}

# %%
exact_gaps = {
    name: {
        "risk": exact.risk,
        "plain_risk": exact.scalar_risk,
        "penalty": exact.scalar_risk - exact.risk,
    }
    for name, (exact, _, _) in examples.items()
}
ledger.claims({
    f"thm3.counterexample_{name}.{label}": (exact, getattr(gaps[name], label))
    for name, formulas in exact_gaps.items()
    for label, exact in formulas.items()
})

# %% tags=["hide-input", "remove-output"]
titles = {"a": "A: $\\pm x_1^3$", "b": "B: uneven $w^T x$"}
ledger.figure(
    pictures.penalties({
        titles[name]: (exact, 10, gaps[name].risk, gaps[name].plain_risk)
        for name, (exact, _, _) in examples.items()
    })
)

# %% [markdown]
# ```{glue:figure} fig-penalties
# :name: fig-penalties
#
# No scalar step reaches the optimum once directions differ. Plain gradient descent at its best loses
# {glue:text}`penalty_a_percent:.1f` % in A and {glue:text}`penalty_b_percent:.1f` % in B. Dots are measured.
# ```

# %% [markdown]
# ## Your own target
#
# A target is a Python function: it gets covariates `x` of shape `(B, m, d)` and a generator, draws one target for each of the $B$
# rows, and returns its values, `(B, m)`. Here is a staircase, neither odd nor continuous. Put yours in its place.


# %%
def staircase(x, rng):
    """floor(w'x), |w| = 1."""
    w = rng.standard_normal((len(x), x.shape[2], 1))
    w /= np.linalg.norm(w, axis=1, keepdims=True)
    return np.floor((x @ w)[..., 0])


trial = stream.entropy("your own target")
yours = targets.reader_family(staircase, d, np.random.default_rng(trial))

# %% [markdown]
# `reader_family` tries the function out first. A wrong shape or a NaN is refused, and so is a law that changes when $x$ is rotated:
# the mean of bounded functions of the values must be the same at rotated points. For the staircase the largest of 108 comparisons is
# {glue:text}`rotation_reader:.1f` standard errors, and up to 5 is accepted. A target with a
# preferred direction is found out:


# %%
def lopsided(x, rng):
    """w'x, but the first coordinate of w is 1.5 times as large."""
    w = rng.standard_normal((len(x), x.shape[2], 1))
    w[:, 0] *= 1.5
    return (x @ w)[..., 0]


try:
    targets.reader_family(
        lopsided, d, stream("a lopsided target"), name="lopsided"
    )
except InputError as refusal:
    print(textwrap.fill(str(refusal), 78))

# %% [markdown]
# No formula is known for your function, so $a$, $b$ and $\mathbb E f^2$ are sampled, and the prediction carries an error bar of its
# own. The step and the risk are then measured on *other* prompts; both error bars count.

# %%
sampled = chapter.moments_by_sampling(
    yours, d, budget.prompts, stream("moments of yours")
)
step, risk = chapter.predict_from_samples(sampled, d, n, sigma2)
fresh = chapter.measure(
    TargetLaw(yours, d, n, sigma2),
    chapter.affordable(budget.prompts, n, d),
    stream("yours"),
)
ledger.claims({
    "thm3.reader.step_size": (step, fresh.step_size),
    "thm3.reader.risk": (risk, fresh.risk),
})

# %% tags=["hide-input", "remove-output"]
your_moments = theory.Moments(d, *sampled.mean)
your_steps = chapter.steps_along_n(
    yours, parameters, budget, lengths, stream("lengths of yours")
)
ledger.figure(
    pictures.steps_against_n(
        {"yours": yours, "linear": linear},
        {"yours": your_moments, "linear": moments["linear"]},
        sigma2,
        lengths,
        {"yours": your_steps, "linear": along["linear"]},
        name="your_steps",
    )
)

# %% [markdown]
# ```{glue:figure} fig-your_steps
# :name: fig-your-steps
#
# The same figure for the reader's function, beside linear targets. Its sampled moments are
# $a =$ {glue:text}`reader_a:.4f`, $\mathbb E f^2\|x\|^2 =$ {glue:text}`reader_weighted:.4f` and
# $\mathbb E f^2 =$ {glue:text}`reader_power:.4f`, so $b/a =$ {glue:text}`reader_ratio:.2f`.
# ```

# %% [markdown]
# ## What $x$ changes, and what $y$ changes
#
# **The law of $x$ decides the form.** If it is rotation invariant (and the targets are too) the learner is plain gradient descent. If
# its covariance is not a multiple of $I$, a preconditioner appears; that is {doc}`chapter 2 </notebooks/02_preconditioned_gd>`. Beyond the covariance only the
# spread of $\|x\|$ counts, and only for the size of the step:
#
# | linear targets, $x$ with $\mathbb E xx^\top = I$ | $\mathbb E\lVert x\rVert^4 / d^2$ | $n\eta^\ast$ predicted | measured |
# |---|---|---|---|
# | sphere | {glue:text}`fourth_sphere:.2f` | {glue:text}`n_eta_sphere:.4f` | {glue:text}`n_eta_sphere_measured:.4f` |
# | Gaussian | {glue:text}`fourth_gaussian:.2f` | {glue:text}`n_eta_linear:.4f` | {glue:text}`n_eta_linear_measured:.4f` |
# | scale mixture | {glue:text}`fourth_scale_mixture:.2f` | {glue:text}`n_eta_scale_mixture:.4f` | {glue:text}`n_eta_scale_mixture_measured:.4f` |
#
# **The law of $y$ decides the size.** While it is rotation invariant given $x$, it never changes the form, be it linear, curved, bounded,
# discontinuous or noisy. It enters through $a$, which says how much of $y$ is linear, and $b$, which says how loud $y$ is:
#
# | Gaussian $x$, target | $a$ | $b$ | $n\eta^\ast$ | least risk / risk of 0 |
# |---|---|---|---|---|
# | $w^\top x$ | {glue:text}`thm3.linear.a.predicted:.3f` | {glue:text}`thm3.linear.b.predicted:.2f` | {glue:text}`n_eta_linear:.3f` | {glue:text}`share_of_zero_linear:.3f` |
# | ReLU network | {glue:text}`thm3.relu_network.a.predicted:.3f` | {glue:text}`thm3.relu_network.b.predicted:.2f` | {glue:text}`n_eta_relu_network:.3f` | {glue:text}`share_of_zero_relu_network:.3f` |
# | $\mathrm{sign}(w^\top x)$ | {glue:text}`thm3.sign.a.predicted:.3f` | {glue:text}`thm3.sign.b.predicted:.2f` | {glue:text}`n_eta_sign:.3f` | {glue:text}`share_of_zero_sign:.3f` |
# | $\sqrt2\cos(w^\top x+\varphi)$ | {glue:text}`thm3.cosine.a.predicted:.3f` | {glue:text}`thm3.cosine.b.predicted:.2f` | {glue:text}`n_eta_cosine:.3f` | {glue:text}`share_of_zero_cosine:.3f` |
# | $x^\top Q x$ | {glue:text}`thm3.quadratic.a.predicted:.3f` | {glue:text}`thm3.quadratic.b.predicted:.2f` | {glue:text}`n_eta_quadratic:.3f` | {glue:text}`share_of_zero_quadratic:.3f` |
#
# In one sentence: *$x$ sets the geometry of the step, $y$ its length*, and where the two are tied together by a preferred direction,
# as in counterexamples A and B, $y$ bends the geometry as well.

# %% [markdown]
# ## Move it yourself
#
# Choose a target. All it can do to the step is to shift one and the same curve to the right, by $b/a$; the pale curves are the other
# nine. On the right the risk: noise (pale), what is not linear in $x$ (grey), what more examples still remove (orange). **A question:**
# for $\mathrm{sign}(w^\top x)$ the page says at which noise a *linear* target would take the same step. Choose $w^\top x$ and set that noise. Is
# everything the same now?
#
# ```{admonition} Answer
# :class: dropdown
# The step is, and at every $n$, for it depends on $b/a$ alone: to the step, curvature is noise. The risk is not. Of the whole
# label, $a / (\mathbb E f^2 + \sigma^2)$ is linear, and this share is not fixed by $b/a$; so the learner explains a different part.
# ```

# %% tags=["hide-input"]
explorable(parameters)

# %% [markdown]
# ## What the theorem does not say
#
# - **The model.** One layer of *linear* attention on tokens $(x, y)$. The quadratic target shows how weak that is; with other features in the
#   tokens the same layer learns it ({ref}`ex-features`). What a softmax or a non-linear MLP would do is not touched.
# - **Depth.** The floor holds for any depth *if the query is masked*. How close $L$ layers come to it at finite $n$ is open
#   ({ref}`ex-depth-nonlinear`).
# - **The data.** Rotation invariance is a strong wish: real targets have preferred directions, and then plain gradient descent is no longer the
#   best. Without it *and* without sign symmetry the optimum is not known in closed form.
# - **Training.** The theorem says nothing about how hard it is: for the cubic with Gaussian $w$ runs of
#   Adam end in different places, though the optimum is known exactly. Claims on trained steps are made for light-tailed families only, from an
#   open label path, with one schedule.
# - **What the measurements cannot show.** The families were chosen because their moments are known. For heavy tails the standard error is itself
#   uncertain. The fits of all 30 coefficients are at one small size and see an effect only above a few standard errors. `reader_family`'s test is statistical
#   too: a weak preferred direction passes it.

# %% tags=["hide-input", "remove-output"]
cubic = (
    100
    * np.array(learned["cubic_gaussian"])
    / predicted["cubic_gaussian"]["step_size"]
)
numbers = {
    "kappa": targets.KAPPA,
    "hidden": targets.HIDDEN,
    "frequency": targets.FREQUENCY,
    "heavy": budget.heavy,
    "batch": budget.batch,
    "steps": budget.schedule.steps,
    "trainings": budget.trainings,
    "bound": bound,
    "learned_least": min(cubic),
    "learned_most": max(cubic),
    "share_light": max(100 * measured[name].largest_share for name in light),
    "longest_bar": max(
        500 * getattr(measured[name], key).stderr / predicted[name][key]
        for name in light
        for key in ("a", "b", "step_size")
    ),
    "rotation_reader": targets.rotation_statistic(
        yours, d, np.random.default_rng(trial)
    ),
    "reader_a": sampled.mean[0],
    "reader_weighted": sampled.mean[1],
    "reader_power": sampled.mean[2],
    "reader_ratio": your_moments.b(sigma2) / your_moments.a,
    "fourth_sphere": 1,
    "fourth_gaussian": (d + 2) / d,
    "fourth_scale_mixture": 1.25 * (d + 2) / d,
    "n_eta_linear_measured": n * measured["linear"].step_size.mean,
}
for k, length in zip(("short", "middle", "long"), view_lengths, strict=True):
    numbers[f"view_{k}"] = length
for name, m in moments.items():
    numbers[f"n_eta_{name}"] = n * predicted[name]["step_size"]
    share = predicted[name]["risk"] / (m.power + sigma2)
    numbers[f"share_of_zero_{name}"] = share
    numbers[f"explained_{name}"] = 100 * (1 - share)
    numbers[f"share_{name}"] = 100 * measured[name].largest_share
    if m.a > 0:
        numbers[f"half_{name}"] = m.b(sigma2) / m.a - 1
for name, (formula, step) in covariate_steps.items():
    numbers[f"n_eta_{name}"] = n * formula
    numbers[f"n_eta_{name}_measured"] = n * step.mean
for name, (exact, _, _) in examples.items():
    numbers[f"penalty_{name}_percent"] = 100 * (
        exact.scalar_risk / exact.risk - 1
    )
for k in range(3):
    numbers[f"gamma_b_{k}"] = 10 * examples["b"][0].preconditioner[k, k]
for name, value in numbers.items():
    ledger.number(name, value)

# %% [markdown]
# ## Exercises
#
# ★ a pencil and ten minutes; ★★ more thought, or a few lines of code; ★★★ a proof; ◇ open: nobody we know of has
# answered it. The code in the solutions ran with this page, at sizes of its own, and stops the page if a number is off.
#
# ```{exercise} A shift nobody told it about ★
# :label: ex-shift
# Add to linear targets a constant: $f(x) = w^\top x + m\,t$, where $t = \pm 1$ is tossed once a prompt. The mean label of the context nearly
# gives $m\,t$ away. What do linear attention's step and risk become?
# ```
#
# ```{solution} ex-shift
# :label: sol-shift
# :class: dropdown
# A constant has no linear part: $a = d$ as before. It is loud: $b = d(d+2) + (\sigma^2 + m^2)\,d$. So
#
# $$
# \eta^\ast = \frac{1}{n + d + 1 + (\sigma^2 + m^2)} ,
# $$
#
# and the risk is that of linear targets with noise of variance $\sigma^2 + m^2$. Linear attention takes what is the same in all labels for
# noise, since no weights can *subtract a mean*. A softmax can: it pays one example to remove the shift altogether
# ({ref}`ex-softmax`). In general whatever is uncorrelated with $w_f^\top x$, be it noise, curvature or a
# shift, enters only through its contribution to $b$.
# ```
#
# ```{exercise} Wrong labels ★
# :label: ex-flips
# Labels are $\operatorname{sign}(w^\top x)$, but a share $q < \tfrac12$ of them, each by its own coin, is flipped.
#
# 1. How do $a$, $b$ and $\eta^\ast$ change?
# 2. For any target, how does the risk approach the linear floor of {eq}`eq-linear-floor` as $n \to \infty$?
# 3. How many more examples make up for flips, when contexts are long?
# ```
#
# ```{solution} ex-flips
# :label: sol-flips
# :class: dropdown
# 1. A flip multiplies the label by $\pm 1$ with mean $1 - 2q$, independently for each example: $a = (1-2q)^2\,\tfrac2\pi$, and $b = d$
#    stays, because $y^2 = 1$. So $\eta^\ast = 1 \big/ \big\{ n - 1 + \tfrac{\pi d}{2 (1-2q)^2} \big\}$.
# 2. $L_{\min} - \text{floor} = a - \frac{n a^2}{(n-1)a + b} = \frac{a\,(b - a)}{(n-1)a + b} \approx \frac{b - a}{n}$.
# 3. Hardly any for *that* gap, $b - a$ being near $d$ with and without flips. What flips destroy is the floor itself: it rises from $1 - \tfrac2\pi$ to
#    $1 - (1-2q)^2\,\tfrac2\pi$, which no number of examples repairs, because the *query's* label may be flipped too. Measured on clean queries
#    the same step tends to the right direction $w$, only shorter.
# ```
#
# ```{exercise} The right features ★★
# :label: ex-features
# No linear attention learns $x^\top Q x$ from tokens $(x, y)$. Give it tokens $(z(x), y)$ instead, with features that satisfy $\mathbb E\,zz^\top = I$:
# $z = \big(1,\ (x_j^2 - 1)/\sqrt2,\ x_j x_k\ (j < k)\big)$.
#
# 1. Which part of the proof of {prf:ref}`thm-nonlinear` survives, and what are $a$ and $b$ now?
# 2. Predict step and risk at $d = 3$, $n = 20$, $\sigma^2 = \tfrac14$, and check the risk of that step.
# ```
#
# ```{solution-start} ex-features
# :label: sol-features
# :class: dropdown
# ```
#
# **1.** *The step* survives: it uses only $\mathbb E\,zz^\top = I$ and independence. *The form* does not: rotations of $x$ do not act on $z$ as all of
# $O(D)$, so a plain step in $z$ need not be the best (trace and traceless part of $Q$ might deserve steps of their own). It is good enough here.
# $f$ lies in the span of the features, so $a = \mathbb E f^2 = d(d+2)$. With $\rho = \|x\|$, $\|z\|^2 = 1 + \tfrac12(\rho^4 - 2\rho^2 + d)$ and
# $\mathbb E[f^2 \mid x] = \rho^4$, so with $p_4 = d(d+2)$, $p_6 = p_4(d+4)$, $p_8 = p_6(d+6)$
#
# $$
# b = p_4 + \tfrac12\big(p_8 - 2p_6 + d\,p_4\big) + \sigma^2 D, \qquad D = 1 + \tfrac{d(d+1)}{2} .
# $$
#
# **2.** Risk {glue:text}`ex_features_risk:.2f`, against {glue:text}`ex_features_zero:.2f` for answering $0$, which was the best without
# features. What a layer can learn in context is decided by what its tokens hold; providing $z(x)$ is work for the layers
# below, an MLP for instance.

# %%
from icl.estimates import monte_carlo
from icl.solvers.linear import gradient_step

pairs = np.triu_indices(3, 1)
rng = stream("exercise 3")


def features(x):
    """Seven orthonormal features of three covariates."""
    squares = (x**2 - 1) / np.sqrt(2)
    products = x[..., pairs[0]] * x[..., pairs[1]]
    return np.concatenate(
        [np.ones_like(x[..., :1]), squares, products], axis=-1
    )


fourth, sixth, eighth = 15, 105, 945
b_features = fourth + (eighth - 2 * sixth + 3 * fourth) / 2 + 0.25 * 7
bowl = theory.Moments(7, fourth, b_features - 0.25 * 7, fourth)
feature_step = theory.step_size(bowl, 20, 0.25)


def squared_errors(B):
    """One step of the predicted size, in feature space."""
    x = rng.standard_normal((B, 21, 3))
    f = FAMILIES["quadratic"](x, rng)
    y = f + 0.5 * rng.standard_normal(f.shape)
    z = features(x)
    w = gradient_step(z[:, :-1], y[:, :-1], feature_step)
    return ((z[:, -1] * w).sum(1) - y[:, -1]) ** 2


found = monte_carlo(squared_errors, 60_000)
formula = theory.minimal_risk(bowl, 20, 0.25)
print(f"measured {found.mean:.2f} ± {found.stderr:.2f}")
print(f"formula  {formula:.2f}")
assert abs(found.mean - formula) < 5 * found.stderr

# %% [markdown]
# ```{solution-end}
# ```
#
# ```{exercise} The easiest target is not linear ★★★
# :label: ex-easiest
# Among single-index targets $\phi(w^\top x)$ with $\|w\| = 1$ uniform, $\phi$ odd, and no noise, the step waits for $b/a$ examples, and for linear
# $\phi$ that is $d + 2$.
#
# 1. Find the $\phi$ with the least $b/a$, and show that it is not linear for $d \ge 2$.
# 2. Is it therefore the target with the least risk?
# ```
#
# ```{solution-start} ex-easiest
# :label: sol-easiest
# :class: dropdown
# ```
#
# **1.** From the last line of the table $b/a = \mathbb E[\phi^2\,(z^2 + d - 1)] / (\mathbb E\,\phi z)^2$. By Cauchy and Schwarz
#
# $$
# \begin{aligned}
# (\mathbb E\,\phi z)^2 &= \Big( \mathbb E\;\phi\,\sqrt{z^2 + d - 1} \cdot \frac{z}{\sqrt{z^2 + d - 1}} \Big)^2 \\
# &\le \mathbb E\big[\phi^2 (z^2 + d - 1)\big]\; \mathbb E\,\frac{z^2}{z^2 + d - 1} ,
# \end{aligned}
# $$
#
# with equality for $\phi(z) \propto z/(z^2 + d - 1)$ only. So $b/a \ge 1 \big/ \mathbb E\,\tfrac{z^2}{z^2 + d - 1}$, and a linear $\phi$, which is
# not proportional to it for $d \ge 2$, has more. ∎ The best target turns back at large $|z|$: there the covariate is long, and a
# long example is a loud one. At $d = 5$ the least $b/a$ is {glue:text}`ex_easiest_ratio:.4f` instead of 7.
#
# **2.** No. A larger step is not a smaller risk. The best-$b/a$ target has curvature that a line cannot follow, and its floor is
# {glue:text}`ex_easiest_floor:.3f` of its variance. At $n = 20$ its risk is {glue:text}`ex_easiest_risk:.3f` of the variance, that of a
# linear target {glue:text}`ex_linear_risk:.3f`. Up to two examples, though, it is ahead:
# {glue:text}`ex_easiest_risk_two:.4f` against {glue:text}`ex_linear_risk_two:.4f` at $n = 2$.


# %%
def easiest(z):
    """The single index with the least b/a at d = 5."""
    return z / (z**2 + 4)


def along_unit_direction(x, rng):
    """easiest(w'x), |w| = 1, w uniform."""
    w = rng.standard_normal((len(x), x.shape[2], 1))
    w /= np.linalg.norm(w, axis=1, keepdims=True)
    return easiest((x @ w)[..., 0])


z, weight = np.polynomial.hermite_e.hermegauss(300)
least_ratio = weight.sum() / (weight @ (z**2 / (z**2 + 4)))
easy = theory.single_index(5, easiest)
assert abs(easy.b(0) / easy.a - least_ratio) < 1e-9
family = targets.Family("easiest", "", along_unit_direction)
found = chapter.measure(
    TargetLaw(family, 5, 20, 0.0), 40_000, stream("exercise 4")
)
formula = theory.step_size(easy, 20, 0.0)
print(f"20 η* measured {20 * found.step_size.mean:.4f}")
print(f"20 η* by the formula {20 * formula:.4f}")
print(f"20 η* linear {20 * theory.step_size(theory.linear(5), 20, 0):.4f}")
assert abs(found.step_size.mean - formula) < 5 * found.step_size.stderr

# %% [markdown]
# ```{solution-end}
# ```
#
# ```{exercise} Depth against a staircase ◇
# :label: ex-depth-nonlinear
# For masked linear transformers the linear floor holds at any depth. How fast can $L$ layers approach it on a nonlinear target, say
# $\operatorname{sign}(w^\top x)$, at finite $n$?
# ```
#
# ```{solution} ex-depth-nonlinear
# :label: sol-depth-nonlinear
# :class: dropdown
# **Known:** the floor bounds every depth from below, and one layer reaches it for $n \to \infty$, with a gap of about $(b-a)/n$
# ({ref}`ex-flips`). No masked linear transformer, however deep, can do better than the best predictor that is linear in the query,
# $x^\top \mathbb E[w_f \mid X, y]$. For linear targets that is ridge regression and the gain from depth can be computed ({ref}`ex-more-steps`).
#
# **Open:** the least risk of $L \ge 2$ layers for any nonlinear family. The loss is not convex in the weights, so the symmetry argument says
# nothing, and for $\operatorname{sign}$ neither $\mathbb E[w_f \mid X, y]$ nor the moments of $X^\top y$ beyond the second, which two layers
# need, are as simple as for Gaussian labels. Once the *query is not masked* even the floor is open: the output is then no longer linear in $x$.
# ```

# %% tags=["hide-input", "remove-output"]
line = theory.linear(5)
exercise_numbers = {
    "ex_features_risk": theory.minimal_risk(bowl, 20, 0.25),
    "ex_features_zero": fourth + 0.25,
    "ex_easiest_ratio": least_ratio,
    "ex_easiest_floor": theory.linear_floor(easy, 0) / easy.power,
    "ex_easiest_risk": theory.minimal_risk(easy, 20, 0) / easy.power,
    "ex_linear_risk": theory.minimal_risk(line, 20, 0) / line.power,
    "ex_easiest_risk_two": theory.minimal_risk(easy, 2, 0) / easy.power,
    "ex_linear_risk_two": theory.minimal_risk(line, 2, 0) / line.power,
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
