"""Our layers inside TVM's builds: linked, exported, loaded elsewhere, called in all ways."""

import subprocess
import sys
import threading

import numpy as np
import pytest
import tvm
import tvm_ffi
from tvm import relax

import match_aie as match
from match_aie.byoc import Partition, patterns
from match_aie.errors import OptionError, ProjectError
from match_aie.targets.cpu import CPU
from match_aie.targets.cpu.machine import PORTABLE, native
from match_aie.targets.diana import Diana
from tests.byoc_graphs import (
    ELSEWHERE,
    GRAPHS,
    dequantize,
    inputs_of,
    made,
    of_modules,
    quantize,
    tensors,
    weights,
    with_relax_function,
)
from tests.thinned import thinned


def generated(module, target):
    passes = [Partition(target, cache=False), relax.transform.RunCodegen()]
    return tvm.transform.Sequential(passes)(module)


def test_a_full_disk_and_wrong_options_are_told_in_a_sentence(monkeypatch):
    def full(*_):
        raise ProjectError("the project cannot be written: No space left on device")

    monkeypatch.setattr("match_aie.byoc.codegen.relocatable", full)
    with pytest.raises(ProjectError, match="No space left"):
        generated(GRAPHS["matmul"](), CPU())
    partitioned = Partition(CPU(), cache=False)(GRAPHS["matmul"]())
    with pytest.raises(OptionError, match="no option 'cach'"):
        relax.transform.RunCodegen({"match_aie": {"cach": 1}})(partitioned)


def alone(module, target, arrays, folder):
    """What the network's own project gives, its first output."""
    runner = match.compile(module, target, cache=False).write(folder).runner()
    for place, array in zip(runner.inputs.values(), arrays, strict=True):
        place[...] = array
    runner()
    return next(iter(runner.outputs.values()))


def residual():
    """A quantised residual block with an operator in its middle that TVM keeps."""

    def body(emit, x):
        w = emit(dequantize(weights(8, 8, 3, 3, dtype="int8"), 0.01, 0))
        b = emit(dequantize(weights(8, dtype="int32"), 0.0005, 0, "int32"))
        y = emit(relax.op.nn.conv2d(emit(dequantize(x)), w, padding=1))
        y = emit(relax.op.add(y, emit(relax.op.reshape(b, (1, 8, 1, 1)))))
        y = emit(relax.op.flip(emit(quantize(y)), 3))
        both = emit(relax.op.add(emit(dequantize(y)), emit(dequantize(x))))
        return emit(quantize(both, 0.1, 0))

    return made(body, ((1, 8, 12, 12), "int8"))


@pytest.mark.slow
@pytest.mark.parametrize("host", thinned(["llvm", "c"], 2))
def test_exported_library_runs_elsewhere(tmp_path, host) -> None:
    module, target = residual(), CPU()
    arrays = inputs_of(module)
    executable = relax.build(generated(module, target), host)
    executable.export_library(str(tmp_path / "lib.so"))
    names = ["nm", "--dynamic", "--defined-only", str(tmp_path / "lib.so")]
    listed = subprocess.run(names, capture_output=True, text=True, check=True).stdout
    ours = {line.split()[-1] for line in listed.splitlines() if "match_aie" in line}
    assert ours == {"__tvm_ffi_match_aie_0", "__tvm_ffi_match_aie_1"}
    np.savez(tmp_path / "given.npz", *arrays)
    paths = [str(tmp_path / name) for name in ("lib.so", "given.npz", "result.npy")]
    subprocess.run([sys.executable, "-c", ELSEWHERE, *paths], check=True, cwd=tmp_path)
    wanted = alone(module, target, arrays, tmp_path / "project")
    np.testing.assert_array_equal(np.load(tmp_path / "result.npy"), wanted)


def test_emulation_lies_inside_the_library(tmp_path) -> None:
    """Diana's; other chips in the slow tests."""
    module, target = GRAPHS["qdq_matmul"](), Diana()
    arrays = inputs_of(module)
    machine = relax.VirtualMachine(relax.build(generated(module, target), "llvm"), tvm.cpu())
    wanted = alone(module, target, arrays, tmp_path / "project")
    np.testing.assert_array_equal(machine["main"](*tensors(arrays)).numpy(), wanted)


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """An exported library whose layers need an arena, and its module."""
    if native().name == PORTABLE:
        pytest.skip("this machine has no vectors: float layers stay with TVM")
    module = GRAPHS["two_convs"]()
    path = str(tmp_path_factory.mktemp("byoc") / "lib.so")
    relax.build(generated(module, CPU()), "llvm").export_library(path)
    return module, tvm.runtime.load_module(path)


def test_several_threads_call_one_library(library) -> None:
    """A machine for each thread, as TVM wants it; the layers are the same code."""
    module, loaded = library
    arrays = [inputs_of(module)[0] * scale for scale in (1, 2, 3, 4)]
    machines = [relax.VirtualMachine(loaded, tvm.cpu()) for _ in arrays]
    wanted = [machines[0]["main"](*tensors([array])).numpy() for array in arrays]
    same: list[bool] = []

    def call(index: int) -> None:
        main, given = machines[index]["main"], tensors([arrays[index]])
        found = [main(*given).numpy() for _ in range(50)]
        same.append(all(np.array_equal(each, wanted[index]) for each in found))

    threads = [threading.Thread(target=call, args=(i,)) for i in range(len(arrays))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert same == [True] * len(arrays)


def test_tensors_may_lie_anywhere(library) -> None:
    """The layers want aligned tensors; the packed function copies those that are not."""
    module, loaded = library
    (array,) = [np.transpose(a, (0, 2, 3, 1)).copy() for a in inputs_of(module)]
    function = loaded.get_function("match_aie_0", query_imports=True)
    shape = relax.VirtualMachine(loaded, tvm.cpu())["main"](*tensors(inputs_of(module))).shape
    out_shape = (shape[0], shape[2], shape[3], shape[1])
    results = []
    for offset in (0, 4):
        memory = np.zeros(array.nbytes + 4096, np.uint8)
        start = -memory.ctypes.data % 64 + offset
        inner = memory[start : start + array.nbytes].view(np.float32).reshape(array.shape)
        inner[...] = array
        out = np.zeros(int(np.prod(out_shape)) + 1, np.float32)[1:].reshape(out_shape)
        function(tvm_ffi.from_dlpack(inner), tvm_ffi.from_dlpack(out))
        results.append(out.copy())
    assert results[0].any()
    np.testing.assert_array_equal(*results)


def test_another_tensor_is_refused(library) -> None:
    module, loaded = library
    good = tensors([np.transpose(inputs_of(module)[0], (0, 2, 3, 1)).copy()])
    function = loaded.get_function("match_aie_0", query_imports=True)
    with pytest.raises(TypeError, match="number of arguments"):
        function(*good)
    with pytest.raises(TypeError, match="not the dense host tensor"):
        function(*tensors(inputs_of(module)), *good)


def test_tvms_own_matcher_leads_to_the_same_numbers(tmp_path) -> None:
    module, target = GRAPHS["qdq_conv2d_relu"](), CPU()
    arrays = inputs_of(module)
    passes = [
        relax.transform.FuseOpsByPattern(
            patterns(target), bind_constants=True, annotate_codegen=True
        ),
        relax.transform.RunCodegen(),
    ]
    made_by_tvm = tvm.transform.Sequential(passes)(module)
    assert "call_dps_packed" in made_by_tvm.script()
    machine = relax.VirtualMachine(relax.build(made_by_tvm, "llvm"), tvm.cpu())
    wanted = alone(module, target, arrays, tmp_path / "project")
    np.testing.assert_array_equal(machine["main"](*tensors(arrays)).numpy(), wanted)


def test_relax_functions_of_the_user_are_called() -> None:
    module = with_relax_function()
    arrays = inputs_of(module)
    machine = relax.VirtualMachine(relax.build(generated(module, CPU()), "llvm"), tvm.cpu())
    alone = relax.VirtualMachine(relax.build(module, "llvm"), tvm.cpu())
    wanted = alone["main"](*tensors(arrays)).numpy()
    np.testing.assert_allclose(machine["main"](*tensors(arrays)).numpy(), wanted, atol=1e-5)


def test_all_functions_of_a_module_run() -> None:
    """Of TVM's `nn.Module`, which has no main; against TVM alone, float."""
    module, params = of_modules(("forward", "plain"))
    passes = [Partition(CPU(), params=params, cache=False), relax.transform.RunCodegen()]
    machine = relax.VirtualMachine(
        relax.build(tvm.transform.Sequential(passes)(module), "llvm"), tvm.cpu()
    )
    alone = relax.VirtualMachine(relax.build(module, "llvm"), tvm.cpu())
    x = np.random.default_rng(5).standard_normal((1, 3, 8, 8)).astype(np.float32)
    for name in ("forward", "plain"):
        wanted = alone[name](*tensors([x, *params.values()])).numpy()
        np.testing.assert_allclose(machine[name](*tensors([x])).numpy(), wanted, atol=1e-5)
