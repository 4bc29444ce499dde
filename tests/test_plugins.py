import pytest

from dartboard.errors import DuplicateNameError, OptionError
from dartboard.plugins import check_plugins, load_plugin
from dartboard.search import METHODS

METHOD = '''
from dartboard.relax import RELAXATIONS
from dartboard.search import METHODS, DrawOne, Method


@METHODS.register("{name}")
def mine() -> Method:
    """Any architecture."""
    return Method(RELAXATIONS["random"], select=DrawOne(), trains=False)
'''


def write(folder, name):
    path = folder / "mine.py"
    path.write_text(METHOD.format(name=name))
    return path


def test_what_a_plugin_registers_can_be_named(tmp_path):
    path = write(tmp_path, "plugin-method")
    assert load_plugin(path) == str(path)
    assert "plugin-method" in METHODS


def test_a_plugin_runs_once_however_it_is_written(tmp_path, monkeypatch):
    path = write(tmp_path, "plugin-method-once")
    load_plugin(path)
    monkeypatch.chdir(tmp_path)
    assert load_plugin("./mine.py") == str(path)  # twice would be refused by the registry


def test_only_loaded_plugins_will_do(tmp_path):
    path = str(write(tmp_path, "plugin-method-checked"))
    with pytest.raises(OptionError, match=f"if you trust it, add --plugin {path}$"):
        check_plugins([path])
    load_plugin(path)
    check_plugins([path])


def test_a_plugin_that_fails_says_how(tmp_path):
    path = tmp_path / "broken.py"
    path.write_text("import nowhere_to_be_found\n")
    with pytest.raises(OptionError, match=r"broken\.py fails: ModuleNotFoundError: No module named"):
        load_plugin(path)


def test_a_name_that_is_taken_is_an_error_too(tmp_path):
    path = write(tmp_path, "darts")
    with pytest.raises(
        DuplicateNameError, match=rf"'darts' is registered already by dartboard .*by {path}:6;"
    ):
        load_plugin(path)


@pytest.mark.parametrize("name", ["absent.py", "text.txt", "."])
def test_other_things_are_no_plugins(tmp_path, name):
    (tmp_path / "text.txt").write_text("")
    with pytest.raises(OptionError, match="a plugin is a Python file"):
        load_plugin(tmp_path / name)
