"""The values of metrics.jsonl as programs that draw them should have them."""

import json


def scalars(path):
    """(tag, step): (time, value) for each value of each line."""
    wanted = {}
    for line in open(path):
        row = json.loads(line)
        time, step = row.pop("time"), row.pop("step")
        for part in ("seconds", "grad_norms"):
            for key, value in row.pop(part, {}).items():
                row[f"{part}/{key}"] = value
        for key, value in row.items():
            wanted[key, step] = (time, value)
    return wanted


def expect(found, wanted, what):
    if found != wanted:
        raise SystemExit(f"{what}: {found!r}, expected {wanted!r}")
