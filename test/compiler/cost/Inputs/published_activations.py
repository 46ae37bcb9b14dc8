"""Compares the activations that a plan keeps with the published formulas.

published_activations.py RECIPEC RECIPE

Korthikanti et al. 2022 (arXiv 2205.05198) count, for a decoder layer of a GPT in
16-bit floats, s tokens by b sequences by h wide, a heads, over t ranks:

    only tensor parallelism       s*b*h * (10 + 24/t + 5*a*s/(h*t))    equation 2
    with sequence parallelism     s*b*h * (34 + 5*a*s/h) / t           equation 4
    selective recomputation       s*b*h * 34 / t                       equation 6
    full recomputation            s*b*h * 2 / t

and p - i micro-batches in flight on stage i of 1F1B, on the first stage of the
interleaved schedule p*v + p - 1 chunks (section 4.2.3). DIFFERENCES lists
every term that differs in a plan; with them the bytes are equal.
"""

import json
import re
import subprocess
import sys

S, B, H, A, LAYERS = 2048, 4, 6144, 64, 8
SBH = S * B * H

# Deviations from the paper: name, and bytes by (ranks that shard a sequence's
# tokens, ranks that shard heads).
DIFFERENCES = {
    "masks of dropout: functions of a token's place, drawn again":
        lambda tokens, heads: -2 * SBH // tokens,
    "softmax and its dropout: attention by tiles keeps none of it":
        lambda tokens, heads: -5 * A * S * S * B // heads,
    "log of the softmax's sums, fp32":
        lambda tokens, heads: 4 * A * S * B // heads,
    "reciprocal deviations of two norms, fp32":
        lambda tokens, heads: 2 * 4 * S * B // tokens,
    "places of a rank's tokens for two dropouts, where they are shared out":
        lambda tokens, heads: 2 * 4 * S * B // tokens if tokens > 1 else 0,
}
SAVED_BY_RECOMPUTE = {
    # Flash attention saves its result and its sums; recomputation frees both.
    "selective": lambda tokens, heads: (2 * SBH + 4 * A * S * B) // heads,
}
BYTES = {"bf16": 2, "f32": 4, "i32": 4}


def published(tokens, heads):
    return (10 * SBH // tokens + (24 * SBH + 5 * A * S * S * B) // heads)


def plan(recipec, recipe, settings):
    command = [recipec, "plan", recipe]
    for path, value in settings.items():
        command += ["--set", f"{path}={value}"]
    return json.loads(subprocess.run(command, check=True,
                                     stdout=subprocess.PIPE).stdout)


def kept(stage):
    """Bytes per micro-batch and copies of the saved activations, by layer.

    An activation between two layers belongs to the layer that reads it. A value
    received from another stage has one more copy, for the next message. Token
    positions are named only by number and are spread over the layers.
    """
    layers, places = {}, []
    for buffer in stage["buffers"]:
        copies = buffer.get("slots", 1)
        if copies == 1 or buffer["name"].startswith("d."):
            continue
        size = BYTES[buffer["dtype"]]
        for extent in buffer["shape"]:
            size *= extent
        layer = re.match(r"layers\.(\d+)\.(.*)", buffer["name"])
        if buffer["name"].startswith("embedding"):
            layers.setdefault(0, {})["input"] = (size, copies)
        elif layer and layer[2] == "down.add":
            layers.setdefault(int(layer[1]) + 1, {})["input"] = (size, copies)
        elif layer:
            layers.setdefault(int(layer[1]), {})[layer[2]] = (size, copies)
        elif buffer["name"].startswith("places."):
            places.append(size)
    result = {n: (sum(size for size, _ in parts.values()),
                  {name: copies for name, (_, copies) in parts.items()})
              for n, parts in layers.items()}
    share = sum(places) // max(1, sum(len(parts) > 1
                                      for parts in layers.values()))
    return {n: (size + share, copies) for n, (size, copies) in result.items()}


def compare(name, stages, layer_bytes, in_flight):
    failures = 0
    for number, stage in enumerate(stages[:-1]):
        for layer, (size, copies) in sorted(kept(stage).items()):
            if layer * len(stages) // LAYERS != number:
                continue  # sent values, which need only two copies
            is_first = number > 0 and layer * len(stages) % LAYERS == 0
            flying = set(part - (is_first and what == "input")
                         for what, part in copies.items())
            right = size == layer_bytes and flying == {in_flight(number)}
            failures += not right
            print(f"{name}: stage {number} layer {layer}: {size} bytes a "
                  f"micro-batch, {min(flying)} in flight"
                  + ("" if right else f"; expected {layer_bytes}, "
                                      f"{in_flight(number)}: FAILED"))
    return failures


def main():
    recipec, recipe = sys.argv[1:]
    failures = 0
    layouts = {
        "one rank a stage": ({"parallel.tp": 1, "cluster.ranks": 4}, 1, 1),
        "tp": ({"parallel.sequence": "false"}, 1, 8),
        "tp and sequence": ({}, 8, 8),
    }
    for name, (settings, tokens, heads) in layouts.items():
        expected = published(tokens, heads)
        print(f"{name}: published {expected}")
        for what, difference in DIFFERENCES.items():
            amount = difference(tokens, heads)
            expected += amount
            print(f"  {amount:+} {what}")
        stages = plan(recipec, recipe, settings)["stages"]
        failures += compare(name, stages, expected, lambda i: 4 - i)
        again = SAVED_BY_RECOMPUTE["selective"](tokens, heads)
        stages = plan(recipec, recipe, {
            **settings, "memory.recompute": '"selective"'})["stages"]
        failures += compare(f"{name}, selective", stages, expected - again,
                            lambda i: 4 - i)
        stages = plan(recipec, recipe, {
            **settings, "memory.recompute": '"full"'})["stages"]
        failures += compare(f"{name}, full", stages, 2 * SBH // tokens,
                            lambda i: 4 - i)

    # The chunks of a stage have frames of one size, each at a multiple of it.
    stage = plan(recipec, recipe, {"parallel.vp": 2})["stages"][0]
    numbers = {buffer["frame"] for buffer in stage["buffers"]
               if buffer["name"].endswith(".attention")
               and "frame" in buffer}
    frames = {offset for number in numbers
              for offset in stage["frames"][number]["offsets"]}
    most = 4 * 2 + 4 - 1
    print(f"interleaved: frames of {len(frames)} chunks, published {most}")
    failures += len(frames) != most
    return 1 if failures else 0


sys.exit(main())
