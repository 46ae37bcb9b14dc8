// See ModelConfig.h.

#include "runtime/server/config/ModelConfig.h"

#include "runtime/server/config/ConfigChecks.h"
#include "runtime/server/config/ConfigJson.h"
#include "runtime/server/config/ConfigText.h"
#include "runtime/server/config/TemplateVariables.h"
#include "runtime/server/config/TensorRtLlm.h"
#include "runtime/server/config/model_config.pb.h"

#include <algorithm>
#include <system_error>
#include <utility>

namespace reciperun::server {
namespace {

namespace fs = std::filesystem;
using inference::ModelConfig;

constexpr size_t mostBytes = size_t(4) << 20;
constexpr size_t mostMistakes = 20;

/// `config.pbtxt:3:1: `input[0].dims``, as far as these are known.
std::string whereIs(const FieldPath& field, const ConfigText& read) {
  std::string place = read.placeOf ? read.placeOf(field) : "";
  const std::string path = field.text();
  if (!path.empty())
    place += (place.empty() ? "`" : ": `") + path + "`";
  return place;
}

/// One line for each mistake, which begins with Triton's text; then the
/// warnings, because a variable that was not filled in may be the cause.
Status failureOf(const ConfigMistakes& mistakes, const ConfigText& read) {
  std::string text;
  for (size_t i = 0; i < std::min(mistakes.size(), mostMistakes); ++i) {
    const std::string place = whereIs(mistakes[i].field, read);
    text += (i == 0 ? "" : "\n") + mistakes[i].text +
            (place.empty() ? "" : " (" + place + ")");
  }
  if (mistakes.size() > mostMistakes)
    text += "\nand " + std::to_string(mistakes.size() - mostMistakes) +
            " more mistakes";
  for (const std::string& warning : read.warnings)
    text += "\n" + warning;
  return Status::error(text, StatusCode::invalidArgument);
}

/// The ensemble of TensorRT-LLM declares an output twice. Repetitions that
/// differ are mistakes (checkTensors).
template <class Ios>
void dropRepeated(Ios& all, const char* kind, const ConfigText& read,
                  std::vector<std::string>& warnings) {
  std::set<std::string> seen;
  for (int i = 0, given = 0; i < all.size(); ++given) {
    if (seen.insert(all[i].name()).second) {
      ++i;
      continue;
    }
    warnings.push_back(whereIs(FieldPath(kind)[given], read) + ": the " + kind +
                       " `" + all[i].name() +
                       "` is declared twice; the second one is left out");
    all.DeleteSubrange(i, 1);
  }
}

void checkName(const ModelConfig& config, const std::string& model,
               ConfigMistakes& found) {
  if (!config.name().empty() && config.name() != model)
    found.push_back({"unexpected directory name '" + model + "' for model '" +
                         config.name() +
                         "', directory name must equal model name",
                     "name"});
}

/// Names, completes and verifies what was parsed.
Expected<ReadConfig> finish(ConfigText read, const std::string& model,
                            const ServerGpus& gpus) {
  ModelConfig& config = *read.config;
  if (!areTextsUtf8(config)) // else it could not be sent to a client
    return Status::error("the texts of a configuration must be UTF-8 for " +
                             model,
                         StatusCode::invalidArgument);
  ConfigMistakes nameMistakes;
  checkName(config, model, nameMistakes);
  config.set_name(model);
  completeModelConfig(config, gpus);
  ConfigMistakes mistakes = mistakesOf(config, gpus);
  // Triton looks at the name after the checks of a configuration.
  mistakes.insert(mistakes.end(), nameMistakes.begin(), nameMistakes.end());
  checkTensorRtLlm(config, mistakes);
  if (!mistakes.empty())
    return failureOf(mistakes, read);
  ReadConfig made{.config = read.config, .warnings = read.warnings};
  dropRepeated(*config.mutable_input(), "input", read, made.warnings);
  dropRepeated(*config.mutable_output(), "output", read, made.warnings);
  adaptTensorRtLlm(config, made.warnings);
  return made;
}

/// The name of a file in a model's `configs`.
bool isFileName(const std::string& name) {
  return !name.empty() && name.find('/') == std::string::npos;
}

} // namespace

Expected<ReadConfig> readModelConfig(const fs::path& folder,
                                     const std::string& model,
                                     const std::string& configName,
                                     const ServerGpus& gpus) {
  fs::path file = "config.pbtxt";
  std::error_code code;
  if (const fs::path named = fs::path("configs") / (configName + ".pbtxt");
      isFileName(configName) && fs::exists(folder / named, code))
    file = named;
  const auto text = readModelFile(folder, file, int64_t(mostBytes));
  RECIPERUN_TRY(text);
  return parseModelConfig(*text, model, file.string(), gpus);
}

Expected<ReadConfig> parseModelConfig(std::string_view text,
                                      const std::string& model,
                                      const std::string& file,
                                      const ServerGpus& gpus) {
  if (text.size() > mostBytes)
    return Status::error("`" + file + "` is larger than " +
                             std::to_string(mostBytes) + " bytes",
                         StatusCode::invalidArgument);
  auto read = parseConfigText(text, file);
  RECIPERUN_TRY(read);
  return finish(*std::move(read), model, gpus);
}

Expected<ReadConfig> readModelConfigJson(std::string_view json,
                                         const std::string& model,
                                         const ServerGpus& gpus) {
  const auto config = parseConfigJson(json);
  RECIPERUN_TRY(config);
  clearVariables(**config);
  return finish({.config = *config, .warnings = {}, .placeOf = {}}, model,
                gpus);
}

} // namespace reciperun::server
