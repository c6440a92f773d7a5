"""The controller's code of an emitted GAP9 project on an emulated core, counted part by part."""

from __future__ import annotations

import json
import struct
import subprocess
import tempfile
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gap9_core import LINE, Cache, Stalls, stalls
from gap9_pmsis import PMSIS, STUBS
from generated import ROOT  # noqa: F401  (makes the tests importable)

import match_aie
from match_aie.codegen.manifest import FILE
from match_aie.hardware.tables import is_listed
from match_aie.targets.gap9 import GAP9
from match_aie.targets.gap9.ne16.layer import ne16_layer, ne16_tiles
from match_aie.targets.gap9.timing.controller import Work
from match_aie.targets.gap9.timing.ne16 import tile_turns
from match_aie.toolchain.record import LayerRecord, Record, parse
from tests.riscv import GCC, ISAS, decode

#: Memories: of L2 the program, its data, and what the caller gives; L1 with the stack at its end;
#: the cluster's units.
L2, L2_BYTES, DATA, GIVEN, TABLE = 0x1C000000, 0x400000, 0x1C110000, 0x1C200000, 0x1C3F0000
L1, L1_BYTES, LAYERS, STACK = 0x10000000, 0x20000, 0x10006000, 0x1001FF00
UNITS, UNITS_BYTES, STOP = 0x10200000, 0x10000, 0x1C3FF000


@dataclass
class Layer:
    """A layer that ran, or several in two lanes: their work, part by part.

    Attributes:
        name: of the layer; of several, all names.
        kind: of its workload; of several, of the cluster's first one.
        visits: calls of its kernel; of several, of all.
        listed: whether its tiles are a list in C.
        linked: whether it shares L1 with the layers around it.
        near: whether its list lies in L1.
        count: of layers, each of which was entered: 1 of one by itself.
        walk: everything that is no other part.
        moves: transfers that it started.
        parts: work of every "transfer", "wait" (for something), and "call" of a cluster kernel or
            "first", "second", "later", "part" of NE16's jobs; beside another layer also "fork", to
            start a kernel on workers that stand by, and "join", to wait for it.
        words: of the argument of every kernel that was started so.
    """

    name: str
    kind: str
    visits: int
    listed: bool
    linked: bool
    near: bool
    count: int = 1
    walk: Work = Work(0)
    moves: int = 0
    parts: dict[str, list[Work]] = field(default_factory=lambda: defaultdict(list))
    words: list[int] = field(default_factory=list)


def build(project: Path, folder: Path, name: str, *, kernels: bool = False) -> Path:
    """The project with its binding to PMSIS as an ELF.

    Args:
        project: emitted.
        folder: for what is built.
        name: of the network.
        kernels: whether the first of the workers runs them; else they are missing, and not called.
    """
    (folder / "pmsis.h").write_text(PMSIS)
    (folder / "stubs.c").write_text(STUBS.replace("@LAYERS@", hex(LAYERS)))
    sources = [f"src/{name}.c", f"src/{name}_weights.S", str(folder / "stubs.c")]
    sources += [f"pmsis/ma_{part}_pmsis.c" for part in ("gap9", "ne16")]
    sources += [str(file) for file in sorted(project.glob("kernels/*.c"))] if kernels else []
    flags = ["-std=c11", "-ffp-contract=off", "-fno-strict-aliasing", "-O3"]
    command = [GCC, *ISAS["rv32imc"], "-specs=picolibc.specs", *flags, "-nostartfiles", "-DMA_CHIP"]
    command += ["-DKERNELS"] if kernels else []
    command += [f"-I{folder}", "-Iinclude", *sources, "-lm", "-o", str(folder / "counted.elf")]
    places = {"__flash": L2 + 0x8000, "__flash_size": DATA - L2 - 0x8000}
    places |= {"__ram": DATA, "__ram_size": GIVEN - DATA}
    command += [f"-Wl,--defsym={symbol}={place:#x}" for symbol, place in places.items()]
    command += [f"-Wl,--no-relax,-e,{name}_run_in,--section-start=.data_l1={L1 + 0x400:#x}"]
    command += ["-Wl,--unresolved-symbols=ignore-all"]
    subprocess.run(command, cwd=project, check=True)
    return folder / "counted.elf"


@dataclass(frozen=True)
class Counted:
    """A network that ran for the first time.

    Attributes:
        layers: all that move tiles, in order.
        placed: bytes of every list that was copied to L1 before them, and what its copy took.
    """

    layers: list[Layer]
    placed: list[tuple[int, Work]]


def count(model: str | Path, target: GAP9, *, integer_io: bool = True) -> Counted:
    """A network's first run."""
    network = match_aie.compile(str(model), target, integer_io=integer_io)
    with tempfile.TemporaryDirectory() as folder:
        network.write(Path(folder) / "project")
        return count_project(Path(folder) / "project")


def count_project(project: Path) -> Counted:
    """The same of an emitted project's folder, which another version may have written."""
    record = parse(json.loads((project / FILE).read_text()), project)
    with tempfile.TemporaryDirectory() as folder:
        elf = build(project, Path(folder), record.network)
        return Run(elf, entered(record)).run()


def entered(record: Record) -> list[list[LayerRecord]]:
    """Layers that move tiles, in order: those that run at the same time together.

    Of a lane each starts its jobs when the one before has started all of its own. NE16 is the unit
    of one lane only, so all its jobs are in the layers' order.
    """
    beside = record.everything.get("beside") or ()
    ends = {int(one["step"]): int(one["step"]) + max(one["order"]) + 1 for one in beside}
    found: list[list[LayerRecord]] = []
    end = 0
    for at, step in enumerate(record.steps):
        layer = record.layers[step.layer] if step.layer else None
        if layer is None or layer.tiles is None:
            continue
        if at < end:
            found[-1].append(layer)
        else:
            found.append([layer])
            end = ends.get(at, at + 1)
    return found


@dataclass
class _Frame:
    """A call that is under way: its part, where it returns to, what it did, jobs that began."""

    part: str
    back: int
    nbytes: int = 0
    work: list[int] = field(default_factory=lambda: [0] * COUNTED)
    jobs: list[list[int]] = field(default_factory=list)


#: Functions of the binding -> part; kernels' starts end in "_start".
PARTS = {"ma_dma_load": "transfer", "ma_dma_store": "transfer"}
PARTS |= {"ma_dma_wait": "wait", "ma_ne16_wait": "wait"}
PARTS |= {"ma_fork_start": "fork", "ma_fork_wait": "join", "ma_l1_place": "place"}
PARTS |= {"ma_beside": "beside", "pi_cl_team_fork": "kernel"}

#: Parts in which others begin.
OUTER = ("walk", "beside", "start")

#: What is counted: instructions, accesses to L2 and to registers of units, stalls, lines.
COUNTED = 5
#: Bytes of the controller's own instruction cache: `l0_cc`, a ninth core's, of the public
#: pulp/chips/pulp_open/cluster.json (gvsoc/gvsoc-pulp@a92764c). GAP9's is not published.
FIRST = 2048

#: Where words of the binding's `team` are that workers read and write, from its end: `started`, and
#: `done` of nine cores, which end it.
STARTED, DONE = 44, 36


class Run:
    """A program, and who does what in it: blocks and accesses count for the innermost part."""

    def __init__(self, elf: Path, layers: list[list[LayerRecord]]) -> None:
        """Loaded and hooked, not begun; `layers` as they are `entered`."""
        from elftools.elf.elffile import ELFFile
        from unicorn import UC_ARCH_RISCV, UC_MODE_RISCV32, Uc, unicorn_const
        from unicorn.riscv_const import UC_RISCV_REG_A2, UC_RISCV_REG_RA

        self._layers = layers
        self._core: Any = Uc(UC_ARCH_RISCV, UC_MODE_RISCV32)
        for begin, size in ((L2, L2_BYTES), (L1, L1_BYTES), (UNITS, UNITS_BYTES)):
            self._core.mem_map(begin, size)
        with elf.open("rb") as file:
            program = ELFFile(file)
            self._entry = program.header["e_entry"]
            for segment in program.iter_segments():
                if segment["p_type"] == "PT_LOAD":
                    self._core.mem_write(segment["p_vaddr"], segment.data())
            symbols = list(program.get_section_by_name(".symtab").iter_symbols())
        self._names = {
            symbol["st_value"]: symbol.name
            for symbol in symbols
            if symbol["st_info"]["type"] == "STT_FUNC"
        }
        team = [symbol for symbol in symbols if symbol.name == "team"]
        self._team = team[0]["st_value"] + team[0]["st_size"] if team else 0
        self._back, self._nbytes, self._sizes = UC_RISCV_REG_RA, UC_RISCV_REG_A2, {}
        self._frames = [_Frame("walk", 0)]
        self._stalls: dict[tuple[int, int], Stalls] = {}
        self._last, self._end, self._first, self._line = Stalls(0, 0), 0, Cache(FIRST), -1
        self._found: list[Layer] = []
        self._placed: list[tuple[int, Work]] = []
        self._kinds: list[list[str]] = []
        both = unicorn_const.UC_HOOK_MEM_READ | unicorn_const.UC_HOOK_MEM_WRITE
        self._core.hook_add(unicorn_const.UC_HOOK_BLOCK, self._block)
        self._core.hook_add(both, self._access)

    def run(self) -> Counted:
        """From the network's entry to its end."""
        from unicorn import riscv_const as r

        self._core.mem_write(TABLE, struct.pack("<4I", GIVEN, 0, GIVEN + 0x40000, 0))
        arguments = {r.UC_RISCV_REG_A0: GIVEN + 0x80000, r.UC_RISCV_REG_A1: TABLE}
        arguments |= {r.UC_RISCV_REG_A2: TABLE + 8, r.UC_RISCV_REG_SP: STACK}
        arguments |= {r.UC_RISCV_REG_RA: STOP, r.UC_RISCV_REG_TP: TABLE - 4096}
        arguments |= {r.UC_RISCV_REG_MSTATUS: 0x6000}
        for register, value in arguments.items():
            self._core.reg_write(register, value)
        self._core.emu_start(self._entry, STOP)
        if self._core.reg_read(r.UC_RISCV_REG_A0) or len(self._found) != len(self._layers):
            raise SystemExit("the network did not run to its end")
        return Counted(self._found, self._placed)

    def _block(self, core: Any, address: int, size: int, data: object) -> None:
        if address != self._end:
            self._frames[-1].work[3] += self._last.elsewhere
        while address == self._frames[-1].back:
            self._leave(self._frames.pop())
        name = self._names.get(address)
        if name is not None:
            self._enter(name)
        if (address, size) not in self._sizes:
            code = bytes(core.mem_read(address, size))
            self._sizes[address, size], self._stalls[address, size] = decode(code)[0], stalls(code)
        work, self._last = self._frames[-1].work, self._stalls[address, size]
        work[0] += self._sizes[address, size]
        work[3] += self._last.always
        self._end = address + size
        for line in range(address // LINE, (self._end - 1) // LINE + 1):
            if line != self._line:
                self._fetch(line)
            self._line = line

    def _fetch(self, line: int) -> None:
        """A line of code that is not the one before; the innermost part waits where it misses."""
        if self._frames[-1].part != "kernel":
            self._frames[-1].work[4] += not self._first.holds(line)

    def _access(self, core: Any, kind: int, at: int, size: int, value: int, data: object) -> None:
        if at >= UNITS:
            self._frames[-1].work[1 if at >= L2 else 2] += 1

    def _enter(self, name: str) -> None:
        top = self._frames[-1]
        if name == "ma_l1_open":
            self._open()
        elif name == "ma_l1_close":
            self._close()
        elif name == "ma_ne16_acquire" and top.part == "start":
            top.jobs.append(list(top.work))
        kernel = name.endswith("_start") and name != "ma_ahead_start"
        part = PARTS.get(name, "start" if kernel else None)
        if part is not None and top.part in OUTER:
            back, nbytes = (self._core.reg_read(at) for at in (self._back, self._nbytes))
            self._frames.append(_Frame(part, back, nbytes))
        elif "_group_" in name:
            top.work = [0] * COUNTED

    def _open(self) -> None:
        """What came since the layer before is this one's, or of those that run at the same time."""
        opened = self._layers[len(self._found)]
        programs = [layer.tiles for layer in opened if layer.tiles is not None]
        self._kinds = [kinds for layer in opened for kinds in job_kinds(layer)]
        named = next((layer for layer in opened if layer.module == "cluster"), opened[0])
        self._found.append(
            Layer(
                " beside ".join(layer.name for layer in opened),
                named.workload.kind,
                sum(1 for program in programs for _ in program.visits()),
                all(is_listed(program) for program in programs),
                all(program.linked for program in programs),
                all(program.near for program in programs),
                len(opened),
            )
        )

    def _close(self) -> None:
        """The layer has everything since the one before; of several `ma_beside` says when."""
        if self._frames[-1].part != "beside":
            self._found[-1].walk = Work(*self._frames[0].work)
            self._frames[0].work = [0] * COUNTED

    def _leave(self, frame: _Frame) -> None:
        """A call is over; of a wait for nothing the walk has the work."""
        if frame.part == "kernel":
            return
        if frame.part == "place":
            self._placed.append((frame.nbytes, Work(*frame.work)))
            return
        if frame.part == "fork":
            self._workers()
        layer = self._found[-1]
        if frame.part == "fork":
            layer.words.append(frame.nbytes // 4)
        if frame.part == "beside":
            both = zip(self._frames[0].work, frame.work, strict=True)
            layer.walk = Work(*(a + b for a, b in both))
            self._frames[0].work = [0] * COUNTED
        elif frame.part == "wait" and not frame.work[2]:
            both = zip(self._frames[0].work, frame.work, strict=True)
            self._frames[0].work = [a + b for a, b in both]
        elif frame.part != "start":
            layer.parts[frame.part].append(Work(*frame.work))
            layer.moves += frame.part == "transfer"
        elif not frame.jobs:
            layer.parts["call"].append(Work(*frame.work))
        else:
            self._jobs(layer, frame)

    def _workers(self) -> None:
        """Workers, which nobody runs, have done what was started last."""
        started = bytes(self._core.mem_read(self._team - STARTED, 4))
        self._core.mem_write(self._team - DONE, started * (DONE // 4))

    def _jobs(self, layer: Layer, frame: _Frame) -> None:
        """A job lasts until the next one is acquired, the first one from the call's begin."""
        marks = [[0] * COUNTED, *frame.jobs[1:], frame.work]
        spans = zip(self._kinds.pop(0), marks[:-1], marks[1:], strict=True)
        for kind, begin, end in spans:
            layer.parts[kind].append(Work(*(b - a for a, b in zip(begin, end, strict=True))))


def job_kinds(layer: LayerRecord) -> list[list[str]]:
    """What the jobs of every call of a layer on NE16 are, as `Gap9Timing` prices them."""
    if layer.module != "ne16" or layer.tiles is None:
        return []
    found = []
    for visit in layer.tiles.visits():
        kinds: list[str] = []
        for part in ne16_tiles(layer.workload, visit.ranges):
            jobs = len(list(tile_turns(ne16_layer(layer.workload), part)))
            begin = "part" if kinds else "first"
            kinds += [begin, "second", *["later"] * (jobs - 2)][:jobs]
        found.append(kinds)
    return found
