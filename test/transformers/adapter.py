"""LoRA: the adapter alone, loaded by peft, against the merged model.

Tolerances: merged weights are W + scale B A rounded once, 1e-6 of the largest;
logits as in logits.py.
"""

import torch
from peft import PeftModel

from harness import LAYOUTS, load_model, logits_of, random_model
from logits import TOLERANCE, ids_of


def lively(adapter):
    """Whether training has moved the adapter: B is zero before it."""
    return max(parameter.abs().max().item()
               for name, parameter in adapter.named_parameters()
               if "lora_B" in name)


def compare(bench, verdicts, layout, settings):
    out = f"adapted-{layout.replace(' ', '')}"
    bench.train("adapted", f"{out}.train",
                {**settings, "weights": '"adapted-base"',
                 "export.hf": f'"{out}"'})
    merged = load_model(bench.folder / out)
    base = load_model(bench.folder / "adapted-base")
    adapted = PeftModel.from_pretrained(
        base, bench.folder / out / "adapter").eval()
    verdicts.equal(f"adapter ({layout}): training has moved it",
                   lively(adapted) > 1e-3, True)
    ids = ids_of(129, 3)
    theirs = logits_of(adapted, ids)
    verdicts.check(f"adapter ({layout}): peft's logits and our merged model's",
                   (bench.logits(out, ids) - theirs).abs().max().item(),
                   TOLERANCE)
    bare = logits_of(load_model(bench.folder / "adapted-base"), ids)
    verdicts.equal(f"adapter ({layout}): it changes the logits",
                   (bare - theirs).abs().max().item() > 0.1, True)
    expected = adapted.merge_and_unload().state_dict()
    difference = max(
        ((tensor - expected[name]).abs().max()
         / expected[name].abs().max()).item()
        for name, tensor in merged.state_dict().items())
    verdicts.check(f"adapter ({layout}): merged weights", difference, 1e-6)


def main(bench, verdicts):
    torch.manual_seed(0)
    random_model(bench, "adapted", "adapted-base", 200)
    for layout, settings in LAYOUTS.items():
        compare(bench, verdicts, layout, settings)
