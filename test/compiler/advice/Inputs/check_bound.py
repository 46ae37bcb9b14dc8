#!/usr/bin/env python3
"""Checks the memory that NeedlessRecompute promises.

usage: check_bound.py RECIPEC FILE [PATH=VALUE]...

The warning about FILE says how much a rank takes at most without recomputation.
Fails without a warning, or if `estimate` without recomputation says more.
"""

import json
import re
import subprocess
import sys

UNITS = {"MiB": 2**20, "GiB": 2**30}


def main():
    recipec, file, *settings = sys.argv[1:]
    sets = [word for each in settings for word in ("--set", each)]
    check = subprocess.run([recipec, "check", file, *sets],
                           capture_output=True, text=True)
    said = re.search(r"a rank takes at most ([0-9.]+) (\wiB)", check.stderr)
    if not said:
        sys.exit("no warning:\n" + check.stderr)
    # Three digits are rounded.
    most = float(said[1]) * UNITS[said[2]] * 1.005
    sets = [word for each in settings if not each.startswith("memory.")
            for word in ("--set", each)]
    estimate = subprocess.run(
        [recipec, "estimate", file, "--json", *sets, "--set",
         'memory.recompute="none"'], capture_output=True, text=True, check=True)
    taken = max(stage["total_bytes"]
                for stage in json.loads(estimate.stdout)["stages"])
    if taken > most:
        sys.exit(f"{taken} bytes are more than {said[0]}")


main()
