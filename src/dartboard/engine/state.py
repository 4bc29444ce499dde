"""Everything a search or a training needs to go on exactly where it was."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from torch import Tensor
from torch.utils._pytree import tree_map_only

from dartboard.config.schema import values_before
from dartboard.engine.process import is_out_of_memory
from dartboard.errors import CheckpointError
from dartboard.runs import flat
from dartboard.utils.formats import check_format
from dartboard.utils.torch_rng import rng_states, set_rng_states

if TYPE_CHECKING:
    from dartboard.engine.loop import Loop

VERSION = 1
IMAGES = "images"
"""The setting that tells data sets apart."""
HISTORY = "schedule_history"
"""The setting that says which epochs were trained with other lengths."""


def capture(loop: "Loop[Any, Any]") -> dict[str, Any]:
    """The state of a loop as nested plain values and tensors, which are not copied; see `copied`."""
    scaler = loop.stepper.scaler
    return {
        "version": VERSION,
        "settings": loop.settings(),
        "epoch": loop.epoch,
        "step": loop.step,
        "seconds": loop.seconds,
        "pieces": loop.objective.micro_batches,
        "processes": loop.group.size,
        "net": dict(loop.net.state_dict()),
        "optimiser": loop.optimizer.state_dict(),
        "scaler": None if scaler is None else scaler.state_dict(),
        "meter": loop.meter.state_dict(),
        "chance": rng_states(loop.device),
        **loop.extra_state(),
    }


def restore(loop: "Loop[Any, Any]", state: dict[str, Any]) -> None:
    """Puts a loop, made from the same arguments, where it was when `state` was captured.

    Raises:
        CheckpointError: If the state is of another version of dartboard, or of another search or training.
    """
    check_format(state.get("version"), VERSION, "the state", CheckpointError)
    _check_settings(loop, state)
    try:
        loop.load_extra_state(state)
        loop.net.load_state_dict(state["net"])
        loop.optimizer.load_state_dict(state["optimiser"])
        if loop.stepper.scaler is not None:
            loop.stepper.scaler.load_state_dict(state["scaler"])
        loop.meter.load_state_dict(state["meter"])
        loop.objective.micro_batches, loop.changed = _micro_batches(loop, state)
        loop.epoch, loop.step, loop.seconds = state["epoch"], state["step"], state["seconds"]
        set_rng_states(loop.device, state["chance"])
    except (KeyError, RuntimeError, ValueError) as error:
        if is_out_of_memory(error):
            raise
        first = str(error).strip().split("\n")[-1].strip()
        raise CheckpointError(f"the state is of other settings: {first}") from error


def _check_settings(loop: "Loop[Any, Any]", state: Mapping[str, Any]) -> None:
    """Raises if a setting differs; one that the state does not have counts as before it existed.

    The number of epochs may differ if the schedules of all epochs that the state has begun are the same.
    """
    saved, current = state["settings"], loop.settings()
    if saved.get(IMAGES) != current.get(IMAGES):
        raise CheckpointError(
            "the images are not those that the state was trained on; put them back, or start anew"
        )
    before = values_before(type(loop.options)()) | flat(saved)
    begun = max(-(-state["step"] // loop.plan.steps), 1)
    history = [(entry["until"], entry["epochs"]) for entry in before[HISTORY]]
    earlier = replace(loop.plan, epochs=before["epochs"], history=tuple(history))
    same = all(earlier.at(epoch).epochs == loop.plan.at(epoch).epochs for epoch in range(begun))
    for name, value in flat(current).items():
        if before.get(name) != value and not (same and name in ("epochs", HISTORY)):
            raise CheckpointError(
                f"the state is of other settings: {name} was {before.get(name)}, is {value}"
            )


def _micro_batches(loop: "Loop[Any, Any]", state: dict[str, Any]) -> tuple[int, str]:
    """The number of micro-batches of each process, and a message about what that changes.

    Batch-norms that are not synchronized see the same images together as before wherever the number of
    micro-batches over all processes stays the same.
    """
    count, batch, pieces = loop.group.size, loop.options.batch, state["pieces"]
    before = state.get("processes", count)  # states from before it was recorded
    parts = before * pieces
    if before == count or (loop.options.sync_norms and pieces == 1):
        return pieces, ""
    if not (loop.options.sync_norms or parts % count or batch % parts):
        return parts // count, ""
    remedy = "pieces=1" if loop.options.sync_norms else "sync_norms=true"
    return min(pieces, loop.group.local_batch(batch)), (
        f"the run used processes {before}, now {count}, where batch-norms see other parts of each batch: "
        f"from here on it differs by more than rounding; a run with {remedy} would not"
    )


def copied(state: Any) -> Any:
    """A copy of the state, in the host's memory."""
    return tree_map_only(Tensor, lambda tensor: tensor.detach().clone().cpu(), state)
