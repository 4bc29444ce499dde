from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from dartboard.errors import DartboardError, OptionError, TableError, UnknownNameError
from dartboard.runs import is_locked
from dartboard.scoreboard import bench as bench_module
from dartboard.scoreboard.bench import (
    CONFIG,
    BenchSearch,
    check_space,
    join_config,
    oracle_name,
    plan_jobs,
    portable,
    read_config,
    resolved,
    searches,
    write_config,
)
from dartboard.scoreboard.config import BENCH, BenchConfig, load_bench
from dartboard.search.config import load_config
from helpers.bench_runs import settings, toy_table


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
    check_space(bench(["darts"], space={"name": "nano", "without": ["none"], "cells": 2}), toy_table())
    with pytest.raises(TableError, match="the oracle toy knows no cells of the space nb201: "):
        check_space(bench(["darts"], space="nb201"), toy_table())


def test_records_name_files_without_their_folders(tmp_path: Path) -> None:
    settings_ = plan_jobs(settings(str(tmp_path / "few.npz")))[0].settings()
    found = portable(settings_ | {"plugins": ["/some/where/mine.py"]})
    assert found["data"]["name"] == "few.npz"
    assert found["space"]["name"] == "nano"
    assert found["plugins"] == ["mine.py"]
    assert str(tmp_path) not in str(found)
    assert settings_["data"]["name"] == str(tmp_path / "few.npz")


def two_methods(*words: str, methods: str = "darts,gdas", seeds: str = "0-1") -> BenchConfig:
    return settings("digits", *words, methods=methods, seeds=seeds)


def test_a_new_bench_is_written_down(tmp_path: Path) -> None:
    assert read_config(tmp_path / "out") is None
    whole = write_config(tmp_path / "out", two_methods())
    assert resolved(whole) == resolved(two_methods())
    assert read_config(tmp_path / "out") == whole


def test_the_same_bench_again_changes_nothing(tmp_path: Path) -> None:
    write_config(tmp_path, two_methods())
    before = (tmp_path / CONFIG).read_bytes()
    write_config(tmp_path, two_methods())
    assert (tmp_path / CONFIG).read_bytes() == before


def test_a_bench_grows(tmp_path: Path) -> None:
    write_config(tmp_path, two_methods())
    whole = write_config(tmp_path, two_methods("methods.xnas.epochs=9", methods="xnas,gdas", seeds="5"))
    assert list(whole.methods) == ["darts", "gdas", "xnas"]
    assert whole.seeds == (0, 1, 5)
    assert {job.name: job.config.epochs for job in plan_jobs(whole)}["xnas-s0"] == 9
    assert read_config(tmp_path) == whole


def test_others_may_ask_for_more_at_the_same_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def join_while_others_ask(folder: Path, config: BenchConfig) -> BenchConfig:
        found = join_config(folder, config)
        assert not is_locked(folder)
        if not asked:
            asked.append("once")
            write_config(folder, two_methods(methods="xnas", seeds="5"))
        return found

    monkeypatch.setattr(bench_module, "join_config", join_while_others_ask)
    whole = write_config(tmp_path, two_methods())
    assert list(whole.methods) == ["xnas", "darts", "gdas"]
    assert whole.seeds == (0, 1, 5)
    assert read_config(tmp_path) == whole


@pytest.mark.parametrize(
    ("words", "difference"),
    [
        (["epochs=9"], "search.epochs was 2, is 9"),
        (["space.cells=2"], "search.space.cells was None, is 2"),
        (["draws=9"], "draws was 3, is 9"),
        (["queries=9"], "queries was None, is 9"),
        (["correlation=9"], "correlation was 4, is 9"),
        (["baselines=[]"], "baselines was ['random', 'evolution'], is []"),
        (["oracle=nano"], "oracle was toy, is nano"),
        (["methods.gdas.epochs=9"], "methods.gdas.epochs was 2, is 9"),
        (["methods.gdas.method.lr=1.0"], "methods.gdas.method.lr was auto, is 1.0"),
    ],
)
def test_other_settings_are_refused(tmp_path: Path, words: list[str], difference: str) -> None:
    write_config(tmp_path, two_methods())
    before = (tmp_path / CONFIG).read_bytes()
    with pytest.raises(OptionError) as caught:
        write_config(tmp_path, two_methods(*words))
    assert str(caught.value) == (
        f"{tmp_path} is a bench with other settings: {difference}; name another --out, or keep its own "
        f"by --config {tmp_path / CONFIG}"
    )
    with pytest.raises(OptionError):
        join_config(tmp_path, two_methods(*words))
    assert (tmp_path / CONFIG).read_bytes() == before


@pytest.mark.usefixtures("without_checksums")
def test_a_damaged_bench_is_named(tmp_path: Path) -> None:
    (tmp_path / CONFIG).write_text("draws: 0")
    with pytest.raises(OptionError, match=r"bench\.yaml: draws=0: "):
        read_config(tmp_path)


def test_looking_writes_nothing(tmp_path: Path) -> None:
    assert resolved(join_config(tmp_path, two_methods())) == resolved(two_methods())
    assert list(tmp_path.iterdir()) == []
