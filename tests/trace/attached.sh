#!/bin/bash
# Traces of a program that attaches: the collectives of its session and its own tasks are in one file, as an independent
# reader and tutti-trace see it. What can go wrong is a status and a sentence on every rank.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
command -v python3 > /dev/null || { echo "skipped: there is no python3"; exit 77; }
program=$TUTTI_BUILDDIR/tests/trace/attached

runs() { # P MODE DESIGN FILE
    local status=0
    "$mpirun" -np "$1" "$program" "$2" "$3" "$4" > "$dir/out" 2>&1 || status=$?
    [ $status = 0 ] || { fail "$*: status $status"; cat "$dir/out"; }
}
says() { # SENTENCE RANKS: so many ranks say it
    [ "$(grep -F -e "$1" "$dir/out" | sort -u | wc -l)" = "$2" ] || { fail "not $2 ranks say: $1"; cat "$dir/out"; }
}
checks() { # P DESIGN
    "$apps/tutti-trace" "$dir/trace" --json --svg "$dir/svg" > "$dir/told" || fail "tutti-trace: status $?"
    python3 "$TUTTI_SRCDIR/tests/trace/attached.py" "$dir/trace" "$1" "$2" "$dir/told" || fail "the trace of $*"
    rm -f "$dir/trace"
}

for design in $(names designs); do
    runs 2 trace "$design" "$dir/trace"
    checks 2 "$design"
done
runs 1 trace funneled "$dir/trace"
checks 1 funneled
runs 3 detach concurrent "$dir/trace"
checks 3 concurrent
runs 2 late chained "$dir/trace"
checks 2 chained
for policy in eager dmdas; do # with hooks of its own, and without
    STARPU_SCHED=$policy runs 2 trace funneled "$dir/trace"
    checks 2 funneled
done

# Too many spans: counted, and said on every rank.
TUTTI_TRACE_SPANS=5 runs 2 trace funneled "$dir/trace"
says 'spans of all ranks did not fit and were dropped' 2
grep -q '"last_step":0,"spans_dropped":[1-9]' "$dir/trace" || fail "the head does not count: $(head -c 300 "$dir/trace")"
"$apps/tutti-trace" "$dir/trace" > "$dir/out" 2>&1 && fail "tutti-trace studies a trace that is not whole"
grep -q 'spans were dropped' "$dir/out" || { fail "tutti-trace does not say why"; cat "$dir/out"; }

# Collectives of groups, and messages: each is one for those who take part, and none is taken for another.
runs 3 groups concurrent "$dir/trace"
python3 - "$dir/trace" << 'EOF' || fail "the trace of groups"
import collections, json, sys
ranks = collections.defaultdict(list)
for e in json.load(open(sys.argv[1], encoding="utf-8"))["traceEvents"]:
    if e["ph"] == "X" and "sequence" in e.get("args", {}):
        ranks[e["args"]["sequence"]].append(e["pid"])
found = sorted(sorted(r) for r in ranks.values())
first = min(min(r) for r in found)
found = [[r - first for r in members] for members in found]
wanted = sorted(4 * [[0, 1, 2]] + 2 * [[0, 1]] + 2 * [[0, 2]])
sys.exit(0 if found == wanted else f"{found} instead of {wanted}")
EOF
"$apps/tutti-trace" "$dir/trace" > "$dir/out" 2>&1 || { fail "tutti-trace: status $?"; cat "$dir/out"; }
rm -f "$dir/trace"

mkdir "$dir/folder"
runs 2 misuse funneled "$dir/folder"
says 'tutti_trace_end: this session is not being traced: call tutti_trace_begin first' 2
says 'tutti_trace_begin: this session is being traced: call tutti_trace_end first' 2
says 'another session of this process is being traced: end its trace first' 2
says 'tutti_trace_begin: file is NULL: rank 0 writes it' 1
says 'tutti_trace_begin: file is empty: rank 0 writes it' 1
says 'tutti_trace_begin: /dev/null is a device' 1
says "tutti_trace_begin: TUTTI_TRACE_SPANS='many': must be an integer from 1 to" 2
says "trace $dir/folder/gone/trace: cannot be locked" 1
says "trace $dir/folder/gone/trace: cannot create a file" 1
says 'tutti_trace_begin: the session was detached' 2
[ "$(ls "$dir/folder")" = "$(printf 'good\ngood.1')" ] || fail "what is left: $(ls "$dir/folder")"

echo before > "$dir/trace"
runs 2 fails funneled "$dir/trace"
says "trace $dir/trace is not written: the session has failed" 1
[ "$(cat "$dir/trace")" = before ] || fail "a failed session has written its trace"
ls "$dir" | grep -q 'part$\|lock$' && fail "something is left: $(ls "$dir")"
finish
