"""The engines that `cpu.py` compares: each runs one ONNX model with one thread.

An engine is a function from a model's path and its inputs to a callable that runs it once. What
is not installed, or does not import the model, raises; the benchmark says so in a note.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

Feeds = Mapping[str, np.ndarray]
Run = Callable[[], Any]


def onnxruntime(path: Path, feeds: Feeds, threads: int = 1) -> Run:
    """ONNX Runtime's CPU provider."""
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    given = dict(feeds)
    return lambda: session.run(None, given)


def litert(path: Path, feeds: Feeds) -> Run:
    """LiteRT with XNNPACK, one thread."""
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(model_path=str(path), num_threads=1)
    entries = {entry["name"]: entry["index"] for entry in interpreter.get_input_details()}
    for entry in interpreter.get_input_details():
        if tuple(entry["shape"]) != feeds[entry["name"]].shape:  # of open sizes
            interpreter.resize_tensor_input(entry["index"], feeds[entry["name"]].shape)
    interpreter.allocate_tensors()
    leaving = [entry["index"] for entry in interpreter.get_output_details()]

    def run() -> list[np.ndarray]:
        for name, array in feeds.items():
            interpreter.set_tensor(entries[name], array)
        interpreter.invoke()
        return [interpreter.get_tensor(index) for index in leaving]

    return run


def openvino(path: Path, feeds: Feeds) -> Run:
    """OpenVINO's CPU plugin, one stream of one thread, float32 as float32."""
    import openvino as ov

    core = ov.Core()
    settings = {
        "INFERENCE_NUM_THREADS": 1,
        "NUM_STREAMS": 1,
        "INFERENCE_PRECISION_HINT": "f32",
    }
    request = core.compile_model(str(path), "CPU", settings).create_infer_request()
    for name, array in feeds.items():
        request.set_tensor(name, ov.Tensor(array))
    return request.infer


def iree(path: Path, feeds: Feeds) -> Run:
    """IREE's llvm-cpu back end with its synchronous driver."""
    from iree import runtime
    from iree.compiler import compile_str
    from iree.compiler.tools.import_onnx import __main__ as importer

    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder, "model.mlir")
        words = [str(path), "-o", str(text), "--opset-version", "17"]
        importer.main(importer.parse_arguments(words))
        arguments = [
            "--iree-llvmcpu-target-cpu=host",
            "--iree-opt-level=O3",
            "--iree-llvmcpu-stack-allocation-limit=262144",
        ]
        code = compile_str(
            text.read_text(), target_backends=["llvm-cpu"], input_type="onnx", extra_args=arguments
        )
    config = runtime.Config("local-sync")
    context = runtime.SystemContext(config=config)
    context.add_vm_module(runtime.VmModule.copy_buffer(context.instance, code))
    module = next(m for name, m in context.modules.items() if name != "hal")
    names = [name for name in module.vm_module.function_names if "$" not in name]
    function = module[next(name for name in names if name != "__init")]
    given = [runtime.asdevicearray(config.device, array) for array in feeds.values()]
    return lambda: function(*given)


def tvm(path: Path, feeds: Feeds) -> Run:
    """TVM's default pipeline for LLVM on this processor."""
    import onnx
    import tvm as package
    from tvm import relax
    from tvm.relax.frontend.onnx import from_onnx

    module = from_onnx(onnx.load(str(path)), keep_params_in_input=False)
    target = package.target.Target({"kind": "llvm", "mcpu": host_cpu()})
    machine = relax.VirtualMachine(package.compile(module, target), package.cpu())
    given = [package.runtime.tensor(array) for array in feeds.values()]
    return lambda: machine["main"](*given)


def host_cpu() -> str:
    """LLVM's name of this processor, as TVM's LLVM knows it."""
    import tvm as package

    find = package.get_global_func("target.llvm_get_system_cpu", allow_missing=True)
    return str(find()) if find is not None else "x86-64-v3"


def match_aie(path: Path, feeds: Feeds, cores: int = 1) -> Run:
    """This compiler's CPU target, through the Python runner."""
    import match_aie as match
    from match_aie.targets.cpu import CPU

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        net = match.compile(path, CPU(cores=cores))
    project = net.write(Path(tempfile.mkdtemp(prefix="match_aie_bench_"), "net"))
    runner = project.runner()
    for name, array in feeds.items():
        runner.inputs[name][...] = array
    return runner


ENGINES: Mapping[str, Callable[[Path, Feeds], Run]] = {
    "match_aie": match_aie,
    "onnxruntime": onnxruntime,
    "openvino": openvino,
    "iree": iree,
    "tvm": tvm,
}
