#!/usr/bin/python3
"""Makes <model>.txt: what PyTorch (python3-torch) computes for two training steps of a model for ImageNet on one batch.

Run as: /usr/bin/python3 make_models.py [MODEL ...]

Writes the files beside this script; without a name, those of all models below. As make_large.py, which has the format, the
start and the batch: small images in 10 classes, in double precision, two steps. Each model is written here from its paper,
or as torchvision has it, with the names of apps/models.
"""
import contextlib
import pathlib
import sys

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

sys.argv[1:], names = [], sys.argv[1:]
from make import CLASSES, DECAY, DTYPE, MOMENTUM, SEED, line, normal, philox, stream, tensor, tensors, uniform  # noqa: E402

BATCH, STEPS = 4, 2


def dropout(x, name, step, rate):
    """By the rule of dag/kernels/act.h; images are in the library's order."""
    shape = x.shape
    w0, w1 = philox(SEED + step, stream(name), np.arange(x.numel(), dtype=np.uint64))
    drawn = ((w1 << np.uint64(32) | w0) >> np.uint64(11)).astype(np.float64) * 2.0**-53
    keep = torch.from_numpy((drawn >= np.float64(np.float32(rate))).reshape(tuple(shape)))
    return torch.where(keep, x / (1 - np.float64(np.float32(rate))), torch.zeros_like(x))


def flat(x):
    """Images as rows, in the library's order."""
    return x.permute(0, 2, 3, 1).flatten(1)


class Net(nn.Module):
    """Layers by name: every call makes its layer the first time, for the input that it sees."""

    def __init__(self):
        super().__init__()
        self.layers, self.step, self.auxiliary = {}, 0, []

    def layer(self, name, make):
        if name not in self.layers:
            self.layers[name] = make()
            self.add_module(name.replace(".", "/"), self.layers[name])
        return self.layers[name]

    def conv(self, name, x, K, R, stride=1, pad=0, groups=1, bias=False):
        return self.layer(name, lambda: nn.Conv2d(x.shape[1], K, R, stride, pad, 1, groups, bias).to(DTYPE))(x)

    def norm(self, name, x, relu=True, eps=1e-5):
        x = self.layer(name, lambda: nn.BatchNorm2d(x.shape[1], eps=eps).to(DTYPE))(x)
        return F.relu(x) if relu else x

    def dense(self, name, x, K):
        return self.layer(name, lambda: nn.Linear(x.shape[1], K).to(DTYPE))(x)

    def drop(self, name, x, rate):
        return dropout(x, name, self.step, rate)

    def named(self):
        """Names of apps/models, and parameters; biases of convolutions and dense layers, scales and shifts."""
        for name, layer in self.layers.items():
            for suffix, p in layer.named_parameters():
                yield layer, name + "." + suffix, p


class Residual(Net):
    def __init__(self, blocks, bottleneck, width=64, groups=1):
        super().__init__()
        self.blocks, self.bottleneck, self.width, self.groups = blocks, bottleneck, width, groups

    def block(self, name, x, stage, stride):
        K = 64 * (4 if self.bottleneck else 1) << stage
        if self.bottleneck:
            width = self.width << stage
            y = self.norm(name + "bn1", self.conv(name + "conv1", x, width, 1))
            y = self.norm(name + "bn2", self.conv(name + "conv2", y, width, 3, stride, 1, self.groups))
            y = self.norm(name + "bn3", self.conv(name + "conv3", y, K, 1), False)
        else:
            y = self.norm(name + "bn1", self.conv(name + "conv1", x, K, 3, stride, 1))
            y = self.norm(name + "bn2", self.conv(name + "conv2", y, K, 3, 1, 1), False)
        if stride != 1 or x.shape[1] != K:
            x = self.norm(name + "downsample.1", self.conv(name + "downsample.0", x, K, 1, stride), False)
        return F.relu(x + y)

    def forward(self, x):
        x = F.max_pool2d(self.norm("bn1", self.conv("conv1", x, 64, 7, 2, 3)), 3, 2, 1)
        for stage, blocks in enumerate(self.blocks):
            for b in range(blocks):
                x = self.block(f"layer{stage + 1}.{b}.", x, stage, 2 if stage and not b else 1)
        return self.dense("fc", x.mean((2, 3)), self.classes)


class AlexNet(Net):
    def forward(self, x):
        x = F.relu(self.conv("conv1", x, 96, 11, 4, bias=True))
        x = F.max_pool2d(F.local_response_norm(x, 5), 3, 2, ceil_mode=True)
        x = F.relu(self.conv("conv2", x, 256, 5, 1, 2, 2, True))
        x = F.max_pool2d(F.local_response_norm(x, 5), 3, 2, ceil_mode=True)
        x = F.relu(self.conv("conv3", x, 384, 3, 1, 1, 1, True))
        x = F.relu(self.conv("conv4", x, 384, 3, 1, 1, 2, True))
        x = F.max_pool2d(F.relu(self.conv("conv5", x, 256, 3, 1, 1, 2, True)), 3, 2, ceil_mode=True)
        x = self.drop("drop6", F.relu(self.dense("fc6", flat(x), 4096)), 0.5)
        return self.dense("fc8", self.drop("drop7", F.relu(self.dense("fc7", x, 4096)), 0.5), self.classes)


class AlexNetTv(Net):
    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv("features.0", x, 64, 11, 4, 2, 1, True)), 3, 2)
        x = F.max_pool2d(F.relu(self.conv("features.3", x, 192, 5, 1, 2, 1, True)), 3, 2)
        x = F.relu(self.conv("features.6", x, 384, 3, 1, 1, 1, True))
        x = F.relu(self.conv("features.8", x, 256, 3, 1, 1, 1, True))
        x = F.max_pool2d(F.relu(self.conv("features.10", x, 256, 3, 1, 1, 1, True)), 3, 2)
        x = F.relu(self.dense("classifier.1", self.drop("classifier.0", flat(x), 0.5), 4096))
        x = F.relu(self.dense("classifier.4", self.drop("classifier.3", x, 0.5), 4096))
        return self.dense("classifier.6", x, self.classes)


class OverFeatFast(Net):
    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv("conv1", x, 96, 11, 4, 0, 1, True)), 2)
        x = F.max_pool2d(F.relu(self.conv("conv2", x, 256, 5, 1, 0, 1, True)), 2)
        x = F.relu(self.conv("conv3", x, 512, 3, 1, 1, 1, True))
        x = F.relu(self.conv("conv4", x, 1024, 3, 1, 1, 1, True))
        x = F.max_pool2d(F.relu(self.conv("conv5", x, 1024, 3, 1, 1, 1, True)), 2)
        x = self.drop("drop6", F.relu(self.dense("fc6", flat(x), 3072)), 0.5)
        return self.dense("fc8", self.drop("drop7", F.relu(self.dense("fc7", x, 4096)), 0.5), self.classes)


class VGG(Net):
    def __init__(self, depth, norm):
        super().__init__()
        self.depth, self.with_norm = depth, norm

    def forward(self, x):
        number = 0
        for depth, K in zip(self.depth, (64, 128, 256, 512, 512)):
            for _ in range(depth):
                number += 1
                x = self.conv(f"conv{number}", x, K, 3, 1, 1, 1, True)
                x = self.norm(f"bn{number}", x) if self.with_norm else F.relu(x)
            x = F.max_pool2d(x, 2)
        x = self.drop("drop1", F.relu(self.dense("fc1", flat(x), 4096)), 0.5)
        return self.dense("fc3", self.drop("drop2", F.relu(self.dense("fc2", x, 4096)), 0.5), self.classes)


class GoogLeNet(Net):
    modules = (("3a", 64, 96, 128, 16, 32, 32), ("3b", 128, 128, 192, 32, 96, 64), ("4a", 192, 96, 208, 16, 48, 64),
               ("4b", 160, 112, 224, 24, 64, 64), ("4c", 128, 128, 256, 24, 64, 64), ("4d", 112, 144, 288, 32, 64, 64),
               ("4e", 256, 160, 320, 32, 128, 128), ("5a", 256, 160, 320, 32, 128, 128), ("5b", 384, 192, 384, 48, 128, 128))
    parts = {False: (".1x1", ".3x3_reduce", ".3x3", ".5x5_reduce", ".5x5", ".pool_proj"),
             True: (".branch1", ".branch2.0", ".branch2.1", ".branch3.0", ".branch3.1", ".branch4.1")}

    def __init__(self, norm):
        super().__init__()
        self.with_norm = norm

    def unit(self, name, x, K, R, stride=1, pad=0):
        if self.with_norm:
            return self.norm(name + ".bn", self.conv(name + ".conv", x, K, R, stride, pad), eps=1e-3)
        return F.relu(self.conv(name, x, K, R, stride, pad, 1, True))

    def module(self, name, x, one, reduce3, three, reduce5, five, project):
        name, part, R = "inception" + name, self.parts[self.with_norm], 3 if self.with_norm else 5
        return torch.cat([
            self.unit(name + part[0], x, one, 1),
            self.unit(name + part[2], self.unit(name + part[1], x, reduce3, 1), three, 3, 1, 1),
            self.unit(name + part[4], self.unit(name + part[3], x, reduce5, 1), five, R, 1, R // 2),
            self.unit(name + part[5], F.max_pool2d(x, 3, 1, 1), project, 1)], 1)

    def side(self, name, x):
        x = F.avg_pool2d(x, min(5, *x.shape[2:]), 3, ceil_mode=True)
        x = F.relu(self.dense(name + ".fc1", flat(self.unit(name + ".conv", x, 128, 1)), 1024))
        self.auxiliary.append(self.dense(name + ".fc2", self.drop(name + ".drop", x, 0.7), self.classes))

    def forward(self, x):
        x = F.max_pool2d(self.unit("conv1", x, 64, 7, 2, 3), 3, 2, ceil_mode=True)
        x = x if self.with_norm else F.local_response_norm(x, 5)
        x = self.unit("conv3", self.unit("conv2", x, 64, 1), 192, 3, 1, 1)
        x = x if self.with_norm else F.local_response_norm(x, 5)
        x = F.max_pool2d(x, 3, 2, ceil_mode=True)
        for m in self.modules:
            x = self.module(m[0], x, *m[1:])
            if m[0] == "3b":
                x = F.max_pool2d(x, 3, 2, ceil_mode=True)
            if m[0] in ("4a", "4d") and not self.with_norm:
                self.side("aux1" if m[0] == "4a" else "aux2", x)
            if m[0] == "4e":
                x = F.max_pool2d(x, 2 if self.with_norm else 3, 2, ceil_mode=True)
        x = self.drop("dropout", x.mean((2, 3)), 0.2 if self.with_norm else 0.4)
        return self.dense("fc", x, self.classes)


class MobileNet(Net):
    pairs = ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2)) + 5 * ((512, 1),) + ((1024, 2), (1024, 1))

    def forward(self, x):
        x = self.norm("bn1", self.conv("conv1", x, 32, 3, 2, 1))
        for i, (K, stride) in enumerate(self.pairs):
            x = self.norm(f"bn{i + 2}.depth", self.conv(f"conv{i + 2}.depth", x, x.shape[1], 3, stride, 1, x.shape[1]))
            x = self.norm(f"bn{i + 2}.point", self.conv(f"conv{i + 2}.point", x, K, 1))
        return self.dense("fc", x.mean((2, 3)), self.classes)


# How to make it, its parameters, the side of the images that it is made for, the side here, the learning rate.
MODELS = {
    "resnet18": (lambda: Residual((2, 2, 2, 2), False), 11689512, 224, 64, 1e-3),
    "resnet34": (lambda: Residual((3, 4, 6, 3), False), 21797672, 224, 64, 1e-4),
    "resnet101": (lambda: Residual((3, 4, 23, 3), True), 44549160, 224, 64, 1e-5),
    "resnet152": (lambda: Residual((3, 8, 36, 3), True), 60192808, 224, 64, 1e-5),
    "resnext50-32x4d": (lambda: Residual((3, 4, 6, 3), True, 128, 32), 25028904, 224, 64, 1e-5),
    "alexnet": (AlexNet, 60965224, 227, 67, 1e-2),
    "alexnet-tv": (AlexNetTv, 61100840, 224, 64, 1e-2),
    "vgg11-224": (lambda: VGG((1, 1, 2, 2, 2), False), 132863336, 224, 32, 1e-2),
    "vgg13-224": (lambda: VGG((2, 2, 2, 2, 2), False), 133047848, 224, 32, 1e-2),
    "vgg19-224": (lambda: VGG((2, 2, 4, 4, 4), False), 143667240, 224, 32, 1e-2),
    "vgg11-bn-224": (lambda: VGG((1, 1, 2, 2, 2), True), 132868840, 224, 64, 1e-2),
    "vgg16-bn-224": (lambda: VGG((2, 2, 3, 3, 3), True), 138365992, 224, 64, 1e-2),
    "vgg19-bn-224": (lambda: VGG((2, 2, 4, 4, 4), True), 143678248, 224, 64, 1e-2),
    "googlenet": (lambda: GoogLeNet(False), 13378280, 224, 96, 1e-3),
    "googlenet-bn": (lambda: GoogLeNet(True), 6624904, 224, 64, 1e-3),
    "mobilenet-v1": (MobileNet, 4231976, 224, 64, 1e-3),
    "overfeat-fast": (OverFeatFast, 145920872, 231, 71, 1e-2),
}


def start(net):
    """What tutti_step_init gives: He's rule by fan-out for convolutions, by fan-in for hidden dense layers, and a uniform
    distribution for those that classify."""
    for layer, name, p in net.named():
        if name.endswith("bias"):
            p.data.zero_()
        if not name.endswith("weight") or isinstance(layer, nn.BatchNorm2d):
            continue
        if isinstance(layer, nn.Conv2d):
            K, C, R, S = p.shape
            value = normal(name, 0, p.numel()) * np.sqrt(2 / (K * R * S))
            value = value.reshape(K, R, S, C).transpose(0, 3, 1, 2)
        elif p.shape[0] == CLASSES:
            value = (2 * uniform(name, 0, p.numel()) - 1) * np.sqrt(1 / p.shape[1])
        else:
            value = normal(name, 0, p.numel()) * np.sqrt(2 / p.shape[1])
        p.data.copy_(torch.from_numpy(value.astype(np.float32).reshape(p.shape).copy()))


def batch(size):
    images = normal("images", 0, BATCH * size * size * 3).astype(np.float32).reshape(BATCH, size, size, 3)
    labels = np.floor(uniform("labels", 0, BATCH) * CLASSES).astype(np.int64)
    return torch.from_numpy(images.transpose(0, 3, 1, 2).copy()).to(DTYPE), torch.from_numpy(labels)


def gradients(net):
    """Weights with their biases, each norm's scale and shift in one. A bias before a norm has no effect: its line has the
    norm of the weights' gradient."""
    layers = list(net.layers.items())
    for (name, layer), (_, after) in zip(layers, layers[1:] + [(None, None)]):
        if isinstance(layer, nn.BatchNorm2d):
            tensor("gradient", name + ".scaleshift", torch.stack([layer.weight.grad, layer.bias.grad]))
            continue
        weight = layer.weight.grad
        tensor("gradient", name + ".weight", weight.permute(0, 2, 3, 1) if weight.dim() == 4 else weight)
        if layer.bias is not None and isinstance(after, nn.BatchNorm2d):
            line("zero", name + ".bias", [weight.norm()])
        elif layer.bias is not None:
            tensor("gradient", name + ".bias", layer.bias.grad)


def count(make, side):
    """Parameters with images of this side in 1000 classes. The dense layers are not made, only counted."""
    net = make()
    net.classes = 1000
    dense, total = net.dense, [0]

    def counted(name, x, K):
        total[0] += (x.shape[1] + 1) * K
        return torch.zeros(x.shape[0], K, dtype=DTYPE)

    net.dense = counted
    with torch.no_grad():
        net(torch.zeros(2, 3, side, side, dtype=DTYPE))
    net.dense = dense
    return total[0] + sum(p.numel() for _, _, p in net.named())


def make(name):
    build, parameters, side, size, rate = MODELS[name]
    assert count(build, side) == parameters, (name, count(build, side))
    net = build()
    net.classes = CLASSES
    images, labels = batch(size)
    with torch.no_grad():
        net(images)  # makes the layers
    for layer in net.layers.values():
        if isinstance(layer, nn.BatchNorm2d):
            layer.reset_running_stats()
    start(net)
    sgd = torch.optim.SGD([p for _, _, p in net.named()], lr=rate, momentum=MOMENTUM, weight_decay=DECAY)
    print(f"# {name} by PyTorch {torch.__version__}, {str(DTYPE)[6:]}: seed {SEED}, batch {BATCH} of {size}x{size}x3, "
          f"{STEPS} steps, rate {rate}, momentum {MOMENTUM}, weight decay {DECAY}")
    for net.step in range(STEPS):
        net.auxiliary = []
        logits = net(images)
        loss = F.cross_entropy(logits, labels)
        sgd.zero_grad()
        (loss + 0.3 * sum(F.cross_entropy(side, labels) for side in net.auxiliary)).backward()
        line("loss", str(net.step), [loss])
        if net.step == 0:
            line("logits", "train", logits.detach().reshape(-1))
            gradients(net)
        sgd.step()


torch.set_num_threads(1)
for name in names or MODELS:
    with open(pathlib.Path(__file__).resolve().parent / (name + ".txt"), "w") as file, contextlib.redirect_stdout(file):
        make(name)
