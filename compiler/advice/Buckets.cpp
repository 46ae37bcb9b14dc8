// The size of the buckets in which gradients are reduced and parameters
// gathered.
//
// A ring of n ranks sends (n - 1) messages one after another, each an n-th of
// the bucket (Thakur et al. 2005): (n - 1) * (latency + bytes / n / bandwidth).
// In a bucket of fewer than n * latency * bandwidth bytes, more than half of
// the time is latency.

#include "compiler/advice/Rules.h"
#include "compiler/recipe/Format.h"

#include <cmath>

namespace recipec::advice {

void adviseBuckets(const Facts& facts, diag::Engine& engine) {
  const recipe::Recipe& recipe = facts.recipe();
  const int64_t ranks =
      facts.degree("dp") * facts.degree("cp") / facts.degree("shard_instances");
  const recipe::Value& given = recipe.at("comm.bucket");
  const auto* bucket = std::get_if<recipe::Quantity>(&given.data);
  if (!bucket || ranks == 1)
    return;
  const bool isWithinDomain = ranks * facts.degree("tp") <= facts.linkRanks();
  const std::string link =
      isWithinDomain ? "cluster.hardware.link_" : "cluster.hardware.network.";
  if (!isWithinDomain && recipe.at("cluster.hardware.network").isNone())
    return;
  const double latency = recipe.real(link + "latency");
  const double least =
      double(ranks) * latency * recipe.real(link + "bandwidth");
  if (bucket->amount >= least)
    return;
  auto builder = engine.report(
      diag::Kind::SmallBuckets, facts.placeOf({"comm.bucket"}),
      "`bucket` = " + recipe::formatBytes(int64_t(bucket->amount)) + " among " +
          std::to_string(ranks) +
          " ranks takes more time for latency than for data, as it does "
          "below " +
          recipe::formatBytes(int64_t(least)));
  builder.note("a ring of " + std::to_string(ranks) + " ranks sends " +
               std::to_string(ranks - 1) + " messages one after another, of " +
               decimal(latency * 1e6) +
               " µs of latency each; NVIDIA's guide recommends large messages "
               "(Megatron Bridge, performance guide)");
  const double power = std::exp2(std::ceil(std::log2(least / double(1 << 20))));
  facts.propose(
      builder, "comm",
      {{"bucket", std::to_string(int64_t(std::max(1.0, power))) + "MiB"}},
      "exchange more at a time: ", ", or leave `bucket` out");
}

} // namespace recipec::advice
