// Built-in functions for lists, ranges and maps.

#include "compiler/base/Utf8.h"
#include "compiler/sema/builtins/BuiltinHandlers.h"
#include "compiler/sema/builtins/Builtins.h"

#include <algorithm>
#include <bit>
#include <string_view>
#include <unordered_set>

namespace recipec::sema {
namespace {

/// The most steps that a merge sort of the elements takes.
int64_t sortingSteps(const std::vector<Value>& elements) {
  size_t longest = 0;
  for (const Value& element : elements)
    if (const std::string* text = element.get<std::string>())
      longest = std::max(longest, text->size());
  size_t turns = std::bit_width(elements.size());
  return int64_t(elements.size() * turns * (1 + longest / bytesOfStep) / 4);
}

/// Finds equal values among earlier ones: strings and integers by hash, others
/// by comparison.
class Seen {
public:
  explicit Seen(BuiltinCall& call) : call(call) {}

  bool insert(const Value& value) {
    if (const std::string* text = value.get<std::string>())
      return strings.insert(*text).second;
    if (const int64_t* whole = value.get<int64_t>())
      return integers.insert(*whole).second && isNew(value, reals);
    bool isReal = value.isNumber();
    std::vector<Value>& others = isReal ? reals : rest;
    const double* real = value.get<double>();
    bool isKnown = real && std::abs(*real) < 0x1p53 &&
                   integers.contains(int64_t(*real)) &&
                   double(int64_t(*real)) == *real;
    if (isKnown || !isNew(value, others))
      return false;
    others.push_back(value);
    return true;
  }

private:
  bool isNew(const Value& value, const std::vector<Value>& others) {
    for (const Value& other : others)
      if (!call.evaluator.limits.takeStep(call.range) ||
          call.evaluator.operators.isEqual(value, other))
        return false;
    return true;
  }

  BuiltinCall& call;
  std::unordered_set<std::string_view> strings;
  std::unordered_set<int64_t> integers;
  std::vector<Value> reals;
  std::vector<Value> rest;
};

/// The first element that cannot be sorted with the others, or nullptr when all
/// can.
const Value* misfit(const std::vector<Value>& elements) {
  const Value& first = elements.front();
  for (const Value& element : elements) {
    bool isText = first.is<std::string>() && element.is<std::string>();
    bool isCount = first.isNumber() && element.isNumber();
    auto* left = first.get<recipe::Quantity>();
    auto* right = element.get<recipe::Quantity>();
    bool isQuantity = left && right && left->unit == right->unit;
    if (!isText && !isCount && !isQuantity)
      return &element;
  }
  return nullptr;
}

} // namespace

Value runLen(BuiltinCall& call) {
  const Value& value = call.arguments[0];
  if (const std::string* text = value.get<std::string>())
    return {countCodePoints(*text), call.origin()};
  if (const ListValue* const* list = value.get<const ListValue*>())
    return {int64_t((*list)->elements.size()), call.origin()};
  if (const Range* range = value.get<Range>())
    return {range->count(), call.origin()};
  if (Object* const* object = value.get<Object*>())
    return {int64_t((*object)->slots.size()), call.origin()};
  call.reportType(0, "a string, a list, a range or a map");
  return {};
}

Value runSum(BuiltinCall& call) {
  Value total{int64_t(0), call.origin()};
  bool isFirst = true;
  for (const Value& element : call.list(0)) {
    bool isAmount = element.isNumber() || element.is<recipe::Quantity>();
    if (!isAmount || (!isFirst && Operators::mixesUnits(total, element)))
      return call.evaluator.operators.reportOperands("sum", total, element,
                                                     call.range);
    total = isFirst ? element
                    : call.evaluator.operators.arithmetic(
                          ast::BinaryOp::add, total, element, call.range);
    isFirst = false;
    if (total.isPoison())
      return total;
  }
  total.origin = call.origin();
  return total;
}

Value runSorted(BuiltinCall& call) {
  std::vector<Value> elements = call.list(0);
  if (elements.empty())
    return call.arguments[0];
  if (const Value* other = misfit(elements))
    return call.evaluator.operators.reportOperands("sorted", elements[0],
                                                   *other, call.range);
  if (!call.evaluator.limits.takeSteps(sortingSteps(elements), call.range))
    return {};
  std::stable_sort(elements.begin(), elements.end(),
                   [&](const Value& left, const Value& right) {
                     return *call.evaluator.operators
                                 .compare(ast::BinaryOp::less, left, right,
                                          call.range)
                                 .get<bool>();
                   });
  return call.evaluator.makeList(std::move(elements), call.range);
}

Value runReversed(BuiltinCall& call) {
  std::vector<Value> elements = call.list(0);
  std::reverse(elements.begin(), elements.end());
  return call.evaluator.makeList(std::move(elements), call.range);
}

Value runUnique(BuiltinCall& call) {
  Seen seen(call);
  std::vector<Value> elements;
  for (const Value& element : call.list(0))
    if (seen.insert(element))
      elements.push_back(element);
  return call.evaluator.makeList(std::move(elements), call.range);
}

Value runFlatten(BuiltinCall& call) {
  std::vector<Value> elements;
  const std::vector<Value>& lists = call.list(0);
  for (size_t i = 0; i < lists.size(); ++i) {
    bool isList = lists[i].is<const ListValue*>() || lists[i].is<Range>();
    if (!isList) {
      call.reportElement(0, i, "a list");
      return {};
    }
    std::optional<std::vector<Value>> inner =
        call.evaluator.elementsOf(lists[i], call.places[0]);
    if (!inner ||
        !call.evaluator.limits.takeSteps(int64_t(inner->size()), call.range) ||
        !call.evaluator.limits.fitsElements(elements.size() + inner->size(),
                                            call.range))
      return {};
    elements.insert(elements.end(), inner->begin(), inner->end());
  }
  return call.evaluator.makeList(std::move(elements), call.range);
}

Value runZip(BuiltinCall& call) {
  size_t length = call.list(0).size();
  for (size_t i = 1; i < call.count(); ++i)
    if (call.list(i).size() != length) {
      call.reportValue(i, "`zip` takes lists of one length: this has " +
                              std::to_string(call.list(i).size()) +
                              " elements, the first " + std::to_string(length))
          .help("give both as many elements: the first of a longer one are "
                "`xs[0.." +
                std::to_string(std::min(length, call.list(i).size())) + "]`");
      return {};
    }
  std::vector<Value> rows;
  rows.reserve(length);
  for (size_t row = 0; row < length; ++row) {
    std::vector<Value> elements;
    for (size_t i = 0; i < call.count(); ++i)
      elements.push_back(call.list(i)[row]);
    rows.push_back(call.evaluator.makeList(std::move(elements), call.range));
    if (rows.back().isPoison())
      return {};
  }
  return call.evaluator.makeList(std::move(rows), call.range);
}

Value runAny(BuiltinCall& call) {
  const std::vector<Value>& list = call.list(0);
  bool found = std::any_of(list.begin(), list.end(), [](const Value& value) {
    return *value.get<bool>();
  });
  return {found, call.origin()};
}

Value runAll(BuiltinCall& call) {
  const std::vector<Value>& list = call.list(0);
  bool holds = std::all_of(list.begin(), list.end(), [](const Value& value) {
    return *value.get<bool>();
  });
  return {holds, call.origin()};
}

Value runRange(BuiltinCall& call) {
  int64_t step = call.count() > 2 ? call.integer(2) : 1;
  if (step == 0) {
    call.reportValue(2, "a range of step 0 does not end")
        .help("write another step, or leave it out for 1");
    return {};
  }
  int64_t end = call.integer(1);
  std::vector<Value> elements;
  for (int64_t i = call.integer(0); step > 0 ? i < end : i > end;) {
    if (!call.evaluator.limits.takeStep(call.range) ||
        !call.evaluator.limits.fitsElements(elements.size() + 1, call.range))
      return {};
    elements.push_back({i, call.origin()});
    if (__builtin_add_overflow(i, step, &i))
      break;
  }
  return call.evaluator.makeList(std::move(elements), call.range);
}

Value runKeys(BuiltinCall& call) {
  std::vector<Value> keys;
  for (const Slot& slot : call.map(0).slots) {
    keys.push_back(
        call.evaluator.makeString(std::string(slot.name), call.range));
    if (keys.back().isPoison())
      return {};
  }
  return call.evaluator.makeList(std::move(keys), call.range);
}

Value runValues(BuiltinCall& call) {
  std::vector<Value> values;
  Object& map = call.map(0);
  for (Slot& slot : map.slots) {
    values.push_back(call.evaluator.objects.force(map, slot));
    if (values.back().isPoison())
      return {};
  }
  return call.evaluator.makeList(std::move(values), call.range);
}

} // namespace recipec::sema
