"""How the vendor's API says a DMA's way through a buffer."""

from __future__ import annotations

from collections.abc import Sequence

from match_aie.targets.aie_ml.kernels.block import Access


def tiling(access: Access) -> str:
    """`access` as C++ text."""
    parts = [
        f".buffer_dimension = {_braces(access.buffer)}",
        f".tiling_dimension = {_braces(access.tile)}",
        f".offset = {_braces(access.offset)}",
    ]
    if access.traversal:
        loops = ", ".join(
            f"{{.dimension = {d}, .stride = {s}, .wrap = {w}}}" for d, s, w in access.traversal
        )
        parts.append(f".tile_traversal = {{{loops}}}")
    if access.repeats > 1:
        parts.append(f".repetition = {access.repeats}")
    if access.boundary:
        parts.append(f".boundary_dimension = {_braces(access.boundary)}")
    return "adf::tiling({" + ", ".join(parts) + "})"


def _braces(numbers: Sequence[int]) -> str:
    return "{" + ", ".join(map(str, numbers)) + "}"
