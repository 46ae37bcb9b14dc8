"""Checks `estimate --json` of Llama 3 8B on 8 h100 against formulas."""

import json
import sys

estimate = json.load(open(sys.argv[1]))
assert list(estimate)[:10] == [
    "fits", "capacity_bytes", "stages", "flops_per_step", "step_seconds",
    "tokens_per_second_per_rank", "tflops_per_rank", "mfu", "ranks",
    "layers_per_chunk"], list(estimate)
assert estimate["fits"] and estimate["ranks"] == 8
assert estimate["layers_per_chunk"] == [32]
[stage] = estimate["stages"]
total = stage.pop("total_bytes")
assert list(stage) == ["parameters", "gradients", "optimizer", "activations",
                       "workspace", "library"], list(stage)
assert total == sum(stage.values())
# Without padding, for tp = 4 and dp = 2: a quarter of the bf16 weights and fp32
# gradients, an eighth of the fp32 master weights and the two moments.
parameters = 8_030_261_248
close = lambda a, b: abs(a / b - 1) < 1e-3
assert close(stage["parameters"], parameters / 4 * 2)
assert close(stage["gradients"], parameters / 4 * 4)
assert close(stage["optimizer"], parameters / 8 * 12)
# 6 N per token without the embedding table, and causal attention.
tokens = 32 * 4096
matrices = parameters - 128256 * 4096
attention = 3 * 32 * 4 * 32 * (4096 * 4097 / 2) * 4096
assert close(estimate["flops_per_step"], 6 * matrices * tokens + attention)
rate = estimate["flops_per_step"] / estimate["step_seconds"] / 8
assert close(estimate["tflops_per_rank"], rate / 1e12)
assert close(estimate["mfu"], rate / 989e12) and 0 < estimate["mfu"] < 1
assert close(estimate["tokens_per_second_per_rank"],
             tokens / estimate["step_seconds"] / 8)
assert estimate["parameters"] == estimate["trained_parameters"] == parameters
assert estimate["active_parameters"] == parameters
assert estimate["layout"] == {"dp": 2, "cp": 1, "tp": 4, "pp": 1, "vp": 1,
                              "ep": 1, "etp": 1}, estimate["layout"]
assert close(estimate["tokens_per_second"],
             8 * estimate["tokens_per_second_per_rank"])
assert estimate["bound_step_seconds"] < estimate["step_seconds"]
assert 0 < estimate["uncertainty"] < 0.5
assert close(estimate["communication"],
             sum(estimate["exposed_communication"].values()))
assert close(1, estimate["communication"] + sum(estimate["work"].values()))
assert 0 < estimate["communication"] < 1 and estimate["bubble"] == 0
assert estimate["fullest_stage"] == 0
assert close(estimate["train_seconds"],
             estimate["train_steps"] * estimate["step_seconds"])
print("consistent")
