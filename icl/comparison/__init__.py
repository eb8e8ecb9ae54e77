"""Which algorithm is a model? Instruments for in-context learners of any make, handed over as one function."""
