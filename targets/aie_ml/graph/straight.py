"""A dense layer on one tile of an array without memory tiles: x comes straight to it, y leaves so.

A tile's DMA could not make tiles of `mmul` of rows: descriptors of AIE have two dimensions (facts,
`bd_addressing`), and this takes four. So x comes, and y leaves, in the order in which kernels read
and store, as `Blocks` of a tile's rows and columns; whoever feeds the stream puts them so.
"""

from __future__ import annotations

from match_aie.targets.aie_ml.graph.blocks import Blocks
from match_aie.targets.aie_ml.graph.plan import (
    Connection,
    End,
    GraphKernel,
    LayerGraph,
    Outside,
)
from match_aie.targets.aie_ml.graph.timed import Timed


def straight(name: str, timed: Timed, kernels: tuple[GraphKernel, ...]) -> LayerGraph:
    """The graph of a layer on one tile.

    Args:
        name: of the graph.
        timed: sizes of everything.
        kernels: the only one.
    """
    m, layer = timed.mapping, timed.mapping.layer
    x = _tiles("x", timed, layer.reduction, m.part_reduction, m.tiling.k)
    y = _tiles("y", timed, layer.columns, m.call_columns, m.tiling.n)
    return LayerGraph(
        name,
        f"x [{timed.rows}, {layer.reduction}] times w [{layer.reduction}, {layer.columns}], one "
        f"tile, {timed.passes} calls, without memory tiles",
        (Outside("x_way0", layer.a, x.elements, blocks=x),),
        (Outside("y_way0", layer.out, y.elements, blocks=y),),
        (),
        kernels,
        (
            Connection(End("outside", 0), End("buffer", 0)),
            Connection(End("buffer", 0), End("outside", 1)),
        ),
        1,
        timed.memory,
    )


def _tiles(operand: str, timed: Timed, columns: int, padded: int, wide: int) -> Blocks:
    """A matrix as tiles of `mmul`, [M/m][columns/wide][m][wide]: a row of tiles is a pass.

    Args:
        operand: which.
        timed: sizes.
        columns: of the matrix.
        padded: columns that tiles have.
        wide: columns of one.
    """
    high = timed.mapping.tiling.m
    return Blocks(
        operand,
        (timed.rows, columns),
        high,
        wide,
        row_step=high,
        passes=timed.passes * timed.mapping.call_rows // high,
        column_step=wide,
        blocks=padded // wide,
    )
