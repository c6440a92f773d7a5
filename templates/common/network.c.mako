/* ${net.title}: written by match_aie; this file belongs to you.
 *
 * Build with -std=c11 -ffp-contract=off -fno-strict-aliasing: fused multiply-adds would change
 * rounded bits, and the arena holds tensors of different element types one after the other.
 */
#if defined(__ARM_FEATURE_SVE) && defined(__GNUC__) && !defined(__clang__)
/* GCC 12 stores wrong bytes where SVE's vectors are longer than 128 bits. */
#pragma GCC target("+nosve")
#endif
#include "${net.name}.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
% for header in net.headers:
#include "${header}"
% endfor

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "constants lie in memory least significant byte first, which this machine reads otherwise"
#endif
#if defined(__FAST_MATH__) || defined(__ASSOCIATIVE_MATH__) || defined(__RECIPROCAL_MATH__) || \
    (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)
#error "-ffast-math, what is part of it, and -Ofast change rounded bits: compile without"
#endif
/* 16 says that _Float16 keeps its bits, too. */
#if FLT_EVAL_METHOD != 0 && FLT_EVAL_METHOD != 16
#error "this compiler keeps more bits of a float than float has: on x86 compile with -msse2 -mfpmath=sse"
#endif
#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif
% if net.members:

/* Defined in ${net.name}_weights.S. */
struct ${net.name}_constants {
% for index, member in enumerate(net.members):
    ${"_Alignas(%d) " % net.alignment if index == 0 else ""}${member.ctype} ${member.name}[${member.count}];
% if member.padding:
    uint8_t pad_${index}_[${member.padding}];
% endif
% endfor
};
% for member in net.members:
_Static_assert(offsetof(struct ${net.name}_constants, ${member.name}) == ${member.offset}, "${member.name}");
% endfor
_Static_assert(sizeof(struct ${net.name}_constants) == ${net.macro}_WEIGHT_BYTES, "constants");

#ifdef __ELF__
__attribute__((visibility("hidden")))
#endif
extern const struct ${net.name}_constants ${net.name}_weights;
% endif

% if net.streams:
/* Constants in the backing memory: on a chip in a file of its flash, else in ${net.name}_backing.S. */
#ifdef MA_CHIP
#define ${net.macro}_BACKING NULL
#else
#ifdef __ELF__
__attribute__((visibility("hidden")))
#endif
extern const uint8_t ${net.name}_backing[];
#define ${net.macro}_BACKING ${net.name}_backing
#endif

% endif
#ifdef MATCH_AIE_TRACE
static _Thread_local void (*${net.name}_trace)(int, int, const void *, size_t);

void ${net.name}_set_trace(void (*trace)(int step, int tensor, const void *data, size_t bytes)) {
    ${net.name}_trace = trace;
}
#define ${net.macro}_TRACE(step, tensor, data, bytes) ${"\\"}
    do { if (${net.name}_trace) ${net.name}_trace(step, tensor, data, bytes); } while (0)
#else
#define ${net.macro}_TRACE(step, tensor, data, bytes) ((void)0)
#endif
% for function in net.functions:

${function.strip()}
% endfor

## What the last of the steps that run now leaves to the next ones.
<%def name="keep(index)">\
% for offset, nbytes in net.calls[index].kept:
    ma_l1_keep(${offset}, ${nbytes});
% endfor
</%def>\
## What it begins to load for the next one, or the next two at the same time.
<%def name="load(index, places)">\
<% after = net.calls[index + 1 : index + 2 + (index + 1 in net.beside)] %>\
% for to, loaded in zip(places, after):
% if loaded.ahead:
    ma_ahead_next(${to}, ${loaded.symbol}_ahead, ${sum(text != "NULL" for text in loaded.ahead)}, ${loaded.symbol}_facts, (const void *const[]){${", ".join(loaded.ahead)}});
% endif
% endfor
</%def>\
<%def name="traced(index)">\
% for written in net.calls[index].written:
    ${net.macro}_TRACE(${written.step}, ${written.tensor}, ${written.address}, ${written.nbytes});
% endfor
</%def>\
## Steps at the same time, on the controller.
<%def name="together(index)">\
<% last = max(step for step, _ in net.beside[index]) %>\
    /* ${index} ${"and" if last == index + 1 else "to"} ${last} side by side */
    ma_step_begin(${index});
${keep(last)}\
    ma_beside(${net.name}_beside_${index}, &(struct ${net.name}_beside){call, &ahead});
    ma_step_end(${index});
</%def>\
<%def name="beside(first, order)">\
static void ${net.name}_beside_${first}(void *argument) {
    const struct ${net.name}_beside *const beside = argument;
    uint8_t *const arena = beside->call->arena;
    const void *const *const in = beside->call->in;
    void *const *const out = beside->call->out;
<% steps = sorted({step for step, _ in order}) %>\
    uint8_t *const l1 = ma_l1_open(${max(net.calls[step].l1 for step in steps)});
    struct ma_lane lane[2];
    (void)arena;
    (void)in;
    (void)out;
    if (!l1) {
        return;
    }
<% left = {step: sum(step == turn for turn, _ in order) - 1 for step in steps} %>\
<% opened = set() %>\
% for step, lane in order:
% if step not in opened:
<%
one = net.calls[step]
opened.add(step)
early = "beside->ahead->other" if step == first + 1 else "beside->ahead"
%>\
    /* ${step}: ${one.remark} */
    ma_lane_begin(&lane[${lane}], ${lane}, ${"NULL" if step == first else "beside->ahead"});
% if step > first:
${load(step, ("beside->ahead", "beside->ahead->other"))}\
% endif
    ${one.symbol}(${", ".join(one.arguments)}, ${early if one.ahead or step == first else "NULL"}, l1, &lane[${lane}]);
% endif
% if left[step]:
    ma_lane_next(&lane[${lane}]);
% else:
    ma_lane_close(&lane[${lane}]);
${traced(step)}\
% endif
<% left[step] -= 1 %>\
% endfor
    ma_l1_close(l1);
}
</%def>\
<%def name="call(index)">\
<% one = net.calls[index] %>\
    /* ${index}: ${one.remark} */
% if net.entry:
    ma_step_begin(${index});
% endif
% if one.linked:
${keep(index)}\
${load(index, ("&ahead", "&other"))}\
    ${one.symbol}(${", ".join(one.arguments)}, &ahead);
% else:
    ${one.symbol}(${", ".join(one.arguments)});
% endif
% if net.entry:
    ma_step_end(${index});
% endif
${traced(index)}\
</%def>\
% if any(group.offloaded for group in net.groups):
struct ${net.name}_call {
    uint8_t *arena;
    const void *const *in;
    void *const *out;
};

% if net.beside:
struct ${net.name}_beside {
    const struct ${net.name}_call *call;
    struct ma_ahead *ahead;
};

% for first, order in net.beside.items():
${beside(first, order)}
% endfor
% endif
% if any(one.near for one in net.calls):
/* Lists of tiles, to the inner memory. */
static void ${net.name}_place(void *argument) {
    (void)argument;
% for symbol in dict.fromkeys(one.symbol for one in net.calls if one.near):
    ${symbol}_place();
% endfor
}

% endif
% for number, group in enumerate(net.groups):
% if group.offloaded:
static void ${net.name}_group_${number}(void *argument) {
    const struct ${net.name}_call *const call = argument;
    uint8_t *const arena = call->arena;
    const void *const *const in = call->in;
    void *const *const out = call->out;
% if any(net.calls[index].linked for index in group.steps):
% if any(net.calls[index + 1].ahead for index in group.steps if index in net.beside):
    struct ma_ahead other = {0}, ahead = {.other = &other};
% else:
    struct ma_ahead ahead = {0};
% endif
% endif
    (void)arena;
    (void)in;
    (void)out;
% for index in group.steps:
<% follows = any(index in (step for step, _ in order[1:]) and index != first for first, order in net.beside.items()) %>\
% if index != group.steps[0] and not follows:
    if (ma_fault()) {
        return;
    }
% endif
% if index in net.beside:
${together(index)}\
% elif not follows:
${call(index)}\
% endif
% endfor
}

% endif
% endfor
% endif
% if net.guard:
/* Nothing of it may run before the guard has looked. */
__attribute__((noinline))
% endif
static ${"int" if net.entry else "void"} ${net.name}_steps(uint8_t *arena, const void *const in[], void *const out[]${net.sized.parameters}) {
% for size in net.sized.sizes:
    (void)${size.parameter};
% endfor
% if not net.uses_arena:
    (void)arena;
% endif
% if not net.uses_inputs:
    (void)in;
% endif
% if not net.outputs:
    (void)out;
% endif
% if net.streams:
    if (ma_backing_open(&(const struct ma_backing){"${net.name}_backing.bin", ${net.macro}_BACKING, ${net.backing}})) {
        return 1;
    }
% endif
% if any(one.near for one in net.calls):
    static uint32_t known;
    if (ma_l1_lost(&known) && ma_offload(${net.name}_place, NULL)) {
        known = 0; /* nothing was placed */
        return 1;
    }
% endif
% for number, group in enumerate(net.groups):
% for at, stream in enumerate(net.streams):
% if stream.start == group.steps[0]:
    const ma_dma stream_${at} = ma_backing_load(${stream.address}, ${stream.offset}, ${stream.nbytes});
% endif
% if stream.step == group.steps[0]:
    ma_backing_wait(stream_${at});
% endif
% endfor
% if group.offloaded:
    if (ma_offload(${net.name}_group_${number}, &(struct ${net.name}_call){arena, in, out})) {
% for at, stream in enumerate(net.streams):
% if stream.start <= group.steps[0] < stream.step:
        ma_backing_wait(stream_${at});
% endif
% endfor
        return 1;
    }
% else:
${call(group.steps[0])}\
% endif
% endfor
% if net.entry:
    return ${"ma_fault() != NULL" if net.streams else "0"};
% endif
}

% if net.many:
## Calls of runs that follow each other: those until a run's inputs are on their way, and the others.
% for name, steps in (("before", net.calls[: net.many.last + 1]), ("after", net.calls[net.many.last + 1 :])):
static void ${net.name}_${name}(uint8_t *arena, const void *const in[], void *const out[]) {
    (void)arena;
    (void)in;
    (void)out;
% if name == "after":
    ${net.many.symbol}_take(${net.many.result});
% endif
% for one in steps:
    /* ${one.remark} */
    ${one.symbol}(${", ".join(one.arguments)});
% endfor
}

% endfor
% endif
% if net.guard:
const char *${net.name}_unsupported(void) {
    return ${net.guard}();
}

% endif
% if net.entry:
const char *${net.name}_fault(void) {
    return ma_fault();
}

% endif
const size_t *${net.name}_sizes(void) {
    static const size_t sizes[] = {
        ${net.macro}_ALIGNMENT, ${net.macro}_ARENA_BYTES, ${net.macro}_INPUTS, ${net.macro}_OUTPUTS,
% for port in (*net.inputs, *net.outputs):
        ${port.macro}_BYTES,
% endfor
    };
    return sizes;
}

int ${net.name}_run_in(void *arena, const void *const in[], void *const out[]${net.sized.parameters}) {
% if net.sized.sizes:
    if (${net.sized.wrong}) {
        return ${net.macro}_WRONG_SIZE;
    }
% endif
% if net.guard:
    if (${net.name}_unsupported()) {
        return 1;
    }
% endif
% if net.entry:
    return ${net.entry}(${net.name}_steps, arena, in, out);
% else:
    ${net.name}_steps(arena, in, out${net.sized.arguments});
    return 0;
% endif
}

int ${net.name}_run(const void *const in[], void *const out[]${net.sized.parameters}) {
% if net.arena:
    static _Alignas(${net.macro}_ALIGNMENT) uint8_t arena[${net.macro}_ARENA_BYTES];
    return ${net.name}_run_in(arena, in, out${net.sized.arguments});
% else:
    return ${net.name}_run_in(NULL, in, out${net.sized.arguments});
% endif
}
% if net.many:

int ${net.name}_run_many(const void *const in[], void *const out[], size_t runs) {
% if net.guard:
    if (${net.name}_unsupported()) {
        return 1;
    }
% endif
% if net.arena:
    static _Alignas(${net.macro}_ALIGNMENT) uint8_t arena[${net.macro}_ARENA_BYTES];
% else:
    uint8_t *const arena = NULL;
% endif
    const size_t ahead = ${net.many.ahead}, most = (size_t)1 << 30; /* a start counts in int */
    while (runs > 0) {
        const size_t now = runs < most ? runs : most;
        ${net.many.symbol}_begin(now);
        for (size_t at = 0; at < now + ahead; ++at) {
            if (at < now) {
                ${net.name}_before(arena, in + at * ${net.macro}_INPUTS, out + at * ${net.macro}_OUTPUTS);
            }
            if (at >= ahead) {
                const size_t done = at - ahead;
                ${net.name}_after(arena, in + done * ${net.macro}_INPUTS, out + done * ${net.macro}_OUTPUTS);
            }
        }
        ${net.many.symbol}_end();
        in += now * ${net.macro}_INPUTS;
        out += now * ${net.macro}_OUTPUTS;
        runs -= now;
    }
    return 0;
}
% endif
% if net.states.records:

void ${net.name}_reset(void *state) {
    uint8_t *const bytes = state;
    bytes[0] = 0;
% for index, kept in enumerate(net.states.records):
% if kept.fill is not None:
    memset(bytes + ${net.alignment + kept.offset}, ${kept.fill}, ${kept.nbytes});
% else:
    static const uint8_t first_${index}[] = {${", ".join(map(str, kept.first))}};
    memcpy(bytes + ${net.alignment + kept.offset}, first_${index}, sizeof first_${index});
% endif
% endfor
}

int ${net.name}_step(void *state, void *arena, const void *const in[], void *const out[]) {
    /* The first byte says which of two banks holds what the step before wrote. */
    uint8_t *const bytes = state, *const banks = bytes + ${net.alignment};
    const uint8_t *const old = banks + (bytes[0] ? ${net.states.nbytes} : 0);
    uint8_t *const now = banks + (bytes[0] ? 0 : ${net.states.nbytes});
    const void *inputs[${net.macro}_INPUTS];
    void *outputs[${net.macro}_OUTPUTS];
    memcpy(inputs, in, sizeof inputs);
    memcpy(outputs, out, sizeof outputs);
% for kept in net.states.records:
    inputs[${kept.input}] = old + ${kept.offset};
    outputs[${kept.output}] = now + ${kept.offset};
% endfor
    const int status = ${net.name}_run_in(arena, inputs, outputs);
    if (status != 0) {
        return status;
    }
% for kept in net.states.records:
    if (out[${kept.output}]) {
        memcpy(out[${kept.output}], now + ${kept.offset}, ${kept.nbytes});
    }
% endfor
    bytes[0] = !bytes[0];
    return 0;
}
% endif
