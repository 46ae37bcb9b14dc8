"""Checks that every kind of diagnostic has a golden and an explanation.

covered.py DEF FOLDER RECIPEC. Prints every violation and exits 1 unless:
- FOLDER/<Kind>.golden begins a diagnostic with `error: ... [Kind]`, and
  FOLDER/<Kind>.recipe or .test compares it with the output;
- `recipec explain <Kind>` prints two sentences or more, an example indented
  by four, and a fix after it.
"""

import pathlib
import re
import subprocess
import sys


def golden_findings(kind, folder):
    golden = folder / f"{kind}.golden"
    if not golden.exists():
        return [f"{kind} has no golden"]
    heads = re.findall(r"^(?:error|warning): [^\n]*\[(\w+)\]$",
                       golden.read_text(), re.MULTILINE)
    tests = [folder / f"{kind}.recipe", folder / f"{kind}.test"]
    found = [] if kind in heads else [f"the golden of {kind} does not print it"]
    compares = re.compile(r"RUN:.*%golden\s+(\S*/)?" + kind + r"\.golden")
    if not any(test.exists() and compares.search(
            test.read_text(errors="replace")) for test in tests):
        found.append(f"no test compares the golden of {kind}")
    return found


def explanation_findings(kind, recipec):
    run = subprocess.run([recipec, "explain", kind], capture_output=True,
                         text=True)
    if run.returncode != 0:
        return [f"{kind} is not explained"]
    # Skip the heading, which is the kind.
    text = run.stdout.split("\n", 2)[2]
    found = []
    if len(re.findall(r"[.!?](?=\s|$)", text)) < 2:
        found.append(f"the explanation of {kind} is less than two sentences")
    if not re.search(r"\n\n    \S.*?\n\n(?! )\S", text, re.DOTALL):
        found.append(f"the explanation of {kind} has no example and remedy")
    return found


def main():
    definitions, folder, recipec = sys.argv[1:]
    folder = pathlib.Path(folder)
    kinds = re.findall(r"^DIAGNOSTIC\((\w+),",
                       pathlib.Path(definitions).read_text(), re.MULTILINE)
    findings = [] if kinds else ["there are no kinds"]
    for kind in kinds:
        findings += golden_findings(kind, folder)
        findings += explanation_findings(kind, recipec)
    for golden in sorted(folder.glob("*.golden")):
        if golden.stem not in kinds:
            findings.append(f"{golden.name} is of no kind")
    for finding in findings:
        print(finding)
    print(f"{len(kinds)} kinds, {len(findings)} findings")
    return 1 if findings else 0


sys.exit(main())
