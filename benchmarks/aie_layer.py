"""One layer on the AI Engine array: kernels, products, calibration, cost model.

    python benchmarks/aie_layer.py [--json FILE] [--quick]

Kernel cycles are modelled (schedules that a verifier proves). Figures of the array are simulated,
of programs that were executed before and gave their references' results bit for bit; those of
`calibration`, which hold the simulator to what others publish, are of programs of the same builder
without numbers. Nothing here ran on hardware. `--quick` leaves out the comparison of cost model and
simulator, which takes minutes.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from aie_calibration import calibration
from aie_correlation import correlation
from aie_executed import gemms, of_mapping, precisions
from machine import machine_row
from rows import figure as row
from rows import report

from match_aie.errors import Infeasible
from match_aie.targets.aie_ml import device
from match_aie.targets.aie_ml.array import DenseLayer
from match_aie.targets.aie_ml.array.assumed import RUNTIME_BYTES
from match_aie.targets.aie_ml.devices import Device, Tiling
from match_aie.targets.aie_ml.graph.given import find
from match_aie.targets.aie_ml.schedule import Kernel, schedule_call
from match_aie.targets.aie_ml.simulate import simulate_program

Row = dict[str, object]

#: Random mappings of each layer: a tenth of what `aie_correlation.py` takes when it runs alone.
MAPPINGS = 30

#: case -> element types, tiling, sizes of a 128-row call.
TILES = {
    "tile_i8xi8": (("int8", "int8", "int8"), Tiling(4, 8, 8, True), (128, 128, 128)),
    "tile_i16xi8": (("int16", "int8", "int8"), Tiling(4, 4, 8, True), (128, 128, 128)),
    "tile_i16xi16": (("int16", "int16", "int16"), Tiling(4, 4, 4, True, 64, 64), (128, 64, 64)),
}


def tiles(vek280: Device) -> list[Row]:
    """Kernel calls by epilogue and requantisation, and ping-pong throughput of one tile.

    Figures without a suffix are of the kernel that the generator emits by default: flat where
    program memory holds it.
    """
    rows = []
    for case, ((a, w, out), tiling, size) in TILES.items():
        for requantise in ("shift", "multiplier"):
            for variant in ("flat", "overlapped"):
                kernel = Kernel(a, w, out, tiling, requantise=requantise, variant=variant)
                call = schedule_call(kernel, vek280.architecture, *size)
                main = (requantise, variant) == ("shift", "flat")
                tag = "" if main else f"_{requantise}_{variant}"
                used = call.program_bytes + RUNTIME_BYTES
                assert used <= vek280.architecture.core.program_memory_bytes
                note = (
                    f"{size} call, bias, ReLU, {requantise}, {variant}; "
                    f"{used} bytes of program memory (estimated)"
                )
                rows += [
                    row(case, f"modelled_cycles{tag}", call.cycles, "cycles", "modelled", note),
                    row(case, f"modelled_gops{tag}", call.gops(1.25), "GOPS", "modelled", note),
                    row(
                        case,
                        f"efficiency_percent{tag}",
                        100 * call.efficiency,
                        "%",
                        "modelled",
                        note,
                    ),
                ]
        layer = DenseLayer(768, size[1], size[2], a, w, out)
        for variant, tag in (("flat", ""), ("overlapped", "_overlapped")):
            found = find(layer, vek280, most_tiles=1, variants=(variant,))
            assert not isinstance(found, Infeasible)
            mapping = found[0].mapping
            made = of_mapping(mapping, vek280)
            result = simulate_program(made.program, vek280)
            note = (
                f"executed; ping-pong, {mapping.call_rows} rows a call, {variant}, "
                "kernel start and locks"
            )
            gops = made.tops(result.interval, vek280) * 1000
            rows.append(row(case, f"simulated_gops{tag}", gops, "GOPS", "simulated", note))
    return rows


def main() -> None:
    """Print the table, and write the rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    vek280 = device("vek280")
    rows = [machine_row(), *tiles(vek280), *gemms(vek280, row)]
    rows += precisions(vek280, row)
    rows += calibration(vek280, row)
    if not options.quick:
        rows += correlation(vek280, row, MAPPINGS)
    report(rows, options.json)


if __name__ == "__main__":
    main()
