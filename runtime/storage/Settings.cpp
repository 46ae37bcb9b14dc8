// See Settings.h.

#include "runtime/storage/Settings.h"

#include <algorithm>
#include <charconv>
#include <vector>

namespace reciperun::storage {
namespace {

/// A value and what it is called in messages.
struct NamedValue {
  std::string name;
  std::string value;
};

class SettingsReader {
public:
  SettingsReader(const Environment& environment, const Profiles& profiles)
      : environment(environment), profiles(profiles) {}

  /// The first variable, or else the profile's setting.
  std::optional<NamedValue> find(const std::vector<std::string>& variables,
                                 const std::string& setting) const {
    for (const std::string& variable : variables)
      if (const auto value = environment(variable))
        return NamedValue{"the environment variable " + variable, *value};
    if (const auto value = profiles.find(setting))
      return ofProfile(setting, *value);
    return std::nullopt;
  }

  /// The endpoint of a service: `s3`, `sts`.
  std::optional<NamedValue> endpoint(const std::string& service,
                                     const std::string& variable) const {
    if (environment("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS") == "true")
      return std::nullopt;
    for (const std::string& name : {variable, std::string("AWS_ENDPOINT_URL")})
      if (const auto value = environment(name))
        return NamedValue{"the environment variable " + name, *value};
    if (const auto services = profiles.find("services")) {
      const ProfileSettings* own = profiles.section("services " + *services);
      const auto found = own ? own->find(service + ".endpoint_url")
                             : ProfileSettings::const_iterator();
      if (own && found != own->end())
        return NamedValue{"`endpoint_url` of `services " + *services + "`",
                          found->second};
    }
    if (const auto value = profiles.find("endpoint_url"))
      return ofProfile("endpoint_url", *value);
    return std::nullopt;
  }

  std::optional<NamedValue> ofProfile(const std::string& setting) const {
    const auto value = profiles.find(setting);
    if (!value)
      return std::nullopt;
    return ofProfile(setting, *value);
  }

private:
  NamedValue ofProfile(const std::string& setting,
                       const std::string& value) const {
    return {"`" + setting + "` of profile `" + profiles.name() + "`", value};
  }

  const Environment& environment;
  const Profiles& profiles;
};

/// Checks `SCHEME://HOST[:PORT][/PATH]` and removes slashes at its end. The
/// message shows no value that could have a password.
Status takeEndpoint(const std::optional<NamedValue>& given, std::string& out) {
  if (!given)
    return {};
  const std::string& url = given->value;
  const size_t colon = url.find("://");
  if (colon == url.npos ||
      (url.substr(0, colon) != "http" && url.substr(0, colon) != "https"))
    return Status::error(given->name + " is no address of a store: it needs "
                                       "`https://HOST` or `http://HOST:PORT`");
  if (url.find('@') != url.npos)
    return Status::error(given->name +
                         " has a user's name in the address; give credentials "
                         "in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY");
  if (url.find_first_of("?# \t") != url.npos || colon + 3 == url.size())
    return Status::error(given->name + " is `" + url +
                         "`, which is no address of a store; write "
                         "`https://HOST` or `http://HOST:PORT`");
  out = url;
  while (out.ends_with('/'))
    out.pop_back();
  return {};
}

/// A number with an optional unit: `16MB`, `8`.
std::optional<int64_t> parseAmount(std::string_view text) {
  int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || value < 1)
    return std::nullopt;
  const std::string_view unit(last, size_t(end - last));
  const int shift = unit.empty()   ? 0
                    : unit == "KB" ? 10
                    : unit == "MB" ? 20
                    : unit == "GB" ? 30
                                   : -1;
  if (shift < 0 || value > (int64_t(1) << 40) >> shift)
    return std::nullopt;
  return value << shift;
}

/// Replaces `out` by a given number from `least` to `most`.
template <class T>
Status takeAmount(const std::optional<NamedValue>& given, int64_t least,
                  int64_t most, T& out) {
  if (!given)
    return {};
  const auto value = parseAmount(given->value);
  if (!value || *value < least || *value > most)
    return Status::error(given->name + " is `" + given->value +
                         "`, and a number from " + std::to_string(least) +
                         " to " + std::to_string(most) + " is needed");
  out = T(*value);
  return {};
}

Status takeStyle(const std::optional<NamedValue>& given, bool& pathStyle) {
  if (!given || given->value == "auto")
    return {};
  if (given->value != "path" && given->value != "virtual")
    return Status::error(given->name + " is `" + given->value +
                         "`; write `path`, `virtual` or `auto`");
  pathStyle = given->value == "path";
  return {};
}

} // namespace

Expected<Settings> readSettings(const Environment& environment,
                                const Profiles& profiles) {
  const SettingsReader reader(environment, profiles);
  Settings settings;
  RECIPERUN_TRY(takeEndpoint(reader.endpoint("s3", "AWS_ENDPOINT_URL_S3"),
                             settings.endpoint));
  RECIPERUN_TRY(takeEndpoint(reader.endpoint("sts", "AWS_ENDPOINT_URL_STS"),
                             settings.stsEndpoint));
  if (const auto region =
          reader.find({"AWS_REGION", "AWS_DEFAULT_REGION"}, "region"))
    settings.region = region->value;
  if (const auto bundle = reader.find({"AWS_CA_BUNDLE"}, "ca_bundle"))
    settings.caBundle = bundle->value;
  settings.pathStyle = !settings.endpoint.empty();
  RECIPERUN_TRY(
      takeStyle(reader.ofProfile("s3.addressing_style"), settings.pathStyle));
  RECIPERUN_TRY(takeAmount(reader.find({"AWS_MAX_ATTEMPTS"}, "max_attempts"), 1,
                           100, settings.attempts));
  RECIPERUN_TRY(takeAmount(reader.ofProfile("s3.max_concurrent_requests"), 1,
                           256, settings.connections));
  RECIPERUN_TRY(takeAmount(reader.ofProfile("s3.multipart_chunksize"),
                           int64_t(5) << 20, int64_t(1) << 30,
                           settings.partBytes));
  const auto when = reader.find({"AWS_REQUEST_CHECKSUM_CALCULATION"},
                                "request_checksum_calculation");
  settings.checksums = !when || (when->value != "when_required" &&
                                 when->value != "WHEN_REQUIRED");
  return settings;
}

} // namespace reciperun::storage
