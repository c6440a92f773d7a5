"""Trains the demo network and writes match_aie/demo/digits_int8.onnx and digits_test.npz.

Real data: the 1,797 handwritten digits of 8x8 pixels that scikit-learn carries (UCI "Optical
Recognition of Handwritten Digits"). A small residual CNN is trained in plain numpy (float64,
Adam, fixed seed), then quantised to 8 bits: symmetric per-channel weights, asymmetric uint8
activations, int32 biases, written as ONNX in QDQ form.

Run it with scikit-learn, onnx and onnxruntime installed (scikit-learn is needed only here):

    python benchmarks/train_digits.py [--out match_aie/demo] [--json FILE]

The same machine and numpy give the same bytes. Another BLAS may round differently.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from machine import machine_row
from numpy.lib.stride_tricks import sliding_window_view
from onnx import TensorProto, helper, numpy_helper
from sklearn.datasets import load_digits

SEED = 20
EPOCHS = 40
BATCH = 32
TRAIN = 1437  # the remaining 360 images are never seen in training or calibration
SHIPPED = 100  # of the held-out images go into the package
# onnxruntime on an x86 without VNNI adds two products in int16: 2 * 255 * 64 just fits.
LARGEST_WEIGHT = 64

Params = dict[str, np.ndarray]


@dataclass(frozen=True)
class Conv:
    """A convolution with padding (FY - 1) / 2: weights [K, C / groups, FY, FX]."""

    name: str
    inputs: int
    outputs: int
    filter: int
    stride: int = 1
    groups: int = 1

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Shape of the weights, as ONNX has it."""
        return (self.outputs, self.inputs // self.groups, self.filter, self.filter)

    def windows(self, x: np.ndarray) -> np.ndarray:
        """im2col of x[N, C, Y, X]: a view [N, C, OY, OX, FY, FX]."""
        pad = self.filter // 2
        padded = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
        view = sliding_window_view(padded, (self.filter, self.filter), axis=(2, 3))
        return view[:, :, :: self.stride, :: self.stride]

    @property
    def subscripts(self) -> str:
        """Letters for einsum of windows and weights; a group holds one channel or all of them."""
        return "nkyxij,kij" if self.groups > 1 else "ncyxij,kcij"

    def weights(self, params: Params) -> np.ndarray:
        """The weights in the shape that `subscripts` names."""
        w = params[f"{self.name}.w"]
        return w[:, 0] if self.groups > 1 else w

    def forward(self, params: Params, x: np.ndarray) -> np.ndarray:
        """y[N, K, OY, OX]."""
        y = np.einsum(
            f"{self.subscripts}->nkyx", self.windows(x), self.weights(params), optimize=True
        )
        return np.asarray(y + params[f"{self.name}.b"][:, None, None])

    def backward(self, params: Params, grads: Params, x: np.ndarray, dy: np.ndarray) -> np.ndarray:
        """Adds the gradients of weights and bias to `grads`; returns that of x."""
        view, kernel = self.subscripts.split(",")
        dw = np.einsum(f"{view},nkyx->{kernel}", self.windows(x), dy, optimize=True)
        grads[f"{self.name}.w"] = dw.reshape(self.shape)
        grads[f"{self.name}.b"] = dy.sum((0, 2, 3))
        dview = np.einsum(f"{kernel},nkyx->{view}", self.weights(params), dy, optimize=True)
        return self._fold(dview, x.shape)

    def _fold(self, dview: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
        """The transpose of `windows`."""
        pad, (oy, ox) = self.filter // 2, dview.shape[2:4]
        dx = np.zeros((*shape[:2], shape[2] + 2 * pad, shape[3] + 2 * pad))
        for i in range(self.filter):
            for j in range(self.filter):
                rows = slice(i, i + oy * self.stride, self.stride)
                columns = slice(j, j + ox * self.stride, self.stride)
                dx[:, :, rows, columns] += dview[..., i, j]
        return dx[:, :, pad : pad + shape[2], pad : pad + shape[3]]


STEM = Conv("stem", 1, 16, 3)
DOWN = Conv("down", 16, 32, 3, stride=2)
DEPTH = Conv("depth", 32, 32, 3, groups=32)
POINT = Conv("point", 32, 32, 1)
CONVS = (STEM, DOWN, DEPTH, POINT)


def relu(x: np.ndarray) -> np.ndarray:
    """max(x, 0)."""
    return np.maximum(x, 0.0)


def forward(params: Params, x: np.ndarray) -> Params:
    """Every activation of the network by name, for images x[N, 1, 8, 8]; "logits" is [N, 10]."""
    acts = {"x": x}
    acts["stem"] = relu(STEM.forward(params, x))
    acts["down"] = relu(DOWN.forward(params, acts["stem"]))
    acts["depth"] = relu(DEPTH.forward(params, acts["down"]))
    acts["point"] = POINT.forward(params, acts["depth"])
    acts["residual"] = relu(acts["point"] + acts["down"])
    acts["pooled"] = acts["residual"].reshape(-1, 32, 2, 2, 2, 2).mean((3, 5))
    acts["logits"] = acts["pooled"].reshape(-1, 128) @ params["dense.w"].T + params["dense.b"]
    return acts


def gradients(params: Params, x: np.ndarray, labels: np.ndarray) -> Params:
    """Gradients of the mean cross-entropy by parameter name."""
    acts = forward(params, x)
    grads: Params = {}
    shifted = np.exp(acts["logits"] - acts["logits"].max(1, keepdims=True))
    d = shifted / shifted.sum(1, keepdims=True)
    d[np.arange(len(labels)), labels] -= 1.0
    d /= len(labels)
    grads["dense.w"], grads["dense.b"] = d.T @ acts["pooled"].reshape(-1, 128), d.sum(0)
    pooled = (d @ params["dense.w"]).reshape(-1, 32, 2, 1, 2, 1) / 4.0
    spread = np.broadcast_to(pooled, (len(d), 32, 2, 2, 2, 2)).reshape(-1, 32, 4, 4)
    d = spread * (acts["residual"] > 0)
    below = POINT.backward(params, grads, acts["depth"], d)
    below = DEPTH.backward(params, grads, acts["down"], below * (acts["depth"] > 0))
    below = DOWN.backward(params, grads, acts["stem"], (below + d) * (acts["down"] > 0))
    STEM.backward(params, grads, x, below * (acts["stem"] > 0))
    return grads


def initial(rng: np.random.Generator) -> Params:
    """He initialisation, zero biases."""
    params: Params = {}
    for conv in CONVS:
        fan_in = conv.shape[1] * conv.filter**2
        params[f"{conv.name}.w"] = rng.normal(0.0, np.sqrt(2.0 / fan_in), conv.shape)
        params[f"{conv.name}.b"] = np.zeros(conv.outputs)
    params["dense.w"] = rng.normal(0.0, np.sqrt(1.0 / 128), (10, 128))
    params["dense.b"] = np.zeros(10)
    return params


def batches(rng: np.random.Generator, x: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """(indices, images) of one epoch; every image is moved by up to one pixel each way."""
    order = rng.permutation(len(x))
    for start in range(0, len(order), BATCH):
        chosen = order[start : start + BATCH]
        padded = np.pad(x[chosen], ((0, 0), (0, 0), (1, 1), (1, 1)))
        dy, dx = rng.integers(0, 3, 2)
        yield chosen, padded[:, :, dy : dy + 8, dx : dx + 8]


def train(x: np.ndarray, labels: np.ndarray) -> Params:
    """Adam with a cosine learning rate; decay of 1e-4 keeps the weights' ranges narrow."""
    rng = np.random.default_rng(SEED)
    params = initial(rng)
    first = {name: np.zeros_like(value) for name, value in params.items()}
    second = {name: np.zeros_like(value) for name, value in params.items()}
    step, steps = 0, EPOCHS * -(-len(x) // BATCH)
    for epoch in range(EPOCHS):
        for chosen, images in batches(rng, x):
            step += 1
            rate = 3e-3 * 0.5 * (1.0 + np.cos(np.pi * step / steps))
            for name, grad in gradients(params, images, labels[chosen]).items():
                first[name] += 0.1 * (grad - first[name])
                second[name] += 0.001 * (grad**2 - second[name])
                mean, var = first[name] / (1 - 0.9**step), second[name] / (1 - 0.999**step)
                params[name] -= rate * (mean / (np.sqrt(var) + 1e-8) + 1e-4 * params[name])
        if epoch % 10 == 9:
            print(f"epoch {epoch + 1:3}: training accuracy {accuracy(params, x, labels):.4f}")
    return params


def accuracy(params: Params, x: np.ndarray, labels: np.ndarray) -> float:
    """Share of images whose largest logit is the label's."""
    return float((forward(params, x)["logits"].argmax(1) == labels).mean())


class Quantizer:
    """Builds the QDQ graph: float ops between dequantised uint8 tensors."""

    def __init__(self, params: Params, ranges: dict[str, tuple[float, float]]) -> None:
        """`ranges` holds the smallest and largest value of every activation in calibration."""
        self.params = params
        self.scales: dict[str, np.float32] = {}
        self.points: dict[str, np.uint8] = {}
        self.nodes: list[onnx.NodeProto] = []
        self.tensors: list[onnx.TensorProto] = []
        for name, (low, high) in ranges.items():
            low, high = min(low, 0.0), max(high, 0.0)
            self.scales[name] = np.float32((high - low) / 255.0)
            self.points[name] = np.uint8(round(-low / float(self.scales[name])))

    def constant(self, name: str, value: np.ndarray) -> str:
        """Adds an initialiser and returns its name."""
        self.tensors.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def activation(self, source: str, name: str) -> None:
        """Quantise and dequantise `source`; the result is called `<name>`."""
        scale = self.constant(f"{name}_scale", self.scales[name])
        point = self.constant(f"{name}_zero_point", self.points[name])
        self._node("QuantizeLinear", [source, scale, point], f"{name}_q")
        self._node("DequantizeLinear", [f"{name}_q", scale, point], name)

    def weights(self, layer: str, source: str) -> list[str]:
        """The layer's dequantised weights (int8) and bias (int32), one scale per channel."""
        w, b = self.params[f"{layer}.w"], self.params[f"{layer}.b"]
        scale = (np.abs(w).reshape(len(w), -1).max(1) / LARGEST_WEIGHT).astype(np.float32)
        broadcast = scale.reshape(-1, *(1,) * (w.ndim - 1))
        ints = np.clip(np.rint(w / broadcast), -LARGEST_WEIGHT, LARGEST_WEIGHT).astype(np.int8)
        bias_scale = self.scales[source] * scale
        bias = np.rint(b / bias_scale).astype(np.int32)
        zeros = (np.zeros(len(w), np.int8), np.zeros(len(w), np.int32))
        for name, values, s, z in (("w", ints, scale, zeros[0]), ("b", bias, bias_scale, zeros[1])):
            full = f"{layer}_{name}"
            parts = [self.constant(f"{full}_q", values), self.constant(f"{full}_scale", s)]
            parts.append(self.constant(f"{full}_zero_point", z))
            self._node("DequantizeLinear", parts, full, axis=0)
        return [f"{layer}_w", f"{layer}_b"]

    def conv(self, conv: Conv, source: str) -> None:
        """A convolution; ReLU needs no node where the uint8 range starts at 0."""
        args = [source, *self.weights(conv.name, source)]
        pads, stride = [conv.filter // 2] * 4, [conv.stride] * 2
        self._node("Conv", args, f"{conv.name}_y", pads=pads, strides=stride, group=conv.groups)
        self.activation(f"{conv.name}_y", conv.name)

    def _node(self, op: str, inputs: list[str], output: str, **attributes: object) -> None:
        ends = {"QuantizeLinear": "_quantize", "DequantizeLinear": "_dequantize"}
        name = output.removesuffix("_y").removesuffix("_q") + ends.get(op, "")
        self.nodes.append(helper.make_node(op, inputs, [output], name=name, **attributes))

    def model(self) -> onnx.ModelProto:
        """The whole network, checked."""
        self.activation("image", "x")
        self.conv(STEM, "x")
        self.conv(DOWN, "stem")
        self.conv(DEPTH, "down")
        self.conv(POINT, "depth")
        self._node("Add", ["point", "down"], "residual_y")
        self.activation("residual_y", "residual")
        window = {"kernel_shape": [2, 2], "strides": [2, 2]}
        self._node("AveragePool", ["residual"], "pooled_y", **window)
        self.activation("pooled_y", "pooled")
        self._node("Flatten", ["pooled"], "features_y", axis=1)
        self.activation("features_y", "features")
        gemm = ["features", *self.weights("dense", "features")]
        self._node("Gemm", gemm, "dense_y", transB=1)
        self.activation("dense_y", "logits")
        image = helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 1, 8, 8])
        logits = helper.make_tensor_value_info("logits", TensorProto.FLOAT, [1, 10])
        graph = helper.make_graph(self.nodes, "digits", [image], [logits], self.tensors)
        opset = [helper.make_opsetid("", 17)]
        model = helper.make_model(
            graph, opset_imports=opset, ir_version=9, producer_name="match_aie"
        )
        onnx.checker.check_model(model, full_check=True)
        return model


def quantize(params: Params, images: np.ndarray) -> onnx.ModelProto:
    """The int8 model, calibrated by the range of each activation over `images`."""
    acts = forward(params, images)
    acts["features"] = acts["pooled"]
    ranges = {name: (float(act.min()), float(act.max())) for name, act in acts.items()}
    return Quantizer(params, ranges).model()


def int8_logits(model: onnx.ModelProto, images: np.ndarray) -> np.ndarray:
    """Logits[N, 10] of onnxruntime, image by image: the network's batch size is 1."""
    session = onnxruntime.InferenceSession(model.SerializeToString())
    return np.concatenate([session.run(None, {"image": image[None]})[0] for image in images])


def shuffled_digits() -> tuple[np.ndarray, np.ndarray]:
    """Images [N, 8, 8] from 0 to 1, labels [N]: `TRAIN` to learn from, then the held out."""
    digits = load_digits()
    order = np.random.default_rng(SEED).permutation(len(digits.target))
    return digits.images[order] / 16.0, digits.target[order]


def write(
    out: Path, params: Params, model: onnx.ModelProto, x: np.ndarray, labels: np.ndarray
) -> None:
    """The model, and the shipped images with what the float network says about them."""
    out.mkdir(parents=True, exist_ok=True)
    (out / "digits_int8.onnx").write_bytes(model.SerializeToString(deterministic=True))
    images, logits = x[:SHIPPED].astype(np.float32), forward(params, x)["logits"]
    np.savez_compressed(
        out / "digits_test.npz",
        image=images,
        label=labels[:SHIPPED].astype(np.uint8),
        float_prediction=logits[:SHIPPED].argmax(1).astype(np.uint8),
        float_logits=logits[:SHIPPED].astype(np.float32),
    )


def main() -> None:
    """Train, quantise, measure on the held-out images, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    default = Path(__file__).resolve().parent.parent / "match_aie" / "demo"
    parser.add_argument("--out", type=Path, default=default, help="folder for model and images")
    parser.add_argument("--json", type=Path, help="write the table as rows")
    options = parser.parse_args()
    images, labels = shuffled_digits()
    x = images[:, None]
    params = train(x[:TRAIN], labels[:TRAIN])
    model = quantize(params, x[:TRAIN])
    held, held_labels = x[TRAIN:], labels[TRAIN:]
    right = int8_logits(model, held.astype(np.float32)).argmax(1) == held_labels
    cases = {
        "float64, numpy": accuracy(params, held, held_labels),
        "int8, onnxruntime": right.mean(),
    }
    write(options.out, params, model, held, held_labels)
    rows = [machine_row()]
    for case, value in cases.items():
        print(f"{case:20} {100 * value:6.2f} % of {len(held)} held-out images")
        row = {"case": case, "metric": "accuracy", "value": float(value), "unit": "1"}
        rows.append({**row, "provenance": "measured", "note": f"{len(held)} held-out images"})
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
