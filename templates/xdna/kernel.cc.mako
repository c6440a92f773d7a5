<%
    call = o.call
    # Calls that are the same pieces are one function under several names.
    entries = list({e.pieces: e for e in reversed(o.entries)}.values())[::-1]
    others = [(e, next(one for one in entries if one.pieces == e.pieces)) for e in o.entries if e not in entries]
    arguments = entries[0].arguments

    def parameters(entry):
        scratch = [f'int8 *__restrict scratch'] if o.scratch else []
        told = ['int32 shift'] if entry.shifts else []
        return ', '.join([*(f'{a.c_type} *__restrict {a.name}' for a in entry.arguments), *scratch, 'int32 at', *told])

    def given(entry, told):
        return ', '.join([*(a.name for a in entry.arguments), *(['scratch'] if o.scratch else []), 'at', *(['shift'] if told else [])])

    def ends(entry):
        """Buffers and cascades under the names that the function's own text has for them."""
        found = []
        for a in entry.arguments:
            if a.way:
                found.append(f'adf::{a.way}_buffer<{a.c_type}> {a.known}({a.name}, {a.elements});')
        for way, tag, name in o.cascades:
            found.append(f'{way}_cascade<{tag}> {name}_end = ma_npu::{way}<{tag}>();')
            found.append(f'[[maybe_unused]] {way}_cascade<{tag}> *const {name} = &{name}_end;')
        return found

    def modes(spec):
        return [f'aie::set_rounding(aie::rounding_mode::{spec.rounding});', f'aie::set_saturation(aie::saturation_mode::{spec.saturation});']

    def tables(values):
        begin = 0
        for name, value in values:
            yield f'const int32 *const {call.symbol}_{name} = tables + {begin};'
            begin += len(value)
    def begins():
        """What every call has before what it is for; not all of it matters to every piece."""
        found = ['const unsigned number = static_cast<unsigned>(at);', '(void)number;']
        return [*found, ' '.join(f'(void){a.name};' for a in arguments), *ends(entries[0])]

    families = {k.family: k for k in o.headers}.values()
    pieces = sorted({p for e in entries for p in e.pieces})
    together = o.together and len(pieces) > 1
    # Where each call is one piece, and no other's, it is that function: a core has no others.
    alone = sorted(p for e in entries for p in e.pieces) == pieces and len(pieces) == len(entries)
%>\
// Calls of ${call.symbol}, as the cores of the program call them: ${', '.join(e.name for e in o.entries)}.
#include "ma_npu.h"
% if o.kind == 'whole':
// The function itself, as the graphs have it.
#include "${call.symbol}.cpp"

% for e in entries:
extern "C" void ${e.name}(${parameters(e)}) {
    (void)at;
    % for line in ends(e):
    ${line}
    % endfor
    ${call.symbol}(${', '.join(o.passed)});
}
% endfor
% else:
% for k in families:
#include "${k.family}.hpp"
% endfor

% if o.kind == 'nest' and call.primed:
<%include file="aie/primed.mako" args="nest=call"/>
% elif o.kind == 'parts':
<%include file="aie/streamed_parts.mako" args="call=call"/>
% elif o.kind == 'float_parts':
// Stands in program memory once.
static __attribute__((noinline)) void ${call.symbol}_scores(const ${call.scores.spec.family}::Call &product) { ${call.scores.spec.family}::run(product); }

% endif
% if together:
// All calls: one entry and one exit in program memory. Weak, so that no piece is compiled apart.
extern "C" __attribute__((noinline, weak)) void ${call.symbol}_calls(${parameters(entries[0])}, unsigned piece) {
    % for line in begins():
    ${line}
    % endfor
% endif
% for piece in pieces:
<%
    # A piece that results are made in, of calls that are told the shift, is told, too.
    owner = next((e for e in entries if piece in e.pieces and e.shifts), None) or next(e for e in entries if piece in e.pieces)
%>\
% if together:
    ${'' if piece == pieces[0] else '} else '}${'' if piece == pieces[-1] else f'if (piece == {piece}) '}{
% else:
${f'extern "C" void {owner.name}' if alone else f'static __attribute__((noinline)) void {call.symbol}_piece{piece}'}(${parameters(owner)}) {
    % for line in begins():
    ${line}
    % endfor
% endif
% if o.kind == 'nest':
<%
    s = call.call.spec
    (outer, outer_count), (turning, count) = call.outer
    fields = call.fields(piece)
    indices = {'k': f'number % {call.k_tiles}', turning: f'number / {call.k_tiles} % {count}', outer: f'number / {call.k_tiles * count} % {outer_count}'}
    if call.k_tiles == 1:
        indices['k'] = '0'
%>\
    const unsigned m = ${indices['m']}, n = ${indices['n']}, k = ${indices['k']};
    (void)m, (void)n, (void)k;
    % if o.scratch:
    ${s.c_type(call.sums_dtype)} *const sums = reinterpret_cast<${s.c_type(call.sums_dtype)} *>(scratch);
    % endif
    % for line in modes(s.requantise):
    ${line}
    % endfor
    % if call.halved and piece in (0, len(call.kernels) - 1):
    ${call.holds[piece > 0]}
    % endif
    % if call.primed and piece == 0:
    ${call.symbol}_prime(${', '.join(str(value) for _, value in call.begins if value)});
    % endif
    ${call.runs(piece)}({
    % for name, value in fields:
        .${name} = ${'shift' if name == 'shift' and owner.shifts else value},
    % endfor
    });
% elif o.kind in ('bands', 'layer'):
<% layer = call.call if o.kind == 'bands' else call %>\
    % if o.kind == 'bands':
    const unsigned band = number % ${call.count};
    (void)band;
    % endif
    % for line in tables(layer.tables):
    ${line}
    % endfor
    % for line in modes(layer.spec.requantise):
    ${line}
    % endfor
    ${layer.spec.family}::run({
    % for name, value in call.fields:
        .${name} = ${value},
    % endfor
    });
% elif o.kind == 'pool':
<% count = len(call.origins) %>\
    % for line in tables((('origins', call.origins), ('offsets', call.offsets))):
    ${line}
    % endfor
    ${call.spec.family}::run({
        .x = x.data(),
        .origins = ${call.symbol}_origins,
        .offsets = ${call.symbol}_offsets,
        .y = y.data(),
        .x_n_step = ${call.x_n_step},
        .y_n_step = ${count * call.spec.m * call.spec.n},
        .groups = ${count // call.spec.rows},
        .taps = ${len(call.offsets)},
        .blocks = ${call.blocks},
    });
% elif o.kind == 'attention':
<%include file="xdna/attention.mako" args="call=call, piece=piece, modes=modes"/>\
% elif o.kind == 'parts':
<%include file="xdna/parts.mako" args="call=call, phase=o.phases[piece], kept=o.kept, modes=modes"/>\
% elif o.kind == 'float_parts':
<%include file="xdna/float_parts.mako" args="call=call, phase=o.phases[piece], kept=o.kept, modes=modes"/>\
% elif o.kind == 'blocked_parts':
<%include file="xdna/blocked_parts.mako" args="call=call, phase=o.phases[piece], kept=o.kept, modes=modes"/>\
% elif o.kind == 'running_parts':
<%include file="xdna/running_parts.mako" args="call=call, phase=o.phases[piece], modes=modes"/>\
% elif o.kind == 'recurrent':
<%include file="xdna/recurrent.mako" args="call=call, piece=piece"/>\
% endif
% if not together:
}

% endif
% endfor
% if together:
    }
}

% endif
% for e in ([] if alone and not together else entries):
extern "C" void ${e.name}(${parameters(e)}) {
    % if len(e.pieces) > 1:
    const unsigned number = static_cast<unsigned>(at);
    % endif
% if together:
    ${call.symbol}_calls(${given(e, False)}, ${f'{e.pieces[0]}u' if len(e.pieces) == 1 else f'unsigned({o.choice})'});
}
<% continue %>\
% endif
    % for p in e.pieces[:-1]:
    if (${o.choice} == ${p}) {
        return ${call.symbol}_piece${p}(${given(e, e.shifts)});
    }
    % endfor
    ${call.symbol}_piece${e.pieces[-1]}(${given(e, e.shifts)});
}
% endfor
% endif
% for e, one in others:
extern "C" void ${e.name}(${parameters(e)}) __attribute__((alias("${one.name}")));
% endfor
