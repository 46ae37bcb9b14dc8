// See ElasticInt.h.

#include "compiler/sema/types/ElasticInt.h"

#include "compiler/sema/Evaluator.h"
#include "compiler/sema/types/Mismatch.h"

#include <algorithm>
#include <functional>

namespace recipec::sema {
namespace {

/// The counts in order, each once: `[32, 24]`.
std::string inOrder(const std::vector<Value>& elements) {
  std::vector<int64_t> counts;
  for (const Value& element : elements)
    counts.push_back(*element.get<int64_t>());
  std::sort(counts.begin(), counts.end(), std::greater<>());
  counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
  std::string text;
  for (const int64_t count : counts)
    text += (text.empty() ? "[" : ", ") + std::to_string(count);
  return text + "]";
}

/// Reports an element that is no count by itself. Returns whether there is one.
bool reportElement(Evaluator& evaluator, const std::vector<Value>& elements,
                   SourceRange range, const std::string& what) {
  for (const Value& element : elements) {
    const int64_t* count = element.get<int64_t>();
    if (count && *count >= 1)
      continue;
    evaluator.messages
        .report(count ? diag::Kind::InvalidValue : diag::Kind::WrongType,
                placeOfCount(element, range),
                "a list for " + what + " holds counts from 1, and this is " +
                    (count ? std::to_string(*count)
                           : "of type `" + typeNameOf(element) + "`"))
        .help("write whole numbers, such as `[8, 4]`");
    return true;
  }
  return false;
}

} // namespace

SourceRange placeOfCount(const Value& element, SourceRange list) {
  const SourceRange range = element.origin.range;
  const bool isWithin = range.source == list.source &&
                        range.begin >= list.begin && range.end <= list.end;
  return isWithin ? range : list;
}

bool isCounts(const Value& value) {
  const ListValue* const* list = value.get<const ListValue*>();
  if (!list || (*list)->elements.empty() ||
      (*list)->elements.size() > mostCounts)
    return false;
  const int64_t* last = nullptr;
  for (const Value& element : (*list)->elements) {
    const int64_t* count = element.get<int64_t>();
    if (!count || *count < 1 || (last && *count >= *last))
      return false;
    last = count;
  }
  return true;
}

void reportCounts(Evaluator& evaluator, const ListValue& list,
                  SourceRange range, const std::string& what) {
  const std::vector<Value>& elements = list.elements;
  if (elements.empty() || elements.size() > mostCounts) {
    evaluator.messages
        .report(
            elements.empty() ? diag::Kind::InvalidValue : diag::Kind::TooLarge,
            range,
            "the list for " + what +
                (elements.empty()
                     ? " is empty"
                     : " has " + std::to_string(elements.size()) +
                           " counts, more than " + std::to_string(mostCounts)))
        .help("write a count, or those that the run may go on with, the "
              "largest first: `[8, 4]`");
    return;
  }
  if (reportElement(evaluator, elements, range, what))
    return;
  for (size_t i = 1; i < elements.size(); ++i) {
    const int64_t before = *elements[i - 1].get<int64_t>();
    const int64_t count = *elements[i].get<int64_t>();
    if (count < before)
      continue;
    evaluator.messages
        .report(
            diag::Kind::InvalidValue, placeOfCount(elements[i], range),
            "the counts for " + what + " fall from one to the next, and here " +
                std::to_string(count) + " follows " + std::to_string(before))
        .help("write `" + inOrder(elements) +
              "`: a run takes the first that "
              "its hosts have slots for")
        .fixIt(range, inOrder(elements));
    return;
  }
}

} // namespace recipec::sema
