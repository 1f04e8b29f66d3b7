#!/usr/bin/python3
"""The PyTorch peer of `tutti-bench compute`: images a second of forward + backward + SGD update on one thread.

    torch_compute.py --model resnet20 --batch 64 --warmup 5 --steps 20             one block of steps, one JSON line
    torch_compute.py --model resnet20 --batch 64 --warmup 5 --steps 20 --blocks 9  a block for each line read on stdin

Prints {"event": "ready", ...} once the warm-up is over (with --blocks), then for each block of steps one line
{"event": "block", "block": 1, "images_per_s": 325.1, "step_ms": 196.9, "loss": 2.3}. Reading a line before each block
lets a caller interleave its own blocks with these, so that both meet the same machine.

The settings are the fastest of those that eager PyTorch offers without changing the computation: channels_last
tensors (its convolutions then are oneDNN's, as Tutti's are; on a GPU cuDNN's, the fastest of those that it tries),
gradients set to None, the fused update where there is one. --variant chooses how the step runs:

    eager          op by op (the default)
    compile        torch.compile, from PyTorch 2 on
    graph          on a GPU: the whole step, update included, is captured in a CUDA graph once and then replayed
    compile-graph  both
    best           the fastest of these here, found by a few steps of each; the JSON says which one won, with all times
    jit            traced and fused
    nchw           eager with the default layout

bf16, bf16-compile, bf16-graph, bf16-compile-graph and bf16-best are the same under autocast to bfloat16.

--profile adds a line {"event": "profile", "ms": {"conv": 4.1, ...}, "count": {"conv": 53.0, ...}, ...}: milliseconds a step
and the number of kernels, by class of operation, as torch.profiler sees them. conv, conv_bwd_data, conv_bwd_weights,
dense, norm and pool are named as Tutti's ops; dense, norm and pool include their gradients. What torch.compile has fused
counts as norm if it normalises, else as pool or elementwise.

Debian's PyTorch multiplies matrices with whatever BLAS is installed; with the reference one perceptrons are nearly 20 times
as slow as with OpenBLAS, which would be no comparison: --probe then says so and exits with 1. Where there is no such --model it exits with 2.

The models are Tutti's own (apps/models): CIFAR ResNet-20 with parameter-free shortcuts (He et al. 2016, section 4.2),
a 32x32 VGG-16 with batch normalisation, Caffe's CIFAR-10 quick, perceptrons, and ResNet-50 and VGG-16 for 224x224 images.
"""

import argparse
import collections
import gc
import inspect
import json
import os
import re
import shutil
import sys
import tempfile
import time

import torch
import torch.nn as nn
import torch.nn.functional as F


class Block(nn.Module):
    def __init__(self, channels, filters, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, filters, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(filters)
        self.conv2 = nn.Conv2d(filters, filters, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(filters)
        self.stride = stride
        self.extra = filters - channels

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)), inplace=True)
        y = self.bn2(self.conv2(y))
        if self.extra:
            front = self.extra // 2
            x = F.pad(x[:, :, :: self.stride, :: self.stride], (0, 0, 0, 0, front, self.extra - front))
        return F.relu(y + x, inplace=True)


class ResNet(nn.Module):
    def __init__(self, blocks, classes=10):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 16, 3, 1, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(16)
        layers, channels = [], 16
        for stage, filters in enumerate((16, 32, 64)):
            for block in range(blocks):
                layers.append(Block(channels, filters, 2 if stage and not block else 1))
                channels = filters
        self.layers = nn.Sequential(*layers)
        self.fc = nn.Linear(64, classes)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)), inplace=True)
        x = self.layers(x)
        return self.fc(x.mean((2, 3)))


class Bottleneck(nn.Module):
    def __init__(self, channels, width, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(channels, width, 1, bias=False), nn.BatchNorm2d(width)
        self.conv2, self.bn2 = nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width)
        self.conv3, self.bn3 = nn.Conv2d(width, 4 * width, 1, bias=False), nn.BatchNorm2d(4 * width)
        self.project = None
        if stride != 1 or channels != 4 * width:
            self.project = nn.Sequential(
                nn.Conv2d(channels, 4 * width, 1, stride, bias=False), nn.BatchNorm2d(4 * width))

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)), inplace=True)
        y = F.relu(self.bn2(self.conv2(y)), inplace=True)
        y = self.bn3(self.conv3(y))
        return F.relu(y + (x if self.project is None else self.project(x)), inplace=True)


def resnet50():
    layers, channels = [], 64
    for stage, blocks in enumerate((3, 4, 6, 3)):
        width = 64 << stage
        for block in range(blocks):
            layers.append(Bottleneck(channels, width, 2 if stage and not block else 1))
            channels = 4 * width
    return nn.Sequential(
        nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(True), nn.MaxPool2d(3, 2, 1),
        *layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2048, 1000))


class PreactBlock(nn.Module):
    """Two convolutions, or a bottleneck of three (expansion 4), with normalisation before each."""

    def __init__(self, channels, width, stride, bottleneck):
        super().__init__()
        filters = 4 * width if bottleneck else width
        shapes = ((channels, width, 1, 1), (width, width, 3, stride), (width, filters, 1, 1)) if bottleneck else (
            (channels, width, 3, stride), (width, width, 3, 1))
        self.norms = nn.ModuleList(nn.BatchNorm2d(shape[0]) for shape in shapes)
        self.convolutions = nn.ModuleList(
            nn.Conv2d(i, o, side, by, side // 2, bias=False) for i, o, side, by in shapes)
        changes = stride != 1 or channels != filters
        self.project = nn.Conv2d(channels, filters, 1, stride, bias=False) if changes and bottleneck else None
        self.pad = (filters - channels) // 2 if changes and not bottleneck else None
        self.stride = stride

    def forward(self, x):
        y = F.relu(self.norms[0](x), inplace=True)
        if self.project is not None:
            x = self.project(y)
        elif self.pad is not None:
            x = F.pad(y[:, :, :: self.stride, :: self.stride], (0, 0, 0, 0, self.pad, self.pad))
        y = self.convolutions[0](y)
        for norm, convolution in zip(self.norms[1:], self.convolutions[1:]):
            y = convolution(F.relu(norm(y), inplace=True))
        return x + y


def preact_resnet(blocks, bottleneck, classes=10):
    layers, channels = [nn.Conv2d(3, 16, 3, 1, 1, bias=False)], 16
    for stage, width in enumerate((16, 32, 64)):
        for block in range(blocks):
            layers.append(PreactBlock(channels, width, 2 if stage and not block else 1, bottleneck))
            channels = 4 * width if bottleneck else width
    return nn.Sequential(*layers, nn.BatchNorm2d(channels), nn.ReLU(True), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                         nn.Linear(channels, classes))


def mlp(hidden, width):
    layers, inputs = [nn.Flatten()], 3072
    for _ in range(hidden):
        layers += [nn.Linear(inputs, width), nn.ReLU()]
        inputs = width
    return nn.Sequential(*layers, nn.Linear(inputs, 10))


def cifar_quick():
    return nn.Sequential(
        nn.Conv2d(3, 32, 5, 1, 2), nn.MaxPool2d(3, 2, 1), nn.ReLU(),
        nn.Conv2d(32, 32, 5, 1, 2), nn.ReLU(), nn.AvgPool2d(3, 2, 1, count_include_pad=False),
        nn.Conv2d(32, 64, 5, 1, 2), nn.ReLU(), nn.AvgPool2d(3, 2, 1, count_include_pad=False),
        nn.Flatten(), nn.Linear(1024, 64), nn.Linear(64, 10))


def vgg_convolutions(norm):
    layers, channels = [], 3
    for width in (64, 64, 0, 128, 128, 0, 256, 256, 256, 0, 512, 512, 512, 0, 512, 512, 512, 0):
        if not width:
            layers.append(nn.MaxPool2d(2))
            continue
        layers.append(nn.Conv2d(channels, width, 3, 1, 1, bias=not norm))
        layers += [nn.BatchNorm2d(width), nn.ReLU(True)] if norm else [nn.ReLU(True)]
        channels = width
    return layers


def vgg16():
    return nn.Sequential(*vgg_convolutions(True), nn.Flatten(), nn.Linear(512, 10))


def vgg16_224():
    return nn.Sequential(
        *vgg_convolutions(False), nn.Flatten(), nn.Linear(512 * 7 * 7, 4096), nn.ReLU(True), nn.Dropout(),
        nn.Linear(4096, 4096), nn.ReLU(True), nn.Dropout(), nn.Linear(4096, 1000))


VARIANTS = ("eager", "compile", "graph", "compile-graph", "best", "bf16", "bf16-compile", "bf16-graph",
            "bf16-compile-graph", "bf16-best", "jit", "nchw")

# How to make it, the side of its images, its classes.
MODELS = {
    "resnet20": (lambda: ResNet(3), 32, 10), "resnet32": (lambda: ResNet(5), 32, 10),
    "resnet44": (lambda: ResNet(7), 32, 10), "resnet56": (lambda: ResNet(9), 32, 10),
    "resnet110": (lambda: ResNet(18), 32, 10), "preact-resnet110": (lambda: preact_resnet(18, False), 32, 10),
    "resnet1001": (lambda: preact_resnet(111, True), 32, 10), "wide-mlp": (lambda: mlp(6, 4096), 32, 10), "mlp": (lambda: mlp(2, 512), 32, 10),
    "mlp-1024x5": (lambda: mlp(5, 1024), 32, 10), "cifar-quick": (cifar_quick, 32, 10), "vgg16": (vgg16, 32, 10),
    "resnet50": (resnet50, 224, 1000), "vgg16-224": (vgg16_224, 224, 1000)}


class Unavailable(Exception):
    """Why a variant cannot run here, as a sentence."""


def compiled(model, device):
    if not hasattr(torch, "compile"):
        raise Unavailable(
            "PyTorch " + torch.__version__ + " has no torch.compile: tutti-bench peers --install gets one that has")
    if not shutil.which("g++"):
        raise Unavailable("torch.compile needs a C++ compiler: apt-get install g++")
    if device == "cpu":
        import torch._inductor.config as inductor
        inductor.compile_threads = 1  # in this process: idle compilers would take time from what is measured
    return torch.compile(model)


class Training:
    """A model, its fixed batch, and the step that is timed."""

    def __init__(self, args):
        torch.manual_seed(1)
        layout = torch.contiguous_format if args.variant == "nchw" else torch.channels_last
        make, side, classes = MODELS[args.model]
        self.device = args.device
        self.model = make().to(args.device, memory_format=layout).train()
        self.x = torch.randn(args.batch, 3, side, side).to(args.device, memory_format=layout)
        self.labels = torch.randint(classes, (args.batch,)).to(args.device)
        settings = dict(lr=0.001, momentum=0.9, weight_decay=1e-4)
        known = inspect.signature(torch.optim.SGD).parameters
        for name in ("fused", "foreach") if args.device == "cuda" else ("foreach",):
            if name in known:
                settings[name] = True
                break
        self.optimizer = torch.optim.SGD(self.model.parameters(), **settings)
        self.bf16 = args.variant.startswith("bf16")
        self.graph = self.loss = None
        self.forward = self.model
        if args.variant == "jit":
            self.forward = torch.jit.trace(self.model, self.x)
        if "compile" in args.variant:
            self.forward = compiled(self.model, args.device)

    def run(self):
        """The step, op by op. Gradients are None before it, so the backward pass writes them and adds to nothing."""
        self.optimizer.zero_grad(set_to_none=True)
        if self.bf16:
            # Each weight is used once: a cache of cast weights saves nothing, and a graph must not keep one.
            with torch.autocast(self.device, dtype=torch.bfloat16, cache_enabled=False):
                loss = F.cross_entropy(self.forward(self.x), self.labels)
        else:
            loss = F.cross_entropy(self.forward(self.x), self.labels)
        loss.backward()
        self.optimizer.step()
        return loss

    def capture(self, steps):
        """After some steps, which compile, let cuDNN try and make the momentum, a step is the replay of a graph."""
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(steps):
                self.run()
        torch.cuda.current_stream().wait_stream(side)
        self.optimizer.zero_grad(set_to_none=True)  # the graph's gradients are in memory of its own
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.loss = self.run()
        self.graph = graph

    def release(self):
        """Gives memory back that only steps need; the next step is op by op."""
        self.graph = self.loss = None
        self.optimizer.zero_grad(set_to_none=True)
        gc.collect()
        if self.device == "cuda":
            torch.cuda.empty_cache()

    def start(self, warmup, variant):
        """The steps before those that are timed: as many in each variant, so that losses can be compared."""
        self.variant = variant
        if variant.endswith("graph"):
            self.capture(max(1, warmup - 1))
            warmup = 1
        time_block(self, warmup, 1)

    def step(self):
        if self.graph is None:
            return self.run()
        self.graph.replay()
        return self.loss


def time_block(training, steps, batch):
    start = time.perf_counter()
    for _ in range(steps):
        loss = training.step()
    if training.device == "cuda":
        torch.cuda.synchronize()
    seconds = time.perf_counter() - start
    return {"images_per_s": round(steps * batch / seconds, 2), "step_ms": round(1e3 * seconds / steps, 3),
            "loss": round(loss.item(), 5)}


def start_best(args):
    """The training that is the fastest here, ready, and what the JSON says of the choice. Only one runs at a time, so that a
    GPU has room; what the others have compiled, and what cuDNN has found, stays."""
    prefix = "bf16-" if args.variant.startswith("bf16") else ""
    variants = (("eager", "graph"), ("compile", "compile-graph"))
    steps, tries = (5, 3) if args.device == "cuda" else (2, 3)
    tried, failed, trainings = {}, {}, {}
    for names in variants:
        for name in names if args.device == "cuda" else names[:1]:
            try:
                if name in ("eager", "compile"):
                    trainings[name] = Training(argparse.Namespace(**{**vars(args), "variant": prefix + name}))
                trainings[names[0]].start(args.warmup, name)
                tried[name] = min(time_block(trainings[names[0]], steps, 1)["step_ms"] for _ in range(tries))
            except (Unavailable, RuntimeError) as error:  # RuntimeError: what a GPU or a compiler says
                failed[name] = str(error).strip().split("\n")[0][:200]
                break
            finally:
                if names[0] in trainings:
                    trainings[names[0]].release()
    if not tried:
        raise Unavailable("no variant runs here: " + "; ".join(f"{name}: {why}" for name, why in failed.items()))
    won = min(tried, key=tried.get)
    training = trainings["compile" if "compile" in won else "eager"]
    trainings.clear()
    training.start(args.warmup, won)
    return training, {"won": won, "tried": tried, **({"failed": failed} if failed else {})}


def say(event, **fields):
    print(json.dumps({"event": event, **fields}), flush=True)


def positive(text):
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("must be 1 or more")
    return value


# What a class of operations is, by the innermost name of torch.profiler that one of them matches.
CLASSES = tuple((name, re.compile(pattern)) for name, pattern in (
    ("conv_bwd", r"::convolution_backward"), ("conv", r"::.*(convolution|conv2d)"),
    ("norm", r"batch_norm"), ("pool", r"::(.*pool.*|mean)$"), ("dense", r"::(addmm|mm|.*linear.*|matmul)$"),
    ("elementwise", r"::(_to_copy|copy_|relu_?|clamp_min_?|threshold_backward|add_?|mul_?|div_?|fill_|zero_|cat|"
                    r"(native_)?dropout.*|constant_pad_nd)$"),
    ("dense", r"(Addmm|Mm|Linear)Backward"), ("norm", r"BatchNormBackward"), ("pool", r"(Pool2D|Mean)Backward")))
ANNOTATIONS = ("conv_bwd_data", "conv_bwd_weights")


def class_of(names, kernel):
    """names: of the operations around a launch, the innermost last. conv_bwd: of data or of weights."""
    if any(name.startswith("Optimizer.step") for name in names):
        return "optimizer"
    if kernel.startswith("triton_"):
        return "norm" if "batch_norm" in kernel else "pool" if "pool" in kernel else "elementwise"
    for name in reversed(names):
        for found, pattern in CLASSES:
            if pattern.search(name):
                return next((given for given in ANNOTATIONS if found == "conv_bwd" and given in names), found)
    return "other"


def nested(events):
    """Each operation of the processor with those that enclose it, the outermost first."""
    threads = collections.defaultdict(list)
    for event in events:
        threads[event["pid"], event["tid"]].append(event)
    for thread in threads.values():
        around = []
        for event in sorted(thread, key=lambda e: (e["ts"], -e["dur"])):
            end = event["ts"] + event["dur"] - 0.002  # times are rounded to 0.001
            while around and end > around[-1]["ts"] + around[-1]["dur"]:
                around.pop()
            yield event, list(around)
            around.append(event)


def weights_begin(kernels):
    """Which kernel of a convolution_backward is the weights' first one: PyTorch launches those of the data before."""
    marks = ["wgrad" in kernel or "bprop_filter" in kernel for kernel in kernels]
    if any(marks):
        return marks.index(True)
    data = [i for i, kernel in enumerate(kernels) if "dgrad" in kernel]
    return data[-1] + 1 if data else len(kernels) // 2


def times_by_class(events, device):
    """({class: us}, {class: number}) in a Chrome trace of torch.profiler: of kernels on a GPU, else of operations,
    without those inside them."""
    us, count, backward = collections.Counter(), collections.Counter(), collections.defaultdict(list)

    def add(found, dur):
        us[found] += dur
        count[found] += 1

    events = [event for event in events if event.get("ph") == "X"]
    kinds = ("cpu_op", "user_annotation") + (("cuda_runtime", "cuda_driver") if device == "cuda" else ())
    inside = list(nested(event for event in events if event.get("cat") in kinds))
    if device == "cuda":
        kernels = {event["args"]["correlation"]: event for event in events
                   if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")}
        for launch, around in sorted(inside, key=lambda pair: pair[0]["ts"]):
            kernel = kernels.pop(launch.get("args", {}).get("correlation"), None) if "cuda" in launch["cat"] else None
            if not kernel:
                continue
            found = class_of([event["name"] for event in around], kernel["name"])
            if found == "conv_bwd":
                call = next(event for event in reversed(around) if "::convolution_backward" in event["name"])
                backward[id(call)].append(kernel)
            else:
                add(found, kernel["dur"])
        for kernel in kernels.values():
            add("other", kernel["dur"])
    else:
        own = {id(event): event["dur"] for event, _ in inside}
        for event, around in inside:
            if around:
                own[id(around[-1])] -= event["dur"]
        for event, around in inside:
            found = class_of([outer["name"] for outer in around] + [event["name"]], "")
            add("other" if found == "conv_bwd" else found, own[id(event)])  # what calls both gradients
    for call in backward.values():
        first = weights_begin([kernel["name"] for kernel in call])
        for i, kernel in enumerate(call):
            add(ANNOTATIONS[i >= first], kernel["dur"])
    return us, count


def apart():
    """A mode in which the two gradients of a convolution are computed one by one, each under its name."""
    from torch.utils._python_dispatch import TorchDispatchMode

    class Apart(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            if function is not torch.ops.aten.convolution_backward.default:
                return function(*args, **(kwargs or {}))
            *given, (data, weights, bias) = args
            results = [None] * 3
            for name, mask in zip(ANNOTATIONS, ([data, False, False], [False, weights, bias])):
                if any(mask):
                    with torch.profiler.record_function(name):
                        for i, result in enumerate(function(*given, mask)):
                            results[i] = result if mask[i] else results[i]
            return tuple(results)

    return Apart()


def profile(training, steps):
    """The fields of the event. A graph has the kernels of the step that was captured, so that step is looked at."""
    training.release()
    kinds = [torch.profiler.ProfilerActivity.CPU]
    if training.device == "cuda":
        kinds.append(torch.profiler.ProfilerActivity.CUDA)
    split = "compile" not in training.variant  # a mode would keep compiled code from running
    for times in (1, steps):  # the first profile of a process starts the profiler
        with torch.profiler.profile(activities=kinds) as profiler:
            for _ in range(times):
                if split:
                    with apart():
                        training.run()
                else:
                    training.run()
            if training.device == "cuda":
                torch.cuda.synchronize()
    handle, path = tempfile.mkstemp(suffix=".json")
    os.close(handle)
    try:
        profiler.export_chrome_trace(path)
        with open(path, encoding="utf-8", errors="replace") as file:
            us, count = times_by_class(json.load(file)["traceEvents"], training.device)
    finally:
        os.unlink(path)
    return {"variant": training.variant, "steps": steps, "total_ms": round(sum(us.values()) / 1e3 / steps, 3),
            "ms": {name: round(time / 1e3 / steps, 3) for name, time in us.most_common()},
            "count": {name: round(number / steps, 1) for name, number in count.most_common()}}


def check_model(parser, args):
    if args.model not in MODELS:
        parser.error(f"argument --model: there is no {args.model}, only {', '.join(sorted(MODELS))}")


def probe(model, device="cpu"):
    """Whether this PyTorch is worth comparing with: an exit status, 1 with a sentence; 2: it has no such model."""
    if model not in MODELS:
        return 2
    if device == "cuda" and not torch.cuda.is_available():
        print("PyTorch " + torch.__version__ + " of " + sys.prefix + " finds no GPU", file=sys.stderr)
        return 1
    torch.ones(64, 64) @ torch.ones(64, 64)
    with open("/proc/self/maps", encoding="ascii", errors="replace") as maps:
        libraries = {line.split()[-1] for line in maps if "/" in line}
    if any(library.startswith("/usr/lib") and "/blas/libblas.so" in library for library in libraries):
        print("PyTorch multiplies matrices with the reference BLAS here, which is slow: "
              "apt-get install libopenblas0-pthread", file=sys.stderr)
        return 1
    return 0


def refuse(args):
    """What the options ask for and cannot be, as a sentence; None: nothing."""
    if args.variant.endswith("graph") and args.device != "cuda":
        return f"--variant {args.variant} captures a CUDA graph: add --device cuda"
    if args.profile and args.blocks is not None:
        return "--profile cannot be combined with --blocks"
    if args.profile and args.device == "cpu" and re.search("compile|best|jit", args.variant):
        return f"--profile does not see into --variant {args.variant} on a processor: add --device cuda"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--probe", action="store_true", help="only report whether this PyTorch is worth comparing with")
    parser.add_argument("--model", default="resnet20", help="one of " + ", ".join(sorted(MODELS)))
    parser.add_argument("--batch", type=positive, default=64, help="images per step (default 64)")
    parser.add_argument("--steps", type=positive, default=20, help="steps per block (default 20)")
    parser.add_argument("--warmup", type=positive, default=5, help="steps before the first block (default 5)")
    parser.add_argument("--blocks", type=positive, help="run a block for each of this many lines read on stdin")
    parser.add_argument("--variant", choices=VARIANTS, default="eager")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="cuda: a GPU, with TF32 (default cpu)")
    parser.add_argument("--no-tf32", action="store_true", help="on a GPU, products of float32 without TF32")
    parser.add_argument("--profile", action="store_true", help="then report the time of each class of operations")
    args = parser.parse_args()
    if args.probe:
        sys.exit(probe(args.model, args.device))
    check_model(parser, args)
    if refuse(args) or args.device == "cuda" and probe(args.model, "cuda"):
        sys.exit(refuse(args) or 1)
    torch.set_num_threads(1)
    torch.backends.cudnn.benchmark = True
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = not args.no_tf32
    choice = {}
    try:
        if args.variant.endswith("best"):
            training, choice = start_best(args)
        else:
            training = Training(args)
            training.start(args.warmup, args.variant)
    except Unavailable as why:
        sys.exit(str(why))
    if args.blocks is None:
        say("block", block=1, **time_block(training, args.steps, args.batch), **choice)
        if args.profile:
            say("profile", **profile(training, min(args.steps, 5)))
        return
    parameters = sum(p.numel() for p in training.model.parameters())
    say("ready", torch=torch.__version__, variant=args.variant, model=args.model, batch=args.batch,
        parameters=parameters, **choice)
    for block in range(1, args.blocks + 1):
        if not sys.stdin.readline():
            break
        say("block", block=block, **time_block(training, args.steps, args.batch))


if __name__ == "__main__":
    main()
