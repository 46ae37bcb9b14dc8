// See Place.h.

#include "compiler/files/Place.h"

#include "runtime/plan/Paths.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <vector>

namespace recipec::files {
namespace {

namespace fs = std::filesystem;

/// Names of a folder that are compared: more take longer than they help.
constexpr size_t mostNames = 4096;

std::vector<std::string> namesIn(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code code;
  for (fs::directory_iterator at(folder, code), end;
       !code && at != end && names.size() < mostNames; at.increment(code))
    names.push_back(at->path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

/// `data, tokenizer.json`: what a folder holds, as a help.
std::string listed(const std::vector<std::string>& names) {
  constexpr size_t most = 6;
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), most); ++i)
    text += (i ? ", `" : "`") + names[i] + "`";
  if (names.size() > most)
    text += " and " + std::to_string(names.size() - most) + " more";
  return text;
}

/// The first part of a path that does not exist, and the folder it would be in.
struct Gap {
  fs::path above;   // exists
  std::string name; // is not in it
  fs::path below;   // what would follow
};

Gap gapOf(const fs::path& path) {
  Gap gap;
  std::error_code code;
  for (auto part = path.begin(); part != path.end(); ++part) {
    if (!gap.name.empty())
      gap.below /= *part;
    else if (fs::exists(gap.above / *part, code))
      gap.above /= *part;
    else
      gap.name = part->string();
  }
  if (gap.above.empty())
    gap.above = ".";
  return gap;
}

/// The string `text` in a value: of a list, of a source's `path`, of a blend.
const recipe::Value* find(const recipe::Value& value, const std::string& text) {
  if (const auto* string = std::get_if<std::string>(&value.data))
    return *string == text ? &value : nullptr;
  if (const auto* list = std::get_if<recipe::List>(&value.data))
    for (const recipe::Value& each : *list)
      if (const recipe::Value* found = find(each, text))
        return found;
  if (const auto* record = std::get_if<recipe::Record>(&value.data))
    for (const char* field : {"path", "sources"})
      if (const recipe::Value* inner = record->find(field))
        if (const recipe::Value* found = find(*inner, text))
          return found;
  return nullptr;
}

bool isPattern(const std::string& path) {
  return path.find_first_of("*?[") != std::string::npos;
}

std::string absolute(const std::string& folder) {
  std::error_code code;
  fs::path found = fs::weakly_canonical(folder, code);
  return code ? folder : found.string();
}

/// Without a near name: what there is instead.
void tellFolder(diag::Builder& builder, const Place& place) {
  Gap gap = gapOf(place.resolved);
  if (gap.name.empty())
    return;
  std::string above = absolute(gap.above.string());
  std::vector<std::string> names = namesIn(gap.above);
  std::erase_if(names,
                [](const std::string& name) { return name.starts_with("."); });
  if (names.empty())
    builder.help("the folder `" + above + "` is empty");
  else
    builder.help("the folder `" + above + "` holds " + listed(names));
}

/// `meta-llama/Llama-3.1-8B`
bool isHubName(const std::string& text) {
  size_t slash = text.find('/');
  auto isPart = [](std::string_view part) {
    return !part.empty() && part != "." && part != ".." &&
           part.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnop"
                                  "qrstuvwxyz0123456789-_.") == part.npos;
  };
  return slash != text.npos && isPart(text.substr(0, slash)) &&
         isPart(text.substr(slash + 1));
}

/// Where the path is none of this machine as it is written.
std::string otherHelp(const Place& place) {
  const std::string& path = place.written;
  std::error_code code;
  if (path.starts_with("~")) {
    const char* home = std::getenv("HOME");
    std::string whole = home && path.starts_with("~/")
                            ? std::string(home) + path.substr(1)
                            : "/home/NAME/...";
    return "`~` is not expanded: write `" + whole + "`";
  }
  if (place.setting == "weights" && isHubName(path))
    return "nothing is downloaded: `huggingface-cli download " + path +
           " --local-dir " + path.substr(path.find('/') + 1) +
           "` makes a folder to name";
  if (place.setting == "tokenizer" && fs::is_directory(place.resolved, code))
    return "name the file: `" + (fs::path(path) / "tokenizer.json").string() +
           "`";
  if (isPattern(path) && !fs::exists(place.resolved, code))
    return "this source is one file, and takes no pattern: name it, or several "
           "as in `blend([jsonl(\"a.jsonl\"), jsonl(\"b.jsonl\")])`";
  return {};
}

} // namespace

SourceRange rangeOf(const recipe::Recipe& recipe, const std::string& setting,
                    const std::string& written) {
  const recipe::Value* value = recipe.find(setting);
  if (!value)
    return {};
  const recipe::Value* path = find(*value, written);
  return (path ? path : value)->origin.range;
}

std::string nearestPath(const Place& place) {
  Gap gap = gapOf(place.resolved);
  if (gap.name.empty() || isPattern(place.resolved))
    return {};
  std::optional<std::string> near =
      diag::didYouMean(gap.name, namesIn(gap.above));
  if (!near)
    return {};
  // Behind a slash nothing is a file.
  fs::path there = gap.above / *near;
  std::error_code code;
  if (!fs::exists(gap.below.empty() ? there : there / gap.below, code))
    return {};
  // The parts behind the gap are as many in the path that was written.
  fs::path written = place.written;
  size_t behind = size_t(std::distance(gap.below.begin(), gap.below.end()));
  size_t parts = size_t(std::distance(written.begin(), written.end()));
  if (parts <= behind)
    return {};
  fs::path meant;
  size_t index = 0;
  for (const fs::path& part : written)
    meant /= index++ == parts - behind - 1 ? fs::path(*near) : part;
  return meant.string();
}

void reportMissing(diag::Engine& engine, const Place& place,
                   const std::string& cause) {
  auto builder =
      engine.report(diag::Kind::FileNotReadable, place.range,
                    "`" + place.setting + "` names `" + place.written +
                        "`, which cannot be read: " + cause);
  bool isRelative = !place.written.starts_with("/");
  if (isRelative)
    builder.note("relative paths start in `" + absolute(place.folder) + "`");
  std::string near = nearestPath(place);
  if (std::string other = otherHelp(place); !other.empty() && near.empty())
    builder.help(other);
  else if (!near.empty())
    builder.help("did you mean `" + near + "`?");
  else if (!isPattern(place.resolved))
    tellFolder(builder, place);
}

} // namespace recipec::files
