#!/usr/bin/env python3
"""Runs recipec under decreasing memory limits.

  check_memory.py RECIPEC ARGUMENT...

It must either succeed, or report that memory ran out and exit with 1. The
limits range from the memory at program start to the memory that it needs.
"""

import resource
import subprocess
import sys

MEBIBYTE = 1 << 20


def run(command, limit):
    set_limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    return subprocess.run(command, capture_output=True, text=True,
                          preexec_fn=set_limit)


def succeeds(command, limit):
    return run(command, limit).returncode == 0


def smallest(command, low, high):
    """The lowest limit at which the command succeeds, to a MiB."""
    while high - low > MEBIBYTE:
        middle = (low + high) // 2
        low, high = ((low, middle) if succeeds(command, middle) else
                     (middle, high))
    return high


def main():
    command = sys.argv[1:]
    start = smallest([command[0], "--version"], 4 * MEBIBYTE, 512 * MEBIBYTE)
    need = smallest(command, start, 2048 * MEBIBYTE)
    refused = 0
    for step in range(12):
        limit = start + MEBIBYTE + (need - start) * step // 12
        result = run(command, limit)
        if result.returncode == 0:
            continue
        refused += 1
        last = result.stderr.strip().splitlines()[-1:]
        expected = f"error: out of memory: this process may take {limit >> 20} MiB"
        if result.returncode != 1 or not last or expected not in last[0]:
            sys.exit(f"at {limit >> 20} MiB: exit {result.returncode}, "
                     f"{result.stderr[-300:]}")
    print(f"{refused} refusals between {start >> 20} and {need >> 20} MiB")
    sys.exit(refused == 0)


main()
