"""Layers with weights, pools, norms, and operators that move elements, for random networks."""

from __future__ import annotations

from math import prod

import numpy as np

from tests.fuzzing.float_base import MOST, SIZES, Builder


class Moves(Builder):
    """Operators that only move elements."""

    def concat(self) -> None:
        x = self.pick(1, 2, 3, 4)
        if x is None:
            return
        axis = self.between(0, x.rank - 1)
        parts, size = [x.name], x.shape[axis]
        fitting = [
            v
            for v in self.values
            if v.dtype == "float32"
            and v.rank == x.rank
            and all(v.shape[a] == x.shape[a] for a in range(x.rank) if a != axis)
        ]
        big = x.big
        for _ in range(self.between(1, 3)):
            if self.chance(0.4):
                shape = (*x.shape[:axis], self.between(1, 5), *x.shape[axis + 1 :])
                parts.append(self.floats(shape))
                size += shape[axis]
            else:
                other = fitting[self.between(0, len(fitting) - 1)]
                parts.append(other.name)
                size, big = size + other.shape[axis], max(big, other.big)
        shape = (*x.shape[:axis], size, *x.shape[axis + 1 :])
        if prod(shape) <= MOST:
            order = [int(i) for i in self.rng.permutation(len(parts))]
            given = axis - x.rank if self.chance(0.3) else axis
            self.put(self.one("Concat", [parts[i] for i in order], axis=given), shape, big)

    def split(self) -> None:
        x = self.pick(1, 2, 3, 4, least=2)
        if x is None:
            return
        axis = int(np.argmax(x.shape))
        first = self.between(1, x.shape[axis] - 1)
        sizes = (first, x.shape[axis] - first)
        names = self.node("Split", [x.name, self.ints(*sizes)], 2, axis=axis)
        for name, size in zip(names, sizes, strict=True):
            self.put(name, (*x.shape[:axis], size, *x.shape[axis + 1 :]), x.big)

    def slice(self) -> None:
        x = self.pick(1, 2, 3, 4)
        if x is None:
            return
        axes = sorted({self.between(0, x.rank - 1) for _ in range(self.between(1, 2))})
        starts, ends, steps, shape = [], [], [], list(x.shape)
        for axis in axes:
            n, step = x.shape[axis], self.choose(1, 1, 1, 2, 3, -1)
            if step < 0:
                begin, end, size = n - 1, -n - 1, n
            else:
                begin = self.between(0, n - 1)
                end = self.choose(n, self.between(begin + 1, n), 2**31)
                size = -(-(min(end, n) - begin) // step)
            starts.append(begin)
            ends.append(end)
            steps.append(step)
            shape[axis] = size
        parts = [self.ints(*v) for v in (starts, ends, axes, steps)]
        self.put(self.one("Slice", [x.name, *parts]), shape, x.big)

    def pad(self) -> None:
        x = self.pick(1, 2, 3, 4)
        if x is None:
            return
        mode = self.choose("constant", "constant", "reflect", "edge")
        most = [n - 1 if mode == "reflect" else 3 for n in x.shape]
        amounts = [min(self.between(0, 2), most[a % x.rank]) for a in range(2 * x.rank)]
        shape = [n + amounts[a] + amounts[a + x.rank] for a, n in enumerate(x.shape)]
        if prod(shape) > MOST:
            return
        inputs = [x.name, self.ints(*amounts)]
        if mode == "constant" and self.chance(0.5):
            inputs.append(self.const(np.float32(self.rng.normal())))
        self.put(self.one("Pad", inputs, mode=mode), shape, x.big)

    def transpose(self) -> None:
        x = self.pick(2, 3, 4)
        if x is None:
            return
        axes = [int(a) for a in self.rng.permutation(x.rank)]
        name = self.one("Transpose", [x.name], perm=axes)
        self.put(name, [x.shape[a] for a in axes], x.big)

    def reshape(self) -> None:
        x = self.pick(0, 1, 2, 3, 4)
        if x is None:
            return
        kind = self.choose("Reshape", "Reshape", "Flatten", "Unsqueeze", "Squeeze")
        if kind == "Flatten" and x.rank:
            axis = self.between(0, x.rank)
            shape: tuple[int, ...] = (prod(x.shape[:axis]), prod(x.shape[axis:]))
            self.put(self.one(kind, [x.name], axis=axis), shape, x.big)
        elif kind == "Unsqueeze" and x.rank < 4:
            axis = self.between(0, x.rank)
            shape = (*x.shape[:axis], 1, *x.shape[axis:])
            self.put(self.one(kind, [x.name, self.ints(axis)]), shape, x.big)
        elif kind == "Squeeze" and 1 in x.shape:
            axis = x.shape.index(1)
            shape = (*x.shape[:axis], *x.shape[axis + 1 :])
            self.put(self.one(kind, [x.name, self.ints(axis)]), shape, x.big)
        elif kind == "Reshape":
            left, shape = x.size, ()
            for _ in range(self.between(0, 3)):
                shape += (self.choose(*[d for d in range(1, left + 1) if left % d == 0]),)
                left //= shape[-1]
            shape = (*shape, left)
            given = list(shape)
            if self.chance(0.4):
                given[self.between(0, len(given) - 1)] = -1
            self.put(self.one(kind, [x.name, self.ints(*given)]), shape, x.big)

    def gather(self) -> None:
        x = self.pick(1, 2, 3, 4)
        if x is None:
            return
        axis = self.between(0, x.rank - 1)
        index = self.sizes(self.choose(0, 1, 1, 2))[:2]
        index = tuple(min(n, 5) for n in index)
        shape = (*x.shape[:axis], *index, *x.shape[axis + 1 :])
        if prod(shape) > MOST or len(shape) > 5:
            return
        low = -x.shape[axis] if self.chance(0.3) else 0
        places = self.rng.integers(low, x.shape[axis], index).astype(np.int64)
        self.put(self.one("Gather", [x.name, self.const(places)], axis=axis), shape, x.big)

    def expand(self) -> None:
        x = self.pick(0, 1, 2, 3)
        if x is None:
            return
        shape = tuple(self.between(1, 4) if n == 1 else n for n in x.shape)
        shape = (*[self.between(1, 3)] * self.between(0, 1), *shape)
        if shape and prod(shape) <= MOST:
            self.put(self.one("Expand", [x.name, self.ints(*shape)]), shape, x.big)

    def tile(self) -> None:
        x = self.pick(1, 2, 3, 4)
        if x is None:
            return
        times = [self.choose(1, 1, 2, 3) for _ in x.shape]
        shape = [n * t for n, t in zip(x.shape, times, strict=True)]
        if prod(shape) <= MOST:
            self.put(self.one("Tile", [x.name, self.ints(*times)]), shape, x.big)

    def resize(self) -> None:
        x = self.pick(4)
        if x is None:
            return
        mode = self.choose("nearest", "nearest", "linear")
        by = self.choose(2, 3)
        shape = (*x.shape[:2], x.shape[2] * by, x.shape[3] * by)
        if prod(shape) > MOST:
            return
        where = self.choose("asymmetric", "half_pixel", "align_corners")
        extra = {"nearest_mode": "floor"} if mode == "nearest" else {}
        inputs = [x.name, "", "", self.ints(*shape)]
        if self.chance(0.5):
            inputs = [x.name, "", self.const(np.array([1, 1, by, by], np.float32))]
        extra["coordinate_transformation_mode"] = where
        self.put(self.one("Resize", inputs, mode=mode, **extra), shape, x.big)

    def depth_to_space(self) -> None:
        x = self.pick(4)
        if x is None:
            return
        n, c, h, w = x.shape
        if c % 4 == 0 and self.chance(0.6):
            name = self.one("DepthToSpace", [x.name], blocksize=2, mode=self.choose("DCR", "CRD"))
            self.put(name, (n, c // 4, h * 2, w * 2), x.big)
        elif h % 2 == 0 and w % 2 == 0:
            name = self.one("SpaceToDepth", [x.name], blocksize=2)
            self.put(name, (n, c * 4, h // 2, w // 2), x.big)


class Layers(Moves):
    """Convolutions, pools, products, norms and recurrent layers."""

    def window(self, size, pool: bool = False) -> tuple[dict, tuple[int, ...]] | None:
        kernel = [self.between(1, min(4, n + 1)) for n in size]
        strides = [self.between(1, 3) for _ in size]
        dilations = [1 if pool else self.choose(1, 1, 1, 2) for _ in size]
        spans = [d * (k - 1) + 1 for k, d in zip(kernel, dilations, strict=True)]
        pads = [self.between(0, min(2, k - 1)) for k in kernel + kernel]
        rank = len(size)
        room = [n + pads[i] + pads[i + rank] - spans[i] for i, n in enumerate(size)]
        if min(room) < 0:
            return None
        out = tuple(r // s + 1 for r, s in zip(room, strides, strict=True))
        found = {"kernel_shape": kernel, "strides": strides, "pads": pads}
        return (found if pool else {**found, "dilations": dilations}), out

    def conv(self) -> None:
        x = self.pick(3, 4)
        window = self.window(x.shape[2:]) if x else None
        if x is None or window is None:
            return
        attributes, out = window
        channels = x.shape[1]
        divisors = [g for g in range(1, channels + 1) if channels % g == 0]
        groups = self.choose(1, 1, channels, self.choose(*divisors))
        outputs = groups * self.choose(*[k for k in SIZES if k * groups <= 40] or [1])
        shape = (outputs, channels // groups, *attributes["kernel_shape"])
        if prod((x.shape[0], outputs, *out)) > MOST:
            return
        inputs = [x.name, self.floats(shape, prod(shape[1:]) ** -0.5)]
        if self.chance(0.6):
            inputs.append(self.floats((outputs,), 0.5))
        name = self.one("Conv", inputs, group=groups, **attributes)
        self.put(name, (x.shape[0], outputs, *out), x.big * 2)

    def conv_transpose(self) -> None:
        x = self.pick(3, 4)
        if x is None:
            return
        size = x.shape[2:]
        kernel = [self.between(1, 4) for _ in size]
        strides = [self.between(1, 2) for _ in size]
        pads = [self.between(0, (k - 1) // 2) for k in kernel] * 2
        out = [
            (n - 1) * s + k - 2 * p for n, s, k, p in zip(size, strides, kernel, pads, strict=False)
        ]
        outputs = self.between(1, 9)
        shape = (x.shape[0], outputs, *out)
        if min(out) < 1 or prod(shape) > MOST:
            return
        weight = (x.shape[1], outputs, *kernel)
        inputs = [x.name, self.floats(weight, (x.shape[1] * prod(kernel)) ** -0.5)]
        if self.chance(0.5):
            inputs.append(self.floats((outputs,), 0.5))
        extra = {"kernel_shape": kernel, "strides": strides, "pads": pads}
        self.put(self.one("ConvTranspose", inputs, **extra), shape, x.big * 2)

    def pool(self) -> None:
        x = self.pick(3, 4)
        window = self.window(x.shape[2:], pool=True) if x else None
        if x is None or window is None:
            return
        attributes, out = window
        operator = self.choose("MaxPool", "AveragePool")
        if operator == "AveragePool":
            attributes["count_include_pad"] = self.between(0, 1)
        self.put(self.one(operator, [x.name], **attributes), (*x.shape[:2], *out), x.big)

    def whole_pool(self) -> None:
        x = self.pick(3, 4)
        if x is None:
            return
        name = self.one(self.choose("GlobalAveragePool", "GlobalMaxPool"), [x.name])
        self.put(name, (*x.shape[:2], *[1] * (x.rank - 2)), x.big)

    def matmul(self) -> None:
        x = self.pick(1, 2, 3, 4)
        if x is None:
            return
        inner = x.shape[-1]
        if x.rank > 1 and self.chance(0.3):
            axes = [*range(x.rank - 2), x.rank - 1, x.rank - 2]
            moved = self.one("Transpose", [x.name], perm=axes)
            shape = (*x.shape[:-1], x.shape[-2])
            if prod(shape) <= MOST:
                self.put(self.one("MatMul", [x.name, moved]), shape, x.big**2 * inner**0.5)
            return
        columns = self.choose(*SIZES)
        batch = x.shape[:-2] if self.chance(0.4) else ()
        if self.chance(0.12):
            name = self.one("MatMul", [x.name, self.floats((inner,), inner**-0.5)])
            self.put(name, x.shape[:-1], x.big * 2)
            return
        shape = (*x.shape[:-1], columns)
        if prod(shape) > MOST:
            return
        if x.rank > 1 and self.chance(0.25):
            # The constant first.
            rows = x.shape[-2]
            weight = self.floats((*batch, columns, rows), rows**-0.5)
            shape = (*x.shape[:-2], columns, x.shape[-1])
            if prod(shape) <= MOST:
                self.put(self.one("MatMul", [weight, x.name]), shape, x.big * 2)
            return
        weight = self.floats((*batch, inner, columns), inner**-0.5)
        self.put(self.one("MatMul", [x.name, weight]), shape, x.big * 2)

    def dense(self) -> None:
        """A product with a constant, a bias, and perhaps an activation behind it."""
        x = self.pick(2, 3)
        if x is None:
            return
        columns = self.choose(*SIZES)
        shape = (*x.shape[:-1], columns)
        if prod(shape) > MOST:
            return
        weight = self.floats((x.shape[-1], columns), x.shape[-1] ** -0.5)
        name = self.one("MatMul", [x.name, weight])
        pair = [name, self.floats((columns,), 0.5)][:: self.choose(1, -1)]
        name = self.one("Add", pair)
        if self.chance(0.6):
            name = self.one(self.choose("Relu", "Tanh", "Sigmoid", "HardSwish"), [name])
        self.put(name, shape, x.big * 2)

    def gemm(self) -> None:
        x = self.pick(2)
        if x is None:
            return
        left, right, columns = self.between(0, 1), self.between(0, 1), self.choose(*SIZES)
        rows, inner = x.shape[::-1] if left else x.shape
        shape = (columns, inner) if right else (inner, columns)
        inputs = [x.name, self.floats(shape, inner**-0.5)]
        if self.chance(0.7):
            inputs.append(self.floats(self.choose((columns,), (1, columns), (rows, 1), ()), 0.5))
        extra = {"transA": left, "transB": right}
        if self.chance(0.3):
            extra |= {"alpha": 0.5, "beta": 1.5}
        if rows * columns <= MOST:
            self.put(self.one("Gemm", inputs, **extra), (rows, columns), x.big * 2)

    def einsum(self) -> None:
        x = self.pick(3, 2)
        if x is None:
            return
        columns = self.between(1, 9)
        weight = self.floats((x.shape[-1], columns), x.shape[-1] ** -0.5)
        letters = "abc"[: x.rank]
        out = letters[:-1] + "z"
        text = f"{letters},{letters[-1]}z->{out}"
        shape = (*x.shape[:-1], columns)
        if prod(shape) <= MOST:
            self.put(self.one("Einsum", [x.name, weight], equation=text), shape, x.big * 2)

    def norm(self) -> None:
        x = self.pick(2, 3, 4)
        if x is None:
            return
        kind = self.choose("BatchNormalization", "LayerNormalization", "InstanceNormalization")
        if kind == "LayerNormalization":
            axis = self.choose(-1, -1, x.rank - 1, x.rank - 2)
            shape = x.shape[axis:]
            inputs = [x.name, self.floats(shape), self.floats(shape)]
            inputs = inputs[: self.choose(2, 3, 3)]
            if prod(shape) < 3:
                return
            self.put(self.one(kind, inputs, axis=axis, epsilon=1e-2), x.shape, 8)
            return
        channels = x.shape[1]
        scale, bias = self.floats((channels,)), self.floats((channels,))
        if kind == "InstanceNormalization":
            if x.rank < 3 or prod(x.shape[2:]) < 3:
                return
            self.put(self.one(kind, [x.name, scale, bias], epsilon=1e-2), x.shape, 8)
            return
        mean = self.floats((channels,))
        spread = self.const((0.5 + self.rng.random(channels)).astype(np.float32))
        self.put(self.one(kind, [x.name, scale, bias, mean, spread]), x.shape, x.big * 3)

    def softmax(self) -> None:
        x = self.pick(1, 2, 3, 4)
        if x is None:
            return
        axis = self.choose(-1, self.between(0, x.rank - 1))
        operator = self.choose("Softmax", "Softmax", "LogSoftmax")
        big = 1.0 if operator == "Softmax" else 2 * x.big + 4
        self.put(self.one(operator, [x.name], axis=axis), x.shape, big)

    def recurrent(self) -> None:
        x = self.pick(3)
        if x is None or x.shape[0] > 12:
            return
        steps, batch, inner = x.shape
        kind, hidden = self.choose("GRU", "LSTM", "RNN"), self.between(1, 9)
        gates = {"GRU": 3, "LSTM": 4, "RNN": 1}[kind]
        inputs = [
            x.name,
            self.floats((1, gates * hidden, inner), inner**-0.5),
            self.floats((1, gates * hidden, hidden), hidden**-0.5),
        ]
        if self.chance(0.7):
            inputs.append(self.floats((1, 2 * gates * hidden), 0.3))
        extra = {"linear_before_reset": self.between(0, 1)} if kind == "GRU" else {}
        direction = self.choose("forward", "forward", "reverse")
        whole, last = self.node(kind, inputs, 2, hidden_size=hidden, direction=direction, **extra)
        if self.chance(0.4):
            self.put(last, (1, batch, hidden), 1.0)
        self.put(whole, (steps, 1, batch, hidden), 1.0)
