// See ServingFormat.h.

#include "runtime/checkpoint/quantized/ServingFormat.h"

#include "runtime/checkpoint/quantized/StoredWeights.h"

#include <algorithm>
#include <array>
#include <optional>

namespace reciperun::checkpoint {
namespace {

using sizes::WeightFormat;
using sizes::WeightScales;

/// How a server stores a matrix.
struct ServedForm {
  WeightFormat format;
  WeightScales scales;

  bool operator==(const ServedForm&) const = default;
};
constexpr std::array<ServedForm, 4> servedForms = {
    {{WeightFormat::fp8, WeightScales::rows},
     {WeightFormat::fp8, WeightScales::squares},
     {WeightFormat::int8, WeightScales::rows},
     {WeightFormat::int4, WeightScales::groups}}};

/// The form in which a server can store the tensor by copying its codes;
/// nullopt when there is none.
std::optional<ServedForm> formOf(const StoredWeight& weight) {
  const bool hasGroups = weight.scaleColumns % sizes::weightGroup == 0;
  if (weight.format == WeightFormat::int4 &&
      (hasGroups || weight.scaleColumns >= weight.columns))
    return ServedForm{weight.format, WeightScales::groups};
  if (weight.scaleColumns >= weight.columns) // a row or more shares a scale
    return ServedForm{weight.format, WeightScales::rows};
  if (weight.format == WeightFormat::fp8 && hasGroups &&
      weight.scaleRows % sizes::weightGroup == 0 &&
      sizes::fitsSquares(weight.rows, weight.columns))
    return ServedForm{weight.format, WeightScales::squares};
  return std::nullopt;
}

bool isExpert(std::string_view name) {
  return name.find(".experts.") != name.npos;
}

std::string moduleOf(const std::string& name) {
  return name.substr(0, name.size() - std::string_view(".weight").size());
}

/// The names of a directory's linear matrices, without experts, as they would
/// be in an unquantized directory.
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
  std::array<int64_t, servedForms.size()> elements{}; // by form
  for (const std::string& name : names)
    if (const StoredWeight* weight = stored->find(name))
      for (size_t i = 0; i < servedForms.size(); ++i)
        if (formOf(*weight) == servedForms[i])
          elements[i] += weight->rows * weight->columns;
  const auto most = std::ranges::max_element(elements);
  ServingFormat found;
  if (*most == 0)
    return found;
  const ServedForm form = servedForms[size_t(most - elements.begin())];
  auto isTaken = [&](const StoredWeight* weight) {
    return weight && formOf(*weight) == form;
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
  found.weights = sizes::weightFormatName(form.format);
  found.hasBlocks = form.scales == WeightScales::squares;
  if (scalesInputs && form.format == WeightFormat::int4)
    found.weights += "_awq";
  return found;
}

} // namespace reciperun::checkpoint
