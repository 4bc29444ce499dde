"""Where the command line writes: a console that leaves lines whole and a broken pipe to its caller."""

from collections.abc import Iterable

from rich.console import Console
from rich.text import Text

from dartboard.viz.terminal import Glyphs, glyphs_for


class Terminal(Console):
    """Standard output, in colour where that is a terminal and NO_COLOR is not set.

    Args:
        stderr: Standard error instead.
    """

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(highlight=False, markup=False, emoji=False, soft_wrap=True, stderr=stderr)

    @property
    def pen(self) -> Glyphs:
        """The finest glyphs for drawings that the encoding of the output allows."""
        return glyphs_for(self.encoding)

    def write(self, lines: Iterable[Text | str]) -> None:
        """Print lines as they are, however long."""
        for line in lines:
            self.print(line)

    def on_broken_pipe(self) -> None:
        """Let the error reach the caller, who knows that nobody reads on."""
        raise BrokenPipeError
