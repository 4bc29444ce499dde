"""Where data sets come from: registered names, files by their kind, and folders."""

import difflib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from dartboard.data.dataset import Dataset, ImageSet
from dartboard.data.datasets.cifar import CIFAR10, read_cifar, which_cifar
from dartboard.data.datasets.clutter import cluttered_digits
from dartboard.data.datasets.digits import load_digits
from dartboard.data.datasets.folder import read_folder
from dartboard.data.datasets.npz import read_npz
from dartboard.data.datasets.official import load_official, recognise
from dartboard.data.load_options import LoadOptions
from dartboard.data.resize import resized
from dartboard.errors import DataError, UnknownNameError
from dartboard.registry import Registry

DATASETS: Registry[Callable[[LoadOptions], Dataset]] = Registry("data set", "dartboard.datasets")
"""Data sets that have a name."""

READERS: Registry[Callable[[Path, LoadOptions], Dataset]] = Registry("kind of data file")
"""What reads a file, by the end of the file's name in small letters."""
READERS.register(".npz")(lambda path, _: read_npz(path))


@READERS.register(".tar")
@READERS.register(".tgz")
@READERS.register(".gz")
def read_archive(path: Path, _: LoadOptions) -> Dataset:
    """CIFAR-10 or CIFAR-100 in the archive that its author publishes."""
    versions = which_cifar(path)
    return read_cifar(path, versions, "cifar10" if versions is CIFAR10 else "cifar100")


HELD_OUT_DIGITS = 297


@DATASETS.register("digits")
def digits(_: LoadOptions) -> Dataset:
    """1,797 handwritten digits of 8x8 pixels that ship with the package; the last 297 are the test."""
    every = load_digits()
    train = ImageSet(every.images[:-HELD_OUT_DIGITS], every.labels[:-HELD_OUT_DIGITS])
    test = ImageSet(every.images[-HELD_OUT_DIGITS:], every.labels[-HELD_OUT_DIGITS:])
    return Dataset("digits", tuple("0123456789"), train, test)


@DATASETS.register("cluttered-digits")
def clutter(_: LoadOptions) -> Dataset:
    """5,120 images of 12x12 pixels, a digit anywhere over pieces of others; made of the digits, harder."""
    return cluttered_digits()


@DATASETS.register("cifar10")
def cifar10(loading: LoadOptions) -> Dataset:
    """60,000 colour images of 32x32 pixels in 10 classes (Krizhevsky 2009)."""
    return load_official("cifar10", loading)


@DATASETS.register("cifar100")
def cifar100(loading: LoadOptions) -> Dataset:
    """60,000 colour images of 32x32 pixels in 100 classes (Krizhevsky 2009)."""
    return load_official("cifar100", loading)


@DATASETS.register("mnist")
def mnist(loading: LoadOptions) -> Dataset:
    """70,000 handwritten digits of 28x28 pixels (LeCun et al. 1998)."""
    return load_official("mnist", loading)


@DATASETS.register("fashion-mnist")
def fashion_mnist(loading: LoadOptions) -> Dataset:
    """70,000 grey images of clothes of 28x28 pixels in 10 classes (Xiao et al. 2017)."""
    return load_official("fashion-mnist", loading)


@DATASETS.register("kmnist")
def kmnist(loading: LoadOptions) -> Dataset:
    """70,000 cursive Japanese characters of 28x28 pixels in 10 classes (Clanuwat et al. 2018)."""
    return load_official("kmnist", loading)


@DATASETS.register("svhn")
def svhn(loading: LoadOptions) -> Dataset:
    """99,289 digits of house numbers in colour, of 32x32 pixels (Netzer et al. 2011)."""
    return load_official("svhn", loading)


@DATASETS.register("cinic10")
def cinic10(loading: LoadOptions) -> Dataset:
    """270,000 colour images of 32x32 pixels in the classes of CIFAR-10 (Darlow et al. 2018)."""
    return load_official("cinic10", loading)


@DATASETS.register("tiny-imagenet")
def tiny_imagenet(loading: LoadOptions) -> Dataset:
    """110,000 colour images of 64x64 pixels in 200 classes, tested on its validation images."""
    return load_official("tiny-imagenet", loading)


@DATASETS.register("imagenet16-120")
def imagenet16(loading: LoadOptions) -> Dataset:
    """157,700 colour images of 16x16 pixels in 120 classes of ImageNet (Chrabaszcz et al. 2017)."""
    return load_official("imagenet16-120", loading)


@DATASETS.register("freiburg")
def freiburg(loading: LoadOptions) -> Dataset:
    """4,947 colour images of groceries of 256x256 pixels in 25 classes (Jund et al. 2016)."""
    return load_official("freiburg", loading)


@DATASETS.register("imagenet")
def imagenet(loading: LoadOptions) -> Dataset:
    """1.3 million photographs of many sizes in 1,000 classes, ILSVRC 2012 (Russakovsky et al. 2015)."""
    return load_official("imagenet", loading)


def load_dataset(name: str, loading: LoadOptions | None = None) -> Dataset:
    """The data set that is registered as `name`, or the one in the file or folder `name`.

    A file is an .npz with `x_train`, `y_train` and optionally `x_test`, `y_test` and `class_names` (see
    `dartboard.data.datasets.npz`), or the archive of CIFAR-10 or CIFAR-100. A folder has the files of a
    published data set, or images in one subfolder for each class (see
    `dartboard.data.datasets.folder_layout`).
    """
    loading = loading or LoadOptions()
    if name in DATASETS:
        return resized(_named(name, loading), loading.size)
    path = Path(name)
    if name and _exists(path):
        return resized(_read(path, loading), loading.size)
    if "/" in name or path.suffix.lower() in READERS:
        words = f"there is no file or folder {name!r} to read a data set from"
        raise DataError(f"{words}{_hint(path)}{_start(path)}")
    raise UnknownNameError(f"{DATASETS.kind}, file or folder", name, DATASETS, _start(path))


def _start(path: Path) -> str:
    """Says where a name is looked up that is no full path."""
    with suppress(OSError):  # the directory may be gone
        return "" if path.is_absolute() else f"; files and folders are looked for in {Path.cwd()}"
    return ""


def _named(name: str, loading: LoadOptions) -> Dataset:
    """The data set of a name; where it fails and there is a file of that name, how to read that instead."""
    try:
        return DATASETS[name](loading)
    except DataError as error:
        if not _exists(Path(name)):
            raise
        raise DataError(f"{error}; what is called {name} here is read as ./{name}") from None


def _exists(path: Path) -> bool:
    with suppress(OSError):  # a name can be too long for a file
        return path.exists()
    return False


def _read(path: Path, loading: LoadOptions) -> Dataset:
    if path.is_dir():
        reader = recognise(path)
        return read_folder(path, loading) if reader is None else reader(loading)
    kind = path.suffix.lower()
    if kind not in READERS:
        raise DataError(
            f"{path} is a file of kind {kind!r}; data sets are read from folders and from files of kind "
            f"{', '.join(READERS)}"
        )
    return READERS[kind](path, loading)


def _hint(path: Path) -> str:
    """Names what is beside the missing thing and is called much the same, if there is anything."""
    names: list[str] = []
    with suppress(OSError):
        beside = (file for file in path.parent.iterdir() if not file.name.startswith("."))
        names = [file.name for file in beside if file.suffix.lower() in READERS or file.is_dir()]
    close = difflib.get_close_matches(path.name, names, n=1)
    return f"; did you mean {str(path.parent / close[0])!r}?" if close else ""
