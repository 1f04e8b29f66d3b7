#!/usr/bin/python3
"""Makes the golden numbers of the kernel tests with PyTorch:  tests/golden/kernels/make.py

Reads tests/kernels/cases.txt and writes, beside this script,
  results.f32   the results of all cases one after the other, little-endian float32, in NHWC and (K,R,S,C) order
  index.txt     a line for each result: first element, elements, tensor's name, case
PyTorch computes in double precision and the results are rounded once. Inputs are not stored: both sides compute them
from the case's text and the tensor's name (fill below, fill_value in cases.c). Dropout, mixup's weights and cutmix's boxes have no case here:
what they draw is Tutti's own rule. Nor have put, take and cutmix, which only move numbers, codecs, which PyTorch does not have, nor the families with tensors of
bf16: these compute what those of float32 do, on numbers that are rounded, which the reference in double precision checks.
"""

import pathlib

import torch
import torch.nn.functional as F

HERE = pathlib.Path(__file__).resolve().parent
CASES = HERE.parent.parent / "kernels" / "cases.txt"
MASK = (1 << 64) - 1
STEP = 5  # the step number, as in cases.c


def stream_of(name):
    h = 14695981039346656037
    for byte in name.encode():
        h = (h ^ byte) * 1099511628211 & MASK
    return h


def bits_of(stream, index):
    h = (index + 1) * 0x9E3779B97F4A7C15 & MASK ^ stream
    h = (h ^ h >> 32) * 0xD6E8FEB86659FD93 & MASK
    h = (h ^ h >> 32) * 0xD6E8FEB86659FD93 & MASK
    return h >> 44


class Case:
    def __init__(self, text):
        self.text = text
        self.family, *words = text.split()
        self.d = {key: float(value) if "." in value or "e" in value else int(value)
                  for key, value in (word.split("=") for word in words)}

    def fill(self, name, *shape, offset=0.0):
        stream = stream_of(f"{self.text}:{name}")
        count = torch.Size(shape).numel()
        values = [bits_of(stream, i) / 524288 - 1 + offset for i in range(count)]
        return torch.tensor(values, dtype=torch.float64).reshape(shape)

    def image(self, name, *shape, grad=False):
        """An (N,H,W,C) tensor as PyTorch's (N,C,H,W)."""
        return self.fill(name, *shape).permute(0, 3, 1, 2).contiguous().requires_grad_(grad)


def nhwc(x):
    return x.permute(0, 2, 3, 1)


def backward(y, dy, *inputs):
    return torch.autograd.grad(y, inputs, dy)


def through(case, x, y):
    """y and dx of an op of images."""
    N, K, P, Q = y.shape
    dx, = backward(y, case.image("dy", N, P, Q, K), x)
    return {"y": nhwc(y), "dx": nhwc(dx)}


def pair(window, key):
    """Down and across: `key` is both, or each has its own."""
    return (window[key],) * 2 if key in window else (window[key + "0"], window[key + "1"])


def conv(case, N, H, W, C, K, R, S, bias, groups=1, **window):
    stride, pad = pair(window, "stride"), pair(window, "pad")
    x = case.image("x", N, H, W, C, grad=True)
    w = case.image("w", K, R, S, C // groups, grad=True)
    b = case.fill("b", K).requires_grad_() if bias else None
    y = F.conv2d(x, w, b, stride, pad, 1, groups)
    dy = case.image("dy", N, y.shape[2], y.shape[3], K)
    dx, dw, *db = backward(y, dy, x, w, *([b] if bias else []))
    return {"y": nhwc(y), "dx": nhwc(dx), "dw": nhwc(dw), **({"db": db[0]} if bias else {})}


def dense(case, N, C, K, bias):
    x = case.fill("x", N, C).requires_grad_()
    w = case.fill("w", K, C).requires_grad_()
    b = case.fill("b", K).requires_grad_() if bias else None
    y = F.linear(x, w, b)
    dx, dw, *db = backward(y, case.fill("dy", N, K), x, w, *([b] if bias else []))
    return {"y": y, "dx": dx, "dw": dw, **({"db": db[0]} if bias else {})}


def rectify(y, limit):
    return F.hardtanh(y, 0, limit) if limit else F.relu(y)


def norm(case, N, H, W, C, eps, relu, limit=0):
    x = case.image("x", N, H, W, C, grad=True)
    pair = case.fill("scaleshift", 2, C).requires_grad_()
    mean, var = torch.zeros(C, dtype=torch.float64), torch.ones(C, dtype=torch.float64)
    y = F.batch_norm(x, mean, var, pair[0], pair[1], training=True, momentum=1.0, eps=eps)
    y = rectify(y, limit) if relu else y
    dx, dpair = backward(y, case.image("dy", N, H, W, C), x, pair)
    rows = N * H * W
    stats = torch.stack([mean, var * (rows - 1) / rows])
    return {"y": nhwc(y), "stats": stats, "dx": nhwc(dx), "dscaleshift": dpair}


def norm_add(case, N, H, W, C, eps):
    x, other = case.image("x", N, H, W, C, grad=True), case.image("other", N, H, W, C, grad=True)
    pair = case.fill("scaleshift", 2, C).requires_grad_()
    y = F.relu(F.batch_norm(x, None, None, pair[0], pair[1], training=True, eps=eps) + other)
    dx, dother, dpair = backward(y, case.image("dy", N, H, W, C), x, other, pair)
    stats = torch.stack([x.mean((0, 2, 3)), x.var((0, 2, 3), unbiased=False)])
    return {"y": nhwc(y), "stats": stats, "dx": nhwc(dx), "dother": nhwc(dother), "dscaleshift": dpair}


def norm_infer(case, N, H, W, C, eps, relu, limit=0):
    x = case.image("x", N, H, W, C)
    pair, running = case.fill("scaleshift", 2, C), case.fill("running", 2, C, offset=1.5)
    y = F.batch_norm(x, running[0], running[1], pair[0], pair[1], training=False, eps=eps)
    return {"y": nhwc(rectify(y, limit) if relu else y)}


def norm_running(case, C, momentum, weight, unbias):
    running = case.fill("running", 2, C, offset=1.5)
    batch = case.fill("stats_sum", 2, C, offset=1.5) * weight
    batch[1] *= unbias
    return {"running": torch.lerp(running, batch, momentum)}


def relu(case, count, limit=0):
    x = case.fill("x", count).requires_grad_()
    y = rectify(x, limit)
    return {"y": y, "dx": backward(y, case.fill("dy", count), x)[0]}


def pool_max(case, N, H, W, C, R, S, ceiling=0, **window):
    stride, pad = pair(window, "stride"), pair(window, "pad")
    x = case.image("x", N, H, W, C, grad=True)
    return through(case, x, F.max_pool2d(x, (R, S), stride, pad, ceil_mode=bool(ceiling)))


def pool_avg(case, N, H, W, C, R, S, ceiling=0, counts_padding=0, **window):
    stride, pad = pair(window, "stride"), pair(window, "pad")
    x = case.image("x", N, H, W, C, grad=True)
    y = F.avg_pool2d(x, (R, S), stride, pad, ceil_mode=bool(ceiling), count_include_pad=bool(counts_padding))
    return through(case, x, y)


def lrn(case, N, H, W, C, size, alpha, beta, k):
    x = case.image("x", N, H, W, C, grad=True)
    return through(case, x, F.local_response_norm(x, size, alpha, beta, k))


def shortcut(case, N, H, W, C, K, stride):
    x = case.image("x", N, H, W, C, grad=True)
    front = (K - C) // 2
    return through(case, x, F.pad(x[:, :, ::stride, ::stride], (0, 0, 0, 0, front, K - C - front)))


def concat(case, pixels, parts, **C):
    sizes = list(C.values())
    x = [case.fill(f"x{i}", pixels, sizes[i]).requires_grad_() for i in range(parts)]
    y = torch.cat(x, 1)
    dx = backward(y, case.fill("dy", *y.shape), *x)
    return {"y": y, **{f"dx{i}": dx[i] for i in range(parts)}}


def split(case, pixels, parts, **C):
    sizes = list(C.values())
    x = case.fill("x", pixels, sum(sizes)).requires_grad_()
    y = torch.split(x, sizes, 1)
    dx, = backward(y, tuple(case.fill(f"dy{i}", pixels, sizes[i]) for i in range(parts)), x)
    return {**{f"y{i}": y[i] for i in range(parts)}, "dx": dx}


def sum_of(case, count, inputs, relu, into=0):
    y = sum(case.fill(f"x{i}", count) for i in range(inputs))
    y = case.fill("y", count) + y if into else y
    return {"y": F.relu(y) if relu else y}


def xent(case, N, K, weight, smoothing=0.0, views=1):
    logits = case.fill("logits", N, K).requires_grad_()
    stream = stream_of(f"{case.text}:labels")
    labels = torch.tensor([bits_of(stream, n) % (K + 1) - 1 for n in range(N)])
    loss = F.cross_entropy(logits / views, labels, ignore_index=-1, reduction="sum", label_smoothing=smoothing)
    right = (logits.argmax(1) == labels).sum()
    counted = (labels >= 0).sum()
    dlogits, = backward(loss, torch.tensor(float(weight), dtype=torch.float64), logits)
    return {"dlogits": dlogits, "metrics": torch.stack([loss, right.double(), counted.double()])}


def xent_mixed(case, N, K, weight, smoothing=0.0, views=1):
    """Targets are probabilities; a row is its own partner's partner."""
    logits = case.fill("logits", N, K).requires_grad_()
    part = (case.fill("part", N) + 1) / 2
    stream = stream_of(f"{case.text}:labels")
    labels = torch.tensor([bits_of(stream, n) % (K + 1) - 1 for n in range(N)])
    others = labels.reshape(-1, 2).flip(1).flatten()
    part = torch.where(others < 0, torch.ones_like(part), part)
    counted = labels >= 0
    target = part[:, None] * F.one_hot(labels.clamp(min=0), K) + (1 - part[:, None]) * F.one_hot(others.clamp(min=0), K)
    loss = F.cross_entropy((logits / views)[counted], target[counted], reduction="sum", label_smoothing=smoothing)
    right = (logits.argmax(1) == torch.where(part >= 0.5, labels, others))[counted].sum()
    dlogits, = backward(loss, torch.tensor(float(weight), dtype=torch.float64), logits)
    return {"dlogits": dlogits, "metrics": torch.stack([loss, right.double(), counted.sum().double()])}


def mixup(case, N, each):
    x, part = case.fill("x", N, each), ((case.fill("part", N) + 1) / 2)[:, None]
    partner = x.reshape(-1, 2, each).flip(1).reshape(N, each)
    return {"y": part * x + (1 - part) * partner}


def normalise(case, pixels, C, **d):
    stream = stream_of(f"{case.text}:pixels")
    x = torch.tensor([bits_of(stream, i) % 256 for i in range(pixels * C)], dtype=torch.float64).reshape(pixels, C)
    mean, deviation = (torch.tensor([float(d.get(f"{name}{c}", 0)) for c in range(C)], dtype=torch.float64)
                       for name in ("mean", "deviation"))
    return {"y": (x / 255 - mean) / deviation}


def rate_of(case, rate_factor):
    """Set after the construction of an optimizer, because the constructor refuses a negative rate."""
    return case.fill("rate", 1).item() * rate_factor


def sgd(case, count, momentum, weight_decay, nesterov, rate_factor=1.0):
    w = case.fill("w", count).requires_grad_()
    optimizer = torch.optim.SGD([w], lr=1.0, momentum=momentum, weight_decay=weight_decay, nesterov=bool(nesterov))
    optimizer.param_groups[0]["lr"] = rate_of(case, rate_factor)
    if momentum:
        optimizer.state[w]["momentum_buffer"] = case.fill("v", count)
    w.grad = case.fill("g", count)
    optimizer.step()
    results = {"w": w.detach()}
    if momentum:
        results["v"] = optimizer.state[w]["momentum_buffer"]
    return results


def adam(case, count, every, beta1, beta2, epsilon, weight_decay, decoupled, rate_factor=1.0):
    w = case.fill("w", count).requires_grad_()
    kind = torch.optim.AdamW if decoupled else torch.optim.Adam
    optimizer = kind([w], lr=1.0, betas=(float(beta1), float(beta2)), eps=float(epsilon), weight_decay=float(weight_decay))
    optimizer.param_groups[0]["lr"] = rate_of(case, rate_factor)
    optimizer.state[w] = {"step": torch.tensor(float(STEP // every)), "exp_avg": case.fill("mean", count),
                          "exp_avg_sq": case.fill("square", count, offset=1.5)}
    w.grad = case.fill("g", count)
    optimizer.step()
    state = optimizer.state[w]
    return {"w": w.detach(), "mean": state["exp_avg"], "square": state["exp_avg_sq"]}


def lars(case, count, momentum, weight_decay, trust, rate_factor=1.0):
    """PyTorch has no LARS: algorithm 1 of the paper."""
    w, g, v = case.fill("w", count), case.fill("g", count), case.fill("v", count)
    local = trust * w.norm() / (g.norm() + weight_decay * w.norm()) if trust else 1
    v = momentum * v + rate_of(case, rate_factor) * local * (g + weight_decay * w)
    return {"w": w - v, "v": v}


def length(case, count):
    return {"length": case.fill("x", count).norm().reshape(1)}


def clip_factor(case, inputs, most):
    lengths = [case.fill(f"length{i}", 1, offset=1.5) for i in range(inputs)]
    parameters = [torch.nn.Parameter(torch.zeros(1, dtype=torch.float64)) for _ in lengths]
    for p, x in zip(parameters, lengths):
        p.grad = x.clone()
    torch.nn.utils.clip_grad_norm_(parameters, most)
    return {"factor": parameters[0].grad / lengths[0]}


def lengths(case, inputs, count, first=0):
    collected = torch.zeros(count, dtype=torch.float64)
    for i in range(inputs):
        collected[first + i] = case.fill(f"length{i}", 1, offset=1.5)
    return {"all": collected}


def clip(case, count):
    return {"g": case.fill("g", count) * case.fill("factor", 1)}


def average(case, count, decay):
    return {"average": torch.lerp(case.fill("average", count), case.fill("w", count), 1.0 - decay)}


FAMILIES = {"conv": conv, "dense": dense, "norm": norm, "norm_add": norm_add, "norm_infer": norm_infer, "norm_running": norm_running,
            "relu": relu, "pool_max": pool_max, "pool_avg": pool_avg, "lrn": lrn, "concat": concat, "split": split,
            "shortcut": shortcut, "sum": sum_of, "xent": xent, "xent_mixed": xent_mixed, "mixup": mixup,
            "normalise": normalise, "sgd": sgd, "adam": adam,
            "lars": lars, "length": length, "clip_factor": clip_factor, "lengths": lengths, "clip": clip, "average": average}


WITHOUT = ("dropout", "put", "take", "mixup_draw", "cutmix", "cutmix_draw", "dense_wide", "normalise_narrow", "sum_narrow", "narrow", "widen", "accumulate", "sgd_bf16", "length_bf16", "gate", "divide",
           "outer", "pair", "share_set", "share_halve", "share_weigh", "share_mix", "share_scale", "onebit", "topk", "powersgd")


def main():
    offset = 0
    with open(HERE / "results.f32", "wb") as data, open(HERE / "index.txt", "w") as index:
        for line in CASES.read_text().splitlines():
            if not line or line.startswith("#") or line.split()[0] in WITHOUT:
                continue
            case = Case(line)
            for name, value in FAMILIES[case.family](case, **case.d).items():
                flat = value.detach().contiguous().float().flatten()
                index.write(f"{offset} {flat.numel()} {name} {line}\n")
                data.write(flat.numpy().astype("<f4").tobytes())
                offset += flat.numel()


if __name__ == "__main__":
    main()
