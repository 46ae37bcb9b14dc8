// See TraceSettings.h.

#include "runtime/server/settings/TraceSettings.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <utility>

namespace reciperun::server {
namespace {

using Texts = std::vector<std::string>;

Status invalidSetting(std::string message) {
  return Status::error(std::move(message), StatusCode::invalidArgument);
}

struct NumberRule {
  const char* name;
  int64_t least, most;
};

constexpr NumberRule numberRules[] = {
    {"trace_rate", 0, std::numeric_limits<uint32_t>::max()},
    {"trace_count", -1, std::numeric_limits<int32_t>::max()},
    {"log_frequency", 0, std::numeric_limits<uint32_t>::max()}};

Expected<int64_t> readNumber(const NumberRule& rule, const Texts& values) {
  const std::string name = "'" + std::string(rule.name) + "'";
  if (values.size() > 1)
    return invalidSetting("expect only 1 value for " + name);
  const std::string& text = values.front();
  int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error == std::errc::invalid_argument || stop != end)
    return invalidSetting("Unable to parse " + name + ", got: " + text);
  if (error != std::errc() || number < rule.least || number > rule.most)
    return invalidSetting("Unable to parse " + name +
                          ", value is out of range [ " +
                          std::to_string(rule.least) + ", " +
                          std::to_string(rule.most) + " ], got: " + text);
  return number;
}

/// Changes or forgets a number.
Status changeNumber(const NumberRule& rule, const Texts& values,
                    TraceSettings::Values& settings) {
  if (values.empty()) {
    settings.erase(rule.name);
    return Status::ok();
  }
  const auto number = readNumber(rule, values);
  RECIPERUN_TRY(number);
  settings[rule.name] = {std::to_string(*number)};
  return Status::ok();
}

/// Whether a request for traces of `level` can be granted, at `rate`. Names
/// that Triton does not know are as `OFF`.
Status checkLevel(const Texts& level, const std::string& rate) {
  const auto has = [&](const char* name) {
    return std::ranges::find(level, name) != level.end();
  };
  if (has("OFF") && level.size() > 1)
    return invalidSetting("Expect only one trace level 'OFF' is specified");
  if (!has("TIMESTAMPS") && !has("TENSORS"))
    return Status::ok();
  return invalidSetting(
      std::string("Attempting to set invalid trace setting :") +
      (rate == "0" ? "sample rate must be non-zero"
                   : "trace file name is not given"));
}

/// The settings that `over` has, the others as in `under`.
TraceSettings::Values merged(TraceSettings::Values over,
                             const TraceSettings::Values& under) {
  over.insert(under.begin(), under.end());
  return over;
}

const TraceSettings::Values& valuesOfStart() {
  static const TraceSettings::Values values = {
      {"trace_level", {"OFF"}}, {"trace_rate", {"1000"}},
      {"trace_count", {"-1"}},  {"log_frequency", {"0"}},
      {"trace_file", {""}},     {"trace_mode", {"triton"}}};
  return values;
}

} // namespace

Status TraceSettings::change(const std::string& model, const Values& changes) {
  if (changes.contains("trace_file"))
    return Status::error(
        "trace file location can not be updated through network protocol",
        StatusCode::unsupported);
  const auto known = models.find(model);
  Values changed = model.empty()           ? server
                   : known == models.end() ? Values()
                                           : known->second;
  for (const NumberRule& rule : numberRules)
    if (const auto number = changes.find(rule.name); number != changes.end())
      RECIPERUN_TRY(changeNumber(rule, number->second, changed));
  if (const auto level = changes.find("trace_level"); level != changes.end()) {
    const Values below = model.empty() ? valuesOfStart() : of("");
    RECIPERUN_TRY(checkLevel(level->second,
                             merged(changed, below).at("trace_rate").front()));
  }
  if (model.empty())
    server = std::move(changed);
  else if (changed.empty())
    models.erase(model);
  else
    models[model] = std::move(changed);
  return Status::ok();
}

TraceSettings::Values TraceSettings::of(const std::string& model) const {
  const Values whole = merged(server, valuesOfStart());
  const auto found = models.find(model);
  return found == models.end() ? whole : merged(found->second, whole);
}

} // namespace reciperun::server
