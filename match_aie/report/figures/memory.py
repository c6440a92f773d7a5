"""Memories over time: where every tensor lies while it lives, and what calls keep close to them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from match_aie.errors import shorten
from match_aie.report.figures.figure import PALETTE, Figure, field, rows, tips
from match_aie.report.table import count, extent

#: Height of one memory, in pixels.
ROW = 260


def memory(manifest: Mapping[str, Any]) -> Figure | None:
    """The arena of a `match_aie.json`: calls to the right, addresses upwards; None if empty."""
    plan = manifest["memory"]
    if not plan["placements"]:
        return None
    where = str(plan["memory"])
    return _map(
        "memory",
        where,
        f"{_network(manifest)}: {count(int(plan['nbytes']))} bytes of {where}",
        list(_arena(manifest)),
        (int(plan["nbytes"]), int(plan["lower_bound"]), int(plan["peak_step"])),
    )


def _network(manifest: Mapping[str, Any]) -> str:
    return shorten(str(manifest.get("name") or manifest["network"]), 60)


def inner_memories(manifest: Mapping[str, Any]) -> tuple[Figure, ...]:
    """Memories that layers in tiles use; none where no layer runs in tiles."""
    found: dict[str, list[dict[str, Any]]] = {}
    for row in _tiles(manifest):
        found.setdefault(row["memory"], []).append(row)
    return tuple(
        _map(
            f"memory-{name.lower()}",
            name,
            f"{_network(manifest)}: {name}",
            found[name],
            _most(found[name]),
        )
        for name in sorted(found)
    )


def _most(blocks: list[dict[str, Any]]) -> tuple[int, int, int]:
    """Highest byte, no bound, and the call at which most bytes are in use."""
    used: dict[int, int] = {}
    for block in blocks:
        used[block["first"]] = used.get(block["first"], 0) + block["size"]
    return max(block["end"] for block in blocks), 0, max(used, key=lambda step: used[step])


def _map(
    name: str, where: str, title: str, blocks: list[dict[str, Any]], marks: tuple[int, int, int]
) -> Figure:
    """Rectangles of life by bytes.

    Args:
        name: of the figure.
        where: the memory.
        title: of the figure.
        blocks: rows of data.
        marks: bytes used, bytes that no plan can do without (0: not known), the fullest call.
    """
    used, least, peak = marks
    steps = field("first", "quantitative", "call", axis={"tickMinStep": 1, "format": "d"})
    bytes_ = field(
        "begin", "quantitative", f"bytes of {where}", scale={"domain": [0, max(1, used)]}
    )
    drawn: list[dict[str, Any]] = [
        {
            "data": rows([{"first": peak, "after": peak + 1}]),
            "mark": {"type": "rect", "color": "#9aa5b1", "opacity": 0.25},
            "encoding": {"x": steps, "x2": {"field": "after"}},
        },
        {
            "data": rows(blocks),
            "mark": {"type": "rect", "stroke": "white", "strokeWidth": 0.5},
            "encoding": {
                **{"x": steps, "x2": {"field": "after"}, "y": bytes_, "y2": {"field": "end"}},
                "color": field("tone", "nominal", legend=None, scale={"range": list(PALETTE[:6])}),
                "tooltip": _SHOWN,
            },
        },
    ]
    if least:
        drawn.append(
            {
                "data": rows(
                    [{"begin": least, "name": f"no plan needs fewer than {count(least)}"}]
                ),
                "mark": {"type": "rule", "strokeDash": [4, 3], "color": "#CC79A7"},
                "encoding": {"y": bytes_, "tooltip": tips(("name", "proven"))},
            }
        )
    return Figure(
        name=name,
        title=title,
        description=(
            f"Calls to the right, addresses of {where} upwards: where each tensor lies while it "
            "lives. Planned numbers of the emitted code. The grey column is the fullest call"
            + ("; the dashed line is a proven bound." if least else ".")
        ),
        height=ROW,
        layers=tuple(drawn),
    )


#: What is said of a rectangle that is pointed at.
_SHOWN = tips(
    *(("name", "tensor"), ("what", "type"), ("bytes", "bytes (planned)")),
    *(("begin", "at"), ("lives", "calls")),
)


def _arena(manifest: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    tensors = {tensor["name"]: tensor for tensor in manifest["tensors"]}
    for at, placement in enumerate(manifest["memory"]["placements"]):
        tensor = tensors.get(placement["name"])
        name = shorten(str((tensor or placement).get("label") or placement["name"]), 60)
        what = f"{tensor['dtype']} {extent(tensor['shape'])}" if tensor else "workspace"
        first, last = int(placement["first"]), int(placement["last"])
        yield _block(
            name, what, (first, last), int(placement["offset"]), int(placement["nbytes"])
        ) | {"tone": at % 6}


def _tiles(manifest: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Operands of layers in tiles, each at its place while its call runs."""
    layers = {layer["symbol"]: layer for layer in manifest["layers"]}
    for at, step in enumerate(manifest["steps"]):
        layer = layers.get(step["layer"]) if step["layer"] else None
        tiles = layer.get("tiles") if layer else None
        for tone, operand in enumerate(tiles["operands"] if tiles else ()):
            nbytes = int(operand["nbytes"])
            if not nbytes:
                continue
            name = f"{shorten(str(step['label']), 40)}: {operand['name']}"
            block = _block(name, "tile", (at, at), int(operand["offset"]), nbytes)
            yield {**block, "tone": tone % 6, "memory": str(operand["memory"])}


def _block(name: str, what: str, life: tuple[int, int], offset: int, nbytes: int) -> dict[str, Any]:
    """A row of data.

    Args:
        name: of the tensor.
        what: element type and shape.
        life: first and last call.
        offset: its first byte.
        nbytes: that it occupies.
    """
    first, last = life
    return {
        **{"name": name, "what": what, "first": first, "after": last + 1, "size": nbytes},
        **{"begin": offset, "end": offset + nbytes, "bytes": count(nbytes)},
        "lives": f"{first} to {last}",
    }
