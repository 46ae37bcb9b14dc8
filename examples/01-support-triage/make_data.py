#!/usr/bin/env python3
"""Writes the example's data set: support tickets and their triage lines.

The rule is in README.md. Every combination of product, problem and city is
dealt to one of three files and never occurs in another, and so is every order
number: the held-out file asks for the rule, not for what was seen.

All choices come from SHA-256 of their names, so that every machine writes the
same bytes. Usage: python3 make_data.py [FOLDER]  (default: this folder)
"""

import hashlib
import itertools
import json
import pathlib
import sys

TEAMS = {
    "kitchen": ["kettle", "toaster", "blender", "oven"],
    "audio": ["headset", "speaker", "soundbar", "microphone"],
    "network": ["router", "modem", "repeater", "switch"],
    "office": ["laptop", "monitor", "printer", "keyboard"],
}
REGIONS = {
    "europe": ["Lyon", "Madrid", "Berlin", "Oslo", "Turin", "Porto"],
    "america": ["Boston", "Denver", "Lima", "Quito", "Austin", "Toronto"],
    "asia": ["Osaka", "Seoul", "Hanoi", "Delhi", "Manila", "Busan"],
    "africa": ["Cairo", "Lagos", "Accra", "Tunis", "Nairobi", "Dakar"],
}
ISSUES = {
    "power": ["does not turn on", "shuts down after a minute",
              "loses power at night", "restarts on its own"],
    "damage": ["has a crack", "came with a broken button",
               "arrived with a dent", "is missing a part"],
    "delivery": ["never arrived", "went to the wrong address",
                 "was sent twice", "is two weeks late"],
    "safety": ["smells of smoke", "gives electric shocks",
               "throws sparks", "burned my hand"],
}
URGENT = ["Please hurry.", "I need it today.", "This is urgent.",
          "It cannot wait."]
CALM = ["There is no rush.", "Take your time.", "Whenever you can.",
        "It can wait."]
SENTENCES = [
    "Order {order}: my {product} for {city} {problem}. {closing}",
    "My {product} {problem}. I live in {city}, order {order}. {closing}",
    "Hello from {city}. The {product} of order {order} {problem}. {closing}",
    "{closing} The {product} {problem}. Order {order}, {city}.",
]
SIZES = {"train": 4000, "valid": 200, "heldout": 300}


def number(*names, below):
    """A number that the names decide, from 0 to below - 1."""
    text = "/".join(str(name) for name in names)
    digest = hashlib.sha256(text.encode()).digest()
    return int.from_bytes(digest[:8], "big") % below


def part_of(kind, name):
    """The file that owns a combination or an order number."""
    share = number(kind, name, below=100)
    return "train" if share < 80 else "valid" if share < 88 else "heldout"


def group_of(groups, word):
    return next(name for name, words in groups.items() if word in words)


def triage(product, problem, city, order, urgent):
    """The rule: what the model is to learn."""
    issue = group_of(ISSUES, problem)
    team = "safety" if issue == "safety" else group_of(TEAMS, product)
    priority = 1 if issue == "safety" else 2 if urgent else 3
    return f"{team}-{group_of(REGIONS, city)} {issue} #{order} P{priority}"


def sample(part, product, problem, city):
    key = f"{product}/{problem}/{city}"
    orders = (number("order", key, i, below=9000) + 1000
              for i in itertools.count())
    order = next(o for o in orders if part_of("order", o) == part)
    urgent = number("urgent", key, below=2) == 1
    closings = URGENT if urgent else CALM
    closing = closings[number("closing", key, below=len(closings))]
    sentence = SENTENCES[number("sentence", key, below=len(SENTENCES))]
    ticket = sentence.format(order=order, product=product, city=city,
                             problem=problem, closing=closing)
    return {"ticket": ticket,
            "triage": triage(product, problem, city, order, urgent)}


def samples(part):
    combinations = [
        (product, problem, city)
        for products in TEAMS.values() for product in products
        for problems in ISSUES.values() for problem in problems
        for cities in REGIONS.values() for city in cities
    ]
    own = [c for c in combinations if part_of("combination", c) == part]
    own.sort(key=lambda c: number("place", c, below=2**64))
    assert len(own) >= SIZES[part], (part, len(own))
    return [sample(part, *c) for c in own[:SIZES[part]]]


def main():
    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1
                          else pathlib.Path(__file__).parent)
    for part in SIZES:
        lines = [json.dumps(s, ensure_ascii=False) for s in samples(part)]
        (folder / f"{part}.jsonl").write_text("\n".join(lines) + "\n",
                                              encoding="utf-8")


if __name__ == "__main__":
    main()
