#!/usr/bin/env python3
"""pillow.txt: what the operations of torchvision's RandAugment make of a small image.

Each line: the number of the operation (apps/data/rand_augment.h), the magnitude, the pixels in hexadecimal; the first line has the
width, the height, who computed it, and the pixels before. Needs Pillow and torchvision: make.py > pillow.txt
"""
import random
import sys
import PIL.Image
import torchvision
from torchvision.transforms import autoaugment
from torchvision.transforms.functional import InterpolationMode

WIDTH, HEIGHT, ONE = 19, 15, 16384
NAMES = ["Identity", "ShearX", "ShearY", "TranslateX", "TranslateY", "Rotate", "Brightness", "Color", "Contrast", "Sharpness",
         "Posterize", "Solarize", "AutoContrast", "Equalize"]
draw = random.Random(5)
pixels = bytes(min(255, max(0, int(draw.gauss(20 + 6 * x + 5 * y, 12) * (1 - 0.2 * c)))) for y in range(HEIGHT)
               for x in range(WIDTH) for c in range(3))
image = PIL.Image.frombytes("RGB", (WIDTH, HEIGHT), pixels)
space = autoaugment.RandAugment()._augmentation_space(31, (HEIGHT, WIDTH))
print(WIDTH, HEIGHT, f"Pillow-{PIL.__version__}-torchvision-{torchvision.__version__}", pixels.hex())
for number, name in enumerate(NAMES):
    values, signed = space[name]
    for magnitude in (9, -9, -30) if signed else (9, 30) if values.ndim else (0,):
        value = float(values[abs(magnitude)]) if values.ndim else 0.0
        if name in ("Brightness", "Color", "Contrast", "Sharpness"):  # exact in Pillow's float arithmetic, as in jitter.h
            value = round(value * ONE) / ONE
        after = autoaugment._apply_op(image, name, value if magnitude > 0 else -value, InterpolationMode.NEAREST, None)
        print(number, magnitude, after.tobytes().hex())
