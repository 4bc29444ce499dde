import zipfile
from pathlib import Path

import pytest
import torch

from dartboard.errors import ModelError
from dartboard.export import export_model, open_exported


@pytest.mark.parametrize("space", ["darts", "xnas", "asm", "nb201", "oneshot3", "nano"])
def test_the_program_says_what_the_model_says(tmp_path, make_model, space):
    model = make_model(space, input=(3, 9, 11), auxiliary=True)
    assert export_model(model, tmp_path / "net.pt2", "pt2").difference < 1e-5


def test_it_runs_without_dartboard(tmp_path, make_model, alone):
    model = make_model("darts", classes=4, input=(1, 9, 9))
    export_model(model, tmp_path / "net.pt2", "pt2")
    program = f"""
import json
extra = {{"about.json": ""}}
program = torch.export.load({str(tmp_path / "net.pt2")!r}, extra_files=extra)
about = json.loads(extra["about.json"])
assert about["classes"] == {list(model.classes)!r}
assert about["mean"] == [100.0] and about["input"] == [1, 9, 9]
check(program.module())
"""
    alone(model, tmp_path, program)


class Bomb:
    """Runs something when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def test_pickles_in_an_archive_run_nothing(tmp_path, make_model):
    export_model(make_model("nano"), tmp_path / "net.pt2", "pt2")
    torch.save(Bomb(tmp_path / "ran"), tmp_path / "bomb")
    with zipfile.ZipFile(tmp_path / "net.pt2") as good, zipfile.ZipFile(tmp_path / "bad.pt2", "w") as bad:
        pickled = [own for own in good.namelist() if own.endswith(".pt")]
        assert pickled
        for name in good.namelist():
            bad.writestr(name, (tmp_path / "bomb").read_bytes() if name in pickled else good.read(name))
    with pytest.raises(ModelError, match=r"not a program of torch\.export"):
        open_exported(tmp_path / "bad.pt2", torch.device("cpu"))
    assert not (tmp_path / "ran").exists()
    assert torch.load is not None
    torch.load(tmp_path / "bomb", weights_only=False)
    assert (tmp_path / "ran").exists()  # the bomb is one


def test_files_that_are_no_programs(tmp_path):
    (tmp_path / "net.pt2").write_bytes(b"nothing")
    with pytest.raises(ModelError, match=r"not a program of torch\.export"):
        open_exported(tmp_path / "net.pt2", torch.device("cpu"))
