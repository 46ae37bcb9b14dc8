// See ByteSize.h.

#include "runtime/bench/collectives/ByteSize.h"

#include <charconv>
#include <cmath>

namespace reciperun::bench {
namespace {

constexpr double mostBytes = double(int64_t(1) << 60);

std::optional<double> unitOf(std::string_view text) {
  if (text.empty() || text == "B" || text == "b")
    return 1;
  const std::string_view letters = "kKmMgGtT";
  const size_t letter = letters.find(text[0]);
  const std::string_view rest = text.substr(1);
  if (letter == letters.npos || !(rest.empty() || rest == "B" || rest == "iB"))
    return std::nullopt;
  return std::ldexp(1.0, 10 * int(letter / 2 + 1));
}

} // namespace

std::optional<int64_t> parseByteSize(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(
      text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc())
    return std::nullopt;
  const auto unit = unitOf(text.substr(size_t(end - text.data())));
  const double bytes = unit ? number * *unit : -1;
  if (!(bytes >= 0 && bytes <= mostBytes) || bytes != std::floor(bytes))
    return std::nullopt;
  return int64_t(bytes);
}

} // namespace reciperun::bench
