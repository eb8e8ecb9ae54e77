"""The risk of the answer 0: what every other answer is measured against. This book; x, w ~ N(0, I_d), noise sigma2."""


def risk(d: int, sigma2: float) -> float:
    """E y² = d + sigma2, for d ≥ 1 covariates and noise variance sigma2 ≥ 0."""
    return d + sigma2  # E (w'x)² = tr(H Psi) = d
