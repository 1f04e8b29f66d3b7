#!/usr/bin/python3
"""The PyTorch peer of `tutti-bench compute`: images a second of forward + backward + SGD update on one thread.

    torch_compute.py --model resnet20 --batch 64 --warmup 5 --steps 20             one block of steps, one JSON line
    torch_compute.py --model resnet20 --batch 64 --warmup 5 --steps 20 --blocks 9  a block for each line read on stdin

Prints {"event": "ready", ...} once the warm-up is over (with --blocks), then for each block of steps one line
{"event": "block", "block": 1, "images_per_s": 325.1, "step_ms": 196.9, "loss": 2.3}. Reading a line before each block
lets a caller interleave its own blocks with these, so that both meet the same machine.

The settings are the fastest of those that eager PyTorch offers without changing the computation: channels_last
tensors (its convolutions then are oneDNN's, as Tutti's are; on a GPU cuDNN's, the fastest of those that it tries),
gradients set to None, the fused update where there is one. --variant tries others: eager (the default), compile (torch.compile, from PyTorch 2 on), bf16
(autocast to bfloat16), bf16-compile (both), jit (traced and fused), nchw (the default layout).
Debian's PyTorch multiplies matrices with whatever BLAS is installed; with the reference one perceptrons are nearly 20 times
as slow as with OpenBLAS, which would be no comparison: --probe then says so and exits with 1.

The models are Tutti's own (apps/models): CIFAR ResNet-20 with parameter-free shortcuts (He et al. 2016, section 4.2),
a 32x32 VGG-16 with batch normalisation, Caffe's CIFAR-10 quick, perceptrons, and ResNet-50 and VGG-16 for 224x224 images.
"""

import argparse
import inspect
import json
import shutil
import sys
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


VARIANTS = ("eager", "compile", "bf16", "bf16-compile", "jit", "nchw")

# How to make it, the side of its images, its classes.
MODELS = {
    "resnet20": (lambda: ResNet(3), 32, 10), "resnet32": (lambda: ResNet(5), 32, 10),
    "resnet44": (lambda: ResNet(7), 32, 10), "resnet56": (lambda: ResNet(9), 32, 10),
    "resnet110": (lambda: ResNet(18), 32, 10), "preact-resnet110": (lambda: preact_resnet(18, False), 32, 10),
    "resnet1001": (lambda: preact_resnet(111, True), 32, 10), "wide-mlp": (lambda: mlp(6, 4096), 32, 10), "mlp": (lambda: mlp(2, 512), 32, 10),
    "mlp-1024x5": (lambda: mlp(5, 1024), 32, 10), "cifar-quick": (cifar_quick, 32, 10), "vgg16": (vgg16, 32, 10),
    "resnet50": (resnet50, 224, 1000), "vgg16-224": (vgg16_224, 224, 1000)}


def compiled(model):
    if not hasattr(torch, "compile"):
        sys.exit("PyTorch " + torch.__version__ + " has no torch.compile: tutti-bench peers --install gets one that has")
    if not shutil.which("g++"):
        sys.exit("torch.compile needs a C++ compiler: apt-get install g++")
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
        self.forward = self.model
        if args.variant == "jit":
            self.forward = torch.jit.trace(self.model, self.x)
        if args.variant.endswith("compile"):
            self.forward = compiled(self.model)

    def step(self):
        self.optimizer.zero_grad(set_to_none=True)
        if self.bf16:
            with torch.autocast(self.device, dtype=torch.bfloat16):
                loss = F.cross_entropy(self.forward(self.x), self.labels)
        else:
            loss = F.cross_entropy(self.forward(self.x), self.labels)
        loss.backward()
        self.optimizer.step()
        return loss


def time_block(training, steps, batch):
    start = time.perf_counter()
    for _ in range(steps):
        loss = training.step()
    if training.device == "cuda":
        torch.cuda.synchronize()
    seconds = time.perf_counter() - start
    return {"images_per_s": round(steps * batch / seconds, 2), "step_ms": round(1e3 * seconds / steps, 3),
            "loss": round(loss.item(), 5)}


def say(event, **fields):
    print(json.dumps({"event": event, **fields}), flush=True)


def positive(text):
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("must be 1 or more")
    return value


def probe():
    """Whether this PyTorch is worth comparing with: an exit status, with a sentence when it is not 0."""
    torch.ones(64, 64) @ torch.ones(64, 64)
    with open("/proc/self/maps", encoding="ascii", errors="replace") as maps:
        libraries = {line.split()[-1] for line in maps if "/" in line}
    if any(library.startswith("/usr/lib") and "/blas/libblas.so" in library for library in libraries):
        print("PyTorch multiplies matrices with the reference BLAS here, which is slow: "
              "apt-get install libopenblas0-pthread", file=sys.stderr)
        return 1
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--probe", action="store_true", help="only report whether this PyTorch is worth comparing with")
    parser.add_argument("--model", choices=sorted(MODELS), default="resnet20")
    parser.add_argument("--batch", type=positive, default=64, help="images per step (default 64)")
    parser.add_argument("--steps", type=positive, default=20, help="steps per block (default 20)")
    parser.add_argument("--warmup", type=positive, default=5, help="steps before the first block (default 5)")
    parser.add_argument("--blocks", type=positive, help="run a block for each of this many lines read on stdin")
    parser.add_argument("--variant", choices=VARIANTS, default="eager")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="cuda: a GPU, with TF32 (default cpu)")
    args = parser.parse_args()
    if args.probe:
        sys.exit(probe())
    torch.set_num_threads(1)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = torch.backends.cudnn.benchmark = True
    training = Training(args)
    time_block(training, args.warmup, args.batch)
    if args.blocks is None:
        say("block", block=1, **time_block(training, args.steps, args.batch))
        return
    parameters = sum(p.numel() for p in training.model.parameters())
    say("ready", torch=torch.__version__, variant=args.variant, model=args.model, batch=args.batch,
        parameters=parameters)
    for block in range(1, args.blocks + 1):
        if not sys.stdin.readline():
            break
        say("block", block=block, **time_block(training, args.steps, args.batch))


if __name__ == "__main__":
    main()
