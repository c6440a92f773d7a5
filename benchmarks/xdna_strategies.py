"""Whisper-base's encoder in 8 bits or bfloat16 on a Ryzen AI processor, by two strategies.

Either all layers run on the array, or those of rows (norms, sums, GELU) on the processor, which
spares configuring the array for them; then dense layers and attention may also stay configured
beside each other (`xdna_beside.py`; `xdna_halves.py` has them in two partitions). What a strategy
takes is added up in `xdna_real_time.py`. Making and quantising the spectrogram is not in it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

import generated  # noqa: F401  # so that `tests` is found
import onnx
from onnx import TensorProto, helper
from rows import figure
from xdna_beside import one_configuration
from xdna_encoder import FRAMES, INNER, LAYERS, SECONDS, WIDTH
from xdna_floats import attention_of, from_memory
from xdna_floats import by_processor as floats_by_processor
from xdna_floats import kinds as float_kinds
from xdna_halves import halves
from xdna_layers import Kind, attention, kinds
from xdna_overlay import SPECTRA, configured_once
from xdna_overlay import found as overlay_of
from xdna_processor import measured
from xdna_real_time import VARIED, WRITTEN_MS, Row, Times, every_time, milliseconds
from xdna_slower import dense_layers
from xdna_turns import InTurn, in_turn, texts
from xdna_whisper import Timed, best_of, timed

import match_aie as match
from match_aie.errors import TargetError
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.known import device as known_device
from match_aie.targets.cpu import CPU
from match_aie.targets.versal.module import COPIED_PER_NS
from match_aie.targets.xdna import XDNA
from tests.networks.blocks import Block, Writer

#: Cores of the processor that layers of rows are divided over, in some rows. ASSUMPTION: so many
#: have nothing else to do.
CORES = 4

#: Programs that follow another one. Of all on the array: two convolutions, their tables and a sum;
#: of each layer two norms, two sums, the heads' product before and after attention, attention, the
#: wide product, a table, the product back; the last norm. Without rows two of each layer: attention
#: and what is behind it up to the next attention, which is one program (`same_program`), from one
#: window to the next, too.
SWITCHES = {"rows_on_processor": 2 * LAYERS, "all_on_array": 5 + 10 * LAYERS + 1}

#: Of the texts of programs that take turns.
TEXTS = "a program of each configuration, with dispatches of up to 8 windows, each read back"

#: Layers of rows: rows and columns.
ROWS = {
    "GELU 1": (SPECTRA, WIDTH),
    "GELU 2": (FRAMES, WIDTH),
    "sum": (FRAMES, WIDTH),
    "norm": (FRAMES, WIDTH),
    "GELU": (FRAMES, INNER),
}


def _network(name: str, rows: int, columns: int) -> onnx.ModelProto:
    """A layer of rows alone, int8 in and out."""
    w = Writer(Block(rows, columns, columns))
    inputs = ["x", "x1"] if name == "sum" else ["x"]
    real = [w.node("DequantizeLinear", [each, *w.pair(2.0**-5)]) for each in inputs]
    if name == "norm":
        w.normal(real[0])
    elif name == "sum":
        w.through(w.node("Add", real), 2.0**-4)
    else:
        w.gelu(real[0])
    stored, shape = w.nodes.pop().input[0], [rows, columns]
    given = [helper.make_tensor_value_info(each, TensorProto.INT8, shape) for each in inputs]
    made = [helper.make_tensor_value_info(stored, TensorProto.INT8, shape)]
    graph = helper.make_graph(w.nodes, name.replace(" ", "_"), given, made, w.constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def by_processor(array: Device, types: str, cores: int = 1) -> dict[str, float]:
    """Milliseconds of each layer of rows on the processor, modelled at the target's clock.

    Args:
        array: of the processor.
        types: of elements.
        cores: that a layer may be divided over.
    """
    clock = XDNA(device=array.name).frequency
    if types != "int8":
        return floats_by_processor(ROWS, clock, cores)
    found = {}
    for name, size in ROWS.items():
        target = CPU("x86-64-v3", cores=cores)
        net = match.compile(_network(name, *size), target=target)
        nbytes = sum(layer.workload.nbytes for layer in net.program.schedule.layers)
        found[name] = from_memory(target, net.cycles, nbytes, clock)
    return found


def whisper(name: str, *, executes: bool, types: str = "int8", apart: bool = True) -> list[Row]:
    """All figures of a device with these element types, or by what it is refused.

    Args:
        name: of the device.
        executes: whether programs are held to their references.
        types: element types.
        apart: whether layers of 8 bits are also tried in two partitions.
    """
    array, case = known_device(name), f"whisper_base_{name}_{types}"
    try:
        if types == "int8":
            return _integers(case, array, executes=executes, apart=apart)
        return _floats(case, array, types, executes=executes)
    except TargetError as refused:
        return [figure(case, "refused", 1, "", "measured", str(refused))]


def _integers(case: str, array: Device, *, executes: bool, apart: bool) -> list[Row]:
    """Figures of 8 bits, whose dense layers are one configuration.

    Raises:
        TargetError: the device lacks something.
    """
    begun = time.process_time()
    every = kinds(1.3, overlay_of(array))
    searched = time.process_time() - begun
    words = same_program(every, array)
    found = [timed(kind, array, executes=executes) for kind in every]
    plain = Kind("attention", LAYERS, lambda _: attention(1.0), heads=True)
    shifts = timed(plain, array, executes=executes)
    rows = by_processor(array, "int8")
    divided = by_processor(array, "int8", CORES)
    groups = list(one_configuration(case, array, rows, divided, executes=executes))
    times = every_time(array, found, shifts, rows, SWITCHES, _milliseconds_of(groups))
    if apart:
        groups += halves(case, array, rows, executes=executes)
    return [
        *(row for each in times for row in each.of(case)),
        *groups,
        *_figures(case, found, searched),
        _text(case, words),
        *_parts(case, array, found, rows),
    ]


def _milliseconds_of(beside: Sequence[Row]) -> dict[str, float]:
    """Of a window alone by one configuration, by how much of what is assumed."""
    begin = "times_real_time_beside"
    values = {str(row["metric"]): float(str(row["value"])) for row in beside}
    return {what: 1e3 * SECONDS / values[begin + what] for what in VARIED if begin + what in values}


def _floats(case: str, array: Device, types: str, *, executes: bool) -> list[Row]:
    """Figures of bfloat16, or of block floating point, whose dense layers are one configuration.

    Raises:
        AssertionError: a program is read back as another one.
        TargetError: the device lacks something, or dense layers are several configurations.
    """
    XDNA(device=array.name, floats="bfp16" if types == "bfp16" else "bf16")
    begun = time.process_time()
    every = float_kinds(overlay_of(array, types), types)
    searched = time.process_time() - begun
    words = same_program(every, array)
    found = [timed(kind, array, executes=executes) for kind in every]
    shifted = timed(attention_of(unshifted=False), array, executes=executes)
    # Where each layer is configured anew, dense ones have the fastest program of their shape.
    apart = [
        timed(kind, array, executes=executes) if each.kind.shared is not None else each
        for each, kind in zip(found, float_kinds(None, types), strict=True)
    ]
    rows, divided = by_processor(array, types), by_processor(array, types, CORES)
    times = [*every_time(array, found, shifted, rows, SWITCHES, apart=apart)]
    each = {"": InTurn(array, found, rows, False), "_apart": InTurn(array, apart, rows, True)}
    each["_apart_cores"] = InTurn(array, apart, divided, True)
    few = {name: takes for name, takes in rows.items() if name != "GELU"}
    each["_apart_gelu"] = InTurn(array, apart, few, True)
    times += [Times(*one) for one in in_turn(each, WRITTEN_MS)]
    own = texts([each for each in apart if each.kind.name not in few], array)
    shared = [each for each in found if each.kind.shared is not None]
    ms = milliseconds(sum(each.kind.many * each.cycles[0] for each in shared), array)
    note = "dense layers and convolutions by one configuration, a dispatch each"
    return [
        *(row for each in times for row in each.of(case)),
        *_figures(case, apart, searched),
        _text(case, words),
        figure(case, "in_turn_text_kilobytes", own / 1024, "KB", "measured", TEXTS),
        figure(case, "overlay_milliseconds", ms, "ms", "simulated", note),
        *(dense_layers(case, apart, array) if types == "bfp16" else ()),
        *_parts(case, array, apart, rows),
        *measured(case, ROWS, {each.kind.name: each.kind.many for each in found}),
    ]


def _text(case: str, words: int) -> Row:
    """What the text of all dense layers takes."""
    note = "dense layers: one configuration, a sequence of the host each, read back from this text"
    return figure(case, "text_kilobytes", words / 1024, "KB", "measured", note)


def same_program(every: Sequence[Kind], array: Device) -> int:
    """Bytes of the text of all dense layers, which is one configuration with their sequences.

    Raises:
        AssertionError: a program is read back as another one.
        TargetError: they are several configurations.
    """
    dense = {kind.sequence: kind for kind in every if kind.shared is not None}
    programs = {
        name: best_of(kind, array).program(array, real=True)[1] for name, kind in dense.items()
    }
    return len(configured_once(programs, array))


def _figures(case: str, found: Sequence[Timed], searched: float = 0.0) -> Iterator[Row]:
    """Traffic, and seconds: of planning, in which `searched` is for all, and of the rest."""
    moved, least = (sum(each.kind.many * each.traffic[at] for each in found) for at in (0, 1))
    note = f"{moved / 1e6:.1f} MB by {least / 1e6:.1f} MB: tensors once, weights in every pass"
    yield figure(case, "dram_ratio", moved / least, "", "simulated", note)
    for at, what in enumerate(("planning", "simulation", "execution")):
        seconds = sum(each.seconds[at] for each in found) + searched * (what == "planning")
        note = f"processor time, {len(found)} shapes"
        if what == "execution":
            note = f"by the clock, {len(found)} shapes, each equal to its reference"
        if seconds:
            yield figure(case, f"seconds_{what}", seconds, "s", "measured", note)


def _parts(
    case: str, array: Device, found: Sequence[Timed], rows: dict[str, float]
) -> Iterator[Row]:
    """Each shape's own share."""
    for each in found:
        tag, many = each.kind.name.replace(", ", "_").replace(" ", "_").lower(), each.kind.many
        own = f"{case}_{tag}"
        ms = milliseconds(many * each.cycles[0], array)
        yield figure(own, "milliseconds", ms, "ms", "simulated", each.note)
        copied = many * each.copied / COPIED_PER_NS / 1e6
        yield figure(own, "copies_milliseconds", copied, "ms", "modelled", "around them")
        if each.kind.name in rows:
            computed, what = many * rows[each.kind.name], "processor_milliseconds"
            yield figure(own, what, computed, "ms", "modelled", "computed there instead")
