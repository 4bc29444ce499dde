from argparse import ArgumentTypeError

import pytest
import torch

from dartboard.cli.arguments import above_zero, image_shape, number, positive, prepare_device
from dartboard.errors import OptionError


def test_numbers_and_shapes_are_read() -> None:
    assert positive("36") == 36
    assert positive("100000") == 100_000
    assert image_shape("3x32x48") == (3, 32, 48)
    assert image_shape("1X8X8") == (1, 8, 8)


@pytest.mark.parametrize(
    "text", ["0", "00", "-3", "1.5", "", "many", "²", "1_000", " 3", "100001", "9" * 5000]
)
def test_what_is_no_count_is_refused_with_its_text(text: str) -> None:
    with pytest.raises(ArgumentTypeError, match="a whole number from 1 to 100,000") as caught:
        positive(text)
    assert repr(text) in str(caught.value)


@pytest.mark.parametrize("text", ["32x32", "3x32x32x1", "3,32,32", "32", ""])
def test_what_is_no_shape_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ArgumentTypeError, match="like 3x32x32"):
        image_shape(text)


def test_a_shape_has_no_empty_side() -> None:
    with pytest.raises(ArgumentTypeError, match="from 1 to 100,000, got '0'"):
        image_shape("3x0x32")


def test_finite_numbers_are_read() -> None:
    assert [number(text) for text in ("-1.5", "0", "1e-3")] == [-1.5, 0.0, 0.001]
    assert above_zero("0.25") == 0.25


@pytest.mark.parametrize("text", ["nan", "inf", "-inf", "1e999", "", "x"])
def test_what_is_no_finite_number_is_refused_with_its_text(text: str) -> None:
    with pytest.raises(ArgumentTypeError, match=f"expected a number, got '{text}'"):
        number(text)


@pytest.mark.parametrize("text", ["0", "-1", "nan", "inf", "x"])
def test_what_is_not_above_zero_is_refused_with_its_text(text: str) -> None:
    with pytest.raises(ArgumentTypeError, match=f"expected a number above 0, got '{text}'"):
        above_zero(text)


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
