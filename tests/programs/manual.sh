#!/bin/bash
# Man pages name the options that --help names, no more and no fewer; --help and --version need no MPI.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"

options_in_help() { sed -nE 's/^  (-[a-z], )?(--[a-z-]*).*/\2/p' | sort -u; }
options_in_manual() { sed -n '/^\.SH \(OPTIONS\|COMMANDS\)/,/^\.SH E/p' "$TUTTI_SRCDIR/doc/$1.1" |
    sed -n '/^\.TP/{n;p}' | grep -o '\\-\\-[a-z\-]*' | tr -d '\\' | sort -u; }

# Notes the options of one program or command, and looks at its --help and --version.
note() { # COMMAND...
    "$@" --help all > "$dir/help" 2> "$dir/err" || fail "$* --help all: status $?"
    [ -s "$dir/err" ] && fail "$* --help wrote to stderr"
    options_in_help < "$dir/help" > "$dir/noted"
    [ -s "$dir/noted" ] || fail "$*: no options in --help"
    cat "$dir/noted" >> "$dir/all"
    [ "$(awk 'length > 79' "$dir/help" | wc -l)" = 0 ] || fail "$* --help has lines of 80 columns and more"
    "$@" --version | grep -q 'Tutti' || fail "$* --version"
    "$@" --help > "$dir/help"
    [ "$(wc -l < "$dir/help")" -le 45 ] || fail "$* --help has $(wc -l < "$dir/help") lines: its table of settings needs a brief"
    [ "$(awk 'length > 79' "$dir/help" | wc -l)" = 0 ] || fail "$* --help has lines of 80 columns and more"
    if grep 'is in no row' "$dir/help"; then fail "$* --help: its brief names an option that it does not have"; fi
}

# Compares what was noted with the manual.
agrees() { # PAGE
    sort -u "$dir/all" > "$dir/a"
    options_in_manual "$1" > "$dir/b"
    diff -u "$dir/a" "$dir/b" || fail "--help (-) and doc/$1.1 (+) name different options"
    : > "$dir/all"
}

# What an option takes by name, its entry in the manual names, where there is one.
names_choices() { # PAGE COMMAND...
    local page=$TUTTI_SRCDIR/doc/$1.1 option word entry
    shift
    "$@" --help all > "$dir/help"
    for option in $(options_in_help < "$dir/help"); do
        entry=$(sed 's/\\-/-/g; s/\\f.//g; s/"//g' "$page" | awk -v option="$option" '
            /^\.(TP|SH|SS)/ { mine = 0 }
            /^\.B[IR]? / { for (i = 2; i <= NF; i++) if ($i == option) mine = 1 }
            mine')
        [ -n "$entry" ] || continue
        for word in $(choices "$option" < "$dir/help"); do
            grep -qE -- "(^|[^a-z0-9-])$word([^a-z0-9-]|$)" <<< "$entry" || fail "$page, $option: does not name $word"
        done
    done
}

compare() { # PAGE
    note "$apps/$1"
    agrees "$1"
    names_choices "$1" "$apps/$1"
}

compare tutti-cifar
# The short help fits on a screen and has every line that it should; topics.
"$apps/tutti-cifar" --help > "$dir/short"
[ "$(wc -l < "$dir/short")" -le 40 ] || fail "tutti-cifar --help has $(wc -l < "$dir/short") lines"
wanted=$(sed -n '/^const tutti_conf_brief tutti_train_brief/,/{0}/p' "$TUTTI_SRCDIR/apps/train/options_table.c" | grep -c '{"')
[ "$(grep -c '^  --' "$dir/short")" = $((wanted + 4)) ] || fail "tutti-cifar --help has not the $wanted options of its table"
"$apps/tutti-cifar" --help communication > "$dir/help"
grep -q -- '--design' "$dir/help" && ! grep -q -- '--epochs' "$dir/help" || fail "--help communication"
[ "$("$apps/tutti-cifar" --help=--epochs | grep -c -- '^  --')" = 1 ] || fail "--help=--epochs"
refuses 2 '--help nonsense: neither an option nor a section of tutti-cifar --help' "$apps/tutti-cifar" --help nonsense
refuses 2 '--batch-size: no such option; did you mean --batch?' "$apps/tutti-cifar" --data x --batch-size 4
refuses 2 'did you mean resnet' "$apps/tutti-cifar" --data x --model resnt20
refuses 2 '--max-restart: unknown option; did you mean --max-restarts?' "$apps/tutti-run" --max-restart 3 true
refuses 2 'did you mean train?' "$apps/tutti-svm" trian
refuses 2 'did you mean step?' "$apps/tutti-bench" stepp
# tutti-imagenet has the same options; its page explains those that differ.
note "$apps/tutti-imagenet"
options_in_manual tutti-imagenet > "$dir/b"
[ -s "$dir/b" ] || fail "doc/tutti-imagenet.1 explains no option"
while read -r option; do
    grep -qxe "$option" "$dir/noted" || fail "doc/tutti-imagenet.1 explains $option, which does not exist"
done < "$dir/b"
agrees tutti-cifar
names_choices tutti-imagenet "$apps/tutti-imagenet"
compare tutti-predict
compare tutti-export
compare tutti-info
compare tutti-pack
compare tutti-run
compare tutti-doctor
compare tutti-trace
compare tutti-trees
for command in train predict scale cv; do
    note "$apps/tutti-svm" $command
done
agrees tutti-svm
for program in tutti-plan tutti-sim; do # what designs and algorithms are called, tutti-cifar's page says
    note "$apps/$program"
    agrees $program
done
"$apps/tutti-svm" --help | grep -q cross-validation || fail "tutti-svm --help does not list its commands"
for command in train predict scale cv; do names_choices tutti-svm "$apps/tutti-svm" $command; done
for command in compute allreduce channel overlap step 'step --grid' interference data svm svm-ranks plot peers pipeline kv strategies tune-collectives; do
    # shellcheck disable=SC2086 # a command may be two words
    note "$apps/tutti-bench" $command
done
agrees tutti-bench
"$apps/tutti-bench" --help | grep -q compute || fail "tutti-bench --help does not list its commands"
finish
