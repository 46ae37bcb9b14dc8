// Measures llama.cpp through npm's node-llama-cpp, on CPU threads.
//
// node llama_cpp_peer.mjs MODEL.gguf [THREADS]
//
// Prints JSON: tokens/s of a prompt of 512 tokens, of decoding one sequence,
// and of decoding 16 sequences together; and the greedy answer to a fixed
// prompt. Each figure is the median of three runs.

import {getLlama} from "node-llama-cpp";

const [path, threads = "2"] = process.argv.slice(2);
const promptTokens = 512, answerTokens = 64, sequences = 16;

const llama = await getLlama(
    {gpu: false, build: "never", logLevel: "error", maxThreads: 0});
const model = await llama.loadModel({modelPath: path});

function median(values) {
  return values.sort((a, b) => a - b)[values.length >> 1];
}

function prompt(tokens, seed) {
  return Array.from({length: tokens},
                    (_, i) => 300 + (i * 7919 + seed * 104729) % 31000);
}

/// Seconds until the first token, and for the tokens after it.
async function answer(sequence, tokens, count) {
  await sequence.clearHistory();
  const answered = [];
  const start = performance.now();
  let first = 0;
  for await (const token of sequence.evaluate(
      tokens, {temperature: 0, yieldEogTokens: true})) {
    if (!answered.length)
      first = performance.now();
    answered.push(token);
    if (answered.length == count)
      break;
  }
  return {first: (first - start) / 1e3,
          rest: (performance.now() - first) / 1e3, tokens: answered};
}

const one = await model.createContext(
    {contextSize: 1024, batchSize: 512, threads: Number(threads)});
const alone = one.getSequence();
const greedy = (await answer(alone, prompt(16, 0), 16)).tokens;
const prefill = [], decode = [];
for (let run = 0; run < 3; ++run) {
  prefill.push(promptTokens / (await answer(alone, prompt(promptTokens, run + 1), 1)).first);
  decode.push((answerTokens - 1) / (await answer(alone, prompt(16, run), answerTokens)).rest);
}
await one.dispose();

const many = await model.createContext(
    {contextSize: 256, batchSize: 512, sequences, threads: Number(threads)});
const all = Array.from({length: sequences}, () => many.getSequence());
const together = [];
for (let run = 0; run < 3; ++run) {
  const start = performance.now();
  await Promise.all(all.map((sequence, i) =>
      answer(sequence, prompt(16, 100 * run + i), answerTokens)));
  together.push(sequences * answerTokens / (performance.now() - start) * 1e3);
}
console.log(JSON.stringify({prefill: median(prefill), decode: median(decode),
                            batch16: median(together), greedy}));
process.exit(0);
