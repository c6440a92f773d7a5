## A layer that moves tiles: its table for `ma_run_table` or `ma_run_tiles`, and its function.
<%!
from match_aie.hardware import tables

def listed(values):
    return "{" + ", ".join(str(value) for value in values) + "}"

def spans(operand, moving):
    return listed(span(operand.axes[index], index, left) for index, left in moving)

def span(axis, index, left):
    loops, coefficients = ([term[i] for term in left.terms] for i in (0, 1))
    return listed([index, axis.size - 1, axis.unit, axis.stride, len(left.terms), left.first, left.last, listed(loops), listed(coefficients)])

def block(region):
    nbytes, levels = region.block
    padded = [*levels, *[(1, 0, 0)] * (3 - len(levels))]
    return listed([nbytes, *(listed(level[i] for level in padded) for i in range(3))])

def place(name, index):
    return "NULL" if index is None else f"&{name}[{index}]"
%>

## Constants; nothing here is computed, `match_aie.hardware` has done it.
<%def name="table(layer)">
% if tables.is_listed(layer.tiles):
${visits(layer)}
% else:
${loops(layer)}
% endif
</%def>

## An array of rows. `near` ones lie in the inner memory, where `placing` copies them from here.
<%def name="array(type, name, rows, near=False, item='')">
<% image = name + "_image" if near else name %>
static const ${type} ${image}[]${item} = {
% for row in rows:
    ${row},
% endfor
};
% if near:
static MA_NEAR ${type} ${name}[sizeof ${image} / sizeof *${image}]${item};
% endif
</%def>

## Copies the layer's lists to the inner memory, and those called `more`.
<%def name="placing(layer, more)">
<%
table = tables.table(layer.tiles)
some = {"blocks": table.blocks, "moves": table.moves, "ahead": table.ahead}
names = ["axes", "views", "seen", "visits", "table", *(n for n, rows in some.items() if rows), *more]
names = [f"{layer.symbol}_{name}" for name in names]
%>
_Static_assert(sizeof(void *) > 4 || ${" + ".join(f"sizeof {name}" for name in names)} <= ${table.nbytes + tables.FIXED}, "lists");

static void ${layer.symbol}_place(void)
{
% for name in names:
    MA_PLACE(${name});
% endfor
}
</%def>

<%def name="moves(name, found, blocks, near=False)">
% if found:
${array("struct ma_move", name, [listed([m.l1, m.l2, m.operand, f"&{blocks}[{m.block}]"]) for m in found], near)}
% endif
</%def>

<%def name="blocks(name, rows, near=False)">
% if rows:
${array("struct ma_block", name, [listed([row[0], *(listed(row[i : i + 3]) for i in (1, 4, 7))]) for row in rows], near)}
% endif
</%def>

<%def name="facts(layer)">
${array("struct ma_facts", layer.symbol + "_facts", [listed(row) for row in tables.facts(layer.tiles)])}
</%def>

## Every call of the kernel as a row.
<%def name="visits(layer)">
<%
name, program, table = layer.symbol, layer.tiles, tables.table(layer.tiles)
count, near = len(program.operands), program.near
%>
${facts(layer)}
${array("int32_t", name + "_axes", [listed(row) for row in table.axes], near, "[MA_AXES]")}
${blocks(name + "_blocks", table.blocks, near)}
${array("struct ma_view", name + "_views", [listed([v.at, *(f"{name}_axes[{i}]" for i in (v.extent, v.stride, v.start, v.before))]) for v in table.views], near)}
${array("ma_seen", name + "_seen", [", ".join(f"&{name}_views[{i}]" for i in visit.views) for visit in table.visits], near)}
${moves(name + "_moves", table.moves, name + "_blocks", near)}
${moves(name + "_ahead", table.ahead, name + "_blocks", near)}
${array("struct ma_visit", name + "_visits", [listed([f"&{name}_seen[{at * count}]", place(name + "_moves", v.loads), place(name + "_moves", v.store), v.doubled, v.single, int(v.opens), v.copy]) for at, v in enumerate(table.visits)], near)}
static const struct ma_table ${name}_table${"_image" if near else ""} = {
    .visit = ${name}_visits,
    .visits = ${len(table.visits)},
    .operands = ${count},
    .l1_bytes = ${max(program.total, 16)},
    .scratch = ${program.scratch},
    .settles = ${int(program.operands[-1].copies == 1)},
    .facts = ${name}_facts,
};
% if near:
static MA_NEAR struct ma_table ${name}_table;
% endif
</%def>

## The loops that the kernel's calls are made by.
<%def name="loops(layer)">
<%
program = layer.tiles
early, rows = tables.ahead(program)
%>
${facts(layer)}
${blocks(layer.symbol + "_blocks", rows)}
${moves(layer.symbol + "_ahead", early, layer.symbol + "_blocks")}
static const struct ma_program ${layer.symbol}_program = {
    .loops = ${len(program.loops)},
    .operands = ${len(program.operands)},
    .l1_bytes = ${max(program.total, 16)},
    .scratch = ${program.scratch},
    .stores = ${int(program.operands[-1].moves == "here")},
    .loop = {${", ".join(listed((loop.step, program.around(i)[1], program.around(i)[0])) for i, loop in enumerate(program.loops))}},
    .turn = {${", ".join(listed(turn) for turn in program.turns())}},
    .operand = {
% for operand in program.operands:
<% usual, (start, before) = program.usual(operand), program.undivided(operand)
tile, part = program.moving(operand, operand.cut), program.parts(operand) %>\
        {
            /* ${operand.name} */
            .cut = ${operand.cut}, .copies = ${operand.copies}, .rank = ${len(operand.axes)}, .itemsize = ${operand.itemsize}, .tiles = ${len(tile)}, .parts = ${len(part)},
            .l1 = ${operand.offset}, .copy_bytes = ${operand.copy_bytes}, .l2_bytes = ${operand.nbytes}, .bytes = ${usual.nbytes}, .from = ${program.origin(operand)},
            .far = ${listed(axis.stride for axis in operand.axes)}, .extent = ${listed(usual.extent)}, .stride = ${listed(usual.inner_strides)},
            .start = ${listed(start)}, .before = ${listed(before)}, .block = ${block(usual)},
% if tile:
            .tile = ${spans(operand, tile)},
% endif
% if part:
            .part = ${spans(operand, part)},
% endif
        },
% endfor
    },
};
</%def>

## A function that says where the partial sums of a call lie, and which part of them it does; of
## layers that sum up everything at once, no place, and that it is the first and the last part.
<%def name="sums(layer)">
<%
program, y, found = layer.tiles, layer.tiles.operands[-1], tables.parts(layer.tiles)
first = " && ".join(f"!t->view[{o}]->start[{a}]" for o, a, _ in found)
last = " && ".join(f"t->view[{o}]->start[{a}] + t->view[{o}]->extent[{a}] == {rows}" for o, a, rows in found)
%>
static inline struct ma_sums ${layer.symbol}_sums(const struct ma_tile *t)
{
% if program.sums:
    const uint32_t at = (t->view[${len(program.operands) - 1}]->at - ${y.offset}) % ${y.copy_bytes} / (uint32_t)sizeof(${layer.operands[-1].ctype}) * ${program.sums.itemsize};
    return (struct ma_sums){(int32_t *)(void *)(t->l1 + ${program.sums.offset} + at), ${first}, ${last}};
% else:
    (void)t;
    return (struct ma_sums){0, 1, 1};
% endif
}
</%def>

## The layer's function, called on the controller: all of the layer, or what enters it where another
## one runs beside. `kernel` initialises a struct ma_kernel; `more` are names of lists beside the table.
<%def name="function(layer, kernel, more=())">
<%
ahead = "ahead" if layer.tiles.linked else "NULL"
of = f"run_table(&{layer.symbol}_table, l2, &kernel, {ahead})" if tables.is_listed(layer.tiles) else f"run_tiles(&{layer.symbol}_program, {layer.symbol}_facts, l2, &kernel, {ahead})"
if layer.tiles.beside:
    of = f"lane_open(lane, &{layer.symbol}_table, l2, &kernel, ahead, l1)"
%>
% if layer.tiles.near:
${placing(layer, more)}
% endif
/* ${layer.summary} */
static void ${layer.symbol}(${layer.parameters}${", uint8_t *l1, struct ma_lane *lane" if layer.tiles.beside else ""})
{
    const struct ma_kernel kernel = ${kernel};
    void *const l2[] = {
% for operand in layer.operands:
        (void *)(uintptr_t)${operand.name},
% endfor
    };
    ma_${of};
}
</%def>
