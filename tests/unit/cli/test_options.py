"""Values typed after options."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from match_aie.cli.options import load, parse_bytes, parse_shapes
from match_aie.errors import OptionError, TargetError

SIZES = st.lists(st.integers(0, 10**6), max_size=6).map(tuple)


@given(st.dictionaries(st.text(min_size=1, max_size=20), SIZES, max_size=4))
def test_shapes_come_back(shapes: dict[str, tuple[int, ...]]) -> None:
    texts = [f"{name}={','.join(map(str, sizes))}" for name, sizes in shapes.items()]
    assert parse_shapes(texts) == shapes


@pytest.mark.parametrize(
    "text",
    [
        "x",
        "=1,2",
        "x=1,,2",
        "x=1,-2",
        "x=a.b",
        "x=1..",
        "x=n:3",
        "x=1.5",
        "x=1,",
        "x=\N{SUPERSCRIPT TWO}",
    ],
)
def test_what_is_no_shape_is_refused(text: str) -> None:
    with pytest.raises(OptionError, match="--shape"):
        parse_shapes([text])


def test_a_name_may_not_come_twice() -> None:
    with pytest.raises(OptionError, match="twice"):
        parse_shapes(["x=1", "x=2"])


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("65536", 65536),
        ("64k", 65536),
        ("64K", 65536),
        ("64KiB", 65536),
        ("64kb", 65536),
        ("1.5M", 1572864),
        ("2g", 2147483648),
        (" 7 ", 7),
    ],
)
def test_bytes(text: str, number: int) -> None:
    assert parse_bytes(text) == number


@pytest.mark.parametrize("text", ["", "k", "-1", "64x", "1e6", "64 k k", "nan", "64kk", "9" * 400])
def test_what_is_no_number_of_bytes_is_refused(text: str) -> None:
    with pytest.raises(OptionError, match="number of bytes"):
        parse_bytes(text)


def test_a_target_takes_arguments_of_a_file(tmp_path):
    file = tmp_path / "array.yaml"
    file.write_text("columns_per_layer: 2\nmemory: plio\n")
    target = load("versalaieml", file)
    assert (target.columns_per_layer, target.memory) == (2, "plio")
    assert load("CPU", None) == "CPU"
    file.write_text("rows_per_layer: 2\n")
    with pytest.raises(TargetError, match="rows_per_layer") as caught:
        load("VersalAIEML", file)
    assert "arguments" in caught.value.hint
    assert "did you mean columns_per_layer" in caught.value.hint
    assert "optimize_for" in caught.value.hint
