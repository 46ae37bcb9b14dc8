// The layout of a recipe's degrees; see Shard.h.
//
// This table is the only place that defines what the degrees split. A new
// degree is a new line.

#include "compiler/passes/shard/Shard.h"

namespace recipec::passes {

namespace {

/// The name of a dimension in the user's model. The module adds a number when
/// one name has two sizes.
std::string_view baseName(std::string_view name) {
  return name.substr(0, name.find('.'));
}

std::vector<ir::AxisSet>
axesOf(const ir::Module& module,
       const std::vector<std::pair<std::string, std::string>>& entries) {
  std::vector<ir::AxisSet> axes(module.dims.size());
  for (const auto& [degree, where] : module.degrees)
    for (ir::DimId dim : splitDims(module, entries, degree))
      axes[size_t(dim)] = axes[size_t(dim)] | ir::axesOf(module, degree);
  return axes;
}

/// Converts `cp_comm`: `"a2a"` exchanges heads along all of `cp`, and
/// `"a2a+p2p"` along a part of it.
SequenceExchange exchangeOf(const recipe::Value& value) {
  const auto& how = std::get<std::string>(value.data);
  return {how == "a2a"       ? "cp"
          : how == "a2a+p2p" ? "cp_a2a"
                             : "",
          how == "p2p" || how == "a2a+p2p"};
}

std::vector<SequenceExchange> exchangesOf(const recipe::Value& value) {
  const auto* list = std::get_if<recipe::List>(&value.data);
  if (!list)
    return {exchangeOf(value)};
  std::vector<SequenceExchange> exchanges;
  for (const recipe::Value& layer : *list)
    exchanges.push_back(exchangeOf(layer));
  return exchanges;
}

} // namespace

Layout layoutOf(const recipe::Recipe& recipe) {
  Layout layout;
  layout.dims = {
      {"batch", "dp"},       {"sequence", "cp"}, {"experts", "ep"},
      {"expert_ffn", "etp"}, {"heads", "tp"},    {"kv_heads", "tp"},
      {"ffn", "tp"},         {"vocab", "tp"},    {"mamba_groups", "tp"}};
  const recipe::Value& sequence = recipe.at("parallel.sequence");
  bool isParallel = sequence.isAuto() ? recipe.integer("parallel.tp") > 1
                                      : std::get<bool>(sequence.data);
  if (isParallel)
    layout.residual = {{"sequence", "tp"}};
  const recipe::Value& exchange = recipe.at("parallel.cp_comm");
  layout.exchanges = exchangesOf(exchange);
  layout.exchangesRange = exchange.origin.range;
  return layout;
}

std::vector<ir::DimId>
splitDims(const ir::Module& module,
          const std::vector<std::pair<std::string, std::string>>& entries,
          std::string_view degree) {
  std::vector<ir::DimId> dims;
  if (ir::axesOf(module, degree).empty())
    return dims;
  for (const auto& [name, splitter] : entries) {
    if (splitter != degree)
      continue;
    for (size_t i = 0; i < module.dims.size(); ++i)
      if (baseName(module.dims[i].name) == name)
        dims.push_back(ir::DimId(i));
  }
  return dims;
}

DimAxes resolve(const ir::Module& module, const Layout& layout) {
  return {axesOf(module, layout.dims), axesOf(module, layout.residual)};
}

} // namespace recipec::passes
