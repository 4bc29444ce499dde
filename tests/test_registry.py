import re
from collections.abc import Callable
from importlib.metadata import version

import pytest

from dartboard.errors import DartboardError, DuplicateNameError, UnknownNameError
from dartboard.registry import Registry
from dartboard.space import SPACES


def fruits() -> Registry[int]:
    registry: Registry[int] = Registry("fruit")
    registry.register("pear")(1)
    registry.register("apple")(2)
    return registry


def test_values_are_found_by_name_in_order_of_registration() -> None:
    registry = fruits()
    assert dict(registry) == {"pear": 1, "apple": 2}
    assert list(registry) == ["pear", "apple"]
    assert len(registry) == 2
    assert "plum" not in registry


def test_a_decorated_class_stays_itself() -> None:
    registry: Registry[type] = Registry("kind")

    @registry.register("mine")
    class Mine:
        pass

    assert registry["mine"] is Mine


def test_a_name_is_not_registered_from_two_places() -> None:
    registry = fruits()
    line = rf"{re.escape(__file__)}:\d+"
    said = rf"fruit 'pear' is registered already by {line}, and again by {line}; choose another name"
    with pytest.raises(DuplicateNameError, match=said):
        registry.register("pear")(3)
    assert registry["pear"] == 1


SOURCE = """
@KINDS.register("mine")
def build():
    return {value}
"""


def run(source: str, kinds: Registry[Callable[[], int]], file: str | None, module: str = "__main__") -> None:
    """Executes source as a notebook cell, or as a file's."""
    names = {"KINDS": kinds, "__name__": module} | ({} if file is None else {"__file__": file})
    exec(source, names)  # noqa: S102


@pytest.mark.parametrize(
    ("file", "modules", "place"),
    [(None, ["__main__"] * 2, r"__main__ \(interactive\), line 2"), ("/a/b.py", ["b_0", "b_1"], "/a/b.py:2")],
)
def test_a_cell_or_file_run_again_replaces_its_values(
    file: str | None, modules: list[str], place: str
) -> None:
    kinds: Registry[Callable[[], int]] = Registry("kind")
    run(SOURCE.format(value=1), kinds, file, modules[0])
    kinds.register("later")(lambda: 0)
    with pytest.warns(
        UserWarning, match=f"kind 'mine' is defined again by {place} and replaces the earlier one"
    ):
        run(SOURCE.format(value=2), kinds, file, modules[1])
    assert kinds["mine"]() == 2
    assert list(kinds) == ["mine", "later"]


def test_an_edited_cell_may_rename_its_function() -> None:
    kinds: Registry[Callable[[], int]] = Registry("kind")
    run(SOURCE.format(value=1), kinds, None)
    with pytest.warns(UserWarning, match="replaces"):
        run(SOURCE.format(value=2).replace("build", "make"), kinds, None)
    assert kinds["mine"]() == 2


@pytest.mark.parametrize(
    ("source", "file"), [(SOURCE, "/a/c.py"), (SOURCE, None), (SOURCE.replace("build", "make"), "/a/b.py")]
)
def test_another_file_or_definition_is_another_place(source: str, file: str | None) -> None:
    kinds: Registry[Callable[[], int]] = Registry("kind")
    run(SOURCE.format(value=1), kinds, "/a/b.py")
    with pytest.raises(
        DuplicateNameError, match=r"kind 'mine' is registered already by /a/b\.py:2, and again by"
    ):
        run(source.format(value=2), kinds, file)
    assert kinds["mine"]() == 1


def test_the_origin_names_the_package_and_its_version() -> None:
    origin = SPACES.origin("darts")
    assert (origin.package, origin.version, origin.builtin) == ("dartboard", version("dartboard"), True)
    assert str(origin).startswith(f"dartboard {origin.version} (")
    assert origin.qualname == "darts"
    mine = fruits().origin("pear")
    assert (mine.package, mine.version, mine.builtin, mine.file) == (None, None, False, __file__)
    assert mine.qualname == "fruits"


def test_the_origin_of_packages_called_unlike_their_module() -> None:
    kinds: Registry[Callable[[], int]] = Registry("kind")
    run(SOURCE, kinds, "/a/b.py", "yaml.somewhere")
    assert (kinds.origin("mine").package, kinds.origin("mine").version) == ("PyYAML", version("pyyaml"))
    assert not kinds.origin("mine").builtin


def test_a_function_that_registers_for_others_names_its_caller() -> None:
    registry: Registry[int] = Registry("fruit")

    def register(name: str, value: int) -> None:
        registry.register(name, stacklevel=2)(value)

    register("plum", 3)
    assert registry.origin("plum").qualname == "test_a_function_that_registers_for_others_names_its_caller"


def test_the_origin_of_an_unknown_name_is_a_hint() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'apple'"):
        fruits().origin("appel")


def test_a_missing_name_gets_a_hint() -> None:
    with pytest.raises(UnknownNameError) as caught:
        fruits()["appel"]
    assert str(caught.value) == "no fruit called 'appel'; did you mean 'apple'?"
    assert fruits().get("appel") is None


def test_a_name_like_no_other_gets_the_list() -> None:
    with pytest.raises(DartboardError) as caught:
        fruits()["xyz"]
    assert str(caught.value) == "no fruit called 'xyz'; there are apple, pear"
