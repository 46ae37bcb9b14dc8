"""The GPUs of this machine: their properties, their clocks and power during
a run, and the versions of the installed libraries."""

import contextlib
import ctypes
import json
import os
import subprocess
import threading
import time

QUERY = ["nvidia-smi", "--format=csv,noheader,nounits"]


def visible():
    """The visible GPUs, numbered as in CUDA_VISIBLE_DEVICES."""
    if given := os.environ.get("CUDA_VISIBLE_DEVICES"):
        return given.split(",")
    try:
        listed = subprocess.run(["nvidia-smi", "-L"], text=True,
                                stdout=subprocess.PIPE).stdout
    except FileNotFoundError:
        return []
    return [str(number) for number in range(len(listed.splitlines()))]


class Pool:
    """A pool of items. Callers that must wait are served in order."""

    def __init__(self, things):
        self.free = list(things)
        self.total = len(self.free)
        self.turn = threading.Lock()
        self.changed = threading.Condition()

    def take(self, count):
        with self.turn, self.changed:
            self.changed.wait_for(lambda: len(self.free) >= count)
            taken, self.free = self.free[:count], self.free[count:]
        return taken

    def give_back(self, taken):
        with self.changed:
            self.free += taken
            self.changed.notify_all()

    @contextlib.contextmanager
    def lend(self, count):
        taken = self.take(count)
        try:
            yield taken
        finally:
            self.give_back(taken)


def library(names, function):
    """The version number that a library returns, or `none`."""
    for name in names:
        try:
            tell = getattr(ctypes.CDLL(name), function)
        except (OSError, AttributeError):
            continue
        if function == "ncclGetVersion":
            number = ctypes.c_int()
            tell(ctypes.byref(number))
            return number.value
        tell.restype = ctypes.c_size_t
        return tell()
    return "none"


def facts(python):
    """The hardware and library versions that a measurement depends on."""
    def listed(fields):
        return subprocess.run(
            [*QUERY, f"--query-gpu={fields}"], text=True, check=True,
            stdout=subprocess.PIPE).stdout.splitlines()

    name, memory, driver, limit, clock = listed(
        "name,memory.total,driver_version,power.limit,clocks.max.sm"
    )[0].split(", ")
    peers = subprocess.run([python, "-c", """
import json, torch, transformers
print(json.dumps({"torch": torch.__version__, "transformers":
    transformers.__version__, "CUDA": torch.version.cuda, "cuDNN":
    torch.backends.cudnn.version(), "NCCL":
    ".".join(map(str, torch.cuda.nccl.version()))}))"""],
                           text=True, stdout=subprocess.PIPE,
                           stderr=subprocess.DEVNULL)
    return {
        "gpu": name, "gpus": len(visible()), "memory_mib": int(memory),
        "driver": driver, "power_limit_w": float(limit),
        "largest_mhz": int(clock),
        "ours": {
            "cuBLASLt": library(["libcublasLt.so.13", "libcublasLt.so.12"],
                                "cublasLtGetVersion"),
            "cuDNN": library(["libcudnn.so.9"], "cudnnGetVersion"),
            "NCCL": library(["libnccl.so.2"], "ncclGetVersion")},
        "peer": json.loads(peers.stdout) if peers.returncode == 0 else {},
    }


class Watch:
    """Samples the clocks and power of all GPUs several times a second."""

    def __init__(self):
        self.samples = []  # time, GPU, MHz, W
        self.process = subprocess.Popen(
            [*QUERY, "--query-gpu=index,clocks.sm,power.draw", "-lms", "200"],
            text=True, stdout=subprocess.PIPE)
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            try:
                gpu, clock, power = line.split(", ")
                self.samples.append((time.monotonic(), gpu, float(clock),
                                     float(power)))
            except ValueError:
                continue  # a GPU without the sensor prints `[N/A]`

    def mean(self, gpus, begin, end):
        """Mean MHz and W between two times; empty without samples."""
        seen = [sample[2:] for sample in list(self.samples)
                if begin <= sample[0] <= end and sample[1] in gpus]
        if not seen:
            return {}
        return {"mhz": sum(each[0] for each in seen) / len(seen),
                "watts": sum(each[1] for each in seen) / len(seen)}

    def stop(self):
        self.process.terminate()
        self.process.wait()
