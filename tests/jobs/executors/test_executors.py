"""Executors of this machine, by their name and their options."""

import pytest

from dartboard.errors import OptionError, UnknownNameError
from dartboard.jobs.executors import EXECUTORS, check_executor, make_executor
from dartboard.jobs.executors.local import PoolExecutor, PoolOptions, divide_machine


@pytest.mark.parametrize(
    ("options", "gpus", "cores", "share"),
    [
        ({}, (), 4, (list((None,) * 4), 1)),
        ({"jobs": 2}, (), 4, ([None, None], 2)),
        ({"threads": 2}, (), 4, ([None, None], 2)),
        (
            {"threads": 8},
            (),
            4,
            (
                [
                    None,
                ],
                8,
            ),
        ),
        ({"jobs": 3}, (), 2, (list((None,) * 3), 1)),
        ({}, ("0", "5"), 4, (["0", "5"], 2)),
        ({"jobs": 3}, ("0", "5"), 4, (["0", "5", "0"], 1)),
        ({"device": "cpu"}, ("0", "5"), 4, (list((None,) * 4), 1)),
        (
            {"device": "cuda:1", "jobs": 1},
            ("0", "5"),
            4,
            (
                [
                    None,
                ],
                4,
            ),
        ),
    ],
)
def test_a_machine_is_divided(
    options: dict[str, int], gpus: tuple[str, ...], cores: int, share: tuple[list[str | None], int]
) -> None:
    assert divide_machine(PoolOptions.model_validate(options), gpus, cores) == share


def test_the_capacity_of_a_pool_is_its_jobs() -> None:
    pool = make_executor("pool", {"jobs": 3, "threads": 2, "device": "cpu"})
    assert isinstance(pool, PoolExecutor)
    assert pool.capacity == 3
    assert pool.threads == 2
    pool.close()


def test_an_executor_that_is_not_there() -> None:
    with pytest.raises(UnknownNameError, match="no executor called 'pol'; did you mean 'pool'"):
        make_executor("pol", {})


@pytest.mark.parametrize("name", ["here", "pool"])
def test_an_option_that_is_not_there(name: str) -> None:
    with pytest.raises(UnknownNameError, match="no setting called 'thread'; did you mean 'threads'"):
        make_executor(name, {"thread": 1})
    with pytest.raises(OptionError, match="threads=0"):
        make_executor(name, {"threads": 0})
    with pytest.raises(OptionError, match="the device nowhere cannot be used"):
        make_executor(name, {"device": "nowhere"})


@pytest.mark.parametrize("name", ["here", "pool", "ray", "slurm"])
def test_what_is_asked_of_an_executor_is_checked_without_it(name: str) -> None:
    check_executor(name, {"threads": 1})
    with pytest.raises(UnknownNameError, match="no setting called 'thread'; did you mean 'threads'"):
        check_executor(name, {"thread": 1})
    with pytest.raises(OptionError, match="threads=0"):
        check_executor(name, {"threads": 0})


def test_submitit_checks_its_own() -> None:
    check_executor("slurm", {"slurm_qos": "high"})


def test_an_executor_of_somebody_else_need_not_check(monkeypatch: pytest.MonkeyPatch) -> None:
    refuse = lambda **_: pytest.fail("it is not to be made")  # noqa: E731
    monkeypatch.setitem(EXECUTORS._values, "of-somebody", refuse)
    check_executor("of-somebody", {"anything": 1})
    with pytest.raises(UnknownNameError, match="did you mean 'of-somebody'"):
        check_executor("of-sombody", {})
