#!/bin/bash
# Completion in bash and zsh: both scripts can be read; they complete options, values and commands of every program as its tables say.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
PATH=$apps:$apps/box:$PATH
export ASAN_OPTIONS="${ASAN_OPTIONS:-detect_leaks=0}"
cd "$dir" && touch data.bin || exit 1
bash -n "$TUTTI_SRCDIR/install/completion.bash" || fail "bash cannot read install/completion.bash"

# in_bash WORD...: what bash offers in place of the last word, cut as bash cuts a line.
in_bash() {
    bash -c '. "$1"; shift
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
        _tutti
        printf "%s\n" "${COMPREPLY[@]}"' bash "$TUTTI_SRCDIR/install/completion.bash" "$@"
}
# The same in zsh, whose own functions only say what they are given.
in_zsh() {
    zsh -f -c 'compadd() { print -lr -- ${(P)2} }; compset() { : }; _files() { print -l * }; _command_names() { print -l true }
        _describe() { print -lr -- ${${(P)2}%%:*} }
        script=$1; shift
        words=("$@") CURRENT=$#
        . $script' zsh "$TUTTI_SRCDIR/install/completion.zsh" "$@"
}
# offers SHELL "WORDS" WORD...: each of these.
offers() {
    local shell=$1 line=$2 offered word
    shift 2
    # shellcheck disable=SC2086
    offered=$(eval "in_$shell $line")
    for word; do grep -qxFe "$word" <<< "$offered" || fail "$shell, $line: does not offer $word, but: ${offered//$'\n'/ }"; done
}
keeps() { # SHELL "WORDS" WORD: not this one
    if eval "in_$1 $2" | grep -qxFe "$3"; then fail "$1, $2: offers $3"; fi
}

both() { # SHELL
    offers "$1" 'tutti-cifar --epochs 2 --batc' --batch
    # shellcheck disable=SC2046
    offers "$1" "tutti-cifar --design ''" $(names designs) auto
    offers "$1" "tutti-run -n 2 tutti-imagenet --opt" --optimizer
    offers "$1" "tutti-run --max" --max-restarts
    offers "$1" "tutti-bench st" step strategies
    offers "$1" "tutti-bench step --mod" --model
    offers "$1" "tutti-svm train --kern" --kernel
    offers "$1" "tutti-box run --to" --topology
    offers "$1" "tutti-cifar --json da" data.bin
    offers "$1" "tutti-predict da" data.bin
    keeps "$1" 'tutti-cifar --batch ""' --batch
    keeps "$1" 'tutti-run -n 2 tutti-cifar --batch' --max-restarts
}
both bash
offers bash "tutti-cifar --design = chai" chained
offers bash "tutti-cifar --lr =" auto
keeps bash "tutti-cifar --design = chai" concurrent
if command -v zsh > /dev/null; then
    zsh -n "$TUTTI_SRCDIR/install/completion.zsh" || fail "zsh cannot read install/completion.zsh"
    both zsh
else
    left_out "completion in zsh" "there is no zsh here (apt-get install zsh)"
fi

# Every program has completion, and says what there is, its commands, too.
for program in "$apps"/tutti-* "$apps/box/tutti-box"; do
    [ -f "$program" ] && [ -x "$program" ] || continue
    name=${program##*/} count=0
    for file in bash zsh; do
        for line in 'complete\|compdef' 'known='; do
            tr -d '\\\n' < "$TUTTI_SRCDIR/install/completion.$file" | grep -q "\($line\).* $name\b" ||
                fail "install/completion.$file does not complete $name"
        done
    done
    while IFS=$'\t' read -r word kind _ help; do
        [[ $kind =~ ^(flag|value|file|command)$ ]] && [ -n "$help" ] || fail "$name --help completion: $word, $kind, $help"
        count=$((count + 1))
    done < <("$program" --help completion | sed "s/\t\t/\t-\t/")
    [ $count -ge 4 ] || fail "$name --help completion has $count rows"
done
finish
