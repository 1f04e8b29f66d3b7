#include "designs/exchange/settings.h"

#include "collectives/choose.h"
#include "designs/design.h"
#include "designs/verify/verify.h"

#include <string.h>

const char *tutti_setting_algorithm(int i)
{
    return tutti_algorithms[i] ? tutti_algorithms[i]->name : NULL;
}

int tutti_setting_is_algorithm(const char *text)
{
    return tutti_algorithm_find(text) != NULL;
}

static const struct {
    const char *word;
    tutti_dtype dtype;
} wires[] = {{"f32", TUTTI_F32}, {"bf16", TUTTI_BF16}};
enum { WIRES = sizeof wires / sizeof *wires };

const char *tutti_setting_wire(int i)
{
    return i < WIRES ? wires[i].word : NULL;
}

tutti_dtype tutti_setting_wire_dtype(const char *word)
{
    int i = WIRES - 1;
    while (i > 0 && strcmp(wires[i].word, word) != 0) i--;
    return wires[i].dtype;
}

const char *tutti_setting_wire_fault(const char *algorithm, tutti_dtype wire)
{
    return wire == TUTTI_BF16 && tutti_algorithm_is_library(algorithm)
               ? "MPI has no such type, so the algorithm mpi cannot sum it: use another algorithm"
               : NULL;
}

const char *tutti_setting_verify(int i)
{
    return i < TUTTI_VERIFY_MODES ? tutti_verify_mode_name((tutti_verify_mode)i) : NULL;
}

const char *tutti_setting_safe_design(int i)
{
    return tutti_designs[i] && !tutti_designs[i]->unsafe ? tutti_designs[i]->name : NULL;
}
