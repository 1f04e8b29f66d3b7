#!/usr/bin/env python3
"""Seconds from SIGKILL of a rank to the next finished step, and to the first one of all ranks again: tutti-run --elastic and
torchrun, in turns. By hand:

    recovery.py TUTTI_APPS CIFAR_FOLDER [TURNS [RANKS]]     with a Python that has PyTorch

Both train resnet20 on 32 images a rank, with one thread a rank; torchrun's workers save every 5 steps in memory (/dev/shm), and are
looked at every 50 ms. torchrun starts all workers again, so that its two times are one."""
import json, os, random, shutil, signal, statistics, subprocess, sys, tempfile, time


def worker(folder):
    import torch
    import torch.distributed as dist
    from torch import nn

    torch.set_num_threads(1)

    class Block(nn.Module):
        def __init__(self, i, o, s):
            super().__init__()
            self.f = nn.Sequential(nn.Conv2d(i, o, 3, s, 1, bias=False), nn.BatchNorm2d(o), nn.ReLU(),
                                   nn.Conv2d(o, o, 3, 1, 1, bias=False), nn.BatchNorm2d(o))
            self.s = nn.Identity() if i == o else nn.Sequential(nn.Conv2d(i, o, 1, s, bias=False), nn.BatchNorm2d(o))

        def forward(self, x):
            return torch.relu(self.f(x) + self.s(x))

    layers = [nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU()]
    for i, o, s in ((16, 16, 1), (16, 32, 2), (32, 64, 2)):
        layers += [Block(i, o, s)] + [Block(o, o, 1) for _ in range(2)]
    model = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))
    saved, step = folder + "/saved.pt", 0
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    if os.path.exists(saved):
        state = torch.load(saved)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        step = state["step"]
    dist.init_process_group("gloo")
    parallel = nn.parallel.DistributedDataParallel(model)
    rank = dist.get_rank()
    open(f"{folder}/pid.{rank}", "w").write(str(os.getpid()))
    images, labels = torch.rand(32, 3, 32, 32), torch.randint(10, (32,))
    with open(folder + "/steps", "a") as told:
        while True:
            optimizer.zero_grad()
            nn.functional.cross_entropy(parallel(images), labels).backward()
            optimizer.step()
            step += 1
            if rank == 0:
                told.write(f"{time.time()} {step} {os.getpid()}\n")
                told.flush()
                if step % 5 == 0:
                    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step}, saved + ".new")
                    os.rename(saved + ".new", saved)


def await_(run, what, seconds=120):
    until = time.time() + seconds
    while time.time() < until:
        got = what()
        if got is not None:
            return got
        time.sleep(0.005)
    end(run)
    sys.exit("not within time")


def end(process):
    process.send_signal(signal.SIGINT)
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def events(path):
    """Of each membership the number of ranks, and when its first step was seen to have ended."""
    try:
        lines = open(path).read().split("\n")[:-1]
    except OSError:
        return []
    return [json.loads(line) for line in lines if '"start"' in line or '"step"' in line]


def run_tutti(apps, data, ranks):
    folder = tempfile.mkdtemp()
    path = folder + "/json"
    run = subprocess.Popen([apps + "/tutti-run", "--elastic", f"1:{ranks}", "-n", str(ranks), "--pause", "0", apps + "/tutti-cifar",
                            "--data", data, "--model", "resnet20", "--batch", "32", "--lr", "0.1", "--epochs", "1000", "--eval-every",
                            "never", "--quiet", "--json", path], stderr=subprocess.DEVNULL, env={**os.environ, "STARPU_NCPU": "1"})

    def trains(membership):
        steps = [e for e in events(path) if e["event"] == "step" and e["membership"] == membership]
        return time.time() if steps else None

    await_(run, lambda: True if sum(e["event"] == "step" for e in events(path)) >= 12 else None)
    pids = subprocess.run(["ps", "-o", "pid=", "--ppid", str(run.pid), "--sort", "pid"], capture_output=True, text=True).stdout.split()
    at = time.time()
    os.kill(int(pids[random.randrange(1, ranks)]), signal.SIGKILL)
    first = await_(run, lambda: trains(2)) - at
    again = await_(run, lambda: trains(3)) - at
    end(run)
    shutil.rmtree(folder)
    return first, again


def run_torch(ranks):
    folder = tempfile.mkdtemp(dir="/dev/shm")
    run = subprocess.Popen([sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks),
                            "--max-restarts", "10", "--monitor-interval", "0.05", __file__, "--worker", folder],
                           stderr=subprocess.DEVNULL, env={**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"})

    def steps():
        try:
            return [line.split() for line in open(folder + "/steps").read().split("\n")[:-1]]
        except OSError:
            return []

    await_(run, lambda: True if len(steps()) >= 12 else None)
    old = steps()[-1][2]
    victim = int(open(f"{folder}/pid.{random.randrange(1, ranks)}").read())
    at = time.time()
    os.kill(victim, signal.SIGKILL)
    took = await_(run, lambda: next((float(t) - at for t, _, pid in steps() if pid != old), None))
    end(run)
    shutil.rmtree(folder)
    return took


if sys.argv[1] == "--worker":
    worker(sys.argv[2])
apps, data = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
turns, ranks = (int(a) for a in (sys.argv[3:] + ["5", "4"][len(sys.argv) - 3:])[:2])
tutti, joined, torchrun = [], [], []
for turn in range(turns):
    first, again = run_tutti(apps, data, ranks)
    tutti.append(first)
    joined.append(again)
    torchrun.append(run_torch(ranks))
    print(f"turn {turn}: tutti {first:.2f} s, all ranks again {again:.2f} s; torchrun {torchrun[-1]:.2f} s", flush=True)
print(f"medians: tutti {statistics.median(tutti):.2f} s, all ranks again {statistics.median(joined):.2f} s; "
      f"torchrun {statistics.median(torchrun):.2f} s")
