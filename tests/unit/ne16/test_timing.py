"""Simulated cycles: fitted to half of the measurements, judged by the other half."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from match_aie.targets.gap9.ne16.job import Mode, Ne16Layer, Ne16Tile, tile_registers
from match_aie.targets.gap9.timing.dma import Transfer, transfer_cycles
from match_aie.targets.gap9.timing.ne16 import (
    Latencies,
    Queue,
    Turn,
    decode,
    job_cycles,
    program_cycles,
    run_turns,
    tile_turns,
)
from match_aie.targets.gap9.timing.timed import fit, halves, read_layers, read_transfers
from tests.shared import DATA


@pytest.fixture(scope="module")
def layers():
    return read_layers(DATA / "ne16_cycles.csv")


def errors(layers):
    return [abs(job_cycles(layer.job) / layer.cycles - 1) for layer in layers]


def test_constants_are_the_fit_to_half_of_the_rows(layers):
    fitted, _ = halves(layers)
    assert fit(fitted) == Latencies()


def test_the_other_half(layers):
    _, held_out = halves(layers)
    assert {layer.layer.mode for layer in held_out} == set(Mode)
    found = errors(held_out)
    assert np.mean(found) <= 0.03
    assert max(found) <= 0.08


def test_transfers():
    rows = read_transfers(DATA / "dma_cycles.csv")
    assert len(rows) == 19
    for row in rows:
        assert transfer_cycles(row.transfer, cold=row.cold) == pytest.approx(row.cycles, rel=0.05)


@given(st.integers(1, 4000), st.integers(1, 40), st.sampled_from(["load", "store"]))
def test_longer_transfers_take_longer(line_bytes, lines, direction):
    here = transfer_cycles(Transfer(direction, line_bytes, lines))
    assert transfer_cycles(Transfer(direction, line_bytes + 32, lines)) >= here
    assert transfer_cycles(Transfer(direction, line_bytes, lines + 1)) >= here


def small(stride=1, rows=6):
    layer = Ne16Layer(Mode.CONV3X3, stride)
    return layer, Ne16Tile(rows, 6, 32, (rows - 1) * stride + 3, 5 * stride + 3, 16)


def test_a_job_is_decoded_from_its_registers():
    layer, tile = small()
    ((registers),) = tile_registers(layer, tile)
    job = decode(registers)
    assert (job.rows, job.columns, job.inputs, job.outputs) == (6, 6, 16, 32)
    assert (job.bottom, job.right, job.scale_bits, job.bits) == (0, 0, 16, 8)
    # By hand: four tiles of 25 pixels, 256 weight words, 16 + 4 of scale and bias, 9 stores.
    assert job_cycles(job, Latencies(0, 0, 0, 0)) == 4 * (25 + 256 + 20 + 9)


def test_stride_two_is_a_job_for_four_pixels():
    layer, tile = small(stride=2)
    turns = tile_turns(layer, tile)
    assert len(turns) == 9
    assert turns[0].program == program_cycles() == 578
    assert turns[2].program == 578 * 8 / 26
    by_hand = Latencies().job + Latencies().conv3x3 + 25 + 256 + 20 + 9
    assert turns[4].run == pytest.approx(by_hand)


def test_two_jobs_are_in_flight_at_most():
    slow = [Turn(10.0, 100.0)] * 3
    core, queue = run_turns(slow, 0.0)
    # The third is programmed once the first has ended, at 110.
    assert (core, queue.last) == (120.0, 310.0)
    core, queue = run_turns([Turn(100.0, 10.0)] * 3, 0.0)
    assert (core, queue.last) == (300.0, 310.0)
    assert run_turns([Turn(1.0, 1.0)], 5.0, Queue(50.0, 60.0)) == (51.0, Queue(60.0, 61.0))
