/* Settings of all benches: rows for a table of dag/base/conf.h, as in designs/exchange/settings.h.
 * `...` holds the row's own fields: .offset. */
#ifndef TUTTI_BENCH_SETTINGS_H
#define TUTTI_BENCH_SETTINGS_H

#include "dag/base/conf.h"

#include <stddef.h>

/* clang-format off */

/* double */
#define TUTTI_BENCH_SETTING_TIMEOUT(seconds, ...)                                                  \
    {TUTTI_CONF_REAL, "timeout", "S", .fallback = seconds, .low = 1, .high = 1e6,                  \
        .help = "seconds after which a wait is an error", __VA_ARGS__}

/* const char *, for tutti_peer_program */
#define TUTTI_BENCH_SETTING_PEER(...)                                                              \
    {TUTTI_CONF_TEXT, "peer", "WHAT", .fallback = "auto", .environment = "TUTTI_PEER",             \
        .help = "what to compare with: a folder made by tutti-bench peers; auto: Debian's "        \
                "PyTorch if it is installed; none; or a command",                                  \
        __VA_ARGS__}

/* const char *, for tutti_result_open */
#define TUTTI_BENCH_SETTING_JSON(...)                                                              \
    {TUTTI_CONF_TEXT, "json", "FILE", .flags = TUTTI_CONF_LOCAL,                                   \
        .help = "write one JSON object per line for every result", __VA_ARGS__}

/* const char *, for tutti_result_open */
#define TUTTI_BENCH_SETTING_CSV(...)                                                               \
    {TUTTI_CONF_TEXT, "csv", "FILE", .flags = TUTTI_CONF_LOCAL,                                    \
        .help = "write the samples as CSV, one per line", __VA_ARGS__}

/* clang-format on */

#endif
