"""What others say of tutti-export's files; export_others.sh has the cases.

pictures DIR SIZE CLASSES                a data set of noise: DIR/train/cN/*.png, DIR/val/cN/*.png
picture DIR SIZE                         some more pictures: DIR/*.png
onnx-by-doc CHECKPOINT.md DIR NAME       DIR/NAME.onnx, by the documented lines, says what DIR/NAME.json says
torch-by-doc CHECKPOINT.md DIR NAME      DIR/NAME.torch, by the documented lines
torchvision-loss FILE DIR SIZE           writes weights of torchvision's resnet18, prints its loss on DIR/cN/*.png
"""
import glob
import json
import os
import re
import sys

import numpy
import PIL.Image


def pictures(folder, size, classes):
    random = numpy.random.RandomState(1)
    for split, count in ("train", 4), ("val", 1):
        for label in range(int(classes)):
            where = f"{folder}/{split}/c{label}"
            os.makedirs(where)
            for number in range(count):
                save(random, f"{where}/{number}.png", int(size))


def picture(folder, size):
    random = numpy.random.RandomState(2)
    for number in range(3):
        save(random, f"{folder}/{number}.png", int(size))


def save(random, name, size):
    """Noise, of which each picture and channel has another amount."""
    pixels = random.randint(0, 256, (size, size, 3)) * random.rand(3) ** 2
    PIL.Image.fromarray(pixels.astype(numpy.uint8)).save(name)


def block(doc, word):
    """The lines of Python of doc that contain the word."""
    return next(b for b in re.findall(r"^```(?:python)?\n(.*?)^```$", open(doc).read(), re.S | re.M) if word in b)


def centre(name, size):
    pixels = numpy.asarray(PIL.Image.open(name))
    begin = (len(pixels) - size) // 2
    return pixels[begin:begin + size, begin:begin + size]


def said(folder, name):
    """Rows of tutti-predict, and their probabilities by label."""
    rows = [json.loads(line) for line in open(f"{folder}/{name}.json")]
    return rows, numpy.array([[p["probability"] for p in sorted(r["predictions"], key=lambda p: p["label"])] for r in rows])


def compare(name, ours, logits):
    """Probabilities, and their logarithms beside how much these differ between pictures."""
    theirs = numpy.exp(logits.astype("f8") - logits.max(axis=1, keepdims=True))
    theirs /= theirs.sum(axis=1, keepdims=True)
    spread = numpy.ptp(numpy.log(ours), axis=0).max()
    differs = abs(numpy.log(theirs) - numpy.log(ours)).max()
    print(f"{name}: probabilities differ by {abs(theirs - ours).max()}, their logarithms by {differs} and between pictures by {spread}")
    assert ours.shape == theirs.shape and spread > 1e-3, "the network says the same of all pictures"
    assert abs(theirs - ours).max() < 1e-4 and differs < 1e-3 * spread


def onnx_by_doc(doc, folder, name):
    rows, ours = said(folder, name)
    os.chdir(folder)
    lines = block(doc, "onnxruntime").replace("mine.onnx", name + ".onnx")
    import onnxruntime
    size = int(onnxruntime.InferenceSession(name + ".onnx").get_inputs()[0].shape[2])
    scope = {"pixels": numpy.stack([centre(r["image"], size) for r in rows])}
    exec(lines, scope)
    compare(name, ours, scope["logits"])


def torch_by_doc(doc, folder, name):
    import torch
    rows, ours = said(folder, name)
    os.chdir(folder)
    scope = {}
    exec(block(doc, "torchvision").replace("mine.torch", name + ".torch"), scope)
    words = json.load(open_header(name + ".torch"))["__metadata__"]
    mean, deviation = (numpy.array([float(x) for x in words[k].split(",")], "f4") for k in ("mean", "deviation"))
    pixels = numpy.stack([centre(r["image"], int(words["shape"].split("x")[0])) for r in rows])
    images = torch.from_numpy(((pixels / 255 - mean) / deviation).transpose(0, 3, 1, 2).astype("f4"))
    with torch.no_grad():
        compare(name, ours, scope["net"].eval()(images).numpy())


def open_header(path):
    import io
    with open(path, "rb") as file:
        return io.BytesIO(file.read(int.from_bytes(file.read(8), "little")))


def torchvision_loss(path, folder, size):
    import safetensors.torch
    import torch
    import torchvision
    torch.manual_seed(3)
    net = torchvision.models.resnet18(num_classes=10)
    for name, tensor in net.state_dict().items():
        if tensor.dim() == 1 and tensor.is_floating_point():
            tensor.uniform_(0.5, 1.5)
    safetensors.torch.save_file(net.state_dict(), path)
    names = [(int(n.split("/c")[-1].split("/")[0]), n) for n in sorted(glob.glob(folder + "/c*/*.png"))]
    mean, deviation = numpy.array([0.485, 0.456, 0.406], "f4"), numpy.array([0.229, 0.224, 0.225], "f4")
    pixels = numpy.stack([centre(n, int(size)) for _, n in names])
    images = torch.from_numpy(((pixels / 255 - mean) / deviation).transpose(0, 3, 1, 2).astype("f4"))
    with torch.no_grad():
        print(float(torch.nn.functional.cross_entropy(net.eval()(images), torch.tensor([label for label, _ in names]))))


if __name__ == "__main__":
    globals()[sys.argv[1].replace("-", "_")](*sys.argv[2:])
