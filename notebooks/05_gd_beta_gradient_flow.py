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
# (gd-beta)=
# # GD-β: the best step from a learned start, and how it is found
#
# If the tasks that a transformer meets have a non-zero mean $\beta^\ast$, one step of gradient descent should not start
# from $0$. **GD-β** starts from a learned $\beta$ and multiplies the gradient by a learned matrix $\Gamma$:
#
# ```{math}
# :label: eq-gd-beta
# f = \Big\langle \beta - \tfrac1n\, \Gamma X^\top (X \beta - y),\ x \Big\rangle .
# ```
#
# {cite:t}`zhang2024block` ask three questions about it. What are the best $\beta$ and $\Gamma$? How far is their risk from the
# best possible? And since the risk is **not convex**, does gradient descent find them?
#
# The answers: a regularised Newton step from $\beta^\ast$; a constant factor if the noise is strong,
# {glue:text}`cor62.snr_condition.predicted:.0f` times worse where it is not; and yes, from everywhere.
#
# ```{admonition} What you need
# :class: note
# {doc}`Chapter 1 <01_one_step_gd>` and {doc}`/book/notation`; eigenvalues, and an ordinary differential equation.
# Reading takes about {glue:text}`reading_minutes:.0f` minutes; rerunning, under a minute.
# ```

# %% tags=["hide-input"]
import numpy as np
from icl.chapters import begin
from icl.chapters.gd_beta_gradient_flow import (
    discrete,
    flow,
    flow_pictures,
    flow_structure,
    pictures,
    proof_pictures,
    risk_ratios,
)
from icl.chapters.gd_beta_gradient_flow import experiments as chapter
from icl.chapters.gd_beta_gradient_flow.explorable import explorable
from icl.chapters.mlp_benefit.mean_task_laws import (
    isotropic_law,
    laws,
    singular_law,
    skewed_law,
)
from icl.estimates import Estimate, monte_carlo
from icl.prompts import PromptLaw
from icl.search import gd_beta_minimisers
from icl.theory import bayes_rates, scalar_flow
from icl.theory import gd_beta as theory
from icl.theory import gradient_flow as flow_theory
from icl.theory.bayes_risk import isotropic_bayes_risk

# %% tags=["parameters"]
d = 5
n = 20
sigma2 = 0.25
beta_norm = 3.0
seed = 0
profile = "quick"

# %% tags=["hide-input", "remove-output"]
parameters, ledger, stream = begin(
    "05_gd_beta_gradient_flow",
    d=d,
    n=n,
    sigma2=sigma2,
    beta_norm=beta_norm,
    seed=seed,
    profile=profile,
)
budget = chapter.budget(parameters)
law, skewed, singular = laws(parameters, stream)

# %% [markdown]
# ## The model
#
# A linear transformer block, attention and then a linear MLP, computes exactly this (chapter 4): its values are the residuals
# $y_i - \beta^\top x_i$, keys and queries compare $x_i$ with $x$ through $\Gamma$, and the MLP adds $\beta^\top x$.


# %%
def gd_beta(X, y, x, beta, Gamma):
    """One step from beta on the examples X (n, d), y (n,); the query is x."""
    gradient = X.T @ (X @ beta - y) / len(y)
    return (beta - Gamma @ gradient) @ x


def block(X, y, x, beta, Gamma):
    """Attention, then a linear MLP; the last token's label is the answer."""
    n, d = X.shape
    E = np.block([[X.T, x[:, None]], [y, 0.0]])  # tokens (x_i; y_i) and (x; 0)
    M = np.diag(np.r_[np.ones(n), 0.0])  # nobody looks at the query
    W_K, W_Q = np.eye(d, d + 1), np.c_[Gamma.T, np.zeros(d)]
    W_V, W_P = np.r_[-beta, 1.0], np.eye(d + 1)[d]
    W_1, W_2 = np.r_[beta, 1.0], np.eye(d + 1)[d]
    E = E + np.outer(W_P, W_V @ E @ M @ E.T @ W_K.T @ W_Q @ E / n)
    return np.outer(W_2, W_1 @ E)[-1, -1]


# %% [markdown]
# **One prompt by hand.** Three examples without noise, of the task $(4, 0)$. At $\beta^\ast = (2, 1)$ the residuals $X\beta^\ast - y$ are
# $-2, 1, -1$ and the gradient is $\tfrac13(-3, 0)$; with $\Gamma = \tfrac12 I$, which is the best one here, the step leads to
# $(2\tfrac12, 1)$, and $(2\tfrac12, 1) \cdot (2, 1) = 6$. From $0$ it leads to $(\tfrac43, \tfrac23)$ and to $\tfrac{10}3$. The query's label is $8$.

# %%
X, y = np.array([[1.0, 0], [0, 1], [1, 1]]), np.array([4.0, 0, 4])
x, mean, half = np.array([2.0, 1]), np.array([2.0, 1]), np.eye(2) / 2
print(f"from β*, the block: {block(X, y, x, mean, half):.4f}")
print(f"from β*, the step:  {gd_beta(X, y, x, mean, half):.4f}")
print(f"from 0,  the step:  {gd_beta(X, y, x, 0 * mean, half):.4f}")

# %% tags=["hide-input", "remove-output"]
ledger.figure(proof_pictures.task_space(X, y, mean, half))

# %% [markdown]
# ```{glue:figure} fig-task_space
# :name: fig-task-space
#
# The same prompt in the space of tasks. Rings: its squared error, least at the star. Both arrows are one step with the same
# $\Gamma$; the one from the mean task has less far to go. Over all prompts no start is better than the mean task
# $\beta^\ast$, and with it no matrix than $\Gamma^\ast$.
# ```

# %% [markdown]
# ## The exact risk
#
# Tasks are $\beta_{\rm task} \sim N(\beta^\ast, \Psi)$, covariates $x \sim N(0, H)$. Unless a sentence says otherwise,
# $H = \Psi = I$, $d =$ {glue:text}`d:.0f`, $n =$ {glue:text}`n:.0f`, $\sigma^2 =$ {glue:text}`sigma2:g` and
# $\|\beta^\ast\|_H =$ {glue:text}`beta_norm:g`. Write $b = \beta - \beta^\ast$, $A = \Psi + b b^\top$ and
# $N = \tfrac{n+1}{n} HAH + \tfrac{\operatorname{tr}(HA) + \sigma^2}{n} H$. Gaussian moments give the risk of any $(\beta, \Gamma)$:
#
# ```{math}
# :label: eq-gd-beta-risk
# \mathcal R = \sigma^2 + \operatorname{tr}(HA) - 2 \operatorname{tr}(H \Gamma H A) + \operatorname{tr}(H \Gamma N \Gamma^\top) .
# ```
#
# Beside the formula, the average over random prompts:


# %%
def moments(law, beta):
    """A and N of the formula."""
    H, n, b = law.H, law.n, beta - law.beta_star
    A = law.Psi + np.outer(b, b)
    return A, (n + 1) / n * H @ A @ H + (np.trace(H @ A) + law.sigma2) / n * H


def risk(law, beta, Gamma):
    """What Gaussian moments give."""
    H, (A, N) = law.H, moments(law, beta)
    step = np.trace(H @ Gamma @ N @ Gamma.T) - 2 * np.trace(H @ Gamma @ H @ A)
    return law.sigma2 + np.trace(H @ A) + step


def measured(law, estimator, count, rng):
    """The risk of an estimator of the task, averaged over random prompts."""

    def costs(prompts):
        off = estimator(prompts) - prompts.beta  # a new query costs off'H off
        return law.sigma2 + np.einsum("bi,ij,bj->b", off, law.H, off)

    return chapter.over_prompts(law, costs, count, rng)


def one_step(beta, Gamma):
    """GD-β as an estimator: from B prompts to their tasks, (B, d)."""

    def estimates(prompts):
        X, residuals = prompts.X, prompts.X @ beta - prompts.y
        gradient = np.einsum("bni,bn->bi", X, residuals) / X.shape[1]
        return beta - gradient @ Gamma.T

    return estimates


point = chapter.random_point(law, stream("a point on prompts"))
by_formula = risk(law, *point)
on_prompts = measured(law, one_step(*point), budget.prompts, stream("risk"))


# %% tags=["hide-input"]
def as_if_n(law, beta, Gamma):
    """The formula with n for n + 1: without tr(GAG'H)/n."""
    G, A = law.H @ Gamma @ law.H, moments(law, beta)[0]
    return risk(law, beta, Gamma) - np.trace(Gamma @ law.H @ A @ G.T) / n


skewed_point = chapter.random_point(
    skewed, stream("a point on prompts, skewed")
)
ledger.claims({
    "thm52.risk": (by_formula, on_prompts, as_if_n(law, *point)),
    "thm52.risk_anisotropic": (
        risk(skewed, *skewed_point),
        measured(
            skewed,
            one_step(*skewed_point),
            budget.prompts,
            stream("risk, skewed"),
        ),
        as_if_n(skewed, *skewed_point),
    ),
})

# %% [markdown]
# ## Its minimum
#
# With $\Phi = H^{1/2} \Psi H^{1/2}$ (eigenvalues $\varphi_i$), $\tau = \operatorname{tr}(H\Psi) + \sigma^2$,
# $\Omega = \tfrac{n+1}{n} \Phi + \tfrac{\tau}{n} I$, $G = H^{1/2} \Gamma H^{1/2}$ and $G^\ast = \Phi\, \Omega^{-1}$, the risk is a
# completed square:
#
# ```{math}
# :label: eq-gd-beta-square
# \begin{aligned}
# \mathcal R - \mathcal R^\ast &= b^\top P(\Gamma)\, b + \operatorname{tr}\big[ (G - G^\ast)\, \Omega\, (G - G^\ast)^\top \big], \\
# P(\Gamma) &= H^{1/2} \Big[ (I-G)^\top (I-G) + \tfrac1n G^\top G + \tfrac1n \|G\|_F^2\, I \Big] H^{1/2} .
# \end{aligned}
# ```
#
# Both terms are at least $0$, so the minimisers can be read off:
#
# ```{prf:theorem} Zhang, Wu and Bartlett, Theorem 5.2
# :label: thm-gd-beta
#
# The least risk of GD-β is
#
# $$
# \mathcal R^\ast = \sigma^2 + \sum_{i=1}^d \varphi_i\, \frac{\varphi_i + \tau}{(n+1)\, \varphi_i + \tau} ,
# $$
#
# attained at $\beta = \beta^\ast$ and $\Gamma^\ast = \Psi \big( \tfrac{n+1}{n} H \Psi + \tfrac{\tau}{n} I \big)^{-1}$. All minimisers are
# $\beta \in \beta^\ast + \operatorname{Null} H$, $\Gamma \in \Gamma^\ast + \{\Delta : H \Delta H = 0\}$; they predict alike on all data.
# ```
#
# ```{admonition} Proof
# :class: dropdown
# $P(\Gamma) \succeq \tfrac{2}{n+2} H$: for a unit vector $e$, $\|(I - G) e\|^2 \ge (1 - g)^2$ and $\|Ge\|^2, \|G\|_F^2 \ge g^2$ with
# $g = e^\top G e$, and $(1-g)^2 + \tfrac2n g^2 \ge \tfrac{2}{n+2}$ ({numref}`fig-flow-proof`, left). So the first term of
# {eq}`eq-gd-beta-square` vanishes only for $Hb = 0$. As $\tau > 0$, $\Omega$ is positive definite, and the second vanishes only for
# $G = G^\ast$, that is $H^{1/2} (\Gamma - \Gamma^\ast) H^{1/2} = 0$. For $x, x_i$ in the range of $H$ neither $\beta$'s component in
# $\operatorname{Null} H$ nor such a difference in $\Gamma$ reaches a prediction.
# ```


# %%
def pull(law, Gamma):
    """P(Γ): how strongly the risk pulls β towards β*."""
    root, I, n = law.roots[0], np.eye(law.d), law.n  # root = H^½
    G = root @ Gamma @ root
    inner = (I - G).T @ (I - G) + G.T @ G / n + (G**2).sum() / n * I
    return root @ inner @ root


def minimum(law, plus=1):
    """Γ* and R* of Theorem 5.2."""
    n, HPsi = law.n, law.H @ law.Psi
    tau = np.trace(HPsi) + law.sigma2
    inflated = ((n + plus) * HPsi + tau * np.eye(law.d)) / n
    phi = np.linalg.eigvals(HPsi).real  # those of Φ
    excess = (phi * (phi + tau) / ((n + plus) * phi + tau)).sum()
    return law.Psi @ np.linalg.inv(inflated), law.sigma2 + excess


def square(law, beta, Gamma):
    """The two parts of the excess, added."""
    b, root, (best, _) = beta - law.beta_star, law.roots[0], minimum(law)
    off = root @ (Gamma - best) @ root  # G − G*
    tau = np.trace(law.H @ law.Psi) + law.sigma2
    Omega = (n + 1) / n * root @ law.Psi @ root + tau / n * np.eye(law.d)
    return b @ pull(law, Gamma) @ b + np.trace(off @ Omega @ off.T)


points = [
    (problem, *chapter.random_point(problem, stream("a point", k)))
    for k, problem in enumerate((law, skewed, singular))
]
excess = [risk(*point) - minimum(point[0])[1] for point in points]
squares = [square(*point) for point in points]

# %% tags=["hide-input"]
without_frobenius = [
    (
        np.trace(Gamma @ problem.H @ Gamma.T @ problem.H)
        * ((beta - problem.beta_star) @ problem.H @ (beta - problem.beta_star))
    )
    / n
    for problem, beta, Gamma in points
]
ledger.claims({
    "thm52.completed_square": (
        0,
        np.abs(np.array(squares) / excess - 1).max(),
        (np.array(without_frobenius) / excess).min(),
    )
})

# %% [markdown]
# **A search that knows nothing of this.** L-BFGS minimises the exact loss of a whole transformer block over all entries of $\beta$ and
# $\Gamma$ from {glue:text}`starts:.0f` random starts. **When $H$ is singular**, here $d + 2$ covariates of which $d$ directions ever vary
# and a task with one direction that never does, the $\Gamma$ found depend on the start: two differ by as much as
# {glue:text}`parameter_spread:.2f` times the largest. Their predictions do not differ.
#
# **What kind of step is it?** For $H, \Psi \succ 0$, $\Gamma^{\ast -1} = \tfrac{n+1}{n} H + \tfrac{\tau}{n} \Psi^{-1}$: as the context grows,
# $\Gamma^\ast \to H^{-1}$, a *Newton step* from $\beta^\ast$, and at finite $n$ a regularised one. The search agrees at $n = 10^7$
# (from beside $\beta^\ast$: along $\beta$ the risk is curved by $1/n$ only):


# %% tags=["hide-input"]
def farthest(law, ends, target, **seen):
    """The largest distance of any of the points found from (β*, target)."""
    return theory.distance_from_minimisers(
        law, ends.beta, ends.Gamma, target=target, **seen
    ).max()


ends = chapter.minimisers(law, budget.starts, stream("search"))
skewed_ends = chapter.minimisers(
    skewed, budget.starts, stream("search, skewed")
)
flat_ends = chapter.minimisers(
    singular, budget.starts, stream("search, singular")
)
(best, least), (skewed_best, _) = minimum(law), minimum(skewed)
flat_best, flat_least = minimum(singular)
wrong, wrong_least = minimum(law, plus=0)  # n for n + 1
wrong_flat, wrong_flat_least = minimum(singular, plus=0)
spread = chapter.prediction_spread(
    singular, flat_ends, flat_best, stream("spread of predictions")
)
wrong_spread = chapter.prediction_spread(
    singular,
    flat_ends,
    wrong_flat,
    stream("spread of predictions, n for n + 1"),
)
long = theory.at_length(skewed, 10**7 * max(1, round(sigma2)))
newton = gd_beta_minimisers(
    long, 1, stream("search, long"), around=long.beta_star
).Gamma[0]
everything = np.eye(singular.d)
found = {
    "thm52.minimal_risk": (least, ends.risks.min(), wrong_least),
    "thm52.minimiser": (
        0,
        farthest(law, ends, best),
        farthest(law, ends, wrong),
    ),
    "thm52.minimiser_anisotropic": (
        0,
        farthest(skewed, skewed_ends, skewed_best),
        farthest(
            skewed,
            skewed_ends,
            np.linalg.solve(
                (n + 1) / n * skewed.H @ skewed.Psi
                + (np.trace(skewed.H @ skewed.Psi) + sigma2) / n * np.eye(d),
                skewed.Psi,
            ),
        ),
    ),
    "thm52.rank_deficient": (0, spread, wrong_spread),
    "thm52.rank_deficient_set": (
        0,
        farthest(singular, flat_ends, flat_best),
        farthest(singular, flat_ends, flat_best, seen=everything),
    ),
    "thm52.rank_deficient_risk": (
        flat_least,
        flat_ends.risks.min(),
        wrong_flat_least,
    ),
    "thm52.newton_limit": (
        0,
        np.abs(skewed.H @ newton - np.eye(d)).max(),
        np.abs(newton - np.eye(d)).max(),
    ),
}
ledger.claims(found)

# %% [markdown]
# **Other lengths at test time.** $\Gamma^\ast$ depends on $n$. {eq}`eq-gd-beta-risk` at the test length with the trained $\Gamma$ says what
# another length costs:

# %% tags=["hide-input"]
tested = {}
for m in sorted({max(1, n // 4), 2 * n, 8 * n}):
    at_m = theory.at_length(law, m)
    count = max(500, budget.prompts * min(n, m) // (4 * m))
    step = one_step(law.beta_star, best)
    tested[m] = measured(at_m, step, count, stream("length", m))
twice = theory.at_length(law, 2 * n)
at_2n = risk(twice, law.beta_star, best)
retrained = theory.minimal_risk(twice)
ledger.claims({
    "thm52.length_generalisation": (at_2n, tested[2 * n], retrained)
})

# %% tags=["hide-input", "remove-output"]
ledger.figure(pictures.length_generalisation(law, tested))

# %% [markdown]
# ```{glue:figure} fig-length_generalisation
# :name: fig-length-generalisation
#
# More context than in training helps, but not for ever: the trained step (solid orange) levels off at
# {glue:text}`length_floor:.4f`, because $\Gamma^\ast$ was shrunk for the noise of $n =$ {glue:text}`n:.0f` examples (dotted).
# Trained for each length (dashed), GD-β keeps falling, like ridge regression below it.
# ```

# %% [markdown]
# ## How far from Bayes?
#
# The best possible predictor is ridge regression centred at $\beta^\ast$,
#
# $$
# \hat\beta = \beta^\ast + \Psi^{1/2} \big( \Psi^{1/2} X^\top X \Psi^{1/2} + \sigma^2 I \big)^{-1} \Psi^{1/2} X^\top (y - X\beta^\ast) .
# $$
#
# Given $X$ it pays, beyond $\sigma^2$, the excess $\operatorname{tr}\big[ D\, \sigma^2 (\sigma^2 I + D^{1/2} Z^\top Z D^{1/2})^{-1} \big]$ with
# $D = \operatorname{diag}(\varphi_i)$ and a white $Z$: the $\varphi_i$ are all that matters. Its mean over $Z$ is exact when the $\varphi_i$
# are equal (chapter 1), one integral for one covariate or one example, and otherwise an average over $Z$.


# %%
def ridge(law):
    """The posterior means of the tasks; without noise the limit."""

    def estimates(prompts):
        root = law.roots[1]  # Ψ^½
        Z, residual = prompts.X @ root, prompts.y - prompts.X @ law.beta_star
        K = Z.mT @ Z + (law.sigma2 or 1e-12) * np.eye(law.d)
        right = np.einsum("bni,bn->bi", Z, residual)[..., None]
        return law.beta_star + np.linalg.solve(K, right)[..., 0] @ root

    return estimates


def ridge_excess(Z, phi, sigma2):
    """What ridge pays beyond σ² given white covariates Z (B, n, d), (B,)."""
    M = np.sqrt(phi)[:, None] * (Z.mT @ Z) * np.sqrt(phi)
    lam, Q = np.linalg.eigh(M)
    known = lam > 1e-10 * lam[:, -1:]
    unknown = np.where(known, sigma2 / np.where(known, sigma2 + lam, 1), 1)
    return np.einsum("i,bik,bk->b", phi, Q**2, unknown)


of_ridge = measured(law, ridge(law), budget.prompts, stream("Bayes"))
bayes = isotropic_bayes_risk(d, n, sigma2)


# %% tags=["hide-input"]
def over_contexts(phi, n, count, rng):
    """The Bayes risk for any φ: the mean over Z, with its error."""
    phi = np.array(phi)
    white = lambda B: rng.standard_normal((B, n, len(phi)))
    return sigma2 + monte_carlo(
        lambda B: ridge_excess(white(B), phi, sigma2), count
    )


def at_the_mean(phi, n):
    """Jensen's bound: the risk as if X'X were its mean."""
    return sigma2 + bayes_rates.sandwich(phi, n, sigma2).lower


short, contexts = (
    theory.at_length(skewed, max(1, n // 4)),
    600 * budget.contexts,
)
Phi = skewed.roots[0] @ skewed.Psi @ skewed.roots[0]
in_order = np.linalg.eigvalsh(skewed.H) * np.linalg.eigvalsh(skewed.Psi)
example = [2, 1, 0.3]
ledger.claims({
    "lemma61.bayes_risk": (bayes, of_ridge, at_the_mean(np.ones(d), n)),
    "lemma61.anisotropic": (
        over_contexts(
            np.linalg.eigvalsh(Phi),
            short.n,
            contexts,
            stream("contexts, skewed"),
        ),
        measured(short, ridge(short), budget.prompts, stream("Bayes, skewed")),
        over_contexts(
            in_order, short.n, contexts, stream("contexts, in order")
        ).mean,
    ),
    "lemma61.one_covariate": (
        bayes_rates.bayes_risk_one_covariate(n, sigma2),
        isotropic_bayes_risk(1, n, sigma2),
        bayes_rates.bayes_risk_one_covariate(n + 1, sigma2),
    ),
    "lemma61.one_example": (
        bayes_rates.bayes_risk_one_example(example, sigma2),
        over_contexts(example, 1, contexts, stream("contexts, one example")),
        at_the_mean(example, 1),
    ),
})

# %% [markdown]
# In expectation the comparison can be made with every constant written out:
#
# ```{prf:theorem} Zhang, Wu and Bartlett, Corollary 6.2, with constants of this book
# :label: thm-sandwich
#
# $$
# \sum_i \frac{\varphi_i \sigma^2}{n\varphi_i + \sigma^2}
# \le \mathcal R_{\rm Bayes} - \sigma^2
# \le \mathcal R^\ast - \sigma^2
# \le \Big( 1 + \frac{\operatorname{tr} \Phi + \varphi_1}{\sigma^2} \Big) \sum_i \frac{\varphi_i \sigma^2}{n\varphi_i + \sigma^2} ,
# $$
#
# and $\tfrac12 \sum_i \min\!\big(\varphi_i, \tfrac{\tau}{n+1}\big) \le \mathcal R^\ast - \sigma^2 \le 2 \sum_i \min\!\big(\varphi_i, \tfrac{\tau}{n+1}\big)$.
# ```
#
# ```{admonition} Proof
# :class: dropdown
# *Left.* $M \mapsto \operatorname{tr}[D\,(\sigma^2 I + M)^{-1}]$ is convex; Jensen at the mean $nD$ of $D^{1/2} Z^\top Z D^{1/2}$. *Middle.* No
# predictor beats Bayes. *Right.* Term by term: $\frac{\varphi + \tau}{(n+1)\varphi + \tau} \cdot \frac{n\varphi + \sigma^2}{\sigma^2}
# \le \frac{\varphi + \tau}{\sigma^2} \le 1 + \frac{\operatorname{tr}\Phi + \varphi_1}{\sigma^2}$, because
# $n\varphi + \sigma^2 \le (n+1)\varphi + \tau$ and $\tau = \operatorname{tr}\Phi + \sigma^2$.
# *Rate.* With $s = \tau/(n+1)$ each term is $\frac{\varphi\,(\varphi + \tau)}{(n+1)(\varphi + s)}$. As
# $\varphi \le \tau$, $\tau \le \varphi + \tau \le 2\tau$; and $\tfrac12 \min(\varphi, s) \le \frac{\varphi s}{\varphi + s} \le \min(\varphi, s)$.
# ```
#
# The bounds are tested on {glue:text}`spectra:.0f` random problems. A convex function lies above its tangent at the mean. So, less the
# tangent's deviation, whose mean is 0, every single draw keeps the lower bound, and where that is tight the mean is measured sharply:


# %%
def bounds(phi, n, sigma2):
    """Lower bound, the excess of the best GD-β, upper bound, without φ₁."""
    tau = phi.sum() + sigma2
    lower = (phi * sigma2 / (n * phi + sigma2)).sum()
    best = (phi * (phi + tau) / ((n + 1) * phi + tau)).sum()
    factor = np.array([phi.sum() + phi.max(), phi.sum()]) / sigma2
    return lower, best, *((1 + factor) * lower)


def above_the_tangent(Z, phi, sigma2):
    """Bayes' excess given Z, less the tangent's deviation from its mean."""
    diagonal = phi * (Z**2).sum(1)  # mean n φ
    slope = -sigma2 * phi / (sigma2 + Z.shape[1] * phi) ** 2
    tangent = (slope * (diagonal - Z.shape[1] * phi)).sum(1)
    return ridge_excess(Z, phi, sigma2) - tangent


# %% tags=["hide-input"]
def three_ratios(rng, draws=2000):
    """On a random problem: the ratios that are bounded by 1, and errors."""
    k, m = int(rng.integers(1, 8)), int(rng.integers(1, 40))
    phi, noise = np.exp(1.5 * rng.standard_normal(k)), np.exp(2 * rng.normal())
    Z = rng.standard_normal((draws, m, k))
    seen = above_the_tangent(Z, phi, noise)
    bayes, error = seen.mean(), seen.std() / np.sqrt(draws)
    lower, best, upper, too_low = bounds(phi, m, noise)
    ratios = lower / bayes, bayes / best, best / upper
    return ratios, (ratios[0] * error / bayes, error / best, 0), best / too_low


rng = stream("sandwich")
ratios, errors, without_phi1 = map(
    np.array,
    zip(*[three_ratios(rng) for _ in range(budget.spectra)], strict=True),
)
tightest = np.argmax(ratios)
worst = Estimate(ratios.flat[tightest], errors.flat[tightest], ratios.size)
ledger.claims({"cor62.sandwich": (1, worst, worst.mean / without_phi1.max())})

# %% tags=["hide-input", "remove-output"]
seen = {
    m: risk_ratios.context_risks(
        theory.at_length(law, m), 10 * budget.contexts, stream("sandwich", m)
    )
    for m in sorted({max(1, n // 5), n, 4 * n})
}
ledger.figure(pictures.sandwich(law, seen))

# %% [markdown]
# ```{glue:figure} fig-sandwich
# :name: fig-sandwich
#
# Left: Bayes and GD-β, computed (lines) and averaged over random $X$ (dots), between bounds a factor
# {glue:text}`sandwich_factor:.1f` apart. Right: the deterministic equivalent $\sigma^2 + \kappa \sum_i \frac{\varphi_i}{\varphi_i + \kappa}$,
# $\kappa\,(n - \sum_i \frac{\varphi_i}{\varphi_i+\kappa}) = \sigma^2$, is off by {glue:text}`equivalent_error_percent:.2f` % of the risk at
# $n =$ {glue:text}`n:.0f`, at its worst here by {glue:text}`equivalent_worst_percent:.1f` %.
# ```
#
# **One context at a time.** With high probability over $X$ the Bayes excess is of the order of $\sum_i \min(\varphi_i, \sigma^2/n)$:
#
# ```{prf:lemma} Zhang, Wu and Bartlett, Lemma 6.1, with constants of this book
# :label: lem-context
#
# Given $X$, the Bayes excess is at least $\tfrac12 \sum_i \frac{\varphi_i \sigma^2}{n\varphi_i + \sigma^2}$ with probability at least
# $1 - e^{-0.15 n}$, and at most $4 \sum_i \min(\varphi_i, \tfrac sn)$, $s = \max(\sigma^2, 16 \operatorname{tr} \Phi)$, with probability at
# least $1 - 3 e^{-n/512}$.
# ```
#
# ```{admonition} Proof
# :class: dropdown
# *Below.* As $(A^{-1})_{ii} \ge 1/A_{ii}$, the excess is at least $\sum_i w_i / (1 + u_i (q_i - 1))$ with
# $w_i = \frac{\varphi_i \sigma^2}{n\varphi_i + \sigma^2}$, $u_i = \frac{n \varphi_i}{n\varphi_i + \sigma^2} \le 1$ and $q_i = |z_i|^2/n$, $z_i$ the
# columns of $Z$. By Jensen this is at least $W / (1 + \bar q)$, $W = \sum_i w_i$ and $\bar q = \sum_i \tfrac{w_i}{W} u_i (q_i - 1)$. And
# $\mathbb E\, e^{t \bar q} \le \mathbb E\, e^{t (q_1 - 1)}$ for $t > 0$ by convexity, so that
# $P(\bar q \ge 1) \le P(\chi^2_n \ge 2n)$'s Chernoff bound $e^{-n (1 - \ln 2)/2}$.
#
# *Above.* More noise means more risk, so let $\sigma^2 = s$. With $K = nD\,(nD + sI)^{-1}$ and a unit vector $v$, $w = K^{1/2} v$,
# $v^\top (nD + s)^{-1/2} (D^{1/2} Z^\top Z D^{1/2} + s)\, (nD + s)^{-1/2} v = \tfrac1n |Zw|^2 + 1 - |w|^2$, and
# $\operatorname{tr} K \le n \operatorname{tr} \Phi / s \le n/16$. Gordon's comparison of $u^\top Z w + |w| \gamma$ with $|w|\, g^\top u + h^\top w$
# (all standard normal) gives $\tfrac{1}{\sqrt n} |Zw| \ge \tfrac78 |w| - \tfrac5{16}$ for all $v$ at once, unless $\gamma$, $|g|$ or $|K^{1/2} h|$ is off by
# $\sqrt n / 16$: three events of probability at most $e^{-n/512}$. Then $\tfrac1n |Zw|^2 + 1 - |w|^2$, concave in $|w| \le 1$ where the
# bound is positive, is at least $(\tfrac9{16})^2 > \tfrac14$: the excess is at most
# $4 \operatorname{tr}[D\, s\, (nD + s)^{-1}] \le 4 \sum_i \min(\varphi_i, \tfrac sn)$. ∎
# ```
#
# Both bounds are tested on 300 contexts each of $80$, $160$ and $320$ examples, $\sigma^2 = 1$, for $\varphi_i = 1/i^2$, $i \le 60$, and for four
# $\varphi_i = 1$ (these sizes are fixed); for the power law the paper's own sum as well:


# %%
def in_contexts(phi, m, rng):
    """Bayes' excess in 300 contexts over both bounds' sums, over the paper's
    sum, and over d σ²/n."""
    excess = ridge_excess(rng.standard_normal((300, m, len(phi))), phi, 1.0)
    s = max(1.0, 16 * phi.sum())
    lower, upper = (phi / (m * phi + 1)).sum(), np.minimum(phi, s / m).sum()
    sums = lower, upper, np.minimum(phi, 1 / m).sum(), len(phi) / m
    return [excess / total for total in sums]


rng, power_law = stream("one context"), np.arange(1.0, 61) ** -2
over_power_law, over_equal = (
    np.array([in_contexts(phi, m, rng) for m in (80, 160, 320)])
    for phi in (power_law, np.ones(4))
)

# %% tags=["hide-input"]
to_lower, to_upper, _, _ = np.concatenate([
    over_power_law,
    over_equal,
]).swapaxes(0, 1)
off_rate, off_dimension = np.abs(np.log2(over_power_law[:, 2:])).max((0, 2))
ledger.claims({
    "lemma61.context_lower": (0.5, to_lower.min(), 1),
    "lemma61.context_upper": (4, to_upper.max()),
    "lemma61.context_rate": (1, off_rate, 1 + off_rate - off_dimension),
})

# %% [markdown]
# **The rate.** Take eigenvalues $\varphi_i = 1/i^2$, $i \le 200$, and $\sigma^2 = 1$ (these sizes are fixed). Then
# $\sum_i \min(\varphi_i, \tau/(n+1))$ falls like $n^{-1/2}$, and so must the excess of GD-β. **The condition.** The paper calls GD-β
# *nearly Bayes optimal* under a condition on the signal-to-noise ratio. By {prf:ref}`thm-sandwich` it is so when
# $\operatorname{tr}(H\Psi) \lesssim \sigma^2$, that is, for strong noise; without that it can be far off, as at $d = n = 8$,
# $\sigma^2 = 0.01$:

# %%
power = risk_ratios.power_law_risks(budget.contexts, stream("power law"))
steps = [found.gd_beta for found in power]
spectrum, m = np.arange(1.0, 201) ** -2, risk_ratios.RATE_LENGTHS
level = (spectrum.sum() + 1) / (m + 1)  # τ/(n + 1)
shape = np.minimum(spectrum, level[:, None]).sum(1)
ratios = np.abs(np.log2([step.mean for step in steps] / shape))
in_all = np.abs(np.log2([step.mean for step in steps] / (200 * level)))
slope = risk_ratios.log_slope(steps, m)

# %% tags=["hide-input"]
quiet = PromptLaw.isotropic(8, 8, 0.01)
quiet_best, quiet_least = minimum(quiet)
loses = quiet_least / isotropic_bayes_risk(8, 8, 0.01)
ratio = chapter.measured_ratio(
    quiet,
    one_step(quiet.beta_star, quiet_best),
    ridge(quiet),
    budget.prompts,
    stream("quiet"),
)
widest = steps[np.argmax(ratios)]
error = widest.stderr / widest.mean / np.log(2)
farthest_off = Estimate(ratios.max(), error, widest.count)
ledger.claims({
    "cor62.rate": (1, farthest_off, 1 + ratios.max() - in_all.max()),
    "cor62.rate_exponent": (-0.5, slope, -1),
    "cor62.snr_condition": (
        loses,
        ratio,
        loses * minimum(quiet, plus=0)[1] / quiet_least,
    ),
})

# %% tags=["hide-input", "remove-output"]
ledger.figure(pictures.rates(power, ratio))

# %% [markdown]
# ```{glue:figure} fig-rates
# :name: fig-rates
#
# Left: under the power law both excess risks fall nearly parallel to $n^{-1/2}$ (dotted), GD-β's inside the band of a factor 2 either
# way. Right: for noise above $\operatorname{tr}(H\Psi) = 8$ one step is nearly as good as ridge regression; below, it loses by up to
# {glue:text}`cor62.snr_condition.measured:.1f` ± {glue:text}`cor62.snr_condition.stderr:.2f` at $\sigma^2 = 0.01$ (dot), because
# ridge regression can invert $X^\top X$ and one step cannot.
# ```

# %% [markdown]
# ## Gradient flow finds it, from everywhere
#
# Now let $\beta$ and $\Gamma$ slide down the risk, $\dot\beta = -\nabla_\beta \mathcal R$, $\dot\Gamma = -\nabla_\Gamma \mathcal R$:
#
# ```{math}
# :label: eq-flow
# \dot\beta = -2\, P(\Gamma)\, b , \quad
# \dot\Gamma = -2\, ( H \Gamma N - H A H ) .
# ```
#
# Automatic gradients of the transformer block's exact risk give the same right-hand side, at random points. (Whole matrices are followed
# at $d =$ {glue:text}`matrix_d:.0f`, the chapter's $d$ or {glue:text}`largest_matrix_d:.0f` if that is less.)


# %%
def velocity(law, beta, Gamma):
    """The flow's right-hand side."""
    H, (A, N) = law.H, moments(law, beta)
    pulled = pull(law, Gamma) @ (beta - law.beta_star)
    return -2 * pulled, -2 * (H @ Gamma @ N - H @ A @ H)


def mismatch(ours, slope):
    """Of a velocity and a gradient that should be its negative, relative."""
    largest = max(np.abs(part).max() for part in slope)
    return max(np.abs(ours[k] + slope[k]).max() for k in (0, 1)) / largest


small = min(d, flow.MATRIX_D)
law = isotropic_law(parameters, small)
starts = flow.starts(law, budget.flows, stream("starts"))
error = max(mismatch(velocity(law, *at), flow.slope(law, *at)) for at in starts)

# %% [markdown]
# **The landscape is not convex.** At $d = 1$, $n = 9$, $\sigma^2 = 0.3$, with $\beta$ off by $3$ and $\Gamma = 0$, the Hessian of the
# risk has a negative eigenvalue; so it has where the flow from zero starts at the chapter's own parameters. There it falls, with
# $e = b/\|b\|$, into a pair on $(e, ee^\top)$, triples on $(v, ev^\top, ve^\top)$, $v \perp e$, and nothing extreme. Its extremes are
# {glue:text}`thm63.non_convex_start.measured:.4f` and {glue:text}`thm63.curvature_start.measured:.2f`; the blocks of $\beta$ and of
# $\Gamma$ alone would be far off.

# %%
hessian = 2 * np.array([[1, -2 * 3], [-2 * 3, 11 / 9 * 10 + 0.3 / 9]])
r, wide = beta_norm, (n + 1 + small + beta_norm**2 + sigma2) / n
long_side = wide + (n + 1) / n * r**2  # N along e; across it: wide
pair = 2 * np.array([[1, -2 * r], [-2 * r, long_side]])
triple = 2 * np.array([[1, -r, -r], [-r, wide, 0], [-r, 0, long_side]])
parts = [pair, triple][: 1 + (small > 1)]
bends = np.concatenate([flow.eigenvalues(part) for part in parts])


# %% tags=["hide-input"]
skewed = skewed_law(parameters, stream("small skewed law"), d=small)
skewed_starts = flow.starts(skewed, budget.flows // 2, stream("starts, skewed"))
both_kinds = [(law, *at) for at in starts]
both_kinds += [(skewed, *at) for at in skewed_starts]
error, turned = (
    max(
        mismatch(
            velocity(problem, beta, Gamma.T if turn else Gamma),
            flow.slope(problem, beta, Gamma),
        )
        for problem, beta, Gamma in both_kinds
    )
    for turn in (False, True)
)
one_covariate = PromptLaw.isotropic(1, 9, 0.3)
worked = flow.curvatures(one_covariate, [3.0], [[0.0]])
at_start = flow.curvatures(law, *starts[0])
ledger.claims({
    "thm63.velocity": (0, error, turned),
    "thm63.non_convex": (
        np.linalg.eigvalsh(hessian)[0],
        worked[0],
        np.linalg.eigvalsh((hessian + np.diag(np.diag(hessian))) / 2)[0],
    ),
    "thm63.non_convex_start": (bends.min(), at_start[0], 2 * min(1, wide)),
    "thm63.curvature_start": (bends.max(), at_start[-1], 2 * long_side),
})

# %% tags=["hide-input", "remove-output"]
ledger.figure(
    flow_pictures.landscape(d, n, sigma2, beta_norm if beta_norm > 0 else 1.0)
)

# %% [markdown]
# ```{glue:figure} fig-landscape
# :name: fig-flow-landscape
#
# Excess risk over $r$, the size and sign of $\beta - \beta^\ast$, and $g_\parallel$, the entry of $\Gamma$ along that error; shaded, at
# $d = 1$, where it bends down in some direction. Flow lines (orange) end at the minimum (star); those from below fix the step first and
# then crawl along the valley floor. For $d > 1$ the contours are the slice $g_\perp = \Gamma^\ast$, the lines projections of the flow.
# ```
#
# ```{prf:theorem} Zhang, Wu and Bartlett, Theorem 6.3, with rates of this book
# :label: thm-flow
#
# From every start, $\beta_t \to \beta^\ast$ and $\Gamma_t \to \Gamma^\ast$ in the directions that $H$ sees, exponentially fast; with $\Pi$ the
# projector on the range of $H$, $(I - \Pi)\, \beta_t$ and $\Gamma_t - \Pi \Gamma_t \Pi$ never change. Whatever $\Gamma$ does,
#
# $$
# \|\Pi (\beta_t - \beta^\ast)\| \ \le\ e^{-\frac{4 \lambda_{\min}(H)}{n+2} t}\, \|\Pi (\beta_0 - \beta^\ast)\| ,
# $$
#
# with $\lambda_{\min}$ the least positive eigenvalue.
# ```
#
# ```{admonition} Proof
# :class: dropdown
# $\tfrac{d}{dt} \|b\|^2 = -4\, b^\top P(\Gamma)\, b \le -\tfrac{8}{n+2}\, b^\top H b$ by the bound on $P$ above: the error of the start dies
# first, no matter where $\Gamma$ is. What remains is nearly linear: with $D = \Gamma - \Gamma^\ast$,
# $\tfrac{d}{dt} \|D\|_F \le -\rho\, \|D\|_F + C\, \|b_t\|^2$, where $\rho = 2 \lambda_{\min}(H)\, \lambda_{\min}(H^{1/2} \Omega H^{1/2})$ and $C$ is an
# explicit constant. Grönwall's lemma finishes. Components in the null space of $H$ have no gradient. The constant
# $\tfrac{2}{n+2}$ is attained at $G = \tfrac{n}{n+2}\, e e^\top$.
# ```

# %% tags=["hide-input", "remove-output"]
ledger.figure(
    proof_pictures.flow_proof(d, n, sigma2, beta_norm if beta_norm > 0 else 1.0)
)

# %% [markdown]
# ```{glue:figure} fig-flow_proof
# :name: fig-flow-proof
#
# The proof. Left: no step frees $\beta$ from its pull. A short one leaves the error of the start, a long one adds noise in proportion to it;
# their sum is at least $\tfrac{2}{n+2}$. Right: so the error stays below the dashed line, and from far away (blue) runs along it.
# ```
#
# An ODE solver follows the flow to a relative accuracy of $10^{-11}$ a step from {glue:text}`flows:.0f` starts at $H = \Psi = I$, and half as
# many for $H$ and $\Psi$ that do not commute: zero, the slowest start, near and far, and random ones of sizes $0.1$, $1$ and $10$, each with
# its mirror image. Every one arrives, no bound is broken, and what a singular $H$ cannot see stays put. The error of the start against its
# bound, from the very start that attains it:

# %%
flows = flow.flows(law, starts)
path = flows[2]  # from 100 away, at the slowest Γ
size = np.linalg.norm(path.beta - law.beta_star, axis=1)
bound = np.exp(-4 / (n + 2) * path.times) * size[0]
for k in range(-30, -5, 5):
    print(f"t = {path.times[k]:6.2f}: {size[k]:9.3g}, at most {bound[k]:.3g}")


# %% tags=["hide-input"]
def farthest_left(law, found, target, **seen):
    """The largest distance from (β*, target) at the last time."""
    beta, Gamma = (
        np.stack([getattr(path, part)[-1] for path in found])
        for part in ("beta", "Gamma")
    )
    return theory.distance_from_minimisers(
        law, beta, Gamma, target=target, **seen
    ).max()


def largest_drift(law, found):
    """Largest change of what H does not see, and what there was of it."""
    Pi, drifts, hidden = law.H @ np.linalg.pinv(law.H), [], []
    for path in found:
        unseen = path.Gamma - Pi @ path.Gamma @ Pi
        off = path.beta - path.beta @ Pi
        size = max(1.0, np.abs(path.beta).max(), np.abs(path.Gamma).max())
        drifts += [
            np.abs(part - part[0]).max() / size for part in (unseen, off)
        ]
        hidden += [np.abs(part[0]).max() / size for part in (unseen, off)]
    return max(drifts), max(hidden)


flat = singular_law(parameters, stream("small singular law"), d=small)
flat_starts = flow.starts(
    flat, max(4, budget.flows // 4), stream("starts, singular")
)
skewed_flows = flow.flows(skewed, skewed_starts)
flat_flows = flow.flows(flat, flat_starts)
drift, hidden = largest_drift(flat, flat_flows)
best, skewed_best, flat_best = (
    minimum(problem)[0] for problem in (law, skewed, flat)
)
wrong, skewed_wrong = (minimum(problem, plus=0)[0] for problem in (law, skewed))
ratio_to_bound, too_fast = (
    [
        flow.largest_bound_ratio(*kind, shorter=shorter)
        for kind in ((law, flows), (skewed, skewed_flows))
    ]
    for shorter in (0, 1)
)
excess_to_bound, at_twice_the_speed = (
    max(
        flow.largest_excess_ratio(*kind, speed=speed)
        for kind in ((law, flows), (skewed, skewed_flows))
    )
    for speed in (1, 2)
)
ledger.claims({
    "thm63.global_convergence": (
        0,
        farthest_left(law, flows, best),
        farthest_left(law, flows, wrong),
    ),
    "thm63.global_convergence_anisotropic": (
        0,
        farthest_left(skewed, skewed_flows, skewed_best),
        farthest_left(skewed, skewed_flows, skewed_wrong),
    ),
    "thm63.beta_bound": (1, ratio_to_bound[0], ratio_to_bound[0] / too_fast[0]),
    "thm63.beta_bound_anisotropic": (
        1,
        ratio_to_bound[1],
        ratio_to_bound[1] / too_fast[1],
    ),
    "thm63.excess_bound": (
        1,
        excess_to_bound,
        excess_to_bound / at_twice_the_speed,
    ),
    "thm63.conserved": (0, drift, hidden),
    "thm63.convergence_singular": (
        0,
        farthest_left(flat, flat_flows, flat_best),
        farthest_left(flat, flat_flows, flat_best, seen=np.eye(flat.d)),
    ),
})

# %% tags=["hide-input", "remove-output"]
ledger.figure(flow_pictures.excess(law, flows))

# %% [markdown]
# ```{glue:figure} fig-excess
# :name: fig-excess
#
# Excess risk along the flow. No curve stalls for good, and that from zero (orange) stays below its bound (dashed), which is proved for
# all starts and therefore generous.
# ```
#
# **However $\Gamma$ is held,** the paper remarks, the condition number in $\beta$ is bounded. The sharp constant is short:
#
# ```{prf:lemma} This book, after a remark of Zhang, Wu and Bartlett
# :label: lem-condition
#
# For $H = I$ and $d \ge 2$ the largest condition number of $P(\Gamma)$ over all $\Gamma$ is the $\kappa > 1$ with
# $\kappa + \tfrac1\kappa = \tfrac{3n + 5}{2}$. For any $H \succ 0$ it is at most $\kappa$ times that of $H$.
# ```
#
# ```{admonition} Proof
# :class: dropdown
# Let $e \perp f$ be unit eigenvectors of $P$ for its least and largest eigenvalues, $g = \|Ge\|$ and $h = \|Gf\|$. By
# {eq}`eq-gd-beta-square` $e^\top P e \ge (1 - g)^2 + \tfrac1n (2g^2 + h^2)$ and $f^\top P f \le (1 + h)^2 + \tfrac1n (2h^2 + g^2)$, up to
# one number added to both, which brings the ratio nearer to 1; $G = g\, ee^\top - h\, f\!f^\top$ attains both. The ratio is at most
# $\kappa$ exactly if $\max_h \big[(1 + h)^2 + \tfrac{2 - \kappa}{n} h^2\big] \le \min_g \big[\kappa (1-g)^2 + \tfrac{2\kappa - 1}{n} g^2\big]$,
# that is $\frac{\kappa - 2}{\kappa - n - 2} \le \frac{\kappa\,(2\kappa - 1)}{(n+2)\,\kappa - 1}$. With equality this is
# $(\kappa - 1)\big(2\kappa^2 - (3n+5)\,\kappa + 2\big) = 0$. And $P = H^{1/2} [\dots] H^{1/2}$. ∎
# ```
#
# L-BFGS over all entries of $\Gamma$ finds no other:

# %%
half_sum = (3 * n + 5) / 4
kappa = half_sum + np.sqrt(half_sum**2 - 1) if small > 1 else 1.0
if small > 1:
    worst = np.zeros((small, small))
    worst[0, 0] = n * kappa / ((n + 2) * kappa - 1)  # the proof's g and −h
    worst[1, 1] = -n / (kappa - n - 2)
    print(f"{kappa:.6f} and, at that Γ, {np.linalg.cond(pull(law, worst)):.6f}")

# %% tags=["hide-input"]
found_kappa = flow_structure.largest_condition(
    small, n, stream("condition number")
)
ledger.claims({"thm63.condition_number": (kappa, found_kappa, n + 2)})

# %% [markdown]
# ## The flow in closed form, or nearly
#
# **From $\beta^\ast$** the equation for $\Gamma$ is linear. With $H = U \operatorname{diag}(h)\, U^\top$ and
# $N = W \operatorname{diag}(\nu)\, W^\top$,
#
# $$
# \Gamma_t = \Gamma^\ast + U \Big[ \big( U^\top (\Gamma_0 - \Gamma^\ast)\, W \big)_{ij}\; e^{-2 h_i \nu_j t} \Big] W^\top .
# $$


# %%
def from_the_mean(law, Gamma, times, speed=2):
    """Γ(t) at all times when β starts at β*, (T, d, d)."""
    _, N = moments(law, law.beta_star)
    (h, U), (nu, W) = np.linalg.eigh(law.H), np.linalg.eigh(N)
    decay = np.exp(-speed * np.outer(h, nu) * times[:, None, None])
    best = minimum(law)[0]
    return best + U @ ((U.T @ (Gamma - best) @ W) * decay) @ W.T


# %% [markdown]
# **From zero, at $H = \Psi = I$,** the flow is three numbers: $r$, with $\beta - \beta^\ast = r e$, and the entries $g_\parallel$ and $g_\perp$ of
# $\Gamma$ along $e$ and across it; **for commuting $H$ and $\Psi$**, off along an eigenvector, $d + 1$ numbers. Each is held against the flow of
# whole matrices, and both against a trajectory known to ten digits. **In the end** $\beta$ approaches $\beta^\ast$ at the rate
# $2\,[(1-g)^2 + (d+1)\, g^2 / n]$ with $g = n/(n+1+\tau)$, {glue:text}`rate_over_bound:.1f` times what the theorem guarantees; for commuting
# $H$ and $\Psi$ at the eigenvalues of $2P(\Gamma^\ast)$:

# %%
g = n / (n + 1 + small + sigma2)
rate = 2 * ((1 - g) ** 2 + (small + 1) * g**2 / n)
rng = stream("discrete steps")
commuting, basis = flow_structure.commuting_law(n, sigma2, rng)
ending = 2 * pull(commuting, minimum(commuting)[0])
rates = np.diag(basis.T @ ending @ basis)  # on each eigenvector

# %% tags=["hide-input"]
size = beta_norm if beta_norm > 0 else 1.0
direction, zero = size * np.eye(small)[0], np.zeros((small, small))
measured_rate = flow.measured_tail_rate(law, direction, zero)
of_rates = flow_structure.tail_rates_along(commuting, basis) / rates
worst_ratio = of_rates[np.argmax(np.abs(of_rates - 1))]


def apart(law, rng):
    """The formula, and that at half the speed, against the solver."""
    Gamma = rng.standard_normal((law.d, law.d))
    times = np.geomspace(0.01, 10, 12) / flow_theory.gamma_rate(law)
    path = flow_theory.integrate(law, law.beta_star, Gamma, times).Gamma
    return [
        np.abs(path - from_the_mean(law, Gamma, times, speed)).max()
        / np.abs(Gamma).max()
        for speed in (2, 1)
    ]


error, slower = apart(law, stream("closed form"))
skewed_error, skewed_slower = apart(skewed, stream("closed form, skewed"))
times = np.geomspace(0.01, n + 2, 12)
scalars, with_one_more = (
    flow_structure.isotropic_error(law, -law.beta_star, times, extra=extra)
    for extra in (0, 1)
)
diagonals, longer = (
    flow_structure.diagonal_error(commuting, basis, size, rng, extra=extra)
    for extra in (0, 1)
)
reference, in_half_the_time = (
    flow_structure.reference_error(rng, speed=speed) for speed in (1, 0.5)
)
root = commuting.roots[0]
G = root @ minimum(commuting)[0] @ root
frobenius = (G**2).sum() / n * np.diag(basis.T @ commuting.H @ basis)
ledger.claims({
    "thm63.closed_form_gamma": (0, error, slower),
    "thm63.closed_form_gamma_anisotropic": (0, skewed_error, skewed_slower),
    "thm63.scalar_reduction": (0, scalars, with_one_more),
    "thm63.diagonal_reduction": (0, diagonals, longer),
    "thm63.reference_trajectory": (0, reference, in_half_the_time),
    "thm63.tail_rate": (rate, measured_rate, rate - 2 * g**2 / n),
    "thm63.tail_rate_anisotropic": (
        1,
        worst_ratio,
        (1 - 2 * frobenius / rates).max(),
    ),
})

# %% tags=["hide-input", "remove-output"]
ledger.figure(flow_pictures.overshoot(d, n, sigma2, beta_norm))

# %% [markdown]
# ```{glue:figure} fig-overshoot
# :name: fig-overshoot
#
# From zero the step grows first along the error of $\beta$, and there it overshoots: $g_\parallel$ peaks
# {glue:text}`overshoot_percent:.1f` % above its final value $\Gamma^\ast =$ {glue:text}`gamma_star:.4f`. While $\beta$ is off, the
# tasks look as if they varied more in that direction, so a longer step is right for now.
# ```
#
# ## Real steps: what follows the flow, what diverges
#
# For small steps gradient descent follows the flow: at a fixed time the deviation is proportional to the step size. Beside the minimum it is
# stable up to $2/\lambda_{\max}$ of the Hessian, whose eigenvalues there are those of $2P(\Gamma^\ast)$ and of $2\, H \otimes N$. Which steps work
# from zero is another matter: {glue:text}`steps:.0f` of them, of gradient descent and of Adam, constant size, on the same exact risk.

# %%
_, N = moments(law, law.beta_star)
blocks = 2 * pull(law, best), 2 * np.kron(law.H, N)
curvature = max(np.linalg.eigvalsh(part)[-1] for part in blocks)
stable = discrete.largest_stable_step(law, stream("stable steps"))
order = discrete.first_order(law, *starts[0])

# %% tags=["hide-input"]
ledger.claims({
    "thm63.first_order": (1, order, 2),
    "thm63.largest_stable_step": (1, stable / (2 / curvature), 0.5),
})

# %% tags=["hide-input", "remove-output"]
rates = discrete.sweep_rates(law, *starts[0])
gd = discrete.descend(law, "gd", rates, budget.steps, *starts[0])
adam = discrete.descend(law, "adam", rates, budget.steps, *starts[0])
deviation = discrete.deviation_from_flow(law, gd)
ledger.figure(flow_pictures.steps(law, gd, adam, deviation, stable))

# %% [markdown]
# ```{glue:figure} fig-steps
# :name: fig-flow-steps
#
# Left: on the clock step size × steps gradient descent with small steps lies on the flow, to 5 % of the first distance up to
# {glue:text}`faithful_step:.2g`; with the largest that still works (dotted) it does not. Right: excess after the last step, from $10^{-14}$ up.
# From zero gradient descent diverges from {glue:text}`first_divergent_step:.2g` on, although beside the minimum it would bear
# {glue:text}`stable_step:.2g` (dashed): where it starts the risk is curved more sharply, {glue:text}`curvature_start:.1f` against
# {glue:text}`curvature_minimum:.1f`. Adam, whose steps do not grow with the gradient, takes a path of its own and stays finite at
# {glue:text}`adam_finite:.0f` of the {glue:text}`sweep_count:.0f` step sizes.
# ```

# %% [markdown]
# ## Move it yourself
#
# Place the start in the first picture, by its point or with the sliders $\|\beta^\ast\|$ and $\Gamma_0$: its line ends where all others end.
# What does a longer context buy, and what does it cost? Move $n$: the least excess risk falls (fourth picture, between its bounds), and the error
# of $\beta$ takes longer to die (blue). **A question:** {prf:ref}`thm-flow` guarantees that error a rate of $\tfrac{4}{n+2}$. Can you find
# sliders at which this flow ends no faster?
#
# ```{admonition} Answer
# :class: dropdown
# One covariate and no noise, at any $n$. The flow ends at the rate $2\,[(1-g)^2 + (d+1)\, g^2/n]$ with $g = \Gamma^\ast$. Over all $g$ this is
# least at $g = \tfrac{n}{n+d+1}$, which is $\Gamma^\ast$ without noise, and is then $\tfrac{2(d+1)}{n+d+1}$: the guarantee itself at $d = 1$,
# and for long contexts about $\tfrac{d+1}{2}$ times as much. Noise shortens the step and makes the end quicker; the mean task does not
# enter.
# ```

# %% tags=["hide-input"]
explorable(parameters)

# %% [markdown]
# ## What the theory does not say
#
# **Constants** are this book's where the paper's are not known to us: a factor $\tfrac12$ before the risk (it would halve the flow's speed), the
# printed rates, Corollary 6.2's and Lemma 6.1's.
#
# **The flow is on GD-β, not on a transformer.** The block's risk in its own weights has false valleys. Finite data ({ref}`ex-finite-data`) and
# stochastic steps ({ref}`ex-stochastic`) bring noise that the theorem does not cover; steps of finite size are swept, not analysed.
#
# **Gaussian data.** Theorem 5.2 needs Gaussian covariates, for their fourth moments, and of the tasks mean and covariance only; the Bayes risk
# needs Gaussian tasks and noise as well.
#
# **What was not seen.** {glue:text}`flows:.0f` starts are not all starts, and 300 contexts say nothing of $e^{-n/512}$: there the proofs stand
# alone. The rate $n^{-1/2}$ is seen for one spectrum. The deterministic equivalent is an approximation without an error bound here.

# %% tags=["hide-input", "remove-output"]
path = scalar_flow.isotropic_flow(
    beta_norm, 0.0, np.geomspace(0.01, 5 * (n + 2), 2000), d, n, sigma2
)
phi = np.ones(d)
lengths = range(1, max(200, 4 * n) + 1, max(1, n // 20))


def equivalent_error(m):
    """Error of the deterministic equivalent at context length m, in %."""
    exact = isotropic_bayes_risk(d, m, sigma2)
    guess = bayes_rates.deterministic_equivalent(phi, m, sigma2)
    return 100 * abs(guess / exact - 1) if exact > 0 else 0.0


target = n / (n + 1 + d + sigma2)
last = gd.excess(law)[-1]
diverged = rates[~(last < 2 * gd.excess(law)[0])]
close = rates[deviation < 0.05]
adam_last = adam.excess(law)[-1]
numbers = {
    "starts": budget.starts,
    "spectra": budget.spectra,
    "flows": len(flows),
    "steps": budget.steps,
    "matrix_d": small,
    "largest_matrix_d": flow.MATRIX_D,
    "parameter_spread": chapter.parameter_spread(flat_ends),
    "length_floor": sigma2 + d * (1 - target) ** 2,
    "sandwich_factor": bayes_rates.nearly_optimal_factor(phi, sigma2),
    "equivalent_error_percent": equivalent_error(n),
    "equivalent_worst_percent": max(map(equivalent_error, lengths)),
    "gamma_star": target,
    "overshoot_percent": 100 * max(0, path[1].max() / target - 1),
    "rate_over_bound": flow_theory.tail_rates(law)[0] * (n + 2) / 4,
    "faithful_step": close.max() if len(close) else 0,
    "first_divergent_step": diverged.min() if len(diverged) else np.inf,
    "stable_step": stable,
    "curvature_start": at_start[-1],
    "curvature_minimum": curvature,
    "adam_finite": (adam_last < 2 * adam.excess(law)[0]).sum(),
    "sweep_count": len(rates),
}
for name, value in numbers.items():
    ledger.number(name, value)

# %% [markdown]
# ## Exercises
#
# ★ a pencil and ten minutes; ★★ more thought, or a few lines of code; ★★★ a proof; ◇ open: nobody we know of has
# answered it. The code in the solutions ran with this page, at sizes of its own, and stops the page if a number is off.
#
# ```{exercise} A good step hides a bad start ★
# :label: ex-hides
# Let $H = I$ and hold $\Gamma = gI$ fixed. At which rate does $\beta$ flow to $\beta^\ast$, for which $g$ is it slowest, and
# how far is that $g$ from the best one, $\Gamma^\ast$?
# ```
#
# ```{solution} ex-hides
# :label: sol-hides
# :class: dropdown
# $P(gI) = \big[(1-g)^2 + \tfrac{d+1}{n} g^2\big] I$ by {eq}`eq-gd-beta-square`, so the rate is $2(1-g)^2 + \tfrac{2(d+1)}{n} g^2$. It is least at
# $g = \frac{n}{n + d + 1}$, where it is $\frac{2(d+1)}{n+d+1}$. With $\Psi = I$ the best step is $g = \frac{n}{n + d + 1 + \sigma^2}$: without noise *the
# same*. The better the step corrects a wrong start from the context, the less the risk depends on the start, and the slower the start is
# learned. On this page the slowest rate is {glue:text}`ex_slowest:.5f` and that at $\Gamma^\ast$ is {glue:text}`ex_rate_at_best:.5f`.
# ```
#
# ```{exercise} One matrix for all lengths ★
# :label: ex-lengths
# Training prompts have random lengths $n$, and one $(\beta, \Gamma)$ serves them all (with the factor $1/n$ of each prompt's own length). What are the
# best $\beta$ and $\Gamma$?
# ```
#
# ```{solution} ex-lengths
# :label: sol-lengths
# :class: dropdown
# The risk {eq}`eq-gd-beta-risk` is *affine in $1/n$*. Its mean over lengths is therefore the risk at one length $\bar n$ with
# $1/\bar n = \mathbb E\,[1/n]$, the harmonic mean, and {prf:ref}`thm-gd-beta` applies with $\bar n$ for $n$: start at $\beta^\ast$, and
# $\Gamma = \Psi\big(\tfrac{\bar n + 1}{\bar n} H\Psi + \tfrac{\tau}{\bar n} I\big)^{-1}$. Short prompts rule: for lengths 5, 20 and 80 in equal parts
# $\bar n =$ {glue:text}`ex_harmonic:.2f`, while their mean is 35. (Without the factor $1/n$ long prompts rule instead, {ref}`ex-prefixes`.)
# ```
#
# ```{exercise} More steps ★★
# :label: ex-more-steps
# Let $H = \Psi = I$, $\beta^\ast = 0$, $S = X^\top X$. After $L$ steps of gradient descent with free step sizes the estimate is
# $q(S)\,X^\top y$ with a polynomial $q$ of degree $L - 1$.
#
# 1. Show that its risk is $\sigma^2 + \mathbb E \sum_i \big[(1 - \lambda_i q(\lambda_i))^2 + \sigma^2 \lambda_i q(\lambda_i)^2\big]$ over the eigenvalues of $S$.
# 2. Find the best polynomials for $L = 1, \dots, 4$ at $d = 5$, $n = 20$, $\sigma^2 = \tfrac14$. How many steps does it take to come close to Bayes?
# ```
#
# ```{solution-start} ex-more-steps
# :label: sol-more-steps
# :class: dropdown
# ```
#
# **1.** $\hat w - w = (q(S)S - I)\,w + q(S)X^\top\varepsilon$. Given $X$ the two parts are uncorrelated, with mean squares
# $\operatorname{tr}(I - Sq(S))^2$ and $\sigma^2 \operatorname{tr} q(S)\,S\,q(S)$.
#
# **2.** The risk is quadratic in the coefficients of $q$, with expectations over Wishart eigenvalues that chapter 1 computes without sampling. For
# one step it is the theorem's {glue:text}`ex_steps_1:.4f`; then {glue:text}`ex_steps_2:.4f`, {glue:text}`ex_steps_3:.4f` and
# {glue:text}`ex_steps_4:.4f`, against Bayes {glue:text}`ex_steps_bayes:.4f`. The second step removes
# {glue:text}`ex_second_step_percent:.0f` % of what is left above Bayes. The roots of $1 - \lambda q(\lambda)$, here real and positive for every
# $L$, are the reciprocals of the step sizes. (That they are real is proved without noise only.)

# %%
from icl.theory.wishart import expected_spectral_sum


def best_polynomial(L, d, n, sigma2):
    """Least risk over q of degree L - 1, and q's coefficients in λ/(n + d)."""
    unit, powers = n + d, np.arange(1, L + 1)
    m = np.array([
        expected_spectral_sum(lambda x, p=p: (x / unit) ** p, d, n)
        for p in range(2 * L + 1)
    ])
    sums = powers[:, None] + powers
    coefficients = np.linalg.solve(
        m[sums] + sigma2 / unit * m[sums - 1], m[powers]
    )
    return sigma2 + d - m[powers] @ coefficients, coefficients


polynomials = [best_polynomial(L, 5, 20, 0.25) for L in (1, 2, 3, 4)]
several_steps = [least for least, _ in polynomials]
best_of_all = isotropic_bayes_risk(5, 20, 0.25)
one_layer = theory.minimal_risk(PromptLaw.isotropic(5, 20, 0.25))
print("risk:", *(f"{least:.5f}" for least in several_steps))
assert abs(several_steps[0] - one_layer) < 1e-10
assert all(np.diff(several_steps) < 0) and several_steps[-1] > best_of_all
for L, (_, q) in enumerate(polynomials, 1):
    steps = 1 / np.roots(np.r_[-q[::-1], 1])
    print(f"{L} steps, times n + d:", *(f"{step:.3f}" for step in steps))
    assert np.isrealobj(steps) and (steps > 0).all()

# %% [markdown]
# Two real steps, on random prompts:

# %%
step_law = PromptLaw.isotropic(5, 20, 0.25)
first, second = 1 / np.roots(np.r_[-polynomials[1][1][::-1], 1]) / 25
rng = stream("exercise 3")


def squared_errors(B):
    """Gradient descent from zero, twice."""
    batch = step_law.sample(rng, B)
    w = np.zeros((B, 5))
    for step in (first, second):
        residual = batch.y - np.einsum("bnd,bd->bn", batch.X, w)
        w = w + step * np.einsum("bnd,bn->bd", batch.X, residual)
    return ((batch.x_query * w).sum(1) - batch.y_query) ** 2


found = monte_carlo(squared_errors, 40_000)
print(f"measured {found.mean:.3f} ± {found.stderr:.3f}")
print(f"formula  {several_steps[1]:.3f}")
assert abs(found.mean - several_steps[1]) < 5 * found.stderr

# %% [markdown]
# ```{solution-end}
# ```
#
# ```{exercise} Finitely many prompts ★★
# :label: ex-finite-data
# The chapter minimises the population risk. A practitioner has $N$ prompts. With $\beta^\ast = 0$ known, $\Gamma$ is then found by least squares: $f$ is
# linear in its $d^2$ entries.
#
# 1. Predict the mean excess risk of the fitted $\Gamma$ to leading order in $1/N$.
# 2. Check it at $d = 2$, $n = 10$, $\sigma^2 = \tfrac14$. A rule of thumb says $d^2\,\mathcal R^\ast/N$. Is it right?
# ```
#
# ```{solution-start} ex-finite-data
# :label: sol-finite-data
# :class: dropdown
# ```
#
# **1.** Let $\phi = x \otimes \tfrac1n X^\top y$ be the $d^2$ features and $r$ the residual of the best $\Gamma^\ast$. Least squares misses by
# $\frac1N A^{-1} \sum \phi\, r$ with $A = \mathbb E\,\phi\phi^\top$, so the mean excess is $\frac1N \operatorname{tr} A^{-1} \mathbb E\,[r^2 \phi\phi^\top]$ to
# leading order. Here $A = \omega I$ with $\omega = \frac{n+1+\tau}{n}$. The average over the query can be done by hand: with
# $\delta = w - \Gamma^\ast \tfrac1n X^\top y$ it is $\mathbb E\,[\|\tfrac1n X^\top y\|^2\,((d+2)\|\delta\|^2 + d\sigma^2)]/\omega$, an average over contexts.
#
# **2.** The rule of thumb takes $r$ and $\phi$ for independent, and is off by a factor of about
# {glue:text}`ex_finite_factor:.1f`: prompts with a long $x$ or a large task have large features *and* large residuals. In-context data are noisier than
# they look. $N$ times the measured excess, for growing $N$:

# %%
data_law = PromptLaw.isotropic(2, 10, 0.25)
best_Gamma = theory.optimal_gamma(data_law)
rng = stream("exercise 4")


def design(count):
    """Features (count, 4) and labels of random prompts."""
    batch = data_law.sample(rng, count)
    step = np.einsum("bnd,bn->bd", batch.X, batch.y) / 10
    features = np.einsum("bi,bj->bij", batch.x_query, step)
    return features.reshape(count, 4), batch.y_query


def fitted_excess(N, fits):
    """N × the mean excess risk of least squares on N prompts, and its error."""
    features, y = design(N * fits)
    features, y = features.reshape(fits, N, 4), y.reshape(fits, N)
    gram = np.einsum("fni,fnj->fij", features, features)
    right = np.einsum("fni,fn->fi", features, y)
    Gammas = np.linalg.solve(gram, right[..., None]).reshape(fits, 2, 2)
    excess = N * theory.excess(data_law, np.zeros(2), Gammas)
    return excess.mean(), excess.std() / np.sqrt(fits)


def spread(B):
    """r² φ'φ / ω, averaged over the query."""
    batch = data_law.sample(rng, B)
    step = np.einsum("bnd,bn->bd", batch.X, batch.y) / 10
    missed = batch.beta - step @ best_Gamma.T
    size = 4 * (missed**2).sum(1) + 2 * 0.25  # (d + 2)|δ|² + d σ²
    return (step**2).sum(1) * size / (1.1 + 2.25 / 10)


leading = monte_carlo(spread, 200_000)
rule = 4 * theory.minimal_risk(data_law)
print(f"leading order {leading.mean:.2f} ± {leading.stderr:.2f}")
print(f"rule of thumb {rule:.2f}")
for N in (100, 400, 1600):
    mean, error = fitted_excess(N, 240_000 // N)
    print(f"N = {N}: {mean:.2f} ± {error:.2f}")
assert abs(mean - leading.mean) < 5 * np.hypot(error, leading.stderr)
assert mean - 5 * error > rule

# %% [markdown]
# ```{solution-end}
# ```
#
# ```{exercise} No valley, no saddle ★★★
# :label: ex-critical
# The risk is not convex. Prove that for $H \succ 0$ it nevertheless has exactly *one* critical point. Why does that not yet prove that every
# flow converges?
# ```
#
# ```{solution} ex-critical
# :label: sol-critical
# :class: dropdown
# The gradient in $\beta$ is $2P(\Gamma)\,b$, and $P(\Gamma) \succeq \tfrac{2}{n+2} H \succ 0$: it vanishes for $b = 0$ only, whatever $\Gamma$ is. At $b = 0$ the risk is
# a quadratic in $\Gamma$ with the positive definite Hessian $2\,H \otimes N$, and the gradient vanishes at $\Gamma^\ast$ only. So the
# global minimum is the one critical point: no false valley, no saddle, no plateau. ∎
#
# It is not enough, because a flow could run off to infinity with the gradient fading, or creep. The theorem excludes this by a *rate*: $\|b\|$ shrinks
# exponentially wherever $\Gamma$ is, and what is left is a stable linear equation with a fading disturbance. (Or: sublevel sets are bounded, since the
# completed square {eq}`eq-gd-beta-square` bounds $\|G - G^\ast\|$ and $\|b\|$ by the risk; with one critical point inside, every
# flow ends there. That is a proof too, without a rate.)
# ```
#
# ```{exercise} The bound is attained ★★★
# :label: ex-bound-attained
# Is $e^{-4t/(n+2)}$ in {prf:ref}`thm-flow` merely a proof's constant? Let $H = \Psi = I$ and start *very* far away, $\|\beta_0 - \beta^\ast\| = r \gg 1$.
#
# 1. To which $\Gamma$ is the flow driven while $r$ is large?
# 2. How fast does $r$ shrink there, and for how long? Check with $d = 5$, $n = 20$, $\sigma^2 = \tfrac14$, $r = 10^4$.
# ```
#
# ```{solution-start} ex-bound-attained
# :label: sol-bound-attained
# :class: dropdown
# ```
#
# **1.** With $b = re$ and $r \to \infty$, $A \approx r^2 ee^\top$ and $N \approx \frac{r^2}{n}\big[(n+1)\,ee^\top + I\big]$. $\Gamma$ moves at speeds of
# order $r^2/n$ or more, much faster than $b$, to the balance $\Gamma N = A$: along $e$ this is $g_\parallel = \frac{n}{n+2}$, across it
# $g_\perp \approx 0$. So $\Gamma \to \frac{n}{n+2}\,ee^\top$, the very matrix for which $P(\Gamma) \succeq \frac{2}{n+2} H$ is an equality.
#
# **2.** Hence $r$ shrinks at the rate $\frac{4}{n+2}$ exactly, the slowest the theorem allows, until it is of order one: for a time of about
# $\frac{n+2}{4} \log r_0$. The flow learns first how to live with a bad start, and so has little reason to leave it. No better constant is
# possible for all starts.

# %%
times = np.array([0.5, 5, 10, 15, 20])
far = scalar_flow.isotropic_flow(1e4, 0.0, times, 5, 20, 0.25)
decay = -np.diff(np.log(far[0])) / np.diff(times)
print(f"4/(n + 2) = {4 / 22:.6f}; rates:", *(f"{rate:.6f}" for rate in decay))
print(f"n/(n + 2) = {20 / 22:.6f}; g_par at t = 5: {far[1, 1]:.6f}")
assert np.abs(decay - 4 / 22).max() < 1e-4
assert abs(far[1, 1] - 20 / 22) < 1e-4 and abs(far[2, 1]) < 1e-4

# %% [markdown]
# ```{solution-end}
# ```
#
# ```{exercise} Stochastic steps ◇
# :label: ex-stochastic
# Replace the flow by stochastic gradient descent: a fresh batch of prompts each step, constant or falling step sizes. From which starts, and with which
# step sizes, does it converge?
# ```
#
# ```{solution} ex-stochastic
# :label: sol-stochastic
# :class: dropdown
# **Known:** the flow converges from everywhere; gradient descent on the exact risk does for small enough steps, how small depending on the start
# ({numref}`fig-flow-steps`: the curvature at the start decides); {ref}`ex-critical` leaves nowhere else to go. {doc}`Chapter 1 </notebooks/01_one_step_gd>` trains
# on samples and lands near the minimum.
#
# **What makes it hard:** the risk is a polynomial of degree four in $(\beta, \Gamma)$ and a single prompt's gradient is heavy-tailed; its variance grows
# with $\|b\|$ and $\|\Gamma\|$ faster than the usual assumptions allow. With constant steps a rare prompt can throw the weights far away, where the same step
# is unstable, so convergence from everywhere *with certainty* is doubtful. Clipping, or averaging over growing batches, may repair it.
#
# **Open:** a step-size rule with a proof, and the rate; and the same for the block's own matrices, where chapter 4 found false
# valleys and even the flow may stop in the wrong place.
# ```

# %% tags=["hide-input", "remove-output"]
best_step = n / (n + d + 1 + sigma2)
exercise_numbers = {
    "ex_slowest": 2 * (d + 1) / (n + d + 1),
    "ex_rate_at_best": 2 * (1 - best_step) ** 2
    + 2 * (d + 1) / n * best_step**2,
    "ex_harmonic": 3 / (1 / 5 + 1 / 20 + 1 / 80),
    "ex_steps_bayes": best_of_all,
    "ex_second_step_percent": 100
    * (several_steps[0] - several_steps[1])
    / (several_steps[0] - best_of_all),
    "ex_finite_factor": leading.mean / rule,
}
exercise_numbers |= {
    f"ex_steps_{L}": least for L, least in enumerate(several_steps, 1)
}
for name, value in exercise_numbers.items():
    ledger.number(name, value)

# %% [markdown]
# ## Every claim of this chapter
#
# A claim holds when prediction and measurement differ by no more than its tolerance, fixed beforehand, and five standard errors. A bound that
# is missed by less than that is *undecided*.

# %% tags=["hide-input"]
ledger.save()
