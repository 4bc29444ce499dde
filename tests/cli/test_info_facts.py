from dartboard.cli.info import Build, CellFacts, ChoiceFacts, cell_facts, network_facts, space_facts
from dartboard.space import adopt, get_published, get_space


def test_a_network_is_counted_with_and_without_its_auxiliary_head() -> None:
    space = adopt(get_space("darts"), get_published("darts-v1")).resized(3)
    small = network_facts(space, Build(channels=4, classes=10, input=(3, 32, 32)))
    more = network_facts(space, Build(channels=4, classes=11, input=(3, 32, 32)))
    # The classifier sees 4 nodes of 16 channels, the auxiliary one 768 channels; each class adds a bias.
    assert more.parameters - small.parameters == 4 * 16 + 1
    assert more.parameters_auxiliary - small.parameters_auxiliary == 4 * 16 + 1 + 768 + 1


def test_a_cell_has_the_shape_the_papers_give() -> None:
    assert cell_facts(get_published("amoebanet-a").cells["normal"]) == CellFacts(4.0, 4, 0.9)


def test_a_space_has_the_facts_of_its_cells() -> None:
    facts = space_facts(get_space("s1"))
    ops = get_space("s1").ops
    assert (facts.architectures, facts.nodes, facts.edges, facts.ops) == (7**16, 6, 8, ops)
    assert facts.cells == dict.fromkeys(("normal", "reduce"), ChoiceFacts(6, 2, 8, ops, 7**8))
