"""Prints what the peer prints of a run, without a GPU."""

import os
import sys

if "8b" in sys.argv:
    sys.exit("torch.OutOfMemoryError: CUDA out of memory.")
print("warning: of some kind")
print(f"peer hf {os.environ['CUDA_VISIBLE_DEVICES']} step=276.4ms "
      "tok/s/gpu=59277 TF/s/gpu=488 MFU=49.3% peak=49.2GiB")
