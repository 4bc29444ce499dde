"""From what people type, a run, a file, a name or a text, to the cell and the space that are meant."""

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
    """The genotype that `text` means: a published one, that of a run or a file, or the text itself."""
    if text in PUBLISHED:
        return get_published(text)
    if _is_run(text):
        return _found(text)
    if _is_file(text):
        return _read(Path(text))
    if any(codec.start.match(text.strip()) for codec in GENOTYPE_FORMATS.values()):
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


def _found(path: str) -> Genotype:
    """What a run has found: its result, or as long as there is none what its last epoch would choose."""
    from dartboard.runs import RunReader

    run = RunReader.read(path)
    if isinstance(cell := run.config.get("cell"), str):  # a training: what it trains
        return decode(cell)
    epochs = run.metrics()
    found = run.result() or (run.epoch(epochs[-1]["epoch"]) if epochs else {})
    if "genotype" not in found:
        raise GenotypeError(f"the run {path} has no genotype yet; its first epoch is not over")
    return decode(json.dumps(found["genotype"]))


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
    """How a space is named so that it is found again: as it was given, by the catalogue, or by its file."""
    if given is not None or space.name in SPACES:
        return given or space.name
    from dartboard.runs import SPACE

    return str((Path(cell) / SPACE).resolve())


def data_of_run(text: str) -> dict[str, object]:
    """The images that a run used, if `text` is the directory of a run: their name and their size."""
    if not _is_run(text):
        return {}
    from dartboard.runs import Run

    config = Run.read(text).config
    inner = config.get("train") if config.get("kind") == "protocol" else config
    found = inner.get("data") if isinstance(inner, dict) else None
    return {key: found[key] for key in ("name", "size") if found.get(key)} if isinstance(found, dict) else {}


def home_of(genotype: Genotype) -> SearchSpace:
    """The first space of the catalogue whose stack takes the genotype's cells: `darts`, `nb201`, ..."""
    wanted = _kinds(genotype.cells)
    for name in SPACES:
        space = get_space(name)
        if _kinds(space.cells) == wanted:
            return space
    raise GenotypeError(
        f"no space of the catalogue has the cells {', '.join(genotype.cells)}; name one with --space"
    )


def _kinds(cells: Mapping[str, Cell]) -> dict[str, tuple[int, bool]]:
    """What tells stacks apart: the inputs of each arch's cell, and whether it ends in a concatenation."""
    return {arch: (cell.inputs, bool(cell.concat)) for arch, cell in cells.items()}
