// Access to attributes by name, for the structs generated from the
// descriptions.

#include "runtime/ops/Attributes.h"

#include "runtime/ops/ActivationOps.h"
#include "runtime/ops/AttentionOps.h"
#include "runtime/ops/CollectiveOps.h"
#include "runtime/ops/DenseOps.h"
#include "runtime/ops/ExpertOps.h"
#include "runtime/ops/LossOps.h"
#include "runtime/ops/MoveOps.h"
#include "runtime/ops/NormOps.h"
#include "runtime/ops/OptimizerOps.h"
#include "runtime/ops/QuantizationOps.h"
#include "runtime/ops/StateSpaceOps.h"

#include <cassert>

namespace reciperun::ops {

bool Attributes::flag(std::string_view name, bool otherwise) const {
  const bool* value = held<bool>(name);
  return value ? *value : otherwise;
}

int64_t Attributes::integer(std::string_view name, int64_t otherwise) const {
  const int64_t* value = held<int64_t>(name);
  return value ? *value : otherwise;
}

double Attributes::real(std::string_view name, double otherwise) const {
  if (const double* value = held<double>(name))
    return *value;
  const int64_t* whole = held<int64_t>(name);
  return whole ? double(*whole) : otherwise;
}

const std::string& Attributes::string(std::string_view name) const {
  static const std::string absent;
  const std::string* value = held<std::string>(name);
  return value ? *value : absent;
}

const std::vector<std::string>&
Attributes::strings(std::string_view name) const {
  static const std::vector<std::string> absent;
  const auto* value = held<std::vector<std::string>>(name);
  return value ? *value : absent;
}

const AttributeValue& Attributes::at(std::string_view name) const {
  auto found = values.find(name);
  assert(found != values.end() && "the op has no such attribute");
  return found->second;
}

AttributeValue& Attributes::operator[](std::string_view name) {
  auto found = values.find(name);
  if (found == values.end())
    found = values.emplace(std::string(name), false).first;
  return found->second;
}

void Attributes::erase(std::string_view name) {
  if (auto found = values.find(name); found != values.end())
    values.erase(found);
}

#include "runtime/ops/OpAttributes.inc"

} // namespace reciperun::ops
