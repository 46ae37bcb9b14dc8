"""Starts trainings that serve metrics, for the tests of this folder."""

import atexit
import json
import re
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request


def expect(found, wanted, what):
    if found != wanted:
        raise SystemExit(f"{what}: {found!r}, expected {wanted!r}")


def free_port():
    with socket.socket() as each:
        each.bind(("127.0.0.1", 0))
        return each.getsockname()[1]


def plan(recipec, recipe, output, **settings):
    """Compiles the recipe; `train__dir="a"` stands for `train.dir="a"`."""
    line = [recipec, "plan", recipe, "--folder=.", "-o", output]
    for name, value in settings.items():
        line += ["--set", f"{name.replace('__', '.')}={value}"]
    subprocess.run(line, check=True)


class Training:
    """A run that serves metrics at `port`. `command` ends in the plan."""

    def __init__(self, command, port, log):
        self.port = port
        self.log = open(log, "w+")
        self.process = subprocess.Popen(command, stdout=self.log,
                                        stderr=subprocess.STDOUT)
        atexit.register(self.process.kill)  # where a test fails

    def text_of_log(self):
        return open(self.log.name).read()

    def request(self, path, method="GET"):
        """The status, the type and the text."""
        asked = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}", method=method)
        try:
            with urllib.request.urlopen(asked, timeout=10) as answer:
                return (answer.status, answer.headers["Content-Type"],
                        answer.read().decode())
        except urllib.error.HTTPError as error:
            return error.code, error.headers["Content-Type"], error.read().decode()

    def values(self):
        """The metrics by name and labels other than `recipe`."""
        found = {}
        for line in self.request("/metrics")[2].splitlines():
            if not line.startswith("#"):
                name, _, value = line.rpartition(" ")
                name = re.sub(r'(recipe="[^"]*",?|,recipe="[^"]*")', "", name)
                found[name.replace("{}", "")] = float(value)
        return found

    def wait_for(self, what, done, seconds=60):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise SystemExit(f"the run ended before {what}: "
                                 f"{self.text_of_log()}")
            try:
                if done(self.values()):
                    return
            except urllib.error.URLError:
                pass  # it starts
            time.sleep(0.05)
        raise SystemExit(f"{what} did not happen: {self.values()}")

    def stop(self):
        """Ends the run after the step in progress; returns the exit code.
        mpirun passes this signal on, and waits for the ranks."""
        self.process.send_signal(signal.SIGUSR1)
        return self.process.wait(timeout=30)


def rows(path):
    return [json.loads(line) for line in open(path)]
