"""The ops: what may be on an edge, each op a registered builder.

Every module in this package registers its ops when the package is imported; those of `catalog` come first.
An op may say itself how it is exported as Python source (`Op.python_source`).
"""

from importlib import import_module
from pkgutil import iter_modules

from dartboard.nn.ops._base import (
    OPS,
    Op,
    PythonSource,
    Site,
    SourceNode,
    Wrapped,
    build_op,
    register_op,
    source_of,
)
from dartboard.nn.ops.catalog import (
    AvgPool,
    ConvNormReLU,
    FactorizedConv,
    FactorizedReduce,
    Identity,
    MaxPool,
    ReLUConvNorm,
    Separable,
    Zero,
)

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")

__all__ = [
    "OPS",
    "AvgPool",
    "ConvNormReLU",
    "FactorizedConv",
    "FactorizedReduce",
    "Identity",
    "MaxPool",
    "Op",
    "PythonSource",
    "ReLUConvNorm",
    "Separable",
    "Site",
    "SourceNode",
    "Wrapped",
    "Zero",
    "build_op",
    "register_op",
    "source_of",
]
