import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dartboard.report.html import Html, data, join, tag, text
from reports import NASTY, Reader


def test_an_element() -> None:
    made = tag("p", "a < b", tag("b", "c"), class_="x", data_chart='"', hidden=True, title=None, open=False)
    assert made == '<p class="x" data-chart="&quot;" hidden>a &lt; b<b>c</b></p>'
    assert tag("input", type="range") == '<input type="range">'


@given(st.text())
def test_texts_and_attributes_come_back_as_they_are(words: str) -> None:
    words = re.sub(r"[\r\x00]", "", words)  # HTML has no way to write these
    read = Reader(tag("p", words, title=words))
    assert [name for name, _ in read.tags] == ["p"]
    assert read.tags[0][1]["title"] == words
    assert "".join(read.words) == words


@pytest.mark.parametrize("words", [NASTY, "</script>", "<!--", "]]>", "\u2028\u2029", "&lt;"])
def test_data_cannot_leave_its_element(words: str) -> None:
    made = data("x", {words: [words, 1.5, None]})
    inner = made.removeprefix('<script type="application/json" id="x">').removesuffix("</script>")
    assert not set("<>&\u2028\u2029") & set(inner)
    assert json.loads(inner) == {words: [words, 1.5, None]}


def test_html_is_not_escaped_twice() -> None:
    assert text(text("<")) == "&lt;"
    assert join(["<", Html("<br>")], " & ") == "&lt; &amp; <br>"
