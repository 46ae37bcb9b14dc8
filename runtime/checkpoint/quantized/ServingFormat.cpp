// See ServingFormat.h.

#include "runtime/checkpoint/quantized/ServingFormat.h"

#include "runtime/checkpoint/quantized/StoredWeights.h"

#include <algorithm>
#include <array>

namespace reciperun::checkpoint {
namespace {

using sizes::WeightFormat;

/// Whether a server's scales of the format can be those of the tensor.
bool isServed(const StoredWeight& weight) {
  if (weight.scaleColumns >= weight.columns)
    return true; // a row or more shares a scale
  return weight.format == WeightFormat::int4 &&
         weight.scaleColumns % sizes::weightGroup == 0;
}

bool isExpert(std::string_view name) {
  return name.find(".experts.") != name.npos;
}

std::string moduleOf(const std::string& name) {
  return name.substr(0, name.size() - std::string_view(".weight").size());
}

/// The matrices of a directory, as an unquantized one names them.
std::vector<std::string> linearNames(const ModelFiles& model) {
  constexpr std::string_view packed = "_packed";
  std::vector<std::string> names;
  for (std::string name : model.names()) {
    if (name.ends_with(".weight_packed"))
      name.resize(name.size() - packed.size());
    if (isLinearName(name) && !isExpert(name))
      names.push_back(std::move(name));
  }
  return names;
}

} // namespace

bool isLinearName(std::string_view name) {
  if (!name.ends_with(".weight"))
    return false;
  for (std::string_view part :
       {"embed", "wte.", "wpe.", "lm_head.", "router.", "norm."})
    if (name.find(part) != std::string_view::npos)
      return false;
  return !name.ends_with(".gate.weight") &&
         !name.ends_with(".shared_expert_gate.weight");
}

Expected<ServingFormat> servingFormatOf(const ModelFiles& model) {
  Expected<StoredWeights> stored = StoredWeights::open(model);
  RECIPERUN_TRY(stored);
  const std::vector<std::string> names = linearNames(model);
  std::array<int64_t, 3> elements{}; // by format
  for (const std::string& name : names)
    if (const StoredWeight* weight = stored->find(name);
        weight && isServed(*weight))
      elements[size_t(weight->format)] += weight->rows * weight->columns;
  const auto most = std::ranges::max_element(elements);
  ServingFormat found;
  if (*most == 0)
    return found;
  const auto format = WeightFormat(most - elements.begin());
  auto isTaken = [&](const StoredWeight* weight) {
    return weight && weight->format == format && isServed(*weight);
  };
  bool scalesInputs = false;
  for (const std::string& name : names) {
    const StoredWeight* weight = stored->find(name);
    const auto place = model.find(name);
    const bool isMatrix = weight || (place && place->tensor->shape.size() == 2);
    if (isTaken(weight))
      scalesInputs |= weight->inputScale.has_value();
    else if (isMatrix)
      found.excluded.push_back(moduleOf(name));
  }
  found.quantizesLogits = isTaken(stored->find("lm_head.weight"));
  found.weights = sizes::weightFormatName(format);
  if (scalesInputs && format == WeightFormat::int4)
    found.weights += "_awq";
  return found;
}

} // namespace reciperun::checkpoint
