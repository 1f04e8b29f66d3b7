# What tests of elastic runs share; sourced after lib.sh.

# begin_elastic N LEAST:MOST OPTION...: starts tutti-cifar so; output in $dir/out. run: the process of tutti-run. The test may have
# further options of tutti-run in launching, and the number of restarts in restarts.
begin_elastic() {
    local ranks=$1 bounds=$2
    shift 2
    "$apps/tutti-run" --elastic "$bounds" -n "$ranks" --pause 0 --max-restarts "${restarts:-0}" ${launching[@]+"${launching[@]}"} \
        "$apps/tutti-cifar" "$@" --quiet --json "$dir/json" > "$dir/out" 2>&1 &
    run=$!
}
# elastic N LEAST:MOST OPTION...: until it has ended; its status returned.
elastic() {
    begin_elastic "$@"
    wait "$run"
}

# await SECONDS COMMAND...: until the command succeeds.
await() {
    local left=$(($1 * 50))
    shift
    until "$@" 2> /dev/null; do
        [ $((left--)) -gt 0 ] || { fail "not within time: $*"; cat "$dir/out"; kill -9 "$run"; return 1; }
        sleep 0.02
    done
}
# Whether an epoch of the membership has trained on; whether its rank 0 has trained N steps more.
has_begun() { [ "$(grep -c '"event":"start"' "$dir/json")" = "$1" ]; }
has_trained() { [ "$(tac "$dir/json" | sed '/"event":"start"/q' | grep -c '"event":"step"')" -ge "$1" ]; }
