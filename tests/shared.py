"""Networks and recordings that lie beside the repository, and what tests need to use them."""

from __future__ import annotations

import importlib.util
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

import match_aie as match
from match_aie.compilation import Compilation
from match_aie.frontend import Port

MODELS = Path(__file__).resolve().parents[2] / "shared" / "models"
U8 = ("resnet8_u8", "mobilenetv1_025_u8", "dscnn_u8", "dae_u8")
#: TFLite file -> what its recordings are called.
TINY = {
    "pretrainedResnet_quant": "resnet8",
    "vww_96_int8": "mobilenet",
    "kws_ref_model": "dscnn",
}
ONNX_FILES = (*(f"{name}.onnx" for name in U8), *(f"tiny/{name}.onnx" for name in TINY))
ALL_FILES = (*ONNX_FILES, *(f"tiny/{name}.tflite" for name in TINY))


def shared(path: str) -> Path:
    """A file of the collection; skips the test where it is absent."""
    found = MODELS / path
    if not found.exists():
        pytest.skip(f"needs {path} of the shared model collection, which is not here")
    return found


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


def recordings(name: str) -> Mapping[str, np.ndarray]:
    """Recorded inputs and outputs of one of the TINY networks, random and real samples together."""
    parts = [np.load(shared(f"tiny/{name}_{kind}.npz")) for kind in ("ref", "real")]
    return {key: np.concatenate([part[key] for part in parts]) for key in parts[0].files}


def generator() -> object:
    """The module that generates the float networks."""
    path = shared("gen_models.py")
    spec = importlib.util.spec_from_file_location("gen_models", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
