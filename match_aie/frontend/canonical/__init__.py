"""One canonical quantised graph, whatever the source.

The canonical form, which patterns are written against:

- activations of images are NHWC, filters HWIO, weights of `matmul` [C, K]; transposes and
  reshapes of weights and biases are done at compile time;
- a quantised layer is `quantize(op(dequantize(x), dequantize(weight)) + dequantize(bias))`,
  followed by an integer `clip` where an activation narrows the range; ReLU, ReLU6 and Clip before
  a `quantize` are always turned into that clip;
- reshapes and transposes of activations that are quantised as a whole work on integers, as max
  pooling between equal quantisations does;
- a PReLU with one slope is a leaky ReLU;
- GELU by tanh is one operator, and so is an RMS norm; a float transposed convolution is a
  convolution and a move of its channels between pixels, and so is a quantised one for targets that
  ask for it, its channels moved behind the quantize and its clip;
- products of two float activations are scaled behind, and transposed in one step
  (`canonical/scores.py`);
- 16-bit floats of ONNX and TFLite models are computed in 32 bits;
- a convolution whose result is cropped, behind it or what follows element by element, has the
  padding of what stays (`canonical/crops.py`);
- slices, splits and shuffles of images' channels work on channels last (`canonical/pieces.py`);
- slices, splits, gathers and nearest resizes of what is quantised as a whole take integers, and
  quantised tensors are joined as integers of the result's scale;
- a nearest resize of integers to whole multiples is rows and columns repeated;
- a bilinear resize of floats is a sum of two weighted rows, then of two columns;
- TFLite's integer average pool is one composite function, `match.avg_pool2d_half_away`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tvm import relax

from match_aie import tvm_api
from match_aie.frontend.canonical.constants import fold_constants
from match_aie.frontend.canonical.crops import Cropped
from match_aie.frontend.canonical.gelu import whole_gelu
from match_aie.frontend.canonical.halves import Widened
from match_aie.frontend.canonical.integer_io import integer_ports
from match_aie.frontend.canonical.layout import Layout
from match_aie.frontend.canonical.quantized import canonical_quantized
from match_aie.frontend.canonical.resize import bilinear, nearest
from match_aie.frontend.canonical.rms import whole_rms_norm
from match_aie.frontend.canonical.scores import whole_scores
from match_aie.frontend.canonical.unsigned import unsigned_activations
from match_aie.frontend.model import Model
from match_aie.frontend.rebuild import rebuild


def normalize(
    model: Model,
    *,
    integer_io: bool = False,
    unsigned: bool = False,
    convolved: bool | frozenset[str] = False,
) -> Model:
    """The model in canonical form.

    Args:
        model: as loaded.
        integer_io: give inputs and outputs that are float only for a quantize or dequantize at
            the edge of the network their integer type.
        unsigned: make int8 tensors inside the network uint8.
        convolved: make quantised transposed convolutions convolutions; labels of those alone.

    Raises:
        ModelError: control flow at run time.
    """
    module, labels = _renamed(model)
    # What a module of TVM says in 16 bits it means.
    widened = (Widened(),) if model.format in ("onnx", "tflite") else ()
    whole = (whole_gelu, whole_rms_norm, whole_scores)
    for visit in (*widened, fold_constants):
        module, labels = rebuild(module, labels, visit)
    module, labels = rebuild(module, labels, Cropped.of(module))
    layout = Layout.of(convolved=convolved)
    for visit in (canonical_quantized, *whole, layout, bilinear, nearest, fold_constants):
        module, labels = rebuild(module, labels, visit)
    result = replace(model, module=module, labels=labels)
    result = integer_ports(result) if integer_io else result
    return unsigned_activations(result) if unsigned else result


def _renamed(model: Model) -> tuple[Any, dict[str, str]]:
    """Parameters called in0, in1, ...: whatever the model calls them stays in its ports."""
    parameters = {
        tvm_api.variable_name(param): relax.Var(f"in{index}", param.ty)
        for index, param in enumerate(model.module["main"].params)
    }
    return rebuild(model.module, model.labels, lambda _, __, value: value, parameters)


__all__ = ["normalize"]
