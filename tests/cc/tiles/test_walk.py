"""The walk in C and the walk in Python are one: same calls, same transfers, right bytes."""

import ctypes
import shutil
import subprocess
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mako.lookup import TemplateLookup

from match_aie import templates
from match_aie.cost_models.transfers import MemoryTransfers
from match_aie.errors import Infeasible
from match_aie.hardware import SCRATCHPAD_FILES, ExecModule, Memory, runtime_files, tables
from match_aie.lowering import tile_program
from match_aie.lowering.tiles import relocated
from match_aie.mapping import SearchOptions, search
from match_aie.workload import Quantized, Tail, Window, conv2d, dense, elementwise, pool2d
from tests import tile_tables

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

    def build(self, name, *more):
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
            ["cc", *flags, *more, "walk.c", "ma_host.c", "-o", name], cwd=self.folder, check=True
        )
        return ctypes.CDLL(str(self.folder / name))

    def run(self, program, arrays, asynchronous, form="list"):
        """(status or wrong bytes, log) of a program as a list of tiles, or as loops."""
        log = (ctypes.c_int32 * 200_000)()
        pointers = (ctypes.c_void_p * len(arrays))(*(a.ctypes.data for a in arrays))
        words, (table, kept) = tile_tables.program_words(program), tile_tables.table(program)
        early, rows = tables.ahead(program)
        blocks = tile_tables.blocks(rows)
        known, moves = tile_tables.facts(program), tile_tables.moves(early, blocks)
        context = tile_tables.Context(
            ctypes.cast(words, ctypes.c_void_p),
            ctypes.pointer(table) if form == "list" else None,
            tile_tables.element(known, 0),
            tile_tables.element(moves, 0),
            len(early),
            ctypes.cast(pointers, ctypes.c_void_p),
        )
        wrong = self.walk(ctypes.byref(context), asynchronous, log, len(log))
        del kept, blocks
        noted = np.flatnonzero(np.frombuffer(log, np.int32))
        return wrong, log[: noted[-1] + 2] if noted.size else [0]


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
    calls, loads, stores = [], [region.lines for region in program.ahead], []
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
        program = linked(workload, module, option.mapping, rng)
        arrays = [
            rng.integers(0, 250, operand.nbytes, dtype=np.uint8) for operand in workload.operands
        ]
        goal = rng.integers(0, 250, workload.output.nbytes, dtype=np.uint8)
        for asynchronous, form in product((0, 1), ("list", "loops")):
            arrays[-1][:] = 0
            wrong, log = rig.run(program, [*arrays, goal], asynchronous, form)
            assert wrong == 0
            np.testing.assert_array_equal(arrays[-1], goal)
            calls, loads, stores = events(log)
            assert (calls, sorted(loads), sorted(stores)) == expected(program)


def linked(workload, module, mapping, rng):
    """The program of `mapping`, where others move some of the operands, or none."""
    chosen = rng.choice(["", "", "held"], len(workload.operands))
    held = {
        o.name: "ahead" if o.constant else "never"
        for o, choice in zip(workload.operands, chosen, strict=True)
        if choice
    }
    cuts = [replace(cut, index=0) if cut.operand in held else cut for cut in mapping.cuts]
    program = tile_program(workload, module, replace(mapping, cuts=tuple(cuts)), held)
    if not held:
        return program
    top, offsets = program.total, {}
    for operand in program.operands:
        if operand.name in held:
            offsets[operand.name] = top
            top += -(-operand.nbytes // 16) * 16
    return relocated(program, program.scratch + program.scratch_bytes, offsets, top)


@pytest.mark.parametrize("form", ["list", "loops"])
def test_the_printed_table_is_the_program(rig, form, monkeypatch):
    """The text that layers carry does what the structures do that this test packs by hand."""
    workload = conv2d(
        U8, U8, shape=(1, 9, 9, 8), weight_shape=(8, 3, 3, 8),
        window=Window((1, 1), (1, 1), (1, 1, 1, 1)), tail=TAIL, scales=8,
    )  # fmt: skip
    module = Chip(1536, None)
    program = tile_program(workload, module, search(workload, module)[0].mapping)
    monkeypatch.setattr(tables, "MOST_CALLS", 32 if form == "list" else 0)
    layer = SimpleNamespace(symbol="t", tiles=program)
    lookup = TemplateLookup([str(Path(templates.__file__).parent)], strict_undefined=True)
    text = lookup.get_template("common/tiles.mako").get_def("table").render(layer=layer)
    (rig.folder / "table.c").write_text(
        '#include "ma_walk.h"\n' + text.replace("static const", "const")
    )
    library = rig.build(f"table_{form}.so", "table.c")
    if form == "loops":
        packed = tile_tables.program_words(program)
        printed = (ctypes.c_int32 * len(packed)).in_dll(library, "t_program")
        assert list(printed) == list(packed)
        return
    rows = [list(row.words) for row in tile_tables.facts(program)]
    printed = (tile_tables.Facts * len(rows)).in_dll(library, "t_facts")
    assert [list(row.words) for row in printed] == rows
    hand, kept = tile_tables.table(program)
    table = tile_tables.Table.in_dll(library, "t_table")
    assert flat(table, program) == flat(hand, program)
    del kept


def flat(table, program):
    """Everything that a list of tiles holds, pointers followed."""
    found = [list(table.words)]
    for at in range(table.words[0]):
        visit = table.visit[at]
        doubled, single, _, _ = counts = list(visit.bytes)
        moves = [visit.loads[i] for i in range(doubled + single)]
        moves += [visit.store[0]] if visit.store else []
        views = [visit.view[i][0] for i in range(len(program.operands))]
        found.append(counts)
        found += [[*move.words, *move.block[0].words] for move in moves]
        found += [[view.at, *(list(axes[0]) for axes in view.axes)] for view in views]
    return found


LAYER = conv2d(
    U8, U8, shape=(1, 16, 16, 8), weight_shape=(8, 3, 3, 8),
    window=Window((1, 1), (1, 1), (1, 1, 1, 1)), tail=TAIL, scales=8,
)  # fmt: skip

#: What is done to which header, how the tiles are made, on which kind of kernel it shows, and what
#: the emulation says.
LIST, LOOPS = ("ma_tiles.h", "list"), ("ma_walk.h", "loops")
FAULTS = {
    "a transfer one byte out of bounds": (
        ("s->l2 + t->from, t->block", "s->l2 + t->from + 1, t->block"),
        LOOPS,
        0,
        "lies in no operand of the layer",
    ),
    "a listed transfer one byte out of bounds": (
        ("move->operand] + move->l2;", "move->operand] + move->l2 + 1;"),
        LIST,
        0,
        "lies in no operand of the layer",
    ),
    "a missing wait": (
        ("        ma_dma_wait(*transfer);", "        (void)*transfer;"),
        LIST,
        0,
        "before the wait for load",
    ),
    "a tile overwritten before its wait": (
        ("ma_dma_wait(s->now->storing);", ""),
        LOOPS,
        0,
        "was overwritten before its wait",
    ),
    "a listed tile overwritten before its wait": (
        ("            ma_dma_wait(storing[v->copy]);", ""),
        LIST,
        0,
        "was overwritten before its wait",
    ),
    "a tile loaded over the one in use": (
        ("&s->tile[o->copies - 1];", "&s->tile[0];"),
        LOOPS,
        0,
        "before the wait for load",
    ),
    "an L1 overflow": (
        ("return o->l1 +", "return 65536 - 64 + o->l1 +"),
        LOOPS,
        0,
        "bytes of L1 that the layer has",
    ),
    "a listed L1 overflow": (
        ("ma_dma_load(l1 + move->l1, from", "ma_dma_load(l1 + 65536 - 64 + move->l1, from"),
        LIST,
        0,
        "bytes of L1 that the layer has",
    ),
    "more L1 than there is": (
        ("ma_l1_open(p->l1_bytes)", "ma_l1_open(p->l1_bytes + 65536)"),
        LIST,
        0,
        "bytes of L1 were asked for",
    ),
    "a wait that never comes": (
        (
            "    ma_dma_wait(y->tile[0].storing);\n    ma_dma_wait(y->tile[1].storing);\n",
            "",
        ),
        LOOPS,
        1,
        "never waited for",
    ),
    "a listed wait that never comes": (
        ("    ma_dma_wait(storing[0]);\n    ma_dma_wait(storing[1]);\n", ""),
        LIST,
        1,
        "never waited for",
    ),
    "two transfers into one place": (
        ("return o->l1 +", "return"),
        LOOPS,
        0,
        "which was not waited for",
    ),
}


def broken(tmp_path, header, right, wrong):
    """A walk in which `right` of a header is `wrong`."""
    rig = Rig(tmp_path)
    text = (tmp_path / header).read_text()
    assert right in text
    (tmp_path / header).write_text(text.replace(right, wrong))
    library = rig.build("broken.so", "-O0")  # what is caught does not depend on it
    rig.walk, library.ma_fault.restype = library.walk, ctypes.c_char_p
    return rig, library


@pytest.mark.parametrize("name", FAULTS)
def test_the_emulation_catches(tmp_path, name):
    (right, wrong), (header, form), asynchronous, said = FAULTS[name]
    rig, library = broken(tmp_path, header, right, wrong)
    module = Chip(2048, None)
    program = tile_program(LAYER, module, search(LAYER, module)[0].mapping)
    arrays = [np.zeros(operand.nbytes, np.uint8) + 7 for operand in LAYER.operands]
    goal = np.arange(LAYER.output.nbytes).astype(np.uint8)
    status, _ = rig.run(program, [*arrays, goal], asynchronous, form)
    assert status == -1, name
    assert said in library.ma_fault().decode()


#: The same where x, the weights and y are moved by others; what is done to the other layer, too.
HANDED = {
    "nothing": ("ma_tiles.h", "#define MA_TILES_H", "#define MA_TILES_H", None),
    "a missing wait for what was loaded ahead": (
        "ma_tiles.h",
        "waits->count = ahead->waits.count;",
        "waits->count = 0;",
        "before the wait for load",
    ),
    "what a layer needs, and none before it kept": (
        "walk.c",
        "if (c->facts[i].found) {\n            ma_l1_keep",
        "if (c->facts[i].found && i != 0) {\n            ma_l1_keep",
        "which no layer before it kept",
    ),
    "a layer that ends during a load that none needs": (
        "walk.c",
        "if (c->facts[i].found) {\n            ma_l1_keep",
        "if (c->facts[i].found && i == 0) {\n            ma_l1_keep",
        "never waited for its transfer",
    ),
    "what a later layer needs, overwritten": (
        "walk.c",
        "    if (!p->stores) {\n        ma_l1_keep(y->l1, y->l2_bytes);",
        "    ma_l1_keep(c->facts[0].l1, c->facts[0].l2_bytes);\n"
        "    later = c;\n    if (!p->stores) {\n        ma_l1_keep(y->l1, y->l2_bytes);",
        "which a later layer needs, were overwritten",
    ),
}


@pytest.mark.parametrize("name", HANDED)
def test_the_emulation_checks_what_layers_share(tmp_path, name):
    header, right, wrong, said = HANDED[name]
    rig, library = broken(tmp_path, header, right, wrong)
    module = Chip(4096, None)
    mapping = search(LAYER, module)[0].mapping
    held = {"x": "never", "weight": "ahead", "y": "never"}
    cuts = [replace(cut, index=0) if cut.operand in held else cut for cut in mapping.cuts]
    program = tile_program(LAYER, module, replace(mapping, cuts=tuple(cuts)), held)
    # The output lies over the input where the input has to survive.
    apart = 0 if said and "later layer" in said else 2048
    offsets = {"weight": 8192, "x": 16384, "y": 16384 + apart}
    program = relocated(program, 0, offsets, 32768)
    arrays = [np.zeros(operand.nbytes, np.uint8) + 7 for operand in LAYER.operands]
    goal = np.arange(LAYER.output.nbytes).astype(np.uint8)
    status, _ = rig.run(program, [*arrays, goal], 0)
    assert status == (-1 if said else 0), library.ma_fault()
    if said:
        assert said in library.ma_fault().decode()
    else:
        np.testing.assert_array_equal(arrays[-1], goal)
