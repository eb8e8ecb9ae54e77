"""The experiments of each chapter: what its notebook measures and draws, one chapter a file."""
