import pytest

from match_aie.codegen.flags import checked
from match_aie.errors import TargetError


def test_plain_flags_pass_in_order():
    assert checked(["-O3", "-march=native"]) == ("-O3", "-march=native")


@pytest.mark.parametrize(
    "flag",
    ["-ffast-math", "-Ofast", "-ffp-contract=fast", "-ffp-contract=on", "-fstrict-aliasing"],
)
def test_flags_that_change_results_are_refused(flag):
    with pytest.raises(TargetError, match="change the results"):
        checked(["-O3", flag])


@pytest.mark.parametrize("flag", ["-O3; rm", "$(id)", "-DX='a b'", "x.c", ""])
def test_what_is_no_plain_flag_is_refused(flag):
    with pytest.raises(TargetError, match="plain"):
        checked([flag])
