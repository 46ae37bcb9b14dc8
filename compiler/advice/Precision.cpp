// Number formats.
//
// 1. fp8 speeds up only matmuls. Their share of the time grows with `hidden`,
//    so small models gain little.
// 2. A ring reduction adds the gradients of its ranks one after another. In
//    bf16, with 8 significant bits, rounding loses small addends when there are
//    many ranks.

#include "compiler/advice/Rules.h"

namespace recipec::advice {
namespace {

using diag::Kind;

/// The widest `hidden` at which fp8 was measured to gain at most a tenth.
constexpr int64_t smallHidden = 1024;
/// The number of ranks from which on NVIDIA's guide warns about reductions in
/// bf16.
constexpr int64_t manyRanks = 128;

void adviseFp8(const Facts& facts, diag::Engine& engine) {
  const std::optional<int64_t> hidden = facts.sizeOfModel("hidden");
  if (facts.recipe().string("precision.compute") != "fp8" || !hidden ||
      *hidden > smallHidden)
    return;
  auto builder = engine.report(
      Kind::SmallFp8Matmuls, facts.placeOf({"precision.compute"}),
      "fp8 gains little at `hidden` = " + std::to_string(*hidden) +
          ": casts, norms and attention take much of the time, and only "
          "matmuls are in fp8");
  builder.note("measured, fp8 against bf16: 0.95 times as fast for LoRA of "
               "Qwen3 0.6B with hidden 1024 (Surogate, H100), 1.10 for Qwen2.5 "
               "0.5B with 896 (llmq, H100), 1.26 at 2048 and 1.41 at 4096 "
               "(docs/performance.md)");
  facts.propose(builder, "precision", {{"compute", "\"bf16\""}},
                "compute in bf16: ", "");
}

/// Proposes to reduce in fp32. Gradients that are kept in fp32 are reduced in
/// place. Gradients in bf16 would first be cast to a buffer of twice their
/// size, so this proposes to keep them in fp32 if that fits.
void proposeSums(const Facts& facts, diag::Builder& builder) {
  if (facts.recipe().string("precision.grads") != "bf16") {
    facts.propose(builder, "comm", {{"reduce", "\"fp32\""}},
                  "add in fp32, which takes twice the traffic: ", "");
    return;
  }
  Growth growth;
  growth.gradients = 2;
  const auto total = facts.fittingTotal(growth);
  if (total && !facts.isGiven("comm.reduce"))
    facts.propose(builder, "precision", {{"grads", "\"fp32\""}},
                  "keep and add them in fp32, which takes twice the traffic: ",
                  ", which takes " + facts.memoryText(*total));
  else
    builder.help("add in fp32, or in groups of fewer ranks, by "
                 "`parallel.shard_instances`");
}

void adviseReduction(const Facts& facts, diag::Engine& engine) {
  // The replicas of a sharded optimizer reduce in a second ring.
  const int64_t ranks =
      facts.degree("dp") * facts.degree("cp") / facts.degree("shard_instances");
  if (facts.recipe().string("comm.reduce") != "bf16" || ranks < manyRanks)
    return;
  auto builder = engine.report(
      Kind::LossyGradientReduction,
      facts.placeOf({"comm.reduce", "precision.grads"}),
      "gradients of " + std::to_string(ranks) +
          " ranks are added in bf16: a ring adds one after another, and small "
          "ones are lost in rounding");
  builder.note("NVIDIA's guide: reduction in bf16 is safe in many runs, and "
               "with data parallelism of 128 or more may harm numerical "
               "stability (Megatron Bridge, performance guide)");
  proposeSums(facts, builder);
}

} // namespace

void advisePrecision(const Facts& facts, diag::Engine& engine) {
  adviseFp8(facts, engine);
  adviseReduction(facts, engine);
}

} // namespace recipec::advice
