"""Functions that the text calls: their C++ stores what the interpreter's kernels store.

The same headers of kernels as Versal's graphs have, compiled with the emulation, call after call of
two runs of each core's program, at the addresses of the text.
"""

import shutil
from dataclasses import replace

import numpy as np
import pytest

import match_aie as match
from match_aie.errors import TargetError
from match_aie.targets.versal.executing import drawn, stretches
from match_aie.targets.xdna import XDNA
from match_aie.targets.xdna.mlir.objects import objects
from match_aie.targets.xdna.mlir.turns import told_shift
from tests import beside_attention
from tests.held_layers import program_of as held_program_of
from tests.overlays import (
    floats_of,
    layer_of,
    program_by,
    program_of,
    small,
    small_apart,
    small_floats,
    small_halved,
    small_single,
)
from tests.qdq_attention import AttentionNet
from tests.rounded_layers import LAYERS, rounded
from tests.xdna_kernels import compare
from tests.xdna_programs import (
    chain,
    float_dense,
    float_parts,
    float_rows,
    gru,
    image,
    parts,
    product,
    random_tensors,
    rows,
    running_parts,
    running_strips,
    turned_dense,
)

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler")


def kinds(program):
    return {type(core.function).__name__ for core in program.cores}


CHAINS = [
    ((96, (192, 64), np.int8, "npu1", 1), {"LayerCall"}),
    pytest.param((8, (16, 16, 16), np.int16, "npu1", 1), {"LayerCall"}, marks=pytest.mark.slow),
    pytest.param((512, (1024, 256), np.int8, "npu1", 1), {"Nest"}, marks=pytest.mark.slow),
    pytest.param((1504, (512, 512), np.int8, "npu1", None), {"Nest"}, marks=pytest.mark.slow),
    pytest.param((64, (64, 64), np.int8, "npu2", 2), {"LayerCall"}, marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("sizes", "wanted"), CHAINS)
def test_dense_layers(tmp_path, sizes, wanted):
    found = chain(*sizes)
    assert kinds(found.program) == wanted
    turned = {name: np.flip(x) for name, x in found.tensors.items()}
    assert compare(found.program, [found.tensors, turned], tmp_path) > 0


def test_sums_that_wait_beside_weights_that_stay(tmp_path):
    found = turned_dense()
    turned = {name: np.flip(x) for name, x in found.tensors.items()}
    assert compare(found.program, [found.tensors, turned], tmp_path) > 0


@pytest.mark.parametrize(
    "size",
    [
        (128, 64),
        pytest.param((64, 128), marks=pytest.mark.slow),
        pytest.param((64, 256), marks=pytest.mark.slow),
    ],
)
def test_layers_whose_number_of_turns_comes_at_run_time(tmp_path, size):
    """Kernels of another layer compute this one's, too, whatever shifts and turns that has."""
    other, *_ = program_of(small(), 128, 64, zero=-100)
    program, *_ = program_of(small(), *size)
    told = {told_shift(core) for one in (other, program) for core in one.cores}
    assert len(told - {None}) == 2
    rng = np.random.default_rng(size[1])
    runs = [{"x": rng.integers(-128, 128, size).astype(np.int8)} for _ in range(2)]
    assert compare(program, runs, tmp_path, other) > 0


@pytest.mark.parametrize(
    ("make", "size"),
    [
        (small_apart, (64, 128)),
        (small_single, (64, 128)),
        (small_halved, (64, 128)),
        pytest.param(small_apart, (256, 32), marks=pytest.mark.slow),
        pytest.param(small_halved, (256, 32), marks=pytest.mark.slow),
    ],
)
def test_first_turns_and_last_ones_that_differ(tmp_path, make, size):
    """Bias is stored before, in the last row of the sums; or the last turn has smaller blocks.

    Numbers by column may come in halves, those of 16 bits among them.
    """
    longest, *_ = program_of(make(), 32, 256)
    program, *_ = program_of(make(), *size)
    rng = np.random.default_rng(size[1])
    runs = [{"x": rng.integers(-128, 128, size).astype(np.int8)} for _ in range(2)]
    assert compare(program, runs, tmp_path, longest) > 0


@pytest.mark.parametrize("name", LAYERS)
def test_partial_sums_in_the_results_type(tmp_path, name):
    """Each turn requantises, the next one shifts up in place: integers of both widths, floats."""
    made = rounded(*LAYERS[name])
    assert kinds(made.program) == {"Nest"}
    assert compare(made.program, [{"x": made.drawn(seed)} for seed in range(2)], tmp_path) > 0


@pytest.mark.parametrize("make", [floats_of, pytest.param(layer_of, marks=pytest.mark.slow)])
def test_layers_whose_weights_stay_in_memory_tiles(tmp_path, make):
    """Numbers by column come with the weights of a call that takes no turns."""
    made = make(100, 72, 40)
    program, rng = held_program_of(made), np.random.default_rng(1)
    runs = [{"x": drawn(made.workload.inputs[0], rng)} for _ in range(2)]
    assert kinds(program) == {"Nest"}
    assert compare(program, runs, tmp_path) > 0


@pytest.mark.parametrize(
    "size", [(128, 64), *(pytest.param(s, marks=pytest.mark.slow) for s in ((64, 128), (64, 256)))]
)
def test_layers_in_bfloat16_whose_number_of_turns_comes_at_run_time(tmp_path, size):
    """Kernels of the longest reduction compute the others', too."""
    shared = small_floats()
    longest, program = (
        program_by(shared, floats_of(*each, shared.columns))[0] for each in ((64, 256), size)
    )
    rng = np.random.default_rng(size[1])
    runs = [{"x": rng.standard_normal(size).astype(np.float32)} for _ in range(2)]
    assert compare(program, runs, tmp_path, longest) > 0


@pytest.mark.parametrize("name", ["short", pytest.param("long", marks=pytest.mark.slow)])
def test_attention_beside_such_layers(tmp_path, name):
    """One set of object files for both, whatever dense layer it is."""
    longest, program = (
        beside_attention.program_of(beside_attention.SIZES[n]) for n in ("long", name)
    )
    runs = [beside_attention.tensors_of(beside_attention.SIZES[name], seed)[0] for seed in (1, 2)]
    assert kinds(program) == {"Nest", "StreamedAttention"}
    assert compare(program, runs, tmp_path, longest) > 0


IMAGES = [
    ("conv", 32, "Bands"),
    pytest.param("depthwise", 24, "Bands", marks=pytest.mark.slow),
    pytest.param("average", 20, "Bands", marks=pytest.mark.slow),
    pytest.param("max", 20, "PoolCall", marks=pytest.mark.slow),
    pytest.param("add", 20, "AddCall", marks=pytest.mark.slow),
    pytest.param("table", 20, "TableCall", marks=pytest.mark.slow),
]

#: Devices whose cores read tables in parallel; they repeat 128 and 256 bits.
DEVICES = ("npu1", "npu2")


@pytest.mark.parametrize(("kind", "seed", "wanted"), IMAGES)
def test_image_layers(tmp_path, kind, seed, wanted):
    program = image(kind, seed)
    assert kinds(program) == {wanted}
    rng = np.random.default_rng(seed)
    runs = [random_tensors(program, rng) for _ in range(2)]
    assert compare(program, runs, tmp_path) > 0


def test_tables_of_the_second_generation(tmp_path):
    """They repeat 256 bits where those of the first repeat 128."""
    first, second = (image("table", 20, name) for name in DEVICES)
    tables = [
        next(b.values for b in program.buffers if b.values is not None)
        .view(np.int16)
        .reshape(-1, 8)
        for program in (first, second)
    ]
    np.testing.assert_array_equal(tables[0][0], tables[0][1])
    np.testing.assert_array_equal(tables[1][:2], tables[1][2:4])
    assert not np.array_equal(tables[1][0], tables[1][1])
    runs = [random_tensors(second, np.random.default_rng(seed)) for seed in (1, 2)]
    assert compare(second, runs, tmp_path) > 0


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_products_of_activations(tmp_path, seed):
    program, runs = product(seed)
    assert kinds(program) == {"ProductCall"}
    assert compare(program, runs, tmp_path) > 0


@pytest.mark.parametrize(
    ("seed", "name"),
    [(1, "npu1"), *(pytest.param(2, name, marks=pytest.mark.slow) for name in DEVICES)],
)
def test_attention_in_parts(tmp_path, seed, name):
    """Largest scores, sums and results from call to call."""
    program, runs = parts(seed, name)
    assert kinds(program) == {"StreamedAttention"}
    assert compare(program, runs, tmp_path) > 0


@pytest.mark.parametrize(
    ("seed", "name"),
    [
        (1, "npu1"),
        (1, "npu2"),
        *(pytest.param(n, name, marks=pytest.mark.slow) for n in (2, 3) for name in DEVICES),
    ],
)
def test_attention_with_a_running_softmax(tmp_path, seed, name):
    """Powers, sums and results from call to call; results of either sign, and without."""
    program, runs = running_parts(seed, name)
    assert kinds(program) == {"RunningAttention"}
    assert compare(program, runs, tmp_path) > 0


@pytest.mark.parametrize("rows", [48, pytest.param(32, marks=pytest.mark.slow)])
def test_strips_of_a_running_softmax(tmp_path, rows):
    """Twelve rows at a time where they divide a block, else eight; keys that end within a tile."""
    program, runs = running_strips(rows)
    assert {core.function.strip for core in program.cores} == {12 if rows == 48 else 8}
    assert compare(program, runs, tmp_path) > 0


@pytest.mark.parametrize(
    ("seed", "name", "unshifted"),
    [
        (1, "npu1", False),
        (1, "npu1", True),
        (1, "npu2", False),
        (1, "npu2", True),
        *(pytest.param(2, n, False, marks=pytest.mark.slow) for n in DEVICES),
    ],
)
def test_attention_in_parts_of_bfloat16(tmp_path, seed, name, unshifted):
    """Largest scores, sums and results from call to call, or only sums and results."""
    program, runs = float_parts(seed, name, unshifted=unshifted)
    assert kinds(program) == {"FloatAttention"}
    assert compare(program, runs, tmp_path) > 0


def test_attention_in_parts_of_block_floating_point(tmp_path):
    """Sums and results from call to call; keys that end within a block."""
    program, runs = float_parts(1, "npu2", unshifted=True, blocks=True)
    assert kinds(program) == {"BlockedAttention"}
    assert compare(program, runs, tmp_path) > 0


@pytest.mark.parametrize(
    "kind",
    [
        "gelu",
        "layer_norm",
        *(pytest.param(k, marks=pytest.mark.slow) for k in ("add", "softmax", "reciprocal")),
    ],
)
def test_rows_of_bfloat16_on_the_second_generation(tmp_path, kind):
    """Tables repeat there twice as many bytes."""
    program, runs = float_rows(kind, "npu2")
    assert compare(program, runs, tmp_path) > 0


NETWORKS = [
    (AttentionNet((1, 2, 12, 40, 16, 16)).model, {}, {"AttentionCall"}),
    pytest.param(
        AttentionNet((1, 2, 12, 40, 16, 16)).model,
        {"device": "npu2"},
        {"AttentionCall"},
        marks=pytest.mark.slow,
    ),
    pytest.param(
        AttentionNet((1, 2, 12, 40, 16, 16), points=(0,) * 5).model,
        {},
        {"AttentionCall"},
        marks=pytest.mark.slow,
    ),
    (float_dense, {"device": "npu2", "floats": "bfp16"}, {"LayerCall"}),
    pytest.param(rows, {}, {"LayerCall", "NormCall", "SoftmaxCall"}, marks=pytest.mark.slow),
    pytest.param(gru, {"floats": "bf16"}, {"RecurrentCall"}, marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("model", "options", "wanted"), NETWORKS)
def test_networks(tmp_path, model, options, wanted):
    """State from group to group, scores from product to product."""
    target = XDNA(columns_per_layer=1, modules=("array",), **options)
    net = match.compile(model(), target=target, selection="match")
    mine = [layer for layer in net.program.schedule.chosen if layer.module == "array"]
    seen = set()
    for number, made in enumerate(stretches(mine, net.target.device, np.random.default_rng(0))):
        seen |= kinds(made.program)
        runs = [made.tensors, {name: x * 1 for name, x in made.tensors.items()}]
        assert compare(made.program, runs, tmp_path / str(number)) > 0
    assert seen == wanted


def test_a_program_that_is_only_timed_has_no_kernels():
    program = chain(8, (16, 16), np.int8, columns=1).program
    timed = replace(program, cores=tuple(replace(c, function=None) for c in program.cores))
    with pytest.raises(TargetError, match="a core has no function"):
        objects(timed)
