"""`python -m icl`: run a chapter, read the ledger, compare with the baselines, build the book."""

import json
import time
from pathlib import Path

import click

from icl.parameters import CHAPTERS, PROFILES, check_chapter, check_parameters, parse_assignment
from icl.validation import InputError
from icl.workflow.layout import BASELINES, HTML, WorkflowError, run_folder

_profile_option = click.option("--profile", type=click.Choice(PROFILES), default="quick", show_default=True)


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
def commands():
    """The executable companion to the theory of in-context learning."""


@commands.command()
@click.argument("chapter")
@click.option("-p", "assignments", multiple=True, metavar="NAME=VALUE", help="A parameter, as in -p d=7; repeatable.")
@click.option("--out", type=click.Path(path_type=Path), help="Folder for the notebook, its numbers and figures.")
def run(chapter, assignments, out):
    """Run CHAPTER, with other parameters if you like, and print its claims."""
    from icl.workflow.ledgers import summary, table
    from icl.workflow.run import run_chapter

    values = dict(parse_assignment(check_chapter(chapter), text) for text in assignments)
    parameters = check_parameters(chapter, **values)
    out = out or Path("_build") / "runs" / chapter
    usual = _usual_seconds(run_folder(parameters.profile), chapter)
    click.echo(f"{chapter}: running{f', usually {usual:.0f} s' if usual else ''} …", err=True)
    started = time.perf_counter()
    ledger = run_chapter(chapter, out, parameters)
    took = time.perf_counter() - started
    click.echo(f"{chapter}: done after {took:.0f} s, in {out}: {summary([ledger])}", err=True)
    click.echo(table(ledger))


@commands.command()
@_profile_option
@click.option("--run", "folder", type=click.Path(path_type=Path), help="A folder that `run --out` wrote.")
def claims(profile, folder):
    """Print the ledger of the last run; exit status 1 when a verdict fails."""
    from icl.workflow.ledgers import failures, read_all, summary, table

    ledgers = read_all(folder or run_folder(profile))
    for ledger in ledgers:
        click.echo(f"{ledger['chapter']}\n{table(ledger)}")
    click.echo(summary(ledgers))
    if failures(ledgers):
        raise SystemExit(1)


@commands.command()
@_profile_option
def check(profile):
    """Compare every figure number and claim with its committed baseline; exit status 1 when one moved."""
    from icl.workflow.baselines import compare

    moves = [move for name in CHAPTERS for move in compare(run_folder(profile), BASELINES / profile, name)]
    for move in moves:
        click.echo(str(move))
    click.echo(f"{len(moves)} numbers moved." if moves else "Every number is where its baseline is.")
    if moves:
        raise SystemExit(1)


@commands.command()
@_profile_option
def baselines(profile):
    """Make the last run the new baseline, and show what moved."""
    from icl.workflow.baselines import compare, write

    for name in CHAPTERS:
        try:
            moves = compare(run_folder(profile), BASELINES / profile, name)
        except InputError as error:
            moves = [str(error)]
        for move in moves:
            click.echo(str(move))
        write(run_folder(profile), BASELINES / profile, name)
        click.echo(f"{name}: baselines written to {BASELINES / profile / name} ({len(moves)} moves).")


@commands.command()
@_profile_option
def book(profile):
    """Build the static book from the last run of every chapter."""
    from icl.workflow.book import build_book

    build_book(profile)


@commands.command("summary")
@_profile_option
def print_summary(profile):
    """Say how many claims hold, which fail, and where the book lies."""
    from icl.workflow.ledgers import failures, read_all, summary

    ledgers = read_all(run_folder(profile))
    for claim in failures(ledgers):
        click.echo(f"  {claim}")
    click.echo(f"{summary(ledgers)} The book: {HTML / 'index.html'}")


@commands.command()
def sync():
    """Write every notebook's .ipynb from its .py, without outputs."""
    from icl.workflow.notebooks import synchronise

    for name in CHAPTERS:
        click.echo(str(synchronise(name)))


def _usual_seconds(folder: Path, chapter: str) -> float | None:
    try:
        return json.loads((folder / f"{chapter}.provenance.json").read_text(encoding="utf-8"))["seconds"]
    except (OSError, ValueError, KeyError):
        return None


def main() -> None:
    """Run the command line; an expected error is one line on stderr and exit status 1."""
    try:
        commands.main(standalone_mode=False)
    except click.ClickException as error:
        error.show()
        raise SystemExit(error.exit_code) from None
    except click.Abort:
        raise SystemExit(130) from None
    except (InputError, WorkflowError) as error:
        click.echo(f"icl: {error}", err=True)
        raise SystemExit(1) from None
