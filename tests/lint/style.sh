#!/bin/sh
# What a formatter does not see, or that holds whether it ran or not: style.sh [TREE]
#
# C files have no tabs, no carriage returns, no blanks at the end of a line, no line beyond 120 characters, an end of line at
# the end; headers have a guard TUTTI_...; a type is defined in one header; nobody leaves notes to do something later. Scripts
# that begin with "#!" may be executed; tests that start several programs in one launch call launch_several_programs before. Every
# line that breaks a rule is printed as "file:line: rule", and the exit status is 1.
set -eu
tree=${1:-${TUTTI_SRCDIR:-.}}
cd "$tree"

find dag collectives designs apps tests -name '*.[ch]' 2> /dev/null | LC_ALL=C sort | xargs awk '
function report(rule) { printf "%s:%d: %s\n", FILENAME, FNR, rule; bad = 1 }
FNR == 1 { guard = "" }
/\t/ { report("a tab; four spaces indent") }
/\r/ { report("a carriage return") }
/[ \t]$/ { report("blanks at the end of the line") }
length($0) > 120 { report("longer than 120 characters") }
/(^|[^A-Za-z_])(TODO|FIXME|XXX|HACK)([^A-Za-z_]|$)/ { report("a note for later: do it, or open an issue") }
/^#ifndef / && guard == "" { guard = $2; if (FILENAME ~ /\.h$/ && guard !~ /^TUTTI_[A-Z0-9_]+_H$/) report("guards are named TUTTI_..._H") }
/^#define / && guard == "" && FILENAME ~ /\.h$/ { guard = "none"; report("a header begins with its guard") }
/^(} (tutti|mpicheck)_[a-z0-9_]+;|struct (tutti|mpicheck)_[a-z0-9_]+ \{)$/ && FILENAME ~ /\.h$/ && FILENAME !~ /^tests\/install\// {
    name = $2
    sub(/;/, "", name)
    if (name in defined && defined[name] != FILENAME) report("the type " name " is defined in " defined[name] ", too")
    defined[name] = FILENAME
}
END { exit bad }
' || bad=1

for file in $(find dag collectives designs apps tests -name '*.[ch]' 2> /dev/null | LC_ALL=C sort); do
    if [ -s "$file" ] && [ -n "$(tail -c 1 "$file")" ]; then
        echo "$file: no end of line at the end"
        bad=1
    fi
done
for file in $(find apps tests install m4 -name '*.sh' ! -perm -u+x 2> /dev/null | LC_ALL=C sort); do
    if [ "$(head -c 2 "$file")" = '#!' ]; then
        echo "$file:1: begins with #!, but may not be executed: chmod +x"
        bad=1
    fi
done
for file in $(grep -rlE --include='*.sh' '^[^#]* : -np? [0-9]' tests 2> /dev/null | LC_ALL=C sort); do
    line=$(grep -nE '^[^#]* : -np? [0-9]' "$file" | grep -v '"$run"\|run_refuses' | head -n 1 | cut -d : -f 1)
    if [ -n "$line" ] && ! grep -qE '^[^#]*launch_several_programs' "$file"; then
        echo "$file:$line: several programs, and no launch_several_programs"
        bad=1
    fi
done
exit "${bad:-0}"
