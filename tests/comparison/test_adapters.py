"""Adapters: each layout holds the prompt where it should, and a model behind it is compared like any other."""

import numpy as np
import pytest
import torch

from icl.comparison import adapters
from icl.comparison.models import ask
from icl.comparison.trial import check
from icl.models.decoder import Decoder, DecoderConfig
from icl.prompts import PromptLaw
from icl.validation import InputError

LAW = PromptLaw.isotropic(2, 4, 0.25)


class Seen(torch.nn.Module):
    """Keeps the tokens it was given and returns them as states."""

    def forward(self, tokens):
        self.tokens = tokens.numpy()
        return tokens


@pytest.fixture
def prompts(rng):
    return rng.standard_normal((3, 4, 2)), rng.standard_normal((3, 4)), rng.standard_normal((3, 5, 2))


def test_interleaved_tokens(prompts):
    X, y, _ = prompts
    seen = Seen()
    model = adapters.interleaved(seen, lambda tokens: tokens, lambda states: states[..., :1])
    np.testing.assert_allclose(model.predict(X, y), X[..., 0], rtol=1e-6)  # read at the x-tokens
    np.testing.assert_allclose(seen.tokens[:, 1::2], np.stack([y, 0 * y], -1), rtol=1e-6)


def test_pairs_and_columns(prompts):
    X, y, queries = prompts
    seen = Seen()
    model = adapters.pairs(seen, lambda tokens: tokens, lambda states: states[..., :1])
    np.testing.assert_allclose(model.predict(X, y, queries), queries[..., 0], rtol=1e-6)
    np.testing.assert_allclose(seen.tokens[::5, :-1], np.concatenate([X, y[..., None]], -1), rtol=1e-6)
    assert (seen.tokens[:, -1, -1] == 0).all()
    matrix = adapters.columns(lambda E: E[:, -1].sum(-1) + E[:, 0, -1])
    np.testing.assert_allclose(matrix.predict(X, y, queries), y.sum(1)[:, None] + queries[..., 0], rtol=1e-5)


def test_recurrent_tokens_and_tuples(prompts):
    X, y, _ = prompts
    seen = Seen()
    model = adapters.recurrent(lambda tokens: (seen(tokens), None), lambda states: states[..., -1:])
    found = model.predict(X, y)
    np.testing.assert_allclose(found[:, 1:], y[:, :-1], rtol=1e-6)
    assert (found[:, 0] == 0).all()


def test_a_decoder_behind_the_interleaved_adapter_is_that_decoder(rng):
    decoder = Decoder(DecoderConfig(d=2, points=5, layers=2, heads=2, width=8), rng=rng)

    def network(tokens):
        x = tokens + decoder.position[: tokens.shape[1]]
        for block in decoder.blocks:
            x = block(x)
        return decoder.norm(x)

    model = adapters.interleaved(network, decoder.read_in, decoder.read_out)
    questions = ask(model, LAW, rng, 6, 1)
    with torch.no_grad():
        own = decoder(*(torch.from_numpy(part).float() for part in questions.arguments)).numpy()[:, 1:]
    np.testing.assert_allclose(model.answers(questions), own, atol=1e-6)
    check(model, LAW, rng)


def test_a_network_that_sees_everything_is_refused(rng):
    layer = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, dropout=0.0)
    model = adapters.interleaved(layer, torch.nn.Linear(2, 8), torch.nn.Linear(8, 1), "encoder")
    with pytest.raises(InputError, match="encoder (knows the label|looks ahead)"):
        check(model, LAW, rng)


def test_an_lstm_behind_the_recurrent_adapter(rng):
    check(adapters.recurrent(torch.nn.LSTM(3, 6, batch_first=True), torch.nn.Linear(6, 1)), LAW, rng)
