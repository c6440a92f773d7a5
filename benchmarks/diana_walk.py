"""Instructions of the walk over tiles (ma_tiles.h) in layers of networks for DIANA, counted.

    python benchmarks/diana_walk.py [--networks NAME ...] [--json FILE]

Every layer's table is compiled for rv32imc (GCC, -O2) with transfers and kernels that do nothing,
and run on an emulated core: what is counted is `ma_run_tiles`, and the calls of what does nothing.
The fit is the least squares' over all layers whose several tiles are a list: instructions of a
layer, and of a tile. Loops (more than 32 tiles) have a mean for a tile.
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
import onnx
from diana import NETWORKS, ROUNDED, power_of_two
from generated import ROOT, network
from machine import machine_row

import match_aie
from match_aie.hardware.tables import is_listed
from match_aie.targets.diana import Diana
from match_aie.toolchain.record import LayerRecord, parse
from tests.riscv import DATA, GCC, ISAS, PROGRAM, RAM, Core

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
{ (void)c; (void)t; __asm__ volatile("" ::: "memory"); return 1; }
int w_run(void)
{
    void *const l2[MA_OPERANDS] = {memory, memory, memory, memory, memory};
    const struct ma_kernel kernel = {start, NULL, NULL};
    const @KIND@ *p = &@SYMBOL@;
    /* Layers share the code: nothing is known of the tables. */
    __asm__ volatile("" : "+r"(p)::"memory");
    @RUN@(p, @FACTS@l2, &kernel, NULL);
    return 0;
}
"""


@dataclass(frozen=True)
class Walked:
    """A layer: calls of the kernel, transfers, instructions, whether its tiles are a list."""

    name: str
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


def walks(model: onnx.ModelProto, target: Diana) -> list[Walked]:
    """Every layer of a network that moves tiles."""
    network = match_aie.compile(model, target, integer_io=True)
    sources = network.sources()
    text = sources[f"src/{network.symbol}.c"].decode()
    found = []
    with tempfile.TemporaryDirectory() as folder:
        record = parse(json.loads(sources["match_aie.json"]), Path(folder))
        for step in record.steps:
            layer = record.layers[step.layer] if step.layer else None
            if layer is None or layer.tiles is None:
                continue
            visits = list(layer.tiles.visits())
            moved = sum(len(visit.loads) + visit.stores for visit in visits)
            instructions = count(Path(folder), harness(text, layer))
            listed = is_listed(layer.tiles)
            found.append(Walked(layer.name, len(visits), moved, instructions, listed))
    return found


def harness(text: str, layer: LayerRecord) -> str:
    """C that runs the walk of `layer`."""
    assert layer.tiles is not None
    few = is_listed(layer.tiles)
    fields = {
        "@TABLES@": table(text, layer.symbol),
        "@KIND@": "struct ma_table" if few else "struct ma_program",
        "@SYMBOL@": f"{layer.symbol}_{'table' if few else 'program'}",
        "@RUN@": "ma_run_table" if few else "ma_run_tiles",
        "@FACTS@": "" if few else f"{layer.symbol}_facts, ",
    }
    source = HARNESS
    for name, value in fields.items():
        source = source.replace(name, value)
    return source


def table(text: str, symbol: str) -> str:
    """The constants of a layer's walk, cut out of a network's C."""
    begin = rf"static const struct ma_facts {symbol}_facts\[\].*?"
    end = rf"static const struct ma_(?:table|program) {symbol}_(?:table|program) = \{{.*?\n\}};"
    found = re.search(begin + end, text, re.DOTALL)
    if found is None:
        raise SystemExit(f"{symbol} has no table")
    return found.group()


def fit(layers: Sequence[Walked]) -> tuple[float, float]:
    """(instructions of a layer, and of a tile) of lists of several tiles, by least squares."""
    several = [layer for layer in layers if layer.visits > 1 and layer.listed]
    factors = np.array([[1.0, layer.visits] for layer in several])
    found, *_ = np.linalg.lstsq(factors, [layer.instructions for layer in several], rcond=None)
    return float(found[0]), float(found[1])


def row(case: str, metric: str, value: float, note: str) -> dict[str, Any]:
    """A row of the table."""
    found = {"case": case, "metric": metric, "value": round(value, 1), "unit": "instructions"}
    return {**found, "provenance": "simulated", "note": note}


def everything(names: Sequence[str]) -> dict[str, list[Walked]]:
    """Layers of all networks: as compiled, and with little memory."""
    targets = {"": Diana(), "16 kB": Diana(16 << 10, 16 << 10), "1 kB": Diana(1 << 10, 32 << 10)}
    return {
        f"{name} {size}".strip(): walks(power_of_two(onnx.load(network(NETWORKS[name]))), target)
        for size, target in targets.items()
        for name in names
    }


def main() -> None:
    """Print the table; write it where asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--networks", nargs="*", default=list(ROUNDED), choices=ROUNDED)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows = [machine_row()]
    found = everything(options.networks)
    for case, walked in found.items():
        for layer in walked:
            note = f"{layer.visits} tiles, {layer.transfers} transfers"
            rows.append(row(f"{case}/{layer.name}", "walk", layer.instructions, note))
    layers = [layer for walked in found.values() for layer in walked]
    alone = [layer.instructions for layer in layers if layer.visits == 1]
    rows.append(row("layers of one tile", "most", max(alone), f"{len(alone)} layers"))
    enter, visit = fit(layers)
    rows.append(row("layers of few tiles", "layer", enter, "least squares"))
    rows.append(row("layers of few tiles", "tile", visit, "least squares"))
    # Too few, and of too few lengths, for what a layer takes beside its tiles.
    loops = [layer for layer in layers if not layer.listed]
    if loops:
        each = sum(layer.instructions for layer in loops) / sum(layer.visits for layer in loops)
        rows.append(row("layers of many tiles", "tile", each, f"{len(loops)} layers"))
    for entry in rows[1:]:
        print(f"{entry['case']:50} {entry['metric']:6} {entry['value']:8} {entry['note']}")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
