"""What a pickle could do."""

from typing import Any


class Calls:
    """Calls a function when it is unpickled."""

    def __init__(self, function: Any, *args: object) -> None:
        self.call = function, args

    def __reduce__(self) -> tuple[Any, Any]:
        return self.call
