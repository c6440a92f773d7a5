"""Operators that move elements: shapes, order, padding, joining."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from math import prod

import numpy as np
from tvm import relax

from match_aie.frontend.relay.site import Site, constant, dtype, rank, shape
from match_aie.frontend.relay.values import Expr, Value

op = relax.op
Rule = Callable[[Site], Value]

_LAYOUT = re.compile(r"(\d*)([A-Za-z])")
_PAD_MODES = {"constant": "constant", "edge": "replicate", "reflect": "reflect"}


def new_shape(site: Site, old: tuple[int, ...], codes: list[int], zero: bool) -> list[int]:
    """The shape that reshape's codes mean.

    0 keeps a size (where `zero` is False), -1 is what remains, -2 keeps all further sizes, -3
    joins two, -4 splits one into the next two codes, of which one may be -1.

    Args:
        site: of the call.
        old: shape before.
        codes: of the call.
        zero: whether 0 is a size and not a code.
    """
    sizes: list[int] = []
    at, index, infer = 0, 0, -1

    def taken(count: int) -> list[int]:
        if at + count > len(old):
            raise site.error(f"newshape {codes} takes more sizes than {list(old)} has")
        return list(old[at : at + count])

    while index < len(codes):
        code = codes[index]
        if code == -1 and infer >= 0:
            raise site.error(f"newshape {codes} leaves two sizes open")
        if code == -1:
            infer, at = len(sizes), at + 1
            sizes.append(1)
        elif code == -2:
            sizes, at = sizes + list(old[at:]), len(old)
        elif code == -3:
            sizes, at = [*sizes, prod(taken(2))], at + 2
        elif code == -4:
            sizes, at = sizes + _split(site, taken(1)[0], codes[index + 1 : index + 3]), at + 1
            index += 2
        elif code == 0 and not zero:
            sizes, at = sizes + taken(1), at + 1
        elif code >= 0:
            sizes, at = [*sizes, code], at + 1
        else:
            raise site.error(f"newshape holds {code}, which means nothing")
        index += 1
    known: int = prod(sizes)
    if infer >= 0 and known:
        sizes[infer] = prod(old) // known
    if prod(sizes) != prod(old):
        raise site.error(f"newshape {codes} does not hold the elements of {list(old)}")
    return sizes


def _split(site: Site, size: int, parts: list[int]) -> list[int]:
    if len(parts) == 2 and parts[0] == -1 and parts[1] > 0:
        parts = [size // parts[1], parts[1]]
    elif len(parts) == 2 and parts[1] == -1 and parts[0] > 0:
        parts = [parts[0], size // parts[0]]
    if len(parts) != 2 or parts[0] * parts[1] != size:
        raise site.error(f"newshape splits a size of {size} into {parts}")
    return parts


def _reshape(site: Site) -> Value:
    x = site.tensor(0)
    if len(site.arguments) > 1:
        codes = [int(v) for v in site.array(1, "new shape").reshape(-1)]
    else:
        codes = site.integers("newshape")
    if site.flag("reverse"):
        raise site.error("reverse is not compiled")
    return op.reshape(x, new_shape(site, shape(x), codes, site.flag("allowzero")))


def _reshape_like(site: Site) -> Value:
    x, like = site.tensor(0), site.tensor(1)
    plain = not site.integer("lhs_begin", 0) and not site.integer("rhs_begin", 0)
    if not plain or site.has("lhs_end") or site.has("rhs_end"):
        raise site.error("part of a shape is not compiled")
    return op.reshape(x, list(shape(like)))


def _batch_flatten(site: Site) -> Value:
    x = site.tensor(0)
    sizes = shape(x)
    return op.reshape(x, [sizes[0], prod(sizes[1:])])


def _squeeze(site: Site) -> Value:
    x = site.tensor(0)
    sizes = shape(x)
    axes = [a % max(rank(x), 1) for a in site.integers("axis", [])] if site.has("axis") else None
    if axes is not None and any(sizes[axis] != 1 for axis in axes):
        raise site.error(f"axes {axes} of {list(sizes)} are not all 1")
    drop = [i for i, s in enumerate(sizes) if s == 1] if axes is None else axes
    return op.reshape(x, [s for i, s in enumerate(sizes) if i not in drop])


def _expand_dims(site: Site) -> Value:
    x = site.tensor(0)
    sizes, count = list(shape(x)), site.integer("num_newaxis", 1)
    axis = site.integer("axis")
    axis = axis + len(sizes) + 1 if axis < 0 else axis
    if not 0 <= axis <= len(sizes) or count < 0:
        raise site.error(f"axis {axis} is none of a tensor of rank {len(sizes)} and one more")
    return op.reshape(x, [*sizes[:axis], *[1] * count, *sizes[axis:]])


def _transpose(site: Site) -> Value:
    x = site.tensor(0)
    axes = site.integers("axes", []) or list(range(rank(x)))[::-1]
    return op.permute_dims(x, [axis % max(rank(x), 1) for axis in axes])


def _factors(site: Site, layout: str) -> list[tuple[str, int]]:
    """(letter, block) of every axis of a layout such as NCHW4c."""
    if "".join(a + b for a, b in _LAYOUT.findall(layout)) != layout or not layout:
        raise site.error(f"{layout!r} is no layout")
    return [(letter, int(digits or 0)) for digits, letter in _LAYOUT.findall(layout)]


def _layout_transform(site: Site) -> Value:
    """Letters are axes; small letters are blocks of the axis of the same capital letter."""
    x = site.tensor(0)
    source, wanted = site.word("src_layout"), site.word("dst_layout")
    before, after = _factors(site, source), _factors(site, wanted)
    if len(before) != rank(x):
        raise site.error(f"a tensor of rank {rank(x)} has no layout {source!r}")
    # Whole axes first: blocks of the source are joined, those of the result split off.
    order = [index for letter, _ in before if letter.isupper() for index in _parts(before, letter)]
    sizes = shape(x)
    capitals = [letter for letter, _ in before if letter.isupper()]
    whole = {c: prod(sizes[i] for i in _parts(before, c)) for c in capitals}
    moved = site.emit(op.permute_dims(x, order))
    split: list[int] = []
    names: list[str] = []
    for letter in capitals:
        blocks = [block for name, block in after if name == letter.lower()]
        if prod(blocks) < 1 or whole[letter] % prod(blocks):
            raise site.error(f"axis {letter} of {whole[letter]} does not split into {blocks}")
        split += [whole[letter] // prod(blocks), *blocks]
        names += [letter, *[letter.lower()] * len(blocks)]
    if sorted(names) != sorted(name for name, _ in after) or len(set(names)) != len(names):
        raise site.error(f"layout {source!r} cannot be brought to {wanted!r}")
    parts = site.emit(op.reshape(moved, split))
    return op.permute_dims(parts, [names.index(name) for name, _ in after])


def _parts(factors: list[tuple[str, int]], letter: str) -> list[int]:
    """Where an axis and its blocks stand, the axis first."""
    names = [name for name, _ in factors]
    blocks = [i for i, name in enumerate(names) if name == letter.lower()]
    return [names.index(letter), *blocks]


def _concatenate(site: Site) -> Value:
    return concatenate(site, site.tensors(0))


def concatenate(site: Site, items: list[Expr]) -> Expr:
    """`items` joined along the attribute `axis`."""
    if not items:
        raise site.error("it joins nothing")
    if len({dtype(item) for item in items}) > 1:
        raise site.error(f"its inputs are {', '.join(sorted({dtype(i) for i in items}))}")
    return op.concat(items, axis=site.axis(0, rank(items[0])))


def _stack(site: Site) -> Value:
    items = site.tensors(0)
    if not items:
        raise site.error("it joins nothing")
    axis = site.axis(0, rank(items[0]) + 1)
    sizes = list(shape(items[0]))
    longer = [site.emit(op.reshape(i, [*sizes[:axis], 1, *sizes[axis:]])) for i in items]
    return op.concat(longer, axis=axis)


def _split_rule(site: Site) -> Value:
    """Into equal parts, or at indices; always slices, each a tensor of its own."""
    x = site.tensor(0)
    axis = site.axis(0, rank(x))
    size = shape(x)[axis]
    given = site.get("indices_or_sections")
    if isinstance(given, int) and not isinstance(given, bool):
        if given < 1 or size % given:
            raise site.error(f"{size} elements do not split into {given} equal parts")
        ends = [size // given * part for part in range(1, given)]
    else:
        ends = site.integers("indices_or_sections")
    edges = [0, *ends, size]
    if any(a > b for a, b in pairwise(edges)):
        raise site.error(f"indices {ends} are not sorted within {size}")
    return tuple(site.emit(op.strided_slice(x, [axis], [a], [b])) for a, b in pairwise(edges))


def _pad(site: Site) -> Value:
    x = site.tensor(0)
    given = site.get("pad_width")
    rows = given if isinstance(given, tuple) else ()
    widths: list[int] = []
    for row in rows:
        pair = row if isinstance(row, tuple) else (row, row)
        widths += [int(v) for v in pair if isinstance(v, int)]
    if len(widths) != 2 * rank(x) or any(width < 0 for width in widths):
        raise site.error(f"attribute pad_width does not fit a tensor of rank {rank(x)}")
    mode = _PAD_MODES.get(site.word("pad_mode", "constant"))
    if mode is None:
        raise site.error(f"pad_mode {site.word('pad_mode')!r} is not compiled")
    if len(site.arguments) > 1:
        value = site.array(1, "pad value").reshape(-1)[:1].astype(np.float64).item()
    else:
        value = site.number("pad_value", 0.0)
    return op.nn.pad(x, widths, mode, value)


def _broadcast_to(site: Site) -> Value:
    if len(site.arguments) > 1:
        sizes = [int(v) for v in site.array(1, "shape").reshape(-1)]
    else:
        sizes = site.integers("shape")
    return op.broadcast_to(site.tensor(0), sizes)


def _broadcast_to_like(site: Site) -> Value:
    return op.broadcast_to(site.tensor(0), list(shape(site.tensor(1))))


def _tile(site: Site) -> Value:
    return op.tile(site.tensor(0), site.integers("reps"))


def _repeat(site: Site) -> Value:
    axis = site.axis(0, rank(site.tensor(0))) if site.has("axis") else None
    return op.repeat(site.tensor(0), site.integer("repeats"), axis)


def _reverse(site: Site) -> Value:
    return op.flip(site.tensor(0), site.axis(0, rank(site.tensor(0))))


def _filled(value: float | None) -> Rule:
    """`zeros`, `ones`, and `full` of a value known at compile time."""

    def rule(site: Site) -> Value:
        if value is None:
            fill = site.array(0, "fill value").reshape(())
            kind = site.word("dtype", str(fill.dtype))
        else:
            fill, kind = np.array(value), site.word("dtype", "float32")
        sizes = site.integers("shape")
        site.reserve(*sizes)
        return constant(np.full(sizes, fill).astype(kind))

    return rule


def _filled_like(value: float | None) -> Rule:
    def rule(site: Site) -> Value:
        like = site.tensor(0)
        fill = np.array(value) if value is not None else site.array(1, "fill value").reshape(())
        site.reserve(*shape(like))
        return constant(np.full(shape(like), fill).astype(dtype(like)))

    return rule


def _arange(site: Site) -> Value:
    bounds = [site.array(index, "bounds").reshape(()).item() for index in range(3)]
    first, last, step = bounds
    steps = (last - first) / step  # a step of 0 is an error of this call
    site.reserve(int(steps))
    return constant(np.arange(*bounds).astype(site.word("dtype", "float32")))


def _shape_of(site: Site) -> Value:
    return constant(np.array(shape(site.tensor(0)), site.word("dtype", "int32")))


def _size(site: Site) -> Value:
    return constant(np.array(prod(shape(site.tensor(0))), site.word("dtype", "int32")))


def _depth_to_space(site: Site) -> Value:
    """Blocks of channels to blocks of pixels, and back; channels first or last."""
    x, block = site.tensor(0), site.integer("block_size")
    layout = site.word("layout", "NCHW")
    if layout not in ("NCHW", "NHWC") or rank(x) != 4 or block < 1:
        raise site.error(f"layout {layout!r} or block_size {block} is not compiled")
    first = x if layout == "NCHW" else site.emit(op.permute_dims(x, [0, 3, 1, 2]))
    n, c, h, w = shape(first)
    if site.operator == "nn.depth_to_space":
        if site.word("mode", "DCR") == "DCR":
            parts, order = [n, block, block, c // block**2, h, w], [0, 3, 4, 1, 5, 2]
        else:
            parts, order = [n, c // block**2, block, block, h, w], [0, 1, 4, 2, 5, 3]
        sizes = [n, c // block**2, h * block, w * block]
    else:
        parts = [n, c, h // block, block, w // block, block]
        order, sizes = [0, 3, 5, 1, 2, 4], [n, c * block**2, h // block, w // block]
    moved = site.emit(op.permute_dims(site.emit(op.reshape(first, parts)), order))
    result = site.emit(op.reshape(moved, sizes))
    return result if layout == "NCHW" else op.permute_dims(result, [0, 2, 3, 1])


RULES: dict[str, Rule] = {
    "reshape": _reshape,
    "reshape_like": _reshape_like,
    "nn.batch_flatten": _batch_flatten,
    "squeeze": _squeeze,
    "expand_dims": _expand_dims,
    "transpose": _transpose,
    "layout_transform": _layout_transform,
    "concatenate": _concatenate,
    "stack": _stack,
    "split": _split_rule,
    "nn.pad": _pad,
    "broadcast_to": _broadcast_to,
    "broadcast_to_like": _broadcast_to_like,
    "tile": _tile,
    "repeat": _repeat,
    "reverse": _reverse,
    "zeros": _filled(0.0),
    "ones": _filled(1.0),
    "full": _filled(None),
    "zeros_like": _filled_like(0.0),
    "ones_like": _filled_like(1.0),
    "full_like": _filled_like(None),
    "arange": _arange,
    "shape_of": _shape_of,
    "ndarray_size": _size,
    "nn.depth_to_space": _depth_to_space,
    "nn.space_to_depth": _depth_to_space,
}
