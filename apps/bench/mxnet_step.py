#!/usr/bin/python3
"""A peer of `tutti-bench step`: training steps of MXNet over its kvstore, dist_sync and dist_async.

    DMLC_PS_ROOT_URI=10.77.0.1 DMLC_PS_ROOT_PORT=9091 DMLC_NODE_HOST=10.77.0.2 DMLC_NUM_WORKER=2 DMLC_NUM_SERVER=2 \\
        mxnet_step.py --model resnet20 --batch 64 --steps 20 --variant sync

Every rank runs one, with a worker and a server of MXNet, so that every link carries the same; `--with-scheduler` adds MXNet's
scheduler. Says what torch_ddp.py says, and does a block of steps for each line read on stdin. All ranks are to be told at the
same time. The nets are those of torch_compute.py, hybridized with static memory; gradients are pushed as soon as they are
complete, and servers update the weights. --variant: as of mxnet_kv.py; -bN and -tN count.
"""

import argparse
import os
import sys
import time

from mxnet_kv import say, serve, variant


def positive(text):
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("must be 1 or more")
    return value


def nets():
    """How to make each net. MXNet is imported once its environment is complete."""
    from mxnet.gluon import nn

    def convolution(filters, side, stride=1, bias=False):
        return nn.Conv2D(filters, side, stride, side // 2, use_bias=bias)

    class Block(nn.HybridBlock):
        """Shortcuts have no parameters: He et al. 2016, section 4.2, option A."""

        def __init__(self, channels, filters, stride):
            super().__init__()
            self.widens, self.margin = filters > channels, (filters - channels) // 2
            self.body = nn.HybridSequential()
            self.body.add(convolution(filters, 3, stride), nn.BatchNorm(), nn.Activation("relu"),
                          convolution(filters, 3), nn.BatchNorm())

        def hybrid_forward(self, F, x):
            y = self.body(x)
            if self.widens:  # twice the channels, at every other pixel
                x = F.slice(x, begin=(None,) * 4, end=(None,) * 4, step=(1, 1, 2, 2))
                nothing = F.zeros_like(F.slice_axis(x, axis=1, begin=0, end=self.margin))
                x = F.concat(nothing, x, nothing, dim=1)
            return F.relu(y + x)

    def resnet(blocks):
        net, channels = nn.HybridSequential(), 16
        net.add(convolution(16, 3), nn.BatchNorm(), nn.Activation("relu"))
        for filters in (16, 32, 64):
            for block in range(blocks):
                net.add(Block(channels, filters, 2 if filters > 16 and not block else 1))
                channels = filters
        net.add(nn.GlobalAvgPool2D(), nn.Flatten(), nn.Dense(10))
        return net

    def mlp(hidden, width):
        net = nn.HybridSequential()
        net.add(nn.Flatten(), *(nn.Dense(width, activation="relu") for _ in range(hidden)), nn.Dense(10))
        return net

    def vgg16():
        net = nn.HybridSequential()
        for width in (64, 64, 0, 128, 128, 0, 256, 256, 256, 0, 512, 512, 512, 0, 512, 512, 512, 0):
            if width:
                net.add(convolution(width, 3), nn.BatchNorm(), nn.Activation("relu"))
            else:
                net.add(nn.MaxPool2D(2))
        net.add(nn.Flatten(), nn.Dense(10))
        return net

    return {"resnet20": lambda: resnet(3), "resnet32": lambda: resnet(5), "resnet44": lambda: resnet(7),
            "resnet56": lambda: resnet(9), "resnet110": lambda: resnet(18), "mlp": lambda: mlp(2, 512),
            "mlp-1024x5": lambda: mlp(5, 1024), "wide-mlp": lambda: mlp(6, 4096), "vgg16": vgg16}


class Training:
    def __init__(self, args, kind):
        import mxnet as mx
        from mxnet import autograd, gluon
        made = nets()
        if args.model not in made:
            sys.exit(f"MXNet's peer has no {args.model}: leave out --peer-mxnet, or take one of {', '.join(made)}")
        self.mx, self.autograd, self.batch = mx, autograd, args.batch
        mx.random.seed(1)
        self.net, self.loss = made[args.model](), gluon.loss.SoftmaxCrossEntropyLoss()
        self.net.initialize(mx.init.Xavier())
        self.net.hybridize(static_alloc=True, static_shape=True)
        self.loss.hybridize(static_alloc=True, static_shape=True)
        self.x = mx.nd.random.normal(shape=(args.batch, 3, 32, 32))
        self.labels = mx.nd.random.randint(0, 10, shape=(args.batch,))
        with autograd.record():  # shapes; in an inference, weights would take layouts that no kvstore can send
            self.net(self.x)
        self.kv = mx.kv.create("dist_" + kind)
        self.trainer = gluon.Trainer(
            self.net.collect_params(), "sgd", {"learning_rate": 0.001, "momentum": 0.9, "wd": 1e-4}, kvstore=self.kv,
            update_on_kvstore=True)

    def block(self, steps):
        self.kv._barrier()
        start = time.perf_counter()
        for _ in range(steps):
            with self.autograd.record():
                loss = self.loss(self.net(self.x), self.labels)
            loss.backward()
            self.trainer.step(self.batch * self.kv.num_workers)
        self.mx.nd.waitall()
        return {"step_ms": round(1e3 * (time.perf_counter() - start) / steps, 3),
                "loss": round(float(loss.mean().asscalar()), 5)}


def work(args, kind):
    os.environ["DMLC_ROLE"] = "worker"
    training = Training(args, kind)
    training.block(3)
    say("ready", about=f"MXNet {training.mx.__version__} dist_{args.variant_text.replace('-', ' ', 1)}")
    for _ in sys.stdin:
        say("block", **training.block(args.steps))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--probe", action="store_true", help="only report whether this peer is worth comparing with")
    parser.add_argument("--with-scheduler", action="store_true", help="also start MXNet's scheduler")
    parser.add_argument("--model", default="resnet20")
    parser.add_argument("--batch", type=positive, default=64, help="images per rank and step (default 64)")
    parser.add_argument("--steps", type=positive, default=20, help="steps per block (default 20)")
    parser.add_argument("--threads", type=positive, default=1, help="threads of a worker (default 1)")
    parser.add_argument("--variant", dest="variant_text", default="sync")
    args = parser.parse_args()
    if args.probe:
        return
    kind, settings = variant(args.variant_text)
    args.role = "server"  # this rank has one, beside its worker
    os.environ["MXNET_KVSTORE_BIGARRAY_BOUND"] = str(1000 * settings["b"])
    for name in ("OMP_NUM_THREADS", "MXNET_CPU_WORKER_NTHREADS", "MXNET_KVSTORE_REDUCTION_NTHREADS"):
        os.environ[name] = str(settings["t"])
    children = serve(args, {"p": 1})
    for name in ("OMP_NUM_THREADS", "MXNET_CPU_WORKER_NTHREADS"):
        os.environ[name] = str(args.threads)
    status = 1
    try:
        work(args, kind)
        status = 0
    except Exception as fault:
        print(fault, file=sys.stderr)
    finally:
        for child in children:
            child.kill()
        os._exit(status)  # MXNet's own end waits for all others, in an order of its own


if __name__ == "__main__":
    main()
