"""One thread, no randomness between runs: a test that fails today fails tomorrow."""

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"
os.environ["ICL_CORES"] = "1"  # starting processes takes longer than most tests
os.environ.pop("TQDM_DISABLE", None)  # whoever dislikes bars may still test them

import numpy as np  # noqa: E402
import pytest  # noqa: E402
from hypothesis import settings  # noqa: E402
from lasting import staying  # noqa: E402

settings.register_profile("companion", deadline=None, derandomize=True, max_examples=40, database=None)
settings.load_profile("companion")


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    with staying():  # what tests import
        return (yield)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20240501)


@pytest.fixture(scope="session", autouse=True)
def one_torch_thread():
    import torch

    torch.set_num_threads(1)
