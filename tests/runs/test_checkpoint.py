import json
import logging
import math
import os
from collections import OrderedDict, namedtuple
from random import Random

import numpy as np
import pytest
import safetensors.torch
import torch
from hypothesis import example, given
from hypothesis import strategies as st

from dartboard.errors import CheckpointError, RunError
from dartboard.runs import (
    checkpoint_files,
    digest,
    latest_state,
    list_checkpoints,
    load_checkpoint,
    pack,
    save_checkpoint,
    unpack,
)
from dartboard.runs.checkpoint import STORABLE

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
    monkeypatch.setattr(checkpoint_files, "FORMAT", 0)
    with pytest.raises(
        CheckpointError, match="has format 1, of a newer dartboard, and this one reads formats"
    ):
        load_checkpoint(path)


def test_a_tensor_that_the_file_has_not_is_named(path):
    contents = json.loads((path / "state.json").read_text())
    del contents["sha256"]
    contents["state"]["weights"] = {"$tensor": "/other"}
    (path / "state.json").write_text(checkpoint_files.seal_state(contents))
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


DTYPES = sorted(STORABLE, key=str)
ODD_KEYS = ["", "1", "$tensor", "$", "a/b", "~1", "~", "[0]", "[", "__metadata__", "é", "\ud800", '"', "\\"]


@st.composite
def tensors(draw):
    shape = draw(st.lists(st.integers(0, 3), max_size=3))
    generator = torch.Generator().manual_seed(draw(st.integers(0, 1000)))
    return (3 * torch.randn(shape, generator=generator)).abs().to(draw(st.sampled_from(DTYPES)))


KEYS = st.sampled_from(ODD_KEYS) | st.integers() | st.text(max_size=3)
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | tensors()
TREES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(KEYS, inner, max_size=4)
    ),
    max_leaves=12,
)


def bits(tensor):
    return tensor.detach().contiguous().reshape(-1).view(torch.uint8)


def same(left, right):
    """Whether two trees are equal in values, types, bits and order of keys."""
    if isinstance(left, torch.Tensor):
        facts = (left.dtype, left.shape) == (right.dtype, right.shape)
        return facts and torch.equal(bits(left), bits(right))
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        keys = list(map(repr, left)) == list(map(repr, right))
        return keys and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list | tuple):
        return len(left) == len(right) and all(map(same, left, right))
    return repr(left) == repr(right)


def through_files(tree):
    """The tree after a trip through the forms it has on disk."""
    packed, plain = pack(tree)
    return unpack(safetensors.torch.load(safetensors.torch.save(packed)), json.loads(json.dumps(plain)))


@given(TREES)
@example({key: torch.tensor(place) for place, key in enumerate([*ODD_KEYS, 0, 1, -1])})
@example({"a": {"b": torch.tensor(1)}, "a/b": torch.tensor(2), 0: [torch.tensor(3)]})
@example({"$tuple": [1], "x": {"$float": "nan"}, "y": {"$dict": {}}, "z": {"$other": None}})
@example([math.nan, math.inf, -math.inf, -0.0, 5e-324, 0.1 + 0.2, 10**40])
@example([[], (), {}, [[]], ((),), {"a": {}}, torch.tensor(1.0)])
def test_what_comes_back_is_what_went_in(tree):
    back = through_files(tree)
    assert same(back, tree)
    assert digest(back) == digest(tree)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(), (0, 3), (2, 3)], ids=str)
def test_every_type_of_tensor(dtype, shape):
    tensor = torch.ones(shape).to(dtype)
    assert same(through_files(tensor), tensor)
    assert len(digest(tensor)) == 64


def test_odd_tensors_come_back_plain():
    base = torch.randn(4, 4, generator=torch.Generator().manual_seed(0))
    phases = torch.polar(base.abs(), base)
    tree = {
        "transposed": base.t(),
        "expanded": base[:1].expand(3, 4),
        "parameter": torch.nn.Parameter(base),
        "conjugate": phases.conj(),
        "negative": phases.conj().imag,
        "one negative": phases[:1, :1].conj().imag,
        "strided": base[::2, 1::2],
    }
    back = through_files(tree)
    for name, tensor in tree.items():
        assert torch.equal(back[name], tensor.detach()), name
        assert back[name].is_contiguous()
        assert type(back[name]) is torch.Tensor
        assert not back[name].requires_grad
    assert digest(back) == digest(tree)


def test_tensors_that_share_memory_come_apart():
    base = torch.arange(6.0)
    packed, _ = pack({"whole": base, "same": base, "part": base[2:4]})
    assert len({tensor.untyped_storage().data_ptr() for tensor in (base, *packed.values())}) == 4
    base.zero_()
    assert packed["/whole"].tolist() == packed["/same"].tolist() == [0, 1, 2, 3, 4, 5]
    assert packed["/part"].untyped_storage().nbytes() == 8


def test_an_optimizer_goes_on_from_its_state():
    def trained(state):
        layer = torch.nn.Linear(3, 2)
        torch.nn.init.ones_(layer.weight)
        optimizer = torch.optim.Adam(layer.parameters(), lr=0.1)
        if state is not None:
            layer.load_state_dict(state["layer"])
            optimizer.load_state_dict(state["optimiser"])
        layer(torch.ones(1, 3)).square().sum().backward()
        optimizer.step()
        return {"layer": layer.state_dict(), "optimiser": optimizer.state_dict()}

    first = trained(None)
    back = through_files(first)
    assert list(back["optimiser"]["state"]) == [0, 1]
    assert digest(back) == digest(first)
    assert digest(trained(back)) == digest(trained(first))
    assert digest(trained(first)) != digest(first)


def test_kinds_of_dict_come_back_as_dict():
    assert same(through_files(OrderedDict(b=1, a=2)), {"b": 1, "a": 2})


def test_names_of_tensors_say_where_they_are():
    packed, plain = pack({"model": {"w": torch.zeros(1)}, "state": {0: [torch.ones(1)]}})
    assert list(packed) == ["/model/w", "/state/[0]/[0]"]
    assert plain["model"] == {"w": {"$tensor": "/model/w"}}


@given(TREES, st.randoms(use_true_random=False))
def test_the_order_of_keys_does_not_change_the_digest(tree, rng: Random):
    def shuffled(tree):
        if isinstance(tree, dict):
            keys = rng.sample(list(tree), len(tree))
            return {key: shuffled(tree[key]) for key in keys}
        return type(tree)(map(shuffled, tree)) if isinstance(tree, list | tuple) else tree

    assert digest(shuffled(tree)) == digest(tree)


@given(st.lists(tensors(), min_size=1, max_size=3), st.data())
def test_one_changed_bit_changes_the_digest(found, data):
    before, choice = digest(found), [tensor for tensor in found if tensor.numel()]
    if choice:
        tensor = data.draw(st.sampled_from(choice))
        if tensor.dtype == torch.bool:
            tensor.reshape(-1)[0].logical_not_()
        else:
            place = data.draw(st.integers(0, 8 * bits(tensor).numel() - 1))
            tensor.reshape(-1).view(torch.uint8)[place // 8] ^= 1 << place % 8
        assert digest(found) != before


DIFFERENT = [
    *([], (), {}, [[]], [()], "", "x", ["x"], None, "None", math.nan, "nan", math.inf, -math.inf),
    *(0, 0.0, -0.0, False, "0", 1, 1.0, True, math.nextafter(1, 2)),
    *({1: 0}, {"1": 0}, {"a": 1, "b": 2}, {"a": 2, "b": 1}, {"$float": "nan"}),
    *([1, 2], [2, 1], (1, 2), [[1], 2]),
    *(torch.zeros(2, 3), torch.zeros(3, 2), torch.zeros(6), torch.zeros(2, 3, dtype=torch.int32)),
    *(torch.zeros(1, dtype=torch.uint8), torch.zeros(1, dtype=torch.int8), torch.zeros(1, dtype=torch.bool)),
    *(torch.zeros(0), torch.zeros(0, 1), torch.zeros(()), -torch.zeros(())),
    *({"a": torch.ones(1), "b": torch.zeros(1)}, {"a": torch.zeros(1), "b": torch.ones(1)}),
]


def test_different_trees_have_different_digests():
    assert len({digest(tree) for tree in DIFFERENT}) == len(DIFFERENT)


def test_a_digest_leaves_the_tensor_alone():
    tensor = torch.arange(4.0, requires_grad=True)
    digest({"a": tensor})
    assert tensor.requires_grad
    assert tensor.tolist() == [0, 1, 2, 3]


Pair = namedtuple("Pair", "a b")


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ({"a": [1, {2, 3}]}, r"the state at /a/\[1\] is a set, which cannot be stored; state is made of"),
        (object(), "the state is a object"),
        (Pair(1, 2), "is a Pair"),
        (np.float64(1.0), "is a float64"),
        (np.zeros(2), "is a ndarray"),
        (torch.float32, "is a dtype"),
        ({"a": {1.5: 0}}, "the state at /a has the key 1.5; the keys of state are str or int"),
        ({True: 0}, "has the key True"),
        ([torch.zeros(1, dtype=torch.complex128)], r"/\[0\] is a tensor of type torch.complex128"),
        (torch.eye(2).to_sparse(), "sparse or meta"),
        (torch.zeros(2, device="meta"), "sparse or meta"),
    ],
)
def test_what_cannot_be_stored_is_named(tree, message):
    for function in (pack, digest):
        with pytest.raises(RunError, match=message):
            function(tree)


@pytest.mark.parametrize(
    ("plain", "message"),
    [
        ({"a": {"$tensor": "/b"}}, "there is no tensor called '/b'"),
        ([{"$tensor": 3}], "there is no tensor called 3"),
        ({"$set": [1]}, r"expected \$tensor, \$float, \$tuple or \$dict, got \$set"),
        ({"$float": "1.0"}, "got \\$float"),
        ({"$tuple": {}}, "got \\$tuple"),
    ],
)
def test_forms_that_are_never_written_are_refused(plain, message):
    with pytest.raises(CheckpointError, match=message):
        unpack({}, plain)
