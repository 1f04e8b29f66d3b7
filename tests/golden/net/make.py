#!/usr/bin/python3
"""Makes resnet20.txt: what PyTorch (python3-torch) computes for ten training steps of resnet20.

Run as: /usr/bin/python3 make.py > resnet20.txt

Initial weights, images and labels come from the counter-based generator of dag/base/rng.h, written again below, so that the
test repeats them and only results are stored. Everything is computed in double precision: the distance of the library's
float32 results from these numbers is the library's own rounding. With --single the same is printed in float32, for
a look at how far float32 may stray.

Lines: kind, name, numbers. For tensors the numbers are the Euclidean norm and the elements at SAMPLES evenly spread places, in
the library's layout (convolutions K,R,S,C; scale and shift, or mean and variance, in two rows).
"""
import sys

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

SEED, BATCH, STEPS, RATE, MOMENTUM, DECAY, CLASSES = 20, 4, 10, 0.02, 0.9, 1e-4, 10
MICRO_STEPS, SAMPLES, CANDIDATES = 2, 6, 60
DTYPE = torch.float32 if "--single" in sys.argv else torch.float64


def philox(key, hi, lo):
    """Philox4x32-10 on arrays of counters: two arrays of 32-bit words (the third and fourth are not used here)."""
    mask = np.uint64(0xFFFFFFFF)
    shift = np.uint64(32)
    lo = lo.astype(np.uint64)
    c = [lo & mask, lo >> shift, np.full_like(lo, hi & 0xFFFFFFFF), np.full_like(lo, hi >> 32)]
    k0, k1 = key & 0xFFFFFFFF, key >> 32
    for _ in range(10):
        p0, p1 = np.uint64(0xD2511F53) * c[0], np.uint64(0xCD9E8D57) * c[2]
        c = [(p1 >> shift) ^ c[1] ^ np.uint64(k0), p1 & mask, (p0 >> shift) ^ c[3] ^ np.uint64(k1), p0 & mask]
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return c[0], c[1]


def stream(name):
    """FNV-1a, 64 bits."""
    h = 14695981039346656037
    for byte in name.encode():
        h = ((h ^ byte) * 1099511628211) & 0xFFFFFFFFFFFFFFFF
    return h


def normal(name, first, count):
    w0, w1 = philox(SEED, stream(name), np.arange(first, first + count, dtype=np.uint64))
    u, v = (w0.astype(np.float64) + 1) * 2.0**-32, w1.astype(np.float64) * 2.0**-32
    return np.sqrt(-2 * np.log(u)) * np.cos(6.283185307179586 * v)


def uniform(name, first, count):
    w0, w1 = philox(SEED, stream(name), np.arange(first, first + count, dtype=np.uint64))
    return ((w1 << np.uint64(32) | w0) >> np.uint64(11)).astype(np.float64) * 2.0**-53


smallest = [np.inf]


def relu(x):
    smallest[0] = min(smallest[0], float(x.detach().abs().min()))
    return F.relu(x)


class Block(nn.Module):
    def __init__(self, C, K, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(C, K, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(K)
        self.conv2 = nn.Conv2d(K, K, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(K)
        self.stride, self.front, self.behind = stride, (K - C) // 2, K - C - (K - C) // 2

    def forward(self, x):
        y = self.bn2(self.conv2(relu(self.bn1(self.conv1(x)))))
        x = x[:, :, :: self.stride, :: self.stride]
        return relu(y + F.pad(x, (0, 0, 0, 0, self.front, self.behind)))


class ResNet20(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 16, 3, 1, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(16)
        C = 16
        for stage in range(3):
            K, blocks = 16 << stage, []
            for b in range(3):
                blocks.append(Block(C, K, 2 if stage and not b else 1))
                C = K
            setattr(self, f"layer{stage + 1}", nn.Sequential(*blocks))
        self.fc = nn.Linear(64, CLASSES)

    def forward(self, x):
        x = relu(self.bn1(self.conv1(x)))
        x = self.layer3(self.layer2(self.layer1(x)))
        return self.fc(x.mean((2, 3)))


def start(net):
    """The initial values that tutti_step_init gives. They are rounded to float32, as the library stores them."""
    for name, p in net.named_parameters():
        if name == "fc.weight":
            value = (2 * uniform(name, 0, p.numel()) - 1) * np.sqrt(1 / p.shape[1])
        elif p.dim() == 4:
            K, C, R, S = p.shape
            value = normal(name, 0, p.numel()) * np.sqrt(2 / (K * R * S))
            value = value.reshape(K, R, S, C).transpose(0, 3, 1, 2)
        else:
            continue
        p.data.copy_(torch.from_numpy(value.astype(np.float32).reshape(p.shape).copy()))
    net.fc.bias.data.zero_()


def batch(number):
    count = BATCH * 32 * 32 * 3
    images = normal("images", number * count, count).astype(np.float32).reshape(BATCH, 32, 32, 3)
    labels = np.floor(uniform("labels", number * BATCH, BATCH) * CLASSES).astype(np.int64)
    return torch.from_numpy(images.transpose(0, 3, 1, 2).copy()).to(DTYPE), torch.from_numpy(labels)


def choose(net, step, micro_batches, given):
    """The number of the step's batch: of the candidates the one that stays farthest from a ReLU's bend."""
    if given is not None:
        return given[step]
    before = [v.clone() for v in net.buffers()]
    margins = []
    for number in range(step * CANDIDATES, (step + 1) * CANDIDATES):
        smallest[0] = np.inf
        with torch.no_grad():
            for images in batch(number)[0].chunk(micro_batches):
                net(images)
        margins.append(smallest[0])
    for v, old in zip(net.buffers(), before):
        v.copy_(old)
    best = int(np.argmax(margins))
    print(f"step {step}: smallest ReLU input {margins[best]:.2g}", file=sys.stderr)
    return step * CANDIDATES + best


def given(kind):
    if "--single" not in sys.argv:
        return None
    return next([int(n) for n in l.split()[2:]] for l in open(sys.argv[-1]) if l.startswith(kind + " "))


def line(kind, name, numbers):
    print(kind, name, *("%.10g" % float(x) for x in numbers))


def tensor(kind, name, value):
    flat = value.detach().reshape(-1)
    places = [i * (flat.numel() - 1) // (SAMPLES - 1) for i in range(SAMPLES)]
    line(kind, name, [flat.double().norm()] + [flat[i] for i in places])


def tensors(kind, net, of):
    """One line for each parameter in the library's layout; of(p) picks the parameter, its gradient or its momentum."""
    for name, module in net.named_modules():
        if isinstance(module, nn.Conv2d):
            tensor(kind, name + ".weight", of(module.weight).permute(0, 2, 3, 1))
        elif isinstance(module, nn.BatchNorm2d):
            tensor(kind, name + ".scaleshift", torch.stack([of(module.weight), of(module.bias)]))
        elif isinstance(module, nn.Linear):
            tensor(kind, name + ".weight", of(module.weight))
            tensor(kind, name + ".bias", of(module.bias))


def running(kind, net):
    for name, m in net.named_modules():
        if isinstance(m, nn.BatchNorm2d):
            tensor(kind, name + ".running", torch.stack([m.running_mean, m.running_var]))


def make():
    net = ResNet20().to(DTYPE)
    assert sum(p.numel() for p in net.parameters()) == 269722
    start(net)
    net.train()
    sgd = torch.optim.SGD(net.parameters(), lr=RATE, momentum=MOMENTUM, weight_decay=DECAY)
    return net, sgd


def whole():
    net, sgd = make()
    batches, numbers = given("batches"), []
    for step in range(STEPS):
        numbers.append(choose(net, step, 1, batches))
        images, labels = batch(numbers[-1])
        logits = net(images)
        loss = F.cross_entropy(logits, labels)
        sgd.zero_grad()
        loss.backward()
        line("loss", str(step), [loss])
        if step == 0:
            line("logits", "train", logits.detach().reshape(-1))
            tensors("gradient", net, lambda p: p.grad)
        sgd.step()
    tensors("weight", net, lambda p: p)
    tensors("momentum", net, lambda p: sgd.state[p]["momentum_buffer"])
    running("running", net)
    net.eval()
    images, labels = batch(STEPS * CANDIDATES)
    numbers.append(STEPS * CANDIDATES)
    logits = net(images)
    line("logits", "eval", logits.detach().reshape(-1))
    line("loss", "eval", [F.cross_entropy(logits, labels)])
    line("batches", "whole", numbers)


def micro_batchd():
    """Two micro-batches of half a batch: statistics of their own, running statistics averaged."""
    net, sgd = make()
    batches, numbers = given("micro_batches"), []
    for step in range(MICRO_STEPS):
        numbers.append(choose(net, step, 2, batches))
        images, labels = batch(numbers[-1])
        sgd.zero_grad()
        before = {k: v.clone() for k, v in net.named_buffers()}
        after, total = [], 0
        for first in (0, BATCH // 2):
            for k, v in net.named_buffers():
                v.copy_(before[k])
            half, wanted = images[first:first + BATCH // 2], labels[first:first + BATCH // 2]
            loss = F.cross_entropy(net(half), wanted, reduction="sum") / BATCH
            loss.backward()
            total += loss.detach()
            after.append({k: v.clone() for k, v in net.named_buffers()})
        for k, v in net.named_buffers():
            v.copy_((after[0][k] + after[1][k]) / 2)
        line("micro_loss", str(step), [total])
        if step == 0:
            tensors("micro_gradient", net, lambda p: p.grad)
        sgd.step()
    tensors("micro_weight", net, lambda p: p)
    running("micro_running", net)
    line("micro_batches", "whole", numbers)


if __name__ == "__main__":
    print(f"# resnet20 by PyTorch {torch.__version__}, {str(DTYPE)[6:]}: seed {SEED}, batch {BATCH}, {STEPS} steps, "
          f"rate {RATE}, momentum {MOMENTUM}, weight decay {DECAY}")
    torch.set_num_threads(1)
    whole()
    micro_batchd()
