import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dartboard_papers.theory.linear_cells import (
    LinearProblem,
    claimed_smoothness,
    gradients,
    narrowest,
    norms,
    products,
    smoothness,
    smoothness_bound,
    variance_bound,
    variances,
    widest,
)
from dartboard_papers.theory.linear_problems import (
    compare,
    counterexample,
    random_problem,
    squared_error,
    survey,
)

ABOVE = 1 + 1e-9


def nothing_but_z(z, target):
    """Linear in the output: the one kind of loss whose slopes are the same in both cells."""
    return (z.flatten() * target).sum()


PROBLEMS = st.builds(
    random_problem,
    nodes=st.integers(1, 3),
    size=st.integers(1, 3),
    examples=st.integers(1, 5),
    length=st.floats(0.2, 3),
    loss=st.sampled_from(["squared", "logistic"]),
    seed=st.integers(0, 10**6),
)


def scaled_identity(factors, *, size=2, loss=squared_error) -> LinearProblem:
    weights = torch.stack([factor * torch.eye(size, dtype=torch.float64) for factor in factors])
    inputs = torch.eye(size, dtype=torch.float64)
    return LinearProblem(weights, inputs, inputs.new_zeros(size, (len(factors) + 1) * size), loss)


@given(PROBLEMS)
@settings(max_examples=15, deadline=None)
def test_products_give_the_widest_cell_the_output_of_the_narrowest(problem):
    for x in problem.inputs:
        torch.testing.assert_close(widest(products(problem.weights), x), narrowest(problem.weights, x))


@given(PROBLEMS)
@settings(max_examples=10, deadline=None)
def test_the_gradient_of_the_narrowest_is_equation_4_at_the_products(problem):
    own, wide = gradients("narrowest", problem), gradients("widest", problem.with_products())
    count, size = problem.weights.shape[:2]
    eye = torch.eye(size, dtype=torch.float64)
    for i in range(count):
        expected = torch.zeros_like(own[:, i])
        before = products(problem.weights)[i - 1] if i else eye
        behind = eye
        for k in range(i, count):
            behind = problem.weights[k] @ behind if k > i else eye
            expected += behind.T @ wide[:, k] @ before.T
        torch.testing.assert_close(own[:, i], expected)


@given(PROBLEMS.filter(lambda own: own.loss is squared_error))
@settings(max_examples=10, deadline=None)
def test_smoothness_of_a_quadratic_loss_has_a_closed_form(problem):
    """Blocks of the Hessian in z are 1 off the diagonal and 2 on it; C is the inputs' second moment."""
    moment = problem.inputs.T @ problem.inputs / len(problem.inputs)
    weights, (count, size) = problem.weights, problem.weights.shape[:2]
    torch.testing.assert_close(
        smoothness("widest", problem), (2 * torch.linalg.matrix_norm(moment, 2)).expand(count)
    )
    for i, own in enumerate(smoothness("narrowest", problem)):
        eye = torch.eye(size, dtype=torch.float64)
        before = products(weights)[i - 1] if i else eye
        behind = [eye, *products(weights[i + 1 :])] if i + 1 < count else [eye]
        inner = sum(behind).T @ sum(behind) + sum(own.T @ own for own in behind)
        expected = torch.linalg.matrix_norm(inner, 2) * torch.linalg.matrix_norm(
            before @ moment @ before.T, 2
        )
        torch.testing.assert_close(own, expected)


def test_the_constant_of_a_quadratic_loss_is_the_same_in_the_2_norm():
    """No move has a larger ratio of 2-norms, and the best rank-one move attains it."""
    problem = random_problem(nodes=3, size=3, examples=4, length=1.5, seed=3)
    constant, base = smoothness("narrowest", problem)[1], gradients("narrowest", problem).mean(0)[1]

    def ratio(move) -> float:
        weights = problem.weights.clone()
        weights[1] += move
        moved = gradients(
            "narrowest", LinearProblem(weights, problem.inputs, problem.targets, problem.loss)
        ).mean(0)
        return (torch.linalg.matrix_norm(moved[1] - base, 2) / torch.linalg.matrix_norm(move, 2)).item()

    moves = torch.randn(50, 3, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    assert max(map(ratio, moves)) <= constant.item() * ABOVE
    behind, before = problem.weights[2], problem.weights[0]
    eye = torch.eye(3, dtype=torch.float64)
    inner = (eye + behind).T @ (eye + behind) + eye + behind.T @ behind
    outer = before @ problem.inputs.T @ problem.inputs @ before.T
    u, v = (torch.linalg.eigh(own).eigenvectors[:, -1] for own in (inner, outer))
    assert ratio(torch.outer(u, v)) == pytest.approx(constant.item())


@given(PROBLEMS)
@settings(max_examples=15, deadline=None)
def test_the_mended_bound_on_smoothness_holds_for_convex_losses(problem):
    bound = smoothness_bound(norms(problem.weights), smoothness("widest", problem.with_products()))
    assert (smoothness("narrowest", problem) <= bound * ABOVE + 1e-12).all()


@given(PROBLEMS)
@settings(max_examples=15, deadline=None)
def test_theorem_4_3_holds_with_the_variances_at_the_same_output(problem):
    bound = variance_bound(norms(problem.weights), variances("widest", problem.with_products()))
    assert (variances("narrowest", problem) <= bound * ABOVE + 1e-12).all()


@given(PROBLEMS)
@settings(max_examples=10, deadline=None)
def test_both_theorems_hold_for_losses_that_are_linear(problem):
    """Where nothing curves there is no smoothness to bound, and slopes are the same in both cells."""
    targets = problem.targets[:, : problem.weights.shape[0] * problem.weights.shape[1]]
    straight = LinearProblem(problem.weights, problem.inputs, targets, nothing_but_z)
    assert (smoothness("narrowest", straight) == 0).all()
    bound = variance_bound(norms(straight.weights), variances("widest", straight))
    assert (variances("narrowest", straight) <= bound * ABOVE + 1e-12).all()


def test_theorem_4_2_fails_for_two_nodes():
    """F = (w1^2 + w1^2 w2^2) / 2 has second derivatives 1 + w2^2 and w1^2; the theorem allows 1 and w1."""
    problem = counterexample()
    assert smoothness("widest", problem).tolist() == [1.0, 1.0]
    assert smoothness("narrowest", problem).tolist() == [5.0, 4.0]
    assert claimed_smoothness(norms(problem.weights), smoothness("widest", problem)).tolist() == [1.0, 2.0]


def test_variances_are_in_the_2_norm():
    problem = random_problem(nodes=2, size=3, examples=6, length=1.2, seed=2)
    grads = gradients("narrowest", problem)
    for block, variance in enumerate(variances("narrowest", problem).tolist()):
        moves = grads[:, block] - grads[:, block].mean(0)
        squares = [float(torch.linalg.eigvalsh(move.T @ move).max()) for move in moves]
        assert variance == pytest.approx(sum(squares) / len(squares))


def test_theorem_4_2_fails_by_hand():
    """With W = 2 the last block has 2^2 of the widest's constant, not 2; the first has a node behind it."""
    problem = scaled_identity([2.0, 2.0])
    wide, narrow = smoothness("widest", problem), smoothness("narrowest", problem)
    torch.testing.assert_close(narrow / wide, torch.tensor([7.0, 4.0], dtype=torch.float64))
    claimed = claimed_smoothness(norms(problem.weights), wide)
    torch.testing.assert_close(claimed / wide, torch.tensor([1.0, 2.0], dtype=torch.float64))


def test_theorem_4_2_fails_for_the_first_block_even_where_norms_are_small():
    problem = scaled_identity([0.5, 0.5, 0.5])
    wide, narrow = smoothness("widest", problem), smoothness("narrowest", problem)
    assert narrow[0] > claimed_smoothness(norms(problem.weights), wide)[0]
    assert narrow[2] < claimed_smoothness(norms(problem.weights), wide)[2]


def test_both_theorems_fail_with_eigenvalues():
    """A nilpotent matrix has none but 0, and still passes something on."""
    problem = random_problem(nodes=2, size=2, examples=5, length=1.0)
    problem.weights[0] = torch.tensor([[0.0, 1.0], [0.0, 0.0]])
    lengths = torch.linalg.eigvals(problem.weights).abs().amax(-1)
    assert lengths[0] == 0
    same = problem.with_products()
    assert variances("narrowest", problem)[1] > variance_bound(lengths, variances("widest", same))[1] == 0
    assert smoothness("narrowest", problem)[1] > smoothness_bound(lengths, smoothness("widest", same))[1] == 0


def test_theorem_4_3_fails_with_the_variances_at_the_same_weights():
    """Targets that the widest cell meets leave it no gradient at all; the narrowest misses them."""
    problem = random_problem(nodes=2, size=2, examples=4, length=2.0)
    seen = torch.stack([widest(problem.weights, x) for x in problem.inputs])
    targets = torch.cat([seen.sum(1), seen.flatten(1)], 1)
    fitted = LinearProblem(problem.weights, problem.inputs, targets, squared_error)
    assert variance_bound(norms(fitted.weights), variances("widest", fitted)).max() < 1e-20
    assert (variances("narrowest", fitted) > 0.1).all()


def test_variances_by_hand():
    """One node, one number: gradients (w x - t) x and twice that for the sum."""
    inputs, targets = torch.tensor([[1.0], [2.0]]), torch.tensor([[0.0, 0.0], [1.0, 1.0]])
    problem = LinearProblem(torch.tensor([[[3.0]]]), inputs, targets, squared_error)
    slopes = [2 * 3.0, 2 * (6 - 1) * 2.0]
    mean = sum(slopes) / 2
    expected = sum((slope - mean) ** 2 for slope in slopes) / 2
    assert variances("widest", problem).tolist() == pytest.approx([expected])
    assert variances("narrowest", problem).tolist() == pytest.approx([expected])


def test_a_comparison_puts_each_number_in_its_place():
    problem = random_problem(nodes=3, size=2, examples=4, length=1.3, loss="logistic", seed=5)
    found, deep = compare(problem), problem.with_products()
    lengths = norms(problem.weights)
    assert lengths.tolist() == pytest.approx([1.3] * 3)
    torch.testing.assert_close(
        found.smooth_claimed, claimed_smoothness(lengths, smoothness("widest", problem))
    )
    torch.testing.assert_close(found.smooth_bound, smoothness_bound(lengths, smoothness("widest", deep)))
    torch.testing.assert_close(found.variance_same, variance_bound(lengths, variances("widest", problem)))
    torch.testing.assert_close(found.variance_bound, variance_bound(lengths, variances("widest", deep)))


def test_a_survey_tells_of_every_problem():
    told = []
    survey([1.0, 2.0], problems=3, nodes=2, size=2, examples=2, tell=lambda *own: told.append(own))
    assert told == [("linear cells", place, 6) for place in range(6)]
