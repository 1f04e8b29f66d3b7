"""Judges the trace of tests/trace/attached.c as a reader that knows nothing of Tutti: attached.py FILE RANKS DESIGN TOLD

TOLD: what tutti-trace --json says of the trace. Prints what is wrong; the exit status is 1 when something is.
"""
import collections
import json
import sys

path, ranks, design, told = sys.argv[1], int(sys.argv[2]), *sys.argv[3:]
STEPS, WORK, WORK_US, BYTES = 3, 10, 3000, 50000 * 8
DRIFT = 5e-4  # the most that clocks may differ in their rates (designs/thread/clocks.h)
with open(path, encoding="utf-8") as file:
    trace = json.load(file)
head, events = trace["otherData"], trace["traceEvents"]
spans = [e for e in events if e["ph"] == "X"]
end = lambda e: e["ts"] + e["dur"]
printed = 0.002  # microseconds: times are rounded to a thousandth
wrong = []


def expect(condition, sentence):
    if not condition:
        wrong.append(sentence)


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


expect(head["ranks"] == ranks and head["spans_dropped"] == 0, f"the head: {head}")
expect(head["design"] == design and head["model"].endswith("attached"), f"the head: {head}")
expect(head["first_step"] == head["last_step"] == 1, "it is one step")

# What one thread does, it does one after the other.
rows = collections.defaultdict(list)
for e in spans:
    rows[e["pid"], e["tid"]].append(e)
for row, members in rows.items():
    members.sort(key=lambda e: e["ts"])
    for a, b in zip(members, members[1:]):
        expect(b["ts"] >= end(a) - printed, f"in row {row}, {a['name']} and {b['name']} overlap")

hidden = flight = exposed = 0
for rank in range(ranks):
    mine = [e for e in spans if e["pid"] == rank]
    count = collections.Counter((e["cat"], e["name"]) for e in mine if e["cat"] != "wait")
    wanted = {("task", "fill"): STEPS, ("task", "work"): STEPS * WORK, ("start", "the sum"): STEPS,
              ("collective", "the sum"): STEPS}
    expect(count == wanted, f"rank {rank} has {dict(count)}")
    expect({e["args"]["step"] for e in mine} == {1}, f"rank {rank}: the steps")
    least = WORK_US * (1 - DRIFT) - printed  # on the clock of rank 0
    expect(all(e["dur"] >= least for e in mine if e["name"] == "work"), f"rank {rank}: a task is too short")
    expect(any(e["cat"] == "wait" and e["name"] == "tutti_wait" and e["tid"] == 0 for e in mine), f"rank {rank} never waits")
    fills = sorted((e for e in mine if e["name"] == "fill"), key=end)
    sums = sorted((e for e in mine if e["cat"] == "collective"), key=lambda e: e["ts"])
    for fill, e in zip(fills, sums):
        expect(e["args"]["bytes"] == BYTES and e["args"]["what"] == "allreduce", f"rank {rank}: {e}")
        expect(e["args"]["reserved"] <= e["args"]["ready"] + printed, f"rank {rank}: ready before it was inserted")
        expect(fill["ts"] <= e["args"]["ready"] <= e["ts"] + printed, f"rank {rank}: ready before its data were, or after its start")
    tasks = [(e["ts"], end(e)) for e in mine if e["cat"] == "task"]
    moving = [(e["ts"], end(e)) for e in sums]
    hidden += sum(c[0] < t[1] and t[0] < c[1] for c in moving for t in tasks)
    flight += length(union(moving)) / 1e3 / ranks
    exposed += (length(union(moving + tasks)) - length(union(tasks))) / 1e3 / ranks
if design != "sequential" and ranks > 1: # alone, a sum ends as it starts
    expect(hidden > 0, "no collective is in flight while a task runs")

# Every collective is the same one on each rank, and with clocks that agree, none ends before all have started.
met = collections.defaultdict(list)
for e in spans:
    if e["cat"] == "collective":
        met[e["args"]["sequence"]].append(e)
slack = printed + 2e-3 * max(head["clock_error_ns"])
for sequence, group in met.items():
    expect(len(group) == ranks and len({e["args"]["lane"] for e in group}) == 1, f"collective {sequence}: {group}")
    expect(max(e["ts"] for e in group) <= min(end(e) for e in group) + slack, f"collective {sequence} ends too early")

# What tutti-trace says of it.
with open(told, encoding="utf-8") as file:
    told = json.load(file)
said = told["steps"][0]
expect(len(told["steps"]) == 1, "tutti-trace sees other steps")
for name, truth in ("flight_ms", flight), ("exposed_ms", exposed):
    expect(abs(said[name] - truth) < 1e-3 + 1e-6 * truth, f"{name} {said[name]}, not {truth}")
expect({w["rank"] for w in told["workers"] if w["task_pct"] > 0} == set(range(ranks)), "a rank computes nothing")

for sentence in wrong[:20]:
    print(sentence)
sys.exit(bool(wrong))
