"""What a generated matrix kernel is: element types, tiling, block, place in the cascade, epilogue.

A kernel call multiplies x [M, K] by w [K, N]. Both lie in memory as `mmul` tiles, each tile
row-major: x as [M/m][K/k][m][k], w as [K/k][N/n][k][n], y as [M/m][N/n][m][n]. A block of `rows` x
`columns` accumulators walks y; while the first K steps of a block run, the block before it is
rounded and stored and the accumulators so freed are set to the sums that the block after starts
from.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from match_aie.errors import TargetError
from match_aie.targets.aie_ml.devices import CoreTile, Device, Tiling, pair_name
from match_aie.targets.aie_ml.kernels.numeric import ROUNDING_MODES, RoundingMode, SaturationMode

Position = Literal["only", "first", "middle", "last"]
Form = Literal["shift", "tensor", "channel", "none"]

#: C++ names of element types.
C_TYPES = {
    "int8": "int8",
    "uint8": "uint8",
    "int16": "int16",
    "int32": "int32",
    "bfloat16": "bfloat16",
    "float32": "float",
}
BYTES = {"int8": 1, "uint8": 1, "int16": 2, "int32": 4, "bfloat16": 2, "float32": 4}

#: Bytes of the shortest vector (aie_api, "Basic Types").
SHORTEST_VECTOR = 16


@dataclass(frozen=True)
class Requantise:
    """From an accumulator to a stored element: y = clip(srs(acc * multiplier + (z << shift))).

    Attributes:
        form: "shift" (multiplier 1; the zero point then travels in the bias), "tensor" (one
            multiplier), "channel" (one per column), "none" (the sum itself is stored).
        dtype: of what is stored.
        zero_point: added before rounding, in steps of the output.
        rounding: of the bits shifted out.
        saturation: where the result leaves the range of `dtype`.
        lo: least stored value, None where the type's own bound does.
        hi: greatest stored value, likewise.
    """

    form: Form
    dtype: str
    zero_point: int = 0
    rounding: RoundingMode = "conv_even"
    saturation: SaturationMode = "saturate"
    lo: int | None = None
    hi: int | None = None

    def __post_init__(self) -> None:
        """Refuse combinations that no core computes."""
        if self.dtype not in C_TYPES:
            raise TargetError(f"no core stores {self.dtype!r}")
        if self.rounding not in ROUNDING_MODES:
            raise TargetError(f"no core rounds {self.rounding!r}")
        wide = self.dtype in ("int32", "float32", "bfloat16")
        if (self.form == "none") != wide:
            raise TargetError(f"requantise form {self.form!r} does not store {self.dtype}")
        if self.form == "none" and self.zero_point:
            raise TargetError("sums are stored without a zero point")

    @property
    def scaled(self) -> bool:
        """Whether the sum is multiplied before it is shifted."""
        return self.form in ("tensor", "channel")


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

    def __post_init__(self) -> None:
        """Refuse calls that the kernel cannot walk."""
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
    def folds(self) -> bool:
        """Whether a zero point can travel in the bias, of this kernel or of the cascade's first."""
        return self.bias or self.position in ("middle", "last")

    @property
    def floating(self) -> bool:
        """Whether sums are floats."""
        return self.a == "bfloat16"

    @property
    def accumulator(self) -> str:
        """C++ tag of an accumulator lane: int8 x int8 and int16 x int8 sum in 32 bits."""
        if self.floating:
            return "accfloat"
        return "acc32" if BYTES[self.a] * BYTES[self.b] <= 2 else "acc64"

    @property
    def lane_bits(self) -> int:
        """Bits of an accumulator lane."""
        return 64 if self.accumulator == "acc64" else 32

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

    @property
    def joined(self) -> int:
        """Neighbouring accumulators that are drained together: a store moves at least 128 bits."""
        stored = self.tiling.m * self.tiling.n * BYTES[self.requantise.dtype]
        return max(1, SHORTEST_VECTOR // stored) if self.stores else 1

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
    def drain_steps(self) -> int:
        """K steps during which the block before is drained."""
        return min(self.drains, max(1, self.k_steps // 2))

    @property
    def refill_steps(self) -> int:
        """K steps during which the freed accumulators are filled for the block after."""
        return min(self.accumulators, self.k_steps - self.drain_steps)

    @property
    def family(self) -> str:
        """Identifier that kernels with the same source share: everything but numbers."""
        r, t = self.requantise, self.tiling
        clips = ("_lo" if self.lo is not None else "") + ("_hi" if r.hi is not None else "")
        return (
            f"dense_{self.a}_{self.b}_{t.m}x{t.k}x{t.n}_{self.rows}x{self.columns}_{self.position}"
            f"{'_bias' if self.bias else ''}"
            f"{f'_{r.form}_{r.dtype}{clips}' if self.stores else ''}"
            f"_d{self.drain_steps}r{self.refill_steps}"
        )

    @property
    def template(self) -> str:
        """Its template, a path below templates/; it reads the kernel under the name `k`."""
        return "aie/dense.hpp.mako"

    @staticmethod
    def c_type(dtype: str) -> str:
        """C++ name of an element type."""
        return C_TYPES[dtype]

    @staticmethod
    def share(items: int, steps: int) -> tuple[tuple[int, ...], ...]:
        """Indices of `items` in order, spread over `steps` as evenly as can be."""
        return tuple(
            tuple(range(items * s // steps, items * (s + 1) // steps)) for s in range(steps)
        )


def check_kernel(spec: KernelSpec, device: Device) -> None:
    """Refuse a kernel that the device's cores cannot run.

    Raises:
        TargetError: the tiling is not legal there, its vectors are too short to load, or the
            accumulators of two blocks (one summed while the other is drained) do not fit.
    """
    core = device.architecture.core
    if spec.tiling not in core.tilings_of(spec.a, spec.b):
        t = spec.tiling
        raise TargetError(
            f"{device.name} has no mmul {t.m}x{t.k}x{t.n} for {pair_name(spec.a, spec.b)}",
            hint="; ".join(f"{s.m}x{s.k}x{s.n}" for s in core.tilings_of(spec.a, spec.b)),
        )
    file = device.need(core.accumulators, "the number of accumulators")
    needed = 2 * spec.accumulators * accumulator_bits(spec)
    if needed > file.count * file.bits:
        raise TargetError(
            f"two blocks of {spec.rows}x{spec.columns} accumulators need {needed} bits, "
            f"a core of {device.name} has {file.count * file.bits}",
            hint="a smaller block",
        )


def accumulator_bits(spec: KernelSpec) -> int:
    """Bits of one `mmul`'s accumulator."""
    return spec.tiling.m * spec.tiling.n * spec.lane_bits


def block_shapes(a: str, b: str, tiling: Tiling, core: CoreTile) -> tuple[tuple[int, int], ...]:
    """(rows, columns) of blocks that fit the registers, fewest loaded bytes per `mmul` first.

    Two blocks' accumulators must fit, and two K steps' operands, since loads run ahead. A K step
    loads rows * A + columns * B bytes. Empty where the number of registers is not known.
    """
    if core.accumulators is None or core.vector_registers is None or core.vector_bits is None:
        return ()
    lane = 64 if a != "bfloat16" and BYTES[a] * BYTES[b] > 2 else 32
    most = core.accumulators.count * core.accumulators.bits // (2 * tiling.m * tiling.n * lane)
    shapes = [(r, c) for r in range(1, most + 1) for c in range(1, most // r + 1)]
    bytes_a, bytes_b = tiling.m * tiling.k * BYTES[a], tiling.k * tiling.n * BYTES[b]
    wide = core.vector_bits // 8
    registers_a, registers_b = -(-bytes_a // wide), -(-bytes_b // wide)
    shapes = [
        (r, c)
        for r, c in shapes
        if 2 * (r * registers_a + c * registers_b) <= core.vector_registers
    ]

    def loads(shape: tuple[int, int]) -> tuple[float, int]:
        rows, columns = shape
        return (rows * bytes_a + columns * bytes_b) / (rows * columns), -rows * columns

    return tuple(sorted(shapes, key=loads))
