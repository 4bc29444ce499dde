"""Names out of files and folders, made fit for a line of text."""


def printable(text: str) -> str:
    """The text, with escapes for characters that a terminal would obey rather than show."""
    return "".join(own if own.isprintable() else own.encode("unicode_escape").decode() for own in text)
