"""Ways through which an interface tile's DMA goes through tensors itself."""

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from match_aie.errors import Infeasible
from match_aie.targets.aie_ml.array.check import check
from match_aie.targets.aie_ml.array.layout import lay_out
from match_aie.targets.aie_ml.execute import execute
from match_aie.targets.aie_ml.graph.blocks import Blocks
from match_aie.targets.aie_ml.graph.cut_plan import plan_cut
from match_aie.targets.aie_ml.known import device
from match_aie.targets.versal.executing import drawn
from match_aie.targets.xdna.direct import direct
from match_aie.targets.xdna.mlir import kernels_of, read, text
from match_aie.targets.xdna.mlir.host import dimensions, host_arguments
from match_aie.targets.xdna.mlir.tensors import graph_host
from match_aie.workload import reference
from tests.aie_attention import drawn_floats, float_attention
from tests.unit.targets.xdna.test_by_stream import planned

NPU1 = device("npu1")

#: Rows, reduction, columns: steps of 32 bits and of fewer; a reduction that tiles fill up.
SIZES = [(192, 1536, 64), (96, 1608, 64), (90, 1040, 64)]


def laid_out(sizes, form="channel"):
    """A layer's program whose ways go through tensors themselves."""
    plan, workload, constants = planned(form, sizes=sizes)
    graph = direct(plan.graph("layer", workload, constants), None, NPU1)
    program = lay_out(graph, NPU1)
    assert not isinstance(program, Infeasible)
    check(program, NPU1)
    return graph, program, workload, constants


def through(graph):
    return [one for one in graph.outside if one.blocks is not None and one.blocks.memory]


@pytest.mark.parametrize("sizes", SIZES)
def test_results_do_not_depend_on_what_follows(sizes):
    graph, program, workload, constants = laid_out(sizes)
    assert any(not one.blocks.contiguous for one in through(graph))
    x = drawn(workload.inputs[0], np.random.default_rng(2))
    wanted = reference(workload, [x], constants)
    done = execute(program, NPU1, {"x": x})
    np.testing.assert_array_equal(done.tensor(wanted), wanted)
    assert read(text(program, NPU1), NPU1, kernels_of(program)) == program


def test_some_way_reads_beyond_its_columns():
    """Otherwise the test above would not show that this does no harm."""
    graphs = [laid_out(sizes)[0] for sizes in SIZES]
    assert any(not one.blocks.within for graph in graphs for one in through(graph))


def test_floats_go_through_tensors_only_where_they_lie_as_bfloat16():
    """Heads beside each other in rows; what follows the last keys is 0, which the rows need."""
    workload, constants = float_attention(0, heads=2, sizes=(20, 70, 16))
    plan = plan_cut(workload, "npu1", 4)
    assert not isinstance(plan, Infeasible)
    graph = plan.graph("layer", workload, constants)
    assert through(direct(graph, None, NPU1)) == []
    narrow = direct(graph, None, NPU1, narrow=True)
    assert len(through(narrow)) == len(narrow.outside)
    program = lay_out(narrow, NPU1)
    assert not isinstance(program, Infeasible)
    inputs = drawn_floats(workload, np.random.default_rng(3))
    wanted = reference(workload, [inputs[o.name] for o in workload.inputs], constants)
    done = execute(program, NPU1, inputs)
    np.testing.assert_array_equal(done.tensor(wanted), wanted)
    assert read(text(program, NPU1), NPU1, kernels_of(program)) == program


def test_ways_of_a_tensor_share_its_place():
    graph, program, workload, _ = laid_out(SIZES[0])
    inputs = next(one for one in host_arguments(program) if one.name == "inputs")
    assert len({one.base for one in inputs.ways}) == 1 < len(inputs.ways)
    assert inputs.words * 4 >= workload.inputs[0].nbytes
    written = text(program, NPU1)
    for one in through(graph):
        (sizes,) = re.findall(rf"\]\[([\d, ]+)\]\[.*metadata = @{one.name}\}}", written)
        assert np.prod([int(n) for n in sizes.split(", ")]) * 4 == one.elements


def test_results_that_are_spread_lie_on_top_of_whole_ones():
    """The tensor that the array writes itself is copied first, whichever way comes first."""
    graph, program, workload, _ = laid_out(SIZES[0])
    whole = graph.outputs[0]
    (way,) = (one for one in program.ways if one.outside.name == whole.name)
    assert whole.blocks.memory
    spread = replace(whole, name="spread", blocks=replace(whole.blocks, memory=""))
    both = replace(program, ways=(*program.ways, replace(way, outside=spread)))
    made = replace(graph, outputs=(spread, whole), connections=())
    host = graph_host(both, made, None, [("layer", workload)])
    assert [one.view.name for one in host.unpacked] == [whole.name, "spread"]


def test_columns_of_a_wider_tensor_need_no_other_configuration():
    """Only the host's transfers differ: a wide layer is runs of a narrow one's program."""
    graph, program, workload, constants = laid_out(SIZES[0])
    each = workload.output.shape[-1]
    wide = 3 * each
    (way,) = graph.outputs
    blocks = replace(way.blocks, matrix=(way.blocks.matrix[0], wide), column=each)
    other = direct(replace(graph, outputs=(replace(way, blocks=blocks),)), None, NPU1)
    moved = lay_out(other, NPU1)
    texts = [text(one, NPU1).split("aie.shim_dma_allocation") for one in (program, moved)]
    assert texts[0][0] == texts[1][0]
    assert texts[0][-1] != texts[1][-1]
    x = drawn(workload.inputs[0], np.random.default_rng(2))
    wanted = np.zeros((workload.output.shape[0], wide), np.int8)
    wanted[:, each : 2 * each] = reference(workload, [x], constants)
    np.testing.assert_array_equal(execute(moved, NPU1, {"x": x}).tensor(wanted), wanted)


@pytest.mark.parametrize(
    ("rows", "passes", "blocks", "fits"),
    [
        (1536, 1, 8, True),
        (40, 6, 4, True),
        (1536, 2, 1, False),
        (1031, 1, 1, False),
        (8, 65, 1, False),
    ],
)
def test_what_a_descriptor_counts(rows, passes, blocks, fits):
    """Rows of one pass are two dimensions where they are more than ten bits count."""
    matrix = passes * rows, 16 * blocks
    held = Blocks("x", matrix, rows, 16, 0, rows, passes, 0, 16, blocks)
    graph = laid_out(SIZES[0])[0]
    way = replace(graph.inputs[0], elements=held.elements, blocks=held)
    named = direct(replace(graph, inputs=(way,), connections=()), None, NPU1).inputs[0].blocks
    assert bool(named.memory) == fits
    if not fits:
        return
    sizes, steps = dimensions(named)
    assert sizes[0] <= 64
    assert max(sizes[1:]) <= 1023
    x = np.arange(held.elements)
    at = np.zeros(1, int)
    for size, step in zip(sizes, steps, strict=True):
        at = (at[:, None] + step * np.arange(size)).reshape(-1)
    np.testing.assert_array_equal(x[at], held.cut(x))


def test_floats_and_chains_are_gathered_where_columns_do_not_end_together():
    graph, *_ = laid_out(SIZES[0])
    plain = [replace(one, blocks=replace(one.blocks, memory="")) for one in through(graph)]
    for one in plain:
        beyond = replace(one, blocks=replace(one.blocks, column=one.blocks.matrix[1] - 4))
        made = replace(graph, inputs=(beyond,), outputs=(one,), connections=())
        assert direct(made, None, NPU1).inputs[0].blocks.memory
        out = direct(replace(made, inputs=(one,), outputs=(beyond,)), None, NPU1).outputs[0]
        assert not out.blocks.memory
        narrow = replace(one, dtype="bfloat16")
        assert not direct(replace(made, inputs=(narrow,)), None, NPU1).inputs[0].blocks.memory


@given(
    rows=st.integers(1, 6),
    width=st.integers(1, 5),
    passes=st.integers(1, 3),
    blocks=st.integers(1, 3),
    row=st.integers(0, 4),
    column=st.integers(0, 4),
)
def test_inside_of_a_matrix_it_is_what_the_processor_gathers(
    rows, width, passes, blocks, row, column
):
    step = max(1, rows - 1)
    deep = row + (passes - 1) * step + rows
    wide = column + blocks * width
    made = Blocks("x", (deep, wide), rows, width, row, step, passes, column, width, blocks)
    assert made.inside
    x = np.arange(deep * wide, dtype=np.int16)
    followed = replace(made, memory="x0")
    np.testing.assert_array_equal(followed.cut(x), made.cut(x))
    beyond = replace(followed, rows=rows + 2)
    whole = np.concatenate((x, np.zeros(beyond.reach, np.int16)))
    assert beyond.cut(x)[-1] == whole[beyond.reach - 1]
