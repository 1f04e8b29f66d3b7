#!/bin/bash
# The commands of README.md, HACKING.md and doc/*.md:   commands.sh [TREE] | commands.sh --list [PAGE]...
#
#   listed    each has a row in tests/lint/commands.txt: it is run by tests/programs/pages.sh, by another test, or by none, with
#             the reason; each row has a command, and the test that it names exists
#   options   the programs of this build take the options of each, and of the examples of manuals, and their values (where there is
#             a build)
#
# --list prints "PAGE:LINE", a tab and the command, for each of the pages. Prints "file:line: what" for each fault, and exits with 1.
set -u

# Indented lines, and fenced blocks of shells, that begin with a program; lines that end in \ are one with the next.
list() { # PAGE...
    awk 'FNR == 1 { fence = 0; cont = 0 }
        /^```/ { fence = !fence; kind = $0; next }
        { line = "" }
        fence && kind ~ /^```(sh|bash)?$/ { line = $0 }
        !fence && /^    [^ ]/ { line = substr($0, 5) }
        !fence && cont && /^ / { line = $0; sub(/^ +/, "", line) }
        line == "" { cont = 0; next }
        cont { command = command " " line }
        !cont { command = line; at = FNR }
        { cont = sub(/ *\\$/, "", command); if (cont) next }
        { sub(/ +# .*$/, "", command) }
        command ~ /^([A-Z_]+=[^ ]* )*(sudo )?(\.\/|\(cat |build\/|build-cuda\/|tutti-[a-z]+ |make |cc |c\+\+ |cmake |mpirun |srun |sbatch |python3 |export [A-Z]+|\. )/ {
            print FILENAME ":" at "\t" command
        }' "$@"
}

# Those of manuals, whose examples are lines between .nf or .EX and .fi or .EE.
list_manuals() { # PAGE...
    awk 'FNR == 1 { inside = 0; cont = 0 }
        /^\.(nf|EX)/ { inside = 1; next }
        /^\.(fi|EE)/ { inside = 0; cont = 0; next }
        !inside { next }
        { gsub(/\\-/, "-"); gsub(/\\f[A-Z]/, ""); sub(/^ +/, "") }
        cont { command = command " " $0 }
        !cont { command = $0; at = FNR }
        { cont = sub(/ *\\e$/, "", command); if (cont) next }
        { sub(/ +# .*$/, "", command) }
        command ~ /^([A-Z_]+=[^ ]* )*(sudo )?tutti-/ { print FILENAME ":" at "\t" command }' "$@"
}

if [ "${1:-}" = --list ]; then
    shift
    list "$@"
    exit
fi
tree=${1:-${TUTTI_SRCDIR:-.}}
apps=${TUTTI_BUILDDIR:+$TUTTI_BUILDDIR/apps}
cd "$tree" || exit 2
bad=0
complain() { echo "$*"; bad=1; }
export SLURM_CPUS_PER_TASK=2
rows=tests/lint/commands.txt
pages=() manuals=()
for page in doc/*.[1-7]; do [ ! -f "$page" ] || manuals+=("$page"); done
for page in README.md HACKING.md doc/*.md; do [ ! -f "$page" ] || pages+=("$page"); done

# ---- listed ----

row_page=() row_pattern=() row_how=() row_line=() row_count=() number=0
trim() { sed 's/^ *//; s/ *$//' <<< "$1"; }
while IFS= read -r row; do
    number=$((number + 1))
    [[ $row != '#'* ]] && [ -n "$row" ] || continue
    row_page+=("$(trim "${row%%|*}")") row_how+=("$(trim "${row##*|}")") row_line+=($number) row_count+=(0)
    row=${row#*|}
    row_pattern+=("$(trim "${row%|*}")")
done < <(cat "$rows" 2> /dev/null)
while IFS=$'\t' read -r at command; do
    found=
    for i in "${!row_page[@]}"; do
        [ "${row_page[i]}" = "${at%:*}" ] && [[ $command =~ ^(${row_pattern[i]}) ]] || continue
        row_count[i]=1 found=yes
        break
    done
    [ -n "$found" ] || complain "$at: no row in $rows: $command"
done < <(list "${pages[@]}")
for i in "${!row_page[@]}"; do
    [ "${row_count[i]}" = 1 ] || complain "$rows:${row_line[i]}: ${row_page[i]} has no such command: ${row_pattern[i]}"
    case ${row_how[i]} in
    pages | 'no: '?*) ;;
    *) [ -f "${row_how[i]}" ] || complain "$rows:${row_line[i]}: neither pages, nor a test, nor no: REASON: ${row_how[i]}" ;;
    esac
done

# ---- options ----

# takes AT PROGRAM WORD...
takes() {
    local at=$1 program=$2 said
    shift 2
    [ "$program" != tutti-box ] || return 0
    said=$("$apps/$program" "$@" --version 2>&1 > /dev/null < /dev/null) || complain "$at: $program does not take it: $said"
}
[ ! -x "$apps/tutti-cifar" ] || while IFS=$'\t' read -r at command; do
    words=() program=''
    [[ $command == *tutti-* ]] || continue
    set -f +u
    eval "words=(${command%%[|&;><]*})" 2> /dev/null
    set +f -u
    for word in "${words[@]}"; do
        name=${word##*/}
        case $name in
        tutti-run | tutti-bench | tutti-box | tutti-cifar | tutti-doctor | tutti-export | tutti-imagenet | tutti-info | tutti-pack | \
            tutti-plan | tutti-predict | tutti-sim | tutti-svm | tutti-trace | tutti-trees)
            [ -z "$program" ] || takes "$at" "$program" "${options[@]}"
            program=$name options=() ;;
        ... | PROGRAM | my_program | srun) # what follows are another's options
            [ -z "$program" ] || takes "$at" "$program" "${options[@]}"
            program='' ;;
        *) [ -z "$program" ] || options+=("$word") ;;
        esac
    done
    [ -z "$program" ] || takes "$at" "$program" "${options[@]}"
done < <(list "${pages[@]}"; [ ${#manuals[@]} = 0 ] || list_manuals "${manuals[@]}")
exit $bad
