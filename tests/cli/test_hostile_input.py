"""Input that would hang, fill the memory or end in a traceback: one line, at once, exit code 2.

`CORPUS` has what was found so far; a fuzzer damages files of each kind, a few dozen here and a thousand in
the slow tier.
"""

import io
import json
import pickle
import resource
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from random import Random

import numpy as np
import pytest
import torch
from PIL import Image

from dartboard.cli.main import main
from dartboard.space import GENOTYPE_FORMATS, get_published, get_space, space_to_json
from helpers.alarm import alarm

SECONDS, MEGABYTES = 2.0, 500
DIGITS = "1" * 5000
DEEP = '{"a":' * 10_000 + "1" + "}" * 10_000
LAUGHS = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{after}: &{after} [{','.join([f'*{before}'] * 9)}]\n"
    for before, after in zip("abcdefgh", "bcdefghi", strict=True)
)
SELF = "a: &a [*a]\n"
SPACE = """\
name: s
stack: {{cells: {cells}, stages: {stages}}}
cell: {{inputs: 2, nodes: {nodes}, ops: [skip_connect, max_pool_3x3], edges: all, keep: 2, output: [2, 3]}}
"""
TINY = ("search", "--space", "nano", "--data", "digits", "--epochs", "1", "--out", "out", "--quiet")
Capture = pytest.CaptureFixture[str]

pytestmark = pytest.mark.usefixtures("own_folder")


def space(cells: object = 3, nodes: object = 4, stages: object = 3) -> str:
    return SPACE.format(cells=cells, nodes=nodes, stages=stages)


CORPUS: dict[str, tuple[tuple[str, ...], str | bytes, str]] = {
    # name: command, in which FILE is a file with this content, and a part of the message
    "aliases in settings": (("search", "--config", "f.yaml"), LAUGHS, "more than 100,000 values"),
    "aliases in a space": (("info", "--space", "f.yaml"), LAUGHS, "more than 100,000 values"),
    "aliases in a sweep": (("sweep", "f.yaml"), LAUGHS, "more than 100,000 values"),
    "aliases in a bench": (("bench", "--config", "f.yaml", "--show"), LAUGHS, "more than 100,000 values"),
    "settings in themselves": (("search", "--config", "f.yaml"), SELF, "contains itself"),
    "a space in itself": (("info", "--space", "f.yaml"), "&a {name: s, stack: *a}", "contains itself"),
    "a sweep in itself": (("sweep", "f.yaml"), "settings: &a {x: *a}", "contains itself"),
    "long YAML": (("search", "--config", "f.yaml"), "a:\n" + "- x\n" * 800_000, "3,200,003 characters"),
    "deep YAML": (("search", "--config", "f.yaml"), "[" * 10_000, "nested too deep"),
    "nodes": (("info", "--space", "f.yaml"), space(nodes=5_000_000), "at most 200, not 5,000,000"),
    "cells": (("info", "--space", "f.yaml"), space(cells=5_000_000), "at most 10,000, not 5,000,000"),
    "stages": (("info", "--space", "f.yaml"), space(stages=5_000_000), "at most 20, not 5,000,000"),
    "candidates": (
        ("info", "--space", "f.yaml"),
        space().replace("max_pool_3x3", "skip_connect, " * 5000),
        "at most 1,000, not 5,001",
    ),
    "node of an edge": (
        ("info", "f.json"),
        '{"cell": {"inputs": 1, "edges": [["skip_connect", 0, 99999999]], "output": [1]}}',
        "at most 200, not 100,000,000",
    ),
    "cells of a network": (("info", "darts-v2", "--cells", "99999"), "", "at most 10,000"),
    "weights.lr": ((*TINY, "weights.lr=1e300"), "", "less than or equal to 1000"),
    "method.lr": ((*TINY, "method.lr=1e300"), "", "at most 1e+30"),
    "weights.decay": ((*TINY, "weights.weight_decay=1e300"), "", "weights.weight_decay"),
    "digits of a setting": (("search", f"epochs={DIGITS}"), "", "epochs=111"),
    "digits of a flag": (("search", "--epochs", DIGITS), "", "expected a whole number"),
    "digits in YAML": (("search", "--config", "f.yaml"), f"epochs: {DIGITS}", ""),
    "digits in a space": (("info", "--space", "f.yaml"), space(cells=DIGITS), "number out of range"),
    "digits in a genotype": (("info", "f.json"), f'{{"normal": {DIGITS}}}', "number out of range"),
    "deep genotype": (("info", "f.json"), DEEP, "recursion limit"),
    "deep genotype as an argument": (("info", DEEP), "", "recursion limit"),
    "deep space": (("info", "--space", "f.json"), DEEP, "recursion limit"),
    "a damaged .pt": (
        ("evaluate", "f.pt", "--data", "digits"),
        b"PK\3\4garbage" * 50,
        "not a TorchScript program",
    ),
    "an empty .pt": (("evaluate", "f.pt", "--data", "digits"), b"", "not a TorchScript program"),
    "a damaged .pt2": (("evaluate", "f.pt2", "--data", "digits"), b"PK\3\4garbage" * 50, "not a program"),
    "a damaged .safetensors": (("evaluate", "f.safetensors", "--data", "digits"), b"\xff" * 99, "header"),
    "a damaged .npz": (("data", "show", "f.npz"), b"PK\3\4" + bytes(99), "not an .npz file"),
    "a range of seeds": (("sweep", "f.yaml"), "do: search\ngrid: {seed: 0..9999999999}", "too many"),
}


def run_quickly(*words: str) -> int:
    """The exit code of a command, which takes little time and memory."""
    began, memory = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with alarm():
        code = main(words)
    limit = 5 * SECONDS if code == 0 else SECONDS  # a cell of hundreds of edges is a cell, and is built
    assert time.process_time() - began < limit  # others may be computing
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory < MEGABYTES * 1000
    return code


@pytest.fixture(scope="module", autouse=True)
def _imports() -> None:
    """What commands import when they are first used takes its time."""
    import dartboard.cli.evaluate
    import dartboard.export.models
    import dartboard.scoreboard
    import dartboard.search
    import dartboard.sweep.sweep
    import dartboard.train  # noqa: F401


@pytest.mark.parametrize("name", CORPUS)
def test_bad_input_is_one_line_at_once(name: str, capsys: Capture) -> None:
    words, content, said = CORPUS[name]
    file = next((word for word in words if word.startswith("f.")), "f.none")
    Path(file).write_bytes(content if isinstance(content, bytes) else content.encode())
    assert run_quickly(*words) == 2
    out, err = capsys.readouterr()
    errors = [line for line in err.splitlines() if line.startswith("dartboard: error: ")]
    assert out == ""
    assert len(errors) == 1
    assert said in errors[0]
    assert len(errors[0]) < 2100


class Evil:
    """Leaves a trace if it is unpickled."""

    def __reduce__(self) -> tuple[Callable[[Path], None], tuple[Path]]:
        return Path.touch, (Path("trace"),)


def test_a_pickle_in_a_pt_file_is_not_loaded(capsys: Capture) -> None:
    torch.save({"weights": Evil()}, "f.pt")
    assert run_quickly("evaluate", "f.pt", "--data", "digits") == 2
    Path("g.pt").write_bytes(pickle.dumps(Evil()))
    assert run_quickly("evaluate", "g.pt", "--data", "digits") == 2
    assert not Path("trace").exists()
    assert capsys.readouterr().err.count("not a TorchScript program") == 2


def _npz() -> bytes:
    buffer = io.BytesIO()
    x, y = np.zeros((20, 8, 8), np.uint8), np.arange(20) % 2
    np.savez(buffer, x_train=x, y_train=y, x_test=x, y_test=y)
    return buffer.getvalue()


def _png() -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (8, 8)).save(buffer, "png")
    return buffer.getvalue()


GOOD: dict[str, tuple[tuple[str, ...], bytes]] = {
    "space.yaml": (("info", "--space", "space.yaml"), space().encode()),
    "space.json": (
        ("info", "--space", "space.json"),
        space_to_json(get_space("nb201")).encode(),
    ),
    "cell.json": (("info", "cell.json"), GENOTYPE_FORMATS["json"].encode(get_published("darts-v2")).encode()),
    "bench.yaml": (
        ("bench", "--config", "bench.yaml", "--show", "--out", "none"),
        b"search: {space: nano, data: digits, epochs: 2}\nmethods: {darts: {}, gdas: {}}\nseeds: [0, 1]\n",
    ),
    "data.npz": (("data", "show", "data.npz"), _npz()),
    "images/a/1.png": (("data", "show", "images"), _png()),
}
PIECES = (
    *(b"[", b"{", b"]", b"}", b":", b",", b"- ", b"\n", b"&a ", b"*a", b"!!python/name:os.system", b"<<: *a"),
    *(b"\x00", b"\xff", b"\x1b[2J", b"1e999", b"-1", b".nan", b"9" * 400, b"null", b"2020-13-45", b'"', b"'"),
)


def damage(data: bytes, random: Random) -> bytes:
    """The bytes with a few of them changed, cut out, repeated, or something of a grammar put between them."""
    for _ in range(random.randint(1, 4)):
        at = random.randrange(len(data) + 1)
        end = min(at + random.randint(1, 30), len(data))
        piece = random.choice(PIECES) * random.choice((1, 1, 1, 2, 50, 3000))
        kinds = (
            data[:at] + piece + data[at:],
            data[:at] + piece + data[end:],
            data[:at],
            data[:at] + data[at:end] * random.choice((2, 300)) + data[end:],
            data[:at] + bytes(random.randrange(256) for _ in range(end - at)) + data[end:],
        )
        data = random.choice(kinds)
    return data


def damage_members(data: bytes, random: Random) -> bytes:
    """The .npz archive with one of its arrays damaged, and good checksums."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(buffer, "w") as new:
        chosen = random.choice(old.namelist())
        for name in old.namelist():
            content = old.read(name)
            new.writestr(name, damage(content[:128], random) + content[128:] if name == chosen else content)
    return buffer.getvalue()


def fuzz(count: int, seed: int, capsys: Capture) -> None:
    """Damages files and runs commands on them; each must end with 0 or in one line with 2."""
    random = Random(seed)
    Path("images/b").mkdir(parents=True)
    Path("images/a").mkdir()
    Path("images/b/2.png").write_bytes(_png())
    for number in range(count):
        file = random.choice(list(GOOD))
        words, data = GOOD[file]
        spoil = damage_members if file.endswith(".npz") and random.random() < 0.5 else damage
        Path(file).write_bytes(changed := spoil(data, random))
        try:
            code = run_quickly(*words)
        except BaseException as error:
            raise AssertionError(f"input {number} of seed {seed}: {' '.join(words)}, {changed!r}") from error
        err = capsys.readouterr().err
        assert code in (0, 2), (words, changed)
        if code == 2:
            assert err.count("dartboard: error: ") == 1, (words, changed, err)
            assert err.endswith("\n")


def test_some_damaged_files(capsys: Capture) -> None:
    fuzz(36, 1, capsys)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_a_thousand_damaged_files(seed: int, capsys: Capture) -> None:
    fuzz(100, 100 + seed, capsys)


def test_the_files_are_good_before_they_are_damaged(capsys: Capture) -> None:
    Path("images/a").mkdir(parents=True)
    Path("images/b").mkdir()
    Path("images/b/2.png").write_bytes(_png())
    for file, (words, data) in GOOD.items():
        Path(file).write_bytes(data)
        assert main(list(words)) in ((0,) if file != "bench.yaml" else (0, 2)), capsys.readouterr().err
    assert json.loads(GOOD["cell.json"][1])
