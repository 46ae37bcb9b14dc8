"""Scrapes a server with Prometheus and asks it all queries of the dashboard.

promtool's advice on names is allowed where vLLM and Triton do not follow it.
"""

import json
import os
import re
import subprocess
import sys

for folder in ("../../Inputs", "../../../Inputs"):
    sys.path.insert(0, os.path.join(os.path.dirname(__file__), folder))
from scraper import Prometheus  # noqa: E402
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


def queries():
    """All expressions of the dashboard, with values for its variables."""
    dashboard = json.load(open(f"{monitoring}/grafana.json"))
    for panel in dashboard["panels"]:
        for target in panel["targets"]:
            yield (target["expr"].replace("$__rate_interval", "1m")
                   .replace("$instance", ".*").replace("$model", ".*"))


server = Server([reciperun, "serve", model, "--port", "0",
                 "--served-model-name", "triage"], "server.log")
prometheus = Prometheus([f"127.0.0.1:{server.port}"],
                        f"{monitoring}/alerts.yml")
for _ in range(4):
    status, _ = server.post("/v1/completions", {
        "prompt": "a", "max_tokens": 5, "ignore_eos": True})
    expect(status, 200, "a completion")
check_text(server)
prometheus.wait_for("a scrape of all tokens", lambda: prometheus.value(
    'vllm:generation_tokens_total{model_name="triage"}') == 20)
# On a busy machine a scrape may take longer than the interval.
prometheus.wait_for("a scrape", lambda: prometheus.value("up") == 1 and
                    prometheus.value("reciperun_ready") == 1)
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
