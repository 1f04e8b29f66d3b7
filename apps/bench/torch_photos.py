#!/usr/bin/python3
"""The PyTorch peer of a training of tutti-imagenet: the same network of torchvision, recipe and photographs.

    torch_photos.py --data imagenette --model resnet18 --size 128 --batch 32 --epochs 5 --seed 1 --json peer.json

is the peer of

    tutti-run -n 2 tutti-imagenet --data imagenette --model resnet18 --size 128 --batch 32 --epochs 5 --seed 1 \\
        --lr 0.05 --weight-decay 5e-4 --label-smoothing 0.1 --rate-schedule onecycle --augment standard \\
        --uncropped 0 --eval-views 1 --json ours.json

DistributedDataParallel over gloo, --ranks processes of one thread on this machine. Both draw random resized crops (8 to
100 % of the area, sides of 3:4 to 4:3) and flips, shuffle each epoch and leave out what does not fill its last step;
both evaluate the centre of photographs whose shorter side is resized to 8/7 of --size, with the running statistics.
SGD with Nesterov's momentum of 0.9. The rate rises linearly from 1/25 in the first tenth, then falls linearly to 0.

--json gets the lines that tutti-imagenet writes for evaluations, so `tutti-bench plot` draws both into one picture.
"""

import argparse
import json
import os
import sys
import time
import warnings

import torch
import torch.distributed as dist
import torch.multiprocessing as processes
import torch.nn.functional as F
import torchvision
from PIL import Image
from torch.nn.parallel import DistributedDataParallel
from torchvision import transforms

MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def positive(text):
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("must be 1 or more")
    return value


class Photos(torch.utils.data.Dataset):
    def __init__(self, folder, view):
        files = torchvision.datasets.ImageFolder(folder)
        self.files, self.classes = files.samples, files.classes
        self.view = transforms.Compose([view, transforms.PILToTensor()])

    def __len__(self):
        return len(self.files)

    def __getitem__(self, i):
        name, label = self.files[i]
        with Image.open(name) as image:
            return self.view(image.convert("RGB")), label


def batches(photos, indices, batch):
    return torch.utils.data.DataLoader(
        torch.utils.data.Subset(photos, indices), batch_size=batch, shuffle=False, num_workers=0)


def normalise(x):
    mean = torch.tensor(MEAN).view(1, 3, 1, 1)
    deviation = torch.tensor(DEVIATION).view(1, 3, 1, 1)
    return ((x / 255 - mean) / deviation).to(memory_format=torch.channels_last)


def rate(step, total, highest):
    warmup = total // 10
    if step < warmup:
        return highest * (0.04 + 0.96 * (step + 1) / warmup)
    return highest * (1e-4 + (1 - 1e-4) * (1 - (step - warmup) / (total - warmup)))


def train(rank, args):
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore", message=".*broadcast_buffers")  # its new name is not in older versions
    dist.init_process_group("gloo", rank=rank, world_size=args.ranks)
    torch.manual_seed(args.seed)  # the same first weights on every rank
    training = Photos(os.path.join(args.data, "train"), transforms.Compose([
        transforms.RandomResizedCrop(args.size, antialias=True), transforms.RandomHorizontalFlip()]))
    test = Photos(os.path.join(args.data, "val"), transforms.Compose([
        transforms.Resize((args.size * 8 + 6) // 7, antialias=True), transforms.CenterCrop(args.size)]))
    model = torchvision.models.get_model(args.model, weights=None, num_classes=len(training.classes))
    model = model.to(memory_format=torch.channels_last)
    parallel = DistributedDataParallel(model, gradient_as_bucket_view=True, broadcast_buffers=False)
    optimizer = torch.optim.SGD(
        model.parameters(), lr=args.lr, momentum=0.9, nesterov=True, weight_decay=args.weight_decay, foreach=True)
    a_step = args.batch * args.ranks
    steps = len(training) // a_step
    order = torch.Generator()
    log = open(args.json, "w", encoding="utf-8") if args.json and rank == 0 else None

    def say(event, **fields):
        line = json.dumps({"event": event, **fields})
        if rank == 0:
            print(line, flush=True)
        if log:
            print(line, file=log, flush=True)

    say("start", program="torch_photos.py", library="PyTorch " + torch.__version__, model=args.model, ranks=args.ranks,
        batch=args.batch, steps=args.epochs * steps, steps_per_epoch=steps, seed=args.seed, data=args.data,
        classes=len(training.classes), lr=args.lr)
    torch.manual_seed(1000003 * args.seed + rank)  # crops and flips differ between ranks
    for epoch in range(args.epochs):
        begin = time.perf_counter()
        order.manual_seed(7919 * args.seed + epoch)
        mine = torch.randperm(len(training), generator=order)[:steps * a_step].view(steps, args.ranks, args.batch)
        parallel.train()
        total = 0.0
        for i, (x, labels) in enumerate(batches(training, mine[:, rank].reshape(-1).tolist(), args.batch)):
            for group in optimizer.param_groups:
                group["lr"] = rate(epoch * steps + i, args.epochs * steps, args.lr)
            optimizer.zero_grad(set_to_none=True)
            loss = F.cross_entropy(parallel(normalise(x)), labels, label_smoothing=args.label_smoothing)
            loss.backward()
            optimizer.step()
            total += loss.item()
        model.eval()
        for buffer in model.buffers():  # running statistics are evaluated as the mean of the ranks'
            if buffer.is_floating_point():
                dist.all_reduce(buffer)
                buffer /= args.ranks
        found = torch.zeros(3, dtype=torch.float64)  # right, right among five, loss
        with torch.no_grad():
            for x, labels in batches(test, range(rank, len(test), args.ranks), args.batch):
                output = model(normalise(x))
                best = output.topk(min(5, output.shape[1]), dim=1).indices == labels[:, None]
                found += torch.tensor([best[:, 0].sum(), best.sum(), F.cross_entropy(output, labels, reduction="sum")])
        dist.all_reduce(found)
        right, among, loss = (found / len(test)).tolist()
        say("eval", epoch=epoch + 1, step=(epoch + 1) * steps, seconds=round(time.perf_counter() - begin, 1),
            train_loss=round(total / steps, 5), test_loss=round(loss, 5), test_accuracy=round(right, 6),
            test_top5_accuracy=round(among, 6))
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--data", required=True, help="folder with train/ and val/, and a folder a class in them")
    parser.add_argument("--model", default="resnet18", help="a name of torchvision's (default resnet18)")
    parser.add_argument("--size", type=positive, default=128, help="pixels a side (default 128)")
    parser.add_argument("--batch", type=positive, default=32, help="images per rank and step (default 32)")
    parser.add_argument("--epochs", type=positive, default=5, help="passes over the photographs (default 5)")
    parser.add_argument("--ranks", type=positive, default=2, help="processes (default 2)")
    parser.add_argument("--lr", type=float, default=0.05, help="highest learning rate (default 0.05)")
    parser.add_argument("--weight-decay", type=float, default=5e-4, help="of all parameters (default 5e-4)")
    parser.add_argument("--label-smoothing", type=float, default=0.1, help="(default 0.1)")
    parser.add_argument("--seed", type=int, default=1, help="of weights, order and crops (default 1)")
    parser.add_argument("--json", help="file for a line per evaluation")
    args = parser.parse_args()
    for folder in ("train", "val"):
        if not os.path.isdir(os.path.join(args.data, folder)):
            parser.error(f"--data {args.data}: there is no folder {folder}/ in it")
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29511")
    try:
        processes.spawn(train, (args,), args.ranks)
    except (OSError, RuntimeError, processes.ProcessRaisedException) as error:
        sys.exit(f"torch_photos.py: {error}")


if __name__ == "__main__":
    main()
