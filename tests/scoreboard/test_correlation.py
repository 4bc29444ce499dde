from itertools import combinations
from random import Random

import pytest
import torch

from benches import toy
from dartboard.engine.state import capture, copied
from dartboard.scoreboard.correlation import correlate, draw, living, rank_correlation
from dartboard.search import Searcher
from dartboard.search.evaluate import discrete_accuracy
from dartboard.space import Genotype, get_space
from dartboard.tables import Record, Table
from searching import search

pytestmark = pytest.mark.usefixtures("one_thread")


def shared_accuracy(searcher: Searcher, genotype: Genotype) -> float:
    return discrete_accuracy(searcher.objective, genotype, searcher.valid_batches())


def tau(one: list[int], other: list[int]) -> float:
    """Kendall's tau-b by its definition."""

    def sign(value: int) -> int:
        return (value > 0) - (value < 0)

    pairs = [(sign(one[i] - one[j]), sign(other[i] - other[j])) for i, j in combinations(range(len(one)), 2)]
    agreed = sum(a * b for a, b in pairs)
    return float(agreed / (sum(a != 0 for a, _ in pairs) * sum(b != 0 for _, b in pairs)) ** 0.5)


def rho(one: list[int], other: list[int]) -> float:
    """Spearman's rho by its definition: the correlation of the ranks, equal values at their mean rank."""

    def ranks(values: list[int]) -> torch.Tensor:
        return torch.tensor(
            [sum(v < own for v in values) + sum(v == own for v in values) / 2 for own in values]
        )

    return float(torch.corrcoef(torch.stack([ranks(one), ranks(other)]).double())[0, 1])


@pytest.mark.parametrize("seed", range(5))
def test_rank_correlations_are_what_their_definitions_say(seed: int) -> None:
    rng = Random(seed)
    one, other = ([rng.randint(0, 6) for _ in range(12)] for _ in range(2))
    found = rank_correlation(one, other)
    assert found.kendall == pytest.approx(tau(one, other))
    assert found.spearman == pytest.approx(rho(one, other))
    assert found.samples == 12


def test_what_is_all_the_same_orders_nothing() -> None:
    for pair in (([1.0, 1.0, 1.0], [1.0, 2.0, 3.0]), ([1.0, 2.0, 3.0], [1.0, 1.0, 1.0])):
        found = rank_correlation(*pair)
        assert (found.kendall, found.spearman, found.samples) == (0.0, 0.0, 3)


def test_drawn_architectures_are_different_and_always_the_same() -> None:
    space = get_space("nano")
    drawn = draw(space, 30)
    assert len(set(drawn)) == 30
    assert draw(space, 30) == drawn
    assert draw(space, 10) == drawn[:10]


def test_a_small_space_has_no_more() -> None:
    space = get_space("nano")
    for op in space.ops[2:]:
        space = space.without(op)
    assert len(draw(space, 30)) == 2 ** len(space.cells["cell"].edges)


class Knows:
    """An oracle that says what the shared weights say, or the opposite."""

    name, datasets = "knows", ("first", "second")

    def __init__(self, searcher: Searcher, sign: int = 1) -> None:
        self.space, self._searcher, self._sign = searcher.space, searcher, sign

    def __len__(self) -> int:
        return 1

    def query(self, genotype: Genotype, dataset: str) -> Record:
        assert dataset == "first"
        return Record(None, self._sign * shared_accuracy(self._searcher, genotype), 1, None)

    def ranking(self, dataset: str) -> None:
        raise AssertionError(dataset)


@pytest.fixture(scope="module")
def trained() -> Searcher:
    searcher = search(
        "random-ws", epochs=4, weights={"lr": 0.1}, method_options={"samples": 2, "epoch_samples": 1}
    )
    searcher.fit()
    return searcher


@pytest.mark.parametrize("sign", [1, -1])
def test_whoever_says_the_same_agrees(trained: Searcher, sign: int) -> None:
    oracle: Table = Knows(trained, sign)  # type: ignore[assignment]
    found = correlate(trained, oracle, 12)
    assert found is not None
    assert found.kendall == pytest.approx(sign)
    assert found.spearman == pytest.approx(sign)
    assert found.samples == 12


def test_measuring_changes_nothing(trained: Searcher) -> None:
    before, chance = copied(capture(trained)), torch.get_rng_state()
    correlate(trained, toy(), 3)
    after = copied(capture(trained))
    assert torch.equal(torch.get_rng_state(), chance)
    for name, value in before["net"].items():
        assert torch.equal(after["net"][name], value)


def test_candidates_that_are_gone_are_not_drawn() -> None:
    searcher = search("xnas", epochs=1)
    cell = searcher.space.cells["cell"]
    searcher.relaxation.kill("cell", 0, 1)
    searcher.prune()
    left = living(searcher.space, searcher.relaxation).cells["cell"]
    assert left.edges[0].ops == cell.edges[0].ops[:1] + cell.edges[0].ops[2:]
    assert left.edges[1:] == cell.edges[1:]
    found = correlate(searcher, toy(), 8)
    assert found is not None
    assert found.samples == 8


def test_nothing_is_left_to_compare() -> None:
    searcher = search("xnas", epochs=1)
    for edge, own in enumerate(searcher.space.cells["cell"].edges):
        for place in range(1, len(own.ops)):
            searcher.relaxation.kill("cell", edge, place)
    searcher.prune()
    assert correlate(searcher, toy(), 8) is None
