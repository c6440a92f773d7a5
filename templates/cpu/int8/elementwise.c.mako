## Sum or product of two tensors with broadcasting, and conversions between float and bytes: along
## the innermost loop two or four vectors at a time, its end through buffers of as many elements.
<%namespace name="cores" file="cpu/cores.mako"/>
<%
k, t = layer.kernel, layer.tail
inputs, y = layer.operands[:-1], layer.operand("y")
outer, inner = layer.elements[:-1], layer.elements[-1]
steps = dict(inner.steps)
wide, lanes = k.vectors * k.lanes, k.lanes
whole, left = inner.size // wide * wide, inner.size % wide
streams = [operand for operand in inputs if steps[operand.name]]
divided, split = k.split([loop_.size for loop_ in layer.elements])
alone = split is not None and not outer
def over(index, size):
    """Where the loop starts and what it stays below."""
    return ("part_begin", "part_end") if split is not None and index == divided else (0, size)
def at(name):
    """Where the innermost loop starts."""
    terms = []
    for loop in outer:
        step = dict(loop.steps)[name]
        if step:
            terms.append(loop.variable if step == 1 else f"{loop.variable} * {step}")
    return " + ".join(terms) or "0"
%>
${cores.open(layer, split)}
    _Static_assert(MA_LANES == ${lanes}, "vectors are as long as the project says");
% for index, loop_ in enumerate(outer):
    for (int32_t ${loop_.variable} = ${over(index, loop_.size)[0]}; ${loop_.variable} < ${over(index, loop_.size)[1]}; ++${loop_.variable}) {
% endfor
% for operand in streams:
    const ${operand.ctype} *from_${operand.name} = ${operand.name} + ${"part_begin" if alone else at(operand.name)};
% endfor
    ${y.ctype} *to = y + ${"part_begin" if alone else at("y")};
% for operand in inputs:
% if not steps[operand.name]:
<%
element = f"{operand.name}[{at(operand.name)}]"
number = f"(float){element}" if k.factors else f"(float){operand.centred(element)} * {operand.scale}"
%>
    const ma_f32 same_${operand.name} = ma_splat_f32(${number});
% endif
% endfor
% if whole:
% if alone:
    for (int32_t i = part_begin; i + ${wide} <= part_end; i += ${wide}) {
% else:
    for (int32_t i = 0; i < ${whole}; i += ${wide}) {
% endif
        ${values(layer, k, steps, streams, "to")}
% for operand in streams:
        from_${operand.name} += ${wide};
% endfor
        to += ${wide};
    }
% endif
% if left:
    ${f"if (part_end == {inner.size}) " if alone else ""}{
% for operand in streams:
    ${operand.ctype} last_${operand.name}[${wide}] = {0};
    memcpy(last_${operand.name}, from_${operand.name}, sizeof(${operand.ctype}) * ${left});
    from_${operand.name} = last_${operand.name};
% endfor
    ${y.ctype} last[${wide}];
    ${values(layer, k, steps, streams, "last")}
    memcpy(to, last, sizeof(${y.ctype}) * ${left});
    }
% endif
% for _ in outer:
    }
% endfor
${cores.close(layer, split)}

<%def name="values(layer, k, steps, streams, to)">
<%
t, y, lanes = layer.tail, layer.operand("y"), layer.kernel.lanes
signed = 1 if y.ctype == "int8_t" else 0
bounds = f"{t.low}, {t.high}, {t.zero_point}, {t.lo}, {signed}, MA_SIDE_BY_SIDE" if t else ""
%>
% for part in range(k.vectors):
% for operand in layer.operands[:-1]:
<%
short = "i8" if operand.ctype == "int8_t" else "u8"
where = f"from_{operand.name} + {part * lanes}"
%>
% if not steps[operand.name]:
const ma_f32 r${part}_${operand.name} = same_${operand.name};
% elif operand.ctype == "float":
const ma_f32 r${part}_${operand.name} = ma_load_f32(${where});
% elif k.factors:
const ma_f32 r${part}_${operand.name} = ma_float_${short}(${where});
% else:
const ma_f32 r${part}_${operand.name} = ma_real_${short}(${where}, ${operand.zero_point}, ${operand.scale});
% endif
% endfor
% endfor
% if layer.kind == "dequantize":
% for part in range(k.vectors):
ma_store_f32(${to} + ${part * lanes}, r${part}_x);
% endfor
% else:
<%
def result(part):
    """C expression of a vector's steps."""
    if k.factors:
        return k.summed(f"r{part}_x", f"r{part}_x1")
    real = {"add": f"(r{part}_x + r{part}_x1)", "mul": f"(r{part}_x * r{part}_x1)"}.get(layer.kind, f"r{part}_x")
    return f"{real} * {k.inverse}" if k.inverse else f"{real} / {y.scale}"
%>
const ma_f32 s[${k.vectors}] = {
% for part in range(k.vectors):
    ${result(part)},
% endfor
};
% if k.vectors == 4:
ma_store_steps4(${to}, 0, s, ${bounds});
% else:
ma_store_steps2(${to}, NULL, s[0], s[1], ${bounds});
% endif
% endif
</%def>
