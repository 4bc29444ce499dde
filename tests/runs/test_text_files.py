import json
import math
from types import MappingProxyType

import numpy as np
import pytest
import torch
import yaml
from hypothesis import given
from hypothesis import strategies as st

from dartboard.errors import RunError
from dartboard.runs.text_files import (
    parse,
    plain,
    read_object,
    read_objects,
    read_yaml,
    to_json,
    to_yaml,
)

LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5)
FINITE = LEAVES.filter(lambda value: not isinstance(value, float) or math.isfinite(value))


def nested(leaves):
    return st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
        max_leaves=8,
    )


@given(nested(FINITE))
def test_json_keeps_every_bit(value):
    assert plain(value, "it") == value
    for indent in (None, 1):
        assert repr(json.loads(to_json(value, indent=indent))) == repr(value)
    assert to_json(value).count("\n") == 1


@given(st.dictionaries(st.text(max_size=5), nested(LEAVES), max_size=4))
def test_yaml_keeps_everything_in_order(config):
    assert repr(yaml.safe_load(to_yaml(config))) == repr(config)


def test_yaml_is_for_people():
    shared = (1, 2)
    text = to_yaml({"rate": 1e-5, "b": shared, "a": shared, "name": "x"})
    assert text == "rate: 1.0e-05\nb:\n- 1\n- 2\na:\n- 1\n- 2\nname: x\n"


def test_other_mappings_and_tuples_become_plain():
    value = plain(MappingProxyType({"a": (1, MappingProxyType({}))}), "it")
    assert value == {"a": [1, {}]}
    assert type(value["a"][1]) is dict


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"a": [1.0, math.nan]}, r"it\.a\[1\] is nan; only finite numbers are recorded"),
        ({"a": math.inf}, r"it\.a is inf"),
        (np.float64("-inf"), "it is -inf"),
        ({"a": torch.zeros(1)}, r"it\.a is a Tensor; record numbers \(`\.item\(\)`\)"),
        ({"a": np.int64(1)}, "is a int64"),
        ({"a": {1: 2}}, r"it\.a has the key 1; keys that are recorded are texts"),
    ],
)
def test_what_json_cannot_say_is_named(value, message):
    with pytest.raises(RunError, match=message):
        plain(value, "it")


@pytest.mark.parametrize("value", [{"a": object()}, {"a": torch.zeros(1)}, {"a": MappingProxyType({})}])
def test_what_yaml_cannot_say_is_refused(value):
    with pytest.raises(RunError, match=r"the configuration cannot be written as YAML: .*; use plain values"):
        to_yaml(value)


@pytest.mark.parametrize("text", ["", "{", b"\xff"])
def test_broken_json_is_named(tmp_path, text):
    with pytest.raises(RunError, match="the place is not JSON"):
        parse(text, "the place")
    path = tmp_path / "a.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    for read in (read_object, read_objects):
        with pytest.raises(RunError, match=r"a\.json is not JSON .*; it was changed after it was written"):
            read(path)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"a: [", "is not YAML"),
        (b"\xff\xff", "is not YAML"),
        (b"", "holds no configuration: expected keys and values, got None"),
        (b"- 1", r"got \[1\]"),
        (b"a: 2020-13-45", "is not YAML: line 1, column 4: month must be"),
        (b"a: !!python/object/apply:os.getcwd []", "is not YAML"),
    ],
)
def test_broken_yaml_is_named(tmp_path, data, message):
    (tmp_path / "config.yaml").write_bytes(data)
    with pytest.raises(RunError, match=rf"config\.yaml .*{message}"):
        read_yaml(tmp_path / "config.yaml")


@pytest.mark.parametrize(
    ("read", "text", "words"),
    [
        (read_object, "[1]", r" should hold names and values, not \[1\]"),
        (read_object, '"' + 99 * "x" + '"', r' should hold names and values, not "x{59}\.\.\.'),
        (read_objects, '{"a": 1}', ' should hold a list of entries, not {"a": 1}'),
        (read_objects, "[]", r" should hold a list of entries, not \[\]"),
        (read_objects, "[{}, 3]", ", entry 2 should hold names and values, not 3"),
    ],
)
def test_json_of_another_kind_is_named(tmp_path, read, text, words):
    path = tmp_path / "a.json"
    path.write_text(text)
    with pytest.raises(RunError, match=rf"a\.json{words}; it was changed after it was written"):
        read(path)


def test_json_of_the_right_kind_is_read(tmp_path):
    path = tmp_path / "a.json"
    path.write_text('[{"a": 1}]')
    assert read_objects(path) == [{"a": 1}]
    path.write_text('{"a": 1}')
    assert read_object(path) == {"a": 1}
