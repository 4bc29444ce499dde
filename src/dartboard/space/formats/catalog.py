"""The texts a genotype can be written in, by name: `json`, `darts`, `nb201`, `nb101`.

`json` says every genotype. The others are the forms the field uses; each says only cells of its own
kind and refuses the rest. What a text leaves out (which ops exist, which edges a space has) is not
checked here but by `restrict` and by the network.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from dartboard.errors import GenotypeError
from dartboard.registry import Registry
from dartboard.space._explain import shown
from dartboard.space.formats import darts, json, nb101, nb201
from dartboard.space.formats.darts import from_darts, to_darts
from dartboard.space.formats.json import from_json, to_json
from dartboard.space.formats.nb101 import from_nb101, from_nb101_text, prune_nb101, to_nb101, to_nb101_text
from dartboard.space.formats.nb201 import from_nb201, to_nb201
from dartboard.space.genotype import Genotype

__all__ = [
    "GENOTYPE_FORMATS",
    "GenotypeFormat",
    "decode",
    "from_darts",
    "from_json",
    "from_nb101",
    "from_nb101_text",
    "from_nb201",
    "prune_nb101",
    "to_darts",
    "to_json",
    "to_nb101",
    "to_nb101_text",
    "to_nb201",
]


@dataclass(frozen=True)
class GenotypeFormat:
    """One way to write genotypes.

    Args:
        encode: From a genotype to its text; raises GenotypeError for a genotype this form cannot say.
        decode: From a text to its genotype; raises GenotypeError for a malformed text.
        form: What a text looks like, for error messages.
        start: How a text of this form, and of no other, begins.
    """

    encode: Callable[[Genotype], str]
    decode: Callable[[str], Genotype]
    form: str
    start: re.Pattern[str]


GENOTYPE_FORMATS: Registry[GenotypeFormat] = Registry("genotype format")
GENOTYPE_FORMATS.register("json")(
    GenotypeFormat(to_json, from_json, json.FORM, re.compile(r'\{(?!\s*"[^"]*"\s*:\s*\[)'))
)
GENOTYPE_FORMATS.register("darts")(
    GenotypeFormat(to_darts, from_darts, darts.FORM, re.compile(r"(\w+\s*=\s*)?Genotype\b"))
)
GENOTYPE_FORMATS.register("nb201")(GenotypeFormat(to_nb201, from_nb201, nb201.FORM, re.compile(r"\|")))
GENOTYPE_FORMATS.register("nb101")(
    GenotypeFormat(to_nb101_text, from_nb101_text, nb101.FORM, re.compile(r'\{(?=\s*"[^"]*"\s*:\s*\[)'))
)


def decode(text: str) -> Genotype:
    """The genotype that a text says, in whichever form it is written.

    Raises:
        GenotypeError: If the text begins like none of the forms, or is malformed in its own.
    """
    text = text.strip()
    for codec in GENOTYPE_FORMATS.values():
        if codec.start.match(text):
            return codec.decode(text)
    forms = "; ".join(f"{name}: {codec.form}" for name, codec in GENOTYPE_FORMATS.items())
    raise GenotypeError(f"cannot tell what genotype {shown(text)} is; the forms known are {forms}")
