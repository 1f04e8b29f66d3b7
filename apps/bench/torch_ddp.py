#!/usr/bin/python3
"""The PyTorch peer of `tutti-bench step`: DistributedDataParallel over gloo, one process a rank.

    MASTER_ADDR=10.77.0.1 MASTER_PORT=29500 RANK=0 WORLD_SIZE=2 GLOO_SOCKET_IFNAME=eth0 \\
        torch_ddp.py --model resnet20 --batch 64 --steps 20 --blocks 5

Says what torch_compute.py says, which has the models and the settings of a single rank, and does a block of steps for
each line read on stdin, as that does. All ranks are to be told at the same time. Buckets are PyTorch's (25 MB, the first 1 MB,
rebuilt in the order in which gradients became ready in the first step), and gradients live in them (gradient_as_bucket_view),
which saves a copy. With --half gradients are rounded to float16 before they are summed (DDP's fp16_compress_hook); with --powersgd
they travel as factors of that rank (DDP's powerSGD_hook, from its third step on, which is the earliest, in the warm-up).
"""

import argparse
import sys

import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook
from torch.nn.parallel import DistributedDataParallel

from torch_compute import MODELS, Training, check_model, positive, probe, say, time_block


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--probe", action="store_true", help="only report whether this PyTorch is worth comparing with")
    parser.add_argument("--model", default="resnet20", help="one of " + ", ".join(sorted(MODELS)))
    parser.add_argument("--batch", type=positive, default=64, help="images per rank and step (default 64)")
    parser.add_argument("--steps", type=positive, default=20, help="steps per block (default 20)")
    parser.add_argument("--warmup", type=positive, default=3, help="steps before the first block (default 3)")
    parser.add_argument("--blocks", type=positive, default=1, help="how many lines to read on stdin (default 1)")
    parser.add_argument("--threads", type=positive, default=1, help="threads per rank (default 1)")
    parser.add_argument("--bucket-mb", type=positive, default=25, help="DDP's bucket_cap_mb (default 25)")
    parser.add_argument("--autocast", action="store_true", help="compute in bfloat16 where autocast does")
    parser.add_argument("--half", action="store_true", help="sum gradients in float16 (fp16_compress_hook)")
    parser.add_argument("--powersgd", type=positive, metavar="RANK", help="compress gradients (powerSGD_hook)")
    args = parser.parse_args()
    if args.probe:
        sys.exit(probe(args.model))
    check_model(parser, args)
    args.device, args.variant = "cpu", "bf16" if args.autocast else "eager"
    torch.set_num_threads(args.threads)
    dist.init_process_group("gloo")
    training = Training(args)
    training.forward = DistributedDataParallel(
        training.model, bucket_cap_mb=args.bucket_mb, gradient_as_bucket_view=True)
    if args.half:
        training.forward.register_comm_hook(None, default_hooks.fp16_compress_hook)
    if args.powersgd:
        state = powerSGD_hook.PowerSGDState(None, matrix_approximation_rank=args.powersgd, start_powerSGD_iter=2)
        training.forward.register_comm_hook(state, powerSGD_hook.powerSGD_hook)
    time_block(training, args.warmup, args.batch)
    say("ready", torch=torch.__version__ + (" DDP fp16" if args.half else f" DDP powersgd:{args.powersgd}" if args.powersgd else " DDP") +
        (" autocast" if args.autocast else ""), model=args.model, batch=args.batch)
    for block in range(1, args.blocks + 1):
        if not sys.stdin.readline():
            break
        say("block", block=block, **time_block(training, args.steps, args.batch))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
