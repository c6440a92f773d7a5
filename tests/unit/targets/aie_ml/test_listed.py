"""The list scheduler: chains, sums, what is loaded, sides of memory, and registers."""

from match_aie.targets.aie_ml.schedule.listed import Code, Node, Pipeline

CORE = Pipeline(load=7, product=7, sum=2, store=6, registers=8)


def test_a_chain_waits_for_every_result():
    """The first operand is there after a load; the last result after its instruction."""
    code = Code()
    value = code.product(loads=("far",))
    for _ in range(3):
        value = code.product(value, value)
    assert code.listed(CORE).cycles == 7 + 4 * 7


def test_sums_keep_a_distance():
    """Ten products on one sum issue every other cycle; on two sums one a cycle."""
    for sums, last in ((1, 18), (2, 19)):
        code = Code()
        made = [code.product(loads=("far", "near")) for _ in range(sums)]
        for _ in range(9):
            made = [code.product(adds=each, loads=("near",)) for each in made]
        assert code.listed(CORE).cycles == 7 + last + 7


def test_a_side_takes_one_access_a_cycle():
    """Two operands of the same side are loaded in two cycles, of both sides in one."""
    together, alone = Code(), Code()
    for _ in range(20):
        together.product(loads=("far", "near"))
        alone.product(loads=("far", "far"))
    assert together.listed(CORE).cycles == 7 + 20 - 1 + 7
    assert alone.listed(CORE).cycles >= 2 * 20 - 1 + 7


def test_a_value_from_memory_waits_for_its_store():
    code = Code()
    kept = code.store(code.product(loads=("far",)), "far")
    code.product(loads=("far",), after=kept)
    assert code.listed(CORE).cycles == 7 + 7 + 6 + 7 + 7


def test_more_values_than_registers_have_no_schedule():
    """Nine values that one instruction reads; eight have a schedule."""
    for many in (8, 9):
        code = Code()
        values = [code.product(loads=("far",)) for _ in range(many)]
        code.put(Node("product", tuple(values)))
        listed = code.listed(CORE)
        assert (listed is None) == (many == 9)
        assert listed is None or listed.taken == 8


def test_what_is_behind_issues_later():
    code = Code()
    first = code.product(loads=("far",))
    code.put(Node("product", (), None, ("far",), (), (first,)))
    listed = code.listed(CORE)
    assert listed.cycles == 7 + 1 + 7
    assert listed.kinds == {"product": 2}


def test_a_sum_keeps_its_register():
    """A product goes where the sum was that it is added to; beside them is what was loaded."""
    for sums, taken in ((1, 2), (2, 3)):
        code = Code()
        made = [code.product(loads=("far", "near")) for _ in range(sums)]
        for _ in range(9):
            made = [code.product(adds=each, loads=("near",)) for each in made]
        assert code.listed(CORE).taken == taken


def test_what_is_loaded_takes_a_register():
    """Six values that are read last of all leave room for a chain and an operand, seven do not."""
    for many in (6, 7):
        code = Code()
        values = [code.product(loads=("far",)) for _ in range(many)]
        late = values[0]
        for _ in range(4):
            late = code.product(late, loads=("near",))
        code.put(Node("product", (*values, late)))
        listed = code.listed(CORE)
        assert (listed is None) == (many == 7)
        assert listed is None or listed.taken == 8
