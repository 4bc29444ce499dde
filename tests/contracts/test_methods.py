"""What every method must show on every space; a new method is tested by being registered."""

import ast
import inspect
import math
import textwrap
from collections import Counter
from functools import cache
from itertools import product
from random import Random

import pytest
import torch

from dartboard.data import Dataset, ImageSet
from dartboard.engine.config import DataOptions, NetOptions
from dartboard.engine.state import capture, copied, restore
from dartboard.errors import CompositionError
from dartboard.nn import CellNet, NetConfig
from dartboard.runs import digest
from dartboard.search import METHODS, Hook, Searcher, SearchOptions, make_method
from dartboard.search.config import HealthOptions
from dartboard.search.record import conclude
from dartboard.space import SPACES, get_space, restrict, sample
from helpers import networks

SMALL = {name: networks.shrink(get_space(name), cells=2) for name in SPACES}
WEIGHTED = {
    "xnas": "weighs edges against each other, and XNAS has experts for ops alone",
    "asm": "tell edges apart by weights of their own, and attention weighs only ops",
}
IMPOSSIBLE = {
    (method, space): reason
    for (method, reason), space in product(WEIGHTED.items(), ("oneshot1", "oneshot2", "oneshot3"))
}
"""The pairs that have no meaning, with the reason they give."""


def score(genotype):
    """How good an architecture is, by chance, but always the same."""
    return Random(repr(genotype)).random()


OPTIONS = {
    "pc-darts": {"warmup": 0, "partial": 4},
    "gaea-pc-darts": {"warmup": 0, "partial": 4},
    "random-ws": {"samples": 2, "epoch_samples": 2},
    "evolution": {"score": score, "population": 4, "tournament": 2, "cycles": 12},
}
"""What a method needs to be tested in a moment."""

PAIRS = [pair for pair in product(METHODS, SPACES) if pair not in IMPOSSIBLE]
each = pytest.mark.parametrize("name", METHODS)


def noise(images=16):
    """Random images, dark ones and bright ones."""
    chance, labels = torch.Generator().manual_seed(0), torch.arange(images) % 2
    pixels = torch.randint(192, (images, 3, 8, 8), generator=chance) + 64 * labels[:, None, None, None]
    return Dataset("noise", ("dark", "bright"), ImageSet(pixels.to(torch.uint8), labels))


def numbers(**changes):
    """Two epochs of two steps, with chance in the forward passes."""
    chosen = {
        "epochs": 2,
        "batch": 4,
        "net": NetOptions(channels=4, drop_path=0.2),
        "data": DataOptions(valid=0.5, pad=1, flip=True),
        "health": HealthOptions(discrete=False),
    }
    return SearchOptions(**chosen | changes)


def make(name, space, hooks=(), **options):
    method = make_method(name, OPTIONS.get(name, {}) | options)
    return Searcher(space, method, noise(), numbers(), hooks=hooks)


def walk(searcher, steps=1):
    """Takes steps as the loop does, where the method trains at all."""
    searcher.net.train()
    searcher.relaxation.train()
    for _ in range(steps if searcher.method.trains else 0):
        if searcher.step % searcher.plan.steps == 0:
            call(searcher, "on_epoch_start")
        searcher.train_step()
        call(searcher, "on_step_end")
        searcher.epoch = searcher.step // searcher.plan.steps


def call(searcher, time):
    for hook in searcher.hooks:
        getattr(hook, time)(searcher)


def bits(searcher):
    """All that a search is made of, each part to the last bit."""
    state = capture(searcher) | {"seconds": 0}
    return {part: digest(value) for part, value in state.items()}


def values(parameters):
    return [parameter.detach().clone() for parameter in parameters]


class Walk:
    """A search of two steps, seen before, in the middle and at the end."""

    def __init__(self, name, space):
        self.name, self.space = name, space
        torch.manual_seed(1)
        self.searcher = make(name, space)
        parts = self.searcher.objective.weights, self.searcher.relaxation.arch_parameters()
        self.parameters = [list(part) for part in parts]
        self.before = [values(part) for part in parts]
        walk(self.searcher)
        self.middle = copied(capture(self.searcher))
        walk(self.searcher)
        self.bits = bits(self.searcher)

    def moved(self, part):
        """Whether each weight (0) or architecture parameter (1) has moved."""
        pairs = zip(self.parameters[part], self.before[part], strict=True)
        return [not torch.equal(now, before) for now, before in pairs]


@pytest.fixture(scope="module", params=PAIRS, ids=map("-".join, PAIRS))
def walked(request):
    name, space = request.param
    return Walk(name, SMALL[space])


@pytest.mark.product(keep=16)
def test_weights_and_architecture_move(walked):
    method, relaxation = walked.searcher.method, walked.searcher.relaxation
    every = any if relaxation.stochastic else all  # what is not drawn rests
    assert every(walked.moved(0)) if method.trains else not any(walked.moved(0))
    assert (method.update is not None) == bool(walked.parameters[1])
    assert every(walked.moved(1)) or not walked.parameters[1]
    for parameter in [*walked.searcher.net.parameters(), *relaxation.parameters()]:
        assert parameter.isfinite().all()


def test_strengths_are_on_the_simplex(walked):
    strengths = walked.searcher.relaxation.strengths()
    assert list(strengths) == [arch for arch, _ in walked.space.groups]
    for arch, cell in walked.space.groups:
        ops, edges = strengths[arch].ops, strengths[arch].edges
        assert ops.shape == cell.shape
        assert (ops >= 0).all()
        assert torch.allclose(ops.sum(-1), torch.ones(len(ops)))
        assert (edges > 0).all()
        for contest in cell.contests:
            total = edges[list(contest.edges)].sum().item()
            assert not contest.weighted or total == pytest.approx(1)


def test_every_parameter_is_in_exactly_one_optimizer(walked):
    searcher = walked.searcher
    optimizers = [own for own in (searcher.optimizer, searcher.update) if own is not None]
    owned = Counter(id(p) for own in optimizers for group in own.param_groups for p in group["params"])
    parameters = [*searcher.net.parameters(), *searcher.relaxation.parameters()]
    assert owned == Counter(map(id, parameters))
    assert all(p.requires_grad and p.grad is None for p in parameters)
    for own in optimizers:
        assert {id(parameter) for parameter in own.state} <= owned.keys()


@pytest.mark.product(keep=40)
def test_a_search_goes_on_from_its_state_to_the_last_bit(walked):
    torch.manual_seed(2)
    other = make(walked.name, walked.space)
    restore(other, walked.middle)
    assert other.step == int(other.method.trains)
    walk(other)
    assert bits(other) == walked.bits


def test_what_is_selected_is_a_network_and_selecting_changes_nothing(walked):
    searcher = walked.searcher
    before = bits(searcher)
    selectors = {searcher.method.select, searcher.method.preview or searcher.method.select}
    found = [select(searcher.objective, searcher.valid_batches, Random(0)) for select in selectors]
    assert bits(searcher) == before
    for genotype in found:
        discrete = restrict(walked.space, genotype)
        assert discrete.discrete
        net = CellNet(discrete, NetConfig(channels=4, classes=2, input=(3, 8, 8)))
        logits = net(torch.randn(2, 3, 8, 8))
        assert logits.shape == (2, 2)
        assert logits.isfinite().all()


@pytest.mark.parametrize("pair", IMPOSSIBLE, ids=map("-".join, IMPOSSIBLE))
def test_a_pair_without_meaning_gives_its_reason(pair):
    name, space = pair
    with pytest.raises(CompositionError, match=IMPOSSIBLE[pair]) as caught:
        make(name, SMALL[space])
    assert repr(space) in str(caught.value)
    assert "; use " in str(caught.value)


@each
def test_nothing_to_choose_is_nothing_to_search(name):
    discrete = restrict(SMALL["nano"], sample(SMALL["nano"], Random(0)))
    with pytest.raises(CompositionError, match="nothing left to choose"):
        make(name, discrete)


@each
def test_a_method_is_a_few_lines_and_says_in_one_what_it_is(name):
    function = METHODS[name]
    tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    docstring, *body = tree.body
    assert docstring.lineno == docstring.end_lineno
    assert inspect.getdoc(function).endswith(".")
    assert body[-1].end_lineno - body[0].lineno < 10
    kinds = inspect.signature(function).parameters.values()
    assert all(own.kind is own.KEYWORD_ONLY and own.default is not own.empty for own in kinds)


class Diary(Hook):
    """Keeps what was recorded, and the state after every step."""

    def __init__(self):
        self.states, self.records = [], []

    def on_step_end(self, searcher):
        self.states.append(copied(capture(searcher)))

    def on_epoch_end(self, _, record):
        self.records.append((record.details(), {**record.metrics, "seconds": 0}))


class From(Hook):
    """Goes on from a state, if there is one."""

    def __init__(self, state):
        self.state = state

    def on_start(self, searcher):
        if self.state is not None:
            restore(searcher, self.state)


def story(searcher, diary):
    """All that a search says of itself, but for the time it took."""
    return {**searcher.fit().facts(), "seconds": 0, "records": diary.records}


@each
def test_a_whole_search_goes_on_from_any_step(name):
    """From the middle of an epoch, or from its end before it is measured; what does not train begins anew."""
    diary = Diary()
    whole = story(make(name, SMALL["nano"], [diary]), diary)
    records = whole.pop("records")
    assert len(records) == whole["epochs"]
    assert len(diary.states) == 2 * len(records)
    assert all(math.isfinite(metrics["train_loss"]) for _, metrics in records)
    for state in diary.states[:3] or [None]:
        other = Diary()
        again = story(make(name, SMALL["nano"], [From(state), other]), other)
        recorded = again.pop("records")
        assert recorded == records[len(records) - len(recorded) :]
        assert again == whole


class AfterTheLast(Hook):
    """Keeps the state that is saved when all is trained, before the selection."""

    state = None

    def on_epoch_end(self, searcher, record):
        if record.epoch + 1 == searcher.plan.epochs:
            self.state = copied(capture(searcher))


@each
def test_a_search_that_lacks_its_selection_alone_ends_the_same(name):
    last = AfterTheLast()
    whole = make(name, SMALL["nano"], [last]).fit()
    if last.state is None:
        return  # it trains nothing
    again = make(name, SMALL["nano"])
    restore(again, last.state)
    assert conclude(again).facts() | {"seconds": 0} == whole.facts() | {"seconds": 0}


OTHER = {
    "bilevel": False,
    "joint": True,
    "lr": 0.05,
    "weight_decay": 0.5,
    "product": "finite",
    "radius": 1.0,
    "eta": 1.0,
    "start": 2.0,
    "end": 2.0,
    "partial": 2,
    "warmup": 1,
    "floor": 0.166,
    "explore": 0.0,
    "entropy": 1.0,
    "bounded": True,
    "init": "random",
    "bound": 1e-3,
    "zeta": 1e-6,
    "cell_by_cell": False,
    "samples": 60,
    "epoch_samples": 20,
    "score": lambda genotype: -score(genotype),
    "population": 2,
    "tournament": 4,
    "cycles": 30,
}
"""Another value for every option; one that is missing here has no test."""

FIRST = {"joint": {"bilevel": False}, "radius": {"product": "finite"}, "entropy": {"lr": 0.1}}
"""What an option needs beside it to have a meaning, where the method offers that."""

CHOICES = [(name, option) for name in METHODS for option in inspect.signature(METHODS[name]).parameters]


@cache
def told(name, seed, chosen):
    """The story of a search of the smallest space, with some options."""
    diary = Diary()
    method = make_method(name, OPTIONS.get(name, {}) | dict(chosen))
    return story(Searcher(SMALL["nano"], method, noise(), numbers(seed=seed), hooks=[diary]), diary)


@pytest.mark.parametrize(("name", "option"), CHOICES, ids=map("-".join, CHOICES))
def test_every_option_matters(name, option):
    """For one seed or another: a choice between few things can come out the same by chance."""
    offered = inspect.signature(METHODS[name]).parameters
    first = tuple(pair for pair in FIRST.get(option, {}).items() if pair[0] in offered)
    other = (*first, (option, OTHER[option]))
    assert any(told(name, seed, first) != told(name, seed, other) for seed in range(6))
