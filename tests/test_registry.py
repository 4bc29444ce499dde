import pytest

from dartboard.errors import DartboardError, UnknownNameError
from dartboard.registry import Registry


def fruits() -> Registry[int]:
    registry: Registry[int] = Registry("fruit")
    registry.register("pear")(1)
    registry.register("apple")(2)
    return registry


def test_things_are_found_by_name_in_order_of_registration() -> None:
    registry = fruits()
    assert dict(registry) == {"pear": 1, "apple": 2}
    assert list(registry) == ["pear", "apple"]
    assert len(registry) == 2
    assert "plum" not in registry


def test_a_decorated_thing_stays_itself() -> None:
    registry: Registry[type] = Registry("kind")

    @registry.register("mine")
    class Mine:
        pass

    assert registry["mine"] is Mine


def test_a_name_is_taken_once() -> None:
    registry = fruits()
    with pytest.raises(ValueError, match="fruit 'pear' is registered already"):
        registry.register("pear")(3)
    assert registry["pear"] == 1


def test_a_missing_name_gets_a_hint() -> None:
    with pytest.raises(UnknownNameError) as caught:
        fruits()["appel"]
    assert str(caught.value) == "no fruit called 'appel'; did you mean 'apple'?"
    assert fruits().get("appel") is None


def test_a_name_like_no_other_gets_the_list() -> None:
    with pytest.raises(DartboardError) as caught:
        fruits()["xyz"]
    assert str(caught.value) == "no fruit called 'xyz'; there are apple, pear"
