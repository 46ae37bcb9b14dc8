// See RestrictedApis.h.

#include "runtime/server/access/RestrictedApis.h"

#include <algorithm>
#include <utility>

namespace reciperun::server {
namespace {

constexpr std::pair<std::string_view, Api> names[] = {
    {"health", Api::health},
    {"metadata", Api::metadata},
    {"inference", Api::inference},
    {"shared-memory", Api::sharedMemory},
    {"model-config", Api::modelConfig},
    {"model-repository", Api::modelRepository},
    {"statistics", Api::statistics},
    {"trace", Api::trace},
    {"logging", Api::logging}};

bool isBelow(std::string_view path, std::string_view folder) {
  return path.starts_with(folder) &&
         (path.size() == folder.size() || path[folder.size()] == '/');
}

/// Of a path below /v2/models: <model>[/versions/<version>][/<action>].
Api apiOfModel(std::string_view path) {
  std::string_view rest = path.substr(std::string_view("/v2/models").size());
  if (rest == "/stats")
    return Api::statistics;
  const auto skip = [&rest] {
    if (!rest.empty())
      rest.remove_prefix(std::min(rest.find('/', 1), rest.size()));
  };
  skip();
  if (rest.starts_with("/versions/")) {
    skip();
    skip();
  }
  if (rest == "/infer" || rest == "/generate" || rest == "/generate_stream")
    return Api::inference;
  if (rest == "/config")
    return Api::modelConfig;
  if (rest == "/stats")
    return Api::statistics;
  if (rest == "/trace/setting")
    return Api::trace;
  return rest == "/ready" ? Api::health : Api::metadata;
}

std::string nameOfHeader(std::string text) {
  std::ranges::transform(text, text.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c;
  });
  return text;
}

Expected<Api> apiNamed(std::string_view name) {
  for (const auto& [each, api] : names)
    if (each == name)
      return api;
  std::string all;
  for (const auto& [each, api] : names)
    all += (all.empty() ? "`" : ", `") + std::string(each) + "`";
  return Status::error("unknown API `" + std::string(name) + "`; there are " +
                       all);
}

} // namespace

std::optional<Api> apiOf(std::string_view path) {
  if (isBelow(path, "/v2/health") || path == "/health")
    return Api::health;
  if (isBelow(path, "/v2/models"))
    return apiOfModel(path);
  if (isBelow(path, "/v2/repository"))
    return Api::modelRepository;
  if (isBelow(path, "/v2/systemsharedmemory") ||
      isBelow(path, "/v2/cudasharedmemory"))
    return Api::sharedMemory;
  if (isBelow(path, "/v2/trace"))
    return Api::trace;
  if (isBelow(path, "/v2/logging"))
    return Api::logging;
  if (path == "/v2" || isBelow(path, "/v1/models") || path == "/version")
    return Api::metadata;
  if (isBelow(path, "/v1") || path == "/tokenize" || path == "/detokenize")
    return Api::inference;
  return std::nullopt;
}

Status RestrictedApis::add(std::string_view option) {
  const size_t colon = option.find(':');
  const size_t equals =
      colon == option.npos ? option.npos : option.find('=', colon);
  if (equals == option.npos || equals == colon + 1 ||
      equals + 1 == option.size())
    return Status::error("the form is `<api>,<api>:<key>=<value>`");
  const Rule rule = {std::string(option.substr(colon + 1, equals - colon - 1)),
                     sha256(option.substr(equals + 1))};
  std::string_view left = option.substr(0, colon);
  for (;;) {
    const size_t comma = std::min(left.find(','), left.size());
    const std::string_view name = left.substr(0, comma);
    const auto api = apiNamed(name);
    RECIPERUN_TRY(api);
    if (!rules.emplace(*api, rule).second)
      return Status::error("`" + std::string(name) + "` is restricted twice");
    if (comma == left.size())
      return Status::ok();
    left.remove_prefix(comma + 1);
  }
}

std::optional<std::string> RestrictedApis::missingHeader(
    std::string_view path,
    const std::function<const std::string&(const std::string&)>& headerOf)
    const {
  if (rules.empty())
    return std::nullopt;
  const auto api = apiOf(path);
  const auto rule = api ? rules.find(*api) : rules.end();
  if (rule == rules.end() ||
      isSame(sha256(headerOf(nameOfHeader(rule->second.key))),
             rule->second.value))
    return std::nullopt;
  return rule->second.key;
}

} // namespace reciperun::server
