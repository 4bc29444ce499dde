"""Data sets that are published as files: how each is recognised and read, and where it comes from."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from dartboard.data.dataset import Dataset
from dartboard.data.datasets.cifar import CIFAR10, CIFAR100, find_cifar, read_cifar
from dartboard.data.datasets.folder import read_folder, read_listing
from dartboard.data.datasets.folder_listing import subfolders
from dartboard.data.datasets.idx import find_idx, read_idx, which_idx
from dartboard.data.datasets.imagenet16 import find_imagenet16, read_imagenet16
from dartboard.data.datasets.root import data_root
from dartboard.data.datasets.svhn import find_svhn, read_svhn
from dartboard.data.datasets.text_lists import find_freiburg, find_tiny, list_freiburg, list_tiny
from dartboard.data.load_options import LoadOptions
from dartboard.errors import DataError
from dartboard.utils.text import printable

LOG = logging.getLogger(__name__)
DIGITS = tuple("0123456789")
CLOTHES = (
    "T-shirt/top",
    "Trouser",
    "Pullover",
    "Dress",
    "Coat",
    "Sandal",
    "Shirt",
    "Sneaker",
    "Bag",
    "Ankle boot",
)
KANA = ("o", "ki", "su", "tsu", "na", "ha", "ma", "ya", "re", "wo")
DEBIAN = Path("/usr/share/datasets")
"""Where Debian's packages put data sets."""

IDX = (
    "train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-idx3-ubyte and t10k-labels-idx1-ubyte, "
    "plain or .gz"
)


@dataclass(frozen=True)
class Official:
    """A data set as its authors publish it.

    Args:
        find: Where in a folder its files are; None if they are not there.
        read: The data set that is there.
        files: Which files are needed, in words.
        home: The address that its authors give it.
        tells: Whether its files can be told from those of other sets.
        also: Folders besides the usual one in which it may be.
    """

    find: Callable[[Path], Path | None]
    read: Callable[[Path, LoadOptions], Dataset]
    files: str
    home: str
    tells: bool = True
    also: tuple[Path, ...] = ()


def _has(folder: Path, *inside: str) -> Path | None:
    """A folder, if it has these folders in it."""
    return folder if all((folder / name).is_dir() for name in inside) else None


def find_imagenet(folder: Path) -> Path | None:
    """The folder, if it has training and validation images."""
    return _has(folder, "train", "val")


def read_imagenet(folder: Path, loading: LoadOptions) -> Dataset:
    """ImageNet, whose validation images are the test; as published they are in no class's folder."""
    if not subfolders(folder / "val"):
        raise DataError(
            f"{folder / 'val'}: its images are not in folders; move each into val/WNID/ by the list "
            "ILSVRC2012_validation_ground_truth.txt of the development kit, or with the script valprep.sh"
        )
    return read_folder(folder, loading, "imagenet")


def find_cinic(folder: Path) -> Path | None:
    """The folder in which the three parts are, or nothing."""
    parts = ("train/airplane", "valid/airplane", "test/airplane")
    return _has(folder, *parts) or _has(folder / "CINIC-10", *parts)


OFFICIAL: dict[str, Official] = {
    "cifar10": Official(
        lambda folder: find_cifar(folder, CIFAR10),
        lambda path, _: read_cifar(path, CIFAR10, "cifar10"),
        "cifar-10-binary.tar.gz or cifar-10-python.tar.gz, or what is in one of them",
        "https://www.cs.toronto.edu/~kriz/cifar.html",
    ),
    "cifar100": Official(
        lambda folder: find_cifar(folder, CIFAR100),
        lambda path, _: read_cifar(path, CIFAR100, "cifar100"),
        "cifar-100-binary.tar.gz or cifar-100-python.tar.gz, or what is in one of them",
        "https://www.cs.toronto.edu/~kriz/cifar.html",
    ),
    "mnist": Official(
        find_idx,
        lambda path, _: read_idx(path, "mnist", DIGITS),
        IDX,
        "https://yann.lecun.com/exdb/mnist/",
        tells=False,
    ),
    "fashion-mnist": Official(
        find_idx,
        lambda path, _: read_idx(path, "fashion-mnist", CLOTHES),
        IDX,
        "https://github.com/zalandoresearch/fashion-mnist",
        tells=False,
        also=(DEBIAN / "fashion-mnist",),
    ),
    "kmnist": Official(
        find_idx,
        lambda path, _: read_idx(path, "kmnist", KANA),
        IDX,
        "http://codh.rois.ac.jp/kmnist/",
        tells=False,
    ),
    "svhn": Official(
        find_svhn,
        lambda path, _: read_svhn(path),
        "train_32x32.mat and test_32x32.mat",
        "http://ufldl.stanford.edu/housenumbers/",
    ),
    "imagenet16-120": Official(
        find_imagenet16,
        read_imagenet16,
        "train_data_batch_1 to train_data_batch_10 and val_data, of 16x16 pixels",
        "https://image-net.org/download-images.php",
    ),
    "tiny-imagenet": Official(
        find_tiny,
        lambda path, loading: read_listing("tiny-imagenet", list_tiny(path), loading),
        "train/, val/, wnids.txt and words.txt out of tiny-imagenet-200.zip",
        "http://cs231n.stanford.edu/tiny-imagenet-200.zip",
    ),
    "freiburg": Official(
        find_freiburg,
        lambda path, loading: read_listing("freiburg", list_freiburg(path), loading),
        "images/CLASS/, splits/train0.txt and splits/test0.txt",
        "https://github.com/PhilJd/freiburg_groceries_dataset",
    ),
    "cinic10": Official(
        find_cinic,
        lambda path, loading: read_folder(path, loading, "cinic10"),
        "train/CLASS/, valid/CLASS/ and test/CLASS/ out of CINIC-10.tar.gz",
        "https://datashare.ed.ac.uk/handle/10283/3192",
    ),
    "imagenet": Official(
        find_imagenet,
        read_imagenet,
        "train/WNID/*.JPEG and val/WNID/*.JPEG of ILSVRC 2012",
        "https://image-net.org/download-images.php",
        tells=False,
    ),
}
"""The data sets that are recognised, the first that fits winning."""


def places(name: str, root: Path | None = None) -> tuple[Path, ...]:
    """The folders in which a data set is looked for, the one to put it in first."""
    return (data_root(root) / name, *OFFICIAL[name].also)


def find_official(name: str, root: Path | None = None) -> Path | None:
    """Where the files of a data set are, or nothing."""
    found = (OFFICIAL[name].find(place) for place in places(name, root))
    return next((place for place in found if place is not None), None)


def load_official(name: str, loading: LoadOptions) -> Dataset:
    """A data set by its name.

    Raises:
        DataError: If its files are missing, or cannot be read.
    """
    found = find_official(name, loading.root)
    if found is None:
        raise DataError(_missing(name, loading.root))
    return OFFICIAL[name].read(found, loading)


def _missing(name: str, root: Path | None) -> str:
    """What to do about a data set that is not there."""
    looked = places(name, root)
    also = f" (nor in {', '.join(map(str, looked[1:]))})" if looked[1:] else ""
    official = OFFICIAL[name]
    return (
        f"data set {name!r} is not in {looked[0]}{also}; get it with `dartboard data get {name}`, or put "
        f"there {official.files}, which come from {official.home}"
    )


def recognise(folder: Path) -> Callable[[LoadOptions], Dataset] | None:
    """What reads the published data set in a folder, if it has one.

    MNIST and its likes have files of the same names; what is in them tells them apart.
    """
    for official in OFFICIAL.values():
        if official.tells and (found := official.find(folder)) is not None:
            return _reader(official, found)
    place = find_idx(folder)
    return None if place is None else lambda loading: _read_like_mnist(folder, place, loading)


def _reader(official: Official, found: Path) -> Callable[[LoadOptions], Dataset]:
    return lambda loading: official.read(found, loading)


def _read_like_mnist(folder: Path, place: Path, loading: LoadOptions) -> Dataset:
    """MNIST or one of its likes; classes of one that nobody knows are called by their numbers."""
    name = which_idx(place)
    if name is not None:
        return OFFICIAL[name].read(place, loading)
    LOG.warning(
        "%s: has files in the form of MNIST, but of which set is not known: the classes are called 0 to 9",
        printable(str(folder)),
    )
    return read_idx(place, folder.resolve().name, DIGITS)
