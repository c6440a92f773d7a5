"""What a generated matrix kernel is: element types, tiling, block, place in the cascade, epilogue.

A kernel call multiplies x [M, K] by w [K, N]. Both lie in memory as `mmul` tiles, each tile
row-major: x as [M/m][K/k][m][k], w as [K/k][N/n][k][n], y as [M/m][N/n][m][n] (or any other order
of tiles: the call says how far apart they are). A block of `rows` x `columns` accumulators walks y;
while the first K steps of a block run, the block before it is rounded and stored, and in its last
steps the accumulators so freed are set to the sums that the block after starts from. Of tiles that
are made lane by lane (`by_lanes`), or of block floating point (`blocked`), one block ends before
the next one begins; of the latter w lies as [K/k][N/n][n][k], unless the kernel turns its tiles
(`turned`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from match_aie.errors import TargetError
from match_aie.targets.aie_ml.devices import Tiling
from match_aie.targets.aie_ml.kernels.heads import heads, share
from match_aie.targets.aie_ml.kernels.requantise import BYTES as BYTES
from match_aie.targets.aie_ml.kernels.requantise import C_TYPES as C_TYPES
from match_aie.targets.aie_ml.kernels.requantise import Form as Form
from match_aie.targets.aie_ml.kernels.requantise import Requantise as Requantise

Position = Literal["only", "first", "middle", "last"]
Operation = Literal["mmul", "multiply", "sum"]

#: Bytes of the shortest vector (aie_api, "Basic Types").
SHORTEST_VECTOR = 16

#: Sums that the epilogue multiplies at a time: int32 by int32 in one 1024-bit accumulator.
MULTIPLIED_LANES = 16

#: Columns of a lane by lane tile: a row of 32-bit biases is a vector, and multipliers repeat by
#: whole rows.
LANE_COLUMNS = (4, 8, 16)


def lane_product_bits(a: str, b: str) -> int:
    """Bits of a sum of lane by lane products: int8 x int8 and int16 x int8 sum in 32 bits.

    `aie::mac` takes the accumulator that the kernel declares (aie_api, "Multiplication").
    """
    return 32 if BYTES[a] * BYTES[b] <= 2 else 64


@dataclass(frozen=True)
class KernelSpec:
    """One generated matrix kernel.

    Attributes:
        a: element type of x.
        b: element type of w.
        tiling: shape of one `mmul`.
        rows: accumulators of a block along M.
        columns: accumulators of a block along N.
        m: rows of x in a call, a multiple of `tiling.m * rows`.
        k: columns of x in a call, a multiple of `tiling.k`.
        n: columns of w in a call, a multiple of `tiling.n * columns`.
        requantise: the epilogue of the position that stores.
        position: in the cascade; "first" and "middle" pass sums on and store nothing.
        bias: sums start from a bias (in "only" and "first") instead of 0.
        relu: stored values are at least the zero point.
        operation: what a step adds: "mmul" a product of tiles; "multiply" lane by lane products,
            y[m, n] += x_k[m, n] * w[k, n] (a depthwise convolution; K counts taps, tiles are
            `tiling.m` x `tiling.n` lanes); "sum" lane by lane x_k[m, n] itself (average pooling).
        gathered: tiles of x lie where two tables say, `origins` of each tile of rows and
            `offsets` of each step, and need not be aligned: the taps of a convolution.
        border_bias: a table says for every row which bias it starts from: rows at an image's
            border, where padding is 0 and not the zero point.
        row_bias: a tile of addends for each tile of rows joins the bias.
        resumes: sums start from 32-bit ones of an earlier call, tile by tile: K cut over time.
        rounded: these sums are elements of the results' type, which an earlier call requantised.
        flat: all K steps are unrolled, their number a constant of the source: no loop is set up.
            `fit.flattened` says where program memory holds that.
        carries: calls over other rows follow each other without an end between them: the last block
            of one is drained in the first steps of the next one (`passes` in the source).
        upright: x lies as [K, M], a multiple of 32 rows, in tiles made lane by lane.
        turned: tiles of w, which become blocks of floats, lie as [k][n] and are turned first.
    """

    a: str
    b: str
    tiling: Tiling
    rows: int
    columns: int
    m: int
    k: int
    n: int
    requantise: Requantise
    position: Position = "only"
    bias: bool = True
    relu: bool = False
    operation: Operation = "mmul"
    gathered: bool = False
    border_bias: bool = False
    row_bias: bool = False
    resumes: bool = False
    rounded: bool = False
    flat: bool = False
    carries: bool = False
    upright: bool = False
    turned: bool = False

    def __post_init__(self) -> None:
        """Refuse calls that the kernel cannot walk."""
        if self.operation != "mmul" and (self.tiling.k != 1 or not self.gathered or self.floating):
            raise TargetError("lane by lane kernels gather integers, one tap a step")
        self._refuse_lanes()
        plain = self.floating and not self.gathered and not self.flat and self.accumulators == 1
        plain_blocks = self.floating and not self.gathered and not self.flat
        if self.turned > self.blocked or (self.blocked and not plain_blocks):
            raise TargetError("block floating point: steps in a loop, of tiles as they lie")
        if (self.by_lanes and not plain) or self.upright > (self.by_lanes and self.m % 32 == 0):
            raise TargetError("tiles made lane by lane: bfloat16, one a block, steps in a loop")
        if self.carries and not self.may_carry:
            raise TargetError("a kernel that goes on from call to call is a flat one of a cascade")
        if self.resumes and (self.bias or self.receives):
            raise TargetError("a kernel that resumes starts from neither bias nor cascade")
        if self.rounded and (
            not self.resumes or self.requantise.scaled or self.operation != "mmul"
        ):
            raise TargetError("rounded sums of a product go on where a shift stored them")
        if (self.border_bias or self.row_bias) and (not self.bias or self.floating):
            raise TargetError("a bias by rows needs an integer bias")
        for name, size, step in (
            ("m", self.m, self.tiling.m * self.rows),
            ("k", self.k, self.tiling.k),
            ("n", self.n, self.tiling.n * self.columns),
        ):
            if size < 1 or size % step:
                raise TargetError(
                    f"{name} = {size} of a kernel call is not a multiple of {step}",
                    hint="pad the operands, or choose another tiling or block",
                )
        if self.a not in C_TYPES or self.b not in C_TYPES:
            raise TargetError(f"no core multiplies {self.a} by {self.b}")
        if self.floating != (self.requantise.dtype in ("bfloat16", "float32")):
            raise TargetError(f"sums of {self.a} are not stored as {self.requantise.dtype}")
        if self.joined > 1 and self.gathered:
            raise TargetError(
                f"tiles of {self.tiling.m}x{self.tiling.n} {self.requantise.dtype} are too short "
                "to store, and an image keeps those of neighbouring channels apart",
                hint="a tiling with more rows",
            )
        if self.joined > 1 and (self.tiling.m > 1 or self.columns % self.joined):
            raise TargetError(
                f"tiles of {self.tiling.m}x{self.tiling.n} {self.requantise.dtype} are too short "
                f"to store; blocks of {self.joined} columns, or a multiple, store them together",
            )
        if self.position in ("middle", "last") and self.bias:
            raise TargetError(f"a {self.position} kernel starts from the cascade, not from a bias")
        if self.requantise.form == "shift" and self.requantise.zero_point and not self.folds:
            raise TargetError("an output zero point needs a bias to travel in")

    @property
    def may_carry(self) -> bool:
        """Whether calls can follow each other without an end: integers, an even number of blocks.

        Blocks take two sets of accumulators in turn, and each call must begin with the same.
        """
        plain = self.operation == "mmul" and not (self.gathered or self.resumes or self.row_bias)
        blocks = self.blocks[0] * self.blocks[1]
        cascaded = self.position != "only" and not self.floating and self.flat
        return plain and cascaded and self.joined == 1 and blocks >= 4 and blocks % 2 == 0

    def _refuse_lanes(self) -> None:
        """Refuse lane by lane tiles whose rows, or whose sums, are no vectors."""
        t = self.tiling
        if self.operation == "mmul" or (t.n in LANE_COLUMNS and t.m * t.n >= MULTIPLIED_LANES):
            return
        raise TargetError(
            f"tiles of {t.m}x{t.n} lanes are no vectors",
            hint=f"at least {MULTIPLIED_LANES} lanes, in rows of {LANE_COLUMNS}",
        )

    @property
    def folds(self) -> bool:
        """Whether a zero point can travel in a bias, of this kernel or of one before it."""
        return self.bias or self.resumes or self.position in ("middle", "last")

    @property
    def weighted(self) -> bool:
        """Whether the kernel reads w."""
        return self.operation != "sum"

    @property
    def floating(self) -> bool:
        """Whether sums are floats."""
        return self.a == "bfloat16"

    @property
    def by_lanes(self) -> bool:
        """Whether a tile is no `mmul` but products lane by lane."""
        return self.tiling.lanes > 0

    @property
    def blocked(self) -> bool:
        """Whether operands are made block floating point before they are multiplied."""
        return self.tiling.blocks

    @property
    def accumulator(self) -> str:
        """C++ tag of the accumulators that hold sums."""
        return "accfloat" if self.floating else f"acc{self.lane_bits}"

    @property
    def mmul_tag(self) -> str:
        """C++ tag by which the vendor's headers know the `mmul`; its sums may be wider."""
        return "accfloat" if self.floating else f"acc{self.tiling.tag_bits}"

    @property
    def lane_bits(self) -> int:
        """Bits of a sum: the `mmul` shape's own; lane by lane, twice those of wide elements."""
        if self.operation == "mmul":
            return self.tiling.lane_bits
        return lane_product_bits(self.a, self.b)

    @property
    def bias_dtype(self) -> str:
        """Element type of the bias."""
        return "float32" if self.floating else "int32"

    @property
    def receives(self) -> bool:
        """Whether sums arrive over the cascade."""
        return self.position in ("middle", "last")

    @property
    def stores(self) -> bool:
        """Whether results leave through memory, and not over the cascade."""
        return self.position in ("only", "last")

    @property
    def accumulators(self) -> int:
        """Accumulators of a block."""
        return self.rows * self.columns

    @cached_property
    def joined(self) -> int:
        """Neighbouring accumulators that are drained together.

        A store moves at least 128 bits, and a multiplication takes at least 16 sums.
        """
        if not self.stores:
            return 1
        lanes = self.tiling.m * self.tiling.n
        multiplied = MULTIPLIED_LANES // lanes if self.requantise.scaled else 1
        stored = lanes * BYTES[self.requantise.dtype]
        return max(1, multiplied, SHORTEST_VECTOR // stored)

    @property
    def drains(self) -> int:
        """Stores (or cascade writes) of a block."""
        return self.accumulators // self.joined

    @property
    def k_steps(self) -> int:
        """`mmul` steps along K."""
        return self.k // self.tiling.k

    @property
    def blocks(self) -> tuple[int, int]:
        """Blocks along M and along N."""
        return self.m // (self.tiling.m * self.rows), self.n // (self.tiling.n * self.columns)

    @property
    def lo(self) -> int | None:
        """Least stored value that the store does not ensure by saturating."""
        relu = self.requantise.zero_point if self.relu else None
        low = max((v for v in (self.requantise.lo, relu) if v is not None), default=None)
        unsigned = self.requantise.dtype == "uint8" and self.requantise.saturation == "saturate"
        return None if unsigned and low is not None and low <= 0 else low

    @property
    def _heads(self) -> tuple[int, int]:
        if self.tiling.waits:
            return 0, 0
        spread = self.flat and not self.stores, self.flat and self.receives
        return heads(self.drains, self.accumulators, self.k_steps, spread, grouped=self.carries)

    @property
    def drain_steps(self) -> int:
        """K steps, a block's first, during which the block before is drained."""
        return self._heads[0]

    @property
    def refill_steps(self) -> int:
        """K steps, a block's last, during which freed accumulators are filled for the one after."""
        return self._heads[1]

    @property
    def rest_steps(self) -> int:
        """K steps between those that drain and those that refill."""
        return self.k_steps - self.drain_steps - self.refill_steps

    @property
    def family(self) -> str:
        """Identifier that kernels with the same source share: everything but numbers.

        A flat kernel's number of K steps is part of its source.
        """
        r, t = self.requantise, self.tiling
        added = f"_{r.addend}" if r.addend != "zero_point" else ""
        narrow = "16" * r.narrow
        clips = ("_lo" if self.lo is not None else "") + ("_hi" if r.hi is not None else "")
        resumed = "_resumes" * self.resumes + f"_{r.dtype}" * self.rounded
        bias = "_border" * self.border_bias + "_rows" * self.row_bias or "_bias"
        operation = self._walk or self.operation
        return (
            f"{operation}_{self.a}_{self.b}_{t.m}x{t.k}x{t.n}_{self.rows}x{self.columns}_"
            f"{self.position}{'_gathered' if self.gathered else ''}{bias if self.bias else resumed}"
            f"{f'_{r.form}{narrow}_{r.dtype}{added}{clips}' if self.stores else ''}"
            f"_d{self.drain_steps}r{self.refill_steps}{f'_k{self.k_steps}' if self.flat else ''}"
            f"{'_passes' * self.carries}{'_upright' * self.upright}{'_turned' * self.turned}"
        )

    @property
    def sums_family(self) -> str:
        """Identifier of the operand sums that a product of two activations needs beside it."""
        t = self.tiling
        return f"sums_{self.a}_{self.b}_{t.m}x{t.k}x{t.n}_{self.rows}x{self.columns}"

    @property
    def template(self) -> str:
        """Its template, a path below templates/; it reads the kernel under the name `k`."""
        return f"aie/{self._walk or 'kernel'}.hpp.mako"

    @property
    def _walk(self) -> str:
        """What is special about the source: tiles lane by lane, blocks of floats, or nothing."""
        return "lanes" if self.by_lanes else "blocks" * self.blocked

    @property
    def describe(self) -> str:
        """A sentence for the head of the source."""
        t, kind = self.tiling, "" if self.by_lanes else "mmul "
        what = {
            "mmul": f"x [M, K] times w [K, N] in {kind}tiles {t.m}x{t.k}x{t.n}",
            "multiply": f"lane by lane products over taps, tiles of {t.m}x{t.n}",
            "sum": f"lane by lane sums over taps, tiles of {t.m}x{t.n}",
        }[self.operation]
        return (
            f"{what}, blocks of {self.rows} x {self.columns} accumulators; place in the cascade: "
            f"{self.position}."
        )

    #: C++ name of an element type.
    c_type = staticmethod(C_TYPES.__getitem__)

    @property
    def shares(self) -> tuple[tuple[tuple[int, ...], ...], tuple[tuple[int, ...], ...]]:
        """Drains of each of the steps that drain; accumulators filled in each that refills."""
        return (
            share(self.drains, self.drain_steps, early=True, grouped=self.carries),
            share(self.accumulators, self.refill_steps, grouped=self.carries),
        )
