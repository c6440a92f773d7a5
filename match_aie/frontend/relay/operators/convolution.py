"""Convolutions, transposed convolutions and matrix products."""

from __future__ import annotations

from collections.abc import Callable

from tvm import relax

from match_aie.frontend.relay.operators.elementwise import cast
from match_aie.frontend.relay.site import Site, dtype, rank, shape
from match_aie.frontend.relay.values import Expr, Value

op = relax.op
Rule = Callable[[Site], Value]

#: Spatial letters by their number.
SPATIAL = {1: "W", 2: "HW", 3: "DHW"}


def permuted(site: Site, x: Expr, source: str, wanted: str) -> Expr:
    """`x` with axes named by `source` in the order `wanted`.

    Args:
        site: of the call.
        x: a tensor.
        source: a letter for each of its axes.
        wanted: the same letters in another order.
    """
    if source == wanted:
        return x
    if sorted(source) != sorted(wanted) or len(set(source)) != len(source):
        raise site.error(f"layout {source!r} cannot be brought to {wanted!r}")
    return site.emit(op.permute_dims(x, [source.index(letter) for letter in wanted]))


def accumulator(site: Site, left: str, right: str) -> tuple[str, str]:
    """(element type to sum in, element type of the result).

    Where Relay sums in a narrow integer type it wraps; a 32-bit sum cut afterwards is the same.
    """
    wanted = site.word("out_dtype", left)
    if wanted.startswith(("int8", "int16", "uint8", "uint16")):
        return "int32", wanted
    if wanted.startswith("float") != left.startswith("float") or left[:3] == right[:3] == "boo":
        raise site.error(f"{left} times {right} summed as {wanted} is not compiled")
    return wanted, wanted


def same_type(site: Site, x: Expr, weight: Expr, wide: str) -> tuple[Expr, Expr]:
    """Both factors in one type: their own where they agree, else that of the sum.

    Args:
        site: of the call.
        x: the first factor.
        weight: the second one.
        wide: element type of the sum.
    """
    if dtype(x) == dtype(weight) and not dtype(x).startswith("uint"):
        return x, weight
    return site.emit(cast(x, wide)), site.emit(cast(weight, wide))


def window(site: Site, ways: int) -> dict[str, list[int]]:
    """Strides, padding (begin of every axis, then ends) and dilation."""
    strides = site.integers("strides", [1] * ways)
    dilation = site.integers("dilation", [1] * ways)
    padding = site.integers("padding", [0] * ways)
    if len(padding) == 1:
        padding *= ways
    if len(padding) == ways:
        padding *= 2
    if len(strides) == 1:
        strides *= ways
    if len(dilation) == 1:
        dilation *= ways
    if (len(strides), len(dilation), len(padding)) != (ways, ways, 2 * ways):
        raise site.error("its strides, dilation or padding have the wrong number of entries")
    return {"strides": strides, "dilation": dilation, "padding": padding}


def layouts(site: Site, ways: int) -> tuple[str, str, str]:
    """Layouts of data, kernel and result."""
    letters = SPATIAL[ways]
    data = site.word("data_layout", f"NC{letters}")
    kernel = site.word("kernel_layout", f"OI{letters}")
    out = site.word("out_layout", data)
    for given, wanted in ((data, f"NC{letters}"), (kernel, f"OI{letters}"), (out, f"NC{letters}")):
        if sorted(given) != sorted(wanted):
            raise site.error(
                f"layout {given!r} is not compiled",
                hint="export before layouts are packed (AlterOpLayout)",
            )
    return data, kernel, out


def _depthwise(site: Site, x: Expr, weight: Expr, data: str, kernel: str) -> Expr:
    """Depthwise filters [channel, multiplier, ...] as grouped ones [channel * multiplier, 1, ...].

    TFLite's filters arrive so; only where the multiplier is not 1 does it make a difference.
    """
    groups, sizes = site.integer("groups", 1), dict(zip(kernel, shape(weight), strict=True))
    channels = shape(x)[data.index("C")]
    if groups != channels or sizes["O"] != channels or sizes["I"] == 1:
        return weight
    moved = permuted(site, weight, kernel, "OI" + kernel.replace("O", "").replace("I", ""))
    spatial = kernel.replace("O", "").replace("I", "")
    rest = [sizes[letter] for letter in spatial]
    flat = site.emit(op.reshape(moved, [sizes["O"] * sizes["I"], 1, *rest]))
    return permuted(site, flat, f"OI{spatial}", kernel)


def convolve(site: Site, ways: int, x: Expr, weight: Expr, wide: str, **given: list[int]) -> Expr:
    """A convolution of `x` with `weight` as the attributes say, summed as `wide`.

    Args:
        site: the call.
        ways: spatial axes.
        x: data in the layout that the attributes name.
        weight: filters in theirs.
        wide: element type of sum and result.
        given: attributes that stand instead of those of the call.
    """
    data, kernel, out = layouts(site, ways)
    if rank(x) != ways + 2 or rank(weight) != ways + 2:
        raise site.error(f"its inputs have ranks {rank(x)} and {rank(weight)}, not {ways + 2}")
    weight = _depthwise(site, x, weight, data, kernel)
    x, weight = same_type(site, x, weight, wide)
    options = {**window(site, ways), "groups": site.integer("groups", 1), "out_dtype": wide}
    options.update(given)
    if ways == 2:
        result = op.nn.conv2d(x, weight, data_layout=data, kernel_layout=kernel, **options)
        return permuted(site, site.emit(result), data, out)
    letters = SPATIAL[ways]
    x = permuted(site, x, data, f"NC{letters}")
    weight = permuted(site, weight, kernel, f"OI{letters}")
    function = op.nn.conv1d if ways == 1 else op.nn.conv3d
    result = function(
        x, weight, data_layout=f"NC{letters}", kernel_layout=f"OI{letters}", **options
    )
    return permuted(site, site.emit(result), f"NC{letters}", out)


def _convolution(ways: int) -> Rule:
    def rule(site: Site) -> Value:
        x, weight = site.tensor(0), site.tensor(1)
        wide, wanted = accumulator(site, dtype(x), dtype(weight))
        return cast(site.emit(convolve(site, ways, x, weight, wide)), wanted)

    return rule


def _transposed(ways: int) -> Rule:
    """Filters are [in, out, ...], though TVM called that layout OI... for long."""

    def rule(site: Site) -> Value:
        letters = SPATIAL[ways]
        x, weight = site.tensor(0), site.tensor(1)
        wide, wanted = accumulator(site, dtype(x), dtype(weight))
        data, _, out = layouts(site, ways)
        kernel = site.word("kernel_layout", f"IO{letters}")
        if ways != 2 and kernel == f"OI{letters}":
            kernel = f"IO{letters}"
        x, weight = same_type(site, x, weight, wide)
        x = permuted(site, x, data, f"NC{letters}")
        weight = permuted(site, weight, kernel, f"IO{letters}")
        function = {
            1: op.nn.conv1d_transpose,
            2: op.nn.conv2d_transpose,
            3: op.nn.conv3d_transpose,
        }[ways]
        result = function(
            x,
            weight,
            **window(site, ways),
            output_padding=site.integers("output_padding", [0] * ways),
            groups=site.integer("groups", 1),
            data_layout=f"NC{letters}",
            kernel_layout=f"IO{letters}",
            out_dtype=wide,
        )
        first = site.emit(cast(site.emit(result), wanted))
        return permuted(site, first, f"NC{letters}", out)

    return rule


def product(site: Site, left: Expr, right: Expr, wide: str) -> Expr:
    """A matrix product summed as `wide`.

    Args:
        site: of the call.
        left: [.., M, K].
        right: [.., K, N].
        wide: element type of the sum.
    """
    left, right = same_type(site, left, right, wide)
    return op.matmul(left, right, out_dtype=wide)


def transposed_last(site: Site, x: Expr) -> Expr:
    """`x` with its last two axes exchanged."""
    axes = list(range(rank(x)))
    return site.emit(op.permute_dims(x, [*axes[:-2], axes[-1], axes[-2]]))


def _dense(site: Site) -> Value:
    """X times the transpose of the weights [units, inputs]."""
    x, weight = site.tensor(0), site.tensor(1)
    if rank(weight) != 2:
        raise site.error(f"its weights have rank {rank(weight)}")
    wide, wanted = accumulator(site, dtype(x), dtype(weight))
    return cast(site.emit(product(site, x, transposed_last(site, weight), wide)), wanted)


def _matmul(site: Site) -> Value:
    left, right = site.tensor(0), site.tensor(1)
    wide, wanted = accumulator(site, dtype(left), dtype(right))
    if site.flag("transpose_a"):
        left = transposed_last(site, left)
    if site.flag("transpose_b"):
        right = transposed_last(site, right)
    return cast(site.emit(product(site, left, right, wide)), wanted)


def _batch_matmul(site: Site) -> Value:
    """Without attributes TVM before 0.8 transposed the second factor, newer ones neither.

    Where the shapes allow one reading only, that one is taken.
    """
    left, right = site.tensor(0), site.tensor(1)
    if rank(left) != 3 or rank(right) != 3:
        raise site.error(f"its inputs have ranks {rank(left)} and {rank(right)}, not 3")
    if not (site.has("transpose_a") or site.has("transpose_b")):
        inner, first, second = shape(left)[2], *shape(right)[1:]
        if first == second == inner:
            site.emission.warnings.append(
                f"{site.label}: nn.batch_matmul without transpose_a and transpose_b is read as "
                "TVM 0.8 and newer do (neither is transposed); older ones transposed the second"
            )
        if first != inner and second == inner:
            right = transposed_last(site, right)
        wide, wanted = accumulator(site, dtype(left), dtype(right))
        return cast(site.emit(product(site, left, right, wide)), wanted)
    return _matmul(site)


RULES: dict[str, Rule] = {
    **{f"nn.conv{ways}d": _convolution(ways) for ways in SPATIAL},
    **{f"nn.conv{ways}d_transpose": _transposed(ways) for ways in SPATIAL},
    "nn.dense": _dense,
    "nn.matmul": _matmul,
    "nn.batch_matmul": _batch_matmul,
}
