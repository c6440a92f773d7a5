"""Checks of emitted projects whose steps run on NE16 and the cluster at the same time."""

import re

import numpy as np
from pmsis_project import STAND_IN, build, build_emulated, run

#: How kernels of the other lane may run: as soon as they are forked, cores in reverse; traced.
FLAGS = ("-DMA_FORK_EARLY", "-DMA_REVERSE_CORES", "-DMA_BESIDE_TRACE")


def pairs_of(net):
    """Steps that run at the same time: two, or more in two lanes."""
    steps = net.program.schedule.steps
    return [steps[one.step : one.end] for one in net.program.schedule.beside]


def lanes_of(net):
    """The lane of every step that runs beside another one, as text, by label."""
    schedule = net.program.schedule
    return {
        schedule.steps[step].label: str(lane)
        for one in schedule.beside
        for step, lane in zip(one.steps, one.lanes, strict=True)
    }


def runs_of(nets, image, folder_of):
    """Of each network, the project's folder and what its run gives.

    `folder_of` makes a folder for a key of `nets`.
    """
    found = {}
    for on, net in nets.items():
        project = net.write(folder_of(on) / "net")
        found[on] = project.folder, project.run(image, quick=True)
    return found


def assert_same_bits(runs):
    """With both engines and with one, and those of the reference."""
    for _, result in runs.values():
        assert result.matches_reference
    for one, other in zip(
        runs[True][1].outputs.values(), runs[False][1].outputs.values(), strict=True
    ):
        np.testing.assert_array_equal(one, other)


def assert_runs_with(flag, net, run_of, image):
    """Whenever kernels run; traced: events in the simulator's order, which are given."""
    folder, result = run_of
    outputs = list(result.outputs.values())
    ran = run(build_emulated(folder, flag), [image], outputs)
    assert ran.status == 0
    for got, want in zip(ran.outputs, outputs, strict=True):
        np.testing.assert_array_equal(got, want)
    if flag != "-DMA_BESIDE_TRACE":
        return []
    lanes = lanes_of(net)
    events = [
        e.name.split(" ", 1) for e in net.simulate().timeline.events if e.category == "beside"
    ]
    in_c = re.findall(r"lane (\d): (\w+)", ran.said)
    assert in_c
    assert [(lanes[label], what) for what, label in events] == in_c
    return in_c


def assert_binding_agrees(run_of, image):
    """The PMSIS binding over its stand-in computes the same."""
    folder, result = run_of
    outputs = list(result.outputs.values())
    ran = run(build(folder, "mocked", STAND_IN), [image], outputs)
    assert (ran.status, ran.said) == (0, "")
    for got, want in zip(ran.outputs, outputs, strict=True):
        np.testing.assert_array_equal(got, want)
