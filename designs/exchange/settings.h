/* Settings of an exchange, shared by all programs and tutti_attach: rows for a table of
 * dag/base/conf.h. Each setting has one name, variable, unit, range and help everywhere. `...` holds
 * the row's own fields: .offset, .flags.
 *
 *     #define AT(member) .offset = offsetof(options, member)
 *     static const tutti_setting settings[] = {TUTTI_SETTING_LANES(AT(lanes)), {0}};
 *
 * Sizes are in MB of 10^6 bytes (tutti_conf_bytes), times in seconds. */
#ifndef TUTTI_EXCHANGE_SETTINGS_H
#define TUTTI_EXCHANGE_SETTINGS_H

#include "dag/base/conf.h"
#include "dag/base/dtype.h"

#include <stddef.h>

/* Names for rows that choose from a table, in the form of tutti_setting.choice. [P] */
const char *tutti_setting_algorithm(int i);
int tutti_setting_is_algorithm(const char *text); /* "k-nomial:8", "forest:FILE", too */
const char *tutti_setting_verify(int i);
const char *tutti_setting_safe_design(int i); /* designs that keep the ordering law */
const char *tutti_setting_wire(int i);
/* The element type that a word of tutti_setting_wire names. [P] */
tutti_dtype tutti_setting_wire_dtype(const char *word);
/* Why this algorithm cannot sum elements of this type (NULL: it can). [P] */
const char *tutti_setting_wire_fault(const char *algorithm, tutti_dtype wire);

enum { TUTTI_SETTING_MOST_LANES = 1024, TUTTI_SETTING_MOST_S = 1000000 };

/* clang-format off */

/* const char *; programs that accept words other than designs define their own row */
#define TUTTI_SETTING_DESIGN(...)                                                                  \
    {TUTTI_CONF_CHOICE, "design", "NAME", .fallback = "funneled",                                  \
        .choice = tutti_setting_safe_design, .environment = "TUTTI_DESIGN",                        \
        .help = "how the collectives of the task graph are run", __VA_ARGS__}

/* tutti_conf_int */
#define TUTTI_SETTING_LANES(...)                                                                   \
    {TUTTI_CONF_INT_OR, "lanes", "K", .fallback = "auto", .low = 1,                                \
        .high = TUTTI_SETTING_MOST_LANES, .words = {"auto"}, .environment = "TUTTI_LANES",         \
        .help = "communicators of the concurrent design; auto: 4", __VA_ARGS__}

/* const char * */
#define TUTTI_SETTING_ALGORITHM(...)                                                               \
    {TUTTI_CONF_CHOICE, "algorithm", "NAME", .fallback = "auto",                                   \
        .choice = tutti_setting_algorithm, .takes = tutti_setting_is_algorithm,                    \
        .environment = "TUTTI_ALGORITHM",                                                          \
        .help = "algorithm of allreduces, broadcasts and reduces; auto: by size and ranks; "       \
                "k-nomial:K and the like: trees with K; forest:FILE: trees of tutti-trees; "       \
                "rules:FILE: by the rules of a file, tutti-rules(5); priced: by price on "         \
                "--topology; mpi: the MPI library's own",                                          \
        __VA_ARGS__}

/* const char *; which: the words that the program takes, in the form of tutti_setting.choice */
#define TUTTI_SETTING_TRANSPORT(which, ...)                                                        \
    {TUTTI_CONF_CHOICE, "transport", "NAME", .fallback = "auto", .choice = which,                  \
        .environment = "TUTTI_TRANSPORT",                                                          \
        .help = "what sums over ranks; mpi: through main memory; nccl: from GPU to GPU, with "     \
                "--device cuda and a GPU for each rank; auto: nccl where it can be, else mpi; shm: " \
                "shared memory of one host; mesh: that, and TCP between hosts; fabric: that, and "  \
                "libfabric between hosts", __VA_ARGS__}

/* const char *, or NULL; with tutti_conf_real of the next row for tutti_topology_of_run */
#define TUTTI_SETTING_TOPOLOGY(...)                                                                \
    {TUTTI_CONF_TEXT, "topology", "FILE|NAME", .environment = "TUTTI_TOPOLOGY",                    \
        .help = "the links between the ranks, tutti-topology(5): by them limits are printed, and " \
                "--stage-layers auto and timed weigh what crosses cuts and what the replicas of a "\
                "stage exchange; if omitted, 1 Gbit/s for cuts, and sums cost nothing",            \
        __VA_ARGS__}

/* tutti_conf_real */
#define TUTTI_SETTING_LINK_MBIT(...)                                                               \
    {TUTTI_CONF_REAL_OR, "link-mbit", "R", .fallback = "unknown", .low = 1e-3, .high = 1e6,        \
        .words = {"unknown"}, .environment = "TUTTI_LINK_MBIT",                                    \
        .help = "short for a --topology in which each rank has a link of R Mbit/s to one switch",  \
        __VA_ARGS__}

/* const char *, for tutti_setting_wire_dtype and tutti_setting_wire_fault; not a setting of tutti_attach,
 * where the program decides the types of its data */
#define TUTTI_SETTING_WIRE(...)                                                                    \
    {TUTTI_CONF_CHOICE, "wire", "TYPE", .fallback = "f32", .choice = tutti_setting_wire,           \
        .environment = "TUTTI_WIRE",                                                               \
        .help = "type in which gradients are summed over ranks; bf16: half the bytes, rounded "    \
                "once before; weights stay f32", __VA_ARGS__}

/* const char *, for tutti_verify_mode_find */
#define TUTTI_SETTING_VERIFY(...)                                                                  \
    {TUTTI_CONF_CHOICE, "verify", "HOW", .fallback = "on", .choice = tutti_setting_verify,         \
        .environment = "TUTTI_VERIFY",                                                             \
        .help = "compare the ranks' collectives; off: not at all; on: while they run; full: none " \
                "starts before all ranks have reached it", __VA_ARGS__}

/* tutti_conf_real */
#define TUTTI_SETTING_BUCKET_MB(...)                                                               \
    {TUTTI_CONF_REAL_OR, "bucket-mb", "X", .fallback = "auto", .high = 1e6, .words = {"auto"},     \
        .environment = "TUTTI_BUCKET_MB",                                                          \
        .help = "sum gradients together in buckets of at most X MB (10^6 bytes); 0: one by one; "  \
                "auto: an eighth of all gradients, from 0.066 to 4.2", __VA_ARGS__}

/* tutti_conf_real */
#define TUTTI_SETTING_CHUNK_MB(...)                                                                \
    {TUTTI_CONF_REAL_OR, "chunk-mb", "X", .fallback = "auto", .high = 1e6, .words = {"auto"},      \
        .environment = "TUTTI_CHUNK_MB",                                                           \
        .help = "cut larger sums into chunks of at most X MB, and let other sums go between them; "\
                "0: cut none; auto: 1.05", __VA_ARGS__}

/* int64_t */
#define TUTTI_SETTING_WORKERS(...)                                                                 \
    {TUTTI_CONF_INT, "workers", "N", .fallback = "1", .low = 1, .high = 65536,                     \
        .environment = "TUTTI_WORKERS",                                                            \
        .help = "StarPU CPU workers per rank; the batch is cut into that many micro-batches",      \
        __VA_ARGS__}

/* const char * */
#define TUTTI_SETTING_COMM_CORE(...)                                                               \
    {TUTTI_CONF_TEXT, "comm-core", "WHERE", .fallback = "auto", .flags = TUTTI_CONF_LOCAL,         \
        .environment = "TUTTI_COMM_CORE",                                                          \
        .help = "processor of the communication thread: the number of one that mpirun lets this "  \
                "rank use; auto: one that no worker needs, if there is one; none: any",            \
        __VA_ARGS__}

/* double */
#define TUTTI_SETTING_SETUP_TIMEOUT(...)                                                           \
    {TUTTI_CONF_REAL, "setup-timeout", "S", .fallback = "60", .low = 0.1,                          \
        .high = TUTTI_SETTING_MOST_S, .environment = "TUTTI_SETUP_TIMEOUT",                        \
        .help = "seconds that ranks wait for each other to start MPI, and to end it", __VA_ARGS__}

/* double */
#define TUTTI_SETTING_STALL_WARN(...)                                                              \
    {TUTTI_CONF_REAL, "stall-warn", "S", .fallback = "5", .high = TUTTI_SETTING_MOST_S,            \
        .environment = "TUTTI_STALL_WARN",                                                         \
        .help = "seconds that a collective may stand still before a warning names the missing "    \
                "ranks and the reason; 0: never", __VA_ARGS__}

/* double */
#define TUTTI_SETTING_STALL_DUMP(...)                                                              \
    {TUTTI_CONF_REAL, "stall-dump", "S", .fallback = "10", .high = TUTTI_SETTING_MOST_S,           \
        .environment = "TUTTI_STALL_DUMP",                                                         \
        .help = "seconds of a stall before every rank writes its last collectives to "             \
                "tutti-stall.RANK.json and one prints who waits for whom; 0: never", __VA_ARGS__}

/* double */
#define TUTTI_SETTING_STALL_ABORT(...)                                                             \
    {TUTTI_CONF_REAL, "stall-abort", "S", .fallback = "60", .high = TUTTI_SETTING_MOST_S,          \
        .environment = "TUTTI_STALL_ABORT",                                                        \
        .help = "seconds of a stall before all ranks end; 0: never",                               \
        __VA_ARGS__}

/* const char *, or NULL */
#define TUTTI_SETTING_STALL_DIR(...)                                                               \
    {TUTTI_CONF_TEXT, "stall-dir", "DIR", .flags = TUTTI_CONF_LOCAL,                               \
        .environment = "TUTTI_STALL_DIR",                                                          \
        .help = "folder for tutti-stall.RANK.json; if omitted, the working directory", __VA_ARGS__}

/* clang-format on */

#endif
