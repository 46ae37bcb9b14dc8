"""Scrapes a server with Prometheus and asks it all queries of the dashboard.

promtool's advice on names is allowed where vLLM and Triton do not follow it.
"""

import atexit
import contextlib
import json
import os
import pathlib
import re
import subprocess
import sys
import time
import urllib.parse
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../Inputs"))
from serving import Server, expect  # noqa: E402

reciperun, model, monitoring = sys.argv[1:]
ADVICE = re.compile(
    r"(vllm:\w+ metric names should not contain ':'"
    r'|vllm:iteration_tokens_total non-counter metrics should not have'
    r' "_total" suffix'
    r'|nv_\w+ counter metrics should have "_total" suffix'
    r"|nv_inference_(exec_|pending_request_)?count non-histogram and"
    r' non-summary metrics should not have "_count" suffix'
    r"|nv_\w+ (use base unit|metric names should not contain abbreviated"
    r" units).*)")


def check_text(server):
    text = server.request("GET", "/metrics")[2]
    checked = subprocess.run(["promtool", "check", "metrics"], input=text,
                             text=True, capture_output=True)
    lines = (checked.stdout + checked.stderr).splitlines()
    expect([each for each in lines if not ADVICE.fullmatch(each)], [],
           "what promtool finds")
    expect(checked.returncode, 3, "promtool's exit code")  # it advises


class Prometheus:
    def __init__(self, target):
        config = {"global": {"scrape_interval": "200ms",
                             "evaluation_interval": "200ms"},
                  "rule_files": [f"{monitoring}/alerts.yml"],
                  "scrape_configs": [{
                      "job_name": "reciperun",
                      "static_configs": [{"targets": [target]}]}]}
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


def queries():
    """All expressions of the dashboard, with values for its variables."""
    dashboard = json.load(open(f"{monitoring}/grafana.json"))
    for panel in dashboard["panels"]:
        for target in panel["targets"]:
            yield (target["expr"].replace("$__rate_interval", "1m")
                   .replace("$instance", ".*").replace("$model", ".*"))


server = Server([reciperun, "serve", model, "--port", "0",
                 "--served-model-name", "triage"], "server.log")
prometheus = Prometheus(f"127.0.0.1:{server.port}")
for _ in range(4):
    status, _ = server.post("/v1/completions", {
        "prompt": "a", "max_tokens": 5, "ignore_eos": True})
    expect(status, 200, "a completion")
check_text(server)
prometheus.wait_for("a scrape of all tokens", lambda: prometheus.value(
    'vllm:generation_tokens_total{model_name="triage"}') == 20)
expect(prometheus.value("up"), 1, "the target")
expect(prometheus.value("reciperun_ready"), 1, "readiness")
expect(prometheus.value(
    "histogram_quantile(1, vllm:request_generation_tokens_bucket)"), 5,
    "a quantile")
asked = [prometheus.get("query", query=each) for each in queries()]
expect(len(asked) > 30, True, "the dashboard's queries")
prometheus.wait_for("an evaluation of all alerts", lambda: all(
    rule["health"] == "ok" for group in prometheus.get("rules")["groups"]
    for rule in group["rules"]))
expect(server.stop(), 0, "exit code")
print("all as expected")
