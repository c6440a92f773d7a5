"""The cheapest cover equals a brute force over all covers, whichever way it is found."""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from match_aie.errors import OptionError, TargetError
from match_aie.hardware import (
    CORE,
    Any,
    ChipCosts,
    Concurrent,
    Cost,
    Energy,
    ExecModule,
    Figure,
    Mapping,
    MatchTarget,
    Memory,
    Move,
    Op,
    Operation,
    Pattern,
    Priced,
    TensorType,
)
from match_aie.hardware.graph import Graph, Node, Value
from match_aie.partition import solve as solving
from match_aie.partition.candidates import Candidate
from match_aie.partition.cover import problem
from match_aie.partition.match import Match
from match_aie.partition.pricing import Pricing, audit
from match_aie.partition.select import Option, select
from match_aie.partition.solve import cost_of, solve, sweep

PATTERN = Pattern("p", "dense", Op("solid", Any("x")))


class Module(ExecModule, Concurrent, Priced):
    def __init__(self, name: str, unit: str = "", frequency: float | None = None):
        self.name = name
        self.unit = unit
        self.frequency = frequency

    def patterns(self):
        return [PATTERN]

    def spatial(self, workload):
        return ()

    def cost_model(self, workload):
        raise NotImplementedError

    def template(self, workload):
        return "none"


class Target(MatchTarget, ChipCosts):
    """Operators say themselves what they cost; a move costs the same between any two units."""

    name = "T"

    def __init__(self, modules: Sequence[ExecModule] = (), move: float = 0.0):
        self.units = modules
        self.synchronisation = move

    def modules(self):
        return self.units

    def fallback_cost(self, operation: Operation) -> float:
        price = operation.attributes["price"]
        assert isinstance(price, int | float)
        return float(price)


def graph_of(rows: Sequence[tuple[str, Sequence[str], float]], outputs: Sequence[str]) -> Graph:
    """Node i is (operator, arguments, price) and gives "v<i>"; "in" is the input, "c" constant."""
    values = {"in": Value("in", "int8", (4,)), "c": Value("c", "int8", (4,), object())}
    nodes = []
    for index, (operator, arguments, price) in enumerate(rows):
        values[f"v{index}"] = Value(f"v{index}", "int8", (4,))
        nodes.append(Node(index, operator, tuple(arguments), {"price": price}, f"v{index}"))
    return Graph(tuple(nodes), values, tuple(outputs))


def option(module: ExecModule, nodes: Sequence[int], cycles: float) -> Option:
    match = Match(nodes[0], tuple(nodes), {})
    candidate = Candidate(module, PATTERN, match, f"v{nodes[0]}", None)
    return Option(candidate, Mapping((), ()), Cost(cycles))


def closed(graph: Graph, root: int, nodes: set[int]) -> bool:
    return all(
        graph.nodes[i].operator == "dequantize" or nodes.issuperset(graph.users[f"v{i}"])
        for i in nodes - {root}
    )


@st.composite
def cases(draw) -> tuple[Graph, Target, list[Option]]:
    """A small graph, modules on two or three units, and overlapping options."""
    count = draw(st.integers(1, 7))
    rows = []
    for index in range(count):
        names = ["in", "c", *(f"v{i}" for i in range(index))]
        arguments = draw(st.lists(st.sampled_from(names), min_size=1, max_size=2))
        operator = draw(st.sampled_from(["solid", "solid", "dequantize"]))
        rows.append((operator, arguments, draw(st.integers(0, 9))))
    outputs = draw(st.lists(st.sampled_from([f"v{i}" for i in range(count)]), max_size=2))
    graph = graph_of(rows, [f"v{count - 1}", *outputs])
    modules = [Module("m0", CORE), Module("m1"), Module("m2", draw(st.sampled_from(["", "m1"])))]
    target = Target(modules, draw(st.sampled_from([0, 0, 1, 5])))
    options = []
    for _ in range(draw(st.integers(0, 7))):
        root = draw(st.integers(0, count - 1))
        above = [i for i in range(root) if draw(st.booleans())]
        nodes = reachable(graph, root, set(above))
        if closed(graph, root, nodes):
            listed = [root, *sorted(nodes - {root})]
            module = draw(st.sampled_from(modules))
            options.append(option(module, listed, draw(st.integers(0, 12))))
    return graph, target, options


def reachable(graph: Graph, root: int, allowed: set[int]) -> set[int]:
    """`root` and those of `allowed` that lead to it within them."""
    found = {root}
    for index in sorted(allowed, reverse=True):
        if found & set(graph.users[f"v{index}"]):
            found.add(index)
    return found


def naive_cost(graph: Graph, target: Target, chosen: Sequence[Option]) -> float | None:
    """What a cover costs, by growing the set of what must run until it is stable.

    None where two options own one operator.
    """
    constants = {"c"}
    for node in graph.nodes:
        if set(node.inputs()) <= constants:
            constants.add(node.output)
    held: dict[int, Option] = {}
    for o in chosen:
        for i in o.candidate.match.nodes:
            if i == o.candidate.match.root or graph.nodes[i].operator != "dequantize":
                if i in held:
                    return None
                held[i] = o
    reads = set()
    for o in chosen:
        inside = {f"v{i}" for i in o.candidate.match.nodes}
        for i in o.candidate.match.nodes:
            module = o.candidate.module
            reads |= {(name, module.unit or module.name, module.name)
                      for name in graph.nodes[i].inputs() if name not in inside}  # fmt: skip
    reads |= {(name, CORE, "") for name in graph.outputs}
    left: set[int] = set()
    while True:
        wanted = {name for name, _, _ in reads}
        more = {
            n.index
            for n in graph.nodes
            if n.index not in held and n.output not in constants
            if n.operator != "dequantize" or n.output in wanted
        }
        reads |= {(name, CORE, "") for i in more for name in graph.nodes[i].inputs()}
        if more == left:
            break
        left = more
    moves = 0.0
    for name, reader, _ in reads:
        if name in constants:
            continue
        maker = held.get(int(name[1:])) if name != "in" else None
        writer = (
            CORE if maker is None else maker.candidate.module.unit or maker.candidate.module.name
        )
        moves += target.synchronisation if writer != reader else 0.0
    prices = (graph.nodes[i].attributes["price"] for i in left)
    return sum(prices) + moves + sum(o.cost.cycles for o in chosen)


def brute_force(graph: Graph, target: Target, options: Sequence[Option]) -> float:
    """The least cost over all subsets."""
    return min(cost for cost in costs(graph, target, options) if cost is not None)


def costs(graph: Graph, target: Target, options: Sequence[Option]) -> Iterator[float | None]:
    for size in range(len(options) + 1):
        for chosen in combinations(options, size):
            yield naive_cost(graph, target, chosen)


@settings(max_examples=300)
@given(cases())
def test_the_cheapest_cover_equals_brute_force(case):
    graph, target, options = case
    best = select(graph, options, target)
    assert best.proven
    assert best.cost.total == brute_force(graph, target, options)
    assert naive_cost(graph, target, best.chosen) == best.cost.total


def thrifty(target: Target) -> None:
    """A core that takes 2 pJ a cycle; modules are charged nothing here."""
    figure = Figure(2.0, 1.0, 4.0, "made up")
    target.energy = Energy(figure, {}, figure, figure)


@settings(max_examples=150)
@given(cases(), st.lists(st.integers(0, 40), min_size=7, max_size=7))
def test_the_thriftiest_cover_equals_brute_force(case, picojoules):
    """Energy is no multiple of cycles: the options have their own, the core 2 pJ a cycle."""
    graph, target, options = case
    thrifty(target)
    own = [replace(o.cost, picojoules=float(p)) for o, p in zip(options, picojoules, strict=False)]
    options = [replace(o, cost=cost) for o, cost in zip(options, own, strict=True)]
    # As cycles what is really energy, so that the walk of the other tests can be used.
    charged = [replace(o, cost=Cost(o.cost.picojoules / 2.0)) for o in options]
    best = select(graph, options, target, objective="energy")
    assert best.proven
    assert best.energy.total == 2.0 * brute_force(graph, target, charged)
    fast, both = (select(graph, options, target, objective=o) for o in ("latency", "edp"))
    assert best.energy.total <= min(fast.energy.total, both.energy.total)
    products = [found.cost.total * found.energy.total for found in (fast, best, both)]
    assert products[2] == min(products)


def test_energy_needs_figures():
    graph = graph_of([("solid", ["in"], 3)], ["v0"])
    with pytest.raises(OptionError, match="'energy' needs energy, and target 'T' states none"):
        select(graph, [], Target(), objective="energy")
    assert select(graph, [], Target()).energy is None


@settings(max_examples=60)
@given(cases())
def test_the_solver_finds_what_enumeration_finds(case):
    graph, target, options = case
    pricing = Pricing(graph, target)
    task = problem(pricing, options)
    enumerated = solve(task, ())
    searched = solve(task, (), few=0)
    assert searched.proven
    assert searched.units == enumerated.units
    ranks = [sum(task.ranks[c - 1] for c in s.chosen) for s in (enumerated, searched)]
    assert ranks[0] == ranks[1]


@settings(max_examples=200)
@given(cases())
def test_the_cheapest_cover_never_costs_more_than_matchs_rule(case):
    graph, target, options = case
    best, rule = (select(graph, options, target, rule=r) for r in ("cheapest", "match"))
    assert best.cost.total <= rule.cost.total
    assert best.match_cost == rule.cost == rule.match_cost
    assert naive_cost(graph, target, rule.chosen) == rule.cost.total


@settings(max_examples=200)
@given(cases())
def test_every_cover_is_sound(case):
    """No operator twice, and a repeatable one alone only where something reads it outside."""
    graph, target, options = case
    for rule in ("cheapest", "match"):
        chosen = select(graph, options, target, rule=rule).chosen
        assert naive_cost(graph, target, chosen) is not None
        for o in chosen if rule == "cheapest" else ():
            root = o.candidate.match.root
            if all(graph.nodes[i].operator == "dequantize" for i in o.candidate.match.nodes):
                rest = [other for other in chosen if other is not o]
                assert f"v{root}" in needed(graph, target, rest)


def needed(graph: Graph, target: Target, chosen: Sequence[Option]) -> set[str]:
    from match_aie.partition.pricing import leftover

    return set(leftover(Pricing(graph, target), chosen).readers)


def chain(length: int, move: float) -> tuple[Graph, Target, list[Option]]:
    """Two accelerators take turns at being the cheaper one, and moves tie everything together."""
    rows = [("solid", [f"v{i - 1}" if i else "in"], 40.0) for i in range(length)]
    modules = [Module("even"), Module("odd")]
    options = [
        option(module, [i], 10.0 if i % 2 == side else 13.0 + i % 3)
        for i in range(length)
        for side, module in enumerate(modules)
    ]
    return graph_of(rows, [f"v{length - 1}"]), Target(modules, move), options


def best_chain(length: int, move: float) -> float:
    """The same by dynamic programming over who runs each operator."""
    known = {"core": 0.0}
    for i in range(length):
        price = {"core": 40.0}
        price |= {name: 10.0 if i % 2 == side else 13.0 + i % 3 for side, name in enumerate("eo")}
        known = {
            who: cycles + min(c + (move if before != who else 0.0) for before, c in known.items())
            for who, cycles in price.items()
        }
    return min(c + (move if who != "core" else 0.0) for who, c in known.items())


@pytest.mark.parametrize("move", [0.0, 1.0, 2.0, 3.0, 100.0])
def test_a_long_chain_equals_dynamic_programming(move):
    best = select(*permuted(chain(60, move)))
    assert best.proven
    assert best.cost.total == best_chain(60, move)


def permuted(case: tuple[Graph, Target, list[Option]]) -> tuple[Graph, list[Option], Target]:
    graph, target, options = case
    return graph, options, target


@pytest.mark.parametrize("move", [0.0, 2.0, 100.0])
def test_the_solver_proves_a_long_chain(move):
    graph, target, options = chain(60, move)
    task = problem(Pricing(graph, target), options)
    searched = solve(task, (), few=0)
    assert searched.proven
    assert searched.units == task.unit(best_chain(60, move))


def wide(count: int) -> tuple[Graph, Target, list[Option]]:
    """Branches that meet at the end only: the frontier holds a choice of every one of them."""
    rows = [("solid", ["in"], 20.0) for _ in range(count)]
    rows.append(("solid", [f"v{i}" for i in range(count)], 30.0))
    modules = [Module("even"), Module("odd")]
    options = [
        option(module, [i], 4.0 + (3 * i + 2 * side) % 5)
        for i in range(count + 1)
        for side, module in enumerate(modules)
    ]
    return graph_of(rows, [f"v{count}"]), Target(modules, 3.0), options


def test_a_wide_graph_goes_to_the_solver():
    graph, target, options = wide(6)
    task = problem(Pricing(graph, target), options)
    assert sweep(task, 100) is None
    assert solve(task, (), few=100).units == solve(task, (), few=1000).units


def test_where_time_runs_out_the_cover_is_as_good_as_the_hint(monkeypatch):
    graph, target, options = chain(40, 2.0)
    task = problem(Pricing(graph, target), options)
    monkeypatch.setattr(solving, "LIMIT", 0.0)
    hint = [o for o in range(1, len(options) + 1) if o % 2]
    rushed, best = solve(task, hint, few=0), solve(task, hint)
    assert best.units <= rushed.units <= cost_of(task, hint)
    assert rushed.bound <= best.units


@pytest.mark.slow
def test_the_same_cover_in_every_process():
    script = (
        "from tests.unit.partition.test_select import chain, permuted, select\n"
        "for move in (0.0, 1.0, 2.5):\n"
        "    chosen = select(*permuted(chain(24, move))).chosen\n"
        "    print([(o.candidate.match.root, o.candidate.module.name) for o in chosen])\n"
    )
    root = Path(__file__).resolve().parents[3]
    texts = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(root)},
            capture_output=True,
            text=True,
            check=True,
            cwd=root,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(texts) == 1
    assert "even" in texts.pop()


def test_matchs_rule_is_beaten_where_a_short_pattern_is_cheaper():
    graph = graph_of([("solid", ["in"], 50.0), ("solid", ["v0"], 2.0)], ["v1"])
    module = Module("unit")
    options = [option(module, [1, 0], 30.0), option(module, [0], 10.0)]
    best = select(graph, options, Target([module]))
    assert [o.candidate.match.root for o in best.chosen] == [0]
    assert (best.cost.layers, best.cost.fallback) == (10.0, 2.0)
    assert best.match_cost.total == 30.0


def test_a_faster_module_is_left_alone_where_moves_cost_more():
    graph = graph_of([("solid", ["in"], 50.0), ("solid", ["v0"], 50.0)], ["v1"])
    core, fast = Module("cpu", CORE), Module("fast")
    options = [option(m, [i], c) for i in (0, 1) for m, c in ((core, 10.0), (fast, 4.0))]
    for move, names in ((5.0, ["fast", "fast"]), (7.0, ["cpu", "cpu"])):
        best = select(graph, options, Target([core, fast], move))
        assert [o.candidate.module.name for o in best.chosen] == names
    assert select(graph, options, Target([core, fast], 5.0)).cost.moves == 10.0


def test_equal_costs_go_to_the_first_module():
    graph = graph_of([("solid", ["in"], 50.0)], ["v0"])
    modules = [Module("first"), Module("second")]
    options = [option(m, [0], 4.0) for m in modules]
    (only,) = select(graph, options, Target(modules)).chosen
    assert only.candidate.module.name == "first"


def test_clocks_are_brought_to_one_unit():
    graph = graph_of([("solid", ["in"], 50.0)], ["v0"])
    slow, fast = Module("slow"), Module("fast", frequency=400e6)
    target = Target([slow, fast])
    options = [option(slow, [0], 10.0), option(fast, [0], 30.0)]
    with pytest.raises(TargetError, match="frequency"):
        select(graph, options, target)
    target.frequency = 100e6
    best = select(graph, options, target)
    assert [o.candidate.module.name for o in best.chosen] == ["fast"]
    assert best.cost.layers == 7.5


@pytest.mark.parametrize("cycles", [-1.0, float("nan"), float("inf")])
def test_costs_that_are_none_are_refused(cycles):
    graph = graph_of([("solid", ["in"], cycles)], ["v0"])
    with pytest.raises(TargetError, match="fallback_cost"):
        select(graph, [], Target())


def test_huge_costs_are_still_told_apart():
    graph = graph_of([("solid", ["in"], 3e17)], ["v0"])
    module = Module("unit")
    options = [option(module, [0], 2e17), option(module, [0], 1e17)]
    best = select(graph, options, Target([module]))
    assert best.cost.total == 1e17


def test_an_unknown_rule_is_refused():
    with pytest.raises(OptionError, match="selection"):
        select(graph_of([("solid", ["in"], 1.0)], ["v0"]), [], Target(), rule="best")


def test_constant_operators_cost_nothing():
    graph = graph_of([("solid", ["c"], 9.0), ("solid", ["v0", "in"], 5.0)], ["v1"])
    assert audit(Pricing(graph, Target()), []).total == 5.0


def test_bytes_are_charged_between_memories_of_different_names():
    class Near(Module):
        memories = (Memory("A", None, 8.0),)

    class Far(Module):
        memories = (Memory("B", None, 2.0),)

    target = MatchTargetOf([Near("near"), Far("far")])
    near, far = target.modules()
    tensor = TensorType("int16", (4, 8))
    assert target.move_cost(Move(tensor, near, far)) == target.synchronisation + 32.0
    assert target.move_cost(Move(tensor, near, None)) == target.synchronisation
    assert target.move_cost(Move(tensor, near, near)) == 0.0


def test_what_starts_a_layer_counts_among_layers_and_decides():
    """Cycles as before: the cover is the same sum, whoever it is added to."""

    class Starting(Target):
        def start_cost(self, move):
            return 4.0 if move.destination is not None else 0.0

    graph = graph_of([("solid", ["in"], 12.0)], ["v0"])
    module = Module("unit")
    plain, started = Target([module]), Starting([module])
    options = [option(module, [0], 5.0)]
    before, cost = select(graph, options, plain).cost, select(graph, options, started).cost
    assert (cost.layers, cost.moves) == (before.layers + 4.0, before.moves)
    dear = [option(module, [0], 12.0 - before.moves - 3.0)]
    assert select(graph, dear, plain).chosen
    assert not select(graph, dear, started).chosen


class MatchTargetOf(MatchTarget, ChipCosts):
    name = "plain"

    def __init__(self, modules: Sequence[ExecModule]):
        self.units = modules

    def modules(self):
        return self.units
