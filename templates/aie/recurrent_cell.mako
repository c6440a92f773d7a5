<%page args="k, seen_at, sums_of, narrow, many, first, lends"/>\
<%
    gates, lstm, before = k.gates, k.cell == 'lstm', k.cell == 'gru_before'
%>\
    for (unsigned chunk = 0; chunk < ${many}; ++chunk) chess_flatten_loop {
        const unsigned at = ${first}chunk * lanes;
% if lstm:
        const Rounded i = rounded(sigmoid.compute(rounded(${sums_of('i')})));
        const Rounded forgotten = rounded(sigmoid.compute(rounded(${sums_of('f')})));
        const Rounded g = rounded(tanh.compute(rounded(${sums_of('g')})));
        const Rounded o = rounded(sigmoid.compute(rounded(${sums_of('o')})));
        const Floats before = floats(call.state + at);
        const Floats after = aie::mac(aie::msc(before, forgotten, rounded(before)), i, g);
        const Floats out = aie::mul(o, rounded(tanh.compute(rounded(after))));
% else:
    % if before:
        const Rounded update = aie::load_v<lanes>(call.update + at);
        const Floats total = ${sums_of('n')};
    % else:
        const Rounded r = rounded(sigmoid.compute(rounded(${sums_of('r')})));
        const Rounded update = rounded(sigmoid.compute(rounded(${sums_of('z')})));
        const Floats total = aie::mac(${seen_at('n')}, r, rounded(${sums_of('n')}));
    % endif
        const Floats n = tanh.compute(rounded(total));
        const Floats before = floats(call.state + at);
        const Floats after = aie::mac(before, update, rounded(aie::sub(n, before))), out = after;
% endif
        const Rounded h = rounded(out);
        aie::store_v(call.state + at, after.template to_vector<float>());
% if narrow:
        const auto steps = in_steps(out);
        aie::store_v(call.next + at, steps);
        if constexpr (split < vectors) aie::store_v(call.sent + at, steps);
    % if before:
        aie::store_v(call.real + at, h);
    % endif
% elif k.held:
        held.state = h;
% else:
    % if lends:
        if constexpr (lent) aie::store_v(call.sent + at, h);
        hand(out);
    % endif
    % if k.quartered and k.paired:
        own = h;
    % else:
        aie::store_v(call.next + at, h);
    % endif
% endif
        aie::store_v(y + at, h);
    }
