"""export_torch.py FILE TREE: the exported weights of a resnet20 fill PyTorch's module, none missing and none left over."""
import json
import re
import struct
import sys

import numpy
import torch

sys.path.insert(0, sys.argv[2] + "/apps/bench")
import torch_compute  # noqa: E402

with open(sys.argv[1], "rb") as file:
    header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
    data = file.read()
header.pop("__metadata__")
weights = {}
for name, tensor in header.items():
    begin, end = tensor["data_offsets"]
    block = re.sub(r"^layer(\d)\.(\d)\.", lambda m: f"layers.{3 * int(m[1]) - 3 + int(m[2])}.", name)
    weights[block] = torch.from_numpy(numpy.frombuffer(data[begin:end], "<f4").reshape(tensor["shape"]).copy())
net = torch_compute.ResNet(3, 2)
missing, unexpected = net.load_state_dict(weights, strict=False)
assert not unexpected and all(n.endswith("num_batches_tracked") for n in missing), (missing, unexpected)
