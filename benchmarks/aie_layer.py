"""One layer on the AI Engine array: kernels, whole array, scaling, calibration, cost model.

    python benchmarks/aie_layer.py [--json FILE] [--figure FILE.svg] [--quick]

Kernel cycles are modelled (schedules that a verifier proves), array figures simulated. Nothing here
ran on hardware. `--quick` leaves out the comparison of cost model and simulator, which takes
minutes.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path

from aie_calibration import calibration
from aie_correlation import correlation
from machine import machine_row

from match_aie.errors import Infeasible
from match_aie.targets.aie_ml import device
from match_aie.targets.aie_ml.array import ArrayMapping, Assumed, DenseLayer, search
from match_aie.targets.aie_ml.array.assumed import RUNTIME_BYTES
from match_aie.targets.aie_ml.array.emit import call_spec
from match_aie.targets.aie_ml.devices import Device, Tiling
from match_aie.targets.aie_ml.schedule import Kernel, schedule_call
from match_aie.targets.aie_ml.schedule.generated import kernel_of
from match_aie.targets.aie_ml.simulate import simulate

Row = dict[str, object]

#: Assumed times that are varied one kind at a time.
KINDS = {
    "start": ("start", "start_port"),
    "lock": ("acquire", "release"),
    "descriptor": ("descriptor",),
    "cascade": ("cascade",),
}

#: case -> element types, tiling, sizes of a 128-row call.
TILES = {
    "tile_i8xi8": (("int8", "int8", "int8"), Tiling(4, 8, 8, True), (128, 128, 128)),
    "tile_i16xi8": (("int16", "int8", "int8"), Tiling(4, 4, 8, True), (128, 128, 128)),
    "tile_i16xi16": (("int16", "int16", "int16"), Tiling(4, 4, 4, True, 64, 64), (128, 64, 64)),
}

GEMMS = {"gemm_512x896x576": (512, 896, 576), "gemm_4096x896x576": (4096, 896, 576)}

#: Tiles of the growing layer: (length of a chain, chains above each other).
GROWTH = (
    (1, 1),
    (1, 2),
    (1, 4),
    (1, 8),
    (2, 8),
    (4, 8),
    (8, 8),
    (16, 8),
    (24, 8),
    (32, 8),
    (37, 8),
    (38, 8),
)


def row(case: str, metric: str, value: float, unit: str, provenance: str, note: str = "") -> Row:
    """One figure."""
    return {
        "case": case,
        "metric": metric,
        "value": round(value, 4),
        "unit": unit,
        "provenance": provenance,
        "note": note,
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
            found = search(layer, vek280, most_tiles=1, variants=(variant,))
            assert not isinstance(found, Infeasible)
            mapping = found[0].mapping
            result = simulate(mapping, vek280)
            note = f"ping-pong, {mapping.call_rows} rows a call, {variant}, kernel start and locks"
            gops = result.tops * 1000
            rows.append(row(case, f"simulated_gops{tag}", gops, "GOPS", "simulated", note))
    return rows


def chain(mapping: ArrayMapping) -> range:
    """Tiles of a chain."""
    return range(mapping.cas_length)


def gemms(vek280: Device) -> list[Row]:
    """Interval between outputs at the memory tiles of a repeated GEMM, weights resident."""
    rows = []
    for case, (m, k, n) in GEMMS.items():
        begun = time.perf_counter()
        found = search(DenseLayer(m, k, n), vek280)
        searched = time.perf_counter() - begun
        assert not isinstance(found, Infeasible)
        mapping = found[0].mapping
        emitted = [kernel_of(spec) for spec in (call_spec(mapping, at) for at in chain(mapping))]
        assert emitted == [mapping.kernel(at) for at in chain(mapping)]
        begun = time.perf_counter()
        result = simulate(mapping, vek280)
        took = time.perf_counter() - begun
        how = (
            f"{mapping.tiles} tiles: K/{mapping.cas_length} N/{mapping.column_parts} "
            f"M/{mapping.row_parts}, {mapping.call_rows} rows a call, {mapping.variant}, as emitted"
        )
        rows += [
            row(case, "simulated_cycles", result.interval, "cycles", "simulated", how),
            row(case, "simulated_tops", result.tops, "TOPS", "simulated", how),
            row(case, "efficiency_percent", 100 * result.efficiency, "%", "simulated", "of 194.56"),
            row(case, "modelled_cycles", found[0].cost.interval, "cycles", "modelled", how),
            row(case, "seconds_search", searched, "s", "measured"),
            row(case, "seconds_simulation", took, "s", "measured"),
        ]
        loop = simulate(replace(mapping, variant="overlapped"), vek280)
        note = "reduction in a loop, 2 cycles a block"
        rows.append(row(case, "simulated_tops_overlapped", loop.tops, "TOPS", "simulated", note))
        for factor, name in ((0.5, "half"), (2.0, "double")):
            varied = simulate(mapping, vek280, assumed=Assumed().scaled(factor))
            note = f"assumed times (start, locks, descriptors, cascade) at {name}"
            rows.append(row(case, f"simulated_tops_{name}", varied.tops, "TOPS", "simulated", note))
            for kind, fields in KINDS.items():
                changed = {field: round(getattr(Assumed(), field) * factor) for field in fields}
                varied = simulate(mapping, vek280, assumed=replace(Assumed(), **changed))
                metric, note = f"simulated_tops_{kind}_{name}", f"{', '.join(fields)} at {name}"
                rows.append(row(case, metric, varied.tops, "TOPS", "simulated", note))
    return rows


def growth(vek280: Device, variant: str = "flat") -> list[tuple[int, float, float]]:
    """(tiles, TOPS, efficiency against one tile) of a layer whose share of a tile stays.

    Every tile has 128 inputs and 128 outputs; the batch is 1024, 32 rows a call. A single tile adds
    the bias and stores; in a chain the first tile does one and the last the other, so that longer
    chains are a little more than linear.
    """
    found: list[tuple[int, float, float]] = []
    one = 0.0
    for length, above in GROWTH:
        layer = DenseLayer(1024, 128 * length, 128 * above)
        mapping = ArrayMapping(
            layer, Tiling(4, 8, 8, True), (2, 2), variant, length, above, 1, 32, 128
        )
        tops = simulate(mapping, vek280).tops
        one = one or tops
        count = length * above
        found.append((count, tops, tops / (count * one)))
    return found


def figure(points: list[tuple[int, float, float]]) -> str:
    """Throughput and efficiency over tiles as a small SVG."""
    wide, high, left, top = 640, 400, 56, 30
    across, down = wide - left - 56, high - top - 50
    most = 200.0

    def place(tiles: float, share: float) -> tuple[float, float]:
        return left + across * tiles / 304, top + down * (1 - share)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" '
        'font-family="sans-serif" font-size="12">'
    ]
    for step in range(5):
        x, y = place(0, step / 4)
        parts.append(
            f'<line x1="{x}" y1="{y}" x2="{left + across}" y2="{y}" stroke="#ddd"/>'
            f'<text x="{x - 6}" y="{y + 4}" text-anchor="end">{most * step / 4:.0f}</text>'
            f'<text x="{left + across + 6}" y="{y + 4}" fill="#c50">{25 * step} %</text>'
        )
    for tiles in (1, 64, 128, 192, 256, 304):
        x, y = place(tiles, 0)
        parts.append(f'<text x="{x}" y="{y + 18}" text-anchor="middle">{tiles}</text>')
    for colour, name, values in (
        ("#06c", "TOPS", [(t, tops / most) for t, tops, _ in points]),
        ("#c50", "efficiency", [(t, e) for t, _, e in points]),
    ):
        at = [place(*value) for value in values]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in at)
        dots = "".join(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"><title>{name}: {t} tiles, '
            f"{tops:.1f} TOPS, {100 * e:.1f} %</title></circle>"
            for (x, y), (t, tops, e) in zip(at, points, strict=True)
        )
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}"/>{dots}')
    parts.append(
        f'<text x="{left}" y="16">int8 TOPS, simulated (blue, left); efficiency against one tile '
        f'(orange, right)</text><text x="{left + across / 2}" y="{high - 10}" '
        'text-anchor="middle">tiles</text></svg>\n'
    )
    return "".join(parts)


def main() -> None:
    """Print the table, and write the rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--figure", type=Path)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    vek280 = device("vek280")
    rows = [machine_row(), *tiles(vek280), *gemms(vek280)]
    points = growth(vek280)
    for count, tops, efficiency in points:
        case = f"scaling_{count}"
        rows.append(row(case, "simulated_tops", tops, "TOPS", "simulated"))
        rows.append(row(case, "efficiency_percent", 100 * efficiency, "%", "simulated"))
    rows += calibration(vek280, row)
    if not options.quick:
        rows += correlation(vek280, row)
    for each in rows:
        print(
            f"{each['case']!s:22s} {each['metric']!s:42s} {each['value']!s:>12s} "
            f"{each['unit']!s:8s} {each['provenance']!s:10s} {each['note']}"
        )
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")
    if options.figure:
        options.figure.write_text(figure(points))


if __name__ == "__main__":
    main()
