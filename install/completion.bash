# Completion of options, their values and commands of Tutti's programs, for bash. make install puts it where the package
# bash-completion looks; without that package:   . share/bash-completion/completions/tutti-run
#
# A program says itself what there is (PROGRAM --help completion): a row for each word, with tabs between the word, its kind, the
# words that its value may be, and what it is for (dag/base/conf_print.h).

# _tutti_rows PROGRAM WORD...: the rows of a program, or of its command if one of the words is one.
_tutti_rows() {
    local program=$1 word rows commands below
    shift
    rows=$("$program" --help completion 2> /dev/null) || return
    commands=$(awk -F '\t' '$2 == "command" && $1 != "-" { printf " %s ", $1 }' <<< "$rows")
    for word; do
        [[ $commands == *" $word "* ]] || continue
        below=$("$program" "$word" --help completion 2> /dev/null)
        [[ $below != *$'\t'* ]] || rows=$below
        break
    done
    printf '%s\n' "$rows"
}

_tutti() {
    local cur=${COMP_WORDS[COMP_CWORD]} option='' program='' rows row i at=0 name kind words rest
    local known=' tutti-bench tutti-box tutti-cifar tutti-doctor tutti-export tutti-imagenet tutti-info tutti-pack tutti-plan tutti-predict tutti-run tutti-sim tutti-svm tutti-trace tutti-trees '
    COMPREPLY=()
    # Of "tutti-run -n 2 tutti-cifar --batch 8" the last program counts.
    for ((i = 0; i < COMP_CWORD; i++)); do
        [[ $known != *" ${COMP_WORDS[i]##*/} "* ]] || { program=${COMP_WORDS[i]} at=$i; }
    done
    [ -n "$program" ] || return
    # "--batch 8" is two words; "--batch=8" is three, as bash cuts it.
    [ "$cur" != = ] || cur=''
    i=$((COMP_CWORD - 1))
    [ "${COMP_WORDS[COMP_CWORD]}" = = ] || [ "${COMP_WORDS[i]}" != = ] || ((i--))
    [ $i -le $at ] || option=${COMP_WORDS[i]}
    rows=$(_tutti_rows "$program" "${COMP_WORDS[@]:at + 1:COMP_CWORD - at - 1}")
    local names='' values='' operand=''
    while IFS= read -r row; do
        name=${row%%$'\t'*} rest=${row#*$'\t'}
        kind=${rest%%$'\t'*} rest=${rest#*$'\t'} words=${rest%%$'\t'*}
        if [ "$name" = - ]; then
            operand=$kind
        else
            names+="$name "
        fi
        if [ "$name" = "$option" ] && [ "$kind" != flag ] && [ "$kind" != command ]; then
            values=$kind
            mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
        fi
    done <<< "$rows"
    if [ -n "$values" ]; then
        [ "$values" != file ] || mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- "$cur")
    elif [ "$operand" = command ] && [[ $cur != -* ]]; then
        mapfile -t COMPREPLY < <(compgen -c -- "$cur"; compgen -f -- "$cur")
    elif [ -n "$operand" ] && [[ $cur != -* ]]; then
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
    else
        mapfile -t COMPREPLY < <(compgen -W "$names" -- "$cur")
    fi
}

complete -o filenames -F _tutti tutti-bench tutti-box tutti-cifar tutti-doctor tutti-export tutti-imagenet tutti-info tutti-pack tutti-plan \
    tutti-predict tutti-run tutti-sim tutti-svm tutti-trace tutti-trees
