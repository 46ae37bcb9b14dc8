#!/usr/bin/env python3
"""Checks a page of `recipec report`: tags are balanced, nothing is loaded from
elsewhere, and the bars of a step's time fill the width.

check_page PAGE
"""

import html.parser
import pathlib
import re
import sys

VOID = {"meta"}


class Checker(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.tags = [], []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        for name, value in attributes:
            if name in ("src", "href"):
                sys.exit(f"{tag} loads {value}")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            sys.exit(f"</{tag}> closes nothing, line {self.getpos()[0]}")


def main():
    page = pathlib.Path(sys.argv[1]).read_text()
    checker = Checker()
    checker.feed(page)
    if checker.open:
        sys.exit(f"not closed: {checker.open}")
    print(f"{checker.tags.count('svg')} pictures")
    times = page.partition("Where the time goes")[2].partition("</svg>")[0]
    widths = {}
    for y, width in re.findall(r"<rect x='[\d.]+' y='(\d+)' width='([\d.]+)'",
                               times):
        widths[y] = widths.get(y, 0) + float(width)
    for y, width in sorted(widths.items(), key=lambda each: int(each[0])):
        print(f"bar of {width / (960 - 84):.0%}")


main()
