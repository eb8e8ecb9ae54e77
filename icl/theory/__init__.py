"""Closed forms, NumPy and SciPy only: one theorem a file, exact numbers, no sampling."""
