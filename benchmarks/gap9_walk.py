"""Instructions of the walk over tiles (ma_tiles.h) in layers of networks for GAP9, counted.

    python benchmarks/gap9_walk.py [--networks FILE ...] [--json FILE]

Every layer's table is compiled for rv32imc (GCC, -O2) with transfers and kernels that do nothing,
and run on an emulated core: what is counted is `ma_run_tiles`, with the wait of a queued kernel for
its operands, and the calls of what does nothing. The fit is the least squares' over all layers of
several tiles: instructions of a layer, and of a tile.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from generated import ROOT, network
from machine import machine_row

import match_aie
from match_aie.hardware.tables import is_listed
from match_aie.targets.gap9 import GAP9
from match_aie.toolchain.record import LayerRecord, parse
from tests.riscv import DATA, GCC, ISAS, PROGRAM, RAM, Core

#: What is counted where nothing else is named.
NETWORKS = ("resnet8_u8.onnx", "mobilenetv1_025_u8.onnx")

HARNESS = """#include "ma_walk.h"
static uint8_t memory[1 << 17];
#define STUB __attribute__((noinline))
STUB ma_dma ma_dma_load(void *a, const void *b, const struct ma_block *c)
{ (void)a; (void)b; (void)c; __asm__ volatile(""); return 1; }
STUB ma_dma ma_dma_store(void *a, const void *b, const struct ma_block *c)
{ (void)a; (void)b; (void)c; __asm__ volatile(""); return 1; }
STUB void ma_dma_wait(ma_dma t) { (void)t; __asm__ volatile(""); }
STUB uint8_t *ma_l1_open(uint32_t b) { (void)b; __asm__ volatile(""); return memory; }
STUB void ma_l1_close(uint8_t *l) { (void)l; __asm__ volatile(""); }
@TABLES@
STUB uint32_t start(const struct ma_tile *t, const void *c)
{ (void)c; (void)t; @ARRIVE@ __asm__ volatile("" ::: "memory"); return 1; }
STUB void finish(uint32_t t) { (void)t; __asm__ volatile(""); }
int w_run(void)
{
    void *const l2[MA_OPERANDS] = {memory, memory, memory, memory, memory};
    const struct ma_kernel kernel = {start, @WAIT@, NULL};
    const void *const next[MA_OPERANDS] = {memory, memory, memory, memory, memory};
    struct ma_ahead ahead = {0}, *linked = @AHEAD@;
    const @KIND@ *p = &@SYMBOL@;
    /* Layers share the code: nothing is known of the tables. */
    __asm__ volatile("" : "+r"(p), "+r"(linked)::"memory");
    @NEXT@
    @RUN@(p, @FACTS@l2, &kernel, linked);
    return 0;
}
"""


@dataclass(frozen=True)
class Walked:
    """A layer: its module, calls of the kernel, transfers, instructions, whether it is a list."""

    name: str
    module: str
    visits: int
    transfers: int
    instructions: int
    listed: bool


def count(folder: Path, source: str) -> int:
    """Instructions of `w_run`."""
    (folder / "w.c").write_text(source)
    places = {"__flash": PROGRAM, "__flash_size": RAM - PROGRAM}
    places |= {"__ram": RAM, "__ram_size": DATA - RAM}
    command = [
        GCC,
        *ISAS["rv32imc"],
        "-specs=picolibc.specs",
        "-std=c11",
        "-O2",
        "-nostartfiles",
        "-DMA_CHIP",
    ]
    command += ["-I", str(ROOT / "targets/common/runtime/include"), "w.c", "-o", "w.elf"]
    command += ["-Wl,--no-relax,-e,w_run"]
    command += [f"-Wl,--defsym={name}={place:#x}" for name, place in places.items()]
    subprocess.run(command, cwd=folder, check=True)
    return int(Core(folder / "w.elf").run([], []).instructions)


def walks(model: str | Path, target: GAP9 | None = None) -> list[Walked]:
    """Every layer of a network that moves tiles, on GAP9 as it is or on `target`."""
    network = match_aie.compile(str(model), target or GAP9(beside=False), integer_io=True)
    sources = network.sources()
    text = sources[f"src/{network.symbol}.c"].decode()
    found = []
    with tempfile.TemporaryDirectory() as folder:
        record = parse(json.loads(sources["match_aie.json"]), Path(folder))
        layers = [record.layers[step.layer] if step.layer else None for step in record.steps]
        for layer, after in zip(layers, [*layers[1:], None], strict=True):
            if layer is None or layer.tiles is None:
                continue
            next_one = after if after and after.tiles and after.tiles.ahead else None
            source = harness(text, layer, next_one)
            visits = list(layer.tiles.visits())
            moved = sum(len(visit.loads) + visit.stores for visit in visits)
            early = len(next_one.tiles.ahead) if next_one and next_one.tiles else 0
            instructions = count(Path(folder), source)
            found.append(
                Walked(
                    layer.name,
                    layer.module,
                    len(visits),
                    moved + early,
                    instructions,
                    is_listed(layer.tiles),
                )
            )
    return found


def harness(text: str, layer: LayerRecord, after: LayerRecord | None) -> str:
    """C that runs the walk of `layer`, which loads operands of `after`."""
    queued = layer.module == "ne16"
    assert layer.tiles is not None
    linked, few = layer.tiles.linked, is_listed(layer.tiles)
    tables = [table(text, each.symbol) for each in (layer, after) if each is not None]
    fields = {
        "@TABLES@": "\n".join(tables),
        "@KIND@": "struct ma_table" if few else "struct ma_program",
        "@SYMBOL@": f"{layer.symbol}_{'table' if few else 'program'}",
        "@RUN@": "ma_run_table" if few else "ma_run_tiles",
        "@FACTS@": "" if few else f"{layer.symbol}_facts, ",
        "@ARRIVE@": "ma_tile_arrive(t);" if queued else "",
        "@WAIT@": "finish" if queued else "NULL",
        "@AHEAD@": "&ahead" if linked else "NULL",
        "@NEXT@": _next(after),
    }
    source = HARNESS
    for name, value in fields.items():
        source = source.replace(name, value)
    return source


def _next(after: LayerRecord | None) -> str:
    """C that names the loads for the layer after."""
    if after is None or after.tiles is None:
        return "(void)next;"
    name, count = after.symbol, len(after.tiles.ahead)
    return f"ma_ahead_next(&ahead, {name}_ahead, {count}, {name}_facts, next);"


def table(text: str, symbol: str) -> str:
    """The constants of a layer's walk, cut out of a network's C."""
    begin = rf"static const struct ma_facts {symbol}_facts\[\].*?"
    end = rf"static const struct ma_(?:table|program) {symbol}_(?:table|program) = \{{.*?\n\}};"
    found = re.search(begin + end, text, re.DOTALL)
    if found is None:
        raise SystemExit(f"{symbol} has no table")
    return found.group()


def fit(layers: Sequence[Walked], *, listed: bool) -> tuple[float, float]:
    """(instructions of a layer, and of a tile) of layers of several tiles, by least squares.

    Args:
        layers: all that were counted.
        listed: whether those whose tiles are a list are meant, or those that are loops.
    """
    several = [layer for layer in layers if layer.visits > 1 and layer.listed == listed]
    factors = np.array([[1.0, layer.visits] for layer in several])
    found, *_ = np.linalg.lstsq(factors, [layer.instructions for layer in several], rcond=None)
    return float(found[0]), float(found[1])


def row(case: str, metric: str, value: float, note: str) -> dict[str, Any]:
    """A row of the table."""
    found = {"case": case, "metric": metric, "value": round(value, 1), "unit": "instructions"}
    return {**found, "provenance": "simulated", "note": note}


def everything(models: Sequence[Path]) -> dict[str, list[Walked]]:
    """Layers of all networks: as compiled, each for itself, and with little L1."""
    targets = {
        "": GAP9(beside=False),
        "alone": GAP9(handover=False),
        "8 kB": GAP9(l1_bytes=8 << 10, beside=False),
    }
    return {
        f"{model.stem} {name}".strip(): walks(model, target)
        for name, target in targets.items()
        for model in models
    }


def main() -> None:
    """Print the table; write it where asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--networks", nargs="*", default=NETWORKS, help="generated ones")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows = [machine_row()]
    found = everything([network(file) for file in options.networks])
    for case, walked in found.items():
        for layer in walked:
            note = f"{layer.module}, {layer.visits} tiles, {layer.transfers} transfers"
            rows.append(row(f"{case}/{layer.name}", "walk", layer.instructions, note))
    layers = [layer for walked in found.values() for layer in walked]
    alone = [layer.instructions for layer in layers if layer.visits == 1]
    rows.append(row("layers of one tile", "most", max(alone), f"{len(alone)} layers"))
    for name, listed in (("few", True), ("many", False)):
        enter, visit = fit(layers, listed=listed)
        rows.append(row(f"layers of {name} tiles", "layer", enter, "least squares"))
        rows.append(row(f"layers of {name} tiles", "tile", visit, "least squares"))
    for entry in rows[1:]:
        print(f"{entry['case']:50} {entry['metric']:6} {entry['value']:8} {entry['note']}")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
