"""`python -m icl`: run a chapter, read the ledger, compare with the baselines, build the book."""

import json
import os
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from icl import __version__
from icl.chapters import CHAPTERS, check_chapter, check_parameters, parse_assignments, read_all, read_ledger
from icl.files import json_number
from icl.ledger import failures, summary, table
from icl.parameters import CLAIMS, PROFILES, check_profile
from icl.validation import InputError
from press.atlas.command import atlas, atlas_check, atlas_edges, atlas_group, atlas_keep, atlas_table, claims_alone
from press.compare import compare
from press.layout import BASELINES, HTML, NOTEBOOKS, ROOT, WorkflowError, run_folder
from press.train_command import train

profile_option = click.option(
    "--profile",
    metavar="|".join(PROFILES),
    default="quick",
    show_default=True,
    callback=lambda context, option, value: check_profile(value),
)


all_option = click.option(
    "--all", "everything", is_flag=True, help="Show every number that moved, not the largest only."
)

chapter_argument = click.argument(
    "chapter",
    callback=lambda context, argument, value: check_chapter(value),
    shell_complete=lambda *_: [CompletionItem(name, help=chapter.summary) for name, chapter in CHAPTERS.items()],
)

_COMPLETION = """Completion of commands and chapters, for the command `icl` of the environment, in bash:
eval "$(_ICL_COMPLETE=bash_source icl)"; in zsh and fish likewise."""


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}, epilog=_COMPLETION)
@click.version_option(__version__, message="icl %(version)s")
@click.option("--with-parent", is_flag=True, hidden=True)
def commands(with_parent):
    """The executable companion to the theory of in-context learning."""
    if with_parent:  # Snakemake's jobs: after a kill -9 of Snakemake nobody waits for them
        from ipykernel.parentpoller import ParentPollerUnix

        ParentPollerUnix(os.getppid()).start()


@commands.command()
@chapter_argument
@click.option("-p", "assignments", multiple=True, metavar="NAME=VALUE", help="A parameter, as in -p d=7; repeatable.")
@click.option("--profile", help=f"As -p profile=…; `{CLAIMS}` decides exact and Monte Carlo claims alone, in seconds.")
@click.option(
    "--out", metavar="FOLDER", help="Folder for the notebook, its numbers and figures; default: _build/runs/CHAPTER."
)
def run(chapter, assignments, profile, out):
    """Run CHAPTER, by name or number, with other parameters if you like, and print its claims."""
    assignments = [*assignments, *([f"profile={profile}"] if profile else [])]
    parameters = check_parameters(chapter, **parse_assignments(chapter, assignments))
    if parameters.profile == CLAIMS:
        return claims_alone(chapter, parameters, out)

    from press.progress import shown  # after the check, for these take seconds
    from press.run import run_chapter

    out = Path("_build") / "runs" / chapter if out is None else out
    usual = parameters == check_parameters(chapter, profile=parameters.profile)
    with shown(chapter, parameters.profile, lambda text: click.echo(text, err=True), remember=usual):
        ledger = run_chapter(chapter, out, parameters)
    click.echo(f"{chapter}: {summary([ledger])} Its files: {out}", err=True)
    click.echo(table(ledger))


@commands.command()
@profile_option
@click.option("--run", "folder", metavar="FOLDER", help="A folder that `run --out` wrote; default: _build/run/PROFILE.")
@click.option("--json", "as_json", is_flag=True, help="All claims as JSON, in place of tables.")
def claims(profile, folder, as_json):
    """Print the ledger of the last run, or of the chapters in a folder.

    Exit status 1 when a verdict fails and the book does not say why, or the run is not of the code that stands here.
    """
    from press.sources import check_current, present

    where = run_folder(profile) if folder is None else Path(folder)
    there = present(where)
    ledgers = [read_ledger(where, name) for name in there]
    if as_json:
        every = [{"chapter": ledger["chapter"], **claim} for ledger in ledgers for claim in ledger["claims"]]
        click.echo(json.dumps([{key: json_number(value) for key, value in claim.items()} for claim in every], indent=1))
    else:
        for ledger in ledgers:
            click.echo(f"{ledger['chapter']}\n{table(ledger)}")
        click.echo(summary(ledgers))
    unexplained = [claim.id for claim in failures(ledgers, explained=False)]
    if unexplained:
        click.echo(f"Failing, and the book does not say why: {', '.join(unexplained)}.", err=as_json)
    check_current(where, *((CHAPTERS, profile) if folder is None else (there,)))
    if unexplained:
        raise SystemExit(1)


@commands.command()
@click.argument("chapters", nargs=-1)
@profile_option
@all_option
def check(chapters, profile, everything):
    """Compare every number of the last run with its baseline and with theory, or those of CHAPTERS.

    Exit status 1 when one moved, a page vanished, or the run is not of the code that stands here.
    """
    from press.contents import compare_contents
    from press.regression import compare, report
    from press.sources import check_current

    names, folder = [check_chapter(name) for name in chapters] or list(CHAPTERS), run_folder(profile)
    check_current(folder, names, profile)
    found = [compare(folder, BASELINES / profile, name) for name in names]
    moves = [*report(found, everything=everything), *([] if chapters else compare_contents(BASELINES, profile))]
    for line in moves or [*map(str, found), "Every number is where its baseline is."]:
        click.echo(line)
    if moves and not any(one.verdicts or one.changes for one in found):
        click.echo("If only the machine is another, `make drift` measures how far they may.")
    if moves:
        raise SystemExit(1)


@commands.command()
@click.argument("chapters", nargs=-1)
@profile_option
@all_option
def baselines(chapters, profile, everything):
    """Make the last run the new baseline where its numbers moved, or of CHAPTERS, and show what moved."""
    from press.contents import write_contents
    from press.regression import compare, report, write
    from press.sources import check_current

    names, folder = [check_chapter(name) for name in chapters] or list(CHAPTERS), run_folder(profile)
    check_current(folder, names, profile)
    for name in names:
        try:
            found = compare(folder, BASELINES / profile, name)
            moves, count = report([found], everything=everything), f"{found.count:,} moves"
        except InputError as error:  # no baseline yet, or a damaged one
            moves, count = [str(error)], "new"
        for line in moves:
            click.echo(line)
        if moves or chapters:
            write(folder, BASELINES / profile, name)
            click.echo(f"{name}: baselines written to {BASELINES / profile / name} ({count}).")
        else:
            click.echo(f"{name}: nothing moved; its baselines stay.")
    write_contents(BASELINES, ROOT)


@commands.command()
@profile_option
def book(profile):
    """Build the static book from the last run of every chapter."""
    from press.book import build_book

    build_book(profile)


@commands.command()
@profile_option
def pdf(profile):
    """Print the book to a PDF, and link it from the built page of downloads."""
    from press.pdf import build_pdf

    click.echo("pdf: printing the book twice, the second time with page numbers in its contents …", err=True)
    click.echo(f"The book as a PDF: {build_pdf(profile)}")


@commands.command("summary")
@profile_option
def print_summary(profile):
    """Say how many claims hold, which fail, and where the book lies."""
    from press.sources import check_current

    check_current(run_folder(profile), CHAPTERS, profile)
    ledgers = read_all(run_folder(profile))
    for claim in [*failures(ledgers, explained=True), *failures(ledgers, explained=False)]:
        click.echo(f"  {claim}")
    click.echo(f"{summary(ledgers)} The book: {HTML / 'index.html'}")


@commands.command()
def sync():
    """Write every notebook's .ipynb from its .py, without outputs, and make each chapter's folder a package.

    \f
    Raises InputError for a notebook that belongs to no chapter.
    """
    from press.notebooks import synchronise

    for name, chapter in CHAPTERS.items():
        (chapter.folder / "__init__.py").touch()
        click.echo(str(synchronise(name)))
    if others := sorted(path.stem for path in NOTEBOOKS.glob("*.py") if path.stem not in CHAPTERS):
        raise InputError(f"no chapter has the notebook {', '.join(others)}: it needs an icl/chapters/*/chapter.toml.")


for command in (compare, train, atlas, atlas_check, atlas_edges, atlas_keep, atlas_group, atlas_table):
    commands.add_command(command)


def main() -> None:
    """The command line of `python -m icl`."""
    run_commands(commands)


def run_commands(group: click.Group) -> None:
    """Run a command line; an expected error is one line on stderr and exit status 1."""
    try:
        group.main(standalone_mode=False)
    except click.ClickException as error:
        error.show()
        raise SystemExit(error.exit_code) from None
    except click.Abort:
        click.echo("icl: interrupted; results that were there are unchanged.", err=True)
        os._exit(130)  # all is put away; asyncio would print what became of its tasks
    except (InputError, WorkflowError) as error:
        click.echo(f"icl: {error}", err=True)
        raise SystemExit(1) from None
