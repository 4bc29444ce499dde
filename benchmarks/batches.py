"""How many images a second a stream augments, against the same work done image by image.

Both make batches of 3x32x32 float32 images that are cropped, flipped, normalised and cut out as DARTS trains
on CIFAR-10. The image-by-image pipeline does it in numpy, one image after the other, and stacks the result,
as the workers of a loader do. The two alternate in one process; figures are medians.

usage: python benchmarks/batches.py [--batch N ...] [--json]
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray

from dartboard.data import Augment, Batch, BatchLoader, Dataset, ImageSet

PAD, CUTOUT = 4, 16
IMAGES = 10_000


def noise() -> Dataset:
    """As many images as CIFAR-10 has in a fifth, of random pixels."""
    chance = torch.Generator().manual_seed(0)
    images = torch.randint(256, (IMAGES, 3, 32, 32), dtype=torch.uint8, generator=chance)
    return Dataset("noise", tuple("0123456789"), ImageSet(images, torch.arange(IMAGES) % 10))


class OneByOne:
    """The same batches, made image by image."""

    def __init__(self, data: Dataset, batch: int) -> None:
        self.images, self.labels, self.batch_size = data.train.images.numpy(), data.train.labels, batch
        self.mean, self.std = (
            np.array(values, np.float32)[:, None, None] for values in (data.mean, data.std)
        )
        self.chance = np.random.default_rng(0)
        self.order = self.chance.permutation(len(self.labels))

    def batch(self, step: int) -> Batch:
        place = step * self.batch_size % (len(self.order) - self.batch_size)
        indices = self.order[place : place + self.batch_size]
        images = [torch.from_numpy(self.augment(self.images[index])) for index in indices]
        return Batch(torch.stack(images), self.labels[torch.from_numpy(indices)])

    def augment(self, image: NDArray[np.uint8]) -> NDArray[np.float32]:
        channels, height, width = image.shape
        padded = np.zeros((channels, height + 2 * PAD, width + 2 * PAD), np.uint8)
        padded[:, PAD:-PAD, PAD:-PAD] = image
        top, left = self.chance.integers(2 * PAD + 1, size=2)
        image = padded[:, top : top + height, left : left + width]
        if self.chance.random() < 0.5:
            image = image[:, :, ::-1]
        out = (image - self.mean) / self.std
        row, column = self.chance.integers(height), self.chance.integers(width)
        half = CUTOUT // 2
        out[:, max(row - half, 0) : row + half, max(column - half, 0) : column + half] = 0
        return out


def rate(make: Callable[[int], Batch], steps: range) -> float:
    """Images a second."""
    start = time.perf_counter()
    images = sum(make(step).size for step in steps)
    return images / (time.perf_counter() - start)


def measure(data: Dataset, batch: int, repeats: int) -> dict[str, float]:
    """Medians of both, interleaved, after one round that does not count."""
    stream = BatchLoader(
        data.train,
        batch=batch,
        seed=0,
        name="train",
        mean=data.mean,
        std=data.std,
        augment=Augment(pad=PAD, flip=True, cutout=CUTOUT),
    )
    makers = {"stream": stream.batch, "one_by_one": OneByOne(data, batch).batch}
    rates: dict[str, list[float]] = {name: [] for name in makers}
    for repeat in range(repeats + 1):
        steps = range(repeat * 30, (repeat + 1) * 30)
        for name, make in makers.items():
            rates[name].append(rate(make, steps))
    medians = {name: statistics.median(own[1:]) for name, own in rates.items()}
    return {"batch": batch, **medians, "ratio": medians["stream"] / medians["one_by_one"]}


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--batch", type=int, action="append", help="images a batch; default: 64 and 256")
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--json", action="store_true", help="each line is followed by a JSON object")
    options = parser.parse_args()
    torch.set_num_threads(1)
    data = noise()
    print("batch  stream images/s  one by one images/s  ratio")
    for batch in options.batch or [64, 256]:
        row = measure(data, batch, options.repeats)
        print(
            f"{batch:5}  {row['stream']:15,.0f}  {row['one_by_one']:19,.0f}  {row['ratio']:5.2f}", flush=True
        )
        if options.json:
            print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
