"""Train a supernet on the embedded digits for a few steps.

Builds the supernet of the space `nano`, in which all candidate ops weigh the same, and fits its weights
to handwritten digits of 8x8 pixels. Nothing is chosen: this shows that the parts work together.
"""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from time import perf_counter
from typing import TYPE_CHECKING

from dartboard.cli.arguments import positive
from dartboard.cli.facts import space_facts
from dartboard.cli.report import print_space
from dartboard.space import get_space

if TYPE_CHECKING:
    from torch import Tensor

    from dartboard.nn import CellNet

SPACE = "nano"
CHANNELS = 8
BATCH = 64
HELD_OUT = 297
LEARNING_RATE = 0.1


def configure(parser: ArgumentParser) -> None:
    """Declare the verb's arguments."""
    parser.add_argument(
        "--steps", type=positive, default=60, metavar="N", help="training steps (default: 60)"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="where chance starts (default: 0)")


def run(args: Namespace) -> int:
    """Build, train, and say what was done."""
    import torch

    from dartboard.data import BRIGHTEST, load_digits
    from dartboard.nn import CellNet, NetConfig, count_parameters

    torch.set_num_threads(1)  # images this small keep no second core busy
    torch.manual_seed(args.seed)
    space, digits = get_space(SPACE), load_digits()
    net = CellNet(space, NetConfig(channels=CHANNELS, input=(1, 8, 8), search=True))
    print_space(space, space_facts(space))
    print(f"\nsupernet: {count_parameters(net):,} parameters, all candidate ops weigh the same")
    _fit(net, digits.images / BRIGHTEST, digits.labels, args.steps)
    return 0


def _fit(net: "CellNet", images: "Tensor", labels: "Tensor", steps: int) -> None:
    """Train on all but the held-out digits and print how it goes."""
    train, held_out = (images[:-HELD_OUT], labels[:-HELD_OUT]), (images[-HELD_OUT:], labels[-HELD_OUT:])
    print(f"data: {len(train[1]):,} digits to train on, {HELD_OUT} held out")
    before, start = _accuracy(net, *held_out), perf_counter()
    for step, loss in enumerate(_losses(net, *train, steps), start=1):
        if step in (1, steps) or step % 20 == 0:
            print(f"step {step:3}: loss {loss:.3f}")
    print(
        f"{steps} steps of {BATCH} digits in {perf_counter() - start:.1f} s: "
        f"{before:.1%} of the held-out digits right before, {_accuracy(net, *held_out):.1%} after"
    )


def _losses(net: "CellNet", images: "Tensor", labels: "Tensor", steps: int) -> Iterator[float]:
    """Take training steps on random batches; yields the loss of each."""
    import torch
    from torch.nn.functional import cross_entropy

    optimiser = torch.optim.SGD(net.parameters(), LEARNING_RATE, momentum=0.9)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)
    net.train()
    for _ in range(steps):
        batch = torch.randint(len(labels), (BATCH,))
        loss = cross_entropy(net(images[batch]), labels[batch])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
        yield float(loss.detach())


def _accuracy(net: "CellNet", images: "Tensor", labels: "Tensor") -> float:
    """The share of the images that the network gets right."""
    import torch

    net.eval()
    with torch.no_grad():
        right = net(images).argmax(1) == labels
    return float(right.float().mean())
