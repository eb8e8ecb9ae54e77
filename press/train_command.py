"""`python -m icl train`: the trainings whose results the repository carries; press/trainings.py runs them."""

from pathlib import Path

import click


@click.command()
@click.argument("recipe", required=False)
@click.option("--seed", type=click.IntRange(min=0), help="Of weights and sequences; without it, the shipped seeds.")
@click.option("--out", type=click.Path(path_type=Path), help="Folder for the trained weights; default: checkpoints.")
@click.option("--anew", is_flag=True, help="Train also what the folder holds intact.")
@click.option("--minutes", type=click.FloatRange(min=0, min_open=True), help="Stop, saved, after so long.")
@click.option("--missing", is_flag=True, help="Train nothing; say what is missing, as arguments, a line each.")
@click.option("--device", type=click.Choice(["cpu", "cuda"]), default="cpu", show_default=True)
def train(recipe, seed, out, anew, minutes, missing, device):
    """Train RECIPE of chapter 7, or all it ships, minutes to an hour each, hours at d = 20.

    Or `table1` and `gpt_sweep` of chapter 4, `how_many_tasks` of chapter 10, the `front_page`'s.

    A training that was killed, or stopped by --minutes, goes on where it was when you give the same command again.
    """
    from icl.chapters.mlp_benefit import gpt_sweep, table1
    from icl.chapters.trained_transformers import recipes, weights
    from press import trainings

    if missing:
        lines = trainings.missing()
        if not lines:
            click.echo("icl: results/checkpoints/ has every training's result.", err=True)
    elif recipe == "front_page":
        lines = trainings.train_front_page(seed or 0, out, anew=anew, minutes=minutes, device=device)
    elif recipe == "how_many_tasks":
        lines = trainings.train_tasks(out, anew=anew, minutes=minutes, device=device)
    elif recipe == "gpt_sweep":
        path = (out or weights.FOLDER) / gpt_sweep.RESULTS.name
        lines = trainings.train_sweep(path, anew=anew, minutes=minutes, device=device)
    elif recipe == "table1":
        path = (out or weights.FOLDER) / table1.RESULTS.name
        lines = trainings.train_table(seed or 0, path, anew=anew, minutes=minutes, device=device)
    else:
        shipped = [pair for pair in recipes.SHIPPED if recipe in (None, pair[0])]
        named = recipes.RECIPES if recipe is None else [recipes.check_recipe(recipe).name]
        wanted = shipped if seed is None and shipped else [(name, seed or 0) for name in named]
        lines = trainings.train_all(wanted, out or weights.FOLDER, anew=anew, minutes=minutes, device=device)
    try:
        for line in lines:
            click.echo(line)
    except KeyboardInterrupt:
        saved = f"it was saved every {weights.SLICE} steps under {weights.STATES}"
        click.echo(f"\nicl: stopped; {saved}, and the same command goes on from there.", err=True)
        raise SystemExit(130) from None
