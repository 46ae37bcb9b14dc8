"""Compares fields of two estimates: less, equal or more in the first one.

compare_estimates.py FIRST SECOND FIELD...
"""
import json
import sys

first, second = (json.load(open(path)) for path in sys.argv[1:3])


def value(estimate, field):
    return estimate["stages"][0].get(field, estimate.get(field))


for field in sys.argv[3:]:
    a, b = value(first, field), value(second, field)
    print(field, "less" if a < b else "equal" if a == b else "more")
