"""Counts the parameters of models by `recipec plan --emit=dataflow`.

    count_parameters.py RECIPEC FILE NAME=PUBLISHED...

Each NAME is a recipe of FILE and a model of the library. Its count is to be
PUBLISHED, or where that is rounded, as in 671e9, within 1 % of it. The dataflow
names every call of an op; what each op makes is written in stdlib/ops.recipe and
counted here a second time. `recipec doc models` lists the same count.
"""

import math
import re
import subprocess
import sys

CALL = re.compile(r"  %(\d+) = (\w+)\((.*)\)(?: name \S+ hf \S+)?(?: layer \d+)?$")
ROW = re.compile(r"^\| `\w+\.(\w+)` \| ([0-9,]+) \|", re.M)
DIM = re.compile(r"  dim (\w+) = (\d+) ")


class Model:
    def __init__(self, text):
        self.sizes = {n: int(s) for n, s in DIM.findall(text)}
        self.last = {}  # the last dimension of each tensor
        self.total = 0
        for line in text.splitlines():
            if match := CALL.match(line):
                self.call(*match.groups())

    def product(self, names):
        return math.prod(self.sizes[name] for name in names)

    def call(self, result, op, arguments):
        operands = re.findall(r"^%(\d+)|, %(\d+)(?=,|$)", arguments)
        operands = [first or other for first, other in operands]
        given = dict(re.findall(r"(\w+) = (\[[^=]*?\] -> \w+|\w+ -> \[[^=]*?\]"
                                r"|\w+ -> \w+|\[[^=]*?\]|\w+)", arguments))
        lists = [re.findall(r"\w+", part)
                 for part in given.get("dims", "").split("->")]
        source, target = lists if len(lists) == 2 else ([], [])
        makes = "none" in arguments.split(", ")[1:2]
        self.last[result] = self.lastOf(op, operands, given, target)
        self.total += self.made(op, operands, given, source, target, makes)

    def lastOf(self, op, operands, given, target):
        if op == "parameter":
            return re.findall(r"\w+", given["shape"])[-1]
        if op in ("linear", "expert_linear", "narrow"):
            return target[-1]
        if op == "concat":
            return given["to"]
        if op in ("embedding", "position_embedding"):
            return self.last[operands[1]]
        if op == "attention":
            return self.last[operands[2]]
        if op in ("router", "next_tokens"):
            return None
        return self.last[operands[0]]

    def made(self, op, operands, given, source, target, makes):
        sizes = self.sizes
        if op == "parameter":
            return self.product(re.findall(r"\w+", given["shape"]))
        if op == "linear":
            bias = self.product(target) if given["bias"] == "true" else 0
            return (self.product(source + target) if makes else 0) + bias
        if op == "expert_linear":
            return sizes[given["experts"]] * self.product(source + target)
        if op == "router":
            correction = given["correction"] == "true"
            return self.product(source + target) + (
                self.product(target) if correction else 0)
        if op in ("rmsnorm", "layernorm"):
            width = sizes[self.last[operands[0]]]
            return width * (2 if given.get("bias") == "true" else 1)
        if op == "mamba2":
            hidden, heads = self.product(source), sizes[target[0]]
            inner = self.product(target)
            mixed = inner + 2 * sizes[given["groups"]] * sizes[given["state"]]
            return ((inner + mixed + heads) * hidden +
                    mixed * (int(given["kernel"]) + 1) + 3 * heads + inner +
                    inner * hidden)
        return 0


def output_of(*command):
    return subprocess.run(command, capture_output=True, text=True,
                          check=True).stdout


def main():
    recipec, file, *expected = sys.argv[1:]
    wrong = 0
    listed = dict(ROW.findall(output_of(recipec, "doc", "models")))
    for entry in expected:
        name, published = entry.split("=")
        text = output_of(recipec, "plan", f"{file}:{name}", "--emit=dataflow")
        total = Model(text).total
        tolerance = 0.01 if "e" in published else 0
        if abs(total / float(published) - 1) > tolerance:
            print(f"{name} has {total} parameters, published are {published}")
            wrong += 1
        elif listed[name] != f"{total:,}":
            print(f"{name} has {total} parameters, listed are {listed[name]}")
            wrong += 1
    print(f"{len(expected)} models, {wrong} wrong")
    return 1 if wrong else 0


sys.exit(main())
