"""Does the chip compute what numpy computes?"""

from match_aie.testing import check_target

from ${package} import ${cls}


def test_every_layer_of_the_zoo_is_right() -> None:
    check_target(${cls}()).require()
