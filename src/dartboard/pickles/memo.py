"""What a pickle remembers."""

from typing import Any


class Memo:
    """Values by their number.

    Pickles count from 0, and those of benchmarks count to a hundred million: values whose number is the next
    one take up a place in a list, 8 bytes. Any other number costs what one value costs, however large it is.
    """

    __slots__ = ("_rest", "_row")

    def __init__(self) -> None:
        self._row: list[Any] = []
        self._rest: dict[int, Any] = {}

    def add(self, value: object) -> None:
        """Remembers a value under the number of values remembered so far."""
        self.put(len(self._row) + len(self._rest), value)

    def put(self, number: int, value: object) -> None:
        """Remembers a value under a number, in place of what was there."""
        if number == len(self._row):
            self._row.append(value)
            self._rest.pop(number, None)
        elif 0 <= number < len(self._row):
            self._row[number] = value
        else:
            self._rest[number] = value

    def get(self, number: int) -> Any:
        """The value of a number.

        Raises:
            LookupError: If there is none.
        """
        return self._row[number] if 0 <= number < len(self._row) else self._rest[number]
