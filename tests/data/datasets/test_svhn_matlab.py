import io
import zlib
from typing import Any

import numpy as np
import pytest
from scipy.io import savemat

from dartboard.data.datasets import svhn
from dartboard.data.datasets.svhn import read_matlab
from dartboard.errors import DataError

VALUES = np.arange(24).reshape(2, 3, 4)


def written(compressed: bool = True, **arrays: Any) -> bytes:
    file = io.BytesIO()
    savemat(file, arrays, do_compression=compressed)
    return file.getvalue()


@pytest.mark.parametrize("compressed", [True, False])
@pytest.mark.parametrize("kind", ["u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f4", "f8"])
def test_numbers_are_those_that_scipy_wrote(kind: str, compressed: bool) -> None:
    arrays = {"X": VALUES.astype(kind), "one": np.array([[7]], kind), "other_name": VALUES[0].astype(kind)}
    found = read_matlab(written(compressed, **arrays), ("X", "one", "other_name", "none"))
    assert found.keys() == arrays.keys()
    for name, array in arrays.items():
        assert found[name].dtype == array.dtype
        assert np.array_equal(found[name], array)


def test_only_what_is_wanted_is_looked_at() -> None:
    data = written(text="words", cells=np.array([{"a": 1}], object), X=VALUES)
    assert np.array_equal(read_matlab(data, ("X",))["X"], VALUES)


def element(kind: int, data: bytes) -> bytes:
    return np.array([kind, len(data)], ">u4").tobytes() + data + bytes(-len(data) % 8)


def test_the_highest_byte_may_be_first_and_numbers_may_be_stored_in_fewer_bytes() -> None:
    name = (1 << 16 | 1).to_bytes(4, "big") + b"X\0\0\0"  # a small element
    sizes = element(5, np.array([3, 2], ">i4").tobytes())
    numbers = element(4, np.array([1, 2, 300, 4, 5, 6], ">u2").tobytes())
    array = element(6, np.array([6, 0], ">u4").tobytes()) + sizes + name + numbers
    found = read_matlab(b" " * 124 + b"\1\0MI" + element(14, array), ("X",))["X"]
    assert found.dtype == np.float64
    assert found.tolist() == [[1, 4], [2, 5], [300, 6]]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ("words", "its array X is not an array of real numbers"),
        (np.array([{"a": 1}], object), "its array X is not an array of real numbers"),
        (np.array([1j]), "its array X is not an array of real numbers"),
        (np.zeros((3, 0)), r"its array X has 0 values and the shape \[3, 0\]"),
        (np.zeros((1,) * 8 + (2,)), "its array X has 9 axes"),
    ],
)
def test_what_is_no_array_of_numbers_is_refused(values: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_matlab(written(X=values), ("X",))


def test_what_grows_too_large_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    data = written(X=np.zeros(5000, np.uint8))
    assert len(data) < 1000
    monkeypatch.setattr(svhn, "LARGEST", 4000)
    with pytest.raises(DataError, match="a packed part of it does not end"):
        read_matlab(data, ("X",))


def test_elements_without_end_are_refused() -> None:
    with pytest.raises(DataError, match="more than 1,000 elements"):
        read_matlab(written()[:128] + bytes(8) * 1001, ("X",))
    twice = zlib.compress(np.array([15, 0], "<u4").tobytes())
    with pytest.raises(DataError, match="a packed part of it has no element"):
        read_matlab(written()[:128] + np.array([15, len(twice)], "<u4").tobytes() + twice, ("X",))


@pytest.mark.parametrize("compressed", [True, False])
def test_every_changed_byte_gives_arrays_or_one_line(compressed: bool) -> None:
    whole = written(compressed, X=VALUES.astype(np.uint8), y=np.array([[1], [2]], np.uint8))
    rng = np.random.default_rng(2)
    changes = [(place, value) for place in range(124, len(whole)) for value in (0, 1, 14, 15, 127, 255)]
    changes += [(rng.integers(128, len(whole)), rng.integers(256)) for _ in range(3000)]
    refused = 0
    for place, value in changes:
        data = bytearray(whole)
        data[place] = value
        try:
            found = read_matlab(bytes(data), ("X", "y"))
        except DataError as error:
            refused += 1
            assert "\n" not in str(error)  # noqa: PT017
        else:
            assert all(array.dtype.kind in "iuf" for array in found.values())
    assert refused > 1000


@pytest.mark.parametrize("compressed", [True, False])
def test_every_cut_gives_fewer_arrays_or_one_line(compressed: bool) -> None:
    whole = written(compressed, X=VALUES, y=VALUES[0])
    for cut in range(len(whole)):
        try:
            assert read_matlab(whole[:cut], ("X", "y")).keys() < {"X", "y"}
        except DataError as error:
            assert "\n" not in str(error)  # noqa: PT017
