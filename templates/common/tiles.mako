## A layer that moves tiles: the table for `ma_run_tiles`, and the layer's function around it.
<%!
DIMS = ("B", "G", "K", "C", "OY", "OX", "FY", "FX")

def listed(values):
    return "{" + ", ".join(str(value) for value in values) + "}"
%>

## The program as a constant table; nothing here is computed, `match_aie.lowering.tiles` is.
<%def name="table(layer)">
<% program = layer.tiles %>
static const struct ma_program ${layer.symbol}_program = {
    .loops = ${len(program.loops)},
    .operands = ${len(program.operands)},
    .sizes = ${listed(dict(program.sizes).get(dim, 1) for dim in DIMS)},
% if program.loops:
    .loop = {${", ".join("{%d, %d}" % (DIMS.index(loop.dim), loop.step) for loop in program.loops)}},
% endif
    .operand = {
% for operand in program.operands:
        {
            /* ${operand.name} */
            .cut = ${operand.cut}, .copies = ${operand.copies}, .rank = ${len(operand.axes)}, .itemsize = ${operand.itemsize},
            .l1 = ${operand.offset}, .copy_bytes = ${operand.copy_bytes}, .l2_bytes = ${operand.nbytes},
            .axes = {
% for axis in operand.axes:
                {${len(axis.terms)}, ${listed([DIMS.index(dim) for dim, _ in axis.terms] or [0])}, ${listed([c for _, c in axis.terms] or [0])}, ${axis.offset}, ${axis.size}, ${axis.unit}, ${axis.stride}},
% endfor
            },
        },
% endfor
    },
    .l1_bytes = ${max(program.total, 16)},
    .scratch = ${program.scratch},
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
    ma_run_tiles(&${layer.symbol}_program, l2, &kernel);
}
</%def>
