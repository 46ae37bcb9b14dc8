// Reads Megatron's pipeline layouts; see PipelineLayout.h.
//
// 1. Write out the repetitions: `t*3` is `ttt`, `(t|)*2` is `t|t|`.
// 2. Count the layers between the ends of chunks.

#include "compiler/sema/names/PipelineLayout.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>

namespace recipec::sema {
namespace {

/// No model has more layers and chunks than this.
constexpr size_t longest = 4096;

/// Expands the units at the front of `text`, up to its end or the end of the
/// group, and removes them. Returns nullopt if the text is not a layout.
std::optional<std::string> writtenOut(std::string_view& text) {
  std::string all;
  while (!text.empty() && text.front() != ')') {
    const char letter = text.front();
    text.remove_prefix(1);
    if (letter == ',' || letter == ' ')
      continue;
    std::string unit(1, letter);
    if (letter == '(') {
      const auto group = writtenOut(text);
      if (!group || text.empty())
        return std::nullopt;
      text.remove_prefix(1); // the `)`
      unit = *group;
    } else if (letter != '|' &&
               !std::isalpha(static_cast<unsigned char>(letter))) {
      return std::nullopt;
    }
    size_t times = 1;
    if (text.starts_with('*')) {
      const char* end = text.data() + text.size();
      const auto read = std::from_chars(text.data() + 1, end, times);
      if (read.ec != std::errc() || times > longest)
        return std::nullopt;
      text.remove_prefix(size_t(read.ptr - text.data()));
    }
    if (all.size() + times * unit.size() > longest)
      return std::nullopt;
    for (size_t i = 0; i < times; ++i)
      all += unit;
  }
  return all;
}

} // namespace

std::string layersOfLayout(std::string_view layout) {
  const auto all = writtenOut(layout);
  if (!all || !layout.empty() || all->find('|') == all->npos ||
      all->find('t') == all->npos)
    return {};
  std::string list;
  for (auto begin = all->begin();; ++begin) {
    const auto end = std::find(begin, all->end(), '|');
    list += (list.empty() ? "[" : ", ") +
            std::to_string(std::count(begin, end, 't'));
    begin = end;
    if (end == all->end())
      return list + "]";
  }
}

} // namespace recipec::sema
