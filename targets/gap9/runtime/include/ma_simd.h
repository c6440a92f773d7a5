/* Four bytes in one register: what the cluster's kernels compute with.
 *
 * On cores with the Xpulp extension every function is one instruction (ma_transpose4: eight, two
 * for each of its four words); elsewhere portable C of equal meaning. 32-bit sums wrap around.
 * Words are little-endian: byte i of memory is bits 8i .. 8i + 7.
 */
#ifndef MA_SIMD_H
#define MA_SIMD_H

#include <stdint.h>
#include <string.h>

#ifdef __BYTE_ORDER__
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "words are little-endian");
#endif
_Static_assert((-1 >> 1) == -1, "right shifts keep the sign");

/* GCC for PULP says __pulp__ (pulp-platform/pulp-riscv-gcc@2b2a446, gcc/config/riscv/riscv-c.c), that
 * of GAP9's SDK __gap9__, too; LLVM's port has no such name, but the same builtins. */
#ifndef MA_XPULP
#if defined(__pulp__) || defined(__gap9__)
#define MA_XPULP 1
#elif defined(__has_builtin)
#if __has_builtin(__builtin_pulp_sdotsp4)
#define MA_XPULP 1
#endif
#endif
#endif
#ifndef MA_XPULP
#define MA_XPULP 0
#endif

#if MA_XPULP
typedef int8_t ma_v4s __attribute__((vector_size(4)));
typedef uint8_t ma_v4u __attribute__((vector_size(4)));
typedef int16_t ma_v2s __attribute__((vector_size(4)));
/* Bytes i, j, k, l of eight, the first four of which are those of a: pv.shuffle2.b. */
#ifdef __clang__
#define MA_SHUFFLE4(a, b, i, j, k, l) __builtin_shufflevector(a, b, i, j, k, l)
#else
#define MA_SHUFFLE4(a, b, i, j, k, l) __builtin_shuffle(a, b, (ma_v4u){i, j, k, l})
#endif
#endif

/* Sums and products modulo 2^32, as the hardware computes them. */
static inline int32_t ma_wrapping_add(int32_t a, int32_t b)
{
    return (int32_t)((uint32_t)a + (uint32_t)b);
}

static inline int32_t ma_wrapping_multiply(int32_t a, int32_t b)
{
    return (int32_t)((uint32_t)a * (uint32_t)b);
}

/* a * b + sum, modulo 2^32: p.mac. */
static inline int32_t ma_multiply_add(int32_t a, int32_t b, int32_t sum)
{
#if MA_XPULP
    return __builtin_pulp_mac(a, b, sum);
#else
    return ma_wrapping_add(sum, ma_wrapping_multiply(a, b));
#endif
}

/* (a + b) >> shift, the sum modulo 2^32, for shifts of 0 .. 31: p.addNr. */
static inline int32_t ma_add_shift(int32_t a, int32_t b, int32_t shift)
{
#if MA_XPULP
    return __builtin_pulp_addN_r(a, b, shift);
#else
    return ma_wrapping_add(a, b) >> shift;
#endif
}

/* Four bytes at any address. The cores load a misaligned word in two accesses, with Xpulp or without;
 * a compiler that does not know it would make a word of bytes, on the stack. */
#if MA_XPULP || (defined(MA_CHIP) && defined(__riscv))
#define MA_ANY_WORD 1
typedef uint32_t ma_word __attribute__((may_alias));
#else
#define MA_ANY_WORD 0
#endif

static inline uint32_t ma_load4(const void *from)
{
#if MA_ANY_WORD
    return *(const ma_word *)from;
#else
    uint32_t word;
    memcpy(&word, from, 4);
    return word;
#endif
}

static inline void ma_store4(void *to, uint32_t word)
{
#if MA_ANY_WORD
    *(ma_word *)to = word;
#else
    memcpy(to, &word, 4);
#endif
}

/* The first `count` (0 .. 3) bytes at `from`, then zeros: reads nothing beyond them. */
static inline uint32_t ma_load_part(const void *from, int32_t count)
{
    const uint8_t *bytes = from;
    uint32_t word = 0;
    for (int32_t i = 0; i < count; ++i) {
        word |= (uint32_t)bytes[i] << (8 * i);
    }
    return word;
}

static inline void ma_store_part(void *to, uint32_t word, int32_t count)
{
    uint8_t *bytes = to;
    for (int32_t i = 0; i < count; ++i) {
        bytes[i] = (uint8_t)(word >> (8 * i));
    }
}

static inline uint32_t ma_splat4(int32_t value)
{
    return (uint32_t)(uint8_t)value * 0x01010101u;
}

/* Byte `lane` of `word` as a number, from int8 or from uint8. */
static inline int32_t ma_lane(uint32_t word, int32_t lane, int is_signed)
{
    const uint8_t byte = (uint8_t)(word >> (8 * lane));
    return is_signed ? (int8_t)byte : byte;
}

/* The four lanes of `word` as numbers. With Xpulp an instruction each, whatever the compiler makes of
 * shifts: those in the middle are dot products with a one and zeros (pv.dot[u]sp.b). */
static inline void ma_lanes(uint32_t word, int is_signed, int32_t to[4])
{
#if MA_XPULP
    const ma_v4s second = {0, 1, 0, 0}, third = {0, 0, 1, 0};
    to[0] = ma_lane(word, 0, is_signed);
    to[1] = is_signed ? __builtin_pulp_dotsp4((ma_v4s)word, second)
                      : __builtin_pulp_dotusp4((ma_v4u)word, second);
    to[2] = is_signed ? __builtin_pulp_dotsp4((ma_v4s)word, third)
                      : __builtin_pulp_dotusp4((ma_v4u)word, third);
    to[3] = ma_lane(word, 3, is_signed);
#else
    for (int32_t j = 0; j < 4; ++j) {
        to[j] = ma_lane(word, j, is_signed);
    }
#endif
}

/* `value` within 0 .. most: p.clipur. */
static inline int32_t ma_clip_from_zero(int32_t value, int32_t most)
{
#if MA_XPULP
    return __builtin_pulp_clipu_r(value, most);
#else
    return value < 0 ? 0 : value > most ? most : value;
#endif
}

/* Four numbers of 8 bits as a word: pv.packlo.b and pv.packhi.b. */
static inline uint32_t ma_pack4(int32_t a, int32_t b, int32_t c, int32_t d)
{
#if MA_XPULP
    return (uint32_t)__builtin_pulp_pack4(a, b, c, d);
#else
    return (uint32_t)(uint8_t)a | (uint32_t)(uint8_t)b << 8 | (uint32_t)(uint8_t)c << 16
        | (uint32_t)(uint8_t)d << 24;
#endif
}

/* acc + sum over four lanes of x * w; w is int8, x is int8 or uint8: pv.sdot[u]sp.b. */
static inline int32_t ma_dot4(uint32_t x, uint32_t w, int32_t acc, int is_signed)
{
#if MA_XPULP
    return is_signed ? __builtin_pulp_sdotsp4((ma_v4s)x, (ma_v4s)w, acc)
                     : __builtin_pulp_sdotusp4((ma_v4u)x, (ma_v4s)w, acc);
#else
    int32_t sum = 0;
    for (int32_t i = 0; i < 4; ++i) {
        sum += ma_lane(x, i, is_signed) * ma_lane(w, i, 1);
    }
    return ma_wrapping_add(acc, sum);
#endif
}

/* The larger of each lane: pv.max[u].b. */
static inline uint32_t ma_max4(uint32_t a, uint32_t b, int is_signed)
{
#if MA_XPULP
    return is_signed ? (uint32_t)__builtin_pulp_max4((ma_v4s)a, (ma_v4s)b)
                     : (uint32_t)__builtin_pulp_maxu4((ma_v4u)a, (ma_v4u)b);
#else
    uint32_t word = 0;
    for (int32_t i = 0; i < 4; ++i) {
        const uint32_t from = ma_lane(a, i, is_signed) > ma_lane(b, i, is_signed) ? a : b;
        word |= from & ((uint32_t)0xff << (8 * i));
    }
    return word;
#endif
}

/* The smaller of each lane: pv.min[u].b. */
static inline uint32_t ma_min4(uint32_t a, uint32_t b, int is_signed)
{
#if MA_XPULP
    return is_signed ? (uint32_t)__builtin_pulp_min4((ma_v4s)a, (ma_v4s)b)
                     : (uint32_t)__builtin_pulp_minu4((ma_v4u)a, (ma_v4u)b);
#else
    uint32_t word = 0;
    for (int32_t i = 0; i < 4; ++i) {
        const uint32_t from = ma_lane(a, i, is_signed) < ma_lane(b, i, is_signed) ? a : b;
        word |= from & ((uint32_t)0xff << (8 * i));
    }
    return word;
#endif
}

/* A 4 x 4 matrix of bytes, a row a word, transposed: pv.shuffle2.b, eight of them. */
static inline void ma_transpose4(uint32_t word[4])
{
#if MA_XPULP
    const ma_v4u a = (ma_v4u)word[0], b = (ma_v4u)word[1], c = (ma_v4u)word[2], d = (ma_v4u)word[3];
    const ma_v4u ab_low = MA_SHUFFLE4(a, b, 0, 4, 1, 5), ab_high = MA_SHUFFLE4(a, b, 2, 6, 3, 7);
    const ma_v4u cd_low = MA_SHUFFLE4(c, d, 0, 4, 1, 5), cd_high = MA_SHUFFLE4(c, d, 2, 6, 3, 7);
    word[0] = (uint32_t)MA_SHUFFLE4(ab_low, cd_low, 0, 1, 4, 5);
    word[1] = (uint32_t)MA_SHUFFLE4(ab_low, cd_low, 2, 3, 6, 7);
    word[2] = (uint32_t)MA_SHUFFLE4(ab_high, cd_high, 0, 1, 4, 5);
    word[3] = (uint32_t)MA_SHUFFLE4(ab_high, cd_high, 2, 3, 6, 7);
#else
    const uint32_t from[4] = {word[0], word[1], word[2], word[3]};
    for (int32_t i = 0; i < 4; ++i) {
        word[i] = 0;
        for (int32_t j = 0; j < 4; ++j) {
            word[i] |= ((from[j] >> (8 * i)) & 0xffu) << (8 * j);
        }
    }
#endif
}

/* Three words' bytes one by one: the first of each, the second of each, ...: six pv.shuffle2.b. */
static inline void ma_interleave3(uint32_t word[3])
{
#if MA_XPULP
    const ma_v4u a = (ma_v4u)word[0], b = (ma_v4u)word[1], c = (ma_v4u)word[2];
    const ma_v4u first = MA_SHUFFLE4(a, b, 0, 4, 1, 5), second = MA_SHUFFLE4(a, b, 5, 2, 6, 3);
    const ma_v4u third = MA_SHUFFLE4(a, b, 3, 7, 2, 6);
    word[0] = (uint32_t)MA_SHUFFLE4(first, c, 0, 1, 4, 2);
    word[1] = (uint32_t)MA_SHUFFLE4(second, c, 0, 5, 1, 2);
    word[2] = (uint32_t)MA_SHUFFLE4(third, c, 6, 0, 1, 7);
#else
    const uint32_t a = word[0], b = word[1], c = word[2];
    word[0] = (a & 0xff) | (b & 0xff) << 8 | (c & 0xff) << 16 | (a & 0xff00) << 16;
    word[1] = (b >> 8 & 0xff) | (c & 0xff00) | (a & 0xff0000) | (b & 0xff0000) << 8;
    word[2] = (c >> 16 & 0xff) | (a >> 16 & 0xff00) | (b >> 8 & 0xff0000) | (c & 0xff000000);
#endif
}

/* acc + sum over two lanes of int16 x * w: pv.sdotsp.h. */
static inline int32_t ma_dot2(uint32_t x, uint32_t w, int32_t acc)
{
#if MA_XPULP
    return __builtin_pulp_sdotsp2((ma_v2s)x, (ma_v2s)w, acc);
#else
    const int32_t low = (int16_t)(uint16_t)x * (int16_t)(uint16_t)w;
    const int32_t high = (int16_t)(uint16_t)(x >> 16) * (int16_t)(uint16_t)(w >> 16);
    return ma_wrapping_add(acc, ma_wrapping_add(low, high));
#endif
}

#endif
