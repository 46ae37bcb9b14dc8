// See Interpolation.h.

#include "compiler/sema/names/Interpolation.h"

#include <string_view>

namespace recipec::sema {
namespace {

bool isInterpolated(const SourceMap& sources, const ast::Name& name) {
  const std::string_view text = sources.text(name.range.source);
  const uint32_t begin = name.range.begin, end = name.range.end;
  // The braces of a record hold no bare name.
  return begin > 0 && end < text.size() && text[begin - 1] == '{' &&
         text[end] == '}';
}

/// The string, on one line, that contains a name in braces; empty when the name
/// is elsewhere.
std::string_view textAround(const SourceMap& sources, const ast::Name& name) {
  std::string_view text = sources.text(name.range.source);
  size_t begin = name.range.begin, end = name.range.end;
  if (!isInterpolated(sources, name))
    return {};
  // The braces of a record hold no bare name, so quotation marks must be close.
  begin = text.find_last_of("\"\n", begin);
  end = text.find_first_of("\"\n", end);
  bool isOnLine = begin != text.npos && end != text.npos &&
                  text[begin] == '"' && text[end] == '"';
  return isOnLine ? text.substr(begin, end + 1 - begin) : std::string_view();
}

/// Whether the string around the name is the argument `hf` of a call.
bool isInHfName(const SourceMap& sources, const ast::Name& name) {
  const std::string_view inner = textAround(sources, name);
  if (inner.empty())
    return false;
  const std::string_view text = sources.text(name.range.source);
  std::string_view before = text.substr(0, size_t(inner.data() - text.data()));
  for (std::string_view each : {" \n", "=", " \n"}) {
    const size_t last = before.find_last_not_of(each);
    before = last == before.npos ? "" : before.substr(0, last + 1);
  }
  return before.ends_with("hf") &&
         (before.size() == 2 ||
          std::string_view(" \n(,").find(before[before.size() - 3]) !=
              std::string_view::npos);
}

} // namespace

std::string unknownMessage(const SourceMap& sources, const ast::Name& name) {
  const std::string_view text = textAround(sources, name);
  return "there is nothing called `" + name.text + "` here" +
         (text.empty() ? "" : ", which `" + std::string(text) + "` reads");
}

bool helpWithInterpolation(const SourceMap& sources, diag::Builder& builder,
                           const ast::Name& name) {
  if (!isInterpolated(sources, name))
    return false;
  const SourceRange range = name.range;
  builder
      .help("in a string `{" + name.text + "}` is the value of `" + name.text +
            "`: declare it, `let " + name.text + " = ...`, or write `\\{" +
            name.text + "}` where the text is to have it")
      .fixIt({range.source, range.begin - 1, range.begin}, "\\{");
  return true;
}

bool helpWithHfInterpolation(const SourceMap& sources, diag::Builder& builder,
                             const ast::Name& name) {
  if (!isInHfName(sources, name))
    return false;
  const SourceRange range = name.range;
  if (name.text == "expert")
    builder.help("in `hf` the number of the expert is written `\\{expert}`")
        .fixIt({range.source, range.begin - 1, range.begin}, "\\{",
               diag::Applicability::safe);
  else
    builder.help(
        "in `hf` the number of the expert is written `\\{expert}`, and "
        "each other name in braces is one that the block has");
  return true;
}

} // namespace recipec::sema
