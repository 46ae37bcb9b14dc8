"""Loss and gradients of one batch, from one checkpoint, against autograd's.

Tolerances are relative: to the loss, and to a gradient's largest element. fp32
carries 6e-8; a gradient sums over about a thousand tokens in another order.
"""

import torch
from tokenizers import Tokenizer

from harness import CASES, LAYOUTS, load_safetensors, random_model

TOLERANCE = 1e-4
BOS, EOS = 638, 639


def loss_of(model, bench):
    """The mean over all completion tokens of the batch, sample by sample."""
    tokenizer = Tokenizer.from_file(str(bench.folder / "tokenizer.json"))
    total, count = 0.0, 0
    for sample in bench.samples:
        prompt, answer = (
            tokenizer.encode(sample[field], add_special_tokens=False).ids
            for field in ("ticket", "triage"))
        ids = torch.tensor([BOS, *prompt, *answer, EOS])
        first = 1 + len(prompt)
        logits = model(ids[None]).logits[0, first - 1:-1]
        total = total + torch.nn.functional.cross_entropy(
            logits, ids[first:], reduction="sum")
        count += len(ids) - first
    return total / count


def worst(ours, theirs):
    """The largest relative difference and the tensor that has it."""
    found = (0.0, "none")
    for name, gradient in theirs.items():
        difference = (ours[name] - gradient).abs().max() / gradient.abs().max()
        found = max(found, (difference.item(), name))
    return found


def compare(bench, verdicts, case, layout, settings, loss, gradients):
    name = f"gradients-{case}-{layout.replace(' ', '')}"
    dump = f"{name}.safetensors"
    steps = bench.train(case, name,
                        {**settings, "weights": f'"gradients-{case}"'},
                        "--dump-gradients=" + dump)
    verdicts.check(f"loss: {case} ({layout})",
                   abs(steps[0]["loss"] - loss) / loss, TOLERANCE)
    ours = load_safetensors(bench.folder / dump)
    verdicts.equal(f"gradients: {case} ({layout}), names", sorted(ours),
                   sorted(gradients))
    difference, tensor = worst(ours, gradients)
    verdicts.check(f"gradients: {case} ({layout}), {len(ours)} tensors",
                   difference, TOLERANCE)
    norm = sum(each.double().square().sum() for each in gradients.values())
    norm = norm.sqrt().item()
    verdicts.check(f"gradient norm: {case} ({layout})",
                   abs(steps[0]["grad_norm"] - norm) / norm, TOLERANCE)
    if difference > TOLERANCE:
        print(f"  worst: {tensor}")


def main(bench, verdicts):
    for number, case in enumerate(CASES):
        model = random_model(bench, case, f"gradients-{case}", 100 + number)
        loss = loss_of(model, bench)
        loss.backward()
        # A tied matrix is one parameter with one name.
        gradients = {name: parameter.grad
                     for name, parameter in model.named_parameters()}
        for layout, settings in LAYOUTS.items():
            compare(bench, verdicts, case, layout, settings, loss.item(),
                    gradients)
