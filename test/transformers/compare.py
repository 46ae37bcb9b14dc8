#!/usr/bin/env python3
"""Compares our models with Hugging Face's: logits, gradients, adapters.

Usage: python3 compare.py [--only logits,families,gradients,adapter,gpu]
           [--out FOLDER] [--recipec PATH] [--reciperun PATH] [--mpirun COMMAND]

Prints a line a check with the difference that was measured and the one that is
allowed, and exits 1 where one fails. Needs torch, transformers, peft,
safetensors and tokenizers, no network and no GPU. The part `gpu`, which runs
where it is asked for, compares a Llama 1B in bf16 and needs a GPU of 80 GB, but
neither peft nor tokenizers.
"""

import argparse
import importlib
import os
import pathlib
import sys
import tempfile

sys.dont_write_bytecode = True
# Nothing here comes from the network, and nothing may try.
os.environ["HF_HUB_OFFLINE"] = "1"
PARTS = ["logits", "families", "gradients", "adapter"]
ON_REQUEST = ["gpu"]


def main():
    root = pathlib.Path(__file__).resolve().parents[2]
    programs = root / "build" / "bin"
    as_root = "--allow-run-as-root " if os.geteuid() == 0 else ""
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--only", default=",".join(PARTS))
    parser.add_argument("--out", help="folder to work in; a temporary one")
    parser.add_argument("--recipec", default=str(programs / "recipec"))
    parser.add_argument("--reciperun", default=str(programs / "reciperun"))
    parser.add_argument("--mpirun", default=f"mpirun {as_root}--oversubscribe "
                                            "--bind-to none")
    args = parser.parse_args()

    from harness import Bench, Verdicts
    verdicts = Verdicts()
    with tempfile.TemporaryDirectory() as temporary:
        bench = Bench(args.out or temporary, os.path.abspath(args.recipec),
                      os.path.abspath(args.reciperun), args.mpirun)
        for part in args.only.split(","):
            if part not in PARTS + ON_REQUEST:
                sys.exit(f"there is no part `{part}`: "
                         f"{', '.join(PARTS + ON_REQUEST)}")
            importlib.import_module(part).main(bench, verdicts)
    print(f"{verdicts.passed} passed, {verdicts.failed} failed")
    return 1 if verdicts.failed else 0


sys.exit(main())
