// See TemplateFiles.h.

#include "runtime/serve/prompts/TemplateFiles.h"

#include "runtime/base/InputFile.h"
#include "runtime/base/ParseJson.h"
#include "runtime/checkpoint/Files.h"
#include "runtime/data/Utf8.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace reciperun::serve {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr int64_t largestTemplate = int64_t(1) << 20; // bytes
constexpr const char* mainTemplate = "default";

std::string quoted(const fs::path& path) {
  return "`" + path.string() + "`";
}

/// Adds a template unless one of its name is there.
Status addTemplate(NamedTemplate added, TemplateFiles& files) {
  const size_t bad = data::firstIllFormed(added.text);
  if (bad != std::string::npos)
    return Status::error(added.place +
                         ": the template is not UTF-8 at its byte " +
                         std::to_string(bad + 1));
  if (!files.find(added.name))
    files.templates.push_back(std::move(added));
  return {};
}

Status addFile(const fs::path& path, const std::string& name,
               TemplateFiles& files) {
  Expected<std::string> text = readTextFile(path, largestTemplate);
  RECIPERUN_TRY(text);
  return addTemplate({name, *std::move(text), quoted(path)}, files);
}

/// The files of a folder, in the order of their names.
Status addFolder(const fs::path& folder, TemplateFiles& files) {
  if (isAbsent(folder))
    return {};
  const auto entries = checkpoint::entriesOf(folder);
  RECIPERUN_TRY(entries);
  for (const fs::path& path : *entries)
    if (path.extension() == ".jinja")
      RECIPERUN_TRY(addFile(path, path.stem().string(), files));
  return {};
}

Status badTemplate(const std::string& place) {
  return Status::error(place + ": `chat_template` is neither a text nor a list "
                               "of objects with a text `name` and a text "
                               "`template`");
}

Status addConfigured(const Json& value, const std::string& place,
                     TemplateFiles& files) {
  if (value.is_null())
    return {};
  if (value.is_string())
    return addTemplate({mainTemplate, value.get<std::string>(), place}, files);
  if (!value.is_array())
    return badTemplate(place);
  for (const Json& each : value) {
    const bool isNamed =
        each.is_object() && each.contains("name") && each["name"].is_string() &&
        each.contains("template") && each["template"].is_string();
    if (!isNamed)
      return badTemplate(place);
    RECIPERUN_TRY(addTemplate({each["name"].get<std::string>(),
                               each["template"].get<std::string>(), place},
                              files));
  }
  return {};
}

/// Adds the members whose name ends in `_token`: texts, or objects with a text
/// `content`.
void addTokens(const Json& object, TemplateFiles& files) {
  for (const auto& [name, value] : object.items()) {
    if (!name.ends_with("_token"))
      continue;
    const Json* text = &value;
    if (value.is_object() && value.contains("content"))
      text = &value["content"];
    const bool isKnown =
        std::any_of(files.tokens.begin(), files.tokens.end(),
                    [&](const auto& token) { return token.first == name; });
    if (text->is_string() && !isKnown)
      files.tokens.emplace_back(name, text->get<std::string>());
  }
}

/// The object of a JSON file; empty when the file is absent.
Expected<Json> readObject(const fs::path& path) {
  if (isAbsent(path))
    return Json::object();
  Expected<std::string> text = readTextFile(path);
  RECIPERUN_TRY(text);
  Expected<Json> json = parseJson(*text);
  RECIPERUN_TRY(json.status().withContext(quoted(path)));
  if (!json->is_object())
    return Status::error(quoted(path) + ": the file is no JSON object");
  return json;
}

} // namespace

const NamedTemplate* TemplateFiles::find(const std::string& name) const {
  for (const NamedTemplate& each : templates)
    if (each.name == name)
      return &each;
  return nullptr;
}

Expected<TemplateFiles> readTemplateFiles(const fs::path& directory) {
  TemplateFiles files;
  const fs::path main = directory / "chat_template.jinja";
  if (!isAbsent(main))
    RECIPERUN_TRY(addFile(main, mainTemplate, files));
  RECIPERUN_TRY(addFolder(directory / "additional_chat_templates", files));
  const fs::path config = directory / "tokenizer_config.json";
  Expected<Json> configuration = readObject(config);
  RECIPERUN_TRY(configuration);
  RECIPERUN_TRY(addConfigured(configuration->value("chat_template", Json()),
                              quoted(config), files));
  addTokens(*configuration, files);
  Expected<Json> map = readObject(directory / "special_tokens_map.json");
  RECIPERUN_TRY(map);
  addTokens(*map, files);
  return files;
}

} // namespace reciperun::serve
