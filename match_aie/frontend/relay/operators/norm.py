"""Normalisation and softmax."""

from __future__ import annotations

from collections.abc import Callable

from tvm import relax

from match_aie.frontend.relay.operators.elementwise import along
from match_aie.frontend.relay.site import Site, dtype, rank, scalar, shape
from match_aie.frontend.relay.values import Expr, Value

op = relax.op
Rule = Callable[[Site], Value]


def _softmax(site: Site) -> Value:
    x = site.tensor(0)
    return op.nn.softmax(x, site.axis(-1, rank(x)))


def _log_softmax(site: Site) -> Value:
    x = site.tensor(0)
    return op.nn.log_softmax(x, site.axis(-1, rank(x)))


def _batch_norm(site: Site) -> Value:
    """(normalised, moving mean, moving variance), at inference."""
    x = site.tensor(0)
    normal = op.nn.batch_norm(
        x,
        *(site.tensor(index) for index in range(1, 5)),
        axis=site.axis(1, rank(x)),
        epsilon=site.number("epsilon", 1e-5),
        center=site.flag("center", True),
        scale=site.flag("scale", True),
        training=False,
    )
    first = site.emit(relax.TupleGetItem(site.emit(normal), 0))
    return first, site.tensor(3), site.tensor(4)


def _layer_norm(site: Site) -> Value:
    x = site.tensor(0)
    return op.nn.layer_norm(
        x,
        site.tensor(1),
        site.tensor(2),
        axes=[site.axis(-1, rank(x))],
        epsilon=site.number("epsilon", 1e-5),
        center=site.flag("center", True),
        scale=site.flag("scale", True),
    )


def _centred(site: Site, x: Expr, axes: list[int]) -> Expr:
    """(x - mean) / sqrt(variance + epsilon) along `axes`."""
    mean = site.emit(op.mean(x, axis=axes, keepdims=True))
    distance = site.emit(op.subtract(x, mean))
    square = site.emit(op.multiply(distance, distance))
    variance = site.emit(op.mean(square, axis=axes, keepdims=True))
    epsilon = scalar(site.number("epsilon", 1e-5), dtype(x))
    root = site.emit(op.sqrt(site.emit(op.add(variance, epsilon))))
    return site.emit(op.divide(distance, root))


def _scaled(site: Site, x: Expr, axis: int) -> Expr:
    """`x * gamma + beta` along `axis`, as far as the attributes want them."""
    if site.flag("scale", True):
        x = site.emit(op.multiply(x, along(site, site.tensor(1), rank(x), axis)))
    if site.flag("center", True):
        x = site.emit(op.add(x, along(site, site.tensor(2), rank(x), axis)))
    return x


def _instance_norm(site: Site) -> Value:
    x = site.tensor(0)
    axis = site.axis(1, rank(x))
    axes = [a for a in range(1, rank(x)) if a != axis]
    return _scaled(site, _centred(site, x, axes), axis)


def _group_norm(site: Site) -> Value:
    x = site.tensor(0)
    axis, groups = site.axis(1, rank(x)), site.integer("num_groups")
    sizes = list(shape(x))
    if groups < 1 or sizes[axis] % groups:
        raise site.error(f"{sizes[axis]} channels do not split into {groups} groups")
    parts = [*sizes[:axis], groups, sizes[axis] // groups, *sizes[axis + 1 :]]
    split = site.emit(op.reshape(x, parts))
    axes = [a for a in range(1, len(parts)) if a != axis]
    whole = site.emit(op.reshape(_centred(site, split, axes), sizes))
    return _scaled(site, whole, axis)


def _l2_normalize(site: Site) -> Value:
    x = site.tensor(0)
    axes = [a % rank(x) for a in site.integers("axis", [])] or list(range(rank(x)))
    squares = site.emit(op.sum(site.emit(op.multiply(x, x)), axis=axes, keepdims=True))
    least = scalar(site.number("eps", 1e-10), dtype(x))
    return op.divide(x, site.emit(op.sqrt(site.emit(op.maximum(squares, least)))))


RULES: dict[str, Rule] = {
    "nn.softmax": _softmax,
    "nn.fast_softmax": _softmax,
    "nn.log_softmax": _log_softmax,
    "nn.batch_norm": _batch_norm,
    "nn.layer_norm": _layer_norm,
    "nn.instance_norm": _instance_norm,
    "nn.group_norm": _group_norm,
    "nn.l2_normalize": _l2_normalize,
}
