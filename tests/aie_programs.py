"""Programs of layers on the array with their tensors, for tests that execute them."""

from dataclasses import dataclass, replace

import numpy as np

from match_aie.errors import Infeasible, TargetError
from match_aie.targets.aie_ml import device
from match_aie.targets.aie_ml.array.layout import lay_out
from match_aie.targets.aie_ml.execute import execute
from match_aie.targets.aie_ml.graph.cut_plan import cut_plans
from match_aie.targets.aie_ml.kernels.arithmetic import in_fixed_point
from match_aie.targets.versal.executing import prove
from match_aie.workload import reference
from tests.aie_layers import constants_of, random_inputs, random_layer, random_product

VEK280 = device("vek280")


@dataclass(frozen=True, eq=False)
class Case:
    """A layer's graph and program, its inputs, and what its reference makes of them."""

    graph: object
    program: object
    inputs: dict
    wanted: np.ndarray


def case(graph, workload, constants, rng, column=4, array=VEK280):
    """The case of a layer's graph."""
    inputs = random_inputs(workload, rng)
    wanted = reference(workload, [inputs[o.name] for o in workload.inputs], constants)
    program = lay_out(graph, array, column)
    assert not isinstance(program, Infeasible), program
    return Case(graph, program, inputs, wanted)


def image_case(kind, seed):
    """A random image layer on up to three columns; None where it has no plan."""
    rng = np.random.default_rng(seed)
    workload = random_layer(rng, kind)
    if workload is None:
        return None
    fixed = in_fixed_point(workload, constants_of(workload, rng))
    if isinstance(fixed, str):
        return None
    try:
        plans = cut_plans(fixed.workload, "vek280", 3)
    except TargetError:
        return None
    if isinstance(plans, Infeasible):
        return None
    graph = plans[-1].graph("layer", fixed.workload, fixed.constants)
    return case(graph, fixed.workload, fixed.constants, rng, 7)


def product_case(seed):
    """A random product of two activations, on as many columns as it takes."""
    workload, constants = random_product(seed)
    plans = cut_plans(workload, "vek280", 4)
    assert not isinstance(plans, Infeasible)
    graph = plans[-1].graph("layer", workload, constants)
    return case(graph, workload, constants, np.random.default_rng(seed))


def laid_out(kind, seed):
    """The program of a random image layer."""
    made = image_case(kind, seed)
    assert made is not None
    return made.program


def equal(made, **options):
    """Execute a case twice in a row and compare it with its reference; what came out."""
    other = {name: np.flip(values) for name, values in made.inputs.items()}
    done = execute(made.program, device(made.program.device), [other, made.inputs], **options)
    np.testing.assert_array_equal(done.tensor(made.wanted, run=1), made.wanted)
    return done


def edited(program, field, which, **changes):
    """A program with the first item of `field` that `which` accepts changed."""
    items = list(getattr(program, field))
    at = next(i for i, item in enumerate(items) if which(item))
    items[at] = replace(items[at], **changes)
    return replace(program, **{field: tuple(items)})


def network_equals(net, rng):
    """Execute all graphs of a compiled network; how many results were equal to their references."""
    mine = [layer for layer in net.program.schedule.chosen if layer.module == "array"]
    return prove(mine, "vek280", rng)
