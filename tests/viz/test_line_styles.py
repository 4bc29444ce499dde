from dartboard.viz.line_styles import COLORS, STYLES, line_styles


def test_every_method_looks_different() -> None:
    labels = [str(place) for place in range(len(COLORS) * len(STYLES))]
    found = line_styles(labels)
    assert list(found) == labels
    assert len(set(found.values())) == len(labels) == 21


def test_after_that_they_begin_again() -> None:
    found = line_styles(map(str, range(22)))
    assert found["21"] == found["0"]


def test_the_first_methods_differ_in_color() -> None:
    assert len({own.color for own in line_styles("abcdefg").values()}) == 7


def test_no_method_is_dashed_like_random() -> None:
    assert all(own.line != "--" for own in line_styles(map(str, range(21))).values())
