import pytest
import torch

from dartboard.data import CENTER_CROP, Augment, BatchLoader, Dataset, ImageSet, evaluation_batches
from dartboard.engine.config import DataOptions
from dartboard.errors import CompositionError, DataError
from dartboard.search import SearchOptions, make_method
from dartboard.search.build import make_evaluation_batches, make_loaders, make_train_loader
from helpers.search_cases import digits

CPU = torch.device("cpu")


def divided(method="darts", method_options=None, images=None, device="cpu", **options):
    given = SearchOptions.model_validate({"batch": 8} | options)
    made = make_method(method, method_options or {})
    return make_loaders(images or digits(), made, given, torch.device(device))


def pixels(images) -> set[bytes]:
    return {image.numpy().tobytes() for image in images.images}


def test_a_bilevel_method_gets_two_halves_that_share_nothing():
    loaders = divided()
    assert len(loaders.train.images) == len(loaders.arch.images) == 48
    assert not pixels(loaders.train.images) & pixels(loaders.valid)
    assert pixels(loaders.arch.images) == pixels(loaders.valid)


def test_a_single_level_method_learns_both_from_nine_tenths():
    loaders = divided("gaea-darts-erm")
    assert pixels(loaders.train.images) == pixels(loaders.arch.images)
    assert not pixels(loaders.train.images) & pixels(loaders.valid)
    assert len(loaders.train.images) == 96 - len(loaders.valid)
    assert 8 <= len(loaders.valid) <= 12
    assert not torch.equal(loaders.train.batch(0).y, loaders.arch.batch(0).y)  # in an order of their own


@pytest.mark.parametrize(
    ("method", "options"), [("gaea-darts-erm", {"joint": True}), ("asm", None), ("random-ws", None)]
)
def test_nobody_judges_where_nothing_is_judged(method, options):
    assert divided(method, options).arch is None


def test_the_share_can_be_given():
    assert len(divided(data={"valid": 0.25}).arch.images) == pytest.approx(24, abs=3)
    loaders = divided("asm", data={"valid": 0.0})
    assert len(loaders.train.images) == len(loaders.valid) == 96


def own_valid() -> Dataset:
    """Digits that come with images to choose with."""
    every = digits()
    first, last = (every.train.take(torch.arange(96).split(64)[part]) for part in (0, 1))
    return Dataset("own", every.classes, first, valid=last)


@pytest.mark.parametrize("method", ["darts", "gaea-darts-erm"])
def test_the_own_validation_images_are_held_out(method):
    images = own_valid()
    loaders = divided(method, images=images)
    assert pixels(loaders.train.images) == pixels(images.train)
    assert pixels(loaders.valid) == pixels(images.valid)
    judges = images.valid if method == "darts" else images.train
    assert pixels(loaders.arch.images) == pixels(judges)


def test_a_share_goes_before_the_own_validation_images():
    loaders = divided(images=own_valid(), data={"valid": 0.5})
    assert len(loaders.train.images) == len(loaders.valid) == 32
    assert not pixels(loaders.valid) & pixels(own_valid().valid)


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
    loaders = divided(method, device="meta", data={"valid": share})
    train, valid = loaders.train.images.images, loaders.valid.images
    assert train.is_meta
    assert (valid is train) == (not share)
    if loaders.arch is not None:
        assert loaders.arch.images.images is (valid if method == "darts" else train)


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
    expected = BatchLoader(data.train, mean=data.mean, std=data.std, augment=augment, **given)
    assert torch.equal(make_train_loader(data.train, data, chosen, **given).batch(5).x, expected.batch(5).x)


def test_a_stream_has_the_workers_that_the_options_say(monkeypatch):
    given = {"batch": 8, "seed": 3, "name": "mine", "device": CPU}
    seen = []
    monkeypatch.setattr("dartboard.search.build.BatchLoader", lambda *_, **own: seen.append(own))
    make_train_loader(digits().train, digits(), DataOptions(workers=5, area=0.3), **given)
    assert (seen[0]["workers"], seen[0]["augment"]) == (5, Augment(area=0.3))


@pytest.mark.parametrize("area", [0.0, 0.3])
def test_who_trains_on_parts_is_shown_the_middle(area):
    data = digits()
    given = {"batch": 96, "device": CPU}
    (found,) = make_evaluation_batches(data.train, data, DataOptions(area=area), **given)
    crop_pct = CENTER_CROP if area else 1.0
    scales = {"mean": data.mean, "std": data.std}
    (expected,) = evaluation_batches(data.train, **given, **scales, crop_pct=crop_pct)
    assert torch.equal(found.x, expected.x)
    (few,) = make_evaluation_batches(data.train, data, DataOptions(), **given, limit=5)
    assert few.size == 5


def test_a_cutout_that_leaves_nothing_is_refused():
    data = digits()
    options = DataOptions(cutout=8)
    with pytest.raises(DataError, match="a cutout of 8 leaves little of images of 8x8; set"):
        make_train_loader(data.train, data, options, batch=4, seed=0, name="train", device=CPU)
