import os
import re
import subprocess
import sys
from argparse import Namespace
from pathlib import Path
from typing import NoReturn

import pytest

import dartboard as package
from dartboard.cli import info
from dartboard.cli.commands import COMMANDS, package_commands
from dartboard.cli.main import main
from dartboard.errors import SpaceError

NAMES = [*COMMANDS, *package_commands("", COMMANDS)]
INSTALLED = [*COMMANDS, *(name for name, added in package_commands("", COMMANDS).items() if added.entry)]


def fail_with(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def run(args: Namespace) -> NoReturn:  # noqa: ARG001
        raise error

    monkeypatch.setattr(info, "run", run)


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"dartboard {package.__version__}\n"


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    out = capsys.readouterr().out
    assert all(re.search(rf"^    {command}\s", out, re.MULTILINE) for command in NAMES)


@pytest.mark.parametrize("command", INSTALLED)
def test_every_command_has_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "--help"]) == 0
    assert f"dartboard {command}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["inof"], "no command called 'inof'; did you mean 'info'?"),
        (["--json", "inof"], "no command called 'inof'; did you mean 'info'?"),
        (["qqq"], f"no command called 'qqq'; there are {', '.join(sorted(NAMES))}"),
        ([], "the following arguments are required: COMMAND; see dartboard --help"),
        (["info", "darts-v2", "--channel=3"], "unrecognized arguments: --channel=3; see dartboard --help"),
        (
            ["info", "darts-v2", "--cells", "0"],
            "argument --cells: expected a whole number from 1 to 100,000, got '0'; see dartboard info --help",
        ),
    ],
)
def test_a_mistake_is_one_line(argv: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(argv) == 2
    assert capsys.readouterr() == ("", f"dartboard: error: {message}\n")


def test_an_error_of_several_lines_becomes_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fail_with(monkeypatch, SpaceError("first\n  second"))
    assert main(["info"]) == 2
    assert capsys.readouterr().err == "dartboard: error: first second\n"


def test_an_unreadable_file_is_a_mistake(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fail_with(monkeypatch, PermissionError(13, "Permission denied", "cell.json"))
    assert main(["info"]) == 2
    assert capsys.readouterr().err == "dartboard: error: cannot read or write cell.json: Permission denied\n"


@pytest.mark.usefixtures("own_folder")
@pytest.mark.parametrize("words", [["sweep", "sweep.yaml"], ["search", "epochs=1"]])
def test_a_place_that_nothing_can_be_written_to(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("sweep.yaml").write_text("grid: {seed: 0}\nsettings: {epochs: 1}\n")
    (tmp_path / "file").touch()
    place = tmp_path / "file" / "out"
    assert main([*words, "--out", str(place)]) == 2
    err = capsys.readouterr().err.splitlines()[-1]
    assert err == f"dartboard: error: cannot read or write {place}: Not a directory"


def test_an_interrupt_is_quiet(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    fail_with(monkeypatch, KeyboardInterrupt())
    assert main(["info"]) == 130
    assert capsys.readouterr().err == "dartboard: interrupted\n"


def test_an_interrupt_is_quiet_while_commands_are_loaded() -> None:
    code = """if True:
        import os, signal, sys
        class Finder:
            def find_spec(self, name, *_):
                if name == "dartboard.cli.sweep":
                    os.kill(os.getpid(), signal.SIGINT)
        sys.meta_path.insert(0, Finder())
        from dartboard.cli.main import main
        sys.exit(main(["--version"]))
    """
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "dartboard: interrupted\n")


def test_a_bug_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    fail_with(monkeypatch, ZeroDivisionError())
    with pytest.raises(ZeroDivisionError):
        main(["info"])


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("form", [[], ["--json"]])
def test_a_reader_that_leaves_is_no_error(form: list[str], unbuffered: str, program: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [program, "info", "--space", "asm", *form],
        stdout=writing,
        stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONUNBUFFERED": unbuffered},
        check=False,
        timeout=60,
    )
    os.close(writing)
    assert done.stderr == b""
    assert done.returncode == 141


@pytest.mark.parametrize(
    "args",
    [
        ["--help"],
        ["--version"],
        ["search", "--help"],
        ["info", "--space", "darts"],
        ["info", "nonsense"],
        ["list", "spaces"],
    ],
)
def test_torch_is_loaded_only_where_a_network_is_built(args: list[str]) -> None:
    load = "import sys; from dartboard.cli.main import main; "
    code = load + "main(sys.argv[1:]); sys.exit('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code, *args], capture_output=True, check=False, timeout=60)
    assert done.returncode == 0


def test_the_program_is_installed(program: Path) -> None:
    done = subprocess.run([program, "inof"], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "dartboard: error: no command called 'inof'; did you mean 'info'?\n"


def test_the_package_is_the_program() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "dartboard", "inof"], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "dartboard: error: no command called 'inof'; did you mean 'info'?\n"


def test_what_a_terminal_would_obey_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", "\x1b[31mred\x07/cell.json"]) == 2
    err = capsys.readouterr().err
    assert "\\x1b[31mred" in err
    assert err.removesuffix("\n").isprintable()
