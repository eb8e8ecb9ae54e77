"""Encoder, LSTM, decoder: who sees what, and what they refuse."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from icl.models.decoder import Decoder, DecoderConfig
from icl.models.encoder import Encoder, EncoderConfig
from icl.models.lstm import LSTM, LSTMConfig
from icl.validation import InputError

SMALL = EncoderConfig(3, layers=2, heads=2, width=8)


def draw(rng, *shape):
    return torch.from_numpy(rng.standard_normal(shape)).float()


def test_encoder_ignores_the_order_of_examples_and_the_other_queries(rng):
    model = Encoder(SMALL, rng=rng)
    X, y, queries = draw(rng, 2, 6, 3), draw(rng, 2, 6), draw(rng, 2, 4, 3)
    answers = model(X, y, queries)
    order = torch.randperm(6)
    torch.testing.assert_close(model(X[:, order], y[:, order], queries), answers, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(model(X, y, queries[:, 1:2]), answers[:, 1:2], rtol=1e-4, atol=1e-5)
    assert not torch.allclose(model(X, -y, queries), answers)


def test_encoder_states_lead_to_its_answer(rng):
    model = Encoder(SMALL, rng=rng)
    prompt = draw(rng, 2, 6, 3), draw(rng, 2, 6), draw(rng, 2, 4, 3)
    states = model.states(*prompt)
    assert len(states) == 3 and states[0].shape == (2, 4, 8)
    torch.testing.assert_close(model.read_out(model.norm(states[-1]))[..., 0], model(*prompt))


def test_one_encoder_layer_by_hand(rng):
    model = Encoder(EncoderConfig(2, layers=1, heads=1, width=4), rng=rng)
    X, y, queries = draw(rng, 1, 5, 2), draw(rng, 1, 5), draw(rng, 1, 1, 2)
    tokens = torch.cat([torch.cat([X, y[..., None]], -1), torch.cat([queries, torch.zeros(1, 1, 1)], -1)], 1)[0]
    block = model.blocks[0]
    h = model.read_in(tokens)
    q, k, v = block.attention.qkv(block.norm_1(h)).split(4, -1)
    scores = (q[-1] @ k[:5].T / 2).softmax(-1)  # the query attends to the five examples, not to itself
    state = h[-1] + block.attention.out(scores @ v[:5])
    state = state + block.mlp(block.norm_2(state))
    torch.testing.assert_close(model.states(X, y, queries)[-1][0, 0], state, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("build", [
    lambda rng: LSTM(LSTMConfig(3, width=8), rng=rng),
    lambda rng: Decoder(DecoderConfig(3, 7, layers=2, heads=2, width=8), rng=rng),
])  # fmt: skip
def test_sequence_models_answer_from_what_came_before(rng, build):
    model = build(rng)
    X, y = draw(rng, 1, 6, 3).requires_grad_(), draw(rng, 1, 6).requires_grad_()
    to_X, to_y = torch.autograd.grad(model(X, y)[0, 3], (X, y))
    assert (to_X[0, :4].abs().sum(-1) > 0).all() and (to_X[0, 4:] == 0).all()
    assert (to_y[0, :3].abs() > 0).all() and (to_y[0, 3:] == 0).all()


def test_decoder_is_shorter_on_shorter_sequences(rng):
    model = Decoder(DecoderConfig(3, 7, layers=2, heads=2, width=8), rng=rng)
    X, y = draw(rng, 2, 7, 3), draw(rng, 2, 7)
    torch.testing.assert_close(model(X[:, :4], y[:, :4]), model(X, y)[:, :4], rtol=1e-4, atol=1e-6)
    assert len(model.states(X, y)) == 3


def test_decoder_reads_and_answers_in_its_unit():
    sizes = DecoderConfig(3, 7, layers=2, heads=2, width=8)
    plain, in_twos = (Decoder(c, rng=np.random.default_rng(1)) for c in (sizes, replace(sizes, label_unit=2.0)))
    rng = np.random.default_rng(2)
    X, y = draw(rng, 2, 7, 3), draw(rng, 2, 7)
    torch.testing.assert_close(in_twos(X, 2 * y), 2 * plain(X, y))


def test_decoder_may_start_by_fan_in(rng):
    model = Decoder(DecoderConfig(3, 7, layers=2, heads=2, width=64, start="fan_in"), rng=rng)
    assert model.blocks[0].attention.qkv.weight.std().item() == pytest.approx(1 / np.sqrt(3 * 64), rel=0.05)


def test_bad_input(rng):
    with pytest.raises(InputError, match="multiple of heads"):
        EncoderConfig(3, heads=3, width=32)
    with pytest.raises(InputError, match="layers"):
        EncoderConfig(3, layers=0)
    with pytest.raises(InputError, match="context is empty"):
        Encoder(SMALL, rng=rng)(torch.zeros(1, 0, 3), torch.zeros(1, 0), torch.zeros(1, 2, 3))
    with pytest.raises(InputError, match="reads 3 covariates"):
        Encoder(SMALL, rng=rng)(torch.zeros(1, 4, 2), torch.zeros(1, 4), torch.zeros(1, 2, 2))
    with pytest.raises(InputError, match="width"):
        LSTMConfig(3, width=0)
    with pytest.raises(InputError, match="reads 3 covariates"):
        LSTM(LSTMConfig(3), rng=rng)(torch.zeros(1, 4, 2), torch.zeros(1, 4))
    with pytest.raises(InputError, match="up to 7 pairs"):
        Decoder(DecoderConfig(3, 7, 1, 1, 4), rng=rng)(torch.zeros(1, 8, 3), torch.zeros(1, 8))
    with pytest.raises(InputError, match="multiple of heads"):
        DecoderConfig(heads=3)
    with pytest.raises(InputError, match="label_unit"):
        DecoderConfig(label_unit=0.0)
    with pytest.raises(InputError, match="start must be"):
        DecoderConfig(start="zero")


def test_weights_are_seeded():
    for build in (
        lambda s: Encoder(SMALL, rng=np.random.default_rng(s)),
        lambda s: LSTM(LSTMConfig(2), rng=np.random.default_rng(s)),
    ):
        first, again, other = (torch.cat([p.ravel() for p in build(s).parameters()]) for s in (1, 1, 2))
        assert torch.equal(first, again) and not torch.equal(first, other)
