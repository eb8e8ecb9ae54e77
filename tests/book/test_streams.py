"""Every random stream of the book, the shipped trainings' too: no two are alike."""

import numpy as np
import pytest

from icl.chapters import CHAPTERS, read_ledger
from icl.chapters.mlp_benefit import table1
from icl.chapters.trained_transformers import recipes, weights
from icl.randomness import entropy
from press.layout import run_folder

pytestmark = pytest.mark.book


def test_no_two_streams_of_the_book_are_alike():
    generators = {}
    for chapter in CHAPTERS:
        ledger = read_ledger(run_folder("quick"), chapter)
        for key in ledger["streams"]:
            seed = entropy(chapter, ledger["parameters"]["seed"], *key)
            generators[chapter, *key] = np.random.default_rng(seed)
    for seed in sorted({seed for _, seed in recipes.SHIPPED}):
        generators |= {("a shipped training", seed, k): rng for k, rng in enumerate(weights.generators(seed))}
    for id in table1.ENTRIES:
        for seed in (None, *table1.runs().get(id, {})):
            generators |= {
                (id, seed, k): np.random.default_rng(numbers) for k, numbers in enumerate(table1.seeds(id, seed))
            }
    assert len(generators) > 100 and len({name[0] for name in generators}) == len(CHAPTERS) + 1 + len(table1.ENTRIES)
    assert len({rng.random() for rng in generators.values()}) == len(generators)
