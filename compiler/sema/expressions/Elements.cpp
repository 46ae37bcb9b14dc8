// Parts of values: `in`, indices and slices.
//
// Lists, ranges and strings count from 0; strings count code points. A slice
// `xs[1..3]` has the elements 1 and 2. There are no negative indices: an index
// out of bounds is reported.

#include "compiler/sema/expressions/Elements.h"

#include "compiler/base/Utf8.h"
#include "compiler/sema/Evaluator.h"
#include "compiler/sema/models/Trace.h"
#include "compiler/sema/types/Convert.h"

namespace recipec::sema {
namespace {

/// The number of elements of a value that can be indexed; nullopt for others.
std::optional<int64_t> countOf(const Value& value) {
  if (const ListValue* const* list = value.get<const ListValue*>())
    return int64_t((*list)->elements.size());
  if (const Range* range = value.get<Range>())
    return range->count();
  if (const std::string* text = value.get<std::string>())
    return countCodePoints(*text);
  return std::nullopt;
}

std::string_view kindOf(const Value& value) {
  if (value.is<std::string>())
    return "string";
  return value.is<Range>() ? "range" : "list";
}

std::string substring(const std::string& text, int64_t begin, int64_t end) {
  size_t first = offsetOfCodePoint(text, begin);
  size_t last = offsetOfCodePoint(text, end);
  return text.substr(first, last - first);
}

} // namespace

Value Elements::contains(const Value& element, const Value& container,
                         SourceRange range) {
  recipe::Origin origin = evaluator.writtenAt(range);
  if (const ListValue* const* list = container.get<const ListValue*>()) {
    for (const Value& candidate : (*list)->elements)
      if (evaluator.operators.isEqual(element, candidate))
        return {true, origin};
    return {false, origin};
  }
  if (const Range* bounds = container.get<Range>()) {
    std::optional<Value> whole =
        convert(evaluator, element, Type::plain(Type::Kind::integer));
    if (const int64_t* number = whole ? whole->get<int64_t>() : nullptr)
      return {*number >= bounds->begin && *number < bounds->end, origin};
  }
  const std::string* key = element.get<std::string>();
  if (const std::string* text = container.get<std::string>(); text && key)
    return {text->find(*key) != std::string::npos, origin};
  if (Object* const* object = container.get<Object*>(); object && key)
    return {(*object)->find(*key) != nullptr, origin};
  return evaluator.operators.reportOperands("in", element, container, range);
}

Value Elements::at(const Value& base, const Value& index, SourceRange range,
                   SourceRange indexRange) {
  Object* const* object = base.get<Object*>();
  const std::string* key = index.get<std::string>();
  if (object && key) {
    if (Slot* slot = (*object)->find(*key))
      return evaluator.objects.force(**object, *slot);
    evaluator.lookup.reportUnknownMember(base, *key, indexRange, true);
    return poison();
  }
  if (const Tensor* tensor = base.get<Tensor>(); tensor && evaluator.tracer) {
    std::string written(evaluator.sources.text(range));
    return evaluator.tracer->reportIndex(*tensor, range,
                                         written.substr(0, written.rfind('[')));
  }
  bool isIndexed = countOf(base).has_value();
  if (const Range* bounds = index.get<Range>(); bounds && isIndexed)
    return sliceOf(base, *bounds, range, indexRange);
  std::optional<Value> whole =
      convert(evaluator, index, Type::plain(Type::Kind::integer));
  if (whole && isIndexed)
    return elementAt(base, *whole->get<int64_t>(), range, indexRange);
  return evaluator.operators.reportOperands("[]", base, index, range);
}

Value Elements::elementAt(const Value& base, int64_t position,
                          SourceRange range, SourceRange indexRange) {
  int64_t count = *countOf(base);
  if (position < 0 || position >= count) {
    std::string kind(kindOf(base));
    auto builder = evaluator.messages.report(
        diag::Kind::InvalidValue, indexRange,
        "there is no element " + std::to_string(position) + " in a " + kind +
            " of " + std::to_string(count));
    if (position < 0)
      builder.help("elements count from 0; the last of `x` is "
                   "`x[len(x) - 1]`");
    else if (count > 0)
      builder.help("elements count from 0, so that the last is " +
                   std::to_string(count - 1));
    else
      builder.help("it is empty: name another, or add an element");
    return poison();
  }
  if (const ListValue* const* list = base.get<const ListValue*>())
    return (*list)->elements[size_t(position)];
  if (const Range* numbers = base.get<Range>())
    return {numbers->begin + position, evaluator.writtenAt(range)};
  const std::string& text = *base.get<std::string>();
  return {substring(text, position, position + 1), evaluator.writtenAt(range)};
}

Value Elements::sliceOf(const Value& base, Range bounds, SourceRange range,
                        SourceRange indexRange) {
  int64_t count = *countOf(base);
  bool isInside =
      bounds.begin >= 0 && bounds.begin <= bounds.end && bounds.end <= count;
  if (!isInside) {
    auto builder = evaluator.messages.report(
        diag::Kind::InvalidValue, indexRange,
        "there is no slice " + std::to_string(bounds.begin) + ".." +
            std::to_string(bounds.end) + " in a " + std::string(kindOf(base)) +
            " of " + std::to_string(count));
    const std::string text(evaluator.sources.text(range));
    const size_t bracket = text.rfind('[');
    const std::string name =
        bracket == text.npos || text.find('\n') != text.npos
            ? std::string("x")
            : text.substr(0, bracket);
    if (bounds.begin < 0 || bounds.end < 0)
      builder.help("elements count from 0; the last two of `" + name +
                   "` are `" + name + "[len(" + name + ") - 2..len(" + name +
                   ")]`");
    else if (bounds.begin > bounds.end)
      builder.help("the first number is the smaller: write `" + name + "[" +
                   std::to_string(bounds.end) + ".." +
                   std::to_string(bounds.begin) + "]`");
    else
      builder.help("a slice ends at " + std::to_string(count) +
                   " or before: all of `" + name + "` is `" + name +
                   "[0..len(" + name + ")]`");
    return poison();
  }
  if (const Range* numbers = base.get<Range>())
    return {Range{numbers->begin + bounds.begin, numbers->begin + bounds.end},
            evaluator.writtenAt(range)};
  if (const std::string* text = base.get<std::string>())
    return {substring(*text, bounds.begin, bounds.end),
            evaluator.writtenAt(range)};
  const std::vector<Value>& elements =
      (*base.get<const ListValue*>())->elements;
  if (!evaluator.limits.takeSteps(bounds.count(), range))
    return poison();
  return evaluator.makeList(
      {elements.begin() + bounds.begin, elements.begin() + bounds.end}, range);
}

} // namespace recipec::sema
