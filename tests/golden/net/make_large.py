#!/usr/bin/python3
"""Makes resnet50.txt or vgg16-224.txt: what PyTorch (python3-torch) computes for two training steps of the large models on one batch.

Run as: /usr/bin/python3 make_large.py resnet50 > resnet50.txt

The images are 64x64 in 10 classes, which keeps every layer and most of the arithmetic and takes a moment instead of a
minute. Initial weights, images, labels and dropout masks come from the counter-based generator, as in make.py, which has the
format of the lines, too. In double precision; with --single behind the name in float32.
"""
import sys

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

from make import CLASSES, DECAY, DTYPE, MOMENTUM, SEED, line, normal, philox, stream, tensor, tensors, uniform

SIZE, BATCH, STEPS = 64, 4, 2


class Bottleneck(nn.Module):
    def __init__(self, C, K, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(C, K, 1, bias=False), nn.BatchNorm2d(K)
        self.conv2, self.bn2 = nn.Conv2d(K, K, 3, stride, 1, bias=False), nn.BatchNorm2d(K)
        self.conv3, self.bn3 = nn.Conv2d(K, 4 * K, 1, bias=False), nn.BatchNorm2d(4 * K)
        if stride != 1 or C != 4 * K:
            self.downsample = nn.Sequential(nn.Conv2d(C, 4 * K, 1, stride, bias=False), nn.BatchNorm2d(4 * K))

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        y = F.relu(self.bn2(self.conv2(y)))
        y = self.bn3(self.conv3(y))
        return F.relu(y + (self.downsample(x) if hasattr(self, "downsample") else x))


class ResNet50(nn.Module):
    parameters_at_224, rate = 25557032, 1e-5  # its gradients are long before training

    def __init__(self, size, classes):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64)
        C = 64
        for stage, blocks in enumerate((3, 4, 6, 3)):
            K, layer = 64 << stage, []
            for b in range(blocks):
                layer.append(Bottleneck(C, K, 2 if stage and not b else 1))
                C = 4 * K
            setattr(self, f"layer{stage + 1}", nn.Sequential(*layer))
        self.fc = nn.Linear(C, classes)

    def forward(self, x, step):
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(x))), 3, 2, 1)
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(x.mean((2, 3)))


class VGG16(nn.Module):
    parameters_at_224, rate = 138357544, 0.01
    stages = ((2, 64), (2, 128), (3, 256), (3, 512), (3, 512))

    def __init__(self, size, classes):
        super().__init__()
        C, number = 3, 0
        for depth, K in self.stages:
            for _ in range(depth):
                number += 1
                setattr(self, f"conv{number}", nn.Conv2d(C, K, 3, 1, 1))
                C = K
        self.fc1 = nn.Linear(C * (size // 32) ** 2, 4096)
        self.fc2, self.fc3 = nn.Linear(4096, 4096), nn.Linear(4096, classes)

    def forward(self, x, step):
        number = 0
        for depth, _ in self.stages:
            for _ in range(depth):
                number += 1
                x = F.relu(getattr(self, f"conv{number}")(x))
            x = F.max_pool2d(x, 2)
        x = x.permute(0, 2, 3, 1).flatten(1)  # the library's order of images
        x = dropout(F.relu(self.fc1(x)), "drop1", step)
        return self.fc3(dropout(F.relu(self.fc2(x)), "drop2", step))


def dropout(x, name, step):
    """Half of the elements, by the rule of dag/kernels/act.h."""
    w0, w1 = philox(SEED + step, stream(name), np.arange(x.numel(), dtype=np.uint64))
    drawn = ((w1 << np.uint64(32) | w0) >> np.uint64(11)).astype(np.float64) * 2.0**-53
    keep = torch.from_numpy((drawn >= 0.5).reshape(tuple(x.shape)))
    return torch.where(keep, 2 * x, torch.zeros_like(x))


def start(net):
    """What tutti_step_init gives: He's rule by fan-out for convolutions, by fan-in for hidden dense layers, and a uniform
    distribution for the last one."""
    last = [name for name, m in net.named_modules() if isinstance(m, nn.Linear)][-1]
    for name, p in net.named_parameters():
        if name == last + ".weight":
            value = (2 * uniform(name, 0, p.numel()) - 1) * np.sqrt(1 / p.shape[1])
        elif p.dim() == 2:
            value = normal(name, 0, p.numel()) * np.sqrt(2 / p.shape[1])
        elif p.dim() == 4:
            K, C, R, S = p.shape
            value = normal(name, 0, p.numel()) * np.sqrt(2 / (K * R * S))
            value = value.reshape(K, R, S, C).transpose(0, 3, 1, 2)
        else:
            if name.endswith("bias"):
                p.data.zero_()
            continue
        p.data.copy_(torch.from_numpy(value.astype(np.float32).reshape(p.shape).copy()))


def batch():
    images = normal("images", 0, BATCH * SIZE * SIZE * 3).astype(np.float32).reshape(BATCH, SIZE, SIZE, 3)
    labels = np.floor(uniform("labels", 0, BATCH) * CLASSES).astype(np.int64)
    return torch.from_numpy(images.transpose(0, 3, 1, 2).copy()).to(DTYPE), torch.from_numpy(labels)


def biases(net):
    for name, module in net.named_modules():
        if isinstance(module, nn.Conv2d) and module.bias is not None:
            yield name + ".bias", module.bias


def main():
    kind = {"resnet50": ResNet50, "vgg16-224": VGG16}[sys.argv[1]]
    assert sum(p.numel() for p in kind(224, 1000).parameters()) == kind.parameters_at_224
    net = kind(SIZE, CLASSES).to(DTYPE)
    start(net)
    sgd = torch.optim.SGD(net.parameters(), lr=net.rate, momentum=MOMENTUM, weight_decay=DECAY)
    print(f"# {sys.argv[1]} by PyTorch {torch.__version__}, {str(DTYPE)[6:]}: seed {SEED}, batch {BATCH} of {SIZE}x{SIZE}x3, "
          f"{STEPS} steps, rate {net.rate}, momentum {MOMENTUM}, weight decay {DECAY}")
    images, labels = batch()
    for step in range(STEPS):
        logits = net(images, step)
        loss = F.cross_entropy(logits, labels)
        sgd.zero_grad()
        loss.backward()
        line("loss", str(step), [loss])
        if step == 0:
            line("logits", "train", logits.detach().reshape(-1))
            tensors("gradient", net, lambda p: p.grad)
            for name, p in biases(net):
                tensor("gradient", name, p.grad)
        sgd.step()


torch.set_num_threads(1)
main()
