"""What all tests may use; they find the modules beside this file by their names."""

import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from hypothesis import settings

from dartboard.runs import Run
from dartboard.utils import checksums

sys.path.insert(0, str(Path(__file__).parent))
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as a shell leaves it for what runs in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)
settings.register_profile("unhurried", deadline=None)  # a busy machine is no failure
settings.load_profile("unhurried")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leaves all but some cases of a test that is marked `product` to the slow tier, evenly spaced."""
    products: dict[str, list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("product") is not None:
            products.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for cases in products.values():
        marker = cases[0].get_closest_marker("product")
        keep = marker.kwargs["keep"] if marker is not None else len(cases)
        kept = {round(place * len(cases) / keep) for place in range(keep)}
        for place, item in enumerate(cases):
            if place not in kept:
                item.add_marker(pytest.mark.slow)


@pytest.fixture
def one_thread() -> Iterator[None]:
    """As processes that have one: how sums are split among threads can change their last bits."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def without_checksums(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of runs are taken as they are, so that a test can edit them: as of versions without checksums."""
    monkeypatch.setattr(checksums, "read_journal", lambda _: None)


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    """A new run."""
    with Run.create(tmp_path / "run", {}) as run:
        yield run


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A file with few digits."""
    from helpers.protocol_cases import few_digits

    return few_digits(tmp_path_factory.mktemp("data") / "few.npz")
