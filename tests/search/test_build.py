import pytest
import torch

from dartboard.errors import CompositionError, DataError
from dartboard.search import SearchOptions, make_method
from dartboard.search.build import build_task, divide
from dartboard.space import get_space
from searching import digits

CPU = torch.device("cpu")


def divided(method="darts", method_options=None, **options):
    given = SearchOptions.model_validate({"batch": 8} | options)
    return divide(digits(), make_method(method, method_options or {}), given, CPU)


def pixels(images) -> set[bytes]:
    return {image.numpy().tobytes() for image in images.images}


def test_a_bilevel_method_gets_two_halves_that_share_nothing():
    supply = divided()
    assert len(supply.train.images) == len(supply.arch.images) == 48
    assert not pixels(supply.train.images) & pixels(supply.valid)
    assert pixels(supply.arch.images) == pixels(supply.valid)


def test_a_single_level_method_learns_both_from_nine_tenths():
    supply = divided("gaea-darts-erm")
    assert pixels(supply.train.images) == pixels(supply.arch.images)
    assert not pixels(supply.train.images) & pixels(supply.valid)
    assert len(supply.train.images) == 96 - len(supply.valid)
    assert 8 <= len(supply.valid) <= 12
    assert not torch.equal(supply.train.batch(0).y, supply.arch.batch(0).y)  # in an order of their own


@pytest.mark.parametrize(
    ("method", "options"), [("gaea-darts-erm", {"joint": True}), ("asm", None), ("random-ws", None)]
)
def test_nobody_judges_where_nothing_is_judged(method, options):
    assert divided(method, options).arch is None


def test_the_share_can_be_given():
    assert len(divided(data={"valid": 0.25}).arch.images) == pytest.approx(24, abs=3)
    supply = divided("asm", data={"valid": 0.0})
    assert len(supply.train.images) == len(supply.valid) == 96


def test_bilevel_needs_images_to_judge_by():
    with pytest.raises(CompositionError, match=r"set data.valid > 0"):
        divided(data={"valid": 0.0})


def test_a_batch_must_fit():
    with pytest.raises(DataError, match="a batch of 49"):
        divided(batch=49)


def test_the_division_follows_its_own_seed():
    same = [pixels(divided(seed=seed).valid) for seed in (0, 1)]
    assert same[0] == same[1]
    assert pixels(divided(data={"seed": 1}).valid) != same[0]


def test_batches_follow_the_search_seed():
    assert not torch.equal(divided(seed=0).train.batch(0).y, divided(seed=1).train.batch(0).y)


def built(method="darts", method_options=None, **options):
    given = SearchOptions.model_validate({"net": {"channels": 4}, "batch": 8} | options)
    torch.manual_seed(0)
    return build_task(get_space("nano"), make_method(method, method_options or {}), digits(), given, CPU)


def test_the_network_is_for_the_images():
    config = built().net.config
    assert (config.channels, config.classes, config.input, config.search) == (4, 10, (1, 8, 8), True)
    assert (config.partial, config.auxiliary, config.drop_path) == (1, False, 0.0)


def test_the_method_says_how_many_channels_pass():
    assert built("pc-darts", {"partial": 2}).net.config.partial == 2


def test_options_reach_the_task():
    task = built(
        net={"channels": 4, "auxiliary": 0.4, "drop_path": 0.1, "stem": "half", "mix": "plain"},
        weights={"smoothing": 0.2},
        precision="bf16",
        pieces=3,
    )
    config = task.net.config
    assert (config.auxiliary, config.drop_path, config.stem, config.mix) == (True, 0.1, "half", "plain")
    assert (task.auxiliary, task.smoothing, task.precision, task.pieces) == (0.4, 0.2, torch.bfloat16, 3)
    assert task.forward is task.net


def test_a_batch_has_no_more_pieces_than_examples():
    assert built(pieces=100).pieces == 8


def test_the_relaxation_starts_from_the_seed_and_the_network_from_torch():
    tasks = [built(seed=seed) for seed in (0, 1)]
    weights = [task.net.head.linear.weight for task in tasks]
    starts = [task.relaxation.arch_parameters()[0] for task in tasks]
    assert torch.equal(*weights)
    assert not torch.equal(*starts)


def test_what_is_compiled_is_the_plain_formula(monkeypatch):
    monkeypatch.setattr(torch, "compile", torch.nn.Sequential)
    task = built(compile=True)
    assert task.net.config.mix == "plain"
    assert isinstance(task.forward, torch.nn.Sequential)
    assert {id(own) for own in task.forward.parameters()} == {id(own) for own in task.net.parameters()}


def test_what_draws_is_not_compiled():
    with pytest.raises(CompositionError, match="Gumbel draws another network for every step"):
        built("gdas", compile=True)
