#!/usr/bin/python3
"""The PyTorch peer of `tutti-bench pipeline`: torch.distributed.pipelining over gloo, one process a stage.

    MASTER_ADDR=10.77.0.1 MASTER_PORT=29500 RANK=0 WORLD_SIZE=2 GLOO_SOCKET_IFNAME=eth0 \\
        torch_pipeline.py --model preact-resnet110 --batch 64 --micro-batches 8 --pipeline 1f1b --steps 20 --blocks 5

Says what torch_compute.py says, which has the models and the settings of a single rank, and does a block of steps for
each line read on stdin, as that does. All ranks are to be told at the same time. Each rank builds the whole model and keeps
its own stage. The cut is the one for which the slowest stage takes the least time: rank 0 times every block of layers,
forward and backward, on a micro-batch, and tells the others.
"""

import argparse
import sys
import time

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F

try:
    from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleGPipe
except ImportError:
    sys.exit("PyTorch " + torch.__version__ + " has no torch.distributed.pipelining: tutti-bench peers --install gets one that has")

from torch_compute import MODELS, ResNet, check_model, positive, probe, say


class Head(nn.Module):
    def __init__(self, fc):
        super().__init__()
        self.fc = fc

    def forward(self, x):
        return self.fc(x.mean((2, 3)))


def blocks_of(model):
    """The model as modules that pass one tensor on."""
    if isinstance(model, ResNet):
        return [nn.Sequential(model.conv1, model.bn1, nn.ReLU(True)), *model.layers, Head(model.fc)]
    return list(model)


def times_of(blocks, x):
    """Seconds of each block, forward and backward; the best of three."""
    seconds = []
    for block in blocks:
        best = float("inf")
        for _ in range(3):
            x = x.detach().requires_grad_()
            start = time.perf_counter()
            y = block(x.clone())  # some work in place
            y.backward(torch.ones_like(y))
            best = min(best, time.perf_counter() - start)
        seconds.append(best)
        x = y.detach()
    return seconds


def cut(seconds, stages):
    """Where each stage ends, such that the slowest is as fast as can be."""
    most = {(0, 0): (0.0, [])}
    for stage in range(1, stages + 1):
        for end in range(stage, len(seconds) + 1):
            options = [(max(most[stage - 1, begin][0], sum(seconds[begin:end])), most[stage - 1, begin][1] + [end])
                       for begin in range(stage - 1, end) if (stage - 1, begin) in most]
            if options:
                most[stage, end] = min(options)
    return most[stages, len(seconds)][1]


def laid_out(x, memory_format):
    return x.contiguous(memory_format=memory_format) if x.dim() == 4 else x.contiguous()


class Arrive(torch.autograd.Function):
    """What gloo has received is contiguous, and so must be the gradient that it sends back; a stage computes channels_last."""

    @staticmethod
    def forward(ctx, x):
        return laid_out(x, torch.channels_last)

    @staticmethod
    def backward(ctx, gradient):
        return laid_out(gradient, torch.contiguous_format)


class Leave(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return laid_out(x, torch.contiguous_format)

    @staticmethod
    def backward(ctx, gradient):
        return laid_out(gradient, torch.channels_last)


class Stage(nn.Module):
    def __init__(self, blocks, first, last):
        super().__init__()
        self.blocks, self.first, self.last = nn.Sequential(*blocks), first, last

    def forward(self, x):
        y = self.blocks(x if self.first else Arrive.apply(x))
        return y if self.last else Leave.apply(y)


class Pipeline:
    def __init__(self, args, rank, stages):
        torch.manual_seed(1)
        make, side, classes = MODELS[args.model]
        blocks = [block.to(memory_format=torch.channels_last) for block in blocks_of(make().train())]
        if len(blocks) < stages:
            sys.exit(f"{args.model} has {len(blocks)} blocks, too few for {stages} stages")
        self.x = torch.randn(args.batch, 3, side, side).to(memory_format=torch.channels_last)
        self.labels = torch.randint(classes, (args.batch,))
        part = self.x[: args.batch // args.micro_batches]
        found = [cut(times_of(blocks, part), stages) if rank == 0 else None]
        dist.broadcast_object_list(found)
        self.ends = found[0]
        with torch.no_grad():  # batch norm's first statistics do not matter here
            for block in blocks[: self.ends[rank - 1] if rank else 0]:
                part = block(part)
        self.first, self.last = rank == 0, rank == stages - 1
        mine = Stage(blocks[self.ends[rank - 1] if rank else 0 : self.ends[rank]], self.first, self.last)
        if not self.first:
            part = laid_out(part, torch.contiguous_format)
        stage = PipelineStage(mine, rank, stages, torch.device("cpu"), input_args=(part,))
        kind = Schedule1F1B if args.pipeline == "1f1b" else ScheduleGPipe
        self.schedule = kind(stage, n_microbatches=args.micro_batches, loss_fn=F.cross_entropy)
        self.optimizer = torch.optim.SGD(mine.parameters(), lr=0.001, momentum=0.9, weight_decay=1e-4, foreach=True)
    def step(self):
        self.optimizer.zero_grad(set_to_none=True)
        losses = []
        inputs = (self.x,) if self.first else ()
        if self.last:
            self.schedule.step(*inputs, target=self.labels, losses=losses)
        else:
            self.schedule.step(*inputs)
        self.optimizer.step()
        return losses


def time_block(pipeline, steps, batch):
    dist.barrier()
    start = time.perf_counter()
    for _ in range(steps):
        pipeline.step()
    dist.barrier()
    seconds = time.perf_counter() - start
    return {"images_per_s": round(steps * batch / seconds, 2), "step_ms": round(1e3 * seconds / steps, 3)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--probe", action="store_true", help="only report whether this PyTorch is worth comparing with")
    parser.add_argument("--model", default="preact-resnet110", help="one of " + ", ".join(sorted(MODELS)))
    parser.add_argument("--batch", type=positive, default=64, help="images per step (default 64)")
    parser.add_argument("--micro-batches", type=positive, default=8, help="parts of a batch, which it divides (default 8)")
    parser.add_argument("--pipeline", choices=("1f1b", "gpipe"), default="1f1b")
    parser.add_argument("--steps", type=positive, default=20, help="steps per block (default 20)")
    parser.add_argument("--warmup", type=positive, default=3, help="steps before the first block (default 3)")
    parser.add_argument("--blocks", type=positive, default=1, help="how many lines to read on stdin (default 1)")
    parser.add_argument("--threads", type=positive, default=1, help="threads per rank (default 1)")
    args = parser.parse_args()
    if args.probe:
        sys.exit(probe(args.model))
    check_model(parser, args)
    torch.set_num_threads(args.threads)
    dist.init_process_group("gloo")
    pipeline = Pipeline(args, dist.get_rank(), dist.get_world_size())
    time_block(pipeline, args.warmup, args.batch)
    say("ready", torch=torch.__version__ + " pipelining " + args.pipeline, model=args.model, batch=args.batch,
        ends=pipeline.ends)
    for block in range(1, args.blocks + 1):
        if not sys.stdin.readline():
            break
        say("block", block=block, **time_block(pipeline, args.steps, args.batch))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
