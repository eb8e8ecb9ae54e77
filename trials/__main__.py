"""`python -m trials`: measure the software itself. Each command writes its own table of `results/measurements`."""

import click

from icl.chapters import CHAPTERS, check_chapter
from press.cli import profile_option, run_commands
from press.layout import WorkflowError


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
def commands():
    """What puts the book's own software to the test."""


@commands.command()
@click.argument("chapters", nargs=-1)
@profile_option
def drift(chapters, profile):
    """Measure how far the last run's numbers move with two threads and with another instruction set."""
    from trials.drift import measure, save

    for name in [check_chapter(chapter) for chapter in chapters] or CHAPTERS:
        found = measure(name, profile)
        for machine, kinds in found["machines"].items():
            words = "; ".join(f"{kind} {entry['value']:.2g} ({entry['at']})" for kind, entry in kinds.items())
            click.echo(f"{name}, {machine}: {words}")
        save(name, found)


@commands.command()
@profile_option
def newest(profile):
    """Record how far the last run's numbers are from their baselines, and which packages are not the lock's."""
    from trials.newest import measure, save, versions

    for name, (locked, here) in versions().items():  # said first: where the book did not build, they tell why
        click.echo(f"{name}: {locked or 'not there'} in the lock, {here or 'not there'} here")
    found = measure(profile)
    click.echo(f"{sum(entry['moved'] for entry in found['chapters'].values())} numbers moved: {save(found)}")


@commands.command()
@profile_option
def same(profile):
    """Build the book twice, in other places, times, languages and orders; exit status 1 for a byte that differs."""
    from trials.same import same_bytes

    _report(same_bytes(profile), "The two builds are the same, byte for byte.")


@commands.command()
@profile_option
@click.option("--kills", type=click.IntRange(min=1), default=20, show_default=True, help="How often.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the moments.")
def resume(profile, kills, seed):
    """Kill the build of the book at random moments, then let it finish; exit status 1 for a byte that differs."""
    from trials.resume import resumed_bytes

    _report(resumed_bytes(profile, kills, seed), f"After {kills} kills the book is the same, byte for byte.")


@commands.command("new-chapter")
def new_chapter():
    """Add a tiny chapter to a copy of the tree by six files and a line; build, check and look at its page there."""
    from trials.new_chapter import add_chapter

    files = add_chapter()
    click.echo(f"A chapter of {len(files)} files stands in the book: {', '.join(files)}.")


@commands.command()
def processors():
    """Run the unit tests as on processors without AVX-512 and without vectors; exit status 1 when one fails."""
    from trials.processors import measure, save

    found = measure()
    for name, result in found["settings"].items():
        click.echo(f"{name}: {result['passed']} passed, {len(result['failed'])} failed {' '.join(result['failed'])}")
    click.echo(str(save(found)))
    if any(result["failed"] or not result["passed"] for result in found["settings"].values()):
        raise SystemExit(1)


@commands.command()
def times():
    """Measure how long continuous integration and the tests take, in a fresh clone of the last commit."""
    from trials.times import measure, save

    found = measure()
    click.echo(f"`make test`: {found['tests']} s; `.ci/run`, with installation: {found['ci']} s. {save(found)}")


@commands.command()
@click.option("--points", type=click.IntRange(min=2), default=20, show_default=True, help="Of each of four chapters.")
def slurm(points):
    """Run the atlas on a SLURM of one node while it is disturbed; exit status 1 for a byte that differs.

    A job is killed, the node drained and resumed, the controller stopped and started; then the same runs without SLURM.

    \f
    Raises WorkflowError where there is no SLURM to try.
    """
    from trials.slurm import disturbed, missing

    if reason := missing():
        raise WorkflowError(f"no trial on SLURM here: {reason}.")
    _report(disturbed(points), "All jobs came through SLURM, nothing finished ran twice, and the bytes are the same.")


def _report(differences: list[str], success: str) -> None:
    for line in differences or [success]:
        click.echo(line)
    if differences:
        raise SystemExit(1)


if __name__ == "__main__":
    run_commands(commands)
