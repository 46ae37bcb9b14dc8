"""Draws layouts for sample_layouts: settings, and which go together."""

import itertools
import json
import random

# Settings and their values; the first value is neutral. Some settings only
# apply to some models.
SETTINGS = {
    "model": ["dense", "experts", "hybrid", "learned", "centered", "qwen2",
              "qwen3", "qwen3_moe", "chunked", "latent", "windowed"],
    "source": ["samples", "text"],
    "pack": ["false", "true"],
    "accumulation": [2, 1, 3, 4, 6, 8, 12],
    "dp": [1, 2, 4],
    "tp": [1, 2],
    "sequence": ["false", "true"],
    "cp": [1, 2, 4],
    "cp_comm": ["p2p", "all_gather", "a2a", "a2a+p2p", "by layer"],
    "pp": [1, 2, 3, 4],
    "vp": [1, 2, 3, 4],
    "schedule": ["1f1b", "gpipe"],
    "layers": ["even", "counted", "uneven", "empty"],
    "ep": [1, 2, 4],
    "etp": [1, 2],
    "shard": ["optimizer", "none", "gradients", "parameters"],
    "shard_instances": [1, 2],
    "overlap": ["true", "false"],
    "bucket": ["auto", "32KiB", "96KiB"],
    "recompute": ["none", "selective", "full"],
    "offload": [0, 1],
}
NEUTRAL = {name: values[0] for name, values in SETTINGS.items()}
LAYERS = 8  # of every model
# Ways of `cp_comm` that mix two, and what one layer after the other does.
MIXED = ("a2a+p2p", "by layer")
BY_LAYER = 2 * ["a2a+p2p", "a2a", "p2p", "all_gather"]
# Values of `shard` with which ranks keep only parts of parameters.
IN_PARTS = ("gradients", "parameters")
WITH_EXPERTS = ("experts", "qwen3_moe", "chunked", "latent")


def ranks_of(layout):
    return layout["dp"] * layout["tp"] * layout["cp"] * layout["pp"]


def batch_of(layout):
    """Sequences of a step: two numbers, so that each accumulation divides one."""
    return 24 if layout["accumulation"] % 3 == 0 else 16


def means_something(layout):
    """Whether each setting that is not neutral has an effect, and is known."""
    return all([
        layout["model"] in WITH_EXPERTS or layout["ep"] == layout["etp"] == 1,
        layout["model"] != "hybrid" or layout["cp"] == 1,
        layout["sequence"] == "false" or layout["tp"] > 1,
        layout["cp_comm"] == "p2p" or layout["cp"] > 1,
        layout["cp_comm"] not in MIXED or layout["cp"] > 2,
        layout["vp"] == 1 or layout["pp"] > 1,
        layout["schedule"] == "1f1b" or (layout["pp"] > 1 and
                                         layout["vp"] == 1),
        layout["layers"] == "even" or layout["pp"] > 1,
        layout["shard"] == "optimizer" or layout["dp"] > 1,
        layout["shard_instances"] == 1 or (layout["dp"] > 1 and
                                           layout["shard"] != "none"),
        layout["overlap"] == "true" or layout["shard"] in IN_PARTS,
        layout["bucket"] == "auto" or layout["shard"] != "none",
        layout["vp"] == 1 or layout["accumulation"] % layout["pp"] == 0,
    ])


def divides(layout):
    """What arithmetic asks of the batch and of the experts' mesh."""
    stage = layout["dp"] * layout["cp"] * layout["tp"]
    return (stage % (layout["ep"] * layout["etp"]) == 0 and
            batch_of(layout) % (layout["dp"] * layout["accumulation"]) == 0)


# ---- layers of chunks

def counted(chunks):
    """Which of embedding and loss count as a layer for `layers` to divide."""
    for flags in ((True, False), (True, True)):
        if (LAYERS + sum(flags)) % chunks == 0:
            return flags
    return None


def keeps_busy(layers, stages):
    """Whether every stage computes something: the compiler refuses others. The
    first chunk embeds, the last has the loss."""
    last = len(layers) - 1
    busy = {chunk % stages for chunk, count in enumerate(layers)
            if count or chunk in (0, last)}
    return len(busy) == stages


def list_of(layout, chance):
    """`parallel.layers`, or None where there is none of the kind."""
    chunks = layout["pp"] * layout["vp"]
    if layout["layers"] == "even":
        return "auto" if LAYERS % chunks == 0 else None
    if layout["layers"] == "counted":
        return "auto" if counted(chunks) else None
    floor = 1 if layout["layers"] == "uneven" else 0
    left = LAYERS - floor * chunks
    if left < 0:
        return None
    # Also tries some of the lists that are refused.
    tries = 1 if chance.random() < 0.05 else 50
    for _ in range(tries):
        layers = [floor] * chunks
        for _ in range(left):
            layers[chance.randrange(chunks)] += 1
        wanted = 0 in layers if floor == 0 else len(set(layers)) > 1
        if wanted and (tries == 1 or keeps_busy(layers, layout["pp"])):
            return json.dumps(layers)
    return None


# ---- which layouts

class Pairs:
    """The pairs of settings that occur in a layout, as the bits of a number."""

    def __init__(self):
        self.bits = {}

    def of(self, layout):
        mask = 0
        for pair in itertools.combinations(
                [(name, layout[name]) for name in SETTINGS], 2):
            mask |= 1 << self.bits.setdefault(pair, len(self.bits))
        return mask


def candidates_of(most_ranks, chance, count):
    names = list(SETTINGS)
    found = {}
    while len(found) < count:
        layout = {name: chance.choice(SETTINGS[name]) for name in names}
        # Makes some settings neutral: few layouts would be small enough
        # otherwise.
        for name in chance.sample(names, chance.randint(0, 10)):
            layout[name] = NEUTRAL[name]
        if chance.random() < 0.5:  # what a pipeline asks of others is rare
            layout |= {name: chance.choice(SETTINGS[name])
                       for name in ("pp", "vp", "layers")}
        if not (1 < ranks_of(layout) <= most_ranks and
                means_something(layout) and divides(layout)):
            continue
        layers = list_of(layout, chance)
        if layers is not None:
            layout["list"] = layers
            found.setdefault(describe(layout), layout)
    return list(found.values())


def draw(most_ranks, seed, count):
    """So many different layouts, the first ones of which hold as many pairs of
    settings as they can; with None, as many as hold every pair that any does."""
    chance = random.Random(seed)
    pairs = Pairs()
    left = [(layout, pairs.of(layout)) for layout in
            candidates_of(most_ranks, chance,
                          max(1000, 2 * count) if count else 4000)]
    everything = 0
    for _, mask in left:
        everything |= mask
    wanted = everything
    chosen = []
    while len(chosen) < count if count else wanted:
        gain = lambda place: (left[place][1] & wanted).bit_count()
        best = max(chance.sample(range(len(left)), min(200, len(left))),
                   key=gain)
        if not gain(best):
            best = max(range(len(left)), key=gain)
        wanted &= ~left[best][1]
        wanted = wanted or (everything if count else 0)
        left[best], left[-1] = left[-1], left[best]
        chosen.append(left.pop()[0])
    return chosen


def describe(layout):
    text = " ".join(f"{name}={layout[name]}" for name in SETTINGS
                    if layout[name] != NEUTRAL[name] or name == "model")
    lists = layout.get("list", "auto")
    return text if lists == "auto" else text + " " + lists.replace(" ", "")


# ---- as settings of a recipe

def overrides(layout):
    text = lambda value: f'"{value}"'
    settings = {
        "cluster.ranks": ranks_of(layout),
        "parallel.tp": layout["tp"],
        "parallel.cp": layout["cp"],
        "parallel.pp": layout["pp"],
        "parallel.vp": layout["vp"],
        "parallel.layers": layout["list"],
        "parallel.shard": text(layout["shard"]),
        "parallel.shard_instances": layout["shard_instances"],
        "comm.overlap": layout["overlap"],
        "comm.bucket": layout["bucket"],
        "memory.recompute": text(layout["recompute"]),
        "memory.offload_layers": layout["offload"],
        "batch.micro":
            batch_of(layout) // (layout["dp"] * layout["accumulation"]),
    }
    if layout["tp"] > 1:
        settings["parallel.sequence"] = layout["sequence"]
    if layout["cp"] > 1:
        comm = layout["cp_comm"]
        settings["parallel.cp_comm"] = json.dumps(
            BY_LAYER if comm == "by layer" else comm)
        if comm in MIXED:
            settings["parallel.cp_a2a"] = 2
    if layout["vp"] == 1:
        settings["parallel.schedule"] = text(layout["schedule"])
    if layout["layers"] == "counted":
        flags = counted(layout["pp"] * layout["vp"])
        for name, flag in zip(("embedding", "loss"), flags):
            settings[f"parallel.{name}_as_layer"] = str(flag).lower()
    if layout["model"] in WITH_EXPERTS:
        settings["parallel.ep"] = layout["ep"]
        settings["parallel.etp"] = layout["etp"]
    return settings
