// Converts finished values to recipe::Value. The type of a field reports a
// value that a recipe's settings cannot hold (a function, a tensor). Only
// poison is left here, which becomes `none` in a result that is discarded.

#include "compiler/sema/values/Lower.h"

#include "compiler/sema/Evaluator.h"
#include "compiler/sema/values/BuiltinFunction.h"

namespace recipec::sema {
namespace {

/// Lowers values that need no Evaluator. Records and lists are lowered
/// elsewhere.
struct PlainLowering {
  recipe::Value& result;

  void operator()(bool value) const { result.data = value; }
  void operator()(int64_t value) const { result.data = value; }
  void operator()(double value) const { result.data = value; }
  void operator()(const std::string& value) const { result.data = value; }
  void operator()(recipe::Auto value) const { result.data = value; }
  void operator()(recipe::Quantity value) const { result.data = value; }
  void operator()(DimRef value) const { result.data = value.size; }
  template <class Other> void operator()(const Other&) const {
    result.data = recipe::None{};
  }
};

} // namespace

recipe::Value lower(Evaluator& evaluator, const Value& value) {
  recipe::Value result;
  result.origin = value.origin;
  Limits::Level level(evaluator.limits);
  if (!evaluator.limits.takeStep(value.origin.range))
    return result;
  if (const ListValue* const* list = value.get<const ListValue*>()) {
    recipe::List elements;
    elements.reserve((*list)->elements.size());
    for (const Value& element : (*list)->elements)
      elements.push_back(lower(evaluator, element));
    result.data = std::move(elements);
    return result;
  }
  if (const Range* range = value.get<Range>()) {
    recipe::List elements;
    for (int64_t i = range->begin; i < range->end; ++i) {
      if (!evaluator.limits.takeStep(value.origin.range))
        break;
      elements.push_back({i, value.origin});
    }
    result.data = std::move(elements);
    return result;
  }
  if (const Function* const* function = value.get<const Function*>()) {
    result.data = recipe::FunctionName{(*function)->declaration->name.text};
    return result;
  }
  if (const Builtin* builtin = value.get<Builtin>()) {
    result.data = recipe::FunctionName{std::string(builtin->function->name)};
    return result;
  }
  if (Object* const* object = value.get<Object*>()) {
    recipe::Record record;
    if ((*object)->schema)
      record.schema = (*object)->schema->name;
    record.fields.reserve((*object)->slots.size());
    for (Slot& slot : (*object)->slots)
      record.fields.emplace_back(
          std::string(slot.name),
          lower(evaluator, evaluator.objects.force(**object, slot)));
    result.data = std::move(record);
    return result;
  }
  std::visit(PlainLowering{result}, value.data);
  return result;
}

} // namespace recipec::sema
