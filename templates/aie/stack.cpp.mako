<%
    last = len(call.nests) - 1

    def stored(at):
        spec = call.nests[at].call.spec
        return spec.c_type(spec.requantise.dtype), spec.m * spec.n
%>\
// ${len(call.nests)} layers of one tile, one after the other, ${call.passes} times.
% for k in call.headers:
#include "${k.family}.hpp"
% endfor
#include "${call.header}"

// Results that the next layer reads; each kernel stands in program memory once.
% for at in range(last):
<% c_type, size = stored(at) %>\
alignas(aie::vector_decl_align) static ${c_type} ${call.kept(at)}[${size}];
% endfor
% for k in call.headers:
static __attribute__((noinline)) void ${call.symbol}_${k.family}(const ${k.family}::Call &layer) { ${k.family}::run(layer); }
% endfor

#ifdef AIE_EMULATION
// The same of a whole run, and what leaves the tile, for whoever looks at the emulation.
% for at in range(last + 1):
<% c_type, size = stored(at) %>\
static ${c_type} ${call.kept(at)}_seen[${call.passes * size}];
% endfor
#endif

void ${call.symbol}(${', '.join(call.arguments)}) {
    for (unsigned m = 0; m < ${call.passes}; ++m) {
        (void)m;
        x.acquire();
% for at, nest in enumerate(call.nests):
<% s = nest.call.spec %>\
    % if at == last:
        y.acquire();
    % endif
        aie::set_rounding(aie::rounding_mode::${s.requantise.rounding});
        aie::set_saturation(aie::saturation_mode::${s.requantise.saturation});
        ${call.symbol}_${s.family}({
    % for name, value in call.fields(at):
            .${name} = ${value},
    % endfor
        });
#ifdef AIE_EMULATION
<% c_type, size = stored(at) %>\
        std::memcpy(${call.kept(at)}_seen + m * ${size}, ${'y.data()' if at == last else call.kept(at)}, ${size} * sizeof(${c_type}));
#endif
% endfor
        y.release();
        x.release();
    }
}
