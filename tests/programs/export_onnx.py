"""export_onnx.py DIR IMAGE NAME...: ONNX Runtime says of the picture what tutti-predict says (DIR/NAME.onnx, DIR/NAME.json).

The picture has the size of the network's images, or is grey all over, so that it is the same at any size.
"""
import json
import sys

import numpy
import onnxruntime
import PIL.Image

folder, image, names = sys.argv[1], sys.argv[2], sys.argv[3:]
picture = PIL.Image.open(image)
for name in names:
    session = onnxruntime.InferenceSession(f"{folder}/{name}.onnx", providers=["CPUExecutionProvider"])
    words = session.get_modelmeta().custom_metadata_map
    (images,), (logits,) = session.get_inputs(), session.get_outputs()
    height, width, channels = (int(x) for x in words["shape"].split("x"))
    assert images.name == "images" and images.shape[1:] == [channels, height, width], images.shape
    assert logits.name == "logits" and logits.shape[1:] == [int(words["classes"])], logits.shape
    mean, deviation = (numpy.array([float(x) for x in words[k].split(",")], numpy.float32) for k in ("mean", "deviation"))
    if picture.size == (width, height):
        pixels = numpy.stack(3 * [numpy.array(picture.convert("RGB" if channels == 3 else "L")).reshape(height, width, channels)])
    else:
        grey = numpy.array(picture.convert("L"))
        assert grey.min() == grey.max(), "the picture is neither of the right size nor grey all over"
        pixels = numpy.full((3, height, width, channels), grey.flat[0])
    batch = ((pixels.astype(numpy.float32) / 255 - mean) / deviation).transpose(0, 3, 1, 2).astype(numpy.float32)
    out = session.run(["logits"], {"images": batch})[0].astype(numpy.float64)
    assert numpy.abs(out - out[0]).max() < 1e-4 * (1 + numpy.abs(out).max()), "the rows of a batch differ"
    theirs = numpy.exp(out[0] - out[0].max())
    theirs /= theirs.sum()
    for guess in json.load(open(f"{folder}/{name}.json"))["predictions"]:
        assert abs(guess["probability"] - theirs[guess["label"]]) < 1e-5, (name, guess, theirs)
    print("ONNX Runtime agrees on", name, theirs)
