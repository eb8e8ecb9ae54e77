"""`python -m icl compare`: a reader's own model from a file, and a page with tables about it."""

import importlib.util
import sys
from pathlib import Path

import click

from icl.comparison import pictures
from icl.comparison.compare import PROMPTS, QUERIES, compare
from icl.comparison.off_law import OffLaw, off_law
from icl.comparison.questions import Law
from icl.comparison.table import Comparison
from icl.files import csv_text, write_atomically
from icl.parameters import Parameters, checked, nearest, parsed, short
from icl.prompts import PromptLaw
from icl.targets import FAMILIES, TargetLaw
from icl.validation import InputError
from press.pages.comparison import page


@click.command("compare")
@click.argument("model", metavar="FILE.py:NAME")
@click.option("-p", "assignments", multiple=True, metavar="NAME=VALUE", help="d, n, sigma2 or seed, as in -p d=7.")
@click.option("--family", metavar="NAME", help="Targets of this family of chapter 3 in place of linear ones.")
@click.option("--prompts", type=click.IntRange(min=100), default=PROMPTS, show_default=True, help="Fresh prompts.")
@click.option("--queries", type=click.IntRange(min=1), default=QUERIES, show_default=True, help="Asked of each prompt.")
@click.option("--on-law-only", is_flag=True, help="Do not turn anything about the prompts.")
@click.option("--out", metavar="FOLDER", help="Folder for page, tables and figures; default: _build/compare/NAME.")
def command(model, assignments, family, prompts, queries, on_law_only, out):
    """Say which algorithm a model of your own is: NAME in FILE.py, and write a page about it.

    NAME is a function predict(X, y, x_query), a torch module, an estimator with fit and predict, or a model of
    icl.comparison.adapters. X is (prompts, n, d), y (prompts, n), x_query (prompts, d); the answers are (prompts,).
    """
    parameters = checked(Parameters, "compare", parsed(Parameters, "compare", assignments))
    law = _law(parameters, family)
    name = model.rpartition(":")[2]
    folder = Path(out) if out else Path("_build") / "compare" / name
    owned = load(model)
    options = dict(queries=queries, rng=parameters.seed, progress=True)
    found = compare(owned, law, prompts=prompts, name=name, **options)
    turned = None if on_law_only else off_law(owned, law, found, **options)
    for path, text in files(found, turned).items():
        write_atomically(folder / path, text)
    click.echo(str(found))
    if turned:
        click.echo(f"\nOff its law: {turned.verdict}")
    click.echo(f"The page: {folder / 'index.html'}", err=True)


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


def _law(parameters: Parameters, family: str | None) -> Law:
    if family is None:
        return PromptLaw.isotropic(parameters.d, parameters.n, parameters.sigma2)
    if family not in FAMILIES:
        known = ", ".join(FAMILIES)
        raise InputError(f"there is no family {short(family)}{nearest(family, FAMILIES)}; families: {known}.")
    return TargetLaw(FAMILIES[family], parameters.d, parameters.n, parameters.sigma2)
