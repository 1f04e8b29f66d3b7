#!/bin/bash
# Where a test run's time has gone: the tests of a build that took longest, in seconds, and what they used of the processors.
#   slowest.sh BUILD [HOW MANY: 30]
set -u
cd "${1:?the build folder}" || exit 2
find tests -name '*.log' -exec grep -aH '^guard: took ' {} + | awk -v most="${2:-30}" '
    { name = $1; sub(/\.log:guard:$/, "", name); took[name] = $3; used[name] = $6; sum += $3; cpu += $6 }
    END {
        for (name in took) print took[name], used[name], name | "sort -rn | head -n " most
        close("sort -rn | head -n " most)
        printf "all %d tests: %d s, one after another, and %d s of processors\n", length(took), sum, cpu
    }' | awk '/^all/ { print; next } NR == 1 { printf "%7s %7s  %s\n", "seconds", "cpu", "test" } { printf "%7d %7.1f  %s\n", $1, $2, $3 }'
