"""Cells from papers, to be looked at, built and compared.

Each is the DARTS text of the cells a paper reports, with the paper; the text is read when the cell is
asked for. They are the lists that released code retrains, in DARTS' names for the ops; NASNet-A,
AmoebaNet-A, ENAS and PNAS have five inner nodes and parallel edges, so they go into a stack by `adopt`.
"""

from dataclasses import dataclass

from dartboard.registry import Registry
from dartboard.space.formats import from_darts
from dartboard.space.genotype import Genotype


@dataclass(frozen=True)
class Published:
    """The normal and reduction cell of a paper.

    Args:
        paper: Authors, year, title and venue.
        text: The cells as a DARTS genotype text.
    """

    paper: str
    text: str

    @property
    def genotype(self) -> Genotype:
        """The cells."""
        return from_darts(self.text)


PUBLISHED: Registry[Published] = Registry("published cell")


def get_published(name: str) -> Genotype:
    """The published cells registered under `name`; `PUBLISHED[name].paper` says where they come from."""
    return PUBLISHED[name].genotype


def _cells(name: str, paper: str, text: str) -> None:
    PUBLISHED.register(name)(Published(paper, text))


_cells(
    "nasnet-a",
    "Zoph et al. 2018, Learning transferable architectures for scalable image recognition, CVPR",
    """Genotype(
    normal=[('sep_conv_5x5', 1), ('sep_conv_3x3', 0), ('sep_conv_5x5', 0), ('sep_conv_3x3', 0),
            ('avg_pool_3x3', 1), ('skip_connect', 0), ('avg_pool_3x3', 0), ('avg_pool_3x3', 0),
            ('sep_conv_3x3', 1), ('skip_connect', 1)],
    normal_concat=range(2, 7),
    reduce=[('sep_conv_5x5', 1), ('sep_conv_7x7', 0), ('max_pool_3x3', 1), ('sep_conv_7x7', 0),
            ('avg_pool_3x3', 1), ('sep_conv_5x5', 0), ('skip_connect', 3), ('avg_pool_3x3', 2),
            ('sep_conv_3x3', 2), ('max_pool_3x3', 1)],
    reduce_concat=range(4, 7)
    )""",
)

_cells(
    "amoebanet-a",
    "Real, Aggarwal, Huang & Le 2019, Regularized evolution for image classifier architecture search, AAAI",
    """Genotype(
    normal=[('avg_pool_3x3', 0), ('max_pool_3x3', 1), ('sep_conv_3x3', 0), ('sep_conv_5x5', 2),
            ('sep_conv_3x3', 0), ('avg_pool_3x3', 3), ('sep_conv_3x3', 1), ('skip_connect', 1),
            ('skip_connect', 0), ('avg_pool_3x3', 1)],
    normal_concat=range(4, 7),
    reduce=[('avg_pool_3x3', 0), ('sep_conv_3x3', 1), ('max_pool_3x3', 0), ('sep_conv_7x7', 2),
            ('sep_conv_7x7', 0), ('avg_pool_3x3', 1), ('max_pool_3x3', 0), ('max_pool_3x3', 1),
            ('conv_7x1_1x7', 0), ('sep_conv_3x3', 5)],
    reduce_concat=[3, 4, 6]
    )""",
)

_cells(
    "enas",
    "Pham, Guan, Zoph, Le & Dean 2018, Efficient neural architecture search via parameter sharing, ICML",
    """Genotype(
    normal=[('sep_conv_3x3', 1), ('skip_connect', 1), ('sep_conv_5x5', 1), ('skip_connect', 0),
            ('avg_pool_3x3', 0), ('sep_conv_3x3', 1), ('sep_conv_3x3', 0), ('avg_pool_3x3', 1),
            ('sep_conv_5x5', 1), ('avg_pool_3x3', 0)],
    normal_concat=range(2, 7),
    reduce=[('sep_conv_5x5', 0), ('avg_pool_3x3', 1), ('sep_conv_3x3', 1), ('avg_pool_3x3', 1),
            ('sep_conv_3x3', 1), ('avg_pool_3x3', 1), ('avg_pool_3x3', 1), ('sep_conv_5x5', 4),
            ('sep_conv_3x3', 5), ('sep_conv_5x5', 0)],
    reduce_concat=[2, 3, 6]
    )""",
)

_cells(
    "pnas",
    "Liu et al. 2018, Progressive neural architecture search, ECCV; one cell for both kinds",
    """Genotype(
    normal=[('sep_conv_5x5', 0), ('max_pool_3x3', 0), ('sep_conv_7x7', 1), ('max_pool_3x3', 1),
            ('sep_conv_5x5', 1), ('sep_conv_3x3', 1), ('sep_conv_3x3', 4), ('max_pool_3x3', 1),
            ('sep_conv_3x3', 0), ('skip_connect', 1)],
    normal_concat=range(2, 7),
    reduce=[('sep_conv_5x5', 0), ('max_pool_3x3', 0), ('sep_conv_7x7', 1), ('max_pool_3x3', 1),
            ('sep_conv_5x5', 1), ('sep_conv_3x3', 1), ('sep_conv_3x3', 4), ('max_pool_3x3', 1),
            ('sep_conv_3x3', 0), ('skip_connect', 1)],
    reduce_concat=range(2, 7)
    )""",
)

_cells(
    "darts-v1",
    "Liu, Simonyan & Yang 2019, DARTS: differentiable architecture search, ICLR; first order",
    """Genotype(
    normal=[('sep_conv_3x3', 1), ('sep_conv_3x3', 0), ('skip_connect', 0), ('sep_conv_3x3', 1),
            ('skip_connect', 0), ('sep_conv_3x3', 1), ('sep_conv_3x3', 0), ('skip_connect', 2)],
    normal_concat=range(2, 6),
    reduce=[('max_pool_3x3', 0), ('max_pool_3x3', 1), ('skip_connect', 2), ('max_pool_3x3', 0),
            ('max_pool_3x3', 0), ('skip_connect', 2), ('skip_connect', 2), ('avg_pool_3x3', 0)],
    reduce_concat=range(2, 6)
    )""",
)

_cells(
    "darts-v2",
    "Liu, Simonyan & Yang 2019, DARTS: differentiable architecture search, ICLR; second order",
    """Genotype(
    normal=[('sep_conv_3x3', 0), ('sep_conv_3x3', 1), ('sep_conv_3x3', 0), ('sep_conv_3x3', 1),
            ('sep_conv_3x3', 1), ('skip_connect', 0), ('skip_connect', 0), ('dil_conv_3x3', 2)],
    normal_concat=range(2, 6),
    reduce=[('max_pool_3x3', 0), ('max_pool_3x3', 1), ('skip_connect', 2), ('max_pool_3x3', 1),
            ('max_pool_3x3', 0), ('skip_connect', 2), ('skip_connect', 2), ('max_pool_3x3', 1)],
    reduce_concat=range(2, 6)
    )""",
)

_cells(
    "snas",
    "Xie, Zheng, Liu & Lin 2019, SNAS: stochastic neural architecture search, ICLR; mild constraint",
    """Genotype(
    normal=[('sep_conv_3x3', 0), ('sep_conv_3x3', 1), ('skip_connect', 0), ('dil_conv_3x3', 1),
            ('skip_connect', 1), ('skip_connect', 0), ('skip_connect', 0), ('sep_conv_3x3', 1)],
    normal_concat=range(2, 6),
    reduce=[('max_pool_3x3', 0), ('max_pool_3x3', 1), ('max_pool_3x3', 1), ('skip_connect', 2),
            ('skip_connect', 2), ('max_pool_3x3', 1), ('max_pool_3x3', 0), ('dil_conv_5x5', 2)],
    reduce_concat=range(2, 6)
    )""",
)

_cells(
    "snas-mild",
    "Xie, Zheng, Liu & Lin 2019, SNAS, ICLR; mild constraint, as `snas` with the pairs in another order",
    """Genotype(
    normal=[('sep_conv_3x3', 0), ('sep_conv_3x3', 1), ('skip_connect', 0), ('dil_conv_3x3', 1),
            ('skip_connect', 0), ('skip_connect', 1), ('skip_connect', 0), ('sep_conv_3x3', 1)],
    normal_concat=range(2, 6),
    reduce=[('max_pool_3x3', 0), ('max_pool_3x3', 1), ('max_pool_3x3', 1), ('skip_connect', 2),
            ('max_pool_3x3', 1), ('skip_connect', 2), ('max_pool_3x3', 0), ('dil_conv_5x5', 2)],
    reduce_concat=range(2, 6)
    )""",
)

_cells(
    "snas-moderate",
    "Xie, Zheng, Liu & Lin 2019, SNAS, ICLR; moderate constraint",
    """Genotype(
    normal=[('dil_conv_5x5', 0), ('skip_connect', 1), ('sep_conv_3x3', 0), ('skip_connect', 1),
            ('skip_connect', 0), ('skip_connect', 1), ('sep_conv_3x3', 0), ('dil_conv_5x5', 1)],
    normal_concat=range(2, 6),
    reduce=[('max_pool_3x3', 0), ('max_pool_3x3', 1), ('sep_conv_5x5', 0), ('dil_conv_5x5', 1),
            ('sep_conv_5x5', 0), ('sep_conv_5x5', 1), ('sep_conv_5x5', 0), ('sep_conv_5x5', 1)],
    reduce_concat=range(2, 6)
    )""",
)

_cells(
    "snas-aggressive",
    "Xie, Zheng, Liu & Lin 2019, SNAS, ICLR; aggressive constraint",
    """Genotype(
    normal=[('sep_conv_5x5', 0), ('skip_connect', 1), ('skip_connect', 0), ('skip_connect', 1),
            ('dil_conv_5x5', 1), ('skip_connect', 0), ('skip_connect', 0), ('dil_conv_5x5', 1)],
    normal_concat=range(2, 6),
    reduce=[('sep_conv_5x5', 0), ('none', 1), ('sep_conv_5x5', 0), ('none', 1),
            ('none', 1), ('none', 0), ('none', 1), ('none', 0)],
    reduce_concat=range(2, 6)
    )""",
)

_cells(
    "pc-darts",
    "Xu et al. 2020, PC-DARTS: partial channel connections for memory-efficient architecture search, ICLR",
    """Genotype(
    normal=[('sep_conv_3x3', 1), ('skip_connect', 0), ('sep_conv_3x3', 0), ('dil_conv_3x3', 1),
            ('sep_conv_5x5', 0), ('sep_conv_3x3', 1), ('avg_pool_3x3', 0), ('dil_conv_3x3', 1)],
    normal_concat=range(2, 6),
    reduce=[('sep_conv_5x5', 1), ('max_pool_3x3', 0), ('sep_conv_5x5', 1), ('sep_conv_5x5', 2),
            ('sep_conv_3x3', 0), ('sep_conv_3x3', 3), ('sep_conv_3x3', 1), ('sep_conv_3x3', 2)],
    reduce_concat=range(2, 6)
    )""",
)

_cells(
    "pc-darts-imagenet",
    "Xu et al. 2020, PC-DARTS, ICLR; searched on ImageNet",
    """Genotype(
    normal=[('skip_connect', 1), ('sep_conv_3x3', 0), ('sep_conv_3x3', 0), ('skip_connect', 1),
            ('sep_conv_3x3', 1), ('sep_conv_3x3', 3), ('sep_conv_3x3', 1), ('dil_conv_5x5', 4)],
    normal_concat=range(2, 6),
    reduce=[('sep_conv_3x3', 0), ('skip_connect', 1), ('dil_conv_5x5', 2), ('max_pool_3x3', 1),
            ('sep_conv_3x3', 2), ('sep_conv_3x3', 1), ('sep_conv_5x5', 0), ('sep_conv_3x3', 3)],
    reduce_concat=range(2, 6)
    )""",
)

_cells(
    "p-darts",
    "Chen, Xie, Wu & Tian 2019, Progressive differentiable architecture search, ICCV",
    """Genotype(
    normal=[('skip_connect', 0), ('dil_conv_3x3', 1), ('skip_connect', 0), ('sep_conv_3x3', 1),
            ('sep_conv_3x3', 1), ('sep_conv_3x3', 3), ('sep_conv_3x3', 0), ('dil_conv_5x5', 4)],
    normal_concat=range(2, 6),
    reduce=[('avg_pool_3x3', 0), ('sep_conv_5x5', 1), ('sep_conv_3x3', 0), ('dil_conv_5x5', 2),
            ('max_pool_3x3', 0), ('dil_conv_3x3', 1), ('dil_conv_3x3', 1), ('dil_conv_5x5', 3)],
    reduce_concat=range(2, 6)
    )""",
)

_cells(
    "asap",
    "Noy et al. 2020, ASAP: architecture search, anneal and prune, AISTATS",
    """Genotype(
    normal=[('sep_conv_3x3', 0), ('sep_conv_3x3', 1), ('sep_conv_3x3', 1), ('skip_connect', 0),
            ('skip_connect', 0), ('skip_connect', 2), ('skip_connect', 1), ('skip_connect', 2)],
    normal_concat=range(2, 6),
    reduce=[('avg_pool_3x3', 0), ('sep_conv_3x3', 1), ('avg_pool_3x3', 0), ('dil_conv_5x5', 2),
            ('max_pool_3x3', 1), ('skip_connect', 2), ('max_pool_3x3', 0), ('skip_connect', 2)],
    reduce_concat=range(2, 6)
    )""",
)

_cells(
    "gdas",
    "Dong & Yang 2019, Searching for a robust neural architecture in four GPU hours, CVPR",
    """Genotype(
    normal=[('skip_connect', 0), ('skip_connect', 1), ('skip_connect', 0), ('sep_conv_5x5', 2),
            ('sep_conv_3x3', 3), ('skip_connect', 0), ('sep_conv_5x5', 4), ('sep_conv_3x3', 3)],
    normal_concat=range(2, 6),
    reduce=[('sep_conv_5x5', 0), ('sep_conv_3x3', 1), ('sep_conv_5x5', 2), ('sep_conv_5x5', 1),
            ('dil_conv_5x5', 2), ('sep_conv_3x3', 1), ('sep_conv_5x5', 0), ('sep_conv_5x5', 1)],
    reduce_concat=range(2, 6)
    )""",
)

_cells(
    "gaea",
    "Li, Khodak, Balcan & Talwalkar 2021, Geometry-aware gradient algorithms for NAS, ICLR; GAEA PC-DARTS",
    """Genotype(
    normal=[('skip_connect', 0), ('sep_conv_3x3', 1), ('sep_conv_3x3', 1), ('skip_connect', 2),
            ('skip_connect', 2), ('sep_conv_3x3', 1), ('sep_conv_3x3', 0), ('dil_conv_3x3', 4)],
    normal_concat=range(2, 6),
    reduce=[('max_pool_3x3', 0), ('max_pool_3x3', 1), ('sep_conv_5x5', 0), ('sep_conv_5x5', 2),
            ('sep_conv_5x5', 2), ('dil_conv_5x5', 1), ('sep_conv_5x5', 4), ('sep_conv_3x3', 1)],
    reduce_concat=range(2, 6)
    )""",
)

_cells(
    "xnas",
    "Nayman et al. 2019, XNAS: neural architecture search with expert advice, NeurIPS",
    """Genotype(
    normal=[('sep_conv_3x3', 1), ('skip_connect', 0), ('sep_conv_3x3', 0), ('sep_conv_3x3', 2),
            ('sep_conv_3x3', 3), ('sep_conv_3x3', 1), ('dil_conv_5x5', 4), ('sep_conv_3x3', 0)],
    normal_concat=range(2, 6),
    reduce=[('max_pool_3x3', 0), ('avg_pool_3x3', 1), ('avg_pool_3x3', 0), ('skip_connect', 2),
            ('dil_conv_3x3', 3), ('max_pool_3x3', 0), ('dil_conv_5x5', 4), ('avg_pool_3x3', 0)],
    reduce_concat=range(2, 6)
    )""",
)
