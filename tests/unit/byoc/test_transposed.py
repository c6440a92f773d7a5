"""A transposed convolution that no module takes stays with TVM in the form that TVM lowers."""

from match_aie import byoc, tvm_api
from match_aie.frontend import load
from match_aie.targets.cpu import CPU
from tests.transposed import upsampling


class Kept(CPU):
    """A target without a layer of them that does not ask for convolutions either."""

    transposed = "as_is"


def test_it_is_channel_first_in_what_stays_with_tvm():
    module = byoc.partition(load(upsampling()).module, Kept("portable"), cache=False)
    calls = [value for _, value in tvm_api.bindings(module["main"])]
    found = [c for c in calls if tvm_api.operator_name(c) == "nn.conv2d_transpose"]
    assert [str(call.attrs.data_layout) for call in found] == ["NCHW"]


def test_as_a_convolution_a_module_takes_it():
    module = byoc.partition(load(upsampling()).module, CPU("portable"), cache=False)
    calls = [value for _, value in tvm_api.bindings(module["main"])]
    assert not any(tvm_api.operator_name(c) == "nn.conv2d_transpose" for c in calls)
