from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from benches import settings, toy
from dartboard.errors import DartboardError, OptionError, TableError, UnknownNameError
from dartboard.scoreboard.config import BENCH, load_bench
from dartboard.scoreboard.jobs import (
    BenchSearch,
    check_space,
    oracle_name,
    plan_jobs,
    portable,
    resolved,
    searches,
)
from dartboard.search.config import load_config


def bench(methods: Any, *words: str, **search: Any) -> Any:
    return load_bench(flags={"methods": methods, "search": search}, words=words)


def test_a_label_is_a_method_unless_another_is_named() -> None:
    found = searches(bench({"gdas": None, "mine": {"method": {"name": "darts", "bilevel": False}}}))
    assert {label: own.method.name for label, own in found.items()} == {"gdas": "gdas", "mine": "darts"}
    assert found["mine"].method.options == {"bilevel": False}


def test_a_method_in_short() -> None:
    assert searches(bench({"mine": {"method": "darts"}}))["mine"].method.name == "darts"


def test_what_a_label_has_of_its_own_wins() -> None:
    own = {"epochs": 9, "space": {"without": ["none"]}, "method": {"lr": 0.5}}
    found = searches(bench({"darts": own, "gdas": {}}, epochs=3, space={"name": "nano", "cells": 2}))
    assert (found["darts"].epochs, found["gdas"].epochs) == (9, 3)
    assert found["darts"].space.model_dump() == {"name": "nano", "cells": 2, "without": ("none",)}
    assert found["darts"].method.options == {"lr": 0.5}
    assert found["gdas"].method.options == {}


@pytest.mark.parametrize(
    ("methods", "search", "kind", "message"),
    [
        ({}, {}, OptionError, "a bench needs methods, such as --methods darts,gdas; there are darts, "),
        ({"gaea-dart": {}}, {}, UnknownNameError, "no method called 'gaea-dart'; did you mean 'gaea-darts'?"),
        (
            {"a": {"method": "dart"}},
            {},
            OptionError,
            "methods.a: no method called 'dart'; did you mean 'darts'?",
        ),
        ({"darts": {"epoch": 1}}, {}, OptionError, "methods.darts: no setting called 'epoch'; did you mean"),
        (
            {"darts": {"method": {"rl": 1}}},
            {},
            OptionError,
            "methods.darts: no option of method darts called",
        ),
        ({"darts": {"method": {"lr": "x"}}}, {}, OptionError, "methods.darts: method.lr='x' of darts: "),
        ({"darts": {"method": 3}}, {}, OptionError, "methods.darts: method=3: expected a name, or a group"),
        (
            {"darts": {"seed": 1}},
            {},
            OptionError,
            "methods.darts: seed=1: every method has the seeds of the bench",
        ),
        (
            {"darts": {"space": "nb201"}},
            {},
            OptionError,
            "methods.darts: space='nb201': all methods search one",
        ),
        (
            {"darts": {"space": {"without": ["x"]}}},
            {},
            OptionError,
            "methods.darts: space 'nano' has no op 'x'",
        ),
        ({"darts": {}}, {"epochs": 0}, OptionError, "epochs=0: input should be greater"),
        (
            {"darts": {}},
            {"seed": 3},
            OptionError,
            "seed cannot be the same for all searches; set seeds in its",
        ),
        ({"darts": {}}, {"method": "gdas"}, OptionError, "method cannot be the same for all searches"),
        ({"random": {}}, {}, OptionError, "methods.random: a baseline has this name; set another label"),
        ({"evolution": {}}, {}, OptionError, "methods.evolution: evolution needs an oracle"),
    ],
)
def test_mistakes_are_named_before_anything_runs(
    methods: Mapping[str, Any], search: dict[str, Any], kind: type[DartboardError], message: str
) -> None:
    with pytest.raises(kind) as caught:
        plan_jobs(bench(methods, **search))
    assert str(caught.value).startswith(message)


def test_a_label_may_have_the_name_of_a_baseline_that_is_not_asked_for() -> None:
    assert [job.name for job in plan_jobs(bench(["random"], "baselines=[evolution]", "seeds=1"))] == [
        "random-s1"
    ]


def test_every_method_has_one_seed_before_any_has_the_next() -> None:
    found = plan_jobs(bench(["gdas", "darts"], "seeds=0-1"))
    assert [job.name for job in found] == ["gdas-s0", "darts-s0", "gdas-s1", "darts-s1"]
    assert [job.config.seed for job in found] == [0, 0, 1, 1]


def test_a_job_is_what_the_same_settings_are_to_a_search() -> None:
    [job] = plan_jobs(bench({"darts": {"method": {"lr": 0.5}}}, "seeds=4", epochs=3))
    words = ["epochs=3", "seed=4", "method=darts", "method.lr=0.5"]
    assert job.settings() == BenchSearch("darts", load_config(words=words)).settings()


def test_resolved_settings_are_the_same_bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    own = {"mine": {"method": "darts", "epochs": 7, "data": {"name": "other.npz"}}, "gdas": None}
    config = bench(own, "draws=9", data={"name": "few.npz"})
    values = resolved(config)
    assert values["oracle"] == "nano"
    assert values["search"]["data"]["name"] == str(tmp_path / "few.npz")
    assert values["methods"]["mine"]["data"]["name"] == str(tmp_path / "other.npz")
    assert values["methods"]["gdas"]["method"]["start"] == 10.0
    again = BENCH.validate(values)
    assert resolved(again) == values
    assert [job.settings() for job in plan_jobs(again)] == [job.settings() for job in plan_jobs(config)]


def test_the_oracle_is_the_spaces_unless_another_is_named() -> None:
    assert oracle_name(bench(["darts"], space="nb201")) == "nb201"
    assert oracle_name(bench(["darts"], "oracle=toy", space="nb201")) == "toy"


def test_an_oracle_of_another_space_is_refused() -> None:
    check_space(bench(["darts"], space={"name": "nano", "without": ["none"], "cells": 2}), toy())
    with pytest.raises(TableError, match="the oracle toy knows no cells of the space nb201: "):
        check_space(bench(["darts"], space="nb201"), toy())


def test_records_name_files_without_their_folders(tmp_path: Path) -> None:
    settings_ = plan_jobs(settings(str(tmp_path / "few.npz")))[0].settings()
    found = portable(settings_ | {"plugins": ["/some/where/mine.py"]})
    assert found["data"]["name"] == "few.npz"
    assert found["space"]["name"] == "nano"
    assert found["plugins"] == ["mine.py"]
    assert str(tmp_path) not in str(found)
    assert settings_["data"]["name"] == str(tmp_path / "few.npz")
