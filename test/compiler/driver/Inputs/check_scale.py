#!/usr/bin/env python3
"""Compares `recipec scale --json` with `recipec estimate`, and with its chart.

check_scale RECIPEC CHART FILE[:NAME] --ranks FIRST..LAST
"""

import json
import subprocess
import sys
import xml.etree.ElementTree

recipec, chart, target, *options = sys.argv[1:]


def output(*arguments):
    return json.loads(subprocess.run([recipec, *arguments, "--json"],
                                     check=True, capture_output=True,
                                     text=True).stdout)


def main():
    found = output("scale", target, *options)
    points = [point for kind in ("weak", "strong") for point in found[kind]
              if "reason" not in point]
    for point in points:
        estimate = output("estimate", target,
                          "--set", f"cluster.ranks={point['ranks']}",
                          "--set", f"batch.global={point['global_batch']}")
        for key in ("step_seconds", "tokens_per_second_per_rank", "mfu"):
            assert point[key] == estimate[key], (key, point, estimate)
        assert point["fits"] == estimate["fits"], point
    for kind in ("weak", "strong"):
        rates = [(point["tokens_per_second_per_rank"], point["efficiency"])
                 for point in found[kind] if "reason" not in point]
        for rate, efficiency in rates:
            assert abs(efficiency - rate / rates[0][0]) < 1e-12, found[kind]
    tree = xml.etree.ElementTree.parse(chart)
    names = [each.tag.rpartition("}")[2] for each in tree.iter()]
    assert names.count("circle") == len(points) + 2, names  # and the legend
    assert names.count("polyline") == 2, names
    assert not any("href" in key for each in tree.iter() for key in each.attrib)
    print(f"{len(points)} points")


main()
