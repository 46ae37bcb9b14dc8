#!/usr/bin/env python3
"""Writes train.jsonl: 300 tickets of example 01 with answers in another form.

`safety-europe safety #8110 P1` becomes `safety-europe, safety, #8110, P1`.

Usage: python3 make_data.py [FOLDER]  (default: this folder)
"""

import json
import pathlib
import sys

TICKETS = 300


def main():
    here = pathlib.Path(__file__).parent
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else here
    source = here.parent / "01-support-triage" / "train.jsonl"
    lines = []
    for line in source.read_text().splitlines()[:TICKETS]:
        sample = json.loads(line)
        queue, issue, order, priority = sample["triage"].split()
        answer = ", ".join([queue, issue, order, priority])
        lines.append(json.dumps({"ticket": sample["ticket"], "line": answer}))
    (folder / "train.jsonl").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
