#!/usr/bin/env python3
"""Checks the Markdown files of the repository.

usage: check_pages.py ROOT

1. A relative link leads to a file or folder, and its anchor to a heading there.
2. A page of docs/ or of an example that shows commands has a test that runs
   them, and its blocks are in a language that the test knows.

Prints each failure and exits 1, or prints how many links it has followed.
"""

import os
import pathlib
import re
import sys

SKIPPED = re.compile(r"^(build.*|\..*|runs|out|venv)$")
FENCE = re.compile(r"^(```+)[^\n]*\n.*?^\1$", re.MULTILINE | re.DOTALL)
OPENING = re.compile(r"^```(\w*)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(([^()\s]+)\)")
HEADING = re.compile(r"^#{1,6} +(.*?) *#*$", re.MULTILINE)
# `sh` marks commands that no test can run: another machine's, or a build.
LANGUAGES = {"recipe", "console", "text", "sh", "mermaid", "json", "jsonl",
             "yaml", "toml", "python"}
# Pages with a test of their own kind: the README's is in test/examples, the
# measurements need GPUs.
OTHERWISE_TESTED = {"docs/language.md", "docs/performance.md",
                    "docs/performance_two_gpus.md",
                    "examples/01-support-triage/README.md",
                    "examples/02-any-layout/README.md"}


def pages(root):
    for folder, names, files in os.walk(root):
        names[:] = sorted(name for name in names if not SKIPPED.match(name))
        for file in sorted(files):
            if file.endswith(".md"):
                yield pathlib.Path(folder) / file


def anchors_of(path):
    """The anchors that GitHub gives to the headings of a page."""
    seen, anchors = {}, set()
    for heading in HEADING.findall(FENCE.sub("", path.read_text())):
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        anchor = re.sub(r"[^\w\- ]", "", text).strip().replace(" ", "-")
        count = seen.get(anchor, 0)
        seen[anchor] = count + 1
        anchors.add(f"{anchor}-{count}" if count else anchor)
    return anchors


def lines_of(path):
    """Yields (number, line) of what is outside blocks and code."""
    def blank(match):
        return "\n" * match.group().count("\n")
    text = FENCE.sub(blank, path.read_text())
    for number, line in enumerate(text.splitlines(), 1):
        yield number, re.sub(r"`[^`]*`", "``", line)


def check_links(root, path):
    """Yields a message for each broken link and None for each good one."""
    page = path.relative_to(root).as_posix()
    for number, line in lines_of(path):
        place = f"{page}:{number}"
        for target in LINK.findall(line):
            if re.match(r"[a-z]+:", target):
                continue
            name, _, anchor = target.partition("#")
            to = path.parent / name if name else path
            if not to.exists():
                yield f"{place}: no file `{name}`"
            elif anchor and (to.suffix != ".md" or
                             anchor not in anchors_of(to)):
                yield f"{place}: no heading for `{target}`"
            else:
                yield None


def check_blocks(root, path, tests):
    """Yields a message for each block that no test runs."""
    name = path.relative_to(root).as_posix()
    if name.split("/")[0] not in ("docs", "examples") or \
            name in OTHERWISE_TESTED:
        return
    has_snippets = False
    for language, rest, text in OPENING.findall(path.read_text()):
        has_snippets |= language == "console" or "file=" in rest
        if language not in LANGUAGES:
            yield f"{name}: a block in `{language}`, of which tests know nothing"
        elif language == "recipe" and "=" not in rest:
            yield f"{name}: a block of `recipe` without `file=NAME`"
        elif language not in ("console", "sh") and text.startswith("$ "):
            yield f"{name}: a command in a block of `{language}`"
    if has_snippets and f"%root/{name} " not in tests:
        yield f"{name}: no test runs its snippets"


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    tests = "".join(path.read_text()
                    for path in sorted((root / "test").glob("*/*.test")))
    failures, count = [], 0
    for path in pages(root):
        for failure in check_links(root, path):
            failures += [failure] if failure else []
            count += not failure
        failures += check_blocks(root, path, tests)
    print(*failures, sep="\n")
    print(f"{count} good links, {len(failures)} failures")
    sys.exit(1 if failures or count == 0 else 0)


if __name__ == "__main__":
    main()
