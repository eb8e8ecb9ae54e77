"""Chapter 7's findings about trained transformers: probes of several runs beside Newton and gradient descent."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from icl import probes
from icl.chapters.trained_transformers import probing, recipes, weights
from icl.chapters.trained_transformers.probing import (
    Algorithm,
    Matching,
    Positions,
    Probed,
    Queries,
    Sequences,
    Similarity,
)
from icl.chapters.trained_transformers.sequence_laws import noise_variance
from icl.constructions.newton_transformer import design_d
from icl.estimates import Estimate
from icl.models.encoder import EncoderConfig
from icl.parameters import Parameters
from icl.prompts import PromptLaw
from icl.randomness import Streams
from icl.solvers.prefixes import newton, ridge
from icl.solvers.queries import decompose

FIRST = 2  # the first layer that the claims about growth look at: the one before only reads in


@dataclass(frozen=True)
class Study:
    """Runs of one recipe, probed on the same test prompts, and the two algorithms on these."""

    recipe: recipes.Recipe
    test: Queries | Positions
    runs: list[Probed]
    bootstrap: int  # whence every bootstrap sample is drawn, so that algorithms and runs share them
    models: tuple = ()
    records: tuple = ()  # of the trainings, as their checkpoints hold them

    @cached_property
    def newton(self) -> Algorithm:
        """Newton's iterates."""
        return probing.newton(self.test)

    @cached_property
    def gd(self) -> Algorithm:
        """Gradient descent's iterates."""
        return probing.gradient_descent(self.test)

    @property
    def layers(self) -> np.ndarray:
        """0 (read-in), 1, …, L: (L + 1,)."""
        return np.arange(len(self.runs[0].raw))

    @property
    def constant_steps(self) -> int:
        """How many steps the first run was trained at constant rates, until they no longer helped."""
        return self.records[0]["steps"]["constant"]

    @property
    def noise(self) -> float:
        """The variance of the labels' noise."""
        return noise_variance(self.recipe.law)

    def matching(self, algorithm: str | Algorithm, variant: str = "published") -> Matching:
        """Error-matched step counts of "newton", "gd" or another; ReadOuts "raw", "normed" or as "published"."""
        runs = [getattr(run, variant) for run in self.runs]
        rng = np.random.default_rng(self.bootstrap)
        rival = getattr(self, algorithm) if isinstance(algorithm, str) else algorithm
        return probing.match(runs, rival, rng, logarithmic=algorithm == "gd", noise=self.noise)

    def errors(self, variant: str = "published") -> np.ndarray:
        """Mean squared error of each run's layers, (S, L + 1)."""
        return np.array([probing.errors(getattr(run, variant)).mean(-1) for run in self.runs])

    def similarities(
        self, *algorithms: Algorithm, positions: slice = slice(None), measure=probing.similarity, of=None
    ) -> list[list[Similarity]]:
        """For each algorithm, SimE of each run's layers with it; of a sequence's positions the first too, as published.

        `positions` restricts a sequence's residual vectors to some of its positions 0, 1, …, T − 1; `measure` is
        another one than SimE, and `of` makes other vectors of the residuals (…, P, R).
        """
        cut = lambda part: self.test.whole(part)[..., positions] if isinstance(self.test, Positions) else part
        seen = (lambda part: of(cut(part))) if of else cut
        rivals = [Algorithm(algorithm.steps, seen(algorithm.residuals)) for algorithm in algorithms]
        return [
            [measure(seen(run.published), rival, np.random.default_rng(self.bootstrap)) for run in self.runs]
            for rival in rivals
        ]

    def similarities_by_examples(self) -> dict[str, list[list[Similarity]]]:
        """Similarities with Newton and gradient descent from all positions, from up to d examples, from more than d."""
        split = self.recipe.model.d + 1
        parts = {"all positions": slice(None), "up to d examples": slice(0, split), "more than d": slice(split, None)}
        return {label: self.similarities(self.newton, self.gd, positions=part) for label, part in parts.items()}


def study(name: str, parameters: Parameters, stream: Streams, *, runs: int = 1, positions: bool = False) -> Study:
    """Probe `runs` runs of a recipe, on queries or on the positions of a sequence, on fresh prompts; a decoder on
    positions always."""
    recipe = recipes.check_recipe(name)
    what = f"{name}, positions" if positions else name
    rng = stream(f"prompts for {what}")
    asked = Positions if positions else Queries
    draw = (asked if isinstance(recipe.model, EncoderConfig) else Sequences).draw
    train, test = draw(recipe, probing.TRAIN, rng), draw(recipe, probing.TEST, rng)
    loaded = [weights.model_of(name, run, parameters.profile, parameters.seed) for run in range(runs)]
    models, records = zip(*loaded, strict=True)
    probed = [probing.probe(model, train, test) for model in models]
    return Study(recipe, test, probed, stream.entropy(f"bootstrap for {what}"), models, records)


def foretold(recipe: recipes.Recipe, asked: Queries | Positions) -> np.ndarray:
    """E[y | x, the examples] (P, R) for w ~ N(0, I): least squares' answers, of least norm, or where labels are noisy
    ridge regression's; Fu et al. (2024), §3."""
    return ridge(asked.prefixes, [noise_variance(recipe.law)])[..., 0]


def fresh(recipe: recipes.Recipe, stream: Streams, *, positions: bool = False) -> Queries | Positions:
    """Other prompts of a recipe, to fit probes on."""
    draw = Positions.draw if positions else Queries.draw
    return draw(recipe, probing.TRAIN, stream(f"more prompts for {recipe.name}"))


def linearity(steps: np.ndarray) -> np.ndarray:
    """R² of step counts (…, L + 1) on the layer, from layer FIRST on: (…)."""
    return probes.linear_fit(np.arange(FIRST, steps.shape[-1]), steps[..., FIRST:])[1]


def growth(steps: np.ndarray) -> np.ndarray:
    """Steps gained by a layer: the slope (…) of the same line, from step counts (…, L + 1)."""
    return probes.linear_fit(np.arange(FIRST, steps.shape[-1]), steps[..., FIRST:])[0]


def exponentiality(steps: np.ndarray) -> np.ndarray:
    """R² (…) of the logarithm of step counts (…, L + 1) on the layer: see `linearity`."""
    return linearity(np.log2(steps))


def preference(steps: np.ndarray) -> np.ndarray:
    """R² of the exponential less R² of the line, (…), from step counts (…, L + 1)."""
    return exponentiality(steps) - linearity(steps)


def advantage(first: list[Similarity], second: list[Similarity], start: int = 3) -> Estimate:
    """How much more similar, at its best-matching steps, the first algorithm is than the second: mean over layers
    `start`, …, L and over runs.

    Both must come from one study, so that they share their bootstrap samples.
    """
    gap = lambda a, b: (a.max(-1) - b.max(-1))[..., start:].mean(-1)
    pairs = list(zip(first, second, strict=True))
    return over_runs([gap(a.map, b.map) for a, b in pairs], [gap(a.draws, b.draws) for a, b in pairs])


def least_level(runs: list[Similarity], start: int = 3) -> Estimate:
    """The similarity at the best-matching step, least over layers `start`, …, L, mean over runs."""
    least = lambda table: table.max(-1)[..., start:].min(-1)
    return over_runs([least(run.map) for run in runs], [least(run.draws) for run in runs])


def over_runs(values, draws) -> Estimate:
    """Mean of `values` (S,) over runs; its standard error from the bootstrap samples, `draws` (S, DRAWS), that the runs
    share, and from the runs' spread."""
    values, draws = np.array(values), np.array(draws)
    runs = values.var(ddof=1) / len(values) if len(values) > 1 else 0.0
    return Estimate(float(values.mean()), float(np.sqrt(draws.mean(0).var(ddof=1) + runs)), draws.shape[1])


def replay_differences(parameters: Parameters) -> tuple[float, float]:
    """Run the first losses of the base model's training again, and those of another seed: largest relative differences
    from its record."""
    _, record = weights.model_of("base", 0, parameters.profile, parameters.seed)
    recipe = recipes.check_recipe("base")
    if parameters.profile == "standard":
        recipe = weights.standard(recipe)
    recorded, seed = np.array(record["first_losses"]), record["seed"]
    return tuple(float(np.abs(weights.replay(recipe, k) / recorded - 1).max()) for k in (seed, seed + 1))


_PROBED = 4096  # prompts to fit the probe of design D on, and to test it on


@dataclass(frozen=True)
class ProbeWarning:
    """Mean squared errors after each layer of Design D: of the Newton step it holds, and of a probe; (k + 1,) each."""

    newton: np.ndarray
    probe: np.ndarray
    probe_stderr: np.ndarray

    def probe_in_layer(self, layer: int) -> Estimate:
        """The probe's error behind a layer, counted from 1."""
        return Estimate(float(self.probe[layer - 1]), float(self.probe_stderr[layer - 1]), _PROBED)


def probe_design_d(rng: np.random.Generator, *, d: int = 5, n: int = 20, k: int = 6) -> ProbeWarning:
    """Probe the explicit transformer that is Newton's method: d = 5, n = 20, no noise, alpha = 1/3600, this book.

    Layer 1 holds no prediction yet, and is set beside the answer 0.
    """
    alpha, law, count = 1 / 3600, PromptLaw.isotropic(d, n, 0.0), _PROBED
    design = design_d(d, k, alpha)
    fit, new = law.sample(rng, count), law.sample(rng, count)
    states = [design.states(part.X, part.y, part.x_query)[1:, :, -1] for part in (fit, new)]
    # LayerNorm-free states span many orders of magnitude: probe them in units of their own spread
    scale = states[0].std(1, keepdims=True)
    scale[scale == 0] = 1
    readouts = probes.fit_readouts(states[0] / scale, fit.y_query)
    errors = (readouts(states[1] / scale) - new.y_query) ** 2
    solved = decompose(new.X, new.y, new.x_query[:, None])
    iterates = newton(solved, range(1, k + 1), alpha=alpha)[:, 0].T
    held = np.concatenate([np.zeros((1, count)), iterates])
    return ProbeWarning(((held - new.y_query) ** 2).mean(1), errors.mean(1), errors.std(1, ddof=1) / np.sqrt(count))


def parameter_count(name: str) -> int:
    """Weights of a recipe's model."""
    model = recipes.check_recipe(name).build(np.random.default_rng(0))
    return sum(parameter.numel() for parameter in model.parameters())


def layer_norm_numbers(found: Study) -> dict[str, float]:
    """How much worse probes behind the final LayerNorm are at worst in a middle layer, and how much better in the last
    one: geometric means over runs."""
    ratio = np.exp(np.log(found.errors("normed") / found.errors("raw")).mean(0))
    return {"ln_worst": ratio[1:-1].max(), "ln_last": 1 / ratio[-1]}
