"""Kernels that walk tiles over time: buffers fetched in loops, sums that wait while K goes on."""

from dataclasses import replace

import numpy as np
import pytest
from aie_harness import COMPILERS, FASTEST, array_text, build_and_run, random_matrix, storage

from match_aie.codegen import render_template
from match_aie.errors import TargetError
from match_aie.targets.aie_ml import Tiling
from match_aie.targets.aie_ml.kernels.call import LayerCall
from match_aie.targets.aie_ml.kernels.layout import tiled, untiled
from match_aie.targets.aie_ml.kernels.nest import Nest
from match_aie.targets.aie_ml.kernels.reference import Numbers as Scale
from match_aie.targets.aie_ml.kernels.reference import requantised
from match_aie.targets.aie_ml.kernels.rounded import rounded_sums
from match_aie.targets.aie_ml.kernels.spec import KernelSpec, Requantise
from tests.kernel_reference import Numbers, dense_reference

I8 = Tiling(4, 8, 8, native=True)
SHIFT = KernelSpec("int8", "int8", I8, 2, 2, 8, 32, 16, Requantise("shift", "int8"), relu=True)
CHANNEL = replace(SHIFT, requantise=Requantise("channel", "uint8", zero_point=9), relu=False)
WIDE = KernelSpec(
    "int16", "int16", Tiling(4, 4, 4, True, 64, 64), 2, 2, 8, 16, 8, Requantise("shift", "int16")
)


def nest(symbol, spec, *tiles, **more):
    shift = {"channel": 25, "shift": 12 if spec is WIDE else 9}[spec.requantise.form]
    return Nest(LayerCall(symbol, "kernels.h", spec, shift=shift), *tiles, **more)


NESTS = (
    nest("all_over_time", SHIFT, 2, 3, 3),
    nest("two_of_k", CHANNEL, 1, 2, 2, order="nm", streamed=False),
    nest("wide", WIDE, 2, 1, 4),
    nest("weights_stay", SHIFT, 3, 2, 1, order="nm"),
    nest("activations_stay", CHANNEL, 2, 2, 1),
    nest("last_alone", replace(CHANNEL, m=16), 1, 2, 4, last_block=(1, 1)),
    nest("first_alone", replace(SHIFT, m=16), 1, 2, 4, first_block=(4, 1), last_block=(1, 2)),
    nest("primed", replace(CHANNEL, m=24, n=8, columns=1), 1, 2, 3, primed=True),
    nest(
        "primed_with_zeros", replace(SHIFT, m=8, n=24, columns=1, bias=False), 2, 1, 2, primed=True
    ),
    nest("rounded", replace(SHIFT, m=16), 1, 2, 4, rounded=True, last_block=(1, 2)),
    nest("rounded_wide", WIDE, 2, 1, 3, rounded=True),
)
PROGRAM = """
#include "kernels.h"
#include "weights.h"
class Program : public adf::graph {{
public:
    adf::kernel k[{count}];
    adf::input_plio x[{count}], w[{count}];
    adf::output_plio y[{count}];
    Program() {{
{body}
    }}
}};
static Program program;
int main() {{
    program.init();
{updates}
    program.run(1);
    program.end();
    return 0;
}}
"""


def operands(number):
    """Matrices and numbers of a nest, sizes of all its tiles together."""
    n, rng = NESTS[number], np.random.default_rng(number)
    s = n.call.spec
    m, k, columns = s.m * n.m_tiles, s.k * n.k_tiles, s.n * n.n_tiles
    x, w = random_matrix(rng, s.a, (m, k)), random_matrix(rng, s.b, (k, columns))
    if s.a == "int16":  # sums that wait have 32 bits
        x, w = x // 40, w // 40
    multiplier = rng.integers(9999, 32767, columns) if s.requantise.form == "channel" else None
    bias = rng.integers(-9999, 9999, columns) if s.bias else None
    return x, w, Numbers(n.call.shift, multiplier, bias=bias)


def sent(n, name, matrix):
    """A stream of tiles of x or w in the order in which the function fetches them."""
    s = n.call.spec
    rows, columns = (s.m, s.k) if name == "x" else (s.k, s.n)
    inner = (s.tiling.m, s.tiling.k) if name == "x" else (s.tiling.k, s.tiling.n)
    loops = [(i, j) for i in range(n.m_tiles) for j in range(n.n_tiles)]
    if n.order == "nm":
        loops = [(i, j) for j in range(n.n_tiles) for i in range(n.m_tiles)]
    wanted = [((i, k) if name == "x" else (k, j)) for i, j in loops for k in range(n.k_tiles)]
    if n.k_tiles == 1:  # fetched when the indices change, not at every turn
        wanted = [at for i, at in enumerate(wanted) if i == 0 or at != wanted[i - 1]]
    parts = [
        tiled(matrix[r * rows : (r + 1) * rows, c * columns : (c + 1) * columns], *inner)
        for r, c in wanted
    ]
    return np.concatenate(parts)


def received(n, flat):
    """y [M, N] from its tiles in the order in which they were stored."""
    s = n.call.spec
    tiles = flat.reshape(n.m_tiles * n.n_tiles, -1)
    y = np.zeros((s.m * n.m_tiles, s.n * n.n_tiles), flat.dtype)
    for number, tile in enumerate(tiles):
        row, column = divmod(number, n.n_tiles)
        if n.order == "nm":
            column, row = divmod(number, n.m_tiles)
        part = untiled(tile, (s.m, s.n), s.tiling.m, s.tiling.n)
        y[row * s.m : (row + 1) * s.m, column * s.n : (column + 1) * s.n] = part
    return y


def graph_text(number):
    """Statements that make and connect one nest's kernel, and those that set its parameters."""
    n = NESTS[number]
    s, k = n.call.spec, f"k[{number}]"
    body = [
        f"{k} = adf::kernel::create({n.call.symbol});",
        f'x[{number}] = adf::input_plio::create("x", adf::plio_128_bits, "data/x{number}.txt");',
        f'y[{number}] = adf::output_plio::create("y", adf::plio_128_bits, "data/y{number}.txt");',
        f"adf::connect(x[{number}].out[0], adf::async({k}.in[0]));",
        f"adf::connect(adf::async({k}.out[0]), y[{number}].in[0]);",
        f"adf::dimensions({k}.in[0]) = {{{s.m * s.k}}};",
        f"adf::dimensions({k}.out[0]) = {{{s.m * s.n}}};",
    ]
    if n.streamed:
        file = f'"w", adf::plio_128_bits, "data/w{number}.txt"'
        body += [
            f"w[{number}] = adf::input_plio::create({file});",
            f"adf::connect(w[{number}].out[0], adf::async({k}.in[1]));",
            f"adf::dimensions({k}.in[1]) = {{{s.k * s.n}}};",
        ]
    updates = [
        f"program.update(program.{k}.in[{i}], {p.name}{number}, {p.size});"
        for i, p in enumerate(n.parameters, start=1 + n.streamed)
    ]
    return "\n".join(body), "\n".join(updates)


def write_nests(folder) -> None:
    (folder / "data").mkdir()
    weights, bodies, updates = "#pragma once\n#include <adf.h>\n", [], []
    for number, n in enumerate(NESTS):
        x, w, numbers = operands(number)
        np.savetxt(folder / "data" / f"x{number}.txt", sent(n, "x", x), fmt="%d")
        if n.streamed:
            np.savetxt(folder / "data" / f"w{number}.txt", sent(n, "w", w), fmt="%d")
        values = {"w": sent(n, "w", w), "bias": numbers.bias, "multiplier": numbers.multiplier}
        for p in n.parameters:
            weights += array_text(f"{p.name}{number}", p.c_type, values[p.name])
        body, update = graph_text(number)
        bodies.append(body)
        updates.append(update)
        for kernel in n.kernels:
            text = render_template(kernel.template, k=kernel)
            (folder / f"{kernel.family}.hpp").write_text(text)
        (folder / f"{n.call.symbol}.cpp").write_text(render_template(n.template, call=n))
    declared = [f"void {n.call.symbol}({', '.join(n.arguments)});" for n in NESTS]
    header = ("#pragma once", "#include <adf.h>", *declared)
    (folder / "kernels.h").write_text("\n".join(header) + "\n")
    (folder / "weights.h").write_text(weights)
    parts = {"body": "\n".join(bodies), "updates": "\n".join(updates)}
    (folder / "zz_app.cpp").write_text(PROGRAM.format(count=len(NESTS), **parts))


@pytest.mark.parametrize(
    "compiler",
    [FASTEST, *(pytest.param(c, marks=pytest.mark.slow) for c in COMPILERS if c != FASTEST)],
)
def test_nests_equal_numpy(tmp_path, compiler) -> None:
    if compiler not in COMPILERS:
        pytest.skip(f"not installed: {compiler}")
    write_nests(tmp_path)
    done = build_and_run(tmp_path, compiler)
    assert done.returncode == 0, done.stderr[:4000]
    for number, n in enumerate(NESTS):
        s = n.call.spec
        x, w, numbers = operands(number)
        whole = replace(s, m=s.m * n.m_tiles, k=s.k * n.k_tiles, n=s.n * n.n_tiles)
        words = (tmp_path / "data" / f"y{number}.txt").read_text().split()
        stored = np.array(words, np.int64).astype(storage(s.requantise.dtype))
        wanted = dense_reference(whole, x, w, numbers)
        if n.rounded:
            exact, turns = wanted, [[s.k] * n.k_tiles]
            sums = rounded_sums(n.kernels[0], x, w, numbers.bias, turns, n.call.shift)
            wanted = requantised(s, sums, Scale(n.call.shift))
            assert not np.array_equal(wanted, exact)
        np.testing.assert_array_equal(received(n, stored), wanted)


def test_kernels_of_a_cascaded_nest() -> None:
    """Sums arrive before the first tile of K and leave after the last, wherever the tile stands."""
    for position, starts, ends in (
        ("first", "only", "first"),
        ("middle", "last", "first"),
        ("last", "last", "only"),
    ):
        spec = replace(SHIFT, position=position, bias=position == "first", relu=False)
        first, middle, last = nest("f", spec, 1, 1, 3).kernels
        assert (first.position, middle.position, last.position) == (starts, "only", ends)
        assert (first.resumes, middle.resumes, last.resumes) == (False, True, True)
        assert first.bias == (position == "first")


def test_sums_are_passed_on_in_blocks_of_one_size() -> None:
    """Only who stores results has another block in the last turn: no word of a cascade is its."""
    spec = replace(CHANNEL, m=16)
    kernels = nest("f", spec, 1, 1, 3, last_block=(1, 1)).kernels
    assert [(k.rows, k.columns) for k in kernels] == [(2, 2), (2, 2), (1, 1)]
    passing = nest("f", replace(spec, position="first"), 1, 1, 3, last_block=(1, 1))
    assert {(k.rows, k.columns) for k in passing.kernels} == {(2, 2)}


def test_the_first_turn_has_blocks_of_its_own_where_no_cascade_comes_to_it() -> None:
    """A block's bias is added by a product for each of its columns, so tall blocks have fewer."""
    spec = replace(SHIFT, m=16, relu=False)
    for position, own in (("only", True), ("first", True), ("middle", False), ("last", False)):
        one = replace(spec, position=position, bias=own)
        kernels = nest("f", one, 1, 1, 3, first_block=(4, 1)).kernels
        blocks = [(k.rows, k.columns) for k in kernels]
        assert blocks == [(4, 1) if own else (2, 2), (2, 2), (2, 2)]


def test_nests_that_are_refused() -> None:
    with pytest.raises(TargetError, match="loops over nothing"):
        nest("f", SHIFT, 0, 1, 1)
    with pytest.raises(TargetError, match="only plain matrix kernels"):
        nest("f", replace(SHIFT, bias=False, resumes=True), 1, 1, 2)
