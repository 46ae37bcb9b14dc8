#!/usr/bin/env python3
"""The peer of tools/benchmark/cpu_training: the same Llama in PyTorch.

Trains on random tokens and prints one JSON object: the seconds of each step
after the warm-up. fp32, or bf16 by autocast over fp32 parameters. Each step is
told on stderr. Refuses to run on the reference BLAS, which has no kernels for
a machine's vector instructions.
"""

import argparse
import json
import math
import pathlib
import re
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F


class RmsNorm(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(hidden))

    def forward(self, x):
        scale = torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + 1e-5)
        return (x * scale).to(x.dtype) * self.weight


def rotate(x, cos, sin):
    first, second = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-second, first), dim=-1) * sin


class Layer(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.args = args
        width = args.hidden // args.heads
        linear = lambda a, b: nn.Linear(a, b, bias=False)
        self.input_norm = RmsNorm(args.hidden)
        self.post_norm = RmsNorm(args.hidden)
        self.q = linear(args.hidden, args.heads * width)
        self.k = linear(args.hidden, args.kv_heads * width)
        self.v = linear(args.hidden, args.kv_heads * width)
        self.o = linear(args.heads * width, args.hidden)
        self.gate = linear(args.hidden, args.ffn)
        self.up = linear(args.hidden, args.ffn)
        self.down = linear(args.ffn, args.hidden)

    def attention(self, x, cos, sin, mask):
        b, s, _ = x.shape
        args = self.args
        width = args.hidden // args.heads
        split = lambda y, n: y.view(b, s, n, width).transpose(1, 2)
        q = rotate(split(self.q(x), args.heads), cos, sin)
        k = rotate(split(self.k(x), args.kv_heads), cos, sin)
        v = split(self.v(x), args.kv_heads)
        if hasattr(F, "scaled_dot_product_attention"):
            group = args.heads // args.kv_heads
            k, v = (y.repeat_interleave(group, 1) for y in (k, v))
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            group = args.heads // args.kv_heads
            k, v = (y.repeat_interleave(group, 1) for y in (k, v))
            scores = q @ k.transpose(-1, -2) / math.sqrt(width) + mask
            y = scores.softmax(-1).to(v.dtype) @ v
        return self.o(y.transpose(1, 2).reshape(b, s, args.heads * width))

    def forward(self, x, cos, sin, mask):
        x = x + self.attention(self.input_norm(x), cos, sin, mask)
        g = self.post_norm(x)
        return x + self.down(F.silu(self.gate(g)) * self.up(g))


class Llama(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.embed = nn.Embedding(args.vocab, args.hidden)
        self.layers = nn.ModuleList(Layer(args) for _ in range(args.layers))
        self.norm = RmsNorm(args.hidden)
        self.head = nn.Linear(args.hidden, args.vocab, bias=False)
        width = args.hidden // args.heads
        inverse = 10000.0 ** (-torch.arange(0, width, 2).float() / width)
        angle = torch.outer(torch.arange(args.sequence).float(), inverse)
        angle = torch.cat((angle, angle), dim=-1)
        self.cos, self.sin = angle.cos(), angle.sin()
        full = torch.full((args.sequence, args.sequence), float("-inf"))
        self.mask = full.triu(1)

    def forward(self, tokens):
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x, self.cos, self.sin, self.mask)
        return self.head(self.norm(x))


def reference_blas():
    """The path of the reference BLAS if PyTorch loaded no other, else None.

    On Debian `libblas.so.3` is one of several libraries, each in its folder.
    """
    mapped = set(re.findall(r"/\S*\.so\S*",
                            pathlib.Path("/proc/self/maps").read_text()))
    if any(re.search("openblas|mkl|blis|atlas", path) for path in mapped):
        return None
    return next((path for path in sorted(mapped) if "/libblas.so" in path),
                None)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, value in [
        ("vocab", 8192), ("hidden", 768), ("ffn", 2048), ("layers", 8),
        ("heads", 12), ("kv_heads", 4), ("sequence", 512), ("micro", 4),
        ("steps", 10), ("warmup", 2), ("threads", 2),
    ]:
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--compute", choices=["fp32", "bf16"], default="fp32")
    parser.add_argument("--any-blas", action="store_true",
                        help="run on the reference BLAS, too")
    return parser.parse_args()


def main():
    args = parse_arguments()
    slow = reference_blas()
    if slow and not args.any_blas:
        print(f"error: PyTorch runs on the reference BLAS, `{slow}`\n"
              "help: install OpenBLAS (`apt install libopenblas0-pthread`), or "
              "compare with that by `--any-blas`", file=sys.stderr)
        return 1
    torch.manual_seed(0)
    torch.set_num_threads(args.threads)
    model = Llama(args)
    decay = [p for p in model.parameters() if p.dim() > 1]
    rest = [p for p in model.parameters() if p.dim() == 1]
    optimizer = torch.optim.AdamW(
        [{"params": decay, "weight_decay": 0.1},
         {"params": rest, "weight_decay": 0.0}], lr=1e-4)
    seconds = []
    for step in range(args.steps):
        start = time.perf_counter()
        tokens = torch.randint(args.vocab, (args.micro, args.sequence + 1))
        with torch.autocast("cpu", torch.bfloat16, args.compute == "bf16"):
            logits = model(tokens[:, :-1])
        loss = F.cross_entropy(
            logits.float().reshape(-1, args.vocab), tokens[:, 1:].reshape(-1))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        loss.item()
        seconds.append(time.perf_counter() - start)
        print(f"PyTorch, {args.compute}: step {step + 1} of {args.steps}, "
              f"{seconds[-1]:.1f} s", file=sys.stderr, flush=True)
    print(json.dumps({
        "torch": torch.__version__,
        "parameters": sum(p.numel() for p in model.parameters()),
        "tokens_per_step": args.micro * args.sequence,
        "seconds": seconds[args.warmup:],
    }))
    return 0


sys.exit(main())
