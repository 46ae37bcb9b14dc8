"""Lists fields of schemas and models without a `##` comment, by `recipec doc`.

    uncommented.py RECIPEC FILE...    or, for every file of the library in STDLIB,
    uncommented.py RECIPEC STDLIB
"""

import pathlib
import re
import subprocess
import sys

recipec, *files = sys.argv[1:]
folder = pathlib.Path(files[0])
if folder.is_dir():
    files = sorted(f"std/{file.relative_to(folder)}"
                   for file in folder.rglob("*.recipe"))
fields = 0
for file in files:
    text = subprocess.run([recipec, "doc", file], capture_output=True,
                          text=True, check=True).stdout
    for row in re.findall(r"^\| `.*\|$", text, re.M):
        cells = re.split(r"(?<!\\)\|", row)[1:-1]
        fields += 1
        if not cells[-1].strip():
            print(f"{file}: {cells[0].strip()} has no comment")
print(f"{fields} fields")
