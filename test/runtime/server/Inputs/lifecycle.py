"""Clients that go away, a full queue, and stop signals."""

import json
import socket
import subprocess
import sys
import threading
import time

from serving import Server, expect

reciperun, model = sys.argv[1:3]
TEXT = "/v1/completions"
LONG = {"prompt": "Order", "max_tokens": 90, "ignore_eos": True, "n": 100}
GAUGES = ["vllm:num_requests_running", "vllm:num_requests_waiting"]


def start(*options):
    return Server([reciperun, "serve", model, "--port", "0", *options],
                  "lifecycle.log")


def head(body):
    return (f"POST {TEXT} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json"
            f"\r\nContent-Length: {len(body)}\r\n\r\n{body}").encode()


def wait_until_idle(server):
    deadline = time.monotonic() + 5
    while any(server.gauge(each) for each in GAUGES):
        expect(time.monotonic() < deadline, True, "idle within five seconds")
        time.sleep(0.02)


def check_gone(server):
    """Answers that nobody waits for end, streamed or not."""
    for streams in (False, True):
        body = json.dumps(dict(LONG, stream=streams))
        for _ in range(20):
            with socket.create_connection(("127.0.0.1", server.port)) as each:
                each.sendall(head(body))
                if streams:
                    each.recv(1)
        time.sleep(0.05)
        begin = time.monotonic()
        wait_until_idle(server)
        took = time.monotonic() - begin
        status, _ = server.post(TEXT, {"prompt": "a", "max_tokens": 2})
        expect(status, 200, "a request after them")
        expect(took < 5, True, "the time")


def check_drain(server):
    """An open answer is completed after the signal, a new one refused."""
    answers = []
    thread = threading.Thread(target=lambda: answers.append(
        server.post(TEXT, dict(LONG, n=200))))
    connection = server.connect()
    connection.connect()
    thread.start()
    while server.gauge(GAUGES[0]) == 0:
        expect(thread.is_alive(), True, "the open answer is computed")
        time.sleep(0.005)
    server.process.terminate()
    time.sleep(0.1)
    status, answer = server.post(TEXT, {"prompt": "a"}, connection=connection)
    expect((status, answer["error"]["type"]),
           (503, "ServiceUnavailableError"), "a request while stopping")
    expect(server.request("GET", "/health")[0], 503, "health while stopping")
    thread.join()
    status, answer = answers[0]
    expect((status, len(answer["choices"])), (200, 200), "the open answer")
    expect(server.process.wait(60), 0, "exit code")


def check_queue(server):
    status, answer = server.post(TEXT, dict(LONG, n=9))
    expect((status, "of at most 8" in answer["error"]["message"]), (503, True),
           "more than the queue takes")
    other = subprocess.run([reciperun, "serve", model, "--port",
                            str(server.port)], stderr=subprocess.PIPE,
                           text=True)
    expect((other.returncode, "Address already in use" in other.stderr),
           (1, True), "a port in use")


def check_config():
    """The defaults of generation_config.json hold; a damaged file is an error."""
    with open(f"{model}/generation_config.json", "r+") as file:
        whole = file.read()
        file.seek(0)
        file.write('{"do_sample": true, "temperature": "x"}')
        file.truncate()
    made = subprocess.run([reciperun, "serve", model, "--port", "0"],
                          stderr=subprocess.PIPE, text=True, timeout=60)
    expect((made.returncode, "temperature" in made.stderr), (1, True),
           made.stderr)
    with open(f"{model}/generation_config.json", "w") as file:
        file.write('{"do_sample": true, "temperature": 1e-6}')
    server = start()
    body = {"prompt": "Order", "ignore_eos": True, "n": 1}
    expect(server.post(TEXT, body)[1]["choices"],
           server.post(TEXT, body)[1]["choices"], "the file's temperature")
    expect(server.stop(), 0, "exit code")
    with open(f"{model}/generation_config.json", "w") as file:
        file.write(whole)


def main():
    check_config()
    server = start("--drain-timeout", "300")
    check_gone(server)
    check_drain(server)
    server = start("--max-queue", "8", "--drain-timeout", "0")
    check_queue(server)
    expect(server.stop(), 0, "exit code")
    print("all as expected")


main()
