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
# (zero-answer)=
# # The answer 0
#
# Whoever answers 0 to every query pays the whole variance of the label, $\mathbb E y^2 = d + \sigma^2$: here
# {glue:text}`zero.risk.predicted:.2f`. {cite:t}`mahankali2024` measure every model against it. Reading takes
# {glue:text}`reading_minutes:.0f` minutes.

# %% tags=["hide-input"]
from icl.chapters import begin
from icl.chapters.zero_answer import experiments, pictures
from icl.prompts import PromptLaw
from icl.theory import zero_answer as theory

# %% tags=["parameters"]
d = 5
n = 20
sigma2 = 0.25
seed = 0
profile = "quick"
prompts = 20_000

# %% tags=["hide-input", "remove-output"]
parameters, ledger, stream = begin(
    "13_zero_answer",
    d=d,
    n=n,
    sigma2=sigma2,
    seed=seed,
    profile=profile,
    prompts=prompts,
)
law = PromptLaw.isotropic(d, n, sigma2)

# %% [markdown]
# ## Predicted and measured

# %%
risk = experiments.measured_risk(law, prompts, stream("risk"))
ledger.claims({"zero.risk": (theory.risk(d, sigma2), risk)})

# %% tags=["hide-input", "remove-output"]
ledger.figure(pictures.risk_against_d(d, sigma2, risk))

# %% [markdown]
# ```{glue:figure} fig-risk_against_d
# :name: fig-zero-risk
#
# The risk of the answer 0 grows in step with the number of covariates; the dot is the mean over
# {glue:text}`prompts:,.0f` random prompts, with five standard errors.
# ```

# %% tags=["hide-input"]
ledger.save()
