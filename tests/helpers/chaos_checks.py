"""Sweeps that are disturbed many times: how often, and that they come out as if nobody had."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from time import monotonic
from typing import Any

from sweep import chaos

STEP = 0.4
"""Seconds that a step of a long search takes at least."""


def long_sweep(data: str) -> dict[str, Any]:
    """A sweep with a minute of work for two processes, of which a part is stopped early."""
    sweep = chaos.searches(data, seeds="0..9", epochs=12)
    return {**sweep, "stop": {"after": 4, "keep": 8}, "tries": 50}


def kill_order(seed: int, **counts: int) -> list[str]:
    """What is killed, in an order that chance has made."""
    names = [name for name, count in counts.items() for _ in range(count)]
    Random(seed).shuffle(names)
    return names


def assert_survives(
    sweep: Mapping[str, Any],
    folder: Path,
    executor: Sequence[str],
    kills: Sequence[str],
    seed: int,
    *,
    targets: Mapping[str, chaos.Target] | None = None,
    spread: float = 1.0,
) -> None:
    """Asserts that a sweep takes all the kills and comes out as one that nobody disturbs.

    Args:
        sweep: What is done.
        folder: Where.
        executor: Its name, and its options.
        kills: What is killed, in turn.
        seed: When.
        targets: What can be killed, beside driver and worker.
        spread: Seconds that pass at most before the next kill.
    """
    file, start = chaos.write(folder / "sweep.yaml", sweep), monotonic()
    done = chaos.disturb(
        chaos.command(file, folder / "killed", *executor),
        folder / "killed",
        Random(seed),
        kills,
        targets={**chaos.TARGETS, **(targets or {})},
        spread=spread,
    )
    seconds = monotonic() - start
    words = f"{executor[0]}, seed {seed}: {dict(Counter(own.target for own in done))}, {seconds:.0f} s"
    print(words)  # noqa: T201
    assert [own.target for own in done] == list(kills), words
    assert chaos.story(folder / "killed") == chaos.undisturbed(file, folder / "calm"), f"{words}: {done}"
