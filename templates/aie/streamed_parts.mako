<%page args="call"/>\
<%
    s = call.scores.spec
    v, y_type = call.values.spec.requantise, s.c_type(call.values.spec.requantise.dtype)
%>\
// Stands in program memory once.
static __attribute__((noinline)) void ${call.symbol}_scores(const ${s.family}::Call &product) { ${s.family}::run(product); }

// Results of sums, which lie alike.
static __attribute__((noinline)) void ${call.symbol}_results(const int32 *sums, ${y_type} *y) {
% if v.scaled:
    const auto factor = aie::broadcast<${'int16' if v.narrow else 'int32'}, 16>(${call.values.multiplier});
    const aie::accum<acc64, 16> addend(aie::broadcast<int32, 16>(${call.values.addend}));
% endif
    for (unsigned at = 0; at < ${call.values.spec.m * call.values.spec.n}; at += 16) {
% if v.scaled:
        const auto wide = aie::mac(addend, aie::load_v<16>(sums + at), factor);
% else:
        const aie::accum<acc32, 16> wide(aie::load_v<16>(sums + at));
% endif
        auto values = wide.to_vector<${y_type}>(${call.values.shift});
% if call.values.spec.lo is not None:
        values = aie::max(values, static_cast<${y_type}>(${call.values.spec.lo}));
% endif
% if v.hi is not None:
        values = aie::min(values, static_cast<${y_type}>(${v.hi}));
% endif
        aie::store_v(y + at, values);
    }
}
