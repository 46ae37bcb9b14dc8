"""Checks the output of `recipec explain --json`: check_json.py [--set] FILE."""

import json
import sys


def check_set(value):
    assert value["value"] == "4", value
    assert value["origin"]["kind"] == "command line", value
    assert value["origin"]["place"]["argument"] == "--set parallel.tp=4", value
    history = [(each["text"], each["in"], each["overridden"])
               for each in value["history"]]
    assert history == [("1", "schema `parallel`", True),
                       ("tp = 1", "recipe `base`", True),
                       ("tp = degree", "recipe `sft`", True),
                       ("parallel.tp=4", "", False)], history


def check_derived(value):
    assert value["path"] == "parallel.dp", value
    assert value["value"] == "2" and value["type"] == "int | auto", value
    assert value["doc"].startswith("Data parallelism"), value
    assert value["origin"]["kind"] == "derived", value
    assert value["expression"] == "ranks / (cp * tp * pp)", value
    operands = {each["name"]: each for each in value["operands"]}
    ranks = operands["cluster.ranks"]
    assert ranks["value"] == "4" and ranks["expression"] == "2 * nodes", ranks
    place = ranks["origin"]["place"]
    assert place == {"file": "base.recipe", "line": 18, "column": 13}, place
    assert ranks["operands"][0]["name"] == "nodes", ranks
    assert operands["parallel.cp"]["origin"]["kind"] == "default", operands


def main():
    with open(sys.argv[-1]) as file:
        value = json.load(file)
    if "--set" in sys.argv:
        check_set(value)
    else:
        check_derived(value)


main()
