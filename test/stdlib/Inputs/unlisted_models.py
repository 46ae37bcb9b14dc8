"""Lists the models of the standard library that no test counts.

    unlisted_models.py STDLIB TESTS
"""

import pathlib
import re
import sys

stdlib, tests = map(pathlib.Path, sys.argv[1:])
declared = [name for file in sorted((stdlib / "models").glob("*.recipe"))
            for name in re.findall(r"^let (\w+) = ", file.read_text(), re.M)]
counted = re.findall(r"(\w+)=[0-9.e]+", "".join(
    file.read_text() for file in sorted(tests.glob("parameters_*.test"))))
for name in declared:
    if counted.count(name) != 1:
        print(f"{name} is counted {counted.count(name)} times")
print(f"{len(declared)} models")
