"""Logits of a small model of each family of the library, by its serving plan.

Transformers makes and saves the model; the ids go through the engine's steps.
Tolerance: as in logits.py.
"""

import random

from harness import HERE, logits_of, random_model

TOLERANCE = 1e-4
RECIPES = HERE.parent / "runtime/serve/engine/Inputs/families.recipe"
FAMILIES = ["llama", "llama4", "qwen2", "qwen3", "qwen3_moe", "mistral",
            "mixtral", "deepseek", "nemotron", "nemotronh"]
VOCAB = 200
# Sequences have at most 96 tokens.
LENGTHS = [90, 37]


def main(bench, verdicts):
    for seed, family in enumerate(FAMILIES):
        case = f"{RECIPES}:{family}_tiny"
        model = random_model(bench, case, family, seed)
        bench.compile(case, f"{family}/generate.plan.json")
        for length in LENGTHS:
            draw = random.Random(length)
            ids = [draw.randrange(VOCAB) for _ in range(length)]
            difference = bench.logits(family, ids) - logits_of(model, ids)
            verdicts.check(f"logits: {family}, {length} tokens",
                           difference.abs().max().item(), TOLERANCE)
