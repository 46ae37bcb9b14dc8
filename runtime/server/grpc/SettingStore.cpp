// See SettingStore.h. Texts of failures are Triton's.

#include "runtime/server/grpc/SettingStore.h"

#include <charconv>
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

Status checkNumber(const NumberRule& rule, const Texts& values) {
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
  return Status::ok();
}

Status checkLevel(const Texts& values) {
  for (const std::string& level : values)
    if (level == "OFF" && values.size() > 1)
      return invalidSetting("Expect only one trace level 'OFF' is specified");
    else if (level == "TIMESTAMPS" || level == "TENSORS")
      return invalidSetting("Attempting to set invalid trace setting :trace "
                            "file name is not given");
  return Status::ok();
}

/// Puts `values` in place of a setting, or forgets it.
void setOrForget(TraceStore::Values& settings, const std::string& name,
                 Texts values) {
  if (values.empty())
    settings.erase(name);
  else
    settings[name] = std::move(values);
}

const char* wantedType(const std::string& name) {
  if (name == "log_verbose_level")
    return "int32";
  return name == "log_format" ? "string" : "boolean";
}

} // namespace

Status TraceStore::change(const std::string& model, const Values& changes) {
  if (changes.contains("trace_file"))
    return Status::error(
        "trace file location can not be updated through network protocol",
        StatusCode::unsupported);
  Values changed = model.empty() ? server : models[model];
  if (const auto level = changes.find("trace_level"); level != changes.end()) {
    RECIPERUN_TRY(checkLevel(level->second));
    setOrForget(changed, "trace_level",
                level->second.empty() ? Texts() : Texts{"OFF"});
  }
  for (const NumberRule& rule : numberRules) {
    const auto number = changes.find(rule.name);
    if (number == changes.end())
      continue;
    if (!number->second.empty())
      RECIPERUN_TRY(checkNumber(rule, number->second));
    setOrForget(changed, rule.name, number->second);
  }
  (model.empty() ? server : models[model]) = std::move(changed);
  return Status::ok();
}

TraceStore::Values TraceStore::of(const std::string& model) const {
  const Values start = {{"trace_level", {"OFF"}}, {"trace_rate", {"1000"}},
                        {"trace_count", {"-1"}},  {"log_frequency", {"0"}},
                        {"trace_file", {""}},     {"trace_mode", {"triton"}}};
  const auto found = models.find(model);
  Values values = found == models.end() ? Values() : found->second;
  values.insert(server.begin(), server.end());
  values.insert(start.begin(), start.end());
  return values;
}

Status LogStore::change(const Values& changes) {
  if (changes.contains("log_file"))
    return Status::error(
        "log file location can not be updated through network protocol",
        StatusCode::unsupported);
  Values changed = values;
  for (auto& [name, value] : changed) {
    const auto found = changes.find(name);
    if (found == changes.end())
      continue;
    if (found->second.index() != value.index())
      return invalidSetting(std::string("expect ") + wantedType(name) +
                            " for '" + name + "'");
    value = found->second;
  }
  const auto& format = std::get<std::string>(changed["log_format"]);
  if (format != "default" && format != "ISO8601")
    return invalidSetting("invalid argument for log_format, got: " + format);
  values = std::move(changed);
  return Status::ok();
}

} // namespace reciperun::server
