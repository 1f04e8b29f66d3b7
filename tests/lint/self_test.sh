#!/bin/bash
# The lint tests can fail: each rule is broken once in a tree made for it, and has to be named with its file and line.
set -u
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failures=0
tree=

# put FILE LINE...: a new tree that holds one good file and this one.
put() {
    local file=$1
    shift
    tree=$scratch/tree
    rm -rf "$tree"
    mkdir -p "$tree/dag/base" "$tree/$(dirname "$file")"
    printf '%s\n' '#ifndef TUTTI_GOOD_H' '#define TUTTI_GOOD_H' '/* exit( and MPI_ in a comment are no code. */' '#endif' \
        > "$tree/dag/base/good.h"
    printf '%s\n' "$@" > "$tree/$file"
}

# expect SCRIPT STATUS [WORDS]: runs it on the tree.
expect() {
    local script=$1 status=$2 words=${3:-} said rc=0
    said=$("$here/$script" "$tree" 2>&1) || rc=$?
    if [ "$rc" -ne "$status" ]; then
        echo "$script: exit status $rc instead of $status for: $words"
        echo "$said"
        failures=$((failures + 1))
    elif [ -n "$words" ] && ! grep -qF -- "$words" <<< "$said"; then
        echo "$script does not say '$words' but: $said"
        failures=$((failures + 1))
    fi
}

# FILE | second line of the file | what rooms.sh says about it; nothing: it is allowed.
while IFS='|' read -r file line words; do
    put "$file" '/* x */' "$line"
    if [ -n "$words" ]; then
        expect rooms.sh 1 "$file:2: $words"
    else
        expect rooms.sh 0
    fi
done << 'ROWS'
dag/base/a.c|#include "dag/graph/graph.h"|"dag/graph/graph.h": the ground floor
dag/graph/a.c|#include "dag/kernels/kernel.h"|"dag/kernels/kernel.h": the graph is a value
dag/graph/a.c|#include "dag/base/log.h"|
dag/kernels/a.h|#include "dag/graph/graph.h"|"dag/graph/graph.h": kernels know base only
dag/kernels/a.c|#  include "dag/base/../graph/a.h"|"dag/base/../graph/a.h": ../ hides
dag/net/a.c|#include "dag/run/run.h"|"dag/run/run.h": net knows
dag/net/a.c|#include "dag/step/step.h"|"dag/step/step.h": net knows
dag/step/a.c|#include "dag/run/starpu.h"|"dag/run/starpu.h": a step is made
dag/step/a.c|#include "dag/run/run.h"|
dag/step/a.c|#include "dag/strategies/strategies.h"|"dag/strategies/strategies.h": a step is made
dag/run/a.c|#include "collectives/coll.h"|"collectives/coll.h": run knows
dag/run/a.c|#include "designs/design.h"|"designs/design.h": run knows
dag/run/a.c|#include "dag/graph/graph.h"|
collectives/sched/a.c|#include "collectives/transport/transport.h"|"collectives/transport/transport.h": schedules
collectives/transport/a.c|#include "collectives/sched/sched.h"|"collectives/sched/sched.h": transports
collectives/buf/a.c|#include "collectives/sched/sched.h"|"collectives/sched/sched.h": buffers
collectives/a.c|#include "dag/graph/graph.h"|"dag/graph/graph.h": collectives know
collectives/a.c|#include "collectives/sched/sched.h"|
collectives/value/a.c|#include "collectives/coll.h"|"collectives/coll.h": a collective as a value
designs/a.c|#include "apps/data/source.h"|"apps/data/source.h": a design knows
designs/a.c|#include "designs/drive/driver.h"|"designs/drive/driver.h": a design knows
designs/a.c|#include "designs/place.h"|
designs/passes/a.c|#include "designs/queue/queue.h"|"designs/queue/queue.h": passes know
designs/queue/a.c|#include "designs/drive/driver.h"|"designs/drive/driver.h": the queue knows
designs/queue/a.c|#include "collectives/coll.h"|
designs/check/a.c|#include "designs/queue/queue.h"|"designs/queue/queue.h": the checker reads
designs/verify/a.c|#include "designs/drive/driver.h"|"designs/drive/driver.h": what ranks compare
designs/drive/a.c|#include "designs/watch/watch.h"|"designs/watch/watch.h": the driver knows
designs/drive/a.c|#include "collectives/engine.h"|"collectives/engine.h": the driver knows
designs/watch/a.c|#include "designs/thread/comm_thread.h"|"designs/thread/comm_thread.h": the inspector
designs/thread/a.c|#include "designs/exchange/exchange.h"|"designs/exchange/exchange.h": threads pass
designs/exchange/a.c|#include "designs/attach/attach.h"|"designs/attach/attach.h": the exchange puts
designs/exchange/a.c|#include "designs/thread/comm_thread.h"|
designs/attach/a.c|#include "designs/drive/driver.h"|"designs/drive/driver.h": the attach surface
apps/models/a.c|#include "dag/graph/graph.h"|"dag/graph/graph.h": models see net.h only
apps/models/a.c|#include "dag/net/net.h"|
apps/data/a.c|#include "dag/run/run.h"|"dag/run/run.h": data sees base only
apps/data/a.c|#include "dag/base/log.h"|
apps/session/a.c|#include "apps/tune/workload.h"|"apps/tune/workload.h": a session knows
apps/session/a.c|#include "designs/exchange/exchange.h"|
apps/train/a.c|#include "designs/design.h"|
apps/train/a.c|#include "tests/support/testing.h"|"tests/support/testing.h": programs see
apps/train/a.c|#include "loop.h"|"loop.h" is not written from the top
apps/train/a.c|#include "config.h"|
apps/train/a.c|#include "apps/train/b.c"|"apps/train/b.c": sources are not included
dag/kernels/a.c|#include <starpu.h>|<starpu.h>: StarPU is known
dag/run/a.c|#include <starpu.h>|
collectives/sched/a.c|#include <mpi.h>|<mpi.h>: MPI is known
collectives/boot.c|#include <mpi.h>|
dag/kernels/conv_cpu.c|#include <dnnl.h>|<dnnl.h>: oneDNN stands
dag/kernels/onednn_conv.c|#include <oneapi/dnnl/dnnl.h>|
dag/net/a.c|#include <zlib.h>|<zlib.h>: file formats
dag/graph/a.c|int a(void) { return starpu_init(NULL); }|starpu_: StarPU is known
dag/graph/a.c|int a(void) { return tutti_starpu_init(NULL); }|
dag/graph/a.c|/* starpu_init */ const char *a = "MPI_Init"; // exit(1)|
designs/a.c|int a = MPI_SUCCESS;|MPI_: MPI is known
designs/attach/attach.c|int a = MPI_SUCCESS;|
collectives/a.c|MPI_Comm a;|MPI_: MPI is known
dag/kernels/conv_cpu.c|dnnl_engine_t a;|dnnl_: oneDNN stands
dag/kernels/onednn.c|dnnl_engine_t a;|
designs/a.c|void a(void) { exit(1); }|exit(: libraries return
designs/a.c|void a(void) { tutti_boot_abort(1); on_exit(0); }|
dag/base/a.c|void a(void) { abort(); }|abort(: libraries return
apps/train/a.c|void a(void) { exit(1); }|
apps/mpicheck/a.c|#include "dag/base/log.h"|"dag/base/log.h": what is preloaded
apps/mpicheck/a.c|int a(void) { return PMPI_Finalize(); }|
designs/a.c|int a(void) { return PMPI_Finalize(); }|PMPI_: the second names of MPI
ROWS

put dag/attic/a.c 'int a;'
expect rooms.sh 1 'dag/attic/a.c:1: this folder has no row'

# A line in a comment of several lines is no code, and the line after it is.
put dag/run/a.c '/* a' ' * MPI_Init */ int a; /*' '*/ int b = MPI_SUCCESS;'
expect rooms.sh 1 'dag/run/a.c:3: MPI_'

# also FILE LINE...: one more file of the tree.
also() {
    local file=$1
    shift
    mkdir -p "$tree/$(dirname "$file")"
    printf '%s\n' "$@" > "$tree/$file"
}

# Circles: of headers, of a source and another's header, of names that stand in one file alone, of rooms.
put dag/base/a.h '#include "dag/base/b.h"'
also dag/base/b.h '#include "dag/base/c.h"'
also dag/base/c.h '#include "dag/base/good.h"'
expect rooms.sh 0
also dag/base/c.h '' '#include "dag/base/a.h"'
expect rooms.sh 1 'a circle of files: dag/base/a -> dag/base/b -> dag/base/c -> dag/base/a'
expect rooms.sh 1 'dag/base/c.h:2: includes dag/base/a.h'
put dag/run/a.c '#include "dag/run/b.h"'
also dag/run/b.h '#include "dag/run/a.h"'
also dag/run/a.h 'struct a;'
expect rooms.sh 1 'a circle of files: dag/run/a -> dag/run/b -> dag/run/a'
put dag/run/a.c 'int tutti_a(int n)' '{ return tutti_b(n); }'
also dag/run/b.c 'int tutti_b(int n)' '{ /* tutti_a */ return "tutti_a(n)"[n]; }'
expect rooms.sh 0
also dag/run/b.c 'int tutti_b(int n) {' '    return n ? tutti_a(' '        n - 1) : 0;' '}'
expect rooms.sh 1 'a circle of files: dag/run/a -> dag/run/b -> dag/run/a'
expect rooms.sh 1 'dag/run/b.c:2: tutti_a, of dag/run/a.c'
also dag/run/c.c 'int tutti_a(int n) { return n; }'
expect rooms.sh 0
put designs/a.c 'const int *const tutti_rows[] = {&tutti_row};'
also designs/b.c 'const int tutti_row = 1;' 'const void *b(void) { return tutti_rows; }'
expect rooms.sh 1 'a circle of files: designs/a -> designs/b -> designs/a'
put apps/x/a.c '#include "apps/y/b.h"'
also apps/y/b.h '#include "apps/z/c.h"'
also apps/z/c.h 'struct c;'
also apps/z/d.h '#include "apps/y/e.h"'
also apps/y/e.h 'struct e;'
expect rooms.sh 1 'a circle of rooms: apps/y -> apps/z -> apps/y'
expect rooms.sh 1 'apps/z/d.h:1: includes apps/y/e.h'

tab=$(printf '\t') nothing=
long=$(printf '%0121d' 0)
while IFS='|' read -r file line words; do
    put "$file" '#ifndef TUTTI_A_H' '#define TUTTI_A_H' "$line" '#endif'
    if [ -n "$words" ]; then
        expect style.sh 1 "$file:3: $words"
    else
        expect style.sh 0
    fi
done << ROWS
dag/base/a.h|${tab}int a;|a tab
dag/base/a.c|int a; |blanks at the end
tests/x/a.c|int a${long};|longer than 120
dag/base/a.c|/* TO${nothing}DO: later */|a note for later
dag/base/a.c|int TODOS;|
dag/base/a.c|int a;|
ROWS
put dag/base/a.h '#ifndef A_H' '#define A_H' '#endif'
expect style.sh 1 'dag/base/a.h:1: guards'
put dag/base/a.h '#define A 1'
expect style.sh 1 'dag/base/a.h:1: a header begins'
put dag/base/a.h '#ifndef TUTTI_A_H' '#define TUTTI_A_H' 'typedef struct tutti_a {' '    int a;' '} tutti_a;' '#endif'
expect style.sh 0
mkdir -p "$tree/dag/run"
sed s/A_H/B_H/ "$tree/dag/base/a.h" > "$tree/dag/run/b.h"
expect style.sh 1 'dag/run/b.h:5: the type tutti_a is defined in dag/base/a.h, too'
put dag/base/a.c 'int a;'
printf 'int b;' >> "$tree/dag/base/a.c"
expect style.sh 1 'dag/base/a.c: no end of line'
printf 'int a;\r\n' > "$tree/dag/base/a.c"
expect style.sh 1 'dag/base/a.c:1: a carriage return'
put tests/a.sh '#!/bin/bash'
expect style.sh 1 'tests/a.sh:1: begins with #!, but may not be executed'
put tests/a.sh '"$mpirun" -np 1 a \' ": -np 1 b" ' : -np 1 c'
expect style.sh 1 'tests/a.sh:3: several programs'
put tests/a.sh 'launch_several_programs "$mpi"' '"$mpirun" -np 1 a'" : -np 1 b"
expect style.sh 0

put dag/base/b.h 'typedef enum tutti_way { TUTTI_UP } tutti_way;'
expect words.sh 0
put dag/base/b.h 'typedef enum tutti_way { TUTTI_UP } tutti_way;'
mkdir -p "$tree/dag/net"
printf '%s\n' 'typedef struct tutti_way {' '    int a;' '} tutti_way;' > "$tree/dag/net/c.h"
expect words.sh 1 'dag/net/c.h:1: the type tutti_way is defined in another header, too'

# FILE | a line of it | what words.sh says instead of its word; nothing: it is allowed.
while IFS='|' read -r file line words; do
    put "$file" "$line"
    if [ -n "$words" ]; then
        expect words.sh 1 "$file:1: $words"
    else
        expect words.sh 0
    fi
done << 'ROWS'
dag/net/a.c|/* each slice of the batch */|a sum is cut
doc/a.md|`--slice-mb X`|a sum is cut
dag/run/a.c|int timeslices;|
designs/verify/a.h|/* Farewell. */|shutdown
apps/a.sh|tutti-bench manners|interference
doc/a.1|--check off|the ranks' collectives
doc/a.md|`--check-only`|
dag/run/a.c|tutti_turn_take(|mpi_thread
dag/run/a.c|tutti_scheduler|
designs/queue/a.c|/* Nobody waits. */|no rank, no thread
apps/train/a.c|/* Nobody waits. */|no rank, no thread
apps/mpicheck/a.c|/* Nobody waits. */|
dag/run/a.c|/* Nobody waits. */|no rank, no thread
collectives/a.c|/* what a rank is told */|receive, report
collectives/a.c|static int settle(queue *q)|a static function is named
collectives/a.c|static int settle_queue(queue *q)|
ROWS

# A tree with three designs, of which one is an oracle and one unsafe, and FILE with these lines.
put_designs() { # FILE LINE...
    local name
    put "$@"
    mkdir -p "$tree/designs"
    for name in funneled concurrent chained sequential naive; do
        printf 'const tutti_design tutti_design_%s = {\n' $name > "$tree/designs/$name.c"
        printf 'x = &tutti_design_%s\n' $name >> "$tree/designs/table.c"
    done
    echo '    .start = &tutti_start_main,' >> "$tree/designs/sequential.c"
    echo '    .unsafe = 1,' >> "$tree/designs/naive.c"
}

# FILE | a line | what lists.sh says; nothing: it is allowed.
while IFS='|' read -r file line words; do
    put_designs "$file" "$line"
    if [ -n "$words" ]; then expect lists.sh 1 "$file:$words"; else expect lists.sh 0; fi
done << 'ROWS'
apps/x/a.c|const char *const names[] = {"funneled", "chained", "sequential"};|1: a list of designs of its own
apps/x/a.c|{"funneled", "chained", "sequential"}; /* designs by name */|
apps/x/a.c|{"funneled", "chained"};|
tests/x/a.sh|for design in funneled concurrent chained; do|1: a list of designs of its own
tests/x/a.sh|for design in $(names designs); do # funneled concurrent chained|
tests/x/a.sh|true # funneled, sequential, chained|1: names some of the designs
designs/a.h|/* "funneled", "chained" or "sequential" */|1: names some of the designs
designs/a.h|/* "funneled", "chained", "concurrent" or "sequential" */|
apps/x/a.c|#include "designs/funneled.c" "tutti_design_chained" designs/concurrent.h sequential()|
quickstart|designs=(funneled concurrent chained)|1: a list of designs of its own
README.md|Designs: funneled, chained, naive and sequential.|1: names some of the designs
ROWS
put_designs README.md 'Designs: funneled, concurrent, chained.'
expect lists.sh 1 'README.md:1: does not name sequential'
put_designs doc/designs.md 'funneled, concurrent, chained and sequential' '## Funneled' '## Chained' '## Sequential'
expect lists.sh 1 'doc/designs.md:1: no part about concurrent'
put_designs tests/models/promela/models.txt 'quick    funneled    P=3' 'quick chained P=2' 'full sequential P=2' 'full concurrent P=1'
expect lists.sh 1 'models.txt:1: no row for a model of naive'

# A tree with one family of two ops, whose table has these lines, and FILE with these lines.
put_ops() { # ROWS TABLE FILE LINE...
    local rows=$1 table=$2
    shift 2
    put "$@"
    mkdir -p "$tree/dag/kernels"
    printf '%s\n' 'extern const tutti_op tutti_op_up,' '    tutti_op_down;' > "$tree/dag/kernels/move.h"
    printf '%b' "const tutti_kernel tutti_kernels_move_cpu[] = {\n$rows};\n" > "$tree/dag/kernels/move_cpu.c"
    printf '%b' "$table" > "$tree/dag/kernels/table.c"
}
both='    TUTTI_CPU_ROW_OF(up, t, a, b, c),\n    TUTTI_CPU_LOOP(down, a, b),\n'
put_ops "$both" '    ALL_ISAS(tutti_kernels_move_cpu),\n' dag/net/a.c 'f(&tutti_op_up, &tutti_op_down);'
expect lists.sh 0
put_ops '    TUTTI_CPU_ROW(up, a, b, c),\n' '    ALL_ISAS(tutti_kernels_move_cpu),\n' dag/net/a.c ''
expect lists.sh 1 'dag/kernels/move.h:2: the op down has no row'
put_ops "$both" '    ALL_ISAS(tutti_kernels_other_cpu),\n' dag/net/a.c ''
expect lists.sh 1 'dag/kernels/move_cpu.c:1: table.c does not collect tutti_kernels_move_cpu'
put_ops "$both" '    ALL_ISAS(tutti_kernels_move_cpu),\n' dag/run/a.c '{&tutti_op_up, &tutti_op_down, &tutti_op_left};'
expect lists.sh 1 'dag/run/a.c:1: a list of ops of its own'

# A tree whose kernels for CUDA include b.h by a.h; FILE says what they depend on.
put_cuda() {
    put dag/kernels/local.mk 'x = y' "$@"
    echo '#include "dag/kernels/a.h"' > "$tree/dag/kernels/up.cu"
    echo '#include "dag/kernels/b.h"' > "$tree/dag/kernels/a.h"
    echo '#include <stddef.h>' > "$tree/dag/kernels/b.h"
}
put_cuda 'cuda_headers = dag/kernels/a.h \' '	dag/kernels/b.h' 'z = dag/kernels/c.h'
expect lists.sh 0
put_cuda 'cuda_headers = dag/kernels/a.h' 'z = dag/kernels/b.h'
expect lists.sh 1 'dag/kernels/local.mk:2: cuda_headers and what *.cu include differ in dag/kernels/b.h'
put_cuda 'cuda_headers = dag/kernels/a.h dag/kernels/b.h dag/kernels/c.h'
expect lists.sh 1 'differ in dag/kernels/c.h'

export CC=${CC:-cc} FLAGS='-std=gnu11 -Wall'
put dag/base/a.h '#ifndef TUTTI_A_H' '#define TUTTI_A_H' 'size_t tutti_a(void);' '#endif'
expect headers.sh 1 'dag/base/a.h: does not compile alone'
put dag/base/a.h 'struct tutti_a { int a; };'
expect headers.sh 1 'dag/base/a.h: does not compile alone'
put dag/base/a.h '#ifndef TUTTI_A_H' '#define TUTTI_A_H' '#include <stddef.h>' 'size_t tutti_a(void);' '#endif'
expect headers.sh 0

put dag/base/a.c 'int tutti_a;' 'static int hidden;' 'int loud(void);' 'int loud(void) { return hidden; }'
tree=$scratch/tree/a.o
(cd "$scratch/tree" && $CC -c -o a.o dag/base/a.c)
expect symbols.sh 1 'loud does not begin with tutti_'
put dag/base/a.c 'int tutti_a;' 'static int hidden;' 'int tutti_quiet(void) { return hidden; }'
(cd "$scratch/tree" && $CC -c -o a.o dag/base/a.c)
tree=$scratch/tree/a.o
expect symbols.sh 0
tree=$scratch/nothing.a
expect symbols.sh 1 'is not there'

# objects: compiles every source of the tree.
objects() {
    local file
    (cd "$tree" && find . -name '*.c' | while read -r file; do $CC -c -o "${file%.c}.o" "$file"; done)
}
put dag/net/a.c 'int tutti_low(void);' 'int tutti_low(void) { return 0; }'
expect room_symbols.sh 1 'no objects'
also dag/step/b.c 'int tutti_low(void);' 'int tutti_high(void);' 'int tutti_high(void) { return tutti_low(); }'
also dag/run/c.c 'const int tutti_row = 1;'
objects
expect room_symbols.sh 0
# Up, as a function and as an entry of a table; to a room of which a row allows a header, and to one of which none does.
also dag/net/a.c 'int tutti_high(void);' 'int tutti_low(void);' 'int tutti_low(void) { return tutti_high(); }'
also dag/base/d.c 'int tutti_high(void);' 'int (*const tutti_table[])(void) = {tutti_high};'
also dag/step/e.c 'extern const int tutti_row;' 'const int *const tutti_e = &tutti_row;'
also dag/net/f.c 'extern const int tutti_row;' 'const int *const tutti_f = &tutti_row;'
objects
expect room_symbols.sh 1 'dag/net/a.o uses tutti_high, defined in dag/step/b: net knows'
expect room_symbols.sh 1 'dag/base/d.o uses tutti_high, defined in dag/step/b: the ground floor'
expect room_symbols.sh 1 'dag/net/f.o uses tutti_row, defined in dag/run/c: net knows'
rm "$tree/dag/net/f.o" "$tree/dag/base/d.o"
mkdir "$tree/dag/net/.libs" && mv "$tree/dag/net/a.o" "$tree/dag/net/.libs/program-a.o"
expect room_symbols.sh 1 'dag/net/a.o uses tutti_high'
# An object of an earlier build has no source, or one that is newer.
touch -d '1 hour' "$tree/dag/net/a.c"
expect room_symbols.sh 0
mv "$tree/dag/net/a.c" "$tree/dag/net/g.c"
expect room_symbols.sh 0

# abi FLAGS LIST_LINE... -- WORDS: a library with tutti_a and tutti_b, against a list.
abi() {
    local version=$1 lines=() words rc=0 said
    shift
    while [ "$1" != -- ]; do lines+=("$1") && shift; done
    words=$2
    put dag/base/a.c 'int tutti_a(void);' 'int tutti_b(void);' \
        'int tutti_a(void) { return 1; }' 'int tutti_b(void) { return 2; }'
    echo 'ONE { global: tutti_a; tutti_b; local: *; };' > "$tree/map"
    (cd "$tree" && $CC -shared -fPIC -Wl,--version-script=map -o liba.so dag/base/a.c)
    printf '%s\n' 'release 1.0' 'library 3:1:0' "${lines[@]}" > "$tree/list"
    said=$("$here/abi.sh" "$tree/liba.so" "$tree/list" "$version" 2>&1) || rc=$?
    if [ $rc -ne $((${#words} > 0)) ] || ! grep -qF -- "$words" <<< "$said"; then
        echo "abi.sh: status $rc, for '$words': $said"
        failures=$((failures + 1))
    fi
}
abi 3:2:0 tutti_a@ONE tutti_b@ONE -- ''
abi 4:0:1 tutti_a -- ''
abi 3:2:0 tutti_a@ONE tutti_b@ONE tutti_gone@ONE -- 'tutti_gone@ONE of 1.0 is not exported any more'
abi 3:2:0 tutti_a@NULL tutti_b@ONE -- 'tutti_a@NULL of 1.0 is tutti_a@ONE now'
abi 3:2:0 tutti_a@ONE -- 'new since 1.0: tutti_b@ONE; raise current and age'

# FILE | a line | what waits.sh says about it; nothing: it is allowed.
while IFS='|' read -r file line words; do
    put "$file" '/* INFINITY */' "$line"
    if [ -n "$words" ]; then expect waits.sh 1 "$file:2: $words"; else expect waits.sh 0; fi
done << 'ROWS'
designs/kv/a.c|    return wait_for_count(kv, count_ends, ends, INFINITY);|may wait without end
designs/thread/a.c|    while (!done) pthread_cond_wait(&more, &lock);|may wait without end
collectives/a.c|    poll(what, n, -1);|may wait without end
collectives/a.c|    MPI_Barrier(comm);|may wait without end
collectives/a.c|    poll(what, n, 50);|
dag/run/a.c|    starpu_data_acquire(data, STARPU_R);|may wait without end
dag/run/a.c|    starpu_data_acquire_on_node(data, node, STARPU_R);|may wait without end
dag/run/a.c|    starpu_data_unregister(data);|may wait without end
dag/run/a.c|    starpu_data_unregister_submit(data);|
dag/run/a.c|    starpu_shutdown();|may wait without end
dag/device/a.c|    cudaStreamSynchronize(stream);|may wait without end
collectives/a.c|    ncclCommDestroy(comm);|may wait without end
collectives/a.c|    MPI_Comm_free(&comm);|may wait without end
dag/run/a.c|    pthread_cond_timedwait(&more, &lock, &until);|
dag/kernels/a.c|    float most = INFINITY;|
ROWS
# A reason is for one line.
put collectives/boot.c '    int code = MPI_Allreduce(' '        mine, all, 1, MPI_INT, MPI_SUM, comm);' '    int code = MPI_Allreduce(mine, all,'
expect waits.sh 1 'collectives/boot.c:3: may wait without end'
put designs/watch/watch.c '/* x */'
expect waits.sh 1 'designs/watch/watch.c: tests/lint/waits.sh has a reason for a line that is gone'

# A line of a page | what pages.sh says about it; nothing: it is allowed.
while IFS='|' read -r line words; do
    put doc/a.1 '.TH A 1' "$line"
    if [ -n "$words" ]; then expect pages.sh 1 "doc/a.1:2: $words"; else expect pages.sh 0; fi
done << 'ROWS'
.BR "\-\-strategy sync" . The workers add up|a macro of two fonts joins these words
.RB ( tutti-cifar (1), which is told there|a macro of two fonts joins these words
.BR designs ", " transports " and " runners .|
.BI synthetic: H x W x C : CLASSES|
ROWS
if command -v groff > /dev/null; then
    put doc/a.1 '.TH A 1' '.B \[unknown-character]'
    expect pages.sh 1 'doc/a.1:1: groff says'
fi
put apps/example/slurm.sh '#!/bin/bash' 'exit 0'
mkdir -p "$tree/doc" && printf '%s\n' '    #!/bin/bash' '    exit 1' > "$tree/doc/operating.md"
expect pages.sh 1 'doc/operating.md:1: does not show apps/example/slurm.sh'
put doc/index.md 'See [the pages](pages.md) and `doc/none.md`.'
expect pages.sh 1 'doc/index.md:1: there is no pages.md'
put doc/index.md 'See [the pages](pages.md) and `doc/none.md`.'
expect pages.sh 1 'doc/index.md:1: there is no doc/none.md'
put doc/index.md 'See [the pages](a.md).'
echo 'A page.' | tee "$tree/doc/a.md" > "$tree/doc/b.md"
expect pages.sh 1 'doc/index.md:1: does not list b.md'
expect pages.sh 1 'doc/b.md:3: does not say who it is for'
seq 121 > "$tree/README.md"
expect pages.sh 1 'README.md:121: has more than 120 lines'
put apps/example/new.c 'int main(void) { return 0; }'
mkdir -p "$tree/doc" && echo 'See `apps/example/new.c`.' > "$tree/README.md" && echo > "$tree/doc/local.mk"
expect pages.sh 1 'doc/local.mk:1: does not install apps/example/new.c'

# Commands of pages, and their rows.
put tests/lint/commands.txt 'README.md | tutti-run | tests/none.sh' 'README.md | make | pages' 'doc/a.md | make | no: reason'
mkdir "$tree/doc"
printf '%s\n' 'Text.' '' '    tutti-run -n 2 \' '        PROGRAM' '    tutti-info --no-option' '    make all' > "$tree/README.md"
for words in 'README.md:5: no row in tests/lint/commands.txt: tutti-info --no-option' 'commands.txt:1: neither pages, nor a test' \
    'commands.txt:3: doc/a.md has no such command'; do
    expect commands.sh 1 "$words"
done
printf '%s\n' .nf 'tutti-trace \-\-no\-option FILE' .fi > "$tree/doc/a.1"
if [ -x "${TUTTI_BUILDDIR:-/nowhere}/apps/tutti-info" ]; then
    expect commands.sh 1 'README.md:5: tutti-info does not take it'
    expect commands.sh 1 'doc/a.1:2: tutti-trace does not take it'
fi

# A step of the tour | what tour.sh says about it; nothing: it is allowed.
while IFS='|' read -r step words; do
    put dag/base/a.c 'int tutti_a(void)' '{' '    return tutti_b();' '}' 'int tutti_c(void);'
    printf '%s\n' '## A tour' "$step" > "$tree/HACKING.md"
    if [ -n "$words" ]; then expect tour.sh 1 "$words"; else expect tour.sh 0; fi
done << 'ROWS'
  dag/base/a.c: tutti_a    does something|
  dag/base/a.c: tutti_a, tutti_d    do something|HACKING.md:2: dag/base/a.c does not define tutti_d
  dag/base/a.c: tutti_b    is only called|HACKING.md:2: dag/base/a.c does not define tutti_b
  dag/base/a.c: tutti_c    is only declared|HACKING.md:2: dag/base/a.c does not define tutti_c
  dag/base/b.c: tutti_a    is elsewhere|HACKING.md:2: there is no dag/base/b.c
No step.|HACKING.md: there is no tour
ROWS

[ $failures -eq 0 ] && echo "all lint rules can fail"
exit $((failures > 0))
