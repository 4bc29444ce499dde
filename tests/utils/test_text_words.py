from pathlib import Path

from dartboard.utils.text import command


def test_a_command_can_be_typed_as_it_is() -> None:
    assert command("train", Path("my runs/a"), "--seed", 3) == "dartboard train 'my runs/a' --seed 3"


def test_a_command_loads_the_plugins_that_it_needs() -> None:
    assert command("export", "r", plugins=["a.py", Path("b c.py")]) == (
        "dartboard export r --plugin a.py --plugin 'b c.py'"
    )
