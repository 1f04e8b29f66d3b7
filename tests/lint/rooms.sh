#!/bin/sh
# The floors of the house, enforced: rooms.sh [TREE]
#
# Three tables: which headers of the tree a room may include (rooms.txt), which libraries a room may include, and which names a
# room may use in its code (comments and strings do not count). Every line that breaks a row is printed as
# "file:line: rule", and the exit status is 1. tests/ may do anything. A new room is a new row. At the end circles.sh looks for
# files and rooms that go round in a circle.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
tree=${1:-${TUTTI_SRCDIR:-.}}
cd "$tree"

# ROOM | what it may include | why; room_symbols.sh reads the same table.
includes=$(sed '/^#/d' "$here/rooms.txt")

# LIBRARY (begin of what stands between < and >) | rooms and files that may include it | why
libraries='
starpu     | dag/run/ designs/attach/attach.h designs/attach/attach.c apps/example/ | StarPU is known to dag/run and the attach surface
mpi        | collectives/transport/ collectives/boot.c collectives/lasting.c designs/attach/attach.h designs/attach/attach.c designs/kv/kv.h designs/kv/kv_open.c apps/bench/library.c apps/example/ apps/mpicheck/ | MPI is known to transports, boot, the attach surface, a bench of its algorithms and the checker of MPI programs
oneapi/    | dag/kernels/onednn                                | oneDNN stands behind dag/kernels/onednn*
cuda       | dag/device/device_cuda dag/kernels/cuda dag/kernels/cublaslt.c collectives/transport/nccl_ collectives/transport/nccl.c | CUDA stands behind dag/device/device_cuda*, dag/kernels/cuda*, cublaslt.c and the transport nccl
nccl       | apps/tools/nccl_ collectives/transport/nccl_ collectives/transport/nccl.c      | NCCL stands behind files that are named after it
cublas     | dag/kernels/cublas                                | cuBLAS stands behind dag/kernels/cublas*
cudnn      | apps/tools/cudnn_ dag/kernels/cudnn               | cuDNN stands behind files that are named after it
dnnl       | dag/kernels/onednn                                | oneDNN stands behind dag/kernels/onednn*
jpeglib    | apps/data/                                        | file formats belong to apps/data
png        | apps/data/                                        | file formats belong to apps/data
zlib       | apps/data/                                        | file formats belong to apps/data
jansson    | apps/                                             | JSON belongs to the programs
elfutils/  | apps/mpicheck/site_dw.c                              | debug information stands behind apps/mpicheck/site*
'

# NAME (begin of an identifier; "name(" is a whole one that is called) | where it may stand | why
names='
starpu_    | dag/run/ designs/attach/attach.h designs/attach/attach.c apps/bench/kv_store.c apps/svm/world_session.c apps/example/ | StarPU is known to dag/run, the attach surface, and who uses that
STARPU_    | dag/run/ designs/attach/attach.h designs/attach/attach.c apps/bench/kv_store.c apps/svm/world_session.c apps/example/ | StarPU is known to dag/run, the attach surface, and who uses that
PMPI_      | apps/mpicheck/                                       | the second names of MPI are for the checker of MPI programs
MPI_       | collectives/transport/ collectives/boot.c collectives/lasting.c designs/attach/attach.h designs/attach/attach.c designs/kv/kv.h designs/kv/kv_open.c apps/bench/kv_store.c apps/bench/library.c apps/svm/world_session.c apps/example/ apps/mpicheck/ | MPI is known to transports, boot, the attach surface, who uses that, and the checker of MPI programs
dnnl_      | dag/kernels/onednn                                | oneDNN stands behind dag/kernels/onednn*
exit(      | apps/                                             | libraries return a status, programs exit
_exit(     | apps/ collectives/boot.c designs/elastic/keeper.c | libraries return a status, programs exit (boot ends all ranks, and a keeper is a process of its own)
abort(     | apps/                                             | libraries return a status, programs exit
'

export includes libraries names
find dag collectives designs apps \( -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' \) 2> /dev/null | LC_ALL=C sort | xargs awk '
function trim(s) { gsub(/^[ \t]+|[ \t]+$/, "", s); return s }

function load(table, key, allowed, why,    rows, n, i, f) {
    n = split(ENVIRON[table], rows, "\n")
    count[table] = 0
    for (i = 1; i <= n; i++) {
        if (split(rows[i], f, "|") != 3) continue
        count[table]++
        key[count[table]] = trim(f[1]); allowed[count[table]] = trim(f[2]); why[count[table]] = trim(f[3])
    }
}

# Whether path is one of the words of list: a folder (ends in /), a file, or the begin of file names.
function listed(path, list,    words, n, i, w) {
    n = split(list, words, " ")
    for (i = 1; i <= n; i++) {
        w = words[i]
        if (w ~ /\.[ch]$/ ? path == w : index(path, w) == 1) return 1
    }
    return 0
}

function report(rule) { printf "%s:%d: %s\n", FILENAME, FNR, rule; bad = 1 }

function room_of(file,    i, best, length_of_best) {
    length_of_best = 0; best = 0
    for (i = 1; i <= count["includes"]; i++)
        if (index(file, room[i] "/") == 1 && length(room[i]) > length_of_best) { best = i; length_of_best = length(room[i]) }
    return best
}

# The line without comments, strings and character constants; in_comment lasts from line to line.
function code_of(line,    out, i, c, two, quote) {
    out = ""; quote = ""
    for (i = 1; i <= length(line); i++) {
        c = substr(line, i, 1); two = substr(line, i, 2)
        if (in_comment) { if (two == "*/") { in_comment = 0; i++ } }
        else if (quote != "") { if (c == "\\") i++; else if (c == quote) quote = "" }
        else if (two == "/*") { in_comment = 1; i++; out = out " " }
        else if (two == "//") return out
        else if (c == "\"" || c == "\047") { quote = c; out = out " " }
        else out = out c
    }
    return out
}

# Whether an identifier that begins with word stands in the code.
function stands(code, word,    at, before) {
    while ((at = index(code, word)) > 0) {
        before = at > 1 ? substr(code, at - 1, 1) : " "
        if (before !~ /[A-Za-z0-9_]/) return 1
        code = substr(code, at + length(word))
    }
    return 0
}

BEGIN {
    load("includes", room, room_allowed, room_why)
    load("libraries", library, library_allowed, library_why)
    load("names", name, name_allowed, name_why)
}

FNR == 1 {
    in_comment = 0
    here = room_of(FILENAME)
    if (!here) report("this folder has no row in rooms.txt")
}

{ was_in_comment = in_comment; code = code_of($0) }

!was_in_comment && /^[ \t]*#[ \t]*include/ {
    target = $0
    if (match(target, /"[^"]*"/)) {
        target = substr(target, RSTART + 1, RLENGTH - 2)
        if (target !~ /\// && target != "config.h") report("\"" target "\" is not written from the top of the tree")
        else if (target ~ /\.\.\//) report("\"" target "\": ../ hides the room that is meant")
        else if (here && room_of(target) != here && !listed(target, room_allowed[here]))
            report("\"" target "\": " room_why[here])
        else if (target ~ /\.c$/) report("\"" target "\": sources are not included")
    } else if (match(target, /<[^>]*>/)) {
        target = substr(target, RSTART + 1, RLENGTH - 2)
        for (i = 1; i <= count["libraries"]; i++)
            if (index(target, library[i]) == 1 && !listed(FILENAME, library_allowed[i]))
                report("<" target ">: " library_why[i])
    }
    next
}

{
    for (i = 1; i <= count["names"]; i++)
        if (stands(code, name[i]) && !listed(FILENAME, name_allowed[i])) report(name[i] ": " name_why[i])
}

END { exit bad }
' || bad=1
"$here/circles.sh" . || bad=1
exit "${bad:-0}"
