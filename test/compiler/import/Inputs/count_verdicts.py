#!/usr/bin/env python3
"""Compiles every recipe of files and counts the verdicts.

usage: count_verdicts.py RECIPEC FILE...

Prints how many recipes fit their devices and how many do not, a line for each
recipe that has another error, and the processor time of the slowest `check`.
"""

import re
import resource
import subprocess
import sys


def processor_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def verdict_of(recipec, recipe):
    """`fits`, `too large`, or the first line of the errors."""
    run = subprocess.run([recipec, "check", recipe],
                         capture_output=True, text=True)
    if run.returncode == 0:
        return "fits"
    first = run.stderr.splitlines()[0]
    return "too large" if first.endswith("[OutOfMemory]") else first


def main():
    recipec, *files = sys.argv[1:]
    slowest = (0, "")
    count = {"fits": 0, "too large": 0}
    refused = []
    for file in files:
        with open(file) as text:
            names = re.findall(r"^recipe (\w+)", text.read(), re.MULTILINE)
        for name in names:
            begin = processor_seconds()
            verdict = verdict_of(recipec, f"{file}:{name}")
            slowest = max(slowest, (processor_seconds() - begin, name))
            if verdict in count:
                count[verdict] += 1
            else:
                refused.append(f"refused: {name}: {verdict}")
    total = sum(count.values()) + len(refused)
    print(f"{total} recipes: {count['fits']} fit, {count['too large']} are too "
          f"large, {len(refused)} are refused")
    print(*refused, sep="\n")
    seconds, name = slowest
    print(f"slowest: {name}, {seconds:.1f} s")


main()
