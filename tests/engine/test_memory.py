import pytest
import torch

from dartboard.engine.memory import is_out_of_memory, peak_memory


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
