import pytest
import torch

from dartboard.data import CENTRE, Augment, Dataset, ImageSet, Stream, sweep
from dartboard.errors import CompositionError, DataError
from dartboard.search import SearchOptions, make_method
from dartboard.search.build import build_task
from dartboard.search.options import DataOptions
from dartboard.search.supply import divide, make_stream, make_sweep
from dartboard.space import get_space
from searching import digits

CPU = torch.device("cpu")


def divided(method="darts", method_options=None, images=None, device="cpu", **options):
    given = SearchOptions.model_validate({"batch": 8} | options)
    made = make_method(method, method_options or {})
    return divide(images or digits(), made, given, torch.device(device))


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


def own_valid() -> Dataset:
    """Digits that come with images to choose with."""
    every = digits()
    first, last = (every.train.take(torch.arange(96).split(64)[part]) for part in (0, 1))
    return Dataset("own", every.classes, first, valid=last)


@pytest.mark.parametrize("method", ["darts", "gaea-darts-erm"])
def test_the_own_validation_images_are_held_out(method):
    images = own_valid()
    supply = divided(method, images=images)
    assert pixels(supply.train.images) == pixels(images.train)
    assert pixels(supply.valid) == pixels(images.valid)
    judges = images.valid if method == "darts" else images.train
    assert pixels(supply.arch.images) == pixels(judges)


def test_a_share_goes_before_the_own_validation_images():
    supply = divided(images=own_valid(), data={"valid": 0.5})
    assert len(supply.train.images) == len(supply.valid) == 32
    assert not pixels(supply.valid) & pixels(own_valid().valid)


def test_bilevel_needs_images_to_judge_by():
    with pytest.raises(CompositionError, match=r"set data.valid > 0"):
        divided(data={"valid": 0.0})


@pytest.mark.parametrize("names", [("A",), ("A", "B")])
def test_there_must_be_classes_to_tell_apart(names):
    images = ImageSet(digits().train.images, torch.zeros(96, dtype=torch.int64))
    with pytest.raises(DataError, match="all training images of 'same' are of one class, 'A'; there must be"):
        divided(images=Dataset("same", names, images))


def test_a_share_must_hold_out_an_image():
    with pytest.raises(DataError, match=r"a share of 0\.001 of the 96 training images .* holds out none"):
        divided("asm", data={"valid": 0.001})


@pytest.mark.parametrize(("method", "share"), [("darts", 0.5), ("gaea-darts-erm", 0.1), ("random-ws", 0.0)])
def test_every_image_is_moved_to_the_device_once(method, share):
    supply = divided(method, device="meta", data={"valid": share})
    train, valid = supply.train.images.images, supply.valid.images
    assert train.is_meta
    assert (valid is train) == (not share)
    if supply.arch is not None:
        assert supply.arch.images.images is (valid if method == "darts" else train)


def test_a_batch_must_fit():
    with pytest.raises(DataError, match="a batch of 49"):
        divided(batch=49)


def test_the_division_follows_its_own_seed():
    same = [pixels(divided(seed=seed).valid) for seed in (0, 1)]
    assert same[0] == same[1]
    assert pixels(divided(data={"seed": 1}).valid) != same[0]


def test_batches_follow_the_search_seed():
    assert not torch.equal(divided(seed=0).train.batch(0).y, divided(seed=1).train.batch(0).y)


def test_a_stream_varies_images_as_the_options_say():
    data, chosen = digits(), SearchOptions.model_validate({"data": {"pad": 2}}).data
    given = {"batch": 8, "seed": 3, "name": "mine", "device": CPU}
    augment = Augment(pad=2)
    expected = Stream(data.train, mean=data.mean, deviation=data.deviation, augment=augment, **given)
    assert torch.equal(make_stream(data.train, data, chosen, **given).batch(5).x, expected.batch(5).x)


def test_a_stream_has_the_workers_that_the_options_say(monkeypatch):
    given = {"batch": 8, "seed": 3, "name": "mine", "device": CPU}
    seen = []
    monkeypatch.setattr("dartboard.search.supply.Stream", lambda *_, **own: seen.append(own))
    make_stream(digits().train, digits(), DataOptions(workers=5, area=0.3), **given)
    assert (seen[0]["workers"], seen[0]["augment"]) == (5, Augment(area=0.3))


@pytest.mark.parametrize("area", [0.0, 0.3])
def test_who_trains_on_parts_is_shown_the_middle(area):
    data = digits()
    given = {"batch": 96, "device": CPU}
    (found,) = make_sweep(data.train, data, DataOptions(area=area), **given)
    centre = CENTRE if area else 1.0
    scales = {"mean": data.mean, "deviation": data.deviation}
    (expected,) = sweep(data.train, **given, **scales, centre=centre)
    assert torch.equal(found.x, expected.x)
    (few,) = make_sweep(data.train, data, DataOptions(), **given, limit=5)
    assert few.size == 5


def built(method="darts", method_options=None, images=None, **options):
    given = SearchOptions.model_validate({"net": {"channels": 4}, "batch": 8} | options)
    made = make_method(method, method_options or {})
    torch.manual_seed(0)
    return build_task(get_space("nano"), made, images or digits(), given, CPU)


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
def test_one_pixel_of_one_example_cannot_be_normalised(batch, pieces):
    """A batch of 7 in 3 pieces passes as 3, 3 and 1."""
    words = f"images of 2x2 come down to one pixel, .* batch={batch} and pieces={pieces} some pass alone"
    with pytest.raises(CompositionError, match=words):
        built(images=small(2), batch=batch, pieces=pieces)
    with pytest.raises(CompositionError, match="the auxiliary classifier sees one pixel"):
        built(batch=batch, pieces=pieces, net={"channels": 4, "auxiliary": 0.4})


@pytest.mark.parametrize(
    ("side", "batch", "pieces", "auxiliary"), [(2, 2, 1, 0.0), (2, 8, 3, 0.4), (3, 1, 1, 0.0), (8, 4, 4, 0.0)]
)
def test_two_values_can_be_normalised(side, batch, pieces, auxiliary):
    task = built(images=small(side), batch=batch, pieces=pieces, net={"channels": 4, "auxiliary": auxiliary})
    x, y = torch.randn(batch, 1, side, side), torch.zeros(batch, dtype=torch.int64)
    assert all(task.loss(piece)[0].isfinite() for piece, _ in task.split((x, y)))


def test_what_is_not_trained_is_not_normalised():
    assert built("random", images=small(2), batch=1)


def test_what_is_compiled_is_the_plain_formula(monkeypatch):
    monkeypatch.setattr(torch, "compile", torch.nn.Sequential)
    task = built(compile=True)
    assert task.net.config.mix == "plain"
    assert isinstance(task.forward, torch.nn.Sequential)
    assert {id(own) for own in task.forward.parameters()} == {id(own) for own in task.net.parameters()}


def test_what_draws_is_not_compiled():
    with pytest.raises(CompositionError, match="Gumbel draws another network for every step"):
        built("gdas", compile=True)


def test_a_cutout_that_leaves_nothing_is_refused():
    data = digits()
    options = DataOptions(cutout=8)
    with pytest.raises(DataError, match="a cutout of 8 leaves little of images of 8x8; set"):
        make_stream(data.train, data, options, batch=4, seed=0, name="train", device=torch.device("cpu"))
