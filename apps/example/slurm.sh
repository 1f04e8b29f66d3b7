#!/bin/bash
# Trains in a job of Slurm, which saves and queues again when its time is over:   sbatch slurm.sh [OPTION OF tutti-cifar]...
#SBATCH --nodes=4 --ntasks-per-node=2 --cpus-per-task=4 --time=01:00:00
#SBATCH --signal=TERM@120 --requeue --open-mode=append
export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK # since 22.05, srun does not take this from the job
export TUTTI_RUN=job$SLURM_JOB_ID # the next attempt takes over what a host that died has locked
tutti-run --continue srun --mpi=pmix tutti-cifar --checkpoint "$SLURM_SUBMIT_DIR/$SLURM_JOB_ID.safetensors" \
    --workers $((SLURM_CPUS_PER_TASK - 1)) "$@"
status=$?
case $status in 130 | 143) scontrol requeue "$SLURM_JOB_ID" ;; esac # interrupted, and saved
exit $status
