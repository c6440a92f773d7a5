import re

from hypothesis import given
from hypothesis import strategies as st

from match_aie.codegen.names import LONGEST, RESERVED, comment, identifier

ANY_TEXT = st.one_of(
    st.text(max_size=80),
    st.sampled_from(sorted(RESERVED)),
    st.sampled_from(['"; system("rm', "a\nb", "日本語", "x" * 10_000, "__init__", "_Bool", "1e5"]),
)


@given(st.lists(ANY_TEXT, max_size=20))
def test_identifiers_are_legal_unique_and_always_the_same(texts):
    taken: set[str] = set()
    for text in texts:
        name = identifier(text, taken)
        assert re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name)
        assert "__" not in name
        assert not name.endswith("_")
        assert len(name) <= LONGEST
        assert name not in RESERVED
        assert name not in taken
        assert name == identifier(text, sorted(taken))
        taken.add(name)


def test_a_name_that_is_fine_stays():
    assert identifier("conv2d_relu_7") == "conv2d_relu_7"


def test_accents_go_and_letters_stay():
    assert identifier("Größe") == "Gro_e"
    assert identifier("café au lait") == "cafe_au_lait"


def test_names_that_differ_only_after_the_cut_stay_different():
    first = identifier("x" * 50 + "a")
    second = identifier("x" * 50 + "b", {first})
    assert first == "x" * LONGEST
    assert second == "x" * (LONGEST - 2) + "_2"


@given(ANY_TEXT, st.integers(4, 90))
def test_comments_cannot_end_early_or_continue(text, limit):
    safe = comment(text, limit)
    assert len(safe) <= limit
    assert safe.isascii()
    assert safe.isprintable()
    assert not re.search(r"\*|\\|\?|//|%|\$|#|\"|'", safe)
