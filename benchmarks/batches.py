"""Throughput of batched augmentation against the same work image by image.

Both produce batches of 3x32x32 float32 images that are cropped, flipped, normalized and cut out as in
DARTS' training on CIFAR-10. The per-image pipeline works in numpy, one image after the other, and stacks
the result, as the workers of a DataLoader do. The two alternate in one process; results are medians.

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
    """10,000 images of random pixels, a fifth of CIFAR-10's training set."""
    rng = torch.Generator().manual_seed(0)
    images = torch.randint(256, (IMAGES, 3, 32, 32), dtype=torch.uint8, generator=rng)
    return Dataset("noise", tuple("0123456789"), ImageSet(images, torch.arange(IMAGES) % 10))


class PerImagePipeline:
    """The same batches, augmented image by image."""

    def __init__(self, data: Dataset, batch: int) -> None:
        self.images, self.labels, self.batch_size = data.train.images.numpy(), data.train.labels, batch
        self.mean, self.std = (
            np.array(values, np.float32)[:, None, None] for values in (data.mean, data.std)
        )
        self.rng = np.random.default_rng(0)
        self.order = self.rng.permutation(len(self.labels))

    def batch(self, step: int) -> Batch:
        offset = step * self.batch_size % (len(self.order) - self.batch_size)
        indices = self.order[offset : offset + self.batch_size]
        images = [torch.from_numpy(self.augment(self.images[index])) for index in indices]
        return Batch(torch.stack(images), self.labels[torch.from_numpy(indices)])

    def augment(self, image: NDArray[np.uint8]) -> NDArray[np.float32]:
        channels, height, width = image.shape
        padded = np.zeros((channels, height + 2 * PAD, width + 2 * PAD), np.uint8)
        padded[:, PAD:-PAD, PAD:-PAD] = image
        top, left = self.rng.integers(2 * PAD + 1, size=2)
        image = padded[:, top : top + height, left : left + width]
        if self.rng.random() < 0.5:
            image = image[:, :, ::-1]
        out = (image - self.mean) / self.std
        row, column = self.rng.integers(height), self.rng.integers(width)
        half = CUTOUT // 2
        out[:, max(row - half, 0) : row + half, max(column - half, 0) : column + half] = 0
        return out


def rate(make: Callable[[int], Batch], steps: range) -> float:
    """Images per second."""
    start = time.perf_counter()
    images = sum(make(step).size for step in steps)
    return images / (time.perf_counter() - start)


def measure(data: Dataset, batch: int, repeats: int) -> dict[str, float]:
    """Median rates of both, interleaved, after one warmup round."""
    loader = BatchLoader(
        data.train,
        batch=batch,
        seed=0,
        name="train",
        mean=data.mean,
        std=data.std,
        augment=Augment(pad=PAD, flip=True, cutout=CUTOUT),
    )
    makers = {"stream": loader.batch, "one_by_one": PerImagePipeline(data, batch).batch}
    rates: dict[str, list[float]] = {name: [] for name in makers}
    for repeat in range(repeats + 1):
        steps = range(repeat * 30, (repeat + 1) * 30)
        for name, make in makers.items():
            rates[name].append(rate(make, steps))
    medians = {name: statistics.median(values[1:]) for name, values in rates.items()}
    return {"batch": batch, **medians, "ratio": medians["stream"] / medians["one_by_one"]}


def main() -> None:
    """Run the benchmark and print the results."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--batch", type=int, action="append", help="images per batch; default: 64 and 256")
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
