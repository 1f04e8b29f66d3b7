# The peer of recovery.sh: steps of resnet20 on random images with DistributedDataParallel over gloo. Rank 0 appends its
# process id to the log after each step.   recovery_peer.py LOG
import os
import sys

import torch
import torch.distributed as dist
from torch import nn


def pair(inputs, outputs, stride):
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(),
        nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU())


torch.set_num_threads(1)
dist.init_process_group("gloo")
net = nn.Sequential(
    nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU(),
    pair(16, 16, 1), pair(16, 16, 1), pair(16, 16, 1), pair(16, 32, 2), pair(32, 32, 1), pair(32, 32, 1),
    pair(32, 64, 2), pair(64, 64, 1), pair(64, 64, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))
model = nn.parallel.DistributedDataParallel(net)
optimizer = torch.optim.SGD(model.parameters(), 0.01, 0.9)
images, labels = torch.randn(32, 3, 32, 32), torch.randint(0, 10, (32,))
for step in range(400):
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(images), labels).backward()
    optimizer.step()
    if dist.get_rank() == 0:
        with open(sys.argv[1], "a") as log:
            log.write(f"{os.getpid()}\n")
