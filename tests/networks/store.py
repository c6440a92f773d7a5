"""Generated networks as files: made when they are first asked for, kept in `build/networks`.

A folder is named by what made it (the sources here, the versions of the libraries), and files
appear whole, so that several processes may ask for the same one.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path

import onnx

from tests.networks import (
    half,
    image,
    power_of_two,
    quantised,
    sequence,
    shipped,
    tflite_file,
    transformers,
)

HERE = Path(__file__).resolve().parent
FOLDER = HERE.parents[1] / "build" / "networks"
LIBRARIES = ("numpy", "onnx", "onnxruntime", "flatbuffers", "tflite")

#: Float32 networks.
FLOAT: dict[str, Callable[[], onnx.ModelProto]] = {
    "bert_attn_s8": partial(sequence.attention, 8),
    "bert_attn_s128": partial(sequence.attention, 128),
    "bert_enc_s8": partial(sequence.encoder, 8),
    "bert_enc_s128": partial(sequence.encoder, 128),
    "mixer_s16_block": sequence.mixer,
    "gru400": sequence.gru,
    "gru400_s6": partial(sequence.gru, 6),
    "gru400_s40": partial(sequence.gru, 40),
    "nsnet2": sequence.nsnet2,
    "nsnet2_step": sequence.nsnet2_step,
    "resnet8": image.resnet8,
    "mobilenetv1_025": image.mobilenet,
    "dscnn": image.dscnn,
    "dae": image.autoencoder,
    "branches": image.branches,
    "branches_even": image.branches_even,
    "filters": image.filters,
}
#: Networks of the forms that packages ship, in the sizes that were published.
SHIPPED: dict[str, Callable[[], onnx.ModelProto]] = {
    "mobilenetv2": shipped.mobilenetv2,
    "resnet18": shipped.resnet18,
    "unet": shipped.unet,
    "crnn_lstm": shipped.crnn_lstm,
    "vad_stream": shipped.vad_stream,
    "bilstm_tagger": shipped.bilstm_tagger,
    "gpt_block": transformers.gpt_block,
    "deberta_layers": transformers.deberta,
    **{name: partial(transformers.encoder, name, sizes)
       for name, sizes in transformers.ENCODERS.items()},
}  # fmt: skip
#: Of these there are uint8 networks, `NAME_u8`; they are made of any with one input in floats.
IMAGES = ("resnet8", "mobilenetv1_025", "dscnn", "dae")
#: int8 networks, as ONNX and as TFLite.
TWINS: dict[str, Callable[..., onnx.ModelProto]] = {
    "resnet8_i8": image.resnet8,
    "mobilenetv1_025_i8": image.mobilenet,
    "dscnn_i8": image.dscnn,
}
#: Networks whose scales are powers of two.
POWERS: dict[str, Callable[[], onnx.ModelProto]] = {
    "dense_1l_i8": power_of_two.dense,
    "mlp_3l_i8": power_of_two.perceptron,
    "mlp_i16xi8": power_of_two.wide_perceptron,
}


def network(file: str) -> Path:
    """A generated network, `resnet8_u8.onnx` or `resnet8_i8.tflite`.

    Raises:
        KeyError: no such network is generated here.
    """
    path = FOLDER / _made_by() / file
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        _written(path, _content(*file.split(".")))
    return path


def _content(name: str, kind: str) -> bytes:
    """The file's bytes, the same each time."""
    if name in TWINS:
        twin = quantised.signed(TWINS[name](nhwc=True))
        return tflite_file.converted(twin) if kind == "tflite" else _bytes(twin)
    if name.endswith("_u8"):
        plain = name.removesuffix("_u8")
        model = (FLOAT | SHIPPED)[plain]()
        return _bytes(quantised.unsigned(model, per_channel=plain != "dae"))
    if name == "fp16_tflite":
        return half.mobilenet()
    return _bytes((FLOAT | POWERS | SHIPPED)[name]())


def _bytes(model: onnx.ModelProto) -> bytes:
    return model.SerializeToString(deterministic=True)


def _written(path: Path, content: bytes) -> None:
    """Whole or not at all: another process may write it too."""
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
        file.write(content)
    os.chmod(file.name, 0o644)
    os.replace(file.name, path)


@cache
def _made_by() -> str:
    """A digest of the sources of the generators and of what they use."""
    found = hashlib.sha256()
    for source in sorted(HERE.glob("*.py")):
        found.update(source.read_bytes())
    found.update(" ".join(f"{name} {version(name)}" for name in LIBRARIES).encode())
    return found.hexdigest()[:16]
