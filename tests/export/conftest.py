import os
import site
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest
import torch

from dartboard.nn import CellNet, Model, NetConfig
from dartboard.space import adopt, get_space
from dartboard.space.genotype import sample
from helpers.networks import shrink

TESTS = Path(__file__).parents[1]
ALONE = """
import importlib.util, sys
sys.path += [{site!r}, {tests!r}, {folder!r}]
assert importlib.util.find_spec("dartboard") is None
import torch
def check(forward):
    for x, y in torch.load({pairs!r}, weights_only=True):
        with torch.no_grad():
            found = torch.as_tensor(forward(x))
        assert found.shape == y.shape, (found.shape, y.shape)
        assert float((found - y).abs().max()) < 1e-5 * max(1.0, float(y.abs().max()))
"""


def trained(net):
    """The network in evaluation mode after steps in training mode have moved its statistics."""
    generator = torch.Generator().manual_seed(1)
    for norm in (module for module in net.modules() if isinstance(module, torch.nn.BatchNorm2d)):
        if norm.affine:
            torch.nn.init.uniform_(norm.weight, 0.5, 1.5, generator=generator)
            torch.nn.init.uniform_(norm.bias, -0.5, 0.5, generator=generator)
    with torch.no_grad():
        for _ in range(3):
            net.train()(2 * torch.randn(4, *net.config.input, generator=generator) + 0.5)
    return net.eval()


@pytest.fixture
def make_model():
    """Makes a small model of a random architecture of a space, or of a space that is discrete already."""

    def make(space="darts", *, seed=0, **options):
        if isinstance(space, str):
            space = shrink(get_space(space))
        torch.manual_seed(seed)
        space = space if space.discrete else adopt(space, sample(space, Random(seed)))
        config = NetConfig(**({"channels": 4, "classes": 3, "input": (3, 8, 8)} | options))
        net = trained(CellNet(space, config))
        channels = config.input[0]
        mean, std = tuple(100.0 + i for i in range(channels)), tuple(50.0 + i for i in range(channels))
        names = ("cat", "dog", "l'oiseau", *map(str, range(config.classes - 3)))[: config.classes]
        return Model(net, names, mean, std, {"data": "digits"})

    return make


@pytest.fixture
def alone(tmp_path):
    """Runs a program in a process that has no dartboard, with `check` to compare a network to a model's."""

    def run(model, folder, program):
        pairs, script, elsewhere = tmp_path / "pairs.pt", tmp_path / "script.py", tmp_path / "elsewhere"
        with torch.no_grad():
            images = [torch.randn(n, *model.net.config.input) for n in (1, 3, 7)]
            torch.save([(x, model.net(x)) for x in images], pairs)
        start = ALONE.format(
            site=site.getsitepackages()[0], tests=str(TESTS), folder=str(folder), pairs=str(pairs)
        )
        script.write_text(start + program)
        elsewhere.mkdir()
        words = [sys.executable, "-I", "-S", str(script)]
        done = subprocess.run(
            words,
            cwd=elsewhere,
            env=os.environ | {"OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run
