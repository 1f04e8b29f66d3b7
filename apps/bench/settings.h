/* Settings of all benches: rows for a table of dag/base/conf.h, as in designs/exchange/settings.h.
 * `...` holds the row's own fields: .offset. */
#ifndef TUTTI_BENCH_SETTINGS_H
#define TUTTI_BENCH_SETTINGS_H

#include "dag/base/conf.h"

#include <stddef.h>

/* clang-format off */

/* const char *, for tutti_peer_program */
#define TUTTI_BENCH_SETTING_PEER(...)                                                              \
    {TUTTI_CONF_TEXT, "peer", "WHAT", .fallback = "auto", .environment = "TUTTI_PEER",             \
        .help = "what to compare with: a folder made by tutti-bench peers; auto: Debian's "        \
                "PyTorch if it is installed; none; or a command",                                  \
        __VA_ARGS__}

/* json, csv of `options`: const char *, for tutti_result_open */
#define TUTTI_BENCH_SETTINGS_RESULT(options)                                                       \
    {TUTTI_CONF_TEXT, "json", "FILE", .flags = TUTTI_CONF_LOCAL,                                   \
        .help = "write one JSON object per line for every result",                                 \
        .offset = offsetof(options, json)},                                                        \
    {TUTTI_CONF_TEXT, "csv", "FILE", .flags = TUTTI_CONF_LOCAL,                                    \
        .help = "write the samples as CSV, one per line", .offset = offsetof(options, csv)}

/* The same, before them timeout_s: double */
#define TUTTI_BENCH_SETTINGS_RUN(seconds, options)                                                 \
    {TUTTI_CONF_REAL, "timeout", "S", .fallback = seconds, .low = 1, .high = 1e6,                  \
        .help = "seconds after which a wait is an error",                                          \
        .offset = offsetof(options, timeout_s)},                                                   \
    TUTTI_BENCH_SETTINGS_RESULT(options)

/* from, to, factor of `options`: int64_t */
#define TUTTI_BENCH_SETTINGS_SIZES(smallest, largest, options)                                     \
    {TUTTI_CONF_INT, "from", "BYTES", .fallback = smallest, .low = 4, .high = 4e9,                 \
        .help = "smallest size, a multiple of 4", .offset = offsetof(options, from)},              \
    {TUTTI_CONF_INT, "to", "BYTES", .fallback = largest, .low = 4, .high = 4e9,                    \
        .help = "largest size", .offset = offsetof(options, to)},                                  \
    {TUTTI_CONF_INT, "factor", "N", .fallback = "4", .low = 2, .high = 1024,                       \
        .help = "factor from one size to the next", .offset = offsetof(options, factor)}

/* clang-format on */

#endif
