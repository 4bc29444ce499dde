"""What is shipped: built, checked, installed into an empty environment and run there without a network."""

import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
OFFLINE = ("unshare", "--map-root-user", "--net")
"""Runs a command without a network."""


def call(*words: str | Path, cwd: Path = ROOT) -> str:
    done = subprocess.run([*map(str, words)], cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sdists, and wheels built from them, of both packages."""
    folder = tmp_path_factory.mktemp("dist")
    for source in (ROOT, ROOT / "papers"):
        call(sys.executable, "-m", "build", "--outdir", folder, source)
    return folder


def contents(path: Path) -> set[str]:
    """Names in an archive, without the folder that an sdist has around them."""
    if path.suffix == ".whl":
        return set(zipfile.ZipFile(path).namelist())
    with tarfile.open(path) as archive:
        return {name.partition("/")[2] for name in archive.getnames()}


@pytest.mark.slow
def test_archives_have_the_package_and_nothing_else(dist: Path) -> None:
    archives = sorted(dist.iterdir())
    assert len(archives) == 4
    call(sys.executable, "-m", "twine", "check", "--strict", *archives)
    tracked = call("git", "ls-files", "src", "papers/src").split()
    for path in archives:
        names = contents(path)
        papers = path.name.startswith("dartboard_papers")
        prefix = "papers/src/" if papers else "src/"
        sources = {name.removeprefix(prefix) for name in tracked if name.startswith(prefix)}
        shipped = {name.removeprefix("src/") for name in names}
        assert sources <= shipped, path.name
        assert any(name.endswith("LICENSE") for name in names)
        top = {name.partition("/")[0] for name in names}
        assert not top & {"tests", "results", "docs", "benchmarks", "scripts", "papers"}, path.name


@pytest.mark.slow
def test_wheels_run_the_demo_in_an_empty_environment_without_a_network(
    dist: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTHONPATH", raising=False)  # else it is not empty
    call(sys.executable, "-m", "venv", tmp_path / "env")
    python = tmp_path / "env" / "bin" / "python"
    wheels = sorted(dist.glob("*.whl"))
    call(python, "-m", "pip", "install", "--quiet", "--constraint", ROOT / "constraints.txt", *wheels)
    offline = OFFLINE if shutil.which(OFFLINE[0]) and subprocess.call([*OFFLINE, "true"]) == 0 else ()
    if not offline:
        pytest.skip("a process without a network cannot be started here")
    said = call(*offline, python.parent / "dartboard", "demo", cwd=tmp_path)
    assert "%" in said
    assert "xnas-figure-3" in call(*offline, python.parent / "dartboard", "reproduce", "--list", cwd=tmp_path)
    version = call(python.parent / "dartboard", "--version").split()[1]
    assert wheels[0].name.startswith(f"dartboard-{version}-")
