#!/bin/bash
# What has a table has no other list: lists.sh [TREE]
#
# The table of designs (designs/table.c) is the one list of them:
#
#   code    (C, shell, make) names no three designs in a line: that would be a list of its own. Ask tutti_designs, or
#           tutti-info --list designs. A line that wants these three and no others says so: "designs by name" in a comment.
#   text    (pages, comments): a paragraph that names three designs names every one that overlaps, so that none is left out.
#   argued  every design has a row in tests/models/promela/models.txt, and, unless it is unsafe, a part in doc/designs.md and
#           its name in README.md, doc/tutti-starpu.3 and designs/attach/attach.h.
#
# The rows of dag/kernels/*_cpu.c are the one list of ops:
#
#   rows    every op that a family declares has a row, and table.c collects every family's rows.
#   code    outside of dag/kernels names no three ops in a line: ask tutti_op_get, or tutti-info --list kernels.
#
# The sources of the kernels for CUDA are the one list of what these include:
#
#   headers every header that dag/kernels/*.cu or one of their headers includes is in cuda_headers of dag/kernels/local.mk, after
#           whose change the kernels are made again, and no other is.
#
# Prints "file:line: rule" for each line that breaks one, and exits with 1.
set -u
tree=${1:-${TUTTI_SRCDIR:-.}}
cd "$tree" || exit 2
bad=0
complain() { echo "$*"; bad=1; }

if [ -f dag/kernels/table.c ]; then
    while IFS=: read -r file line op; do
        op=${op#tutti_op_}
        grep -qE "^ *TUTTI_CPU_(ROW|LOOP)(S|_OF)?\($op," dag/kernels/*_cpu.c ||
            complain "$file:$line: the op $op has no row in dag/kernels/*_cpu.c"
    done < <(awk '/^extern const tutti_op /, /;/ {
        rest = $0
        while (match(rest, /tutti_op_[a-z0-9_]+/)) {
            print FILENAME ":" FNR ":" substr(rest, RSTART, RLENGTH)
            rest = substr(rest, RSTART + RLENGTH)
        }
    }' dag/kernels/*.h)
    while IFS=: read -r file line text; do
        rows=$(grep -oE 'tutti_kernels_[a-z0-9_]+' <<< "$text")
        grep -qE "^ *[A-Z_]+\($rows\),$" dag/kernels/table.c || complain "$file:$line: table.c does not collect $rows"
    done < <(grep -HnE '^const tutti_kernel (TUTTI_CLONE\()?tutti_kernels_[a-z0-9_]+\)?\[\] = ' dag/kernels/*_cpu.c)
    while IFS=: read -r file line _; do
        complain "$file:$line: a list of ops of its own: the rows have them (tutti_op_get, tutti-info --list kernels)"
    done < <(grep -rnE 'tutti_op_[a-z_]+\b.*\btutti_op_[a-z_]+\b.*\btutti_op_[a-z_]+' --include='*.[ch]' dag/graph dag/net dag/step dag/run \
        designs apps 2> /dev/null)
fi

at=$(awk '/^cuda_headers =/ { print FNR }' dag/kernels/local.mk 2> /dev/null)
if [ -n "$at" ]; then
    listed=$(awk -v at="$at" 'FNR >= at { print; if (!/\\$/) exit }' dag/kernels/local.mk | grep -oE '[a-z0-9_/]+\.(h|cuh)\b' | sort -u)
    reached=$(echo dag/kernels/*.cu) before=
    while [ "$reached" != "$before" ]; do
        before=$reached
        # shellcheck disable=SC2086
        reached=$({ printf '%s\n' $before; grep -ohE '^ *# *include "[^"]+' $before | cut -d'"' -f2; } | sort -u)
    done
    while read -r header; do
        complain "dag/kernels/local.mk:$at: cuda_headers and what *.cu include differ in $header"
    done < <(printf '%s\n%s\n' "$listed" "$reached" | grep -v '\.cu$' | sort | uniq -u)
fi

[ -f designs/table.c ] || exit $bad

designs=$(grep -o 'tutti_design_[a-z_]*' designs/table.c | sed 's/tutti_design_//' | while read -r name; do
    [ -f "designs/$name.c" ] && grep -q "^const tutti_design tutti_design_$name = " "designs/$name.c" && echo "$name"
done | sort -u)
[ -n "$designs" ] || { echo "designs/table.c:1: no design is found in it"; exit 1; }
safe='' overlapping=''
for name in $designs; do
    grep -q '\.unsafe = 1' "designs/$name.c" && continue
    safe+=" $name"
    grep -q '\.start = &tutti_start_main' "designs/$name.c" || overlapping+=" $name"
done

files() { find "$@" -type f 2> /dev/null | grep -vE '^designs/table\.[ch]$|^tests/(golden|models|deadlock/cases|lint)/' | LC_ALL=C sort; }
# Lines of code with their comments apart: a C comment or what follows "# " becomes text, paragraph by paragraph.
export designs overlapping
{
    files apps collectives dag designs tests | grep -E '\.([ch]|sh|in|mk|am|py)$'
    files quickstart .ci README.md HACKING.md doc | grep -vE '\.(jsonl|svg)$|\.mk$'
    files tests -name README.md
} | LC_ALL=C sort -u | xargs awk '
function words(text, list,    i, n, w, found) {
    n = split(list, w, /[ \n]+/)
    found = 0
    for (i = 1; i <= n; i++) if (w[i] != "" && has(text, w[i])) found++
    return found
}
function has(text, word,    at, before, after) {
    while ((at = index(text, word)) > 0) {
        before = at > 1 ? substr(text, at - 1, 1) : " "
        after = substr(text, at + length(word), 1)
        if (before !~ /[A-Za-z0-9_\/.-]/ && after !~ /[A-Za-z0-9_(]/ && !(after == "." && substr(text, at + length(word) + 1, 1) ~ /[a-z]/)) return 1
        text = substr(text, at + length(word))
    }
    return 0
}
function end_paragraph() {
    if (words(paragraph, ENVIRON["designs"]) >= 3 &&
        words(paragraph, ENVIRON["overlapping"]) < words(ENVIRON["overlapping"], ENVIRON["overlapping"])) {
        printf "%s:%d: names some of the designs and leaves one out\n", file, begin
        bad = 1
    }
    paragraph = ""
}
# Adds a line of text; an empty one ends the paragraph.
function say(text) {
    if (text ~ /^[ \t*]*$/) { end_paragraph(); return }
    if (paragraph == "") { begin = FNR; file = FILENAME }
    paragraph = paragraph " " text
}
FNR == 1 { end_paragraph(); in_comment = 0; page = FILENAME ~ /\.(md|[1-9])$/; c = FILENAME ~ /\.[ch]$/ }
page { say($0); next }
{
    code = ""; rest = $0; named = 0
    if (!c) {
        if (match(rest, /(^|[ \t])#([ \t]|$)/)) { text = substr(rest, RSTART); code = substr(rest, 1, RSTART - 1) }
        else { text = ""; code = rest }
        if (text != "") say(text); else end_paragraph()
        named = text ~ /designs by name/
    } else {
        text = ""
        while (rest != "") {
            if (in_comment) {
                at = index(rest, "*/")
                text = text " " (at ? substr(rest, 1, at - 1) : rest)
                rest = at ? substr(rest, at + 2) : ""
                if (at) in_comment = 0
            } else {
                at = index(rest, "/*")
                code = code (at ? substr(rest, 1, at - 1) : rest)
                rest = at ? substr(rest, at + 2) : ""
                if (at) in_comment = 1
            }
        }
        if (text != "" || in_comment) say(text); else end_paragraph()
        named = text ~ /designs by name/
    }
    if (!named && words(code, ENVIRON["designs"]) >= 3) {
        printf "%s:%d: a list of designs of its own: the table has them (tutti_designs, tutti-info --list designs)\n", FILENAME, FNR
        bad = 1
    }
}
END { end_paragraph(); exit bad }
' || bad=1

rows=tests/models/promela/models.txt
for name in $designs; do
    [ ! -f $rows ] || grep -qE "^[a-z]+ +$name " $rows || complain "$rows:1: no row for a model of $name"
done
for name in $safe; do
    [ ! -f doc/designs.md ] || grep -qiE "^#.*\b$name\b" doc/designs.md || complain "doc/designs.md:1: no part about $name"
    for page in README.md doc/tutti-starpu.3 designs/attach/attach.h; do
        [ ! -f $page ] || grep -q "\b$name\b" $page || complain "$page:1: does not name $name"
    done
done
exit $bad
