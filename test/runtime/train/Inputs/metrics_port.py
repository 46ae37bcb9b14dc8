"""Scrapes trainings at `train.metrics_port`, also beside clients that do not
read, and compares the values with the files of the run."""

import signal
import socket
import subprocess
import sys
import time

from training import Training, expect, free_port, plan, rows

recipec, reciperun, recipe, *mpirun = sys.argv[1:]
port = free_port()
settings = {"train__steps": 1000000, "train__metrics_port": port,
            "checkpoint__every": "5 steps",
            "train__validate_every": "5 steps", "train__dir": '"run"',
            "cluster__ranks": 2}
plan(recipec, recipe, "plan.json", **settings)
command = [*mpirun, "-np", "2", reciperun, "train", "plan.json"]


def started(log):
    run = Training(command, port, log)
    run.wait_for("a checkpoint", lambda each: each.get(
        "recipec_train_checkpoint_last_step", 0) >= 5)
    return run


def check_names(run):
    checked = subprocess.run(["promtool", "check", "metrics"],
                             input=run.request("/metrics")[2], text=True,
                             capture_output=True)
    expect(checked.stdout + checked.stderr, "", "what promtool finds")
    expect(checked.returncode, 0, "promtool's exit code")


def check_paths(run):
    status, kind, _ = run.request("/metrics")
    expect((status, kind), (200, "text/plain; version=0.0.4; charset=utf-8"),
           "the metrics")
    expect(run.request("/")[0], 404, "another path")
    expect(run.request("/metrics", "POST")[0], 405, "another method")


def check_slow_clients(run):
    """Neither a step nor a scrape waits for clients that do not."""
    clients = [socket.create_connection(("127.0.0.1", port)) for _ in range(20)]
    for each in clients[:10]:
        each.sendall(b"GET /metrics HTTP/1.1\r\nHost: a\r\n")  # no end
    for each in clients[10:]:
        each.sendall(b"GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n" * 50)
    before = run.values()["recipec_train_steps_total"]
    begin = time.monotonic()
    for _ in range(20):
        expect(run.request("/metrics")[0], 200, "a scrape beside slow clients")
    expect(time.monotonic() - begin < 10, True, "quick scrapes")
    run.wait_for("a step beside slow clients", lambda each: each[
        "recipec_train_steps_total"] >= before + 20)
    return clients


def check_port_in_use():
    plan(recipec, recipe, "other.json", **{**settings, "train__dir": '"other"'})
    run = Training([*mpirun, "-np", "2", reciperun, "train", "other.json"],
                   port, "other.log")
    expect(run.process.wait(timeout=60), 1, "exit code")
    wanted = (f"error: `train.metrics_port`: cannot listen at 0.0.0.0:{port}: "
              "Address already in use; give the run another "
              "`train.metrics_port`, or `none`\n")
    expect(wanted in run.text_of_log(), True, run.text_of_log())


def check_values(run):
    """Against the files, of steps that both have seen."""
    values = run.values()
    step = int(values["recipec_train_step"])
    row = rows("run/metrics.jsonl")[step - 1]
    for name, field in [("loss", "loss"), ("learning_rate", "lr"),
                        ("gradient_norm", "grad_norm"),
                        ("tokens_per_second", "tokens_per_second"),
                        ("device_memory_bytes", "device_bytes")]:
        expect(abs(values[f"recipec_train_{name}"] / row[field] - 1) < 1e-4,
               True, name)
    expect(values["recipec_train_planned_steps"], 1000000, "planned steps")
    expect(values["recipec_train_step_seconds_count"],
           values["recipec_train_steps_total"], "observed steps")
    expect(values["recipec_train_tokens_total"],
           values["recipec_train_steps_total"] * 4 * 32, "tokens")
    expect(values["recipec_train_samples_total"],
           values["recipec_train_steps_total"] * 4, "samples")
    expect(0 < values["recipec_train_goodput_ratio"] <= 1, True, "goodput")
    expect("recipec_train_mfu_ratio" in values, False, "MFU on a CPU")
    return values


first = started("first.log")
info = [each for each in first.values() if "_info" in each]
expect(len(info), 1, "info")
for label in ('layout="dp 2"', 'ranks="2"', 'task="pretrain"', 'device="cpu"'):
    expect(label in info[0], True, info[0])
check_names(first)
check_paths(first)
clients = check_slow_clients(first)
check_port_in_use()
time.sleep(0.2)
values = check_values(first)
expect(values["recipec_train_restarts_total"], 0, "restarts")
first.process.terminate()
code = first.process.wait(timeout=30)  # the clients are still there
expect(code != 0, True, "exit code of an ended run")

second = started("second.log")
values = check_values(second)
expect(values["recipec_train_restarts_total"], 1, "restarts")
done = int(values["recipec_train_step"] - values["recipec_train_steps_total"])
expect(done > 20, True, "steps before the restart")
expect(second.stop(), 128 + signal.SIGUSR1, "exit code of the end")
kinds = [each["event"] for each in rows("run/events.jsonl")]
expect((kinds[0], kinds.count("start"), kinds.count("resume"), kinds[-1]),
       ("start", 1, 1, "end"), "events")
resumed = rows("run/events.jsonl")[kinds.index("resume")]
expect(resumed["step"], done, "the step that was resumed")
expect(rows("run/events.jsonl")[-1]["reason"], "signal", "the end")
print("all as expected")
