#!/usr/bin/env python3
"""Runs `recipec tune`, and `recipec estimate` of each layout that it prints.

check_tune RECIPEC SECONDS TOP FILE[:NAME] [--set PATH=VALUE]...

Each layout fits, is faster than the written one where that fits, and has the
printed time and memory. The fastest is first. SECONDS limits the CPU time of
the search, over all cores, on a host that adds 14 million numbers a second in
Python; a slower one may take longer in proportion.
"""

import json
import resource
import subprocess
import sys
import time

recipec, limit, top, *arguments = sys.argv[1:]


def output(command, options):
    return json.loads(subprocess.run(
        [recipec, command, *arguments, *options, "--json"], check=True,
        capture_output=True, text=True).stdout)


def slowness():
    """How many times longer than the reference host this one takes, at least 1."""
    count, begin = 2_000_000, time.process_time()
    total = 0
    for i in range(count):
        total += i
    return max(1, (time.process_time() - begin) * 14e6 / count)


def used():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def main():
    found = output("tune", ["--top", top])
    spent, most = used(), float(limit) * slowness()
    assert spent <= most, f"{spent:.1f} s of CPU time, at most {most:.1f} s"
    times = [each["step_seconds"] for each in found["best"]]
    assert times and times == sorted(times), times
    for each in found["best"]:
        estimate = output("estimate", [
            option for setting in each["settings"]
            for option in ("--set", setting)])
        assert each["fits"] and estimate["fits"], each
        assert each["step_seconds"] == estimate["step_seconds"], each
        assert each["memory_bytes"] == max(
            stage["total_bytes"] for stage in estimate["stages"]), each
        degrees = estimate["layout"]
        assert each["layout"] == degrees, (each, degrees)
        written = found["written"]
        assert not written["fits"] or times[0] < written["step_seconds"], each
    print(f"{len(times)} layouts, {spent:.1f} s")


main()
