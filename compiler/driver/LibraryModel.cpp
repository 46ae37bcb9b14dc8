// 1. Find the family: the model with the `model_type` of the file.
// 2. Give a field the file's value if an entry of `hf_config` is just this
//    field, for example `vocab_size = vocab`.
// 3. Other entries, for example position scaling, cannot be inverted. For
//    these, callers compare the `hf_config` of recipes with the file.

#include "compiler/driver/LibraryModel.h"

#include "compiler/driver/Pipeline.h"
#include "compiler/emit/ExchangeJson.h"
#include "runtime/checkpoint/ModelConfig.h"

#include <algorithm>
#include <set>

namespace recipec::driver {
namespace {

constexpr std::string_view modelsFolder = "std/models/";
constexpr std::string_view recipeExtension = ".recipe";

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

/// The `model_type` of the record `hf_config`; empty if it has none.
std::string modelTypeOf(const ast::File& file, const ast::Body& config) {
  for (const ast::Item& item : config.items) {
    const ast::Assignment* entry = entryOf(item);
    if (!entry || entry->path[0].text != "model_type")
      continue;
    auto* text = std::get_if<ast::StringLiteral>(&file[entry->value].node);
    return text && text->holes.empty() ? text->texts[0] : "";
  }
  return "";
}

/// The models of a file that declare a config.json.
std::vector<Family> familiesIn(const ast::File& file,
                               const std::string& module) {
  std::vector<Family> families;
  for (const ast::Declaration& declaration : file.declarations) {
    auto* model = std::get_if<ast::ModelDecl>(&declaration.node);
    const ast::FieldDecl* field =
        model ? findField(file, *model, "hf_config") : nullptr;
    if (!field || field->defaultValue == ast::ExprId::none)
      continue;
    auto* record =
        std::get_if<ast::RecordExpr>(&file[field->defaultValue].node);
    if (record)
      families.push_back({&file, module, model, &file[record->body]});
  }
  return families;
}

/// `llama` of std/models/llama.recipe.
std::string moduleOf(const std::string& path) {
  return path.substr(modelsFolder.size(), path.size() - modelsFolder.size() -
                                              recipeExtension.size());
}

std::vector<Family> allFamilies(FileLoader& loader) {
  std::vector<Family> families;
  for (const std::string& path : loader.standardFiles()) {
    if (!path.starts_with(modelsFolder))
      continue;
    const ast::File* file = loader.load(path).file;
    if (!file)
      continue;
    for (const Family& family : familiesIn(*file, moduleOf(path)))
      families.push_back(family);
  }
  return families;
}

/// transformers 5 moves `rope_theta` into a record.
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

} // namespace

std::optional<ConfigFile> readConfig(Session& session,
                                     const std::string& path) {
  sema::Loaded::State state;
  const SourceId source = session.loader.addSource(path, state);
  if (source == SourceId::none)
    return std::nullopt;
  const std::string_view text = session.sources.text(source);
  auto json = reciperun::checkpoint::parseModelConfig(text);
  if (json)
    return ConfigFile{source, text, std::move(*json)};
  session.engine.report(diag::Kind::InvalidData, {source, 0, 0},
                        json.message());
  return std::nullopt;
}

std::optional<Family> findFamily(FileLoader& loader, const ConfigJson& config) {
  const ConfigJson type = config.value("model_type", ConfigJson());
  for (const Family& family : allFamilies(loader))
    if (type == modelTypeOf(*family.file, *family.config))
      return family;
  return std::nullopt;
}

std::vector<std::string> knownModelTypes(FileLoader& loader) {
  std::vector<std::string> types;
  for (const Family& family : allFamilies(loader))
    types.push_back(modelTypeOf(*family.file, *family.config));
  return types;
}

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

std::vector<importer::Model> libraryModels(FileLoader& loader) {
  std::vector<importer::Model> models;
  for (const std::string& path : loader.standardFiles()) {
    const ast::File* file =
        path.starts_with(modelsFolder) ? loader.load(path).file : nullptr;
    if (!file)
      continue;
    for (const ast::Declaration& declaration : file->declarations)
      if (auto* let = std::get_if<ast::Let>(&declaration.node))
        models.push_back({moduleOf(path), let->name.text, {}});
  }
  return models;
}

std::vector<ModelField> fieldsOf(const Family& family,
                                 const ConfigJson& config) {
  std::vector<ModelField> fields;
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
      fields.push_back({name->name.text, entry->path[0].text, *value});
  }
  return fields;
}

std::string linesOf(const std::vector<ModelField>& fields) {
  std::string text;
  for (const ModelField& field : fields)
    text += "    " + field.name + " = " + field.value.dump() + "\n";
  return text;
}

std::string configOfRecipe(const FileLoader& library, const std::string& path,
                           const std::string& text, std::string& why) {
  Session session(path);
  session.loader.adopt(library);
  session.loader.useTexts({{path, text}});
  std::optional<recipe::Recipe> recipe;
  if (session.open({}) && session.selectOne())
    recipe = evaluateRecipe(session, session.engine);
  if (session.engine.hasErrors() || !recipe) {
    why = session.engine.all().empty() ? "the recipe errs"
                                       : session.engine.all()[0].message;
    return "";
  }
  if (const recipe::Value* ours = recipe->find("model.hf_config"))
    return emit::toJson(*recipe, *ours);
  why = "the model has no `hf_config`";
  return "";
}

} // namespace recipec::driver
