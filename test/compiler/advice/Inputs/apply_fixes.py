#!/usr/bin/env python3
"""Checks that the fix-its of advice do what they are for.

usage: apply_fixes.py RECIPEC FOLDER KIND...

Copies the recipe of each kind from FOLDER here, applies the fix-its of its
warning, and checks the result: no error, and the warning is gone. Prints what
each edit writes.
"""

import json
import pathlib
import subprocess
import sys


def diagnostics(recipec, path):
    run = subprocess.run([recipec, "check", "--json", path],
                         capture_output=True, text=True)
    return json.loads(run.stdout)


def offset_of(text, line, column):
    """The offset of a one-based line and column of an ASCII text."""
    return sum(len(each) for each in text.splitlines(True)[:line - 1]) + \
        column - 1


def main():
    recipec, folder, *kinds = sys.argv[1:]
    failed = False
    for kind in kinds:
        path = pathlib.Path(f"{kind}.recipe")
        text = (pathlib.Path(folder) / path).read_text()
        path.write_text(text)
        edits = []
        for each in diagnostics(recipec, path):
            for fix_it in each["fix_its"] if each["kind"] == kind else []:
                place = fix_it["place"]
                edits.append((
                    offset_of(text, place["line"], place["column"]),
                    offset_of(text, place["end_line"], place["end_column"]),
                    fix_it["replacement"]))
        for begin, end, replacement in sorted(edits, reverse=True):
            print(f"{kind}: {text[begin:end]} -> {replacement}")
            text = text[:begin] + replacement + text[end:]
        path.write_text(text)
        left = [each for each in diagnostics(recipec, path)
                if each["kind"] == kind or each["severity"] == "error"]
        if left or not edits:
            print(f"{kind}: {len(edits)} edits leave {left}")
            failed = True
    return failed


sys.exit(main())
