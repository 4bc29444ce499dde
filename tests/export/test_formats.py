import json

import pytest

from dartboard.errors import ModelError
from dartboard.export import Metadata, model_metadata

METADATA = Metadata(("cat", "dog"), (1, 8, 9), (51.0,), (25.5,), 0.875)


def test_units_are_those_of_pixels_from_0_to_1():
    assert METADATA.unit_mean == (0.2,)
    assert METADATA.unit_std == (0.1,)


def test_both_texts_read_back():
    assert Metadata.from_json(METADATA.to_json()) == METADATA
    assert Metadata.from_dict(json.loads(json.dumps(METADATA.to_dict()))) == METADATA


def test_it_is_what_the_model_says(make_model):
    model = make_model("nano")
    found = model_metadata(model)
    assert (found.classes, found.mean, found.std) == (model.classes, model.mean, model.std)
    assert found.input == model.net.config.input


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"classes": 3}', b"\xff"])
def test_what_makes_no_sense_is_refused(text):
    with pytest.raises(ModelError, match="does not say its classes"):
        Metadata.from_json(text)
