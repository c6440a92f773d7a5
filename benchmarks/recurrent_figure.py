"""Draws what a step of a GRU takes by its size, all ways to spread it as curves.

    python benchmarks/recurrent_figure.py [--results FILE] [--out FOLDER]

Reads the rows of `benchmarks/aie_sequence.py`, which are simulated, and writes
`gru-step-hidden.svg` (32 inputs) and `gru-step-inputs.svg` (32 hidden units): microseconds a step,
with strokes from half to double of all assumed times; and `gru-step-float32.svg`, in float32 on a
VCK190 by hidden units.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from match_aie.report.figures.figure import Figure, colours, field, rows

ROOT = Path(__file__).resolve().parents[1]

#: A case of a GRU whose reset gate comes behind the product: way, hidden units, inputs, type.
CASE = re.compile(
    r"gru(?:_(one_tile|apart|tiles|neighbours|gates|cascade|rows|hybrid))?_h(\d+)(?:_i(\d+))?(?:_(bf16|int8|f32))?"
)

#: Ways as the figure calls them, in the order of its colours.
WAYS = {
    "": "the search's, bfloat16",
    "int8": "the search's, 8 bits",
    "one_tile": "one tile",
    "apart": "inputs apart",
    "tiles": "units over tiles",
    "cascade": "columns along a cascade",
    "rows": "rows, states by streams",
    "neighbours": "neighbours' memories",
    "gates": "gates apart",
    "hybrid": "gates in logic",
}

#: Likewise in float32.
SINGLE_WAYS = {
    "": "the search's",
    "one_tile": "one tile",
    "apart": "inputs apart",
    "rows": "rows, states as packets",
    "cascade": "columns along a cascade",
    "hybrid": "gates in logic",
}

#: Of the vertical axis.
UNIT = "a step, us, simulated"

#: Inputs and hidden units where a case says nothing, or the other one varies.
USUAL = 32

Rows = Sequence[Mapping[str, Any]]


def points(results: Rows, by: str, *, single: bool = False) -> Iterator[dict[str, Any]]:
    """What is drawn of the layers that differ in `by`: "hidden" or "inputs"; those in float32?"""
    found = {(row["case"], row["metric"]): row["value"] for row in results}
    for (case, metric), value in found.items():
        named = CASE.fullmatch(str(case))
        if named is None or metric != "simulated_us":
            continue
        way, hidden, inputs, kind = named.groups()
        if (kind == "f32") != single or (kind == "int8" and way):
            continue
        sizes = {"hidden": int(hidden), "inputs": int(inputs or USUAL)}
        other = "inputs" if by == "hidden" else "hidden"
        if sizes[other] != USUAL:
            continue
        yield {
            "size": sizes[by],
            "us": value,
            "least": found[case, "simulated_us_half"],
            "most": found[case, "simulated_us_double"],
            "way": SINGLE_WAYS[way or ""] if single else WAYS[way or ("int8" * (kind == "int8"))],
        }


def drawing(results: Rows, by: str, *, single: bool = False) -> Figure:
    """All ways as curves over the sizes; in float32 where `single`."""
    drawn = list(points(results, by, single=single))
    drawn.sort(key=lambda each: (each["way"], each["size"]))
    names = (SINGLE_WAYS if single else WAYS).values()
    ways = [way for way in names if any(each["way"] == way for each in drawn)]
    sizes = sorted({each["size"] for each in drawn})
    what = "hidden units" if by == "hidden" else "inputs"
    scale = {"type": "log", "base": 2, "nice": False, "padding": 20}
    axes = {
        "x": field(
            "size", "quantitative", what, scale=scale, axis={"values": sizes, "format": "d"}
        ),
        "color": field("way", "nominal", scale=colours(ways, None), sort=ways),
    }
    up = field("us", "quantitative", UNIT, scale={"zero": True})
    reach = {"y": field("least", "quantitative", UNIT), "y2": {"field": "most"}}
    fixed = f"{USUAL} {'inputs' if by == 'hidden' else 'hidden units'}"
    where = "float32 on a VCK190" if single else "VEK280"
    return Figure(
        "gru-step-float32" if single else f"gru-step-{by}",
        f"A step of a GRU by its {what}, {fixed}, {where}",
        f"Simulated microseconds of a step by {what}, {fixed}; strokes go from half to double of "
        "all assumed times.",
        360,
        (
            {
                "data": rows(drawn),
                "mark": {"type": "line", "point": True},
                "encoding": axes | {"y": up},
            },
            {
                "data": rows(drawn),
                "mark": {"type": "rule", "opacity": 0.4},
                "encoding": axes | reach,
            },
        ),
    )


def main() -> None:
    """Write all."""
    parser = argparse.ArgumentParser(description=__doc__)
    results = ROOT / "benchmarks" / "results" / "aie_sequence.json"
    parser.add_argument("--results", type=Path, default=results)
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "pictures")
    options = parser.parse_args()
    found = json.loads(options.results.read_text(encoding="utf-8"))
    for by, single in (("hidden", False), ("inputs", False), ("hidden", True)):
        figure = drawing(found, by, single=single)
        (options.out / f"{figure.name}.svg").write_bytes(figure.svg())


if __name__ == "__main__":
    main()
