"""The published transformer, at its own size: is it trained, and how similar are its errors to Newton's?"""

from icl.chapters.trained_transformers import probing, recipes, weights
from icl.chapters.trained_transformers.study import Study
from icl.estimates import Estimate, NotRun
from icl.randomness import Streams
from icl.validation import InputError

COMMAND = "python -m icl train published --device cuda --minutes 9"
PROMPTS = 512  # to fit and to test on: 40 positions each


def why_not(profile: str) -> NotRun | None:
    """Why the published size cannot be probed here, or None when it can."""
    if profile != "paper":
        return NotRun("needs the paper profile and a model trained for 500,001 steps on a CUDA GPU")
    try:
        weights.load_model(weights.FOLDER, recipes.RECIPES["published"], 0)
    except InputError as error:
        return NotRun(f"{error} (on a machine with a CUDA GPU: `{COMMAND}`, until it is done)")
    return None


def published_study(recipe: recipes.Recipe, model, stream: Streams) -> Study:
    """Probe a decoder on the positions of fresh sequences, as Fu et al. (2024) do."""
    rng = stream("prompts for the published size")
    train, test = (probing.Sequences.draw(recipe, PROMPTS, rng) for _ in range(2))
    bootstrap = stream.entropy("bootstrap for the published size")
    return Study(recipe, test, [probing.probe(model, train, test)], bootstrap)


def last_layer(found: Study) -> Estimate:
    """Similarity of the last layer with Newton at its best-matching step."""
    ((similarity,),) = found.similarities(found.newton)
    draws = similarity.draws[:, -1].max(-1)
    return Estimate(float(similarity.map[-1].max()), float(draws.std(ddof=1)), len(draws))
