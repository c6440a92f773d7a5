"""Runs a `Remainder` that has no layers: one C file, each tensor its own array, through ctypes."""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import tvm
from tvm import relax

from match_aie.fallback import Remainder, lower
from match_aie.fallback.comparison import differences
from match_aie.fallback.reference import Reference
from match_aie.fallback.scalars import C_TYPES

FLAGS = "-std=c11 -Wall -Wextra -Werror -ffp-contract=off -fPIC -shared".split()

#: A NaN for float32 and float64, no number that comes easily for integers.
POISON = """#include <stddef.h>
#include <stdint.h>
void poison(uint8_t *bytes, size_t count);
void poison(uint8_t *bytes, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        bytes[i] = i % 4 < 2 ? 0xA5 : 0xFF;
    }
}"""


def c_file(remainder: Remainder) -> str:
    """A translation unit with `run(in, out)` and `bind(constants)`, arrays of pointers."""
    lines = [
        POISON,
        "#include <math.h>",
        "#include <stdbool.h>",
        "#include <stddef.h>",
        "#include <string.h>",
    ]
    lines += ["void run(const void *const *in, void *const *out);"]
    for constant in remainder.constants:
        lines.append(f"static const {C_TYPES[str(constant.value.dtype)]} *{constant.name};")
    lines.append("void bind(const void *const *values);\nvoid bind(const void *const *values) {")
    lines.append("    (void)values;")
    for index, constant in enumerate(remainder.constants):
        lines.append(f"    {constant.name} = values[{index}];")
    lines.append("}")
    ports = {*remainder.inputs, *remainder.outputs}
    views = _views(remainder)
    storages = []
    for tensor in remainder.tensors:
        if tensor.name not in ports and tensor.name not in views:
            storages.append((tensor.name, tensor.nbytes))
    for call in remainder.calls:
        storages += [(space.name, space.nbytes) for space in call.workspaces]
    lines += [f"_Alignas(64) uint8_t {name}[{nbytes}];" for name, nbytes in storages]
    lines += [function.source for function in remainder.functions]
    lines.append("void run(const void *const *in, void *const *out) {")
    lines.append("    (void)in;\n    (void)out;")
    lines += [f"    poison({name}, sizeof {name});" for name, _ in storages]
    for call in remainder.calls:
        text = ", ".join(_argument(a, remainder, views) for a in call.arguments)
        lines.append(f"    {call.callee}({text});")
    return "\n".join([*lines, "}", ""])


def _argument(argument, remainder: Remainder, views) -> str:
    name = argument.name
    if argument.kind != "tensor":
        return name if argument.kind == "constant" else f"(void *){name}"
    name, offset = views.get(name, (name, 0))
    assert name not in views, "a view of a view"
    if name in remainder.inputs:
        assert argument.access == "read"
        assert not offset
        return f"in[{remainder.inputs.index(name)}]"
    if name in remainder.outputs:
        name = f"out[{remainder.outputs.index(name)}]"
    return f"(void *)((uint8_t *){name} + {offset})"


def _views(remainder: Remainder) -> dict[str, tuple[str, int]]:
    return {alias.view: (alias.base, alias.offset) for alias in remainder.aliases}


def check(remainder: Remainder) -> None:
    """The promises of `Remainder`'s docstring."""
    names = [tensor.name for tensor in remainder.tensors]
    assert len(set(names)) == len(names)
    symbols = [function.symbol for function in remainder.functions]
    assert len(set(symbols)) == len(symbols)
    views = _views(remainder)
    sizes = {tensor.name: tensor.nbytes for tensor in remainder.tensors}
    written = [a.name for c in remainder.calls for a in c.arguments if a.access == "write"]
    assert len(set(written)) == len(written)
    assert len(set(remainder.outputs)) == len(remainder.outputs)
    for output in remainder.outputs:
        assert output not in views
        assert output not in remainder.inputs
    ready = {name: np.ones(sizes[name], bool) for name in remainder.inputs}

    def bytes_of(name):
        owner, offset = views.get(name, (name, 0))
        every = ready.setdefault(owner, np.zeros(sizes[owner], bool))
        assert offset + sizes[name] <= every.size
        return every[offset : offset + sizes[name]]

    for call in remainder.calls:
        for a in call.arguments:
            if a.kind == "tensor" and a.access == "read":
                assert bytes_of(a.name).all()
        for a in call.arguments:
            if a.kind == "tensor" and a.access == "write":
                assert not bytes_of(a.name).any()
                bytes_of(a.name)[:] = True
    assert all(bytes_of(output).all() for output in remainder.outputs)


def build(remainder: Remainder, *, compiler: str = "gcc", flags=("-O1",)) -> ctypes.CDLL:
    """Compile and load."""
    check(remainder)
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "net.c")
        source.write_text(c_file(remainder))
        library = Path(folder, "net.so")
        command = [compiler, *FLAGS, *flags, str(source), "-o", str(library), "-lm"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[:4000]
        return ctypes.CDLL(str(library))


def run(
    remainder: Remainder, inputs, *, reference=False, compiled=None, **options
) -> list[np.ndarray]:
    """Compile, run on `inputs` (in order), and give the outputs.

    Args:
        remainder: to run.
        inputs: arrays.
        reference: whether every function is compared with what it means.
        compiled: references that are there already, see `check_functions`.
        options: of `build`.
    """
    library = build(remainder, **options)
    results = call(library, remainder, inputs)
    if reference:
        check_functions(library, remainder, inputs, results, compiled)
    return results


def call(library: ctypes.CDLL, remainder: Remainder, inputs) -> list[np.ndarray]:
    """Run a built remainder."""
    tensors = {tensor.name: tensor for tensor in remainder.tensors}
    given = []
    for name, value in zip(remainder.inputs, inputs, strict=True):
        assert value.shape == tensors[name].shape
        assert str(value.dtype) == tensors[name].dtype
        given.append(np.ascontiguousarray(value))
    results = [_poisoned(tensors[name]) for name in remainder.outputs]
    held = [np.ascontiguousarray(constant.value) for constant in remainder.constants]
    library.bind(_pointers(held))
    library.run(_pointers(given), _pointers(results))
    return results


def check_functions(
    library: ctypes.CDLL, remainder: Remainder, inputs, results, compiled=None
) -> int:
    """Compare every call with TVM's LLVM code of what it means; how many there were.

    Args:
        library: after a run, so that its storages hold what every call wrote.
        remainder: what it was built from.
        inputs: of that run.
        results: of that run.
        compiled: references by the text of their functions, which it adds to; None for none.
    """
    compiled = {} if compiled is None else compiled
    tensors = {tensor.name: tensor for tensor in remainder.tensors}
    functions = {function.symbol: function for function in remainder.functions}
    held = {c.name: np.ascontiguousarray(c.value).tobytes() for c in remainder.constants}
    ports = {**dict(zip(remainder.inputs, inputs, strict=True))}
    ports |= dict(zip(remainder.outputs, results, strict=True))
    views = _views(remainder)

    def data(argument) -> bytes:
        if argument.kind == "constant":
            return held[argument.name]
        owner, offset = views.get(argument.name, (argument.name, 0))
        size = tensors[argument.name].nbytes
        if owner in ports:
            return ports[owner].tobytes()[offset : offset + size]
        every = (ctypes.c_uint8 * tensors[owner].nbytes).in_dll(library, owner)
        return bytes(every)[offset : offset + size]

    for made in remainder.calls:
        function = functions[made.callee]
        passed = [a for a in made.arguments if a.kind != "workspace"]
        reads = function.written.count(False) if function.meanings else 1
        read, wrote = [data(a) for a in passed[:reads]], passed[reads:]
        got = [_array(data(a), tensors[a.name]) for a in wrote]
        if not function.meanings:
            assert got[0].tobytes() == read[0][: got[0].nbytes], function.symbol
        for text in function.meanings:
            reference = compiled[text] = compiled.get(text) or Reference(text)
            found = differences(got, reference(read, function.written), reference.exact)
            assert found is None, f"{function.symbol} ({function.operators}): {found}"
    return len(remainder.calls)


def _array(data: bytes, tensor) -> np.ndarray:
    count = int(np.prod(tensor.shape))
    return np.frombuffer(data, tensor.dtype, count).reshape(tensor.shape)


def _poisoned(tensor) -> np.ndarray:
    """An array of bytes that no result is likely to be."""
    value = np.empty(tensor.shape, tensor.dtype)
    filled = np.resize(np.array([0xA5, 0xA5, 0xFF, 0xFF], np.uint8), value.nbytes)
    return np.frombuffer(bytearray(filled.tobytes()), value.dtype, value.size).reshape(value.shape)


def _pointers(arrays):
    return (ctypes.c_void_p * max(1, len(arrays)))(*(a.ctypes.data for a in arrays))


def module_of(build_body, *arguments) -> tvm.IRModule:
    """A Relax module: `build_body(emit, *variables)` gives the output or a list of outputs.

    `arguments` are (shape, dtype) pairs.
    """
    builder = relax.BlockBuilder()
    variables = [
        relax.Var(f"x{i}", relax.TensorType(shape, dtype))
        for i, (shape, dtype) in enumerate(arguments)
    ]
    with builder.function("main", variables):
        with builder.dataflow():
            result = build_body(builder.emit, *variables)
            result = relax.Tuple(result) if isinstance(result, list | tuple) else result
            result = builder.emit_output(result)
        builder.emit_func_output(result)
    return builder.get()


def evaluate(build_body, *arrays, **options) -> list[np.ndarray]:
    """Lower one small graph, compile it, and run it on `arrays`."""
    module = module_of(build_body, *((a.shape, str(a.dtype)) for a in arrays))
    return run(lower(module, prefix="net", labels={}), arrays, **options)
