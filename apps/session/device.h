/* --device: where the kernels of a training program run. The setting, in the form of
 * designs/exchange/settings.h, and which GPU is whose: a rank each, by the order of the ranks of a host
 * that see the same GPUs (a launcher may show each of them others), and several ranks share one where there are
 * fewer. Threads: [M]. */
#ifndef TUTTI_SESSION_DEVICE_H
#define TUTTI_SESSION_DEVICE_H

#include "dag/base/conf.h"
#include "dag/run/binding.h"

/* clang-format off */

/* const char *, for tutti_device_choose */
#define TUTTI_SETTING_DEVICE(...)                                                                  \
    {TUTTI_CONF_CHOICE, "device", "WHERE", .fallback = "cpu", .words = {"cpu", "cuda", "auto"},    \
        .environment = "TUTTI_DEVICE",                                                             \
        .help = "where kernels run; cuda: on GPUs, one for each rank of a host, or shared by "     \
                "several; auto: cuda if every rank has one", __VA_ARGS__}

/* int, for tutti_binding_place.tf32 */
#define TUTTI_SETTING_TF32(...)                                                                    \
    {TUTTI_CONF_FLAG, "tf32",                                                                      \
        .help = "on GPUs, products of f32 may round their factors to 10 bits behind the point "    \
                "(TF32), which is faster", __VA_ARGS__}

/* tutti_conf_real, for tutti_device_region_s */
#define TUTTI_SETTING_REGION_US(...)                                                               \
    {TUTTI_CONF_REAL_OR, "region-us", "N", .fallback = "auto", .low = 1, .high = 1e6,              \
        .words = {"auto", "off"}, .environment = "TUTTI_REGION_US", .flags = TUTTI_CONF_LOCAL,     \
        .help = "kernels that follow each other are one task, a region, up to this expected "      \
                "time; auto: 300, with a GPU 2000, where regions run as CUDA graphs; off: each "   \
                "kernel is a task", __VA_ARGS__}

/* const char *: "timed" asks for a table of engines, tutti_binding_place.engines (apps/session/engines.h) */
#define TUTTI_SETTING_ENGINES(...)                                                                 \
    {TUTTI_CONF_CHOICE, "engines", "HOW", .fallback = "heuristic",                                 \
        .words = {"heuristic", "timed"}, .environment = "TUTTI_ENGINES",                           \
        .help = "on GPUs, how engines of convolutions are chosen; heuristic: the first that cuDNN " \
                "offers, the same in every run; timed: the fastest of the first eight, timed when " \
                "the run starts, which takes seconds", __VA_ARGS__}

/* clang-format on */

/* For a run's region_s (dag/run/run.h). [P] */
double tutti_device_region_s(tutti_conf_real region_us);

/* What each rank says of itself, as a row of numbers. */
enum { TUTTI_DEVICE_OFFER = 4 };
/* This rank's row in an otherwise zero table of `ranks` rows, of which the ranks then take the maximum. */
void tutti_device_offer(int rank, int ranks, double offers[]);
/* Where this rank computes, from the whole table; on a GPU, with the tf32 and the engines that *place has. USAGE, on
 * all ranks, if the word is cuda and a rank has no GPU: the first such rank logs what is missing. auto then means the
 * CPU, and rank 0 logs why. */
tutti_status tutti_device_choose(
    const char *word, int rank, int ranks, const double offers[], tutti_binding_place *place);

/* USAGE (logged, with the op) if this place cannot compute the graph. */
tutti_status tutti_device_check(const tutti_binding_place *place, const tutti_graph *graph);
/* "GPU 0 (NVIDIA H100)"; "CPU". Returns text. */
char *tutti_device_text(const tutti_binding_place *place, char *text, size_t size);

#endif
