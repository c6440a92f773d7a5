"""Tile programs as JSON objects, and back."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from match_aie.errors import ProjectError
from match_aie.hardware.mapping import Loop
from match_aie.hardware.tiles import Sums, TileAxis, TileOperand, TileProgram


def tiles_to_json(tiles: TileProgram | None) -> dict[str, Any] | None:
    """`tiles` as a JSON object; `tiles_from_json` gives an equal one."""
    if tiles is None:
        return None
    return {
        "sizes": [[dim, size] for dim, size in tiles.sizes],
        "loops": [[loop.dim, loop.size, loop.step] for loop in tiles.loops],
        "operands": [asdict(operand) for operand in tiles.operands],
        "nbytes": [[name, nbytes] for name, nbytes in tiles.nbytes],
        "total": tiles.total,
        "scratch": tiles.scratch,
        "scratch_bytes": tiles.scratch_bytes,
        "linked": tiles.linked,
        "beside": tiles.beside,
        **({} if tiles.sums is None else {"sums": asdict(tiles.sums)}),
        **({"near": True} if tiles.near else {}),
        **({"follows": list(tiles.follows)} if tiles.follows else {}),
    }


def tiles_from_json(data: dict[str, Any] | None) -> TileProgram | None:
    """The program that `tiles_to_json` wrote.

    Raises:
        ProjectError: `data` is not what `tiles_to_json` writes.
    """
    if data is None:
        return None
    try:
        return TileProgram(
            tuple((str(dim), int(size)) for dim, size in data["sizes"]),
            tuple(Loop(str(dim), int(size), int(step)) for dim, size, step in data["loops"]),
            tuple(_operand(item) for item in data["operands"]),
            tuple((str(name), int(nbytes)) for name, nbytes in data["nbytes"]),
            int(data["total"]),
            int(data["scratch"]),
            int(data["scratch_bytes"]),
            bool(data.get("linked", False)),
            bool(data.get("beside", False)),
            _sums(data["sums"]) if "sums" in data else None,
            bool(data.get("near", False)),
            tuple(str(name) for name in data.get("follows", ())),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ProjectError(f"not a program of tiles: {error}") from error


def _sums(data: dict[str, Any]) -> Sums:
    dims = tuple(str(dim) for dim in data["dims"])
    offset, nbytes, itemsize = (int(data[name]) for name in ("offset", "nbytes", "itemsize"))
    return Sums(str(data["memory"]), offset, nbytes, itemsize, dims)


def _operand(data: dict[str, Any]) -> TileOperand:
    axes = tuple(
        TileAxis(
            tuple((str(dim), int(c)) for dim, c in axis["terms"]),
            *(int(axis[name]) for name in ("offset", "size", "unit", "stride")),
        )
        for axis in data["axes"]
    )
    return TileOperand(
        name=str(data["name"]),
        memory=str(data["memory"]),
        cut=int(data["cut"]),
        copies=int(data["copies"]),
        offset=int(data["offset"]),
        copy_bytes=int(data["copy_bytes"]),
        itemsize=int(data["itemsize"]),
        nbytes=int(data["nbytes"]),
        axes=axes,
        moves=data.get("moves", "here"),
    )
