"""The ops: what may be on an edge, one file a family, each op a registered builder.

A new family is a file here that is imported below. Its ops may say themselves how they are exported as Python
source (`Op.python_source`).
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

# The families in the order in which their ops are listed.
# isort: off
from dartboard.nn.ops.parameter_free import AvgPool, FactorizedReduce, Identity, MaxPool, Zero
from dartboard.nn.ops.conv import ConvNormReLU, FactorizedConv, ReLUConvNorm, Separable
# isort: on

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
