// The fields of every struct of the plan, listed once.
//
// The writer and the reader of the JSON form both walk these lists, so that
// both know the same fields. A visitor V offers `V::Ref<T>` (const T& to write,
// T& to read) and
//   field(name, value)              always present
//   optional(name, value, absent)   omitted when it equals `absent`
// in the order of the JSON.

#ifndef RECIPERUN_PLAN_PLANFIELDS_H
#define RECIPERUN_PLAN_PLANFIELDS_H

#include "runtime/plan/Plan.h"

namespace reciperun::plan {

template <class V> void fields(V& v, typename V::template Ref<Axis> axis) {
  v.field("name", axis.name);
  v.field("size", axis.size);
}

template <class V> void fields(V& v, typename V::template Ref<Group> group) {
  v.field("name", group.name);
  v.field("axes", group.axes);
  v.optional("stages", group.stages, std::vector<int>());
}

template <class V> void fields(V& v, typename V::template Ref<Mesh> mesh) {
  v.field("ranks", mesh.ranks);
  v.field("axes", mesh.axes);
  v.field("groups", mesh.groups);
}

template <class V>
void fields(V& v, typename V::template Ref<GroupConnection> connection) {
  v.field("transport", connection.transport);
  v.optional("overlaps", connection.overlaps, false);
  v.field("axes", connection.axes);
  v.optional("stages", connection.stages, std::vector<int>());
  v.field("groups", connection.groups);
  v.field("traffic", connection.traffic);
  v.field("largest", connection.largest);
  v.field("width", connection.width);
  v.field("bytes", connection.bytes);
}

template <class V>
void fields(V& v, typename V::template Ref<LinkConnection> link) {
  v.field("link", link.link);
  v.field("from", link.from);
  v.field("to", link.to);
  v.field("width", link.width);
  v.field("sender_bytes", link.senderBytes);
  v.field("receiver_bytes", link.receiverBytes);
}

template <class V>
void fields(V& v, typename V::template Ref<Connections> connections) {
  v.field("ranks_per_node", connections.ranksPerNode);
  v.field("packs", connections.packs);
  v.field("common_bytes", connections.commonBytes);
  v.field("groups", connections.groups);
  v.field("links", connections.links);
}

template <class V>
void fields(V& v, typename V::template Ref<MemoryTable> memory) {
  v.field("parameters", memory.parameters);
  v.field("gradients", memory.gradients);
  v.field("optimizer", memory.optimizer);
  v.optional("cache", memory.cache, int64_t(0));
  v.field("activations", memory.activations);
  v.field("workspace", memory.workspace);
  v.field("library", memory.library);
  v.optional("host", memory.host, int64_t(0));
  v.optional("offloaded", memory.offloaded, int64_t(0));
  v.field("arena", memory.arena);
  v.optional("draft", memory.draft, int64_t(0));
  v.field("total", memory.total);
  v.field("capacity", memory.capacity);
}

template <class V> void fields(V& v, typename V::template Ref<Frame> frame) {
  v.field("offsets", frame.offsets);
}

template <class V> void fields(V& v, typename V::template Ref<Buffer> buffer) {
  v.field("name", buffer.name);
  v.field("dtype", buffer.dtype);
  v.field("shape", buffer.shape);
  v.optional("host", buffer.host, false);
  v.field("offset", buffer.offset);
  v.optional("slots", buffer.slots, 1);
  v.optional("slot_stride", buffer.slotStride, int64_t(0));
  v.optional("frame", buffer.frame, -1);
  v.optional("shard_axis", buffer.shardAxis, std::string());
  v.optional("shard_stride", buffer.shardStride, int64_t(0));
}

template <class V> void fields(V& v, typename V::template Ref<Op> op) {
  v.field("op", op.kind);
  v.field("name", op.name);
  v.field("in", op.inputs);
  v.field("out", op.outputs);
  v.optional("group", op.group, -1);
  v.optional("workspace", op.workspace, -1);
  v.attributes("attributes", op.attributes);
}

template <class V>
void fields(V& v, typename V::template Ref<Function> function) {
  v.field("name", function.name);
  v.field("ops", function.ops);
}

template <class V>
void fields(V& v, typename V::template Ref<Transfer> transfer) {
  v.field("kind", transfer.kind);
  v.field("buffer", transfer.buffer);
  v.field("peer", transfer.peer);
  v.field("channel", transfer.channel);
  v.field("link", transfer.link);
}

template <class V>
void fields(V& v, typename V::template Ref<ScheduleStep> step) {
  v.field("kind", step.kind);
  v.optional("function", step.function, -1);
  v.optional("transfer", step.transfer, -1);
  v.optional("micro_batch", step.microBatch, 0);
}

template <class V>
void fields(V& v, typename V::template Ref<Schedule> schedule) {
  v.field("name", schedule.name);
  v.field("steps", schedule.steps);
}

template <class V> void fields(V& v, typename V::template Ref<Inputs> inputs) {
  v.optional("tokens", inputs.tokens, -1);
  v.optional("labels", inputs.labels, -1);
  v.optional("weights", inputs.weights, -1);
  v.optional("further_labels", inputs.furtherLabels, -1);
  v.optional("further_weights", inputs.furtherWeights, -1);
  v.optional("further_factor", inputs.furtherFactor, 0.0);
  v.optional("positions", inputs.positions, -1);
  v.optional("segments", inputs.segments, -1);
  v.optional("places", inputs.places, -1);
  v.optional("samples", inputs.samples, -1);
  v.optional("loss_scale", inputs.lossScale, -1);
  v.optional("learning_rate", inputs.learningRate, -1);
  v.optional("step", inputs.step, -1);
}

template <class V>
void fields(V& v, typename V::template Ref<Outputs> outputs) {
  v.optional("loss", outputs.loss, -1);
  v.optional("further_loss", outputs.furtherLoss, -1);
  v.optional("norm_squared", outputs.normSquared, -1);
  v.optional("dropped", outputs.dropped, -1);
  v.optional("overflow", outputs.overflow, -1);
  v.optional("second_pass", outputs.secondPass, -1);
}

template <class V>
void fields(V& v, typename V::template Ref<StepInputs> inputs) {
  v.optional("tokens", inputs.tokens, -1);
  v.optional("positions", inputs.positions, -1);
  v.optional("sequences", inputs.sequences, -1);
  v.optional("pages", inputs.pages, -1);
  v.optional("rows", inputs.rows, -1);
  v.optional("adapters", inputs.adapters, -1);
  v.optional("draws", inputs.draws, -1);
}

template <class V> void fields(V& v, typename V::template Ref<Bucket> bucket) {
  v.field("tokens", bucket.tokens);
  v.field("rows", bucket.rows);
}

template <class V> void fields(V& v, typename V::template Ref<StageStep> step) {
  v.field("schedule", step.schedule);
  v.field("inputs", step.inputs);
  v.optional("logits", step.logits, -1);
  v.optional("chosen", step.chosen, -1);
}

template <class V>
void fields(V& v, typename V::template Ref<Serving> serving) {
  v.field("max_batch", serving.maxBatch);
  v.field("max_input", serving.maxInput);
  v.field("max_output", serving.maxOutput);
  v.field("max_tokens", serving.maxTokens);
  v.field("token_budget", serving.tokenBudget);
  v.field("page", serving.page);
  v.field("pages", serving.pages);
  v.optional("host_pages", serving.hostPages, int64_t(0));
  v.field("states", serving.hasStates);
  v.field("prefix_cache", serving.prefixCache);
  v.field("chunked_prefill", serving.chunkedPrefill);
  v.optional("draft_tokens", serving.draftTokens, int64_t(0));
  v.optional("adapters", serving.adapters, int64_t(0));
  v.field("policy", serving.policy);
  v.field("buckets", serving.buckets);
}

template <class V> void fields(V& v, typename V::template Ref<Draft> draft) {
  v.field("path", draft.path);
  v.field("plan", draft.plan);
}

template <class V>
void fields(V& v, typename V::template Ref<Initializer> init) {
  v.field("kind", init.kind);
  v.optional("scale", init.scale, 0.0);
}

template <class V> void fields(V& v, typename V::template Ref<HfRows> rows) {
  v.field("first", rows.first);
  v.field("of", rows.of);
}

template <class V>
void fields(V& v, typename V::template Ref<WeightQuantization> quantization) {
  v.field("format", quantization.format);
  v.field("scales", quantization.scales);
}

template <class V>
void fields(V& v, typename V::template Ref<Parameter> parameter) {
  v.field("name", parameter.name);
  v.field("shape", parameter.globalShape);
  v.field("shard_axes", parameter.shardAxes);
  v.field("init", parameter.init);
  v.optional("trainable", parameter.trainable, true);
  v.optional("adapter", parameter.adapter, false);
  v.optional("dtype", parameter.type, std::optional<DType>());
  v.field("hf_name", parameter.hfName);
  v.field("hf_shape", parameter.hfShape);
  v.optional("hf_rows", parameter.hfRows, std::optional<HfRows>());
  v.optional("lora_a", parameter.loraA, -1);
  v.optional("lora_b", parameter.loraB, -1);
  v.optional("lora_scale", parameter.loraScale, 0.0);
  v.optional("quantization", parameter.quantization,
             std::optional<WeightQuantization>());
}

template <class V> void fields(V& v, typename V::template Ref<Region> region) {
  v.field("name", region.name);
  v.field("elements", region.elements);
  v.optional("param", region.param, -1);
  v.field("part", region.part);
  v.field("master", region.master);
  v.optional("moment_m", region.momentM, -1);
  v.optional("moment_v", region.momentV, -1);
  v.optional("shard_axis", region.shardAxis, std::string());
  v.field("parameters", region.parameters);
  v.field("starts", region.starts);
}

template <class V>
void fields(V& v, typename V::template Ref<DataSource> source) {
  v.field("kind", source.kind);
  v.optional("path", source.path, std::string());
  v.optional("prompt", source.prompt, std::string());
  v.optional("completion", source.completion, std::string());
  v.optional("messages", source.messages, std::string());
  v.optional("paths", source.paths, std::vector<std::string>());
  v.optional("separator", source.separator, std::string());
  v.optional("type", source.type, std::string());
  v.optional("sources", source.sources, std::vector<DataSource>());
  v.optional("weights", source.weights, std::vector<double>());
  v.optional("epochs", source.epochs, std::vector<double>());
  v.optional("stopping", source.stopping, std::string());
}

template <class V>
void fields(V& v, typename V::template Ref<ChatTemplate> chat) {
  v.field("before", chat.before);
  v.field("after", chat.after);
}

template <class V> void fields(V& v, typename V::template Ref<Data> data) {
  v.optional("train", data.train, std::optional<DataSource>());
  v.optional("valid", data.valid, std::optional<DataSource>());
  v.field("sequence", data.sequence);
  v.field("pack", data.pack);
  v.optional("pack_documents", data.packDocuments, int64_t(0));
  v.field("seed", data.seed);
  v.field("chat", data.chat);
  v.optional("special_tokens", data.specialTokens, false);
  v.field("tokenizer", data.tokenizer);
  v.field("vocab", data.vocab);
  v.optional("bos_token", data.bosToken, int64_t(-1));
  v.optional("eos_token", data.eosToken, int64_t(-1));
}

template <class V>
void fields(V& v, typename V::template Ref<LearningRate> rate) {
  v.field("kind", rate.kind);
  v.field("peak", rate.peak);
  v.field("min", rate.min);
  v.field("warmup", rate.warmup);
  v.optional("warmup_fraction", rate.warmupFraction, 0.0);
  v.optional("decay", rate.decay, int64_t(0));
  v.optional("decay_fraction", rate.decayFraction, 0.0);
  v.optional("shape", rate.shape, std::string());
}

template <class V> void fields(V& v, typename V::template Ref<Train> train) {
  v.field("directory", train.directory);
  v.field("steps", train.steps);
  v.field("epochs", train.epochs);
  v.field("validate_every", train.validateEvery);
  v.field("log_every", train.logEvery);
  v.field("seed", train.seed);
  v.field("global_batch", train.globalBatch);
  v.field("micro_batch", train.microBatch);
  v.field("accumulation", train.accumulation);
  v.field("learning_rate", train.learningRate);
  v.field("prompts", train.prompts);
  v.optional("spike", train.spike, 0.0);
  v.optional("spike_window", train.spikeWindow, int64_t(0));
  v.optional("spike_stops", train.spikeStops, true);
  v.optional("straggler", train.straggler, 0.0);
  v.optional("straggler_window", train.stragglerWindow, int64_t(0));
  v.optional("log_norms", train.logNorms, std::string());
  v.optional("spot_notices", train.spotNotices, std::string());
  v.optional("tensorboard", train.tensorboard, std::string());
  v.optional("mlflow", train.mlflow, std::string());
  v.optional("metrics_port", train.metricsPort, int64_t(0));
}

template <class V>
void fields(V& v, typename V::template Ref<Checkpoint> checkpoint) {
  v.field("directory", checkpoint.directory);
  v.optional("every", checkpoint.every, int64_t(0));
  v.optional("every_seconds", checkpoint.everySeconds, 0.0);
  v.optional("keep_top", checkpoint.keepTop, int64_t(0));
  v.optional("keep_last", checkpoint.keepLast, int64_t(1));
  v.field("resume", checkpoint.resume);
  v.optional("async", checkpoint.async, false);
}

template <class V>
void fields(V& v, typename V::template Ref<ModelExchange> exchange) {
  v.field("weights", exchange.weights);
  v.field("hf", exchange.hf);
  v.field("config", exchange.config);
  v.field("generation_config", exchange.generationConfig);
  v.field("adapter_config", exchange.adapterConfig);
}

template <class V>
void fields(V& v, typename V::template Ref<Prediction> prediction) {
  v.field("flops_per_step", prediction.flopsPerStep);
  v.field("peak_flops", prediction.peakFlops);
  v.field("step_seconds", prediction.stepSeconds);
}

template <class V>
void fields(V& v, typename V::template Ref<Holding> holding) {
  v.field("parameter", holding.parameter);
  v.optional("value", holding.value, -1);
  v.optional("gradient", holding.gradient, -1);
  v.optional("scale", holding.scale, -1);
  v.optional("in_scale", holding.inScale, -1);
}

template <class V> void fields(V& v, typename V::template Ref<Stage> stage) {
  v.field("memory", stage.memory);
  v.field("buffers", stage.buffers);
  v.optional("frames", stage.frames, std::vector<Frame>());
  v.field("holdings", stage.holdings);
  v.field("regions", stage.regions);
  v.field("inputs", stage.inputs);
  v.field("outputs", stage.outputs);
  v.field("functions", stage.functions);
  v.field("transfers", stage.transfers);
  v.field("schedules", stage.schedules);
  v.optional("steps", stage.steps, std::vector<StageStep>());
}

/// The version comes first, so that a reader can reject the plan before reading
/// on.
template <class V> void fields(V& v, typename V::template Ref<Plan> plan) {
  v.field("major", plan.major);
  v.field("minor", plan.minor);
  v.field("name", plan.name);
  v.field("task", plan.task);
  v.field("device", plan.device);
  v.field("compute", plan.compute);
  v.field("mesh", plan.mesh);
  v.optional("connections", plan.connections, std::optional<Connections>());
  v.field("parameters", plan.parameters);
  v.field("stages", plan.stages);
  v.optional("serving", plan.serving, std::optional<Serving>());
  v.optional("draft", plan.draft, std::optional<Draft>());
  v.field("data", plan.data);
  v.field("train", plan.train);
  v.field("checkpoint", plan.checkpoint);
  v.field("exchange", plan.exchange);
  v.field("prediction", plan.prediction);
  v.optional("folder", plan.folder, std::string("."));
  v.field("generation", plan.generation);
}

} // namespace reciperun::plan

#endif // RECIPERUN_PLAN_PLANFIELDS_H
