"""Stands in for PyTorch as far as torch_llama.py is read: it maps the library
that $BLAS names, as PyTorch loads its BLAS."""

import mmap
import os

with open(os.environ["BLAS"], "rb") as library:
    mapped = mmap.mmap(library.fileno(), 0, prot=mmap.PROT_READ)


def manual_seed(_):
    raise SystemExit("trains")
