/* Layers divided over cores: a pool of threads that wait for parts of layers, spinning at first.
 *
 * MA_CORES says how many cores there are to use, the caller's among them. Threads are started by the
 * first layer that is divided, and end when the library is unloaded or the process exits; a child
 * of a fork starts its own. One network at a time has the pool: another thread that runs the same
 * network meanwhile does all parts itself. Belongs to you like all other files of the project.
 */
#ifndef MA_CORES_H
#define MA_CORES_H

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>

#ifndef MA_CORES
#error "compile with -DMA_CORES=<threads that run a layer>"
#endif

#define MA_CORES_FUNCTION static __attribute__((noinline, unused))

/* Who waits looks so many times, then so many times more between other threads' turns; a thread of
 * the pool then sleeps. Looking takes some 40 cycles (PAUSE: 35 to 140), so that between two layers
 * threads look on for tens of microseconds, and give the core away where others want it. */
enum { MA_LOOKS = 100, MA_YIELDS = 1000 };

/* Part `part` of `parts` of a layer, the caller's arguments in `call`. */
typedef void (*ma_part)(const void *call, int32_t part, int32_t parts);

static struct {
    _Alignas(64) _Atomic uint32_t round;  /* counts layers: what threads wait for */
    _Alignas(64) _Atomic int32_t pending; /* threads that have not finished this round */
    _Alignas(64) _Atomic int32_t arrived; /* at the barrier inside a layer */
    _Atomic uint32_t turn;                /* counts such barriers */
    _Alignas(64) _Atomic int32_t busy;    /* whether somebody has the pool */
    _Atomic int32_t sleeping;             /* threads that need to be woken */
    _Atomic int32_t stop;
    int32_t started; /* threads; this and what follows belongs to whoever has the pool */
    int32_t ready;
    ma_part run;
    const void *call;
    int32_t parts;
    pthread_t threads[MA_CORES > 1 ? MA_CORES - 1 : 1];
    pthread_mutex_t mutex;
    pthread_cond_t wake;
} ma_pool = {.mutex = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER};

static inline void ma_pause(void)
{
#if defined(MA_EMULATED)
#elif defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Before looking again for the time `times`. */
static inline void ma_look_away(int32_t times)
{
    if (times < MA_LOOKS) {
        ma_pause();
    } else {
        sched_yield();
    }
}

/* ---- the threads ----------------------------------------------------------------------------- */

/* The round after `seen`, once it is there. */
MA_CORES_FUNCTION uint32_t ma_next_round(uint32_t seen)
{
    for (int32_t times = 0; times < MA_LOOKS + MA_YIELDS; ++times) {
        const uint32_t now = atomic_load_explicit(&ma_pool.round, memory_order_acquire);
        if (now != seen) {
            return now;
        }
        ma_look_away(times);
    }
    pthread_mutex_lock(&ma_pool.mutex);
    /* Sequentially consistent, as in ma_publish: either the round is seen here, or the sleeper there. */
    atomic_fetch_add(&ma_pool.sleeping, 1);
    while (atomic_load(&ma_pool.round) == seen) {
        pthread_cond_wait(&ma_pool.wake, &ma_pool.mutex);
    }
    atomic_fetch_sub(&ma_pool.sleeping, 1);
    pthread_mutex_unlock(&ma_pool.mutex);
    return atomic_load(&ma_pool.round);
}

MA_CORES_FUNCTION void *ma_thread(void *argument)
{
    const int32_t part = (int32_t)(intptr_t)argument;
    uint32_t seen = 0;
    for (;;) {
        seen = ma_next_round(seen);
        if (atomic_load_explicit(&ma_pool.stop, memory_order_relaxed)) {
            return NULL;
        }
        if (part < ma_pool.parts) {
            ma_pool.run(ma_pool.call, part, ma_pool.parts);
        }
        atomic_fetch_sub_explicit(&ma_pool.pending, 1, memory_order_release);
    }
}

MA_CORES_FUNCTION void ma_publish(void)
{
    atomic_fetch_add(&ma_pool.round, 1);
    if (atomic_load(&ma_pool.sleeping)) {
        pthread_mutex_lock(&ma_pool.mutex);
        pthread_cond_broadcast(&ma_pool.wake);
        pthread_mutex_unlock(&ma_pool.mutex);
    }
}

/* In the child of a fork, which has none of the threads. */
MA_CORES_FUNCTION void ma_forget(void)
{
    atomic_store(&ma_pool.round, 0);
    atomic_store(&ma_pool.pending, 0);
    atomic_store(&ma_pool.arrived, 0);
    atomic_store(&ma_pool.sleeping, 0);
    atomic_store(&ma_pool.busy, 0);
    ma_pool.started = 0;
    pthread_mutex_init(&ma_pool.mutex, NULL);
    pthread_cond_init(&ma_pool.wake, NULL);
}

/* Start what is missing, once in a process; with fewer threads the caller has more parts to do. */
MA_CORES_FUNCTION void ma_start(void)
{
    sigset_t all, before;
    if (!ma_pool.ready) {
        ma_pool.ready = pthread_atfork(NULL, NULL, ma_forget) == 0 ? 1 : -1;
    }
    if (ma_pool.ready < 0 || ma_pool.started) {
        return;
    }
    /* Signals are the business of the program's own threads. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (ma_pool.started < MA_CORES - 1) {
        void *const part = (void *)(intptr_t)(ma_pool.started + 1);
        if (pthread_create(&ma_pool.threads[ma_pool.started], NULL, ma_thread, part)) {
            break;
        }
        ++ma_pool.started;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* Whether the pool is the caller's now. */
static inline int ma_take(void)
{
    int32_t nobody = 0;
    return atomic_compare_exchange_strong_explicit(&ma_pool.busy, &nobody, 1, memory_order_acquire,
                                                   memory_order_relaxed);
}

static inline void ma_give(void)
{
    atomic_store_explicit(&ma_pool.busy, 0, memory_order_release);
}

/* When the library is unloaded, before its code goes; threads that work on (the process exits while
 * another thread runs the network) are left to the system. */
__attribute__((destructor)) MA_CORES_FUNCTION void ma_end(void)
{
    for (int32_t times = 0; !ma_take(); ++times) {
        if (times == MA_LOOKS + MA_YIELDS) {
            return;
        }
        ma_look_away(times);
    }
    atomic_store_explicit(&ma_pool.stop, 1, memory_order_relaxed);
    ma_publish();
    for (; ma_pool.started; --ma_pool.started) {
        pthread_join(ma_pool.threads[ma_pool.started - 1], NULL);
    }
}

/* ---- layers ----------------------------------------------------------------------------------- */

/* Part 0 here, the others on the threads; the pool is the caller's. */
static inline void ma_run_parts(ma_part run, const void *call, int32_t parts)
{
    ma_pool.run = run;
    ma_pool.call = call;
    ma_pool.parts = parts;
    atomic_store_explicit(&ma_pool.pending, ma_pool.started, memory_order_relaxed);
    ma_publish();
    run(call, 0, parts);
    for (int32_t part = ma_pool.started + 1; part < parts; ++part) {
        run(call, part, parts);
    }
    for (int32_t times = 0; atomic_load_explicit(&ma_pool.pending, memory_order_acquire);) {
        ma_look_away(times);
        times += times < MA_LOOKS;
    }
}

/* All parts of a layer, none of which waits for another. */
MA_CORES_FUNCTION void ma_divide(ma_part run, const void *call, int32_t parts)
{
    if (ma_take()) {
        ma_start();
        ma_run_parts(run, call, parts);
        ma_give();
        return;
    }
    for (int32_t part = 0; part < parts; ++part) {
        run(call, part, parts);
    }
}

/* All parts of a layer at the same time, so that they may meet in ma_meet; where that cannot be, the
 * layer in one part. */
MA_CORES_FUNCTION void ma_together(ma_part run, const void *call, int32_t parts)
{
    if (ma_take()) {
        ma_start();
        ma_run_parts(run, call, ma_pool.started + 1 < parts ? 1 : parts);
        ma_give();
        return;
    }
    run(call, 0, 1);
}

/* Wait until all `parts` of a layer are here. */
MA_CORES_FUNCTION void ma_meet(int32_t parts)
{
    const uint32_t turn = atomic_load_explicit(&ma_pool.turn, memory_order_relaxed);
    if (parts == 1) {
        return;
    }
    if (atomic_fetch_add_explicit(&ma_pool.arrived, 1, memory_order_acq_rel) == parts - 1) {
        atomic_store_explicit(&ma_pool.arrived, 0, memory_order_relaxed);
        atomic_store_explicit(&ma_pool.turn, turn + 1, memory_order_release);
        return;
    }
    for (int32_t times = 0; atomic_load_explicit(&ma_pool.turn, memory_order_acquire) == turn;) {
        ma_look_away(times);
        times += times < MA_LOOKS;
    }
}

#endif
