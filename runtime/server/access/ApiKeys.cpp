// See ApiKeys.h.

#include "runtime/server/access/ApiKeys.h"

#include "runtime/base/InputFile.h"

#include <algorithm>
#include <charconv>
#include <sstream>

namespace reciperun::server {
namespace {

constexpr int64_t mostFileBytes = int64_t(16) << 20;
constexpr size_t longestName = 64;

/// A name is written to logs.
bool isName(std::string_view text) {
  return !text.empty() && text.size() <= longestName &&
         std::ranges::all_of(text, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                  (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.' ||
                  c == '@';
         });
}

Status readLimit(std::string_view text, const char* word, int64_t& limit) {
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, limit);
  if (read.ec == std::errc() && read.ptr == end && limit > 0)
    return Status::ok();
  return Status::error("`" + std::string(word) +
                       "` takes a whole number from 1");
}

/// Reads a word behind the hash.
Status readWord(std::string_view word, ApiKey& key) {
  const size_t equals = word.find('=');
  const std::string_view name = word.substr(0, equals);
  const std::string_view value =
      equals == word.npos ? "" : word.substr(equals + 1);
  if (name == "requests")
    return readLimit(value, "requests", key.limits.requests);
  if (name == "tokens-per-minute")
    return readLimit(value, "tokens-per-minute", key.limits.tokensPerMinute);
  if (name != "name")
    return Status::error("a hash is followed by `name=`, `requests=` and "
                         "`tokens-per-minute=` alone");
  if (!isName(value))
    return Status::error("`name` takes up to 64 letters, digits and `-_.@`");
  key.name = value;
  return Status::ok();
}

Expected<ApiKey> readLine(const std::string& line) {
  std::istringstream words(line);
  std::string word;
  words >> word;
  const auto digest = digestOf(word);
  if (!digest)
    return Status::error("the first word is no SHA-256 hash, 64 hexadecimal "
                         "digits; make it with `printf %s KEY | sha256sum`");
  ApiKey key = {.digest = *digest, .name = {}, .limits = {}};
  while (words >> word)
    RECIPERUN_TRY(readWord(word, key));
  return key;
}

/// Whether a key fits to those before it.
Status checkAmong(const ApiKey& key, const std::vector<ApiKey>& others) {
  for (const ApiKey& each : others) {
    if (isSame(each.digest, key.digest))
      return Status::error("the key is there twice");
    if (each.name == key.name && each.limits != key.limits)
      return Status::error("`" + key.name +
                           "` has other limits in a line before");
  }
  return Status::ok();
}

} // namespace

Expected<std::vector<ApiKey>> readApiKeys(std::string_view text) {
  std::istringstream lines{std::string(text)};
  std::string line;
  std::vector<ApiKey> made;
  for (int number = 1; std::getline(lines, line); ++number) {
    const size_t begin = line.find_first_not_of(" \t\r");
    if (begin == line.npos || line[begin] == '#')
      continue;
    const std::string place = "line " + std::to_string(number);
    Expected<ApiKey> key = readLine(line);
    RECIPERUN_TRY(key.status().withContext(place));
    if (key->name.empty())
      key->name = "key-" + std::to_string(number);
    RECIPERUN_TRY(checkAmong(*key, made).withContext(place));
    made.push_back(*std::move(key));
  }
  return made;
}

Expected<ApiKeys> ApiKeys::open(const std::vector<std::string>& given,
                                std::string file) {
  ApiKeys made;
  for (const std::string& key : given)
    made.fixed.push_back(
        {.digest = sha256(key),
         .name = "api-key-" + std::to_string(made.fixed.size() + 1),
         .limits = {}});
  made.file = std::move(file);
  RECIPERUN_TRY(made.reload());
  return made;
}

Status ApiKeys::reload() {
  std::vector<ApiKey> all = fixed;
  if (!file.empty()) {
    const auto text = readTextFile(file, mostFileBytes);
    RECIPERUN_TRY(text);
    const auto read = readApiKeys(*text);
    RECIPERUN_TRY(read.status().withContext("`" + file + "`"));
    if (read->empty())
      return Status::error("`" + file + "` has no key");
    all.insert(all.end(), read->begin(), read->end());
  }
  take(all);
  return Status::ok();
}

void ApiKeys::take(const std::vector<ApiKey>& all) {
  const auto now = ApiClient::Time::clock::now();
  std::map<std::string, std::shared_ptr<ApiClient>> named;
  keys.clear();
  for (const ApiKey& each : all) {
    std::shared_ptr<ApiClient>& client = named[each.name];
    if (const auto old = clients.find(each.name); old != clients.end())
      client = old->second;
    if (client)
      client->setLimits(each.limits, now);
    else
      client = std::make_shared<ApiClient>(each.name, each.limits);
    keys.emplace_back(each.digest, client);
  }
  clients = std::move(named);
}

std::shared_ptr<ApiClient> ApiKeys::find(std::string_view key) const {
  const Digest digest = sha256(key);
  std::shared_ptr<ApiClient> found;
  for (const auto& [each, client] : keys)
    if (isSame(each, digest))
      found = client;
  return found;
}

} // namespace reciperun::server
