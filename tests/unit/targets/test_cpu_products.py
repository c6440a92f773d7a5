"""Packing, panels, blocks and register tiles of products."""

from dataclasses import replace

import numpy as np
import pytest

from match_aie.cost_models.products import (
    ALIKE,
    RegisterTile,
    best_tile,
    registers,
    requantise_operations,
    tile_cycles,
)
from match_aie.errors import Infeasible
from match_aie.hardware import Cut, Loop, Mapping
from match_aie.mapping import search
from match_aie.targets.cpu.blocks import blocks
from match_aie.targets.cpu.fetch import fetch
from match_aie.targets.cpu.form import form
from match_aie.targets.cpu.machine import machine
from match_aie.targets.cpu.module import Int8Module, UntiledModule
from match_aie.targets.cpu.pack import pack_product
from match_aie.targets.cpu.product import Panel, panels, plan
from match_aie.workload import Quantized, Window, conv2d, dense, full_range, matmul

U8, S8 = Quantized("uint8", 0.1, 9), Quantized("int8", 0.1, -3)
TAIL = full_range("int8", -3)


def dense_of(x=U8, inputs=5, outputs=11, **more):
    return dense(x, S8, rows=2, inputs=inputs, outputs=outputs, tail=TAIL, scales=1, **more)


@pytest.mark.parametrize(
    ("arch", "x", "weight", "expected"),
    [
        ("x86-64-v3", U8, "int8", ("madd", 2, "int16", 9)),
        ("x86-64-v3+avxvnni", U8, "int8", ("dpbusd", 4, "uint8", 0)),
        ("x86-64-v4+avx512vnni", S8, "int8", ("dpbusd", 4, "uint8", -128)),
        ("x86-64-v4+avx512vnni", S8, "int16", ("madd", 2, "int16", -3)),
        ("aarch64", U8, "int8", ("sdot", 4, "int8", 128)),
        ("aarch64", S8, "int16", ("plain", 1, "int16", -3)),
        ("rv64gcv", S8, "int8", ("plain", 1, "int16", -3)),
    ],
)
def test_forms(arch, x, weight, expected):
    made = form(machine(arch), dense_of(x, weight_dtype=weight))
    assert (made.dot, made.group, made.element, made.subtract) == expected


VNNI = "x86-64-v4+avx512vnni"


@pytest.mark.parametrize(
    ("arch", "x", "x1", "expected"),
    [
        ("x86-64-v3", U8, U8, ("int16", 9, 0, False, False)),
        (VNNI, U8, U8, ("int8", 128, -119, True, True)),
        (VNNI, S8, S8, ("int8", 0, -3, True, True)),
        (VNNI, replace(U8, zero_point=0), S8, ("int8", 0, -3, False, True)),
        (VNNI, U8, replace(U8, zero_point=128), ("int8", 128, 0, True, False)),
        ("aarch64", S8, U8, ("int8", 128, -119, True, True)),
        ("rv64gcv", S8, U8, ("int16", 9, 0, False, False)),
    ],
)
def test_run_time_matrices_are_packed_as_products_take_them(arch, x, x1, expected):
    facts, w = machine(arch), matmul(x, x1, S8, batch=2, rows=7, inner=8, columns=5, tail=TAIL)
    packed = plan(facts, w, Mapping((), ()), RegisterTile(1, 1)).packed
    assert packed is not None
    found = (packed.element, packed.subtract, packed.zero, packed.starts > 0, packed.rows > 0)
    assert found == expected
    columns = 2 * -(-5 // facts.lanes) * facts.lanes
    assert packed.elements == 8 * columns
    assert packed.starts in (0, columns)
    assert packed.rows in (0, 2 * 7)
    assert packed.nbytes > packed.elements + 4 * (packed.starts + packed.rows)


@pytest.mark.parametrize("arch", ["x86-64-v3", "x86-64-v4+avx512vnni", "aarch64", "rv64gcv"])
@pytest.mark.parametrize("x", [U8, S8])
def test_packed_weights_give_the_same_sums(arch, x):
    """What the kernels compute, in numpy: prepared data times packed weights plus packed bias."""
    facts, w = machine(arch), dense_of(x)
    made, rng = form(facts, w), np.random.default_rng(3)
    weight = rng.integers(-128, 128, (11, 5)).astype(np.int8)
    bias = rng.integers(-999, 999, 11).astype(np.int32)
    packed = pack_product(facts, w, 2, {"weight": weight, "bias": bias, "scale": np.ones(1)})
    data = rng.integers(0, 100, 5)
    run = -(-5 // made.group) * made.group
    prepared = np.zeros(run, int)
    prepared[:5] = data - made.subtract
    columns, sums, at = facts.lanes, [], 0
    whole, panel, last = panels(11, 2, columns)
    for width in [panel.vectors * columns] * whole + ([last.vectors * columns] if last else []):
        size = width * run
        part = packed["weight"][at : at + size].reshape(run // made.group, width, made.group)
        sums.append((part * prepared.reshape(-1, 1, made.group)).sum(axis=(0, 2)))
        at += size
    assert at == packed["weight"].size
    got = (np.concatenate(sums) + packed["bias"])[:11]
    expected = weight.astype(int) @ (data - x.zero_point) + bias
    assert np.array_equal(got, expected)
    assert packed["scale"].shape == packed["bias"].shape


def test_panels():
    assert panels(32, 2, 8) == (2, Panel(2, 16), None)
    assert panels(10, 2, 8) == (0, Panel(2, 16), Panel(2, 10))


def test_block_loops_follow_the_mapping():
    w = conv2d(U8, S8, shape=(1, 9, 8, 4), weight_shape=(16, 1, 1, 4), tail=TAIL, scales=1)
    loops = (Loop("K", 2, 8), Loop("OY", 3, 4), Loop("OX", 1, 8), Loop("OY", 2, 2), Loop("C", 4))
    made = blocks(w, Mapping((), loops, kernel=4))
    assert [loop.variable for loop in made.loops] == ["k0", "oy0", "", "oy1"]
    assert [loop.exact for loop in made.loops] == [True, False, True, False]
    assert made.loops[3].end == "oy0_end"
    inside = made.inside(4, "OY")
    assert (inside.start, inside.least, inside.most, inside.fixed) == ("oy1", 1, 2, None)
    assert made.inside(1, "K").length == "8"
    assert made.inside(0, "B").fixed == 1
    assert made.inside(4, "FX").most == 1


def test_a_tile_needs_scratch_for_itself_only():
    w = conv2d(
        U8, S8, shape=(1, 64, 8, 4), weight_shape=(16, 3, 3, 4), tail=TAIL, scales=1,
        window=Window(padding=(1, 1, 1, 1)),
    )  # fmt: skip
    module = Int8Module(machine("x86-64-v3"))
    small = Mapping((), (Loop("OY", 8, 8),), kernel=1, cuts=(Cut("x", "L1", 1),))
    assert plan(module.machine, w, small, RegisterTile(4, 2)).image.rows == 10
    assert 0 < module.workspace_bytes(w, small) < module.scratch_bytes(w) / 4


@pytest.mark.parametrize("arch", ["x86-64-v3", "x86-64-v4", "x86-64-v4+avx512vnni", "aarch64"])
def test_register_tiles_fit_the_registers(arch):
    facts = machine(arch)
    for pixels in (1, 5, 64):
        for columns in (1, 40, 256):
            tile = best_tile(facts, facts.dot, True, pixels, columns, 72)
            assert registers(facts.dot, tile) <= facts.vector_registers
            assert tile.rows <= pixels


def test_dot_products_with_latency_need_many_sums():
    facts = machine("x86-64-v4+avx512vnni")
    tile = best_tile(facts, "dpbusd", True, 64, 256, 72)
    assert tile.rows * tile.vectors >= facts.peaks.fma_latency * facts.peaks.dots


@pytest.mark.parametrize(("pixels", "columns"), [(64, 768), (64, 3072), (49, 512), (7, 96)])
def test_of_tiles_that_cost_alike_none_reads_fewer_weights_from_afar(pixels, columns):
    facts, steps = machine("x86-64-v4+avx512vnni"), 192

    def price(tile: RegisterTile) -> tuple[float, float]:
        """(cycles, bytes of panels beyond the first cache that all tiles read)."""
        whole, left = divmod(columns, tile.vectors * facts.lanes)
        lasts = [RegisterTile(tile.rows, -(-left // facts.lanes))] * (left > 0)
        each = [tile_cycles(facts, "dpbusd", True, t, steps) for t in [tile] * whole + lasts]
        tiles, panel = -(-pixels // tile.rows), steps * 64 * tile.vectors
        far = panel * len(each) * tiles if 2 * panel > facts.caches[0].bytes else 0
        return sum(each) * tiles, far

    legal = [
        RegisterTile(rows, vectors)
        for vectors in range(1, min(8, columns // facts.lanes) + 1)
        for rows in range(1, min(16, pixels) + 1)
        if registers("dpbusd", RegisterTile(rows, vectors)) <= facts.vector_registers
    ]
    least = min(price(tile)[0] for tile in legal)
    cycles, far = price(best_tile(facts, "dpbusd", True, pixels, columns, steps))
    assert cycles <= least * (1 + ALIKE)
    assert far == min(b for a, b in map(price, legal) if a <= least * (1 + ALIKE))


def test_a_row_that_no_cache_holds_runs_in_one_piece():
    facts, w = machine("x86-64-v3"), dense_of(inputs=40_000)
    assert isinstance(search(w, Int8Module(facts)), Infeasible)
    found = search(w, UntiledModule(facts))
    assert isinstance(found, list)
    assert sum(cycles for _, cycles in found[0].cost.parts) == found[0].cost.cycles


def test_large_images_are_tiled_by_the_first_cache():
    window = Window(padding=(1, 1, 1, 1))
    w = conv2d(
        U8, S8, shape=(1, 32, 32, 64), weight_shape=(64, 3, 3, 64), tail=TAIL, scales=1,
        window=window,
    )  # fmt: skip
    facts = machine("x86-64-v3")
    tiled, whole = search(w, Int8Module(facts)), search(w, UntiledModule(facts))
    assert tiled[0].mapping.calls > 1
    assert tiled[0].cost.cycles < whole[0].cost.cycles
    module = Int8Module(facts)
    assert module.workspace_bytes(w, tiled[0].mapping) < 2 * facts.caches[0].bytes


def test_tiles_ask_for_the_next_panel_together():
    """All of it, in requests that divide a run; nothing of weights that the second cache keeps."""
    facts = machine("x86-64-v4+avx512vnni")
    large = facts.caches[1].bytes
    for tiles, runs, steps in ((7, 3, 384), (14, 3, 192), (2, 1, 4), (49, 7, 6)):
        panel = runs * steps * 128
        made = fetch(facts, weights=large, panel=panel, tiles=tiles, runs=runs, steps=steps)
        assert steps % made.every == 0
        assert made.share == steps // made.every * runs * made.lines * 64
        assert made.last + made.share == max(panel, made.share) <= tiles * made.share
    assert fetch(facts, weights=large // 9, panel=512, tiles=2, runs=1, steps=4) is None
    assert fetch(facts, weights=large, panel=512, tiles=1, runs=1, steps=4) is None


def test_vectors_are_narrowed_four_at_a_time_on_x86():
    """Four of a pixel take less than two of two pixels, these less than one each of four."""
    x86, arm = machine(VNNI), machine("aarch64")
    each = [requantise_operations(x86, n) / n for n in (4, 2, 1)]
    assert each == sorted(each)
    assert each[0] < each[2]
    assert requantise_operations(x86, 7) == sum(requantise_operations(x86, n) for n in (4, 2, 1))
    assert requantise_operations(arm, 4) == 2 * requantise_operations(arm, 2)
