import pytest

from dartboard.distributed import world_size


@pytest.mark.parametrize(
    ("variables", "count"),
    [
        ({}, 1),
        ({"WORLD_SIZE": "4"}, 1),
        ({"WORLD_SIZE": "4", "RANK": "0"}, 4),
        ({"WORLD_SIZE": "x", "RANK": "0"}, 1),
    ],
)
def test_world_size_counts_only_what_torchrun_sets(
    variables: dict[str, str], count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert world_size() == count
