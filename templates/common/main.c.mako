/* Runs ${net.title} once on raw files: ${net.name}_main ${"SIZE... " if net.sized.sizes else ""}INPUT... OUTPUT...
 * Files hold the elements of dense tensors as this machine has them, and nothing else.
 * Written by match_aie for builds with sanitizers and static programs; this file belongs to you.
 */
% if net.sized.sizes:
#define _POSIX_C_SOURCE 200112L
% endif
#include "${net.name}.h"

#include <stdio.h>
#include <stdlib.h>

% if not net.sized.sizes:
% for port in (*net.inputs, *net.outputs):
static _Alignas(${net.macro}_ALIGNMENT) uint8_t ${port.macro.lower()}[${port.macro}_BYTES];
% endfor
% endif
% if net.arena:
static _Alignas(${net.macro}_ALIGNMENT) uint8_t arena[${net.macro}_ARENA_BYTES];
% endif

% if net.arena or net.outputs:
/* No zeros: what is read, or handed out, without ever being written shows. As floats these are NaN,
 * and other bytes than those that match_aie fills before its own runs. */
static void poison(uint8_t *bytes, size_t count) {
#ifndef MATCH_AIE_STATIC
    for (size_t i = 0; i < count; ++i) {
        bytes[i] = i % 4 < 2 ? 0x5A : 0xFF;
    }
#else
    (void)bytes;
    (void)count;
#endif
}

% endif
#ifdef MATCH_AIE_TRACE
/* Which step was done last stands in the file that MATCH_AIE_PROGRESS names, if it does. */
static FILE *progress;

static void done(int step, int tensor, const void *data, size_t bytes) {
    (void)tensor;
    (void)data;
    (void)bytes;
    if (progress) {
        rewind(progress);
        fprintf(progress, "%d\n", step);
        fflush(progress);
    }
}
#endif

% if net.sized.sizes:
/* Exactly as large as a run needs, so that what reads or writes beyond it is seen. */
static void *buffer(size_t bytes) {
    void *memory;
    if (posix_memalign(&memory, ${net.macro}_ALIGNMENT, bytes)) {
        fprintf(stderr, "no memory for %zu bytes\n", bytes);
        exit(2);
    }
    return memory;
}

/* A size, from its decimal digits; 0, which no network takes, for anything else. */
static int32_t size_of(const char *text) {
    char *end;
    const long value = strtol(text, &end, 10);
    return *end || end == text || value < 0 || value > INT32_MAX ? 0 : (int32_t)value;
}

% endif
int main(int argc, char **argv) {
% if net.sized.sizes:
% for index, size in enumerate(net.sized.sizes):
    const int32_t ${size.parameter} = argc > ${1 + index} ? size_of(argv[${1 + index}]) : 0;
% endfor
    if (${net.sized.wrong}) {
        fprintf(stderr, "usage: %s ${" ".join(f"{size.label}({size.low}..{size.high})" for size in net.sized.sizes)} INPUT... OUTPUT...\n", argv[0]);
        return 2;
    }
    argc -= ${len(net.sized.sizes)};
    argv += ${len(net.sized.sizes)};
    const size_t sizes[] = {
% for port in (*net.inputs, *net.outputs):
        ${f"{port.macro}_BYTES / {port.macro}_ELEMENTS * (size_t){port.macro}_ELEMENTS_AT({net.sized.arguments[2:]})" if port.growing else f"{port.macro}_BYTES"},
% endfor
    };
    uint8_t *const buffers[] = {
% for index, port in enumerate((*net.inputs, *net.outputs)):
        buffer(sizes[${index}]),
% endfor
    };
% else:
    static uint8_t *const buffers[] = {
% for port in (*net.inputs, *net.outputs):
        ${port.macro.lower()},
% endfor
    };
    static const size_t sizes[] = {
% for port in (*net.inputs, *net.outputs):
        ${port.macro}_BYTES,
% endfor
    };
% endif
% if net.guard:
    const char *const unsupported = ${net.name}_unsupported();
    if (unsupported) {
        fprintf(stderr, "%s\n", unsupported);
        return 3;
    }
% endif
    const int inputs = ${net.macro}_INPUTS, outputs = ${net.macro}_OUTPUTS;
    const void *in[${net.macro}_INPUTS + 1] = {0};
    void *out[${net.macro}_OUTPUTS + 1] = {0};
    if (argc != 1 + inputs + outputs) {
        fprintf(stderr, "usage: %s INPUT... OUTPUT... (%d inputs, %d outputs)\n", argv[0], inputs, outputs);
        return 2;
    }
    for (int i = 0; i < inputs; ++i) {
        FILE *file = fopen(argv[1 + i], "rb");
        if (!file || fread(buffers[i], 1, sizes[i], file) != sizes[i] || fgetc(file) != EOF) {
            fprintf(stderr, "%s: cannot be read, or has another size than the input\n", argv[1 + i]);
            return 2;
        }
        fclose(file);
        in[i] = buffers[i];
    }
    for (int i = 0; i < outputs; ++i) {
        out[i] = buffers[inputs + i];
        poison(out[i], sizes[inputs + i]);
    }
#ifdef MATCH_AIE_TRACE
    progress = getenv("MATCH_AIE_PROGRESS") ? fopen(getenv("MATCH_AIE_PROGRESS"), "w") : NULL;
    ${net.name}_set_trace(done);
#endif
% if net.arena:
    poison(arena, sizeof arena);
    const int status = ${net.name}_run_in(arena, in, out${net.sized.arguments});
% else:
    const int status = ${net.name}_run_in(NULL, in, out${net.sized.arguments});
% endif
% if net.entry:
    if (status) {
        const char *const fault = ${net.name}_fault();
        fprintf(stderr, "%s\n", fault ? fault : "the network failed and did not say why");
    }
% endif
    for (int i = 0; i < outputs; ++i) {
        const char *path = argv[1 + inputs + i];
        FILE *file = fopen(path, "wb");
        const int wrong = !file || fwrite(out[i], 1, sizes[inputs + i], file) != sizes[inputs + i];
        if (wrong || fclose(file)) {
            fprintf(stderr, "%s: cannot be written\n", path);
            return 2;
        }
    }
    return status;
}
