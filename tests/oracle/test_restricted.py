import collections
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dartboard.errors import OracleError
from dartboard.oracle import restricted
from dartboard.oracle.restricted import read_plain

VALUE: dict[Any, Any] = {
    "list": [1, 2.5, None, True, -(10**30)],
    ("cifar10", 777): {"a": (1, "b"), "set": {1, 2}},
    0: b"\xff",
}


@pytest.mark.parametrize("protocol", [4, 5])
def test_plain_values_are_read(protocol: int) -> None:
    assert read_plain(pickle.dumps(VALUE, protocol)) == VALUE


@pytest.mark.parametrize("protocol", range(2, 6))
def test_ordered_dictionaries_become_plain_ones(protocol: int) -> None:
    found = read_plain(pickle.dumps(collections.OrderedDict({"b": 1, "a": 2}), protocol))
    assert type(found) is dict
    assert list(found.items()) == [("b", 1), ("a", 2)]


@pytest.mark.parametrize("number", [np.float64(0.1), np.float32(0.5), np.int64(-7), np.int32(7)])
def test_numbers_of_numpy_become_plain_ones(number: Any) -> None:
    found = read_plain(pickle.dumps(number, 4))
    assert found == number.item()
    assert type(found) is type(number.item())


@pytest.mark.parametrize("core", ["core", "_core"])
def test_numpy_before_and_after_it_moved_its_parts(core: str) -> None:
    data = pickle.dumps(np.float64(2.5), 3).replace(b"numpy._core.", f"numpy.{core}.".encode())
    assert f"numpy.{core}.multiarray".encode() in data
    assert read_plain(data) == 2.5


class Calls:
    """Calls a function when it is unpickled."""

    def __init__(self, function: Any, *args: object) -> None:
        self.call = function, args

    def __reduce__(self) -> tuple[Any, Any]:
        return self.call


@pytest.mark.parametrize(
    ("function", "args", "name"),
    [
        (os.system, ("touch {}",), "posix.system"),
        (eval, ("__import__('os').system('touch {}')",), "builtins.eval"),
        (getattr, ("", "join"), "builtins.getattr"),
        (np.array, ([1],), "numpy.array"),
    ],
)
def test_nothing_else_is_called(function: Any, args: tuple[object, ...], name: str, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    args = tuple(str(arg).format(mark) if isinstance(arg, str) else arg for arg in args)
    with pytest.raises(OracleError, match=f"refused: it asks for {name}"):
        read_plain(pickle.dumps({"x": Calls(function, *args)}, 4))
    assert not mark.exists()


@pytest.mark.parametrize(
    "state", [b"}X\x01\x00\x00\x00aX\x01\x00\x00\x00bs", b"N}X\x05\x00\x00\x00_callX\x01\x00\x00\x00bs\x86"]
)
def test_what_is_named_cannot_be_changed(state: bytes) -> None:
    for module, name in restricted.ALLOWED:
        with pytest.raises(OracleError, match="refused: it changes"):
            read_plain(b"\x80\x02c" + f"{module}\n{name}\n".encode() + state + b"b.")
    assert read_plain(pickle.dumps(collections.OrderedDict(a=1))) == {"a": 1}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (Calls(collections.OrderedDict, [("a", 1)]), "an ordered dictionary is damaged"),
        (np.dtype("U3"), "there is a number of type 'U3'"),
        (np.complex128(1), "there is a number of type 'c16'"),
        (np.array(1.0).astype(">f8")[()].dtype.newbyteorder(">"), "first byte is the highest"),
    ],
)
def test_stand_ins_check_what_they_are_given(call: object, message: str) -> None:
    with pytest.raises(OracleError, match=message):
        read_plain(pickle.dumps(call, 4))


def test_a_number_without_its_type() -> None:
    scalar = np.float64(1).__reduce__()[0]
    with pytest.raises(OracleError, match="a number of numpy's is damaged"):
        read_plain(pickle.dumps(Calls(scalar, "f8", b"12345678"), 4))
    with pytest.raises(OracleError, match="no whole pickle"):
        read_plain(pickle.dumps(Calls(scalar, np.dtype("f8"), b"1234567"), 4))


@pytest.mark.parametrize("cut", [0, 1, 5, -1])
def test_damaged_pickles_are_refused(cut: int) -> None:
    whole = pickle.dumps(VALUE, 4)
    with pytest.raises(OracleError, match="no whole pickle"):
        read_plain(whole[:cut] if cut >= 0 else whole[:-1])
