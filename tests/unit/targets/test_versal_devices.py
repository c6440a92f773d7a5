"""Which devices the Versal target takes."""

import pytest

from match_aie.errors import TargetError
from match_aie.targets.aie_ml.known import devices
from match_aie.targets.versal import VersalAIEML


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("npu1", r"npu1 is no Versal device: its array \(XDNA1\)"),
        ("npu2", r"npu2 is no Versal device: its array \(XDNA2\)"),
        ("vck190", "vck190 has no memory tiles"),
        ("vek385", "the number of DMA channels from memory of vek385 is not known"),
        ("vek999", "no AI Engine device 'vek999'"),
    ],
)
def test_other_devices_are_refused_by_name(name, why):
    with pytest.raises(TargetError, match=why):
        VersalAIEML(name)


def test_no_other_device_is_taken():
    taken = []
    for name in devices():
        try:
            VersalAIEML(name)
        except TargetError:
            continue
        taken.append(name)
    assert taken == ["vek280"]
