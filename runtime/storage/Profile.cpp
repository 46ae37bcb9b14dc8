// See Profile.h.

#include "runtime/storage/Profile.h"

#include "runtime/base/InputFile.h"

#include <cstdlib>
#include <filesystem>

namespace reciperun::storage {
namespace {

namespace fs = std::filesystem;

constexpr int64_t fileLimit = int64_t(4) << 20;
constexpr std::string_view blanks = " \t\r";

std::string_view stripped(std::string_view text) {
  const size_t first = text.find_first_not_of(blanks);
  if (first == text.npos)
    return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

/// A section's name in brackets. Config files write `profile NAME`.
std::optional<std::string> sectionOf(std::string_view line) {
  const size_t end = line.find(']');
  if (!line.starts_with('[') || end == line.npos)
    return std::nullopt;
  return std::string(stripped(line.substr(1, end - 1)));
}

/// A value without the comment behind it.
std::string valueOf(std::string_view text) {
  for (const std::string_view mark : {" #", " ;", "\t#", "\t;"})
    text = text.substr(0, text.find(mark));
  return std::string(stripped(text));
}

Expected<ProfileFile> readProfiles(const Environment& environment,
                                   const std::string& variable,
                                   const char* standard) {
  fs::path path;
  if (const auto named = environment(variable))
    path = *named;
  else if (const auto home = environment("HOME"))
    path = fs::path(*home) / ".aws" / standard;
  std::error_code code;
  if (path.empty() || path == "/dev/null" ||
      fs::status(path, code).type() == fs::file_type::not_found)
    return ProfileFile();
  const Expected<std::string> text = readTextFile(path, fileLimit);
  RECIPERUN_TRY(text);
  Expected<ProfileFile> file = parseProfiles(*text);
  RECIPERUN_TRY(file.status().withContext("`" + path.string() + "`"));
  return file;
}

} // namespace

std::optional<std::string> processEnvironment(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  if (!value || !*value)
    return std::nullopt;
  return std::string(value);
}

Expected<ProfileFile> parseProfiles(std::string_view text) {
  ProfileFile file;
  ProfileSettings* section = nullptr;
  std::string block; // the setting without a value above indented lines
  for (int number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view raw = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::string_view line = stripped(raw);
    if (line.empty() || line.front() == '#' || line.front() == ';')
      continue;
    const std::string place = "line " + std::to_string(number);
    if (line.front() == '[') {
      const auto name = sectionOf(line);
      if (!name)
        return Status::error(place + ": a section lacks its `]`");
      section = &file[*name];
      block.clear();
      continue;
    }
    const size_t equals = line.find('=');
    if (equals == line.npos || equals == 0)
      return Status::error(place + " is neither a section nor a setting "
                                   "`name = value`");
    if (!section)
      return Status::error(place + " is a setting before the first section; "
                                   "write `[default]` above it");
    const bool isIndented = raw.front() == ' ' || raw.front() == '\t';
    const std::string name(stripped(line.substr(0, equals)));
    const std::string value = valueOf(line.substr(equals + 1));
    if (!isIndented)
      block = value.empty() ? name + "." : "";
    (*section)[isIndented ? block + name : name] = value;
  }
  return file;
}

Expected<Profiles> Profiles::read(const Environment& environment) {
  Profiles profiles;
  auto config = readProfiles(environment, "AWS_CONFIG_FILE", "config");
  RECIPERUN_TRY(config);
  profiles.config = *std::move(config);
  auto credentials =
      readProfiles(environment, "AWS_SHARED_CREDENTIALS_FILE", "credentials");
  RECIPERUN_TRY(credentials);
  profiles.credentials = *std::move(credentials);
  auto named = environment("AWS_PROFILE");
  if (!named)
    named = environment("AWS_DEFAULT_PROFILE");
  profiles.used = named.value_or("default");
  if (named && !profiles.has(*named))
    return Status::error("there is no profile `" + *named +
                         "`, which AWS_PROFILE names; add it to "
                         "`~/.aws/config` or `~/.aws/credentials`, or name "
                         "another");
  return profiles;
}

std::optional<std::string> Profiles::find(const std::string& setting) const {
  return find(used, setting);
}

std::optional<std::string> Profiles::find(const std::string& profile,
                                          const std::string& setting) const {
  for (const ProfileSettings* each :
       {credentials.contains(profile) ? &credentials.at(profile) : nullptr,
        section("profile " + profile), section(profile)}) {
    if (!each)
      continue;
    const auto found = each->find(setting);
    if (found != each->end() && !found->second.empty())
      return found->second;
  }
  return std::nullopt;
}

bool Profiles::has(const std::string& profile) const {
  return credentials.contains(profile) || section("profile " + profile) ||
         (profile == "default" && section(profile));
}

const ProfileSettings* Profiles::section(const std::string& name) const {
  const auto found = config.find(name);
  return found == config.end() ? nullptr : &found->second;
}

} // namespace reciperun::storage
