"""Searches and trainings that several processes share, started by the program itself."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from argparse import Namespace
from pathlib import Path

import pytest
import torch

from dartboard.cli.display import Display
from dartboard.cli.main import main
from dartboard.cli.processes import SIGNALS, interrupt_on_signals, stop_on_signals
from dartboard.cli.run_loop import fit
from dartboard.distributed import launch
from dartboard.distributed.process_group import join_group
from dartboard.errors import DistributedError
from dartboard.runs import Run, list_checkpoints
from helpers.kills import PATIENCE, running_process
from helpers.ranks import free_port
from helpers.sockets import listening

PROGRAM = Path(sys.executable).with_name("dartboard")
SEARCH = (
    "search",
    *("--recipe", "quick", "--epochs", "3", "--no-report"),
    *("sync_norms=true", "checkpoint.steps=4", "checkpoint.keep=50", "net.channels=4", "health.examples=64"),
)
CELL = "|nor_conv_3x3~0|+|skip_connect~0|nor_conv_3x3~1|+|none~0|avg_pool_3x3~1|nor_conv_3x3~2|"
TRAIN = (
    *("train", CELL, "--recipe", "quick", "--epochs", "1", "--no-report"),
    *("sync_norms=true", "net.channels=4", "net.cells=1"),
)


def program(*words: object, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [str(PROGRAM), *map(str, words)]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, timeout=PATIENCE, env=plain()
    )


def plain() -> dict[str, str]:
    return os.environ | {"OMP_NUM_THREADS": "1"}


def facts(*words: object, folder: Path) -> dict:
    done = program(*words, "--json", "--quiet", folder=folder)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def ranks_of(launcher: int) -> dict[str, int]:
    """The processes that a launcher has started, by their numbers."""
    found = {}
    for entry in Path("/proc").iterdir():
        try:
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            told = (entry / "environ").read_bytes().split(b"\0")
        except (OSError, ValueError, IndexError):
            continue
        if parent == launcher:
            found |= {word[5:].decode(): int(entry.name) for word in told if word.startswith(b"RANK=")}
    return found


def wait_for_checkpoint(run: Path) -> None:
    end = time.monotonic() + PATIENCE
    while not (run / "checkpoints").is_dir() or not list_checkpoints(run / "checkpoints"):
        assert time.monotonic() < end, "no checkpoint"
        time.sleep(0.02)


@pytest.mark.slow
def test_a_rank_that_dies_ends_the_search_which_goes_on_to_the_same_bits(tmp_path: Path) -> None:
    whole = facts(*SEARCH, "--processes", 2, "--out", "whole", folder=tmp_path)
    command = [PROGRAM, *SEARCH, "--processes", "2", "--out", "cut", "--quiet"]
    with running_process(command, cwd=tmp_path, stderr=subprocess.PIPE, env=plain()) as launcher:
        wait_for_checkpoint(tmp_path / "cut")
        os.kill(ranks_of(launcher.pid)["1"], signal.SIGKILL)
        _, complaint = launcher.communicate(timeout=PATIENCE)
        assert launcher.returncode == 1
    lines = [line for line in complaint.splitlines() if "stopping as soon as" not in line]
    words = "another process that shared the work has ended; resume with: dartboard search --resume cut"
    ended = "process 1 of 2 was ended by signal 9; a run that has begun is continued with --resume"
    assert lines == [f"dartboard: error: {words}", f"dartboard: error: {ended}"]
    assert Run.read(tmp_path / "cut").state == "stopped"
    shutil.copytree(tmp_path / "cut", tmp_path / "alone")
    resumed = facts("search", "--resume", "cut", "--no-report", folder=tmp_path)
    assert resumed["digest"] == whole["digest"]
    assert [own["processes"] for own in Run.read(tmp_path / "cut").environment()] == [2, 2]
    alone = facts("search", "--resume", "alone", "--no-report", "--processes", 1, folder=tmp_path)
    assert alone["epochs"] == whole["epochs"]
    assert [own["processes"] for own in Run.read(tmp_path / "alone").environment()] == [2, 1]


def test_one_process_goes_on_as_two_would_have(tmp_path: Path) -> None:
    """Batch-norms that are not synchronized see the same images together in pieces as in processes."""
    facts(*SEARCH, "sync_norms=false", "--processes", 2, "--out", "whole", folder=tmp_path)
    shutil.copytree(tmp_path / "whole", tmp_path / "alone")
    for checkpoint in list_checkpoints(tmp_path / "alone" / "checkpoints")[2:]:
        shutil.rmtree(checkpoint)
    done = program("search", "--resume", "alone", "--no-report", "--processes", 1, folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    whole, alone = (Run.read(tmp_path / name).metrics() for name in ("whole", "alone"))
    assert [row["pieces"] for row in whole + alone] == [1, 1, 1, 2, 2, 2]
    for name in ("train_loss", "valid_accuracy", "entropy"):
        assert [row[name] for row in alone] == pytest.approx([row[name] for row in whole], rel=1e-5)


@pytest.mark.slow
def test_more_processes_go_on_differently_and_say_so(tmp_path: Path) -> None:
    words = "epochs=1", "sync_norms=false", "pieces=1"
    facts(*SEARCH, *words, "--out", "run", folder=tmp_path)
    for checkpoint in list_checkpoints(tmp_path / "run" / "checkpoints")[2:]:
        shutil.rmtree(checkpoint)
    again = "search", "--resume", "run", "--no-report", "--quiet", "--processes", 2
    done = program(*again, folder=tmp_path)
    assert done.returncode == 0
    assert done.stderr == (
        "dartboard: the run used processes 1, now 2, where batch-norms see other parts of each batch: "
        "from here on it differs by more than rounding; a run with sync_norms=true would not\n"
    )
    assert program(*again, folder=tmp_path).stderr == ""


@pytest.mark.slow
def test_interrupted_processes_save_and_stop_together(tmp_path: Path) -> None:
    command = [PROGRAM, *SEARCH, "epochs=300", "--processes", "2", "--out", "run", "--quiet"]
    with running_process(command, cwd=tmp_path, stderr=subprocess.PIPE, env=plain()) as launcher:
        wait_for_checkpoint(tmp_path / "run")
        launcher.send_signal(signal.SIGINT)
        _, complaint = launcher.communicate(timeout=PATIENCE)
    assert launcher.returncode == 128 + signal.SIGINT
    said = complaint.splitlines()
    assert said[0] == "dartboard: stopping as soon as all processes have agreed on a step"
    assert said[1].endswith("; resume with: dartboard search --resume run")
    assert len(said) == 2
    newest = max(own.name for own in list_checkpoints(tmp_path / "run" / "checkpoints"))
    assert f"stopped after step {int(newest.removeprefix('step-'))} of" in said[1]


class Deserted:
    """A loop that is interrupted, and then finds that the others have ended."""

    hooks = ()

    def __init__(self, *numbers: signal.Signals) -> None:
        self.numbers = numbers

    def stop(self) -> None:
        pass

    def fit(self, **_: object) -> None:
        for number in self.numbers:
            signal.raise_signal(number)
        raise RuntimeError("Connection closed by peer")


def test_who_was_interrupted_with_the_first_leaves_the_word_to_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    args = Namespace(resume=None, fall_back=False)
    assert fit(Deserted(signal.SIGINT), None, args, Display(), lambda: "soon") == 130
    assert capsys.readouterr().err == ""
    with pytest.raises(RuntimeError, match="Connection closed"):
        fit(Deserted(), None, args, Display(), lambda: "soon")


def test_an_interrupt_ends_a_process_that_waits_for_others() -> None:
    """The other was interrupted on its way, and will never come."""
    alone = {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1"}
    code = (
        "import torch; from dartboard.cli.processes import joined; print('waits', flush=True)\n"
        "with joined(torch.device('cpu')): pass"
    )
    env = plain() | alone | {"MASTER_PORT": str(free_port())}
    with running_process([sys.executable, "-c", code], env=env, stderr=subprocess.PIPE) as process:
        assert process.stdout.readline() == "waits\n"
        time.sleep(2)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=20) == -signal.SIGINT


def stores(ranks: dict[str, int]) -> set[Path]:
    """The files in which ranks meet."""
    return {
        Path(word.partition(b"=")[2].decode())
        for rank in ranks.values()
        for word in Path(f"/proc/{rank}/environ").read_bytes().split(b"\0")
        if word.startswith(b"DARTBOARD_STORE=")
    }


def test_nobody_else_can_reach_the_processes(tmp_path: Path) -> None:
    command = [PROGRAM, *SEARCH, "epochs=300", "--processes", "2", "--out", "run", "--quiet"]
    with running_process(command, cwd=tmp_path, stderr=subprocess.PIPE, env=plain()) as launcher:
        wait_for_checkpoint(tmp_path / "run")
        addresses = listening(launcher.pid)
        (store,) = stores(ranks_of(launcher.pid))
        assert store.parent.stat().st_mode & 0o777 == 0o700
        launcher.send_signal(signal.SIGTERM)
        launcher.communicate(timeout=PATIENCE)
    assert launcher.returncode == 128 + signal.SIGTERM
    assert addresses  # gloo's own
    assert all(address.is_loopback for address in addresses), addresses
    assert not store.parent.exists()


def test_a_signal_while_processes_start_reaches_all(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The second of three is starting when Ctrl-C comes; the third is not started at all."""
    start, started_processes = subprocess.Popen, []

    def interrupted(*args: object, **options: object) -> subprocess.Popen:
        if started_processes:
            signal.raise_signal(signal.SIGINT)
        started_processes.append(start(*args, **options))
        return started_processes[-1]

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(subprocess, "Popen", interrupted)
    before = time.monotonic()
    assert launch(3, [*SEARCH, "epochs=300", "--processes", "3", "--quiet"]) == 128 + signal.SIGINT
    assert time.monotonic() - before < PATIENCE
    assert len(started_processes) == 2
    assert all(process.poll() is not None for process in started_processes)


def test_processes_without_an_address_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.delenv("MASTER_ADDR", raising=False)
    with (
        pytest.raises(DistributedError, match="MASTER_ADDR or MASTER_PORT is not"),
        join_group(torch.device("cpu")),
    ):
        pass


@pytest.mark.parametrize("address", ["8.8.8.8", "2606:4700::1111"])
def test_processes_do_not_meet_where_strangers_could_come(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": address, "MASTER_PORT": "1"}.items():
        monkeypatch.setenv(name, value)
    with (
        pytest.raises(DistributedError, match=f"public address {address}.* set DARTBOARD_PUBLIC=1"),
        join_group(torch.device("cpu")),
    ):
        pass


def test_processes_end_with_who_has_launched_them(tmp_path: Path) -> None:
    command = [PROGRAM, *SEARCH, "epochs=300", "--processes", "2", "--out", "run", "--quiet"]
    with running_process(command, cwd=tmp_path, stderr=subprocess.PIPE, env=plain()) as launcher:
        wait_for_checkpoint(tmp_path / "run")
        group = ranks_of(launcher.pid)
        (store,) = stores(group)
        launcher.kill()
        end = time.monotonic() + 30
        while any(Path(f"/proc/{rank}/cwd").exists() for rank in group.values()):
            assert time.monotonic() < end, "they live on"
            time.sleep(0.1)
    assert not store.parent.exists()
    assert Run.read(tmp_path / "run").state == "stopped"


def test_two_processes_train_as_one_does(tmp_path: Path) -> None:
    one = facts(*TRAIN, "--out", "one", folder=tmp_path)
    told = program(*TRAIN, "--processes", 2, "--out", "two", folder=tmp_path)
    assert told.stdout.count("forecast: ") == 1
    two = Run.read(tmp_path / "two").result()
    assert two["last"]["test"]["loss"] == pytest.approx(one["last"]["test"]["loss"], abs=1e-3)
    assert two["last"]["test"]["examples"] == one["last"]["test"]["examples"]
    assert (tmp_path / "two" / "best.safetensors").exists()
    shown = program("evaluate", "two", "--data", "digits", "--json", folder=tmp_path)
    assert json.loads(shown.stdout)["top1"] == two["best"]["test"]["top1"]


def test_a_batch_that_cannot_be_shared_out_is_one_line(tmp_path: Path) -> None:
    done = program(*SEARCH, "--processes", 2, "batch=15", folder=tmp_path)
    assert done.returncode == 2
    assert done.stderr == (
        "dartboard: error: a batch of 15 cannot be shared out evenly among 2 processes; "
        "set batch=14 or batch=16\n"
    )
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(("batch", "count", "fitting"), [(64, 3, "2 or 4"), (15, 4, "3 or 5"), (7, 9, "7")])
def test_a_run_whose_batch_cannot_be_shared_out_names_who_could(
    batch: int, count: int, fitting: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Run.create(tmp_path / "run", {"batch": batch}):
        pass
    assert main(["search", "--resume", str(tmp_path / "run"), "--processes", str(count)]) == 2
    assert capsys.readouterr().err == (
        f"dartboard: error: the run's batch of {batch} cannot be shared out evenly among {count} processes; "
        f"resume with --processes {fitting}\n"
    )


def test_torchrun_has_the_last_word(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "4")
    assert main(["search", "--processes", "2"]) == 2
    assert capsys.readouterr().err == (
        "dartboard: error: torchrun has started 4 processes; leave out --processes\n"
    )


@pytest.mark.parametrize("number", SIGNALS)
def test_a_first_signal_asks_to_stop(number: signal.Signals) -> None:
    asked: list[str] = []
    with stop_on_signals(lambda: asked.append("stop")) as caught:
        assert asked == []
        signal.raise_signal(number)
        assert asked == ["stop"]
    assert caught == [number]


@pytest.mark.parametrize("number", SIGNALS)
def test_a_second_signal_interrupts(number: signal.Signals) -> None:
    asked: list[str] = []
    with stop_on_signals(lambda: asked.append("stop")):
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(number)
    assert asked == ["stop"]


def test_handlers_are_put_back() -> None:
    before = [signal.getsignal(number) for number in SIGNALS]
    with stop_on_signals(lambda: None):
        assert [signal.getsignal(number) for number in SIGNALS] != before
    assert [signal.getsignal(number) for number in SIGNALS] == before


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_interrupts_at_once_where_that_is_asked_for(number: signal.Signals) -> None:
    before = [signal.getsignal(own) for own in SIGNALS]
    with pytest.raises(KeyboardInterrupt), interrupt_on_signals() as caught:
        signal.raise_signal(number)
    assert caught == [number]
    assert [signal.getsignal(own) for own in SIGNALS] == before
