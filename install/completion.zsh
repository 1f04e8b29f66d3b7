#compdef tutti-bench tutti-box tutti-cifar tutti-doctor tutti-export tutti-imagenet tutti-info tutti-pack tutti-plan tutti-predict tutti-run tutti-sim tutti-svm tutti-trace tutti-trees
# Completion of options, their values and commands of Tutti's programs, for zsh; install/completion.bash says how. It is found
# where the folder that has it is in $fpath before compinit runs.

_tutti() {
    local cur=${words[CURRENT]} option=${words[CURRENT-1]} program='' operand='' values='' word below rest i at=0
    local -a rows row names choices
    local known=" tutti-bench tutti-box tutti-cifar tutti-doctor tutti-export tutti-imagenet tutti-info tutti-pack tutti-plan tutti-predict tutti-run tutti-sim tutti-svm tutti-trace tutti-trees "
    for ((i = 1; i < CURRENT; i++)); do
        [[ $known != *" ${words[i]:t} "* ]] || { program=${words[i]}; at=$i }
    done
    [[ -n $program ]] || return 1
    (( CURRENT - 1 > at )) || option=''
    if [[ $cur == --*=* ]]; then # "--batch=8" is one word
        option=${cur%%=*}
        compset -P '*='
        cur=${cur#*=}
    fi
    rows=("${(@f)$($program --help completion 2> /dev/null)}")
    for ((i = at + 1; i < CURRENT; i++)); do
        for word in $rows; do
            row=("${(@ps:\t:)word}")
            [[ $row[2] == command && $row[1] == ${words[i]} ]] || continue
            below=$($program $row[1] --help completion 2> /dev/null)
            [[ $below != *$'\t'* ]] || rows=("${(@f)below}")
            break 2
        done
    done
    for word in $rows; do
        row=("${(@ps:\t:)word}")
        if [[ $row[1] == - ]]; then operand=$row[2]; else names+=("${row[1]}:${row[4]}"); fi
        if [[ $row[1] == $option && $row[2] != (flag|command) ]]; then
            values=$row[2]
            choices=(${=row[3]})
        fi
    done
    if [[ -n $values ]]; then
        (( ! $#choices )) || compadd -a choices
        [[ $values != file ]] || _files
    elif [[ $operand == command && $cur != -* ]]; then
        _command_names -e
        _files
    elif [[ -n $operand && $cur != -* ]]; then
        _files
    else
        _describe option names
    fi
}

_tutti "$@"
