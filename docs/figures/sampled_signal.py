"""What the gradient of a sampled op says of it, against the loss of the samples that have it (GDAS).

    python docs/figures/sampled_signal.py

Trains the supernet of nano with one op per edge, drawn uniformly, then draws many architectures. For every op
of every edge it prints the mean signal c = dL/dp . f (the derivative of the loss in the weight of the op that
was drawn, which GDAS descends) beside the mean loss of the draws with that op. Where the two rank ops alike,
their correlation is 1. `none` has a signal of exactly zero.
"""

from statistics import mean

import torch
import torch.nn.functional as F
from torch import Tensor

from dartboard.data import load_dataset
from dartboard.search import Searcher, SearchOptions, make_method
from dartboard.space import get_space

SEEDS = range(5)
EPOCHS = (8, 24)
DRAWS = 60
"""Passes over the held-out images, with another architecture for every batch."""
FROZEN = {"lr": 0.0, "explore": 0.0, "warmup": 0, "start": 1.0, "end": 1.0}


def measure(epochs: int, seed: int) -> tuple[Tensor, Tensor]:
    """Mean signals and mean losses by edge and op [E, N], both less their means over an edge."""
    given = {
        "epochs": epochs,
        "seed": seed,
        "net": {"channels": 8},
        "weights": {"lr": 0.1, "lr_end": 0.0},
        "health": {"discrete": False},
    }
    method, data = make_method("gaea-gdas", FROZEN), load_dataset("cluttered-digits")
    searcher = Searcher(get_space("nano"), method, data, SearchOptions.model_validate(given))
    searcher.fit()
    searcher.net.train()
    cell = searcher.space.cells["cell"]
    signals, losses, counts = (torch.zeros(cell.shape) for _ in range(3))
    for _ in range(DRAWS):
        for images, labels in searcher.valid_batches():
            mixture = searcher.relaxation()
            blend = mixture.blend(0)
            outputs = searcher.net(images, mixture)
            loss = F.cross_entropy(outputs[0] if isinstance(outputs, tuple) else outputs, labels)
            (slopes,) = torch.autograd.grad(loss, blend.ops, allow_unused=True)
            for edge, (place,) in enumerate(blend.live):
                signals[edge, place] += 0.0 if slopes is None else slopes[edge, place]
                losses[edge, place] += loss.detach()
                counts[edge, place] += 1
    return tuple(values / counts - (values / counts).mean(-1, keepdim=True) for values in (signals, losses))


def correlation(signals: Tensor, losses: Tensor) -> float:
    """Correlation of two tables over all ops of all edges."""
    return torch.corrcoef(torch.stack([signals.flatten(), losses.flatten()]))[0, 1].item()


def main() -> None:
    """Measure and print."""
    torch.set_num_threads(1)
    names = get_space("nano").cells["cell"].edges[0].ops
    for epochs in EPOCHS:
        measured = [measure(epochs, seed) for seed in SEEDS]
        whole = [correlation(*tables) for tables in measured]
        others = [correlation(*(table[:, 1:] for table in tables)) for tables in measured]
        each = " ".join(f"{value:+.2f}" for value in whole)
        without = f"without none {mean(others):+.2f}"
        print(f"{epochs} epochs: correlation {mean(whole):+.2f}, by seed {each}; {without}")
        signals, losses = (torch.stack(tables).mean(0) for tables in zip(*measured, strict=True))
        for edge in range(len(signals)):
            rows = zip(names, signals[edge].tolist(), losses[edge].tolist(), strict=True)
            texts = (f"{name} {signal:+.4f} {loss:+.4f}" for name, signal, loss in rows)
            print(f"  edge {edge}, signal and loss: {', '.join(texts)}", flush=True)


if __name__ == "__main__":
    main()
