"""Models that cannot be compared are refused, each with the sentence that helps."""

import numpy as np
import pytest
import torch

from icl.comparison.compare import compare
from icl.comparison.recognition import as_model
from icl.prompts import PromptLaw
from icl.validation import InputError

LAW = PromptLaw.isotropic(3, 8, 0.25)


def fails(model, words):
    with pytest.raises(InputError, match=words):
        compare(model, LAW, prompts=100)


def test_shapes_numbers_and_errors():
    fails(lambda X, y, q: q.sum(1, keepdims=True), "leave the last axis away")
    fails(lambda X, y, q: q, "one number for each question")
    fails(lambda X, y, q: np.full(len(q), np.nan), "NaN or infinity")
    fails(lambda X, y, q: q[:, 0] * 1j, "real numbers")
    fails(lambda X, y, q: X @ y, "fails on prompts .* ValueError")


def test_randomness_and_memory():
    fails(lambda X, y, q: np.random.default_rng().standard_normal(len(q)), "from call to call")
    calls = []
    fails(lambda X, y, q: calls.append(1) or q[:, 0] + len(calls), "from call to call")


def test_other_prompts_of_the_batch():
    fails(lambda X, y, q: y.sum(1) - y.sum(1).mean(), "when it comes with others")
    fails(lambda X, y, queries: queries[..., 0] - queries[..., 0].mean(1, keepdims=True), "when others are asked")


def test_peeking_and_looking_ahead():
    fails(lambda X, y: y + X[..., 0], "knows the label")
    fails(lambda X, y: y.sum(1, keepdims=True) - y, "looks ahead")


def test_dropout_is_switched_off_in_a_module():
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.drop = torch.nn.Dropout(0.5)
            self.scale = torch.nn.Parameter(torch.ones(()))

        def forward(self, X, y, x_query):
            return self.drop(self.scale * (x_query[:, 0]))

    compare(Model(), LAW, prompts=100)


def test_a_model_may_change_its_arguments():
    def careless(X, y, x_query):
        x_query *= 2
        return x_query[:, 0]

    compare(careless, LAW, prompts=100)


def test_what_is_no_model():
    class Estimator:
        pass

    for thing, words in ((Estimator, "not a class"), (3, "not int"), (lambda X: X, "not 1 arguments")):
        with pytest.raises(InputError, match=words):
            as_model(thing)
