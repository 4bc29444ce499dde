import json
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaml

from dartboard.cli.display import Display
from dartboard.cli.main import main
from dartboard.data import load_digits
from dartboard.errors import Stopped
from dartboard.runs import Run
from dartboard.search import Searcher
from helpers import console

TINY = ("batch=256", "net.channels=4", "health.examples=64", "epochs=2")
KEYS = {"run", "genotype", "epochs", "seconds", "entropy", "valid_accuracy", "digest"}
Capture = pytest.CaptureFixture[str]
pytestmark = pytest.mark.usefixtures("own_folder")


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run of a tiny search."""
    path = tmp_path_factory.mktemp("usual") / "run"
    assert main(["search", *TINY, "--out", str(path), "--quiet"]) == 0
    return path


def digest(run: Path) -> str:
    return str((Run.read(run).result() or {})["digest"])


def found(capsys: Capture, *args: str) -> dict[str, Any]:
    return console.json_output(capsys, "search", *args)


def complaint(capsys: Capture, *args: str) -> str:
    return console.error_line(capsys, "search", *args)


def test_json_is_one_object(usual: Path, capsys: Capture) -> None:
    facts = found(capsys, *TINY)
    assert facts.keys() >= KEYS
    assert facts["run"] == "runs/darts-nano-digits-s0"
    assert facts["epochs"] == 2
    assert facts["digest"] == digest(usual)
    assert facts == {"run": facts["run"]} | (Run.read(facts["run"]).result() or {})


def test_what_people_see(capsys: Capture) -> None:
    assert main(["search", *TINY]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "searching nano with darts on digits: 2 epochs of 2 steps, on cpu"
    assert lines[1] == "writing to runs/darts-nano-digits-s0"
    assert lines[2].startswith("forecast: ")
    assert [line[:12] for line in lines if line.startswith("epoch")] == ["epoch 1 of 2", "epoch 2 of 2"]
    assert lines.count("cell") == 1
    accuracy = r"accuracy +[\d.]+% of held-out images, by the supernet; [\d.]+% with the cell alone"
    assert any(re.fullmatch(accuracy, line) for line in lines)
    assert lines[-1] == "next           dartboard train runs/darts-nano-digits-s0 --recipe quick"
    assert not any("\x1b" in line for line in lines)


def test_what_comes_next_loads_the_same_plugins(capsys: Capture) -> None:
    Path("mine.py").write_text("")
    assert main(["search", *TINY, "--plugin", "mine.py"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].endswith(" --recipe quick --plugin mine.py")


def test_quiet_prints_the_result_alone(capsys: Capture) -> None:
    assert main(["search", *TINY, "--quiet"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert out.startswith("\ncell\n0 in\n")
    assert "epoch 1" not in out


@pytest.mark.parametrize(
    "args",
    [
        ["--seed", "1"],
        ["--epochs", "1", *TINY[:-1]],
        ["--method", "gaea-darts"],
        ["--recipe", "quick"],
        ["weights.lr=0.1"],
        ["space.without=[none]"],
        ["data.pad=1"],
    ],
)
def test_every_setting_matters(args: list[str], usual: Path, capsys: Capture) -> None:
    words = TINY if "--epochs" not in args else ()
    assert found(capsys, *words, *args)["digest"] != digest(usual)


def test_the_environment_matters(usual: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DARTBOARD_SEARCH_WEIGHTS__LR", "0.1")
    assert found(capsys, *TINY)["digest"] != digest(usual)
    assert found(capsys, *TINY, "weights.lr=0.025")["digest"] == digest(usual)


def test_words_may_stand_anywhere(usual: Path, capsys: Capture) -> None:
    args = [TINY[0], "--seed", "0", TINY[1], TINY[2], "--out", "x", TINY[3]]
    assert found(capsys, *args)["digest"] == digest(usual)


def test_a_space_of_the_catalogue(capsys: Capture) -> None:
    assert found(capsys, *TINY, "--space", "oneshot1", "space.cells=1")["genotype"].keys() == {"cell"}
    assert (
        yaml.safe_load(Path("runs/darts-oneshot1-digits-s0/config.yaml").read_text())["space"]["cells"] == 1
    )


def test_images_in_a_file(usual: Path, capsys: Capture) -> None:
    digits = load_digits()
    images = digits.images[:, 0].to(torch.uint8).numpy()
    np.savez("some.npz", x_train=images, y_train=digits.labels.numpy())
    facts = found(capsys, *TINY, "--data", "some.npz")
    assert facts["run"] == "runs/darts-nano-some-s0"
    assert facts["digest"] != digest(usual)


def test_the_configuration_of_a_run_repeats_it(usual: Path, capsys: Capture) -> None:
    facts = found(capsys, "--config", str(usual / "config.yaml"), "--out", "again")
    assert facts["run"] == "again"
    assert facts["digest"] == digest(usual)
    assert Run.read("again").config == Run.read(usual).config


def test_threads_and_device(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[int] = []
    monkeypatch.setattr(torch, "set_num_threads", threads.append)
    found(capsys, *TINY, "--threads", "3", "--device", "cpu")
    assert threads == [3]
    assert "--device toaster cannot be used" in complaint(capsys, *TINY, "--device", "toaster")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--method", "gaea-dart"], "no method called 'gaea-dart'; did you mean 'gaea-darts'?"),
        (["--method", "evolution"], "evolution needs an oracle: a function from genotypes to their accuracy"),
        (["--recipe", "dart"], "no recipe called 'dart'; did you mean 'darts'?"),
        (["weights.lrr=1"], "no setting called 'weights.lrr'; did you mean 'weights.lr'?"),
        (["--seed", "-1"], "seed=-1: input should be greater than or equal to 0"),
        (["--config", "no.yaml"], "cannot read the configuration 'no.yaml': No such file or directory"),
        (["--resume", "no"], "no is not a run: there is no such directory"),
        (
            ["--resume", "x", "--epochs", "3", "--seed", "1", "batch=2"],
            "--resume takes the settings of the run; leave out --seed, batch=2 (of all settings, only epochs",
        ),
        (["--fall-back"], "--fall-back chooses among the checkpoints of a run; name the run with --resume"),
        (
            ["--batch", "3"],
            "unrecognized arguments: --batch; settings without a flag are written like weights.lr=0.05; see",
        ),
        (
            ["--method", "pc-darts", "method.warmup=15", *TINY],
            "the architecture is frozen for the first 15 epochs and the search has 2, so it",
        ),
    ],
)
def test_a_mistake_is_one_line_and_leaves_nothing(args: list[str], message: str, capsys: Capture) -> None:
    assert complaint(capsys, *args).startswith(message)
    assert list(Path().iterdir()) == []


def test_a_directory_that_is_taken(usual: Path, capsys: Capture) -> None:
    said = complaint(capsys, *TINY, "--out", str(usual))
    assert said.startswith(f"{usual} already holds a run; continue it with --resume {usual}")


@contextmanager
def signal_at(step: int, *numbers: int) -> Iterator[None]:
    """Inside, this process gets signals after a step of a search."""

    def send(_: Display, searcher: Searcher) -> None:
        if searcher.step == step:
            for number in numbers:
                signal.raise_signal(number)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Display, "on_step_end", send)
        yield


def test_a_search_that_was_stopped_goes_on(
    usual: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    with signal_at(3, signal.SIGINT):
        assert main(["search", *TINY, "--out", "a run", "--quiet"]) == 130
    said = "stopped after step 3 of 4; resume with: dartboard search --resume 'a run'\n"
    assert capsys.readouterr() == ("", said)
    monkeypatch.setenv("DARTBOARD_SEARCH_EPOCHS", "7")
    assert found(capsys, "--resume", "a run")["digest"] == digest(usual)


def test_a_second_signal_leaves_at_once(capsys: Capture) -> None:
    with signal_at(1, signal.SIGINT, signal.SIGINT):
        assert main(["search", *TINY, "--out", "run", "--quiet"]) == 130
    assert capsys.readouterr() == ("", "interrupted; resume with: dartboard search --resume run\n")
    assert not Path("run/checkpoints").exists()


def test_who_is_stopped_during_the_forecast_has_not_begun(
    usual: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    step = Searcher.train_step

    def signalled(searcher: Searcher) -> None:
        step(searcher)
        if searcher.step == 2:
            signal.raise_signal(signal.SIGINT)

    with monkeypatch.context() as patch:
        patch.setattr(Searcher, "train_step", signalled)
        assert main(["search", *TINY, "--out", "run"]) == 130
    said = capsys.readouterr().err.splitlines()[-1]
    assert said == "stopped before the first step; resume with: dartboard search --resume run"
    assert found(capsys, "--resume", "run")["digest"] == digest(usual)


def test_who_is_interrupted_before_anything_is_watched_is_told_how_to_go_on(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("dartboard.cli.run_loop.fit", interrupt)
    assert main(["search", *TINY, "--out", "run", "--quiet"]) == 130
    said = "dartboard: interrupted; resume with: dartboard search --resume run\n"
    assert capsys.readouterr() == ("", said)


def test_a_finished_run_says_its_result_again(usual: Path, capsys: Capture) -> None:
    assert found(capsys, "--resume", str(usual))["digest"] == digest(usual)


def test_a_run_goes_on_in_the_space_it_began_with(capsys: Capture) -> None:
    Path("mine.yaml").write_text(
        "name: mine\nstack: {cells: 1, reduce: residual, stages: 2, stem: 1, head_norm: true}\n"
        "cell: {inputs: 1, nodes: 3, ops: [skip_connect, nor_conv_3x3], output: [2], adapt: false}\n"
    )
    args = [*TINY, "--space", "mine.yaml"]
    whole = found(capsys, *args)["digest"]
    with signal_at(3, signal.SIGTERM):
        assert main(["search", *args, "--out", "run", "--quiet"]) == 143
    capsys.readouterr()
    Path("mine.yaml").unlink()
    assert found(capsys, "--resume", "run")["digest"] == whole


def test_a_damaged_checkpoint_is_named_and_passed_over_on_demand(usual: Path, capsys: Capture) -> None:
    found(capsys, *TINY, "--out", "run")
    newest = max(Path("run/checkpoints").iterdir())
    tensors = next(newest.glob("*.safetensors"))
    tensors.write_bytes(tensors.read_bytes()[:-9])
    said = complaint(capsys, "--resume", "run", "--quiet")
    assert said.startswith(f"{tensors} is truncated")
    assert said.endswith("is good: use it with --fall-back")
    assert main(["search", "--resume", "run", "--fall-back"]) == 0
    assert f"warning: {tensors} is truncated" in capsys.readouterr().out
    assert digest(Path("run")) == digest(usual)


def test_memory_that_does_not_suffice_for_a_forecast(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: Searcher) -> None:
        raise MemoryError

    monkeypatch.setattr("dartboard.search.searcher.forecast", fail)
    assert main(["search", *TINY]) == 0
    assert "memory is short: batches will pass in pieces" in capsys.readouterr().out


def test_info_describes_what_a_run_found(usual: Path, capsys: Capture) -> None:
    assert main(["info", str(usual), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["genotype"] == (Run.read(usual).result() or {})["genotype"]
    assert facts["space"] == "nano"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_real_process(number: signal.Signals, program: Path, capsys: Capture) -> None:
    args = [program, "search", *TINY, "epochs=10000", "--out", "run"]
    process = subprocess.Popen(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    while not process.stdout.readline().startswith("epoch "):
        assert process.poll() is None
    said = complaint(capsys, "--resume", "run")
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert said.startswith(f"run is in use by process {process.pid} on ")
    assert process.returncode == 128 + number
    assert err.endswith("of 20000; resume with: dartboard search --resume run\n")
    assert Run.read("run").state == "stopped"


def test_a_run_goes_on_with_its_own_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Searcher, "fit", stop_at_once)
    before = torch.get_num_threads()
    try:
        assert main(["search", *TINY, "--threads", "3", "--out", "run", "--quiet"]) == 0
        torch.set_num_threads(before)
        assert main(["search", "--resume", "run", "--quiet"]) == 0
        assert torch.get_num_threads() == 3
        assert [start["threads"] for start in Run.read(tmp_path / "run").environment()] == [3, 3]
        assert [start["device"] for start in Run.read(tmp_path / "run").environment()] == ["cpu", "cpu"]
    finally:
        torch.set_num_threads(before)


def stop_at_once(*_: object, **__: object) -> None:
    raise Stopped("stopped after step 0")


def test_other_threads_are_mentioned(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    monkeypatch.setattr(Searcher, "fit", stop_at_once)
    before = torch.get_num_threads()
    try:
        assert main(["search", *TINY, "--threads", "1", "--out", "run", "--quiet"]) == 0
        assert capsys.readouterr().err == "stopped after step 0; resume with: dartboard search --resume run\n"
        assert main(["search", "--resume", "run", "--threads", "2", "--quiet"]) == 0
    finally:
        torch.set_num_threads(before)
    words = "dartboard: the run used threads 1, now 2: the result can differ in the last bits\n"
    assert capsys.readouterr().err.startswith(words)


def test_memory_that_cannot_be_had_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried 1 byte")

    monkeypatch.setattr(Searcher, "__init__", fail)
    assert complaint(capsys, *TINY).startswith("out of memory; use a smaller net.channels")


def test_more_epochs(usual: Path, capsys: Capture) -> None:
    """Their configuration repeats the whole, seam and all."""
    shutil.copytree(usual, "run")
    assert main(["search", "--resume", "run", "epochs=3", "--no-report"]) == 0
    said = capsys.readouterr().out
    assert "3 epochs of" in said
    assert (
        "schedules are for 3 epochs instead of 2 from epoch 3 on; there the learning rate goes from" in said
    )
    assert (Path("run") / "metrics.jsonl").read_text().startswith((usual / "metrics.jsonl").read_text())
    assert main(["runs", "show", "run"]) == 0
    assert "for 2 epochs until epoch 2, then for 3" in capsys.readouterr().out
    config = str(Path("run") / "config.yaml")
    assert found(capsys, "--config", config, "--no-report")["digest"] == digest(Path("run"))
    said = complaint(capsys, "--resume", "run", "--epochs", "2")
    assert said == "run has 3 complete epochs; it can have epochs=3 or more, not 2"
    assert "epochs=x: expected a whole number" in complaint(capsys, "--resume", "run", "epochs=x")


def test_more_epochs_of_xnas_are_refused(capsys: Capture) -> None:
    """Wipeout is for the steps that were known; the run stays as it is, its result too."""
    found(capsys, "--method", "xnas", *TINY, "--no-report", "--out", "run")
    before = {path: path.read_bytes() for path in Path("run").glob("*.*") if path.name[0] in "cmr"}
    said = complaint(capsys, "--resume", "run", "epochs=4", "--quiet")
    assert said.startswith("ExpertAdvice drops candidates that cannot win in the steps it was made for")
    del before[Path("run/checksums.txt")]
    assert {path: path.read_bytes() for path in before} == before
