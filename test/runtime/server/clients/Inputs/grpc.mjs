// Calls a running gRPC server with gRPC's JavaScript client, in the order of
// Triton's own JavaScript client, and then by a stream.
//
//   node grpc.mjs FOLDER-OF-PROTOS HOST:PORT

import assert from "node:assert/strict";
import { promisify } from "node:util";
import grpc from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";

const [folder, address] = process.argv.slice(2);
const definition = loadSync("grpc_service.proto", {
  includeDirs: [folder], keepCase: true, longs: String, enums: String, defaults: true,
  oneofs: true });
const { GRPCInferenceService } =
    grpc.loadPackageDefinition(definition).inference;
const client = new GRPCInferenceService(address,
                                        grpc.credentials.createInsecure());
const call = (name, request) => promisify(client[name]).call(client, request);

assert.equal((await call("serverLive", {})).live, true);
assert.equal((await call("serverReady", {})).ready, true);
const metadata = await call("modelMetadata", { name: "simple", version: "" });
assert.deepEqual(metadata.inputs[0].shape, ["-1", "16"]);

const numbers = Array.from({ length: 16 }, (_, i) => i);
const request = (id) => ({
  model_name: "simple", id,
  inputs: ["INPUT0", "INPUT1"].map((name) => ({
    name, datatype: "INT32", shape: [1, 16],
    contents: { int_contents: numbers } })),
  outputs: [{ name: "OUTPUT0" }, { name: "OUTPUT1" }] });
const check = (answer) => {
  const [sums, differences] = answer.raw_output_contents.map(
      (raw) => numbers.map((i) => raw.readInt32LE(4 * i)));
  assert.deepEqual(sums, numbers.map((i) => 2 * i));
  assert.deepEqual(differences, numbers.map(() => 0));
};
check(await call("modelInfer", request("")));
await assert.rejects(
    call("modelInfer", { ...request(""), model_name: "none" }),
    { code: grpc.status.NOT_FOUND,
      details: "Request for unknown model: 'none' is not found" });

const stream = client.modelStreamInfer();
for (const id of ["a", "b"]) {
  stream.write(request(id));
}
stream.write({ ...request("c"), model_name: "none" });
stream.end();
const answers = [];
for await (const each of stream) {
  answers.push(each);
}
assert.deepEqual(answers.map((each) => each.infer_response.id),
                 ["a", "b", "c"]);
check(answers[0].infer_response);
check(answers[1].infer_response);
assert.match(answers[2].error_message, /unknown model/);
console.log("gRPC: all calls as expected");
client.close();
