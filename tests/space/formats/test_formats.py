import pytest
from hypothesis import given
from hypothesis import strategies as st

from dartboard.errors import GenotypeError, UnknownNameError
from dartboard.space import GENOTYPE_FORMATS, PUBLISHED, SPACES, decode, get_published, get_space, sample
from dartboard.space.formats import to_nb101_text

SPEAKS = {
    "json": list(SPACES),
    "darts": ["darts", "xnas", "s1"],
    "nb201": ["nb201", "nano"],
    "nb101": ["oneshot1", "oneshot2", "oneshot3"],
}
RANDOMS = st.randoms(use_true_random=False)


@st.composite
def texts(draw, codec):
    space = get_space(draw(st.sampled_from(SPEAKS[codec])))
    return GENOTYPE_FORMATS[codec].encode(sample(space, draw(RANDOMS)))


def read_or_refuse(read, text):
    """Anything but a genotype or a GenotypeError fails the test that calls this."""
    try:
        genotype = read(text)
    except GenotypeError:
        return
    assert GENOTYPE_FORMATS["json"].decode(GENOTYPE_FORMATS["json"].encode(genotype)) == genotype


def test_every_codec_is_tried_below():
    assert set(SPEAKS) == set(GENOTYPE_FORMATS)


@pytest.mark.parametrize("codec", GENOTYPE_FORMATS)
@given(data=st.data())
def test_every_codec_round_trips_and_is_recognized(codec, data):
    genotype = sample(get_space(data.draw(st.sampled_from(SPEAKS[codec]))), data.draw(RANDOMS))
    text = GENOTYPE_FORMATS[codec].encode(genotype)
    assert "\n" not in text
    assert GENOTYPE_FORMATS[codec].decode(text) == genotype
    assert decode(f"\n  {text} \n") == genotype


@pytest.mark.parametrize("codec", GENOTYPE_FORMATS)
def test_a_codec_says_its_own_spaces_and_refuses_the_rest(codec, rng):
    for name in SPACES:
        genotype = sample(get_space(name), rng)
        if name in SPEAKS[codec]:
            assert GENOTYPE_FORMATS[codec].encode(genotype)
        else:
            with pytest.raises(GenotypeError):
                GENOTYPE_FORMATS[codec].encode(genotype)


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_cells_round_trip(name):
    genotype = get_published(name)
    for codec in ("json", "darts"):
        assert decode(GENOTYPE_FORMATS[codec].encode(genotype)) == genotype


@pytest.mark.parametrize("codec", GENOTYPE_FORMATS)
@given(data=st.data())
def test_a_mutilated_text_is_read_or_refused_and_nothing_else(codec, data):
    text = data.draw(texts(codec))
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        end = min(len(text), start + data.draw(st.integers(0, 8)))
        other = data.draw(
            st.text(max_size=4) | st.sampled_from([text[:end], text[start:], '"', "0", "-1", "[", "]"])
        )
        text = text[:start] + other + text[end:]
    for read in (decode, GENOTYPE_FORMATS[codec].decode):
        read_or_refuse(read, text)


@given(text=st.text(max_size=50))
def test_any_text_is_read_or_refused_and_nothing_else(text):
    for read in (decode, *(codec.decode for codec in GENOTYPE_FORMATS.values())):
        read_or_refuse(read, text)


@pytest.mark.parametrize("text", ["", "darts-v2", "[]", "normal=[]"])
def test_an_unknown_form_is_answered_with_the_forms_there_are(text):
    with pytest.raises(GenotypeError, match="the forms known are") as caught:
        decode(text)
    for name, codec in GENOTYPE_FORMATS.items():
        assert f"{name}: {codec.form}" in str(caught.value)


@pytest.mark.parametrize("text", ["\ud800", '{"\ud800": 1}', 'Genotype("\ud800")', "|\ud800~0|+"])
def test_half_a_character_is_refused(text):
    with pytest.raises(GenotypeError):
        decode(text)


def test_json_of_both_kinds_is_told_apart_by_its_first_value(rng):
    matrix = to_nb101_text(sample(get_space("oneshot1"), rng))
    assert GENOTYPE_FORMATS["nb101"].start.match(matrix)
    assert not GENOTYPE_FORMATS["json"].start.match(matrix)
    named = '{"matrix": {"inputs": 1, "edges": [], "output": [1]}}'
    assert list(decode(named).cells) == ["matrix"]


def test_a_wrong_name_gets_a_hint():
    with pytest.raises(UnknownNameError, match="no genotype format called 'nb102'; did you mean 'nb10"):
        GENOTYPE_FORMATS["nb102"]
