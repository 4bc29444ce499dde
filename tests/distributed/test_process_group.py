"""Several processes that share a loop go the way of one."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from helpers.distributed_cases import CASES, MICRO_BATCH_CASES, Case, largest_difference, run_case
from helpers.ranks import run_ranks

SAME = 1e-8
FOLDER = Path(__file__).parent
pytestmark = pytest.mark.usefixtures("one_thread")


def taken_by_two(folder: Path, *names: str, sync: bool = True) -> dict[str, dict[str, Any]]:
    """Where two processes come to; both must come to the same bits after every step."""
    out = folder / "two.pt"
    one, other = run_ranks(2, FOLDER / "steps.py", out, "sync" if sync else "apart", *names)
    assert one == other
    found: dict[str, dict[str, Any]] = torch.load(out)
    return found


def requested(request: pytest.FixtureRequest) -> list[str]:
    """Cases of the collected tests that use a fixture, so that a tier computes no case of another."""
    items = [item for item in request.session.items if isinstance(item, pytest.Function)]
    using = [item for item in items if request.fixturename in item.fixturenames]
    return list(dict.fromkeys(item.callspec.params["name"] for item in using))


@pytest.fixture(scope="module")
def two(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> dict[str, dict[str, Any]]:
    return taken_by_two(tmp_path_factory.mktemp("two"), *requested(request))


@pytest.mark.parametrize("name", CASES)
@pytest.mark.product(keep=3)
def test_two_processes_go_the_way_of_one(name: str, two: dict[str, dict[str, Any]]) -> None:
    alone = run_case(CASES[name])
    assert largest_difference(alone, two[name]) < SAME
    assert alone["genotype"] == two[name]["genotype"]
    assert alone["meter"] == pytest.approx(two[name]["meter"], abs=1e-6)


@pytest.mark.parametrize("name", ["xnas, wipeout"])
def test_candidates_are_dropped_on_the_way(name: str, two: dict[str, dict[str, Any]]) -> None:
    first, last = (two[name]["trail"][place] for place in (0, -1))
    assert len(last) < len(first)


@pytest.mark.parametrize("name", ["xnas, wipeout", "gdas", "asm", "training"])
@pytest.mark.product(keep=2)
def test_one_process_goes_on_where_two_were(name: str, two: dict[str, dict[str, Any]]) -> None:
    resumed = run_case(CASES[name], start=two[name]["half"])
    later = {"trail": two[name]["trail"][-len(resumed["trail"]) :]}
    assert 0 < len(resumed["trail"]) < len(two[name]["trail"])
    assert largest_difference(later, resumed) < SAME


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.product(keep=1)
def test_as_many_processes_go_on_to_the_same_bits(count: int) -> None:
    same = "{'darts': [True, True], 'gdas': [True, True], 'xnas, wipeout': [True, True], "
    same += "'asm': [True, True], 'training': [True, True]}"
    assert run_ranks(count, FOLDER / "resumed.py") == [same] * count


APART = (
    "darts-2nd",
    "gdas",
    "gaea-darts-erm, joint",
    "xnas, wipeout",
    "asm",
    "training, mixup",
    *MICRO_BATCH_CASES,
)
"""With whatever could tell pieces from processes: chance, statistics, second derivatives."""


@pytest.fixture(scope="module")
def two_apart(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> dict[str, dict[str, Any]]:
    return taken_by_two(tmp_path_factory.mktemp("apart"), *requested(request), sync=False)


@pytest.mark.parametrize("name", APART)
@pytest.mark.product(keep=2)
def test_batch_norms_that_are_not_synchronized_see_as_many_pieces(
    name: str, two_apart: dict[str, dict[str, Any]]
) -> None:
    case, found = (CASES | MICRO_BATCH_CASES)[name], two_apart[name]
    assert largest_difference(run_case(in_pieces(case, 2 * case.more.get("pieces", 1))), found) < SAME
    assert (
        largest_difference(run_case(replace(in_pieces(case, 1), steps=2)), {"trail": found["trail"][:2]})
        > SAME
    )


def in_pieces(case: Case, pieces: int) -> Case:
    return replace(case, more=case.more | {"pieces": pieces})


@pytest.mark.parametrize("name", ["asm", "xnas, wipeout", "gdas", "training, mixup", *MICRO_BATCH_CASES])
@pytest.mark.product(keep=1)
def test_one_process_goes_on_with_the_parts_that_two_had(
    name: str, two_apart: dict[str, dict[str, Any]]
) -> None:
    resumed = run_case((CASES | MICRO_BATCH_CASES)[name], sync=False, start=two_apart[name]["half"])
    later = {"trail": two_apart[name]["trail"][-len(resumed["trail"]) :]}
    assert 0 < len(resumed["trail"]) < len(two_apart[name]["trail"])
    assert largest_difference(later, resumed) < SAME


def test_processes_meet() -> None:
    said = [json.loads(words) for words in run_ranks(2, FOLDER / "meeting.py")]
    assert [own.pop("rank") for own in said] == [[0, 2], [1, 2]]
    norms = [own.pop("norms") for own in said]
    assert said[0] == said[1]
    assert said[0] == {
        "sums": [[2.0, 1.0], 3, []],
        "any": [True, False, True],
        "broadcast": "from rank 0",
        "nothing": "",
        "failed": [
            "DataError: only rank 0 could know",
            "UnknownNameError: no method called 'dart'; did you mean 'darts'?",
            "DistributedError: ZeroDivisionError on rank 0: by nothing",
        ],
        "same": "nothing",
        "differs": "DistributedError: the state is not the same on rank 0 and rank 1; machines or versions "
        "of torch that differ can do that",
    }
    for affine in (True, False):
        check_norms([own[f"whole {affine}"] for own in norms], [own[f"part {affine}"] for own in norms])
        assert norms[0][f"eval {affine}"] == norms[1][f"eval {affine}"]


def check_norms(whole: list[dict[str, Any]], parts: list[dict[str, Any]]) -> None:
    for key in ("y", "slope", "curve"):
        joined = torch.cat([torch.tensor(own[key]) for own in parts])
        torch.testing.assert_close(joined, torch.tensor(whole[0][key]), atol=1e-9, rtol=1e-9)
    assert parts[0]["statistics"] == parts[1]["statistics"]
    for mine, theirs in zip(parts[0]["statistics"], whole[0]["statistics"], strict=True):
        assert mine == pytest.approx(theirs)
