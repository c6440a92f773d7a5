"""What Relay's operators mean, in plain numpy loops; channel-first unless said otherwise."""

from __future__ import annotations

from itertools import product

import numpy as np


def conv(x, weight, strides, padding, dilation, groups=1):
    """Convolution of any number of axes: x [N, C, ...], weight [O, I, ...]; summed in x's type."""
    ways = x.ndim - 2
    pads = [(0, 0), (0, 0), *zip(padding[:ways], padding[ways:], strict=True)]
    padded = np.pad(x, pads)
    outputs, inner = weight.shape[:2]
    taps = weight.shape[2:]
    size = [
        (padded.shape[2 + i] - dilation[i] * (taps[i] - 1) - 1) // strides[i] + 1
        for i in range(ways)
    ]
    y = np.zeros((x.shape[0], outputs, *size), x.dtype)
    per = outputs // groups
    for o in range(outputs):
        first = o // per * inner
        for c, *tap in product(range(inner), *map(range, taps)):
            view = padded[:, first + c]
            cut = [slice(None)]
            for i, t in enumerate(tap):
                start = t * dilation[i]
                cut.append(slice(start, start + (size[i] - 1) * strides[i] + 1, strides[i]))
            y[:, o] += view[tuple(cut)] * weight[(o, c, *tap)]
    return y


def conv_transpose(x, weight, strides, padding, output_padding, groups=1):
    """Transposed convolution: x [N, C, ...], weight [C, O/groups, ...]."""
    ways = x.ndim - 2
    taps = weight.shape[2:]
    per_out, per_in = weight.shape[1], x.shape[1] // groups
    full = [(x.shape[2 + i] - 1) * strides[i] + taps[i] + output_padding[i] for i in range(ways)]
    y = np.zeros((x.shape[0], per_out * groups, *full), x.dtype)
    for c, o in product(range(x.shape[1]), range(per_out)):
        out = c // per_in * per_out + o
        for tap in product(*map(range, taps)):
            cut = [
                slice(t, t + (x.shape[2 + i] - 1) * strides[i] + 1, strides[i])
                for i, t in enumerate(tap)
            ]
            y[(slice(None), out, *cut)] += x[:, c] * weight[(c, o, *tap)]
    cut = [slice(padding[i], full[i] - padding[ways + i]) for i in range(ways)]
    return y[(slice(None), slice(None), *cut)]


def pool(x, kind, size, strides, padding, count_include_pad=False, ceil_mode=False):
    """Max or average pool of [N, C, ...]; integer averages are truncated."""
    ways = x.ndim - 2
    out = []
    for i in range(ways):
        span = x.shape[2 + i] + padding[i] + padding[ways + i] - size[i]
        out.append((-(-span // strides[i]) if ceil_mode else span // strides[i]) + 1)
    y = np.zeros((*x.shape[:2], *out), x.dtype)
    for place in product(*map(range, out)):
        low = [place[i] * strides[i] - padding[i] for i in range(ways)]
        cut = [slice(max(low[i], 0), min(low[i] + size[i], x.shape[2 + i])) for i in range(ways)]
        seen = x[(slice(None), slice(None), *cut)].reshape(*x.shape[:2], -1)
        if kind == "max":
            y[(slice(None), slice(None), *place)] = seen.max(-1)
            continue
        count = np.prod(size) if count_include_pad else seen.shape[-1]
        total = seen.astype(np.int64 if x.dtype.kind in "iu" else x.dtype).sum(-1)
        average = np.trunc(total / count) if x.dtype.kind in "iu" else total / x.dtype.type(count)
        y[(slice(None), slice(None), *place)] = average
    return y


def multiplier_shift(factor):
    fraction, exponent = np.frexp(np.float64(factor))
    whole = int(np.floor(fraction * 2.0**31 + 0.5))
    return (whole // 2, int(exponent) + 1) if whole == 1 << 31 else (whole, int(exponent))


def fixed_point(x, factor, rounding="UPWARD"):
    """int32 x times a real factor, as TVM's integer requantisation has it."""
    multiplier, shift = multiplier_shift(factor)
    wide = (x.astype(np.int64) << max(shift, 0)) * multiplier
    total = 31 + max(-shift, 0)
    half = np.int64(1) << (total - 1)
    up = np.where(wide >= 0, half, half - 1) if rounding == "TONEAREST" else half
    return ((wide + up) >> total).astype(np.int32)


def requantize(x, scales, zero, out_scale, out_zero, axis=-1, dtype="int8", rounding="UPWARD"):
    """qnn.requantize of integers."""
    x = x.astype(np.int32) - zero
    scales = np.atleast_1d(np.asarray(scales, np.float32))
    out_scale = np.float32(out_scale)
    if scales.size == 1:
        y = (
            x
            if scales[0] == out_scale
            else fixed_point(x, float(scales[0]) / float(out_scale), rounding)
        )
    else:
        moved = np.moveaxis(x, axis, 0)
        parts = [
            fixed_point(part, float(scale) / float(out_scale), rounding)
            for part, scale in zip(moved, scales, strict=True)
        ]
        y = np.moveaxis(np.stack(parts), 0, axis)
    y = y + np.int32(out_zero)
    if dtype == "int32":
        return y
    info = np.iinfo(dtype)
    return np.clip(y, info.min, info.max).astype(dtype)
