#!/bin/bash
# tutti-bench peers makes an environment whole or not at all, and says what is wrong; compute and step run their peers in it.
# A false Python stands in for Python, pip and PyTorch, so no network is needed.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
unset TUTTI_PEER
cd / # tutti-bench finds its scripts wherever it is called
mkdir "$dir/bin"
export FALSE_LOG=$dir/called PATH=$dir/bin:$PATH
cat > "$dir/bin/python3" << 'END'
#!/bin/sh
# FALSE_FAULT: what goes wrong.
echo "$*" >> "$FALSE_LOG"
case "$1 $2 $FALSE_FAULT" in
'-c import venv, ensurepip no-venv') exit 1 ;;
'-m venv no-space') echo "OSError: [Errno 28] No space left on device" >&2; exit 1 ;;
'-m venv '*) mkdir -p "$3/bin" && cp "$0" "$3/bin/python3" && touch "$3/bin/pip" "$3/pyvenv.cfg" ;;
'-m pip no-network')
    echo "WARNING: Retrying (Retry(total=4)) after connection broken by 'NewConnectionError('<...>: Temporary failure in name resolution')'"
    echo "ERROR: No matching distribution found for torch"
    exit 1 ;;
'-m pip no-space-later') echo "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device"; exit 1 ;;
'-m pip no-version') echo "ERROR: No matching distribution found for torch==9"; exit 1 ;;
'-m pip killed') kill -9 $PPID; exit 1 ;;
'-m pip strange') echo "ERROR: how odd"; exit 3 ;;
'-c import torch'*' no-import') echo "ImportError: no" >&2; exit 1 ;;
'-c import torch'*' later-no-import') case $0 in *.part/*) ;; *) exit 1 ;; esac ;;
*torch_*.py*)
    case "$*" in *--probe*'--model mlp'*) exit 0 ;; *--probe*) exit 2 ;; esac
    variant=eager
    case "$*" in *"--variant "*) variant=${*##*--variant } variant=${variant%% *} ;; esac
    won=
    case $variant in *best) won=', "won": "compile"' ;; esac
    echo "{\"event\": \"ready\", \"torch\": \"9.8.7\", \"variant\": \"$variant\"$won}"
    while read -r line; do echo '{"event": "block", "step_ms": 1000.0}'; done ;;
*mxnet_*.py*)
    case "$*" in *--probe*) exit 0 ;; esac
    echo "{\"event\": \"ready\", \"about\": \"MXNet 9 dist_${*##*--variant }\"}"
    while read -r line; do echo '{"event": "block", "step_ms": 500.0}'; done ;;
esac
exit 0
END
chmod +x "$dir/bin/python3"

installs() { # FOLDER OPTION...: status returned, output in $dir/out
    local folder=$1
    shift
    timeout 60 "$apps/tutti-bench" peers --install "$folder" "$@" > "$dir/out" 2>&1
}

# fails FAULT SENTENCE OPTION...: nothing is left but, sometimes, what pip said.
fails() {
    local fault=$1 sentence=$2 status=0
    shift 2
    FALSE_FAULT=$fault installs "$dir/new" "$@" || status=$?
    [ $status = 1 ] || fail "status $status instead of 1: $fault"
    grep -q -- "$sentence" "$dir/out" || { fail "$fault is not told"; cat "$dir/out"; }
    [ "$(wc -l < "$dir/out")" = 1 ] || { fail "$fault: not one sentence"; cat "$dir/out"; }
    [ ! -e "$dir/new" ] && [ ! -e "$dir/new.part" ] && [ ! -e "$dir/new.lock" ] || fail "$fault leaves something: $(ls "$dir")"
}
fails no-venv 'cannot make virtual environments: apt-get install python3-venv'
fails none 'no such program: apt-get install python3-venv' --python "$dir/nowhere"
fails no-space 'no space left for it: free .* TMPDIR'
fails no-space-later 'no space left for it: free .* TMPDIR'
fails no-network 'pip cannot reach its package index: check the network and pip.s settings'
fails no-version 'pip finds no PyTorch 9 for python3: try another --torch' --torch 9
fails no-version 'pip finds no MXNet for python3: try another --python' --package mxnet
fails no-import 'the PyTorch that pip installed does not run here'
fails strange "pip failed: see $dir/new.log"
grep -q 'how odd' "$dir/new.log" || fail "what pip said is not in the log"

# A folder of that name that no installation made is left alone.
mkdir "$dir/mine.part" && echo precious > "$dir/mine.part/file"
status=0
installs "$dir/mine" || status=$?
[ $status = 2 ] || fail "status $status instead of 2: a folder of somebody else"
grep -q 'mine.part exists, and is not left from an installation' "$dir/out" || { fail "a folder of somebody else"; cat "$dir/out"; }
[ "$(cat "$dir/mine.part/file")" = precious ] || fail "a folder of somebody else is gone"

# Killed in the middle: no folder, and the next installation starts anew.
FALSE_FAULT=killed installs "$dir/new"
[ ! -e "$dir/new" ] && [ -d "$dir/new.part" ] || fail "a killed installation leaves: $(ls "$dir")"
touch "$dir/new.part/rubbish"
installs "$dir/new/" || { fail "tutti-bench peers: status $?"; cat "$dir/out"; }
grep -q -- "--peer $dir/new" "$dir/out" || { fail "how to use it is not told"; cat "$dir/out"; }
[ -x "$dir/new/bin/python3" ] && [ ! -e "$dir/new/rubbish" ] && [ ! -e "$dir/new/bin/pip" ] && [ ! -e "$dir/new.log" ] && [ ! -e "$dir/new.part" ] ||
    fail "an environment: $(ls "$dir" "$dir/new" "$dir/new/bin")"
grep -q -- '-m pip install torch torchvision pillow numpy$' "$FALSE_LOG" || { fail "what pip is asked for"; cat "$FALSE_LOG"; }
installs "$dir/other" --torch 2.15.0 && grep -q -- '-m pip install torch==2.15.0 torchvision pillow numpy$' "$FALSE_LOG" || fail "a version: $(cat "$dir/out")"

installs "$dir/mxnet" --package mxnet && grep -q -- '-m pip install mxnet==1.9.1 numpy==1.23.5$' "$FALSE_LOG" &&
    grep -q "MXNet is installed; use it with tutti-bench kv --peer $dir/mxnet, or set TUTTI_PEER_MXNET" "$dir/out" || fail "MXNet: $(cat "$dir/out")"
installs "$dir/mxnet2" --package mxnet --torch 9
[ $? = 2 ] && grep -q 'is a version of PyTorch: leave it out with another --package' "$dir/out" || fail "MXNet with --torch: $(cat "$dir/out")"

# What exists is left alone, and so is what another process makes.
installs "$dir/new"
[ $? = 2 ] && grep -q 'it exists already: remove it' "$dir/out" || fail "an environment that exists: $(cat "$dir/out")"
installs "$dir/no/where" && fail "a folder in a folder that is not there"
printf 'host elsewhere\nprocess 1\nsince 2026-01-02 03:04:05 UTC\nboot b\n' > "$dir/locked.lock"
installs "$dir/locked" && fail "two installations of a folder"
grep -q 'process 1 on host elsewhere' "$dir/out" || { fail "the other installation is not told"; cat "$dir/out"; }
"$apps/tutti-bench" peers > "$dir/out" 2>&1
[ $? = 2 ] && grep -q -- '--install' "$dir/out" || fail "peers without a folder: $(cat "$dir/out")"

# compute has each variant of its script, but for those of a GPU.
words=$("$apps/tutti-bench" compute --help | sed -n '/--peer-variants/,/several take turns/p' | tr -d '\n' | tr -s ' ' |
    sed 's/.*how the peer runs: //; s/; several.*//; s/, /\n/g' | sort | xargs)
listed=$(sed -n '/^VARIANTS = /,/)$/p' "$TUTTI_SRCDIR/apps/bench/torch_compute.py" | grep -o '"[^"]*"' | tr -d '"' | grep -v 'graph$' | sort | xargs)
[ -n "$words" ] && [ "$words" = "$listed" ] || fail "variants in --help: $words; in torch_compute.py: $listed"

# The environment as a peer: of compute, in every variant, by option or variable; of step.
computes() { timeout 120 "$apps/tutti-bench" compute --model mlp --batch 4 --steps 1 --blocks 1 "$@" > "$dir/out" 2>&1; }
computes --peer "$dir/new" --peer-variants eager,compile,bf16-compile,bf16-best --json "$dir/json" || { fail "compute: status $?"; cat "$dir/out"; }
for text in 'PyTorch 9.8.7  ' 'PyTorch 9.8.7, compile' 'PyTorch 9.8.7, bf16-compile' 'PyTorch 9.8.7, bf16-best: compile' 'times as fast as eager' 'times as fast as bf16-compile'; do
    grep -q "$text" "$dir/out" || { fail "compute does not tell: $text"; cat "$dir/out"; }
done
grep -q '"name":"PyTorch 9.8.7, compile","unit":"images/s","median":4.0,' "$dir/json" || { fail "a variant in --json"; cat "$dir/json"; }
mv "$dir/other" "$dir/it's here"
TUTTI_PEER="$dir/it's here" computes && grep -q 'PyTorch 9.8.7  ' "$dir/out" || { fail "TUTTI_PEER"; cat "$dir/out"; }
# TUTTI_TEST_FEWER: step with both peers alone.
if [ -z "${TUTTI_TEST_FEWER:-}" ]; then
    "$mpirun" -np 2 "$apps/tutti-bench" step --model mlp --batch 2 --steps 1 --blocks 1 --design funneled --peer "$dir/new" > "$dir/out" 2>&1 &&
        grep -q '^PyTorch 9.8.7' "$dir/out" || { fail "step"; cat "$dir/out"; }
    "$mpirun" -np 2 "$apps/tutti-bench" step --model mlp --batch 2 --steps 1 --blocks 1 --design funneled --peer "$dir/new" --compress powersgd:3 \
        > "$dir/out" 2>&1 && grep -q 'torch_ddp.py.* --powersgd 3$' "$FALSE_LOG" || { fail "step with powersgd"; cat "$dir/out" "$FALSE_LOG"; }
fi
"$mpirun" -np 2 "$apps/tutti-bench" step --model mlp --batch 2 --steps 1 --blocks 1 --design funneled --peer "$dir/new" \
    --peer-mxnet "$dir/mxnet" --json "$dir/json" > "$dir/out" 2>&1 && grep -q '^PyTorch 9.8.7' "$dir/out" && grep -q '^MXNet 9 dist_sync .*500.00' "$dir/out" &&
    grep -q '^MXNet 9 dist_async' "$dir/out" && grep -q '"peer":"MXNet 9 dist_a\?sync' "$dir/json" || { fail "step and MXNet"; cat "$dir/out"; }
refuses 2 'sums in f32, which is no peer of --wire bf16' "$mpirun" -np 1 "$apps/tutti-bench" step --peer none --peer-mxnet x --wire bf16
refuses 2 '--peer-mxnet .*/nowhere: there is no such folder' "$mpirun" -np 1 "$apps/tutti-bench" step --model mlp --batch 2 --steps 1 --blocks 1 \
    --design funneled --peer none --peer-mxnet "$dir/nowhere"

# A half-made environment, one that has lost its PyTorch, and paths that are none are refused, each with a sentence.
mkdir -p "$dir/half.part/lib"
refuses 2 'has no bin/python3: tutti-bench peers --install' computes --peer "$dir/half.part"
refuses 2 'no such folder or program; tutti-bench peers --install' computes --peer "$dir/nowhere"
refuses 2 'is not a list such as' computes --peer none --peer-variants eager,,bf16
FALSE_FAULT=later-no-import refuses 1 'cannot import torch: remove the folder, and make it again' computes --peer "$dir/new"
FALSE_FAULT=later-no-import "$mpirun" -np 2 "$apps/tutti-bench" step --model mlp --batch 2 --steps 1 --blocks 1 --design funneled \
    --peer "$dir/new" > "$dir/out" 2>&1
[ $? = 1 ] && grep -q 'cannot import torch' "$dir/out" || { fail "step without torch"; cat "$dir/out"; }

# A model that the script has not: an error for a folder, and no peer for auto. A false torch stands in for Debian's.
"$apps/tutti-info" --network mlp > "$dir/it's own.json"
refuses 1 "--peer .*/new: torch_compute.py has no .*/it's own.json: use --peer none" computes --peer "$dir/new" --model "$dir/it's own.json"
mkdir -p "$dir/false/torch"
cat > "$dir/false/torch/__init__.py" << 'END'
import sys, types
class Anything(type):
    def __getattr__(cls, name): return Thing
class Thing(metaclass=Anything):
    def __init__(self, *a, **k): pass
    def __call__(self, *a, **k): return Thing()
class Module(types.ModuleType):
    __path__ = []
    def __getattr__(self, name): return Thing
for name in "torch", "torch.nn", "torch.nn.functional":
    sys.modules[name] = Module(name)
sys.modules["torch"].nn = sys.modules["torch.nn"]
sys.modules["torch.nn"].functional = sys.modules["torch.nn.functional"]
END
PYTHONPATH=$dir/false computes --peer auto --model "$dir/it's own.json" && grep -q "no peer: torch_compute.py has no .*/it's own.json" "$dir/out" &&
    grep -q '^StarPU graph' "$dir/out" || { fail "auto, and a model that the script has not"; cat "$dir/out"; }

# The script itself, where there is a PyTorch.
if [ -n "${TUTTI_TEST_PYTHON:-}" ] && "$TUTTI_TEST_PYTHON" -c 'import torch.distributed' 2> /dev/null; then
    for option in "" --half --autocast "--powersgd 2"; do
        # shellcheck disable=SC2086
        echo | MASTER_ADDR=127.0.0.1 MASTER_PORT=$((20000 + $$ % 10000)) RANK=0 WORLD_SIZE=1 timeout 120 "$TUTTI_TEST_PYTHON" \
            "$TUTTI_SRCDIR/apps/bench/torch_ddp.py" --model mlp --batch 2 --steps 1 $option > "$dir/out" 2>&1 &&
            grep -q '"event": "block"' "$dir/out" || { fail "torch_ddp.py $option"; cat "$dir/out"; }
    done
fi
finish
