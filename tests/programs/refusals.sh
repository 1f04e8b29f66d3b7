#!/bin/bash
# Bad input: a sentence that names it, status 2 for usage and 1 for the rest, no hang, no rank left behind.
. "${TUTTI_SRCDIR:?}/tests/programs/lib.sh"
make_cifar "$dir/data"
make_jpeg "$dir/jpeg"
common=(--model mlp --batch 2 --steps 2 --lr 0.01 --timeout 20)

# ends STATUS TEXT COMMAND...: refuses, of lib.sh, and no rank is left behind.
ends() {
    refuses "$@"
    leaves_none "tutti-cifar.*$dir" "$*"
}
two() { # OPTION...: two ranks
    "$mpirun" -np 2 "$apps/tutti-cifar" "${common[@]}" "$@"
}

# ---- options
ends 2 '--data DIR is missing' two
ends 2 '--batch 0: must be an integer from 1' two --data "$dir/data" --batch 0
ends 2 'unknown model; known: mlp, mlp-1024x5, cifar-quick, resnet8, resnet20' two --data "$dir/data" --model zebra
ends 2 "unknown design; known: $(names designs | paste -sd , | sed 's/,/, /g')" two --data "$dir/data" --design best
ends 2 'unknown format; known: cifar10, cifar100, folders, idx' two --data "$dir/data" --format png
ends 2 'unknown rate-schedule; known: constant, step, milestones, plateau, poly, cosine, onecycle' two --data "$dir/data" --rate-schedule linear
ends 2 'unknown algorithm; known: auto, ring' two --data "$dir/data" --algorithm best
ends 2 'unknown wire; known: f32, bf16' two --data "$dir/data" --wire f16
said_by_each=yes ends 2 'MPI has no such type' two --data "$dir/data" --wire bf16 --algorithm mpi
[ "$(grep -c 'MPI has no such type' "$dir/out")" = 2 ] || { fail "not one sentence on each rank"; cat "$dir/out"; }
ends 2 'MPI has no such type' "$mpirun" -np 2 "$apps/tutti-bench" step --model mlp --wire bf16 --algorithm mpi
ends 2 'unknown optimizer; known: sgd, adam, adamw, lars' two --data "$dir/data" --optimizer rms
ends 2 '--accumulate 0: must be an integer from 1' two --data "$dir/data" --accumulate 0
ends 2 '--clip-norm 0: must be a number from' two --data "$dir/data" --clip-norm 0
ends 2 '--ema 1: must be a number from' two --data "$dir/data" --ema 1
ends 2 '--momentum 1: must be a number from 0 to 0.999999' two --data "$dir/data" --momentum 1
ends 2 '--beta2 1: must be a number from 0 to 0.999999' two --data "$dir/data" --optimizer adam --beta2 1
ends 1 'too few for one step of 2 x --batch 2 x --accumulate 60000' two --data "$dir/data" --accumulate 60000
ends 2 "TUTTI_DESIGN='best': unknown design" env TUTTI_DESIGN=best "$apps/tutti-cifar" --data "$dir/data"
ends 2 'CPU workers per process' two --data "$dir/data" --batch 1000 --workers 1000
ends 2 'more workers than images' two --data "$dir/data" --batch 1 --workers 2
ends 2 'has one lane' two --data "$dir/data" --lanes 2
ends 2 '--lr -1: must be a number from 0 to 1000 or auto' two --data "$dir/data" --lr -1
ends 2 "TUTTI_BUCKET_MB='-1': must be a number from 0 to 1000000 or auto" env TUTTI_BUCKET_MB=-1 "$apps/tutti-cifar" \
    --data "$dir/data"
ends 2 "TUTTI_STALL_WARN='': must be a number from 0" env TUTTI_STALL_WARN= "$apps/tutti-cifar" --data "$dir/data"
ends 2 '--comm-core both: must be auto, none or' two --data "$dir/data" --comm-core both
launch_several_programs "$mpi"
ends 2 'this rank may not use processor 1023' "$mpirun" -np 1 "$apps/tutti-cifar" --data "$dir/data" : \
    -np 1 env TUTTI_COMM_CORE=1023 "$apps/tutti-cifar" --data "$dir/data"
ends 2 'seed is "1" on rank 0 and "2" on rank 1' "$mpirun" -np 1 "$apps/tutti-cifar" --data "$dir/data" : \
    -np 1 "$apps/tutti-cifar" --data "$dir/data" --seed 2
ends 2 'design is "funneled" on rank 0 and "concurrent" on rank 1' "$mpirun" -np 1 "$apps/tutti-cifar" --data "$dir/data" : \
    -np 1 "$apps/tutti-cifar" --data "$dir/data" --design concurrent
ends 2 'optimizer is "sgd" on rank 0 and "lars" on rank 1' "$mpirun" -np 1 "$apps/tutti-cifar" --data "$dir/data" : \
    -np 1 "$apps/tutti-cifar" --data "$dir/data" --optimizer lars
ends 2 'wire is "f32" on rank 0 and "bf16" on rank 1' "$mpirun" -np 1 "$apps/tutti-cifar" --data "$dir/data" : \
    -np 1 "$apps/tutti-cifar" --data "$dir/data" --wire bf16
ends 2 "rank 0: error: TUTTI_LAYOUT stages=3,replicas=1 needs 3 ranks" env TUTTI_LAYOUT=stages=3,replicas=1 "$mpirun" -np 2 \
    "$apps/tutti-cifar" "${common[@]}" --data "$dir/data"
ends 2 '--layout servers=1: servers are no part of a pipeline' "$apps/tutti-bench" pipeline --layout servers=1
ends 2 'unknown precision; known: f32, bf16, auto' two --data "$dir/data" --precision f16
ends 2 'precision is "f32" on rank 0 and "bf16" on rank 1' "$mpirun" -np 1 "$apps/tutti-cifar" --data "$dir/data" : \
    -np 1 "$apps/tutti-cifar" --data "$dir/data" --precision bf16

# ---- processors without instructions for bf16: one sentence, of the first such rank; auto computes in f32
bare='no instructions for bf16 (avx512_bf16 or AMX), or DNNL_MAX_CPU_ISA excludes them'
for isa in AVX2 AVX512_CORE; do
    ends 2 "$bare" env DNNL_MAX_CPU_ISA=$isa "$mpirun" -np 2 "$apps/tutti-cifar" "${common[@]}" --data "$dir/data" --precision bf16
    [ "$(grep -c 'error' "$dir/out")" = 1 ] || { fail "not one sentence"; cat "$dir/out"; }
done
ends 2 "$bare" "$mpirun" -np 1 "$apps/tutti-cifar" "${common[@]}" --data "$dir/data" --precision bf16 : \
    -np 1 env DNNL_MAX_CPU_ISA=AVX2 "$apps/tutti-cifar" "${common[@]}" --data "$dir/data" --precision bf16
[ "$(grep -c 'error' "$dir/out")" = 1 ] || { fail "not one sentence"; cat "$dir/out"; }
ends 2 "$bare" env DNNL_MAX_CPU_ISA=AVX2 "$apps/tutti-bench" compute --model mlp --batch 2 --precision bf16
ends 2 "$bare" env DNNL_MAX_CPU_ISA=AVX2 "$apps/tutti-bench" step --model mlp --batch 2 --precision bf16
ends 0 'auto: --precision f32, because not every rank' "$mpirun" -np 1 "$apps/tutti-cifar" "${common[@]}" --data "$dir/data" \
    --precision auto : -np 1 env DNNL_MAX_CPU_ISA=AVX2 "$apps/tutti-cifar" "${common[@]}" --data "$dir/data" --precision auto

# ---- data
ends 1 "$dir/nothing" two --data "$dir/nothing"
mkdir "$dir/empty"
ends 1 "$dir/empty" two --data "$dir/empty"
cp -r "$dir/data" "$dir/short"
truncate -s -5 "$dir/short/data_batch_3.bin"
ends 1 data_batch_3.bin two --data "$dir/short"
cp -r "$dir/data" "$dir/label"
printf '\377' | dd of="$dir/label/data_batch_2.bin" bs=1 seek=3073 conv=notrunc 2> /dev/null
ends 1 data_batch_2.bin two --data "$dir/label"
ends 1 'too few for one step of 2 x --batch 4000' two --data "$dir/data" --batch 4000
truncate -s -12 "$dir/jpeg/train/b/2.jpg"
ends 1 train/b/2.jpg two --data "$dir/jpeg" --steps 9

# ---- checkpoints
two --data "$dir/data" --checkpoint "$dir/mlp" > "$dir/out" 2>&1 || { fail "no checkpoint"; cat "$dir/out"; }
ends 1 'its model is mlp, but this run'"'"'s is cifar-quick' two --data "$dir/data" --resume "$dir/mlp" --model cifar-quick
head -c 100000 "$dir/mlp" > "$dir/torn"
ends 1 "$dir/torn: truncated" two --data "$dir/data" --resume "$dir/torn"
ends 1 'not a safetensors file' two --data "$dir/data" --resume "$dir/data/data_batch_1.bin"
ends 1 "$dir/none: cannot open" two --data "$dir/data" --resume "$dir/none"
ends 1 "$dir/none/c" two --data "$dir/data" --checkpoint "$dir/none/c"
ends 1 '--json' two --data "$dir/data" --json "$dir/none/json"

# A full disk: no file may grow beyond 8 MB, and the checkpoint has 15. MPI's own files must be small, too.
cp "$dir/mlp" "$dir/before"
ends 1 'could not be saved' env OMPI_MCA_btl=self UCX_TLS=self "$mpirun" -np 1 bash -c 'ulimit -f 8192; exec "$@"' - \
    "$apps/tutti-cifar" "${common[@]}" --data "$dir/data" --seed 2 --checkpoint "$dir/mlp" --overwrite
cmp "$dir/before" "$dir/mlp" || fail "the old checkpoint did not survive a full disk"

ends 2 '--checkpoint-every: it needs --checkpoint FILE' two --data "$dir/data" --checkpoint-every 5
ends 2 '--checkpoint-minutes: it needs --checkpoint FILE' two --data "$dir/data" --checkpoint-minutes 5
ends 2 '--checkpoint-every 0: must be an integer from 1' two --data "$dir/data" --checkpoint-every 0

ends 2 '--unsafe' two --data "$dir/data" --design naive

# A rate that makes numbers overflow ends the run on every rank.
ends 1 'not a finite number' two --data "$dir/data" --lr 1000 --steps 40 --momentum 0.99
finish
