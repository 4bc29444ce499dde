from typing import Any

import pytest
import torch

from dartboard.errors import Stopped
from dartboard.search import Searcher
from dartboard.search.searcher import Forecast, forecast
from helpers.search_cases import search

METHODS = ["darts", "gdas", "gaea-pc-darts", "xnas", "asm", "random-ws"]
OPTIONS: dict[str, dict[str, Any]] = {
    "gaea-pc-darts": {"warmup": 1},
    "random-ws": {"samples": 3, "epoch_samples": 2},
}


@pytest.mark.parametrize("method", METHODS)
def test_a_search_goes_as_if_there_had_been_no_forecast(method: str) -> None:
    plain = search(method, method_options=OPTIONS.get(method)).fit()
    searcher = search(method, method_options=OPTIONS.get(method))
    ahead = forecast(searcher)
    assert (searcher.step, searcher.epoch, searcher.meter.counts) == (0, 0, [0, 0])
    found = searcher.fit()
    assert (found.digest, found.genotype, found.entropy) == (plain.digest, plain.genotype, plain.entropy)
    assert ahead.seconds > searcher.plan.epochs * ahead.step_seconds > 0


def test_chance_outside_is_left_alone() -> None:
    searcher = search("gdas")
    torch.manual_seed(3)
    before = torch.get_rng_state()
    forecast(searcher)
    assert torch.equal(torch.get_rng_state(), before)


class Steps:
    """In the place of a searcher's steps: notes the epoch of each, and fails at one of them."""

    def __init__(self, searcher: Searcher, monkeypatch: pytest.MonkeyPatch, fail_at: int = 1000) -> None:
        self.epochs: list[int] = []
        self._searcher, self._step, self._fail_at = searcher, searcher.train_step, fail_at
        monkeypatch.setattr(searcher, "train_step", self)

    def __call__(self) -> None:
        self.epochs.append(self._searcher.epoch)
        self._step()
        if len(self.epochs) == self._fail_at:
            raise MemoryError


def test_everything_is_put_back_when_a_step_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    searcher = search("darts")
    before = {name: value.clone() for name, value in searcher.net.state_dict().items()}
    Steps(searcher, monkeypatch, fail_at=2)
    with pytest.raises(MemoryError):
        forecast(searcher)
    assert all(torch.equal(before[name], value) for name, value in searcher.net.state_dict().items())
    assert searcher.step == 0


def test_who_is_stopped_in_a_forecast_has_not_begun() -> None:
    searcher = search("darts")
    searcher.stop()
    with pytest.raises(Stopped, match=r"^stopped before the first step$"):
        forecast(searcher)
    assert searcher.step == 0
    searcher.stop()
    with pytest.raises(Stopped, match=r"^stopped before the first step$"):
        searcher.fit()


@pytest.mark.parametrize("steps", [1, 4])
def test_how_many_steps_are_timed(steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    searcher = search("darts")
    taken = Steps(searcher, monkeypatch)
    forecast(searcher, steps=steps)
    assert len(taken.epochs) == steps + 1


def test_epochs_of_rest_are_timed_by_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    searcher = search("gaea-pc-darts", method_options={"warmup": 1})
    taken = Steps(searcher, monkeypatch)
    forecast(searcher, steps=1)
    assert taken.epochs == [1, 1, 0, 0]


def test_nothing_is_timed_where_nothing_is_trained() -> None:
    ahead = forecast(search("random"))
    assert (ahead.seconds, ahead.step_seconds) == (0.0, 0.0)
    assert ahead.memory_bytes > 0


def test_longer_searches_take_longer() -> None:
    short, long = (forecast(search("darts", epochs=epochs)) for epochs in (1, 1000))
    assert isinstance(short, Forecast)
    assert long.seconds > 10 * short.seconds
