"""Whatever lies in the place of a file of a run: every command ends at once, and shows nothing of it.

The runs are those of tests/fixtures/runs-0.1, one of each kind. In the place of each file comes a named pipe,
a link to a file elsewhere, a folder, or a sparse file of a terabyte.
"""

import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dartboard.cli.main import main
from helpers.alarm import alarm

OLD = Path(__file__).parents[1] / "fixtures" / "runs-0.1" / "finished"
PRECIOUS = "root:x:0:0:TOP-PRECIOUS"
SECONDS = 2.0
Capture = pytest.CaptureFixture[str]

SEARCH = (
    "runs",
    "runs show RUN",
    "runs tail RUN",
    "runs compare RUN RUN",
    "runs check RUN",
    "report RUN --out page.html",
    "info RUN",
    "search --resume RUN --no-report --quiet",
    "analyse trajectory RUN",
    "analyse stability RUN",
)
TRAIN = (
    "runs",
    "runs show RUN",
    "runs check RUN",
    "report RUN --out page.html",
    "info RUN",
    "evaluate RUN --data digits",
    "export RUN --format torchscript --force",
    "train --resume RUN --no-report --quiet",
)
GROUP = ("runs --all", "runs check RUN", "report RUN --out page.html")
COMMANDS = {
    "darts": SEARCH,
    "train": TRAIN,
    "sweep": (*GROUP, "sweep RUN --show", "sweep RUN --executor here --quiet"),
    "protocol": (*GROUP, "runs show RUN", "protocol --resume RUN --no-report --quiet"),
    "bench": (*GROUP, "bench --out RUN --show", "bench --out RUN --quiet"),
}


def places(kind: str) -> Iterator[str]:
    """The files of a run, and the folders that have them; of equal ones in other runs inside, one."""
    seen = set()
    for path in sorted((OLD / kind).rglob("*")):
        local = path.relative_to(OLD / kind)
        depth_and_name = (len(local.parts), "epoch" if local.parent.name == "epochs" else local.name)
        if depth_and_name not in seen and not path.name.startswith("step-"):
            seen.add(depth_and_name)
            yield str(local)


CASES = [(kind, place) for kind in COMMANDS for place in places(kind)]


def replace_by_pipe(path: Path) -> None:
    os.mkfifo(path)


def replace_by_link(path: Path) -> None:
    path.symlink_to(Path.cwd() / "secret")


def replace_by_folder(path: Path) -> None:
    path.mkdir()


def replace_by_sparse_file(path: Path) -> None:
    path.touch()
    os.truncate(path, 2**40)


REPLACEMENTS = (replace_by_pipe, replace_by_link, replace_by_folder, replace_by_sparse_file)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "secret").write_text(PRECIOUS)
    return tmp_path


@pytest.mark.product(keep=14)
@pytest.mark.parametrize(("kind", "place"), CASES)
@pytest.mark.parametrize("replace", REPLACEMENTS)
@pytest.mark.usefixtures("own_folder", "folder")
def test_commands_end_at_once(
    kind: str, place: str, replace: Callable[[Path], None], capsys: Capture
) -> None:
    for line in COMMANDS[kind]:
        shutil.rmtree("runs", ignore_errors=True)
        shutil.copytree(OLD / kind, Path("runs") / kind)
        path = Path("runs") / kind / place
        shutil.rmtree(path) if path.is_dir() else path.unlink()
        replace(path)
        began = time.process_time()
        with alarm():
            code = main(line.replace("RUN", f"runs/{kind}").split())
        out, err = capsys.readouterr()
        assert code in (0, 1, 2), line
        assert code != 1 or line.startswith(("runs check", "sweep", "bench", "protocol"))  # a run has failed
        if code == 2:
            errors = [text for text in err.splitlines() if text.startswith("dartboard: error: ")]
            assert len(errors) == 1, (line, err)
            assert time.process_time() - began < SECONDS, line  # others may be computing
        assert "Traceback" not in err
        assert PRECIOUS not in out + err, line
        assert Path("secret").read_text() == PRECIOUS, line
