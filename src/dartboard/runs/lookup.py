"""Genotypes and spaces from command-line arguments: a run, a file, a name or a text."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from dartboard.errors import GenotypeError, UnknownNameError
from dartboard.runs.directory import SPACE, RunReader, is_run
from dartboard.space import (
    GENOTYPE_FORMATS,
    PUBLISHED,
    SPACES,
    Cell,
    Genotype,
    SearchSpace,
    decode,
    get_published,
    get_space,
    load_space,
)
from dartboard.utils.checksums import read_file


def find_genotype(text: str) -> Genotype:
    """The genotype of an argument: a published one, that of a run or a file, or the text itself."""
    if text in PUBLISHED:
        return get_published(text)
    if _is_run(text):
        return RunReader.read(text).genotype
    is_file = False
    with suppress(OSError):  # a genotype can be too long for a file name
        is_file = Path(text).is_file()
    if is_file:
        try:
            return decode(read_file(text).decode("utf-8"))
        except UnicodeDecodeError:
            raise GenotypeError(f"{Path(text)}: not a text in UTF-8") from None
        except GenotypeError as error:
            raise GenotypeError(f"{Path(text)}: {error}") from None
    if any(known.start.match(text.strip()) for known in GENOTYPE_FORMATS.values()):
        return decode(text)
    if "/" in text or Path(text).suffix in (".json", ".txt"):
        raise GenotypeError(f"there is no file {text!r} to read a genotype from")
    raise UnknownNameError("published cell", text, PUBLISHED)


def _is_run(text: str) -> bool:
    with suppress(OSError):  # as above
        return is_run(Path(text))
    return False


def space_of_run(text: str) -> SearchSpace | None:
    """The space that a run searches, if `text` is the directory of a run that has recorded one."""
    if not _is_run(text):
        return None
    path = Path(text) / SPACE
    return load_space(path, root=Path(text)) if path.exists() else None


def space_name(cell: str, given: str | None, space: SearchSpace) -> str:
    """A name under which a space is found again: the given one, that of the catalog, or its file."""
    if given is not None or space.name in SPACES:
        return given or space.name
    return str((Path(cell) / SPACE).resolve())


def data_of_run(text: str) -> dict[str, object]:
    """Name and size of the images of a run, if `text` is the directory of a run."""
    if not _is_run(text):
        return {}
    config = RunReader.read(text).config
    inner = config.get("train") if config.get("kind") == "protocol" else config
    data = inner.get("data") if isinstance(inner, dict) else None
    return {key: data[key] for key in ("name", "size") if data.get(key)} if isinstance(data, dict) else {}


def home_of(genotype: Genotype) -> SearchSpace:
    """The first space of the catalog whose stack takes the genotype's cells: `darts`, `nb201`, ..."""
    expected = _kinds(genotype.cells)
    for name in SPACES:
        space = get_space(name)
        if _kinds(space.cells) == expected:
            return space
    raise GenotypeError(
        f"no space of the catalog has the cells {', '.join(genotype.cells)}; name one with --space"
    )


def _kinds(cells: Mapping[str, Cell]) -> dict[str, tuple[int, bool]]:
    """Number of inputs of each cell, and whether it ends in a concatenation."""
    return {group: (cell.inputs, bool(cell.concat)) for group, cell in cells.items()}
