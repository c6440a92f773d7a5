"""Trains a GRU that reads handwritten digits row by row, and writes it as floats and as integers.

Real data, and the same held-out images as `train_digits`: eight steps of eight pixels, a GRU of 32
units (reset gate behind the product), a dense layer on the last state. Trained in plain numpy
(float64, Adam, fixed seed). The integer form is QDQ: int8 weights with a scale for each row, uint8
pixels, an int8 last state, int8 logits; the GRU's state and gates stay floats.

Run it with scikit-learn, onnx and onnxruntime installed (scikit-learn is needed only here):

    python benchmarks/train_digits_gru.py [--out tests/data] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from machine import machine_row
from onnx import TensorProto, helper, numpy_helper
from train_digits import SEED, TRAIN, shuffled_digits

HIDDEN, STEPS, PIXELS, CLASSES = 32, 8, 8, 10
EPOCHS, BATCH = 60, 32

Params = dict[str, np.ndarray]


def initial(rng: np.random.Generator) -> Params:
    """Uniform within 1 / sqrt(hidden), as frameworks begin; shapes as ONNX stores them."""
    bound, rows = HIDDEN**-0.5, 3 * HIDDEN
    shapes = {"w": (rows, PIXELS), "r": (rows, HIDDEN), "b": (2, rows), "d": (CLASSES, HIDDEN)}
    params = {name: rng.uniform(-bound, bound, shape) for name, shape in shapes.items()}
    return params | {"e": np.zeros(CLASSES)}


def sigmoid(x: np.ndarray) -> np.ndarray:
    """1 / (1 + exp(-x))."""
    return np.asarray(1.0 / (1.0 + np.exp(-x)))


def forward(params: Params, x: np.ndarray) -> tuple[np.ndarray, list[tuple[np.ndarray, ...]]]:
    """Logits [N, 10] of images [N, 8, 8], and per step (h, z, r, n, inner) for the way back."""
    h = np.zeros((len(x), HIDDEN))
    kept = []
    for step in range(STEPS):
        seen = np.split(x[:, step] @ params["w"].T + params["b"][0], 3, axis=1)
        held = np.split(h @ params["r"].T + params["b"][1], 3, axis=1)
        z, r = sigmoid(seen[0] + held[0]), sigmoid(seen[1] + held[1])
        n = np.tanh(seen[2] + r * held[2])
        kept.append((h, z, r, n, held[2]))
        h = (1.0 - z) * n + z * h
    return h @ params["d"].T + params["e"], [*kept, (h,)]


def gradients(params: Params, x: np.ndarray, labels: np.ndarray) -> Params:
    """Gradients of the mean cross-entropy by parameter name."""
    logits, kept = forward(params, x)
    d = np.exp(logits - logits.max(1, keepdims=True))
    d /= d.sum(1, keepdims=True)
    d[np.arange(len(labels)), labels] -= 1.0
    d /= len(labels)
    grads = {name: np.zeros_like(value) for name, value in params.items()}
    grads["d"], grads["e"] = d.T @ kept[-1][0], d.sum(0)
    dh = d @ params["d"]
    for step in reversed(range(STEPS)):
        h, z, r, n, inner = kept[step]
        dn = dh * (1.0 - z) * (1.0 - n**2)
        dz, dr = dh * (h - n) * z * (1.0 - z), dn * inner * r * (1.0 - r)
        seen, held = np.hstack([dz, dr, dn]), np.hstack([dz, dr, dn * r])
        grads["w"] += seen.T @ x[:, step]
        grads["r"] += held.T @ h
        grads["b"] += np.stack([seen.sum(0), held.sum(0)])
        dh = dh * z + held @ params["r"]
    return grads


def train(x: np.ndarray, labels: np.ndarray) -> Params:
    """Adam with a cosine learning rate."""
    rng = np.random.default_rng(SEED)
    params = initial(rng)
    first, second = ({name: np.zeros_like(v) for name, v in params.items()} for _ in range(2))
    step, steps = 0, EPOCHS * -(-len(x) // BATCH)
    for _ in range(EPOCHS):
        order = rng.permutation(len(x))
        for start in range(0, len(order), BATCH):
            chosen, step = order[start : start + BATCH], step + 1
            rate = 6e-3 * 0.5 * (1.0 + np.cos(np.pi * step / steps))
            for name, grad in gradients(params, x[chosen], labels[chosen]).items():
                first[name] += 0.1 * (grad - first[name])
                second[name] += 0.001 * (grad**2 - second[name])
                mean, var = first[name] / (1 - 0.9**step), second[name] / (1 - 0.999**step)
                params[name] -= rate * (mean / (np.sqrt(var) + 1e-8) + 1e-4 * params[name])
    return params


class Writer:
    """The network in ONNX, of floats or in QDQ."""

    def __init__(self, params: Params, largest: float | None) -> None:
        """`largest`: magnitude of the logits in calibration; None for floats."""
        self._params = params
        self._largest = largest
        self._nodes: list[onnx.NodeProto] = []
        self._tensors: list[onnx.TensorProto] = []

    def _constant(self, name: str, value: np.ndarray) -> str:
        self._tensors.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def _node(self, op: str, inputs: list[str], output: str, **attributes: object) -> str:
        self._nodes.append(helper.make_node(op, inputs, [output], name=output, **attributes))
        return output

    def _weights(self, name: str, axis: int) -> str:
        """A matrix by its rows; `axis`: where these are in the stored tensor."""
        value = self._params[name].astype(np.float32)
        lead = (1,) * axis
        if self._largest is None:
            return self._constant(name, value.reshape(*lead, *value.shape))
        scale = (np.abs(value).max(1) / 127.0).astype(np.float32)
        whole = np.clip(np.rint(value / scale[:, None]), -127, 127).astype(np.int8)
        parts = [
            self._constant(f"{name}_q", whole.reshape(*lead, *value.shape)),
            self._constant(f"{name}_scale", scale),
            self._constant(f"{name}_zero_point", np.zeros(len(scale), np.int8)),
        ]
        return self._node("DequantizeLinear", parts, name, axis=axis)

    def _activation(self, source: str, name: str, scale: float, zero: np.generic) -> str:
        if self._largest is None:
            return source
        pair = [
            self._constant(f"{name}_scale", np.float32(scale)),
            self._constant(f"{name}_zero_point", zero),
        ]
        self._node("QuantizeLinear", [source, *pair], f"{name}_q")
        return self._node("DequantizeLinear", [f"{name}_q", *pair], name)

    def model(self) -> onnx.ModelProto:
        """Input `rows` [8, 1, 8], output `logits` [1, 10]."""
        integers = self._largest is not None
        x = self._activation("rows", "pixels", 1 / 16, np.uint8(0))
        w, r = self._weights("w", 1), self._weights("r", 1)
        bias = self._constant("b", self._params["b"].reshape(1, -1).astype(np.float32))
        layer = helper.make_node(
            "GRU", [x, w, r, bias], ["", "last"], "gru", hidden_size=HIDDEN, linear_before_reset=1
        )
        self._nodes.append(layer)
        axis = self._constant("axis", np.array([0], np.int64))
        self._node("Squeeze", ["last", axis], "state")
        state = self._activation("state", "held", 1 / 127, np.int8(0))
        head = [state, self._weights("d", 0)]
        head.append(self._constant("e", self._params["e"].astype(np.float32)))
        made = self._node("Gemm", head, "scores" if integers else "logits", transB=1)
        if integers:
            self._activation(made, "logits", (self._largest or 0) / 127.0, np.int8(0))
        rows = helper.make_tensor_value_info("rows", TensorProto.FLOAT, [STEPS, 1, PIXELS])
        logits = helper.make_tensor_value_info("logits", TensorProto.FLOAT, [1, CLASSES])
        graph = helper.make_graph(self._nodes, "digits_gru", [rows], [logits], self._tensors)
        opset = [helper.make_opsetid("", 17)]
        made = helper.make_model(
            graph, opset_imports=opset, ir_version=9, producer_name="match_aie"
        )
        onnx.checker.check_model(made, full_check=True)
        return made


def accuracy(model: onnx.ModelProto, images: np.ndarray, labels: np.ndarray) -> float:
    """Share of images [N, 8, 8] that onnxruntime gets right."""
    session = onnxruntime.InferenceSession(model.SerializeToString())
    rows = images[:, :, None].astype(np.float32)
    said = [session.run(None, {"rows": image})[0].argmax() for image in rows]
    return float((np.array(said) == labels).mean())


def main() -> None:
    """Train, write, measure on the held-out images."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    default = Path(__file__).resolve().parent.parent / "tests" / "data"
    parser.add_argument("--out", type=Path, default=default, help="folder for models and images")
    parser.add_argument("--json", type=Path, help="write the table as rows")
    options = parser.parse_args()
    x, labels = shuffled_digits()
    params = train(x[:TRAIN], labels[:TRAIN])
    largest = float(np.abs(forward(params, x[:TRAIN])[0]).max())
    held, held_labels = x[TRAIN:], labels[TRAIN:]
    rows = [machine_row()]
    for name, bound in (("digits_gru", None), ("digits_gru_qdq", largest)):
        model = Writer(params, bound).model()
        path = options.out / f"{name}.onnx"
        path.write_bytes(model.SerializeToString(deterministic=True))
        value = accuracy(model, held, held_labels)
        print(f"{name:20} {100 * value:6.2f} % of {len(held)} held-out images")
        rows.append(
            {
                "case": name,
                "metric": "accuracy",
                "value": value,
                "unit": "1",
                "provenance": "measured",
                "note": f"onnxruntime, {len(held)} held-out images",
            }
        )
    np.savez_compressed(
        options.out / "digits_rows.npz",
        image=(held * 16).astype(np.uint8),
        label=held_labels.astype(np.uint8),
    )
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
