#!/usr/bin/env python3
"""Runs `recipec tune`, and `recipec estimate` of each layout that it prints.

check_tune RECIPEC ESTIMATES TOP FILE[:NAME] [--set PATH=VALUE]...

Each layout fits, is faster than the written one where that fits, and has the
printed time and memory. The fastest is first. The search takes at most the CPU
time, over all cores, of ESTIMATES estimates: a measure that does not depend on the
host.
"""

import json
import resource
import subprocess
import sys

recipec, limit, top, *arguments = sys.argv[1:]


def output(command, options):
    return json.loads(subprocess.run(
        [recipec, command, *arguments, *options, "--json"], check=True,
        capture_output=True, text=True).stdout)


def used():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def main():
    found = output("tune", ["--top", top])
    search = used()
    output("estimate", [])
    estimates = search / (used() - search)
    assert estimates <= float(limit), f"the time of {estimates:.0f} estimates"
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
    print(f"{len(times)} layouts, {estimates:.0f} estimates")


main()
