#!/usr/bin/env python3
"""Converts a file of torch.save (torchvision's or timm's .pth, a training's checkpoint) to safetensors, for --init-from.

Tensors keep their names and axes, but for those of timm's VGG, which get torchvision's. With --model, the file says what
tutti-predict and tutti-export need to know (doc/checkpoint.md): the model, the size of its images and how they are normalised.
Needs PyTorch and NumPy.
"""
import argparse
import json
import re
import struct
import sys

import numpy
import torch

TYPES = {torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16", torch.float64: "F64"}
WITHIN = ("state_dict", "model_state_dict", "model_state", "model", "net")
# timm's VGG ends in two convolutions over all pixels; torchvision's in dense layers with the same numbers.
RENAMED = (
    (r"^((?:module\.)?)pre_logits\.fc1\.", r"\1classifier.0."),
    (r"^((?:module\.)?)pre_logits\.fc2\.", r"\1classifier.3."),
    (r"^((?:module\.)?)head\.fc\.", r"\1classifier.6."),
)
# The mean and the deviation of images that weights of torchvision expect. GoogLeNet's are for transform_input=True.
IMAGENET = "0.485,0.456,0.406", "0.229,0.224,0.225"
NORMALISED = {"googlenet-bn": ("0.5,0.5,0.5", "0.5,0.5,0.5")}


def fail(words):
    sys.exit(f"from_torch.py: {words}")


def read_options():
    parser = argparse.ArgumentParser(description="Converts a file of torch.save to safetensors, for --init-from.")
    parser.add_argument("file", help="what torch.save has written: a state_dict, or a dictionary with one in it")
    parser.add_argument("to", help="the safetensors file to write")
    parser.add_argument("--key", help="which entry of the file has the weights, such as state_dict_ema (default: one of "
                        f"{', '.join(WITHIN)}, or the file itself)")
    parser.add_argument("--model", help="the name of the model (tutti-info --list models), for tutti-predict")
    parser.add_argument("--size", type=int, default=224, help="with --model: the side of its images (default 224)")
    parser.add_argument("--resize", type=int, help="with --model: the shorter side of photographs before the centre is cut out "
                        "(default: 8/7 of --size; 0: all images have this size)")
    parser.add_argument("--mean", help="with --model: of each channel, by which images are normalised (default: what the weights of "
                        "torchvision expect: ImageNet's; 0.5,0.5,0.5 for googlenet-bn)")
    parser.add_argument("--deviation", help="with --model: likewise")
    parser.add_argument("--class-names", metavar="FILE", help="with --model: a file with the name of a class on each line")
    return parser.parse_args()


def find_weights(path, key):
    try:
        found = torch.load(path, "cpu", weights_only=True)
    except Exception as error:  # of pickle, zipfile, the system: what they say is all that is known
        words = str(error).strip().splitlines()
        fail(f"{path}: cannot be loaded as weights alone: {words[0] if words else error!r}: in the program that made it, save "
             "net.state_dict()")
    if key:
        if not isinstance(found, dict) or key not in found:
            fail(f"{path}: has no entry {key}; it has {', '.join(map(str, found)) if isinstance(found, dict) else 'none'}")
        found = found[key]
    elif isinstance(found, dict):
        found = next((found[k] for k in WITHIN if isinstance(found.get(k), dict)), found)
    weights = {k: t for k, t in found.items() if torch.is_tensor(t)} if isinstance(found, dict) else {}
    if not weights:
        fail(f"{path}: holds no weights by their names" + ("" if key else ": which entry has them? say --key NAME"))
    return weights


def convert(weights):
    """Makes of names (type, shape, bytes); whole numbers, such as num_batches_tracked, are no weights."""
    tensors = {}
    for name, tensor in weights.items():
        if tensor.dtype not in TYPES:
            continue
        plain = name
        for pattern, becomes in RENAMED:
            plain = re.sub(pattern, becomes, plain)
        if plain != name and tensor.dim() == 4:
            tensor = tensor.flatten(1)
        if plain in tensors:
            fail(f"{name} and another tensor would both be {plain}")
        bits = tensor.detach().contiguous()
        bits = bits.view(torch.int16) if tensor.dtype == torch.bfloat16 else bits
        tensors[plain] = TYPES[tensor.dtype], list(tensor.shape), numpy.ascontiguousarray(bits.numpy()).tobytes()
    if not tensors:
        fail("holds whole numbers alone: these are no weights")
    return tensors


def describe(options, tensors):
    words = {"format": "pt"}
    if not options.model:
        return words
    dense = [shape[0] for _, shape, _ in tensors.values() if len(shape) == 2]
    classes = (dense or [shape[0] for _, shape, _ in tensors.values() if len(shape) == 4])[-1:]
    if not classes:
        fail("no weights say how many classes there are")
    if (options.mean is None) != (options.deviation is None):
        fail("--mean and --deviation belong together: give both or neither")
    mean, deviation = NORMALISED.get(options.model, IMAGENET)
    words.update({"model": options.model, "shape": f"{options.size}x{options.size}x3", "classes": str(classes[0]),
                  "mean": options.mean or mean, "deviation": options.deviation or deviation})
    resize = (options.size * 8 + 3) // 7 if options.resize is None else options.resize  # as tutti_resize_for
    if resize:
        words["resize"] = str(resize)
    if options.class_names:
        with open(options.class_names, encoding="utf-8") as lines:
            names = [line.strip() for line in lines if line.strip()]
        if len(names) != classes[0]:
            fail(f"{options.class_names}: names {len(names)} classes, and the network has {classes[0]}")
        words["class-names"] = json.dumps(names)
    return words


def save(path, words, tensors):
    header, at = {"__metadata__": words}, 0
    for name, (kind, shape, data) in tensors.items():
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [at, at + len(data)]}
        at += len(data)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _, _, data in tensors.values():
            file.write(data)


def main():
    options = read_options()
    tensors = convert(find_weights(options.file, options.key))
    try:
        save(options.to, describe(options, tensors), tensors)
    except OSError as error:
        fail(f"{error.filename}: {error.strerror}")
    print(f"{options.to}: {len(tensors)} tensors")


main()
