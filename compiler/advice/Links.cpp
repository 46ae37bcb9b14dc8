// Groups of ranks and the links between them. Ranks are numbered with `tp`
// innermost, then `cp` and `dp`; for experts with `etp` innermost, then `ep`.
// The links connect domains of `link_ranks` consecutive ranks. The groups of a
// degree are within spans of consecutive ranks: `tp`, `tp` * `cp`, `etp` *
// `ep`.
//
// 1. A `tp` group that is wider than a domain sends the activations of each
//    layer over the network. The help proposes to divide the layers over the
//    nodes instead.
// 2. An `ep` group that is wider than a domain sends the tokens of each layer
//    of experts over the network. The help proposes a smaller `ep`, which keeps
//    more experts on each rank, if the memory is enough.
// 3. If a span does not divide the domain, some of its groups are in two
//    domains, and the slowest group delays all of them.

#include "compiler/advice/Rules.h"

#include <algorithm>

namespace recipec::advice {
namespace {

using diag::Kind;

/// "at 50.0 GB/s instead of 450.0 GB/s"; empty without a described network.
std::string slowdown(const recipe::Recipe& recipe) {
  if (recipe.at("cluster.hardware.network").isNone())
    return {};
  return " at " + rateText(recipe.real("cluster.hardware.network.bandwidth")) +
         " instead of " +
         rateText(recipe.real("cluster.hardware.link_bandwidth"));
}

void adviseTensorParallel(const Facts& facts, diag::Engine& engine) {
  const int64_t tp = facts.degree("tp"), domain = facts.linkRanks();
  if (tp <= domain)
    return;
  auto builder = engine.report(
      Kind::TensorParallelOverNetwork, facts.placeOf({"parallel.tp"}),
      "`tp` = " + std::to_string(tp) + " is wider than the NVLink domain of " +
          std::to_string(domain) +
          " ranks: each layer exchanges its activations over the network" +
          slowdown(facts.recipe()));
  builder.note("NVIDIA's guides keep `tp` within the NVLink domain and divide "
               "larger models by `pp` (Megatron Bridge, performance guide)");
  const int64_t within = largestDivisor(tp, domain);
  const int64_t pp = facts.degree("pp") * tp / within;
  const std::optional<int64_t> layers = facts.sizeOfModel("layers");
  const bool divides = layers && *layers % pp == 0 && facts.degree("vp") == 1;
  if (divides)
    facts.propose(builder, "parallel",
                  {{"tp", std::to_string(within)}, {"pp", std::to_string(pp)}},
                  "divide the layers over the nodes: ", "");
  else
    builder.help("use `tp = " + std::to_string(within) +
                 "`, and more ranks of `pp` or `dp`");
}

/// The bytes of the experts' parameters (or of their gradients, by `kind`) on a
/// rank of a stage.
double bytesOfExperts(const ir::Module& stage, ir::ValueKind kind) {
  double bytes = 0;
  for (const ir::Param& param : stage.params) {
    const ir::ValueId value =
        kind == ir::ValueKind::gradient ? param.gradient : param.value;
    if (value == ir::ValueId::none)
      continue;
    const auto& dims = stage[value].dims;
    const bool isOfExperts =
        std::any_of(dims.begin(), dims.end(), [&](ir::DimId dim) {
          return stage[dim].name == "experts";
        });
    if (isOfExperts)
      bytes += double(ir::localBytes(stage, value));
  }
  return bytes;
}

/// The growth of the memory when a rank has `factor` times as many experts.
/// Takes the largest factors of all stages. The optimizer's state stays sharded
/// over the ranks of a stage.
Growth growthOfExperts(const Facts& facts, double factor) {
  Growth growth;
  const auto grown = [factor](double experts, int64_t all) {
    return all > 0 ? 1 + (factor - 1) * std::min(1.0, experts / double(all))
                   : 1;
  };
  for (size_t i = 0; i < facts.stages().size(); ++i) {
    const ir::Module& stage = facts.stages()[i];
    const cost::MemoryTable& memory = facts.estimate().stages[i];
    growth.parameters =
        std::max(growth.parameters,
                 grown(bytesOfExperts(stage, ir::ValueKind::parameter),
                       memory.parameters));
    growth.gradients = std::max(
        growth.gradients, grown(bytesOfExperts(stage, ir::ValueKind::gradient),
                                memory.gradients));
  }
  if (facts.recipe().string("parallel.shard") == "none")
    growth.optimizer = factor;
  return growth;
}

void adviseExpertParallel(const Facts& facts, diag::Engine& engine) {
  const int64_t ep = facts.degree("ep"), etp = facts.degree("etp");
  const int64_t domain = facts.linkRanks();
  if (ep == 1 || ep * etp <= domain || etp > domain)
    return;
  const int64_t within = largestDivisor(ep, domain / etp);
  const int64_t tp = facts.degree("tp"), cp = facts.degree("cp");
  if (within == 1 || !nest(etp * within, tp) || !nest(etp * within, tp * cp) ||
      !nest(etp * within, tp * facts.degree("cp_a2a")))
    return;
  const auto total =
      facts.fittingTotal(growthOfExperts(facts, double(ep) / double(within)));
  if (!total)
    return;
  auto builder = engine.report(
      Kind::ExpertParallelOverNetwork, facts.placeOf({"parallel.ep"}),
      "the groups of `ep` = " + std::to_string(ep) + " span " +
          std::to_string(ep * etp) + " ranks, and the NVLink domain has " +
          std::to_string(domain) +
          ": each layer of experts sends its tokens over the network" +
          slowdown(facts.recipe()));
  builder.note(
      "NVIDIA's guides keep `ep` * `etp` within the NVLink domain "
      "(Megatron Bridge, performance guide; Megatron Core, MoE guide)");
  facts.propose(builder, "parallel", {{"ep", std::to_string(within)}},
                "keep the tokens on the links: ",
                ", which takes " + facts.memoryText(*total));
}

/// A degree, and the number of consecutive ranks that its groups span.
struct Span {
  const char* degree;
  int64_t ranks;
};

void adviseDomains(const Facts& facts, diag::Engine& engine) {
  const int64_t domain = facts.linkRanks();
  if (facts.ranks() <= domain)
    return;
  const int64_t tp = facts.degree("tp"), cp = facts.degree("cp");
  const int64_t ep = facts.degree("ep"), etp = facts.degree("etp");
  const Span spans[] = {{"ep", ep > 1 ? ep * etp : 1},
                        {"cp", cp > 1 ? cp * tp : 1},
                        {"etp", etp},
                        {"tp", tp}};
  const auto cut = std::find_if(
      std::begin(spans), std::end(spans), [domain](const Span& span) {
        return span.ranks <= domain && domain % span.ranks != 0;
      });
  if (cut == std::end(spans))
    return;
  const std::string name = cut->degree;
  auto builder = engine.report(
      Kind::SplitNvlinkDomain, facts.placeOf({"parallel." + name}),
      "the groups of `" + name + "` = " + std::to_string(facts.degree(name)) +
          " take " + std::to_string(cut->ranks) +
          " consecutive ranks, which do not divide the NVLink domain of " +
          std::to_string(domain) + ": some groups lie in two domains");
  builder.note("such a group is as slow as the network between the domains; "
               "NVIDIA's guide uses degrees that divide the domain, or 64 of "
               "the 72 GPUs of an NVL72 (Megatron Bridge, performance guide)");
  const int64_t used = domain / cut->ranks * cut->ranks;
  builder.help("use " + std::to_string(used) + " of the " +
               std::to_string(domain) +
               " GPUs of each domain, and say so: `hardware = " +
               facts.recipe().string("cluster.hardware.name") +
               " { link_ranks = " + std::to_string(used) + " }`");
}

} // namespace

void adviseLinks(const Facts& facts, diag::Engine& engine) {
  adviseTensorParallel(facts, engine);
  adviseExpertParallel(facts, engine);
  adviseDomains(facts, engine);
}

} // namespace recipec::advice
