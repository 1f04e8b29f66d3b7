#!/bin/sh
# The tour in HACKING.md names functions by file: tour.sh [TREE]
#
# Every "file: name, name" of it is looked up: the file is there, and a line that begins at the margin defines each name.
# What is not so is printed as "HACKING.md:line: ...", and the exit status is 1.
set -eu
cd "${1:-${TUTTI_SRCDIR:-.}}"
awk '
function look_up(file, name,    line, found) {
    while ((getline line < file) > 0)
        if (line ~ /^[A-Za-z#]/ && line !~ /;$/ && line ~ ("(^|[^A-Za-z0-9_])" name "([^A-Za-z0-9_]|$)")) found = 1
    close(file)
    return found
}
/^## / { inside = $0 == "## A tour"; next }
inside && /^  [a-z_]+\// {
    file = $1
    sub(/:$/, "", file)
    if ((getline line < file) < 0) { print "HACKING.md:" NR ": there is no " file; bad = 1; next }
    close(file)
    for (i = 2; i <= NF; i++) {
        name = $i
        sub(/,$/, "", name)
        if (!look_up(file, name)) { print "HACKING.md:" NR ": " file " does not define " name; bad = 1 }
        steps++
        if ($i !~ /,$/) break
    }
}
END {
    if (!steps) { print "HACKING.md: there is no tour"; bad = 1 }
    exit bad
}' HACKING.md
