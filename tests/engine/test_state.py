from dataclasses import replace

import pytest
import torch

from dartboard.distributed.group import Group
from dartboard.engine.state import capture, copied, restore
from dartboard.errors import CheckpointError
from dartboard.runs import Run
from dartboard.search import Hook
from dartboard.utils.torch_rng import rng_states, set_rng_states
from helpers.search_cases import search

KINDS = {
    "first order": ("darts", {}, {}),
    "samples": ("gdas", {}, {}),
    "dropped": ("xnas", {"zeta": 0.01}, {}),
    "attention": ("asm", {}, {}),
    "random": ("random-ws", {"samples": 3, "epoch_samples": 2}, {}),
    "second order": ("darts-2nd", {}, {"net": {"drop_path": 0.3, "auxiliary": 0.4}}),
    "joint": ("gaea-darts-erm", {"joint": True}, {"weights": {"nesterov": True}, "pieces": 2}),
    "half": ("gaea-darts", {}, {"precision": "fp16"}),
}


class Note(Hook):
    """Captures the state after a step."""

    def __init__(self, step):
        self.step = step

    def on_step_end(self, searcher):
        if searcher.step == self.step:
            self.state = copied(capture(searcher))


class GoOn(Hook):
    """Starts from a state that was captured."""

    def __init__(self, state):
        self.state = state

    def on_start(self, searcher):
        restore(searcher, self.state)


@pytest.mark.parametrize("kind", KINDS)
def test_a_fresh_search_goes_on_to_the_last_bit(kind, tmp_path):
    """From the middle of an epoch, through the files of a checkpoint."""
    method, options, more = KINDS[kind]
    note = Note(4)
    expected = search(method, method_options=options, hooks=[note], **more).fit()
    with Run.create(tmp_path / "run", {}) as run:
        run.save(4, note.state)
        _, state = run.load()
    found = search(method, method_options=options, hooks=[GoOn(state)], **more).fit()
    assert replace(found, seconds=0) == replace(expected, seconds=0)


def test_a_state_holds_where_the_search_is():
    note = Note(4)
    search(hooks=[note], pieces=2).fit()
    assert {key: note.state[key] for key in ("epoch", "step", "pieces")} == {
        "epoch": 1,
        "step": 4,
        "pieces": 2,
    }
    assert note.state["seconds"] > 0
    searcher = search()
    restore(searcher, note.state)
    assert (searcher.epoch, searcher.step, searcher.objective.micro_batches) == (1, 4, 2)
    assert searcher.seconds >= note.state["seconds"]
    assert searcher.meter.counts == [1, 1]


class Several(Group):
    """This process as one of several that never meet."""

    def __init__(self, count):
        self.size = count


def gone_on(before, now, pieces=1, **options):
    """The pieces of a search that goes on in another number of processes, and what is said of it."""
    state = copied(capture(search(group=Several(before), pieces=pieces, **options)))
    searcher = search(group=Several(now), **options)
    restore(searcher, state)
    return searcher.objective.micro_batches, searcher.changed


@pytest.mark.parametrize(
    ("before", "now", "pieces", "expected"),
    [(2, 1, 1, 2), (2, 1, 2, 4), (4, 2, 1, 2), (1, 2, 2, 1), (1, 4, 8, 2), (2, 2, 3, 3)],
)
def test_other_numbers_of_processes_keep_the_parts_that_norms_see(before, now, pieces, expected):
    assert gone_on(before, now, pieces) == (expected, "")


@pytest.mark.parametrize(("before", "now", "pieces"), [(1, 2, 1), (2, 1, 3), (4, 8, 1)])
def test_parts_that_cannot_be_kept_are_mentioned(before, now, pieces):
    kept, said = gone_on(before, now, pieces)
    assert kept == min(pieces, 16 // now)
    assert said == (
        f"the run used processes {before}, now {now}, where batch-norms see other parts of each batch: from "
        "here on it differs by more than rounding; a run with sync_norms=true would not"
    )


def test_synchronized_norms_see_the_whole_batch_in_any_number_of_processes():
    assert gone_on(2, 1, sync_norms=True) == gone_on(1, 2, sync_norms=True) == (1, "")
    pieces, said = gone_on(2, 1, pieces=2, sync_norms=True)
    assert pieces == 2
    assert said.endswith("a run with pieces=1 would not")


def test_states_without_a_number_of_processes_keep_their_pieces():
    state = copied(capture(search(pieces=2)))
    del state["processes"]
    searcher = search(group=Several(2))
    restore(searcher, state)
    assert (searcher.objective.micro_batches, searcher.changed) == (2, "")


def test_a_copied_state_stands_alone():
    searcher = search()
    searcher.train_step()
    own, copy = capture(searcher), copied(capture(searcher))
    searcher.train_step()
    assert torch.equal(own["net"]["head.linear.weight"], searcher.net.head.linear.weight)
    assert not torch.equal(copy["net"]["head.linear.weight"], searcher.net.head.linear.weight)
    buffers = [state["optimiser"]["state"][0]["momentum_buffer"] for state in (own, copy)]
    assert not torch.equal(*buffers)
    assert not torch.equal(own["meter"]["sums"], copy["meter"]["sums"])
    assert copy["step"] == 1


def test_chance_is_part_of_it():
    device = torch.device("cpu")
    torch.manual_seed(3)
    states = rng_states(device)
    first = torch.rand(3)
    torch.manual_seed(4)
    set_rng_states(device, states)
    assert torch.equal(torch.rand(3), first)


@pytest.mark.parametrize("part", ["net", "relaxation", "optimiser", "update", "meter", "chance"])
def test_every_part_matters(part):
    """A state in which one part is that of another moment leads elsewhere, or cannot be restored."""
    more = {"net": {"drop_path": 0.3}}
    early, late = Note(1), Note(4)
    method = "darts"
    metrics = Metrics()
    search(method, hooks=[early, late, metrics], **more).fit()
    found = Metrics()
    searcher = search(method, hooks=[GoOn(late.state | {part: early.state[part]}), found], **more)
    searcher.fit()
    assert found.seen[-1] != metrics.seen[-1] or found.losses != metrics.losses[-len(found.losses) :]


class Metrics(Hook):
    """Notes the digest of all that moves, and the mean losses."""

    def __init__(self):
        self.seen, self.losses = [], []

    def on_epoch_end(self, searcher, record):
        self.losses.append((record.metrics["train_loss"], record.metrics["arch_loss"]))
        self.seen.append({key: value.sum().item() for key, value in searcher.net.state_dict().items()})


def test_a_state_of_another_version_is_refused():
    searcher = search("darts")
    with pytest.raises(CheckpointError, match="the state has format 2, of a newer dartboard, and this one"):
        restore(searcher, capture(searcher) | {"version": 2})


def test_a_state_of_another_search_is_refused():
    state = copied(capture(search("darts")))
    with pytest.raises(CheckpointError, match=r"of other settings: net\.channels was 4, is 8"):
        restore(search("darts", net={"channels": 8}), state)
    with pytest.raises(CheckpointError, match="of other settings: seed was 0, is 1"):
        restore(search("darts", seed=1), state)
    with pytest.raises(CheckpointError, match="of other settings"):
        restore(search("pc-darts", method_options={"warmup": 0}), state)


def test_a_state_of_other_images_is_refused():
    searcher = search("darts")
    state = copied(capture(searcher))
    images = searcher.data.train.images.clone()
    images[0, 0, 0, 0] += 1
    searcher.data = replace(searcher.data, train=replace(searcher.data.train, images=images))
    with pytest.raises(CheckpointError, match="the images are not those"):
        restore(searcher, state)


def without(state, name):
    """A state as it was before there was a setting."""
    *groups, last = name.split(".")
    values = state["settings"]
    for group in groups:
        values = values[group]
    del values[last]
    return state


@pytest.mark.parametrize(
    ("name", "value"), [("sync_norms", True), ("weights.smoothing", 0.1), ("deterministic", True)]
)
def test_a_setting_that_a_state_does_not_know_has_its_default(name, value):
    state = without(copied(capture(search())), name)
    restore(search(), state)
    *groups, last = name.split(".")
    changed = {groups[0]: {last: value}} if groups else {last: value}
    with pytest.raises(CheckpointError, match=rf"of other settings: {name} was (False|0\.0), is {value}"):
        restore(search(**changed), state)


def test_a_group_of_settings_that_a_state_does_not_know_has_its_defaults():
    state = without(copied(capture(search())), "weights")
    restore(search(), state)
    with pytest.raises(CheckpointError, match=r"of other settings: weights\.lr was 0\.025, is 0\.5"):
        restore(search(weights={"lr": 0.5}), state)
