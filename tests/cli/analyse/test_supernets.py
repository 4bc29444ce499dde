"""The tools that bring a supernet back: attention and stability."""

import json
from pathlib import Path

import pytest

from dartboard.analysis.attention import attention
from dartboard.analysis.stability import stability
from dartboard.cli.main import main
from dartboard.runs import Run, list_checkpoints
from helpers.search_runs import search_runs

pytestmark = pytest.mark.usefixtures("one_thread")
Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    return search_runs(tmp_path_factory.mktemp("runs"), "asm", "darts")


def test_attention_in_words_and_files(runs: dict[str, Run], tmp_path: Path, capsys: Capture) -> None:
    run = runs["asm-0"].path
    assert main(["analyse", "attention", str(run), "--out", str(tmp_path / "out")]) == 0
    out = capsys.readouterr().out
    maps = attention(run)
    for own in maps:
        assert f"{own.title}  mean weights of ops from {min(own.means.values()):.4f}" in out
        assert all(f"{op} on {count}" in out for op, count in own.strongest.items())
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {"attention.json", "attention.png", "attention.svg"}
    assert main(["analyse", "attention", str(run), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told == {"run": str(run), "maps": json.loads(json.dumps([own.facts() for own in maps]))}


def test_stability_in_words_and_files(runs: dict[str, Run], tmp_path: Path, capsys: Capture) -> None:
    words = ["analyse", "stability", *(str(run.path) for run in runs.values())]
    assert main([*words, "--out", str(tmp_path / "out")]) == 0
    out = capsys.readouterr().out
    found = stability(*runs.values())
    for label, (own,) in found.groups.items():
        assert f"{label}\n  seed 0: accuracy {own.accuracy:.2%}, mean change {own.mean_change:.2%}" in out
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {"stability.json", "stability.png", "stability.svg"}
    assert main([*words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(json.dumps(found.facts()))


@pytest.mark.parametrize("tool", ["attention", "stability"])
def test_mistakes_are_one_line_and_an_older_checkpoint_will_do(
    tool: str, tmp_path: Path, capsys: Capture
) -> None:
    run = search_runs(tmp_path, "asm")["asm-0"].path
    (list_checkpoints(run / "checkpoints")[-1] / "state.json").write_text("")
    assert main(["analyse", tool, str(run)]) == 2
    err = capsys.readouterr().err.splitlines()[-1]
    assert err.startswith("dartboard: error: ")
    assert err.endswith("use it with --fall-back") or "--fall-back" in err
    assert main(["analyse", tool, str(run), "--fall-back"]) == 0
