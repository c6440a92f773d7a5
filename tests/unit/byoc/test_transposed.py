"""A transposed convolution that no module takes stays with TVM in the form that TVM lowers."""

from match_aie import byoc, tvm_api
from match_aie.frontend import load
from match_aie.targets.cpu import CPU
from tests.transposed import upsampling


def test_it_is_channel_first_in_what_stays_with_tvm():
    module = byoc.partition(load(upsampling()).module, CPU("portable"), cache=False)
    calls = [value for _, value in tvm_api.bindings(module["main"])]
    found = [c for c in calls if tvm_api.operator_name(c) == "nn.conv2d_transpose"]
    assert [str(call.attrs.data_layout) for call in found] == ["NCHW"]
