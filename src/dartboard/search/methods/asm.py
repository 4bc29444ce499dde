"""ASM-NAS: attention in the place of architecture parameters."""

from dartboard.relax.catalog import RELAXATIONS
from dartboard.search.method import METHODS, Method
from dartboard.search.select import CellByCell, FromStrengths


@METHODS.register("asm")
def asm(*, cell_by_cell: bool = True) -> Method:
    """ASM-NAS: attention over the outputs of ops, no architecture parameters; decided cell by cell."""
    select = CellByCell() if cell_by_cell else FromStrengths()
    return Method(RELAXATIONS["attention"], select=select, preview=FromStrengths())
