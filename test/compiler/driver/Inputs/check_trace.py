"""Checks the trace of a predicted step against its estimate.

check_trace.py TRACE ESTIMATE
"""
import collections
import json
import sys

trace, estimate = (json.load(open(path)) for path in sys.argv[1:])
names, events = {}, collections.defaultdict(list)
for event in trace["traceEvents"]:
    place = event["pid"], event["tid"]
    if event["ph"] == "X":
        events[place].append((event["ts"], event["ts"] + event["dur"]))
    elif event["name"] == "thread_name":
        names[place] = event["args"]["name"]
for stage in sorted({pid for pid, _ in events}):
    print(f"stage {stage}:", ", ".join(
        names[place] for place in sorted(events) if place[0] == stage))
for spans in events.values():
    spans.sort()
    for (_, end), (begin, _) in zip(spans, spans[1:]):
        assert begin >= end - 1e-3, (begin, end)
print("no op overlaps another of its stream")
last = max(end for spans in events.values() for _, end in spans)
assert abs(last / 1e6 / estimate["step_seconds"] - 1) < 1e-6, last
print("the step ends with the last function")
