import logging

import pytest
import torch

from dartboard.engine.rng_scope import RngScope, deterministic, logged
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
