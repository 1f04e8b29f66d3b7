#!/bin/sh
# No files and no rooms go round in a circle: circles.sh [TREE]. Part of rooms.sh.
#
# A file is a source with its header (x.c and x.h), a room is a folder. One leads to another when it includes the
# other's header, or when its source names a function or a table that only the other's source defines. Each circle is
# printed as "a -> b -> a", with the lines that tie it, and the exit status is 1. tests/ may do anything.
set -eu
tree=${1:-${TUTTI_SRCDIR:-.}}
cd "$tree"
files=$(find dag collectives designs apps \( -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' \) 2> /dev/null | LC_ALL=C sort)

# shellcheck disable=SC2086
awk '
# The line without comments, strings and character constants; in_comment lasts from line to line.
function code_of(line,    out, at, c) {
    if (!in_comment && line !~ /["\047]|\/\*|\/\//) return line
    out = ""
    while (line != "") {
        if (in_comment) {
            at = index(line, "*/")
            if (!at) return out
            in_comment = 0
            line = substr(line, at + 2)
        } else if (!match(line, /["\047]|\/\*|\/\//)) {
            return out line
        } else {
            out = out substr(line, 1, RSTART - 1) " "
            c = substr(line, RSTART, RLENGTH)
            line = substr(line, RSTART + RLENGTH)
            if (c == "//") return out
            if (c == "/*") in_comment = 1
            else if (c == "\"") line = match(line, /^([^"\\]|\\.)*"/) ? substr(line, RLENGTH + 1) : ""
            else line = match(line, /^([^\047\\]|\\.)*\047/) ? substr(line, RLENGTH + 1) : ""
        }
    }
    return out
}

function stem_of(file) { sub(/\.[ch]$/, "", file); return file }
function room_of(file) { sub(/\/[^\/]*$/, "", file); return file }

function tie(kind, from, to, why) {
    if (from == to || (kind, from, to) in tied) return
    tied[kind, from, to] = why
    leads[kind, from] = leads[kind, from] " " to
    if (!((kind, from) in known)) { known[kind, from] = 1; nodes[kind, ++count[kind]] = from }
    if (!((kind, to) in known)) { known[kind, to] = 1; nodes[kind, ++count[kind]] = to }
}

function tie_files(file, target, what) {
    tie("files", stem_of(file), stem_of(target), file ":" FNR ": " what)
    tie("rooms", room_of(file), room_of(target), file ":" FNR ": " what)
}

# A name of the project that begins at the margin and has a body or a value is defined there.
function define(code,    name) {
    if (name_pending != "") {
        if (match(code, /[;{]/)) {
            if (substr(code, RSTART, 1) == "{") defined_in(name_pending)
            name_pending = ""
        }
        return
    }
    if (code !~ /^[A-Za-z_]/ || code ~ /^(static|typedef|extern)[^A-Za-z_]/) return
    if (!match(code, /tutti_[a-z0-9_]+(\(|(\[[A-Za-z0-9_]*\])? =)/)) return
    if (RSTART > 1 && substr(code, RSTART - 1, 1) ~ /[A-Za-z0-9_]/) return
    name = substr(code, RSTART, RLENGTH)
    code = substr(code, RSTART + RLENGTH)
    if (name ~ /=$/) { sub(/(\[.*)? =$/, "", name); defined_in(name); return }
    sub(/\($/, "", name)
    if (!match(code, /[;{]/)) name_pending = name
    else if (substr(code, RSTART, 1) == "{") defined_in(name)
}

function defined_in(name) { if (name in home) home[name] = "several"; else home[name] = FILENAME }

# Leaves only those that lead to another one that is left, and are led to.
function trim(kind,    i, k, n, part, from, moved, out, led) {
    do {
        moved = 0
        split("", led)
        for (i = 1; i <= count[kind]; i++) {
            from = nodes[kind, i]
            if (!left[from]) continue
            n = split(leads[kind, from], part, " ")
            out = 0
            for (k = 1; k <= n; k++) if (left[part[k]]) { out = 1; led[part[k]] = 1 }
            if (!out) { left[from] = 0; moved = 1 }
        }
        for (i = 1; i <= count[kind]; i++)
            if (left[nodes[kind, i]] && !(nodes[kind, i] in led)) { left[nodes[kind, i]] = 0; moved = 1 }
    } while (moved)
}

# The shortest way from one back to itself, as " a b c"; "": there is none.
function way_back(kind, from,    queue, head, tail, at, before, k, n, part, way) {
    queue[tail = 1] = from
    for (head = 1; head <= tail; head++) {
        n = split(leads[kind, queue[head]], part, " ")
        for (k = 1; k <= n; k++) {
            if (!left[part[k]] || part[k] in before) continue
            before[part[k]] = queue[head]
            if (part[k] == from) {
                way = " " from
                for (at = before[from]; at != from; at = before[at]) way = " " at way
                return " " from way
            }
            queue[++tail] = part[k]
        }
    }
    return ""
}

function look(kind,    i, k, n, part, from, way, shown) {
    for (i = 1; i <= count[kind]; i++) left[nodes[kind, i]] = 1
    for (i = 1; i <= count[kind]; i++) {
        trim(kind)
        from = nodes[kind, i]
        if (!left[from]) continue
        way = way_back(kind, from)
        left[from] = 0
        if (way == "") continue
        n = split(way, part, " ")
        shown = part[1]
        for (k = 2; k <= n; k++) shown = shown " -> " part[k]
        print "a circle of " kind ": " shown
        for (k = 2; k <= n; k++) print "    " tied[kind, part[k - 1], part[k]]
        bad = 1
    }
    split("", left)
}

FNR == 1 { in_comment = 0; name_pending = "" }
pass == 1 { present[FILENAME] = 1; if (FILENAME ~ /\.c$/) define(code_of($0)); next }
/^[ \t]*#[ \t]*include[ \t]*"/ {
    target = $0
    sub(/^[^"]*"/, "", target)
    sub(/".*/, "", target)
    if (target in present) tie_files(FILENAME, target, "includes " target)
    next
}
FILENAME ~ /\.c$/ {
    code = code_of($0)
    while (match(code, /[A-Za-z_][A-Za-z0-9_]*/)) {
        name = substr(code, RSTART, RLENGTH)
        code = substr(code, RSTART + RLENGTH)
        if (name in home && home[name] != "several" && home[name] != FILENAME)
            tie_files(FILENAME, home[name], name ", of " home[name])
    }
}
END { look("files"); look("rooms"); exit bad }
' pass=1 $files pass=2 $files
