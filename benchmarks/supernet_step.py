"""How much faster the default supernet is than the plain formula, and how much less memory it takes.

Plain and default steps alternate in one process; times are medians. A whole step is an architecture step
and a weight step (first-order, bilevel); the joint step takes both gradients from one pass. The plain
formula is timed as peers run it, with every gradient computed in every step; the default computes the
gradients a step needs. `same_gradients` is the ratio when the plain formula is given that too.

usage: python benchmarks/supernet_step.py [--space NAME ...] [--json] [--profile]
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from dartboard.nn import ArchMixture, Blend, CellNet, NetConfig, all_live
from dartboard.space import get_space


@dataclass(frozen=True)
class Setting:
    """What is measured: a space, with the numbers of cells and channels it is searched with."""

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
        setting: What is built.
        mix: `plain` or `fused`.
        batch: Examples a step.
        ask: Whether each step computes only the gradients it needs.
    """

    def __init__(self, setting: Setting, mix: str, batch: int, *, ask: bool) -> None:
        torch.manual_seed(0)
        space = get_space(setting.space).resized(setting.cells)
        self.net = CellNet(space, NetConfig(channels=setting.channels, search=True, mix=mix))
        self.space, self.ask = space, ask
        self.images = torch.randn(batch, 3, 32, 32)
        self.labels = torch.randint(10, (batch,))
        self.alphas = {
            arch: torch.zeros(len(cell.edges), max(len(edge.ops) for edge in cell.edges), requires_grad=True)
            for arch, cell in space.archs
        }

    def loss(self) -> Tensor:
        blends = {
            arch: Blend(all_live(cell), self.alphas[arch].softmax(-1)) for arch, cell in self.space.archs
        }
        return F.cross_entropy(self.net(self.images, ArchMixture(self.space, blends)), self.labels)

    def run(self, part: str) -> None:
        if self.ask:
            self.net.requires_grad_(part != "architecture")
            for alpha in self.alphas.values():
                alpha.requires_grad_(part != "weights")
        self.net.zero_grad(set_to_none=True)
        self.loss().backward()

    def flops(self) -> int:
        """Floating-point operations of a whole step.

        A forward pass by torch's counter, and as much again for each gradient of a layer: that in its input
        in both steps, that in its weights in the weight step.
        """
        with FlopCounterMode(display=False) as counter, torch.no_grad():
            self.loss()
        return 5 * int(counter.get_total_flops())


def seconds(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def measure_times(steps: dict[str, Step], repeats: int) -> dict[str, dict[str, float]]:
    """Median seconds of each part of each step, all interleaved."""
    times: dict[str, dict[str, list[float]]] = {name: {part: [] for part in PARTS} for name in steps}
    for repeat in range(repeats + 1):
        for part in PARTS:
            for name, step in steps.items():
                taken = seconds(lambda step=step, part=part: step.run(part))
                if repeat:  # the first round warms up
                    times[name][part].append(taken)
    return {name: {part: statistics.median(own) for part, own in parts.items()} for name, parts in times.items()}


def peak_memory(setting: Setting, mix: str, batch: int) -> int:
    """Bytes that a whole step adds to the memory of this process; meant for a process of its own."""
    step = Step(setting, mix, batch, ask=mix == "fused")
    before = _status("VmRSS")
    for _ in range(2):
        step.run("architecture")
        step.run("weights")
    return _status("VmHWM") - before


def _status(field: str) -> int:
    """A memory figure of this process in bytes (not getrusage's, which a child inherits from its parent)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field + ":"))


def memory_in_child(name: str, mix: str, batch: int, threads: int) -> int:
    command = [sys.executable, __file__, "--space", name, "--memory", mix, "--batch", str(batch)]
    done = subprocess.run([*command, "--threads", str(threads)], check=True, capture_output=True, text=True)
    return int(done.stdout.split()[-1])


def matmul_peak() -> float:
    """Floating-point operations a second of a large matrix product on this machine."""
    a = torch.randn(1024, 1024)
    return 2 * 1024**3 / statistics.median(seconds(lambda: a @ a) for _ in range(20))


def measure(name: str, batch: int, repeats: int, threads: int) -> dict[str, object]:
    """All figures of one setting."""
    setting = SETTINGS[name]
    steps = {
        "plain": Step(setting, "plain", batch, ask=False),
        "plain_asked": Step(setting, "plain", batch, ask=True),
        "default": Step(setting, "fused", batch, ask=True),
    }
    times = measure_times(steps, repeats)
    whole = {key: own["architecture"] + own["weights"] for key, own in times.items()}
    memory = {mix: memory_in_child(name, mix, batch, threads) for mix in ("plain", "fused")}
    return {
        "space": name,
        "speedup": whole["plain"] / whole["default"],
        "same_gradients": whole["plain_asked"] / whole["default"],
        "memory_ratio": memory["fused"] / memory["plain"],
        "parts": {part: times["plain"][part] / times["default"][part] for part in PARTS},
        "seconds": {key: {**own, "whole": whole[key]} for key, own in times.items()},
        "memory_bytes": {"plain": memory["plain"], "default": memory["fused"]},
        "matmul_share": steps["default"].flops() / whole["default"] / matmul_peak(),
        "batch": batch,
        "threads": threads,
    }


def show_profile(name: str, batch: int) -> None:
    """Where the time of the default step goes."""
    step = Step(SETTINGS[name], "fused", batch, ask=True)
    step.run("architecture")
    with torch.profiler.profile() as profile:
        step.run("architecture")
        step.run("weights")
    print(profile.key_averages().table(sort_by="self_cpu_time_total", row_limit=25, max_name_column_width=60))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--space", action="append", choices=SETTINGS, help="default: all")
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1, help="more measure the neighbours too")
    parser.add_argument("--json", action="store_true", help="the last line is one JSON object")
    parser.add_argument("--profile", action="store_true", help="show what the default step spends its time on")
    parser.add_argument("--memory", choices=("plain", "fused"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    names = options.space or list(SETTINGS)
    if options.memory:
        print(peak_memory(SETTINGS[names[0]], options.memory, options.batch))
        return
    if options.profile:
        for name in names:
            show_profile(name, options.batch)
        return
    print(f"{'space':10} {'speedup':>8} {'arch':>6} {'weights':>8} {'joint':>6} {'same grads':>11} {'memory':>7} "
          f"{'plain s':>8} {'default s':>10} {'of matmul peak':>15}", flush=True)  # fmt: skip
    for name in names:
        row = measure(name, options.batch, options.repeats, options.threads)
        parts, whole = row["parts"], row["seconds"]
        print(f"{name:10} {row['speedup']:8.2f} {parts['architecture']:6.2f} {parts['weights']:8.2f} "
              f"{parts['joint']:6.2f} {row['same_gradients']:11.2f} {row['memory_ratio']:7.2f} "
              f"{whole['plain']['whole']:8.3f} {whole['default']['whole']:10.3f} {row['matmul_share']:15.2f}",
              flush=True)  # fmt: skip
        if options.json:
            print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
