#!/bin/sh
# The floors of the house, as the linker sees them: room_symbols.sh [TREE [BUILD]]
#
# rooms.sh reads what files include. A header may still declare what a higher room defines. So this one reads objects: what
# those of a room leave undefined is defined in the room itself, or in a room of which its row in rooms.txt allows a header.
# Every name that breaks this is printed as "room/file.o uses NAME, defined in room/file: why", and the exit status is 1.
#
# It takes the objects that are in BUILD (TUTTI_BUILDDIR; with a TREE, that), and of these only such as have a source in TREE
# that is not newer: others are left from earlier builds. Only names that begin with tutti_ count (symbols.sh: all of the
# library do); MPI's functions are also defined by the checker that is preloaded.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
tree=${1:-${TUTTI_SRCDIR:-.}}
build=${2:-${1:-${TUTTI_BUILDDIR:-.}}}
tree=$(cd "$tree" && pwd)
cd "$build"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# OBJECT SOURCE, without .c: programs and copies of loops have their name before the source's (tutti_bench-step.o).
find dag collectives designs apps -name '*.o' 2> /dev/null | LC_ALL=C sort | while read -r object; do
    folder=${object%/*} name=${object##*/}
    folder=${folder%/.libs} name=${name%.o}
    for stem in "$name" "${name#*-}"; do
        for source in "$folder/$stem.c" "$folder/$stem.cu"; do
            [ -e "$tree/$source" ] || continue
            [ "$tree/$source" -nt "$object" ] || echo "$object $folder/$stem"
            break 2
        done
    done
done > "$scratch/objects"
if [ ! -s "$scratch/objects" ]; then
    echo "room_symbols: no objects in $build; run make first"
    exit 1
fi

rooms=$(sed '/^#/d' "$here/rooms.txt")
export rooms
cut -d' ' -f1 "$scratch/objects" | xargs nm -A -P -g > "$scratch/names"
awk '
function trim(s) { gsub(/^[ \t]+|[ \t]+$/, "", s); return s }

function room_of(file,    room, best) {
    if (file in room_known) return room_known[file]
    best = ""
    for (room in allowed) if (index(file, room "/") == 1 && length(room) > length(best)) best = room
    return room_known[file] = best
}

# Whether this room may use what the file defines.
function may_use(room, file,    words, n, i) {
    if (room_of(file) == room) return 1
    n = split(allowed[room], words, " ")
    for (i = 1; i <= n; i++)
        if (words[i] ~ /\/$/ ? index(file, words[i]) == 1 : room_of(words[i]) == room_of(file)) return 1
    return 0
}

BEGIN {
    n = split(ENVIRON["rooms"], rows, "\n")
    for (i = 1; i <= n; i++)
        if (split(rows[i], f, "|") == 3) { allowed[trim(f[1])] = trim(f[2]); why[trim(f[1])] = trim(f[3]) }
}

FILENAME ~ /\/objects$/ { source[$1] = $2; next }
$2 !~ /^tutti_/ { next }
{ sub(/:$/, "", $1); file = source[$1] }
$3 ~ /^[Uwv]$/ {
    if (!((file, $2) in used)) { used[file, $2] = 1; user[++users] = file; wants[users] = $2 }
    next
}
$3 ~ /^[A-Z]$/ && !((file, $2) in defined) { defined[file, $2] = 1; homes[$2] = homes[$2] " " file }

# A name that several files define (one for each kind of build) may be any of these.
END {
    for (i = 1; i <= users; i++) {
        n = split(homes[wants[i]], home, " ")
        may = n == 0
        for (k = 1; k <= n && !may; k++) may = may_use(room_of(user[i]), home[k])
        if (may) continue
        print user[i] ".o uses " wants[i] ", defined in " home[1] ": " why[room_of(user[i])]
        bad = 1
    }
    exit bad
}
' "$scratch/objects" "$scratch/names"
