"""The ops: what may be on an edge, each op a registered builder.

A new family is a file here that is imported below `catalog`, after whose ops its own are listed. They may say
themselves how they are exported as Python source (`Op.python_source`).
"""

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
