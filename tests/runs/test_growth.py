"""What one more epoch costs, in bytes read and written: the same after many epochs as after few."""

from collections.abc import Callable
from pathlib import Path

import pytest

from dartboard.runs import Run

IO = Path("/proc/self/io")

pytestmark = pytest.mark.skipif(not IO.exists(), reason="counts bytes by the means of Linux")


def count_bytes(work: Callable[[], object]) -> tuple[int, int]:
    """Bytes that reads and writes of this process have moved."""

    def counters() -> tuple[int, int]:
        values = dict(line.split(": ") for line in IO.read_text().splitlines())
        return int(values["rchar"]), int(values["wchar"])

    read, written = counters()
    overhead = counters()[0] - read  # of reading the counters
    read, written = counters()
    work()
    read_then, written_then = counters()
    return read_then - read - overhead, written_then - written


def test_an_epoch_costs_the_same_however_many_there_are(tmp_path: Path) -> None:
    metrics, details = {"loss": 0.25, "note": "x" * 200}, {"strengths": [0.5] * 20}
    with Run.create(tmp_path / "run", {}) as run:

        def record(epoch: int) -> None:
            run.record(epoch, metrics, details)

        for epoch in range(100, 110):
            record(epoch)
        few = count_bytes(lambda: record(110))
        for epoch in range(111, 300):
            record(epoch)
        many = count_bytes(lambda: record(300))
    assert few[1] > 400  # what is written is counted
    size = (tmp_path / "run" / "metrics.jsonl").stat().st_size
    assert size > 40 * few[1]
    assert many[0] <= few[0] + 16
    assert many[1] <= few[1] + 16  # longer numbers of bytes in checksums.txt
