/* Runs AVX-VNNI's VPDPBUSD and VPDPWSSD (256 bits, VEX) on processors that have AVX2 only: where one
 * traps, the handler computes what the instruction reference says, in the saved registers.
 * Encoding: VEX.256.66.0F38.W0 50 /r and 52 /r. For tests on Linux, x86-64. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

enum { XMM = 160, YMM_HIGH = 576 };

/* General registers in the order of their encoding. */
static const int order[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                              REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};

static void get(const uint8_t *save, int number, uint8_t *value)
{
    memcpy(value, save + XMM + 16 * number, 16);
    memcpy(value + 16, save + YMM_HIGH + 16 * number, 16);
}

static void put(uint8_t *save, int number, const uint8_t *value)
{
    memcpy(save + XMM + 16 * number, value, 16);
    memcpy(save + YMM_HIGH + 16 * number, value + 16, 16);
    /* The saved state must say that these components are not initial. */
    uint64_t present;
    memcpy(&present, save + 512, sizeof present);
    present |= 7;
    memcpy(save + 512, &present, sizeof present);
}

/* The address of a memory operand; `*length` grows by what it takes beyond ModRM. */
static const uint8_t *address(const greg_t *registers, const uint8_t *modrm, int rex_x, int rex_b, int *length)
{
    const int mode = *modrm >> 6, rm = *modrm & 7;
    const uint8_t *next = modrm + 1;
    int64_t place = 0;
    int base = rm | rex_b << 3, has_base = 1;
    if (rm == 4) {
        const int sib = *next++, index = (sib >> 3 & 7) | rex_x << 3;
        base = (sib & 7) | rex_b << 3;
        has_base = !((sib & 7) == 5 && mode == 0);
        if (index != 4) {
            place += registers[order[index]] << (sib >> 6);
        }
    }
    const int relative = mode == 0 && rm == 5, wide = mode == 2 || relative || !has_base;
    if (has_base && !relative) {
        place += registers[order[base]];
    }
    if (wide) {
        int32_t shift;
        memcpy(&shift, next, 4);
        next += 4;
        place += shift;
    } else if (mode == 1) {
        place += (int8_t)*next++;
    }
    *length += (int)(next - modrm - 1);
    return (const uint8_t *)(uintptr_t)(relative ? place + (int64_t)(uintptr_t)next : place);
}

static void compute(int words, uint8_t *sums, const uint8_t *a, const uint8_t *b)
{
    for (int lane = 0; lane < 8; ++lane) {
        uint32_t sum;
        memcpy(&sum, sums + 4 * lane, 4);
        for (int i = 0; words ? i < 2 : i < 4; ++i) {
            int16_t x, y;
            memcpy(&x, a + 4 * lane + 2 * (words ? i : 0), 2);
            memcpy(&y, b + 4 * lane + 2 * (words ? i : 0), 2);
            sum += words ? (uint32_t)(x * y) : (uint32_t)(a[4 * lane + i] * (int8_t)b[4 * lane + i]);
        }
        memcpy(sums + 4 * lane, &sum, 4);
    }
}

static void trapped(int signal, siginfo_t *info, void *context)
{
    ucontext_t *const c = context;
    uint8_t *const save = (uint8_t *)c->uc_mcontext.fpregs;
    const uint8_t *const code = (const uint8_t *)(uintptr_t)c->uc_mcontext.gregs[REG_RIP];
    (void)info;
    if (code[0] != 0xc4 || (code[1] & 31) != 2 || (code[2] & 0x87) != 5 || (code[3] != 0x50 && code[3] != 0x52)) {
        abort();
    }
    (void)signal;
    const int r = !(code[1] & 0x80), x = !(code[1] & 0x40), b = !(code[1] & 0x20);
    const int second = ~(code[2] >> 3) & 15, target = (code[4] >> 3 & 7) | r << 3;
    uint8_t sums[32], left[32], right[32];
    int length = 5;
    get(save, target, sums);
    get(save, second, left);
    if (code[4] >> 6 == 3) {
        get(save, (code[4] & 7) | b << 3, right);
    } else {
        memcpy(right, address(c->uc_mcontext.gregs, code + 4, x, b, &length), 32);
    }
    compute(code[3] == 0x52, sums, left, right);
    put(save, target, sums);
    c->uc_mcontext.gregs[REG_RIP] += length;
}

__attribute__((constructor)) static void install(void)
{
    struct sigaction action = {.sa_sigaction = trapped, .sa_flags = SA_SIGINFO};
    sigaction(SIGILL, &action, NULL);
}
