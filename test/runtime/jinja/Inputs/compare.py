"""Compares two files of rendered cases: `compare.py EXPECTED TEXTS`."""

import json
import sys

expected, texts = ([json.loads(line) for line in open(path, encoding="utf-8")]
                   for path in sys.argv[1:])
assert len(expected) == len(texts), f"{len(expected)} cases, {len(texts)} texts"
differing = [pair for pair in zip(expected, texts) if pair[0] != pair[1]]
for want, have in differing:
    print(f"{want['name']}\n  jinja: {want['text']!r}\n  here:  {have['text']!r}")
if differing:
    sys.exit(1)
refused = sum(each["text"] is None for each in texts)
print(f"{len(texts)} templates rendered alike, {refused} of them refused")
