import pytest
import torch

from dartboard.errors import OptionError
from dartboard_papers import REPRODUCTIONS, RunOptions, Verdict
from dartboard_papers.asm_nas_section_4_4 import (
    EDGE,
    FALLS,
    FLOOR,
    KEPT,
    KEPT_ON_EDGE,
    KNOWN,
    VANISHES,
    Case,
    Constants,
    Descent,
    Descents,
    Edge,
    check,
    descend_edge,
    descend_waves,
    join,
    known_constants,
    reproduce,
    study,
    wave_slopes,
    waves,
)
from dartboard_papers.runner import choose_scale

TINY = Descents(
    rates=(0.5, 0.1), steps=200, runs=10, size=4, edge_rates=(0.2,), edge_steps=20, every=2, batch=8,
    examples=50, seeds=1,
)  # fmt: skip


def test_slopes_of_the_known_problem_are_its_gradient():
    at = torch.linspace(-7, 7, 12, dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(waves(at), at)
    torch.testing.assert_close(slope, wave_slopes(at))


def test_the_known_problem_is_as_curved_as_is_said_and_never_below_zero():
    at = torch.linspace(-10, 10, 4001, dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(waves(at), at, create_graph=True)
    (curvature,) = torch.autograd.grad(slope.sum(), at)
    assert curvature.abs().max().item() == pytest.approx(known_constants(1.0).smoothness, abs=1e-4)
    assert waves(at[:, None]).min().item() == pytest.approx(0.0, abs=1e-12)


def test_it_has_minima_that_are_not_the_best():
    path = descend_waves(0.9, 0.0, steps=2000, runs=20, size=3)
    assert path.squares[-1].max() < 1e-20
    assert path.losses[-1].max() > 1


def test_noise_has_the_variance_that_is_asked_for():
    """One step of size 1 from the same start, with and without noise."""
    shape = {"steps": 2, "runs": 4000, "size": 5}
    calm, noisy = (descend_waves(1e-3, noise, **shape) for noise in (0.0, 3.0))
    assert torch.equal(calm.losses[0], noisy.losses[0])
    # far from minima the loss moves by lr * slope . noise, of variance lr^2 |slope|^2 noise / size
    moved = (noisy.losses[1] - calm.losses[1]) / (1e-3 * calm.squares[0].sqrt())
    assert moved.var().item() == pytest.approx(3.0 / 5, rel=0.1)


def test_both_sides_of_the_inequality_by_hand():
    squares = torch.tensor([[4.0, 2.0], [1.0, 1.0]], dtype=torch.float64)
    case = Case(0.5, Descent([1, 2], squares, torch.ones(2, 2)), Constants(2.0, 3.0))
    assert case.path.averages().tolist() == [3.0, 2.0]
    # 0.5 * 2 * 3 + 2 * 1 / (K * 0.5)
    assert case.bound().tolist() == [7.0, 5.0]
    assert case.allowed
    assert case.satisfied() == 100.0
    assert not Case(0.51, case.path, case.constants).allowed


def test_a_broken_inequality_is_seen():
    squares = torch.full((4, 1), 100.0, dtype=torch.float64)
    case = Case(0.5, Descent([1, 2, 3, 4], squares, torch.ones(4, 1)), Constants(1.0, 0.0))
    assert case.satisfied() == 0.0
    assert not case.falls()
    seen = check({KNOWN: [case], EDGE: [case]}, case.path)
    assert not any(part.held for part in seen.values())
    assert set(seen) == {KEPT, KEPT_ON_EDGE, VANISHES, FALLS}


def test_the_mean_must_fall_with_every_seed():
    squares = torch.tensor([[4.0, 4.0], [1.0, 5.0]], dtype=torch.float64)
    both = Case(0.5, Descent([1, 2], squares, torch.ones(2, 2)), Constants(1.0, 0.0))
    assert not both.falls()
    assert Case(0.5, Descent([1, 2], squares[:, :1], torch.ones(2, 1)), Constants(1.0, 0.0)).falls()


def test_sharpness_is_the_largest_eigenvalue():
    edge = Edge(20, seed=0)
    flat = torch.cat(
        [own.flatten() for own in torch.autograd.grad(edge.loss(), edge.weights, create_graph=True)]
    )
    start = torch.randn(len(flat), dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    vector = start / start.norm()
    for _ in range(200):
        found = torch.autograd.grad(flat @ vector, edge.weights, retain_graph=True)
        product = torch.cat([own.flatten() for own in found])
        vector = product / product.norm()
    assert edge.sharpness(rounds=100) == pytest.approx(product.norm().item(), rel=0.02)


def test_batches_of_the_edge_are_right_in_the_mean():
    edge = Edge(6, seed=0)
    each = torch.stack([edge.slope(torch.tensor([place])) for place in range(6)])
    torch.testing.assert_close(each.mean(0), edge.slope())
    spread = (each - edge.slope()).square().sum(1).mean().item()
    found = edge.noise(3, torch.Generator().manual_seed(0), draws=600)
    assert found == pytest.approx(spread / 3, rel=0.15)


def test_the_edge_learns():
    path, constants = descend_edge(0.2, steps=60, every=10, batch=16, examples=60, seed=0)
    assert path.losses[-1] < path.losses[0]
    assert path.steps == [1, 11, 21, 31, 41, 51]
    assert constants.smoothness > 0 < constants.noise


def test_seeds_are_joined_with_the_largest_constants():
    parts = [
        (Descent([1], torch.tensor([[value]]), torch.tensor([[value]])), Constants(value, 4 - value))
        for value in (1.0, 3.0)
    ]
    path, constants = join(parts)
    assert path.squares.tolist() == [[1.0, 3.0]]
    assert constants == Constants(3.0, 3.0)


def test_the_statement_is_found_kept(tmp_path):
    result = reproduce(RunOptions(tmp_path), TINY.model_copy(update={"edge_steps": 60}))
    assert result.verdict is Verdict.HELD
    here = {row.what: (row.paper, row.here) for row in result.rows}
    for what, (paper, found) in here.items():
        if "at most" in what:
            assert found <= paper
    left = here["known problem without noise: loss left, % of the start"][1]
    assert left > 5
    assert result.sentence.endswith(f"points that are not optimal, with {left:.0f} % of the loss left.")
    assert result.seeds == 1
    assert set(result.parts) == set(REPRODUCTIONS["asm-nas-section-4-4"].rules)
    assert (result.parts[FLOOR].chance, result.parts[FALLS].chance) == (1 / 2, 1 / 2)
    for case in (*result.numbers[KNOWN], *result.numbers[EDGE]):
        mean = sum(case["means of each descent"]) / len(case["means of each descent"])
        assert case["averages"][-1] == pytest.approx(mean)
    assert any("Changed after a first, smaller result" in remark for remark in result.remarks)


def test_step_sizes_that_are_not_allowed_test_nothing(tmp_path):
    wild = TINY.model_copy(update={"rates": (0.95,), "edge_rates": (1e6,)})
    result = reproduce(RunOptions(tmp_path), wild)
    assert result.verdict is Verdict.NOT_TESTABLE


def test_one_step_size_has_no_order():
    path = descend_waves(0.5, 1.0, steps=20, runs=2, size=2)
    seen = check({KNOWN: [Case(0.5, path, known_constants(1.0))], EDGE: []}, path)
    assert set(seen) == {KEPT, VANISHES}
    assert seen[KEPT].held


def test_a_descent_that_ends_at_the_optimum_is_called_so(tmp_path, monkeypatch):
    monkeypatch.setattr("dartboard_papers.asm_nas_section_4_4.FARTHEST", 1.0)  # no other minimum in sight
    result = reproduce(RunOptions(tmp_path), TINY)
    assert result.sentence.endswith("; without noise the descent ends at optimal points.")


@pytest.mark.parametrize(
    "words", ["rates=[]", "rates=[-1.0]", "rates=[0]", "edge_rates=[]", "edge_rates=[-1]"]
)
def test_step_sizes_that_are_none_are_refused(words):
    with pytest.raises(OptionError, match=words.split("=")[0]):
        choose_scale(REPRODUCTIONS["asm-nas-section-4-4"], [words])


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("rates", (0.5, 0.2)),
        ("steps", 201),
        ("runs", 11),
        ("size", 5),
        ("noise", 2.0),
        ("edge_rates", (0.1,)),
        ("edge_steps", 21),
        ("every", 3),
        ("batch", 9),
        ("examples", 51),
        ("seeds", 2),
    ],
)
def test_every_number_matters(tmp_path, key, value):
    def values(scale):
        cases = study(RunOptions(tmp_path), scale)
        return [
            (case.lr, case.path.averages().tolist(), case.bound().tolist())
            for own in cases.values()
            for case in own
        ]

    assert values(TINY) != values(TINY.model_copy(update={key: value}))
