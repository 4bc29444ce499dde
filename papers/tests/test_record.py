import json
import math
import shlex
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from dartboard.errors import RunError, UnknownNameError
from dartboard.utils.checksums import unseal
from dartboard_papers import PAPERS, Reproduction, ReproductionRecord, Row, RunOptions, Verdict, read_record
from dartboard_papers.record import NUMBERS, PAGE, RECORD, plain, write_record
from dartboard_papers.runner import choose_scale
from reproducing import LAPTOP, NAME, PAPER, Small, registered, result


@pytest.fixture(autouse=True)
def reproduction() -> Iterator[Reproduction[Small]]:
    with registered() as found:
        yield found


def kept(
    reproduction: Reproduction[Small], folder: Path, scale: Small = LAPTOP, **other: object
) -> ReproductionRecord:
    options = RunOptions(folder / "work", "/data/images.npz", Path("/tables/nb201.csv.gz"))
    return write_record(reproduction, scale, options, result(scale, **other), 61.26, folder)


def test_everything_is_written(reproduction: Reproduction[Small], tmp_path: Path) -> None:
    kept(reproduction, tmp_path / "out")
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {RECORD, NUMBERS, PAGE, "curve.png", "curve.svg"}


def test_a_record_is_read_as_it_was_written(reproduction: Reproduction[Small], tmp_path: Path) -> None:
    record = kept(reproduction, tmp_path, Small(epochs=7))
    assert read_record(tmp_path) == record
    assert (record.name, record.verdict, record.seconds, record.seeds) == (NAME, Verdict.HELD, 61.3, 3)
    assert record.given == {"data": "images.npz", "table": "nb201.csv.gz"}
    assert record.scale == {"epochs": 7, "words": "plain"}
    assert record.rows == (Row("epochs", 600, 7), Row("a | b", None, "94.1 +- 0.2"))
    assert record.made["torch"] == torch.__version__
    assert record.pictures == ("curve",)


def test_numbers_that_are_not_finite(reproduction: Reproduction[Small], tmp_path: Path) -> None:
    rows = [Row("loss", math.inf, np.float32(math.nan)), Row("rate", np.float64(0.5), np.int64(2))]  # type: ignore[arg-type]
    record = kept(reproduction, tmp_path, rows=rows)
    assert record.rows == (Row("loss", "inf", "nan"), Row("rate", 0.5, 2.0))
    assert read_record(tmp_path) == record
    assert json.loads((tmp_path / NUMBERS).read_text()) == {"curve": [0.0, 1.0], "gap": None}
    assert "NaN" not in (tmp_path / RECORD).read_text()


def test_plain_values() -> None:
    values = {1: (torch.tensor([1.0, math.inf]), np.bool_(1)), "words": "kept", "none": None}
    assert plain(values) == {"1": [[1.0, None], True], "words": "kept", "none": None}
    json.dumps(plain(values), allow_nan=False)


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"verdict": "maybe"}, "verdict: "),
        ({"seconds": "long"}, "seconds: "),
        ({"seconds": -1}, "seconds: "),
        ({"more": 1}, "more: "),
        ({"rows": [{"what": "loss", "paper": 1}]}, "rows.0.here: "),
        ({"rows": [{"what": "loss", "paper": 1, "here": [1]}]}, "rows.0.here."),
        ({"scale": []}, "scale: "),
    ],
)
def test_a_damaged_record_is_refused(
    reproduction: Reproduction[Small], change: dict[str, object], place: str, tmp_path: Path
) -> None:
    kept(reproduction, tmp_path)
    path = tmp_path / RECORD
    path.write_text(json.dumps(json.loads(unseal(path.read_bytes(), path)) | change))
    with pytest.raises(RunError) as caught:
        read_record(tmp_path)
    assert str(caught.value).startswith(f"{path} is damaged: {place}")


@pytest.mark.parametrize("content", [b"", b"[]", b'{"name": "x"}', b"\xff\xfe", b"[" * 5000])
def test_what_is_no_record_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / RECORD).write_bytes(content)
    with pytest.raises(RunError, match=r"is damaged: .*; remove it, and do it anew"):
        read_record(tmp_path)


def test_a_folder_without_a_record(tmp_path: Path) -> None:
    with pytest.raises(RunError, match=r"no reproduction in .*: No such file or directory"):
        read_record(tmp_path)


def test_the_page(reproduction: Reproduction[Small], tmp_path: Path) -> None:
    record = kept(reproduction, tmp_path, Small(epochs=7))
    assert (tmp_path / PAGE).read_text() == record.markdown()
    assert record.markdown("figures/a-").splitlines() == [
        f"**{PAPERS['xnas']}, figure 99**: A line that goes up.",
        "",
        "The paper: more epochs are more.",
        "",
        "Here: **held**. It said plain.",
        "",
        "- More is more. Rule: there are more; passes by chance 5 % of the time. **Held**: more were more.",
        "",
        "| | paper | here |",
        "|---|---:|---:|",
        "| epochs | 600 | 7 |",
        "| a \\| b | - | 94.1 +- 0.2 |",
        "",
        "Size: nothing at all; 3 seeds; 1 min.",
        "",
        "Unlike the paper: nothing is computed.",
        "",
        "```sh",
        f"dartboard reproduce {NAME} --data images.npz --table nb201.csv.gz epochs=7",
        "```",
        "",
        "Mind the gap.",
        "",
        "![a line that goes up](figures/a-curve.png)",
    ]


@pytest.mark.parametrize(
    ("scale", "words"),
    [
        (LAPTOP, []),
        (PAPER, ["--full"]),
        (Small(epochs=600), ["epochs=600"]),
        (Small(epochs=5, words="as in the paper"), ["words=as in the paper"]),
        (Small(words="3"), ['words="3"']),
        (Small(words="results/nb201"), ["words=results/nb201"]),
    ],
)
def test_the_command_repeats_it(
    reproduction: Reproduction[Small], scale: Small, words: list[str], tmp_path: Path
) -> None:
    typed = shlex.split(kept(reproduction, tmp_path, scale).command())
    start = ["dartboard", "reproduce", NAME, "--data", "images.npz", "--table", "nb201.csv.gz"]
    assert typed[: len(start)] == start
    assert set(words) <= set(typed)
    settings = [own for own in typed[len(start) :] if own != "--full"]
    assert choose_scale(reproduction, settings, full="--full" in typed) == scale


def test_a_number_that_is_no_longer_there_is_shown(reproduction: Reproduction[Small], tmp_path: Path) -> None:
    record = kept(reproduction, tmp_path)
    old = replace(record, scale={**record.scale, "width": None}, given={})
    assert old.command() == f"dartboard reproduce {NAME} width=null"


def test_a_record_of_what_is_no_longer_there(reproduction: Reproduction[Small], tmp_path: Path) -> None:
    record = replace(kept(reproduction, tmp_path), name="xnas-figure-98")
    with pytest.raises(UnknownNameError, match="no reproduction called 'xnas-figure-98'"):
        record.markdown()
