"""The devices by name, built from the facts file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from types import MappingProxyType
from typing import cast

from match_aie.errors import TargetError, shorten
from match_aie.hardware import meant_words
from match_aie.targets.aie_ml.devices import (
    LEAST_LANE_BITS,
    Addressing,
    Architecture,
    Banks,
    CoreTile,
    Device,
    Dma,
    Generation,
    Locks,
    MemTile,
    Port,
    Tiling,
)
from match_aie.targets.aie_ml.facts_reader import Facts, read_facts
from match_aie.targets.aie_ml.mmul_shapes import Shape, Sums, header_shapes

#: Names that users say, and the facts file's.
PARTS = {
    "vek280": "xcve2802",
    "vek385": "2ve3858",
    "vck190": "xcvc1902",
    "npu1": "npu1",
    "npu2": "npu2",
}

#: Whose latencies stand in where an architecture's facts say that those of another hold.
_STAND_INS = {
    "AIE": ("others", "AIE-ML"),
    "AIE-MLv2": ("all_vector", "XDNA2"),
    "XDNA2": ("others", "AIE-ML"),
}

_TILES = ("core", "mem", "shim")

#: Ends the names of devices for which only documented constructs are emitted.
_DOCUMENTED = ", documented"


def devices() -> tuple[str, ...]:
    """Names that `device` takes."""
    return tuple(PARTS)


def documented(name: str) -> str:
    """The name under which `device` gives that device for graphs of documented constructs only."""
    return name if name.endswith(_DOCUMENTED) else name + _DOCUMENTED


@cache
def device(name: str) -> Device:
    """The device called `name`, one of `devices()`, or what `documented` makes of one.

    Data sheets write names in capitals: they may stand so.

    Raises:
        TargetError: there is none of that name, or its facts make no sense.
    """
    if isinstance(name, str) and name.endswith(_DOCUMENTED):
        return replace(device(name.removesuffix(_DOCUMENTED)), name=name, documented_only=True)
    part = PARTS.get(name)
    if part is None and isinstance(name, str) and name.lower() in PARTS:
        return device(name.lower())
    if part is None:
        raise TargetError(
            f"no AI Engine device {shorten(repr(name), 60)}",
            hint=f"{meant_words(str(name), PARTS)}VersalAIEML has vek280, vek385 and vck190, "
            "XDNA has npu1 and npu2",
        )
    facts = read_facts()
    return _device(name, part, facts)


def _device(name: str, part: str, facts: Facts) -> Device:
    entry = facts.part("devices").part(part)
    generation = entry.text("arch")
    if generation is None or generation not in facts.part("architectures").keys:
        raise TargetError(f"{part}: unknown architecture {generation!r}")
    arch = facts.part("architectures").part(generation)
    mm2s, s2mm = _gmio(entry)
    proven = (*entry.provenance(), *arch.provenance())
    return Device(
        name=name,
        part=part,
        architecture=_architecture(cast(Generation, generation), facts),
        columns=entry.integer("columns") or entry.needed("columns", "usable"),
        core_rows=entry.needed("rows", "core"),
        mem_rows=entry.needed("rows", "mem"),
        shim_rows=entry.needed("rows", "shim"),
        clock_ghz=_clock(entry),
        pl_clock_mhz=entry.real("clock", "pl_MHz_default") or entry.real("clock", "pl_MHz_aie4ml"),
        plio_in=entry.integer("plio", "in_128b"),
        plio_out=entry.integer("plio", "out_128b"),
        shim_noc_columns=entry.integers("shim_noc_columns"),
        gmio_in=mm2s,
        gmio_out=s2mm,
        if_to_array_gbps=entry.real("plio_bandwidth", "if_to_array_GBps"),
        array_to_if_gbps=entry.real("plio_bandwidth", "array_to_if_GBps"),
        dram_gbps=entry.real("dram_effective_GBps"),
        provenance=MappingProxyType({p.path.removeprefix("."): p for p in proven}),
        dram_duplex=entry.integer("dram_directions") == 2,
        dispatch_us=entry.real("dispatch_us", "amortised")
        or entry.real("dispatch_us", "persistent"),
        first_dispatch_us=_slowest(entry.table("dispatch_us").integers("one_shot")),
        reconfiguration_ms=entry.real("full_reconfiguration_ms"),
    )


def _slowest(range_of: tuple[int, ...] | None) -> float | None:
    """The larger end of a measured range."""
    return float(max(range_of)) if range_of else None


def _gmio(entry: Facts) -> tuple[int | None, int | None]:
    """DMA channels from and to the chip's memory, under the name that the device's kind uses."""
    key = "gmio" if "gmio" in entry else "shim_dma_channels"
    return entry.integer(key, "mm2s"), entry.integer(key, "s2mm")


def _clock(entry: Facts) -> float:
    """GHz; where one grade is documented and another assumed, the documented one."""
    for key in ("aie_GHz", "aie_GHz_min_grade", "default_GHz"):
        found = entry.real("clock", key)
        if found is not None:
            return found
    raise TargetError(f"the facts do not say {entry.path}.clock")


def _architecture(name: Generation, facts: Facts) -> Architecture:
    arch = facts.part("architectures").part(name)
    latencies, inherited = _latencies(name, facts)
    mem = arch.part("mem_tile")
    stored = arch.part("buffer_descriptors")
    addressing = arch.part("bd_addressing")
    switch = arch.part("stream_switch")
    return Architecture(
        name=name,
        core=_core(name, arch.part("core")),
        mem=_mem(mem) if mem.keys else None,
        shim_dma=_dma(arch.part("shim_tile")),
        descriptors=MappingProxyType({t: stored.needed(t) for t in _TILES if t in stored}),
        addressing=MappingProxyType(
            {t: _addressing(addressing, t) for t in _TILES if t in addressing}
        ),
        hop_cycles=switch.needed("hop_latency_cycles"),
        switch_ports=_switch_ports(switch.table("ports")),
        latencies=latencies,
        inherited_latencies=inherited,
    )


def _latencies(name: str, facts: Facts) -> tuple[Mapping[str, int], frozenset[str]]:
    """Own latencies, then those of whoever the facts say stands in."""
    own = facts.part("architectures").part(name).part("latencies")
    known = {key: n for key in own.keys if (n := own.integer(key)) is not None}
    marker, other = _STAND_INS.get(name, ("", ""))
    if marker not in own:
        return MappingProxyType(known), frozenset()
    lent, _ = _latencies(other, facts)
    return MappingProxyType({**lent, **known}), frozenset(lent) - frozenset(known)


def _core(name: Generation, core: Facts) -> CoreTile:
    accumulators = core.integer("accumulators", "count")
    return CoreTile(
        data_memory_bytes=core.needed("data_memory_bytes"),
        program_memory_bytes=core.needed("program_memory_bytes"),
        stack_default_bytes=core.integer("stack_default_bytes"),
        banks=_banks(core, "data_banks"),
        loads=Port(core.needed("loads_per_cycle", "count"), core.needed("loads_per_cycle", "bits")),
        stores=Port(
            core.needed("stores_per_cycle", "count"), core.needed("stores_per_cycle", "bits")
        ),
        accumulators=(
            None
            if accumulators is None
            else Port(accumulators, core.needed("accumulators", "bits"))
        ),
        vector_registers=core.integer("vector_registers", "count"),
        vector_bits=core.integer("vector_registers", "bits"),
        cascade_bits=core.needed("cascade", "bits"),
        cascade_fifo=core.needed("cascade", "fifo_depth_each_end"),
        cascade_directions=core.texts("cascade", "directions"),
        macs=_macs(core.part("macs_per_cycle")),
        tilings=_tilings(name, core),
        reach=tuple(_side(text) for text in core.texts("neighbour_memory", "reach")),
        dma=_dma(core),
        locks=_locks(core),
        table_bytes=core.integer("parallel_tables", "repeated_bytes"),
    )


def _side(text: str) -> str:
    """A side of the tile: "E|W" where the facts say that it depends on the row's parity."""
    return "E|W" if " or W" in text else text


def _macs(rates: Facts) -> Mapping[str, int | None]:
    return MappingProxyType({key: rates.integer(key) for key in rates.keys})


#: Shapes of the headers that are not offered: half of what they multiply are zeros, which the rate
#: of a pair without native shapes does not say.
_WASTEFUL = frozenset({("int32xint32", 4, 1, 8)})


def _tilings(name: Generation, core: Facts) -> Mapping[str, tuple[Tiling, ...]]:
    """Shapes by element types; a name such as "fp32xfp32(emulated)" says that none is native.

    Where the vendor's headers are public, shapes that they do not have are left out, those that
    only they have are added as not native, and all have the headers' accumulators. Tiles that are
    made lane by lane come before all of these.
    """
    found: dict[str, dict[tuple[int, int, int], bool]] = {}
    for key in ("mmul_native", "mmul_emulated_or_shuffled"):
        table = core.table(key)
        for written in table.keys:
            plain, _, emulated = written.partition("(")
            pair = plain if "x" in plain else f"{plain}x{plain}"
            native = key == "mmul_native" and not emulated
            for m, k, n in _shapes(table, written):
                found.setdefault(pair, {}).setdefault((m, k, n), native)
    sums = header_shapes(name)
    if sums is not None:
        for pair, *size in sums:
            m, k, n = size
            if (pair, m, k, n) not in _WASTEFUL:
                found.get(pair, {}).setdefault((m, k, n), False)
    made = {
        pair: tuple(
            _tiling(pair, shape, native, sums)
            for shape, native in shapes.items()
            if sums is None or (pair, *shape) in sums
        )
        for pair, shapes in found.items()
    }
    if "lane_products" in core.keys:
        table = core.table("lane_products")
        for pair in table.keys:
            own = (
                Tiling(m, k, n, native=False, lanes=wide)
                for m, k, n, wide in _shapes(table, pair, 4)
            )
            made[pair] = (*own, *made.get(pair, ()))
    return MappingProxyType({pair: tilings for pair, tilings in made.items() if tilings})


def _tiling(
    pair: str,
    shape: tuple[int, int, int],
    native: bool,
    sums: Mapping[Shape, Sums] | None,
) -> Tiling:
    """With the headers' accumulator; where there are none, with that of the types (assumed).

    Args:
        pair: element types as the facts write them.
        shape: M, K, N.
        native: whether one instruction computes it.
        sums: of the generation's shapes; None where no headers are public.
    """
    if sums is None:
        bits = 64 if pair in LEAST_LANE_BITS else 32
        return Tiling(*shape, native, bits, bits)
    known = sums[(pair, *shape)]
    blocks = pair.endswith("bfp16")
    return Tiling(*shape, native, known.lane_bits, known.tag_bits, blocks=blocks)


def _shapes(table: Facts, pair: str, numbers: int = 3) -> tuple[tuple[int, ...], ...]:
    shapes = table.value(pair)
    if not isinstance(shapes, list):
        raise TargetError(f"{table.path}.{pair}: not a list of shapes")
    found = []
    for shape in shapes:
        if not isinstance(shape, list) or len(shape) != numbers:
            raise TargetError(f"{table.path}.{pair}: {shape!r} is not M, K, N")
        found.append(tuple(size for size in shape if isinstance(size, int)))
    return tuple(found)


def _mem(mem: Facts) -> MemTile:
    return MemTile(
        bytes=mem.needed("bytes"), banks=_banks(mem, "banks"), dma=_dma(mem), locks=_locks(mem)
    )


def _banks(tile: Facts, key: str) -> Banks:
    """Logical banks are the number that the fact's `programmer_view` begins with."""
    view = tile.table(key).text("programmer_view")
    counted = re.match(r"\d+", view) if view else None
    return Banks(
        count=tile.needed(key, "count"),
        bytes=tile.needed(key, "bytes"),
        width_bits=tile.integer(key, "width_bits"),
        logical=int(counted[0]) if counted else None,
    )


def _dma(tile: Facts) -> Dma:
    return Dma(
        s2mm=tile.needed("dma", "s2mm"),
        mm2s=tile.needed("dma", "mm2s"),
        bytes_per_cycle=tile.needed("dma", "bytes_per_cycle_per_channel"),
        queue_depth=tile.integer("dma", "queue_depth"),
    )


def _locks(tile: Facts) -> Locks:
    kind = tile.table("locks").text("kind")
    return Locks(
        count=tile.needed("locks", "count"),
        semaphore=kind == "semaphore",
        value_bits=tile.integer("locks", "value_bits"),
    )


def _addressing(table: Facts, tile: str) -> Addressing:
    pad = table.table(tile).part("zero_pad")
    keys = ("d0_before_after_max_words", "d1_max", "d2_max")
    return Addressing(
        dims=table.needed(tile, "dims"),
        step_bits=table.integer(tile, "step_bits"),
        wrap_bits=table.integer(tile, "wrap_bits"),
        length_bits=table.integer(tile, "len_bits"),
        iteration_wrap_bits=table.integer(tile, "iter_wrap_bits"),
        pad=tuple(pad.needed(key) for key in keys) if pad.keys else (),
    )


def _switch_ports(ports: Facts) -> Mapping[tuple[str, str, str], int]:
    return MappingProxyType(
        {
            (tile, role, unit): ports.part(tile).part(role).needed(unit)
            for tile in ports.keys
            for role in ports.part(tile).keys
            for unit in ports.part(tile).part(role).keys
        }
    )
