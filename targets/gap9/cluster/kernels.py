"""What templates need beside the layer, and which template a layer has."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from match_aie.cost_models.pulp_half import is_half
from match_aie.targets.gap9.cluster.recurrent import parts
from match_aie.workload import RECURRENT, RealTail, Workload, short_float


@dataclass(frozen=True)
class NormKernel:
    """What is added to a variance: an integer, or a float literal."""

    epsilon: int | str


@dataclass(frozen=True)
class SoftmaxKernel:
    """Of a softmax in integers: "narrow", products of 32 bits, or "wide", of 64."""

    products: str


@dataclass(frozen=True)
class RecurrentKernel:
    """Kernels of a step."""

    parts: int


@dataclass(frozen=True)
class RealKernel:
    """Between what results are kept, as float literals; type of products, where it has 16 bits."""

    lo: str
    hi: str
    short: str


def is_real(workload: Workload) -> bool:
    """Whether one of the float kernels runs it, those with products of 16 bits too."""
    return workload.real is not None and workload.kind not in RECURRENT


def template_of(workload: Workload) -> str:
    """By the kernels' argument structures."""
    window = workload.kind in ("conv2d", "dense", "max_pool2d", "avg_pool2d")
    if is_real(workload):
        other = "add" if workload.kind == "add" else "rows"
        return f"gap9/real_{'window' if window else other}.c.mako"
    if workload.kind in RECURRENT:
        return "gap9/recurrent.c.mako"
    if is_half(workload):
        return "gap9/conv16.c.mako"
    if workload.kind in ("permute", "matmul", "layer_norm"):
        return f"gap9/{workload.kind}.c.mako"
    return "gap9/window.c.mako" if window else "gap9/elements.c.mako"


def kernel_of(workload: Workload) -> object:
    """Numbers that templates cannot read in the layer."""
    if workload.kind in RECURRENT:
        return RecurrentKernel(parts(workload))
    if workload.kind == "layer_norm":
        epsilon = workload.parameter("epsilon")
        return NormKernel(_literal(epsilon) if is_real(workload) else int(epsilon))
    if workload.kind == "softmax" and workload.tail is not None and workload.fixed_point:
        return SoftmaxKernel("narrow" if workload.tail.bits == 32 else "wide")
    if is_real(workload):
        tail = workload.real or RealTail()
        lo = 0.0 if tail.activation == "relu" else tail.lo
        short = short_float(workload)
        return RealKernel(_literal(lo), _literal(tail.hi), short.dtype if short else "")
    return None


def _literal(value: float) -> str:
    """A float32 as a C literal."""
    if value in (inf, -inf):
        return "-__builtin_inff()" if value < 0 else "__builtin_inff()"
    return f"{float(value).hex()}f"
