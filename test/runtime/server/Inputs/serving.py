"""Starts `reciperun serve` and talks to it, for the tests of this folder.

Only Python's own HTTP client is used, and sockets where a test sends what no
client would.
"""

import atexit
import contextlib
import http.client
import json
import re
import signal
import socket
import subprocess
import time


class Server:
    def __init__(self, command, errors, environment=None):
        self.errors = open(errors, "w+")
        self.process = subprocess.Popen(command, stderr=self.errors,
                                        env=environment)
        atexit.register(self.process.kill)  # where a test fails
        self.port = self.wait_for_port(errors)

    def wait_for_port(self, errors):
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and self.process.poll() is None:
            found = re.search(r"served at https?://127.0.0.1:(\d+)",
                              open(errors).read())
            if found:
                return int(found.group(1))
            time.sleep(0.02)
        raise SystemExit(f"the server did not start: {open(errors).read()}")

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)

    def request(self, method, path, body=None, headers=None, connection=None):
        """The status, the headers and the body as text."""
        connection = connection or self.connect()
        if isinstance(body, (dict, list)):
            body = json.dumps(body)
        connection.request(method, path, body,
                           {"Content-Type": "application/json"}
                           if headers is None else headers)
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read().decode()

    def post(self, path, body, **more):
        status, _, text = self.request("POST", path, body, **more)
        return status, json.loads(text)

    def stream(self, path, body):
        """The events of a stream as they lie, without `data: `."""
        status, headers, text = self.request("POST", path,
                                             dict(body, stream=True))
        assert status == 200, text
        assert headers["Content-Type"].startswith("text/event-stream"), headers
        events = text.split("\n\n")
        assert events.pop() == "", text
        assert all(each.startswith("data: ") for each in events), text
        return [each[len("data: "):] for each in events]

    def gauge(self, name):
        _, _, text = self.request("GET", "/metrics")
        return float(re.search(rf"^{name}{{[^}}]*}} (\S+)$", text,
                               re.MULTILINE).group(1))

    def send(self, data):
        """Everything that comes back for raw bytes until the server closes."""
        with socket.create_connection(("127.0.0.1", self.port), 60) as each:
            with contextlib.suppress(ConnectionError):
                each.sendall(data)
            got = b""
            with contextlib.suppress(ConnectionError):
                while piece := each.recv(1 << 16):
                    got += piece
            return got

    def stop(self):
        """Ends the server by SIGTERM; returns its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)


def expect(got, wanted, what):
    if got != wanted:
        raise SystemExit(f"{what}: got {got!r}, not {wanted!r}")
