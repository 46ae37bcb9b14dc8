// A model of the library declares its config.json in `hf_config`. This file
// inverts that mapping.
//
// 1. The family is the model with the `model_type` of the file.
// 2. An entry of `hf_config` that is a field of the model, for example
//    `vocab_size = vocab`, gives the field the file's value.
// 3. Other entries, for example a scaling of positions, cannot be inverted. The
//    family and the models that the library derives from it are tried in order,
//    each with these values, until the `hf_config` of one agrees with the file.

#include "compiler/driver/GeneratingRecipe.h"

#include "compiler/driver/Pipeline.h"
#include "compiler/emit/ExchangeJson.h"
#include "runtime/checkpoint/ModelConfig.h"
#include "runtime/checkpoint/quantized/ServingFormat.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string_view>
#include <vector>

namespace recipec::driver {
namespace {

using ConfigJson = nlohmann::json;

constexpr std::string_view modelsFolder = "std/models/";
constexpr std::string_view recipeExtension = ".recipe";
/// The most tokens of a sequence, prompt and answer together.
constexpr int64_t mostTokens = 4096;

/// A model of the library, and the file that declares it.
struct Family {
  const ast::File* file = nullptr;
  std::string module; // `llama` of std/models/llama.recipe
  const ast::ModelDecl* model = nullptr;
  const ast::Body* config = nullptr; // of `hf_config`
};

const ast::FieldDecl* findField(const ast::File& file,
                                const ast::ModelDecl& model,
                                std::string_view name) {
  for (const ast::Item& item : file[model.body].items)
    if (auto* field = std::get_if<ast::FieldDecl>(&item.node);
        field && field->name.text == name)
      return field;
  return nullptr;
}

/// `name = value` of a record; nullptr for other items.
const ast::Assignment* entryOf(const ast::Item& item) {
  auto* entry = std::get_if<ast::Assignment>(&item.node);
  bool isEntry =
      entry && entry->path.size() == 1 && entry->value != ast::ExprId::none;
  return isEntry ? entry : nullptr;
}

/// Whether the record `hf_config` has the `model_type` of the file.
bool isOfType(const ast::File& file, const ast::Body& config,
              const ConfigJson& wanted) {
  for (const ast::Item& item : config.items) {
    const ast::Assignment* entry = entryOf(item);
    if (!entry || entry->path[0].text != "model_type")
      continue;
    auto* text = std::get_if<ast::StringLiteral>(&file[entry->value].node);
    return text && text->holes.empty() && wanted == text->texts[0];
  }
  return false;
}

std::optional<Family> familyIn(const ast::File& file, const std::string& module,
                               const ConfigJson& type) {
  for (const ast::Declaration& declaration : file.declarations) {
    auto* model = std::get_if<ast::ModelDecl>(&declaration.node);
    const ast::FieldDecl* field =
        model ? findField(file, *model, "hf_config") : nullptr;
    if (!field || field->defaultValue == ast::ExprId::none)
      continue;
    auto* record =
        std::get_if<ast::RecordExpr>(&file[field->defaultValue].node);
    if (record && isOfType(file, file[record->body], type))
      return Family{&file, module, model, &file[record->body]};
  }
  return std::nullopt;
}

std::optional<Family> findFamily(FileLoader& loader, const ConfigJson& type) {
  for (const std::string& path : loader.standardFiles()) {
    if (!path.starts_with(modelsFolder))
      continue;
    const ast::File* file = loader.load(path).file;
    std::string module =
        path.substr(modelsFolder.size(),
                    path.size() - modelsFolder.size() - recipeExtension.size());
    if (auto family = file ? familyIn(*file, module, type) : std::nullopt)
      return family;
  }
  return std::nullopt;
}

/// The names of the family and of the models that its file derives from it, in
/// order.
std::vector<std::string> modelsOf(const Family& family) {
  std::vector<std::string> names = {family.model->name.text};
  for (const ast::Declaration& declaration : family.file->declarations) {
    auto* let = std::get_if<ast::Let>(&declaration.node);
    auto* amend =
        let ? std::get_if<ast::Amend>(&(*family.file)[let->value].node)
            : nullptr;
    auto* base =
        amend ? std::get_if<ast::NameRef>(&(*family.file)[amend->base].node)
              : nullptr;
    if (base &&
        std::find(names.begin(), names.end(), base->name.text) != names.end())
      names.push_back(let->name.text);
  }
  return names;
}

/// transformers 5 moves the base of rotary positions into a record.
const ConfigJson* valueOf(const ConfigJson& config, const std::string& key) {
  auto found = config.find(key);
  if (found != config.end())
    return &*found;
  auto rope = config.find("rope_parameters");
  if (key != "rope_theta" || rope == config.end() || !rope->is_object())
    return nullptr;
  auto theta = rope->find(key);
  return theta == rope->end() ? nullptr : &*theta;
}

/// `  vocab = 640`: one line for each field with a number in the file. A field
/// that has several keys has the value of the first.
std::string settingsOf(const Family& family, const ConfigJson& config) {
  std::string text;
  std::set<std::string> written;
  for (const ast::Item& item : family.config->items) {
    const ast::Assignment* entry = entryOf(item);
    auto* name =
        entry ? std::get_if<ast::NameRef>(&(*family.file)[entry->value].node)
              : nullptr;
    const ast::FieldDecl* field =
        name ? findField(*family.file, *family.model, name->name.text)
             : nullptr;
    const ConfigJson* value = field && !field->isFixed
                                  ? valueOf(config, entry->path[0].text)
                                  : nullptr;
    if (value && (value->is_number() || value->is_boolean()) &&
        written.insert(name->name.text).second)
      text += "    " + name->name.text + " = " + value->dump() + "\n";
  }
  return text;
}

int64_t tokensOf(const ConfigJson& config) {
  auto found = config.find("max_position_embeddings");
  bool isNumber = found != config.end() && found->is_number_unsigned();
  return isNumber
             ? std::clamp<int64_t>(int64_t(std::min<uint64_t>(
                                       found->get<uint64_t>(), mostTokens)),
                                   1, mostTokens)
             : mostTokens;
}

/// Weights in fp32 compute in fp32, all others in bf16.
const char* computeOf(const ConfigJson& config) {
  for (const char* key : {"dtype", "torch_dtype"})
    if (config.contains(key) && config[key] == "float32")
      return "fp32";
  return "bf16";
}

/// The section `serve` with which the codes of a quantized directory are
/// copied; empty for one that is not quantized. The loader reports a directory
/// that cannot be read.
std::string servingOf(const std::filesystem::path& folder) {
  auto files = reciperun::checkpoint::ModelFiles::open(folder);
  if (!files)
    return {};
  auto format = reciperun::checkpoint::servingFormatOf(*files);
  if (!format || format->weights == "bf16")
    return {};
  std::string text = "  serve {\n    weights = \"" + format->weights + "\"\n";
  if (format->hasBlocks)
    text += "    fp8_scales = \"block\"\n";
  if (format->quantizesLogits)
    text += "    quantize_logits = true\n";
  if (!format->excluded.empty())
    text +=
        "    exclude_modules = " + ConfigJson(format->excluded).dump() + "\n";
  return text + "  }\n";
}

FolderModel modelText(const Family& family, const std::string& model,
                      const ConfigJson& config) {
  return {family.module,
          "library." + model + " {\n" + settingsOf(family, config) + "  }\n"};
}

std::string recipeText(const FolderModel& model, const ConfigJson& config,
                       const std::string& serving) {
  return "import std.models." + model.module +
         " as library\n"
         "import std.serving.generation { generation }\n"
         "\n"
         "recipe generate with generation {\n"
         "  model = " +
         model.value +
         "  cluster   { hardware = cpu }\n"
         "  data      { sequence = " +
         std::to_string(tokensOf(config)) +
         " }\n"
         "  precision { compute = \"" +
         computeOf(config) + "\" }\n" + serving + "}\n";
}

/// Why the recipe's model differs from the file's; empty if it does not.
std::string disagreement(const FileLoader& library, const std::string& path,
                         const std::string& text, std::string_view config) {
  Session session(path);
  session.loader.adopt(library);
  session.loader.useTexts({{path, text}});
  std::optional<recipe::Recipe> recipe;
  if (session.open({}) && session.selectOne())
    recipe = evaluateRecipe(session, session.engine);
  if (session.engine.hasErrors() || !recipe)
    return session.engine.all().empty() ? "the recipe errs"
                                        : session.engine.all()[0].message;
  const recipe::Value* ours = recipe->find("model.hf_config");
  if (!ours)
    return "the model has no `hf_config`";
  return reciperun::checkpoint::checkModelConfig("config.json", config,
                                                 emit::toJson(*recipe, *ours))
      .message();
}

/// The model of a folder, and the recipe that generates from it.
struct Found {
  FolderModel model;
  std::string recipe;
};

} // namespace

bool isModelFolder(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(
      std::filesystem::path(path) / "config.json", ignored);
}

static std::optional<Found> findModel(Session& session,
                                      const std::string& folder) {
  const std::filesystem::path base(folder);
  sema::Loaded::State state;
  SourceId source =
      session.loader.addSource((base / "config.json").string(), state);
  if (source == SourceId::none)
    return std::nullopt;
  auto refuse = [&](const std::string& why) {
    session.engine.report(diag::Kind::InvalidData, {source, 0, 0}, why)
        .help("write a recipe of the model and compile it: `recipec plan "
              "RECIPE --set 'task=\"generate\"' -o " +
              (base / "generate.plan.json").string() + "`");
    return std::nullopt;
  };
  const std::string_view text = session.sources.text(source);
  auto config = reciperun::checkpoint::parseModelConfig(text);
  if (!config)
    return refuse(config.message());
  const ConfigJson type = config->value("model_type", ConfigJson());
  std::optional<Family> family = findFamily(session.loader, type);
  if (!family)
    return refuse("the standard library has no model of `model_type` " +
                  type.dump());
  const std::string path = (base / "generate.recipe").string();
  const std::string serving = servingOf(base);
  std::string first;
  for (const std::string& name : modelsOf(*family)) {
    FolderModel model = modelText(*family, name, *config);
    std::string made = recipeText(model, *config, serving);
    std::string why = disagreement(session.loader, path, made, text);
    if (why.empty())
      return Found{std::move(model), std::move(made)};
    first = first.empty() ? why : first;
  }
  return refuse("no model of the standard library agrees with this file: " +
                first);
}

std::optional<FolderModel> modelOfFolder(Session& session,
                                         const std::string& folder) {
  std::optional<Found> found = findModel(session, folder);
  if (!found)
    return std::nullopt;
  return std::move(found->model);
}

std::optional<std::string> generatingRecipe(Session& session,
                                            const std::string& folder) {
  std::optional<Found> found = findModel(session, folder);
  if (!found)
    return std::nullopt;
  return std::move(found->recipe);
}

bool openModelFolder(Session& session) {
  auto text = generatingRecipe(session, session.target.file);
  if (!text)
    return false;
  std::filesystem::path folder = session.target.file;
  session.target.file = (folder / "generate.recipe").string();
  session.loader.useTexts({{session.target.file, *text}});
  return true;
}

} // namespace recipec::driver
