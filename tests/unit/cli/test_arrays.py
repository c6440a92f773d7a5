"""Input and output files of `match-aie run`."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from match_aie.cli.arrays import describe, random_inputs, read_inputs, write_outputs
from match_aie.codegen.port import PortRecord
from match_aie.errors import OptionError


def port(name: str, dtype: str = "float32", shape: tuple[int, ...] = (2, 3)) -> PortRecord:
    return PortRecord("t0", name, dtype, shape, None, 0)


def test_outputs_read_back_under_any_name(tmp_path: Path) -> None:
    names = ["y", "file", "a/b:0", 'it\'s "quoted"', "größe", "self"]
    outputs = {name: np.arange(6, dtype=np.int8).reshape(2, 3) + i for i, name in enumerate(names)}
    path = tmp_path / "no_suffix"
    write_outputs(path, outputs)
    back = read_inputs(path, [port(name) for name in names])
    assert back.keys() == outputs.keys()
    for name in names:
        np.testing.assert_array_equal(back[name], outputs[name])


def test_a_single_array_may_have_any_name(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    np.savez(path, np.ones((2, 3), np.float32))
    assert list(read_inputs(path, [port("image")])) == ["image"]
    assert list(read_inputs(path, [port("a"), port("b")])) == ["arr_0"]


def test_unreadable_inputs_are_option_errors(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="no such file"):
        read_inputs(tmp_path / "none.npz", [port("x")])
    (tmp_path / "text.npz").write_text("hello")
    (tmp_path / "empty.npz").write_bytes(b"")
    np.save(tmp_path / "single.npy", np.ones(3))
    np.savez(tmp_path / "objects.npz", x=np.array([{}], dtype=object))
    whole = tmp_path / "whole.npz"
    np.savez(whole, x=np.ones(1000))
    (tmp_path / "cut.npz").write_bytes(whole.read_bytes()[:-500])
    for name in ("text.npz", "empty.npz", "single.npy", "objects.npz", "cut.npz", "."):
        with pytest.raises(OptionError):
            read_inputs(tmp_path / name, [port("x")])


def test_an_unwritable_place_is_an_option_error(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="cannot be written"):
        write_outputs(tmp_path / "missing" / "y.npz", {"y": np.ones(1)})


@given(
    st.sampled_from(
        ["float16", "float32", "float64", "int8", "uint8", "int16", "uint16", "bool", "int64"]
    ),
    st.lists(st.integers(0, 4), max_size=4).map(tuple),
    st.integers(0, 2**31),
)
def test_random_inputs_fit_and_repeat(dtype: str, shape: tuple[int, ...], seed: int) -> None:
    ports = [port("x", dtype, shape), port("x1", dtype, shape)]
    first, second = random_inputs(ports, seed), random_inputs(ports, seed)
    for name in ("x", "x1"):
        assert (first[name].dtype, first[name].shape) == (np.dtype(dtype), shape)
        np.testing.assert_array_equal(first[name], second[name])


def test_random_floats_cover_the_quantised_range() -> None:
    wide = PortRecord("t0", "x", "float32", (10_000,), 0.5, 100)
    steps = np.rint(random_inputs([wide], 0)["x"] / np.float32(0.5)) + 100
    assert (steps < 0).any()
    assert (steps > 255).any()
    assert len(np.unique(np.clip(steps, 0, 255))) == 256


def test_there_are_no_random_strings() -> None:
    with pytest.raises(OptionError, match="--inputs"):
        random_inputs([port("x", "str")], 0)


def test_describe_scalars_and_nothing() -> None:
    assert describe(np.zeros((0, 3), np.int8)) == "int8[0, 3], empty"
    assert describe(np.float32(2.5).reshape(())) == "float32[], 2.5"
