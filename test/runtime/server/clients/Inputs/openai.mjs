// Calls a running server with OpenAI's JavaScript client and eventsource-parser,
// both as published on npm.
//
//   node openai.mjs MODEL URL

import assert from "node:assert/strict";
import OpenAI from "openai";
import { createParser } from "eventsource-parser";

const [model, url] = process.argv.slice(2);
const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: "none",
                            maxRetries: 0 });
const messages = [{ role: "user", content: "Order 7185 is late" }];
const call = { model, messages, temperature: 0 };

const whole = await client.chat.completions.create(call);
assert.equal(whole._request_id.length, 32);
const answer = whole.choices[0].message.content;

const options = { stream: true, stream_options: { include_usage: true } };
let streamed = "", usage;
for await (const chunk of
    await client.chat.completions.create({ ...call, ...options })) {
  streamed += chunk.choices[0]?.delta?.content ?? "";
  usage = chunk.usage ?? usage;
}
assert.equal(streamed, answer);
// The stream finds the prompt of the first call in the cache.
for (const each of [usage, whole.usage]) delete each.prompt_tokens_details;
assert.deepEqual(usage, whole.usage);
assert.equal(await client.chat.completions.stream(call).finalContent(), answer);

await assert.rejects(
    client.chat.completions.create({ ...call, model: "other" }), (error) =>
        error instanceof OpenAI.NotFoundError && error.code === 404 &&
        error.type === "NotFoundError" && /does not exist/.test(error.message));
await assert.rejects(
    client.chat.completions.create({ ...call, temperature: -1 }),
    (error) => error instanceof OpenAI.BadRequestError &&
        /temperature/.test(error.message));

const models = await client.models.list();
assert.deepEqual(models.data.map((each) => each.id), [model]);

const schema = { type: "object", properties: { a: { type: "boolean" } },
                 required: ["a"], additionalProperties: false };
const structured = await client.chat.completions.create({
  ...call, response_format: { type: "json_schema",
                              json_schema: { name: "s", schema } } });
assert.equal(typeof JSON.parse(structured.choices[0].message.content).a,
             "boolean");

const completion = await client.completions.create({ model, prompt: "Order",
                                                     max_tokens: 4 });
assert.equal(completion.usage.completion_tokens <= 4, true);

for (const encoding_format of ["float", "base64"]) { // the client's default
  const made = await client.embeddings.create({
    model, input: ["Order", "late"], encoding_format });
  assert.equal(made.data.length, 2);
}
const embedded = await client.embeddings.create({ model, input: "Order" });
const squares = embedded.data[0].embedding.reduce((sum, x) => sum + x * x, 0);
assert.ok(Math.abs(squares - 1) < 1e-4);

const events = [];
const parser = createParser({ onEvent: (event) => events.push(event.data) });
const raw = await fetch(`${url}/v1/chat/completions`, {
  method: "POST", headers: { "Content-Type": "application/json" },
  body: JSON.stringify({ ...call, stream: true }) });
for await (const piece of raw.body.pipeThrough(new TextDecoderStream()))
  parser.feed(piece);
assert.equal(events.pop(), "[DONE]");
assert.equal(events.map((each) => JSON.parse(each).choices[0].delta.content ?? "")
    .join(""), answer);

const abort = new AbortController();
for await (const chunk of await client.chat.completions.create(
    { ...call, stream: true }, { signal: abort.signal })) {
  assert.equal(chunk.object, "chat.completion.chunk");
  abort.abort();
}
console.log("HTTP: all calls as expected");
