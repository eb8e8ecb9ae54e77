"""The LSTM's hidden states, layer by layer."""

import torch

from icl.models.lstm import LSTM, LSTMConfig


def test_the_states_are_those_of_the_stacked_cells(rng):
    model = LSTM(LSTMConfig(2, layers=3, width=5), rng=rng)
    X, y = (torch.from_numpy(rng.standard_normal(shape)).float() for shape in ((4, 6, 2), (4, 6)))
    states = model.states(X, y)
    assert [state.shape for state in states] == [(4, 6, 5)] * 3
    torch.testing.assert_close(model.read_out(states[-1])[..., 0], model(X, y))
    first = torch.nn.LSTM(3, 5, batch_first=True)
    first.load_state_dict({name: value for name, value in model.cells.state_dict().items() if name.endswith("l0")})
    before = torch.cat([torch.zeros(4, 1), y[:, :-1]], 1)
    torch.testing.assert_close(states[0], first(torch.cat([X, before[..., None]], -1))[0])
