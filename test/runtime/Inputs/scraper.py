"""Runs a Prometheus, for the tests of metrics."""

import atexit
import contextlib
import json
import pathlib
import re
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request


class Prometheus:
    """Scrapes the targets every 200 ms, and evaluates the rules."""

    def __init__(self, targets, rules):
        config = {"global": {"scrape_interval": "200ms",
                             "evaluation_interval": "200ms"},
                  "rule_files": [rules],
                  "scrape_configs": [{
                      "job_name": "tested",
                      "static_configs": [{"targets": targets}]}]}
        pathlib.Path("prometheus.json").write_text(json.dumps(config))
        self.process = subprocess.Popen(
            ["prometheus", "--config.file=prometheus.json",
             "--storage.tsdb.path=tsdb",
             "--web.listen-address=127.0.0.1:0"],
            stderr=open("prometheus.log", "w"))
        atexit.register(self.process.kill)
        self.port = None
        self.wait_for("a start", self.find_port)

    def find_port(self):
        found = re.search(r'"Listening on" address=127.0.0.1:(\d+)',
                          open("prometheus.log").read())
        self.port = found and int(found.group(1))
        return found

    def get(self, path, **parameters):
        url = (f"http://127.0.0.1:{self.port}/api/v1/{path}?" +
               urllib.parse.urlencode(parameters))
        try:
            with urllib.request.urlopen(url, timeout=10) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            if error.code == 503:
                raise  # it starts
            raise SystemExit(f"{parameters}: {error.read().decode()}")

    def value(self, query):
        """Of the only series; None without one."""
        result = self.get("query", query=query)["result"]
        return float(result[0]["value"][1]) if result else None

    def wait_for(self, what, done):
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            with contextlib.suppress(urllib.error.URLError):
                if done():
                    return
            time.sleep(0.05)
        raise SystemExit(f"{what} did not happen: " +
                         open("prometheus.log").read())
