#!/usr/bin/python3
"""A peer of `tutti-bench svm`: trainings of a C-SVC with an RBF kernel by LIBSVM, ThunderSVM or scikit-learn-intelex.

    svm_peer.py --package thundersvm --data a9a --model FILE --cost 1 --gamma 0.008 --eps 0.001

Says {"event": "ready", "about": ...}; then trains once for each line read on stdin, writes the model in LIBSVM's format, and says
how long the training itself took: {"event": "block", "step_ms": ...}. One thread.
"""

import argparse
import json
import os
import sys
import time

for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"


def say(**event):
    print(json.dumps(event), file=output, flush=True)


def read(path):
    """Labels, and rows as lists of (index, value)."""
    labels, rows = [], []
    with open(path) as lines:
        for line in lines:
            words = line.split()
            if words:
                labels.append(int(float(words[0])))
                rows.append([(int(i), float(v)) for i, v in (word.split(":") for word in words[1:])])
    return labels, rows


def sparse(rows):
    from scipy.sparse import csr_matrix

    first, index, value = [0], [], []
    for row in rows:
        index += [i - 1 for i, _ in row]
        value += [v for _, v in row]
        first.append(len(index))
    return csr_matrix((value, index, first), shape=(len(rows), max(index) + 1))


def write(path, gamma, labels, rho, vectors):
    """LIBSVM's file: vectors of the first class have coefficients above 0."""
    counts = [sum(1 for c, _ in vectors if c > 0), sum(1 for c, _ in vectors if c <= 0)]
    with open(path, "w") as out:
        out.write(f"svm_type c_svc\nkernel_type rbf\ngamma {gamma:.17g}\nnr_class 2\ntotal_sv {len(vectors)}\nrho {rho:.17g}\n"
                  f"label {labels[0]} {labels[1]}\nnr_sv {counts[0]} {counts[1]}\nSV\n")
        for positive in (True, False):
            for c, row in vectors:
                if (c > 0) == positive:
                    out.write(f"{c:.17g} " + "".join(f"{i}:{v:.17g} " for i, v in row) + "\n")


def libsvm_training(o):
    from libsvm import svmutil

    labels, rows = read(o.data)
    problem = svmutil.svm_problem(labels, [dict(row) for row in rows])
    parameter = svmutil.svm_parameter(f"-q -c {o.cost!r} -g {o.gamma!r} -e {o.eps!r}")

    def train():
        begun = time.perf_counter()
        model = svmutil.svm_train(problem, parameter)
        took = time.perf_counter() - begun
        svmutil.svm_save_model(o.model, model)
        return took

    return train, "LIBSVM of PyPI"


def thundersvm_training(o):
    """Its own command line, reading and writing included: its class for Python takes sparse rows for others."""
    import ctypes
    import glob

    import thundersvm

    library = ctypes.CDLL(glob.glob(os.path.join(os.path.dirname(thundersvm.__file__), "libthundersvm*"))[0])
    words = ["thundersvm-train", "-s", "0", "-t", "2", "-q", "-c", repr(o.cost), "-g", repr(o.gamma), "-e", repr(o.eps), o.data, o.model]
    argv = (ctypes.c_char_p * len(words))(*(word.encode() for word in words))

    def train():
        begun = time.perf_counter()
        library.thundersvm_train(len(words), argv)
        return time.perf_counter() - begun

    return train, "ThunderSVM on the CPU"


def estimator_training(o, make, about):
    import numpy

    labels, rows = read(o.data)
    x, y = sparse(rows), numpy.array(labels)

    def train():
        machine = make()
        begun = time.perf_counter()
        machine.fit(x, y)
        took = time.perf_counter() - begun
        coefficients = machine.dual_coef_
        coefficients = coefficients.toarray() if hasattr(coefficients, "toarray") else numpy.asarray(coefficients)
        order = [int(i) for i in numpy.asarray(machine.support_).ravel()]
        vectors = [(float(c), rows[i]) for c, i in zip(coefficients.ravel(), order)]
        write(o.model, o.gamma, (1, 0), 0.0, vectors)
        return took

    return train, about


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--probe", action="store_true")
    parser.add_argument("--package", choices=("libsvm", "thundersvm", "intelex"))
    parser.add_argument("--data")
    parser.add_argument("--model")
    for name in ("--cost", "--gamma", "--eps"):
        parser.add_argument(name, type=float)
    o = parser.parse_args()
    if o.probe:
        return
    if o.package == "libsvm":
        train, about = libsvm_training(o)
    elif o.package == "thundersvm":
        train, about = thundersvm_training(o)
    else:
        from sklearnex.svm import SVC

        train, about = estimator_training(
            o, lambda: SVC(kernel="rbf", C=o.cost, gamma=o.gamma, tol=o.eps, cache_size=200), "scikit-learn-intelex")
    say(event="ready", about=about)
    for _ in sys.stdin:
        say(event="block", step_ms=1e3 * train())


if __name__ == "__main__":
    # what packages print goes to stderr
    output = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    main()
