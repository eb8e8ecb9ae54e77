"""Torch models, one a file, and the exact population risk of their effective parameters."""
