"""Judges a trace as a reader that knows nothing of Tutti: check.py FILE RANKS COLLECTIVES hides|exposes TOLD

COLLECTIVES: how many a step has. hides: some collective is in flight while a backward task runs on
the same rank; exposes: none is. TOLD: what tutti-trace --json says of the trace. Prints what is wrong; the exit status is 1 when something is.
"""
import collections
import json
import sys

path, ranks, collectives, overlap, told = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), *sys.argv[4:]
with open(path, encoding="utf-8") as file:
    trace = json.load(file)
head, events = trace["otherData"], trace["traceEvents"]
wrong = []


def expect(condition, sentence):
    if not condition:
        wrong.append(sentence)


spans = [e for e in events if e["ph"] == "X"]
end = lambda e: e["ts"] + e["dur"]
printed = 0.002  # microseconds: times are rounded to a thousandth

expect(head["ranks"] == ranks and {e["pid"] for e in spans} == set(range(ranks)), "the ranks")
expect(head["spans_dropped"] == 0, "spans were dropped")
expect(all(e["dur"] >= 0 for e in spans), "a span ends before it begins")

# A worker, the main thread, and a row of a lane do one thing at a time.
rows = collections.defaultdict(list)
for e in spans:
    rows[e["pid"], e["tid"]].append(e)
for row, members in rows.items():
    members.sort(key=lambda e: e["ts"])
    for a, b in zip(members, members[1:]):
        expect(b["ts"] >= end(a) - printed, f"in row {row}, {a['name']} and {b['name']} overlap")
named = {(e["pid"], e["tid"]) for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
expect(set(rows) <= named, "a row has no name")

# Every collective of each step is there on each rank, and is the same one.
met = collections.defaultdict(dict)
for e in spans:
    if e["cat"] == "collective":
        met[e["args"]["sequence"]][e["pid"]] = e
steps = range(head["first_step"], head["last_step"] + 1)
count = collections.Counter()
slack = printed + 2e-3 * max(head["clock_error_ns"])
for sequence, by_rank in met.items():
    first = next(iter(by_rank.values()))
    what = {(e["name"], e["args"]["lane"], e["args"]["bytes"], e["args"]["step"]) for e in by_rank.values()}
    expect(len(what) == 1, f"collective {sequence} differs between ranks: {what}")
    if first["args"]["step"] not in steps:
        continue
    count[first["args"]["step"]] += 1
    expect(len(by_rank) == ranks, f"collective {sequence} ({first['name']}) is not on every rank")
    for e in by_rank.values():
        expect(e["args"]["reserved"] <= e["args"]["ready"] + printed, f"{e['name']}: ready before it was submitted")
        expect(e["args"]["ready"] <= e["ts"] + printed, f"{e['name']}: started before it was ready")
    # With clocks that agree, none has ended before all have started.
    expect(max(e["ts"] for e in by_rank.values()) <= min(end(e) for e in by_rank.values()) + slack,
           f"collective {sequence} ({first['name']}) ended on one rank before another started it")
expect(all(count[s] == collectives for s in steps), f"collectives of each step: {dict(count)}, not {collectives}")

# Queued from ready to start, as asynchronous pairs.
begun = collections.Counter((e["pid"], e["id2"]["local"], e["ph"]) for e in events if e.get("cat") == "queued")
expect(all(begun[p, i, "b"] == begun[p, i, "e"] == 1 for p, i, _ in begun), "what is queued does not begin and end once")

# Each step's tasks are there, and the main thread's waits.
for rank in range(ranks):
    for kind in ("forward", "backward", "update", "copy", "start"):
        there = {e["args"]["step"] for e in spans if e["pid"] == rank and e["cat"] == kind}
        expect(set(steps) <= there, f"rank {rank} has no {kind} in some step")
    expect(any(e["cat"] == "wait" for e in spans if e["pid"] == rank), f"rank {rank} never waits")

# Whether communication overlaps the backward pass.
hidden = 0
for rank in range(ranks):
    backward = [e for e in spans if e["pid"] == rank and e["cat"] == "backward"]
    moving = [e for e in spans if e["pid"] == rank and e["cat"] == "collective"]
    hidden += sum(any(c["ts"] < end(b) and b["ts"] < end(c) for b in backward) for c in moving)
expect((hidden > 0) == (overlap == "hides"), f"{hidden} collectives overlap a backward task: not what {overlap}")



def union(intervals):
    """Disjoint intervals in order."""
    joined = []
    for begin, until in sorted(intervals):
        if joined and begin <= joined[-1][1]:
            joined[-1][1] = max(joined[-1][1], until)
        else:
            joined.append([begin, until])
    return joined


def length(intervals):
    return sum(until - begin for begin, until in intervals)


# What tutti-trace says is exposed: in flight while no kernel runs.
with open(told, encoding="utf-8") as file:
    told = json.load(file)
expect([s["step"] for s in told["steps"]] == list(steps), "the steps that are told")
for said in told["steps"]:
    flight = exposed = 0
    for rank in range(ranks):
        kernels = [(e["ts"], end(e)) for e in spans if e["pid"] == rank and
                   e["cat"] in ("forward", "backward", "sum", "update")]
        moving = [(e["ts"], end(e)) for e in spans if e["pid"] == rank and
                  e["cat"] == "collective" and e["args"]["step"] == said["step"]]
        flight += length(union(moving)) / 1e3 / ranks
        exposed += (length(union(moving + kernels)) - length(union(kernels))) / 1e3 / ranks
    for name, truth in ("flight_ms", flight), ("exposed_ms", exposed):
        expect(abs(said[name] - truth) < 1e-3 + 1e-6 * truth, f"step {said['step']}: {name} {said[name]}, not {truth}")
    expect(said["ms"] > 0, f"step {said['step']} takes no time")
expect(abs(sum(c["exposed_ms"] for c in told["collectives"]) - told["exposed_ms"]) < 1e-3, "the sum of what is exposed")
path = told["critical_path"]
parts = sum(path[k] for k in ("compute_ms", "communicate_ms", "copy_ms", "nobody_ms"))
expect(abs(parts - path["ms"]) < 1e-3, f"the critical path's parts make {parts} ms of {path['ms']}")

for sentence in wrong[:20]:
    print(sentence)
sys.exit(bool(wrong))
