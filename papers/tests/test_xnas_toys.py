import math

import pytest
import torch
from scipy.optimize import brentq

from dartboard.arch.optim import ExponentiatedGradient
from dartboard_papers import RunOptions, Verdict
from dartboard_papers import xnas_figure_3 as three
from dartboard_papers import xnas_figure_4 as four
from dartboard_papers import xnas_figure_5 as five
from dartboard_papers import xnas_figure_6 as six
from dartboard_papers import xnas_figure_7 as seven
from dartboard_papers._xnas_toys import GD, RULES, XNAS, Steps, follow, quadratic, update_term

DOUBLE = {"dtype": torch.float64}


def gap(path, step: int = -1) -> float:
    """Difference of the logarithms of x and y."""
    x, y = path.points[step, :2].tolist()
    return math.log(x / y)


def rows(result) -> dict[str, object]:
    return {row.what: row.here for row in result.rows}


def test_terms_are_derivatives_in_the_weights_and_in_the_logits():
    """Equations 35 and 37 by automatic differentiation, on a loss that curves."""
    logits = torch.tensor([0.3, -1.0, 0.8], **DOUBLE).requires_grad_()
    weights = logits.softmax(-1)
    loss = (weights - torch.tensor([0.1, 0.9, 0.3])).pow(3).sum()
    slope, term = torch.autograd.grad(loss, [weights, logits])
    torch.testing.assert_close(update_term(XNAS, weights.detach(), slope), slope)
    torch.testing.assert_close(update_term(GD, weights.detach(), slope), term)


def test_the_term_of_the_z_axis_is_that_of_section_8_1():
    (x, y, z), slope = (0.2, 0.3, 0.5), torch.tensor([0.7, -1.0, 2.0], **DOUBLE)
    by_hand = z * ((x + y) * 2.0 - x * 0.7 - y * -1.0)
    assert update_term(GD, torch.tensor([x, y, z], **DOUBLE), slope)[2].item() == pytest.approx(by_hand)


def test_the_path_of_xnas_is_that_of_the_exponentiated_gradient():
    path = follow(XNAS, quadratic, torch.tensor([0.0, 1.0]), steps=20, lr=0.3)
    theta = torch.nn.Parameter(torch.tensor([0.0, 1.0], **DOUBLE).softmax(-1))
    optimizer = ExponentiatedGradient([theta], 0.3)
    for _ in range(20):
        theta.grad = quadratic(0, theta.detach())
        optimizer.step()
    torch.testing.assert_close(path.points[-1], theta.detach())


def test_xnas_in_figure_3_is_a_softmax_of_sums():
    """Linear losses have a closed form: log weights are -lr times the sum of the slopes."""
    path = three.walk(XNAS, three.Turn())
    for step in (0, 17, 30, 75, 120):
        late = max(step - 30, 0)
        sums = torch.tensor([0.0, late, 2 * late - 2 * min(step, 30)], **DOUBLE)
        torch.testing.assert_close(path.points[step], (0.1 * sums).softmax(-1))


def test_when_axes_lead_in_figure_3_by_hand(tmp_path):
    """The logarithm of z / y is 2 (t - 30) - 60 - (t - 30): zero at t = 90, whatever the step size."""
    result = three.reproduce(RunOptions(tmp_path), three.Turn())
    assert result.verdict is Verdict.HELD
    found = rows(result)
    assert found["XNAS, z leads from step"] == found["XNAS with lr 1, z leads from step"] == 91
    assert found["XNAS, y leads from step"] == 31
    assert found["XNAS, z at the end"] == pytest.approx(math.exp(12) / (math.exp(12) + math.exp(9) + 1))
    assert found["GD, term of z at the first step"] == pytest.approx(4 / 9)
    assert found["GD with softmax, z leads from step"] > 90


def test_wipeout_in_figure_3_by_hand():
    """Out are: x where 2 (t - 30) - 60 > 4 (120 - t), after 100; y where t - 90 > 4 (120 - t), after 114."""
    path = three.walk(XNAS, three.Turn(lr=0.11))
    gone = three.wiped(path, 0.11)
    assert list(gone) == ["x", "y"]
    assert gone["x"] in (100, 101)
    assert gone["y"] in (114, 115)


def test_without_a_turn_nothing_is_to_recover_from(tmp_path):
    result = three.reproduce(RunOptions(tmp_path), three.Turn(before=90, after=3, others=()))
    assert [part.held for part in result.parts.values()] == [True, True, False]
    assert rows(result)["XNAS, z leads from step"] == "never"


def test_figure_4_follows_closed_forms(tmp_path):
    """XNAS: d = lr t. GD: the flow d' = 2 lr x y has d + sinh d = lr t, which small steps come near."""
    scale = Steps(lr=0.01, steps=500)
    paths = four.walk(scale)
    assert gap(paths[XNAS]) == pytest.approx(5)
    assert gap(paths[GD]) == pytest.approx(brentq(lambda d: d + math.sinh(d) - 5, 0, 5), rel=0.01)
    result = four.reproduce(RunOptions(tmp_path), Steps())
    assert result.verdict is Verdict.HELD
    assert rows(result)["size of GD's first term"] == pytest.approx(math.sqrt(2) / 4)
    assert rows(result)["XNAS, distance at the end"] == pytest.approx(math.sqrt(2) / (1 + math.exp(5)))


def test_figure_5_ends_half_way_with_the_stated_loss(tmp_path):
    """XNAS: d = -5 + lr t with -x and -5 + 2 lr t with y - x; GD: d + sinh d grows by lr t."""
    paths = five.walk(five.Imbalanced())
    assert gap(paths["-x"][XNAS]) == pytest.approx(0, abs=1e-9)
    assert gap(paths["y - x"][XNAS]) == pytest.approx(5)
    start = -5 - math.sinh(5)
    flow = brentq(lambda d: d + math.sinh(d) - start - 5, -6, 0)
    assert gap(paths["-x"][GD]) == pytest.approx(flow, rel=1e-3)
    result = five.reproduce(RunOptions(tmp_path), five.Imbalanced())
    assert [part.held for part in result.parts.values()] == [True, False]
    assert five.reproduce(RunOptions(tmp_path), five.Imbalanced(steps=100)).verdict is Verdict.HELD
    assert five.reproduce(RunOptions(tmp_path), five.Imbalanced(behind=0.5)).verdict is Verdict.PARTLY
    assert five.reproduce(RunOptions(tmp_path), five.Imbalanced(near=0.8)).verdict is Verdict.HELD


def test_figure_6_is_the_derivative_of_the_softmax(tmp_path):
    logits = torch.linspace(-4, 4, 9, **DOUBLE).requires_grad_()
    (slope,) = torch.autograd.grad(logits.sigmoid().sum(), logits)
    torch.testing.assert_close(six.factor(logits.detach()), slope)
    result = six.reproduce(RunOptions(tmp_path), six.Line(reach=4, points=9))
    assert result.verdict is Verdict.HELD
    assert rows(result)["factor at a logit of 4"] == pytest.approx(1 / (2 + 2 * math.cosh(4)))
    assert len(result.numbers["x"]) == 9


def test_figure_7_follows_closed_forms(tmp_path):
    """Flows on the simplex: d' = 2 lr y has d + e^d = 1 + 2 lr t; d' = 4 lr x y^2 has an integral as well."""
    paths = seven.walk(Steps(lr=0.01, steps=500))
    assert gap(paths[XNAS]) == pytest.approx(brentq(lambda d: d + math.exp(d) - 11, 0, 5), rel=0.01)

    def integral(d: float) -> float:
        return -math.exp(-d) + 3 * d + 3 * math.exp(d) + math.exp(2 * d) / 2

    flow = brentq(lambda d: integral(d) - integral(0) - 20, 0, 5)
    assert gap(paths[GD]) == pytest.approx(flow, rel=0.01)
    result = seven.reproduce(RunOptions(tmp_path), Steps())
    assert result.verdict is Verdict.HELD
    assert set(result.numbers) == set(RULES)
