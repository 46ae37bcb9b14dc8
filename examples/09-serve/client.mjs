// Asks the server with OpenAI's client: npm install openai; node client.mjs URL
import OpenAI from "openai";

const client = new OpenAI({ baseURL: `${process.argv[2]}/v1`, apiKey: "none" });
const prompt = "Order 3360: my oven for Lima never arrived. It can wait.";

const stream = await client.completions.create({
  model: "triage", prompt, temperature: 0, stream: true });
for await (const chunk of stream)
  process.stdout.write(chunk.choices[0]?.text ?? "");
console.log();
