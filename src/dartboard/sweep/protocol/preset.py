"""The stages of a protocol, as a sweep (Li et al. 2021, C.1).

Several searches; each different network that they found is trained for a few epochs, the clearly bad are
pruned, the others trained to the end; the best is trained anew with many seeds. Random architectures with
the same budget go through the same, so that the benefit of the search can be seen.
"""

import math

from dartboard.runs import flat
from dartboard.sweep.config import StageConfig, StopRule, SweepConfig
from dartboard.sweep.protocol.config import ProtocolConfig

FOUND, RANDOM = "found", "random"
"""The two arms: networks that searches found, and random ones."""
SEARCH = "search"
TRAIN = {arm: f"train-{arm}" for arm in (FOUND, RANDOM)}
"""By arm, the stage that selects its best network."""
FINAL = {arm: f"final-{arm}" for arm in (FOUND, RANDOM)}
"""By arm, the stage that trains its best network with many seeds."""
RUN_NAMES = {
    SEARCH: "search/s{seed}",
    **dict.fromkeys(TRAIN.values(), "train/{cell}"),
    **{stage: f"final/{arm}-s{{seed}}" for arm, stage in FINAL.items()},
}
"""By stage, the format of the names of its runs."""


def to_sweep(config: ProtocolConfig) -> SweepConfig:
    """The sweep that a protocol is.

    Networks are selected with a seed that is none of the final trainings, so that the luck by which one is
    selected is not counted again. If trainings are no longer than short ones, they are compared at their end.
    """
    train, seed = flat(config.train.model_dump(mode="json")), config.train.seed
    every = math.gcd(config.train.evaluation.every, config.short)
    select = train | {"seed": seed + config.seeds, "evaluation.every": every}
    after = (config.short,) if config.short < config.train.epochs else ()
    stop = StopRule(after=after, keep=config.keep)
    cells = {FOUND: SEARCH}
    if config.random == "count":
        cells[RANDOM] = f"random {config.searches} of {SEARCH}"
    elif config.random == "time":
        cells[RANDOM] = f"random within the time of {TRAIN[FOUND]}"

    grid = {"seed": tuple(config.search.seed + number for number in range(config.searches))}
    stages = {
        SEARCH: StageConfig(do="search", settings=flat(config.search.model_dump(mode="json")), grid=grid)
    }
    for arm, source in cells.items():
        draw = config.seed if arm == RANDOM else 0
        stages[TRAIN[arm]] = StageConfig(
            do="train", cells=source, cells_seed=draw, settings=select, stop=stop
        )
    grid = {"seed": tuple(seed + number for number in range(config.seeds))}
    for arm in cells:
        stages[FINAL[arm]] = StageConfig(do="train", cells=f"best of {TRAIN[arm]}", settings=train, grid=grid)
    return SweepConfig(stages=stages)
