#!/usr/bin/env python3
"""Runs the commands of the KServe page against a program with test models.

usage: check_kserve.py PAGE PROGRAM FOLDER

A block with file=NAME is written to FOLDER. Each line `$ COMMAND` of a `console`
block is run there, with localhost:8000 replaced by the program's address; the
lines up to the next one are what it prints. `...` stands for any text.
"""

import os
import re
import subprocess
import sys
import time

page, program, folder = sys.argv[1:4]
BLOCK = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def address_of(errors):
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        with open(errors) as file:
            found = re.search(r"http://(\S+)\n", file.read())
        if found:
            return found[1]
        time.sleep(0.02)
    raise SystemExit("the program did not start")


def commands(block):
    """Yields each command with what it prints."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, shown = part.partition("\n")
        yield command, shown


def run(command, shown, address):
    got = subprocess.run(
        ["bash", "-c", command.replace("localhost:8000", address)], cwd=folder,
        stdout=subprocess.PIPE, text=True, timeout=60).stdout
    form = ".*".join(re.escape(piece) for piece in shown.strip().split("..."))
    if re.fullmatch(form, got.strip(), re.DOTALL):
        return True
    print(f"$ {command}\nprints\n{got}\nnot\n{shown}")
    return False


def main():
    with open(page) as file:
        text = file.read()
    errors = os.path.join(folder, "errors")
    with open(errors, "w") as log:
        server = subprocess.Popen([program], stderr=log)
    try:
        address = address_of(errors)
        results = []
        for language, rest, block in BLOCK.findall(text):
            name = re.search(r"file=(\S+)", rest)
            if name:
                with open(os.path.join(folder, name[1]), "w") as file:
                    file.write(block)
            if language == "console":
                results += [run(*each, address) for each in commands(block)]
    finally:
        server.kill()
    print(f"{len(results)} commands, {results.count(False)} failures")
    sys.exit(0 if results and all(results) else 1)


main()
