"""Which operators import exactly, and what to say about the others."""

from __future__ import annotations

from math import prod

from onnx import TensorProto

from match_aie.frontend.onnx_rewrite.conditions import CONDITIONS
from match_aie.frontend.onnx_rewrite.control import CHOOSE
from match_aie.frontend.onnx_rewrite.graph import MICROSOFT, OWN, Graph, Info, Node, Refusal

#: Operators that arrive as one composite function each.
COMPOSITES = frozenset({"Attention", "GRU", "LSTM", "RNN"})

#: Standard operators whose import agrees with ONNX's own test cases.
IMPORTED = frozenset(
    """
    AffineGrid
    Abs Acos Acosh Add And ArgMax ArgMin Asin Asinh Atan Atanh AveragePool BatchNormalization
    BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor Cast Ceil Clip Concat Conv
    ConvInteger ConvTranspose Cos Cosh CumProd CumSum DepthToSpace DequantizeLinear Div
    DynamicQuantizeLinear Einsum Elu Equal Erf Exp Expand Flatten Floor Gather GatherElements
    GatherND Gelu Gemm GlobalAveragePool GlobalLpPool GlobalMaxPool Greater GreaterOrEqual
    GridSample HardSigmoid HardSwish Hardmax Identity InstanceNormalization
    IsInf IsNaN LRN LayerNormalization LeakyRelu Less LessOrEqual Log LogSoftmax LpPool MatMul
    MatMulInteger Max MaxPool MaxRoiPool Mean Min Mod Mul Neg Not Or PRelu Pad Pow
    QuantizeLinear RMSNormalization Reciprocal ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp
    ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare Relu Reshape Resize
    RoiAlign Round ScatterElements ScatterND Selu Shrink Sigmoid Sign Sin Sinh Slice Softmax
    Softsign Split Sqrt Squeeze Sub Sum Tan Tanh ThresholdedRelu Tile TopK Transpose Trilu
    Unsqueeze Where Xor
    """.split()
)

#: Operators of ONNX Runtime that import as they are.
IMPORTED_MICROSOFT: frozenset[str] = frozenset()

#: Why the operators are refused about which something more can be said than "unknown".
REASONS = {
    "If": "its condition hangs on a shape that is not known before the network runs",
    "Loop": "the number of its steps is decided at run time",
    f"{OWN}.{CHOOSE}": "its condition is computed at run time, and so are sizes of its results",
    **dict.fromkeys(("ConstantOfShape", "Range"), "the shape of its result depends on the data"),
    "NonZero": "the size of its result depends on the data",
    "Unique": "the size of its result depends on the data",
    "NonMaxSuppression": "the size of its result depends on the data",
    **dict.fromkeys(
        ("RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Bernoulli"),
        "it draws random numbers",
    ),
    **dict.fromkeys(
        """SequenceAt SequenceConstruct SequenceEmpty SequenceErase SequenceInsert SequenceLength
        SequenceMap SplitToSequence ConcatFromSequence""".split(),
        "sequences are not compiled",
    ),
    **dict.fromkeys(
        ("Optional", "OptionalHasElement", "OptionalGetElement"), "optionals are not compiled"
    ),
}

#: Element types that tensors of a compiled network may have.
ELEMENT_TYPES = frozenset(
    getattr(TensorProto, name)
    for name in (
        *("BOOL", "INT8", "UINT8", "INT16", "UINT16", "INT32", "UINT32", "INT64", "UINT64"),
        *("FLOAT16", "BFLOAT16", "FLOAT", "DOUBLE"),
    )
)


def why_unsupported(node: Node, graph: Graph) -> str | None:
    """Why `node` cannot be compiled, None where it can."""
    if node.op not in IMPORTED | COMPOSITES and node.op not in _microsoft():
        return REASONS.get(node.op, "no such operator is known here")
    problem = _type_problem(node, graph)
    if problem is not None:
        return problem
    try:
        found = (condition(node, graph) for condition in CONDITIONS.get(node.op, ()))
        return next((problem for problem in found if problem is not None), None)
    except Refusal as error:  # a type is unknown that a condition asks for
        return str(error)


def _microsoft() -> frozenset[str]:
    return frozenset(f"{MICROSOFT}.{name}" for name in IMPORTED_MICROSOFT)


def _type_problem(node: Node, graph: Graph) -> str | None:
    """Element types and sizes that no stage can treat."""
    known = True
    for name in filter(None, node.inputs):
        info = graph.info(name)
        problem = _value_problem(info)
        if problem is not None and not _is_empty_list(name, graph):
            return problem
        known = known and info is not None and info.shape is not None
    for name in filter(None, node.outputs):
        info = graph.info(name)
        problem = _value_problem(info)
        if problem is not None:
            return problem
        # Where an input's shape is unknown already, the node that makes it is the one to name.
        if known and info is not None and info.shape is None:
            return "the shape of its result depends on the data"
    return None


def _value_problem(info: Info | None) -> str | None:
    """What is wrong with a value's type, as far as it is known."""
    if info is None:
        return None
    if info.dtype not in ELEMENT_TYPES:
        kind = TensorProto.DataType.Name(info.dtype).lower() if info.dtype else "no tensor"
        return f"it handles {kind}"
    if info.shape is not None and prod(info.shape) == 0:
        return "it works on a tensor without elements"
    return None


def _is_empty_list(name: str, graph: Graph) -> bool:
    """Whether a value is an empty list of axes or sizes, which is harmless."""
    return graph.is_constant(name) and graph.shape(name) == (0,)
