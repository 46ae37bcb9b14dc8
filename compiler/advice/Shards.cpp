// Shards that are too small for a GPU to work on at full speed. Each rule
// proposes a smaller degree. The first two give its ranks to `dp`, and only if
// a rank then has enough memory and the batch has enough sequences.
//
// 1. A `tp` that leaves each rank only a narrow part of `hidden`.
// 2. A `cp` that shards short sequences.
// 3. An `etp` that shards experts although `ep` could distribute whole ones.

#include "compiler/advice/Rules.h"

namespace recipec::advice {
namespace {

using diag::Kind;

/// The part of `hidden` on a rank above which measurements show matmuls at full
/// speed: Llama 3 70B with tp 8 and 8B with tp 4 have 1024.
constexpr int64_t narrowWidth = 1024;
/// The sequence length in tokens from which on Megatron Core's MoE guide uses
/// `cp`.
constexpr int64_t longSequence = 8192;

/// Whether the spans of `cp` and of the experts allow this `tp`.
bool nests(const Facts& facts, int64_t tp) {
  const int64_t etp = facts.degree("etp"), ep = facts.degree("ep");
  for (int64_t span : {etp, etp * ep})
    for (int64_t inner :
         {int64_t(1), facts.degree("cp"), facts.degree("cp_a2a")})
      if (!nest(span, tp * inner))
        return false;
  return true;
}

/// A smaller `tp`, and the bytes of the fullest rank with it.
struct Narrower {
  int64_t tp;
  int64_t total; // bytes
};

/// The largest smaller `tp` that leaves each rank a wide enough part of
/// `hidden`. If memory or batch do not allow it, the smallest `tp` that they
/// allow; nullopt if they allow none.
std::optional<Narrower> narrower(const Facts& facts, int64_t hidden) {
  const int64_t tp = facts.degree("tp");
  std::optional<Narrower> found;
  for (int64_t each = tp - 1; each >= 1; --each) {
    if (tp % each != 0 || !nests(facts, each) || !facts.dividesBatch(tp / each))
      continue;
    const auto total =
        facts.fittingTotal(facts.growthFromTp(double(tp) / double(each)));
    if (!total)
      break;
    found = {each, *total};
    if (hidden / each > narrowWidth)
      break;
  }
  return found;
}

void adviseWidth(const Facts& facts, diag::Engine& engine) {
  const int64_t tp = facts.degree("tp");
  const std::optional<int64_t> hidden = facts.sizeOfModel("hidden");
  // A `tp` that is wider than the domain has its own warning.
  if (tp == 1 || !hidden || *hidden / tp > narrowWidth ||
      tp > facts.linkRanks())
    return;
  const std::optional<Narrower> smaller = narrower(facts, *hidden);
  if (!smaller)
    return;
  auto builder = engine.report(
      Kind::NarrowTensorParallel, facts.placeOf({"parallel.tp"}),
      "`tp` = " + std::to_string(tp) + " leaves a rank " +
          std::to_string(*hidden / tp) +
          " of `hidden` = " + std::to_string(*hidden) +
          ": its matmuls are too narrow for a GPU's full speed, and each layer "
          "exchanges activations");
  builder.note(
      "measured at a width of 1024: Llama 3 70B on 32 H100 reaches "
      "509 TFLOP/s a GPU with tp 8 and 704 with tp 4 (Megatron Bridge, "
      "memory tuning); Llama 3 8B on 4 H200 9,182 tokens/s a GPU with "
      "tp 4 and 10,257 with tp 2 (docs/performance.md)");
  facts.propose(builder, "parallel", {{"tp", std::to_string(smaller->tp)}},
                "leave more of the ranks to `dp`: ",
                ", which takes " + facts.memoryText(smaller->total));
}

void adviseSequence(const Facts& facts, diag::Engine& engine) {
  const int64_t cp = facts.degree("cp");
  const int64_t sequence = facts.recipe().integer("data.sequence");
  if (cp == 1 || sequence >= longSequence)
    return;
  const auto total = facts.fittingTotal(Facts::growthFromCp(double(cp)));
  if (!total || !facts.dividesBatch(cp))
    return;
  auto builder = engine.report(
      Kind::ShortContextParallel, facts.placeOf({"parallel.cp"}),
      "`cp` = " + std::to_string(cp) + " shards sequences of " +
          std::to_string(sequence) + " tokens: the attention of a rank's " +
          std::to_string(sequence / cp) +
          " tokens is too short to hide the exchange of keys and values");
  builder.note("Megatron Core's MoE guide uses `cp` for sequences of at least "
               "8192 tokens; measured at 8192: Llama 3 8B on 4 H200 reaches "
               "10,413 tokens/s a GPU with cp 2 and 11,256 with dp 4 "
               "(docs/performance.md)");
  facts.propose(builder, "parallel", {{"cp", "1"}}, "leave the ranks to `dp`: ",
                ", which takes " + facts.memoryText(*total));
}

void adviseExperts(const Facts& facts, diag::Engine& engine) {
  const int64_t ep = facts.degree("ep"), etp = facts.degree("etp");
  const std::optional<int64_t> experts = facts.sizeOfModel("experts");
  if (etp == 1 || !experts || *experts % (ep * etp) != 0)
    return;
  auto builder = engine.report(
      Kind::ExpertTensorParallel, facts.placeOf({"parallel.etp"}),
      "`etp` = " + std::to_string(etp) +
          " shards the matmuls of each expert, and `ep` * `etp` = " +
          std::to_string(ep * etp) + " ranks could each take " +
          std::to_string(*experts / (ep * etp)) + " of the " +
          std::to_string(*experts) + " experts whole");
  builder.note("whole experts have larger matmuls and exchange less: Mixtral "
               "8x7B is faster with ep 8 than with ep 4 and etp 2 (Megatron "
               "Core, MoE guide)");
  facts.propose(builder, "parallel",
                {{"ep", std::to_string(ep * etp)}, {"etp", "1"}},
                "give each rank whole experts: ", "");
}

} // namespace

void adviseShards(const Facts& facts, diag::Engine& engine) {
  adviseWidth(facts, engine);
  adviseSequence(facts, engine);
  adviseExperts(facts, engine);
}

} // namespace recipec::advice
