from copy import deepcopy

import pytest
import torch
import torch.nn.functional as F

from dartboard.errors import CompositionError, RelaxationError
from dartboard.nn import Blend, one_hot
from dartboard.nn.mixture import SlotMixture
from dartboard.relax import Attention
from dartboard.relax.attention import attention
from dartboard.space import Cell, Edge, Genotype, get_space
from helpers import networks


def images(batch=4, seed=0):
    return torch.randn(batch, 3, 8, 8, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def make(space, **options):
    """Attention that tells candidates well apart, in float64."""
    generator = torch.Generator().manual_seed(1)
    relaxation = Attention(space, init="random", generator=generator, **options).double()
    for parameter in relaxation.parameters():
        parameter.data *= 4
    return relaxation


def by_hand(outputs, matrices):
    """Equations 4.3 to 4.5, one example and one candidate at a time."""
    rows = []
    for example in range(len(outputs[0])):
        vector = torch.stack([output[example].sum() / output[example].numel() for output in outputs])
        for matrix in matrices[:-1]:
            vector = (matrix @ vector).clamp(min=0)
        grown = (1 / (1 + (-(matrices[-1] @ vector)).exp())).exp()
        rows.append(grown / grown.sum())
    return torch.stack(rows)


def test_attention_is_the_formula_of_the_paper():
    generator = torch.Generator().manual_seed(0)
    outputs = [torch.randn(5, 4, 3, 3, generator=generator, dtype=torch.float64) + k for k in range(3)]
    matrices = [torch.randn(shape, generator=generator, dtype=torch.float64) for shape in [(12, 3), (12, 12)]]
    matrices += [
        torch.randn(shape, generator=generator, dtype=torch.float64) for shape in [(12, 12), (3, 12)]
    ]
    found = attention(outputs, (0, 1, 2), matrices)
    assert torch.allclose(found, by_hand(outputs, matrices))
    assert found.std(0).min() > 1e-4  # every example its own


def test_the_dead_leave_attention_to_the_others():
    generator = torch.Generator().manual_seed(0)
    outputs = [torch.randn(5, 4, 3, 3, generator=generator) for _ in range(3)]
    matrices = [torch.randn(3, 3, generator=generator) for _ in range(4)]
    found = attention([outputs[0], outputs[2]], (0, 2), matrices)
    whole = attention([outputs[0], torch.zeros_like(outputs[1]), outputs[2]], (0, 1, 2), matrices)
    kept = whole[:, [0, 2]]
    assert torch.allclose(found, kept / kept.sum(-1, keepdim=True))
    assert attention([outputs[1]], (1,), matrices).tolist() == [[1.0]] * 5


def test_widths_and_owners(ragged):
    relaxation = Attention(ragged)
    shapes = [tuple(layer.shape) for layer in relaxation.slots["0"].layers]
    assert shapes == [(6, 12, 3), (6, 12, 12), (6, 12, 12), (6, 3, 12)]
    assert [tuple(layer.shape)[1] for layer in Attention(ragged, multiple=2).slots["2"].layers] == [
        6,
        6,
        6,
        3,
    ]
    assert relaxation.arch_parameters() == []
    assert len(relaxation.weight_parameters()) == 8  # two slots, four layers, none shared


def test_gradients_agree_with_finite_differences(ragged):
    net, relaxation = networks.build(ragged).eval(), make(ragged, multiple=1).eval()
    names = [name for name, _ in relaxation.named_parameters()]

    def loss(*values):
        mixture = torch.func.functional_call(relaxation, dict(zip(names, values, strict=True)), ())
        return F.cross_entropy(net(images(2), mixture), torch.tensor([0, 1]))

    assert torch.autograd.gradcheck(loss, tuple(relaxation.parameters()), fast_mode=True)


def test_the_same_on_both_paths(ragged):
    relaxation = make(ragged).eval()
    fused, plain = (networks.build(ragged, mix=mix)(images(), relaxation()) for mix in ("fused", "plain"))
    assert torch.allclose(fused, plain)


def attentions(net, relaxation, x, slot, edge):
    """The attention that an edge had in a forward pass [B, live]."""
    mixture = relaxation()
    blend, found = mixture.blend(slot), []

    def spy(position, outputs):
        weights = blend.attend(position, outputs)
        found.extend([weights] if position == edge else [])
        return weights

    mixture._blends[slot] = type(blend)(blend.live, attend=spy)
    net(x, mixture)
    return found[0]


def test_collecting_gives_the_mean_over_all_examples(ragged):
    net, relaxation = networks.build(ragged).eval(), make(ragged).eval()
    batches = [images(4, seed=1), images(4, seed=2), images(1, seed=3)]
    expected = [
        torch.cat([attentions(net, relaxation, x, slot, 0) for x in batches]).mean(0) for slot in (0, 2)
    ]
    start = relaxation.strengths()["cell"].ops[0]
    assert start.tolist() == pytest.approx([1 / 3] * 3)  # evaluation alone leaves no trace
    for _ in range(2):  # the second time starts anew
        with relaxation.collecting():
            for x in batches:
                net(x, relaxation())
        found = relaxation.strengths()["cell"].ops
        assert torch.allclose(found[0], sum(expected) / 2)
        assert not torch.allclose(found[0], start)
        assert torch.allclose(found.sum(-1), torch.ones(6, dtype=torch.float64))
        assert found[1].tolist() == [1, 0, 0]


def test_training_leaves_a_running_mean(ragged):
    net = networks.build(ragged).eval()
    for momentum in (0.1, 0.5):
        relaxation = make(ragged, momentum=momentum)
        expected = torch.full((3,), 1 / 3, dtype=torch.float64)
        for seed in (1, 2):
            own = attentions(net, deepcopy(relaxation).eval(), images(4, seed), 0, 0).mean(0)
            net(images(4, seed), relaxation())
            expected = (1 - momentum) * expected + momentum * own
        assert torch.allclose(relaxation.slots["0"].average[0], expected)


def test_a_decided_cell_equals_the_discrete_one(ragged):
    net, relaxation = networks.build(ragged), make(ragged)
    for edge, place in enumerate([1, 0, 1, 0, 0, 2]):
        networks.keep_one(relaxation, "cell", edge, place)
    assert relaxation().blend(0).attend is None
    expected = net.eval()(
        images(), SlotMixture(dict.fromkeys((0, 2), Blend(((1,), (0,), (1,), (0,), (0,), (2,)))))
    )
    assert torch.equal(net(images(), relaxation()), expected)


def test_cells_can_be_decided_front_to_back():
    space = networks.shrink(get_space("asm"), cells=2)
    net, relaxation = networks.build(space).eval(), make(space).eval()
    chosen = {}
    for arch, cell in space.groups:
        with relaxation.collecting():
            net(images(), relaxation())
        best = relaxation.strengths()[arch].ops.argmax(-1).tolist()
        for edge, place in enumerate(best):
            networks.keep_one(relaxation, arch, edge, place)
        kept = tuple(
            Edge(edge.source, edge.target, (edge.ops[k],)) for edge, k in zip(cell.edges, best, strict=True)
        )
        chosen[arch] = Cell(cell.inputs, cell.nodes, kept, cell.output)
    genotype = Genotype(tuple(chosen.items()))
    expected = net(images(), one_hot(space, genotype, like=images()))
    assert torch.allclose(net(images(), relaxation()), expected)


def test_edges_told_apart_by_their_own_weights_are_refused():
    with pytest.raises(CompositionError, match=r"oneshot1.*attention weighs only ops"):
        Attention(get_space("oneshot1"))


def test_attention_has_no_gradient_per_example(ragged):
    with pytest.raises(CompositionError, match="computed from the outputs"):
        Attention(ragged).per_example(4)


@pytest.mark.parametrize("options", [{"multiple": 0}, {"momentum": 0.0}, {"momentum": 1.5}])
def test_options_have_ranges(ragged, options):
    with pytest.raises(RelaxationError, match="multiple >= 1 and momentum"):
        Attention(ragged, **options)


def test_a_generator_draws_the_modules(ragged):
    torch.manual_seed(0)
    first, second, other = (
        Attention(ragged, init="random", generator=torch.Generator().manual_seed(seed)) for seed in (3, 3, 4)
    )
    for name, values in first.named_parameters():
        assert torch.equal(values, second.get_parameter(name))
        assert not torch.equal(values, other.get_parameter(name))


def test_by_default_attention_starts_equal_whatever_the_outputs_are(ragged):
    net = networks.build(ragged).eval()
    relaxation = Attention(ragged, generator=torch.Generator().manual_seed(1)).double()
    for slot in (0, 2):
        found = attentions(net, relaxation, images(), slot, 0)
        assert torch.equal(found, torch.full_like(found, 1 / 3))
    random = Attention(ragged, init="random", generator=torch.Generator().manual_seed(1))
    for name, values in relaxation.named_parameters():
        last = name.endswith("layers.3")
        assert torch.equal(
            values.float(), 0 * random.get_parameter(name) if last else random.get_parameter(name)
        )


def test_equal_attention_is_no_saddle(ragged):
    """The last layer moves at once; the layers before it follow when it has."""
    net, relaxation = networks.build(ragged), Attention(ragged, generator=torch.Generator().manual_seed(1))
    relaxation.double()
    net(images(), relaxation()).square().sum().backward()
    for name, values in relaxation.slots["0"].named_parameters():
        assert values.grad.any() == name.endswith("layers.3") or name.endswith("layers.3")
    assert relaxation.slots["0"].layers[-1].grad.any()
