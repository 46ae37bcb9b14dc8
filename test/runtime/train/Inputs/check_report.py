"""Compares a page of `reciperun report` with the files of the run, which are
read here anew, and checks what a reader of the page relies on."""

import html.parser
import json
import math
import re
import sys

VOID = {"meta", "link", "br", "img"}


def expect(found, wanted, what):
    if found != wanted:
        raise SystemExit(f"{what}: {found!r}, expected {wanted!r}")


class Page(html.parser.HTMLParser):
    """Tables as lists of rows, the attributes of all elements, and the text."""

    def __init__(self, path):
        super().__init__()
        self.open, self.elements, self.tables, self.words = [], [], {}, []
        self.caption, self.row = None, None
        self.feed(open(path).read())
        self.close()
        expect(self.open, [], "elements that are not closed")

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag == "tr":
            self.row = []
        if tag in ("td", "th", "caption"):
            self.words = []
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        expect(self.open and self.open.pop(), tag, "the element that ends")
        text = "".join(self.words)
        if tag == "caption":
            self.caption = text
        if tag in ("td", "th"):
            self.row.append(text)
        if tag == "tr":
            self.tables.setdefault(self.caption, []).append(self.row)

    def handle_data(self, data):
        self.words.append(data)

    def named(self, tag):
        return [each for name, each in self.elements if name == tag]


def check_form(page, charts):
    """No outside file, no script; pictures and cells that can be named."""
    names = {name for name, _ in page.elements}
    expect(names & {"script", "iframe", "img", "object", "style"}, {"style"},
           "elements")
    links = [each.get(name) for _, each in page.elements
             for name in ("href", "src") if name in each]
    expect(links, ["data:,"], "links")
    expect([each for _, each in page.elements
            if any(name.startswith("on") for name in each)], [], "handlers")
    ids = [each["id"] for _, each in page.elements if "id" in each]
    expect(len(set(ids)), len(ids), "ids")
    pictures = [each for each in page.named("svg") if "role" in each]
    expect(len(pictures), charts, "charts")
    for each in pictures:
        expect(each["role"], "img", "role")
        expect(set(each["aria-labelledby"].split()) <= set(ids), True, "labels")
    expect(all("scope" in each for each in page.named("th")), True, "scopes")


def number_of(text):
    units = {"k": 1e3, "M": 1e6, "G": 1e9, "ms": 1e-3, "s": 1, "%": 0.01,
             "MiB": 2**20, "GiB": 2**30, "": 1}
    value, unit = re.fullmatch(r"([-0-9.e+]+) ?(\w*|%)", text).groups()
    return float(value) * units[unit]


def check_figures(figures, folder):
    rows = [json.loads(each) for each in open(f"{folder}/metrics.jsonl")]
    events = [json.loads(each) for each in open(f"{folder}/events.jsonl")]
    times = sorted(each["step_seconds"] for each in rows)

    def near(name, wanted):
        found = number_of(figures[name])
        expect(math.isclose(found, wanted, rel_tol=6e-4), True,
               f"{name}: {found}, expected {wanted}")

    expect(figures["steps"], str(rows[-1]["step"]), "steps")
    expect(figures["samples"], str(rows[-1]["samples"]), "samples")
    near("step time, median", times[math.ceil(len(times) / 2) - 1])
    near("step time, p95", times[math.ceil(len(times) * 0.95) - 1])
    near("tokens, with padding", len(rows) * 4 * 32)
    near("tokens/s, mean", len(rows) * 4 * 32 / sum(times))
    near("peak memory of a rank", max(each["device_bytes"] for each in rows))
    for name, field in [("lowest loss", "loss"),
                        ("lowest validation loss", "valid_loss")]:
        best = min((each for each in rows if field in each),
                   key=lambda each: each[field])
        value, step = figures[name].split(" at step ")
        expect(int(step), best["step"], f"step of the {name}")
        expect(math.isclose(float(value), best[field], rel_tol=6e-4), True,
               name)
    passed = (max(rows[-1]["time"], events[-1]["time"]) - events[0]["time"])
    near("goodput", sum(times) / passed)
    kinds = [each["event"] for each in events]
    expect(figures["restarts"], str(kinds.count("resume")), "restarts")
    expect(figures["checkpoints"], str(kinds.count("checkpoint")),
           "checkpoints")


path, charts, *folders = sys.argv[1:]
page = Page(path)
check_form(page, int(charts))
table = page.tables["Figures"]
expect(table[0], ["figure", *folders], "columns")
for index, folder in enumerate(folders, 1):
    check_figures({row[0]: row[index] for row in table[1:]}, folder)
if len(folders) == 1:
    rows = [json.loads(each) for each in open(f"{folders[0]}/metrics.jsonl")]
    slowest = max(rows, key=lambda each: each["step_seconds"])
    expect(page.tables["Slowest steps"][1][0], str(slowest["step"]),
           "the slowest step")
    shown = page.tables["Events, times in UTC"][1:]
    print(*(f"{each[0]} {each[2]} {each[3]}".strip() for each in shown),
          sep="\n")
print("all as expected")
