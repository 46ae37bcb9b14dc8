// A complete training plan without a compiler: a bigram model, table -> logits,
// on `dp` ranks with mock data. It trains, validates and has no export.

#ifndef RECIPERUN_TEST_TINYPLAN_H
#define RECIPERUN_TEST_TINYPLAN_H

#include "runtime/ops/OpKind.h"
#include "test/runtime/plan/SamplePlan.h"

namespace reciperun::plan {

class TinyPlan {
public:
  static constexpr int64_t vocab = 32, hidden = 16, sequence = 16;

  TinyPlan(int ranks, const std::string& directory) {
    plan.name = "tiny";
    plan.task = "pretrain";
    plan.device = "cpu";
    plan.mesh.axes = {{"dp", ranks}};
    plan.mesh.groups = {{"dp", {"dp"}}};
    plan.mesh.ranks = ranks;
    buffers();
    parameters();
    functions();
    schedules();
    plan.stages[0].memory.library = 64 << 20;
    plan.stages[0].memory.total =
        plan.stages[0].memory.arena + plan.stages[0].memory.library;
    plan.data.train = DataSource{"mock", "", "", "", ""};
    plan.data.valid = plan.data.train;
    plan.data.sequence = sequence;
    plan.data.vocab = vocab;
    plan.train.directory = directory;
    plan.train.steps = 20;
    plan.train.logEvery = 5;
    plan.train.validateEvery = 10;
    plan.train.globalBatch = ranks * 2;
    plan.train.microBatch = 1;
    plan.train.accumulation = 2;
    plan.train.learningRate = {"cosine", 0.05, 0.005, 2};
    plan.prediction.flopsPerStep = 6.0 * 2 * vocab * hidden * sequence * ranks;
    plan.prediction.peakFlops = 1e11;
  }

  Plan plan = planOfOneStage();

private:
  int buffer(const char* name, DType type, std::vector<int64_t> shape) {
    return addBuffer(plan, name, type, std::move(shape));
  }
  /// A view of part of another buffer.
  int view(int whole, int64_t byte, std::vector<int64_t> shape) {
    Buffer part = plan.stages[0].buffers[size_t(whole)];
    part.offset += byte;
    part.shape = std::move(shape);
    plan.stages[0].buffers.push_back(part);
    return int(plan.stages[0].buffers.size()) - 1;
  }

  void buffers() {
    Inputs& in = plan.stages[0].inputs;
    in.tokens = buffer("tokens", DType::i32, {1, sequence});
    in.labels = buffer("labels", DType::i32, {1, sequence});
    in.weights = buffer("weights", DType::f32, {1, sequence});
    in.positions = buffer("positions", DType::i32, {1, sequence});
    in.segments = buffer("segments", DType::i32, {1, sequence});
    in.samples = buffer("samples", DType::i64, {1});
    in.lossScale = buffer("loss_scale", DType::f32, {1});
    in.learningRate = buffer("learning_rate", DType::f32, {1});
    in.step = buffer("step", DType::i32, {1});
    plan.stages[0].outputs.loss = buffer("loss", DType::f64, {1});
    plan.stages[0].outputs.normSquared =
        buffer("norm_squared", DType::f64, {1});
    x = buffer("x", DType::f32, {1, sequence, hidden});
    dx = buffer("dx", DType::f32, {1, sequence, hidden});
    logits = buffer("logits", DType::f32, {1, sequence, vocab});
    m = buffer("m", DType::f32, {1, sequence});
    stats = buffer("stats", DType::f32, {1, sequence, 2});
    region = buffer("region", DType::f32, {2 * vocab * hidden});
    gradients = buffer("gradients", DType::f32, {2 * vocab * hidden});
    momentM = buffer("moment m", DType::f32, {2 * vocab * hidden});
    momentV = buffer("moment v", DType::f32, {2 * vocab * hidden});
  }

  void parameters() {
    const int64_t half = vocab * hidden * 4;
    for (int i : {0, 1}) {
      Parameter parameter;
      parameter.name = i == 0 ? "embed" : "head";
      parameter.globalShape = {vocab, hidden};
      parameter.shardAxes = {"", ""};
      parameter.init = {"normal", 0.1};
      const int value = view(region, i * half, {vocab, hidden});
      const int gradient = view(gradients, i * half, {vocab, hidden});
      plan.stages[0].holdings.push_back({i, value, gradient});
      plan.parameters.push_back(parameter);
    }
    Region whole;
    whole.name = "all";
    whole.elements = 2 * vocab * hidden;
    whole.param = whole.part = whole.master = region;
    whole.parameters = {0, 1};
    whole.starts = {0, vocab * hidden};
    plan.stages[0].regions = {whole};
  }

  Op reduced(const char* name, int number) {
    Op op = makeOp(OpKind::AllReduce, name, {number}, {number});
    op.group = 0;
    op.attributes = {{"reduce", std::string("sum")}};
    return op;
  }

  void functions() {
    const Inputs& in = plan.stages[0].inputs;
    const Holding table = holdingOf(plan.stages[0], 0),
                  head = holdingOf(plan.stages[0], 1);
    int loss = plan.stages[0].outputs.loss,
        norm = plan.stages[0].outputs.normSquared;
    std::vector<Op> forward = {
        makeOp(OpKind::Embedding, "embed", {in.tokens, table.value}, {x}),
        makeOp(OpKind::Linear, "head", {x, head.value}, {logits}),
        makeOp(OpKind::SoftmaxMax, "max", {logits}, {m}),
        makeOp(OpKind::SoftmaxSum, "sum", {logits, m, in.labels}, {stats}),
        makeOp(OpKind::Nll, "nll", {m, stats, in.weights, in.lossScale},
               {loss})};
    std::vector<Op> both = forward;
    for (const Op& op :
         {makeOp(OpKind::CrossEntropyBackward, "dlogits",
                 {logits, m, stats, in.labels, in.weights, in.lossScale},
                 {logits}),
          makeOp(OpKind::LinearWgrad, "dhead", {x, logits}, {head.gradient}),
          makeOp(OpKind::LinearDgrad, "dx", {logits, head.value}, {dx}),
          makeOp(OpKind::EmbeddingBackward, "dembed", {in.tokens, dx},
                 {table.gradient})})
      both.push_back(op);
    Op update = makeOp(OpKind::AdamW, "update",
                       {gradients, norm, in.learningRate, in.step},
                       {region, region, momentM, momentV});
    update.attributes = {
        {"beta1", 0.9}, {"beta2", 0.98}, {"eps", 1e-8}, {"clip", 1.0}};
    plan.stages[0].functions = {
        {"begin",
         {makeOp(OpKind::Zero, "loss", {}, {loss}),
          makeOp(OpKind::Zero, "norm", {}, {norm}),
          makeOp(OpKind::Zero, "gradients", {}, {gradients})}},
        {"micro-batch", both},
        {"forward", forward},
        {"end",
         {reduced("loss", loss), reduced("gradients", gradients),
          makeOp(OpKind::SumSquares, "norm", {gradients}, {norm}), update}},
        {"end evaluation", {reduced("loss", loss)}}};
  }

  void schedules() {
    auto load = [](int microBatch) {
      return ScheduleStep{ScheduleStep::Kind::load, -1, -1, microBatch};
    };
    auto run = [](int function, int microBatch) {
      return ScheduleStep{ScheduleStep::Kind::run, function, -1, microBatch};
    };
    plan.stages[0].schedules = {
        {"train",
         {run(0, 0), load(0), run(1, 0), load(1), run(1, 1), run(3, 0)}},
        {"evaluate", {run(0, 0), load(0), run(2, 0), run(4, 0)}}};
  }

  int x = -1, dx = -1, logits = -1, m = -1, stats = -1;
  int region = -1, gradients = -1, momentM = -1, momentV = -1;
};

} // namespace reciperun::plan

#endif // RECIPERUN_TEST_TINYPLAN_H
