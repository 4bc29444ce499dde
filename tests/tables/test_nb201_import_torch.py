import io
import os
import pickle
import warnings
import zipfile
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from dartboard.errors import TableError
from dartboard.tables.nb201_import import START_OF_LEGACY, START_OF_ZIP, read_legacy, read_zip
from helpers.pickle_calls import Calls

READERS = {False: read_legacy, True: read_zip}
ZIPPED = pytest.mark.parametrize("zipped", [False, True])


def saved(value: object, zipped: bool) -> bytes:
    """What torch.save writes, as of before torch 1.6 or as of later."""
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the old kind of storages
        torch.save(value, file, _use_new_zipfile_serialization=zipped)
    return file.getvalue()


def keep(_: dict[Any, Any]) -> None:
    """Takes nothing out."""


def read(data: bytes, zipped: bool) -> Any:
    return READERS[zipped](io.BytesIO(data), keep)


@ZIPPED
def test_what_was_saved_is_read(zipped: bool) -> None:
    value = {"a": [1, 2.5], ("b", 1): {"c": None}}
    data = saved(value, zipped)
    assert data.startswith(START_OF_ZIP if zipped else START_OF_LEGACY)
    assert read(data, zipped) == value


@ZIPPED
@pytest.mark.parametrize(
    "tensor",
    [
        torch.ones(2, 3),
        torch.tensor(5),
        torch.ones(4, dtype=torch.float64)[1:],
        torch.ones(4).half(),
        torch.ones(4).bfloat16(),
        torch.tensor([True]),
        nn.Parameter(torch.ones(2)),
    ],
)
def test_tensors_are_left_out(zipped: bool, tensor: torch.Tensor) -> None:
    assert read(saved({"a": tensor, "b": [tensor, 1]}, zipped), zipped) == {"a": None, "b": [None, 1]}


@ZIPPED
def test_the_weights_of_a_network_are_left_out(zipped: bool) -> None:
    weights = nn.Sequential(nn.Conv2d(3, 2, 1), nn.BatchNorm2d(2)).state_dict()
    found = read(saved({"weights": dict(weights), "epochs": 200}, zipped), zipped)
    assert found == {"weights": dict.fromkeys(weights), "epochs": 200}


@ZIPPED
def test_nothing_is_called(zipped: bool, tmp_path: Path) -> None:
    data = saved({"a": Calls(os.system, f"touch {tmp_path / 'mark'}")}, zipped)
    with pytest.raises(TableError, match=r"^refused: it asks for (posix|os)\.system, which plain"):
        read(data, zipped)
    assert not (tmp_path / "mark").exists()


@ZIPPED
def test_the_callers_trimming_is_used(zipped: bool) -> None:
    data = saved({"a": {"b": 1}}, zipped)
    assert READERS[zipped](io.BytesIO(data), lambda made: made.pop("b", None)) == {"a": {}}


@ZIPPED
def test_a_file_that_is_cut_off(zipped: bool) -> None:
    whole = saved({"a": list(range(100))}, zipped)
    for length in (0, 3, 10, 20, 60, 200):
        with pytest.raises(TableError, match=r"no (whole )?(pickle|file of torch.save)"):
            read(whole[:length], zipped)


def test_a_file_of_another_protocol() -> None:
    endless = b"\x80\x02)" + b"q\x00h\x00\x86" * 64 + b"."  # a tuple of itself, twice: 2 ** 64 values
    for protocol in (pickle.dumps(1002), endless):
        with pytest.raises(TableError, match="of another protocol than 1001"):
            read(START_OF_LEGACY + protocol, zipped=False)


def archive(**files: bytes) -> bytes:
    """A zip archive with files, in a folder each."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as own:
        for folder, data in files.items():
            own.writestr(f"{folder}/data.pkl", data)
    return made.getvalue()


def test_other_archives() -> None:
    one = pickle.dumps([1], 2)
    assert read(archive(a=one), zipped=True) == [1]
    with pytest.raises(TableError, match=r"no file of torch.save: a zip archive with 0 files data.pkl"):
        read(archive(), zipped=True)
    with pytest.raises(TableError, match=r"a zip archive with 2 files data.pkl"):
        read(archive(a=one, b=one), zipped=True)


def test_an_archive_whose_checksum_is_another() -> None:
    data = archive(a=pickle.dumps(["some text"], 2) + b"rest")
    assert data.count(b"some text") == data.count(b"rest") == 1
    for changed in (data.replace(b"some text", b"same text"), data.replace(b"rest", b"test")):
        with pytest.raises(TableError, match=r"no whole file of torch.save .Bad CRC-32"):
            read(changed, zipped=True)
