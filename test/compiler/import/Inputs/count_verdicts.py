#!/usr/bin/env python3
"""Compiles every recipe of files and counts the verdicts.

usage: count_verdicts.py RECIPEC FILE...

Prints how many recipes fit their devices and how many do not, a line for each
recipe that has another error, and the time of all.
"""

import json
import re
import subprocess
import sys
import time


def verdict_of(recipec, recipe):
    """`fits`, `too large`, or the first line of the errors."""
    run = subprocess.run([recipec, "estimate", recipe, "--json"],
                         capture_output=True, text=True)
    if run.stdout:
        return "fits" if json.loads(run.stdout)["fits"] else "too large"
    return run.stderr.splitlines()[0]


def main():
    recipec, *files = sys.argv[1:]
    begin = time.monotonic()
    count = {"fits": 0, "too large": 0}
    refused = []
    for file in files:
        with open(file) as text:
            names = re.findall(r"^recipe (\w+)", text.read(), re.MULTILINE)
        for name in names:
            verdict = verdict_of(recipec, f"{file}:{name}")
            if verdict in count:
                count[verdict] += 1
            else:
                refused.append(f"refused: {name}: {verdict}")
    total = sum(count.values()) + len(refused)
    print(f"{total} recipes: {count['fits']} fit, {count['too large']} are too "
          f"large, {len(refused)} are refused")
    print(*refused, sep="\n")
    print(f"{time.monotonic() - begin:.1f} s")


main()
