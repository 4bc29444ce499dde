import pytest
import torch

from dartboard.errors import ModelError
from dartboard.export import export_model, open_exported
from dartboard.space import SPACES


@pytest.mark.parametrize("space", list(SPACES))
@pytest.mark.product(keep=4)
def test_the_program_says_what_the_model_says(tmp_path, make_model, space):
    model = make_model(space, input=(3, 9, 11), auxiliary=True)
    assert export_model(model, tmp_path / "net.pt", "torchscript").difference < 1e-5


def test_it_runs_without_dartboard(tmp_path, make_model, alone):
    model = make_model("darts", classes=4, input=(1, 9, 9))
    export_model(model, tmp_path / "net.pt", "torchscript")
    program = f"""
import json, warnings
warnings.simplefilter("ignore")
extra = {{"about.json": ""}}
program = torch.jit.load({str(tmp_path / "net.pt")!r}, _extra_files=extra)
about = json.loads(extra["about.json"])
assert about["classes"] == {list(model.classes)!r}
assert about["mean"] == [100.0] and about["input"] == [1, 9, 9]
assert abs(about["unit_deviation"][0] - 50 / 255) < 1e-9
check(program)
"""
    alone(model, tmp_path, program)


def test_files_that_are_no_programs(tmp_path):
    (tmp_path / "net.pt").write_bytes(b"nothing")
    with pytest.raises(ModelError, match="not a TorchScript program"):
        open_exported(tmp_path / "net.pt", torch.device("cpu"))
