"""AI Engine array: cycles of a layer that memory tiles hand to tiles band by band. Modelled.

All rates are in bytes per cycle of the array's clock, all times in its cycles; whoever calls knows
the hardware. A memory tile hands a tensor on when all of it has come, tiles fetch, compute and
store their bands at the same time, and results leave when all of them are there, but for those that
are handed on at once: the time of a single run is the sum of these stages, the interval between
repeated runs that of the slowest.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Handed:
    """What a group of tiles' memory tile hands on to that of the group before it.

    Attributes:
        bands: that the group's tiles work on, at most.
        size: bytes, those of the groups behind it included.
    """

    bands: int
    size: float


@dataclass(frozen=True, kw_only=True)
class BandWork:
    """What one run of the layer asks of the busiest of its parts.

    Attributes:
        bands: that a tile works on one after the other.
        body: cycles of a band's kernel call.
        around: cycles around such a call: locks, or a start.
        start: cycles of starting a kernel, once a run.
        input_bytes: of a band, on each of a tile's ways in.
        output_bytes: of a band.
        entering: bytes on the busiest way into the array.
        leaving: bytes on the busiest way out.
        handed: results that go from memory tile to memory tile, group by group, the last one
            first.
        skew: cycles by which the last tile of a chain ends later than a slowest tile by itself.
        rate: of a stream inside the array.
        way_rate: of a way in or out, which goes through a DMA of an interface tile.
        descriptor: cycles between two transfers on a channel.
        hops: cycles of a stream's way.
        early: bytes of `leaving` that go while tiles still work: memory tiles hand these on at
            once.
        request: cycles from a request to the chip's memory until it gives a first word, or takes
            a last one; kernels start during the first.
        restart: of `around`, starting a kernel that each call starts anew.
        handing: cycles until a first word that is handed on is in the other memory tile.
    """

    bands: int
    rate: float
    way_rate: float
    descriptor: float
    body: float = 0.0
    around: float = 0.0
    start: float = 0.0
    input_bytes: float = 0.0
    output_bytes: float = 0.0
    entering: float = 0.0
    leaving: float = 0.0
    handed: tuple[Handed, ...] = ()
    skew: float = 0.0
    hops: float = 0.0
    early: float = 0.0
    request: float = 0.0
    restart: float = 0.0
    handing: float = 0.0


@dataclass(frozen=True)
class BandCost:
    """Modelled cycles.

    Attributes:
        latency: of a single run, first word in to last word out.
        gathered: of a single run, until memory tiles have all that cores store.
        interval: between the ends of repeated runs.
        parts: (what, cycles of a run), the largest of which is the interval.
        legs: of `latency`, the way from the chip's memory into the array's, and the way back.
        starting: of `latency` or during the first request, starting the kernels.
        requests: of `latency`, what the chip's memory takes from the requests on until it gives a
            first word, beyond `starting`, and until it takes a last one.
    """

    latency: float
    gathered: float
    interval: float
    parts: tuple[tuple[str, float], ...]
    legs: tuple[float, float]
    starting: float
    requests: tuple[float, float] = (0.0, 0.0)

    @property
    def bound(self) -> str:
        """What limits the throughput."""
        return max(self.parts, key=lambda part: part[1])[0]


def requested(request: float, starting: float) -> tuple[float, float]:
    """What both requests add to a run, of a layer whose kernels start during the first."""
    return request - min(starting, request), request


def whole_cost(
    gathered: float,
    parts: tuple[tuple[str, float], ...],
    legs: tuple[float, float],
    starting: float,
    request: float,
) -> BandCost:
    """Of what is in memory tiles after `gathered` cycles and then leaves.

    Args:
        gathered: of a single run, as all that follow, until memory tiles have all results.
        parts: what is busy, and how long.
        legs: the ways in and out.
        starting: the kernels.
        request: from a request to the chip's memory until it gives, or takes.
    """
    asked, interval = requested(request, starting), max(cycles for _, cycles in parts)
    latency = gathered + legs[1] + sum(asked)
    return BandCost(latency, gathered, interval, parts, legs, starting, asked)


def band_cost(work: BandWork) -> BandCost:
    """Latency and interval of `work`."""
    call = work.body + work.around
    fetch = work.descriptor + work.input_bytes / work.rate
    store = work.descriptor + work.output_bytes / work.rate
    way_in, way_out = work.entering / work.way_rate, work.leaving / work.way_rate
    parts = (
        ("compute", work.start + work.bands * call),
        ("input streams", work.bands * fetch),
        ("result streams", work.bands * store),
        ("way in", way_in),
        ("way out", way_out),
    )
    slowest = max(call, fetch, store)
    tiles = fetch + call + store + (work.bands - 1) * slowest
    gathered = way_in + tiles + work.start + work.skew + 2 * work.hops
    leaving = way_out - work.early / work.way_rate + 2 * work.hops
    starting = work.start + work.restart
    requests = requested(work.request, starting)
    latency = gathered + _handing(work, slowest) + leaving + sum(requests)
    interval = max(cycles for _, cycles in parts)
    return BandCost(latency, gathered, interval, parts, (way_in, leaving), starting, requests)


def _handing(work: BandWork, slowest: float) -> float:
    """Cycles of handing on after the busiest tiles have stored their last band.

    A group with fewer bands is done earlier. It hands on what it has and what came from the groups
    behind it as soon as both are there.

    Args:
        work: of the layer.
        slowest: cycles from band to band.
    """
    until = float("-inf")
    for group in work.handed:
        stored = (group.bands - work.bands) * slowest
        until = max(stored, until) + work.handing + group.size / work.rate
    return max(until, 0.0)
