"""Networks: one builder for supernets and discrete networks, and their ops."""

from dartboard.nn.choice import Choice, InputChoice, Repeat, Zero
from dartboard.nn.choice_net import ChoiceNet, space_of
from dartboard.nn.costs import count_flops, count_parameters
from dartboard.nn.elastic import KernelChoice, WidthChoice
from dartboard.nn.inherit import inherit
from dartboard.nn.mixture import ArchMixture, Blend, Mixture, all_live, one_hot, uniform
from dartboard.nn.model_file import Model, load_model, pack_model, unpack_model
from dartboard.nn.network import CellNet, NetConfig
from dartboard.nn.ops import OPS, Op, PythonSource, Site, SourceNode, build_op, register_op

__all__ = [
    "OPS",
    "ArchMixture",
    "Blend",
    "CellNet",
    "Choice",
    "ChoiceNet",
    "InputChoice",
    "KernelChoice",
    "Mixture",
    "Model",
    "NetConfig",
    "Op",
    "PythonSource",
    "Repeat",
    "Site",
    "SourceNode",
    "WidthChoice",
    "Zero",
    "all_live",
    "build_op",
    "count_flops",
    "count_parameters",
    "inherit",
    "load_model",
    "one_hot",
    "pack_model",
    "register_op",
    "space_of",
    "uniform",
    "unpack_model",
]
