/* What the stand-in for PMSIS asks of the machine that it runs on: ma_alone_rv32.c is one without an
 * operating system but Linux's calls (qemu-riscv32); tests have another one, on any host. */
#ifndef MA_ALONE_H
#define MA_ALONE_H

#include <stdarg.h>
#include <stdint.h>

/* The core that tasks run on: GAP9's controller is behind the eight workers. */
#ifndef CONTROLLER
#define CONTROLLER 8
#endif
#define ALONE_CORES 8

_Noreturn void alone_exit(int status);

/* A line of standard error, as vprintf formats it. */
void alone_say(const char *format, va_list arguments);

/* Of the environment, or NULL. */
const char *alone_setting(const char *name);

/* A file that is read from its begin; below 0 where there is none. */
int alone_open(const char *path, uint32_t *bytes);
int32_t alone_read(int file, void *to, uint32_t bytes);
void alone_close(int file);

/* What is left of L2 for pi_l2_malloc. */
uint8_t *alone_l2(uint32_t *bytes);

/* Which core it is that asks. */
int alone_core(void);
void alone_be_core(int core);

/* Calls `entry(argument)` as every core 0 .. cores - 1, at once or by turns, and as the one that
 * asks; ends when all have. Who waits for another core calls alone_yield from time to time. */
void alone_team(int cores, void (*entry)(void *), void *argument);
void alone_yield(void);

#endif
