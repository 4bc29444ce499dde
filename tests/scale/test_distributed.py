"""Several processes that share a loop go the way of one."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from scale_cases import CASES, Case, apart, follow
from together import together

SAME = 1e-8
FOLDER = Path(__file__).parent
pytestmark = pytest.mark.usefixtures("one_thread")


def taken_by_two(folder: Path, *names: str, sync: bool = True) -> dict[str, dict[str, Any]]:
    """Where two processes come to; both must come to the same bits after every step."""
    out = folder / "two.pt"
    one, other = together(2, FOLDER / "steps.py", out, "sync" if sync else "apart", *names)
    assert one == other
    found: dict[str, dict[str, Any]] = torch.load(out)
    return found


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    return taken_by_two(tmp_path_factory.mktemp("two"))


@pytest.mark.parametrize("name", CASES)
def test_two_processes_go_the_way_of_one(name: str, two: dict[str, dict[str, Any]]) -> None:
    alone = follow(CASES[name])
    assert apart(alone, two[name]) < SAME
    assert alone["genotype"] == two[name]["genotype"]
    assert alone["meter"] == pytest.approx(two[name]["meter"], abs=1e-6)


def test_candidates_are_dropped_on_the_way(two: dict[str, dict[str, Any]]) -> None:
    first, last = (two["xnas, wipeout"]["trail"][place] for place in (0, -1))
    assert len(last) < len(first)


@pytest.mark.parametrize("name", ["gdas", "xnas, wipeout", "asm", "training"])
def test_one_process_goes_on_where_two_were(name: str, two: dict[str, dict[str, Any]]) -> None:
    resumed = follow(CASES[name], start=two[name]["half"])
    later = {"trail": two[name]["trail"][-len(resumed["trail"]) :]}
    assert 0 < len(resumed["trail"]) < len(two[name]["trail"])
    assert apart(later, resumed) < SAME


@pytest.mark.parametrize("count", [2, 3])
def test_as_many_processes_go_on_to_the_same_bits(count: int) -> None:
    same = "{'darts': [True, True], 'gdas': [True, True], 'xnas, wipeout': [True, True], "
    same += "'asm': [True, True], 'training': [True, True]}"
    assert together(count, FOLDER / "resumed.py") == [same] * count


def only_parameters(trail: dict[str, Any]) -> dict[str, Any]:
    kept = [{key: value for key, value in own.items() if "running_" not in key} for own in trail["trail"]]
    kept = [{key: value for key, value in own.items() if "num_batches" not in key} for own in kept]
    return {"trail": kept}


@pytest.mark.parametrize("pieces", [1, 2])
def test_batch_norms_that_are_not_synchronised_see_as_many_pieces(pieces: int, tmp_path: Path) -> None:
    name, more = f"darts in {pieces}", {"net": {"channels": 4}}
    found = only_parameters(taken_by_two(tmp_path, name, sync=False)[name])
    alone = follow(Case("darts", more=more | {"pieces": 2 * pieces}, steps=8))
    assert apart(only_parameters(alone), found) < SAME
    other = follow(Case("darts", more=more | {"pieces": pieces}, steps=8))
    assert apart(only_parameters(other), found) > SAME


def test_processes_meet() -> None:
    said = [json.loads(words) for words in together(2, FOLDER / "meeting.py")]
    assert [own.pop("rank") for own in said] == [[0, 2], [1, 2]]
    norms = [own.pop("norms") for own in said]
    assert said[0] == said[1]
    assert said[0] == {
        "sums": [[2.0, 1.0], 3, []],
        "any": [True, False, True],
        "first": "from rank 0",
        "failed": "DataError: only rank 0 could know",
        "same": "nothing",
        "differs": "RankError: the state is not the same on rank 0 and rank 1; machines or versions of torch "
        "that differ can do that",
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
