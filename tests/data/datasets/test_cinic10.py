from pathlib import Path

from dartboard.data import load_dataset
from helpers.image_folders import write_image


def test_cinic_has_all_three_splits(tmp_path: Path) -> None:
    for part in ("train", "valid", "test"):
        for name in ("airplane", "truck"):
            write_image(tmp_path / part / name / "0.png", (32, 32))
    data = load_dataset(str(tmp_path))
    assert data.name == "cinic10"
    assert data.valid is not None
    assert data.test is not None
    assert (len(data.train), len(data.valid), len(data.test)) == (2, 2, 2)
