"""Bombs and mutations, each in a process of its own: compiled or refused, never anything else."""

from itertools import islice

import pytest

from tests.hostile import attempt, bombs, mutations, samples

pytestmark = pytest.mark.slow

#: How many of the bombs are tried here; all of them, and thousands of mutations, by
#: `benchmarks/fuzz.py`.
EVERY = 6
MUTATIONS = 12


def wrong(cases, target="CPU"):
    tried = (attempt(case, target) for case in cases)
    return [(t.name, t.verdict, t.text) for t in tried if t.verdict not in ("passed", "refused")]


@pytest.mark.parametrize("part", range(4))
def test_bombs(part):
    assert wrong(list(bombs(0))[part * EVERY // 4 :: 4 * EVERY]) == []


@pytest.mark.parametrize("name", sorted(samples()))
def test_mutations(name):
    assert wrong(islice(mutations(samples()[name], 1), MUTATIONS)) == []


#: Long networks of each kind that once took more than its time.
CHAINS = """
    chain_relu_neg chain_quantised chain_transpose chain_matmul chain_softmax chain_residual
    chain_add_itself
""".split()


@pytest.mark.parametrize("name", CHAINS)
def test_five_thousand_nodes_compile(name):
    (case,) = (case for case in bombs(0) if case.name == name)
    assert attempt(case).verdict == "passed"
