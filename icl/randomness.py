"""Random streams with names: each experiment of a run draws its own, and no two experiments share one.

NumPy pads short seeds with zeros, so default_rng([0, 20]) and default_rng([0, 20, 0]) are one generator: streams with
numbers for names collide without a word. Here owner, seed and name are hashed (SHA-256) into a SeedSequence's entropy.
"""

import hashlib
import json

import numpy as np

from icl.validation import InputError, check_count


class Streams:
    """The random streams of one run of `owner`, a chapter, at `seed` ≥ 0: stream("lemmas"), stream("training", 3).

    A name, with its numbers, is given out once; asked for again it raises InputError, and so does a name that is empty.
    """

    def __init__(self, owner: str, seed: int):
        self.owner, self.seed = owner, check_count("seed", seed, least=0)
        self.names: list[tuple] = []  # given out so far, in order

    def __call__(self, name: str, *numbers: int) -> np.random.Generator:
        """The generator of the stream with this name and these whole numbers ≥ 0."""
        return np.random.default_rng(self.entropy(name, *numbers))

    def entropy(self, name: str, *numbers: int) -> int:
        """The 256 bits from which that generator starts: for whoever has to draw the same numbers several times.

        Raises InputError as the class says.
        """
        if not (isinstance(name, str) and name.strip()):
            raise InputError(f"a random stream needs a name, not {name!r}.")
        key = (name, *(check_count("a stream's number", int(number), least=0) for number in numbers))
        if key in self.names:
            raise InputError(f"the random stream {_shown(key)} is asked for twice; give each experiment its own name.")
        self.names.append(key)
        return entropy(self.owner, self.seed, *key)


def entropy(owner: str, seed: int, *key) -> int:
    """The SHA-256 of owner, seed and key as JSON, a whole number below 2^256."""
    text = json.dumps([owner, seed, *key], ensure_ascii=False)
    return int.from_bytes(hashlib.sha256(text.encode()).digest(), "big")


def _shown(key: tuple) -> str:
    return ", ".join(map(repr, key))
