"""Which rewrites apply to which operator, tried in order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType

from match_aie.frontend.onnx_rewrite import (
    blocked,
    classical,
    control,
    decompose,
    deform,
    empty,
    functions,
    indexed,
    loop,
    optimised,
    padding,
    qonnx,
    quantised,
    recurrent,
    recurrent_forms,
    recurrent_lengths,
    recurrent_quantised,
    resize,
    reverse_sequence,
    scan,
    small,
    spectra,
    training,
)
from match_aie.frontend.onnx_rewrite.graph import MICROSOFT, OWN, Builder, Node

#: A rewrite gives the values that replace the node's outputs, or None to leave the node.
Rewrite = Callable[[Node, Builder], "tuple[str, ...] | None"]

#: Operators that ONNX defines by a body and TVM does not know.
BY_DEFINITION = (
    *("Celu", "CenterCropPad", "BlackmanWindow", "HammingWindow", "HannWindow", "SwiGLU", "Swish"),
    *("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss", "RotaryEmbedding"),
    *("CausalConvWithState", "MeanVarianceNormalization", "CastLike", "LinearAttention"),
    "GroupNormalization",
    "ai.onnx.preview.FlexAttention",
)

#: Operators of classical models, and of steps of training.
MACHINE_LEARNING, TRAINING = "ai.onnx.ml", "ai.onnx.preview.training"

#: Operators that slide a window and take `auto_pad`.
SLIDING = ("Conv", "ConvInteger", "AveragePool", "MaxPool", "LpPool")

#: Operators that TVM imports for float32 only.
NARROW_BY_DEFINITION = ("Elu", "Selu", "LeakyRelu", "HardSigmoid")


def _microsoft() -> dict[str, tuple[Rewrite, ...]]:
    """ONNX Runtime's own operators."""
    pairs: dict[str, Rewrite] = {
        "QLinearAdd": partial(quantised.qlinear_binary, "Add"),
        "QLinearMul": partial(quantised.qlinear_binary, "Mul"),
        "QLinearAveragePool": partial(quantised.qlinear_pool, "AveragePool"),
        "QLinearGlobalAveragePool": partial(quantised.qlinear_pool, "GlobalAveragePool"),
        "QLinearSigmoid": quantised.qlinear_sigmoid,
        "QLinearLeakyRelu": quantised.qlinear_leaky_relu,
        "QLinearSoftmax": quantised.qlinear_softmax,
        "QLinearConcat": quantised.qlinear_concat,
        "QLinearReduceMean": quantised.qlinear_reduce_mean,
        "QGemm": quantised.qgemm,
        "DynamicQuantizeLSTM": recurrent_quantised.dynamic_lstm,
        "MatMulNBits": blocked.matmul_blocks,
        **dict.fromkeys(("Gelu", "BiasGelu"), optimised.gelu),
        "FastGelu": optimised.fast_gelu,
        "QuickGelu": optimised.quick_gelu,
        "FusedMatMul": optimised.fused_matmul,
        "SkipLayerNormalization": optimised.skip_norm,
        "DynamicQuantizeMatMul": optimised.dynamic_matmul,
        "FusedConv": optimised.fused_conv,
        "QuantizeLinear": quantised.microsoft_quantize,
        "DequantizeLinear": quantised.microsoft_quantize,
    }
    return {f"{MICROSOFT}.{name}": (step,) for name, step in pairs.items()}


REWRITES: Mapping[str, tuple[Rewrite, ...]] = MappingProxyType(
    {
        **{name: (functions.expand,) for name in BY_DEFINITION},
        **_microsoft(),
        **{f"{d}.{name}": (qonnx.quant,) for d in qonnx.DOMAINS for name in qonnx.QUANT},
        **{f"{domain}.BipolarQuant": (qonnx.bipolar_quant,) for domain in qonnx.DOMAINS},
        "QLinearConv": (quantised.qlinear_conv,),
        "QLinearMatMul": (quantised.qlinear_matmul,),
        "If": (control.conditional,),
        f"{OWN}.{control.CHOOSE}": (control.choose,),
        "Scan": (scan.scan,),
        "Loop": (loop.loop,),
        "ReverseSequence": (reverse_sequence.reverse_sequence,),
        "SpaceToDepth": (decompose.space_to_depth,),
        "Expand": (decompose.expand,),
        "IsInf": (decompose.is_inf,),
        "DFT": (spectra.dft,),
        "Dropout": (decompose.dropout,),
        "Softplus": (decompose.softplus,),
        "Mish": (decompose.mish,),
        "LpNormalization": (decompose.lp_normalization,),
        "OneHot": (decompose.one_hot,),
        "EyeLike": (decompose.eye_like,),
        "Pow": (decompose.power,),
        **{name: (padding.explicit_pads,) for name in SLIDING},
        "MaxPool": (padding.explicit_pads, indexed.max_pool_indices),
        "Pad": (padding.pad,),
        "ConvTranspose": (decompose.conv_transpose,),
        "Mod": (small.float_remainder,),
        "Sum": (small.total,),
        "Det": (small.det,),
        "OptionalHasElement": (small.optional_has_element,),
        "OptionalGetElement": (small.optional_get_element,),
        f"{MACHINE_LEARNING}.Binarizer": (small.binarizer,),
        f"{MACHINE_LEARNING}.Scaler": (classical.scaler,),
        f"{MACHINE_LEARNING}.TreeEnsembleRegressor": (classical.regressor,),
        f"{MACHINE_LEARNING}.TreeEnsembleClassifier": (classical.classifier,),
        f"{MACHINE_LEARNING}.TreeEnsemble": (classical.ensemble,),
        f"{MACHINE_LEARNING}.ArrayFeatureExtractor": (indexed.array_feature_extractor,),
        "Compress": (indexed.compress,),
        "CumProd": (indexed.cum_prod,),
        "MaxUnpool": (indexed.max_unpool,),
        "TensorScatter": (indexed.tensor_scatter,),
        "Col2Im": (indexed.col2im,),
        "DeformConv": (deform.deform_conv,),
        "BatchNormalization": (training.batch_norm,),
        f"{TRAINING}.Adagrad": (training.stepped(training.adagrad, 1),),
        f"{TRAINING}.Momentum": (training.stepped(training.momentum, 1),),
        f"{TRAINING}.Adam": (training.stepped(training.adam, 2),),
        "ReduceMax": (decompose.extremum,),
        "ReduceMin": (decompose.extremum,),
        "BitShift": (decompose.bit_shift,),
        "Resize": (resize.resize,),
        **{name: (empty.without_empty,) for name in ("Split", "Concat", "Slice")},
        "RMSNormalization": (decompose.rms_norm,),
        **{name: (decompose.by_definition_unless_float32,) for name in NARROW_BY_DEFINITION},
        "Shrink": (decompose.shrink,),
        "Trilu": (decompose.trilu,),
        "ThresholdedRelu": (decompose.thresholded_relu,),
        "QuantizeLinear": (blocked.said_precision, blocked.quantize),
        "DequantizeLinear": (blocked.narrow_integers, blocked.dequantize),
        "RNN": (recurrent_forms.widened, recurrent_lengths.whole_sequences),
        **{
            name: (
                *(recurrent_forms.widened, recurrent_lengths.whole_sequences),
                recurrent_forms.plain,
            )
            for name in ("GRU", "LSTM")
        },
        "LayerNormalization": (decompose.layer_norm,),
    }
)

#: Bodies of the operators that arrive as composites.
COMPOSITE_BODIES: Mapping[str, tuple[Rewrite, ...]] = MappingProxyType(
    {
        "Attention": (functions.expand,),
        "GRU": (recurrent.gru,),
        "LSTM": (recurrent.lstm,),
        "RNN": (recurrent.rnn,),
    }
)
