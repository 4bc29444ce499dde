import torch

from dartboard.cli.evaluate import confusion_lines
from dartboard.tasks import Evaluation


def test_the_table_lines_up_whatever_the_names_and_counts():
    confusion = torch.tensor([[1000, 2, 0], [0, 5, 1], [0, 0, 0]])
    found = Evaluation(0.5, 0.9, 1.0, confusion)
    lines = [line.plain for line in confusion_lines(found, ("a", "a very long name of a class", "none"))]
    assert [line.split()[-1] for line in lines] == ["right", "99.8%", "83.3%", "-"]
    assert len({len(line) for line in lines}) == 1
    assert lines[2].startswith(" 1 a very long name ")
