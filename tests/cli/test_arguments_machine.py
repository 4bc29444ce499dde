import pytest
import torch

from dartboard.cli.arguments import prepare_device
from dartboard.errors import OptionError


def test_the_default_is_what_the_machine_has() -> None:
    assert prepare_device(None, None).type == ("cuda" if torch.cuda.is_available() else "cpu")


@pytest.mark.parametrize("device", ["toaster", "meta", "cuda:99"])
def test_a_device_that_cannot_be_used(device: str) -> None:
    with pytest.raises(OptionError, match=f"--device {device} cannot be used: .*; cpu always can"):
        prepare_device(device, None)


def test_threads() -> None:
    before = torch.get_num_threads()
    try:
        prepare_device("cpu", None)
        assert torch.get_num_threads() == before
        prepare_device("cpu", 2)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
