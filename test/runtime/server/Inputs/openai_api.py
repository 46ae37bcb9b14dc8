"""Calls the OpenAI API of `reciperun serve` as clients do."""

import json
import subprocess
import sys
import threading

from serving import Server, expect

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
            (TEXT, {"prompt": "a", "echo": True}, 400, "`echo`"),
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


TEMPLATE = ("{{ bos_token }}{% for tool in tools or [] %}{{ tool.function.name }}"
            "{% endfor %}{% for message in messages %}{{ message.content }}"
            "{% endfor %}")


def main():
    with open(f"{model}/chat_template.jinja", "w") as file:
        file.write(TEMPLATE)
    server = Server([reciperun, "serve", model, "--port", "0",
                     "--served-model-name", "triage"], "openai.log")
    check_chat(server)
    check_completions(server)
    check_structure(server)
    check_tools(server)
    check_models(server)
    check_refusals(server)
    check_many(server)
    expect(server.stop(), 0, "exit code")
    print("all calls as expected")


main()
