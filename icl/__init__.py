"""The executable companion to the theory of in-context learning.

Imports run one way: `validation` and `prompts` on the ground, `theory` (NumPy only) on them, then
`models`, `solvers` and `constructions`, then `training`, then the ledger (`claims`, `figures`) and
last `workflow`, the only part that knows papermill and Jupyter Book.
"""

__version__ = "0.1.0"
