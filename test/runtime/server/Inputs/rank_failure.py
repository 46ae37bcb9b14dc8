"""Stalls, hangs and kills the second rank of a server."""

import http.client
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import threading
import time

from ranks import ranks_below
from serving import Server, expect

reciperun, *launcher = sys.argv[1:]
TEXT = "/v1/completions"
LONG = {"prompt": "Order", "max_tokens": 90, "ignore_eos": True, "n": 120,
        "temperature": 1, "seed": 7}


def serve(*options):
    return Server([*launcher, "-np", "2", reciperun, "serve", "model", "--plan",
                   "two.json", "--port", "0", *options], "rank_failure.log")


def ask(server, answers):
    """Asks for a long answer on a thread of its own."""
    def run():
        try:
            answers.append(server.post(TEXT, LONG))
        except (OSError, http.client.HTTPException) as failure:
            answers.append(failure)
    thread = threading.Thread(target=run)
    thread.start()
    while server.gauge("vllm:num_requests_running") == 0:
        expect(thread.is_alive(), True, f"the answer is computed {answers}")
        time.sleep(0.005)
    return thread


def health(server):
    try:
        return server.request("GET", "/health")[0]
    except OSError:
        return None


def wait_for_health(server, wanted, seconds):
    begin = time.monotonic()
    while health(server) != wanted:
        expect(time.monotonic() - begin < seconds, True,
               f"health {wanted} within {seconds} s")
        time.sleep(0.02)
    return time.monotonic() - begin


def check_stall():
    """A rank that stands still for a while delays answers and no more; one that
    stands still forever ends the server."""
    server = serve("--stall-timeout", "1", "--step-timeout", "4")
    expected = server.post(TEXT, LONG)
    rank = ranks_below(server.process.pid)[1]
    answers = []
    thread = ask(server, answers)
    os.kill(rank, signal.SIGSTOP)
    wait_for_health(server, 503, 5)
    expect(json.loads(server.request("GET", "/status")[2])["state"], "stalled",
           "the state")
    os.kill(rank, signal.SIGCONT)
    wait_for_health(server, 200, 5)
    thread.join()
    expect(answers[0][1]["choices"], expected[1]["choices"], "after a stall")

    answers = []
    thread = ask(server, answers)
    os.kill(rank, signal.SIGSTOP)
    thread.join()
    expect(answers[0][0], 500, "the status of a lost answer")
    expect("--step-timeout" in answers[0][1]["error"]["message"], True,
           answers[0])
    expect(server.process.wait(20), 1, "exit code")


def check_death():
    server = serve()
    answers = []
    thread = ask(server, answers)
    os.kill(ranks_below(server.process.pid)[1], signal.SIGKILL)
    begin = time.monotonic()
    thread.join()
    expect(answers[0][0], 500, "the status of a lost answer")
    expect("a rank has ended" in answers[0][1]["error"]["message"], True,
           answers[0])
    while health(server) is not None:
        expect(health(server) in (503, None), True, "health after a death")
        expect(time.monotonic() - begin < 5, True, "the end")
    expect(server.process.wait(20) != 0, True, "the exit code")


def free_port():
    with socket.socket() as each:
        each.bind(("127.0.0.1", 0))
        return each.getsockname()[1]


def check_restart():
    """The server starts its ranks, again after the death of one, and stops."""
    server = Server([reciperun, "serve", "model", "--plan", "two.json",
                     "--port", str(free_port()), "--restart", "1",
                     "--access-log", "access.jsonl"], "restart.log")
    launched = pathlib.Path(
        f"/proc/{server.process.pid}/task/{server.process.pid}/children")
    os.kill(ranks_below(int(launched.read_text()))[1], signal.SIGKILL)
    begin = time.monotonic()
    while pathlib.Path("restart.log").read_text().count("served at") < 2:
        expect(time.monotonic() - begin < 20, True, "the restart")
        time.sleep(0.02)
    expect(server.post(TEXT, {"prompt": "a", "max_tokens": 2})[0], 200,
           "a request after the restart")
    pathlib.Path("access.jsonl").unlink()
    server.process.send_signal(signal.SIGHUP)  # opens the access log anew
    while not pathlib.Path("access.jsonl").exists():
        expect(time.monotonic() - begin < 30, True, "the effect of SIGHUP")
        expect(health(server), 200, "health after SIGHUP")
        time.sleep(0.02)
    expect(server.stop(), 0, "exit code")
    said = pathlib.Path("restart.log").read_text()
    expect("starts again in 1 s, restart 1 of 1" in said, True, said)


def main():
    check_stall()
    check_death()
    check_restart()
    failing = subprocess.run(
        [reciperun, "serve", "model", "--port", "99999", "--restart", "5"],
        stderr=subprocess.PIPE, text=True, timeout=20)
    expect((failing.returncode != 0, "starts again" in failing.stderr),
           (True, False), failing.stderr)
    print("all as expected")


main()
