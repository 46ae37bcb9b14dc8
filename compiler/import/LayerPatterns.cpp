// Both notations are sums of repeated parts:
//   pattern  list of 0 and 1   part = `[0, 1]`, a sum in `( )`, part `*` number
//   layout   letters and `|`   part = a letter, letters in `( )`, part `*`
//   number
// They are expanded to a text of all their elements.

#include "compiler/import/LayerPatterns.h"

#include <algorithm>
#include <charconv>
#include <string>

namespace recipec::importer {
namespace {

/// The longest text that a notation may stand for.
constexpr size_t longestText = 1 << 16;

class Expander {
public:
  /// `elements` are the letters of elements; letters of `skipped` mean nothing.
  Expander(std::string_view text, std::string_view elements,
           std::string_view skipped)
      : rest(text), elements(elements), skipped(skipped) {}

  std::optional<std::string> expand() {
    auto text = sum(maxDepth);
    return rest.empty() ? text : std::nullopt;
  }

private:
  static constexpr int maxDepth = 16;

  char next() const { return rest.empty() ? '\0' : rest.front(); }

  /// Parts up to the end, or to a `)`.
  std::optional<std::string> sum(int depth) {
    std::string text;
    while (!rest.empty() && next() != ')') {
      auto part = repeated(depth);
      if (!part || text.size() + part->size() > longestText)
        return std::nullopt;
      text += *part;
    }
    return text;
  }

  std::optional<std::string> repeated(int depth) {
    auto part = single(depth);
    while (part && next() == '*') {
      rest.remove_prefix(1);
      int64_t count = 0;
      const auto [end, error] =
          std::from_chars(rest.data(), rest.data() + rest.size(), count);
      const bool fits = error == std::errc() && count >= 0 &&
                        size_t(count) * part->size() <= longestText &&
                        count <= int64_t(longestText);
      if (!fits)
        return std::nullopt;
      rest.remove_prefix(size_t(end - rest.data()));
      std::string text;
      for (int64_t i = 0; i < count; ++i)
        text += *part;
      part = std::move(text);
    }
    return part;
  }

  std::optional<std::string> single(int depth) {
    const char first = next();
    rest.remove_prefix(1);
    if (first == '(') {
      auto inner = depth > 0 ? sum(depth - 1) : std::nullopt;
      if (!inner || next() != ')')
        return std::nullopt;
      rest.remove_prefix(1);
      return inner;
    }
    if (skipped.find(first) != skipped.npos)
      return std::string();
    if (elements.find(first) == elements.npos)
      return std::nullopt;
    return std::string(1, first);
  }

  std::string_view rest;
  const std::string_view elements, skipped;
};

/// `[0, 1]` becomes `(01)`, so that a factor behind it repeats the list.
std::string withRoundBrackets(std::string_view pattern) {
  std::string text(pattern);
  std::ranges::replace(text, '[', '(');
  std::ranges::replace(text, ']', ')');
  return text;
}

/// Layers as 0 and 1 where every N-th has experts.
std::optional<std::string> everyNth(std::string_view number, int64_t layers) {
  int64_t step = 0;
  const char* end = number.data() + number.size();
  const auto [last, error] = std::from_chars(number.data(), end, step);
  if (error != std::errc() || last != end || step < 1)
    return std::nullopt;
  std::string text;
  for (int64_t layer = 0; layer < layers; ++layer)
    text += layer % step == 0 ? '1' : '0';
  return text;
}

} // namespace

std::optional<int64_t> denseLayers(std::string_view pattern, int64_t layers) {
  const bool isList = pattern.find('[') != pattern.npos;
  const std::string list = withRoundBrackets(pattern);
  const auto all =
      isList ? Expander(list, "01", "+, ").expand() : everyNth(pattern, layers);
  if (!all || int64_t(all->size()) != layers || !std::ranges::is_sorted(*all))
    return std::nullopt;
  return std::ranges::count(*all, '0');
}

std::optional<std::vector<int64_t>> chunkLayers(std::string_view layout) {
  const auto all = Expander(layout, "EtmL|", ", ").expand();
  if (!all)
    return std::nullopt;
  std::vector<int64_t> chunks(1);
  for (const char each : *all) {
    if (each == '|')
      chunks.push_back(0);
    chunks.back() += each == 't';
  }
  return chunks;
}

} // namespace recipec::importer
