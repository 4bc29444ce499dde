import json
from pathlib import Path

import pytest

from dartboard.errors import GenotypeError, UnknownNameError
from dartboard.runs import Run
from dartboard.runs.lookup import find_genotype, home_of, space_of_run
from dartboard.space import GENOTYPE_FORMATS, PUBLISHED, Genotype, get_published, get_space

DARTS_V2 = PUBLISHED["darts-v2"].text
NB201 = "|nor_conv_3x3~0|+|none~0|skip_connect~1|+|avg_pool_3x3~0|none~1|nor_conv_1x1~2|"
NB101 = '{"matrix": [[0, 1, 1], [0, 0, 1], [0, 0, 0]], "ops": ["input", "conv3x3-bn-relu", "output"]}'


def test_a_published_name() -> None:
    assert find_genotype("pc-darts") == get_published("pc-darts")


@pytest.mark.parametrize(
    ("text", "codec"),
    [(DARTS_V2, "darts"), (NB201, "nb201"), (NB101, "nb101"), (f"  {NB201}\n", "nb201")],
)
def test_a_text_and_a_file_with_it_are_the_same(text: str, codec: str, tmp_path: Path) -> None:
    file = tmp_path / "cell.txt"
    file.write_text(text)
    assert find_genotype(text) == find_genotype(str(file)) == GENOTYPE_FORMATS[codec].decode(text.strip())


def test_json_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "cell.json"
    file.write_text(GENOTYPE_FORMATS["json"].encode(get_published("xnas")))
    assert find_genotype(str(file)) == get_published("xnas")


def test_a_text_too_long_for_a_file_name() -> None:
    assert find_genotype(DARTS_V2 + " " * 5000) == get_published("darts-v2")


def test_a_misspelt_name_gets_a_hint() -> None:
    with pytest.raises(UnknownNameError, match="no published cell called 'dart-v2'; did you mean 'darts-v2'"):
        find_genotype("dart-v2")


@pytest.mark.parametrize("text", ["cells/mine", "mine.json", "mine.txt", "./mine"])
def test_a_missing_file_is_named(text: str) -> None:
    with pytest.raises(GenotypeError, match=f"there is no file '{text}'"):
        find_genotype(text)


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(GenotypeError, match="there is no file"):
        find_genotype(str(tmp_path))


def test_a_run_gives_its_result_or_its_last_epoch(tmp_path: Path) -> None:
    early, late = (
        json.loads(GENOTYPE_FORMATS["json"].encode(get_published(name))) for name in ("xnas", "pc-darts")
    )
    with Run.create(tmp_path / "run", {}, space=get_space("darts")) as run:
        with pytest.raises(GenotypeError, match="has no genotype yet; its first epoch is not over"):
            find_genotype(str(run.path))
        run.record(0, {}, {"genotype": early})
        assert find_genotype(str(run.path)) == get_published("xnas")
        run.finish({"genotype": late})
        assert find_genotype(str(run.path)) == get_published("pc-darts")


def test_the_space_of_a_run(tmp_path: Path) -> None:
    Run.create(tmp_path / "with", {}, space=get_space("nano")).close()
    Run.create(tmp_path / "without", {}).close()
    assert space_of_run(str(tmp_path / "with")) == get_space("nano")
    assert space_of_run(str(tmp_path / "without")) is None
    assert space_of_run("darts-v2") is None


def test_a_bad_file_is_named(tmp_path: Path) -> None:
    file = tmp_path / "cell.txt"
    file.write_text("|nor_conv_3x3~0")
    with pytest.raises(GenotypeError, match=r"cell\.txt: "):
        find_genotype(str(file))


def test_a_file_that_is_no_text_is_named(tmp_path: Path) -> None:
    file = tmp_path / "cell.bin"
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(GenotypeError, match=r"cell\.bin: not a text in UTF-8"):
        find_genotype(str(file))


@pytest.mark.parametrize(
    ("genotype", "space"),
    [(DARTS_V2, "darts"), (NB201, "nb201"), (NB101, "oneshot1")],
)
def test_a_genotype_finds_its_stack(genotype: str, space: str) -> None:
    assert home_of(find_genotype(genotype)) == get_space(space)


def test_unshared_cells_find_their_stack() -> None:
    cell = get_published("darts-v2").cells["normal"]
    groups = tuple((f"cell{index:02d}", cell) for index in range(15))
    assert home_of(Genotype(groups)) == get_space("asm")


def test_a_genotype_without_a_stack_asks_for_one() -> None:
    cell = get_published("darts-v2").cells["normal"]
    with pytest.raises(
        GenotypeError, match="no space of the catalog has the cells mine; name one with --space"
    ):
        home_of(Genotype((("mine", cell),)))
