"""`python -m icl compare`: a reader's own model from a file, and a page with tables about it.

It needs the library alone, none of the book's tools.
"""

import argparse
import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path

from icl.comparison import pictures
from icl.comparison.compare import PROMPTS, QUERIES, compare
from icl.comparison.off_law import OffLaw, off_law
from icl.comparison.page import page
from icl.comparison.questions import Law
from icl.comparison.table import Comparison
from icl.files import csv_text, write_atomically
from icl.prompts import PromptLaw
from icl.targets import FAMILIES, TargetLaw
from icl.validation import InputError, check_count, nearest, short

SUMMARY = "Say which algorithm a model of your own is: NAME in FILE.py, and write a page about it."
_TAKES = """NAME is a function predict(X, y, x_query), a torch module, an estimator with fit and predict, or a model of
icl.comparison.adapters. X is (prompts, n, d), y (prompts, n), x_query (prompts, d); the answers are (prompts,)."""
DEFAULTS = {"d": 5, "n": 20, "sigma2": 0.25, "seed": 0}


def main(arguments: Sequence[str]) -> None:
    """Compare, print the table and write the page, as the words after `compare` on the command line say.

    Raises InputError for a model, a law or a file that will not do.
    """
    chosen = _parser().parse_args(arguments)
    values = parameters(chosen.p)
    law = _law(values, chosen.family)
    name = chosen.model.rpartition(":")[2]
    folder = Path(chosen.out) if chosen.out else Path("_build") / "compare" / name
    owned = load(chosen.model)
    options = dict(queries=chosen.queries, rng=values["seed"], progress=True)
    found = compare(owned, law, prompts=chosen.prompts, name=name, **options)
    turned = None if chosen.on_law_only else off_law(owned, law, found, **options)
    for path, text in files(found, turned).items():
        write_atomically(folder / path, text)
    print(found)
    if turned:
        print(f"\nOff its law: {turned.verdict}")
    print(f"The page: {folder / 'index.html'}", file=sys.stderr)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("icl compare", description=SUMMARY, epilog=_TAKES)
    sizes = ", ".join(f"{name} ({value:g})" for name, value in DEFAULTS.items())
    parser.add_argument("model", metavar="FILE.py:NAME")
    parser.add_argument("-p", action="append", default=[], metavar="NAME=VALUE", help=f"{sizes}, as in -p d=7.")
    parser.add_argument("--family", metavar="NAME", help="Targets of this family of chapter 3, not linear ones.")
    parser.add_argument("--prompts", type=int, default=PROMPTS, help=f"Fresh prompts, 100 at least ({PROMPTS}).")
    parser.add_argument("--queries", type=int, default=QUERIES, help=f"Asked of each prompt ({QUERIES}).")
    parser.add_argument("--on-law-only", action="store_true", help="Do not turn anything about the prompts.")
    parser.add_argument("--out", metavar="FOLDER", help="For page, tables and figures (_build/compare/NAME).")
    return parser


def parameters(assignments: Sequence[str]) -> dict:
    """`name=value` texts over the defaults of d, n, sigma2 and seed; raises InputError for any other."""
    values = dict(DEFAULTS)
    for text in assignments:
        name, equals, value = text.partition("=")
        if not equals:
            raise InputError(f"{short(text)} is not of the form name=value, as in -p d=7.")
        if name not in DEFAULTS:
            known = ", ".join(DEFAULTS)
            raise InputError(f"compare has no parameter {short(name)}{nearest(name, DEFAULTS)}; it takes {known}.")
        kind = type(DEFAULTS[name])
        try:
            values[name] = kind(value)
        except ValueError:
            wanted = "a whole number" if kind is int else "a number"
            raise InputError(f"{name} must be {wanted}, not {short(value)}.") from None
    check_count("seed", values["seed"], least=0)
    return values


def load(text: str):
    """What FILE.py calls NAME, given as `FILE.py:NAME`; raises InputError where there is no such thing."""
    path, colon, name = text.rpartition(":")
    if not (colon and path and name):
        raise InputError(f"name the model as FILE.py:NAME, such as my_model.py:predict, not {short(text)}.")
    file = Path(path)
    if not file.is_file():
        raise InputError(f"there is no file {short(path)}; give the path of the file that defines {name}.")
    spec = importlib.util.spec_from_file_location("icl_readers_model", file)
    if spec is None:
        raise InputError(f"{path} is no Python file; its name must end in .py.")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(file.resolve().parent))  # it may import its neighbours
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise InputError(f"{path} fails when it is imported: {type(error).__name__}: {error}.") from error
    finally:
        sys.path.remove(str(file.resolve().parent))
    if not hasattr(module, name):
        known = [key for key, value in vars(module).items() if callable(value) and not key.startswith("_")]
        raise InputError(f"{path} has no {short(name)}{nearest(name, known)}; it has {', '.join(known) or 'nothing'}.")
    return getattr(module, name)


def files(found: Comparison, turned: OffLaw | None) -> dict[str, str]:
    """What the command writes: file name → text."""
    drawn = {"distances": pictures.distances(found)} | ({"off_law": pictures.off_the_law(turned)} if turned else {})
    texts = {f"{name}.svg": figure.svg() for name, figure in drawn.items()}
    texts |= {"comparison.csv": found.csv(), "comparison.txt": f"{found}\n"}
    if turned:
        texts["off_law.csv"] = turned.csv()
    if found.layers:
        records = found.layers.records()
        texts["layers.csv"] = csv_text({key: [record[key] for record in records] for key in records[0]})
    return texts | {"index.html": page(found, turned, texts)}


def _law(values: dict, family: str | None) -> Law:
    sizes = values["d"], values["n"], values["sigma2"]
    if family is None:
        return PromptLaw.isotropic(*sizes)
    if family not in FAMILIES:
        known = ", ".join(FAMILIES)
        raise InputError(f"there is no family {short(family)}{nearest(family, FAMILIES)}; families: {known}.")
    return TargetLaw(FAMILIES[family], *sizes)
