#!/bin/bash
# Man pages name the options that --help names, no more and no fewer; --help and --version need no MPI.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"

options_in_help() { sed -n 's/^  \(--[a-z-]*\).*/\1/p' | sort -u; }
options_in_manual() { sed -n '/^\.SH OPTIONS/,/^\.SH E/p; /^\.SH COMMANDS/,/^\.SH E/p' "$TUTTI_SRCDIR/doc/$1.1" |
    sed -n '/^\.TP/{n;s/^\.[BIR]* \(\\-\\-[a-z\\-]*\).*/\1/p}' | tr -d '\\' | sort -u; }

compare() { # PAGE COMMAND...
    local page=$1
    shift
    "$@" --help > "$dir/help" 2> "$dir/err" || fail "$* --help: status $?"
    [ -s "$dir/err" ] && fail "$* --help wrote to stderr"
    options_in_help < "$dir/help" > "$dir/a"
    options_in_manual "$page" > "$dir/b"
    [ -s "$dir/a" ] || fail "$*: no options in --help"
    diff -u "$dir/a" "$dir/b" || fail "--help of $* (-) and doc/$page.1 (+) name different options"
    [ "$(awk 'length > 79' "$dir/help" | wc -l)" = 0 ] || fail "$* --help has lines of 80 columns and more"
    "$@" --version | grep -q 'Tutti' || fail "$* --version"
}

compare tutti-cifar "$apps/tutti-cifar"
compare tutti-bench "$apps/tutti-bench" compute
compare tutti-info "$apps/tutti-info"
compare tutti-run "$apps/tutti-run"
"$apps/tutti-bench" --help | grep -q compute || fail "tutti-bench --help does not list its commands"
finish
