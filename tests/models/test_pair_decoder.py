"""A decoder of pairs: causal, a question at every position, the same as one prompt at a time."""

import numpy as np
import pytest
import torch

from icl.models.pair_decoder import PairDecoder, PairDecoderConfig
from icl.validation import InputError

SIZES = PairDecoderConfig(d=2, n=4, layers=3, heads=2, width=8)


def sequences(rng, B=3, T=5):
    return (torch.from_numpy(rng.standard_normal(shape)).float() for shape in ((B, T, 2), (B, T)))


def test_each_position_is_answered_from_the_pairs_before_it(rng):
    model = PairDecoder(SIZES, rng=rng)
    X, y = sequences(rng)
    answers = model(X, y)
    assert answers.shape == (3, 5)
    for t in range(5):
        alone = model.answers(X[:, :t], y[:, :t], X[:, t : t + 1])[:, 0]
        torch.testing.assert_close(answers[:, t], alone, rtol=1e-5, atol=1e-5)
    shorter = model(X[:, :3], y[:, :3])
    torch.testing.assert_close(shorter, answers[:, :3], rtol=1e-5, atol=1e-5)


def test_an_answer_depends_on_no_label_from_there_on_and_on_no_later_pair(rng):
    model = PairDecoder(SIZES, rng=rng)
    X, y = (part.requires_grad_() for part in sequences(rng, B=1))
    by_x, by_y = torch.autograd.grad(model(X, y)[0, 2], (X, y))
    assert (by_x[0, 3:] == 0).all() and (by_y[0, 2:] == 0).all()
    assert (by_x[0, :3] != 0).all() and (by_y[0, :2] != 0).all()


def test_the_last_states_make_the_answers(rng):
    model = PairDecoder(SIZES, rng=rng)
    X, y = sequences(rng)
    states = model.states(X, y)
    assert [state.shape for state in states] == [(3, 5, 8)] * 4
    with torch.no_grad():
        torch.testing.assert_close(model.read_out(model.norm(states[-1]))[..., 0], model(X, y))
        torch.testing.assert_close(
            states[0][:, 1], model.read_in(torch.cat([X[:, 1], 0 * y[:, :1]], -1)) + model.position[1]
        )


def test_sequences_that_are_too_long_are_refused(rng):
    with pytest.raises(InputError, match="up to 4 examples, not 2 and 5"):
        PairDecoder(SIZES, rng=rng)(*sequences(rng, T=6))


def test_the_published_size_has_the_published_parameters():
    """Fu et al. (2024): about 9.5 million."""
    model = PairDecoder(PairDecoderConfig(), rng=np.random.default_rng(0))
    assert sum(parameter.numel() for parameter in model.parameters()) / 1e6 == pytest.approx(9.5, abs=0.05)
