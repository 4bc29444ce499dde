"""CINIC-10 (Darlow et al. 2018): images of CIFAR-10 and ImageNet in the classes of CIFAR-10."""

from dartboard.data.datasets.folder import read_folder
from dartboard.data.registry import Download, PublishedDataset, find_paths, register_published

URL = "https://datashare.ed.ac.uk/bitstream/handle/10283/3192/CINIC-10.tar.gz"


register_published(
    PublishedDataset(
        "cinic10",
        "270,000 colour images of 32x32 pixels in the classes of CIFAR-10 (Darlow et al. 2018).",
        find_paths("train/airplane/", "valid/airplane/", "test/airplane/", subfolders=("CINIC-10",)),
        lambda path, options: read_folder(path, options, "cinic10"),
        files="train/CLASS/, valid/CLASS/ and test/CLASS/ out of CINIC-10.tar.gz",
        homepage="https://datashare.ed.ac.uk/handle/10283/3192",
        downloads=(
            Download(
                "CINIC-10.tar.gz",
                (URL,),
                size=687_544_992,
                md5="6ee4d0c996905fe93221de577967a372",
                folder="CINIC-10",
            ),
        ),
    )
)
