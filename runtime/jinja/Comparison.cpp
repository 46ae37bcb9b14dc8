// Equality and order of values.
//
// A value can contain another one twice at each level, or itself. Equality
// therefore compares each pair of containers only once:
//
// 1. Compare the two values. A pair of lists of the same length, or of
//    dictionaries of the same size, counts as equal for now and is pushed onto
//    a stack, unless it was on it before.
// 2. Pop a pair and compare its elements in the same way, until there is a
//    difference or the stack is empty.
//
// A pair that was on the stack before needs no second comparison: a difference
// in it ends the whole comparison.

#include "runtime/jinja/Budget.h"
#include "runtime/jinja/Value.h"

#include <algorithm>
#include <set>

namespace reciperun::jinja {
namespace {

/// One comparison of two values for equality.
class Comparison {
public:
  explicit Comparison(Budget& budget) : budget(budget) {}

  Expected<bool> isEqual(const Value& left, const Value& right) {
    Expected<bool> result = agree(left, right);
    while (result && *result && !waiting.empty()) {
      const auto [a, b] = waiting.back();
      waiting.pop_back();
      result = a->list() ? elementsAgree(*a->list(), *b->list())
                         : entriesAgree(*a->dict(), *b->dict());
    }
    return result;
  }

private:
  /// Compares the values, except for the contents of lists and dictionaries.
  Expected<bool> agree(const Value& left, const Value& right) {
    RECIPERUN_TRY(budget.takeReads(sizeof(Value)));
    if (left.isInteger() && right.isInteger())
      return left.integer() == right.integer();
    if (left.isNumber() && right.isNumber())
      return left.real() == right.real();
    if (left.string() && right.string())
      return textsAgree(*left.string(), *right.string());
    if (left.list() && right.list())
      return left.list()->size() == right.list()->size()
                 ? compareLater(left, left.list(), right, right.list())
                 : false;
    if (left.dict() && right.dict())
      return left.dict()->entries.size() == right.dict()->entries.size()
                 ? compareLater(left, left.dict(), right, right.dict())
                 : false;
    if (left.function() || right.function())
      return left.function() == right.function();
    return (left.isNone() && right.isNone()) ||
           (left.isUndefined() && right.isUndefined());
  }
  Expected<bool> textsAgree(const std::string& left, const std::string& right) {
    if (&left == &right || left.size() != right.size())
      return &left == &right;
    RECIPERUN_TRY(budget.takeReads(left.size()));
    return left == right;
  }
  Expected<bool> compareLater(const Value& left, const void* leftContainer,
                              const Value& right, const void* rightContainer) {
    if (leftContainer == rightContainer ||
        !met.emplace(leftContainer, rightContainer).second)
      return true;
    RECIPERUN_TRY(budget.takeStep());
    waiting.emplace_back(&left, &right);
    return true;
  }
  Expected<bool> elementsAgree(const List& left, const List& right) {
    for (size_t i = 0; i < left.size(); ++i) {
      Expected<bool> result = agree(left[i], right[i]);
      if (!result || !*result)
        return result;
    }
    return true;
  }
  Expected<bool> entriesAgree(const Dict& left, const Dict& right) {
    for (const auto& [key, value] : left.entries) {
      Expected<const Value*> other = right.find(key, budget);
      RECIPERUN_TRY(other);
      if (!*other)
        return false;
      Expected<bool> result = agree(value, **other);
      if (!result || !*result)
        return result;
    }
    return true;
  }

  Budget& budget;
  std::set<std::pair<const void*, const void*>> met; // pairs of containers
  std::vector<std::pair<const Value*, const Value*>> waiting;
};

int sign(auto left, auto right) {
  return left < right ? -1 : int(right < left);
}

} // namespace

Expected<bool> isEqual(const Value& left, const Value& right, Budget& budget) {
  return Comparison(budget).isEqual(left, right);
}

Expected<int> compare(const Value& left, const Value& right, Budget& budget) {
  const Value *a = &left, *b = &right;
  // Lists have the order of the first elements that differ.
  std::set<std::pair<const List*, const List*>> met;
  while (a->list() && b->list()) {
    if (!met.emplace(a->list(), b->list()).second)
      return Status::error("lists that contain themselves have no order");
    const List &as = *a->list(), &bs = *b->list();
    const size_t shared = std::min(as.size(), bs.size());
    size_t i = 0;
    for (; i < shared; ++i) {
      Expected<bool> result = isEqual(as[i], bs[i], budget);
      RECIPERUN_TRY(result);
      if (!*result)
        break;
    }
    if (i == shared)
      return sign(as.size(), bs.size());
    a = &as[i];
    b = &bs[i];
  }
  RECIPERUN_TRY(budget.takeReads(sizeof(Value)));
  if (a->isInteger() && b->isInteger())
    return sign(a->integer(), b->integer());
  if (a->isNumber() && b->isNumber())
    return sign(a->real(), b->real());
  if (a->string() && b->string()) {
    RECIPERUN_TRY(
        budget.takeReads(std::min(a->string()->size(), b->string()->size())));
    return sign(a->string()->compare(*b->string()), 0);
  }
  return Status::error("values of type `" + std::string(a->typeName()) +
                       "` and `" + std::string(b->typeName()) +
                       "` have no order");
}

} // namespace reciperun::jinja
