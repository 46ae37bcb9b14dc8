// Sizes, names and attributes of a plan's parts.

#include "runtime/plan/Plan.h"

#include <algorithm>
#include <cassert>

namespace reciperun::plan {
namespace {

const AttributeValue* find(const Op& op, const char* name) {
  for (const auto& [key, value] : op.attributes)
    if (key == name)
      return &value;
  return nullptr;
}

} // namespace

Plan select(Plan plan, int stage) {
  if (!plan.stages.empty())
    static_cast<Stage&>(plan) = plan.stages[size_t(stage)];
  plan.stage = stage;
  for (Parameter& parameter : plan.parameters)
    parameter.value = parameter.gradient = -1;
  for (const Holding& holding : plan.holdings) {
    Parameter& held = plan.parameters[size_t(holding.parameter)];
    held.value = holding.value;
    held.gradient = holding.gradient;
  }
  return plan;
}

int64_t byteSize(DType type) {
  switch (type) {
  case DType::f64:
  case DType::i64:
    return 8;
  case DType::f32:
  case DType::i32:
    return 4;
  case DType::bf16:
  case DType::u16:
    return 2;
  case DType::f8e4m3:
  case DType::f8e5m2:
  case DType::f8e8m0:
    return 1;
  }
  assert(false && "a dtype without a size");
  return 0;
}

const char* opName(OpKind kind) {
  switch (kind) {
#define OP(Enumerator, name)                                                   \
  case OpKind::Enumerator:                                                     \
    return #name;
#include "runtime/plan/Ops.def"
  }
  assert(false && "an op without a name");
  return "";
}

bool Op::flag(const char* attribute, bool otherwise) const {
  const AttributeValue* value = find(*this, attribute);
  const bool* held = value ? std::get_if<bool>(value) : nullptr;
  return held ? *held : otherwise;
}

int64_t Op::integer(const char* attribute, int64_t otherwise) const {
  const AttributeValue* value = find(*this, attribute);
  const int64_t* held = value ? std::get_if<int64_t>(value) : nullptr;
  return held ? *held : otherwise;
}

double Op::real(const char* attribute, double otherwise) const {
  const AttributeValue* value = find(*this, attribute);
  if (!value)
    return otherwise;
  if (const double* held = std::get_if<double>(value))
    return *held;
  const int64_t* whole = std::get_if<int64_t>(value);
  return whole ? static_cast<double>(*whole) : otherwise;
}

const std::string& Op::string(const char* attribute) const {
  static const std::string absent;
  const AttributeValue* value = find(*this, attribute);
  const std::string* held = value ? std::get_if<std::string>(value) : nullptr;
  return held ? *held : absent;
}

const std::vector<std::string>& Op::strings(const char* attribute) const {
  static const std::vector<std::string> absent;
  const AttributeValue* value = find(*this, attribute);
  const auto* held =
      value ? std::get_if<std::vector<std::string>>(value) : nullptr;
  return held ? *held : absent;
}

/// Of a source, or of one of those that are blended in it.
template <class Holds>
static bool holdsFor(const std::optional<DataSource>& source, Holds holds) {
  return source &&
         (holds(*source) ||
          std::any_of(source->sources.begin(), source->sources.end(), holds));
}

bool readsText(const Data& data) {
  auto isText = [](const DataSource& source) {
    return source.kind == "jsonl" || source.kind == "text";
  };
  return holdsFor(data.train, isText) || holdsFor(data.valid, isText);
}

bool readsMessages(const Data& data) {
  return holdsFor(data.train, [](const DataSource& source) {
    return !source.messages.empty();
  });
}

} // namespace reciperun::plan
