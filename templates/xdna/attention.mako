<%page args="call, piece, modes"/>\
<%
    n = call.numbers
    s = call.scores.spec
    x_type, p_type = s.c_type(call.spec.a), s.c_type(call.spec.dtype)
    product = call.products[piece // 2]
    k = product.spec
    parts = [('scores', x_type, s.m * s.n), ('exponentials', 'int32', call.divided * s.n), ('sums', 'int32', 256)]
    if k.row_bias and piece != 1:
        parts += [('row_sums', 'int32', k.m * k.tiling.n), ('bias', 'int32', k.n)]
    sizes = {'int8': 1, 'uint8': 1, 'int32': 4}
    begin = 0
%>\
    % for name, c_type, elements in parts:
    ${c_type} *const ${name} = reinterpret_cast<${c_type} *>(scratch + ${begin});
<% begin += elements * sizes[c_type] %>\
    % endfor
    const ${p_type} *const scores_of = reinterpret_cast<const ${p_type} *>(scores);
    (void)scores_of, (void)exponentials, (void)sums, (void)q, (void)y;
    ${' '.join(f'(void){p.name};' for p in call.parameters)}
    % for line in modes(s.requantise):
    ${line}
    % endfor
    % if piece != 1:
    % if k.row_bias:
    ${call.sums[piece // 2].family}::run({
        .a = ${dict(call.fields(piece // 2))['x']},
        .b = kv.data(),
        .row_sums = row_sums,
        .bias = bias,
        .a_zero = ${product.a_zero},
        .b_zero = ${product.b_zero},
        .constant = ${product.constant},
        .m_blocks = ${k.m // k.tiling.m // call.sums[piece // 2].rows},
        .k_steps = ${k.k_steps},
        .n_blocks = ${k.n // k.tiling.n // call.sums[piece // 2].columns},
    });
    % endif
    ${k.family}::run({
    % for name, value in call.fields(piece // 2):
        .${name} = ${value},
    % endfor
    });
    % else:
    ${call.spec.family}::run({
        .x = scores,
        .ab = w,
        .cd = cd,
        .e = exponentials,
        .sums = sums,
        .rows = ${s.m},
        .width = ${s.n},
        .columns = ${call.columns},
        .divided = ${call.divided},
        .known = ${call.known},
        .unknown = ${call.unknown},
        .multiplier = ${n.multiplier},
        .shift = ${n.tail.shift},
        .zero_point = ${n.tail.zero_point},
    });
    % endif
