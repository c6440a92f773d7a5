"""The walk in C and the walk in Python are one: same calls, same transfers, right bytes."""

import ctypes
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mako.template import Template

from match_aie import templates
from match_aie.cost_models.transfers import MemoryTransfers
from match_aie.errors import Infeasible
from match_aie.hardware import SCRATCHPAD_FILES, ExecModule, Memory, runtime_files
from match_aie.lowering import tile_program
from match_aie.mapping import SearchOptions, search
from match_aie.workload import Quantized, Tail, Window, conv2d, dense, elementwise, pool2d

HERE = Path(__file__).parent
CHIP = """#define MA_L1_BYTES 65536
#define MA_CORES 2
#define MA_DMA_TRANSFERS 16
#define MA_DMA_ALIGNMENT 4
"""
U8 = Quantized("uint8", 0.5, 3)
TAIL = Tail(0, 0, 255)


@dataclass(frozen=True)
class Price(MemoryTransfers):
    def kernel_cycles(self, workload, tile):
        total = 1
        for size in tile.values():
            total = total * size
        return 50.0 + total

    mode: str = "pipelined"


class Chip(ExecModule):
    name = "chip"

    def __init__(self, nbytes, double):
        self.memories = (
            Memory("L1", nbytes, 8.0, double_buffered=double, alignment=16),
            Memory("L2", None, 8.0, transfer_cycles=30.0),
        )

    def patterns(self):
        return ()

    def spatial(self, workload):
        return ()

    def cost_model(self, workload):
        return Price()

    def template(self, workload):
        return ""


@st.composite
def workloads(draw):
    small = st.integers(1, 9)
    kind = draw(st.sampled_from(["conv2d", "depthwise", "dense", "add", "pool"]))
    rows, columns, channels = draw(small), draw(small), draw(small)
    if kind == "dense":
        return dense(U8, U8, rows=rows, inputs=channels, outputs=columns, tail=TAIL, scales=1)
    if kind == "add":
        shape = (draw(st.integers(1, 2)), rows, columns, channels)
        other = draw(st.sampled_from([shape, (1, 1, 1, channels)]))
        return elementwise("add", U8, U8, U8, shape=shape, shape1=other, out=shape, tail=TAIL)
    taps, stride = draw(st.integers(1, 3)), draw(st.integers(1, 2))
    pad = draw(st.integers(0, taps - 1))
    window = Window((stride, stride), (1, 1), (pad, pad, pad, pad))
    shape = (1, rows + taps, columns + taps, channels)
    if kind == "pool":
        return pool2d(
            "max_pool2d", U8, U8, shape=shape, filter_shape=(taps, taps), window=window, tail=TAIL
        )
    deep = kind == "depthwise"
    weights = (channels if deep else draw(small), taps, taps, 1 if deep else channels)
    groups = channels if deep else 1
    return conv2d(
        U8, U8, shape=shape, weight_shape=weights, groups=groups, window=window, tail=TAIL,
        scales=weights[0],
    )  # fmt: skip


def padded(values, length=4, filler=0):
    return [*values, *[filler] * (length - len(values))]


def operand_words(program, o):
    """An operand in the layout of struct ma_operand."""
    tile, part = program.moving(o, o.cut), program.parts(o)
    usual, (start, before) = program.usual(o), program.undivided(o)
    words = [o.cut, o.copies, len(o.axes), o.itemsize, len(tile), len(part)]
    words += [o.offset, o.copy_bytes, o.nbytes, usual.nbytes, program.origin(o)]
    words += padded([a.stride for a in o.axes])
    for values in (usual.extent, usual.inner_strides, start, before):
        words += padded(values)
    nbytes, levels = usual.block
    words += [nbytes]
    for index, filler in enumerate((1, 0, 0)):
        words += padded([level[index] for level in levels], 3, filler)
    for spans in (tile, part):
        for index, span in spans:
            a, terms = o.axes[index], padded(span.terms, 2, (0, 0))
            words += [index, a.size - 1, a.unit, a.stride, len(span.terms), span.first, span.last]
            words += [*(loop for loop, _ in terms), *(c for _, c in terms)]
        words += [0] * 11 * (4 - len(spans))
    return words


class Rig:
    """Compiles a table, walks it, and gives back the log."""

    def __init__(self, folder):
        self.folder = folder
        for name, data in runtime_files("match_aie.targets.common", SCRATCHPAD_FILES).items():
            path = folder / Path(name).name
            path.write_bytes(data)
        (folder / "ma_chip.h").write_text(CHIP)
        shutil.copy(HERE / "walk.c", folder)
        self.library = self.build("walk.so")
        self.walk = self.library.walk

    def build(self, name):
        flags = [
            "-std=c11",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-O1",
            "-fPIC",
            "-shared",
        ]
        subprocess.run(
            ["cc", *flags, "walk.c", "ma_host.c", "-o", name], cwd=self.folder, check=True
        )
        return ctypes.CDLL(str(self.folder / name))

    def table(self, program):
        """The table as bytes, in the layout of struct ma_program."""
        words = [len(program.loops), len(program.operands), max(program.total, 16), program.scratch]
        for moves in ("ahead", "never"):
            words += [sum(1 << i for i, o in enumerate(program.operands) if o.moves == moves)]
        for index, loop in enumerate(program.loops):
            parent, size = program.around(index)
            words += [loop.step, size, parent]
        words += [0] * (3 * (12 - len(program.loops)))
        words += [word for turn in program.turns() for word in turn]
        words += [0] * (4 * (12 - len(program.loops)))
        for o in program.operands:
            words += operand_words(program, o)
        words += [0] * (41 + 8 * 11) * (7 - len(program.operands))
        return (ctypes.c_int32 * len(words))(*words)

    def run(self, program, arrays, asynchronous):
        log = (ctypes.c_int32 * 200_000)()
        pointers = (ctypes.c_void_p * len(arrays))(*(a.ctypes.data for a in arrays))
        wrong = self.walk(ctypes.byref(self.table(program)), pointers, asynchronous, log, len(log))
        return wrong, list(log)


@pytest.fixture(scope="module")
def rig(tmp_path_factory):
    return Rig(tmp_path_factory.mktemp("walk"))


def events(log):
    """(calls, loads, stores) of a log."""
    calls, moves, at = [], {-1: [], -2: []}, 0
    while log[at]:
        if log[at] == -3:
            end = log.index(-4, at)
            calls.append(tuple(log[at + 1 : end]))
            at = end + 1
        else:
            moves[log[at]].append((log[at + 1], log[at + 2]))
            at += 3
    return calls, moves[-1], moves[-2]


def expected(program):
    calls, loads, stores = [], [], []
    for visit in program.visits():
        seen = [operand.region(visit.ranges) for operand in program.operands]
        pairs = [pair for r in seen for pair in zip(r.start, r.extent, strict=True)]
        calls.append(tuple(n for pair in pairs for n in pair))
        loads += [region.lines for region in visit.loads if region.nbytes]
        if visit.stores:
            stores.append(visit.output.lines)
    flat = [[(n, int(np.prod(counts))) for n, counts in moves] for moves in (loads, stores)]
    return calls, sorted(flat[0]), sorted(flat[1])


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    workload=workloads(),
    kilobytes=st.sampled_from([0.25, 0.5, 1, 2, 32]),
    double=st.sampled_from([None, (), ("x", "y"), ("weight",)]),
    seed=st.integers(0, 99),
)
def test_c_and_python_walk_alike(rig, workload, kilobytes, double, seed):
    module = Chip(int(kilobytes * 1024), double)
    found = search(workload, module, SearchOptions("exact", runners_up=2))
    if isinstance(found, Infeasible):
        return
    rng = np.random.default_rng(seed)
    for option in found:
        program = tile_program(workload, module, option.mapping, {})
        arrays = [
            rng.integers(0, 250, operand.nbytes, dtype=np.uint8) for operand in workload.operands
        ]
        goal = rng.integers(0, 250, workload.output.nbytes, dtype=np.uint8)
        for asynchronous in (0, 1):
            arrays[-1][:] = 0
            wrong, log = rig.run(program, [*arrays, goal], asynchronous)
            assert wrong == 0
            np.testing.assert_array_equal(arrays[-1], goal)
            calls, loads, stores = events(log)
            assert (calls, sorted(loads), sorted(stores)) == expected(program)


def test_the_printed_table_is_the_program(rig):
    """The text that layers carry compiles to the very words that this test packs by hand."""
    workload = conv2d(
        U8, U8, shape=(1, 9, 9, 8), weight_shape=(8, 3, 3, 8),
        window=Window((1, 1), (1, 1), (1, 1, 1, 1)), tail=TAIL, scales=8,
    )  # fmt: skip
    module = Chip(1536, None)
    program = tile_program(workload, module, search(workload, module)[0].mapping, {})
    layer = SimpleNamespace(symbol="t", tiles=program)
    template = Template(templates.source("common/tiles.mako"), strict_undefined=True)
    text = template.get_def("table").render(layer=layer)
    (rig.folder / "table.c").write_text(
        '#include "ma_tiles.h"\n' + text.replace("static const", "const")
    )
    subprocess.run(
        ["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-fPIC",
         "-shared", "table.c", "walk.c", "ma_host.c", "-o", "table.so"],
        cwd=rig.folder, check=True,
    )  # fmt: skip
    packed = rig.table(program)
    printed = (ctypes.c_int32 * len(packed)).in_dll(
        ctypes.CDLL(str(rig.folder / "table.so")), "t_program"
    )
    assert list(printed) == list(packed)


LAYER = conv2d(
    U8, U8, shape=(1, 16, 16, 8), weight_shape=(8, 3, 3, 8),
    window=Window((1, 1), (1, 1), (1, 1, 1, 1)), tail=TAIL, scales=8,
)  # fmt: skip

#: What is done to ma_tiles.h, on which kind of kernel it shows, and what the emulation says.
FAULTS = {
    "a transfer one byte out of bounds": (
        ("s->l2 + t->from, t->block", "s->l2 + t->from + 1, t->block"),
        0,
        "lies in no operand of the layer",
    ),
    "a missing wait": (
        ("ma_dma_wait(s->loading);", ""),
        0,
        "before the wait for load",
    ),
    "a tile overwritten before its wait": (
        ("ma_dma_wait(s->now->storing);", ""),
        0,
        "was overwritten before its wait",
    ),
    "a tile loaded over the one in use": (
        ("&s->tile[o->copies - 1];", "&s->tile[0];"),
        0,
        "before the wait for load",
    ),
    "an L1 overflow": (
        ("return w->l1 + o->l1 +", "return w->l1 + w->program->l1_bytes - 64 + o->l1 +"),
        0,
        "bytes of L1 that the layer has",
    ),
    "more L1 than there is": (
        ("ma_l1_open(p->l1_bytes)", "ma_l1_open(p->l1_bytes + 65536)"),
        0,
        "bytes of L1 were asked for",
    ),
    "a wait that never comes": (
        (
            "    ma_dma_wait(y->tile[0].storing);\n    ma_dma_wait(y->tile[1].storing);\n",
            "",
        ),
        1,
        "never waited for",
    ),
    "two transfers into one place": (
        ("return w->l1 + o->l1 +", "return w->l1 +"),
        0,
        "which was not waited for",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_the_emulation_catches(tmp_path, name):
    (right, wrong), asynchronous, said = FAULTS[name]
    rig = Rig(tmp_path)
    header = (tmp_path / "ma_tiles.h").read_text()
    assert right in header
    (tmp_path / "ma_tiles.h").write_text(header.replace(right, wrong))
    broken = rig.build("broken.so")
    rig.walk, module = broken.walk, Chip(2048, None)
    program = tile_program(LAYER, module, search(LAYER, module)[0].mapping, {})
    arrays = [np.zeros(operand.nbytes, np.uint8) + 7 for operand in LAYER.operands]
    goal = np.arange(LAYER.output.nbytes).astype(np.uint8)
    status, _ = rig.run(program, [*arrays, goal], asynchronous)
    broken.ma_fault.restype = ctypes.c_char_p
    assert status == -1, name
    assert said in broken.ma_fault().decode()
