"""Speed and memory of the default supernet relative to the plain formula.

Plain and default steps alternate in one process; times are medians. A whole step is an architecture step
and a weight step (first-order, bilevel); the joint step computes both gradients in one backward pass. The
plain formula is timed as other code bases run it, with every gradient computed in every step; the default
computes only the gradients a step needs. `same_gradients` is the ratio when the plain formula does so too.

Below each line are the operators in which the default step spends its time; the last column is the
fraction of the machine's matrix-multiplication throughput that the step reaches.

usage: python benchmarks/supernet_step.py [--space NAME ...] [--json]
"""

import argparse
import json
import statistics
import subprocess
import sys
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from _common import added_memory, seconds
from dartboard.nn import ArchMixture, Blend, CellNet, NetConfig, all_live
from dartboard.space import get_space


@dataclass(frozen=True)
class Setting:
    """A space, with the number of cells and channels of its supernet."""

    space: str
    cells: int
    channels: int = 16


SETTINGS = {
    "darts": Setting("darts", 8),
    "xnas": Setting("xnas", 8),
    "nb201": Setting("nb201", 5),
    "nb201-1": Setting("nb201", 1),
    "s2": Setting("s2", 20),
    "oneshot1": Setting("oneshot1", 3),
}
PARTS = ("architecture", "weights", "joint")


class Step:
    """A search step of one network on one batch.

    Args:
        setting: Space and size of the supernet.
        mix: `plain` or `fused`.
        batch: Batch size.
        needed_only: Whether each step computes only the gradients it needs.
    """

    def __init__(self, setting: Setting, mix: str, batch: int, *, needed_only: bool) -> None:
        torch.manual_seed(0)
        space = get_space(setting.space).resized(setting.cells)
        self.net = CellNet(space, NetConfig(channels=setting.channels, search=True, mix=mix))
        self.space, self.needed_only = space, needed_only
        self.images = torch.randn(batch, 3, 32, 32)
        self.labels = torch.randint(10, (batch,))
        self.alphas = {arch: torch.zeros(cell.shape, requires_grad=True) for arch, cell in space.groups}

    def loss(self) -> Tensor:
        blends = {
            arch: Blend(all_live(cell), self.alphas[arch].softmax(-1)) for arch, cell in self.space.groups
        }
        return F.cross_entropy(self.net(self.images, ArchMixture(self.space, blends)), self.labels)

    def run(self, part: str) -> None:
        if self.needed_only:
            self.net.requires_grad_(part != "architecture")
            for alpha in self.alphas.values():
                alpha.requires_grad_(part != "weights")
        self.net.zero_grad(set_to_none=True)
        self.loss().backward()

    def flops(self) -> int:
        """Floating-point operations of a whole step.

        A forward pass by torch's counter, and as much again for each gradient of a layer: of its input in
        both steps, of its weights in the weight step.
        """
        with FlopCounterMode(display=False) as counter, torch.no_grad():
            self.loss()
        return 5 * int(counter.get_total_flops())


def measure_times(steps: dict[str, Step], repeats: int) -> dict[str, dict[str, float]]:
    """Median seconds of each part of each step, all interleaved."""
    times: dict[str, dict[str, list[float]]] = {name: {part: [] for part in PARTS} for name in steps}
    for repeat in range(repeats + 1):
        for part in PARTS:
            for name, step in steps.items():
                elapsed = seconds(lambda step=step, part=part: step.run(part))
                if repeat:  # the first round warms up
                    times[name][part].append(elapsed)
    return {
        name: {part: statistics.median(values) for part, values in parts.items()}
        for name, parts in times.items()
    }


def peak_memory(setting: Setting, mix: str, batch: int) -> int:
    """Bytes that a whole step adds to the peak memory of this process; call it in a fresh process."""
    step = Step(setting, mix, batch, needed_only=mix == "fused")

    def steps() -> None:
        for _ in range(2):
            step.run("architecture")
            step.run("weights")

    return added_memory(steps)


def memory_in_child(name: str, mix: str, batch: int, threads: int) -> int:
    """`peak_memory` of a fresh process."""
    command = [sys.executable, __file__, "--space", name, "--memory", mix, "--batch", str(batch)]
    done = subprocess.run([*command, "--threads", str(threads)], check=True, capture_output=True, text=True)
    return int(done.stdout.split()[-1])


def matmul_peak() -> float:
    """Floating-point operations per second of a large matrix product on this machine."""
    a = torch.randn(1024, 1024)
    return 2 * 1024**3 / statistics.median(seconds(lambda: a @ a) for _ in range(20))


def measure(name: str, batch: int, repeats: int, threads: int) -> dict[str, object]:
    """All results of one setting."""
    setting = SETTINGS[name]
    steps = {
        "plain": Step(setting, "plain", batch, needed_only=False),
        "plain_needed_only": Step(setting, "plain", batch, needed_only=True),
        "default": Step(setting, "fused", batch, needed_only=True),
    }
    times = measure_times(steps, repeats)
    whole = {key: parts["architecture"] + parts["weights"] for key, parts in times.items()}
    memory = {mix: memory_in_child(name, mix, batch, threads) for mix in ("plain", "fused")}
    return {
        "space": name,
        "speedup": whole["plain"] / whole["default"],
        "same_gradients": whole["plain_needed_only"] / whole["default"],
        "memory_ratio": memory["fused"] / memory["plain"],
        "parts": {part: times["plain"][part] / times["default"][part] for part in PARTS},
        "seconds": {key: {**parts, "whole": whole[key]} for key, parts in times.items()},
        "memory_bytes": {"plain": memory["plain"], "default": memory["fused"]},
        "profile": profile(steps["default"]),
        "matmul_share": steps["default"].flops() / whole["default"] / matmul_peak(),
        "batch": batch,
        "threads": threads,
    }


def profile(step: Step) -> dict[str, float]:
    """Fractions of the time of a whole step by operator, for the most expensive ones."""
    with torch.profiler.profile() as recorded:
        step.run("architecture")
        step.run("weights")
    rows = sorted(recorded.key_averages(), key=lambda row: -row.self_cpu_time_total)
    total = sum(row.self_cpu_time_total for row in rows)
    return {row.key.removeprefix("aten::"): row.self_cpu_time_total / total for row in rows[:8]}


COLUMNS = {
    "space": lambda row: f"{row['space']:10}",
    "speedup": lambda row: f"{row['speedup']:.2f}",
    "architecture": lambda row: f"{row['parts']['architecture']:.2f}",
    "weights": lambda row: f"{row['parts']['weights']:.2f}",
    "joint": lambda row: f"{row['parts']['joint']:.2f}",
    "same gradients": lambda row: f"{row['same_gradients']:.2f}",
    "memory": lambda row: f"{row['memory_ratio']:.2f}",
    "plain s": lambda row: f"{row['seconds']['plain']['whole']:.3f}",
    "default s": lambda row: f"{row['seconds']['default']['whole']:.3f}",
    "of matmul peak": lambda row: f"{row['matmul_share']:.2f}",
}


def show(row: dict[str, object]) -> None:
    """Print one line of the table, and the most expensive operators."""
    print("  ".join(f"{cell(row):>{len(title)}}" for title, cell in COLUMNS.items()))
    shares = ", ".join(f"{name} {share:.0%}" for name, share in row["profile"].items())
    print(f"{'':10}  {shares}", flush=True)


def parse() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--space", action="append", choices=SETTINGS, help="what to measure; default: all")
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument(
        "--threads", type=int, default=1, help="with more than one, other load affects the times"
    )
    parser.add_argument("--json", action="store_true", help="the last line is one JSON object")
    parser.add_argument("--memory", choices=("plain", "fused"), help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> None:
    """Run the benchmark and print the results."""
    options = parse()
    torch.set_num_threads(options.threads)
    names = options.space or list(SETTINGS)
    if options.memory:
        print(peak_memory(SETTINGS[names[0]], options.memory, options.batch))
        return
    print("  ".join(f"{title:10}" if title == "space" else title for title in COLUMNS), flush=True)
    for name in names:
        row = measure(name, options.batch, options.repeats, options.threads)
        show(row)
        if options.json:
            print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
