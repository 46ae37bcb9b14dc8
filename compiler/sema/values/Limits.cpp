// Limits: evaluation ends, soon and in bounded memory, whatever the recipe
// says.
//
// Steps are counted where work is done, bytes where values are made. The first
// limit that is reached is reported; what follows from it is not.

#include "compiler/sema/values/Limits.h"

#include "compiler/sema/Evaluator.h"

#include <algorithm>

namespace recipec::sema {
namespace {

/// How many values of a long chain are shown.
constexpr size_t shownLinks = 3;

} // namespace

bool Evaluator::takeSteps(int64_t count, SourceRange range) {
  if (isExhausted || engine.isFull())
    return false;
  // What is counted may be as large as an `int`.
  steps += std::min(count, maxSteps + 1);
  if (steps <= maxSteps && depth <= maxDepth)
    return true;
  isExhausted = true;
  if (depth > maxDepth)
    reportDepth(range);
  else
    report(diag::Kind::TooManySteps, range,
           "evaluating this recipe takes more than " +
               std::to_string(maxSteps) + " steps")
        .help("look for a range or a list that is larger than it needs to be");
  return false;
}

void Evaluator::reportDepth(SourceRange range) {
  auto builder = report(diag::Kind::TooDeep, range,
                        "this value depends on more than " +
                            std::to_string(maxDepth) + " others in a chain");
  size_t first = running.size() - std::min(running.size(), shownLinks);
  for (size_t i = first; i < running.size(); ++i)
    builder.label(running[i].first->range,
                  "through `" + std::string(running[i].second->name) + "`");
  first = runningEntries.size() - std::min(runningEntries.size(), shownLinks);
  for (size_t i = first; i < runningEntries.size(); ++i) {
    SourceRange name = runningEntries[i].second->nameRange;
    builder.label(name, "through `" + std::string(sources.text(name)) + "`");
  }
  builder.help("compute long chains with a list, a range and `sum`");
}

bool Evaluator::takeBytes(size_t count, SourceRange range) {
  if (isExhausted)
    return false;
  bytes += count;
  if (bytes <= maxBytes)
    return true;
  isExhausted = true;
  report(diag::Kind::TooLarge, range,
         "the values of this recipe take more than " +
             std::to_string(maxBytes >> 20) + " MiB of memory")
      .help("look for a list or a string that is larger than it needs to be");
  return false;
}

bool Evaluator::fitsString(size_t count, SourceRange range) {
  if (isExhausted)
    return false;
  if (count <= maxString)
    return true;
  report(diag::Kind::TooLarge, range,
         "this string is longer than " + std::to_string(maxString) + " bytes");
  return false;
}

bool Evaluator::fitsElements(size_t count, SourceRange range) {
  if (isExhausted)
    return false;
  if (count <= maxElements)
    return true;
  report(diag::Kind::TooLarge, range,
         "this has more than " + std::to_string(maxElements) + " elements");
  return false;
}

Value Evaluator::makeList(std::vector<Value> elements, SourceRange range) {
  if (!fitsElements(elements.size(), range) ||
      !takeBytes(elements.size() * sizeof(Value), range))
    return poison();
  return {&std::as_const(make<ListValue>({std::move(elements)})),
          writtenAt(range)};
}

Value Evaluator::makeString(std::string text, SourceRange range) {
  if (!fitsString(text.size(), range) || !takeBytes(text.size(), range))
    return poison();
  return {std::move(text), writtenAt(range)};
}

} // namespace recipec::sema
