"""Where the files of published data sets are to be had, with sizes and checksums that are published too."""

from dataclasses import dataclass

KRIZHEVSKY = "https://www.cs.toronto.edu/~kriz/"
LECUN = ("https://ossci-datasets.s3.amazonaws.com/mnist/", "http://yann.lecun.com/exdb/mnist/")
ZALANDO = ("http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",)
CODH = ("http://codh.rois.ac.jp/kmnist/dataset/kmnist/",)
NETZER = "http://ufldl.stanford.edu/housenumbers/"
EDINBURGH = "https://datashare.ed.ac.uk/bitstream/handle/10283/3192/"
FREIBURG = (
    "http://aisdatasets.informatik.uni-freiburg.de/freiburg_groceries_dataset/",
    "http://www2.informatik.uni-freiburg.de/~eitel/freiburg_groceries_dataset/",
)
GROCERIES = "freiburg_groceries_dataset.tar.gz"
SPLITS = "https://raw.githubusercontent.com/PhilJd/freiburg_groceries_dataset/master/"

IDX = (
    "train-images-idx3-ubyte.gz",
    "train-labels-idx1-ubyte.gz",
    "t10k-images-idx3-ubyte.gz",
    "t10k-labels-idx1-ubyte.gz",
)


@dataclass(frozen=True)
class Download:
    """A file of a data set.

    Args:
        file: Its path in the folder of the data set.
        urls: Addresses that have it, the best first.
        size: In bytes; None where nobody says.
        md5: Its checksum; None where nobody says.
        becomes: The folder that it is unpacked to; None if it is no archive.
        top: The folder in the archive whose content that is; None for the whole archive.
    """

    file: str
    urls: tuple[str, ...]
    size: int | None = None
    md5: str | None = None
    becomes: str | None = None
    top: str | None = None


def _idx(mirrors: tuple[str, ...], sizes: tuple[int, ...], sums: tuple[str, ...]) -> tuple[Download, ...]:
    """The four files of MNIST or one of its likes."""
    return tuple(
        Download(file, tuple(mirror + file for mirror in mirrors), size, md5)
        for file, size, md5 in zip(IDX, sizes, sums, strict=True)
    )


def _archive(
    site: str, file: str, size: int | None, md5: str | None, folder: str, top: str | None
) -> Download:
    return Download(file, (site + file,), size, md5, folder, top)


DOWNLOADS: dict[str, tuple[Download, ...]] = {
    "cifar10": (
        _archive(
            KRIZHEVSKY,
            "cifar-10-binary.tar.gz",
            170_052_171,
            "c32a1d4ab5d03f1284b67883e8d87530",
            "cifar-10-batches-bin",
            "cifar-10-batches-bin",
        ),
    ),
    "cifar100": (
        _archive(
            KRIZHEVSKY,
            "cifar-100-binary.tar.gz",
            168_513_733,
            "03b5dce01913d631647c71ecec9e9cb8",
            "cifar-100-binary",
            "cifar-100-binary",
        ),
    ),
    "mnist": _idx(
        LECUN,
        (9_912_422, 28_881, 1_648_877, 4_542),
        (
            "f68b3c2dcbeaaa9fbdd348bbdeb94873",
            "d53e105ee54ea40749a09fcbcd1e9432",
            "9fb629c4189551a2d022fa330f9573f3",
            "ec29112dd5afa0611ce80d1b7f02629c",
        ),
    ),
    "fashion-mnist": _idx(
        ZALANDO,
        (26_421_880, 29_515, 4_422_102, 5_148),
        (
            "8d4fb7e6c68d591d4c3dfef9ec88bf0d",
            "25c81989df183df01b3e8a0aad5dffbe",
            "bef4ecab320f06d8554ea6380940ec79",
            "bb300cfdad3c16e7a12a480ee83cd310",
        ),
    ),
    "kmnist": _idx(
        CODH,
        (18_165_135, 29_497, 3_041_136, 5_120),
        (
            "bdb82020997e1d708af4cf47b453dcf7",
            "e144d726b3acfaa3e44228e80efcd344",
            "5c965bf0a639b31b8f53240b1b52f4d7",
            "7320c461ea6c1c855c0b718fb2a4b134",
        ),
    ),
    "svhn": (
        Download(
            "train_32x32.mat",
            (NETZER + "train_32x32.mat",),
            182_040_794,
            "e26dedcc434d2e4c54c9b2d4a06d8373",
        ),
        Download(
            "test_32x32.mat", (NETZER + "test_32x32.mat",), 64_275_384, "eb5a983be6a315427106f1b164d9cef3"
        ),
    ),
    "tiny-imagenet": (
        _archive(
            "http://cs231n.stanford.edu/",
            "tiny-imagenet-200.zip",
            248_100_043,
            "90528d7ca1a48142e341f4ef8d21d0de",
            "tiny-imagenet-200",
            "tiny-imagenet-200",
        ),
    ),
    "cinic10": (
        _archive(
            EDINBURGH, "CINIC-10.tar.gz", 687_544_992, "6ee4d0c996905fe93221de577967a372", "CINIC-10", None
        ),
    ),
    "freiburg": (
        Download(GROCERIES, tuple(site + GROCERIES for site in FREIBURG), becomes="images", top="images"),
        Download("splits/train0.txt", (SPLITS + "splits/train0.txt",)),
        Download("splits/test0.txt", (SPLITS + "splits/test0.txt",)),
    ),
}
"""What is fetched for each data set; for those that are missing here one must register with the publisher."""
