"""Whether a field of two estimates differs by less than a fraction of the second.

near_estimates.py FIRST SECOND FIELD FRACTION
"""
import json
import sys

first, second = (json.load(open(path))[sys.argv[3]] for path in sys.argv[1:3])
is_near = abs(first / second - 1) < float(sys.argv[4])
print(sys.argv[3], "near" if is_near else f"{first} and {second}")
