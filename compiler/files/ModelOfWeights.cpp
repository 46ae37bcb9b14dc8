// 1. Compute the keys that differ, with runtime/plan.
// 2. A key whose entry in the model's `hf_config` is a field of the model, for
//    example `hidden_size = hidden`, names the field to change.
// 3. If all keys have a field, propose the file's values: first for these
//    fields only, then also for fields computed from others, such as
//    `head_dim`.

#include "compiler/files/ModelOfWeights.h"

#include "runtime/base/InputFile.h"
#include "runtime/checkpoint/ModelConfig.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <set>
#include <vector>

namespace recipec::files {
namespace {

using Json = nlohmann::json;
using reciperun::checkpoint::ConfigDifference;

/// The number of differences that a message names; it counts the rest.
constexpr size_t mostNamed = 6;

bool isName(const std::string& text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) {
           return std::isalnum(c) || c == '_';
         });
}

class Comparison {
public:
  Comparison(const Place& place, const recipe::Recipe& recipe,
             const SourceMap& sources)
      : place(place), recipe(recipe), sources(sources) {}

  void report(const std::string& file, const Json& config,
              const std::vector<ConfigDifference>& differences,
              diag::Engine& engine) const;

private:
  std::string fieldOf(const std::string& key) const;
  void label(diag::Builder& builder, const ConfigDifference& each) const;
  bool proposes(diag::Builder& builder, const Json& config,
                const std::vector<ConfigDifference>& differences) const;
  bool isDerived(const std::string& field) const;
  bool helpWithKind(diag::Builder& builder,
                    const std::vector<ConfigDifference>& differences) const;

  const Place& place;
  const recipe::Recipe& recipe;
  const SourceMap& sources;
};

/// The field of the model that the entry of `key` in `hf_config` refers to;
/// empty if the entry is an expression.
std::string Comparison::fieldOf(const std::string& key) const {
  const recipe::Value* entry = recipe.find("model.hf_config." + key);
  if (!entry || !entry->origin.range.isValid())
    return {};
  std::string text(sources.text(entry->origin.range));
  text.erase(0, text.find_last_of('=') + 1);
  text.erase(0, text.find_first_not_of(" \n"));
  if (!isName(text) || !recipe.find("model." + text))
    return {};
  return text;
}

/// Whether the field's value is a default computed from other fields. It would
/// change with them.
bool Comparison::isDerived(const std::string& field) const {
  return recipe.at("model." + field).origin.kind ==
         recipe::Origin::Kind::derived;
}

/// Adds a note that shows the field's value in the recipe.
void Comparison::label(diag::Builder& builder,
                       const ConfigDifference& each) const {
  std::string field = fieldOf(each.key);
  if (field.empty())
    return;
  const recipe::Value& value = recipe.at("model." + field);
  builder.note("the model's `" + field + "` is " + each.ours,
               value.origin.range);
}

bool Comparison::proposes(
    diag::Builder& builder, const Json& config,
    const std::vector<ConfigDifference>& differences) const {
  std::set<std::string> keys;
  for (const ConfigDifference& each : differences)
    keys.insert(each.key);
  diag::WayOut few, all;
  auto add = [](diag::WayOut& way, const std::string& field,
                const std::string& value) {
    way.text += (way.text.empty() ? "`" : ", `") + field + " = " + value + "`";
    way.settings.push_back("model." + field + "=" + value);
  };
  for (const auto& [key, value] : config.items()) {
    std::string field = fieldOf(key);
    bool isPlain = value.is_number() || value.is_boolean();
    bool differs = keys.erase(key) > 0;
    if (differs && (field.empty() || !isPlain))
      return false;
    if (differs)
      add(few, field, value.dump());
    if (!field.empty() && isPlain && (differs || isDerived(field)))
      add(all, field, value.dump());
  }
  // Any remaining difference is a key that the file lacks or spells
  // differently.
  if (!keys.empty())
    return false;
  builder.propose({"write the model that these weights are of: ",
                   {few, all},
                   ", or name weights of the recipe's model",
                   1});
  return true;
}

/// Helps with a kind of position scaling that the model does not support. The
/// supported kinds are read from the text of its `hf_config`.
bool Comparison::helpWithKind(
    diag::Builder& builder,
    const std::vector<ConfigDifference>& differences) const {
  for (const ConfigDifference& each : differences) {
    const recipe::Value* entry = recipe.find("model.hf_config." + each.key);
    const Json theirs = Json::parse(each.theirs, nullptr, false);
    if (!entry || !entry->origin.range.isValid() || !theirs.is_object())
      continue;
    for (const char* name : {"rope_type", "type"}) {
      if (!theirs.contains(name) || !theirs[name].is_string())
        continue;
      const std::string_view text = sources.text(entry->origin.range);
      const std::string kind = theirs[name].get<std::string>();
      if (text.find("\"" + kind + "\"") != text.npos)
        return false;
      std::string kinds;
      const std::string start = "rope_type";
      for (size_t at = text.find(start); at != text.npos;
           at = text.find(start, at + 1)) {
        const size_t begin = text.find('"', at);
        const size_t end =
            begin == text.npos ? begin : text.find('"', begin + 1);
        if (end == text.npos)
          break;
        kinds += (kinds.empty() ? "`" : ", `") +
                 std::string(text.substr(begin + 1, end - begin - 1)) + "`";
      }
      builder.help("the recipe's model takes no `" + each.key +
                   "` of the kind `" + kind + "`" +
                   (kinds.empty() ? "" : ", only " + kinds) +
                   ": name other weights, or write a model of your own for "
                   "these");
      return true;
    }
  }
  return false;
}

void Comparison::report(const std::string& file, const Json& config,
                        const std::vector<ConfigDifference>& differences,
                        diag::Engine& engine) const {
  std::string text;
  size_t count = std::min(differences.size(), mostNamed);
  for (size_t i = 0; i < count; ++i)
    text += (i ? ", `" : "`") + differences[i].key + "` is " +
            differences[i].theirs + " where the recipe's model has " +
            differences[i].ours;
  if (differences.size() > count)
    text += " and " + std::to_string(differences.size() - count) + " more";
  auto builder = engine.report(diag::Kind::InvalidData, place.range,
                               "`" + place.setting + "`: " + file +
                                   " is of another model: " + text);
  for (size_t i = 0; i < count; ++i)
    label(builder, differences[i]);
  if (!helpWithKind(builder, differences) &&
      !proposes(builder, config, differences))
    builder.help("name weights of the recipe's model, or write the model that "
                 "these weights are of");
}

} // namespace

bool checkConfig(const Place& place, const recipe::Recipe& recipe,
                 const reciperun::plan::Plan& plan, const SourceMap& sources,
                 diag::Engine& engine) {
  std::string path =
      (std::filesystem::path(place.resolved) / "config.json").string();
  auto refuse = [&](const std::string& what) {
    engine
        .report(diag::Kind::InvalidData, place.range,
                "`" + place.setting + "`: " + what)
        .help("copy or download the model's `config.json` again");
    return false;
  };
  auto text = reciperun::readTextFile(path);
  if (!text)
    return refuse(text.message());
  auto differences = reciperun::checkpoint::configDifferences(
      "`" + path + "`", *text, plan.exchange.config);
  if (!differences)
    return refuse(differences.message());
  if (differences->empty())
    return true;
  auto config = reciperun::checkpoint::parseModelConfig(*text);
  Comparison(place, recipe, sources)
      .report("`" + path + "`", *config, *differences, engine);
  return false;
}

bool checkManifest(const Place& place, const recipe::Recipe& recipe,
                   const reciperun::plan::Plan& plan, const SourceMap& sources,
                   diag::Engine& engine) {
  auto text = reciperun::readTextFile(std::filesystem::path(place.resolved) /
                                      "manifest.json");
  const Json manifest = Json::parse(text ? *text : "", nullptr, false);
  if (!manifest.is_object() || !manifest.contains("model") ||
      !manifest["model"].is_object())
    return true;
  const Json& saved = manifest["model"];
  if (!saved.contains("config") || !saved["config"].is_string() ||
      plan.exchange.config.empty())
    return true;
  const std::string json = saved["config"].get<std::string>();
  const std::string name = "the checkpoint `" + place.written + "`";
  auto config = reciperun::checkpoint::parseModelConfig(json);
  auto differences = reciperun::checkpoint::configDifferences(
      name, json, plan.exchange.config);
  if (!config || !differences || differences->empty())
    return true;
  Comparison(place, recipe, sources)
      .report(name, *config, *differences, engine);
  return false;
}

} // namespace recipec::files
