## Sum or product of two tensors with broadcasting: real = x op x1 in float32, then / sy; or fixed
## point.
<%namespace name="tail" file="cpu/tail.mako"/>
<%
x, x1, y = layer.operand("x"), layer.operand("x1"), layer.operand("y")
operator = {"add": "+", "mul": "*"}[layer.kind]
at, at1, to = layer.index("x"), layer.index("x1"), layer.index("y")
left, right = f"(int64_t){x.centred(f'x[{at}]')}", f"{x1.centred(f'x1[{at1}]')}"
if layer.kind == "mul":
    t = f"{left} * {right}{layer.times(layer.channel)}{layer.plus(layer.channel)}"
else:
    t = f"{left}{layer.times('0')} + (int64_t){right}{layer.times('1')}{layer.plus(layer.channel)}"
%>
/* ${layer.summary} */
static void ${layer.symbol}(${layer.parameters})
{
% for loop_ in layer.elements:
    for (int32_t ${loop_.variable} = 0; ${loop_.variable} < ${loop_.size}; ++${loop_.variable}) {
% endfor
% if layer.tail.shift is not None:
        ${tail.fixed(layer, t, f"y[{to}]")}
% else:
        const float left = (float)${x.centred(f"x[{at}]")} * ${x.scale};
        const float right = (float)${x1.centred(f"x1[{at1}]")} * ${x1.scale};
        ${tail.saturate(layer.tail, f"(left {operator} right) / {y.scale}", f"y[{to}]", y.ctype)}
% endif
% for _ in layer.elements:
    }
% endfor
}
