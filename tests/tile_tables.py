"""Tile programs as the C structures of ma_tiles.h and ma_walk.h, made without a compiler."""

import ctypes

from match_aie.hardware import tables

UINT = ctypes.c_uint32


def structure(name, *fields):
    return type(name, (ctypes.Structure,), {"_fields_": list(fields)})


Block = structure("Block", ("words", UINT * 10))
View = structure("View", ("at", UINT), ("axes", ctypes.POINTER(ctypes.c_int32 * 4) * 4))
Facts = structure("Facts", ("words", UINT * 5))
Move = structure("Move", ("words", UINT * 3), ("block", ctypes.POINTER(Block)))
Seen = ctypes.POINTER(View)
Visit = structure(
    "Visit",
    ("view", ctypes.POINTER(Seen)),
    ("loads", ctypes.POINTER(Move)),
    ("store", ctypes.POINTER(Move)),
    ("bytes", ctypes.c_uint8 * 4),
)
Table = structure(
    "Table", ("visit", ctypes.POINTER(Visit)), ("words", UINT * 5), ("facts", ctypes.POINTER(Facts))
)
Context = structure(
    "Context",
    ("program", ctypes.c_void_p),
    ("table", ctypes.POINTER(Table)),
    ("facts", ctypes.POINTER(Facts)),
    ("ahead", ctypes.POINTER(Move)),
    ("aheads", UINT),
    ("l2", ctypes.c_void_p),
    ("wrong", ctypes.c_int32),
)


def padded(values, length=4, filler=0):
    return [*values, *[filler] * (length - len(values))]


def array(kind, items):
    return (kind * max(1, len(items)))(*items)


def element(values, index):
    """A pointer to one element of an array; NULL for None."""
    if index is None:
        return None
    return ctypes.cast(
        ctypes.byref(values, index * ctypes.sizeof(values._type_)),
        ctypes.POINTER(values._type_),
    )


def facts(program):
    return array(Facts, [Facts((UINT * 5)(*row)) for row in tables.facts(program)])


def moves(found, blocks):
    return array(
        Move, [Move((UINT * 3)(m.l1, m.l2, m.operand), element(blocks, m.block)) for m in found]
    )


def blocks(rows):
    return array(Block, [Block((UINT * 10)(*row)) for row in rows])


def table(program):
    """(a struct ma_table, everything that it points to)."""
    made = tables.table(program)
    axes = array(ctypes.c_int32 * 4, [(ctypes.c_int32 * 4)(*row) for row in made.axes])
    places = blocks(made.blocks)
    kept = [axes, places]
    views = array(View, [])
    if made.views:
        kinds = ctypes.POINTER(ctypes.c_int32 * 4) * 4
        views = array(
            View,
            [
                View(v.at, kinds(*(element(axes, i) for i in rows)))
                for v in made.views
                for rows in [(v.extent, v.stride, v.start, v.before)]
            ],
        )
    moved = moves(made.moves, places)
    seen = array(Seen, [element(views, i) for visit in made.visits for i in visit.views])
    count = len(program.operands)
    visits = array(
        Visit,
        [
            Visit(
                element(seen, at * count),
                element(moved, v.loads),
                element(moved, v.store),
                (ctypes.c_uint8 * 4)(v.doubled, v.single, v.opens, v.copy),
            )
            for at, v in enumerate(made.visits)
        ],
    )
    known = facts(program)
    settles = program.operands[-1].copies == 1
    numbers = (len(made.visits), count, max(program.total, 16), program.scratch, settles)
    found = Table(element(visits, 0), (UINT * 5)(*numbers), element(known, 0))
    return found, [*kept, views, moved, seen, visits, known]


def operand_words(program, o):
    """An operand in the layout of struct ma_operand."""
    tile, part = program.moving(o, o.cut), program.parts(o)
    usual, (start, before) = program.usual(o), program.undivided(o)
    words = [o.cut, o.copies, len(o.axes), o.itemsize, len(tile), len(part)]
    words += [o.offset, o.copy_bytes, o.nbytes, usual.nbytes, program.origin(o)]
    words += padded([a.stride for a in o.axes])
    for values in (usual.extent, usual.inner_strides, start, before):
        words += padded(values)
    nbytes, levels = usual.block
    words += [nbytes]
    for index, filler in enumerate((1, 0, 0)):
        words += padded([level[index] for level in levels], 3, filler)
    for spans in (tile, part):
        for index, span in spans:
            a, terms = o.axes[index], padded(span.terms, 2, (0, 0))
            words += [index, a.size - 1, a.unit, a.stride, len(span.terms), span.first, span.last]
            words += [*(loop for loop, _ in terms), *(c for _, c in terms)]
        words += [0] * 11 * (4 - len(spans))
    return words


def program_words(program):
    """The program as words, in the layout of struct ma_program."""
    words = [len(program.loops), len(program.operands), max(program.total, 16), program.scratch]
    words += [int(program.operands[-1].moves == "here")]
    for index, loop in enumerate(program.loops):
        parent, size = program.around(index)
        words += [loop.step, size, parent]
    words += [0] * (3 * (12 - len(program.loops)))
    words += [word for turn in program.turns() for word in turn]
    words += [0] * (4 * (12 - len(program.loops)))
    for o in program.operands:
        words += operand_words(program, o)
    words += [0] * (41 + 8 * 11) * (7 - len(program.operands))
    return (ctypes.c_int32 * len(words))(*words)
