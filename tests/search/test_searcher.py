"""The search loop: what it promises, on searches of six steps."""

import logging
import multiprocessing
from dataclasses import replace
from functools import cache

import pytest
import torch
from PIL import Image

import dartboard.nn.cell
import dartboard.search.searcher
from dartboard.data import Dataset, ImageFiles
from dartboard.engine.state import capture, copied, restore
from dartboard.engine.step import Stepper
from dartboard.errors import CheckpointError, CompositionError, DivergedError, OptionError, Stopped
from dartboard.runs import Run
from dartboard.search import Exploration, Hook, Searcher, SearchOptions, Temperature, make_method
from dartboard.space import get_space
from helpers import torchvision_shim
from helpers.loop_cases import Compiled, Kernels, StopAt, reopen
from helpers.search_cases import SHORT, digits, leaves, merged, nested, search


@cache
def digest(method: str = "gaea-darts") -> str:
    """What the short search comes to."""
    return search(method).fit().digest


def plain(result):
    """A result without what no two searches share."""
    return replace(result, seconds=0)


# Chance


def test_the_same_seed_gives_the_same_result_and_another_seed_another():
    assert search().fit().digest == digest()
    assert search(seed=1).fit().digest != digest()


@pytest.mark.parametrize("method", ["gdas", "random-ws"])
def test_torchs_own_chance_is_left_alone(method):
    torch.manual_seed(0)
    before = torch.get_rng_state()
    options = {"samples": 2, "epoch_samples": 2} if method == "random-ws" else {}
    searcher = search(method, method_options=options, net={"drop_path": 0.3})
    assert torch.equal(torch.get_rng_state(), before)
    first = searcher.fit()
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(77)
    assert search(method, method_options=options, net={"drop_path": 0.3}).fit().digest == first.digest


@pytest.mark.parametrize("method", ["gdas", "asm", "gaea-darts"])
def test_measuring_does_not_change_the_search(method):
    """Samples, dropped paths and statistics are as if nobody had looked."""
    more = {"net": {"drop_path": 0.2}}
    little = search(method, health={"discrete": False, "examples": 1}, **more).fit()
    much = search(method, health={"discrete": True, "hessian": True, "examples": 40}, **more).fit()
    assert little.digest == much.digest


# Options


OTHER = {
    "epochs": 3,
    "schedule_history": [{"until": 2, "epochs": 5}],
    "batch": 12,
    "pieces": 2,
    "seed": 1,
    "precision": "bf16",
    "net.channels": 8,
    "net.stem": "half",
    "net.auxiliary": 0.4,
    "net.drop_path": 0.3,
    "data.valid": 0.4,
    "data.seed": 1,
    "data.pad": 1,
    "data.flip": True,
    "data.cutout": 2,
    "data.area": 0.5,
    "data.autoaugment": "svhn",
    "weights.lr": 0.02,
    "weights.lr_end": 0.02,
    "weights.schedule": "constant",
    "weights.momentum": 0.5,
    "weights.nesterov": True,
    "weights.weight_decay": 0.1,
    "weights.clip": 0.1,
    "weights.smoothing": 0.2,
}
"""Options that change what comes out, each with a value that is not the default."""

BESIDE = {
    "compile",
    "deterministic",
    "sync_norms",
    "net.mix",
    "data.workers",
    "health.examples",
    "health.discrete",
    "health.hessian",
    "checkpoint.seconds",
    "checkpoint.steps",
    "checkpoint.keep",
}
"""Options that must not change what comes out; each has a test below for what it does change."""


def test_every_option_is_tested():
    assert set(OTHER) | BESIDE == set(leaves(SearchOptions))
    assert not set(OTHER) & BESIDE


@pytest.mark.parametrize("name", OTHER)
def test_every_option_changes_the_result(name):
    if name == "data.autoaugment" and not torchvision_shim.torchvision_available():
        pytest.skip("needs torchvision")
    assert search(**nested(name, OTHER[name])).fit().digest != digest()


class Lines(Hook):
    """Keeps the metrics of every epoch."""

    def __init__(self):
        self.seen = []

    def on_epoch_end(self, _searcher, record):
        self.seen.append(record.metrics)


def metrics(**options) -> list:
    lines = Lines()
    assert search(hooks=[lines], **options).fit().digest == digest()
    return lines.seen


class Workers(Hook):
    """Counts the processes beside the search's own after every step."""

    def __init__(self):
        self.seen = set()

    def on_step_end(self, _searcher):
        self.seen.add(len(multiprocessing.active_children()))


def test_workers_read_files_for_each_stream_and_change_nothing_else(tmp_path):
    few = digits(32)
    names = [tmp_path / f"{number}.png" for number in range(32)]
    for name, image in zip(names, few.train.images, strict=True):
        Image.fromarray(image[0].numpy()).save(name)
    files = ImageFiles(tuple(map(str, names)), few.train.labels, (1, 8, 8))
    images = Dataset("files", few.classes, files, known=few.moments)
    found = set()
    for workers in (0, 1):
        hook, options = Workers(), merged(SHORT, {"batch": 8, "data": {"workers": workers}})
        method = make_method("gaea-darts", {})
        own = Searcher(get_space("nano"), method, images, SearchOptions(**options), hooks=[hook])
        found.add(own.fit().digest)
        assert hook.seen == {2 * workers}  # one stream for the weights, one for the architecture
        assert multiprocessing.active_children() == []
    assert len(found) == 1
    held = Dataset("held", few.classes, few.train, known=few.moments)
    same = SearchOptions(**merged(SHORT, {"batch": 8}))
    assert Searcher(get_space("nano"), make_method("gaea-darts", {}), held, same).fit().digest in found


def test_a_state_goes_on_with_another_number_of_workers():
    one, other = (search(data={"workers": workers}) for workers in (0, 2))
    restore(other, copied(capture(one)))
    assert other.settings() == one.settings()


def test_health_options_change_what_is_measured():
    assert all("discrete_accuracy" in line and "hessian" not in line for line in metrics())
    assert all("discrete_accuracy" not in line for line in metrics(health={"discrete": False}))
    assert all("hessian" in line for line in metrics(health={"hessian": True}))
    assert sum(len(y) for _, y in search(health={"examples": 5}).valid_batches()) == 5
    assert sum(len(y) for _, y in search(health={"examples": 1000}).valid_batches()) == 48


def saves(run, monkeypatch, **options) -> list[int]:
    """The steps after which a search saves its state."""
    steps, save = [], run.save
    monkeypatch.setattr(
        run, "save", lambda step, *given, **more: steps.append(step) or save(step, *given, **more)
    )
    assert search(run=run, checkpoint=options).fit().digest == digest()
    return steps


@pytest.mark.parametrize(
    ("options", "expected"),
    [({}, [3, 6]), ({"steps": 2}, [2, 3, 4, 6]), ({"seconds": 1e-9}, [1, 2, 3, 4, 5, 6])],
    ids=["epochs", "steps", "seconds"],
)
def test_checkpoint_options_say_when(run, monkeypatch, options, expected):
    assert saves(run, monkeypatch, **options) == expected


@pytest.mark.parametrize("keep", [1, 3])
def test_checkpoint_options_say_how_many_stay(run, keep):
    search(run=run, checkpoint={"steps": 1, "keep": keep}).fit()
    assert len(list((run.path / "checkpoints").iterdir())) == keep


@pytest.mark.parametrize(("mix", "unused"), [("plain", "fused_nodes"), ("fused", "plain_nodes")])
def test_the_path_is_the_one_asked_for(mix, unused, monkeypatch):
    monkeypatch.setattr(dartboard.nn.cell, unused, None)
    search(net={"mix": mix}).fit()


def test_both_paths_come_to_the_same_up_to_rounding():
    searchers = [search(net={"mix": mix}) for mix in ("plain", "fused")]
    for searcher in searchers:
        searcher.fit()
    states = [dict(searcher.net.state_dict()) for searcher in searchers]
    torch.testing.assert_close(*states, rtol=1e-2, atol=1e-3)


def test_deterministic_kernels_are_asked_for_while_it_runs():
    for wanted in (True, False):
        kernels = Kernels()
        assert search(deterministic=wanted, hooks=[kernels]).fit().digest == digest()
        assert kernels.seen == {wanted}
        assert not torch.are_deterministic_algorithms_enabled()


def test_compiling_is_left_to_torch(monkeypatch):
    monkeypatch.setattr(torch, "compile", Compiled)
    searcher = search(compile=True)
    assert searcher.fit().digest == search(net={"mix": "plain"}).fit().digest
    assert searcher.objective.forward.calls >= 12


# Hooks


class Calls(Hook):
    """Notes every call with the epoch and step it came at."""

    def __init__(self, name: str, calls: list) -> None:
        self.name, self.calls = name, calls

    def note(self, time, searcher):
        self.calls.append((self.name, time, searcher.epoch, searcher.step))

    def check(self, searcher):
        assert searcher.update is not None
        self.note("check", searcher)

    def on_start(self, searcher):
        self.note("start", searcher)

    def on_epoch_start(self, searcher):
        assert searcher.net.training
        self.note("epoch start", searcher)

    def on_step_end(self, searcher):
        self.note("step end", searcher)

    def on_epoch_end(self, searcher, record):
        assert record.epoch == searcher.epoch - 1
        self.note("epoch end", searcher)

    def on_select(self, searcher):
        self.note("select", searcher)

    def on_end(self, searcher, result):
        assert result.epochs == searcher.epoch
        self.note("end", searcher)


def test_hooks_are_called_at_their_times_in_order():
    calls = []
    search(hooks=[Calls("a", calls), Calls("b", calls)]).fit()
    assert [(time, epoch, step) for name, time, epoch, step in calls if name == "a"] == [
        ("check", 0, 0),
        ("start", 0, 0),
        ("epoch start", 0, 0),
        ("step end", 0, 1),
        ("step end", 0, 2),
        ("step end", 0, 3),
        ("epoch end", 1, 3),
        ("epoch start", 1, 3),
        ("step end", 1, 4),
        ("step end", 1, 5),
        ("step end", 1, 6),
        ("epoch end", 2, 6),
        ("select", 2, 6),
        ("end", 2, 6),
    ]
    assert [name for name, *_ in calls] == ["a", "b"] * 14


def test_the_methods_own_hooks_come_first():
    searcher = search("gdas", hooks=[Hook()])
    assert [type(hook) for hook in searcher.hooks] == [Temperature, Exploration, Hook]


@pytest.mark.parametrize(
    "time", ["on_start", "on_epoch_start", "on_step_end", "on_epoch_end", "on_select", "on_end"]
)
def test_what_a_hook_raises_stops_the_search(time):
    class Trouble(Hook):
        pass

    def fail(*_):
        raise RuntimeError("trouble")

    setattr(Trouble, time, fail)
    with pytest.raises(RuntimeError, match="trouble"):
        search(hooks=[Trouble()]).fit()


# What is written


def test_a_run_holds_every_epoch_and_the_result(run):
    result = search(run=run).fit()
    assert [row["epoch"] for row in run.metrics()] == [0, 1]
    assert [run.epoch(number)["epoch"] for number in (0, 1)] == [0, 1]
    assert run.result() == result.facts()
    assert run.state == "finished"
    assert f'"digest": "{result.digest}"' in (run.path / "log.txt").read_text()


def test_logging_is_as_before_afterwards(run):
    logger = logging.getLogger("dartboard")
    before = (logger.level, list(logger.handlers))
    search(run=run).fit()
    assert (logger.level, list(logger.handlers)) == before


def test_a_finished_run_comes_to_the_same_result_again(run):
    first = search(run=run).fit()
    with reopen(run) as reopened:
        assert plain(search(run=reopened).fit()) == plain(first)


# Stopping and going on


@pytest.mark.parametrize("step", [1, 3, 5, 6])
def test_a_stopped_search_goes_on_to_the_last_bit(run, step):
    """In the middle of an epoch and after its last step."""
    lines, expected = Lines(), search("gdas", net={"drop_path": 0.2}).fit()
    stopped = search("gdas", net={"drop_path": 0.2}, run=run, hooks=[StopAt(step), lines])
    with pytest.raises(Stopped, match=f"stopped after step {step} of 6"):
        stopped.fit()
    assert stopped.step == step
    seconds = stopped.seconds
    with reopen(run) as reopened:
        assert reopened.load()[0] == step
        resumed = search("gdas", net={"drop_path": 0.2}, run=reopened)
        found = resumed.fit()
        assert plain(found) == plain(expected)
        assert found.seconds > reopened.load()[1]["seconds"] > 0
        assert [row["epoch"] for row in reopened.metrics()] == [0, 1]
        assert f"resumed at step {step}" in (reopened.path / "log.txt").read_text()
    assert seconds > 0


def test_metrics_are_the_same_whether_it_was_stopped_or_not(run, tmp_path):
    with Run.create(tmp_path / "other", {}) as through:
        search(run=through).fit()
        expected = through.metrics()
    with pytest.raises(Stopped):
        search(run=run, hooks=[StopAt(2)]).fit()
    with reopen(run) as reopened:
        search(run=reopened).fit()
        found = reopened.metrics()
    timeless = [[{**row, "seconds": 0} for row in rows] for rows in (found, expected)]
    assert timeless[0] == timeless[1]


def test_without_a_run_the_same_searcher_goes_on():
    searcher = search(hooks=[StopAt(2)])
    with pytest.raises(Stopped):
        searcher.fit()
    assert searcher.fit().digest == digest()


def damage(run: Run) -> None:
    """Cuts the newest checkpoint short."""
    newest = max((run.path / "checkpoints").iterdir())
    file = newest / "tensors.safetensors"
    file.write_bytes(file.read_bytes()[:-100])


def test_a_damaged_checkpoint_is_an_error_or_gone_back_from_on_request(run):
    with pytest.raises(Stopped):
        search(run=run, hooks=[StopAt(5)], checkpoint={"steps": 1, "keep": 3}).fit()
    damage(run)
    with reopen(run) as reopened:
        with pytest.raises(CheckpointError, match="fall-back"):
            search(run=reopened).fit()
        assert search(run=reopened).fit(fall_back=True).digest == digest()
        assert "going back to step-0000000004" in (reopened.path / "log.txt").read_text()


# Memory

OUT = (
    "[enforce fail at alloc_cpu.cpp:127] DefaultCPUAllocator: can't allocate memory: you tried to allocate 9"
)


class Pieces(Hook):
    """Sets the number of pieces from an epoch on."""

    def __init__(self, epoch, pieces):
        self.epoch, self.pieces = epoch, pieces

    def on_epoch_start(self, searcher):
        if searcher.epoch >= self.epoch:
            searcher.objective.micro_batches = self.pieces


def scarce(monkeypatch, *, step, least, error) -> list[BaseException]:
    """Memory runs out in the weight step at `step` unless batches pass in at least so many pieces."""
    real, raised = Stepper.weight_step, []
    taken = []

    def weight_step(self, given):
        taken.append(1)
        if len(taken) > step and self.objective.micro_batches < least:
            raised.append(error())
            raise raised[-1]
        return real(self, given)

    monkeypatch.setattr(Stepper, "weight_step", weight_step)
    return raised


@pytest.mark.parametrize(
    "error", [lambda: RuntimeError(OUT), lambda: torch.OutOfMemoryError("CUDA"), MemoryError]
)
@pytest.mark.parametrize(("step", "epoch"), [(1, 0), (4, 1)])
def test_out_of_memory_goes_on_in_smaller_pieces(monkeypatch, caplog, error, step, epoch):
    """From the start of the epoch, as if it had been started like that."""
    expected = search("gdas", hooks=[Pieces(epoch, 2)]).fit()
    raised = scarce(monkeypatch, step=step, least=2, error=error)
    with caplog.at_level(logging.WARNING, "dartboard"):
        found = search("gdas").fit()
    assert len(raised) == 1
    assert plain(found) == plain(expected)
    assert "out of memory: each batch of 16 now passes in 2 pieces" in caplog.text


def test_out_of_memory_after_candidates_were_dropped_in_the_same_epoch(monkeypatch):
    options = {"zeta": 0.02}

    class Live(Hook):
        def __init__(self):
            self.seen = []

        def on_step_end(self, searcher):
            self.seen.append((searcher.step, sum(map(len, searcher.relaxation.live("cell")))))

    live = Live()
    expected = search("xnas", method_options=options, epochs=4, hooks=[Pieces(3, 2)]).fit()
    scarce(monkeypatch, step=10, least=2, error=lambda: RuntimeError(OUT))
    found = search("xnas", method_options=options, epochs=4, hooks=[live]).fit()
    counts = [count for step, count in live.seen if step in (9, 10)]
    assert counts[0] > counts[1]  # dropped at step 10, just before memory ran out
    assert plain(found) == plain(expected)


def test_where_pieces_cannot_be_smaller_the_error_is_the_original(monkeypatch):
    raised = scarce(monkeypatch, step=4, least=1000, error=lambda: RuntimeError(OUT))
    searcher = search()
    with pytest.raises(RuntimeError, match="can't allocate memory") as caught:
        searcher.fit()
    assert caught.value is raised[-1]
    assert len(raised) == 4  # 1, 2, 4 and 8 pieces, of two examples each
    assert searcher.objective.micro_batches == 8


def test_pieces_stay_small_after_a_restart(run, monkeypatch):
    scarce(monkeypatch, step=1, least=4, error=lambda: RuntimeError(OUT))
    with pytest.raises(Stopped):
        search(run=run, hooks=[StopAt(4)]).fit()
    with reopen(run) as reopened:
        searcher = search(run=reopened)
        searcher.fit()
        assert searcher.objective.micro_batches == 4
        assert [row["pieces"] for row in reopened.metrics()] == [4, 4]


# Divergence


class Spoil(Hook):
    """Makes one number of a tensor NaN after a step."""

    def __init__(self, step):
        self.step = step

    def on_step_end(self, searcher):
        if searcher.step == self.step:
            searcher.net.head.linear.weight.data[0, 0] = torch.nan


@pytest.mark.parametrize(("method", "steps"), [("gaea-darts", 3), ("asm", 5)])
def test_a_loss_that_is_no_number_is_named_and_the_last_checkpoint_is_good(run, method, steps):
    searcher = search(method, run=run, hooks=[Spoil(steps + 1)])
    place = rf"is nan at step {steps + 1} \(epoch 1\)"
    words = f"{place}: weight head.linear.weight is not finite; start again with a smaller weights.lr"
    with pytest.raises(DivergedError, match=words):
        searcher.fit()
    with reopen(run) as reopened:
        assert reopened.load()[0] == steps
        assert search(method, run=reopened).fit().digest == digest(method)


def test_nothing_moves_by_a_number_that_is_not_finite():
    searcher = search(hooks=[Spoil(2)])
    with pytest.raises(DivergedError):
        searcher.fit()
    state = copied(capture(searcher))
    assert state["step"] == 2
    assert state["relaxation"]["cells.cell.ops"].isfinite().all()
    spoiled = [key for key, value in state["net"].items() if not value.isfinite().all()]
    assert spoiled == ["head.linear.weight"]


def test_a_step_that_spoils_the_last_numbers_of_an_epoch_is_found_before_it_is_written(run):
    class Meter(Hook):
        def on_step_end(self, searcher):
            searcher.meter.sums[0] = torch.inf if searcher.step == 3 else searcher.meter.sums[0]

    with pytest.raises(DivergedError):
        search(run=run, hooks=[Meter()]).fit()
    assert run.metrics() == []
    assert run.load() is None


def test_a_stop_during_the_selection_is_heeded_and_goes_on_to_the_same_end(run):
    class Late(Hook):
        def on_select(self, searcher):
            searcher.stop()

    with pytest.raises(Stopped, match="stopped after step 6 of 6"):
        search(run=run, hooks=[Late()]).fit()
    with reopen(run) as reopened:
        assert search(run=reopened).fit().digest == digest()


def test_memory_that_runs_out_while_measuring_is_no_end(run, monkeypatch):
    measure, calls = dartboard.search.searcher.measure_epoch, []

    def fail_once(searcher):
        calls.append(searcher.objective.micro_batches)
        if len(calls) == 2:
            raise torch.OutOfMemoryError("no more")
        return measure(searcher)

    monkeypatch.setattr(dartboard.search.searcher, "measure_epoch", fail_once)
    search(run=run).fit()
    assert calls == [1, 1, 2]
    assert [row["epoch"] for row in run.metrics()] == [0, 1]


def test_where_the_guard_looks_seldom_nothing_bad_is_saved_in_between(run, monkeypatch):
    monkeypatch.setattr("dartboard.search.searcher.check_step", lambda *_: None)
    words = "weight head.linear.weight is not finite after step 2"
    with pytest.raises(DivergedError, match=words):
        search(run=run, hooks=[Spoil(2)], checkpoint={"steps": 1}).fit()
    assert run.load()[0] == 1


# Warm-up and compositions


class Strengths(Hook):
    """Notes the strengths at the start and after every epoch."""

    def __init__(self):
        self.seen = []

    def on_start(self, searcher):
        self.seen.append(searcher.relaxation.strengths()["cell"].ops)

    def on_epoch_end(self, searcher, record):
        self.seen.append(searcher.relaxation.strengths()["cell"].ops)
        assert ("arch_loss" in record.metrics) == (record.epoch >= 1)


def test_the_architecture_is_frozen_during_warm_up_and_moves_afterwards():
    noted = Strengths()
    search("pc-darts", method_options={"warmup": 1}, hooks=[noted]).fit()
    start, rested, moved = noted.seen
    assert torch.equal(start, rested)
    assert not torch.equal(rested, moved)


def test_a_search_that_would_only_warm_up_is_refused():
    with pytest.raises(
        OptionError, match="is frozen for the first 15 epochs and the search has 2, so it would never move"
    ):
        search("pc-darts", method_options={"warmup": 15})


def test_a_joint_search_is_one():
    joint = search("gaea-darts-erm", method_options={"joint": True})
    apart = search("gaea-darts-erm")
    assert joint.fit().digest != apart.fit().digest


@pytest.mark.parametrize(
    ("method", "options", "space", "reason"),
    [
        ("xnas", {}, "oneshot1", "weighs edges against each other"),
        ("darts", {"joint": True}, "nano", "use bilevel=false with joint"),
        ("asm", {}, "oneshot1", "attention weighs only ops"),
    ],
)
def test_what_cannot_be_composed_is_refused_with_a_reason(method, options, space, reason):
    with pytest.raises(CompositionError, match=reason):
        search(method, method_options=options, space=space)


def test_the_learning_rate_follows_its_schedule():
    class Rates(Hook):
        seen: tuple[float, ...] = ()

        def on_step_end(self, searcher):
            self.seen = (*self.seen, searcher.optimizer.param_groups[0]["lr"])

    rates = Rates()
    search(hooks=[rates], weights={"lr": 0.4, "lr_end": 0.0, "schedule": "linear"}, epochs=4).fit()
    assert rates.seen[::3] == pytest.approx((0.4, 0.3, 0.2, 0.1))
    assert rates.seen[::3] == rates.seen[2::3]


def test_defaults_are_whole_options():
    searcher = Searcher(get_space("nano"), make_method("random"), digits())
    assert searcher.options == SearchOptions()
    assert searcher.plan.epochs == 0
    assert merged({"net": {"channels": 4}}, {"net": {"stem": "half"}}) == {
        "net": {"channels": 4, "stem": "half"}
    }
