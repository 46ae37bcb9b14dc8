"""Serves repositories by `reciperun serve` and calls their models.

usage: repository.py RECIPERUN MODEL INPUTS

MODEL is a language model's directory, INPUTS the folder of this file, with
`documented` and `inflight_batcher_llm`.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys

from serving import Server, expect

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "storage" /
                       "Inputs"))
import s3_server  # noqa: E402

reciperun, model, inputs = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
PROMPT = "The disk is full"


NO_PORTS = ["--port", "0", "--grpc-port", "0", "--metrics-port", "0"]


def serve(*arguments, environment=None):
    return Server([reciperun, "serve", *map(str, arguments), *NO_PORTS],
                  "serve.log", environment)


def numbers(server, name, body):
    status, answer = server.post(f"/v2/models/{name}/infer", body)
    expect(status, 200, answer)
    return {each["name"]: each for each in answer["outputs"]}


def generate(server, name, **fields):
    status, answer = server.post(
        f"/v2/models/{name}/generate",
        dict({"text_input": PROMPT, "max_tokens": 6}, **fields))
    expect(status, 200, answer)
    return answer["text_output"]


def answer_of_the_command(*options):
    return subprocess.run(
        [reciperun, "generate", model, "--prompt", PROMPT, "--max-tokens", "6",
         *options], check=True, text=True, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL).stdout.removesuffix("\n")


def check_simple():
    """The checks of Triton's test by curl, control of models, and the drain."""
    shutil.copytree(inputs / "documented" / "simple", "models/simple")
    server = serve("models", "--model-control-mode", "explicit",
                   "--load-model", "simple")
    url = f"http://127.0.0.1:{server.port}"
    subprocess.run([sys.executable, inputs / "kserve_http.py", url],
                   check=True, stdout=subprocess.DEVNULL)
    expect(server.request("GET", "/health")[0], 200, "health")
    expect(server.request("GET", "/v2/health/ready")[0], 200, "ready")
    expect(server.post("/v1/completions", {"prompt": "a"})[0], 404,
           "no language model")
    status, _, _ = server.request("POST", "/v2/repository/models/simple/unload",
                                  "{}")
    expect(status, 200, "unload")
    expect(server.post("/v2/models/simple/infer", {})[1]["error"][:29],
           "Request for unknown model: 's", "unloaded")
    pathlib.Path("models/simple/config.pbtxt").write_text("backend: \"none\"")
    status, answer = server.post("/v2/repository/models/simple/load", {})
    expect(status, 400, "invalid model")
    assert answer["error"].startswith("load failed for model 'simple': "), answer
    config = {"backend": "identity", "input": [
        {"name": "A", "data_type": "TYPE_STRING", "dims": [-1]}], "output": [
        {"name": "B", "data_type": "TYPE_STRING", "dims": [-1]}]}
    status, _, text = server.request(
        "POST", "/v2/repository/models/simple/load",
        {"parameters": {"config": json.dumps(config)}})
    expect(status, 200, text)
    outputs = numbers(server, "simple", {"inputs": [
        {"name": "A", "datatype": "BYTES", "shape": [2], "data": ["x", "é"]}]})
    expect(outputs["B"]["data"], ["x", "é"], "identity")
    expect(server.stop(), 0, "exit code")


def check_documented(ids):
    """A `tensorrtllm` model as documents describe it, with its wrong policy."""
    server = serve(inputs / "documented", "--engine", model)
    log = pathlib.Path("serve.log").read_text
    outputs = numbers(server, "llama", {"inputs": [
        {"name": "input_ids", "datatype": "INT32", "shape": [1, len(ids)],
         "data": ids},
        {"name": "input_lengths", "datatype": "INT32", "shape": [1, 1],
         "data": [len(ids)]}]})
    expect(outputs["output_ids"]["data"][:len(ids)], ids, "the prompt's ids")
    assert "`inflight_fused_batching` is a value of `gpt_model_type`" in log(), \
        log()
    expect(server.stop(), 0, "exit code")


def check_five_models():
    """TensorRT-LLM's repository: its five models answer as the engine does."""
    wanted = answer_of_the_command()
    server = serve(inputs / "inflight_batcher_llm", "--engine", model)
    expect(generate(server, "ensemble", bad_words="", stop_words=""), wanted,
           "ensemble")
    expect(generate(server, "tensorrt_llm_bls"), wanted, "tensorrt_llm_bls")
    expect(generate(server, "ensemble", exclude_input_in_output=False),
           PROMPT + wanted, "with the prompt")
    stop = wanted[2]
    for name in ("ensemble", "tensorrt_llm_bls"):
        answer = generate(server, name, stop_words=[stop])
        assert answer.startswith(wanted[:2]) and len(answer) <= 3, answer
    status, _, text = server.request(
        "POST", "/v2/models/ensemble/generate_stream",
        {"text_input": PROMPT, "max_tokens": 6, "stream": True})
    expect(status, 200, text)
    events = [json.loads(each[len("data: "):])
              for each in text.split("\n\n") if each]
    expect("".join(each["text_output"] for each in events), wanted, "stream")
    assert len(events) > 1, events
    ids = server.post("/tokenize", {"prompt": PROMPT})[1]["tokens"]
    expect(server.stop(), 0, "exit code")
    return ids


def check_failures():
    os.makedirs("broken/m/1")
    pathlib.Path("broken/m/config.pbtxt").write_text("max_batch_size: -1")
    run = subprocess.run([reciperun, "serve", "broken", *NO_PORTS],
                         stderr=subprocess.PIPE, text=True, timeout=60)
    expect(run.returncode, 1, "exit code")
    for text in ("load failed for model 'm'", "config.pbtxt",
                 "--exit-on-error"):
        assert text in run.stderr, run.stderr
    for strict, wanted in (("true", 400), ("false", 200)):
        server = serve("broken", "--exit-on-error", "false",
                       "--strict-readiness", strict)
        expect(server.request("GET", "/v2/health/ready")[0], wanted, strict)
        expect(server.stop(), 0, "exit code")


def five_models_at(engine, tokenizer):
    """TensorRT-LLM's repository with an engine and tokenizers at these places."""
    shutil.rmtree("stored", ignore_errors=True)
    shutil.copytree(inputs / "inflight_batcher_llm", "stored")
    for config in pathlib.Path("stored").glob("*/config.pbtxt"):
        text = config.read_text()
        config.write_text(text.replace("${engine_dir}", engine)
                          .replace("${tokenizer_dir}", tokenizer))


def check_addresses():
    """Engines and tokenizers are read from an object store, and from no other
    kind of address."""
    wanted = answer_of_the_command()
    with s3_server.Server() as store:
        for path in pathlib.Path(model).iterdir():
            store.buckets["bucket"].objects[f"model/{path.name}"] = \
                s3_server.Stored(path.read_bytes())
        five_models_at("s3://bucket/model", "s3://bucket/model")
        server = serve("stored", environment=store.environment())
        expect(generate(server, "ensemble"), wanted, "at an address")
        expect(server.stop(), 0, "exit code")
        there = str(pathlib.Path(model).resolve())
        for engine, tokenizer, message in (
                ("s3://bucket/nowhere", there,
                 "the engine of `stored/tensorrt_llm`: there is no "
                 "`s3://bucket/nowhere`"),
                ("https://host/model", there,
                 "the engine of `stored/tensorrt_llm`: cannot open "
                 "`https://host/model`: `https://` is no scheme of an object "
                 "store"),
                (there, "https://host/model",
                 "`tokenizer_dir` 'https://host/model': cannot open "
                 "`https://host/model/tokenizer.json`: `https://` is no scheme")):
            five_models_at(engine, tokenizer)
            run = subprocess.run([reciperun, "serve", "stored", *NO_PORTS],
                                 env=store.environment(), timeout=60,
                                 stderr=subprocess.PIPE, text=True)
            expect(run.returncode, 1, "exit code")
            assert message in run.stderr, run.stderr


check_simple()
check_failures()
check_addresses()
check_documented(check_five_models())
print("all models as expected")
