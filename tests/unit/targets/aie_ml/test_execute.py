"""Programs of the array executed: bit for bit what references say, and what stops them."""

import re
from dataclasses import replace

import numpy as np
import pytest

from match_aie.errors import OptionError
from match_aie.targets.aie_ml.array import ArrayMapping
from match_aie.targets.aie_ml.array.program import Channel, Descriptor
from match_aie.targets.aie_ml.array.words import meant, one_use, walked
from match_aie.targets.aie_ml.devices import Tiling
from match_aie.targets.aie_ml.execute import ExecutionError, execute
from match_aie.targets.aie_ml.graph.dense import DenseGraph
from match_aie.targets.aie_ml.graph.dense_plan import dense_layer
from match_aie.targets.aie_ml.kernels.block import Access
from tests.aie_programs import VEK280, case, edited, equal, product_case
from tests.aie_timed import layer

I8 = Tiling(4, 8, 8, True)
MEMORY = Channel((3, 1), "mm2s", 0)


def dense_case(sizes, parts, call):
    """A dense layer in so many parts; sizes need not be multiples of anything."""
    rng = np.random.default_rng(0)
    made = layer(rng, *sizes)
    mapping = ArrayMapping(dense_layer(made[0]), I8, (1, 1), "overlapped", *parts, *call)
    return case(DenseGraph("layer", mapping, VEK280, *made).graph, *made, rng)


MAPPINGS = {
    "one tile": ((13, 40, 24), (1, 1, 1), (8, 24)),
    "a chain": ((24, 200, 72), (4, 1, 1), (16, 72)),
    "parts of columns": ((16, 128, 96), (2, 3, 1), (16, 32)),
    "parts of rows": ((61, 64, 40), (1, 2, 2), (16, 24)),
    "many results": ((16, 128, 128), (4, 8, 1), (16, 16)),
}


@pytest.mark.parametrize("name", MAPPINGS)
def test_dense_layers_equal_their_references(name):
    equal(dense_case(*MAPPINGS[name]))


def test_results_do_not_depend_on_what_nobody_wrote():
    """Rows behind a tensor's last one are read as they lie; no result is made of them."""
    made = dense_case((3, 64, 40), (1, 1, 1), (8, 40))
    assert any(buffer.written is not None for buffer in made.program.buffers)
    for poison in (0x00, 0x7F, 0xFF):
        equal(made, poison=poison)


def test_every_word_is_counted():
    made = product_case(1)
    done = execute(made.program, VEK280, made.inputs)
    uses = {(use.tile, use.buffer): use for use in done.buffers}
    sent = {tile: 0 for tile, _ in uses}
    for route in made.program.routes:
        for sink in route.sinks:
            if sink.tile in sent:
                sent[sink.tile] += route.bytes * route.sends // 4
    for core in made.program.cores:
        inputs = [uses[core.tile, name] for name in core.buffers if name != "out"]
        assert sum(use.written for use in inputs) == sent[core.tile]
        assert all(use.written == use.read and use.untouched == 0 for use in inputs)
    assert done.calls == sum(len(core.work) for core in made.program.cores)


# ------------------------------------------------------------------ what stops a program


def refused(program, inputs):
    with pytest.raises(ExecutionError) as caught:
        execute(program, VEK280, inputs)
    return caught.value.what


def test_a_word_that_nobody_wrote_is_named():
    made = dense_case((3, 64, 40), (1, 1, 1), (8, 40))
    bare = [replace(buffer, written=None) for buffer in made.program.buffers]
    what = refused(replace(made.program, buffers=tuple(bare)), made.inputs)
    pattern = r"descriptor \d+ on mm2s channel \d of tile \(\d+, [12]\) reads word \d+ of copy 0 of"
    assert re.match(pattern + r" buffer 'x0' of tile .*, which nothing has written", what)


def test_descriptors_that_miss_a_word_are_found_by_the_kernel():
    made = product_case(0)
    core = made.program.cores[0].tile
    broken = edited(
        made.program,
        "descriptors",
        lambda d: d.channel.tile == core and d.channel.direction == "s2mm",
        dims=((1, 1), (made.program.buffer_at[core, "in0"].bytes // 4, 0)),
    )
    assert f"the kernel of core {core} reads word 1 of copy 0" in refused(broken, made.inputs)


def test_moved_data_is_not_the_reference():
    """What an offset moves is seen in the numbers, even where all words are written."""
    made = dense_case(*MAPPINGS["a chain"])
    broken = edited(
        made.program,
        "descriptors",
        lambda d: d.channel.tile[1] in (1, 2) and d.channel.direction == "mm2s" and d.offset >= 8,
        offset=8,
    )
    done = execute(broken, VEK280, made.inputs)
    assert not np.array_equal(done.tensor(made.wanted), made.wanted)


def test_a_missing_stream_hangs_and_says_who_waits():
    made = product_case(0)
    first, *others = made.program.routes
    what = refused(replace(made.program, routes=tuple(others)), made.inputs)
    assert "the program hangs" in what
    assert f"a full copy of buffer '{first.writes[0]}' of tile {first.sinks[0].tile}" in what


def test_a_lock_that_lets_nobody_in_hangs():
    made = product_case(0)
    tile = made.program.cores[0].tile
    broken = edited(
        made.program,
        "locks",
        lambda k: k.tile == tile and k.buffer == "out" and k.state == "empty",
        initial=0,
    )
    assert f"core {tile}: an empty copy of buffer 'out'" in refused(broken, made.inputs)


def test_a_buffer_without_a_lock_is_named():
    made = product_case(0)
    tile = made.program.cores[0].tile
    left = [k for k in made.program.locks if (k.tile, k.buffer) != (tile, "in0")]
    what = refused(replace(made.program, locks=tuple(left)), made.inputs)
    assert f"buffer 'in0' of tile {tile} has no lock" in what


def chained():
    """A layer on a chain of tiles."""
    made = dense_case(*MAPPINGS["a chain"])
    assert made.program.cascades
    return made


def test_a_missing_cascade_is_named():
    made = chained()
    what = refused(replace(made.program, cascades=()), made.inputs)
    assert re.match(r"core \(\d+, \d+\) has no cascade for its sums", what)


def test_ends_of_a_cascade_with_other_blocks_are_named():
    made = chained()
    link = made.program.cascades[0]
    core = made.program.core_at[link.source]
    other = replace(core.function, spec=replace(core.function.spec, rows=2))
    cores = tuple(
        replace(core, function=other) if each is core else each for each in made.program.cores
    )
    what = refused(replace(made.program, cores=cores), made.inputs)
    assert "takes sums in another order than they come" in what


def test_who_sums_less_often_than_it_is_sent_to_hangs_the_chain():
    """A cascade holds a few words: the core before cannot go on when nobody takes them."""
    made = chained()
    link = made.program.cascades[0]
    cores = [
        replace(core, work=core.work[:-1]) if core.tile == link.sink else core
        for core in made.program.cores
    ]
    what = refused(replace(made.program, cores=tuple(cores)), made.inputs)
    assert "hangs" in what
    assert f"core {link.source}: room in its cascade to {link.sink}" in what


def test_a_missing_tensor_is_the_callers_mistake():
    made = product_case(0)
    with pytest.raises(OptionError, match="no tensor 'x1'"):
        execute(made.program, VEK280, {"x": made.inputs["x"]})


# ------------------------------------------------------------------ descriptors


def test_descriptors_pad_and_iterate():
    plain = Descriptor(MEMORY, 0, "b", 0, 4, offset=3)
    assert one_use(plain).tolist() == [3, 4, 5, 6]
    padded = Descriptor(MEMORY, 0, "b", 0, 12, ((2, 1), (2, 5)), ((1, 0), (0, 2)), 1, (2, 20))
    zero = -1
    first = [zero, 1, 2, zero, 6, 7, *[zero] * 6]
    assert one_use(padded).tolist() == first
    assert one_use(padded, 1).tolist() == [w + 20 if w >= 0 else w for w in first]
    assert walked((padded,)).tolist() == [*one_use(padded), *one_use(padded, 1)]


def test_accesses_mean_words():
    """Tiles of 4 x 2 bytes of a 12 x 3 matrix whose last row is not there."""
    way = Access((12, 3), (4, 2), (4, 0), ((1, 2, 2),), (12, 2))
    assert meant(way, 1).tolist() == [1, 4, -1, -1]
    assert meant(Access((4,), (4,), (0,)), 8).tolist() == list(range(8))
