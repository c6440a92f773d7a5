/* How emulated intrinsics are written: operands as arrays of lanes, one lane after the other. */
#ifndef EMULATION_LANES_H
#define EMULATION_LANES_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#define EMULATED static inline __attribute__((always_inline, unused))

/* Saturation of a 32-bit value. */
EMULATED int32_t emulated_within(int32_t v, int32_t low, int32_t high)
{
    return v < low ? low : v > high ? high : v;
}

/* `statement` computes r[i] from the operands' lanes a[], b[] and c[]. */
#define EMULATE1(result, name, vector, out, in, statement)                 \
    EMULATED result name(vector va)                                        \
    {                                                                      \
        in a[sizeof va / sizeof(in)];                                      \
        out r[sizeof(result) / sizeof(out)];                               \
        result made;                                                       \
        memcpy(a, &va, sizeof va);                                         \
        for (int i = 0; i < (int)(sizeof(result) / sizeof(out)); ++i) {    \
            statement;                                                     \
        }                                                                  \
        memcpy(&made, r, sizeof made);                                     \
        return made;                                                       \
    }
#define EMULATE2(result, name, vector, out, in, statement)                 \
    EMULATED result name(vector va, vector vb)                             \
    {                                                                      \
        in a[sizeof va / sizeof(in)], b[sizeof vb / sizeof(in)];           \
        out r[sizeof(result) / sizeof(out)];                               \
        result made;                                                       \
        memcpy(a, &va, sizeof va);                                         \
        memcpy(b, &vb, sizeof vb);                                         \
        for (int i = 0; i < (int)(sizeof(result) / sizeof(out)); ++i) {    \
            statement;                                                     \
        }                                                                  \
        memcpy(&made, r, sizeof made);                                     \
        return made;                                                       \
    }
/* The first operand and the result have the same lanes. */
#define EMULATE3(result, name, vector_b, vector_c, out, in_b, in_c, statement) \
    EMULATED result name(result va, vector_b vb, vector_c vc)                  \
    {                                                                          \
        in_b b[sizeof vb / sizeof(in_b)];                                      \
        in_c c[sizeof vc / sizeof(in_c)];                                      \
        out a[sizeof(result) / sizeof(out)], r[sizeof(result) / sizeof(out)];  \
        result made;                                                           \
        memcpy(a, &va, sizeof va);                                             \
        memcpy(b, &vb, sizeof vb);                                             \
        memcpy(c, &vc, sizeof vc);                                             \
        for (int i = 0; i < (int)(sizeof(result) / sizeof(out)); ++i) {        \
            statement;                                                         \
        }                                                                      \
        memcpy(&made, r, sizeof made);                                         \
        return made;                                                           \
    }

#endif
