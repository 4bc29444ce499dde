import json
import logging
import os
from random import Random

import pytest
import torch

from dartboard.errors import CheckpointError, RunError
from dartboard.runs import checkpoint, latest_state, list_checkpoints, load_checkpoint, save_checkpoint

FILES = ("tensors.safetensors", "state.json")


def state_of(step):
    return {
        "step": step,
        "weights": torch.full((3,), float(step)),
        "note": "é",
        "odd": (float("nan"), {1: 2}),
    }


def steps(folder):
    return [int(path.name[5:15]) for path in list_checkpoints(folder)]


def flip(path, place=None, bit=0):
    data = bytearray(path.read_bytes())
    data[len(data) // 2 if place is None else place] ^= 1 << bit
    path.write_bytes(data)


@pytest.fixture
def path(tmp_path):
    return save_checkpoint(tmp_path, 7, state_of(7))


def test_a_checkpoint_comes_back(tmp_path):
    path = save_checkpoint(tmp_path / "deep" / "checkpoints", 123, state_of(123))
    assert path == tmp_path / "deep" / "checkpoints" / "step-0000000123"
    assert sorted(inner.name for inner in path.iterdir()) == ["state.json", "tensors.safetensors"]
    step, state = latest_state(path.parent)
    assert step == state["step"] == 123
    assert state["weights"].tolist() == [123, 123, 123]
    assert state["odd"][1] == {1: 2}


def test_state_without_tensors(tmp_path):
    assert load_checkpoint(save_checkpoint(tmp_path, 0, {"a": [1]})) == {"a": [1]}


def test_there_may_be_none(tmp_path):
    for folder in (tmp_path, tmp_path / "nowhere"):
        assert list_checkpoints(folder) == []
        assert latest_state(folder) is None


@pytest.mark.parametrize("keep", [1, 2, 3])
def test_the_newest_are_kept(tmp_path, keep):
    for step in (1, 5, 9, 10**10, 10**10 + 1):
        save_checkpoint(tmp_path, step, state_of(step), keep=keep)
    names = [path.name for path in list_checkpoints(tmp_path)]
    assert names == ["step-0000000009", "step-10000000000", "step-10000000001"][-keep:]
    assert sorted(path.name for path in tmp_path.iterdir()) == names
    assert latest_state(tmp_path)[0] == 10**10 + 1


def test_nothing_is_removed_when_a_save_fails(tmp_path):
    for step in (1, 2):
        save_checkpoint(tmp_path, step, state_of(step))
    with pytest.raises(RunError, match="is a set"):
        save_checkpoint(tmp_path, 3, {"bad": {1}})
    assert [path.name for path in list_checkpoints(tmp_path)] == ["step-0000000001", "step-0000000002"]
    assert len(list(tmp_path.iterdir())) == 2


def test_a_checkpoint_of_the_same_step_is_replaced(tmp_path):
    save_checkpoint(tmp_path, 1, state_of(1))
    flip(save_checkpoint(tmp_path, 2, state_of(2)) / FILES[0])
    save_checkpoint(tmp_path, 2, state_of(20))
    assert latest_state(tmp_path)[1]["step"] == 20
    assert steps(tmp_path) == [1, 2]


def test_one_that_was_being_replaced_counts_until_it_is(tmp_path, path):
    path.rename(aside := path.with_name(path.name + ".old"))
    assert list_checkpoints(tmp_path) == [aside]
    assert latest_state(tmp_path)[0] == 7
    save_checkpoint(tmp_path, 7, state_of(70))
    assert list_checkpoints(tmp_path) == [path]
    aside.mkdir()
    assert list_checkpoints(tmp_path) == [path]
    assert latest_state(tmp_path)[1]["step"] == 70
    save_checkpoint(tmp_path, 8, state_of(8))
    assert not aside.exists()


def test_later_steps_are_of_a_course_given_up(tmp_path):
    for step in (10, 20, 30):
        save_checkpoint(tmp_path, step, state_of(step), keep=3)
    save_checkpoint(tmp_path, 15, state_of(15))
    assert steps(tmp_path) == [10, 15]


@pytest.mark.parametrize(("step", "keep"), [(-1, 2), (1, 0), (1, -1)])
def test_steps_and_counts_have_bounds(tmp_path, step, keep):
    with pytest.raises(RunError, match=f"step={step}, keep={keep}"):
        save_checkpoint(tmp_path, step, {}, keep=keep)


def test_leftovers_are_ignored_and_then_removed(tmp_path, path):
    leftover = tmp_path / ".step-0000000009.0123456789abcdef.tmp"
    leftover.mkdir()
    (leftover / FILES[0]).touch()
    (tmp_path / "step-9").mkdir()
    assert list_checkpoints(tmp_path) == [path]
    save_checkpoint(tmp_path, 8, state_of(8))
    assert not leftover.exists()
    assert (tmp_path / "step-9").exists()


@pytest.mark.parametrize("name", FILES)
def test_every_flipped_byte_is_found(path, name):
    whole = (path / name).read_bytes()
    rng = Random(0)
    for place in range(len(whole)):
        flip(path / name, place, rng.randrange(8))
        with pytest.raises(CheckpointError, match=name):
            load_checkpoint(path)
        (path / name).write_bytes(whole)
    assert load_checkpoint(path)["step"] == 7


@pytest.mark.parametrize("name", FILES)
def test_every_truncation_is_found(path, name):
    whole = (path / name).read_bytes()
    for length in range(len(whole)):
        (path / name).write_bytes(whole[:length])
        with pytest.raises(CheckpointError, match=name):
            load_checkpoint(path)


def damage_nothing_left(path):
    path.write_bytes(b"")


def damage_cut(path):
    path.write_bytes(path.read_bytes()[:-40])


def damage_more(path):
    path.write_bytes(path.read_bytes() + b" ")


def damage_other(path):
    path.write_text("[1]\n")


def damage_not_text(path):
    path.write_bytes(b"\xff\xfe")


@pytest.mark.parametrize(
    ("name", "damage", "message"),
    [
        ("tensors.safetensors", os.remove, "is missing"),
        ("tensors.safetensors", damage_nothing_left, r"is truncated: it has 0 of \d+ bytes"),
        ("tensors.safetensors", damage_cut, r"is truncated: it has \d+ of \d+ bytes"),
        ("tensors.safetensors", flip, "its checksum differs"),
        ("tensors.safetensors", damage_more, "its checksum differs"),
        ("state.json", os.remove, "is missing"),
        ("state.json", damage_nothing_left, "is not JSON"),
        ("state.json", damage_cut, "is not JSON"),
        ("state.json", damage_more, "its checksum differs"),
        ("state.json", damage_other, "its checksum differs"),
        ("state.json", damage_not_text, "is not JSON"),
    ],
)
def test_the_error_names_the_file_and_says_what_is_wrong(path, name, damage, message):
    damage(path / name)
    with pytest.raises(CheckpointError, match=f"^{path / name} .*{message}"):
        load_checkpoint(path)


def test_files_of_another_checkpoint_are_found(tmp_path, path):
    other = save_checkpoint(tmp_path, 8, state_of(8))
    (other / FILES[0]).replace(path / FILES[0])
    with pytest.raises(CheckpointError, match="checksum differs"):
        load_checkpoint(path)


def test_a_later_format_is_refused(path, monkeypatch):
    monkeypatch.setattr(checkpoint, "FORMAT", 2)
    with pytest.raises(CheckpointError, match="has format 1; this version of dartboard reads format 2"):
        load_checkpoint(path)


def test_a_tensor_that_the_file_has_not_is_named(path):
    contents = json.loads((path / "state.json").read_text())
    del contents["sha256"]
    contents["state"]["weights"] = {"$tensor": "/other"}
    (path / "state.json").write_text(checkpoint._seal(contents))
    with pytest.raises(CheckpointError, match=r"state.json: there is no tensor called '/other'"):
        load_checkpoint(path)


def test_a_missing_checkpoint_is_an_error(tmp_path):
    with pytest.raises(CheckpointError, match=r"step-0000000001/state\.json is missing"):
        load_checkpoint(tmp_path / "step-0000000001")


@pytest.fixture
def three(tmp_path):
    for step in (1, 2, 3):
        save_checkpoint(tmp_path, step, state_of(step), keep=3)
    return list_checkpoints(tmp_path)


def test_a_damaged_newest_is_named_with_the_one_to_use(tmp_path, three):
    flip(three[2] / FILES[0])
    message = r"step-0000000003/tensors.safetensors was .*; the one before, step-0000000002, is good: use it "
    with pytest.raises(CheckpointError, match=message + "with --fall-back"):
        latest_state(tmp_path)


def test_going_back_passes_over_all_that_are_damaged(tmp_path, three, caplog):
    flip(three[2] / FILES[0])
    (three[1] / FILES[1]).unlink()
    with pytest.raises(CheckpointError, match=r"step-0000000003.*step-0000000001, is good"):
        latest_state(tmp_path)
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        step, state = latest_state(tmp_path, fall_back=True)
    assert step == state["step"] == 1
    assert "step-0000000002/state.json is missing" in caplog.text
    assert "going back to step-0000000001" in caplog.text


def test_going_back_does_nothing_to_a_good_newest(tmp_path, three, caplog):
    flip(three[0] / FILES[0])
    assert latest_state(tmp_path, fall_back=True)[0] == 3
    assert caplog.text == ""


def test_after_going_back_the_damaged_are_gone(tmp_path, three):
    flip(three[2] / FILES[0])
    step, state = latest_state(tmp_path, fall_back=True)
    save_checkpoint(tmp_path, step, state)
    assert latest_state(tmp_path)[0] == 2


@pytest.mark.parametrize("fall_back", [False, True])
def test_with_nothing_good_there_is_nothing_to_go_back_to(tmp_path, three, fall_back):
    for path in three:
        flip(path / FILES[1])
    with pytest.raises(CheckpointError, match=r"step-0000000003.*; no checkpoint before it is good"):
        latest_state(tmp_path, fall_back=fall_back)
