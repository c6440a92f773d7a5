"""Does the chip compute what numpy computes, with a large scratchpad and with a small one?"""

import pytest
from match_aie.testing import check_target

from ${package} import ${cls}


@pytest.mark.parametrize("scratchpad", [64 * 1024, 1024])
def test_every_layer_of_the_zoo_is_right(scratchpad: int) -> None:
    check_target(${cls}(scratchpad)).require()
