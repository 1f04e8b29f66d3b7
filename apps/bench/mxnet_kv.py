#!/usr/bin/python3
"""The peer of `tutti-bench kv`: MXNet's kvstore, dist_sync and dist_async.

    DMLC_PS_ROOT_URI=10.77.0.1 DMLC_PS_ROOT_PORT=9091 DMLC_NODE_HOST=10.77.0.2 DMLC_NUM_WORKER=2 DMLC_NUM_SERVER=1 \\
        mxnet_kv.py --role worker --keys 4 --variant sync

Every host runs one, a worker or the servers of a host; `--with-scheduler` adds MXNet's scheduler. Prints {"event": "ready",
"about": "MXNet 1.9.1 dist_sync"} once the values that it has pulled are those that were pushed. Then, for each line
"push 65536 10" on the stdin of a worker (or pull, pushpull; bytes of a key; rounds), prints {"event": "block", "step_ms":
1.5}: milliseconds a round, in which all keys are pushed and pulled. All workers are to be told the same at the same time.

--variant: sync or async, and settings with "-" before each: bN, keys from N thousand elements on have a part on every
server (MXNET_KVSTORE_BIGARRAY_BOUND; MXNet's default is b1000); pN, server processes on a server's host (1); tN, threads of a
process (1). In sync the sum is stored; in async, where MXNet needs an optimizer, it is added.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import time


def say(event, **fields):
    print(json.dumps({"event": event, **fields}), flush=True)


def variant(text):
    match = re.fullmatch(r"(sync|async)((?:-[bpt][1-9][0-9]*)*)", text)
    if not match:
        raise argparse.ArgumentTypeError("must be sync or async, and settings such as -b100, -p2, -t2")
    values = {"b": 1000, "p": 1, "t": 1}
    values.update((word[0], int(word[1:])) for word in match[2].split("-")[1:])
    return match[1], values


class Worker:
    def __init__(self, kind, keys):
        import mxnet as mx
        self.mx, self.kind, self.keys, self.made = mx, kind, keys, {}
        self.kv = mx.kv.create("dist_" + kind)
        if kind == "async":
            self.kv.set_optimizer(mx.optimizer.SGD(learning_rate=-1, wd=0))  # adds

    def arrays(self, size):
        """Numbers of keys of this many bytes, what is pushed to them, and where they are pulled to."""
        if size not in self.made:
            first = len(self.made) * self.keys
            names = [str(first + i) for i in range(self.keys)]
            given = [self.mx.nd.zeros(size // 4) for _ in names]
            taken = [self.mx.nd.zeros(size // 4) for _ in names]
            self.kv.init(names, given)
            self.mx.nd.waitall()
            self.kv._barrier()
            self.made[size] = names, given, taken
        return self.made[size]

    def verify(self, size):
        names, given, taken = self.arrays(size)
        ranks, mine = self.kv.num_workers, self.kv.rank
        for i, x in enumerate(given):
            x[:] = mine + i + 1
        self.kv.push(names, given)
        self.kv.pull(names, out=taken)
        self.mx.nd.waitall()
        self.kv._barrier()
        self.kv.pull(names, out=taken)
        self.mx.nd.waitall()
        for i, y in enumerate(taken):
            expected = ranks * (ranks - 1) / 2 + ranks * (i + 1)
            if not (y.asnumpy() == expected).all():
                sys.exit(f"a key has {y.asnumpy()[0]} instead of {expected}")
        for x in given:
            x[:] = 0
        self.mx.nd.waitall()
        self.kv._barrier()

    def block(self, op, size, rounds):
        names, given, taken = self.arrays(size)
        self.kv._barrier()
        start = time.perf_counter()
        for _ in range(rounds):
            if op != "pull":
                self.kv.push(names, given)
            if op != "push":
                self.kv.pull(names, out=taken)
        self.mx.nd.waitall()
        return 1e3 * (time.perf_counter() - start) / rounds


def serve(args, settings):
    """Starts the scheduler and the servers that are asked for, and ends them at the end of stdin, or behind the workers."""
    roles = ["scheduler"] * args.with_scheduler + ["server"] * (settings["p"] if args.role == "server" else 0)
    return [subprocess.Popen([sys.executable, "-c", "import mxnet"], env={**os.environ, "DMLC_ROLE": role},
                             stdin=subprocess.DEVNULL, stdout=sys.stderr) for role in roles]


def work(args, kind):
    os.environ["DMLC_ROLE"] = "worker"
    worker = Worker(kind, args.keys)
    for size in (256, 1 << 20):  # whole, and in parts
        worker.verify(size)
    say("ready", about=f"MXNet {worker.mx.__version__} dist_{args.variant_text.replace('-', ' ', 1)}")
    for line in sys.stdin:
        op, size, rounds = line.split()
        say("block", step_ms=worker.block(op, int(size), int(rounds)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--probe", action="store_true", help="only report whether this peer is worth comparing with")
    parser.add_argument("--role", choices=("worker", "server"))
    parser.add_argument("--with-scheduler", action="store_true", help="also start MXNet's scheduler")
    parser.add_argument("--keys", type=int, default=4, help="keys of a round (default 4)")
    parser.add_argument("--variant", dest="variant_text", default="sync")
    args = parser.parse_args()
    if args.probe:
        return
    kind, settings = variant(args.variant_text)
    os.environ["MXNET_KVSTORE_BIGARRAY_BOUND"] = str(1000 * settings["b"])
    os.environ["DMLC_NUM_SERVER"] = str(settings["p"] * int(os.environ["DMLC_NUM_SERVER"]))
    for name in ("OMP_NUM_THREADS", "MXNET_CPU_WORKER_NTHREADS", "MXNET_KVSTORE_REDUCTION_NTHREADS"):
        os.environ[name] = str(settings["t"])
    children = serve(args, settings)
    try:
        if args.role == "worker":
            work(args, kind)
        else:
            say("ready", about="MXNet's servers")
            sys.stdin.read()
    finally:
        for child in children:
            try:
                child.wait(5)
            except subprocess.TimeoutExpired:
                child.kill()


if __name__ == "__main__":
    main()
