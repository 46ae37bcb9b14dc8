"""Starts a server by `recipec run`, asks it, and ends it by SIGTERM.

usage: run_serve.py RECIPEC [OPTION...]

The options are passed on to the server.
"""

import http.client
import json
import re
import signal
import subprocess
import sys
import time

command = [sys.argv[1], "run", "tiny.recipe", "--set", 'task="serve"', "--set",
           "serve.max_batch=3", "--", "--port", "0",
           "--served-model-name", "tiny", *sys.argv[2:]]


def port_of(process):
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        found = re.search(r"`tiny` is served at http://127.0.0.1:(\d+)",
                          open("serve.log").read())
        if found:
            return int(found.group(1))
        time.sleep(0.02)
    raise SystemExit(f"it does not serve: {open('serve.log').read()}")


with open("serve.log", "w") as log:
    process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
try:
    connection = http.client.HTTPConnection("127.0.0.1", port_of(process),
                                            timeout=60)
    connection.request("POST", "/v1/completions",
                       json.dumps({"prompt": "Order", "max_tokens": 3}),
                       {"Content-Type": "application/json"})
    answer = json.load(connection.getresponse())
    assert answer["model"] == "tiny", answer
    with open("run/plan.json") as plan:
        limits = json.load(plan)["serving"]
    assert limits["max_batch"] == 3, limits
    process.send_signal(signal.SIGTERM)
    code = process.wait(60)
    assert code == 0, (code, open("serve.log").read())
finally:
    process.kill()
print("all as expected")
