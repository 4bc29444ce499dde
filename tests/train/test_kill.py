"""Trainings that are really killed, at random moments, and go on as if nothing had happened."""

from functools import cache, partial
from random import Random

import pytest

from dartboard.nn.model_file import BEST, LAST
from dartboard.runs import Run
from helpers import kills
from helpers.kills import Victim, undisturbed_record
from train import victim

SEED = 4
STEPS = victim.EPOCHS * victim.STEPS
VICTIM = Victim(victim)


pytestmark = pytest.mark.usefixtures("one_thread")


def story(path):
    """All that a finished training says but for the time it took, and the bytes of its models."""
    return kills.run_record(path) | {name: (path / name).read_bytes() for name in (BEST, LAST)}


@cache
def undisturbed(kind):
    """The story of a training that nobody touched."""
    return undisturbed_record(partial(victim.make, kind), story)


def test_a_killed_training_goes_on_to_the_same_bits(tmp_path):
    killed = VICTIM.kill(tmp_path / "run", "everything", Random(SEED), most=11)
    assert int(killed.place) < STEPS
    assert killed.saved >= int(killed.place) - 2
    with Run.resume(tmp_path / "run") as run:
        victim.make("everything", run).fit()
    assert story(tmp_path / "run") == undisturbed("everything")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", victim.KINDS)
def test_every_kind_of_training_survives_kills(tmp_path, kind, seed):
    rng, path = Random(f"{SEED} {kind} {seed}"), tmp_path / "run"
    first = VICTIM.kill(path, kind, rng, most=STEPS // 2)
    second = VICTIM.kill(path, kind, rng, most=STEPS - first.saved - 3)
    print(f"{kind}: killed after steps {first.place} and {second.place}")  # noqa: T201
    assert VICTIM.finish(path, kind)[-1] == "select"
    assert story(path) == undisturbed(kind)
