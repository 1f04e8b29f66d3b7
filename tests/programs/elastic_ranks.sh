#!/bin/bash
# Ranks that come and go (tutti-run --elastic): with the same ranks all the time a run gives the weights of mpirun's; when
# ranks are killed and others come, the checkpoint is, byte for byte, that of runs which resume from the steps that
# tutti-run names, with so many ranks.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
. "$TUTTI_SRCDIR/tests/programs/elastic_lib.sh"
make_cifar "$dir/data" 400
all=(--data "$dir/data" --batch 4 --lr 0.02 --augment crop)

# The process of the rank with this number among those that run, the oldest first.
rank() { ps -o pid= --ppid "$run" --sort start_time,pid | awk -v at="$1" 'NR == at + 1 { print $1 }'; }
# Pairs of a number of ranks and the step from which they went on.
changes() { sed -n 's/.*: \([0-9]*\) ranks\{0,1\} go\(es\)\{0,1\} on from step \([0-9]*\);.*/\1 \3/p' "$dir/out"; }

# newcomer SUFFIX PLUS OPTION...: a rank that joins the run on its own, with a door and the address of rank 0; SUFFIX: to the token;
# PLUS: to the number of the run.
newcomer() {
    timeout 20 perl -MSocket -MFcntl -e 'my ($words, $suffix, $plus, @command) = @ARGV;
        my ($least, $most, $ranks, $number, $door, $report, $run, $token, $how, $first) = split / /, $words;
        my ($contact) = split /,/, $first;
        socket(my $d, AF_INET, SOCK_STREAM, 0) or die;
        bind($d, sockaddr_in(0, INADDR_LOOPBACK)) && listen($d, 8) or die;
        my ($port) = sockaddr_in(getsockname $d);
        socketpair(my $mine, my $other, AF_UNIX, SOCK_DGRAM, 0) or die;
        fcntl($_, F_SETFD, 0) for $d, $mine;
        $ENV{TUTTI_ELASTIC} = join " ", $least, $most, $ranks, 77, fileno($d), fileno($mine), $run + $plus, $token . $suffix, "join",
            "127.0.0.1:$port,$contact";
        exec @command' "$(tr '\0' '\n' < "/proc/$(rank 0)/environ" | sed -n 's/^TUTTI_ELASTIC=//p')" "$1" "$2" "$apps/tutti-cifar" "${@:3}"
}

# Who does not belong to the run is refused at the door; the run notices nothing.
refuses_others() {
    local other status
    for other in "its options, or its version of Tutti, are not those of the run::0" "does not know this token:x:0" "it belongs to another run::1"; do
        status=0
        newcomer "$(cut -d: -f2 <<< "$other")" "${other##*:}" "${all[@]}" --model mlp > "$dir/newcomer" 2>&1 || status=$?
        [ $status = 1 ] && grep -q "${other%%:*}" "$dir/newcomer" || { fail "a newcomer: status $status"; cat "$dir/newcomer"; }
    done
}

# ---- always the same ranks ----
same=("${all[@]}" --model resnet8 --steps 12 --eval-every never --ema 0.9)
trains 3 "${same[@]}"
hash=$(field weights_hash)
elastic 3 1:3 "${same[@]}" --snapshot-steps 5 || { fail "status $?"; cat "$dir/out"; }
[ "$(field weights_hash)" = "$hash" ] || fail "elastic: $(field weights_hash), mpirun: $hash"
elastic 1 1:1 "${same[@]}" --steps 3 || fail "one rank: status $?"

# ---- killed, replaced, killed, until a signal ends the run ----
# The first to die is rank $1 of 3; $2: for --snapshot-steps; $3: what the second one gets (TERM asks it alone to leave), or none:
# nobody joins, and no other dies; TERM-new: and then the last of the first ranks dies, so that the new one is rank 0 and writes the
# files; $4: for --batch-rule.
changes_exactly() {
    local victim=$1 snapshots=$2 signal=$3 rule=$4 status=0 last from=0 ranks=3 batch part=() all_changes="2 3 2 "
    [ "$signal" != none ] || all_changes="2 "
    [ "$signal" != TERM-new ] || all_changes+="1 "
    shift 4
    rm -f "$dir"/{json,out,whole,part}*
    restarts=$((${#all_changes} > 2)) begin_elastic 3 1:3 "${all[@]}" --steps 20000 --checkpoint "$dir/whole" --snapshot-steps "$snapshots" --batch-rule "$rule" "$@"
    await 20 has_begun 1 || return
    await 20 has_trained 20 || return
    [ "$signal" != none ] || refuses_others
    kill -9 "$(rank "$victim")"
    await 20 has_begun 2 || return
    if [ "$signal" != none ]; then
        await 20 has_begun 3 || return # with another rank
        await 20 has_trained 12 || return
        kill "-${signal%-new}" "$(rank 1)"
        await 20 has_begun 4 || return
    fi
    if [ "$signal" = TERM-new ]; then
        await 20 has_trained 12 || return
        kill -9 "$(rank 0)"
        await 20 has_begun 5 || return
    fi
    await 20 has_trained 12 || return
    kill -TERM "$run"
    wait "$run" || status=$?
    [ $status = 143 ] || fail "status $status instead of 143"
    told=$(grep "go on" "$dir/out" | tail -n 1)
    ! grep 'tutti: .*error:' "$dir/out" || fail "errors, although the run went on"
    [ "$(changes | cut -d' ' -f1 | tr '\n' ' ')" = "$all_changes" ] || { fail "changes: $(changes)"; cat "$dir/out"; }
    again=$(sed -n 's/.*; \([0-9]*\) steps\{0,1\} \(is\|are\) computed again.*/\1/p' "$dir/out")
    [ "$(sed -n 's/.*"membership":[1-9].*"again":\([0-9]*\).*/\1/p' "$dir/json")" = "0
$again" ] || fail "computed again: $again; in --json: $(grep '"again"' "$dir/json")"
    # With those of the last membership alone, there is each step, once; the others are as many as a rank 0 that lives has said.
    repeated=$(perl -ne 'if (/"event":"step".*"step":(\d+).*"membership":(\d+)/) { $m{$1} = $2; $n++ }
        END { for (sort { $a <=> $b } keys %m) { $steps++; die if $_ != $steps || $m{$_} < $was; $was = $m{$_} } print $n - $steps }' "$dir/json")
    [ -n "$repeated" ] && { [ "$victim" = 0 ] || [ "$repeated" = $((${again//$'\n'/+})) ]; } || fail "steps in --json: $repeated again, not $again"
    # --config takes these options: with the images of a rank at the start.
    [ "$(sed -n 's/.*"event":"options".*"batch":"\([0-9]*\)".*/\1/p' "$dir/json" | sort -u)" = 4 ] || fail "options in --json: $(grep '"event":"options"' "$dir/json")"
    last=$(sed -n 's/.*"event":"interrupted".*"step":\([0-9]*\).*/\1/p' "$dir/json")
    while read -r next step; do
        batch=$([ "$rule" = rank ] && echo 4 || echo $((12 / ranks)))
        [ "$step" = "$from" ] || trains "$ranks" "${all[@]}" --batch "$batch" --steps 20000 --checkpoint "$dir/part" --overwrite "${part[@]}" --stop-after "$step" "$@" < /dev/null
        [ "$step" = 0 ] || part=(--resume "$dir/part")
        from=$step ranks=$next
    done <<< "$(changes; echo "0 $last")"
    cmp "$dir/whole" "$dir/part" || { fail "not the checkpoint of runs that resume ($*)"; cat "$dir/out"; }
}
changes_exactly 2 7 KILL global --model mlp --strategy sharded --optimizer adam --lr 0.001
changes_exactly 1 5 none rank --model mlp --strategy gossip:push-sum,period=4
changes_exactly 0 auto TERM-new rank --model resnet8 --ema 0.9
grep -q "go on from step [0-9]*; 0 steps" <<< "$told" || fail "a rank that was asked to leave: $told"

# ---- refused ----
refuses 2 "3 x --batch 5 images cannot be divided among 2 ranks.*use --batch 6" elastic 3 1:3 "${all[@]}" --model mlp --batch-rule global --batch 5
refuses 2 "each of 2 ranks has --batch 3" elastic 3 1:3 "${all[@]}" --model mlp --batch-rule global --batch 2 --mixup 0.2
refuses 2 "tutti-run --elastic" cifar 1 "${all[@]}" --model mlp --batch-rule global
refuses 2 "elastic run" elastic 2 1:2 "${all[@]}" --model mlp --layout stages=2
refuses 2 "tutti-run --elastic" cifar 1 "${all[@]}" --model mlp --snapshot-steps 5
refuses 2 "must be LEAST:MOST" elastic 2 2 "${all[@]}"
refuses 1 "true: its ranks have not trained together" "$apps/tutti-run" --elastic 1:2 -n 2 true
refuses 2 "say with -n" elastic 2 3:4 "${all[@]}"

# ---- how a run ends: with the status of the last one that failed; when a rank ends before all have begun ----
# A program that says that it trains; the first rank dies, and the other one fails later.
printf '%s\n' '#!/usr/bin/perl' 'my @word = split / /, $ENV{TUTTI_ELASTIC};' 'open my $report, ">&=", $word[5] or die;' \
    'syswrite $report, pack "q<", $word[3];' 'kill 9, $$ if $word[3] == 0;' 'select undef, undef, undef, 0.5;' 'exit 7;' > "$dir/fails"
printf '%s\n' '#!/bin/bash' 'set -- $TUTTI_ELASTIC' '[ "$4" = 0 ] || exec sleep 60' 'exit 3' > "$dir/ends"
chmod +x "$dir/fails" "$dir/ends"
refuses 7 "rank number 0 has died (signal KILL)" "$apps/tutti-run" --elastic 1:2 -n 2 --max-restarts 0 "$dir/fails"
refuses 3 "a rank has ended before all had begun" timeout 20 "$apps/tutti-run" --elastic 1:2 -n 2 --max-restarts 0 "$dir/ends"
# What a rank does after it has said that the run is at its end takes the time that it takes, and how it fails counts; one that has not said
# it is killed.
printf '%s\n' '#!/usr/bin/perl' 'my @word = split / /, $ENV{TUTTI_ELASTIC};' 'open my $report, ">&=", $word[5] or die;' \
    'syswrite $report, pack "q<", $word[3];' 'sleep 60 if $word[3] == 2;' \
    "open my \$at, '>', '$dir/at.' . \$word[3] or die;" "select undef, undef, undef, 0.02 until -e '$dir/at.0' && -e '$dir/at.1';" 'syswrite $report, pack "q<", $word[3];' 'exit 0 if $word[3];' \
    '$| = 1;' 'select undef, undef, undef, 2.5;' 'print "written\n";' 'exit shift;' > "$dir/writes"
chmod +x "$dir/writes"
ends_with() { rm -f "$dir"/at.*; "$apps/tutti-run" --elastic 1:3 -n 3 --grace 1 --max-restarts 2 "$dir/writes" "$1"; }
refuses 0 written ends_with 0
grep -q "1 rank has not ended 1 s after the run: killing" "$dir/out" || { fail "a rank that does not end"; cat "$dir/out"; }
refuses 5 "rank number 0 has ended with status 5" ends_with 5
! grep -q joins "$dir/out" || fail "a new rank after the end of the run"
# ---- new ranks ask one rank after the other to be taken in: one may be unable to answer ----
printf '%s\n' '#!/usr/bin/perl' 'my @word = split / /, $ENV{TUTTI_ELASTIC};' "open my \$asked, '>>', '$dir/asked' or die;" \
    'if ($word[8] eq "join") { print "asks $word[9]\n"; syswrite $asked, "."; exit 1 }' 'print "first $word[9]\n" if $word[3] == 0;' \
    'open my $report, ">&=", $word[5] or die;' 'syswrite $report, pack "q<", $word[3];' 'kill 9, $$ if $word[3] == 2;' \
    'select undef, undef, undef, 0.02 while -s $asked < 4 && time - $^T < 20;' > "$dir/asks"
chmod +x "$dir/asks"
"$apps/tutti-run" --elastic 1:3 -n 3 --pause 0 --max-restarts 4 "$dir/asks" > "$dir/out" 2>&1 || { fail "ranks that ask: status $?"; cat "$dir/out"; }
living=$(sed -n 's/^first \([^,]*\),\([^,]*\),.*/\1 \2/p' "$dir/out" | tr ' ' '\n' | sort)
[ "$(grep -c '^asks' "$dir/out")" = 4 ] && [ "$(sed -n 's/^asks .*,//p' "$dir/out" | sort -u)" = "$living" ] ||
    { fail "new ranks do not ask one rank after the other"; cat "$dir/out"; }
TUTTI_ELASTIC="1 2" refuses 2 "fewer than ten words" "$apps/tutti-cifar" "${all[@]}" --model mlp
finish
