#!/usr/bin/env python3
"""Writes pillow.txt: images changed by Pillow's ImageEnhance, which tests/data/test_jitter.c compares with.

torchvision's ColorJitter calls the same on Pillow's images. The first line has the width and height of the images. A
line after it is: operations in their order (b, c, s), the factor of each in 1/16384, the image, and what became of it,
both as hexadecimal digits.
"""
import random

import PIL
from PIL import Image, ImageEnhance

WIDTH, HEIGHT, ONE = 7, 3, 16384
enhance = {"b": ImageEnhance.Brightness, "c": ImageEnhance.Contrast, "s": ImageEnhance.Color}
orders = ["bcs", "bsc", "cbs", "csb", "sbc", "scb"]


def pictures(draw):
    size = WIDTH * HEIGHT * 3
    yield bytes(draw.randrange(256) for _ in range(size))
    yield bytes(draw.choice((0, 1, 127, 128, 254, 255)) for _ in range(size))
    dark = draw.randrange(100)
    yield bytes(min(255, dark + draw.randrange(40)) for _ in range(size))


def factor(draw):
    return draw.choice((0, 1, ONE - 1, ONE, ONE + 1, 2 * ONE, draw.randrange(2 * ONE), draw.randrange(2 * ONE)))


draw = random.Random(5)
with open(__file__.replace("make.py", "pillow.txt"), "w", encoding="ascii") as out:
    print(WIDTH, HEIGHT, "Pillow", PIL.__version__, file=out)
    for order in orders * 4:
        for before in pictures(draw):
            factors = [factor(draw) for _ in order]
            image = Image.frombytes("RGB", (WIDTH, HEIGHT), before)
            for operation, f in zip(order, factors):
                image = enhance[operation](image).enhance(f / ONE)
            print(order, *factors, before.hex(), image.tobytes().hex(), file=out)
