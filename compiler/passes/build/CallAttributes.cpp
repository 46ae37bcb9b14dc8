// Arguments of calls; see CallAttributes.h.

#include "compiler/passes/build/CallAttributes.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace recipec::passes {

const recipe::Value& at(const recipe::Call& call, std::string_view name) {
  const recipe::Value* value = call.find(name);
  assert(value && "stdlib/ops.recipe declares no such argument");
  return *value;
}

double real(const recipe::Value& value) {
  if (const int64_t* whole = std::get_if<int64_t>(&value.data))
    return double(*whole);
  return std::get<double>(value.data);
}

double real(const recipe::Call& call, std::string_view name) {
  return real(at(call, name));
}

ir::Initializer initializer(const recipe::Call& call) {
  const auto& record = std::get<recipe::Record>(at(call, "init").data);
  for (const char* field : {"std", "bound"})
    if (const recipe::Value* scale = record.find(field))
      return {record.schema, real(*scale)};
  return {record.schema, 0};
}

bool decays(const recipe::Call& call, bool otherwise) {
  const bool* decay = std::get_if<bool>(&at(call, "decay").data);
  return decay ? *decay : otherwise;
}

ir::Attributes ropeAttributes(const recipe::Call& call, int64_t width) {
  ir::Attributes attributes;
  attributes["theta"] = real(call, "theta");
  double fraction = real(call, "fraction");
  if (fraction != 1)
    attributes["rotated"] = int64_t(std::lround(fraction * double(width)));
  if (std::get<bool>(at(call, "interleaved").data))
    attributes["interleaved"] = true;
  const auto* scaling = std::get_if<recipe::Record>(&at(call, "scaling").data);
  if (!scaling)
    return attributes;
  bool isYarn = scaling->schema == "yarn";
  attributes["scaling"] =
      isYarn ? "yarn" : std::get<std::string>(scaling->find("kind")->data);
  attributes["factor"] = real(*scaling->find("factor"));
  for (const char* name : {isYarn ? "beta_fast" : "low_freq_factor",
                           isYarn ? "beta_slow" : "high_freq_factor"})
    attributes[name] = real(*scaling->find(name));
  attributes["original_max_position"] =
      std::get<int64_t>(scaling->find("original_max_position")->data);
  return attributes;
}

ir::Attributes routeAttributes(const recipe::Call& call) {
  ir::Attributes attributes;
  attributes["score"] = std::get<std::string>(at(call, "score").data);
  attributes["normalize"] = std::get<bool>(at(call, "normalize").data);
  for (const char* name : {"scale", "aux_loss", "z_loss"})
    attributes[name] = real(call, name);
  for (const char* name : {"groups", "top_groups"})
    attributes[name] = std::get<int64_t>(at(call, name).data);
  return attributes;
}

int64_t expertLimit(const recipe::Value& capacity, int64_t sequence,
                    int64_t choices, int64_t experts) {
  if (capacity.isNone())
    return sequence;
  double share = double(sequence) * double(choices) / double(experts);
  double limit = std::ceil(real(capacity) * share);
  return int64_t(std::clamp(limit, 1.0, double(sequence)));
}

} // namespace recipec::passes
