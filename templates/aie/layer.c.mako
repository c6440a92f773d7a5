## A layer on the array: the C++ beside the network's C runs it.
<%
    names = [operand.name for operand in layer.operands]
    types = ["const void *"] * (len(names) - 1) + ["void *"]
%>\
/* ${layer.summary} */
void ${layer.symbol}_array(${", ".join(t + n for t, n in zip(types, names))});
% if layer.ahead:
/* So many runs follow: a call only sends its inputs, and results are taken in their order. */
void ${layer.symbol}_begin(size_t runs);
void ${layer.symbol}_take(void *y);
void ${layer.symbol}_end(void);
% endif
% if layer.held:
#ifdef MATCH_AIE_TRACE
const void *${layer.symbol}_held(void);
#endif
% endif

static void ${layer.symbol}(${layer.parameters}) {
    ${layer.symbol}_array(${", ".join(names)});
}
