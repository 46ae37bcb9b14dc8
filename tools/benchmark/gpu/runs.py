"""What the files of a run on GPUs say: plan.json and metrics.jsonl.

MFU is FLOPs a token against 989 TFLOP/s a rank, of an H200 in bf16: (6 N + 6 L
h S) where all weights are trained, (4 N + 6 L h S) where adapters are; causal
attention counts once. N is the weights that multiply: an embedding that is not
the head, too, is none, and of experts those that a token goes to count. There
are L layers of attention of width h, S tokens of a sequence, packed or not.
"""

import json
import math
import re
import statistics

PEAK = 989e12  # of an H200 in bf16, dense
PEAK_FP8 = 1979e12
GIB = 1 << 30


def flops_per_token(plan):
    parameters = plan["parameters"]
    frozen = [p for p in parameters if not p.get("trainable", True)]
    counted = frozen or parameters
    tables = [p for p in counted if "embed" in p["name"]]
    has_head = any("head" in p["name"] for p in counted)
    config = json.loads(plan["exchange"]["config"] or "{}")
    weights = sum(math.prod(p["shape"]) * share_of(p, config) for p in counted)
    if has_head:
        weights -= sum(math.prod(p["shape"]) for p in tables)
    layers = len({part for p in counted for part in layer_of(p["name"])})
    width = tables[0]["shape"][-1]
    sequence = plan["data"]["sequence"]
    factor = 4 if frozen else 6
    return factor * weights + 6 * layers * width * sequence


def share_of(parameter, config):
    """The share of a parameter that a token uses: active over all experts."""
    if not re.search(r"(^|\.)experts\.", parameter["hf_name"]):
        return 1
    experts = next(config[key] for key in (
        "num_local_experts", "num_experts", "n_routed_experts")
        if key in config)
    return config["num_experts_per_tok"] / experts


def layer_of(name):
    parts = name.split(".")
    return parts[1:2] if parts[0] == "layers" else []


class Run:
    """The records of a run's folder, without the warm-up steps."""

    def __init__(self, folder, warmup):
        self.plan = json.loads((folder / "plan.json").read_text())
        with open(folder / "metrics.jsonl") as file:
            self.steps = [json.loads(line) for line in file][warmup:]
        if not self.steps:
            raise ValueError(f"{folder} has no steps behind the first {warmup}")
        self.ranks = self.plan["mesh"]["ranks"]
        self.tokens = (self.plan["train"]["global_batch"] *
                       self.plan["data"]["sequence"])
        self.taken = max(step["device_bytes"] for step in self.steps)
        memory = [stage["memory"] for stage in self.plan["stages"]]
        self.predicted = max(table["total"] for table in memory)
        self.arena = max(table["arena"] for table in memory)
        self.flops = flops_per_token(self.plan)

    def seconds(self):
        return [step["step_seconds"] for step in self.steps]

    def speed(self):
        """Tokens per second per rank."""
        return self.tokens / statistics.median(self.seconds()) / self.ranks

    def host_share(self):
        """The share of a step's time that the host spends."""
        return statistics.median(step.get("host_seconds", 0) /
                                 step["step_seconds"] for step in self.steps)
