import pytest
import torch

from dartboard.data import Dataset, ImageSet
from dartboard.errors import CompositionError
from dartboard.search import SearchOptions, make_method
from dartboard.search.build import build_objective
from dartboard.space import get_space
from dartboard.tasks import Classification
from helpers.search_cases import digits

CPU = torch.device("cpu")


def built(method="darts", method_options=None, images=None, **options):
    given = SearchOptions.model_validate({"net": {"channels": 4}, "batch": 8} | options)
    made = make_method(method, method_options or {})
    torch.manual_seed(0)
    return build_objective(get_space("nano"), made, images or digits(), given, CPU)


def test_the_network_is_for_the_images():
    config = built().net.config
    assert (config.channels, config.classes, config.input, config.search) == (4, 10, (1, 8, 8), True)
    assert (config.partial, config.auxiliary, config.drop_path) == (1, False, 0.0)


def test_the_method_says_how_many_channels_pass():
    assert built("pc-darts", {"partial": 2}).net.config.partial == 2


def test_options_reach_the_objective():
    objective = built(
        net={"channels": 4, "auxiliary": 0.4, "drop_path": 0.1, "stem": "half", "mix": "plain"},
        weights={"smoothing": 0.2},
        precision="bf16",
        pieces=3,
    )
    config = objective.net.config
    assert (config.auxiliary, config.drop_path, config.stem, config.mix) == (True, 0.1, "half", "plain")
    assert objective.task == Classification(auxiliary=0.4, smoothing=0.2)
    assert (objective.precision.dtype, objective.micro_batches) == (torch.bfloat16, 3)
    assert objective.forward is objective.net


def test_a_batch_has_no_more_pieces_than_examples():
    assert built(pieces=100).micro_batches == 8


def test_the_relaxation_starts_from_the_seed_and_the_network_from_torch():
    tasks = [built(seed=seed) for seed in (0, 1)]
    weights = [objective.net.head.linear.weight for objective in tasks]
    starts = [objective.relaxation.arch_parameters()[0] for objective in tasks]
    assert torch.equal(*weights)
    assert not torch.equal(*starts)


def test_the_relaxation_shares_no_chance_with_the_network():
    relaxation = built("gdas", seed=0).relaxation
    ahead = relaxation.dice.generator.clone_state()
    torch.manual_seed(0)
    assert not torch.equal(torch.rand(9, generator=ahead), torch.rand(9))
    assert ahead.initial_seed() != torch.initial_seed()


def small(side: int) -> Dataset:
    """Images of a few pixels."""
    train = digits().train
    return Dataset("small", digits().classes, ImageSet(train.images[:, :, :side, :side], train.labels))


@pytest.mark.parametrize(("batch", "pieces"), [(1, 1), (4, 4), (7, 3), (3, 8)])
def test_one_pixel_of_one_example_cannot_be_normalized(batch, pieces):
    """A batch of 7 in 3 pieces passes as 3, 3 and 1."""
    words = f"images of 2x2 come down to one pixel, .* batch={batch} and pieces={pieces} some pass alone"
    with pytest.raises(CompositionError, match=words):
        built(images=small(2), batch=batch, pieces=pieces)
    with pytest.raises(CompositionError, match="the auxiliary classifier sees one pixel"):
        built(batch=batch, pieces=pieces, net={"channels": 4, "auxiliary": 0.4})


@pytest.mark.parametrize(
    ("side", "batch", "pieces", "auxiliary"), [(2, 2, 1, 0.0), (2, 8, 3, 0.4), (3, 1, 1, 0.0), (8, 4, 4, 0.0)]
)
def test_two_values_can_be_normalized(side, batch, pieces, auxiliary):
    objective = built(
        images=small(side), batch=batch, pieces=pieces, net={"channels": 4, "auxiliary": auxiliary}
    )
    x, y = torch.randn(batch, 1, side, side), torch.zeros(batch, dtype=torch.int64)
    assert all(
        objective.loss(micro.batch, rows=micro.rows)[0].isfinite() for micro in objective.passes((x, y))
    )


def test_what_is_not_trained_is_not_normalized():
    assert built("random", images=small(2), batch=1)


def test_what_is_compiled_is_the_plain_formula(monkeypatch):
    monkeypatch.setattr(torch, "compile", torch.nn.Sequential)
    objective = built(compile=True)
    assert objective.net.config.mix == "plain"
    assert isinstance(objective.forward, torch.nn.Sequential)
    assert {id(own) for own in objective.forward.parameters()} == {
        id(own) for own in objective.net.parameters()
    }


def test_what_draws_is_not_compiled():
    with pytest.raises(CompositionError, match="Gumbel draws another network for every step"):
        built("gdas", compile=True)
