import io
import os
import pickle
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dartboard.data import load_dataset
from dartboard.errors import DataError
from dartboard.utils.unpickler import read_arrays
from helpers.image_folders import cifar10_python, dump
from helpers.pickle_calls import Calls

VALUES: dict[str, Any] = {
    "bytes": np.arange(12, dtype=np.uint8).reshape(3, 4),
    "fortran": np.asfortranarray(np.arange(12).reshape(3, 4)),
    "big": np.arange(3, dtype=">i4"),
    "real": np.array([0.5, -1]),
    "truth": np.array([True, False]),
    "empty": np.zeros((0, 3), np.uint8),
}


def read(data: bytes) -> dict[str, Any]:
    """What is read from a pickle with the errors of data sets."""
    return read_arrays(io.BytesIO(data), DataError)


@pytest.mark.parametrize("protocol", range(6))
def test_arrays_are_read_as_they_were_written(protocol: int) -> None:
    found = read(pickle.dumps(VALUES, protocol))
    assert found.keys() == VALUES.keys()
    for name, array in VALUES.items():
        assert found[name].dtype == array.dtype
        assert np.array_equal(found[name], array)


@pytest.mark.parametrize("protocol", range(6))
def test_containers_and_plain_values_are_read(protocol: int) -> None:
    value = {
        "list": [1, 2.5, None, True],
        "tuple": ((1,), {"a": [2]}),
        "bytes": b"\xff\0",
        "empty": b"",
        "number": np.int64(7),
    }
    assert read(pickle.dumps(value, protocol)) == value


@pytest.mark.parametrize(
    ("function", "args", "name"),
    [
        (os.system, ("touch {}",), "posix.system"),
        (eval, ("__import__('os').system('touch {}')",), "builtins.eval"),
        (getattr, ("", "join"), "builtins.getattr"),
        (subprocess.Popen, (["touch", "{}"],), "(subprocess|commands).Popen"),
        (np.load, ("{}",), "numpy.load"),
        (np.memmap, ("{}", "u1", "w+", 0, 5), "numpy.memmap"),
        (bytearray, (10,), "builtins.bytearray"),
    ],
)
@pytest.mark.parametrize("protocol", range(6))
def test_whatever_else_a_file_asks_for_is_refused_and_not_called(
    tmp_path: Path, function: Any, args: tuple[Any, ...], name: str, protocol: int
) -> None:
    if function is bytearray and protocol == 5:
        pytest.skip("a byte array is a plain value there")
    mark = tmp_path / "mark"
    filled = tuple(arg.format(mark) if isinstance(arg, str) else arg for arg in args)
    data = pickle.dumps({"data": Calls(function, *filled)}, protocol)
    with pytest.raises(DataError, match=rf"refused: it asks for (numpy\.lib\..*|{name}|__builtin__\..*)"):
        read(data)
    assert not mark.exists()


def test_a_malicious_batch_is_named(tmp_path: Path) -> None:
    cifar10_python(tmp_path)
    dump(tmp_path / "test_batch", {b"data": Calls(os.system, f"touch {tmp_path / 'mark'}")})
    with pytest.raises(DataError, match=r"/test_batch: refused: it asks for (posix|os)\.system"):
        load_dataset(str(tmp_path))
    assert not (tmp_path / "mark").exists()


def test_a_large_number_of_a_value_takes_no_memory() -> None:
    assert read(b"\x80\x02}r\xff\xff\xff\x7f.") == {}


@pytest.mark.parametrize(
    "key",
    [
        b")" + b"\x85" * 300_000,  # a tuple in a tuple in a tuple
        b")" + b"q\x00h\x00\x86" * 64,  # a tuple of itself, twice: 2 ** 64 values
        b"N",
    ],
)
def test_keys_that_would_keep_one_busy_or_crash_are_refused(key: bytes) -> None:
    for opcode in (b"\x80\x02}%bK\x01s.", b"\x80\x02(%bK\x01d.", b"\x80\x02}(%bK\x01u."):
        with pytest.raises(DataError, match="refused: it has a dictionary whose keys are not texts"):
            read(opcode % key)


@pytest.mark.parametrize("place", ["code", "shape", "encoding"])
def test_values_without_end_are_not_shown(place: str) -> None:
    bomb = b")" + b"q\x00h\x00\x86" * 64
    opcodes = {
        "code": b"cnumpy\ndtype\n" + bomb + b"\x85R",
        "shape": b"cnumpy.core.multiarray\n_reconstruct\n)R(K\x01" + bomb + b"NNNtb",
        "encoding": b"c_codecs\nencode\nX\x01\x00\x00\x00a" + bomb + b"\x86R",
    }
    with pytest.raises(DataError):
        read(b"\x80\x02}U\x04data" + opcodes[place] + b"s.")


@pytest.mark.parametrize("name", [b"_codecs\nencode", b"numpy\ndtype", b"numpy\nndarray"])
def test_what_is_named_cannot_be_changed(name: bytes) -> None:
    with pytest.raises(DataError, match="refused: it changes a Global"):
        read(b"\x80\x02c" + name + b"\n}U\x0c__defaults__Nsb.")
    with pytest.raises(DataError, match="refused: it changes a list"):
        read(b"\x80\x02]}b.")


def test_an_array_without_numbers_is_an_error() -> None:
    with pytest.raises(DataError, match="an array is damaged: it has no numbers"):
        read(b"\x80\x02}U\x04datacnumpy.core.multiarray\n_reconstruct\n)Rs.")
    with pytest.raises(DataError, match="by the name of all arrays"):
        read(b"\x80\x02}U\x04datacnumpy\nndarray\n)Rs.")


@pytest.mark.parametrize(
    "opcodes",
    [b"K\x01a.", b"]K\x01K\x02s.", b"]K\x01t.", b"a.", b".", b"K\x01)R.", b"}K\x01\x93.", b"h\x07."],
)
def test_opcodes_that_do_not_fit_together_are_errors(opcodes: bytes) -> None:
    with pytest.raises(DataError):
        read(b"\x80\x02" + opcodes)


@pytest.mark.parametrize("code", ["(", "u3", "u1,u1", "(9,9)u1", "O8", "V1", "", "u1\0", "i" * 999])
def test_types_that_make_no_numbers_are_refused(code: str) -> None:
    data = pickle.dumps({"data": np.arange(6, dtype=np.uint8)}, 2)
    written = b"X\x02\x00\x00\x00u1"
    assert data.count(written) == 1
    text = code.encode()
    with pytest.raises(DataError, match="only plain numbers are read"):
        read(data.replace(written, b"X" + len(text).to_bytes(4, "little") + text))


@pytest.mark.parametrize("opcode", [b"\x82\x01.", b"Pname\n.", b"(c_codecs\nencode\no."])
def test_opcodes_that_nothing_needs_are_refused(opcode: bytes) -> None:
    with pytest.raises(DataError, match=r"refused: it has the opcode (EXT1|PERSID|OBJ)"):
        read(b"\x80\x02" + opcode)


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.array([{}], object), "something else than plain numbers"),
        (np.array(["text"]), "an array of type '<U4'; only plain numbers"),
        (np.zeros(2, [("a", "u1"), ("b", "f4")]), r"an array of type '\|V5'; only plain numbers"),
        (np.array(["2026-01-01"], "M8[D]"), "an array of type '<M8'"),
    ],
)
@pytest.mark.parametrize("protocol", [2, 5])
def test_arrays_of_anything_but_numbers_are_refused(array: Any, message: str, protocol: int) -> None:
    with pytest.raises(DataError, match=message):
        read(pickle.dumps({"data": array}, protocol))


def test_arrays_that_claim_more_than_they_hold_are_refused() -> None:
    data = pickle.dumps({"data": np.arange(6, dtype=np.uint8).reshape(2, 3)}, 2)
    assert data.count(b"K\x02K\x03\x86") == 1
    with pytest.raises(DataError, match=r"an array of shape \[2, 200\] has 6 bytes"):
        read(data.replace(b"K\x02K\x03\x86", b"K\x02K\xc8\x86"))


@pytest.mark.filterwarnings("ignore:invalid escape:DeprecationWarning")
def test_every_cut_and_every_flipped_byte_is_an_error_or_a_value() -> None:
    whole = pickle.dumps({b"data": np.arange(8, dtype=np.uint8).reshape(2, 4), b"labels": [1, 2]}, 2)
    for place in range(len(whole)):
        with pytest.raises(DataError):
            read(whole[:place])
    chance = np.random.default_rng(0)
    for _ in range(3000):
        data = bytearray(whole)
        data[chance.integers(len(data))] = chance.integers(256)
        try:
            read(bytes(data))
        except DataError as error:
            assert "\n" not in str(error)  # noqa: PT017


@pytest.mark.parametrize(
    "data", [b"", b"no pickle", b"\x80\x02.", b"\x80\xff", pickle.dumps([]), pickle.dumps({1: 2})]
)
def test_other_contents_are_refused(data: bytes) -> None:
    with pytest.raises(DataError):
        read(data)
