/* Loops that are compiled once for each of several instruction sets ("clones"), and which of them run. All clones of a
 * loop do the same operations in the same order, so the bits do not depend on the machine (the build does not contract
 * a*b+c).
 *
 * There are two ways to write a loop. A file of loops over vectors of TUTTI_LANES (dag/kernels/cpu.h) is compiled as a
 * whole for each set, and what it exports is named by TUTTI_CLONE; dag/kernels/local.mk says which files. A single
 * function whose loops the compiler turns into vectors is defined with TUTTI_CLONES. */
#ifndef TUTTI_CLONES_H
#define TUTTI_CLONES_H

#include "dag/base/status.h"

typedef enum tutti_isa {
    TUTTI_ISA_DEFAULT,
    TUTTI_ISA_AVX2,
    TUTTI_ISA_AVX512,
    TUTTI_ISAS
} tutti_isa;

/* The clones that run: the widest that this processor and the environment's TUTTI_MAX_ISA allow. It is
 * found once in a process. [A] */
tutti_isa tutti_isa_chosen(void);
/* "default", "avx2", "avx512", as in TUTTI_MAX_ISA. [P] */
const char *tutti_isa_name(tutti_isa isa);
/* USAGE, logged, when TUTTI_MAX_ISA is set to none of these; then it does not count above. [A] */
tutti_status tutti_isa_check(void);

#if defined(__x86_64__) && defined(__GNUC__)
#define TUTTI_HAS_CLONES 1
#else
#define TUTTI_HAS_CLONES 0
#endif

/* The name of something in the clone that is being compiled: name_default, name_avx2, name_avx512. The build defines
 * TUTTI_ISA for the last two. */
#ifndef TUTTI_ISA
#define TUTTI_ISA default
#endif
#define TUTTI_CLONE_JOIN(name, isa) name##_##isa
#define TUTTI_CLONE_NAME(name, isa) TUTTI_CLONE_JOIN(name, isa)
#define TUTTI_CLONE(name) TUTTI_CLONE_NAME(name, TUTTI_ISA)

/* An initialiser for an array[TUTTI_ISAS] of it. */
#if TUTTI_HAS_CLONES
#define TUTTI_OF_EACH_ISA(name)                                                                    \
    {                                                                                              \
        name##_default, name##_avx2, name##_avx512                                                 \
    }
#else
#define TUTTI_OF_EACH_ISA(name)                                                                    \
    {                                                                                              \
        name##_default, name##_default, name##_default                                             \
    }
#endif

/* The head of a function that returns nothing, with its parameters and their names again:
 *     TUTTI_CLONES(scale, (int n, float *x), (n, x))
 *     {
 *         for (int i = 0; i < n; i++) x[i] *= 2;
 *     } */
#if TUTTI_HAS_CLONES
#define TUTTI_CLONES(name, parameters, arguments)                                                  \
    static inline __attribute__((always_inline)) void name##_loop parameters;                      \
    static void name##_default parameters                                                          \
    {                                                                                              \
        name##_loop arguments;                                                                     \
    }                                                                                              \
    __attribute__((target("avx2"))) static void name##_avx2 parameters                             \
    {                                                                                              \
        name##_loop arguments;                                                                     \
    }                                                                                              \
    __attribute__((target("avx512f"))) static void name##_avx512 parameters                        \
    {                                                                                              \
        name##_loop arguments;                                                                     \
    }                                                                                              \
    static void name parameters                                                                    \
    {                                                                                              \
        const tutti_isa isa = tutti_isa_chosen();                                                  \
        if (isa == TUTTI_ISA_AVX512)                                                               \
            name##_avx512 arguments;                                                               \
        else if (isa == TUTTI_ISA_AVX2)                                                            \
            name##_avx2 arguments;                                                                 \
        else                                                                                       \
            name##_default arguments;                                                              \
    }                                                                                              \
    static inline __attribute__((always_inline)) void name##_loop parameters
#else
#define TUTTI_CLONES(name, parameters, arguments) static void name parameters
#endif

#endif
