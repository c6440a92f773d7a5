"""Relay in the forms that old TVM wrote, made here: text, JSON, parameter lists."""

from __future__ import annotations

import base64
import json
import struct

import numpy as np

#: What real files hold and short examples do not: names, annotations, spans, comments.
REAL = """#[version = "0.0.5"]
def @main(%data {virtual_device=VirtualDevice(device_type=1, virtual_device_id=0,
  target=Target(id=1b2, kind='llvm', keys={'cpu'}, attrs={'mcpu': "x"}, host=Target(id=3)))}:
  Tensor[(1, 4, 6, 6), int8] /* ty=Tensor[(1, 4, 6, 6), int8] span=a/b:0:0 */,
  %onnx::Conv_0 : Tensor[(8, 4, 3, 3), int8], %input.1, %conv1/weights:0: Tensor[(8), int32],
  hash="ab/*not a comment*/", executor=meta[Executor][0], /* en_id=418 */) ->
  (Tensor[(1, 8, 4, 4), int8], Tensor[(?), int32]) {
  /* outer /* inner */ still */
  %0 = nn.conv2d(%data, %onnx::Conv_0, padding=[0, 0, 0, 0], channels=8, kernel_size=[3, 3],
    out_dtype="int32") /* ty=Tensor[(1, 8, 4, 4), int32] span=model/conv:12:5 */; // to the end
  %1 = fn (%FunctionVar_0: Tensor[(1, 8, 4, 4), int32], %p1: Tensor[(8), int32],
      PartitionedFromPattern="nn.bias_add_clip_", Composite="match.requant", Primitive=1)
      -> Tensor[(1, 8, 4, 4), int8] {
    %2 = nn.bias_add(%FunctionVar_0, %p1) /* ty=Tensor[(1, 8, 4, 4), int32] */;
    %3 = right_shift(%2, 5 /* ty=int32 */);
    %4 = clip(%3, a_min=-128f, a_max=127f);
    cast(%4, dtype="int8")
  };
  %5 = (%1(%0, %input.1), %conv1/weights:0);
  let %x: Tensor[(1, 8, 4, 4), int8] = %5.0;
  let %x_1 = annotation.stop_fusion(%x);
  (%x_1, %5.1,)
}
"""


def array_bytes(value: np.ndarray) -> bytes:
    """One array as TVM's run time writes it."""
    code = {"i": 0, "u": 1, "f": 2}[value.dtype.kind]
    head = struct.pack("<QQiii", 0xDD5E40F096B4A13F, 0, 1, 0, value.ndim)
    head += struct.pack("<BBH", code, value.dtype.itemsize * 8, 1)
    head += struct.pack(f"<{value.ndim}q", *value.shape) + struct.pack("<q", value.nbytes)
    return head + np.ascontiguousarray(value).tobytes()


def param_bytes(arrays: dict[str, np.ndarray]) -> bytes:
    """What `save_param_dict` gives."""
    out = struct.pack("<QQQ", 0xF7E58D4F05049CB7, 0, len(arrays))
    for name in arrays:
        out += struct.pack("<Q", len(name.encode())) + name.encode()
    return out + struct.pack("<Q", len(arrays)) + b"".join(map(array_bytes, arrays.values()))


def metadata(*constants: np.ndarray) -> str:
    """The section that `astext(show_meta_data=True)` appends."""
    count = len(constants)
    nodes = [
        {"type_key": ""},
        {"type_key": "Map", "keys": ["relay.Constant"], "data": [2]},
        {"type_key": "Array", "data": list(range(3, 3 + count))},
    ]
    for index in range(count):
        attrs = {"_checked_type_": "0", "data": str(index), "span": "0", "virtual_device_": "0"}
        nodes.append({"type_key": "relay.Constant", "attrs": attrs})
    arrays = [base64.b64encode(array_bytes(value)).decode() for value in constants]
    graph = {"root": 1, "nodes": nodes, "b64ndarrays": arrays, "attrs": {"tvm_version": "0.12.0"}}
    return "#[metadata]\n" + json.dumps(graph, indent=2)


class JsonModule:
    """Builds the JSON of `tvm.ir.save_json`, node by node."""

    def __init__(self) -> None:
        self.nodes: list[dict[str, object]] = [{"type_key": ""}]
        self.arrays: list[str] = []

    def node(self, kind: str, **attrs: object) -> int:
        self.nodes.append({"type_key": kind, "attrs": {k: str(v) for k, v in attrs.items()}})
        return len(self.nodes) - 1

    def string(self, text: str) -> int:
        self.nodes.append({"type_key": "runtime.String", "repr_str": text})
        return len(self.nodes) - 1

    def array(self, *items: int) -> int:
        self.nodes.append({"type_key": "Array", "data": list(items)})
        return len(self.nodes) - 1

    def integer(self, value: int, dtype: str = "int32") -> int:
        return self.node("IntImm", dtype=dtype, span=0, value=value)

    def integers(self, *values: int) -> int:
        return self.array(*(self.integer(value) for value in values))

    def tensor_type(self, shape: tuple[int, ...], dtype: str) -> int:
        return self.node("relay.TensorType", dtype=dtype, shape=self.integers(*shape), span=0)

    def var(self, name: str, annotation: int = 0) -> int:
        vid = self.node("relay.Id", name_hint=self.string(name))
        return self.node("relay.Var", _checked_type_=0, span=0, type_annotation=annotation, vid=vid)

    def constant(self, value: np.ndarray) -> int:
        self.arrays.append(base64.b64encode(array_bytes(value)).decode())
        return self.node("relay.Constant", data=len(self.arrays) - 1, span=0)

    def call(self, operator: str, arguments: tuple[int, ...], attrs: int = 0) -> int:
        self.nodes.append({"type_key": "Op", "repr_str": operator})
        op = len(self.nodes) - 1
        return self.call_of(op, arguments, attrs)

    def call_of(self, op: int, arguments: tuple[int, ...], attrs: int = 0) -> int:
        types = self.array()
        args = self.array(*arguments)
        return self.node("relay.Call", args=args, attrs=attrs, op=op, span=0, type_args=types)

    def function(self, params: tuple[int, ...], body: int, attrs: int = 0) -> int:
        return self.node(
            "relay.Function",
            attrs=attrs,
            body=body,
            params=self.array(*params),
            ret_type=0,
            span=0,
            type_params=self.array(),
        )

    def dump(self, main: int) -> str:
        name = self.node("GlobalVar", name_hint=self.string("main"), span=0)
        self.nodes.append({"type_key": "Map", "data": [name, main]})
        root = self.node("IRModule", functions=len(self.nodes) - 1, attrs=0, source_map=0)
        graph = {
            "root": root,
            "nodes": self.nodes,
            "b64ndarrays": self.arrays,
            "attrs": {"tvm_version": "0.12.0"},
        }
        return json.dumps(graph)
