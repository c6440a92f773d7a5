"""Kinds of workloads that are image layers or rows: what each declares, and nothing else knows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from match_aie.targets.aie_ml.graph.float_rows import float_layer
from match_aie.targets.aie_ml.graph.image import ImageLayer
from match_aie.targets.aie_ml.graph.layers import image_layer, refuses_image
from match_aie.targets.aie_ml.graph.row_layers import (
    multiplied_layer,
    norm_layer,
    refuses_bytes,
    refuses_multiplied,
    refuses_sum,
    refuses_turned,
    softmax_layer,
    sum_layer,
    table_layer,
    turned_layer,
)
from match_aie.targets.aie_ml.graph.rows import RowLayer
from match_aie.targets.aie_ml.graph.transposed import refuses_transposed, transposed_layer
from match_aie.workload import Kind, Workload


@dataclass(frozen=True)
class ImageDeclaration:
    """A kind of layer over one image, for the planner and the builder of all of them.

    Attributes:
        refuses: why there is no kernel for a workload of the kind; None where there is one.
        layer: the window, weights, requantisation and access of results of a workload with its
            constants, under a name.
    """

    refuses: Callable[[Workload], str | None]
    layer: Callable[[Workload, Mapping[str, np.ndarray], str], ImageLayer]


@dataclass(frozen=True)
class RowDeclaration:
    """A kind of layer whose rows are computed by themselves.

    Attributes:
        refuses: as for images.
        layer: the function with its numbers, and what a row is.
    """

    refuses: Callable[[Workload], str | None]
    layer: Callable[[Workload, Mapping[str, np.ndarray], str], RowLayer]


_WINDOW = ImageDeclaration(refuses_image, image_layer)

IMAGE_KINDS: Mapping[Kind, ImageDeclaration] = {
    "conv2d": _WINDOW,
    "avg_pool2d": _WINDOW,
    "max_pool2d": _WINDOW,
    "conv2d_transpose": ImageDeclaration(refuses_transposed, transposed_layer),
}


def _floats(integers: RowDeclaration | None = None) -> RowDeclaration:
    """A kind that has kernels of bfloat16, too; those refuse nothing that is rounded so."""

    def refuses(workload: Workload) -> str | None:
        if workload.rounded:
            return None
        return f"a {workload.kind} of floats" if integers is None else integers.refuses(workload)

    def layer(workload: Workload, constants: Mapping[str, np.ndarray], name: str) -> RowLayer:
        if workload.rounded or integers is None:
            return float_layer(workload, constants, name)
        return integers.layer(workload, constants, name)

    return RowDeclaration(refuses, layer)


ROW_KINDS: Mapping[Kind, RowDeclaration] = {
    "add": _floats(RowDeclaration(refuses_sum, sum_layer)),
    "mul": _floats(RowDeclaration(refuses_multiplied, multiplied_layer)),
    "table": RowDeclaration(refuses_bytes, table_layer),
    "function": _floats(),
    "softmax": _floats(RowDeclaration(refuses_bytes, softmax_layer)),
    "layer_norm": _floats(RowDeclaration(refuses_bytes, norm_layer)),
    "rms_norm": _floats(RowDeclaration(refuses_bytes, norm_layer)),
}

#: Those that are stages of pipelines: transposes are nothing else.
STAGE_KINDS: Mapping[Kind, RowDeclaration] = {
    **ROW_KINDS,
    "permute": RowDeclaration(refuses_turned, turned_layer),
}
