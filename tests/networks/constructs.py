"""Small networks, each of a construct that networks as shipped hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

import onnx

from tests.networks import dynamic, half, image, lite, lite_recurrent, pieces, recurrent
from tests.networks.quantised import signed
from tests.networks.sequence import gru, nsnet2_step
from tests.networks.shipped import bilstm_tagger, crnn_lstm, mobilenetv2, resnet18, unet, vad_stream
from tests.networks.tflite_file import converted
from tests.networks.transformers import Sizes, deberta, encoder, gpt_block

SMALL = Sizes(8, 32, 2, 64, 1)


@dataclass(frozen=True)
class Construct:
    """A network and what its compilation is given.

    Attributes:
        make: gives an ONNX model, or the bytes of a TensorFlow Lite file.
        shapes: sizes of inputs whose own are open.
        values: what inputs are bound to.
    """

    make: Callable[[], onnx.ModelProto | bytes]
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    values: Mapping[str, int] = field(default_factory=dict)


#: Forms of whole networks.
NETWORKS = {
    "inverted residuals": partial(mobilenetv2, 32, 8),
    "residual blocks": partial(resnet18, 32, 8),
    "transposed convolutions": partial(unet, 16, 8, 2),
    "convolutions, bidirectional LSTMs": partial(crnn_lstm, 32, 16),
    "lines, LSTM with states in and out": partial(vad_stream, 16),
    "words, bidirectional LSTMs": partial(bilstm_tagger, 6, 16, 16, 10_000),
    "encoder with words and a mask": partial(encoder, "encoder", Sizes(8, 32, 2, 64, 1, 10_000)),
    "causal block, GELU by tanh": partial(gpt_block, SMALL),
    "attention with relative positions": partial(deberta, SMALL, 4),
}

#: Recurrent layers and loops.
STATES = {
    "GRU": partial(gru, 6, 32),
    "GRU, reset first, states in and out": partial(recurrent.gru_states, before=True),
    "GRU, reset last, states in and out": partial(recurrent.gru_states, before=False),
    "GRU both ways, only last states": recurrent.gru_both_ways,
    "GRU steps spelled out, states in and out": nsnet2_step,
    "LSTM both ways, states in and out": recurrent.lstm_states,
    "LSTM both ways, sequence lengths": recurrent.lstm_lengths,
    "RNN backwards": recurrent.rnn,
    "`DynamicQuantizeLSTM`": recurrent.quantised_lstm,
    "`If` on a result": dynamic.verified,
    "`Loop` with a trip count": dynamic.loop,
    "`Scan` backwards": dynamic.scan,
    "`ReverseSequence`": dynamic.reverse_sequence,
}

#: Layers between products, and products of other forms.
PIECES = {
    "convolutions of lines": pieces.lines,
    "transposed convolutions 4x4, of lines": pieces.transposed,
    "resize, nearest": partial(pieces.resize, "nearest"),
    "resize, bilinear": partial(pieces.resize, "linear"),
    "pad, split, concat, space to depth": pieces.rearranged,
    "swishes, gate of channels": pieces.activations,
    "GELU by Div and Erf, by tanh": pieces.gelus,
    "reductions of the last axis": pieces.reductions,
    "sort, gather, scatter": pieces.sorted_and_scattered,
    "16-bit weights widened": pieces.narrow_weights,
    "16-bit layers": pieces.halves,
    "dynamic quantisation": pieces.dynamic_quantised,
    "4-bit blocks, `MatMulNBits`": partial(pieces.blocked_weights, 4),
    "8-bit blocks, `MatMulNBits`": partial(pieces.blocked_weights, 8),
    "QCDQ, 4 bits": pieces.clipped,
}


def _hybrid_lstm() -> bytes:
    """As dynamic-range quantisation leaves it."""
    kind = "UNIDIRECTIONAL_SEQUENCE_LSTM"
    sizes = {"steps": 5, "inputs": 16, "hidden": 24}
    return lite_recurrent.built(lite_recurrent.Layer(kind, codes="asymmetric", **sizes)).file()


#: TensorFlow Lite files.
LITE = {
    "TFLite int8, residual": lambda: converted(signed(image.resnet8(nhwc=True))),
    "TFLite, 16-bit weights": partial(half.mobilenet, 32, 8, 10),
    "TFLite, sparse weights": lite.sparse,
    "TFLite int8, slices and shapes": lite.sliced,
    "TFLite floats, image": lite.image,
    "TFLite LSTM": lite.lstm,
    "TFLite LSTM, int8 weights on floats": _hybrid_lstm,
    "TFLite `WHILE` with a trip count": lite_recurrent.looped,
    "TFLite, int8 weights on floats": lite.hybrid,
}

CONSTRUCTS: Mapping[str, Construct] = {
    **{name: Construct(make) for name, make in NETWORKS.items()},
    "positions cut by shape arithmetic": Construct(dynamic.positions, {"x": (1, 160, 32)}),
    "anchors by shape arithmetic": Construct(dynamic.anchors, {"x": (1, 3, 160, 160)}),
    "sizes of -1": Construct(dynamic.negative_sizes, {"x": (4, 32)}),
    "`If` on a bound input": Construct(dynamic.rates, values={"sr": 16000}),
    **{name: Construct(make) for name, make in (STATES | PIECES | LITE).items()},
}
