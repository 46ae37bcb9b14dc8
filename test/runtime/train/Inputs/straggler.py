"""Stops and continues one of two ranks again and again, until the run names it
as a straggler; then lets it work, until it has caught up."""

import glob
import os
import signal
import socket
import sys
import threading
import time

from training import Training, expect, free_port, plan, rows

recipec, reciperun, recipe, *mpirun = sys.argv[1:]
port = free_port()
plan(recipec, recipe, "plan.json", train__steps=1000000,
     train__metrics_port=port, train__dir='"run"', cluster__ranks=2,
     batch__global=64, train__straggler=2.0, train__straggler_window="10 steps")
run = Training([*mpirun, "-np", "2", reciperun, "train", "plan.json"], port,
               "log")
RATIO = f'recipec_train_rank_slowdown_ratio{{host="{socket.gethostname()}",rank='


def descendants(process):
    for path in glob.glob(f"/proc/{process}/task/*/children"):
        for child in open(path).read().split():
            yield child
            yield from descendants(child)


def process_of_rank(rank):
    for process in descendants(run.process.pid):
        with open(f"/proc/{process}/environ") as file:
            if f"OMPI_COMM_WORLD_RANK={rank}" in file.read().split("\0"):
                return int(process)
    raise SystemExit(f"no rank {rank}")


def ratio(values, rank):
    return values.get(f'{RATIO}"{rank}"}}', 0)


run.wait_for("a window of steps", lambda each: ratio(each, 1) > 0)
victim = process_of_rank(1)
slowed = threading.Event()
slowed.set()


def slow_down():
    while slowed.is_set():
        os.kill(victim, signal.SIGSTOP)
        time.sleep(0.05)
        os.kill(victim, signal.SIGCONT)
        time.sleep(0.005)


thread = threading.Thread(target=slow_down, daemon=True)
thread.start()
run.wait_for("a straggler", lambda each: ratio(each, 1) > 2 and each[
    "recipec_train_stragglers_total"] > 0)
slowed.clear()
thread.join()
run.wait_for("the end of it", lambda each: 0 < ratio(each, 1) < 2)
expect(run.stop(), 128 + signal.SIGUSR1, "exit code of the end")
events = [each for each in rows("run/events.jsonl")
          if each["event"] == "straggler" and each["rank"] == 1]
expect(len(events) > 0, True, "events of rank 1")
slow = events[-1]
expect(slow["host"], socket.gethostname(), "host")
expect(slow["ratio"] > 2 and slow["step"] % 10 == 3, True, slow)
log = run.text_of_log()
expect(f"warning: {slow['message']}\n" in log, True, log)
expect(f"note: rank 1 (host {slow['host']}) is no longer slower than the others"
       in log, True, log)
print("all as expected")
