// See DimMessages.h.

#include "compiler/passes/build/DimMessages.h"

#include "runtime/ops/OpTable.h"

#include <algorithm>
#include <string>
#include <string_view>

namespace recipec::passes {
namespace {

/// The numbers of heads that a help proposes.
constexpr size_t mostWays = 3;

std::string nameOf(const ir::Module& module, ir::DimId dim) {
  const std::string_view name = module[dim].name;
  return std::string(name.substr(0, name.find('.')));
}

std::string sized(const ir::Module& module, ir::DimId dim) {
  return "`" + nameOf(module, dim) + "` = " + std::to_string(module[dim].size);
}

bool keepsDims(ir::OpKind kind) {
  const ops::OpFamily family = ops::infoOf(kind).family;
  return family == ops::OpFamily::norms ||
         family == ops::OpFamily::activations || kind == ir::OpKind::Rope ||
         kind == ir::OpKind::AddBias;
}

} // namespace

const ir::Op* linearBehind(const ir::Module& module, ir::ValueId value) {
  const std::vector<ir::Op>& ops = module.functions.front().ops;
  for (auto at = ops.rbegin(); at != ops.rend(); ++at) {
    if (std::ranges::find(at->results, value) == at->results.end())
      continue;
    if (at->kind == ir::OpKind::Linear)
      return &*at;
    if (!keepsDims(at->kind) || at->operands.empty())
      return nullptr;
    value = at->operands.front();
  }
  return nullptr;
}

bool reportHeads(const ir::Module& module, const ir::Op& attention,
                 ir::DimId queries, ir::DimId keys, diag::Engine& engine) {
  const SourceRange given = module[keys].range;
  auto builder = engine.report(
      diag::Kind::ShapeMismatch, given.isValid() ? given : attention.range,
      sized(module, keys) + " does not divide " + sized(module, queries));
  builder.label("each key head serves as many query heads");
  if (given.isValid())
    builder.label(attention.range, "in this attention");
  builder.label(module[queries].range, sized(module, queries));
  const std::string name = nameOf(module, keys);
  const int64_t heads = module[queries].size, now = module[keys].size;
  diag::Proposal proposal{"change `" + name + "` to ", {}, ""};
  auto add = [&](int64_t count) {
    const std::string text = std::to_string(count);
    proposal.ways.push_back({text, {"model." + name + "=" + text}});
  };
  for (int64_t count = std::min(now, heads);
       count >= 1 && proposal.ways.size() + 1 < mostWays; --count)
    if (heads % count == 0)
      add(count);
  for (int64_t count = now + 1; count <= heads; ++count)
    if (heads % count == 0) {
      add(count);
      break;
    }
  builder.propose(std::move(proposal));
  return false;
}

void warnOfSharedWeight(const ir::Op& linear, const std::string& from,
                        const std::string& to, diag::Engine& engine) {
  auto bare = [](const std::string& text) {
    return text.substr(1, text.size() - 2);
  };
  engine
      .report(diag::Kind::UnlikelySetting, linear.range,
              "these are rows of experts, and all experts share the weight of "
              "this `linear`")
      .help("for a weight of each expert write `expert_linear(..., " +
            bare(from) + " -> " + bare(to) + ", experts, name = \"...\")`");
}

} // namespace recipec::passes
