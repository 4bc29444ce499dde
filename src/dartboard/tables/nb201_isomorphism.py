"""Which cells of NAS-Bench-201 are the same cell, as the benchmark counts."""

import re

from dartboard.space import NONE

INPUT, ZERO = "0", "#"
_OPS = re.compile(r"([^|~+]+)~")


def unique_text(text: str) -> str:
    """A text that isomorphic cells share, from a cell as NAS-Bench-201 writes it (Dong & Yang 2020).

    It is the last node as a formula of the cell's input. `none` is zero, and so is every op of a node that is
    just one zero; `skip_connect` puts the formula of its node in its place; the terms of a sum are sorted.
    Of the 15,625 cells 6,466 are different in this sense. The rule is the benchmark's own and sees no
    further: zeros stay as terms of sums, what a skip puts in place is sorted as one term, and whether two
    equal terms share their weights is not asked. So cells with different texts may still compute the same,
    and cells with one text may differ in parameters and in accuracy.
    """
    ops = iter(_OPS.findall(text))
    nodes = [INPUT]
    for node in range(1, text.count("+") + 2):
        nodes.append("+".join(sorted(_term(nodes[source], next(ops)) for source in range(node))))
    return nodes[-1]


def _term(formula: str, op: str) -> str:
    if op == NONE or formula == ZERO:
        return ZERO
    return formula if op == "skip_connect" else f"({formula})@{op}"
