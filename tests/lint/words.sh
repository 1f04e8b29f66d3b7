#!/bin/bash
# One word, one meaning: words that had two are not used any more.   words.sh [TREE]
#
# Looked at are sources, scripts, build files and documents; NEWS and doc/changes.md say what things were called. Every line with such a word is
# printed as "file:line: what to say instead", and the exit status is 1. Nor may two headers define one type. Some rooms also
# avoid phrases, and names of static functions, that a reader of the field does not find. channel_grpc.cpp has gRPC's words.
set -u
tree=${1:-${TUTTI_SRCDIR:-.}}
cd "$tree" || exit 2

mapfile -t files < <(find dag collectives designs apps tests doc install m4 README.md HACKING.md quickstart configure.ac Makefile.am \
    -type f \( -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' -o -name '*.cpp' -o -name '*.sh' -o -name '*.mk' -o -name '*.am' -o -name '*.ac' -o -name '*.m4' -o -name '*.in' \
    -o -name '*.py' -o -name '*.md' -o -name '*.[1-9]' -o -name '*.case' -o -name '*.patch' -o -name '*.pml' -o -name quickstart \) \
    ! -path doc/changes.md ! -path 'tests/lint/*' ! -path 'tests/install/0.1/*' ! -name 'libtool.m4' ! -name 'lt*.m4' \
    ! -name channel_grpc.cpp 2> /dev/null | LC_ALL=C sort)
bad=0
# Reads "word what-to-say-instead", a line each, and looks for them in these files.
look_in() { # FILE...
    local word instead file line
    [ $# -gt 0 ] || return 0
    while read -r word instead; do
        while IFS=: read -r file line _; do
            echo "$file:$line: $instead"
            bad=1
        done < <(grep -HnE -- "$word" "$@" < /dev/null)
    done
}

look_in "${files[@]}" << 'WORDS'
(^|[^a-zA-Z.]|[^F]\.)([sS]lice|SLICE) a sum is cut into chunks, a batch into micro-batches
[mM]anners interference
[fF]arewell shutdown
TUTTI_CHECK= the ranks' collectives are compared by TUTTI_VERIFY
(^|[^a-z])--check[=[:space:]](on|off|full) the ranks' collectives are compared by --verify
libtutti-check libtutti-mpicheck
tutti_(home|turn|side|pick|schedule)([^r]|$) mpi_thread, process_lock, workload, configuration, rate_schedule
(^|[^a-z])(tutti_)?seats? device slots
TUTTI_NODE_FUSED TUTTI_NODE_ABSORBED
(tutti|is|are|state|keys)_deal(t|s)?([^a-z]|$) partition, assign, sharded
tutti_coded?([^cl]|$) compressed
(step|builder)_meet(ing)?([^a-z]|$) mix, mixing
tutti_(road|guest|book|news|note)s?([^a-z]|$) kv_transport, client_list, push_ledger, inbox, active_message
tutti_[a-z]+_(hear|tell|settle|hurry|fly)([^a-z]|$) receive, report or send, finalize, raise_priority, submit
tutti_(tcp_)?door tcp_listener
TUTTI_CONTROL_BROADCAST TUTTI_CONTROL_FINGERPRINT
tutti_control_hush tutti_control_finish_silently
(ops->|(loop|part|wire)_)sit([^a-z]|$) take_slot
tutti_kv_(ask|flight|give|join)([^a-z]|$) request_value, transfer, send_push, parts_task
tutti_server_(announce|ask|go_on|happen|join|lose|react|release|take(_(back|first|in|over))?|[a-z]+_(early|spare))([^a-z]|$) on_MESSAGE, queue_event, next_event, handle_event, complete_TRANSFER, add_rounds, deferred, pool
(^|[^-])--schedule the learning rate follows --rate-schedule
WORDS

# Rooms whose sentences are short and whose static functions are named by a verb and its object.
mapfile -t plain < <(printf '%s\n' "${files[@]}" | grep -E '^(collectives|designs|dag|apps)/.*\.(c|h|cu|cuh)$' |
    grep -vE '^apps/(example|mpicheck|trace)/')
look_in "${plain[@]}" << 'WORDS'
(^|[^a-z])[Ll]ikewise the same, too
(^|[^a-z])([Nn]obody|[Ww]hoever)([^a-z;]|$) no rank, no thread: name it
(^|[^a-z])so[[:space:]]many([^a-z]|$) this many, at most
(^|[^a-z])for[[:space:]]ever([^a-z]|$) forever
(^|[^a-z])(goes|go)[[:space:]]on([^a-z]|$) continues
(^|[^a-z])(that|it|which)[[:space:]]is[[:space:]]none([^a-z]|$) invalid, not a member
(^|[^a-z_])(told|hears?|heard)([^a-z_]|$) receive, report
(^|[^a-z])of[[:space:]]which[[:space:]](these|those)([^a-z]|$) two sentences
^static[[:space:]][a-z].*[[:space:]*](boot|end|fill|give|hear|judge|join|keep|leave|let_in|meet|move|must|obey|pass|place|pull|push|react|serve|settle|start|take|talks|tell|turn|widen)[(] a static function is named by a verb and its object
WORDS

# A type of a header is defined once: two headers that are never read together could each have one.
while IFS=: read -r file line type; do
    echo "$file:$line: the type $type is defined in another header, too"
    bad=1
done < <(find dag collectives designs apps -name '*.h' -type f 2> /dev/null | LC_ALL=C sort |
    xargs -r grep -HnoE '^typedef (enum|struct|union) tutti_[a-z0-9_]+ \{' | sed -E 's/:typedef [a-z]+ ([a-z0-9_]+) \{$/:\1/' |
    awk -F: 'seen[$3]++')
exit $bad
