"""Reads a table as scripts for nccl-tests do: by white space, from the header's
titles. Checks the formulas, and prints a line about it.

read_table.py LOG RANKS [FACTOR]: `FACTOR` is busbw / algbw.
"""

import re
import sys


def main():
    log, ranks = sys.argv[1], int(sys.argv[2])
    lines = open(log).read().splitlines()
    header = next(line.split()[1:] for line in lines
                  if line.startswith("#") and "algbw" in line)
    assert header[:13] == ("size count type redop root time algbw busbw #wrong "
                           "time algbw busbw #wrong").split(), header
    devices = [line for line in lines if re.match(r"#\s+Rank +\d+ Group", line)]
    assert len(devices) == ranks, devices
    rows = [line.split() for line in lines if line and not line.startswith("#")]
    wrong, buses = 0, []
    for row in rows:
        size, halves = int(row[0]), (row[5:9], row[9:13])
        for time, algbw, busbw, bad in halves:
            wrong += 0 if bad == "N/A" else float(bad)
            buses.append(float(busbw))
            if float(algbw) > 1 and float(time) > 100:
                rate = size / float(time) / 1e3
                factor = float(sys.argv[3]) if len(sys.argv) > 3 else None
                assert abs(float(algbw) / rate - 1) < 0.3, row
                if factor:
                    assert abs(float(busbw) / float(algbw) - factor) < 0.02, row
    printed = float(next(re.search(r"Avg bus bandwidth\s+: (\S+)", line)[1]
                         for line in lines if "Avg bus" in line))
    assert abs(printed - sum(buses) / len(buses)) < 0.006, printed
    name = next(line.split()[-1] for line in lines if "concluded" in line)
    print(f"{name}: {len(rows)} rows, {wrong:g} wrong elements, {ranks} ranks")


main()
