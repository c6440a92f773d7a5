"""What the cost model of float32 products knows of caches, and whether the search minimises it."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from match_aie.hardware import Cut, Loop, Mapping
from match_aie.hardware.cost import Block
from match_aie.mapping import SearchOptions, check, overfull, search
from match_aie.mapping.evaluate import Evaluation
from match_aie.targets.cpu.float_cost import STARTS, rows_as_they_lie
from match_aie.targets.cpu.float_module import FloatProducts
from match_aie.targets.cpu.float_tile import MOST_TALL, choose, rows_kept
from match_aie.targets.cpu.machine import machine, with_caches
from match_aie.workload import real_dense
from tests.unit.mapping.oracle import candidates, nests

V3 = machine("x86-64-v3")


def waited(workload, name, nbytes, chunks):
    module = FloatProducts(V3)
    block = Block(workload.operand(name), np.asarray(nbytes), np.asarray(chunks))
    inner, outer = module.memories
    return float(module.cost_model(workload).transfer_cycles(workload, block, outer, inner, "load"))


def test_panels_wait_only_where_they_come_slower_than_tiles_take_them():
    # A step takes 64 bytes of a panel in 6 cycles: the last cache gives 12 bytes a cycle.
    fits = real_dense(rows=128, inputs=768, outputs=768)
    assert waited(fits, "weight", 768 * 768 * 4, 1) == 0
    # 9 MB come from memory, 5 bytes a cycle.
    large = real_dense(rows=128, inputs=768, outputs=3072)
    assert waited(large, "weight", 6400, 1) == pytest.approx(6400 / 5 - 100 * 6)


def test_every_tile_of_rows_waits_where_they_begin():
    workload = real_dense(rows=96, inputs=512, outputs=64)
    begins = STARTS * V3.caches[2].latency
    assert waited(workload, "x", 96 * 512 * 4, 1) == pytest.approx(96 / 6 * begins)  # whole rows
    assert waited(workload, "x", 96 * 128 * 4, 96) == pytest.approx(96 / 6 * begins)  # parts
    assert waited(workload, "x", 24 * 512 * 4, 1) == pytest.approx(24 / 6 * begins)
    turned = real_dense(rows=96, inputs=512, outputs=64, x_axes=("C", "B"))
    assert rows_as_they_lie(workload)
    assert not rows_as_they_lie(turned)
    assert waited(turned, "x", 96 * 512 * 4, 1) == 0


@pytest.mark.parametrize("y_axes", [("B", "K"), ("K", "B")])
def test_larger_blocks_never_cost_less(y_axes):
    workload = real_dense(rows=240, inputs=2048, outputs=640, y_axes=y_axes)
    model = FloatProducts(V3).cost_model(workload)
    steps = {"B": np.arange(24, 241, 24), "K": np.arange(16, 641, 16), "C": np.arange(64, 2049, 64)}
    for dim, sizes in steps.items():
        for other in product((24, 48, 240), (64, 640), (256, 2048)):
            tile = {n: np.asarray(s) for n, s in workload.dims}
            tile |= {n: np.asarray(s) for n, s in zip("BKC", other, strict=True)} | {dim: sizes}
            cycles = model.kernel_cycles(workload, tile)
            assert np.all(np.diff(cycles) > 0), (dim, other)


def test_a_reduction_in_parts_costs_the_kernel_more_than_in_one():
    workload = real_dense(rows=96, inputs=768, outputs=64)
    model = FloatProducts(V3).cost_model(workload)
    tile = {n: np.asarray(s) for n, s in workload.dims}
    whole = float(model.kernel_cycles(workload, tile))
    assert 2 * float(model.kernel_cycles(workload, tile | {"C": np.asarray(384)})) > whole


def mappings(workload, module):
    """Every nest down to the unrolling, with every kernel and all cuts outside it."""
    sizes, spatial = dict(workload.dims), module.spatial(workload)
    grain = {loop.dim: loop.size for loop in spatial}
    choices = {dim: candidates(sizes[dim], unit, "ragged") for dim, unit in grain.items()}
    inner = module.memories[0].name
    for nest in nests(choices, sizes, set(sizes) - set(grain)):
        left, temporal = dict(sizes), []
        for dim, step in nest:
            temporal.append(Loop(dim, -(-left[dim] // step), step))
            left[dim] = step
        if any(left[dim] != unit for dim, unit in grain.items()):
            continue
        for kernel in range(len(temporal) + 1):
            for at in product(range(kernel + 1), repeat=3):
                cuts = tuple(
                    Cut(n, inner, i) for n, i in zip(("x", "weight", "y"), at, strict=True)
                )
                yield Mapping(tuple(spatial), tuple(temporal), kernel, cuts)


def brute_force(workload, module):
    """The least cost of all mappings that fit, every tile priced by itself."""
    model, least = module.cost_model(workload), float("inf")
    for mapping in mappings(workload, module):
        if not overfull(workload, module, model, mapping):
            least = min(least, Evaluation(workload, module, model, mapping).cost().cycles)
    return least


@pytest.mark.parametrize(
    ("rows", "inputs", "outputs", "second"),
    [(48, 768, 128, 300 << 10), (60, 1152, 64, 360 << 10)],
)
def test_the_search_finds_the_least_cost_of_all_blockings(rows, inputs, outputs, second):
    facts = with_caches(V3, {2: second})
    module = FloatProducts(facts)
    workload = real_dense(rows=rows, inputs=inputs, outputs=outputs)
    best = search(workload, module, SearchOptions("exact"))[0]
    assert best.cost.cycles == pytest.approx(brute_force(workload, module), rel=1e-9)
    assert best.mapping.kernel > 0  # not all fits at once
    assert not check(workload, module, best.mapping)
    quick = search(workload, module, SearchOptions("loma"))[0]
    assert quick.cost.cycles <= best.cost.cycles * (1 + module.precision)


def test_the_search_may_stop_within_the_precision_of_the_model():
    workload = real_dense(rows=196, inputs=2048, outputs=512)
    module = FloatProducts(V3)
    bound = search(workload, module, SearchOptions("exact"))[0].cost.cycles
    within = search(workload, module)[0].cost.cycles
    assert bound <= within * (1 + 1e-9)
    assert within <= bound * (1 + module.precision)


def test_without_latencies_rows_begin_at_once():
    known = FloatProducts(V3)
    bare = replace(V3, caches=tuple(replace(c, latency=0.0) for c in V3.caches))
    workload = real_dense(rows=96, inputs=512, outputs=64)
    tile = {n: np.asarray(s) for n, s in workload.dims}
    price = [
        float(module.cost_model(workload).kernel_cycles(workload, tile))
        for module in (known, FloatProducts(bare))
    ]
    assert price[0] - price[1] == STARTS * V3.caches[1].latency * 16 * 4


@pytest.mark.parametrize(
    ("stride", "rows"),
    [
        (3072 * 4, 6),  # a multiple of a way: all rows in one set of eight lines
        (1024 * 4, 6),
        (512 * 4, 12),
        (768 * 4, MOST_TALL),
        (1025 * 4, 6),  # rows drift by four bytes each
        (0, MOST_TALL),
    ],
)
def test_rows_that_share_a_set_of_the_first_cache_are_no_more_than_it_holds(stride, rows):
    assert rows_kept(V3, stride) == rows
    for name in ("x86-64-v3", "x86-64-v4"):
        core = machine(name)
        tile = choose(core, 128, 768, 3072, stride=stride)
        at = [row * stride // 64 * 64 % 4096 for row in range(tile.mr)]
        assert not stride or max(map(at.count, at)) < core.caches[0].bytes // 4096


def test_where_nothing_is_known_of_ways_tiles_are_as_tall_as_ever():
    known = machine("aarch64")
    assert known.caches[0].way == 0
    assert rows_kept(known, 4096) == MOST_TALL
    assert choose(known, 128, 768, 1024, stride=4096) == choose(known, 128, 768, 1024)
    assert rows_kept(with_caches(V3, {1: 49152}), 4096) == 10
