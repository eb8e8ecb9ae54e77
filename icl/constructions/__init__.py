"""Explicit weights: transformers written down, not trained."""
