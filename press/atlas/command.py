"""`python -m icl atlas` and the two commands of its jobs."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import click

from icl.chapters import CHAPTERS, check_chapter
from icl.ledger import summary
from icl.ledger import table as claims_of_ledger
from icl.parameters import Parameters
from press.layout import BUILD, ROOT, WorkflowError

OUT = BUILD / "atlas"
out_option = click.option("--out", type=click.Path(path_type=Path), default=OUT, help="Folder; default: _build/atlas.")


def claims_alone(chapter: str, parameters: Parameters, out: Path | str | None) -> None:
    """`python -m icl run` at the profile claims: decide, print, and write the ledger into `out`."""
    from press.atlas.point import run_claims
    from press.atlas.threads import one_thread
    from press.output import output_folder

    out = output_folder(Path("_build") / "atlas" / "runs" / chapter if out is None else out)
    with one_thread():
        ledger = run_claims(chapter, out, parameters)
    click.echo(f"{chapter}: {summary([ledger])} Its ledger: {out}", err=True)
    click.echo(claims_of_ledger(ledger))


@click.command()
@click.argument("chapters", nargs=-1)
@click.option("--points", "count", type=click.IntRange(min=1), default=200, show_default=True, help="Of each chapter.")
@click.option("--cores", type=click.IntRange(min=1), help="Jobs at once; default: all cores.")
@click.option("--plan", is_flag=True, help="Write DIR/points.csv alone: another engine runs it.")
@click.option("--go-on", is_flag=True, help="Take over what results/atlas decided by the code that stands here.")
@out_option
def atlas(chapters, count, cores, plan, go_on, out):
    """Decide the claims of every chapter, or of CHAPTERS, at many problems, and write a table a chapter.

    A killed run goes on where it was; more points later compute only the new ones.

    \f
    Raises WorkflowError where a job failed; what is done stays.
    """
    from press.output import output_folder, workplace

    names, out = [check_chapter(name) for name in chapters] or list(CHAPTERS), output_folder(out)
    with workplace(out, "atlas"):  # what is asked is one file, which a second command would replace under the first
        _plan(names, count, out, go_on)
        if plan:
            return
        command = ["--cores", str(cores or os.cpu_count()), "--rerun-incomplete", "--nolock", "--quiet", "all",
                   "--config", f"atlas={out}", "--", "atlas"]  # fmt: skip
        # an exception lets `run` end Snakemake, and with it end its jobs
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
        if subprocess.run([sys.executable, "-m", "snakemake", *command], cwd=ROOT).returncode:
            raise WorkflowError(f"the atlas is not complete; what is done is in {out}, and the same command goes on.")
    for name in names:
        click.echo(f"{out / name}.csv")


def _plan(names: list[str], count: int, out: Path, go_on: bool) -> None:
    """Write what is asked, and take over what the committed atlas has of it."""
    from press.atlas import kept, points

    points.write(out / "points.csv", names, count)
    for name in names:  # a table of fewer points, or of a folder that was copied, would be taken for done
        (out / f"{name}.csv").unlink(missing_ok=True)
    if go_on:
        click.echo(f"{kept.go_on(out)} points of the committed atlas are of today's code and taken over.")


@click.command("atlas-group", hidden=True)
@click.argument("chapter")
@click.argument("group", type=int)
@out_option
def atlas_group(chapter, group, out):
    """Decide one group of points: a job of the workflow."""
    from press.atlas import work

    work.run_group(out, check_chapter(chapter), group)


@click.command("atlas-table", hidden=True)
@click.argument("chapter")
@click.option("--partly", is_flag=True, help="With the points that are there.")
@out_option
def atlas_table(chapter, partly, out):
    """Write a chapter's table from its points: a job of the workflow."""
    from press.atlas import work

    work.gather(out, check_chapter(chapter), partly=partly)


@click.command("atlas-edges")
@click.argument("chapters", nargs=-1)
@out_option
def atlas_edges(chapters, out):
    """Seek where the claims of every chapter, or of CHAPTERS, break along each parameter, past its range.

    A killed run goes on where it was.
    """
    from press.atlas.edges import find

    for name in [check_chapter(name) for name in chapters] or CHAPTERS:
        click.echo(find(name, out / "edges" / f"{name}.csv"))


@click.command("atlas-keep")
@out_option
def atlas_keep(out):
    """Make the points decided in --out the committed atlas, results/atlas."""
    from press.atlas.kept import keep

    for line in keep(out):
        click.echo(line)


@click.command("atlas-check")
@click.option("--points", "count", type=click.IntRange(min=1), default=2, show_default=True, help="Of each chapter.")
def atlas_check(count):
    """Decide points of the committed atlas anew, drawn by the date; exit status 1 where one is not as it was."""
    from press.atlas.kept import check

    click.echo(
        f"The atlas: {count} points of each chapter, drawn by the date, are decided anew; it takes minutes.", err=True
    )
    found = check(count)
    for line in found.moved or [f"The atlas: all {found.points} points are as they were."]:
        click.echo(line)
    if found.moved:
        raise SystemExit(1)
