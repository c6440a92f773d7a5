## A layer that moves tiles: the table for `ma_run_tiles`, and the layer's function around it.
<%!
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
%>

## The program as a constant table; nothing here is computed, `match_aie.hardware.tiles` is.
<%def name="table(layer)">
<% program = layer.tiles %>
static const struct ma_program ${layer.symbol}_program = {
    .loops = ${len(program.loops)},
    .operands = ${len(program.operands)},
    .l1_bytes = ${max(program.total, 16)},
    .scratch = ${program.scratch},
    .ahead = ${sum(1 << index for index, operand in enumerate(program.operands) if operand.moves == "ahead")},
    .left = ${sum(1 << index for index, operand in enumerate(program.operands) if operand.moves == "never")},
% if program.loops:
    .loop = {${", ".join(listed((loop.step, program.around(i)[1], program.around(i)[0])) for i, loop in enumerate(program.loops))}},
% endif
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

## The layer's function, called on the controller. `kernel` initialises a struct ma_kernel.
<%def name="function(layer, kernel)">
/* ${layer.summary} */
static void ${layer.symbol}(${layer.parameters})
{
    const struct ma_kernel kernel = ${kernel};
    void *const l2[] = {
% for operand in layer.operands:
        (void *)(uintptr_t)${operand.name},
% endfor
    };
    ma_run_tiles(&${layer.symbol}_program, l2, &kernel, ${"ahead" if layer.tiles.linked else "NULL"});
}
</%def>
