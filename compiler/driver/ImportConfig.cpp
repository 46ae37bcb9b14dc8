// 1. Read the config.json and find the family of its `model_type`.
// 2. For each model of the family, set the fields that differ from the file,
//    and compare the model's `hf_config` with the file.
// 3. Of the models that agree, take the one with the fewest fields. If none
//    agrees, report the key of the nearest one.
// 4. List the keys that the model's `hf_config` does not have.
// 5. Double the nodes until the job fits, with and without `tp`.

#include "compiler/driver/ImportConfig.h"

#include "compiler/driver/ImportTrials.h"
#include "compiler/driver/LibraryModel.h"
#include "compiler/import/Recipes.h"
#include "runtime/checkpoint/ModelConfig.h"

#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <filesystem>

namespace recipec::driver {
namespace {

using reciperun::checkpoint::ConfigDifference;

/// Imported recipes limit pretraining sequences to this length.
constexpr int64_t mostPretrained = 4096;
/// The number of GPUs in an h100 node, and the most GPUs that are tried.
constexpr int64_t fewestGpus = 8;
constexpr int64_t mostGpus = 1024;

/// Keys without influence on what the model computes in training.
constexpr std::string_view inertKeys[] = {
    "_attn_implementation", "_name_or_path",   "auto_map",
    "cache_implementation", "dtype",           "initializer_range",
    "pad_token_id",         "pretraining_tp",  "torch_dtype",
    "transformers_version", "unsloth_version", "use_cache",
};

/// A model of the family with the fields that the file changes.
struct ModelMatch {
  std::string name;
  std::vector<ModelField> fields;
  ConfigJson config; // its `hf_config`
  std::vector<ConfigDifference> differences;
};

/// A recipe with the model, only used to evaluate the model.
std::string trialText(const std::string& module, const ModelMatch& match) {
  return "import std.models." + module +
         " as library\nimport std.serving.generation { generation }\n\n"
         "recipe trial with generation {\n  model = library." +
         match.name + " {\n" + linesOf(match.fields) +
         "  }\n  cluster { hardware = cpu }\n  data { sequence = 1 }\n"
         "  precision { compute = \"bf16\" }\n}\n";
}

/// The `hf_config` of the match with its changed fields; null if the recipe has
/// an error.
ConfigJson evaluate(const FileLoader& library, const std::string& module,
                    const ModelMatch& match) {
  std::string why;
  const std::string text =
      configOfRecipe(library, "trial.recipe", trialText(module, match), why);
  return text.empty() ? ConfigJson() : ConfigJson::parse(text);
}

/// The model `name` with the fields that the file changes; nullopt if its
/// recipe has an error.
std::optional<ModelMatch> matchFor(const FileLoader& library,
                                   const Family& family,
                                   const std::string& name,
                                   const ConfigFile& file) {
  ModelMatch match{.name = name, .fields = {}, .config = {}, .differences = {}};
  const ConfigJson plain = evaluate(library, family.module, match);
  for (const ModelField& field : fieldsOf(family, file.json))
    if (!plain.is_object() ||
        plain.value(field.key, ConfigJson()) != field.value)
      match.fields.push_back(field);
  match.config =
      match.fields.empty() ? plain : evaluate(library, family.module, match);
  if (!match.config.is_object())
    return std::nullopt;
  auto differences = reciperun::checkpoint::configDifferences(
      "config.json", file.text, match.config.dump());
  if (differences)
    match.differences = std::move(*differences);
  return match;
}

/// The model with the fewest differences; among those, with the fewest changed
/// fields.
std::optional<ModelMatch> nearestModel(const FileLoader& library,
                                       const Family& family,
                                       const ConfigFile& file) {
  std::optional<ModelMatch> nearest;
  auto distance = [](const ModelMatch& each) {
    return std::pair(each.differences.size(), each.fields.size());
  };
  for (const std::string& name : modelsOf(family)) {
    auto match = matchFor(library, family, name, file);
    if (match && (!nearest || distance(*match) < distance(*nearest)))
      nearest = std::move(match);
  }
  return nearest;
}

/// The range of a key of the file's outermost object.
SourceRange rangeOfKey(const ConfigFile& file, const std::string& key) {
  const size_t at = file.text.find("\"" + key + "\"");
  if (at == file.text.npos)
    return {file.source, 0, 0};
  return {file.source, uint32_t(at), uint32_t(at + key.size() + 2)};
}

void reportUnknownType(Session& session, const ConfigFile& file) {
  std::vector<std::string> types = knownModelTypes(session.loader);
  session.engine
      .report(diag::Kind::NotSupported, rangeOfKey(file, "model_type"),
              "the standard library has no model of `model_type` " +
                  file.json.value("model_type", ConfigJson()).dump())
      .note("it has models of " + diag::quotedList(types, types.size()))
      .help("write the model in the recipe language, as "
            "std/models/llama.recipe does; `recipec doc models` lists the "
            "models of the library");
}

void reportDifferences(Session& session, const ConfigFile& file,
                       const Family& family, const ModelMatch& nearest) {
  const ConfigDifference& first = nearest.differences.front();
  auto report = session.engine.report(diag::Kind::NotSupported,
                                      rangeOfKey(file, first.key),
                                      "no model of the standard library has `" +
                                          first.key + "` = " + first.theirs);
  for (const ConfigDifference& each : nearest.differences)
    report.note("the nearest model, `" + family.module + "." + nearest.name +
                "`, has `" + each.key + "` = " + each.ours +
                ", and the file has " + each.theirs);
  report.help("copy std/models/" + family.module +
              ".recipe and change the model there");
}

/// Lists the keys of the file that the model's `hf_config` does not have.
void listOtherKeys(importer::Job& job, const ConfigFile& file,
                   const ModelMatch& model) {
  std::vector<std::string> inert;
  for (const auto& [key, value] : file.json.items()) {
    if (key.ends_with("_token_id") && value.is_array())
      job.omit(key + " = " + value.dump(),
               "a model has one such token; generation_config.json lists "
               "several that end an answer");
    if (model.config.contains(key) || key == "rope_parameters")
      continue;
    if (std::ranges::find(inertKeys, key) != std::end(inertKeys))
      inert.push_back(key);
    else
      job.omit(key + " = " + value.dump(),
               "the library's model has no such field");
  }
  if (!inert.empty())
    job.omit(llvm::join(inert, "`, `"),
             "without influence on what the model computes");
}

/// The folder of a config.json, as a path for the recipe; empty if it has no
/// weights.
std::string weightsBeside(const std::filesystem::path& config) {
  const std::filesystem::path folder =
      config.has_parent_path() ? config.parent_path() : ".";
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored))
    if (entry.path().extension() == ".safetensors")
      return folder.string();
  return "";
}

/// The name of the model's folder, or that of the library's model.
std::string nameOf(const std::filesystem::path& config,
                   const std::string& model) {
  std::error_code ignored;
  const std::filesystem::path folder =
      std::filesystem::absolute(config, ignored).parent_path().filename();
  return "pretrain_" + (config.has_parent_path()
                            ? importer::identifierOf(folder.string())
                            : model);
}

/// Adds what config.json does not give: data, batch size, layout and length.
void addStart(importer::Job& job, const ConfigJson& config) {
  int64_t positions = mostPretrained;
  if (auto found = config.find("max_position_embeddings");
      found != config.end() && found->is_number_integer())
    positions = std::clamp<int64_t>(found->get<int64_t>(), 1, mostPretrained);
  job.set("parallel.shard", "\"parameters\"");
  job.set("data.train", "mock()");
  job.sequence = positions;
  job.set("memory.recompute", "\"full\"");
  job.set("optimizer.lr", "1e-4");
  job.set("train.steps", "100");
  job.remarks.push_back(
      "A config.json describes the model alone: data, batch, layout and length "
      "are a start.");
}

/// Chooses the smallest number of nodes that the job fits on, without tensor
/// parallelism where possible.
void chooseNodes(importer::Job& job, const FileLoader& library) {
  for (int64_t gpus = fewestGpus; gpus <= mostGpus; gpus *= 2) {
    for (const int64_t tp : {int64_t(1), fewestGpus}) {
      importer::Job trial = job;
      trial.layout.ranks = gpus;
      trial.layout.tp = tp;
      trial.set("batch.global", std::to_string(std::max<int64_t>(64, gpus)));
      const bool isLast = gpus == mostGpus && tp > 1;
      if (!isLast && !fits(library, trial))
        continue;
      job = std::move(trial);
      return;
    }
  }
}

importer::Job jobOf(const FileLoader& library, const ConfigFile& file,
                    const std::string& path, const Family& family,
                    const ModelMatch& model) {
  importer::Job job;
  job.name = nameOf(path, model.name);
  job.summary = "Pretrains the model of " + path + ".";
  job.model = {family.module, model.name, {}};
  for (const ModelField& field : model.fields)
    job.model.fields.push_back({field.name, field.value.dump()});
  if (std::string folder = weightsBeside(path); !folder.empty())
    job.set("weights", importer::literal(folder));
  addStart(job, file.json);
  listOtherKeys(job, file, model);
  chooseNodes(job, library);
  return job;
}

} // namespace

std::optional<importer::Job> importConfig(Session& session,
                                          const std::string& path) {
  const auto file = readConfig(session, path);
  if (!file) {
    if (session.engine.hasErrors())
      session.engine.at(session.engine.all().size() - 1)
          .help("name the config.json of a Hugging Face model, or its folder");
    return std::nullopt;
  }
  const std::optional<Family> family = findFamily(session.loader, file->json);
  if (!family) {
    reportUnknownType(session, *file);
    return std::nullopt;
  }
  const auto nearest = nearestModel(session.loader, *family, *file);
  if (nearest && nearest->differences.empty())
    return jobOf(session.loader, *file, path, *family, *nearest);
  if (nearest)
    reportDifferences(session, *file, *family, *nearest);
  else
    session.engine
        .report(diag::Kind::InvalidData, rangeOfKey(*file, "model_type"),
                "the sizes in this file make no model of `" + family->module +
                    "`")
        .help("compare it with the file of a model that works");
  return std::nullopt;
}

} // namespace recipec::driver
