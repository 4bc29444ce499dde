"""Images per second of the data loader, and how long a search waits for its images.

First against a per-image pipeline like torchvision's transforms: Pillow opens an image, which is padded,
cropped, flipped, converted to float, normalized and cut out in Python, in the workers of a torch
DataLoader. Both read the same images: 32x32 in memory, the same as PNG files, and JPEG files of 224x224
pixels. All alternate in one process; the first batches of each turn, which may have been prefetched, are
not timed; results are medians.

Then the fraction of a search step of first-order DARTS (space darts, 4 cells, 16 channels, batch 64,
images of 32x32) that is spent waiting for batches.

usage: DARTBOARD_DATA=FOLDER python benchmarks/loader.py [--rounds N] [--steps N] [--json]
"""

import argparse
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import torch
from PIL import Image, ImageOps
from torch import Tensor
from torch.utils.data import DataLoader

from dartboard.data import Augment, Batch, BatchLoader, Dataset, ImageFiles, ImageSet, load_dataset
from dartboard.data.prefetch import PREFETCH_FACTOR
from dartboard.search import Searcher, SearchOptions, make_method
from dartboard.space import get_space

PAD, CUTOUT, BATCH = 4, 16, 64
SMALL, LARGE = 2560, 640
"""Number of images of each size."""
WORKERS = (1, 2)


class PerImageDataset(torch.utils.data.Dataset[tuple[Tensor, int]]):
    """Images that are augmented one by one."""

    def __init__(self, images: ImageSet | ImageFiles, data: Dataset) -> None:
        self.images, self.labels = images, images.labels.tolist()
        self.mean, self.std = (torch.tensor(values)[:, None, None] for values in (data.mean, data.std))

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        image, (_, height, width) = self.open(index), self.images.shape
        top, left = torch.randint(2 * PAD + 1, (2,)).tolist()
        image = ImageOps.expand(image, PAD).crop((left, top, left + width, top + height))
        if torch.rand(()) < 0.5:
            image = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
        x = torch.from_numpy(np.array(image)).permute(2, 0, 1).float()
        x = (x - self.mean) / self.std
        row, column = int(torch.randint(height, ())), int(torch.randint(width, ()))
        half = CUTOUT // 2
        x[:, max(row - half, 0) : row + half, max(column - half, 0) : column + half] = 0
        return x, self.labels[index]

    def open(self, index: int) -> Image.Image:
        if isinstance(self.images, ImageFiles):
            with Image.open(self.images.files[index]) as image:
                return image.convert("RGB")
        return Image.fromarray(self.images.images[index].permute(1, 2, 0).contiguous().numpy())


def per_image(images: ImageSet | ImageFiles, data: Dataset, workers: int) -> Callable[[], Batch]:
    """A function that returns the next batch of the per-image pipeline."""

    def passes() -> Iterator[Batch]:
        loader = DataLoader(
            PerImageDataset(images, data),
            BATCH,
            shuffle=True,
            drop_last=True,
            num_workers=workers,
            prefetch_factor=PREFETCH_FACTOR,
            persistent_workers=True,
        )
        while True:
            yield from (Batch(x, y) for x, y in loader)

    batches = passes()
    return lambda: next(batches)


def stream(images: ImageSet | ImageFiles, data: Dataset, workers: int = 0) -> Callable[[], Batch]:
    """A function that returns the next batch of dartboard's loader."""
    loader = BatchLoader(
        images,
        batch=BATCH,
        seed=0,
        name="train",
        mean=data.mean,
        std=data.std,
        augment=Augment(PAD, True, CUTOUT),
        workers=workers,
    )
    steps = iter(range(10**9))
    return lambda: loader.batch(next(steps))


def rate(next_batch: Callable[[], Batch], count: int) -> float:
    """Images per second, after the prefetched batches."""
    for _ in range(PREFETCH_FACTOR * max(WORKERS) + 1):
        next_batch()
    start = time.perf_counter()
    images = sum(next_batch().size for _ in range(count))
    return images / (time.perf_counter() - start)


def rates(sources: dict[str, Callable[[], Batch]], counts: dict[str, int], rounds: int) -> dict[str, float]:
    """Median rates, interleaved, after one warmup round."""
    samples: dict[str, list[float]] = {name: [] for name in sources}
    for _ in range(rounds + 1):
        for name, next_batch in sources.items():
            samples[name].append(rate(next_batch, counts[name]))
    return {name: statistics.median(values[1:]) for name, values in samples.items()}


def small() -> Dataset:
    """Images of 32x32 pixels: CIFAR-10 if it is there, else random ones."""
    file = Path(os.environ.get("DARTBOARD_DATA", "")) / "cifar10-10k.npz"
    if file.is_file():
        data = load_dataset(str(file))
        return Dataset("CIFAR-10", data.classes, data.train.spread(SMALL).load())
    rng = torch.Generator().manual_seed(0)
    images = torch.randint(256, (SMALL, 3, 32, 32), dtype=torch.uint8, generator=rng)
    return Dataset("noise", tuple("0123456789"), ImageSet(images, torch.arange(SMALL) % 10))


def as_png(data: Dataset, folder: Path) -> ImageFiles:
    """The same images as PNG files."""
    images = data.train.load()
    files = [folder / f"{number}.png" for number in range(len(images))]
    for file, image in zip(files, images.images, strict=True):
        Image.fromarray(image.permute(1, 2, 0).contiguous().numpy()).save(file)
    return ImageFiles(tuple(map(str, files)), images.labels, images.shape)


def large(folder: Path) -> ImageFiles:
    """JPEG files of 224x224 pixels, as smooth as photographs."""
    rng, files = np.random.default_rng(0), []
    for number in range(LARGE):
        coarse = Image.fromarray(rng.integers(256, size=(28, 28, 3), dtype=np.uint8))
        files.append(str(folder / f"{number}.jpg"))
        coarse.resize((224, 224), Image.Resampling.BICUBIC).save(files[-1], quality=90)
    return ImageFiles(tuple(files), torch.arange(LARGE) % 10, (3, 224, 224))


def compare(data: Dataset, folder: Path, rounds: int) -> list[dict[str, object]]:
    """A row for each kind of images and number of workers: both rates and their ratio."""
    photographs = Dataset("large", data.classes, large(folder), known=data.moments)
    kinds = {
        "32x32 in memory": data.train.load(),
        "32x32 PNG": as_png(data, folder),
        "224x224 JPEG": photographs.train,
    }
    rows: list[dict[str, object]] = []
    for kind, images in kinds.items():
        in_memory = isinstance(images, ImageSet)
        ours = {"stream": stream(images, data)} if in_memory else {}
        ours |= {} if in_memory else {f"stream {n}": stream(images, data, n) for n in WORKERS}
        theirs = {f"one by one {n}": per_image(images, data, n) for n in WORKERS}
        counts = {
            name: 400 if name == "stream" else 20 if "PNG" in kind or in_memory else 8
            for name in ours | theirs
        }
        rate_of = rates(ours | theirs, counts, rounds)
        for n in WORKERS:
            batched, single = rate_of["stream" if in_memory else f"stream {n}"], rate_of[f"one by one {n}"]
            rows.append(
                {
                    "images": kind,
                    "workers": n,
                    "stream": batched,
                    "one_by_one": single,
                    "ratio": batched / single,
                }
            )
    return rows


def waiting(data: Dataset, images: ImageSet | ImageFiles, workers: int, steps: int) -> dict[str, float]:
    """Seconds of a search step, and the fraction of it spent waiting for batches."""
    options = SearchOptions.model_validate(
        {
            "epochs": 1000,
            "batch": BATCH,
            "data": {"pad": PAD, "flip": True, "cutout": CUTOUT, "workers": workers},
        }
    )
    dataset = Dataset(data.name, data.classes, images, known=data.moments)
    searcher = Searcher(get_space("darts").resized(4), make_method("darts", {}), dataset, options)
    searcher.net.train()
    waits: list[float] = []
    for source in (searcher.loaders.train, searcher.loaders.arch):
        source.batch = timed(source.batch, waits)
    searcher.train_step()
    waits.clear()
    start = time.perf_counter()
    for _ in range(steps):
        searcher.train_step()
    total = time.perf_counter() - start
    searcher.loaders.close()
    return {"step": total / steps, "share": sum(waits) / total}


def timed(next_batch: Callable[[int], Batch], waits: list[float]) -> Callable[[int], Batch]:
    """The function with its durations appended to `waits`."""

    def call(step: int) -> Batch:
        start = time.perf_counter()
        try:
            return next_batch(step)
        finally:
            waits.append(time.perf_counter() - start)

    return call


def wait_rows(data: Dataset, folder: Path, steps: int) -> list[dict[str, object]]:
    """A row for images in memory, and for files with each number of workers."""
    files = as_png(data, folder)
    cases = {"in memory": (data.train.load(), 0), "files, no workers": (files, 0)}
    cases |= {f"files, {n} a stream": (files, n) for n in WORKERS}
    return [{"images": name, **waiting(data, *case, steps)} for name, case in cases.items()]


def main() -> None:
    """Run the benchmark and print the results."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--json", action="store_true", help="tables are followed by JSON objects")
    options = parser.parse_args()
    torch.set_num_threads(1)
    data = small()
    with tempfile.TemporaryDirectory() as folder:
        rows = compare(data, Path(folder), options.rounds)
        print(f"images of {data.name}, images a second\nimages           workers   stream  one by one  ratio")
        for row in rows:
            figures = f"{row['stream']:7,.0f}  {row['one_by_one']:10,.0f}  {row['ratio']:5.1f}"
            print(f"{row['images']:15}  {row['workers']:7}  {figures}", flush=True)
        print("\nsearch step          seconds  waiting")
        waits = wait_rows(data, Path(folder), options.steps)
        for row in waits:
            print(f"{row['images']:19}  {row['step']:7.3f}  {row['share']:7.2%}", flush=True)
    if options.json:
        print("\n".join(json.dumps(row) for row in rows + waits))


if __name__ == "__main__":
    main()
