"""Genotypes and spaces from command-line arguments: a run, a file, a name or a text."""

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from dartboard.errors import GenotypeError, UnknownNameError
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


def find_genotype(text: str) -> Genotype:
    """The genotype of an argument: a published one, that of a run or a file, or the text itself."""
    if text in PUBLISHED:
        return get_published(text)
    if _is_run(text):
        return genotype_of_run(text)
    if _is_file(text):
        return _read(Path(text))
    if any(known.start.match(text.strip()) for known in GENOTYPE_FORMATS.values()):
        return decode(text)
    if "/" in text or Path(text).suffix in (".json", ".txt"):
        raise GenotypeError(f"there is no file {text!r} to read a genotype from")
    raise UnknownNameError("published cell", text, PUBLISHED)


def _is_file(text: str) -> bool:
    with suppress(OSError):  # a genotype can be too long for a file name
        return Path(text).is_file()
    return False


def _is_run(text: str) -> bool:
    with suppress(OSError):
        if Path(text).is_dir():
            from dartboard.runs.directory import is_run

            return is_run(Path(text))
    return False


def genotype_of_run(path: str | Path) -> Genotype:
    """The genotype of a run: its result, or as long as there is none that of its last epoch."""
    from dartboard.runs import RunReader

    run = RunReader.read(path)
    if isinstance(cell := run.config.get("cell"), str):  # a training
        return decode(cell)
    epochs = run.metrics()
    result = run.result() or (run.epoch(epochs[-1]["epoch"]) if epochs else {})
    if "genotype" not in result:
        raise GenotypeError(f"the run {path} has no genotype yet; its first epoch is not over")
    return decode(json.dumps(result["genotype"]))


def _read(path: Path) -> Genotype:
    try:
        return decode(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError:
        raise GenotypeError(f"{path}: not a text in UTF-8") from None
    except GenotypeError as error:
        raise GenotypeError(f"{path}: {error}") from None


def space_of_run(text: str) -> SearchSpace | None:
    """The space that a run searches, if `text` is the directory of a run that has recorded one."""
    if not _is_run(text):
        return None
    from dartboard.runs import SPACE

    path = Path(text) / SPACE
    return load_space(path) if path.is_file() else None


def space_name(cell: str, given: str | None, space: SearchSpace) -> str:
    """A name under which a space is found again: the given one, that of the catalog, or its file."""
    if given is not None or space.name in SPACES:
        return given or space.name
    from dartboard.runs import SPACE

    return str((Path(cell) / SPACE).resolve())


def data_of_run(text: str) -> dict[str, object]:
    """Name and size of the images of a run, if `text` is the directory of a run."""
    if not _is_run(text):
        return {}
    from dartboard.runs import Run

    config = Run.read(text).config
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
        f"no space of the catalogue has the cells {', '.join(genotype.cells)}; name one with --space"
    )


def _kinds(cells: Mapping[str, Cell]) -> dict[str, tuple[int, bool]]:
    """Number of inputs of each cell, and whether it ends in a concatenation."""
    return {group: (cell.inputs, bool(cell.concat)) for group, cell in cells.items()}
