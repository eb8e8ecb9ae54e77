"""Classical in-context learners, batched over prompts: least squares, ridge, one step of GD."""
