"""What published kernels take beside their products, block by block, and why ours differ.

Figures of kernels of integers and of bfloat16 on npu1 in arXiv:2512.13282 are whole percents of a
core's rate, to a tenth: what they leave open is told with them. Beside our kernel stands one in
program order: it stores all results of a block, then loads what memory holds of the next one, as
compilers must where they cannot tell results from results (llvm-aie, aie2ps/end-to-end: loads
"strictly followed the stores"). Its cycles are latencies and stages of the facts alone.
"""

from __future__ import annotations

from rows import figure
from xdna_gemm import Gemm, kernel

from match_aie.targets.aie_ml.devices import Architecture, pair_name
from match_aie.targets.aie_ml.known import device as known_device
from match_aie.targets.aie_ml.schedule import Kernel, schedule_call
from match_aie.targets.aie_ml.schedule.machine import machine
from match_aie.targets.aie_ml.schedule.operations import block_operations

#: Stage in which loads read memory (note of `vector_load_to_use` in the facts).
LOADED = 5


def in_order(one: Kernel, arch: Architecture) -> int:
    """Cycles from block to block beside the products, where loads follow all stores.

    A store rounds as well (`VST.SRS`), a load widens (`VLDA.UPS`), so that either takes one slot.
    Products read their accumulator late: in the cycle that the distance of two of them says.
    """
    core, block = machine(arch), block_operations(one, machine(arch))
    product, distance = core.product, core.product_distance + 1  # forwarded to the next one
    if one.floating:
        product, distance = core.float_product, core.float_distance
    many, now = len(block.sums), -len(block.sums)
    for at, chain in enumerate(block.finish):
        for _ in (op for op in chain if op.kind.startswith("store")):
            now = max(now + 1, at + 1 - many + product)
    rounds = any(op.kind == "srs" for chain in block.finish for op in chain)
    stored = arch.latency("vst_srs_memory_stage" if rounds else "vst_memory_stage")
    now += stored - LOADED
    begun = 0
    for name in block.sums:
        for op in (op for op in block.start if op.writes == name):
            now += 1
            begun = max(begun, now + op.latency - (product - distance))
        begun += 1
    return begun - 1 - many


def percent(gemm: Gemm, published: float) -> int | None:
    """The whole percent of the core's rate that a figure is to a tenth; None if it is none.

    Args:
        gemm: the kernel's types.
        published: multiply-accumulates a cycle.
    """
    rate = known_device(gemm.device).architecture.core.macs[pair_name(gemm.a, gemm.a)]
    if rate is None:
        return None
    found = round(100 * published / rate)
    return found if abs(found * rate / 100 - published) <= 0.1 else None


def kernel_rows(gemm: Gemm, published: float) -> list[dict[str, object]]:
    """Beside the products of a block: cycles published, ours, and those in program order."""
    arch = known_device(gemm.device).architecture
    one = kernel(gemm.a, gemm.out, known_device(gemm.device))
    call = schedule_call(one, arch, *gemm.block)
    (part,) = call.parts
    name = f"{gemm.device}_kernel_{'x'.join(map(str, gemm.block))}_{gemm.a}_{gemm.out}"

    def beside(cycles: float) -> float:
        return (cycles - call.ideal) / call.blocks

    whole = percent(gemm, published)
    note = "no whole percent of the core's rate"
    if whole is not None:
        low, high = (beside(100 * call.ideal / (whole + half)) for half in (0.5, -0.5))
        note = f"{low:.1f} to {high:.1f}: {whole} % of the core's rate, a whole number"
    taken = beside(call.macs / published)
    found = [figure(name, "published_cycles_beside", taken, "cycles", "published", note)]
    note = "a block's share of what a call takes beside its products"
    found.append(figure(name, "cycles_beside", beside(call.cycles), "cycles", "modelled", note))
    ordered = call.cycles + call.blocks * (in_order(one, arch) - part.schedule.gap)
    rate = call.macs / ordered
    note = f"{100 * (rate / published - 1):+.1f} %; {beside(ordered):.1f} cycles a block"
    found.append(figure(name, "macs_per_cycle_in_order", rate, "MAC/cycle", "modelled", note))
    return found
