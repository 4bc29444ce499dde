from pathlib import Path

import pytest

from dartboard.cli.run_loop import claim_directory, search_name
from dartboard.search.config import load_config


def test_a_given_directory_is_taken_as_it_is(tmp_path: Path) -> None:
    assert claim_directory(str(tmp_path / "x"), search_name(load_config())) == tmp_path / "x"
    assert not (tmp_path / "x").exists()


def test_a_directory_is_named_after_the_search(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    flags = {"space": "spaces/mine.yaml", "method": "gdas", "data": "/images/cifar.npz", "seed": 3}
    config = load_config(flags=flags)
    assert [claim_directory(None, search_name(config)) for _ in range(3)] == [
        Path("runs/gdas-mine-cifar-s3"),
        Path("runs/gdas-mine-cifar-s3-2"),
        Path("runs/gdas-mine-cifar-s3-3"),
    ]
    assert claim_directory(None, search_name(load_config())) == Path("runs/darts-nano-digits-s0")
