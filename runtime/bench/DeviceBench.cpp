// 1. List the ops to measure, each with a function that makes its tensors.
// 2. Measure one after the other; the tensors of one op are freed before the
//    next one's are made.

#include "runtime/bench/DeviceBench.h"

#include "runtime/ops/OpKind.h"
#include "runtime/ops/OpTable.h"
#include "runtime/sizes/AttentionWorkspace.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace reciperun::bench {
namespace {

using device::Tensor;
using ops::OpKind;
using plan::DType;

/// The sizes of Llama 3 8B, and of 3.2 1B with a quarter of its vocabulary.
struct Model {
  int64_t hidden, ffn, heads, keyHeads, width;
  int64_t vocabulary;
};
constexpr Model largeModel = {4096, 14336, 32, 8, 128, 128256};
constexpr Model smallModel = {2048, 8192, 32, 8, 64, 32064};

constexpr int64_t gpuTokens = 8192, cpuTokens = 512;

constexpr int64_t gpuCopied = int64_t(1) << 28, cpuCopied = int64_t(1) << 26;

/// A matmul [m,k] x [k,n].
struct MatmulSizes {
  int64_t m, n, k;
};

std::string textOf(const MatmulSizes& sizes) {
  return std::to_string(sizes.m) + " x " + std::to_string(sizes.n) + " x " +
         std::to_string(sizes.k);
}

double flopsOf(const MatmulSizes& sizes) {
  return 2.0 * double(sizes.m) * double(sizes.n) * double(sizes.k);
}

plan::Op opOf(OpKind kind, ops::Attributes attributes = {}) {
  plan::Op op;
  op.kind = kind;
  op.name = ops::opName(kind);
  op.attributes = std::move(attributes);
  return op;
}

/// A measurement that has not been made yet.
struct Planned {
  Measurement measurement;
  std::function<Expected<Trial>(Workbench&)> makeTrial;
};

class Trials {
public:
  explicit Trials(const DeviceBenchOptions& options)
      : isGpu(options.isGpu), model(isGpu ? largeModel : smallModel),
        tokens(orDefault(options.tokens, gpuTokens, cpuTokens)),
        copied(orDefault(options.copied, gpuCopied, cpuCopied)) {
    addMatmuls();
    addAttention();
    addExperts();
    addMemory();
  }

  std::vector<Planned> planned;

private:
  int64_t orDefault(int64_t given, int64_t ofGpu, int64_t ofCpu) const {
    return given > 0 ? given : isGpu ? ofGpu : ofCpu;
  }
  void add(OpKind kind, DType type, std::string sizes, double flops,
           double bytes, std::function<Expected<Trial>(Workbench&)> makeTrial) {
    planned.push_back({{ops::opName(kind),
                        ops::dtypeName(type),
                        std::move(sizes),
                        flops,
                        bytes,
                        {}},
                       std::move(makeTrial)});
  }

  void addMatmuls();
  void addMatmul(const MatmulSizes& sizes, DType type);
  void addNarrowMatmul(const MatmulSizes& sizes, bool isWgrad);
  void addAttention();
  void addAttention(int64_t batch, int64_t sequence, int64_t width,
                    int64_t window);
  void addExperts();
  void addExperts(int64_t experts, int64_t rows, int64_t n, int64_t k);
  void addMemory();
  void addLinear(OpKind kind, const MatmulSizes& sizes, DType type);

  bool isGpu;
  Model model;
  int64_t tokens, copied;
};

// ---- matmuls

/// One of the three matmuls of a linear layer: y = x w^T and its gradients.
void Trials::addLinear(OpKind kind, const MatmulSizes& sizes, DType type) {
  const auto [m, n, k] = sizes;
  const DType gradient = DType::f32;
  const double elements = double(m * n + n * k + m * k);
  add(kind, type, textOf(sizes), flopsOf(sizes),
      elements * double(plan::byteSize(type)),
      [=](Workbench& bench) -> Expected<Trial> {
        const bool isWgrad = kind == OpKind::LinearWgrad;
        auto x = bench.noise(type, {m, k});
        RECIPERUN_TRY(x);
        auto w = bench.noise(isWgrad ? gradient : type, {n, k});
        RECIPERUN_TRY(w);
        auto y = bench.noise(type, {m, n});
        RECIPERUN_TRY(y);
        if (isWgrad)
          return Trial{opOf(kind), {*x, *y}, {*w}};
        if (kind == OpKind::LinearDgrad)
          return Trial{opOf(kind), {*y, *w}, {*x}};
        return Trial{opOf(kind), {*x, *w}, {*y}};
      });
}

void Trials::addMatmul(const MatmulSizes& sizes, DType type) {
  for (OpKind kind : {OpKind::Linear, OpKind::LinearDgrad, OpKind::LinearWgrad})
    addLinear(kind, sizes, type);
}

/// A matmul of codes with one scale an operand. A weight gradient accumulates
/// in f32.
void Trials::addNarrowMatmul(const MatmulSizes& sizes, bool isWgrad) {
  const auto [m, n, k] = sizes;
  const DType type = DType::f8e4m3, output = isWgrad ? DType::f32 : DType::bf16;
  add(OpKind::ScaledMatmul, type, textOf(sizes), flopsOf(sizes),
      double(m * k + n * k) + double(m * n * plan::byteSize(output)),
      [=](Workbench& bench) -> Expected<Trial> {
        auto a = bench.noise(type, {m, k});
        RECIPERUN_TRY(a);
        auto b = bench.noise(type, {n, k});
        RECIPERUN_TRY(b);
        auto scale = bench.noise(DType::f32, {1});
        RECIPERUN_TRY(scale);
        auto y = bench.noise(output, {m, n});
        RECIPERUN_TRY(y);
        return Trial{opOf(OpKind::ScaledMatmul,
                          {{"accumulate", isWgrad}, {"fast", !isWgrad}}),
                     {*a, *b, *scale, *scale},
                     {*y}};
      });
}

/// The layers of the model, whole and divided among tensor-parallel ranks, and
/// the largest with fewer tokens.
void Trials::addMatmuls() {
  const int64_t h = model.hidden, f = model.ffn;
  const int64_t qkv = (model.heads + 2 * model.keyHeads) * model.width;
  std::vector<MatmulSizes> matmuls = {
      {tokens, qkv, h}, {tokens, h, h}, {tokens, 2 * f, h}, {tokens, h, f}};
  for (int64_t parts : {2, 4, 8}) {
    matmuls.push_back({tokens, qkv / parts, h});
    matmuls.push_back({tokens, h, f / parts});
  }
  for (int64_t parts : {2, 4, 8})
    matmuls.push_back({std::max<int64_t>(tokens / parts, 1), 2 * f, h});
  matmuls.push_back({tokens, model.vocabulary, h});
  for (const MatmulSizes& sizes : matmuls)
    addMatmul(sizes, isGpu ? DType::bf16 : DType::f32);
  if (!isGpu) {
    addLinear(OpKind::Linear, matmuls.front(), DType::bf16);
    return;
  }
  for (const auto& [m, n, k] : matmuls) {
    addNarrowMatmul({m, n, k}, /*isWgrad=*/false);
    addNarrowMatmul({m, k, n}, /*isWgrad=*/false);
    addNarrowMatmul({n, k, m}, /*isWgrad=*/true);
  }
}

// ---- attention

void Trials::addAttention(int64_t batch, int64_t sequence, int64_t width,
                          int64_t window) {
  const DType type = isGpu ? DType::bf16 : DType::f32;
  const int64_t heads = model.heads, keyHeads = model.keyHeads;
  const std::vector<int64_t> queries = {batch, sequence, heads, width},
                             keys = {batch, sequence, keyHeads, width};
  const ops::Attributes attributes = {
      {"documents", false}, {"deterministic", false}, {"window", window}};
  const double behind = window ? double(sequence - window) : 0;
  const double pairs = double(sequence) * double(sequence) - behind * behind;
  const double forward = 2.0 * double(batch * heads * width) * pairs;
  const double bytes = double(2 * batch * sequence * (heads + keyHeads) *
                              width * plan::byteSize(type));
  std::string sizes = std::to_string(batch) + " x " + std::to_string(sequence) +
                      ", " + std::to_string(heads) + "/" +
                      std::to_string(keyHeads) + " heads of " +
                      std::to_string(width);
  if (window)
    sizes += ", window " + std::to_string(window);
  auto makeTrial = [=, isGpu = isGpu](Workbench& bench,
                                      bool isBackward) -> Expected<Trial> {
    std::vector<Tensor> made;
    for (const auto& shape : {queries, keys, keys, queries, queries}) {
      auto tensor = bench.noise(type, shape);
      RECIPERUN_TRY(tensor);
      made.push_back(*tensor);
    }
    const auto &q = made[0], &k = made[1], &v = made[2], &o = made[3],
               &gradient = made[4];
    auto lse = bench.zeros(DType::f32, {batch, heads, sequence});
    RECIPERUN_TRY(lse);
    std::vector<int32_t> order(size_t(batch * sequence));
    for (size_t i = 0; i < order.size(); ++i)
      order[i] = int32_t(i % size_t(sequence));
    auto positions = bench.integers(order, {batch, sequence});
    RECIPERUN_TRY(positions);
    auto segments = bench.zeros(DType::i32, {batch, sequence});
    RECIPERUN_TRY(segments);
    const std::vector<Tensor> tokens = {*segments, *positions, *segments,
                                        *positions};
    Trial trial;
    if (!isBackward) {
      trial = {opOf(OpKind::Attention, attributes), {q, k, v}, {o, *lse}};
    } else {
      trial.op = opOf(OpKind::AttentionBackward, attributes);
      trial.inputs = {gradient, o, q, k, v, *lse};
      for (const auto& shape : {queries, keys, keys}) {
        auto output = bench.zeros(type, shape);
        RECIPERUN_TRY(output);
        trial.outputs.push_back(*output);
      }
      const sizes::AttentionSizes of = sizes::attentionSizes(
          ops::AttentionAttributes(trial.op.attributes), type, queries, keys);
      const int64_t library = isGpu ? sizes::libraryWorkspace(of) : 0;
      const int64_t elements =
          std::max(sizes::attentionWorkspace(of), (library + 3) / 4);
      if (elements > 0) {
        auto workspace = bench.zeros(DType::f32, {elements});
        RECIPERUN_TRY(workspace);
        trial.workspace = *workspace;
      }
    }
    trial.inputs.insert(trial.inputs.end(), tokens.begin(), tokens.end());
    return trial;
  };
  add(OpKind::Attention, type, sizes, forward, bytes,
      [=](Workbench& bench) { return makeTrial(bench, false); });
  add(OpKind::AttentionBackward, type, sizes, 2 * forward, 2 * bytes,
      [=](Workbench& bench) { return makeTrial(bench, true); });
}

void Trials::addAttention() {
  const int64_t whole = tokens, width = model.width;
  for (int64_t parts : {1, 2, 4})
    addAttention(parts, std::max<int64_t>(whole / parts, 1), width, 0);
  if (!isGpu)
    return;
  addAttention(2, whole / 2, width / 2, 0);
  addAttention(1, 4 * whole, width, 0);
  addAttention(1, whole, width, std::max<int64_t>(whole / 8, 1));
}

// ---- experts

/// `rows` rows, as many for each expert.
void Trials::addExperts(int64_t experts, int64_t rows, int64_t n, int64_t k) {
  const DType type = isGpu ? DType::bf16 : DType::f32;
  const MatmulSizes each = {rows / experts, n, k};
  const double flops = double(experts) * flopsOf(each);
  const double bytes = double(rows * n + rows * k + experts * n * k) *
                       double(plan::byteSize(type));
  for (OpKind kind : {OpKind::ExpertLinear, OpKind::ExpertLinearDgrad,
                      OpKind::ExpertLinearWgrad})
    add(kind, type, std::to_string(experts) + " of " + textOf(each), flops,
        bytes, [=](Workbench& bench) -> Expected<Trial> {
          const bool isWgrad = kind == OpKind::ExpertLinearWgrad;
          auto x = bench.noise(type, {1, rows, k});
          RECIPERUN_TRY(x);
          auto w = bench.noise(isWgrad ? DType::f32 : type, {experts, n, k});
          RECIPERUN_TRY(w);
          auto y = bench.noise(type, {1, rows, n});
          RECIPERUN_TRY(y);
          auto counts = bench.integers(
              std::vector(size_t(experts), int32_t(rows / experts)),
              {1, 1, experts});
          RECIPERUN_TRY(counts);
          if (isWgrad)
            return Trial{opOf(kind), {*x, *y, *counts}, {*w}};
          if (kind == OpKind::ExpertLinearDgrad)
            return Trial{opOf(kind), {*y, *w, *counts}, {*x}};
          return Trial{opOf(kind), {*x, *w, *counts}, {*y}};
        });
}

/// Experts of Mixtral's and of DeepSeek's size.
void Trials::addExperts() {
  addExperts(8, 2 * tokens, model.ffn, model.hidden);
  addExperts(64, std::max<int64_t>(4 * tokens, 64), model.ffn / 8,
             model.hidden / 2);
}

// ---- memory

void Trials::addMemory() {
  const DType type = isGpu ? DType::bf16 : DType::f32;
  const int64_t count = copied;
  const double bytes = double(count * plan::byteSize(type));
  const std::string sizes = std::to_string(count) + " elements";
  add(OpKind::Scale, type, sizes, 0, 2 * bytes,
      [=](Workbench& bench) -> Expected<Trial> {
        auto x = bench.noise(type, {count});
        RECIPERUN_TRY(x);
        auto y = bench.zeros(type, {count});
        RECIPERUN_TRY(y);
        return Trial{opOf(OpKind::Scale, {{"alpha", 1.0}}), {*x}, {*y}};
      });
  add(OpKind::Add, type, sizes, 0, 3 * bytes,
      [=](Workbench& bench) -> Expected<Trial> {
        auto a = bench.noise(type, {count});
        RECIPERUN_TRY(a);
        auto b = bench.noise(type, {count});
        RECIPERUN_TRY(b);
        auto y = bench.zeros(type, {count});
        RECIPERUN_TRY(y);
        return Trial{opOf(OpKind::Add), {*a, *b}, {*y}};
      });
}

// ---- figures

/// The op whose first measurement gives a figure of the hardware.
struct FigureSource {
  const char* field;
  OpKind kind;
  DType type;

  bool isOf(const Measurement& each) const {
    return each.op == ops::opName(kind) && each.type == ops::dtypeName(type);
  }
};

std::vector<FigureSource> figureSources(bool isGpu) {
  if (isGpu)
    return {{"sustained_bf16", OpKind::Linear, DType::bf16},
            {"sustained_fp8", OpKind::ScaledMatmul, DType::f8e4m3},
            {"sustained_bandwidth", OpKind::Add, DType::bf16}};
  return {{"flops_bf16", OpKind::Linear, DType::bf16},
          {"flops_fp32", OpKind::Linear, DType::f32},
          {"bandwidth", OpKind::Add, DType::f32}};
}

/// Keeps the first measurement of each figure.
void keepFigures(std::vector<Planned>& planned, bool isGpu) {
  std::vector<Planned> kept;
  for (const FigureSource& source : figureSources(isGpu)) {
    const auto found = std::ranges::find_if(planned, [&](const Planned& each) {
      return source.isOf(each.measurement);
    });
    if (found != planned.end())
      kept.push_back(*found);
  }
  planned = std::move(kept);
}

} // namespace

Expected<std::vector<Measurement>>
benchDevice(device::Device& device, const DeviceBenchOptions& options) {
  Workbench bench(device, options.seconds);
  std::vector<Measurement> measurements;
  Trials trials(options);
  if (options.isShort)
    keepFigures(trials.planned, options.isGpu);
  for (Planned& each : trials.planned) {
    const auto trial = each.makeTrial(bench);
    if (!trial)
      return trial.status().withContext(each.measurement.op + " of " +
                                        each.measurement.sizes);
    const auto timing = bench.time(*trial);
    if (!timing)
      return timing.status().withContext(each.measurement.op + " of " +
                                         each.measurement.sizes);
    each.measurement.timing = *timing;
    measurements.push_back(std::move(each.measurement));
    bench.clear();
    if (options.progress)
      options.progress(measurements.size(), trials.planned.size());
  }
  return measurements;
}

std::vector<HardwareFigure>
hardwareFigures(const std::vector<Measurement>& measurements, bool isGpu) {
  std::vector<HardwareFigure> figures;
  for (const FigureSource& source : figureSources(isGpu)) {
    const auto found =
        std::ranges::find_if(measurements, [&](const Measurement& each) {
          return source.isOf(each);
        });
    if (found == measurements.end())
      continue;
    const double work = found->flops > 0 ? found->flops : found->bytes;
    figures.push_back({source.field, work / found->timing.sustained,
                       found->op + " in " + found->type + ", " + found->sizes});
  }
  return figures;
}

} // namespace reciperun::bench
