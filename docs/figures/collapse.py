"""DARTS drifts to skip connections, does single level GAEA? gaea.txt figure 1 at a laptop's size.

    python docs/figures/collapse.py --data cifar10.npz --out /tmp/collapse

Searches the space nb201 without `none` with both methods and several seeds, 3 cells a stage, 4 channels, on
images made half as large (16x16) by averaging. Each search is an ordinary run in the folder `--out`: run the
script again and what is finished is kept, what was cut short goes on. Then draws entropy, the share of skip
connections in the current choice, and their mean strength, one line per seed.
"""

import argparse
import json
from pathlib import Path

import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F

from dartboard.data import Dataset, ImageSet, load_dataset
from dartboard.runs import Run
from dartboard.search import Searcher, SearchOptions, make_method
from dartboard.space import get_space

SEARCHES = {
    "darts": ("darts", {"lr": 3e-3}, 30),
    "gaea-darts-erm": ("gaea-darts-erm", {"lr": 0.1}, 17),
}
"""Method, options and epochs; both take about 2,350 steps. DARTS' rate is ten times its paper's, whose
search takes eight times as many steps; docs/methods/index.md tells how this was arrived at."""
COLORS = {"darts": "tab:red", "gaea-darts-erm": "tab:blue"}
SPACE = get_space("nb201").without("none").resized(3)
SKIP = SPACE.ops.index("skip_connect")


def halved(images: ImageSet) -> ImageSet:
    """Images of half the size, each pixel the mean of four."""
    return ImageSet(F.avg_pool2d(images.images.float(), 2).round().to(torch.uint8), images.labels)


def search(label: str, seed: int, data: Dataset, out: Path) -> Path:
    """Runs one search, or what is left of it; returns its folder."""
    name, given, epochs = SEARCHES[label]
    options = SearchOptions.model_validate(
        {
            "epochs": epochs,
            "seed": seed,
            "net": {"channels": 4},
            "data": {"pad": 2, "flip": True},
            "health": {"examples": 1000},
        }
    )
    path = out / f"{label}-{seed}"
    config = {"method": {"name": name, **given}, **options.model_dump()}
    run = Run.resume(path) if path.exists() else Run.create(path, config, space=SPACE)
    with run:
        if run.result() is None:
            Searcher(SPACE, make_method(name, given), data, options, run=run).fit()
            print(label, seed, json.dumps(run.result()))
    return path


def curves(path: Path) -> dict[str, list[float]]:
    """What is drawn of one run, by epoch."""
    rows = Run.read(path).metrics()
    details = [Run.read(path).epoch(row["epoch"]) for row in rows]
    strengths = [torch.tensor(own["strengths"]["cell"]["ops"]) for own in details]
    return {
        "steps": [row["step"] for row in rows],
        "mean entropy of an edge (nats)": [row["entropy"] for row in rows],
        "skip_connect among the 6 chosen ops": [row["cells"]["cell"]["skips"] for row in rows],
        "mean strength of skip_connect": [own[:, SKIP].mean().item() for own in strengths],
    }


def draw(found: dict[tuple[str, int], dict[str, list[float]]], target: Path) -> None:
    """One panel per quantity, one line per search."""
    names = [name for name in next(iter(found.values())) if name != "steps"]
    figure, panels = plt.subplots(1, len(names), figsize=(12, 3.4), layout="constrained")
    for panel, name in zip(panels, names, strict=True):
        for (label, seed), own in found.items():
            panel.plot(
                own["steps"], own[name], color=COLORS[label], alpha=0.8, label=label if not seed else None
            )
        panel.set(xlabel="steps", title=name)
    panels[0].legend(frameon=False)
    figure.savefig(target)


def main() -> None:
    """Search, then draw."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", required=True, help="an .npz with CIFAR-10's images, or a part of them")
    parser.add_argument("--out", type=Path, required=True, help="where the runs are kept")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--methods", nargs="+", default=list(SEARCHES), choices=SEARCHES)
    parser.add_argument("--figure", type=Path, default=Path(__file__).with_suffix(".svg"))
    args = parser.parse_args()
    torch.set_num_threads(1)
    whole = load_dataset(args.data)
    data = Dataset(whole.name, whole.classes, halved(whole.train))
    found = {
        (label, seed): curves(search(label, seed, data, args.out))
        for seed in args.seeds
        for label in args.methods
    }
    draw(found, args.figure)


if __name__ == "__main__":
    main()
