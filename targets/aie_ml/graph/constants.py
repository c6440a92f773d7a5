"""The constants of a dense layer as its tiles read them, or their sizes alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from match_aie.targets.aie_ml.array.emit import tail_of
from match_aie.targets.aie_ml.graph.timed import Timed
from match_aie.targets.aie_ml.kernels.arithmetic import Epilogue, epilogue, starts
from match_aie.targets.aie_ml.kernels.layout import (
    folded_bias,
    pack_w,
    pack_weights,
    packed_halves,
    words_of,
)
from match_aie.targets.aie_ml.kernels.nest import Nest
from match_aie.targets.aie_ml.kernels.spec import KernelSpec
from match_aie.workload import Workload


@dataclass(frozen=True, eq=False)
class Numbers:
    """A layer's constants, cut as tiles read them.

    Attributes:
        timed: how the layer runs.
        workload: in the arithmetic of the kernels.
        constants: by operand name.
    """

    timed: Timed
    workload: Workload
    constants: Mapping[str, np.ndarray]

    @cached_property
    def end(self) -> Epilogue:
        """The requantisation."""
        return epilogue(self.workload, self.constants)

    #: Never apart: the requantisation has its bounds.
    relu = False

    @property
    def biased(self) -> bool:
        """Whether sums start from something."""
        return starts(self.workload, self.end.requantise.form)

    @cached_property
    def weights(self) -> np.ndarray:
        """[parts of the reduction, reduction of one, calls, parts of the columns, columns]."""
        m = self.timed.mapping
        w = pack_weights(self.constants["weight"].T)
        shape = m.cas_length, m.part_reduction, m.column_steps, m.column_parts, m.call_columns
        whole = shape[0] * shape[1], shape[2] * self.timed.width
        rest = whole[0] - w.shape[0], whole[1] - w.shape[1]
        return np.pad(w, ((0, rest[0]), (0, rest[1]))).reshape(shape)

    @cached_property
    def columns(self) -> dict[str, np.ndarray]:
        """What has one number for each column: [calls, parts of the columns, columns], 32 bits."""
        m, w = self.timed.mapping, self.constants["weight"].T
        whole = np.broadcast_to(self.end.bias, (w.shape[1],))
        found = {"bias": folded_bias(whole, w, self.workload.inputs[0].zero_point)}
        for name in ("multiplier", "addend"):
            number = getattr(self.end, name)
            if isinstance(number, np.ndarray):
                found[name] = number
        shape = m.column_steps, m.column_parts, m.call_columns
        rest = m.column_steps * self.timed.width - w.shape[1]
        return {
            name: np.pad(words_of(value), (0, rest)).reshape(shape) for name, value in found.items()
        }

    def packed(self, at: int, part: int, call: int, spec: KernelSpec) -> np.ndarray:
        """Weights of one call of one tile, turn by turn as its kernel reads them.

        Behind those of each turn, where they come by stream, the tile's numbers by column, or half
        of them.
        """
        matrix = self.weights[at, :, call, part]
        turns = np.split(matrix, len(matrix) // spec.k)
        pieces = np.split(self._behind(at, part, call).view(matrix.dtype), self.timed.number_turns)
        return np.concatenate(
            [
                each
                for number, turn in enumerate(turns)
                for each in (pack_w(turn, spec), pieces[number % len(pieces)])
            ]
        )

    def _behind(self, at: int, part: int, call: int) -> np.ndarray:
        """Numbers of one call of a tile in the order of its parameters; zeros for what is not."""
        m = self.timed.mapping
        found = np.zeros((m.numbers(at), m.call_columns), np.int32)
        names = ["bias"] * (self.biased and at == 0)
        if at == m.cas_length - 1:
            names += [name for name in ("multiplier", "addend") if name in self.columns]
        for place, name in enumerate(names[: len(found)]):
            own = self.columns[name][call, part]
            if name == "multiplier" and self.end.requantise.narrow:
                own = packed_halves(own)
            found[place, : own.size] = own.view(np.int32)
        return found.reshape(-1)

    def values(self, nest: Nest, at: int, part: int) -> tuple[tuple[str, np.ndarray], ...]:
        """Parameters of a tile."""
        found = []
        for p in nest.parameters:
            if p.name == "w":
                calls = range(self.timed.mapping.column_steps)
                whole = [self.packed(at, part, call, nest.call.spec) for call in calls]
                found.append((p.name, np.concatenate(whole)))
            else:
                found.append((p.name, self.columns[p.name][:, part].reshape(-1)))
        return tuple(found)

    def streamed(self, at: int, piece: range, spec: KernelSpec) -> np.ndarray:
        """Weights of tile `at` of the chains with these parts of the columns, buffer by buffer."""
        calls = range(self.timed.mapping.column_steps)
        each = self.timed.w_turns(piece) * self.timed.turn_weights(at)
        parts = [
            np.concatenate([self.packed(at, part, call, spec) for call in calls]).reshape(-1, each)
            for part in piece
        ]
        return np.stack(parts, axis=1).reshape(-1)


@dataclass(frozen=True, eq=False)
class Blank:
    """A layer without numbers, for programs that are only timed.

    Attributes:
        timed: how the layer runs.
    """

    timed: Timed

    @property
    def end(self) -> Epilogue:
        """The requantisation that the layer names."""
        tail = tail_of(self.timed.mapping)
        return Epilogue(tail, 0, 0, 0, np.zeros(1, np.int64))

    @property
    def relu(self) -> bool:
        """As the layer says."""
        return self.timed.mapping.layer.relu

    @property
    def biased(self) -> bool:
        """As the layer says."""
        return self.timed.mapping.layer.bias

    def values(self, nest: Nest, at: int, part: int) -> tuple[tuple[str, np.ndarray], ...]:
        """None."""
        del nest, at, part
        return ()

    def streamed(self, at: int, piece: range, spec: KernelSpec) -> np.ndarray:
        """Zeros."""
        del spec
        m = self.timed.mapping
        size = len(piece) * self.timed.turn_weights(at) * m.reduction_steps * m.column_steps
        return np.broadcast_to(np.zeros(1, np.int8), (size,))
