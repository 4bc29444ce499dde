import re

import pytest

from dartboard.cli.main import main


def demo(capsys: pytest.CaptureFixture[str], *args: str) -> str:
    assert main(["demo", *args]) == 0
    return capsys.readouterr().out


def losses(output: str) -> list[float]:
    return [float(loss) for loss in re.findall(r"^step +\d+: loss ([\d.]+)$", output, re.MULTILINE)]


def test_the_supernet_learns(capsys: pytest.CaptureFixture[str]) -> None:
    output = demo(capsys)
    before, after = map(float, re.findall(r"([\d.]+)%", output))
    assert before < 30
    assert after > 70
    assert losses(output)[-1] < losses(output)[0] / 2


def test_it_says_what_it_did(capsys: pytest.CaptureFixture[str]) -> None:
    output = demo(capsys, "--steps", "2")
    assert output.startswith("space nano\narchitectures  216\n")
    assert "1,500 digits to train on, 297 held out" in output
    assert "2 steps of 64 digits" in output


def test_every_option_matters(capsys: pytest.CaptureFixture[str]) -> None:
    usual = losses(demo(capsys, "--steps", "2"))
    assert losses(demo(capsys, "--steps", "2")) == usual
    assert losses(demo(capsys, "--steps", "2", "--seed", "1")) != usual
    assert len(losses(demo(capsys, "--steps", "1"))) == 1
