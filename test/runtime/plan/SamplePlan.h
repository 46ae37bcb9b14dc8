// A small handwritten training plan: one linear layer over dp x tp ranks.
//
// It has one of each thing that a plan may hold, and it is valid.

#ifndef RECIPERUN_TEST_SAMPLEPLAN_H
#define RECIPERUN_TEST_SAMPLEPLAN_H

#include "runtime/ops/OpKind.h"
#include "runtime/plan/Plan.h"

namespace reciperun::plan {

inline Plan planOfOneStage() {
  Plan plan;
  plan.stages.resize(1);
  return plan;
}

inline int addBuffer(Plan& plan, const char* name, DType dtype,
                     std::vector<int64_t> shape) {
  Buffer buffer;
  buffer.name = name;
  buffer.dtype = dtype;
  buffer.offset = plan.stages[0].memory.arena;
  int64_t bytes = byteSize(dtype);
  for (int64_t dimension : shape)
    bytes *= dimension;
  buffer.shape = std::move(shape);
  plan.stages[0].memory.arena +=
      (bytes + bufferAlignment - 1) / bufferAlignment * bufferAlignment;
  plan.stages[0].memory.total = plan.stages[0].memory.arena;
  plan.stages[0].buffers.push_back(buffer);
  return int(plan.stages[0].buffers.size()) - 1;
}

inline Op makeOp(OpKind kind, const char* name, std::vector<int> inputs,
                 std::vector<int> outputs) {
  Op op;
  op.kind = kind;
  op.name = name;
  op.inputs = std::move(inputs);
  op.outputs = std::move(outputs);
  return op;
}

inline Plan samplePlan() {
  Plan plan = planOfOneStage();
  plan.name = "sample \"quoted\" \xc3\xa4";
  plan.task = "sft";
  plan.device = "cpu";
  plan.mesh.axes = {{"dp", 2}, {"tp", 2}};
  plan.mesh.groups = {{"tp", {"tp"}}, {"world", {"dp", "tp"}}};
  plan.mesh.ranks = 4;

  int tokens = addBuffer(plan, "tokens", DType::i32, {1, 8});
  int lossScale = addBuffer(plan, "loss_scale", DType::f32, {1});
  int rate = addBuffer(plan, "learning_rate", DType::f32, {1});
  int step = addBuffer(plan, "step", DType::i32, {1});
  int loss = addBuffer(plan, "loss", DType::f64, {1});
  int norm = addBuffer(plan, "norm_squared", DType::f64, {1});
  int x = addBuffer(plan, "x", DType::f32, {1, 8, 4});
  int y = addBuffer(plan, "y", DType::f32, {1, 8, 6});
  int weight = addBuffer(plan, "weight", DType::f32, {6, 4});
  int gradient = addBuffer(plan, "gradient", DType::f32, {6, 4});
  int flat = addBuffer(plan, "flat gradient", DType::f32, {24});
  int m = addBuffer(plan, "m", DType::f32, {12});
  int v = addBuffer(plan, "v", DType::f32, {12});

  // The optimizer's views: the whole region, and this rank's half of it.
  Buffer region = plan.stages[0].buffers[size_t(weight)];
  region.name = "region";
  region.shape = {24};
  plan.stages[0].buffers.push_back(region);
  int whole = int(plan.stages[0].buffers.size()) - 1;
  Buffer part = region;
  part.name = "region's part";
  part.shape = {12};
  part.shardAxis = "dp";
  part.shardStride = 48;
  plan.stages[0].buffers.push_back(part);
  int own = int(plan.stages[0].buffers.size()) - 1;
  Buffer gradientPart = plan.stages[0].buffers[size_t(flat)];
  gradientPart.shape = {12};
  plan.stages[0].buffers.push_back(gradientPart);
  int ownGradient = int(plan.stages[0].buffers.size()) - 1;

  Op linear = makeOp(OpKind::Linear, "layer", {x, weight}, {y});
  linear.attributes = {{"alpha", 0.5}, {"accumulate", false}};
  Op reduce = makeOp(OpKind::AllReduce, "layer's sum", {y}, {y});
  reduce.group = 0;
  reduce.attributes = {{"reduce", std::string("sum")}};
  Op clear = makeOp(OpKind::Zero, "clear", {}, {gradient});
  Op adamw = makeOp(OpKind::AdamW, "update", {ownGradient, norm, rate, step},
                    {own, own, m, v});
  adamw.attributes = {{"beta1", 0.9}, {"clip", 1.0}};
  plan.stages[0].functions = {{"forward", {linear, reduce, clear}},
                              {"optimizer", {adamw}}};
  ScheduleStep load;
  load.kind = ScheduleStep::Kind::load;
  ScheduleStep forward;
  forward.function = 0;
  ScheduleStep update;
  update.function = 1;
  plan.stages[0].schedules = {{"train", {load, forward, update}}};

  Parameter parameter;
  parameter.name = "layer.weight";
  parameter.globalShape = {12, 4};
  parameter.shardAxes = {"tp", ""};
  parameter.init = {"normal", 0.02};
  parameter.hfName = "model.layer.weight";
  parameter.hfShape = {12, 4};
  plan.parameters = {parameter};
  plan.stages[0].holdings = {{0, weight, gradient}};
  Region optimized;
  optimized.name = "decayed";
  optimized.elements = 24;
  optimized.param = whole;
  optimized.part = optimized.master = own;
  optimized.shardAxis = "dp";
  optimized.parameters = {0};
  optimized.starts = {0};
  plan.stages[0].regions = {optimized};

  plan.stages[0].inputs.tokens = tokens;
  plan.stages[0].inputs.lossScale = lossScale;
  plan.stages[0].inputs.learningRate = rate;
  plan.stages[0].inputs.step = step;
  plan.stages[0].outputs.loss = loss;
  plan.stages[0].outputs.normSquared = norm;
  plan.data.train = DataSource{"jsonl", "train.jsonl", "q", "a", ""};
  plan.data.sequence = 8;
  plan.data.vocab = 16;
  plan.train.directory = "runs/sample";
  plan.train.steps = 3;
  plan.train.globalBatch = 2;
  plan.train.microBatch = 1;
  plan.train.accumulation = 1;
  plan.train.learningRate = {"cosine", 1e-3, 1e-4, 1};
  plan.train.prompts = {"hello\n"};
  return plan;
}

} // namespace reciperun::plan

#endif // RECIPERUN_TEST_SAMPLEPLAN_H
