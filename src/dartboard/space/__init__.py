"""Search spaces and genotypes as data: what can be chosen, what was chosen, and the texts for both."""

from dartboard.space.catalog import SPACES, get_space, list_spaces, register_space
from dartboard.space.files import load_space, space_from_json, space_from_yaml, space_to_json
from dartboard.space.formats import (
    GENOTYPE_FORMATS,
    GenotypeFormat,
    decode,
    from_nb101,
    prune_nb101,
    to_nb101,
)
from dartboard.space.genotype import (
    Genotype,
    adopt,
    all_connected,
    check_connected,
    draw_connected,
    enumerate_genotypes,
    mutate,
    restrict,
    sample,
)
from dartboard.space.graph import (
    count,
    count_cell,
    depth,
    is_connected,
    mean_source,
    on_path,
    reachable,
    width,
)
from dartboard.space.published import PUBLISHED, Published, get_published
from dartboard.space.spec import NONE, Cell, Contest, Edge, SearchSpace, Slot, Stack

__all__ = [
    "GENOTYPE_FORMATS",
    "NONE",
    "PUBLISHED",
    "SPACES",
    "Cell",
    "Contest",
    "Edge",
    "Genotype",
    "GenotypeFormat",
    "Published",
    "SearchSpace",
    "Slot",
    "Stack",
    "adopt",
    "all_connected",
    "check_connected",
    "count",
    "count_cell",
    "decode",
    "depth",
    "draw_connected",
    "enumerate_genotypes",
    "from_nb101",
    "get_published",
    "get_space",
    "is_connected",
    "list_spaces",
    "load_space",
    "mean_source",
    "mutate",
    "on_path",
    "prune_nb101",
    "reachable",
    "register_space",
    "restrict",
    "sample",
    "space_from_json",
    "space_from_yaml",
    "space_to_json",
    "to_nb101",
    "width",
]
