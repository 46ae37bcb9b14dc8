"""Prints what a browser makes of the page of a server after some calls."""

import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../Inputs"))
from serving import Server, expect  # noqa: E402

reciperun, model = sys.argv[1:]
server = Server([reciperun, "serve", model, "--port", "0",
                 "--served-model-name", "<img src=x>"], "server.log")
for _ in range(4):
    status, _ = server.post("/v1/completions", {
        "prompt": "a", "max_tokens": 5, "ignore_eos": True})
    expect(status, 200, "a completion")
# The budget is in the page's own time, which runs ahead while it waits.
page = subprocess.run(
    ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu",
     "--disable-dev-shm-usage",
     "--disable-background-networking", "--disable-component-update",
     "--disable-sync", "--no-first-run", "--user-data-dir=browser",
     "--virtual-time-budget=3000", "--dump-dom",
     f"http://127.0.0.1:{server.port}/"],
    text=True, stdout=subprocess.PIPE, stderr=open("browser.log", "w"),
    timeout=120)
expect(page.returncode, 0, "the browser's exit code")
expect("Content Security Policy" in open("browser.log").read(), False,
       "a breach of the policy")
print(page.stdout)
