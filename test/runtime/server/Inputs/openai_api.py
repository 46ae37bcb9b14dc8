"""Calls the OpenAI API of `reciperun serve` as clients do."""

import base64
import http.client
import json
import re
import struct
import subprocess
import sys
import threading

from serving import Server, expect
from tiny_llama import TinyLlama, poison

reciperun, model = sys.argv[1:3]
CHAT, TEXT = "/v1/chat/completions", "/v1/completions"


def ask(question, **more):
    return {"messages": [{"role": "user", "content": question}],
            "temperature": 0, **more}


def alone(row):
    """The answer of `reciperun generate` to a line of a file of prompts."""
    with open("prompts.jsonl", "w") as file:
        file.write(row + "\n")
    made = subprocess.run([reciperun, "generate", model, "--prompt-file",
                           "prompts.jsonl", "--json"],
                          stdout=subprocess.PIPE, check=True, text=True)
    return json.loads(made.stdout)["answer"]


def check_chat(server):
    question = "Order 7185 is late"
    status, whole = server.post(CHAT, ask(question))
    expect(status, 200, "chat")
    expect(whole["object"], "chat.completion", "object")
    message = whole["choices"][0]["message"]
    expect(message, {"role": "assistant", "content": alone(json.dumps(
        {"messages": ask(question)["messages"]}))}, "answer")
    usage = whole["usage"]
    expect(usage["total_tokens"],
           usage["prompt_tokens"] + usage["completion_tokens"], "usage")

    events = server.stream(CHAT, ask(
        question, stream_options={"include_usage": True}))
    expect(events.pop(), "[DONE]", "the last event")
    chunks = [json.loads(each) for each in events]
    expect(chunks[-1]["choices"], [], "the chunk of the usage")
    expect(chunks.pop()["usage"], usage, "usage of the stream")
    expect({each["usage"] for each in chunks}, {None}, "usage before")
    expect({each["object"] for each in chunks}, {"chat.completion.chunk"},
           "object")
    deltas = [each["choices"][0]["delta"] for each in chunks]
    expect(deltas[0]["role"], "assistant", "role")
    expect("".join(each.get("content", "") for each in deltas),
           message["content"], "streamed answer")
    reasons = [each["choices"][0]["finish_reason"] for each in chunks]
    expect(reasons, [None] * (len(chunks) - 1) +
           [whole["choices"][0]["finish_reason"]], "finish_reason")


def check_completions(server):
    _, made = server.post(TEXT, {"prompt": "Order 7185", "temperature": 0,
                                 "max_tokens": 90})
    row = json.dumps({"prompt": "Order 7185", "max_tokens": 90})
    expect(made["choices"][0]["text"], alone(row), "a text")
    body = {"prompt": ["Order 7185", [5, 6, 7]], "max_tokens": 5, "n": 2,
            "seed": 3, "temperature": 0.9, "logprobs": 2}
    status, first = server.post(TEXT, body)
    expect(status, 200, "completions")
    expect([each["index"] for each in first["choices"]], [0, 1, 2, 3], "index")
    expect(first["usage"]["completion_tokens"], sum(
        len(each["logprobs"]["tokens"]) for each in first["choices"]), "tokens")
    texts = [each["text"] for each in first["choices"]]
    again = server.post(TEXT, body)[1]["choices"]
    expect([each["text"] for each in again], texts, "the same seed")
    for choice in first["choices"]:
        expect("".join(choice["logprobs"]["tokens"]), choice["text"], "tokens")
    _, chat = server.post(CHAT, ask("a", logprobs=True, top_logprobs=3,
                                    max_completion_tokens=2))
    content = chat["choices"][0]["logprobs"]["content"]
    expect(len(content) <= 2 and len(content[0]["top_logprobs"]), 3, "top")

    _, open_end = server.post(TEXT, {"prompt": "Order", "temperature": 0,
                                     "max_tokens": 12, "ignore_eos": True})
    text = open_end["choices"][0]["text"]
    expect(open_end["choices"][0]["finish_reason"], "length", "length")
    stop = text[3:5]
    _, stopped = server.post(TEXT, {"prompt": "Order", "temperature": 0,
                                    "max_tokens": 12, "ignore_eos": True,
                                    "stop": [stop]})
    choice = stopped["choices"][0]
    expect((choice["text"], choice["finish_reason"], choice["stop_reason"]),
           (text[:text.index(stop)], "stop", stop), "stop string")


def shared(server, body, path=TEXT):
    """The tokens of a prompt that were found in the cache."""
    status, made = server.post(path, dict(body, max_tokens=1))
    expect(status, 200, made)
    return made["usage"]["prompt_tokens_details"]["cached_tokens"]


def check_usage(server):
    """Cached tokens, by tenant, and the usage of streams."""
    body = {"prompt": [5 + i % 90 for i in range(70)]}
    expect(shared(server, body), 0, "first")
    whole = shared(server, body)
    expect(whole > 0 and whole < 70, True, "again")
    salted = dict(body, cache_salt="a")
    expect(shared(server, salted), 0, "another tenant")
    expect(shared(server, salted), whole, "the same tenant")
    expect(shared(server, dict(body, cache_salt="b")), 0, "a third tenant")
    expect(shared(server, dict(body, cache_salt="")), whole, "no salt")
    events = server.stream(TEXT, dict(body, max_tokens=3, ignore_eos=True,
                                      stream_options={
                                          "include_usage": True,
                                          "continuous_usage_stats": True}))
    usages = [json.loads(each)["usage"] for each in events[:-1]]
    counts = [each["completion_tokens"] for each in usages]
    expect((counts == sorted(counts), counts[-1]), (True, 3), "usage so far")


def check_tokens(server):
    """Options of tokens: of the prompt, of the answer, and where it ends."""
    def text(**more):
        status, made = server.post(TEXT, {"prompt": "Order", "temperature": 0,
                                          "max_tokens": 12, "ignore_eos": True,
                                          **more})
        expect(status, 200, made)
        return made["choices"][0]

    usual = text(logprobs=0)
    tokens = usual["logprobs"]["tokens"]
    expect(text(logit_bias={"65": 100})["text"], text(
        logit_bias={"65": 100.0})["text"], "bias")
    biased = text(logit_bias={"65": 100}, logprobs=0)["logprobs"]["tokens"]
    expect(set(biased), {biased[0]}, "the token of the bias")
    stopped = text(logit_bias={"65": 100}, stop_token_ids=[65])
    expect((stopped["text"], stopped["finish_reason"], stopped["stop_reason"]),
           ("", "stop", 65), "stop token")
    kept = text(logit_bias={"65": 100}, stop_token_ids=[65],
                include_stop_str_in_output=True)
    expect(kept["text"], biased[0], "the stop token in the text")
    late = text(logit_bias={"65": 50}, stop_token_ids=[65], min_tokens=3,
                logprobs=0)
    expect(len(late["logprobs"]["tokens"]), 3, "min_tokens")
    stop = usual["text"][2:4]
    kept = text(stop=stop, include_stop_str_in_output=True)
    expect(kept["text"],
           usual["text"][:usual["text"].index(stop) + len(stop)], "kept stop")
    end = {"logit_bias": {"639": 100}, "max_tokens": 2}
    expect(text(**end)["text"], "", "special tokens have no text")
    spelled = text(**end, skip_special_tokens=False)["text"]
    expect(spelled[:len(spelled) // 2] * 2, spelled, "special tokens")
    expect(len(spelled) > 2, True, spelled)
    expect(text(**{**end, "ignore_eos": False})["finish_reason"], "stop", "end")
    ids = server.post("/tokenize", {"prompt": "Order 7185"})[1]["tokens"]
    expect(text(prompt="Order 7185", truncate_prompt_tokens=3)["text"],
           text(prompt=ids[-3:])["text"], "truncated")
    expect(text(prompt="a " * 500, truncate_prompt_tokens=-1)["finish_reason"],
           "length", "truncated to what the plan takes")
    expect(text(seed=4, temperature=1)["text"],
           text(seed=4, temperature=1, user="u", metadata={"a": "b"})["text"],
           "seed")


def check_streams(server):
    """Chunks are whole characters, and together the unstreamed answer."""
    for seed in range(20):
        body = {"prompt": "Order", "temperature": 2, "seed": seed,
                "max_tokens": 40, "ignore_eos": True, "stop": ["ab", "e "]}
        choice = server.post(TEXT, body)[1]["choices"][0]
        chunks = [json.loads(each)["choices"][0]
                  for each in server.stream(TEXT, body)[:-1]]
        expect("".join(each["text"] for each in chunks), choice["text"], "text")
        reasons = [each["finish_reason"] for each in chunks]
        expect(reasons, [None] * (len(chunks) - 1) + [choice["finish_reason"]],
               "finish_reason")


def check_echo(server):
    body = {"prompt": "Order 7185", "temperature": 0, "max_tokens": 4,
            "ignore_eos": True, "logprobs": 1}
    alone = server.post(TEXT, body)[1]["choices"][0]
    echoed = server.post(TEXT, dict(body, echo=True))[1]["choices"][0]
    expect(echoed["text"], "Order 7185" + alone["text"], "echo")
    logprobs = echoed["logprobs"]
    count = len(logprobs["tokens"]) - 4
    expect(logprobs["tokens"][count:], alone["logprobs"]["tokens"], "tokens")
    expect(logprobs["token_logprobs"][0], None, "the first token")
    expect(all(each <= 0 for each in logprobs["token_logprobs"][1:]), True, "")
    streamed = [json.loads(each) for each in
                server.stream(TEXT, dict(body, echo=True))[:-1]]
    expect("".join(each["choices"][0]["text"] for each in streamed),
           echoed["text"], "streamed echo")
    parts = [token for each in streamed
             for token in each["choices"][0]["logprobs"]["tokens"]]
    expect(parts, logprobs["tokens"], "streamed tokens")
    _, made = server.post(TEXT, dict(body, echo=True, max_tokens=0))
    choice = made["choices"][0]
    expect((choice["text"], len(choice["logprobs"]["tokens"]),
            made["usage"]["completion_tokens"], choice["finish_reason"]),
           ("Order 7185", count, 0, "length"), "the prompt alone")
    _, made = server.post(TEXT, dict(body, prompt=[9, 8, 7], logprobs=None,
                                     prompt_logprobs=2))
    scored = made["choices"][0]["prompt_logprobs"]
    expect(scored[0], None, "the first token of the prompt")
    for each, token in zip(scored[1:], ("8", "7")):
        expect(token in each and len(each) in (2, 3), True, each)
        ranks = [value["rank"] for value in each.values()]
        expect(sorted(ranks)[:2], [1, 2], "ranks")
    _, made = server.post(CHAT, ask("a", prompt_logprobs=0, max_tokens=1))
    expect(len(made["prompt_logprobs"]), made["usage"]["prompt_tokens"], "chat")


def check_roles(server):
    """A user's text never becomes a control token."""
    def ids(content, role="user"):
        status, made = server.post("/tokenize", {
            "messages": [{"role": role, "content": content}]})
        expect(status, 200, made)
        return made["tokens"]
    end = server.post("/detokenize", {"tokens": [639]})[1]["prompt"]
    for content in (f"a {end} b", end, end * 3):
        found = ids(content)
        expect(639 in found, False, f"control tokens of {content}")
        expect(end in server.post("/detokenize", {"tokens": found})[1]["prompt"],
               True, "the text itself")
    _, made = server.post("/tokenize", {"prompt": end})
    expect(639 in made["tokens"], False, "a text")
    status, error = server.post(CHAT, {"messages": [
        {"role": "root", "content": "a"}]})
    expect((status, "no role `root`" in error["error"]["message"]), (400, True),
           error)
    open_end = {"messages": [{"role": "user", "content": "a"},
                             {"role": "assistant", "content": "Order 71"}],
                "continue_final_message": True}
    _, continued = server.post("/tokenize", open_end)
    text = server.post("/detokenize", {"tokens": continued["tokens"]})[1]
    expect(text["prompt"].endswith("Order 71"), True, text)


def check_embeddings(server):
    """Vectors of length one, which no other request in the batch changes."""
    def embed(given, **more):
        status, made = server.post("/v1/embeddings", {"input": given, **more})
        expect((status, made["object"]), (200, "list"), made)
        return [each["embedding"] for each in made["data"]], made["usage"]
    texts = ["Order 7185 is late", "a", "The oven smells of smoke"]
    together, usage = embed(texts)
    alone = [embed(each)[0][0] for each in texts]
    for one, other in zip(alone, together):
        expect(len(one), 32, "width")
        expect(abs(sum(each * each for each in one) - 1) < 1e-5, True, "length")
        expect(one, other, "alone and in a batch")
    expect(alone[0] != alone[1], True, "different texts")
    expect(usage["total_tokens"], usage["prompt_tokens"], "usage")
    ids = server.post("/tokenize", {"prompt": texts[0]})[1]["tokens"]
    expect(embed([ids, ids])[0], [embed(ids)[0][0]] * 2, "ids")
    # The engine computes in bf16, whose numbers are off by up to 1 in 256.
    reference = TinyLlama(model)
    for some in (ids, [9], list(range(100, 140))):
        difference = max(abs(a - b) for a, b in zip(
            embed(some)[0][0], reference.embedding(some)))
        expect(difference < 0.02, True, f"the model alone: {difference}")
    raw = base64.b64decode(embed(texts[0], encoding_format="base64")[0][0])
    expect(list(struct.unpack("<32f", raw)), [
        struct.unpack("<f", struct.pack("<f", each))[0]
        for each in embed(texts[0])[0][0]], "base64")
    expect(embed(texts[0], dimensions=32)[0], embed(texts[0])[0], "dimensions")


def check_structure(server):
    schema = {"type": "object", "additionalProperties": False,
              "properties": {"a": {"enum": [1, 2]}}, "required": ["a"]}
    _, made = server.post(CHAT, ask("x", response_format={
        "type": "json_schema", "json_schema": {"name": "s", "schema": schema}}))
    parsed = json.loads(made["choices"][0]["message"]["content"])
    expect(parsed["a"] in (1, 2), True, "json_schema")
    _, made = server.post(TEXT, {"prompt": "x", "structured_outputs": {
        "choice": ["red", "green"]}})
    expect(made["choices"][0]["text"] in ("red", "green"), True, "choice")


def check_slow_grammar(server):
    """A grammar that takes long to compile holds up no other request."""
    answers = []
    thread = threading.Thread(target=lambda: answers.append(server.post(
        TEXT, {"prompt": "x", "max_tokens": 1, "structured_outputs": {
            "regex": "(a|b)*a(a|b){15}"}})))
    thread.start()
    asked = 0
    while thread.is_alive():
        expect(server.request("GET", "/version")[0], 200, "version")
        asked += 1
    expect(asked > 3, True, f"{asked} requests beside a grammar")
    expect(answers[0][0], 200, answers[0])


def check_openai_port(server):
    """A port that has OpenAI's API and no other."""
    port = int(re.search(r"OpenAI's API also at port (\d+)",
                         open(server.errors.name).read()).group(1))
    def status(path):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        return server.request("GET", path, connection=connection)[0]
    expect(status("/v1/models"), 200, "models")
    expect(status("/v2/health/ready"), 404, "KServe's API")
    expect(server.request("GET", "/v2/health/ready")[0], 200, "on both")


def check_tools(server):
    """Calls that the model has to make, whole and streamed."""
    tools = [{"type": "function", "function": {
        "name": "look", "parameters": {
            "type": "object", "properties": {"a": {"enum": [1, 2]}},
            "required": ["a"], "additionalProperties": False}}}]
    for choice in ("required",
                   {"type": "function", "function": {"name": "look"}}):
        for seed in range(100):  # most answers end in white space
            body = ask("x", tools=tools, tool_choice=choice, seed=seed,
                       parallel_tool_calls=False)
            body["temperature"] = 1.5
            status, made = server.post(CHAT, body)
            expect(status, 200, made)
            if made["choices"][0]["finish_reason"] != "length":
                break
        choice = made["choices"][0]
        expect(choice["finish_reason"], "tool_calls", "reason")
        expect(choice["message"]["content"], None, "content")
        function = choice["message"]["tool_calls"][0]["function"]
        expect(function["name"], "look", "name")
        expect(json.loads(function["arguments"])["a"] in (1, 2), True, "a")
        chunks = [json.loads(each) for each in server.stream(CHAT, body)[:-1]]
        deltas = [each["choices"][0]["delta"] for each in chunks]
        expect("".join(each.get("content") or "" for each in deltas), "", "text")
        calls = [call for each in deltas
                 for call in each.get("tool_calls", [])]
        expect([each["function"] for each in calls], [function], "streamed")


def check_models(server):
    _, _, text = server.request("GET", "/v1/models")
    names = [each["id"] for each in json.loads(text)["data"]]
    expect(names, ["triage"], "models")
    expect(server.request("GET", "/v1/models/triage")[0], 200, "model")
    expect(server.post(CHAT, ask("a", model="triage"))[0], 200, "by name")
    _, tokens = server.post("/tokenize", {"prompt": "Order 7185"})
    expect(tokens["count"], len(tokens["tokens"]), "count")
    _, text = server.post("/detokenize", {"tokens": tokens["tokens"]})
    expect("Order 7185" in text["prompt"], True, "detokenize")
    expect(server.request("GET", "/health")[0], 200, "health")
    expect(server.request("POST", "/ping")[0], 200, "ping")
    expect(server.request("GET", "/load")[2], '{"server_load":0}', "load")
    status, headers, _ = server.request("GET", "/version",
                                        headers={"X-Request-Id": "me-7"})
    expect((status, headers["X-Request-Id"]), (200, "me-7"), "request id")


def check_refusals(server):
    """Each is refused with its status and a message that has the words."""
    deep = b"[" * 100000
    for path, body, status, words in [
            (CHAT, ask("a", model="other"), 404, "`other` does not exist"),
            (CHAT, b"{", 400, "ends"),
            (CHAT, b'{"a": "\xff"}', 400, "UTF-8"),
            (CHAT, deep, 400, "nested"),
            (CHAT, [1], 400, "object"),
            (CHAT, {}, 400, "`messages` is missing"),
            (CHAT, {"messages": []}, 400, "empty"),
            (CHAT, {"messages": "a"}, 400, "messages"),
            (CHAT, {"messages": [{"role": 1}]}, 400, "role"),
            (CHAT, ask("a", temperature=-1), 400, "temperature"),
            (CHAT, ask("a", logprobs=True, top_logprobs=21), 400, "20"),
            (CHAT, ask("a", top_logprobs=2), 400, "logprobs"),
            (CHAT, ask("a", stream_options={}), 400,
             "can only be used when `stream` is True"),
            (CHAT, ask("a", n=2), 400, "`n`"),
            (CHAT, ask("a", tools=[{}]), 400, "`tools[0]` must be"),
            (CHAT, ask("a " * 500), 400, "shorten it"),
            (CHAT, ask("a", response_format={"type": "json_schema"}), 400,
             "json_schema.schema"),
            (CHAT, ask("a", response_format={
                "type": "json_schema", "json_schema": {"schema": {
                    "type": "nothing"}}}), 400, "response_format"),
            (TEXT, {}, 400, "`prompt` is missing"),
            (TEXT, {"prompt": ""}, 400, "empty"),
            (TEXT, {"prompt": ["a", []]}, 400, "empty"),
            (TEXT, {"prompt": [1 << 20]}, 400, str(1 << 20)),
            (TEXT, {"prompt": "a", "suffix": "b"}, 400, "`suffix`"),
            (TEXT, {"prompt": "a", "best_of": 2}, 400, "`best_of`"),
            (TEXT, {"prompt": "a", "guided_json": {}}, 400, "`guided_json`"),
            (TEXT, {"prompt": "a", "prompt_logprobs": 1, "stream": True}, 400,
             "`stream=True`"),
            (TEXT, {"prompt": "a", "truncate_prompt_tokens": 0}, 400,
             "`truncate_prompt_tokens`"),
            (TEXT, {"prompt": "a", "cache_salt": 1}, 400, "`cache_salt`"),
            (TEXT, {"prompt": "a", "logit_bias": {"4000": 1}}, 400, "4000"),
            (CHAT, ask("a", chat_template="{{ 1 }}"), 400, "`chat_template`"),
            (CHAT, ask("a", continue_final_message=True,
                       add_generation_prompt=True), 400, "Cannot set both"),
            (CHAT, ask("", continue_final_message=True), 400,
             "no text to continue"),
            ("/v1/embeddings", {}, 400, "`input` is missing"),
            ("/v1/embeddings", {"input": ""}, 400, "`input` is empty"),
            ("/v1/embeddings", {"input": "a", "dimensions": 8}, 400,
             "have 32 numbers"),
            ("/v1/embeddings", {"input": "a", "encoding_format": "hex"}, 400,
             "`encoding_format`"),
            ("/v1/embeddings", {"input": "a", "model": "b"}, 404, "`b`"),
            (TEXT, {"prompt": "a", "structured_outputs": {}}, 400, "`regex`"),
            ("/detokenize", {"tokens": [-1]}, 400, "tokens"),
            ("/tokenize", {}, 400, "prompt"),
            ("/nowhere", {}, 404, "Not Found"),
    ]:
        got, error = server.post(path, body)
        told = error.get("error", {})
        if (got, told.get("code")) != (status, status) or (
                words not in told["message"]):
            raise SystemExit(f"{path} {str(body)[:60]}: {got} {error}, "
                             f"not {status} with {words!r}")
    expect(server.request("GET", CHAT)[0], 405, "method")
    expect(server.post(CHAT, ask("a"), headers={
        "Content-Type": "text/plain"})[0], 400, "content type")
    raw = b"POST " + CHAT.encode() + b" HTTP/1.1\r\nHost: a\r\n"
    large = raw + b"Content-Length: 100000000000\r\n\r\n{"
    expect(server.send(large)[:12], b"HTTP/1.1 413", "a large body")
    headers = raw + b"A: " + b"a" * (1 << 17) + b"\r\n\r\n"
    expect(b" 400 " in server.send(headers)[:20], True, "large headers")


def check_many(server):
    """Answers at once are those of each question alone."""
    questions = [f"Order {i} is late" for i in range(60)]
    alone = [server.post(CHAT, ask(each))[1] for each in questions]
    together = [None] * len(questions)

    def run(i):
        together[i] = server.post(CHAT, ask(questions[i]))[1]

    threads = [threading.Thread(target=run, args=[i])
               for i in range(len(questions))]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    for one, other in zip(alone, together):
        expect(other["choices"], one["choices"], "an answer among others")
    connection = server.connect()
    for _ in range(3):  # keep-alive
        expect(server.post(CHAT, ask("a"), connection=connection)[0], 200, "")


def check_origins(server):
    """Which pages of a browser may read answers."""
    origin = "http://localhost:3000"
    def ask_from(page, method="POST", **more):
        status, headers, _ = server.request(
            method, TEXT, {"prompt": "a", "max_tokens": 1},
            headers={"Origin": page, "Content-Type": "application/json", **more})
        return status, headers.get("Access-Control-Allow-Origin")
    expect(ask_from(origin), (200, origin), "an allowed page")
    expect(ask_from("http://localhost:3001"), (200, None), "another page")
    question = {"Access-Control-Request-Method": "POST",
                "Access-Control-Request-Headers": "content-type"}
    expect(ask_from(origin, "OPTIONS", **question), (200, origin), "a question")
    expect(ask_from("null", "OPTIONS", **question), (405, None), "another one")
    status, headers, _ = server.request("POST", TEXT, "{", headers={
        "Origin": origin, "Content-Type": "application/json"})
    expect((status, headers["Access-Control-Allow-Origin"], headers["Vary"]),
           (400, origin, "Origin"), "an error")


def check_poisoned(server):
    """Logits that are not finite end one request alone."""
    with_text = {"prompt": "Order", "temperature": 0, "max_tokens": 6,
                 "ignore_eos": True}
    bad = dict(with_text, logit_bias={"70": 100})
    alone = server.post(TEXT, with_text)[1]["choices"]
    results = {}
    def post(name, body):
        results[name] = server.post(TEXT, body)
    threads = [threading.Thread(target=post, args=(name, body)) for name, body
               in (("good", with_text), ("bad", bad))]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    expect(results["good"][1]["choices"], alone, "the other request")
    status, error = results["bad"]
    expect((status, "not finite" in error["error"]["message"]), (500, True),
           error)
    events = server.stream(TEXT, bad)  # the first token is fine
    expect(events.pop(), "[DONE]", "the last event")
    error = json.loads(events.pop())["error"]
    expect((error["code"], "not finite" in error["message"]), (500, True), error)
    expect("choices" in json.loads(events[0]), True, "a chunk before the error")
    status, error = server.post("/v1/embeddings", {"input": [70]})
    expect(status, 500, error)


TEMPLATE = ("{{ bos_token }}{% for tool in tools or [] %}{{ tool.function.name }}"
            "{% endfor %}{% for message in messages %}{{ message.content }}"
            "{% endfor %}")


def main():
    with open(f"{model}/chat_template.jinja", "w") as file:
        file.write(TEMPLATE)
    server = Server([reciperun, "serve", model, "--port", "0",
                     "--served-model-name", "triage", "--openai-port", "0"],
                    "openai.log")
    check_chat(server)
    check_completions(server)
    check_usage(server)
    check_tokens(server)
    check_streams(server)
    check_echo(server)
    check_roles(server)
    check_embeddings(server)
    check_structure(server)
    check_slow_grammar(server)
    check_openai_port(server)
    check_tools(server)
    check_models(server)
    check_refusals(server)
    check_many(server)
    expect(server.stop(), 0, "exit code")
    poison(f"{model}/model.safetensors", 70)
    server = Server([reciperun, "serve", model, "--port", "0",
                     "--allowed-origins", "http://localhost:3000"],
                    "poisoned.log")
    check_origins(server)
    check_poisoned(server)
    expect(server.stop(), 0, "exit code")
    print("all calls as expected")


main()
