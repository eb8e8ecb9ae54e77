"""The published transformer at its own size: is it trained, and what of the small models' pictures is there?

Fu et al. (2024) train for half a million steps on a GPU, x and y as tokens of their own. Here a token is a pair, and
the training takes core hours; its weights come with the book and are what every profile loads. Who trains the published
recipe on a GPU has that model probed at the paper profile. Garg et al.'s (2022) small model, of six layers, stands in
where covariates are ill-conditioned or labels noisy.
"""

from dataclasses import dataclass

import numpy as np
import torch

from icl.chapters.trained_transformers import probing, recipes, weights
from icl.chapters.trained_transformers.study import Study, foretold
from icl.estimates import Estimate
from icl.randomness import Streams

PAIRS, INTERLEAVED = "pairs", "published"
FIT, TEST = 1024, 512  # sequences to fit ReadOuts on, and to test them on: 40 positions each


def load(profile: str) -> tuple[recipes.Recipe, torch.nn.Module, dict]:
    """Recipe, model and record of the published size, in pairs; at the paper profile interleaved, if that is there.

    Raises InputError for a checkpoint that is not intact.
    """
    interleaved = weights.FOLDER / weights.checkpoint_name(INTERLEAVED, 0)
    recipe = recipes.RECIPES[INTERLEAVED if profile == "paper" and interleaved.exists() else PAIRS]
    return recipe, *weights.load_model(weights.FOLDER, recipe, 0)


def study(recipe: recipes.Recipe, model: torch.nn.Module, record: dict, stream: Streams) -> Study:
    """Probe a decoder, its training's record beside it, on the positions of fresh sequences, as Fu et al. (2024) do.

    ReadOuts are fitted to what can be `foretold` of the labels: in the limit the same as to the labels, without their
    noise.
    """
    rng = stream(f"prompts for {recipe.name}")
    train, test = (probing.Sequences.draw(recipe, count, rng) for count in (FIT, TEST))
    bootstrap = stream.entropy(f"bootstrap for {recipe.name}")
    run = probing.probe(model, train, test, foretold(recipe, train))
    return Study(recipe, test, [run], bootstrap, (model,), (record,))


def six_layers(law: str, stream: Streams) -> Study:
    """The same of the model of six layers and width 128, trained and probed on sequences of a law of `sequence_laws`.

    Raises InputError for another law than ill_conditioned and noisy, and for a checkpoint that is not intact.
    """
    recipe = recipes.check_recipe(f"pairs_small_{law}")
    return study(recipe, *weights.load_model(weights.FOLDER, recipe, 0), stream)


@dataclass(frozen=True)
class ByExamples:
    """Squared errors (P, n) after 1, …, n examples, less the noise, in units of d, answering 0's: ours, and the least
    there are, least squares' or, where there is noise, ridge regression's."""

    own: np.ndarray
    best: np.ndarray

    @classmethod
    def of(cls, found: Study) -> "ByExamples":
        """Of the first run's own answers."""
        best = foretold(found.recipe, found.test) - found.test.answers
        return cls(*((residuals**2 - found.noise) / found.recipe.model.d for residuals in (found.runs[0].own, best)))

    def at_the_end(self) -> Estimate:
        """Our error after all n examples."""
        return _mean(self.own[:, -1])

    def worst_excess(self) -> Estimate:
        """What our error is above the least where it is most, over numbers of examples."""
        excess = self.own - self.best
        return _mean(excess[:, excess.mean(0).argmax()])


def layout_numbers(layouts: dict[str, Study]) -> dict[str, float]:
    """Fewest and most steps at constant rates over all models; by names with a layout's last word, of its models: mean
    error after all n examples over that of answering 0, fewest and most Newton steps that two layers are worth.
    """
    kept = [record["steps"]["constant"] for study in layouts.values() for record in study.records]
    found = {"layout_least": min(kept), "layout_most": max(kept)}
    for layout, study in layouts.items():
        name = layout.split()[-1]
        at_the_end = np.array([run.own[:, -1] for run in study.runs])
        first = study.matching("newton").steps[:, 2]
        found |= {
            f"layout_error_{name}": float((at_the_end**2).mean() / study.recipe.model.d),
            f"layout_first_{name}_least": float(first.min()),
            f"layout_first_{name}_most": float(first.max()),
        }
    return found


def _mean(values: np.ndarray) -> Estimate:
    return Estimate(float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values))), len(values))


def last_layer(found: Study) -> Estimate:
    """Similarity of the last layer with Newton at its best-matching step."""
    ((similarity,),) = found.similarities(found.newton)
    draws = similarity.draws[:, -1].max(-1)
    return Estimate(float(similarity.map[-1].max()), float(draws.std(ddof=1)), len(draws))
