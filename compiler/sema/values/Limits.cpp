// Limits that make evaluation end, soon and in bounded memory, for any recipe.
//
// Steps are counted where work is done, bytes where values are made. Only the
// first limit that is reached is reported.

#include "compiler/sema/values/Limits.h"

#include "compiler/sema/Evaluator.h"

#include <algorithm>

namespace recipec::sema {
namespace {

/// How many values of a long chain are shown.
constexpr size_t shownLinks = 3;

} // namespace

bool Limits::takeSteps(int64_t count, SourceRange range) {
  if (isExhausted || evaluator.messages.isFull())
    return false;
  // `count` may be any `int` value. Clamp it so that the sum cannot overflow.
  steps += std::min(count, maxSteps + 1);
  if (steps <= maxSteps && depth <= maxDepth)
    return true;
  isExhausted = true;
  if (depth > maxDepth)
    reportDepth(range);
  else
    evaluator.messages
        .report(diag::Kind::TooManySteps, range,
                "evaluating this recipe takes more than " +
                    std::to_string(maxSteps) + " steps")
        .help("look for a range or a list that is larger than it needs to be");
  return false;
}

void Limits::reportDepth(SourceRange range) {
  auto builder = evaluator.messages.report(diag::Kind::TooDeep, range,
                                           "this value depends on more than " +
                                               std::to_string(maxDepth) +
                                               " others in a chain");
  evaluator.objects.labelChain(builder, shownLinks);
  builder.help("compute long chains with a list, a range and `sum`");
}

bool Limits::takeBytes(size_t count, SourceRange range) {
  if (isExhausted)
    return false;
  bytes += count;
  if (bytes <= maxBytes)
    return true;
  isExhausted = true;
  evaluator.messages
      .report(diag::Kind::TooLarge, range,
              "the values of this recipe take more than " +
                  std::to_string(maxBytes >> 20) + " MiB of memory")
      .help("look for a list or a string that is larger than it needs to be");
  return false;
}

bool Limits::fitsString(size_t count, SourceRange range) {
  if (isExhausted)
    return false;
  if (count <= maxString)
    return true;
  evaluator.messages
      .report(diag::Kind::TooLarge, range,
              "this string is longer than " + std::to_string(maxString) +
                  " bytes")
      .help("make it shorter: a text of samples belongs in a file that "
            "`data.train` names");
  return false;
}

bool Limits::fitsElements(size_t count, SourceRange range) {
  if (isExhausted)
    return false;
  if (count <= maxElements)
    return true;
  evaluator.messages
      .report(diag::Kind::TooLarge, range,
              "this has more than " + std::to_string(maxElements) + " elements")
      .help("make it shorter: look for a range or a repetition that is larger "
            "than was meant");
  return false;
}

} // namespace recipec::sema
