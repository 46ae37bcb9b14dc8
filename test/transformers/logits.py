"""Logits and tokenizers of checkpoints, each written by one and read by both.

Tolerance: 1e-4 absolute on logits of the order of 1. fp32 carries 6e-8; sums
over a few hundred terms in another order, through two layers, stay below 1e-5.
"""

import random

from harness import CASES, LAYOUTS, load_model, logits_of, random_model

TOLERANCE = 1e-4
# Two buckets of 64 and one of 1: every way into the cache.
LENGTHS = [129, 37]


def ids_of(length, seed):
    draw = random.Random(seed)
    return [draw.randrange(640) for _ in range(length)]


def compare(bench, verdicts, name, model, directory):
    for length in LENGTHS:
        ids = ids_of(length, length)
        theirs = logits_of(model, ids)
        ours = bench.logits(directory, ids)
        verdicts.check(f"logits: {name}, {length} tokens",
                       (ours - theirs).abs().max().item(), TOLERANCE)


def written_by_them(bench, verdicts):
    for number, case in enumerate(CASES):
        directory = f"theirs-{case}"
        model = random_model(bench, case, directory, number)
        bench.compile(case, f"{directory}/generate.plan.json",
                      task='"generate"')
        compare(bench, verdicts, f"{case} by transformers", model, directory)


def written_by_us(bench, verdicts):
    for case in CASES:
        for layout, settings in LAYOUTS.items():
            directory = f"ours-{case}-{layout.replace(' ', '')}"
            bench.train(case, f"{directory}.train",
                        {**settings, "export.hf": f'"{directory}"'})
            model = load_model(bench.folder / directory)
            compare(bench, verdicts, f"{case} by us ({layout})", model,
                    directory)


def tokenizer(bench, verdicts):
    """Our export's tokenizer, loaded as a user would."""
    from tokenizers import Tokenizer
    from transformers import AutoTokenizer
    theirs = AutoTokenizer.from_pretrained(bench.folder / "ours-plain-1rank")
    plain = Tokenizer.from_file(str(bench.folder / "tokenizer.json"))
    texts = [sample["ticket"] for sample in bench.samples]
    verdicts.equal("tokenizer: ids by AutoTokenizer",
                   [plain.encode(text, add_special_tokens=False).ids
                    for text in texts],
                   [theirs.encode(text, add_special_tokens=False)
                    for text in texts])
    verdicts.equal("tokenizer: end token", theirs.eos_token_id, 639)


def main(bench, verdicts):
    written_by_them(bench, verdicts)
    written_by_us(bench, verdicts)
    tokenizer(bench, verdicts)
