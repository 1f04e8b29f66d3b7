#!/bin/bash
# Prices of collectives against SimGrid: simgrid.sh [RANKS: 16] [ALGORITHMS: all]. The library's own collectives and MPI transport run
# under SMPI on a star of 1 Gbit/s; at most one message at a time is under way from a rank to another, because SMPI lets those of
# one pair share, and a price lets them follow each other. Of all cases, the median may differ by 2 %, and none by more than 10 %.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
ranks=${1:-16} algorithms=${2:-}
command -v smpicc > /dev/null || { echo "skipped: there is no smpicc (libsimgrid-dev)"; exit 77; }

# The files that call MPI are compiled once more; all others are the build's.
objects=()
for source in tests/simgrid/judge apps/trees/predict collectives/transport/mpi_{open,message,request,collective,fail,lock}; do
    objects+=("$dir/${source##*/}.o")
    case $source in collectives/*) first=(-include "$TUTTI_SRCDIR/tests/simgrid/judge.h") ;; *) first=() ;; esac
    smpicc -std=gnu11 -O2 -fPIC -I"$TUTTI_SRCDIR" -I"$TUTTI_BUILDDIR" -I"$TUTTI_BUILDDIR/include" "${first[@]}" \
        -c "$TUTTI_SRCDIR/$source.c" -o "${objects[-1]}" || fail "$source.c is not compiled"
done
smpicc -Wl,--wrap=tutti_flows_start "${objects[@]}" "$TUTTI_BUILDDIR/.libs/libcore.a" -o "$dir/judge" -lpthread -lm || fail "the judge is not linked"
[ "$failures" = 0 ] || finish

"$apps/tutti-info" --topology "star:$ranks,1Gbit/s" > "$dir/star.txt" || fail "there is no star"
cat > "$dir/star.xml" <<END
<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="star" prefix="h" radical="0-$((ranks - 1))" suffix="" speed="1Gf" bw="125MBps" lat="10us" sharing_policy="SPLITDUPLEX"/>
</platform>
END
grep -q 'rate 125MB/s latency 10us' "$dir/star.txt" || fail "the links of a star are others now"
seq -f 'h%g' 0 $((ranks - 1)) > "$dir/hosts"
# CM02: fair shares without the corrections that SimGrid measured on a network of its own. No time but that of messages.
smpirun -np "$ranks" -platform "$dir/star.xml" -hostfile "$dir/hosts" --cfg=network/model:CM02 --cfg=network/crosstraffic:0 \
    --cfg=smpi/simulate-computation:no --cfg=smpi/grow-injected-times:no --cfg=smpi/test:1e-12 \
    "$dir/judge" "$dir/star.txt" $algorithms > "$dir/said" 2> "$dir/err" || { fail "the judge has failed"; tail -n 20 "$dir/said" "$dir/err"; }

awk -v ranks="$ranks" '
    NF == 5 && $1 ~ /^(allreduce|broadcast|reduce)$/ {
        off[++n] = $4 > $5 ? $4 / $5 - 1 : $5 / $4 - 1
        if (off[n] > worst) { worst = off[n]; which = $0 }
    }
    END {
        m = median()
        printf "%d ranks, %d cases: the median differs by %.1f %%, the worst by %.1f %%: %s\n", ranks, n, 100 * m, 100 * worst, which
        exit !(n > 0 && m <= 0.02 && worst <= 0.1)
    }
    function median(  i, j, x) {
        for (i = 2; i <= n; i++) { x = off[i]; for (j = i - 1; j > 0 && off[j] > x; j--) off[j + 1] = off[j]; off[j + 1] = x }
        return n ? off[int((n + 1) / 2)] : 1
    }' "$dir/said" || { fail "prices differ from what SMPI has taken"; cat "$dir/said"; }
finish
