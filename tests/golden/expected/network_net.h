/* net
 *
 * Written by match_aie. The files of this project belong to you: use, change and pass them on
 * under whatever terms you like.
 *
 * All addresses handed in must be multiples of NET_ALIGNMENT, and no input, output or
 * arena may overlap another. Tensors are dense and row-major.
 */
#ifndef NET_H
#define NET_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NET_ALIGNMENT 64
#define NET_ARENA_BYTES 192
#define NET_WEIGHT_BYTES 256
#define NET_INPUTS 1
#define NET_OUTPUTS 1

/* in[0]: x, int8[3, 5] */
#define NET_INPUT_0_ELEMENTS 15
#define NET_INPUT_0_BYTES 15
#define NET_INPUT_0_RANK 2
#define NET_INPUT_0_SHAPE {3, 5}

/* out[0]: y, int32[1, 2] */
#define NET_OUTPUT_0_ELEMENTS 2
#define NET_OUTPUT_0_BYTES 8
#define NET_OUTPUT_0_RANK 2
#define NET_OUTPUT_0_SHAPE {1, 2}

/* Runs the network once in an arena of its own, so in one thread at a time. Returns 0. */
int net_run(const void *const in[], void *const out[]);

/* The same in an arena of the caller's, NET_ARENA_BYTES long (NULL where that is 0);
 * any number of threads, each with its arena. Returns 0. */
int net_run_in(void *arena, const void *const in[], void *const out[]);

/* What the library was built with: NET_ALIGNMENT, _ARENA_BYTES, _INPUTS, _OUTPUTS, then the
 * bytes of every input and every output. Callers compare before the first run. */
const size_t *net_sizes(void);

#ifdef MATCH_AIE_TRACE
/* After each step, `trace` gets every tensor that the step wrote, by its index in match_aie.json;
 * NULL for none. Each thread has its own. */
void net_set_trace(void (*trace)(int step, int tensor, const void *data, size_t bytes));
#endif

#ifdef __cplusplus
}
#endif

#endif
