import json
import os
import re
from dataclasses import replace
from random import Random

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from dartboard.cli.evaluate import confusion_lines
from dartboard.cli.main import main
from dartboard.data import load_dataset
from dartboard.export import FORMATS, export_model
from dartboard.nn import CellNet, Model, NetConfig, pack_model
from dartboard.space import adopt, get_space
from dartboard.space.genotype import sample
from dartboard.tasks import Evaluation
from helpers import torchvision_shim
from helpers.alarm import alarm

DIGITS = tuple("0123456789")


def make_model(*, shape=(1, 8, 8), classes=DIGITS, seed=0, **facts):
    """A model that gets something right: its classifier is fitted to the training digits."""
    torch.manual_seed(seed)
    space = get_space("nano")
    net = CellNet(
        adopt(space, sample(space, Random(3))), NetConfig(channels=4, input=shape, classes=len(classes))
    )
    channels = shape[0]
    model = Model(net, classes, (4.0,) * channels, (6.0,) * channels, facts)
    if shape == (1, 8, 8):
        _fit(net)
    return replace(model, net=net.eval())


def _fit(net):
    images = load_dataset("digits").train
    x, y = (images.images.float() - 4) / 6, images.labels
    optimizer = torch.optim.Adam(net.parameters(), 0.01)
    for _ in range(15):
        optimizer.zero_grad()
        F.cross_entropy(net(x), y).backward()
        optimizer.step()


@pytest.fixture(scope="module")
def model():
    return make_model(data="digits")


@pytest.fixture
def file(tmp_path, model):
    path = tmp_path / "model.safetensors"
    path.write_bytes(pack_model(model))
    return path


@pytest.fixture(scope="module")
def expected(model):
    """The test digits, one by one."""
    images = load_dataset("digits").test
    with torch.no_grad():
        logits = torch.cat([model.net((x[None].float() - 4) / 6) for x in images.images])
    return logits, images.labels


def measured(capsys, *words):
    assert main(["evaluate", *map(str, words), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def failure(capsys, *words):
    assert main(["evaluate", *map(str, words)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    *notice, line = err.splitlines()
    assert all(
        re.fullmatch(r"dartboard: running .*, a \w+ program: use only those you trust", one) for one in notice
    )
    return line.removeprefix("dartboard: error: ")


def test_figures_are_those_of_the_images_one_by_one(capsys, file, expected):
    logits, labels = expected
    facts = measured(capsys, file, "--data", "digits")
    top1 = float((logits.argmax(1) == labels).double().mean())
    assert 0.2 < top1 < 1
    assert facts["top1"] == pytest.approx(top1)
    assert facts["loss"] == pytest.approx(float(F.cross_entropy(logits, labels)), rel=1e-4)
    assert facts["examples"] == 297
    assert (facts["data"], facts["part"], facts["device"]) == ("digits", "test", "cpu")
    assert np.array(facts["confusion"]).sum(1).tolist() == labels.bincount(minlength=10).tolist()
    assert facts["images_per_second"] > 0


@pytest.mark.parametrize("kind", list(FORMATS))
def test_every_format_measures_the_same(capsys, tmp_path, model, file, kind):
    if kind == "timm" and not torchvision_shim.torchvision_available():
        pytest.skip("timm needs torchvision")
    path = tmp_path / f"digits_{kind}{FORMATS[kind].suffix}"
    export_model(model, path, kind)
    own, found = (measured(capsys, each, "--data", "digits") for each in (file, path))
    for name in ("top1", "top5", "confusion", "per_class", "classes"):
        assert found[name] == own[name]
    assert found["loss"] == pytest.approx(own["loss"], rel=1e-5)


def test_runs_and_which(capsys, tmp_path, model):
    (tmp_path / "best.safetensors").write_bytes(pack_model(model))
    (tmp_path / "last.safetensors").write_bytes(pack_model(make_model(seed=5)))
    best, chosen, last = (
        measured(capsys, tmp_path, "--data", "digits", *words)
        for words in ([], ["--which", "best"], ["--which", "last"])
    )
    assert best["loss"] == chosen["loss"] != last["loss"]


def test_parts_and_batches(capsys, file):
    train = measured(capsys, file, "--data", "digits", "--part", "train")
    assert train["examples"] == 1500
    assert train["part"] == "train"
    whole, pieces = (measured(capsys, file, "--data", "digits", "--batch", n) for n in (297, 10))
    assert whole["confusion"] == pieces["confusion"]
    line = failure(capsys, file, "--data", "digits", "--part", "valid")
    assert line == "data set 'digits' has no validation images; use --part test or --part train"


def test_batches_have_the_size_that_is_asked_for(capsys, file, monkeypatch):
    sizes = []
    forward = CellNet.forward
    monkeypatch.setattr(CellNet, "forward", lambda self, x: sizes.append(len(x)) or forward(self, x))
    measured(capsys, file, "--data", "digits", "--batch", "100")
    assert sizes == [100, 100, 97]


def test_the_mean_and_the_deviation_are_the_models(capsys, tmp_path, model, file):
    other = tmp_path / "other.safetensors"
    other.write_bytes(pack_model(replace(model, std=(60.0,))))
    losses = [measured(capsys, each, "--data", "digits")["loss"] for each in (file, other)]
    assert abs(losses[0] - losses[1]) > 0.01


def write_npz(path, *, names=DIGITS, channels=1, size=8, labels=None):
    digits = load_dataset("digits").test
    images = digits.images.repeat(1, channels, size // 8, size // 8).numpy()
    y = digits.labels.numpy() if labels is None else labels
    np.savez(path, x_train=images, y_train=y, class_names=np.array(names))
    return path


def test_classes_in_another_order_are_found_by_name(capsys, tmp_path, file):
    turned = write_npz(
        tmp_path / "turned.npz", names=DIGITS[::-1], labels=9 - load_dataset("digits").test.labels.numpy()
    )
    own, found = measured(capsys, file, "--data", "digits"), measured(capsys, file, "--data", turned)
    assert found["confusion"] == own["confusion"]
    assert found["classes"] == own["classes"] == list(DIGITS)
    assert found["part"] == "train"


def test_other_classes_are_refused(capsys, tmp_path, file):
    other = write_npz(tmp_path / "other.npz", names=[f"digit {name}" for name in DIGITS])
    line = failure(capsys, file, "--data", other)
    assert line == (
        "the data has the classes digit 0, digit 1, digit 2, digit 3, digit 4 and 5 more; the network tells "
        "0, 1, 2, 3, 4 and 5 more apart"
    )
    more = write_npz(tmp_path / "more.npz", names=[*DIGITS, "x"])
    assert "the data has the classes" in failure(capsys, file, "--data", more)


def test_images_are_brought_to_the_size_of_the_network(capsys, tmp_path, file):
    large = write_npz(tmp_path / "large.npz", size=16)
    assert measured(capsys, file, "--data", large)["examples"] == 297


def test_channels_must_be_the_networks(capsys, tmp_path, file):
    color = write_npz(tmp_path / "color.npz", channels=3)
    line = failure(capsys, file, "--data", color)
    assert line == "images of 'color' are 3x8x8, the network takes 1x8x8 (channels x height x width)"


def test_a_network_for_oblong_images_takes_only_such(capsys, tmp_path):
    path = tmp_path / "oblong.safetensors"
    path.write_bytes(pack_model(make_model(shape=(1, 8, 12))))
    assert "are 1x8x8, the network takes 1x8x12" in failure(capsys, path, "--data", "digits")


def test_people_see_a_table_of_a_few_classes(capsys, file, expected):
    logits, labels = expected
    assert main(["evaluate", str(file), "--data", "digits"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split(maxsplit=1) == ["images", "297 test images of digits"]
    assert any(line.startswith("accuracy") and "among the first 5" in line for line in lines)
    rows = [line.split() for line in lines[-10:]]
    taken = logits.argmax(1)
    for number, row in enumerate(rows):
        own = taken[labels == number].bincount(minlength=10).tolist()
        assert row == [str(number), str(number), *map(str, own), f"{own[number] / sum(own):.1%}"]


def test_of_many_classes_people_see_the_worst(capsys, tmp_path):
    names = tuple(f"class {number}" for number in range(30))
    path = tmp_path / "many.safetensors"
    path.write_bytes(pack_model(make_model(classes=names)))
    data = write_npz(tmp_path / "many.npz", names=names)
    assert main(["evaluate", str(path), "--data", str(data)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-6] == "the classes that it knows least"
    assert all("class " in line for line in lines[-5:])


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("none.onnx", "there is no file"),
        ("none.safetensors", "there is no file"),
        ("net.bin", "is neither a run nor a network: those are files of kind .onnx, .pt, .pt2, .py, .safe"),
        ("empty", "is not a run of dartboard train"),
        ("bad.py", "ZeroDivisionError"),
    ],
)
def test_mistakes_are_one_line(capsys, tmp_path, name, said):
    (tmp_path / "empty").mkdir()
    (tmp_path / "bad.py").write_text("1 / 0\n")
    assert said in failure(capsys, tmp_path / name, "--data", "digits")


def test_broken_images_are_counted(capsys, tmp_path, file):
    from PIL import Image

    digits = load_dataset("digits").test
    for number in range(40):
        folder = tmp_path / "images" / str(int(digits.labels[number]))
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray(digits.images[number, 0].numpy()).save(folder / f"{number}.png")
    next(folder.iterdir()).with_name("broken.png").write_bytes(b"nothing")
    assert {path.name for path in (tmp_path / "images").iterdir()} == set(DIGITS)
    assert main(["evaluate", str(file), "--data", str(tmp_path / "images"), "--part", "train", "--json"]) == 0
    out, err = capsys.readouterr()
    assert "1 files that cannot be read are left out" in err
    assert json.loads(out)["examples"] <= 40


def test_a_device_that_is_not_there(capsys, file):
    assert "--device nope cannot be used" in failure(capsys, file, "--data", "digits", "--device", "nope")


def test_the_table_lines_up_whatever_the_names_and_counts():
    confusion = torch.tensor([[1000, 2, 0], [0, 5, 1], [0, 0, 0]])
    found = Evaluation(0.5, 0.9, 1.0, confusion)
    lines = [line.plain for line in confusion_lines(found, ("a", "a very long name of a class", "none"))]
    assert [line.split()[-1] for line in lines] == ["right", "99.8%", "83.3%", "-"]
    assert len({len(line) for line in lines}) == 1
    assert lines[2].startswith(" 1 a very long name ")


@pytest.mark.parametrize("suffix", [".onnx", ".py", ".pt", ".pt2"])
@pytest.mark.parametrize("kind", ["a named pipe", "1,099,511,627,776 bytes"])
def test_what_is_no_file_or_far_too_large_is_not_opened(capsys, tmp_path, suffix, kind):
    path = tmp_path / f"net{suffix}"
    if kind == "a named pipe":
        os.mkfifo(path)
    else:
        path.touch()
        os.truncate(path, 2**40)  # sparse
    with alarm():
        assert kind in failure(capsys, path, "--data", "digits")
