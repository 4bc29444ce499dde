"""ASM-NAS: attention in the place of architecture parameters."""

from typing import Annotated

from dartboard.relax.attention import Attention, AttentionInit
from dartboard.search.method import METHODS, LegacyDefault, Method
from dartboard.search.select import CellByCell, FromStrengths


@METHODS.register("asm")
def asm(
    *, cell_by_cell: bool = True, init: Annotated[AttentionInit, LegacyDefault("random")] = "zero"
) -> Method:
    """ASM-NAS: attention over the outputs of ops, no architecture parameters; decided cell by cell."""
    select = CellByCell() if cell_by_cell else FromStrengths()
    return Method(
        lambda space, generator: Attention(space, init=init, generator=generator),
        select=select,
        preview=FromStrengths(),
    )
