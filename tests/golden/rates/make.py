#!/usr/bin/env python3
"""Writes pytorch.txt: learning rates of PyTorch's schedulers, which tests/train/test_rate_schedule.c compares with.

A line is: our schedule, its peak, total steps, warm-up steps, rate of the first step (- for none), power, factor,
milestones (steps, - for none), a step, and the rate that PyTorch has in that step.
"""
import torch
from torch.optim import SGD, lr_scheduler as S

PEAK, TOTAL = 0.4, 200


def rates(make):
    optimizer = SGD([torch.zeros(1, requires_grad=True)], lr=PEAK)
    scheduler = make(optimizer)
    for step in range(TOTAL):
        yield step, optimizer.param_groups[0]["lr"]
        optimizer.step()
        scheduler.step()


def warm(optimizer, after, steps, first):
    up = S.LinearLR(optimizer, start_factor=first / PEAK, total_iters=steps)
    return S.SequentialLR(optimizer, [up, after(optimizer)], [steps])


rows = [
    ("constant", 40, "0.1", 1, 0.1, "-", lambda o: S.LinearLR(o, start_factor=0.25, total_iters=40)),
    ("milestones", 0, "-", 1, 0.1, "60,120,160", lambda o: S.MultiStepLR(o, [60, 120, 160], 0.1)),
    ("milestones", 0, "-", 1, 0.5, "1,2,199", lambda o: S.MultiStepLR(o, [1, 2, 199], 0.5)),
    ("milestones", 20, "0.05", 1, 0.1, "60,120",
     lambda o: warm(o, lambda p: S.MultiStepLR(p, [40, 100], 0.1), 20, 0.05)),
    ("poly", 0, "-", 0.5, 0.1, "-", lambda o: S.PolynomialLR(o, TOTAL, 0.5)),
    ("poly", 0, "-", 2, 0.1, "-", lambda o: S.PolynomialLR(o, TOTAL, 2)),
    ("poly", 0, "-", 1, 0.1, "-", lambda o: S.PolynomialLR(o, TOTAL, 1)),
    ("cosine", 0, "-", 1, 0.1, "-", lambda o: S.CosineAnnealingLR(o, TOTAL)),
    ("cosine", 50, "0.001", 1, 0.1, "-",
     lambda o: warm(o, lambda p: S.CosineAnnealingLR(p, TOTAL - 50), 50, 0.001)),
]

with open(__file__.replace("make.py", "pytorch.txt"), "w", encoding="ascii") as out:
    for name, warmup, first, power, factor, milestones, make in rows:
        for step, rate in rates(make):
            if step < 3 or step % 13 == 0 or step in (19, 20, 21, 39, 40, 49, 50, 59, 60, 119, 120, 160, 198, 199):
                print(name, PEAK, TOTAL, warmup, first, power, factor, milestones, step, f"{rate:.15g}", file=out)
