import pytest
import torch

from dartboard.relax import Gumbel, RandomArchitecture, fork_rng, softmax


def gumbel(space, generator):
    return Gumbel(softmax(space), generator=generator)


def random(space, generator):
    return RandomArchitecture(space, generator=generator)


MAKERS = {"gumbel": gumbel, "random": random}


@pytest.mark.parametrize("kind", ["gumbel", "random"])
def test_samples_inside_a_fork_are_drawn_again_after_it(ragged, generator, kind):
    relaxation = MAKERS[kind](ragged, generator)
    relaxation()
    with fork_rng(relaxation):
        inside = [relaxation().blend(0).live for _ in range(5)]
    assert len(set(inside)) > 1
    assert [relaxation().blend(0).live for _ in range(5)] == inside


def test_the_state_is_restored_after_an_error(ragged, generator):
    relaxation = gumbel(ragged, generator)
    before = relaxation.dice.get_extra_state()
    with pytest.raises(ZeroDivisionError), fork_rng(relaxation):  # noqa: PT012
        relaxation()
        raise ZeroDivisionError
    assert torch.equal(relaxation.dice.get_extra_state(), before)


def test_all_generators_of_a_module_are_forked(ragged):
    both = torch.nn.ModuleList(gumbel(ragged, torch.Generator().manual_seed(seed)) for seed in (1, 2))
    with fork_rng(both):
        inside = [relaxation().blend(0).live for relaxation in both]
    assert [relaxation().blend(0).live for relaxation in both] == inside
