import collections
import io
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dartboard.errors import DataError, TableError
from dartboard.utils.unpickler import ALLOWED, read_pickle
from helpers.pickle_calls import Calls

VALUE: dict[Any, Any] = {
    "list": [1, 2.5, None, True, -(10**30)],
    ("cifar10", 777): {"a": (1, "b"), "set": {1, 2}},
    0: b"\xff",
}


def read_plain(data: bytes, **options: Any) -> Any:
    """What is read from a pickle with the errors of oracles."""
    return read_pickle(io.BytesIO(data), TableError, **options)


@pytest.mark.parametrize("protocol", range(2, 6))
def test_plain_values_are_read(protocol: int) -> None:
    assert read_plain(pickle.dumps(VALUE, protocol)) == VALUE


@pytest.mark.parametrize("protocol", range(2, 6))
def test_ordered_dictionaries_become_plain_ones(protocol: int) -> None:
    found = read_plain(pickle.dumps(collections.OrderedDict({"b": 1, "a": 2}), protocol))
    assert type(found) is dict
    assert list(found.items()) == [("b", 1), ("a", 2)]


@pytest.mark.parametrize("protocol", range(2, 6))
@pytest.mark.parametrize("kind", [list, dict, int, float, set, None])
def test_dictionaries_that_make_what_they_lack_become_plain_ones(protocol: int, kind: Any) -> None:
    found = read_plain(pickle.dumps(collections.defaultdict(kind, {"b": 1}), protocol))
    assert type(found) is dict
    assert found == {"b": 1}


@pytest.mark.parametrize("protocol", range(2, 6))
@pytest.mark.parametrize("number", [np.float64(0.1), np.float32(0.5), np.int64(-7), np.int32(7)])
def test_numbers_of_numpy_become_plain_ones(number: Any, protocol: int) -> None:
    found = read_plain(pickle.dumps(number, protocol))
    assert found == number.item()
    assert type(found) is type(number.item())


@pytest.mark.parametrize("core", ["core", "_core"])
def test_numpy_before_and_after_it_moved_its_parts(core: str) -> None:
    data = pickle.dumps(np.float64(2.5), 3).replace(b"numpy._core.", f"numpy.{core}.".encode())
    assert f"numpy.{core}.multiarray".encode() in data
    assert read_plain(data) == 2.5


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
    with pytest.raises(TableError, match=f"refused: it asks for {name}"):
        read_plain(pickle.dumps({"x": Calls(function, *args)}, 4))
    assert not mark.exists()


@pytest.mark.parametrize(
    "state", [b"}X\x01\x00\x00\x00aX\x01\x00\x00\x00bs", b"N}X\x05\x00\x00\x00_callX\x01\x00\x00\x00bs\x86"]
)
def test_what_is_named_cannot_be_changed(state: bytes) -> None:
    for module, name in ALLOWED:
        with pytest.raises(TableError, match="refused: it changes"):
            read_plain(b"\x80\x02c" + f"{module}\n{name}\n".encode() + state + b"b.")
    assert read_plain(pickle.dumps(collections.OrderedDict(a=1))) == {"a": 1}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (Calls(collections.OrderedDict, [("a", 1)]), "a dictionary is damaged"),
        (Calls(collections.defaultdict, "list"), "a dictionary is damaged"),
        (Calls(list, "ab"), "refused: it calls what can only be"),
        (Calls(dict, [((((),),), 1)]), "refused: it calls what can only be"),
        (Calls(set, "ab"), "a set is damaged"),
        (Calls(set, [((),)]), "refused: it has a set whose members are not texts"),
        (np.str_("abc"), "an array of type '<U3'; only plain numbers"),
        (np.complex128(1), "an array of type '<c16'; only plain numbers"),
    ],
)
def test_stand_ins_check_what_they_are_given(call: object, message: str) -> None:
    with pytest.raises(TableError, match=message):
        read_plain(pickle.dumps(call, 4))


def test_a_number_whose_first_byte_is_the_highest() -> None:
    assert read_plain(pickle.dumps(np.array([1.5], ">f8")[0], 4)) == 1.5


def test_a_number_without_its_type() -> None:
    scalar = np.float64(1).__reduce__()[0]
    with pytest.raises(TableError, match="an array holds something else than plain numbers"):
        read_plain(pickle.dumps(Calls(scalar, "f8", b"12345678"), 4))
    with pytest.raises(TableError, match=r"an array of shape \[1\] has 7 bytes"):
        read_plain(pickle.dumps(Calls(scalar, np.dtype("f8"), b"1234567"), 4))


@pytest.mark.parametrize("cut", [0, 1, 5, -1])
def test_damaged_pickles_are_refused(cut: int) -> None:
    whole = pickle.dumps(VALUE, 4)
    with pytest.raises(TableError, match="no whole pickle"):
        read_plain(whole[:cut] if cut >= 0 else whole[:-1])


@pytest.mark.parametrize(
    "key",
    [
        b")" + b"\x85" * 300_000,  # a tuple in a tuple in a tuple
        b")" + b"q\x00h\x00\x86" * 64,  # a tuple of itself, twice: 2 ** 64 values
        b"(" + b"K\x01" * 9 + b"t",  # a long one
        b"\x8a\x09" + (1 << 61).to_bytes(9, "little"),  # a number like which many can fall into one place
        b"\x8a\x09" + (1 << 61).to_bytes(9, "little") + b"\x85",
        b"N",
        b"]",
    ],
)
@pytest.mark.parametrize(
    ("opcodes", "what"),
    [
        (b"\x80\x02}%bK\x01s.", "a dictionary whose keys"),
        (b"\x80\x02(%bK\x01d.", "a dictionary whose keys"),
        (b"\x80\x02}(%bK\x01u.", "a dictionary whose keys"),
        (b"\x80\x04\x8f(%b\x90.", "a set whose members"),
        (b"\x80\x02cbuiltins\nset\n](%be\x85R.", "a set whose members"),
    ],
)
def test_keys_that_would_keep_one_busy_or_crash_are_one_line(key: bytes, opcodes: bytes, what: str) -> None:
    message = f"refused: it has {what} are not texts or numbers of 60 bits, or short tuples of them"
    with pytest.raises(TableError, match=f"^{message}$"):
        read_plain(opcodes % key)


def test_every_dictionary_is_trimmed() -> None:
    seen: list[dict[object, object]] = []
    for opcodes in (b"\x80\x02(K\x01K\x02d.", b"\x80\x02}K\x01K\x02s.", b"\x80\x02}(K\x01K\x02u."):
        read_pickle(io.BytesIO(opcodes), TableError, trim=seen.append)
    assert seen == [{1: 2}] * 3


class NoMemory(io.BytesIO):
    """A file on a machine whose memory is used up."""

    def read(self, size: int | None = -1, /) -> bytes:  # noqa: ARG002
        raise MemoryError


def test_too_little_memory_is_no_damage() -> None:
    with pytest.raises(TableError, match=r"^needs more memory than there is, or is made to harm$"):
        read_pickle(NoMemory(b"N."), TableError)


@pytest.mark.parametrize(
    "opcodes",
    [
        b"K\x01(K\x02\x90.",  # into what is not a set
        b"}(K\x01u.",  # a key without its value
        b"t.",  # a tuple without its beginning
        b"K\x01(.",  # the value is before the mark
        b"(K\x01K\x02\x86t0.",
        b"\xff.",  # no such opcode
        b"h\x00.",
    ],
)
def test_opcodes_that_do_not_fit_together_are_errors(opcodes: bytes) -> None:
    with pytest.raises(TableError, match=r"no whole pickle|refused: it has the opcode POP"):
        read_plain(b"\x80\x04" + opcodes)


def test_the_error_is_the_callers() -> None:
    with pytest.raises(DataError, match="no whole pickle"):
        read_pickle(io.BytesIO(b"x"), DataError)


def test_names_in_errors_are_fit_for_a_line() -> None:
    with pytest.raises(TableError, match=r"^refused: it asks for a\\x1b\.b, which plain values do not need$"):
        read_plain(b"\x80\x02ca\x1b\nb\n.")


def test_a_pickle_is_read_up_to_its_end() -> None:
    file = io.BytesIO(pickle.dumps(1) + pickle.dumps([2]) + b"rest")
    assert [read_pickle(file, TableError), read_pickle(file, TableError)] == [1, [2]]
    assert file.read() == b"rest"


def test_of_equal_texts_there_is_one() -> None:
    first, again = ("".join(["x-valid@", end]) for end in ("199", "199"))
    assert first is not again
    found = read_plain(pickle.dumps([first, again], 2))
    assert found[0] is found[1]


@pytest.mark.parametrize("protocol", range(6))
def test_what_is_not_needed_is_taken_out_as_it_is_made(protocol: int) -> None:
    longest = 0

    def trim(made: dict[Any, Any]) -> None:
        nonlocal longest
        longest = max(longest, len(made))
        made.pop("b", None)

    value = {"a": {"a": 1, "b": 2}, "b": 3}
    assert read_plain(pickle.dumps(value, protocol), trim=trim) == {"a": {"a": 1}}
    assert longest == 2
    assert read_plain(pickle.dumps(value, protocol)) == value


def test_more_may_be_named_if_the_caller_says_so() -> None:
    data = b"\x80\x02cown\nname\nK\x01\x85R."
    assert read_plain(data, extra_globals={("own", "name"): lambda number: [number]}) == [1]
    with pytest.raises(TableError, match=r"refused: it asks for own.name"):
        read_plain(data)


def test_values_kept_outside() -> None:
    assert read_plain(b"\x80\x02K\x07Q.", persistent_load=lambda identifier: [identifier]) == [7]
    with pytest.raises(TableError, match="refused: it has the opcode BINPERSID"):
        read_plain(b"\x80\x02K\x07Q.")
