import pytest

from dartboard.cli.list import KINDS
from dartboard.cli.main import main


def listed(capsys: pytest.CaptureFixture[str], *args: str) -> str:
    assert main(["list", *args]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("kind", KINDS)
def test_each_thing_has_one_line(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    lines = listed(capsys, kind).splitlines()
    names = [line.split()[0] for line in lines]
    assert names == list(KINDS[kind]())
    assert all(len(line.split()) > 2 and not line.endswith(".") for line in lines)


def test_without_a_kind_all_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    parts = [f"{kind}\n{listed(capsys, kind)}" for kind in KINDS]
    assert listed(capsys) == "\n".join(parts)


def test_an_unknown_kind(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "method"]) == 2
    assert capsys.readouterr().err == (
        "dartboard: error: no kind of thing called 'method'; did you mean 'methods'?\n"
    )
