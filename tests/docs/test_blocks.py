"""Every block of code of the documentation does what the page says."""

import gzip
import multiprocessing
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from dartboard.space import GENOTYPE_FORMATS, get_published
from helpers.doc_pages import ROOT, blocks_of, pages, read_page
from helpers.image_folders import cifar10_binary, pixels, write_images
from helpers.nb101_data import SMALL
from helpers.nb201_data import made_up
from helpers.page_runner import BLOCK_RUNNERS, as_pattern, run_page

PATIENCE = 600
"""Seconds; machines that test are busy."""
HEAVY = ["dartboard.search", "dartboard.train", "dartboard.report", "dartboard_papers"]
"""What processes begin with, so that they begin at once."""


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what pages speak of: images, tables, a cell, the benches of the repository."""
    folder = tmp_path_factory.mktemp("shelf")
    write_images(folder / "photos", dict.fromkeys(("cat", "dog", "horse"), 100), size=(32, 32))
    x, y = pixels(350, 3, 32, 32), np.arange(350) % 10
    for name in ("cifar10.npz", "cifar10-10k.npz"):
        np.savez(folder / name, x_train=x[:300], y_train=y[:300], x_test=x[300:], y_test=y[300:])
    cifar10_binary(folder / "datasets" / "cifar10", 60)
    columns = made_up()
    rows = [",".join(columns), *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True))]
    (folder / "nb201.csv.gz").write_bytes(gzip.compress("\n".join(rows).encode(), 1))
    np.savez(folder / "nb101.npz", **SMALL)
    (folder / "cell.json").write_text(GENOTYPE_FORMATS["json"].encode(get_published("darts-v2")))
    return folder


@pytest.mark.parametrize("page", [page for page in pages() if blocks_of(page)])
@pytest.mark.product(keep=5)
def test_what_a_page_shows_is_what_happens(page: str, shelf: Path, tmp_path: Path) -> None:
    folder, log = tmp_path / "folder", tmp_path / "log"
    shutil.copytree(shelf, folder)
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(HEAVY)
    process = context.Process(target=run_page, args=(page, folder, log))
    process.start()
    process.join(PATIENCE)
    if process.is_alive():
        process.kill()
    assert process.exitcode == 0, log.read_text(encoding="utf-8")[-6000:]


@pytest.mark.parametrize("page", pages())
def test_blocks_are_in_languages_that_are_tried(page: str) -> None:
    unknown = [
        f"{block.place}: {block.language!r}"
        for block in blocks_of(page)
        if block.language not in BLOCK_RUNNERS
    ]
    assert not unknown, f"a block needs a language, one of {', '.join(BLOCK_RUNNERS)}"
    fences = re.findall(r"^ *(?:```|~~~)", read_page(page), re.MULTILINE)
    assert len(fences) == 2 * len(blocks_of(page))


@pytest.mark.parametrize("page", pages())
def test_files_of_a_page_are_used_on_it(page: str) -> None:
    blocks = blocks_of(page)
    for place, block in enumerate(blocks):
        later = "\n".join(own.text for own in blocks[place + 1 :])
        assert block.file is None or block.file in later, f"{block.place}: nothing uses {block.file}"


def test_dots_stand_for_anything() -> None:
    pattern = as_pattern("a  1 ... s\n...\nend\n")
    assert re.fullmatch(pattern, "a  1 23 s\nx\ny\nend\n")
    assert re.fullmatch(pattern, "a  1  s\nend\n")
    assert not re.fullmatch(pattern, "a  1 23 s\nx\n")
    assert not re.fullmatch(pattern, "b  1 23 s\nend\n")


def test_every_page_that_is_prepared_for_is_there() -> None:
    from helpers.page_settings import BEFORE

    assert [page for page in BEFORE if not (ROOT / page).is_file()] == []
