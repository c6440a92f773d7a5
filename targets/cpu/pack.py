"""Constants of products in the order in which the kernels read them."""

from __future__ import annotations

import numpy as np

from match_aie.hardware import Constants
from match_aie.targets.cpu.form import Form, Shape, form, shape, stored_zero
from match_aie.targets.cpu.machine import Machine
from match_aie.targets.cpu.product import panels
from match_aie.targets.cpu.sums import pack_sums, sum_kernels
from match_aie.workload import Workload


def pack_product(
    machine: Machine, workload: Workload, vectors: int, constants: Constants
) -> Constants:
    """Weights by panel, step and lane; bias and scale for every lane; all flat.

    Weights lie as [group][panel][step / g][column][g] with g products that a lane sums at once
    (`Form.group`), columns padded to whole vectors and runs to whole steps with zeros. The bias
    takes up what the sums are too high by, modulo 2^32. Scales are one per channel.

    Args:
        machine: with its vectors.
        workload: the layer.
        vectors: of a panel.
        constants: by operand.
    """
    made, product = form(machine, workload), shape(workload)
    packed = dict(constants)
    columns = _columns(product, vectors, machine.lanes)
    if "weight" in constants:
        weight = _padded_runs(constants["weight"], product, made)
        packed["weight"] = _panels(weight, product, made, vectors, machine.lanes)
        total = weight.astype(np.int64).sum(axis=2).reshape(-1)
        bias = constants["bias"].astype(np.int64) - stored_zero(machine, workload) * total
        packed["bias"] = _spread(bias.astype(np.uint32).view(np.int32), product, columns)
    if "scale" in constants and workload.kind != "matmul":
        scale = np.broadcast_to(constants["scale"], (product.groups * product.outputs,))
        packed["scale"] = _spread(scale, product, columns)
    return pack_sums(sum_kernels(machine, workload), columns, product.groups, packed)


def _columns(product: Shape, vectors: int, lanes: int) -> int:
    whole, _, last = panels(product.outputs, vectors, lanes)
    return lanes * (whole * vectors + (last.vectors if last else 0))


def _spread(values: np.ndarray, product: Shape, columns: int) -> np.ndarray:
    """[group * channel] as [group, columns], zeros behind."""
    by_group = values.reshape(product.groups, product.outputs)
    padded = np.zeros((product.groups, columns), values.dtype)
    padded[:, : product.outputs] = by_group
    return padded.reshape(-1)


def _padded_runs(weight: np.ndarray, product: Shape, made: Form) -> np.ndarray:
    """Weights as [group, channel, steps], every run padded with zeros to whole groups."""
    runs = product.taps[0] * product.runs
    lined = weight.reshape(product.groups, product.outputs, runs, product.run)
    more = product.padded_run(made.group) - product.run
    padded = np.pad(lined, ((0, 0), (0, 0), (0, 0), (0, more)))
    return padded.reshape(product.groups, product.outputs, -1)


def _panels(weight: np.ndarray, product: Shape, made: Form, vectors: int, lanes: int) -> np.ndarray:
    groups, outputs, steps = weight.shape
    wide = vectors * lanes
    pieces = []
    for group in range(groups):
        for first in range(0, outputs, wide):
            panel = weight[group, first : first + wide]
            columns = -(-len(panel) // lanes) * lanes
            panel = np.pad(panel, ((0, columns - len(panel)), (0, 0)))
            by_step = panel.reshape(columns, steps // made.group, made.group)
            pieces.append(by_step.transpose(1, 0, 2).reshape(-1))
    return np.ascontiguousarray(np.concatenate(pieces))
