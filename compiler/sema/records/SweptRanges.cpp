// Remedies for a value from a range in a sweep, `parallel.tp = 1..4`: proposes
// a list of the range's values for which the condition holds.

#include "compiler/sema/Evaluator.h"
#include "compiler/sema/records/Remedies.h"

#include <charconv>

namespace recipec::sema {
namespace {

/// Longer ranges are not written as lists.
constexpr int64_t mostInList = 16;

/// Takes a whole number and the blanks around it from the front of a text.
std::optional<int64_t> takeNumber(std::string_view& text) {
  auto skipBlanks = [&] {
    while (text.starts_with(' '))
      text.remove_prefix(1);
  };
  skipBlanks();
  int64_t number = 0;
  const auto read =
      std::from_chars(text.data(), text.data() + text.size(), number);
  if (read.ec != std::errc())
    return std::nullopt;
  text.remove_prefix(size_t(read.ptr - text.data()));
  skipBlanks();
  return number;
}

/// The bounds of `1..4` and of `range(1, 4)`; nullopt for other texts.
std::optional<Range> rangeIn(std::string_view text) {
  constexpr std::string_view call = "range(";
  const bool isCall = text.starts_with(call);
  if (isCall)
    text.remove_prefix(call.size());
  const auto begin = takeNumber(text);
  const std::string_view sign = isCall ? "," : "..";
  if (!begin || !text.starts_with(sign))
    return std::nullopt;
  text.remove_prefix(sign.size());
  const auto end = takeNumber(text);
  if (!end || text != (isCall ? ")" : ""))
    return std::nullopt;
  return Range{*begin, *end};
}

/// `1, 2 and 3`
std::string valuesOf(const Range& range) {
  std::string text;
  for (int64_t value = range.begin; value < range.end; ++value)
    text += (value == range.begin     ? ""
             : value + 1 == range.end ? " and "
                                      : ", ") +
            std::to_string(value);
  return text;
}

} // namespace

/// The values of a range, and its end, for which the condition holds.
std::optional<diag::Proposal> Remedies::listOfRange(const Operand& operand) {
  const std::string_view written =
      evaluator.sources.text(operand.value.origin.range);
  const auto range =
      operand.value.is<int64_t>() ? rangeIn(written) : std::nullopt;
  if (!range || range->count() < 1 || range->count() > mostInList)
    return std::nullopt;
  Messages::Muted muted(evaluator.messages);
  std::string list;
  int64_t last = 0;
  for (int64_t value = range->begin; value <= range->end; ++value)
    if (holdsWith(operand, {value, {}})) {
      list += (list.empty() ? "" : ", ") + std::to_string(value);
      last = value;
    }
  if (list.empty())
    return std::nullopt;
  const std::string path =
      evaluator.pathOf(*operand.object, operand.slot->name);
  return diag::Proposal{
      "`" + std::string(written) + "` is " + valuesOf(*range) +
          ", without its end: write ",
      {{"`[" + list + "]`", {path + "=" + std::to_string(last)}}},
      ""};
}

} // namespace recipec::sema
