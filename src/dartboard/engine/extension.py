"""Another number of epochs for a run that has begun: what stays, and from where the new schedules count."""

from typing import Any

from dartboard.engine.config import LoopOptions
from dartboard.errors import RunError
from dartboard.runs import Run


def other_epochs(
    run: Run, options: LoopOptions, epochs: int, *, fall_back: bool = False
) -> dict[str, Any] | None:
    """The settings that change if a run gets another number of epochs; None if nothing changes.

    Schedules of the new length count from the next epoch on: an epoch that has begun is finished with those
    that it began with. These follow from the settings alone, so that a run which is killed later, or repeated
    from its configuration, has the same.

    Args:
        run: Of a search or a training; nothing is written to it.
        options: Its settings.
        epochs: How many epochs it shall have.
        fall_back: Whether an older checkpoint will do where the last is damaged.

    Raises:
        RunError: If more epochs have begun, or the run trains nothing.
        CheckpointError: If the last checkpoint is damaged.
    """
    if epochs == options.epochs:
        return None
    checkpoint = run.load(fall_back=fall_back)
    if checkpoint is None:
        if run.result() is not None:
            raise RunError(f"{run.path} trains nothing, so that another number of epochs changes nothing")
        return {"epochs": epochs, "schedule_history": []}
    step, state = checkpoint
    complete = int(state["epoch"])
    ends = [int(row["step"]) for row in run.metrics() if row["epoch"] == complete - 1]
    begun = max(complete + (step > max(ends, default=0)), 1)
    if epochs < begun:
        more = "" if begun == complete else f" and has begun epoch {begun}"
        raise RunError(
            f"{run.path} has {complete} complete epochs{more}; it can have epochs={begun} or more, not "
            f"{epochs}"
        )
    kept = [entry.model_dump() for entry in options.schedule_history if entry.until < begun]
    before = options.lengths(1).at(begun - 1).epochs
    return {"epochs": epochs, "schedule_history": [*kept, {"until": begun, "epochs": before}]}
