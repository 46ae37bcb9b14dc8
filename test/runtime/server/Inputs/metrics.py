"""The metrics and the status page of a server. The counts are those that vLLM's
own test of its metrics expects after requests in turn."""

import json
import re
import sys

from serving import Server, expect

reciperun, model = sys.argv[1:]
NAME = '<b>triage</b> & "x"'
REQUESTS, PROMPT, TOKENS = 6, [5, 6, 7, 8, 9, 10, 11], 5


def samples(server):
    """The values by series, without the labels of the engine."""
    status, headers, text = server.request("GET", "/metrics")
    expect(status, 200, "status of /metrics")
    expect(headers["Content-Type"],
           "text/plain; version=0.0.4; charset=utf-8", "content type")
    label = NAME.replace('"', '\\"')
    plain = text.replace(f'engine="0",model_name="{label}"', "")
    return {series: float(value) for series, value in
            re.findall(r"^([^#].*) (\S+)$", plain, re.MULTILINE)}


def complete(server, **more):
    status, answer = server.post("/v1/completions", {
        "prompt": PROMPT, "max_tokens": TOKENS, "ignore_eos": True, **more})
    expect(status, 200, f"a completion ({answer})")


def check_counts(server):
    for _ in range(REQUESTS):
        complete(server)
    got = samples(server)
    for name, value in {
            "time_to_first_token_seconds_count": REQUESTS,
            "inter_token_latency_seconds_count": REQUESTS * (TOKENS - 1),
            "e2e_request_latency_seconds_count": REQUESTS,
            "request_queue_time_seconds_count": REQUESTS,
            "request_inference_time_seconds_count": REQUESTS,
            "request_prefill_time_seconds_count": REQUESTS,
            "request_decode_time_seconds_count": REQUESTS,
            "request_prompt_tokens_sum": REQUESTS * len(PROMPT),
            "request_prompt_tokens_count": REQUESTS,
            "request_generation_tokens_sum": REQUESTS * TOKENS,
            "request_generation_tokens_count": REQUESTS,
            "request_params_n_count": REQUESTS,
            "request_params_max_tokens_sum": REQUESTS * TOKENS,
            "request_params_max_tokens_count": REQUESTS,
            "iteration_tokens_total_sum": REQUESTS * (len(PROMPT) + TOKENS),
            "iteration_tokens_total_count": REQUESTS * TOKENS,
            "prompt_tokens_total": REQUESTS * len(PROMPT),
            "generation_tokens_total": REQUESTS * TOKENS,
            "num_requests_running": 0,
            "num_requests_waiting": 0,
            "kv_cache_usage_perc": 0}.items():
        expect(got[f"vllm:{name}{{}}"], value, name)
    expect(got["reciperun_ready"], 1, "readiness")
    complete(server, n=3, temperature=1)
    got = samples(server)
    expect(got["vllm:request_params_n_count{}"], REQUESTS + 1, "requests")
    expect(got["vllm:request_params_n_sum{}"], REQUESTS + 3, "their answers")
    expect(got["vllm:request_generation_tokens_count{}"], REQUESTS + 3,
           "answers")


def check_status(server):
    status, headers, text = server.request("GET", "/status")
    expect(status, 200, "status of /status")
    expect(headers["Content-Type"], "application/json", "content type")
    shown = json.loads(text)
    expect(shown["state"], "ready", "state")
    engine, = shown["engines"]
    expect(engine["name"], NAME, "name")
    expect(engine["prompt_tokens"], (REQUESTS + 3) * len(PROMPT), "prompts")
    expect(engine["answer_tokens"], (REQUESTS + 3) * TOKENS, "answers")
    expect(engine["answers"]["length"], REQUESTS + 3, "answers")
    expect(engine["ttft"]["count"], REQUESTS + 3, "first tokens")
    expect(engine["running"], 0, "running")
    expect(shown["machine"]["memory_total"] > shown["machine"]["memory_used"]
           > 0, True, "memory")


def check_page(server):
    status, headers, text = server.request("GET", "/")
    expect(status, 200, "status of the page")
    expect(headers["Content-Type"], "text/html; charset=utf-8", "content type")
    policy = headers["Content-Security-Policy"]
    expect(policy.startswith("default-src 'none'; "), True, policy)
    nonce = re.search("script-src 'nonce-([0-9a-f]{32})'", policy).group(1)
    expect(set(re.findall('nonce="(.*?)"', text)), {nonce}, "nonces")
    other = server.request("GET", "/")[1]["Content-Security-Policy"]
    expect(nonce in other, False, "a nonce that is used again")
    expect(len(text) < 20_000, True, "the size of the page")
    expect(NAME in text, False, "names in the page")
    expect(server.request("POST", "/", "{}")[0], 405, "a method")


server = Server([reciperun, "serve", model, "--port", "0",
                 "--served-model-name", NAME], "metrics.log")
check_counts(server)
check_status(server)
check_page(server)
expect(server.stop(), 0, "exit code")
print("all as expected")
