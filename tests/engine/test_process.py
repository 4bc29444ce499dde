import logging

import pytest
import torch

from dartboard.engine.process import RngScope, deterministic, is_out_of_memory, logged, peak_memory
from dartboard.runs import Run


def test_chance_goes_on_inside_and_is_untouched_outside():
    own = RngScope(torch.device("cpu"))
    before = torch.get_rng_state()
    with own():
        torch.manual_seed(7)
        first = torch.rand(3)
    torch.rand(5)
    torch.set_rng_state(before)
    with own():
        second = torch.rand(3)
    assert torch.equal(torch.get_rng_state(), before)
    expected = torch.rand(6, generator=torch.Generator().manual_seed(7))
    assert torch.equal(torch.cat([first, second]), expected)


def test_chance_is_kept_when_the_block_fails():
    own = RngScope(torch.device("cpu"))

    def fail():
        with own():
            torch.manual_seed(7)
            torch.rand(3)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    with own():
        assert torch.equal(torch.rand(3), torch.rand(6, generator=torch.Generator().manual_seed(7))[3:])


@pytest.mark.parametrize("wanted", [True, False])
def test_deterministic_kernels_are_for_the_block_alone(wanted):
    assert not torch.are_deterministic_algorithms_enabled()
    with deterministic(wanted):
        assert torch.are_deterministic_algorithms_enabled() is wanted
    assert not torch.are_deterministic_algorithms_enabled()


def test_what_is_logged_goes_to_the_run_for_the_block_alone(tmp_path):
    logger = logging.getLogger("dartboard.here")
    with Run.create(tmp_path / "run", {}) as run:
        with logged(run):
            logger.info("inside")
        logger.info("outside")
    text = (tmp_path / "run" / "log.txt").read_text()
    assert "inside" in text
    assert "outside" not in text


def test_without_a_run_logging_is_left_alone():
    logger = logging.getLogger("dartboard")
    before = logger.level, list(logger.handlers)
    with logged(None):
        assert (logger.level, list(logger.handlers)) == before


# Memory


def test_torch_says_so_itself():
    """The host's allocator is asked for more than any machine has."""
    with pytest.raises(RuntimeError) as caught:
        torch.empty(2**60, dtype=torch.uint8)
    assert is_out_of_memory(caught.value)


@pytest.mark.parametrize("error", [MemoryError(), torch.OutOfMemoryError("CUDA out of memory")])
def test_other_ways_to_say_it(error):
    assert is_out_of_memory(error)


@pytest.mark.parametrize(
    "error", [RuntimeError("shapes differ"), ValueError("can't allocate memory"), OSError(12)]
)
def test_other_errors_are_other_errors(error):
    assert not is_out_of_memory(error)


def test_the_peak_is_in_bytes_and_never_falls():
    before = peak_memory(torch.device("cpu"))
    block = torch.ones(2**27, dtype=torch.uint8)
    after = peak_memory(torch.device("cpu"))
    del block
    assert 2**26 < before <= after < 2**38
    assert peak_memory(torch.device("cpu")) >= after
