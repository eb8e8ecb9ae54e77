"""Named random streams: reproducible, apart from each other, and given out once."""

import numpy as np
import pytest

from icl.randomness import Streams, entropy
from icl.validation import InputError


def draws(stream, *key):
    return stream(*key).standard_normal(4).tolist()


def test_a_name_gives_the_same_numbers_in_every_run():
    assert draws(Streams("a", 0), "x", 1) == draws(Streams("a", 0), "x", 1)
    # the numbers themselves, so that no later hashing can quietly move every Monte Carlo figure of the book
    assert Streams("01_one_step_gd", 0)("lemmas").integers(1 << 32) == 1519298190


def test_owner_seed_name_and_numbers_each_make_another_stream():
    keys = [("a", 0, "x"), ("b", 0, "x"), ("a", 1, "x"), ("a", 0, "y"), ("a", 0, "x", 0), ("a", 0, "x", 0, 0)]
    keys += [("a", 0, "x", 1), ("a", 0, "x, 1"), ("a", 0, "x1"), ("a", 0, "x", 11), ("a", 0, "x", 1, 1)]
    assert len({tuple(draws(Streams(owner, seed), *key)) for owner, seed, *key in keys}) == len(keys)
    assert len({entropy(*key) for key in keys}) == len(keys)


def test_numbered_streams_did_collide():
    """Why they have names: NumPy pads short seeds with zeros."""
    first, second = (np.random.default_rng(seed).random() for seed in ([0, 20], [0, 20, 0]))
    assert first == second


def test_a_stream_is_given_out_once():
    stream = Streams("a", 0)
    stream("x"), stream("x", 0)
    with pytest.raises(InputError, match="the random stream 'x', 0 is asked for twice; give each"):
        stream.entropy("x", 0)
    assert stream.names == [("x",), ("x", 0)]


@pytest.mark.parametrize("key", [("",), (3,), ("x", -1)])
def test_what_is_no_name(key):
    with pytest.raises(InputError, match="a random stream needs a name|at least 0"):
        Streams("a", 0)(*key)
