/* The chip's program, and yours to change: runs the network MA_NETWORK, MA_RUNS times, and says what
 * came out; with MA_COUNTERS also what every step took, in the form that `match-aie compare-cycles`
 * reads. Inputs are those of the file that the build was given (MA_INPUTS), one after the other, or else
 * bytes of a generator that are no special numbers as floats.
 *
 * Of PMSIS it calls pmsis_kickoff, pmsis_exit, pi_l2_malloc and pi_perf_*, and of the C library printf.
 */
#include "ma_platform.h"
#include "ma_pmsis.h"

#include "pmsis.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define TEXT_(name) #name
#define TEXT(name) TEXT_(name)
#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)
#define NET(suffix) PASTE(MA_NETWORK, suffix)
#include TEXT(MA_NETWORK.h)

#ifndef MA_RUNS
#define MA_RUNS 2
#endif
/* Inputs and outputs together, at most. */
#define PORTS 64
/* Of <network>_sizes: alignment, arena, inputs, outputs, then the bytes of each. */
enum { ALIGNMENT, ARENA, INPUTS, OUTPUTS, BYTES };

#ifdef MA_INPUTS
extern const uint8_t ma_inputs[];
#endif

#ifdef MA_COUNTERS
/* Of which code it is (a hash of src/<network>.c), where it ran, and in what it counts. */
#ifndef MA_CODE
#define MA_CODE "unknown"
#endif
#ifndef MA_WHERE
#define MA_WHERE "not said"
#endif
#ifndef MA_UNIT
#define MA_UNIT "cycles"
#endif
#ifndef MA_STEPS
#define MA_STEPS 1024
#endif

static uint32_t taken[MA_STEPS], begun;
static uint8_t counted[MA_STEPS];

/* The control core and the cluster count apart, each from when it is asked first. */
static uint32_t now(void)
{
    static int counts[2];
    const int side = ma_offloaded();
    if (!counts[side]) {
        pi_perf_conf(1u << PI_PERF_CYCLES);
        pi_perf_reset();
        pi_perf_start();
        counts[side] = 1;
    }
    return pi_perf_read(PI_PERF_CYCLES);
}

void ma_step_begin(uint32_t step)
{
    (void)step;
    begun = now();
}

void ma_step_end(uint32_t step)
{
    const uint32_t end = now();
    if (step < MA_STEPS) {
        taken[step] = end - begun;
        counted[step] = 1;
    } else {
        ma_fail("more steps than MA_STEPS counts");
    }
}

static void say_cycles(uint32_t run, uint32_t all)
{
    printf("ma_cycles 1\nnetwork %s\ncode %s\n", TEXT(MA_NETWORK), MA_CODE);
    printf("where %s\nunit %s\nrun %u\n", MA_WHERE, MA_UNIT, (unsigned)run);
    for (uint32_t step = 0; step < MA_STEPS; ++step) {
        if (counted[step]) {
            printf("step %u %u\n", (unsigned)step, (unsigned)taken[step]);
        }
    }
    printf("all %u\nma_end\n", (unsigned)all);
}
#endif

static int run_once(uint32_t run, const void *const in[], void *const out[])
{
#ifdef MA_COUNTERS
    memset(counted, 0, sizeof counted);
    const uint32_t begin = now();
    const int status = NET(_run)(in, out);
    const uint32_t all = now() - begin;
    if (!status) {
        say_cycles(run, all);
    }
    return status;
#else
    (void)run;
    return NET(_run)(in, out);
#endif
}

static void fill(uint8_t *to, size_t bytes, size_t at)
{
#ifdef MA_INPUTS
    memcpy(to, ma_inputs + at, bytes);
#else
    uint32_t x = 12345u + (uint32_t)at;
    for (size_t i = 0; i < bytes; ++i) {
        x = x * 1664525u + 1013904223u;
        to[i] = i % 4 == 3 ? 0x3f : (uint8_t)(x >> 24);
    }
#endif
}

/* A hash (FNV-1a, 32 bits) of all bytes, and the first ones. */
static void say_output(uint32_t number, const uint8_t *bytes, size_t count)
{
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < count; ++i) {
        hash = (hash ^ bytes[i]) * 16777619u;
    }
    printf("ma_output %u %u %08x ", (unsigned)number, (unsigned)count, (unsigned)hash);
    for (size_t i = 0; i < count && i < 64; ++i) {
        printf("%02x", (unsigned)bytes[i]);
    }
    printf("\n");
}

static int run_all(void)
{
    static uint8_t *port[PORTS];
    const size_t *const sizes = NET(_sizes)(), alignment = sizes[ALIGNMENT];
    const size_t inputs = sizes[INPUTS], ports = inputs + sizes[OUTPUTS];
    size_t at = 0;
    if (ports > PORTS) {
        printf("ma_failed: more inputs and outputs than PORTS\n");
        return 1;
    }
    for (size_t i = 0; i < ports; ++i) {
        uint8_t *const taken_bytes = pi_l2_malloc((int)(sizes[BYTES + i] + alignment));
        if (!taken_bytes) {
            printf("ma_failed: L2 has no room for inputs and outputs\n");
            return 1;
        }
        port[i] = taken_bytes + (alignment - (uintptr_t)taken_bytes % alignment) % alignment;
        if (i < inputs) {
            fill(port[i], sizes[BYTES + i], at);
            at += sizes[BYTES + i];
        }
    }
    for (uint32_t run = 1; run <= MA_RUNS; ++run) {
        for (size_t i = inputs; i < ports; ++i) {
            memset(port[i], 0xa5, sizes[BYTES + i]);
        }
        if (run_once(run, (const void *const *)port, (void *const *)(port + inputs))) {
            const char *const fault = NET(_fault)();
            printf("ma_failed: %s\n", fault ? fault : "nobody said why");
            return 1;
        }
    }
    for (size_t i = inputs; i < ports; ++i) {
        say_output((uint32_t)(i - inputs), port[i], sizes[BYTES + i]);
    }
    return 0;
}

static void kickoff(void)
{
    pmsis_exit(run_all());
}

int main(void)
{
    return pmsis_kickoff((void *)kickoff);
}
