"""The verb `train`, through the program's own front door."""

import json
import shutil
import sys
from pathlib import Path
from random import Random

import numpy as np
import pytest

from dartboard.cli import display
from dartboard.cli.display import TrainScreen
from dartboard.cli.main import main
from dartboard.cli.render import Terminal
from dartboard.nn import load_model
from dartboard.runs import Run, list_checkpoints
from helpers.kills import PATIENCE, run_record, running_process
from helpers.train_cases import train

TINY = ("epochs=2", "batch=250", "net.channels=4", "net.auxiliary=0")
Capture = pytest.CaptureFixture[str]
pytestmark = pytest.mark.usefixtures("own_folder")


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A search that is over."""
    path = tmp_path_factory.mktemp("found") / "run"
    words = ("--method", "random", "--space", "nano", "--out", str(path), "--quiet", "--threads", "1")
    assert main(["search", *words]) == 0
    return path


def run(*words: object) -> int:
    return main(["train", *map(str, words)])


def result(capsys: Capture, *words: object) -> dict:
    assert run(*words, "--json", "--threads", "1") == 0
    return json.loads(capsys.readouterr().out)


def test_a_search_is_trained_on_its_own_images(found: Path, capsys: Capture) -> None:
    facts = result(capsys, found, *TINY)
    path = Path(facts["run"])
    assert path == Path("runs/train-run-digits-s0")
    assert facts["epochs"] == 2
    assert facts["last"]["test"]["examples"] == 297
    assert len(facts["last"]["test"]["confusion"]) == 10
    assert facts["parameters"] == sum(
        own.numel() for own in load_model(path / "last.safetensors").net.parameters()
    )
    config = Run.read(path).config
    assert config["kind"] == "train"
    assert config["data"]["name"] == "digits"
    assert load_model(path / "best.safetensors").facts["data"] == "digits"


def test_the_same_settings_give_the_same_bits(found: Path, capsys: Capture) -> None:
    first = result(capsys, found, *TINY)
    again = result(capsys, "--config", Path(first["run"]) / "config.yaml")
    assert again["digest"] == first["digest"]
    assert again["run"] == "runs/train-cell-digits-s0"
    assert result(capsys, found, *TINY, "--seed", 1)["digest"] != first["digest"]


def test_settings_from_everywhere(found: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("mine.yaml").write_text("batch: 200\nweights: {lr: 0.5, clip: 3.0}\n")
    monkeypatch.setenv("DARTBOARD_TRAIN_WEIGHTS__LR", "0.2")
    path = result(
        capsys, found, "--recipe", "quick", "--config", "mine.yaml", "--epochs", 1, "net.channels=2"
    )["run"]
    config = Run.read(path).config
    assert (config["epochs"], config["batch"], config["net"]["channels"]) == (1, 200, 2)
    assert (config["weights"]["lr"], config["weights"]["clip"]) == (0.2, 3.0)
    assert config["weights"]["by"] == "step"  # the recipe's


def test_a_configuration_repeats_the_training_of_another_space(capsys: Capture) -> None:
    """Cells without an op, another number of them, and a space of one's own."""
    Path("mine.yaml").write_text(
        "name: mine\nstack: {cells: 4}\ncell:\n  inputs: 2\n  nodes: 4\n"
        "  ops: [skip_connect, sep_conv_3x3]\n  edges: all\n  keep: 2\n  output: [2, 3]\n"
    )
    for place, (space, cells) in enumerate((("nb201", 2), ("mine.yaml", 3))):
        words = ("--method", "random", "--space", space, f"space.cells={cells}", "--out", f"own{place}")
        assert main(["search", *words, "--quiet"]) == 0
        capsys.readouterr()
        first = result(capsys, f"own{place}", *TINY, "epochs=1")
        again = result(capsys, "--config", Path(first["run"]) / "config.yaml")
        assert again["digest"] == first["digest"]


@pytest.mark.parametrize("cells", [3, 4])
def test_a_published_cell_in_a_stack_of_its_own(capsys: Capture, cells: int) -> None:
    facts = result(capsys, "darts-v2", *TINY, "epochs=1", f"net.cells={cells}")
    assert load_model(Path(facts["run"]) / "last.safetensors").net.space.stack.cells == cells


def test_a_genotype_as_text_and_in_a_file(capsys: Capture) -> None:
    text = "|nor_conv_3x3~0|+|skip_connect~0|nor_conv_1x1~1|+|none~0|avg_pool_3x3~1|nor_conv_3x3~2|"
    Path("cell.txt").write_text(text)
    words = (*TINY, "epochs=1", "--space", "nb201", "net.cells=1")
    both = [result(capsys, cell, *words) for cell in (text, "cell.txt")]
    assert both[0]["digest"] == both[1]["digest"]
    assert Path(both[0]["run"]).name == "train-cell-digits-s0"


def images(size: int, channels: int, classes: int = 3, count: int = 30) -> str:
    """An .npz file of random images."""
    rng, labels = np.random.default_rng(0), np.arange(count) % classes
    x = rng.integers(0, 256, (count, size, size, channels), dtype=np.uint8)
    np.savez("images.npz", x_train=x, y_train=labels, x_test=x, y_test=labels)
    return "images.npz"


def test_a_cell_goes_to_other_images(found: Path, capsys: Capture) -> None:
    facts = result(
        capsys, found, "--data", images(20, 3), "epochs=1", "batch=10", "net.channels=4", "net.auxiliary=0"
    )
    model = load_model(Path(facts["run"]) / "last.safetensors")
    assert model.net.config.input == (3, 20, 20)
    assert model.classes == ("0", "1", "2")


def test_other_images_do_not_inherit_a_size(capsys: Capture) -> None:
    words = ("--method", "random", "--space", "nano", "data.size=16", "--out", "sized", "--quiet")
    assert main(["search", *words]) == 0
    capsys.readouterr()
    own = Run.read(result(capsys, "sized", *TINY, "epochs=1")["run"]).config["data"]
    assert (own["name"], own["size"]) == ("digits", 16)
    more = (*TINY, "epochs=1", "batch=10")
    other = Run.read(result(capsys, "sized", *more, "--data", images(20, 3))["run"]).config["data"]
    assert other["size"] is None


def test_what_is_printed(found: Path, capsys: Capture) -> None:
    assert run(found, *TINY, "--threads", 1) == 0
    out = capsys.readouterr().out
    lines = out.splitlines()
    assert lines[0] == "training 1 cell of nano on digits: 2 epochs of 6 steps, on cpu"
    assert lines[2].startswith("forecast: ")
    assert lines[3].startswith("epoch 1 of 2  loss ")
    for words in ("of 297 images", "too good", "parameters", "dartboard export runs/train-run-digits-s0"):
        assert words in out
    assert run(found, *TINY, "--threads", 1, "data.valid=0.2", "--quiet") == 0
    out = capsys.readouterr().out
    assert "too good" not in out
    assert "epoch 1 of 2" not in out
    assert "of valid images, after epoch" in out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "train needs a CELL"),
        (["darts-v3"], "no published cell called 'darts-v3'; did you mean 'darts-v2'?"),
        (["nowhere/cell.json"], "there is no file 'nowhere/cell.json' to read a genotype from"),
        (["darts-v2", "--space", "nb201"], "space 'nb201' expects the cells cell"),
        (["darts-v2", "--recipe", "quik"], "no training recipe called 'quik'; did you mean 'quick'?"),
        (["darts-v2", "net.chanels=3"], "no setting called 'net.chanels'; did you mean 'net.channels'?"),
        (["darts-v2", "weights.lr=-1"], "weights.lr=-1: input should be greater than 0"),
        (["darts-v2", "weights.schedule=cosin"], "no schedule called 'cosin'; did you mean 'cosine'?"),
        (
            ["darts-v2", "--data", "digit"],
            "no data set, file or folder called 'digit'; did you mean 'digits'?",
        ),
        (["darts-v2", "--data", "none.npz"], "there is no file or folder 'none.npz'"),
        (
            ["darts-v2", "data.cutout=16"],
            "a cutout of 16 leaves little of images of 8x8; set data.cutout to less than 8",
        ),
        (
            ["darts-v2", "data.cutout=0", "batch=100000"],
            "a batch of 100,000 needs more than the 1,500 examples",
        ),
        (["darts-v2", "--fall-back"], "name the run with --resume"),
        (
            ["darts-v2", "--resume", "somewhere"],
            "--resume takes the cell of the run; leave out darts-v2",
        ),
        (["--resume", "somewhere"], "somewhere is not a run: there is no such directory"),
        (["darts-v2", "--space", "asm"], "space 'asm' expects the cells"),
    ],
)
def test_a_mistake_is_one_line(words: list[str], said: str, capsys: Capture) -> None:
    assert run(*words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("dartboard: error: ")
    assert said in err
    assert err.count("\n") == 1
    assert not Path("runs").exists()


def test_a_folder_that_cannot_be_written(found: Path, capsys: Capture) -> None:
    Path("file").write_text("in the way")
    assert run(found, *TINY, "--out", "file/run") == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert Path("file").read_text() == "in the way"


def test_a_run_is_never_overwritten(found: Path, capsys: Capture) -> None:
    path = Path(result(capsys, found, *TINY)["run"])
    before = {own: own.read_bytes() for own in path.rglob("*") if own.is_file()}
    assert run(found, *TINY, "--out", path) == 2
    assert f"already holds a run; continue it with --resume {path}" in capsys.readouterr().err
    assert {own: own.read_bytes() for own in path.rglob("*") if own.is_file()} == before


def test_a_finished_training_says_its_result_again(found: Path, capsys: Capture) -> None:
    first = result(capsys, found, *TINY)
    again = result(capsys, "--resume", first["run"])
    assert again["digest"] == first["digest"]
    assert again["last"] == first["last"]


def test_a_run_of_another_kind_is_refused(found: Path, capsys: Capture) -> None:
    assert run("--resume", found) == 2
    assert f"is a run of dartboard search; resume it with: dartboard search --resume {found}" in (
        capsys.readouterr().err
    )


def test_a_checkpoint_of_another_network_is_refused(found: Path, capsys: Capture) -> None:
    """Nothing is lost: with the right checkpoint back in its place the run is what it was."""
    one, other = (Path(result(capsys, found, *TINY, f"net.channels={n}")["run"]) for n in (4, 6))
    shutil.move(one / "checkpoints", "kept")
    shutil.copytree(other / "checkpoints", one / "checkpoints")
    digest = Run.read(one).result()["digest"]
    assert run("--resume", one) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert "the state is of other settings: net.channels was 6, is 4" in err
    shutil.rmtree(one / "checkpoints")
    shutil.move("kept", one / "checkpoints")
    assert result(capsys, "--resume", one)["digest"] == digest


def test_images_that_changed_are_refused(found: Path, capsys: Capture) -> None:
    words = ("--data", images(8, 1), *TINY, "epochs=1", "batch=10")
    path = result(capsys, found, *words)["run"]
    images(8, 1, count=33)
    assert run("--resume", path) == 2
    assert "the images are not those that the state was trained on" in capsys.readouterr().err


def program(*words: object):
    return running_process(
        [Path(sys.executable).with_name("dartboard"), "train", "--threads", 1, "--json", *words]
    )


@pytest.mark.slow
def test_the_program_is_killed_and_ends_with_the_same_bits(found: Path, tmp_path: Path) -> None:
    rng, path = Random(3), tmp_path / "run"
    words = (found, "epochs=30", "batch=100", "net.channels=8", "net.drop_path=0.3", "weights.ema=0.9")
    words = (*words, "net.auxiliary=0", "data.cutout=2", "data.mixup=0.5", "checkpoint.steps=3")
    with program(*words, "--out", path) as process:
        wanted = rng.randint(2, 8)
        while (
            not path.exists() or len(list_checkpoints(path / "checkpoints")) < 2 or newest(path) < 3 * wanted
        ):
            assert process.poll() is None
        process.kill()
        assert process.wait(PATIENCE) == -9
    assert Run.read(path).state == "stopped"
    with program("--resume", path) as process:
        process.communicate(timeout=PATIENCE)
        assert process.returncode == 0
    with program(*words, "--out", tmp_path / "other") as process:
        process.communicate(timeout=PATIENCE)
    assert run_record(path) == run_record(tmp_path / "other")
    for name in ("best.safetensors", "last.safetensors"):
        assert (path / name).read_bytes() == (tmp_path / "other" / name).read_bytes()


def newest(path: Path) -> int:
    found = list_checkpoints(path / "checkpoints")
    return int(found[-1].name[5:15]) if found else 0


def test_a_curve_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(display, "PAUSE", 0.0)
    curve = TrainScreen(Terminal())
    train(hooks=[curve], epochs=3).fit()
    bars, words = curve.picture(10)
    assert len(bars) == 3
    assert str(words).startswith("test accuracy ")
    assert curve.picture(1) == []


def test_looking_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(display, "PAUSE", 0.0)
    assert train(hooks=[TrainScreen(Terminal())]).fit().digest == train().fit().digest


def test_from_the_weights_of_another_training(found: Path, capsys: Capture) -> None:
    """The cell, the width and the images are those of its network; the source is not needed again."""
    first = result(capsys, found, *TINY, "net.channels=5", "epochs=1", "--out", "first")
    assert run("--from", "first", "epochs=1", "batch=250", "net.auxiliary=0", "--threads", 1) == 0
    out, path = capsys.readouterr().out, Path("runs/train-first-digits-s0")
    best = Path("first/best.safetensors").resolve()
    assert f"starting from {best}: " in out
    config = Run.read(path).config
    assert (config["init"]["weights"], config["net"]["channels"]) == (str(best), 5)
    assert (path / "init.safetensors").read_bytes() == best.read_bytes()
    repeated = result(capsys, "--config", path / "config.yaml", "--out", "repeated")
    digest = json.loads((path / "result.json").read_text())["digest"]
    assert repeated["digest"] == digest != first["digest"]
    assert main(["runs", "show", str(path)]) == 0
    assert config["init"]["sha256"] in capsys.readouterr().out.replace("\n", "").replace(" ", "")
    shutil.move("first", "elsewhere")
    for inner in Path("repeated").glob("checkpoints/*"):
        shutil.rmtree(inner)
    Path("repeated/result.json").unlink()
    assert main(["runs", "check", "repeated"]) == 1
    capsys.readouterr()
    assert result(capsys, "--resume", "repeated")["digest"] == digest
    assert run("--config", path / "config.yaml") == 2
    assert "best.safetensors' to take weights from" in capsys.readouterr().err


def test_from_a_file_for_other_classes(found: Path, capsys: Capture) -> None:
    result(capsys, found, *TINY, "batch=10", "--out", "first", "--data", images(8, 1))
    shutil.copy("first/last.safetensors", "mine.safetensors")
    words = ("epochs=1", "batch=10", "net.auxiliary=0", "--threads", 1, "--no-report")
    assert run("--from", "mine.safetensors", "--data", images(8, 1, classes=4), *words) == 0
    said = "new are head.linear.weight, head.linear.bias (the classes are others, 4 of them)"
    assert said in capsys.readouterr().out
    assert load_model("runs/train-mine-images-s0/last.safetensors").classes == ("0", "1", "2", "3")
    assert run("--from", "mine.safetensors", "--data", images(8, 3), *words) == 2
    assert "the channels of images is 1 there and 3 here" in capsys.readouterr().err
    assert run("--resume", "first", "--from", "mine.safetensors") == 2
    assert "--resume takes the weights of the run; leave out --from" in capsys.readouterr().err


def test_more_epochs(found: Path, capsys: Capture) -> None:
    first = result(capsys, found, *TINY, "--out", "run")
    facts = result(capsys, "--resume", "run", "--epochs", 3)
    assert (first["epochs"], facts["epochs"]) == (2, 3)
    again = result(capsys, "--config", "run/config.yaml", "--out", "again")
    assert again["digest"] == facts["digest"] != first["digest"]
