import pytest

from dartboard.plugins import load_plugin
from sweep.chaos import SLOWLY


@pytest.fixture
def plugins() -> tuple[str, ...]:
    """The plugin with methods that are slow or fail, loaded."""
    return (load_plugin(SLOWLY),)
