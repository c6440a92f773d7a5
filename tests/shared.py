"""Networks and data of the tests, and what tests need to use them.

All networks are generated (`tests.networks`). Where a folder `shared/models` lies beside the
repository, trained networks of its `tiny` and recorded outputs of theirs are tested too.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import match_aie as match
from match_aie.compilation import Compilation
from match_aie.frontend import Port
from tests.networks import IMAGES, TWINS, network

#: Facts and measurements, with their sources: `tests/data/README.md`.
DATA = Path(__file__).resolve().parent / "data"
MODELS = Path(__file__).resolve().parents[2] / "shared" / "models"
U8 = tuple(f"{name}_u8" for name in IMAGES)
#: Trained TFLite files that may lie beside the repository -> what their recordings are called.
TRAINED = {
    "tiny/pretrainedResnet_quant": "resnet8",
    "tiny/vww_96_int8": "mobilenet",
    "tiny/kws_ref_model": "dscnn",
}
#: Those that do.
HERE = tuple(name for name in TRAINED if (MODELS / f"{name}.tflite").is_file())
#: int8 networks that are there as TFLite and as ONNX.
TINY = (*TWINS, *HERE)
TFLITE_FILES = tuple(f"{name}.tflite" for name in TINY)
#: One twin of a generated TFLite file says all that the others would.
ONNX_FILES = (*(f"{name}.onnx" for name in U8), *(f"{n}.onnx" for n in ("dscnn_i8", *HERE)))
ALL_FILES = (*ONNX_FILES, *TFLITE_FILES)
#: Random inputs of a generated network that stand for recorded ones, and their seed.
RECORDED, SEED = 6, 11


def model_file(file: str) -> Path:
    """A network's file by its name; in `tiny/` are those beside the repository."""
    return MODELS / file if file.startswith("tiny/") else network(file)


def compiled(path: Path, **options: object) -> Compilation:
    """`match.compile` for the CPU, its warnings (an assumed batch of 1) not shown."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return match.compile(path, "CPU", **options)


def random_inputs(ports: Sequence[Port], rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Standard normal floats, uniform integers, by the model's own names."""
    return {port.name: random_input(port, rng) for port in ports}


def random_input(port: Port, rng: np.random.Generator) -> np.ndarray:
    """One random array for `port`."""
    if port.dtype == "float32":
        return rng.standard_normal(port.shape).astype(np.float32)
    info = np.iinfo(port.dtype)
    return rng.integers(info.min, info.max + 1, port.shape).astype(port.dtype)


@dataclass(frozen=True)
class Recorded:
    """Inputs of a network of TINY, and outputs that another implementation gave for them."""

    inputs: list[np.ndarray]
    outputs: list[np.ndarray]


def recorded(name: str) -> Recorded:
    """Of a trained network what XNNPACK gave; of a generated one what its ONNX twin gives."""
    if name in TRAINED:
        parts = [np.load(MODELS / f"tiny/{TRAINED[name]}_{kind}.npz") for kind in ("ref", "real")]
        inputs, outputs = (
            [sample for part in parts for sample in part[key]]
            for key in ("inputs", "outputs_xnnpack")
        )
        return Recorded(inputs, outputs)
    rng = np.random.default_rng(SEED)
    (port,) = match.frontend.load(network(f"{name}.onnx")).inputs
    inputs = [random_input(port, rng) for _ in range(RECORDED)]
    return Recorded(inputs, answers(network(f"{name}.onnx"), inputs))


def answers(path: Path, samples: Sequence[np.ndarray]) -> list[np.ndarray]:
    """What the model means for each of `samples`: onnxruntime's, none of its rewritings applied.

    Its optimised sums of quantised tensors have an arithmetic of their own.
    """
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    (port,) = session.get_inputs()
    return [session.run(None, {port.name: sample})[0] for sample in samples]
