/* --precision: the type in which a training program computes values (tutti_step_options.precision).
 * The setting, in the form of designs/exchange/settings.h, and how auto chooses. Threads: [M]. */
#ifndef TUTTI_PRECISION_H
#define TUTTI_PRECISION_H

#include "apps/session/session.h"
#include "dag/base/conf.h"

/* clang-format off */

/* const char *, for tutti_precision_find */
#define TUTTI_SETTING_PRECISION(...)                                                               \
    {TUTTI_CONF_CHOICE, "precision", "TYPE", .fallback = "f32", .choice = tutti_precision_choice,  \
        .environment = "TUTTI_PRECISION",                                                          \
        .help = "type of activations and their gradients; bf16: on processors with instructions "  \
                "for it; auto: bf16 if its kernels are faster, on a GPU f32; weights stay f32",      \
        __VA_ARGS__}

/* clang-format on */

const char *tutti_precision_choice(int i); /* [P] */
/* The type that a word names. Returns 0 for auto, which names none. [P] */
int tutti_precision_find(const char *word, tutti_dtype *dtype);
/* The word for a type. [P] */
const char *tutti_precision_word(tutti_dtype dtype);

/* What this rank adds to a maximum over all ranks: 0 if its processor, or its GPU, can compute in
 * bf16. */
double tutti_precision_lack(const tutti_binding_place *place, int rank, int ranks);
/* Of a program with this word, when the maximum over ranks is `lack`: USAGE if the word is bf16 and
 * a rank cannot; the first such rank logs why. */
tutti_status tutti_precision_check(
    const tutti_binding_place *place, const char *word, double lack, int rank, int ranks);

/* Times the CPU's kernels of a training step in float32 and in bf16, each on this thread, and chooses
 * bf16 if that takes at least a tenth less; logs the choice. Errors: those of a session's build and
 * of the kernels. */
tutti_status tutti_precision_race(int workers, const tutti_model *model,
    const tutti_model_input *input, const tutti_step_options *recipe, tutti_dtype *faster);

#endif
