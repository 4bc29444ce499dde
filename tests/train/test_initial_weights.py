"""Trainings that start from weights: what is taken, what is new, what does not fit, and what a run keeps."""

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from dartboard import Trainer
from dartboard.data import Dataset
from dartboard.errors import ModelError, OptionError, RunError, Stopped
from dartboard.export import export_model
from dartboard.nn import load_model
from dartboard.nn.model_file import pack_model
from dartboard.runs import Run, digest
from dartboard.train.initial_weights import read_weights
from helpers.loop_cases import StopAt
from helpers.train_cases import cells, digits, train

AUXILIARY = {"net": {"auxiliary": 0.4}}
HEAD = ["head.linear.weight", "head.linear.bias"]
CELL = "|nor_conv_3x3~0|+|skip_connect~0|nor_conv_1x1~1|"
SMALL = {"epochs": 1, "batch": 250, "net": {"channels": 2, "auxiliary": 0}, "space": "nano"}
pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of a training that has ended."""
    path = tmp_path_factory.mktemp("trained") / "run"
    with Run.create(path, {"kind": "train"}) as run:
        train(run=run, **AUXILIARY).fit()
    return path


def weights(trainer: Trainer) -> dict[str, torch.Tensor]:
    return dict(trainer.net.state_dict())


def differing(trainer: Trainer, tensors: dict[str, torch.Tensor]) -> list[str]:
    """Names under which a network has other weights than a file."""
    return [name for name, value in weights(trainer).items() if not torch.equal(value, tensors[name])]


def relabeled(names: tuple[str, ...]) -> Dataset:
    """The digits, with other names."""
    return replace(digits(), classes=names)


def test_every_tensor_is_taken(trained: Path) -> None:
    """Of the best epoch by default, of the last by its file."""
    for source, name in ((trained, "best"), (trained / "last.safetensors", "last")):
        trainer = train(init=source, **AUXILIARY)
        assert differing(trainer, load_file(trained / f"{name}.safetensors")) == []
        count = len(weights(trainer))
        assert trainer.taken == f"starting from {trained}/{name}.safetensors: {count} tensors taken"


def test_other_classes_have_a_new_head(trained: Path) -> None:
    """That of a training from scratch; as many classes with other names are others too."""
    names = tuple(f"n{place}" for place in range(10))
    for data, count in ((relabeled(names), 10), (relabeled((*names, "more")), 11)):
        trainer, scratch = train(init=trained, data_set=data), train(data_set=data)
        for name in HEAD:
            assert torch.equal(weights(trainer)[name], weights(scratch)[name])
        assert all(not name.startswith("auxiliary") for name in weights(trainer))
        backbone = load_file(trained / "best.safetensors")
        assert differing(trainer, backbone | {name: weights(scratch)[name] for name in HEAD}) == []
        assert (
            f"new are head.linear.weight, head.linear.bias (the classes are others, {count} of them)"
            in trainer.taken
        )
        assert trainer.taken.endswith("of the auxiliary head not used")


def test_an_auxiliary_head_that_the_file_lacks_is_new(trained: Path, tmp_path: Path) -> None:
    tensors = load_file(trained / "best.safetensors")
    plain = {name: tensor for name, tensor in tensors.items() if not name.startswith("auxiliary")}
    save_file(plain, tmp_path / "plain.safetensors")
    trainer, scratch = train(init=tmp_path / "plain.safetensors", **AUXILIARY), train(**AUXILIARY)
    both = plain | {name: value for name, value in weights(scratch).items() if name.startswith("auxiliary")}
    assert differing(trainer, both) == []
    assert "new are auxiliary.* (the file has no auxiliary head)" in trainer.taken


def test_the_auxiliary_head_keeps_all_but_its_classifier(trained: Path) -> None:
    names = tuple(f"n{place}" for place in range(10))
    trainer = train(init=trained, data_set=relabeled(names), **AUXILIARY)
    changed = differing(trainer, load_file(trained / "best.safetensors"))
    assert changed == ["auxiliary.linear.weight", "auxiliary.linear.bias", *HEAD]


def test_weights_of_an_exported_file(trained: Path, tmp_path: Path) -> None:
    """They have names of their own."""
    export_model(load_model(trained / "best.safetensors"), tmp_path / "net.py", format="python")
    assert "stem.conv.weight" in load_file(tmp_path / "net.safetensors")
    trainer = train(init=tmp_path / "net.safetensors")
    assert differing(trainer, load_file(trained / "best.safetensors")) == []


def test_the_averaged_weights_are_those_of_the_run(tmp_path: Path) -> None:
    with Run.create(tmp_path / "run", {"kind": "train"}) as run:
        before = train(run=run, weights={"ema": 0.9})
        before.fit()
    trainer = train(init=tmp_path / "run/last.safetensors", weights={"ema": 0.9})
    assert before.used_net is not before.net
    assert differing(trainer, dict(before.used_net.state_dict())) == []


def test_a_result_without_a_run_will_do() -> None:
    result = Trainer(CELL, "digits", **SMALL).fit()
    trainer = Trainer(CELL, "digits", init=result, recipe=None, epochs=1, batch=250, space="nano", seed=1)
    assert trainer.options.net.channels == 2
    taken = result.network().state_dict()
    assert all(torch.equal(trainer.net.state_dict()[name], value) for name, value in taken.items())
    with pytest.raises(OptionError, match="give init a path"):
        Trainer(CELL, "digits", init=result, run="nowhere", **SMALL)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"net": {"channels": 8}}, r"net\.channels is 4 there and 8 here"),
        ({"net": {"cells": 2}}, r"net\.cells is 1 there and 2 here"),
        ({"space": cells(seed=2)}, r"the cell cell has [a-z_0-9 ]+ there and [a-z_0-9 ]+ here"),
        ({"net": {"stem": "half"}}, r"net\.stem is small there and half here"),
    ],
)
def test_another_network_is_refused(more: dict, message: str, trained: Path) -> None:
    with pytest.raises(ModelError, match=r"best\.safetensors has the weights of another network: " + message):
        train(init=trained, **more)


def test_without_a_description_names_and_shapes_are_compared(trained: Path, tmp_path: Path) -> None:
    tensors, file = load_file(trained / "last.safetensors"), tmp_path / "plain.safetensors"
    first = next(iter(weights(train())))
    shape = list(tensors[first].shape)
    wrong = {**tensors, first: tensors[first][:1].clone(), "more": torch.zeros(3)}
    del wrong["stem.stages.0.1.bias"]
    save_file(wrong, file)
    with pytest.raises(ModelError) as error:
        train(init=file)
    assert f"{first} is {[1, *shape[1:]]} there and {shape} here" in str(error.value)
    assert "stem.stages.0.1.bias [4] is not there, more [3] is only there" in str(error.value)


def test_sources_that_are_none(trained: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="there is no run or file"):
        train(init=tmp_path / "nothing")
    with pytest.raises(ModelError, match="is a folder, but not a run"):
        train(init=tmp_path)
    torch.save({"a": torch.zeros(2)}, tmp_path / "pickled.pt")
    with pytest.raises(ModelError, match=r"pickled\.pt: not a model .* in the format of safetensors"):
        train(init=tmp_path / "pickled.pt")
    Run.create(tmp_path / "search", {"kind": "search"}).close()
    with pytest.raises(RunError, match="is a run of dartboard search; weights are taken from one of"):
        train(init=tmp_path / "search")
    Run.create(tmp_path / "begun", {"kind": "train"}).close()
    with pytest.raises(ModelError, match="has no weights yet"):
        train(init=tmp_path / "begun")
    with pytest.raises(ModelError, match="is not the file that the settings name: its sha256 is"):
        read_weights(trained, "0" * 64)


def test_a_run_keeps_what_it_started_from(trained: Path, tmp_path: Path) -> None:
    """A kill before the first checkpoint and after it, and no source: the same bits in the end."""
    source = tmp_path / "source.safetensors"
    model = load_model(trained / "best.safetensors")
    source.write_bytes(pack_model(replace(model, classes=tuple("abcdefghij"))))
    sha256 = hashlib.sha256(source.read_bytes()).hexdigest()
    settings = {"epochs": 2, "batch": 250, "net": {"auxiliary": 0.4}, "space": cells(), "init": source}

    def make(path: Path, **more: object) -> Trainer:
        return Trainer(cells(), "digits", run=path, **settings, **more)

    expected = make(tmp_path / "whole").fit()
    config = Run.read(tmp_path / "whole").config
    assert config["init"] == {"weights": str(source), "sha256": sha256}
    assert load_model(tmp_path / "whole/last.safetensors").facts["init"]["sha256"] == sha256
    killed = make(tmp_path / "run", hooks=[StopAt(1)])
    with pytest.raises(Stopped):
        killed.fit()
    for checkpoint in (tmp_path / "run/checkpoints").iterdir():  # as if it had been killed before it saved
        for file in checkpoint.iterdir():
            file.unlink()
        checkpoint.rmdir()
    source.unlink()
    with pytest.raises(Stopped):
        make(tmp_path / "run", hooks=[StopAt(8)]).fit()
    found = make(tmp_path / "run").fit()
    assert found.digest == expected.digest
    states = [Run.read(tmp_path / name).load()[1] | {"seconds": 0.0} for name in ("run", "whole")]
    assert digest(states[0]) == digest(states[1])
    with pytest.raises(ModelError, match="there is no run or file"):
        Trainer(
            cells(), "digits", run=tmp_path / "run", **settings | {"init": tmp_path / "other.safetensors"}
        )
