/* ${net.title}
 *
 * Written by match_aie. The files of this project belong to you: use, change and pass them on
 * under whatever terms you like.
 *
 * All addresses handed in must be multiples of ${net.macro}_ALIGNMENT, and no input, output or
 * arena may overlap another. Tensors are dense and row-major.
 */
#ifndef ${net.macro}_H
#define ${net.macro}_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ${net.macro}_ALIGNMENT ${net.alignment}
#define ${net.macro}_ARENA_BYTES ${net.arena}
#define ${net.macro}_WEIGHT_BYTES ${net.weights}
#define ${net.macro}_INPUTS ${len(net.inputs)}
#define ${net.macro}_OUTPUTS ${len(net.outputs)}
% if net.sized.sizes:

/* Sizes that a run gives, within these bounds. Sizes of buffers below are the largest; elements of
 * a run are ..._ELEMENTS_AT(${", ".join(size.label for size in net.sized.sizes)}). */
% for size in net.sized.sizes:
#define ${net.macro}_MIN_${size.macro} ${size.low}
#define ${net.macro}_MAX_${size.macro} ${size.high}
% endfor
#define ${net.macro}_WRONG_SIZE 2
% endif
% for word, ports in (("in", net.inputs), ("out", net.outputs)):
% for index, port in enumerate(ports):

/* ${word}[${index}]: ${port.label}, ${port.dtype}[${port.shown}] */
#define ${port.macro}_ELEMENTS ${port.elements}
% if port.growing:
#define ${port.macro}_ELEMENTS_AT(${net.sized.arguments[2:]}) (${port.growing})
% endif
#define ${port.macro}_BYTES ${port.nbytes}
#define ${port.macro}_RANK ${len(port.shape)}
% if port.shape:
#define ${port.macro}_SHAPE {${", ".join(map(str, port.shape))}}
% endif
% if port.scale:
#define ${port.macro}_SCALE ${port.scale}
#define ${port.macro}_ZERO_POINT (${port.zero_point})
% endif
% endfor
% endfor

% if net.guard:
/* Why this machine's processor cannot run the network, in a sentence; NULL where it can. */
const char *${net.name}_unsupported(void);

% endif
% if net.entry:
/* What failed in the last run, in a sentence; NULL where nothing did. */
const char *${net.name}_fault(void);

% endif
<% wrong = f", {net.macro}_WRONG_SIZE where a size is out of its bounds" if net.sized.sizes else "" %>\
<% refused = wrong + f", or 1 where {net.name}_unsupported says why" if net.guard else f", or another status where {net.name}_fault says why" if net.entry else wrong %>\
/* Runs the network once in an arena of its own, so in one thread at a time. Returns 0${refused}. */
int ${net.name}_run(const void *const in[], void *const out[]${net.sized.parameters});

/* The same in an arena of the caller's, ${net.macro}_ARENA_BYTES long (NULL where that is 0);
 * any number of threads, each with its arena. Returns 0${refused}. */
int ${net.name}_run_in(void *arena, const void *const in[], void *const out[]${net.sized.parameters});

% if net.many:
/* Runs the network so many times, for inputs and outputs that stand behind each other: in[] has
 * ${net.macro}_INPUTS addresses for each run, out[] ${net.macro}_OUTPUTS. Up to ${net.many.ahead} runs begin before
 * the first one's result is there, so all inputs must be there, and no output may be an input of
 * another run. In an arena of its own, so in one thread at a time; other threads' calls of the
 * other functions wait until it has ended. Returns 0${refused}. */
int ${net.name}_run_many(const void *const in[], void *const out[], size_t runs);

% endif
% if net.states.records:
/* The network keeps something from one call to the next: a state, in ${net.macro}_STATE_BYTES of the
 * caller's memory, one for each stream of calls. */
#define ${net.macro}_STATE_BYTES ${2 * net.states.nbytes + net.alignment}

/* Before the first step of a stream. */
void ${net.name}_reset(void *state);

/* The next step of a stream: a run in which these are kept in the state:
% for kept in net.states.records:
 *   in[${kept.input}] (${net.inputs[kept.input].label}) is out[${kept.output}] of the step before
% endfor
 * What in[] says of them is not read; out[] may be NULL for them, else it gets a copy.
 * Returns what ${net.name}_run_in does; a step that fails leaves the state as it was. */
int ${net.name}_step(void *state, void *arena, const void *const in[], void *const out[]);

% endif
/* What the library was built with: ${net.macro}_ALIGNMENT, _ARENA_BYTES, _INPUTS, _OUTPUTS, then the
 * bytes of every input and every output. Callers compare before the first run. */
const size_t *${net.name}_sizes(void);

#ifdef MATCH_AIE_TRACE
/* After each step, `trace` gets every tensor that the step wrote, by its index in match_aie.json;
 * NULL for none. Each thread has its own. */
void ${net.name}_set_trace(void (*trace)(int step, int tensor, const void *data, size_t bytes));
#endif

#ifdef __cplusplus
}
#endif

#endif
