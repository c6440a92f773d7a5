"""Kernels of programmable logic, compiled by themselves: any bits, against the interpreter's."""

import ctypes
import shutil
import subprocess

import numpy as np
import pytest

from match_aie.codegen import render_template
from match_aie.targets.aie_ml.emulation import include_folder
from match_aie.targets.aie_ml.execute.logic import LogicGates
from match_aie.targets.aie_ml.execute.recurrent_single_hybrid import SingleGates
from match_aie.targets.aie_ml.kernels.recurrent_hybrid import LogicCall
from match_aie.targets.aie_ml.kernels.recurrent_single_hybrid import SingleLogicCall

#: Runs steps of the kernel on the words of all tiles, tile after tile of a step.
DRIVER = """
#include "logic.cpp"
extern "C" void drive(const std::uint64_t *sums, std::uint64_t *states,
                      std::uint64_t *results, unsigned steps) {{
    using Word = ap_axiu<128, 0, 0, 0>;
    hls::stream<Word> from[{tiles}], to[2];
    const std::uint64_t *at[{tiles}];
    for (unsigned tile = 0; tile < {tiles}; ++tile) {{
        from[tile].from = [&at, tile] {{
            Word word;
            word.data.halves[0] = *at[tile]++;
            word.data.halves[1] = *at[tile]++;
            return word;
        }};
    }}
    for (unsigned stream = 0; stream < 2; ++stream) {{
        to[stream].to = [at = stream == 0 ? states : results](const Word &word) mutable {{
            *at++ = word.data.halves[0];
            *at++ = word.data.halves[1];
        }};
    }}
    for (unsigned step = 0; step < steps; ++step) {{
        for (unsigned tile = 0; tile < {tiles}; ++tile) {{
            at[tile] = sums + 2 * {words} * ({tiles} * step + tile);
        }}
        logic({streams});
    }}
}}
"""


def built(call, folder):
    """The kernel as a library."""
    text = render_template(call.template, call=call, tables=call.tables)
    (folder / "logic.cpp").write_text(text, encoding="utf-8")
    streams = [f"from[{at}]" for at in range(call.tiles)]
    streams = ", ".join([*streams, *(f"to[{at}]" for at in range(len(call.back)))])
    driver = DRIVER.format(tiles=call.tiles, words=call.words, streams=streams)
    (folder / "driver.cpp").write_text(driver, encoding="utf-8")
    flags = "-std=c++17 -O1 -Wall -Wextra -Werror -shared -fPIC".split()
    command = ["g++", *flags, f"-I{include_folder()}", "driver.cpp", "-o", "driver.so"]
    subprocess.run(command, cwd=folder, check=True)
    return ctypes.CDLL(str(folder / "driver.so")).drive


@pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler")
@pytest.mark.parametrize(
    "call",
    [
        LogicCall("logic", "gru", 3, 32, 5),
        LogicCall("logic", "gru", 1, 16, 1),
        LogicCall("logic", "lstm", 2, 16, 4),
        LogicCall("logic", "gru", 3, 32, 5, narrow=True),
        LogicCall("logic", "lstm", 1, 32, 4, narrow=True),
    ],
)
def test_any_sums_give_the_same_states(call, tmp_path):
    """Three runs; sums of every size, and some that are infinite or no numbers.

    Those of 8 bits are finite: their products are integers.
    """
    drive, rng = built(call, tmp_path), np.random.default_rng(4)
    steps, gates = 3 * call.steps, LogicGates(call)
    shape = steps, call.tiles, call.chunks, 8 * call.words // call.chunks
    reals = rng.standard_normal(shape).astype(np.float32) * np.float32(4)
    sums = np.ascontiguousarray((reals.view(np.uint32) >> 16).astype(np.uint16))
    if not call.narrow:
        wild = rng.random(shape) < 0.02
        sums[wild] = rng.integers(0, 2**16, int(wild.sum()))
    made = [np.zeros((steps, 4 * words), np.uint32) for words in (*call.back, call.results)[:2]]
    pointers = (array.ctypes.data_as(ctypes.c_void_p) for array in (sums, *made))
    drive(*pointers, ctypes.c_uint(steps))
    with np.errstate(all="ignore"):
        wanted = [gates.step([each.reshape(-1).view(np.uint32) for each in step]) for step in sums]
    for got, stream in zip(made, zip(*wanted, strict=True), strict=False):
        np.testing.assert_array_equal(got.view(np.uint16), np.stack(stream).view(np.uint16))
        assert np.unique(got.view(np.uint16)).size > got.size // 4


@pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler")
@pytest.mark.parametrize(
    ("cell", "tiles", "units"), [("gru", 3, 8), ("gru_before", 2, 16), ("lstm", 1, 8)]
)
def test_any_sums_of_float32_give_the_same_states(cell, tiles, units, tmp_path):
    """Three runs; sums of every size, and some that are infinite or no numbers.

    Which of two that are no numbers a sum becomes is the machine's.
    """
    call = SingleLogicCall("logic", cell, tiles, units, 5)
    drive, rng = built(call, tmp_path), np.random.default_rng(4)
    turns, gates = 3 * call.sends, SingleGates(call)
    shape = turns, tiles, 4 * call.words
    sums = (rng.standard_normal(shape) * 10.0 ** rng.integers(-4, 2, shape)).astype(np.float32)
    wild = rng.random(shape) < 0.002
    sums.view(np.uint32)[wild] = rng.integers(0, 2**32, int(wild.sum()), np.uint32)
    made, none = np.zeros((turns, call.whole), np.float32), np.zeros(1, np.uint32)
    pointers = (array.ctypes.data_as(ctypes.c_void_p) for array in (sums, made, none))
    drive(*pointers, ctypes.c_uint(turns))
    with np.errstate(all="ignore"):
        wanted = [gates.step([each.view(np.uint32) for each in turn])[0] for turn in sums]
    np.testing.assert_array_equal(made, np.stack(wanted).view(np.float32))
    assert np.unique(made).size > made.size // 4
