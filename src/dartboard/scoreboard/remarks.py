"""What the rows of the scoreboard come to, in sentences."""

from collections.abc import Iterator, Sequence

from dartboard.scoreboard.baselines import POPULATION, Baseline
from dartboard.scoreboard.rows import RANDOM, ScoreboardRow
from dartboard.scoreboard.statistics import BETTER, ONE_SEED, UNCLEAR, WORSE

FEW = 10
"""With fewer seeds, bootstrap intervals are clearly too narrow; see `difference`."""


def remarks(rows: Sequence[ScoreboardRow], baselines: Sequence[Baseline], left_out: int) -> Iterator[str]:
    """Which methods beat random and which did not, what is missing, and what the numbers stand for.

    Args:
        rows: All of them.
        baselines: Those among the rows.
        left_out: How many records are not among the rows.
    """
    yield from _verdicts(rows, baselines)
    yield from _missing(rows)
    yield from _about_baselines(baselines)
    if left_out:
        yield f"Records that are not asked for here, and left out: {left_out}."


def _verdicts(rows: Sequence[ScoreboardRow], baselines: Sequence[Baseline]) -> Iterator[str]:
    if not any(own.label == RANDOM for own in baselines):
        yield "Nothing is compared with random, which is not among the baselines."
        return
    yield f"Better than random here: {_named(rows, BETTER) or 'none'}."
    yield f"No difference to random shown: {_named(rows, UNCLEAR) or 'none'}."
    yield f"Worse than random here: {_named(rows, WORSE) or 'none'}."
    if single := _named(rows, ONE_SEED):
        yield f"One seed alone shows nothing: {single}."
    if few := [row.label for row in rows if row.kind == "search" and 1 < row.done < FEW]:
        yield (
            f"Intervals from fewer than {FEW} seeds are too narrow (of 100 about 75 hold the truth with 3, "
            f"82 with 5): {', '.join(few)}."
        )


def _named(rows: Sequence[ScoreboardRow], verdict: str) -> str:
    return ", ".join(row.label for row in rows if row.verdict == verdict)


def _missing(rows: Sequence[ScoreboardRow]) -> Iterator[str]:
    gaps = [f"{row.label} {in_ranges(row.missing)}" for row in rows if row.missing]
    if gaps:
        yield f"Missing seeds: {'; '.join(gaps)}."


def in_ranges(seeds: Sequence[int]) -> str:
    """Seeds in ascending order as a text, such as `0, 2-9`."""
    runs: list[list[int]] = []
    for seed in seeds:
        if runs and seed == runs[-1][-1] + 1:
            runs[-1].append(seed)
        else:
            runs.append([seed])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


def _about_baselines(baselines: Sequence[Baseline]) -> Iterator[str]:
    for own in baselines:
        by = "validation" if own.judge == "valid" else "test"
        why = "" if own.judge == "valid" else ", for the benchmark has no validation accuracies"
        yield f"{own.label}: the best of {own.queries:,} by {by} accuracy{why}; {own.draws:,} times."
        if own.label == "evolution" and own.queries <= POPULATION:
            yield f"evolution is random where it may ask about no more than its population of {POPULATION}."
