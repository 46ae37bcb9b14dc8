#!/usr/bin/env python3
"""Compares `recipec tune` with the estimates of all layouts of a grid.

exhaustive RECIPEC FILE[:NAME] [DEGREE=VALUES]...

A layout that does not compile or does not fit has no estimate. The search takes
its predictions as exact to 1 % (compiler/search/Search.cpp), and may miss as much.
"""

import itertools
import json
import subprocess
import sys

recipec, target, *axes = sys.argv[1:]


def output(command, settings):
    options = [option for each in settings for option in ("--set", each)]
    done = subprocess.run([recipec, command, target, *options, "--json"],
                          capture_output=True, text=True)
    return json.loads(done.stdout) if done.returncode == 0 else None


def main():
    choices = [[f"{path}={value}" for value in values.split("|")]
               for path, _, values in (axis.partition("=") for axis in axes)]
    times = []
    for settings in itertools.product(*choices):
        estimate = output("estimate", settings)
        if estimate and estimate["fits"]:
            times.append(estimate["step_seconds"])
    found = output("tune", [])["best"][0]["step_seconds"]
    assert found <= 1.01 * min(times), (found, min(times))
    print(f"as fast as {len(times)} layouts")


main()
