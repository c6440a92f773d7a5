"""How matrices lie in a tile's memory, and the way there and back in numpy.

x [M, K] as [M/m][K/k][m][k]; w [K, N] as [K/k][N/n][k][n] (k tiles outermost), or, for block
floating point, as [K/k][N/n][n][k]; y [M, N] as [M/m][N/n][m][n]; every tile row-major. What a
shape lacks to whole tiles is zero.
"""

from __future__ import annotations

import numpy as np

from match_aie.errors import TargetError
from match_aie.targets.aie_ml.kernels.numeric import carried_as
from match_aie.targets.aie_ml.kernels.spec import KernelSpec


def padded(matrix: np.ndarray, rows: int, columns: int) -> np.ndarray:
    """`matrix` with zeros below and to the right, [rows, columns].

    Raises:
        TargetError: the matrix is larger.
    """
    missing = rows - matrix.shape[0], columns - matrix.shape[1]
    if min(missing) < 0:
        raise TargetError(f"{list(matrix.shape)} does not fit {rows} x {columns}")
    return np.pad(matrix, ((0, missing[0]), (0, missing[1])))


def tiled(matrix: np.ndarray, rows: int, columns: int) -> np.ndarray:
    """[R, C] as [R/rows, C/columns, rows, columns], flat; R and C are multiples."""
    high, wide = matrix.shape[0] // rows, matrix.shape[1] // columns
    parts = matrix.reshape(high, rows, wide, columns)
    return np.ascontiguousarray(parts.transpose(0, 2, 1, 3)).reshape(-1)


def untiled(flat: np.ndarray, shape: tuple[int, int], rows: int, columns: int) -> np.ndarray:
    """The inverse of `tiled`: [R, C] = `shape` from its tiles."""
    high, wide = shape[0] // rows, shape[1] // columns
    parts = flat.reshape(high, wide, rows, columns)
    return np.ascontiguousarray(parts.transpose(0, 2, 1, 3)).reshape(shape)


def pack_w(w: np.ndarray, spec: KernelSpec) -> np.ndarray:
    """Weights [<= K, <= N] as the kernel reads them, flat, padded with zeros."""
    t, flat = spec.tiling, tiled(padded(w, spec.k, spec.n), spec.tiling.k, spec.tiling.n)
    return _turned(flat, t.k, t.n) if spec.blocked and not spec.turned else flat


def unpack_w(flat: np.ndarray, spec: KernelSpec) -> np.ndarray:
    """The inverse of `pack_w`: weights [K, N]."""
    t = spec.tiling
    plain = _turned(flat, t.n, t.k) if spec.blocked and not spec.turned else flat
    return untiled(plain, (spec.k, spec.n), t.k, t.n)


def _turned(flat: np.ndarray, rows: int, columns: int) -> np.ndarray:
    """Tiles [rows, columns], one after the other, each transposed."""
    tiles = flat.reshape(-1, rows, columns).transpose(0, 2, 1)
    return np.ascontiguousarray(tiles).reshape(-1)


def pack_column(values: np.ndarray, spec: KernelSpec) -> np.ndarray:
    """One number per column [<= N] (bias or multipliers), padded with zeros to [N]."""
    return np.pad(values, (0, spec.n - len(values)))


def pack_weights(weight: np.ndarray) -> np.ndarray:
    """Weights [K, N] as elements that cores read: floats as bit patterns of bfloat16."""
    return carried_as(weight, "bfloat16" if weight.dtype == np.float32 else weight.dtype.name)


def words_of(values: np.ndarray) -> np.ndarray:
    """Numbers by column as 32-bit words: integers, or floats."""
    return values if values.dtype == np.float32 else values.astype(np.int32)


def packed_halves(values: np.ndarray) -> np.ndarray:
    """Integers of 16 bits, two in a word of 32, an even number of them.

    Raises:
        TargetError: one does not fit.
    """
    halves = values.astype(np.int16)
    if np.any(halves != values) or halves.size % 2:
        raise TargetError("16-bit multipliers are beyond 16 bits, or of an odd number of columns")
    return halves.view(np.int32)


def folded_bias(
    bias: np.ndarray, w: np.ndarray, x_zero_point: int, y_zero_point: int = 0, shift: int = 0
) -> np.ndarray:
    """The bias [N] that carries the zero points: b - zx * sum_k w[k, n] + (zy << shift).

    The last term only where the kernel requantises by a plain shift; a kernel that multiplies adds
    the output's zero point after the multiplication. A bias of floats carries none.

    Raises:
        TargetError: a value leaves int32.
    """
    if bias.dtype == np.float32:
        return bias
    folded = bias.astype(np.int64) - x_zero_point * w.astype(np.int64).sum(axis=0)
    folded = folded + (y_zero_point << shift)
    info = np.iinfo(np.int32)
    if folded.size and (folded.min() < info.min or folded.max() > info.max):
        raise TargetError(
            "a bias that carries the zero points leaves int32",
            hint="requantise by a multiplier, or with a smaller shift",
        )
    return np.asarray(folded.astype(np.int32))
