"""Text formats of genotypes, by name: `json`, `darts`, `nb201`, `nb101`.

`json` can represent every genotype. The others are the formats of the field; each supports only cells of its
own kind and refuses the rest. Which ops exist and which edges a space has is not checked here but by
`restrict` and by the network.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from dartboard.errors import GenotypeError, short_repr
from dartboard.registry import Registry
from dartboard.space.formats.darts import FORM as DARTS_FORM
from dartboard.space.formats.darts import from_darts, to_darts
from dartboard.space.formats.json import FORM as JSON_FORM
from dartboard.space.formats.json import from_json, to_json
from dartboard.space.formats.nb101 import FORM as NB101_FORM
from dartboard.space.formats.nb101 import from_nb101, from_nb101_text, prune_nb101, to_nb101, to_nb101_text
from dartboard.space.formats.nb201 import FORM as NB201_FORM
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
    """A text format of genotypes.

    Args:
        encode: Converts a genotype to text; raises GenotypeError if the format does not support it.
        decode: Converts text to a genotype; raises GenotypeError for a malformed text.
        form: Example of a text, for error messages.
        start: Pattern of the beginning of a text of this format, and of no other.
    """

    encode: Callable[[Genotype], str]
    decode: Callable[[str], Genotype]
    form: str
    start: re.Pattern[str]


GENOTYPE_FORMATS: Registry[GenotypeFormat] = Registry("genotype format")
GENOTYPE_FORMATS.register("json")(
    GenotypeFormat(to_json, from_json, JSON_FORM, re.compile(r'\{(?!\s*"[^"]*"\s*:\s*\[)'))
)
GENOTYPE_FORMATS.register("darts")(
    GenotypeFormat(to_darts, from_darts, DARTS_FORM, re.compile(r"(\w+\s*=\s*)?Genotype\b"))
)
GENOTYPE_FORMATS.register("nb201")(GenotypeFormat(to_nb201, from_nb201, NB201_FORM, re.compile(r"\|")))
GENOTYPE_FORMATS.register("nb101")(
    GenotypeFormat(to_nb101_text, from_nb101_text, NB101_FORM, re.compile(r'\{(?=\s*"[^"]*"\s*:\s*\[)'))
)


def decode(text: str) -> Genotype:
    """The genotype of a text in any of the formats.

    Raises:
        GenotypeError: If the text is in none of the formats, or malformed.
    """
    text = text.strip()
    for genotype_format in GENOTYPE_FORMATS.values():
        if genotype_format.start.match(text):
            return genotype_format.decode(text)
    forms = "; ".join(f"{name}: {genotype_format.form}" for name, genotype_format in GENOTYPE_FORMATS.items())
    raise GenotypeError(f"cannot tell what genotype {short_repr(text)} is; the forms known are {forms}")
