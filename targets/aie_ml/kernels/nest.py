"""A layer's kernel function that walks tiles over time: which operand is fetched in which loop.

A tile of the array gets slices of M, N and K that may exceed its memory. The function loops over
tiles of them, K innermost, fetches a tile of an operand when its indices change, and keeps 32-bit
sums of one tile of y in its own memory while K goes on: every partial sum must fit 32 bits, as the
meaning of a quantised layer demands anyway. `rounded` sums are another arithmetic
(`kernels.rounded`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from match_aie.errors import TargetError
from match_aie.targets.aie_ml.kernels.call import LayerCall, Parameter, arguments_of
from match_aie.targets.aie_ml.kernels.spec import BYTES, KernelSpec, Requantise


@dataclass(frozen=True)
class Nest:
    """Loops over time around a kernel.

    Attributes:
        call: the function of one tile of x, w and y; its kernel is a plain matrix kernel.
        m_tiles: tiles of M.
        n_tiles: tiles of N.
        k_tiles: tiles of K.
        order: outer loops, outermost first.
        streamed: tiles of w arrive as x does; else all of them are a run-time parameter, ordered
            [n tile][k tile].
        numbers: vectors of 32-bit numbers by column that lie behind the weights of every turn: the
            parameters of a tile of N, in their order; 0 where they are run-time parameters, for all
            tiles of N.
        exposed: whether no block begins before the one before it is stored, as other tools' kernels
            do: such a function is timed, and not emitted.
        primed: whether the first turn of K has the kernel of those between, which starts from sums
            in memory: bias, or zeros, is stored in the last row of tiles of the sums before, and
            every row starts from there. Its code stands in program memory once.
        halved: whether numbers come in two halves instead, the first behind the weights of even
            turns of K, the second behind those of odd ones; turns of K are even then. The first and
            the last turn bring them together in the tile's memory.
        last_block: tiles of accumulators of the last turn's kernel where it stores results and has
            others than those before it; None where it has not.
        first_block: likewise of the first turn's kernel where no cascade's sums come to it.
        rounded: whether sums wait in the results' type: every turn requantises, and the next one
            shifts back up. They have 32 bits else.
        told: whether a text may have the host say at run time how many turns of K a block has: the
            layer runs by an overlay.
    """

    call: LayerCall
    m_tiles: int = 1
    n_tiles: int = 1
    k_tiles: int = 1
    order: Literal["mn", "nm"] = "mn"
    streamed: bool = True
    numbers: int = 0
    exposed: bool = False
    primed: bool = False
    halved: bool = False
    last_block: tuple[int, int] | None = None
    first_block: tuple[int, int] | None = None
    rounded: bool = False
    told: bool = False

    def __post_init__(self) -> None:
        """Refuse kernels whose operands are not cut this way."""
        s = self.call.spec
        if s.operation != "mmul" or s.gathered or s.row_bias or s.resumes:
            raise TargetError("only plain matrix kernels walk tiles over time")
        if min(self.m_tiles, self.n_tiles, self.k_tiles) < 1 or self.order not in ("mn", "nm"):
            raise TargetError(f"nest of {self.call.symbol}: loops over nothing")
        if self.numbers and (not self.streamed or len(self.behind) > self.numbers):
            raise TargetError(f"nest of {self.call.symbol}: numbers behind no weights")
        if self.primed and (s.floating or s.receives or s.tiling.n != 8):
            raise TargetError(f"nest of {self.call.symbol}: sums of 8 columns of integers alone")
        if self.rounded and (self.primed or s.requantise.scaled or s.by_lanes or s.blocked):
            raise TargetError(f"nest of {self.call.symbol}: sums that no shift rounds, or by lanes")
        self._refuse_halves()
        if s.carries and (self.n_tiles, self.k_tiles, self.streamed) != (1, 1, False):
            raise TargetError("kernels that go on from call to call walk rows, and nothing else")
        if s.carries and (self.m_tiles < 2 or self.order == "nm" or self.exposed):
            raise TargetError("a kernel that goes on has calls to go on to, rows outside")

    def _refuse_halves(self) -> None:
        """Refuse numbers whose halves are no vectors, or whose bias is not in the first one."""
        if not self.halved:
            return
        biased = any(p.name == "bias" for p in self.behind)
        if not self.primed or self.numbers < 1 + biased or self.half_words % 8:
            raise TargetError(f"nest of {self.call.symbol}: numbers are no halves of whole vectors")

    def carrying(self) -> Nest:
        """The same with calls that go on one into the next.

        Raises:
            TargetError: they cannot.
        """
        return replace(self, call=replace(self.call, spec=replace(self.call.spec, carries=True)))

    def ending(self) -> Nest:
        """The same with an end of each call."""
        return replace(self, call=replace(self.call, spec=replace(self.call.spec, carries=False)))

    @property
    def kernels(self) -> tuple[KernelSpec, ...]:
        """The kernels of the first, the middle and the last tile of K; one where there is one.

        The first starts from bias or cascade, the last stores or passes on.
        """
        s = self.call.spec
        if self.k_tiles == 1:
            return (s,)
        rows, columns = (self.last_block if s.stores else None) or (s.rows, s.columns)
        sums = self._waiting
        first = replace(s, position="last" if s.receives else "only", requantise=sums, relu=False)
        middle = replace(first, position="only", bias=False, resumes=True, rounded=self.rounded)
        if self.first_block is not None and not s.receives:
            first = replace(first, rows=self.first_block[0], columns=self.first_block[1])
        first = middle if self.primed else first
        last = replace(
            s,
            position="only" if s.stores else "first",
            bias=False,
            resumes=True,
            rounded=self.rounded,
            rows=rows,
            columns=columns,
        )
        return (first, middle, last) if self.k_tiles > 2 else (first, last)

    @property
    def _waiting(self) -> Requantise:
        """How sums become what waits: as results, but for bounds and a zero point that bias has."""
        tail = self.call.spec.requantise
        if self.rounded:
            return Requantise(
                tail.form, tail.dtype, rounding=tail.rounding, saturation=tail.saturation
            )
        dtype = "float32" if self.call.spec.floating else "int32"
        return Requantise("none", dtype, saturation=tail.saturation)

    @property
    def sums_dtype(self) -> str:
        """Of what waits between turns of K."""
        return self._waiting.dtype

    @property
    def symbol(self) -> str:
        """The function's name."""
        return self.call.symbol

    @property
    def template(self) -> str:
        """Its template, which reads it under the name `call`.

        Raises:
            TargetError: it is not emitted.
        """
        if self.exposed:
            raise TargetError(
                "kernels whose epilogue waits are simulated, and not emitted",
                hint="variant 'flat' or 'overlapped'",
            )
        return "aie/nest.cpp.mako"

    @property
    def headers(self) -> tuple[KernelSpec, ...]:
        """Kernels that its source includes."""
        return self.kernels

    @property
    def sums_bytes(self) -> int:
        """Of the sums that wait between turns of K: each block's are read before it is stored."""
        each = BYTES[self.sums_dtype]
        return each * self.call.spec.m * self.call.spec.n if self.k_tiles > 1 else 0

    @property
    def half_words(self) -> int:
        """Numbers that come behind the weights of a turn, where they come in halves."""
        return self.numbers * self.call.spec.n // 2

    @property
    def held_bytes(self) -> int:
        """Of numbers by column that wait for the last turn, where they come in halves."""
        return 8 * self.half_words if self.halved else 0

    @property
    def stack_bytes(self) -> int:
        """Local arrays of the function, beside what its compiler needs: all that waits."""
        return self.sums_bytes + self.held_bytes

    @property
    def single(self) -> bool:
        """Whether there is one buffer of results, taken for the last turn of K.

        It has left again long before, while the other turns went by.
        """
        return self.streamed and self.k_tiles > 1

    @property
    def behind(self) -> tuple[Parameter, ...]:
        """Numbers by column of one tile of N behind its weights."""
        return tuple(p for p in self.call.parameters if p.name != "w") if self.numbers else ()

    @property
    def w_elements(self) -> int:
        """Of one tile of w, and of what lies behind it."""
        s = self.call.spec
        words = self.half_words if self.halved else self.numbers * s.n
        return s.k * s.n + 4 * words // BYTES[s.b]

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Run-time parameters for all tiles of N, in the order of the arguments."""
        found = []
        for p in self.call.parameters:
            if p.name != "w" and self.numbers:
                continue
            if p.name != "w":
                found.append(replace(p, size=p.size * self.n_tiles))
            elif not self.streamed:
                found.append(replace(p, size=p.size * self.n_tiles * self.k_tiles))
        return tuple(found)

    @property
    def arguments(self) -> tuple[str, ...]:
        """The function's arguments as C++ text: x, w where streamed, parameters, cascade, y."""
        s = self.call.spec
        w = ((s.b, "w"),) if self.streamed else ()
        return arguments_of(((s.a, "x"), *w), self.parameters, s, fetches=True)

    @property
    def fetches_x(self) -> Literal["outer", "inner", "k"]:
        """The loop that fetches a tile of x: every turn of K, or as seldom as M changes."""
        if self.k_tiles > 1:
            return "k"
        return "outer" if self.order == "mn" else "inner"

    @property
    def fetches_w(self) -> Literal["outer", "inner", "k"]:
        """Likewise a tile of w."""
        if self.k_tiles > 1:
            return "k"
        return "outer" if self.order == "nm" else "inner"

    @property
    def outer(self) -> tuple[tuple[str, int], tuple[str, int]]:
        """The two outer loops, outermost first: index and count."""
        m, n = ("m", self.m_tiles), ("n", self.n_tiles)
        return (m, n) if self.order == "mn" else (n, m)

    @property
    def begins(self) -> tuple[tuple[str, object], ...]:
        """What primes sums: where they are, tiles of a row, and the bias of each column if any."""
        s = self.call.spec
        row = s.n * s.tiling.m
        found: list[tuple[str, object]] = [("to", f"sums + {s.m * s.n - row}")]
        return (*found, ("tiles", s.n // s.tiling.n), ("bias", self._numbers("bias", "int32")))

    def _numbers(self, name: str, c_type: str) -> str | None:
        """Numbers by column of a tile of N, as C++ text; None where there are none."""
        s = self.call.spec
        for at, p in enumerate(self.behind):
            if p.name == name:
                after = f"w.data() + {s.k * s.n + at * 4 * s.n // BYTES[s.b]}"
                if self.halved:
                    after = f"numbers + {at * s.n}"
                return f"reinterpret_cast<const {c_type} *>({after})"
        known = any(p.name == name for p in self.parameters)
        return f"{name} + n * {s.n}" if known else None

    @property
    def holds(self) -> tuple[str, str]:
        """Calls that put halves of the numbers where they wait: in the first turn, and the last."""
        s = self.call.spec
        came = f"reinterpret_cast<const int32 *>(w.data() + {s.k * s.n})"
        first, second = ("numbers", f"numbers + {self.half_words}")
        return f"{self.symbol}_hold({first}, {came});", f"{self.symbol}_hold({second}, {came});"

    def runs(self, number: int) -> str:
        """The function that runs kernel `number` of `kernels`, as C++ text."""
        once = self.primed and number + 1 < len(self.kernels)
        return f"{self.symbol}_turn" if once else f"{self.kernels[number].family}::run"

    def fields(self, number: int) -> tuple[tuple[str, object], ...]:
        """The call of kernel `number` of `kernels`, as C++ text or numbers."""
        kernel = self.kernels[number]
        s = self.call.spec
        named = dict(replace(self.call, spec=kernel).fields)
        w = "w.data()" if self.streamed else f"w + (n * {self.k_tiles} + k) * {s.k * s.n}"
        named["w"] = w
        for p in (*self.parameters, *self.behind):
            if p.name != "w" and p.name in named:
                named[p.name] = self._numbers(p.name, p.c_type)
        sums = (("y_m_step", s.n * s.tiling.m), ("y_n_step", s.tiling.m * s.tiling.n))
        partial = {}
        if kernel.resumes:
            partial = {"partial": "sums", **{k.replace("y", "partial"): v for k, v in sums}}
        if self.primed and number == 0:
            partial |= {"partial": dict(self.begins)["to"], "partial_m_step": 0}
        if number + 1 < len(self.kernels):
            named |= {"y": "sums"}
        order = ("x", "w", "bias", "partial", "partial_m_step", "partial_n_step", "from", "to", "y")
        merged = {**named, **partial}
        rest = tuple(key for key in merged if key not in order)
        return tuple((key, merged[key]) for key in (*order, *rest) if key in merged)
