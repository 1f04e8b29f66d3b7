"""apps/bench/torch_compute.py without a GPU: kernels fall into their classes, and best chooses the fastest of what runs, with
CUDA's graphs emulated.   torch_variants.py FOLDER"""

import argparse
import contextlib
import sys

sys.path.insert(0, sys.argv[1])
import torch
import torch_compute as t


def refused(**options):
    return t.refuse(argparse.Namespace(**{"variant": "eager", "device": "cpu", "profile": True, "blocks": None, **options}))


assert refused() is None and refused(device="cuda", variant="bf16-best") is None
assert refused(blocks=1) == "--profile cannot be combined with --blocks"
for variant in ("compile", "best", "bf16-best", "jit"):
    assert refused(variant=variant).startswith(f"--profile does not see into --variant {variant} on a processor")
    assert refused(variant=variant, profile=False) is None


# ---- classes ----

def op(name, ts, dur, tid=1, cat="cpu_op"):
    return {"ph": "X", "cat": cat, "name": name, "ts": ts, "dur": dur, "pid": 1, "tid": tid}


def launch(number, ts, tid=1, cat="cuda_runtime"):
    return {**op("cudaLaunchKernel", ts, 1, tid, cat), "args": {"correlation": number}}


def kernel(number, name, dur):
    return {**op(name, 1000 + 10 * number, dur, 7, "kernel"), "args": {"correlation": number}}


events = [
    {"ph": "M", "name": "process_name"},
    # a convolution that casts its input first
    op("aten::conv2d", 0, 30), op("aten::to", 1, 8), op("aten::copy_", 2, 6), launch(1, 3), op("aten::cudnn_convolution", 10, 15), launch(2, 12),
    kernel(1, "copy", 2), kernel(2, "sm90_gemm", 20),
    # both gradients in one operation, on another thread: kernels that say what they are, and kernels that do not
    op("aten::convolution_backward", 0, 30, 2), launch(3, 1, 2), launch(4, 2, 2), launch(5, 3, 2), launch(6, 4, 2),
    kernel(3, "transpose", 1), kernel(4, "sm90_dgrad", 10), kernel(5, "sm90_wgrad", 11), kernel(6, "reduce", 1),
    op("aten::convolution_backward", 40, 30, 2), launch(7, 41, 2), launch(8, 42, 2), kernel(7, "gemm", 3), kernel(8, "gemm", 4),
    # under names of their own
    op("conv_bwd_weights", 80, 30, 2, "user_annotation"), op("aten::convolution_backward", 81, 20, 2), launch(9, 82, 2), kernel(9, "dgrad", 5),
    # an annotation that begins in another operation and outlives it
    op("PythonDispatchMode", 100, 10), op("Optimizer.step#SGD.step", 105, 90, 1, "user_annotation"), op("aten::add_", 120, 10), launch(10, 121),
    kernel(10, "add", 6),
    # compiled; on no operation's behalf; of no launch
    launch(11, 300, 1, "cuda_driver"), kernel(11, "triton_red_fused__native_batch_norm_legit_relu_3", 7),
    launch(12, 310, 1, "cuda_driver"), kernel(12, "triton_poi_fused_add_relu_4", 8), launch(13, 320), kernel(13, "x", 9), kernel(14, "y", 1),
    op("AddmmBackward0", 400, 20), op("aten::sum", 401, 5), launch(15, 402), kernel(15, "sum", 2)]
us, count = t.times_by_class(events, "cuda")
assert us == {"elementwise": 2 + 8, "conv": 20, "conv_bwd_data": 1 + 10 + 3, "conv_bwd_weights": 11 + 1 + 4 + 5, "optimizer": 6, "norm": 7,
              "other": 9 + 1, "dense": 2}, us
assert count["conv_bwd_weights"] == 4 and sum(count.values()) == 15, count
us, _ = t.times_by_class([op("aten::conv2d", 0, 30), op("aten::copy_", 2, 6), op("aten::batch_norm", 40, 5)], "cpu")
assert us == {"conv": 24, "elementwise": 6, "norm": 5}, us


# ---- best, on a GPU that is emulated ----

class Pretended(str):
    """A device that the script takes for a GPU, and PyTorch for a processor."""

    def __eq__(self, other):
        return other == "cuda"

    __hash__ = str.__hash__


class Clock:
    """A step takes 4 s op by op, 2 s compiled, and as a graph as long as the test says."""
    now = 0

    @staticmethod
    def perf_counter():
        return Clock.now


class Graph:
    alive = 0

    def __init__(self):
        Graph.alive += 1
        assert Graph.alive == 1, "a graph that is no longer measured keeps its memory"

    def __del__(self):
        Graph.alive -= 1

    def replay(self):
        Clock.now += Graph.takes


class Stream:
    def wait_stream(self, other):
        pass


@contextlib.contextmanager
def captured(graph):
    if Graph.fails:
        raise RuntimeError("operation not permitted\nwhile capturing")
    yield


torch.cuda.Stream = torch.cuda.current_stream = Stream
torch.cuda.stream = contextlib.nullcontext
torch.cuda.CUDAGraph, torch.cuda.graph = Graph, captured
torch.cuda.synchronize = torch.cuda.empty_cache = lambda: None
t.time = Clock
run = t.Training.run


def timed_run(training):
    Clock.now += 4 if training.forward is training.model else 2
    return run(training)


t.Training.run = timed_run


def uncompiled(model, device):
    raise t.Unavailable("no compiler")


def best(compiled, takes, fails):
    t.compiled, Graph.takes, Graph.fails = compiled, takes, fails
    args = argparse.Namespace(model="mlp", batch=2, device=Pretended("cpu"), variant="best", warmup=3)
    training, choice = t.start_best(args)
    assert (training.graph is not None) == choice["won"].endswith("graph") and args.variant == "best"
    assert Graph.alive == (training.graph is not None), "graphs that lost keep memory"
    assert training.step().item() > 0
    return training, choice


def traced(model, device):
    return lambda x: model(x)


training, choice = best(traced, 1, False)
assert choice == {"won": "graph", "tried": {"eager": 4000, "graph": 1000, "compile": 2000, "compile-graph": 1000}}, choice
assert all(p.grad is not None for p in training.model.parameters()), "a graph's gradients are its own"
training.release()
assert training.graph is None and training.loss is None and all(p.grad is None for p in training.model.parameters())
del training
_, choice = best(uncompiled, 5, False)
assert choice == {"won": "eager", "tried": {"eager": 4000, "graph": 5000}, "failed": {"compile": "no compiler"}}, choice
_, choice = best(traced, 1, True)
why = "operation not permitted"
assert choice == {"won": "compile", "tried": {"eager": 4000, "compile": 2000}, "failed": {"graph": why, "compile-graph": why}}, choice
