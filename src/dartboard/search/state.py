"""Everything a search needs to go on exactly where it was."""

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_map_only

from dartboard.errors import CheckpointError
from dartboard.search.memory import is_out_of_memory

if TYPE_CHECKING:
    from dartboard.search.searcher import Searcher

VERSION = 1


def capture(searcher: "Searcher") -> dict[str, Any]:
    """The state of a search as nested plain values and tensors, which still are its own; see `copied`."""
    scaler = searcher.stepper.scaler
    return {
        "version": VERSION,
        "settings": settings(searcher),
        "epoch": searcher.epoch,
        "step": searcher.step,
        "seconds": searcher.seconds,
        "pieces": searcher.task.pieces,
        "net": dict(searcher.net.state_dict()),
        "relaxation": dict(searcher.relaxation.state_dict()),
        "optimiser": searcher.optimiser.state_dict(),
        "update": None if searcher.update is None else searcher.update.state_dict(),
        "scaler": None if scaler is None else scaler.state_dict(),
        "meter": searcher.meter.state_dict(),
        "chance": chance(searcher.device),
    }


def restore(searcher: "Searcher", state: dict[str, Any]) -> None:
    """Puts a search, made from the same arguments, where it was when `state` was captured.

    Raises:
        CheckpointError: If the state is of another version of dartboard, or of another search.
    """
    if state.get("version") != VERSION:
        raise CheckpointError(
            f"the state has version {state.get('version')}, and this dartboard reads version {VERSION}; "
            "go on with the dartboard that wrote it (environment.json says which)"
        )
    for name, value in settings(searcher).items():
        if state["settings"].get(name) != value:
            was = state["settings"].get(name)
            raise CheckpointError(
                f"the state is of a search with other settings: {name} was {was}, is {value}"
            )
    try:
        _restore(searcher, state)
    except (KeyError, RuntimeError, ValueError) as error:
        if is_out_of_memory(error):
            raise
        first = str(error).strip().split("\n")[-1].strip()
        raise CheckpointError(f"the state is of a search with other settings: {first}") from error


def _restore(searcher: "Searcher", state: dict[str, Any]) -> None:
    searcher.relaxation.load_state_dict(state["relaxation"])
    searcher.prune()
    searcher.net.load_state_dict(state["net"])
    searcher.optimiser.load_state_dict(state["optimiser"])
    if searcher.update is not None:
        searcher.update.load_state_dict(state["update"])
    if searcher.stepper.scaler is not None:
        searcher.stepper.scaler.load_state_dict(state["scaler"])
    searcher.meter.load_state_dict(state["meter"])
    searcher.task.pieces = state["pieces"]
    searcher.epoch, searcher.step = state["epoch"], state["step"]
    searcher.seconds = state["seconds"]
    set_chance(searcher.device, state["chance"])


def settings(searcher: "Searcher") -> dict[str, Any]:
    """What must be the same for a state to be of use, as plain values by name."""
    values = searcher.options.model_dump(mode="json", exclude={"checkpoint", "health", "pieces"})
    return {"space": searcher.space.name, **values}


def copied(state: Any) -> Any:
    """The state by itself, in the host's memory."""
    return tree_map_only(Tensor, lambda tensor: tensor.detach().clone().cpu(), state)


def chance(device: torch.device) -> dict[str, Tensor]:
    """The state of torch's generators that a search on the device draws from."""
    states = {"cpu": torch.get_rng_state()}
    return states | ({"cuda": torch.cuda.get_rng_state(device)} if device.type == "cuda" else {})


def set_chance(device: torch.device, states: dict[str, Tensor]) -> None:
    """Puts torch's generators into a state from `chance`."""
    torch.set_rng_state(states["cpu"])
    if device.type == "cuda" and "cuda" in states:
        torch.cuda.set_rng_state(states["cuda"], device)
