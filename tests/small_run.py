"""A run with one claim and one figure, as small as one can be, and other tables for its figure."""

from icl.files import sealed, sha256, write_atomically

CHAPTER = "01_one_step_gd"
CLAIM = dict(
    id="thm1.risk", source="s", statement="x.", method="exact", relation="equal", predicted=1.0, measured=1.0,
    stderr=0.0, tolerance=0.0, verdict="holds", reason="", cell=None,
)  # fmt: skip


def save(folder, ledger, table=None):
    """Write the ledger, and the table of its one figure if given, with the seals of what is there."""
    for name, figure in ledger["figures"].items():
        path = folder / CHAPTER / f"{name}.csv"
        if table is not None:
            write_atomically(path, table)
        figure["sha256"] = {"csv": sha256(path.read_bytes())}
    write_atomically(folder / f"{CHAPTER}.json", sealed(ledger))


def small_run(folder) -> dict:
    """A run of one claim and one figure in `folder`; returns its ledger."""
    figure = dict(alt="a", columns=["x", "y"], rows=2, rtol=1e-9)
    ledger = dict(chapter=CHAPTER, parameters={}, claims=[{**CLAIM}], numbers={}, figures={"f": figure})
    save(folder, ledger, "x,y\n1,nan\n2,inf\n")
    return ledger
