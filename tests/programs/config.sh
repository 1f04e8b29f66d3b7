#!/bin/bash
# --config FILE: options from a file count less than those that are given; a run's own JSON trains the same again; what is wrong in
# a file is told with its name.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
make_cifar "$dir/data" 20
cd "$dir" || exit 1
cat > own.json << END
{"data": "data", "model": "mlp", "batch": 4, "lr": 0.02, "steps": 3, "augment": "crop", "decay-weights-only": true, "seed": 7,
 "no-nesterov": false, "eval-every": "never"}
END
trains 1 --data data --model mlp --batch 4 --lr 0.02 --steps 3 --augment crop --decay-weights-only --seed 7 --eval-every never
hash=$(field weights_hash)
trains 1 --config own.json
is "from a file" "$hash"
cp json run.json
trains 1 --config=run.json
is "from a run's JSON" "$hash"
trains 1 --config run.json --batch 8 --steps 2 --seed 8 --augment none
cp json other.json
trains 1 --data data --model mlp --batch 8 --lr 0.02 --steps 2 --decay-weights-only --seed 8 --eval-every never
is "options count more" "$(perl -ne 'print $1 if /"summary".*"weights_hash": ?"(\w+)"/' other.json)"
# The weights that a run began with are part of it; the files that it has written are not.
trains 1 --data data --model mlp --batch 4 --steps 2 --checkpoint weights
trains 1 --data data --model mlp --batch 4 --lr 0.02 --steps 3 --seed 7 --init-from weights --checkpoint tuned
hash=$(field weights_hash)
cp json tuned.json
trains 1 --config tuned.json
is "from the JSON of a run that began with weights" "$hash"
grep '"event":"options"' tuned.json | grep -q '"checkpoint"' && fail "--checkpoint is among the options: $(grep '"options"' tuned.json)"
# A recipe's values count less than the file's.
echo '{"recipe": "he", "weight-decay": 0.25, "data": "data"}' > recipe.json
"$apps/tutti-cifar" --config recipe.json --help all > help || fail "--config with --help"
grep -A3 -- '--weight-decay' help | tr '\n' ' ' | grep -q '0.25' || { fail "a recipe counts more than a file"; grep -A3 -- '--weight-decay' help; }

wrong() { # SENTENCE TEXT
    echo "$2" > wrong.json
    refuses 2 "$1" "$apps/tutti-cifar" --data data --config wrong.json
}
wrong 'wrong.json: line 2: ' '{'
wrong 'wrong.json: it must be an object' '[1]'
wrong 'did you mean --batch?' '{"batch-size": 4}'
wrong 'did you mean --epochs?' '{"epoch": 4}'
wrong 'no such option' '{"hel": "x"}'
refuses 2 'did you mean --config?' "$apps/tutti-cifar" --data data --conf own.json
wrong 'did you mean --batch?' '{"batch-size": 4}'
grep -q 'config wrong.json has this option' out || { fail "the file is not named"; cat out; }
wrong 'batch 0: must be' '{"batch": 0}'
wrong '"batch" must be a text, a number, true or false' '{"batch": [4]}'
wrong '"config" is for the command line' '{"config": "x"}'
wrong 'nor is it a file that --json has written' '{"event": "start"}'
refuses 1 'none.json' "$apps/tutti-cifar" --config none.json
wrong "config wrong.json's --layout stages=0" '{"layout": "stages=0"}'
finish
