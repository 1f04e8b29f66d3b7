#!/bin/bash
# Where StarPU cannot keep its measurements, programs use another folder and say so once, or end with a sentence and status 1;
# StarPU would end them with SIGABRT. Also for a user id without a name. See tests/run/test_home.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
train=("$apps/tutti-cifar" --data synthetic --model mlp --steps 1 --batch 2 --eval-every never)
mkdir "$dir/tmp"
chmod 755 "$dir"
chmod 777 "$dir/tmp"
plain=(env -u STARPU_HOME -u XDG_CACHE_HOME TMPDIR="$dir/tmp")
refuses 0 'weights [0-9a-f]' "${plain[@]}" HOME=/proc/none "$mpirun" -np 2 "${train[@]}"
[ "$(grep -c "warning: StarPU cannot keep its measurements in HOME /proc/none (.*): they go to $dir/tmp/tutti-" "$dir/out")" = 1 ] ||
    { fail "not one warning of two ranks"; cat "$dir/out"; }

# What quickstart makes for release 1.4 of StarPU is what this release misses.
if [ -d /usr/share/starpu/perfmodels/sampling ]; then
    refuses 0 'weights [0-9a-f]' "$mpirun" -np 1 "${train[@]}"
    ! grep -q 'perfmodels/sampling' "$dir/out" || { fail "StarPU warns of a folder that there is"; cat "$dir/out"; }
else
    left_out "StarPU's folder for sampling" "/usr/share/starpu/perfmodels/sampling is not there"
fi

# Nowhere to write.
rm -rf "$dir/tmp/tutti-starpu-$(id -u)"
ln -s / "$dir/tmp/tutti-starpu-$(id -u)"
refuses 1 'error: StarPU cannot keep its measurements: not in HOME /proc/none .*: set STARPU_HOME' "${plain[@]}" HOME=/proc/none \
    "$mpirun" -np 1 "${train[@]}"
grep -q 'SIGABRT\|Aborted\|\[starpu\]' "$dir/out" && { fail "StarPU was started"; cat "$dir/out"; }

# A user id without a name, and without HOME.
if [ "$(id -u)" = 0 ]; then
    as=(setpriv --reuid 54321 --regid 54321 --clear-groups env -u HOME -u USER -u LOGNAME)
    as+=(-u OMPI_MCA_orte_tmpdir_base -u PRTE_MCA_prte_tmpdir_base -u OMPI_MCA_btl_vader_backing_directory) # the guard's
    if "${as[@]}" test -x "$apps/tutti-run"; then
        refuses 0 'weights [0-9a-f]' "${plain[@]}" "${as[@]}" MPIRUN="$mpirun" "$apps/tutti-run" -n 2 "${train[@]}"
        rm -f /tmp/tutti-starpu-*-54321.lock # that user's (dag/run/process_lock.c)
    else
        left_out "a user id without a name" "other users cannot reach this build"
    fi
else
    left_out "a user id without a name" "needs root"
fi
finish
