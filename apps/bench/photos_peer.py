#!/usr/bin/python3
"""The peers of `tutti-bench data`: photographs a second from JPEG bytes to a random resized crop, on one thread.

    photos_peer.py --photos FILE --size 224 --resize 256 --blocks 7 --variant pillow

FILE holds photographs: of each the number of bytes (8 bytes, little endian), and the bytes. Prints {"event": "ready",
"about": "Pillow 13.0.0", "mean": 112.9} once it has made what an evaluation sees of all of them (the shorter side
resized to --resize, the centre cut out): "mean" is that of all these pixels. Then, for each line on stdin, makes a
random resized crop with a flip of every photograph, and prints {"event": "block", "step_ms": 512.3}: milliseconds for
all of them.

--variant: pillow decodes, crops and resizes as torchvision's transforms do with Pillow; pillow-draft first asks libjpeg
to shrink (Image.draft) as far as the crop allows; torchvision decodes and crops tensors; torchvision-decode only
decodes; dali is NVIDIA DALI's pipeline on the processor, which decodes only around the crop.

Crops are drawn as torchvision's RandomResizedCrop draws them (Szegedy et al. 2015): 8 to 100 % of the area, sides of
3:4 to 4:3.
"""

import argparse
import io
import json
import math
import random
import struct
import sys
import time

import PIL
import PIL.Image


def draw_crop(width, height):
    """left, top, width, height"""
    for _ in range(10):
        area = width * height * random.uniform(0.08, 1.0)
        ratio = math.exp(random.uniform(math.log(3 / 4), math.log(4 / 3)))
        w, h = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if 0 < w <= width and 0 < h <= height:
            return random.randint(0, width - w), random.randint(0, height - h), w, h
    w, h = min(width, round(height * 4 / 3)), min(height, round(width * 4 / 3))
    return (width - w) // 2, (height - h) // 2, w, h


def fit(side, width, height):
    """The size of a photograph whose shorter side becomes `side`."""
    return (side, side * height // width) if width <= height else (side * width // height, side)


class Pillow:
    def __init__(self, args, photos):
        self.size, self.resize, self.photos, self.draft = args.size, args.resize, photos, args.variant == "pillow-draft"
        self.about = "Pillow " + PIL.__version__ + (" with draft" if self.draft else "")

    def crop(self, photo):
        image = PIL.Image.open(io.BytesIO(photo))
        left, top, w, h = draw_crop(*image.size)
        if self.draft:
            full = image.size
            image.draft("RGB", (self.size * full[0] // w, self.size * full[1] // h))
            x, y = image.size[0] / full[0], image.size[1] / full[1]
            box = (left * x, top * y, (left + w) * x, (top + h) * y)
            image = image.convert("RGB").resize((self.size, self.size), PIL.Image.Resampling.BILINEAR, box)
        else:
            image = image.convert("RGB").crop((left, top, left + w, top + h))
            image = image.resize((self.size, self.size), PIL.Image.Resampling.BILINEAR)
        return image.transpose(PIL.Image.Transpose.FLIP_LEFT_RIGHT) if random.random() < 0.5 else image

    def mean(self):
        total = 0
        for photo in self.photos:
            image = PIL.Image.open(io.BytesIO(photo)).convert("RGB")
            image = image.resize(fit(self.resize, *image.size), PIL.Image.Resampling.BILINEAR)
            left, top = round((image.size[0] - self.size) / 2), round((image.size[1] - self.size) / 2)
            pixels = image.crop((left, top, left + self.size, top + self.size)).tobytes()
            total += sum(pixels) / len(pixels)
        return total / len(self.photos)

    def block(self):
        for photo in self.photos:
            self.crop(photo)


class Torchvision:
    def __init__(self, args, photos):
        import torch
        import torchvision
        from torchvision.io import ImageReadMode, decode_jpeg
        from torchvision.transforms import v2

        torch.set_num_threads(1)
        self.photos = [torch.frombuffer(bytearray(photo), dtype=torch.uint8) for photo in photos]
        self.decode = lambda photo: decode_jpeg(photo, mode=ImageReadMode.RGB)
        self.evaluation = v2.Compose([v2.Resize(args.resize, antialias=True), v2.CenterCrop(args.size)])
        self.transform = v2.Compose(
            [v2.RandomResizedCrop(args.size, antialias=True), v2.RandomHorizontalFlip()])
        self.about = "torchvision " + torchvision.__version__
        if args.variant == "torchvision-decode":
            self.transform = None
            self.about += ", decoding alone"

    def mean(self):
        return sum(self.evaluation(self.decode(p)).float().mean().item() for p in self.photos) / len(self.photos)

    def block(self):
        for photo in self.photos:
            image = self.decode(photo)
            if self.transform:
                self.transform(image)


class Dali:
    BATCH = 8

    def __init__(self, args, photos):
        import numpy
        import nvidia.dali
        from nvidia.dali import fn, pipeline_def, types

        self.photos = [numpy.frombuffer(photo, dtype=numpy.uint8) for photo in photos]
        self.about = "DALI " + nvidia.dali.__version__ + " on the processor"

        def batches():
            while True:
                for i in range(0, len(self.photos), self.BATCH):
                    yield self.photos[i:i + self.BATCH]

        @pipeline_def(batch_size=self.BATCH, num_threads=1, device_id=None, prefetch_queue_depth=1, seed=1)
        def crops():
            photo = fn.external_source(batches(), dtype=types.UINT8)
            image = fn.decoders.image_random_crop(
                photo, device="cpu", output_type=types.RGB, random_area=[0.08, 1.0], random_aspect_ratio=[3 / 4, 4 / 3])
            image = fn.resize(image, size=[args.size, args.size], interp_type=types.INTERP_TRIANGULAR)
            return fn.flip(image, horizontal=fn.random.coin_flip())

        @pipeline_def(batch_size=self.BATCH, num_threads=1, device_id=None, prefetch_queue_depth=1)
        def centres():
            photo = fn.external_source(batches(), dtype=types.UINT8)
            image = fn.decoders.image(photo, device="cpu", output_type=types.RGB)
            image = fn.resize(image, resize_shorter=args.resize, interp_type=types.INTERP_TRIANGULAR)
            return fn.crop(image, crop=(args.size, args.size))

        self.crops, self.centres = crops(), centres()
        self.crops.build()

    def mean(self):
        self.centres.build()
        means = []
        while len(means) < len(self.photos):
            (out,) = self.centres.run()
            means += [out.at(i).mean() for i in range(len(out))]
        return sum(means) / len(means)

    def block(self):
        for _ in range(0, len(self.photos), self.BATCH):
            self.crops.run()


VARIANTS = {"pillow": Pillow, "pillow-draft": Pillow, "torchvision": Torchvision, "torchvision-decode": Torchvision,
            "dali": Dali}


def read_photos(path):
    photos = []
    with open(path, "rb") as file:
        while head := file.read(8):
            photos.append(file.read(struct.unpack("<Q", head)[0]))
    return photos


def say(event, **fields):
    print(json.dumps({"event": event, **fields}), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--probe", action="store_true", help="only report whether Pillow is there")
    parser.add_argument("--photos", help="the photographs")
    parser.add_argument("--size", type=int, default=224, help="side of the crops (default 224)")
    parser.add_argument("--resize", type=int, default=256, help="shorter side in an evaluation (default 256)")
    parser.add_argument("--blocks", type=int, default=1, help="run a block for each of this many lines read on stdin")
    parser.add_argument("--variant", choices=sorted(VARIANTS), default="pillow")
    args = parser.parse_args()
    if args.probe:
        return
    random.seed(1)
    peer = VARIANTS[args.variant](args, read_photos(args.photos))
    mean = peer.mean()
    peer.block()
    say("ready", about=peer.about, mean=round(float(mean), 4))
    for block in range(1, args.blocks + 1):
        if not sys.stdin.readline():
            break
        start = time.perf_counter()
        peer.block()
        say("block", block=block, step_ms=round(1e3 * (time.perf_counter() - start), 3))


if __name__ == "__main__":
    main()
