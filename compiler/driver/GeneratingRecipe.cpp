// The models of the config.json's family are tried in order, each with the
// file's values, until one has an `hf_config` that agrees with the file.

#include "compiler/driver/GeneratingRecipe.h"

#include "compiler/driver/LibraryModel.h"
#include "runtime/checkpoint/ModelConfig.h"
#include "runtime/checkpoint/quantized/ServingFormat.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <string_view>

namespace recipec::driver {
namespace {

/// The maximum length of a sequence, prompt and answer together.
constexpr int64_t mostTokens = 4096;

int64_t tokensOf(const ConfigJson& config) {
  auto found = config.find("max_position_embeddings");
  bool isNumber = found != config.end() && found->is_number_unsigned();
  return isNumber
             ? std::clamp<int64_t>(int64_t(std::min<uint64_t>(
                                       found->get<uint64_t>(), mostTokens)),
                                   1, mostTokens)
             : mostTokens;
}

/// Weights in fp32 are computed in fp32, all others in bf16.
const char* computeOf(const ConfigJson& config) {
  for (const char* key : {"dtype", "torch_dtype"})
    if (config.contains(key) && config[key] == "float32")
      return "fp32";
  return "bf16";
}

/// The section `serve` that keeps the codes of a quantized folder; empty if the
/// folder is not quantized. The loader reports a folder that cannot be read.
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
  return {family.module, "library." + model + " {\n" +
                             linesOf(fieldsOf(family, config)) + "  }\n"};
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
  std::string why;
  const std::string ours = configOfRecipe(library, path, text, why);
  if (ours.empty())
    return why;
  return reciperun::checkpoint::checkModelConfig("config.json", config, ours)
      .message();
}

/// The model of a folder, and a recipe that generates from it.
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
  auto config = readConfig(session, (base / "config.json").string());
  const std::string help =
      "write a recipe of the model and compile it: `recipec plan RECIPE --set "
      "'task=\"generate\"' -o " +
      (base / "generate.plan.json").string() + "`";
  if (!config) {
    if (!session.engine.all().empty())
      session.engine.at(session.engine.all().size() - 1).help(help);
    return std::nullopt;
  }
  auto refuse = [&](const std::string& why) {
    session.engine.report(diag::Kind::InvalidData, {config->source, 0, 0}, why)
        .help(help);
    return std::nullopt;
  };
  std::optional<Family> family = findFamily(session.loader, config->json);
  if (!family)
    return refuse("the standard library has no model of `model_type` " +
                  config->json.value("model_type", ConfigJson()).dump());
  const std::string path = (base / "generate.recipe").string();
  const std::string serving = servingOf(base);
  std::string first;
  for (const std::string& name : modelsOf(*family)) {
    FolderModel model = modelText(*family, name, config->json);
    std::string made = recipeText(model, config->json, serving);
    std::string why = disagreement(session.loader, path, made, config->text);
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
