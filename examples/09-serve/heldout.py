#!/usr/bin/env python3
"""Turns the held-out tickets into prompts, and counts the right answers.

usage: heldout.py prompts TICKETS     prints a prompt a line, as JSON
       heldout.py score TICKETS ANSWERS
"""

import json
import sys


def rows_of(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def main():
    action, tickets, *answers = sys.argv[1:]
    rows = rows_of(tickets)
    if action == "prompts":
        for row in rows:
            print(json.dumps({"prompt": row["ticket"]}))
        return
    found = {row["index"]: row["answer"] for row in rows_of(*answers)}
    right = sum(found.get(i) == row["triage"] for i, row in enumerate(rows))
    print(f"{right} of {len(rows)} answers are right")


main()
