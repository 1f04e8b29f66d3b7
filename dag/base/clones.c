#include "dag/base/clones.h"

#include "dag/base/log.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <strings.h>

static const char *const names[TUTTI_ISAS] = {"default", "avx2", "avx512"};

/* What the environment says; TUTTI_ISAS for an unknown word. */
static int allowed(void)
{
    const char *text = getenv("TUTTI_MAX_ISA");
    int isa = 0;
    if (!text) return TUTTI_ISAS - 1;
    while (isa < TUTTI_ISAS && strcasecmp(text, names[isa])) isa++;
    return isa;
}

static int has(tutti_isa isa)
{
#if TUTTI_HAS_CLONES
    if (isa == TUTTI_ISA_AVX512) return __builtin_cpu_supports("avx512f");
    if (isa == TUTTI_ISA_AVX2) return __builtin_cpu_supports("avx2");
#endif
    return isa == TUTTI_ISA_DEFAULT;
}

static int choose(void)
{
    int isa = allowed();
    if (isa == TUTTI_ISAS) isa--;
    while (!has((tutti_isa)isa)) isa--;
    return isa;
}

tutti_isa tutti_isa_chosen(void)
{
    static atomic_int
        known; /* the choice, plus 1; threads that find it at the same time find the same */
    int isa = atomic_load_explicit(&known, memory_order_relaxed) - 1;
    if (isa >= 0) return (tutti_isa)isa;
    isa = choose();
    atomic_store_explicit(&known, isa + 1, memory_order_relaxed);
    return (tutti_isa)isa;
}

const char *tutti_isa_name(tutti_isa isa)
{
    return names[isa];
}

tutti_status tutti_isa_check(void)
{
    if (allowed() < TUTTI_ISAS) return TUTTI_OK;
    return tutti_fail(TUTTI_ERR_USAGE,
        "TUTTI_MAX_ISA is \"%s\"; set it to default, avx2 or avx512, or unset it",
        getenv("TUTTI_MAX_ISA"));
}
