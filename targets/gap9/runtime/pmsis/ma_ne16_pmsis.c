/* NE16 on the chip: memory-mapped registers of the cluster. Not run on silicon.
 *
 * Addresses: GVSoC's pulp_open and pulp-nnx. Offsets are those of every HWPE: trigger, acquire,
 * status, running job, soft clear, then the job's own registers. Two slots hold registers; they
 * take turns, and the accelerator keeps what was written to them (MA_NE16_REGISTERS_AT, ma_gap9.h).
 */
#include "ma_gap9.h"
#include "ma_pmsis.h"

#include "pmsis.h"

/* One register has NE16's clock, and who goes first at the banks of L1: NE16 or the cores, and for how
 * many cycles in a row the other may have to wait (pulp-platform/pulp-nnx@49ef6e3,
 * ne16/bsp/ne16_pulp_bsp.c; as PULP's interconnect has it, pulp-platform/hci@0f0a8ef,
 * hci_shallow_interconnect.sv). Where neither is said cores go first, without an end, and NE16, whose
 * every access needs nine banks at once, nearly stands still beside a working cluster. */
#define CLUSTER_CONTROL 0x10200000u
#define NE16_CONTROL (CLUSTER_CONTROL + 0x18u)
#define CLOCK_NE16 0x800u
#define NE16_FIRST 0x100u
#define MOST_WAITS 0xffu
/* NE16 asks for other banks in each cycle, so nobody waits long; with the 8 that pulp-nnx writes it
 * takes a tenth longer (benchmarks/gap9_banks.py). */
#ifndef MA_NE16_MOST_WAITS
#define MA_NE16_MOST_WAITS 64u
#endif
_Static_assert(MA_NE16_MOST_WAITS > 0 && MA_NE16_MOST_WAITS <= MOST_WAITS, "waits fit their bits, and end");

#define NE16 0x10201000u
#define TRIGGER 0x00u
#define ACQUIRE 0x04u
#define STATUS 0x0cu
#define RUNNING_JOB 0x10u
#define SOFT_CLEAR 0x14u

/* Loads and stores of registers; a test on a host has accelerators of its own there. */
#ifndef MA_READ32
#define MA_READ32(address) (*(volatile const uint32_t *)(uintptr_t)(address))
#endif

/* Looks at the accelerator before it is taken for dead: seconds; jobs take milliseconds. */
#ifndef MA_NE16_LOOKS
#define MA_NE16_LOOKS 0x4000000u
#endif

/* What every job changes lies in L1, if the SDK says how; ma_ne16_open gives it its first values. */
#ifndef PI_L1
#define PI_L1
#endif
static PI_L1 uint32_t issued;
/* The accelerator's own number of the last two jobs, 0 .. 255. */
static PI_L1 uint32_t numbers[2];
/* It did not end a job, and was cleared: nothing is queued any more. What fails elsewhere does not
 * stop it: jobs of a layer beside the one that failed end as they should. */
static volatile uint32_t hung; /* in L2, so nobody looks without need */

void ma_ne16_open(void)
{
    issued = 0;
    const uint32_t others = MA_READ32(NE16_CONTROL) & ~MOST_WAITS;
    MA_WRITE32(NE16_CONTROL, others | CLOCK_NE16 | NE16_FIRST | MA_NE16_MOST_WAITS);
    MA_WRITE32(NE16 + SOFT_CLEAR, 0);
}

void ma_ne16_forget(void)
{
    hung = 0;
}

/* After it hung, nobody may wait for what was queued. */
static void give_up(void)
{
    hung = 1;
    ma_fail("NE16 does not answer: a job has not ended");
    MA_WRITE32(NE16 + SOFT_CLEAR, 0);
}

uint32_t ma_ne16_acquire(void)
{
    uint32_t number, looks = 0;
    do
        number = MA_READ32(NE16 + ACQUIRE);
    while (number > 255 && !hung && ++looks < MA_NE16_LOOKS);
    if (number > 255 && !hung)
        give_up();
    numbers[(issued + 1) % 2] = number;
    return issued + 1;
}

void ma_ne16_commit(void)
{
    issued++;
    __asm__ volatile("" ::: "memory");
    if (!hung)
        MA_WRITE32(NE16 + TRIGGER, 0);
}

void ma_ne16_wait(uint32_t number)
{
    /* Job n + 2 got its slot from job n, so only the last two may still run. */
    if (number + 1 < issued)
        return;
    uint32_t looks = 0;
    while (MA_READ32(NE16 + STATUS) != 0 && !hung) {
        if (number != issued && MA_READ32(NE16 + RUNNING_JOB) % 256 == numbers[issued % 2])
            break;
        if (++looks == MA_NE16_LOOKS)
            give_up();
    }
    __asm__ volatile("" ::: "memory");
}
