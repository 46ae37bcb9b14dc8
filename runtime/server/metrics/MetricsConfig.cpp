// See MetricsConfig.h.

#include "runtime/server/metrics/MetricsConfig.h"

#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

namespace reciperun::server {
namespace {

constexpr std::string_view quantileSeparators = ", ";

/// A number from 0 to 1.
std::optional<double> shareOf(std::string_view text) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || last != end || !(value >= 0 && value <= 1))
    return std::nullopt;
  return value;
}

/// `0.9:0.01`.
std::optional<SummaryQuantile> quantileOf(std::string_view text) {
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos)
    return std::nullopt;
  const auto quantile = shareOf(text.substr(0, colon)),
             error = shareOf(text.substr(colon + 1));
  if (!quantile || !error)
    return std::nullopt;
  return SummaryQuantile{*quantile, *error};
}

Status setQuantiles(std::string_view text,
                    std::vector<SummaryQuantile>& quantiles) {
  std::vector<SummaryQuantile> all;
  while (!text.empty()) {
    const size_t end = text.find_first_of(quantileSeparators);
    const std::string_view each = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (each.empty())
      continue;
    const auto quantile = quantileOf(each);
    if (!quantile)
      return Status::error("`summary_quantiles` takes pairs of a quantile and "
                           "its error from 0 to 1, like `0.5:0.05,0.99:0.001`, "
                           "not `" +
                           std::string(each) + "`");
    all.push_back(*quantile);
  }
  if (all.empty())
    return Status::error("`summary_quantiles` is empty; write pairs of a "
                         "quantile and its error like `0.5:0.05,0.99:0.001`");
  quantiles = std::move(all);
  return Status::ok();
}

Status setSwitch(const std::string& name, std::string_view value,
                 bool& target) {
  if (value != "true" && value != "false")
    return Status::error("`" + name + "` takes `true` or `false`, not `" +
                         std::string(value) + "`");
  target = value == "true";
  return Status::ok();
}

} // namespace

Status applySetting(const std::string& text, MetricsConfig& config) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos)
    return Status::error("`" + text + "` is no `setting=value`");
  const std::string name = text.substr(0, equals);
  const std::string_view value = std::string_view(text).substr(equals + 1);
  if (name == "counter_latencies")
    return setSwitch(name, value, config.counterLatencies);
  if (name == "histogram_latencies")
    return setSwitch(name, value, config.histogramLatencies);
  if (name == "summary_latencies")
    return setSwitch(name, value, config.summaryLatencies);
  if (name == "summary_quantiles")
    return setQuantiles(value, config.quantiles);
  return Status::error(
      "there is no setting `" + name +
      "`; those that there are: `counter_latencies`, `histogram_latencies`, "
      "`summary_latencies`, `summary_quantiles`");
}

} // namespace reciperun::server
