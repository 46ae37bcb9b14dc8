// 1. Read the model, and whether it pretrains or fine-tunes, from the script's
//    name.
// 2. Rules translate the options.
// 3. Take missing options from the first row of the table with the same task,
//    model and precision, and with the same number of GPUs if the command gives
//    it, as in NeMo's get_user_configs().

#include "compiler/import/PerformanceScript.h"

#include "compiler/import/Rules.h"

#include <algorithm>

namespace recipec::importer {
namespace {

constexpr std::string_view ofCluster =
    "a setting of the cluster's scheduler, not of a recipe";
constexpr std::string_view ofLogging = "a run writes metrics.jsonl";
constexpr std::string_view ofNccl = "a setting of NCCL, not of a recipe";

constexpr Rule scriptRules[] = {
    {"--gpu", Reading::text, "gpu"},
    {"-g", Reading::text, "gpu"},
    {"--num_gpus", Reading::count, "ranks"},
    {"-ng", Reading::count, "ranks"},
    {"--gpus_per_node", Reading::omitted, "the hardware has that number"},
    {"-gn", Reading::omitted, "the hardware has that number"},
    {"--tensor_parallel_size", Reading::count, "tp"},
    {"-tp", Reading::count, "tp"},
    {"--pipeline_parallel_size", Reading::count, "pp"},
    {"-pp", Reading::count, "pp"},
    {"--context_parallel_size", Reading::count, "cp"},
    {"-cp", Reading::count, "cp"},
    {"--virtual_pipeline_parallel_size", Reading::count, "vp"},
    {"-vp", Reading::count, "vp"},
    {"--expert_parallel_size", Reading::count, "ep"},
    {"-ep", Reading::count, "ep"},
    {"--expert_tensor_parallel_size", Reading::count, "etp"},
    {"-et", Reading::count, "etp"},
    {"--micro_batch_size", Reading::count, "micro"},
    {"-mb", Reading::count, "micro"},
    {"--global_batch_size", Reading::count, "global"},
    {"-gb", Reading::count, "global"},
    {"--max_steps", Reading::count, "steps"},
    {"-ms", Reading::count, "steps"},
    {"--compute_dtype", Reading::text, "dtype"},
    {"-c", Reading::text, "dtype"},
    {"--fp8_recipe", Reading::text, "fp8_recipe"},
    {"-fr", Reading::text, "fp8_recipe"},
    {"--finetuning", Reading::text, "finetuning"},
    {"-f", Reading::text, "finetuning"},
    {"--use_mcore_fsdp", Reading::text, "fsdp"},
    {"-fsdp", Reading::text, "fsdp"},
    {"--recompute_layers", Reading::count, "recompute_layers"},
    {"-rl", Reading::count, "recompute_layers"},
    {"--activation_offload_layers", Reading::count, "offload_layers"},
    {"-ol", Reading::count, "offload_layers"},
    {"--recompute_modules", Reading::texts, "recompute_modules"},
    {"-rm", Reading::texts, "recompute_modules"},
    {"--cuda_graphs", Reading::omitted,
     "the runtime decides what it launches as CUDA graphs"},
    {"-cg", Reading::omitted,
     "the runtime decides what it launches as CUDA graphs"},
    {"--account", Reading::omitted, ofCluster},
    {"-a", Reading::omitted, ofCluster},
    {"--partition", Reading::omitted, ofCluster},
    {"-p", Reading::omitted, ofCluster},
    {"--time_limit", Reading::omitted, ofCluster},
    {"-t", Reading::omitted, ofCluster},
    {"--container_image", Reading::omitted, ofCluster},
    {"-i", Reading::omitted, ofCluster},
    {"--custom_mounts", Reading::omitted, ofCluster},
    {"-cm", Reading::omitted, ofCluster},
    {"--log_dir", Reading::omitted, ofLogging},
    {"-l", Reading::omitted, ofLogging},
    {"--tensorboard", Reading::omitted, ofLogging},
    {"-tb", Reading::omitted, ofLogging},
    {"--wandb*", Reading::omitted, ofLogging},
    {"-wd*", Reading::omitted, ofLogging},
    {"--use_sharp", Reading::omitted, ofNccl},
    {"--use_user_buffer_registration", Reading::omitted, ofNccl},
    {"--nccl_communicator_config_path", Reading::omitted, ofNccl},
    {"--hf_token", Reading::omitted, "nothing is downloaded"},
    {"-hf", Reading::omitted, "nothing is downloaded"},
    {"--dryrun", Reading::implied},
    {"-d", Reading::implied},
};

/// The script's name from a module or a file: `pretrain_llama3_8b`.
std::string scriptName(const CommandLine& command) {
  if (command.program.empty())
    return "";
  std::string name = command.program.back().text;
  if (name.ends_with(".py"))
    name.erase(name.size() - 3);
  return name.substr(name.find_last_of("./") + 1);
}

/// Reads the task and the model from the script's name.
bool readName(PerformanceConfig& config, const std::string& script) {
  const size_t end = script.find('_');
  const std::string task = script.substr(0, end);
  if (end == script.npos || (task != "pretrain" && task != "finetune"))
    return false;
  config.task = task == "pretrain" ? "pre_train" : "lora";
  const std::string rest = script.substr(end + 1);
  for (size_t at = rest.find('_'); at != rest.npos; at = rest.find('_', at + 1))
    if (findModel(rest.substr(0, at), rest.substr(at + 1))) {
      config.model = rest.substr(0, at);
      config.size = rest.substr(at + 1);
      return true;
    }
  return false;
}

bool isYes(const std::string& text) {
  return text == "true" || text == "1" || text == "yes" || text == "y" ||
         text == "t" || text == "True";
}

/// The row from which the script takes its defaults; nullptr if there is none.
const PerformanceConfig*
defaultsOf(const PerformanceConfig& config, std::optional<int64_t> ranks,
           const std::vector<PerformanceConfig>& table) {
  const auto found =
      std::ranges::find_if(table, [&](const PerformanceConfig& row) {
        return row.task == config.task && row.model == config.model &&
               row.size == config.size && row.isFp8 == config.isFp8 &&
               (!ranks || row.layout.ranks == *ranks);
      });
  return found == table.end() ? nullptr : &*found;
}

void takeCount(int64_t& value, Found& found, const char* name) {
  value = found.takeCount(name).value_or(value);
}

void takeSizes(PerformanceConfig& config, Found& found) {
  Layout& layout = config.layout;
  takeCount(layout.tp, found, "tp");
  takeCount(layout.cp, found, "cp");
  takeCount(layout.pp, found, "pp");
  takeCount(layout.vp, found, "vp");
  takeCount(layout.ep, found, "ep");
  if (found.has("etp"))
    layout.etp = found.takeCount("etp");
  takeCount(config.micro, found, "micro");
  takeCount(config.global, found, "global");
  takeCount(config.steps, found, "steps");
  takeCount(config.recomputeLayers, found, "recompute_layers");
  takeCount(config.offloadLayers, found, "offload_layers");
  if (const auto fsdp = found.take("fsdp"))
    config.isFsdp = isYes(*fsdp);
  if (found.has("recompute_modules"))
    config.recomputeModules = found.takeList("recompute_modules");
}

void reportScript(const CommandLine& command, SourceRange whole,
                  diag::Engine& engine) {
  const std::vector<std::string> models = performanceModelNames();
  engine
      .report(diag::Kind::NotSupported,
              command.program.empty() ? whole : command.program.back().range,
              "this is none of NeMo's performance scripts that have a "
              "counterpart")
      .help("name a script such as `python -m "
            "scripts.performance.llm.pretrain_llama3_8b`; the models are " +
            diag::quotedList(models, models.size()));
}

/// Reports a missing size that the script would take from its table.
void checkSize(int64_t value, const char* option, SourceRange range,
               diag::Engine& engine) {
  if (value > 0)
    return;
  engine
      .report(diag::Kind::InvalidData, range,
              "the command has no `" + std::string(option) +
                  "`, which the script takes from its table")
      .help("give the option, or name the table: `recipec import-nemo "
            "model_configs_h100.csv -- COMMAND`");
}

/// Reports a value that is not one of an option's choices.
void checkChoice(const std::string& value, const char* option,
                 const std::vector<std::string>& choices, SourceRange range,
                 diag::Engine& engine) {
  if (std::ranges::find(choices, value) != choices.end())
    return;
  engine
      .report(diag::Kind::InvalidData, range,
              "`" + std::string(option) + "` does not take `" + value + "`")
      .help("write one of " + diag::quotedList(choices, choices.size()));
}

} // namespace

std::optional<PerformanceConfig>
readScript(const CommandLine& command, SourceRange whole,
           const std::vector<PerformanceConfig>& table, diag::Engine& engine) {
  PerformanceConfig config;
  const std::string script = scriptName(command);
  if (!readName(config, script)) {
    reportScript(command, whole, engine);
    return std::nullopt;
  }
  const int errors = engine.errors();
  Found found = applyRules(command.options, scriptRules, engine);
  if (config.task == "lora")
    config.task = found.take("finetuning").value_or("lora");
  const std::string type = found.take("dtype").value_or("bf16");
  config.isFp8 = type == "fp8";
  const auto ranks = found.takeCount("ranks");
  const std::string gpu = found.take("gpu").value_or("h100");
  const std::string fp8Recipe = found.take("fp8_recipe").value_or("ds");
  if (const auto* row = defaultsOf(config, ranks, table))
    config = *row;
  config.gpu = gpu;
  config.fp8Recipe = fp8Recipe;
  config.origin = script;
  config.layout.ranks = ranks.value_or(table.empty() ? 0 : config.layout.ranks);
  takeSizes(config, found);
  config.omissions.insert(config.omissions.end(), found.omissions.begin(),
                          found.omissions.end());
  checkChoice(type, "--compute_dtype", {"bf16", "fp8"}, whole, engine);
  checkChoice(fp8Recipe, "--fp8_recipe", {"ds", "cs", "mxfp8", "ss"}, whole,
              engine);
  checkSize(config.layout.ranks, "--num_gpus", whole, engine);
  checkSize(config.global, "--global_batch_size", whole, engine);
  if (engine.errors() > errors)
    return std::nullopt;
  return config;
}

} // namespace recipec::importer
