"""Scalar brute force: every loop nest, every kernel and every cut, by the words of docs/mapping.md.

Written apart from the search. Loops are run, not multiplied out: the tiles that a nest visits are
listed one by one, and each transfer is priced by itself.
"""

import itertools
import math
from functools import cache

MODES = ("sum", "max", "pipelined")
OBJECTIVES = ("latency", "energy", "edp")
BYTES = {"uint8": 1, "int8": 1, "int32": 4, "float32": 4}


def candidates(size, unroll, tiles):
    """Tile sizes of a dimension, as the documentation says."""
    unroll = min(unroll, size)
    step = max(d for d in range(1, unroll + 1) if size % d == 0)
    found = {step * m for m in range(1, size // step + 1) if size % (step * m) == 0}
    if tiles == "ragged":
        for n in range(1, size + 1):
            least = next(m for m in range(1, size + 1) if m * unroll * n >= size)
            found.add(min(size, least * unroll))
    return found


def nests(choices, sizes, pinned):
    """Every sequence of (dim, step), outermost first; the empty one included."""

    def grow(current):
        yield ()
        for dim, now in current.items():
            if dim in pinned:
                continue
            for step in choices[dim]:
                if step < now and (now % step == 0 or now == sizes[dim]):
                    for rest in grow({**current, dim: step}):
                        yield ((dim, step), *rest)

    return grow(dict(sizes))


def visited(loops, sizes):
    """Tiles that a nest visits, in order: {dim: (start, length)}."""

    def run(at, box):
        if at == len(loops):
            yield dict(box)
            return
        dim, step = loops[at]
        start, length = box[dim]
        for first in range(0, length, step):
            yield from run(at + 1, {**box, dim: (start + first, min(step, length - first))})

    return run(0, {dim: (0, size) for dim, size in sizes.items()})


class Oracle:
    """Brute force for one workload on one test machine."""

    def __init__(self, workload, machine, tiles):
        self.w, self.m = workload, machine
        self.sizes = dict(workload.dims)
        self.memories = machine.memories
        unroll = {dim: 1 for dim in self.sizes}
        for loop in machine.spatial(workload):
            unroll[loop.dim] *= loop.size
        self.choices = {d: candidates(n, unroll[d], tiles) for d, n in self.sizes.items()}
        kept = {dim for axis in workload.output.axes for dim, _ in axis.terms}
        self.reduced = [dim for dim in self.sizes if dim not in kept]
        self.pinned = set(self.reduced) - set(machine.tiled_reductions(workload))
        self.groups, self.whole = self.split()
        self.transfers = cache(self._transfers)
        self.calls = cache(self._calls)

    def split(self):
        """Operands that are cut together, and those that no loop indexes."""
        groups, whole = {}, []
        names = [o.name for o in self.w.operands]
        for o in self.w.operands:
            dims = {dim for axis in o.axes for dim, _ in axis.terms}
            if not dims:
                whole.append(o)
            elif o.constant and "weight" in names:
                groups.setdefault("weight", []).append(o)
            else:
                groups.setdefault(o.name, []).append(o)
        return list(groups.values()), whole

    def way(self, operand):
        return [m for m in self.memories if m.operands is None or operand.name in m.operands]

    def lengths(self, operand, tile):
        found = []
        for axis, size in zip(operand.axes, operand.shape, strict=True):
            span = sum(c * (tile[d] - 1) for d, c in axis.terms) + 1
            limit = size
            if self.m.padded_tiles:
                limit = max(size, sum(c * (self.sizes[d] - 1) for d, c in axis.terms) + 1)
            found.append(min(span, limit))
        return found

    def price(self, operand, tile, above, outer, item, direction):
        """One transfer: (cycles, picojoules)."""
        lengths, full = self.lengths(operand, tile), self.lengths(operand, above)
        if outer is self.memories[-1]:
            full = list(operand.shape)
        count = 1
        for axis in range(len(lengths)):
            if any(lengths[a] < full[a] for a in range(axis + 1, len(lengths))):
                count *= lengths[axis]
        nbytes = math.prod(lengths) * item
        rate = outer.bytes_per_cycle
        if direction == "store" and outer.store_bytes_per_cycle:
            rate = outer.store_bytes_per_cycle
        cycles = outer.transfer_cycles + nbytes / rate + count * outer.chunk_cycles
        return cycles, nbytes * outer.picojoules_per_byte

    def tile(self, loops):
        found = dict(self.sizes)
        for dim, step in loops:
            found[dim] = step
        return found

    def _transfers(self, name, loops, above, outer_name):
        """(cycles, exposed, picojoules) of moving an operand whose tile is cut after `loops`."""
        operand = self.w.operand(name)
        outer = next(m for m in self.memories if m.name == outer_name)
        item, wide = BYTES[operand.dtype], max(4, BYTES[operand.dtype])
        enclosing = self.tile(above)
        cycles = energy = first = 0.0
        done = {}
        for box in visited(loops, self.sizes):
            tile = {dim: length for dim, (_, length) in box.items()}

            def add(direction, size, tile=tile):
                nonlocal cycles, energy
                c, e = self.price(operand, tile, enclosing, outer, size, direction)
                cycles, energy = cycles + c, energy + e
                return c

            if operand is not self.w.output:
                once = add("load", item)
                first = first or once
                continue
            key = tuple(v for dim, v in box.items() if dim not in self.reduced)
            done[key] = done.get(key, 0) + 1
            complete = done[key] == math.prod(
                -(-self.sizes[d] // self.tile(loops)[d]) for d in self.reduced
            )
            if done[key] > 1:
                add("load", wide)
            once = add("store", item if complete else wide)
            if complete and not first:
                first = self.price(operand, self.tile(loops), enclosing, outer, item, "store")[0]
        return cycles, first, energy

    def _calls(self, loops):
        """Cycles and picojoules of all kernel calls."""
        cycles = energy = 0.0
        for box in visited(loops, self.sizes):
            tile = {dim: length for dim, (_, length) in box.items()}
            cycles += float(self.m.model.kernel_cycles(self.w, tile))
            energy += float(self.m.model.kernel_energy(self.w, tile))
        return cycles, energy

    def partial(self, loops):
        return any(dim in self.reduced for dim, _ in loops)

    def placements(self, group, loops):
        """Every way to cut a group: (moves by tier, exposed by tier, picojoules, bytes)."""
        tiers = [m for m in self.way(group[0]) if m is not self.memories[-1]]
        for cuts in itertools.product(range(len(loops) + 1), repeat=len(tiers)):
            if any(a < b for a, b in itertools.pairwise(cuts)):
                continue
            yield from self.placed(group, loops, tiers, cuts)

    def placed(self, group, loops, tiers, cuts):
        moves, exposed, used, energy = {}, {}, {}, 0.0
        for operand in group:
            way = self.way(operand)
            for at, cut in enumerate(cuts):
                above = loops[: cuts[at + 1]] if at + 1 < len(cuts) else ()
                got = self.transfers(operand.name, loops[:cut], above, way[at + 1].name)
                tier = self.tier(way[at])
                moves[tier] = moves.get(tier, 0.0) + got[0]
                exposed[tier] = exposed.get(tier, 0.0) + got[1]
                energy += got[2]
                inner = loops[: cuts[at - 1]] if at else loops
                is_output = operand is self.w.output
                if is_output and self.partial(loops[:cut]) and not self.m.spills:
                    return
                declared = "sums" in (way[0].operands or ())
                wide = is_output and self.partial(inner) and not (declared and at == 0)
                item = max(4, BYTES[operand.dtype]) if wide else BYTES[operand.dtype]
                nbytes = math.prod(self.lengths(operand, self.tile(loops[:cut]))) * item
                memory = way[at]
                nbytes = math.ceil(nbytes / memory.alignment) * memory.alignment
                twice = memory.double_buffered is None or operand.name in memory.double_buffered
                nbytes *= 2 if twice and cut else 1
                used[memory.name] = used.get(memory.name, 0) + nbytes
                if is_output and declared and at == 0 and self.partial(inner):
                    sums = math.prod(self.lengths(operand, self.tile(loops[:cut]))) * 4
                    sums = math.ceil(sums / memory.alignment) * memory.alignment
                    used[memory.name] += sums
        yield moves, exposed, energy, used

    def tier(self, memory):
        """Number of the tier: the two memories of a split level count once."""
        names = [m.name for m in self.memories]
        return names.index(memory.name) - ("LA" in names and memory.name != "LW")

    def best(self):
        """The least value by (mode, objective); empty if nothing fits."""
        least = {}
        for loops in nests(self.choices, self.sizes, self.pinned):
            for terms in self.terms(loops):
                for key in itertools.product(MODES, OBJECTIVES):
                    value = self.value(*key, *terms)
                    if value < least.get(key, math.inf):
                        least[key] = value
        return least

    def fixed(self):
        moves, exposed, used, energy = {}, {}, {}, 0.0
        for operand in self.whole:
            way = self.way(operand)
            for inner, outer in itertools.pairwise(way):
                c, e = self.price(
                    operand, self.sizes, self.sizes, outer, BYTES[operand.dtype], "load"
                )
                tier = self.tier(inner)
                moves[tier] = moves.get(tier, 0.0) + c
                exposed[tier] = exposed.get(tier, 0.0) + c
                energy += e
                size = math.prod(operand.shape) * BYTES[operand.dtype]
                size = math.ceil(size / inner.alignment) * inner.alignment
                used[inner.name] = used.get(inner.name, 0) + size
        return moves, exposed, energy, used

    def points(self):
        """All feasible placements: their terms, and bytes by inner memory."""
        for loops in nests(self.choices, self.sizes, self.pinned):
            yield from self.placed_all(loops)

    def terms(self, loops):
        for terms, _ in self.placed_all(loops):
            yield terms

    def placed_all(self, loops):
        """For one nest, all feasible placements."""
        for box in visited(loops, self.sizes) if self.m.legal else ():
            if any(box[dim][1] > most for dim, most in self.m.legal.items()):
                return
        compute, burned = self.calls(loops)
        tile = self.tile(loops)
        choices = [list(self.placements(group, loops)) for group in self.groups]
        room = {m.name: m.bytes for m in self.memories[:-1]}
        for memory in self.memories[:-1]:
            room[memory.name] -= int(self.m.reserved_bytes(self.w, memory, tile))
        for choice in itertools.product(*choices, [self.fixed()]):
            used = dict.fromkeys(room, 0)
            for part in choice:
                for name, nbytes in part[3].items():
                    used[name] += nbytes
            if any(used[name] > room[name] for name in room):
                continue
            tiers = range(max(self.tier(m) for m in self.memories))
            moves = [sum(part[0].get(t, 0.0) for part in choice) for t in tiers]
            edges = [sum(part[1].get(t, 0.0) for part in choice) for t in tiers]
            energy = burned + sum(part[2] for part in choice)
            scratch = {m.name: m.bytes - room[m.name] for m in self.memories[:-1]}
            total = {name: used[name] + scratch[name] for name in room}
            yield (compute, moves, edges, energy), total

    @staticmethod
    def value(mode, objective, compute, moves, edges, energy):
        if mode == "sum":
            cycles = compute + sum(moves)
        elif mode == "max":
            cycles = max(compute, *moves)
        else:
            cycles = max(compute, *(m - e for m, e in zip(moves, edges, strict=True))) + sum(edges)
        return {"latency": cycles, "energy": energy, "edp": cycles * energy}[objective]
