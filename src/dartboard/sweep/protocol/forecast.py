"""Time and memory that a protocol will take."""

from dartboard.search.searcher import Forecast, Searcher
from dartboard.search.searcher import forecast as forecast_search
from dartboard.sweep.protocol.config import ProtocolConfig
from dartboard.sweep.protocol.preset import FINAL, FOUND, SEARCH
from dartboard.sweep.protocol.protocol import Protocol
from dartboard.train.trainer import Trainer
from dartboard.train.trainer import forecast as forecast_training


def forecast(protocol: Protocol) -> Forecast:
    """Time and memory of a protocol, from a few steps of a search and of a training.

    Every search is taken to find another network.
    """
    searcher, trainer = protocol.build(SEARCH), protocol.build(FINAL[FOUND])
    assert isinstance(searcher, Searcher)  # noqa: S101
    assert isinstance(trainer, Trainer)  # noqa: S101
    search, train = forecast_search(searcher), forecast_training(trainer)
    seconds = total_seconds(protocol.config, search.seconds, train.seconds)
    return Forecast(seconds, train.step_seconds, max(search.memory_bytes, train.memory_bytes))


def total_seconds(config: ProtocolConfig, search: float, train: float) -> float:
    """Upper bound of the duration of all stages, from the seconds of one search and of one training."""
    short = min(config.short / config.train.epochs, 1.0)
    survivors = min(config.keep, config.searches)
    arm = (config.searches * short + survivors * (1 - short) + config.seeds) * train
    searching = config.searches * search
    random = {"none": 0.0, "count": arm, "time": arm + searching}
    return searching + arm + random[config.random]
