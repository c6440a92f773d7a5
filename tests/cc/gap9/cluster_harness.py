"""Tiles for the cluster kernels, run by `cluster_driver.c`, with what they must give."""

import ctypes
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from match_aie.cost_models.pulp_half import is_half
from match_aie.targets.gap9.cluster.kernels import is_real, kernel_of
from match_aie.targets.gap9.cluster.packing import pack, scratch_bytes
from match_aie.targets.gap9.cluster.recurrent import parts
from match_aie.workload import RECURRENT, reference, short_float, within_bound
from match_aie.workload.reference import whole_image

HERE = Path(__file__).parent
RUNTIME = HERE.parents[2] / "targets" / "gap9" / "runtime"
COMMON = HERE.parents[2] / "targets" / "common" / "runtime" / "include"
COMPILERS = [name for name in ("gcc", "clang") if shutil.which(name)]
FLAGS = ("-std=c11", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off", "-g", "-O1")
SANITIZERS = ("-fsanitize=address,undefined,float-cast-overflow", "-fno-sanitize-recover=all")
#: The paths that kernels take on the chip. Its cores load words from any address.
XPULP = ("-include", str(HERE / "xpulp.h"), "-fno-sanitize=alignment")
FILL = 0xA5
KERNELS = (
    *("ma_conv2d_u8", "ma_conv2d_i8", "ma_depthwise_u8", "ma_depthwise_i8", "ma_dense_u8"),
    *("ma_dense_i8", "ma_max_pool_u8", "ma_max_pool_i8", "ma_average_pool_u8"),
    *("ma_average_pool_i8", "ma_add_u8_u8", "ma_add_u8_i8", "ma_add_i8_u8", "ma_add_i8_i8"),
    *("ma_quantize", "ma_dequantize_u8", "ma_dequantize_i8", "ma_softmax_u8", "ma_softmax_i8"),
    *("ma_mul_u8_u8", "ma_mul_u8_i8", "ma_mul_i8_u8", "ma_mul_i8_i8", "ma_table", "ma_norm"),
    *("ma_product_u8", "ma_product_i8", "ma_permute"),
    *("ma_real_conv2d", "ma_real_depthwise", "ma_real_max_pool", "ma_real_average_pool"),
    *("ma_real_softmax", "ma_real_norm", "ma_half_conv2d", "ma_bfloat_conv2d"),
    "ma_real_add",
    *("ma_softmax_narrow_u8", "ma_softmax_narrow_i8", "ma_softmax_wide_u8", "ma_softmax_wide_i8"),
    *("ma_conv16_i16", "ma_conv16_u16", "ma_depthwise16_i16", "ma_depthwise16_u16"),
    *("walk_gru", "walk_gru_before", "walk_lstm"),
)


def _structure(name, pointers, numbers, floats=(), wide=()):
    fields = [(p, ctypes.c_void_p) for p in pointers]
    fields += [(n, ctypes.c_int32) for n in numbers] + [(f, ctypes.c_float) for f in floats]
    fields += [(n, ctypes.c_int64) for n in wide]
    return type(name, (ctypes.Structure,), {"_fields_": fields})


WINDOW_POINTERS = ("x", "weight", "multiplier", "offset", "y", "scratch")
Window = _structure(
    "Window",
    WINDOW_POINTERS,
    (
        *("batch", "in_rows", "in_columns", "channels", "out_rows", "out_columns"),
        *("out_channels", "in_image", "in_line", "in_pixel", "out_image", "out_line", "out_pixel"),
        *("filter_rows", "filter_columns", "stride_rows", "stride_columns"),
        *("dilation_rows", "dilation_columns", "pad_top", "pad_left", "pad_value", "shift"),
        *("lo", "hi", "wide", "average", "count_padding", "zero_y"),
    ),
    ("scale_x", "scale_y"),
)
ELEMENT_POINTERS = ("x", "x1", "table", "multiplier", "offset", "y")
Elements = _structure(
    "Elements",
    ELEMENT_POINTERS,
    (
        *("rows", "columns", "x_row", "x1_row", "y_row"),
        *("shift", "lo", "hi", "zero_x", "zero_x1", "zero_y"),
    ),
    ("scale_x", "scale_y"),
)
PRODUCT_POINTERS = ("x", "x1", "multiplier", "offset", "y", "scratch")
Product = _structure(
    "Product",
    PRODUCT_POINTERS,
    (
        *("batch", "rows", "inner", "columns", "x_batch", "x_row", "x1_batch", "x1_row"),
        *("y_batch", "y_row", "zero_x", "zero_x1", "unsigned_x1", "shift", "lo", "hi"),
    ),
)
PERMUTE_POINTERS = ("x", "y")
AXES = 4
Permutation = _structure(
    "Permutation",
    PERMUTE_POINTERS,
    [f"{name}{axis}" for name in ("extent", "x_stride", "y_stride") for axis in range(AXES)],
)
RECURRENT_POINTERS = ("x", "weight", "recurrent", "bias", "y", "scratch")
Walk = type(
    "Walk",
    (ctypes.Structure,),
    {
        "_fields_": [(name, ctypes.c_void_p) for name in RECURRENT_POINTERS]
        + [(name, ctypes.c_void_p) for name in ("update", "reset", "seen", "next")]
        + [(n, ctypes.c_int32) for n in ("inputs", "units", "unsigned_x", "begins")]
        + [(n, ctypes.c_int32) for n in ("steps", "x_step", "y_step")],
    },
)
NORM_POINTERS = ("x", "multiplier", "offset", "y")
Norm = _structure(
    "Norm",
    NORM_POINTERS,
    ("rows", "columns", "x_row", "y_row", "unsigned_x", "shift", "lo", "hi"),
    wide=("epsilon",),
)


@dataclass(frozen=True, eq=False)
class Case:
    """A layer with its arrays; `ranges`: (start, length) of every dimension of a tile.

    Where `loose`, tiles lie in larger boxes: lines and pixels are not neighbours in memory.
    """

    workload: object
    inputs: list
    constants: dict
    ranges: dict
    loose: bool = False

    def expected(self):
        """The tile of the output, bytes of the reference."""
        whole = reference(self.workload, self.inputs, self.constants)
        return np.ascontiguousarray(whole[self.region(self.workload.output)[0]])

    def region(self, operand):
        """(slices of the tile, positions before it that lie in padding)."""
        slices, before = [], []
        for axis, size in zip(operand.axes, operand.shape, strict=True):
            if not axis.terms:
                slices.append(slice(0, size))
                before.append(0)
                continue
            first = axis.offset + sum(c * self.ranges[d][0] for d, c in axis.terms)
            last = axis.offset + sum(c * (sum(self.ranges[d]) - 1) for d, c in axis.terms)
            start = min(max(first, 0), size)
            slices.append(slice(start, max(start, min(last, size - 1) + 1)))
            before.append(max(0, start - first))  # as ma_tiles.h: none where a tile begins after it
        return tuple(slices), before


def whole(workload, inputs, constants):
    return Case(workload, inputs, constants, {dim: (0, n) for dim, n in workload.dims})


def real_name(workload):
    short = short_float(workload)
    if short is not None:
        return {"float16": "ma_half_conv2d", "bfloat16": "ma_bfloat_conv2d"}[short.dtype]
    kind = "depthwise" if workload.depthwise else workload.kind
    known = {"avg_pool2d": "average_pool", "max_pool2d": "max_pool", "layer_norm": "norm"}
    known["dense"] = "conv2d"
    return f"ma_real_{known.get(kind, kind)}"


def kernel_name(workload):
    if is_real(workload):
        return real_name(workload)
    kind = "depthwise" if workload.depthwise else workload.kind
    if is_half(workload):
        types = {"int16": "i16", "uint16": "u16"}
        name = "depthwise" if workload.depthwise else "conv"
        return f"ma_{name}16_{types[workload.operand('x').dtype]}"
    known = {"avg_pool2d": "average_pool", "max_pool2d": "max_pool"}
    known |= {"matmul": "product", "layer_norm": "norm"}
    if kind in RECURRENT:
        return f"walk_{kind}{'_before' if parts(workload) == 2 else ''}"
    types = {"uint8": "u8", "int8": "i8"}
    typed = {"table": 0, "layer_norm": 0, "permute": 0, "matmul": 1}.get(kind, 2)
    suffix = [types[o.dtype] for o in workload.inputs[:typed] if o.dtype in types]
    if kind == "softmax" and workload.fixed_point:
        suffix.insert(0, "narrow" if workload.tail.bits == 32 else "wide")
    return "_".join(["ma", known.get(kind, kind), *suffix])


def average_kind(workload):
    if workload.fixed_point:
        return 0
    if workload.tail.rounding == "half_away":
        return 3
    return 1 if whole_image(workload) else 2


def box(case, tile):
    """Shape of what a tile of an activation lies in."""
    if not case.loose:
        return tile.shape
    if case.workload.kind not in ("conv2d", "max_pool2d", "avg_pool2d"):
        return (*tile.shape[:-1], tile.shape[-1] + 3)
    return (
        *tile.shape[:-3],
        *(n + more for n, more in zip(tile.shape[-3:], (1, 2, 3), strict=True)),
    )


def boxed(case, tile):
    """`tile` at the origin of its box."""
    found = np.full(box(case, tile), FILL, np.uint8).astype(tile.dtype)
    found[tuple(slice(0, n) for n in tile.shape)] = tile
    return found


def strides(tile_box, names):
    """Elements between neighbours along all axes but the last."""
    sizes = np.cumprod(tile_box[:0:-1])[::-1]
    return dict(zip(names, (int(n) for n in sizes), strict=True))


def tile_arrays(case):
    """Every operand's tile; packed constants in rows of their first axis."""
    w = case.workload
    packed = dict(pack(w, case.constants))
    packed.update(zip((o.name for o in w.inputs), case.inputs, strict=True))
    found = {}
    for operand in w.operands[:-1]:
        array = np.asarray(packed[operand.name])
        slices = case.region(operand)[0]
        rows = slices if array.shape == operand.shape else slices[:1]
        array = array if w.kind in RECURRENT else array[rows]
        found[operand.name] = np.ascontiguousarray(array)
        if not operand.constant:
            found[operand.name] = boxed(case, found[operand.name])
    return found


def tail_fields(w):
    tail = w.tail
    if tail is None:
        return {}
    return {"shift": tail.shift or 0, "lo": tail.lo, "hi": tail.hi, "zero_y": tail.zero_point}


def window_of(case, x, y):
    """The kernel's structure; `x` and `y` are the boxes of its tiles."""
    w = case.workload
    axes = ("image",) if w.kind == "dense" else ("image", "line", "pixel")
    d = {name: n for name, (_, n) in case.ranges.items()}
    fields = {"batch": d["B"], **tail_fields(w), "pad_value": w.operand("x").zero_point}
    fields["wide"] = int(w.output.dtype == "int32")
    fields["scale_x"], fields["scale_y"] = w.operand("x").scale or 0, w.output.scale or 0
    fields |= strides(x, [f"in_{axis}" for axis in axes])
    fields |= strides(y, [f"out_{axis}" for axis in axes])
    if is_real(w):
        narrow = [int(o.dtype != "float32") for o in (w.operand("x"), w.output)]
        step = 2 if narrow[0] else 4
        fields |= {name: step * n for name, n in fields.items() if name.startswith("in_")}
        fields["lo"], fields["hi"] = narrow
        bounds = kernel_of(w)
        fields["wide"] = int("bias" in [o.name for o in w.constants])
        fields["scale_x"], fields["scale_y"] = (of_literal(v) for v in (bounds.lo, bounds.hi))
    if is_half(w):
        fields |= {name: 2 * n for name, n in fields.items() if name.startswith("in_")}
        fields["wide"] = int(w.output.dtype in ("int16", "uint16"))
    if w.kind == "dense":
        if is_real(w) or is_half(w):
            ones = ("in_rows", "in_columns", "out_rows", "out_columns", "filter_rows")
            ones += ("filter_columns", "stride_rows", "stride_columns")
            fields |= dict.fromkeys((*ones, "dilation_rows", "dilation_columns"), 1)
        return Window(**fields, channels=d["C"], out_channels=d["K"])
    (_, rows, columns, channels), before = case.region(w.operand("x"))
    size = [s.stop - s.start for s in (rows, columns, channels)]
    return Window(
        **fields,
        in_rows=size[0],
        in_columns=size[1],
        channels=size[2],
        out_rows=d["OY"],
        out_columns=d["OX"],
        out_channels=d.get("G", 1) * d.get("K", 1),
        filter_rows=d["FY"],
        filter_columns=d["FX"],
        stride_rows=w.window.stride[0],
        stride_columns=w.window.stride[1],
        dilation_rows=w.window.dilation[0],
        dilation_columns=w.window.dilation[1],
        pad_top=before[1],
        pad_left=before[2],
        average=average_kind(w) if w.kind == "avg_pool2d" and not is_real(w) else 0,
        count_padding=int(w.window.count_include_pad),
    )


def product_of(case, x, y):
    """The kernel's structure; `x` and `y` are the boxes of its tiles."""
    w = case.workload
    d = {name: n for name, (_, n) in case.ranges.items()}
    x1 = box(case, np.empty((d["B"], d["C"], d["K"])))
    fields = tail_fields(w)
    fields.pop("zero_y")
    for name, shape in (("x", x), ("x1", x1), ("y", y)):
        fields |= strides(shape, [f"{name}_batch", f"{name}_row"])
    return Product(
        **fields,
        batch=d["B"],
        rows=d["OY"],
        inner=d["C"],
        columns=d["K"],
        zero_x=w.operand("x").zero_point,
        zero_x1=w.operand("x1").zero_point,
        unsigned_x1=int(w.operand("x1").dtype == "uint8"),
    )


def permutation_of(case, x, y):
    """The kernel's structure; `x` and `y` are the boxes of its tiles."""
    w = case.workload
    order = [axis.terms[0][0] for axis in w.operand("x").axes]
    apart = {name: np.cumprod([1, *shape[:0:-1]])[::-1] for name, shape in (("x", x), ("y", y))}
    fields = {}
    for axis, (dim, _) in enumerate(w.dims):
        fields[f"extent{axis}"] = case.ranges[dim][1]
        fields[f"x_stride{axis}"] = int(apart["x"][order.index(dim)])
        fields[f"y_stride{axis}"] = int(apart["y"][axis])
    return Permutation(**fields)


def walk_of(case, x, y):
    """A recurrent layer, whole."""
    w = case.workload
    return Walk(
        inputs=x[-1],
        units=y[-1],
        unsigned_x=int(w.operand("x").dtype == "uint8"),
        steps=x[0],
        x_step=x[-1],
        y_step=4 * y[-1],
    )


REAL_POINTERS = ("x", "weight", "bias", "y")
RealRows = _structure(
    "RealRows", REAL_POINTERS, ("rows", "columns", "x_row", "y_row"), ("epsilon",)
)


def of_literal(text):
    if "inff" in text:
        return -np.inf if text.startswith("-") else np.inf
    return float.fromhex(text.removesuffix("f"))


def real_rows_of(case, x, y):
    """The kernel's structure; `x` and `y` are the boxes of its tiles."""
    w = case.workload
    return RealRows(
        rows=case.ranges["B"][1],
        columns=case.ranges["K"][1],
        x_row=x[-1],
        y_row=y[-1],
        epsilon=w.parameter("epsilon") if w.kind == "layer_norm" else 0,
    )


def norm_of(case, x, y):
    """The kernel's structure; `x` and `y` are the boxes of its tiles."""
    w, fields = case.workload, tail_fields(case.workload)
    fields.pop("zero_y")
    return Norm(
        **fields,
        rows=case.ranges["B"][1],
        columns=case.ranges["K"][1],
        x_row=x[-1],
        y_row=y[-1],
        unsigned_x=int(w.operand("x").dtype == "uint8"),
        epsilon=int(w.parameter("epsilon")),
    )


def elements_of(case, x, y):
    """The kernel's structure; `x` and `y` are the boxes of its tiles."""
    w = case.workload
    repeats = {o.name for o in w.inputs if o.shape != w.output.shape}
    *outer, columns = [n for _, n in (case.ranges[dim] for dim, _ in w.dims)]
    scales = {"scale_x": w.operand("x").scale or 0, "scale_y": w.output.scale or 0}
    if is_real(w):
        bounds = kernel_of(w)
        scales = {"scale_x": of_literal(bounds.lo), "scale_y": of_literal(bounds.hi)}
    return Elements(
        **tail_fields(w),
        **scales,
        rows=int(np.prod(outer)),
        columns=columns,
        x_row=0 if "x" in repeats else x[-1],
        x1_row=0 if "x1" in repeats else x[-1],
        y_row=y[-1],
        zero_x=w.operand("x").zero_point,
        zero_x1=w.operand("x1").zero_point if w.kind == "mul" else 0,
    )


def call(case):
    """(the kernel's structure, names of its pointers in order, what they point to by name)."""
    w = case.workload
    windowed = w.kind in ("conv2d", "dense", "max_pool2d", "avg_pool2d")
    kinds = {
        "matmul": (PRODUCT_POINTERS, product_of),
        "layer_norm": (NORM_POINTERS, norm_of),
        "gru": (RECURRENT_POINTERS, walk_of),
        "lstm": (RECURRENT_POINTERS, walk_of),
        "permute": (PERMUTE_POINTERS, permutation_of),
    }
    others = (WINDOW_POINTERS, window_of) if windowed else (ELEMENT_POINTERS, elements_of)
    if is_real(w) and not windowed and w.kind != "add":
        others, kinds = (REAL_POINTERS, real_rows_of), {}
    pointers, structure = kinds.get(w.kind, others)
    arrays = tile_arrays(case)
    tile = [s.stop - s.start for s in case.region(w.output)[0]]
    output = box(case, np.empty(tile, w.output.dtype))
    found = structure(case, arrays["x"].shape, output)
    if "bias" not in pointers and "offset" not in arrays and "bias" in arrays:
        arrays["offset"] = arrays.pop("bias")
    sizes = {dim: np.asarray(n) for dim, (_, n) in case.ranges.items()}
    arrays["scratch"] = np.full(int(scratch_bytes(w, sizes)), FILL, np.uint8)
    itemsize = np.dtype(w.output.dtype).itemsize
    arrays["y"] = np.full(int(np.prod(output)) * itemsize, FILL, np.uint8)
    return found, pointers, arrays


def job(case, cores, reverse):
    """The bytes that the driver reads for one call."""
    tile, pointers, arrays = call(case)
    blocks = [arrays.get(name, np.zeros(0, np.uint8)) for name in pointers]
    head = [KERNELS.index(kernel_name(case.workload)), cores, int(reverse), len(blocks)]
    head += [pointers.index("y"), ctypes.sizeof(tile), *(b.nbytes for b in blocks)]
    head += [0] * (8 - len(blocks))
    return b"".join(
        [np.array(head, np.int32).tobytes(), bytes(tile), *(b.tobytes() for b in blocks)]
    )


def build(folder, compiler, *flags):
    out = folder / f"cluster_{compiler}"
    sources = [HERE / "cluster_driver.c", *sorted((RUNTIME / "kernels").glob("*.c"))]
    includes = [f"-I{path}" for path in (RUNTIME / "include", RUNTIME / "kernels", COMMON)]
    command = [compiler, *FLAGS, *flags, *includes, *map(str, sources), "-o", str(out), "-lm"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return out


def near(case, got, outside):
    """Whether a tile of floats is within the bound of all its elements, and nothing around it."""
    w = case.workload
    found = got.reshape(outside.shape)
    tile = tuple(slice(0, n) for n in case.expected().shape)
    around = np.ones(outside.shape, bool)
    around[tile] = False
    if not np.array_equal(found.view(np.uint32)[around], outside.view(np.uint32)[around]):
        return False
    whole = reference(w, case.inputs, case.constants)
    whole[case.region(w.output)[0]] = found[tile]
    return bool(within_bound(w, case.inputs, case.constants, whole).all())


def check(program, cases, cores=8):
    """Every case on `cores` cores, first to last and last to first, equals its reference."""
    jobs = b"".join(job(c, cores, reverse) for c in cases for reverse in (False, True))
    done = subprocess.run([str(program)], input=jobs, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    at = 0
    for case in cases:
        expected = case.expected()
        outside = np.full(box(case, expected), 0, expected.dtype)
        outside.view(np.uint8)[...] = FILL
        outside[tuple(slice(0, n) for n in expected.shape)] = expected
        for order in ("forward", "reverse"):
            got = np.frombuffer(done.stdout, expected.dtype, outside.size, at)
            at += outside.nbytes
            note = f"{order}, loose {case.loose}: {case.workload} tile {case.ranges}"
            if is_real(case.workload) and not case.workload.rounded:
                assert near(case, got, outside), note
                continue
            np.testing.assert_array_equal(
                got.view(np.uint8), outside.reshape(-1).view(np.uint8), note
            )
    assert at == len(done.stdout)
