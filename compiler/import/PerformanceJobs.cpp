// Converts a PerformanceConfig to a Job, with the settings that NeMo's
// performance scripts add (scripts/performance/helpers.py and llm/*.py of
// NVIDIA/NeMo).

#include "compiler/import/Performance.h"

#include "compiler/import/Recipes.h"

#include "llvm/ADT/StringExtras.h"

#include <map>

namespace recipec::importer {
namespace {

std::string taskPrefix(const PerformanceConfig& config) {
  if (config.task == "pre_train")
    return "pretrain";
  return config.task == "finetune" ? "sft" : config.task;
}

std::string precisionOf(const PerformanceConfig& config) {
  return config.isFp8 ? "fp8" : "bf16";
}

bool isDeepSeek(const PerformanceConfig& config) {
  return config.model == "deepseek";
}

/// The scaling of fp8 matmuls. DeepSeek's script only takes blockwise scaling.
std::string scalingOf(const PerformanceConfig& config) {
  const std::map<std::string, std::string> scalings = {{"ds", "delayed"},
                                                       {"cs", "tensorwise"},
                                                       {"mxfp8", "mxfp8"},
                                                       {"ss", "blockwise"}};
  const auto found =
      scalings.find(isDeepSeek(config) ? "ss" : config.fp8Recipe);
  return found == scalings.end() ? "delayed" : found->second;
}

/// The scripts set `grad_reduce_in_fp32 = False`, and with bf16 also
/// `use_precision_aware_optimizer`.
void addPrecision(Job& job, const PerformanceConfig& config) {
  job.set("precision.compute", literal(precisionOf(config)));
  if (config.isFp8)
    job.set("precision.fp8", literal(scalingOf(config)));
  job.set("precision.grads", "\"bf16\"");
  if (!config.isFp8)
    job.set("precision.master", "\"bf16+remainder\"");
}

/// The name that `memory.recompute_modules` has for one of Megatron's modules.
std::string recomputedModule(const std::string& module) {
  const std::map<std::string, std::string> names = {
      {"core_attn", "attention"},   {"layernorm", "norm"},
      {"mla_up_proj", "mla_up"},    {"mlp", "mlp"},
      {"moe", "experts"},           {"moe_act", "activation"},
      {"shared_experts", "experts"}};
  const auto found = names.find(module);
  return found == names.end() ? "" : found->second;
}

void addRecomputedModules(Job& job, const PerformanceConfig& config) {
  std::vector<std::string> names;
  for (const std::string& module : config.recomputeModules)
    if (const std::string name = recomputedModule(module); !name.empty())
      names.push_back(literal(name));
    else
      job.omit("recompute_modules: " + module,
               "`memory.recompute_modules` has no such part");
  if (names.empty())
    return;
  job.set("memory.recompute", "\"selective\"");
  job.set("memory.recompute_modules", "[" + llvm::join(names, ", ") + "]");
}

/// Sets what is recomputed. DeepSeek's scripts recompute the attention when
/// they pretrain and whole layers when they fine-tune.
void addMemory(Job& job, const PerformanceConfig& config) {
  if (config.recomputeLayers > 0) {
    job.set("memory.recompute", "\"full\"");
    job.set("memory.recompute_layers", std::to_string(config.recomputeLayers));
  } else if (!config.recomputeModules.empty()) {
    addRecomputedModules(job, config);
  } else if (isDeepSeek(config)) {
    const bool isPretraining = taskPrefix(config) == "pretrain";
    job.set("memory.recompute", isPretraining ? "\"selective\"" : "\"full\"");
  }
  if (config.offloadLayers > 0)
    job.set("memory.offload_layers", std::to_string(config.offloadLayers));
}

/// Gives experts a capacity of 1.0. NeMo counts the capacity over the tokens of
/// a rank, but `capacity` counts over a sequence. If several `ep` groups share
/// a sequence, `capacity` does not bound a rank's buffer, so
/// `memory.expert_rows` limits the rank to its even share.
void addExperts(Job& job) {
  job.model.fields = {{"capacity", "1.0"}, {"overflow", "\"drop\""}};
  const Layout& layout = job.layout;
  if (layout.tp * layout.cp > layout.ep * layout.etp.value_or(1))
    job.set("memory.expert_rows", "1.0", "NeMo counts the capacity by rank");
}

/// The scripts adapt the fused projection of queries, keys and values.
void addAdapter(Job& job, const PerformanceConfig& config) {
  if (config.task != "lora")
    return;
  const bool isSmall = config.model == "llama3" && config.size == "8b";
  job.set("adapter.rank", isSmall ? "8" : "16");
  job.set("adapter.alpha", isSmall ? "16" : "32");
  job.set("adapter.targets", "[\"q\", \"k\", \"v\"]");
}

void reportModel(const PerformanceConfig& config, const PerformanceModel* model,
                 SourceRange range, diag::Engine& engine) {
  const std::string name = config.model + " " + config.size;
  if (model) {
    engine
        .report(diag::Kind::NotSupported, range,
                "the standard library has no counterpart of `" + name +
                    "`: " + std::string(model->value))
        .help("choose a row of a language model");
    return;
  }
  const std::vector<std::string> names = performanceModelNames();
  const auto meant = diag::didYouMean(name, names);
  engine
      .report(diag::Kind::NotSupported, range,
              "there is no known model `" + name + "`")
      .help(meant ? "did you mean `" + *meant + "`?"
                  : "the models are " + diag::quotedList(names, names.size()));
}

std::string summaryOf(const PerformanceConfig& config) {
  const std::map<std::string, std::string> tasks = {
      {"pretrain", "Pretraining"}, {"sft", "Fine-tuning"}, {"lora", "LoRA"}};
  return tasks.at(taskPrefix(config)) + " of " + config.model + " " +
         config.size + " on " + std::to_string(config.layout.ranks) + " " +
         config.gpu + " in " + precisionOf(config) + ", " + config.origin + ".";
}

bool checkTask(const PerformanceConfig& config, SourceRange range,
               diag::Engine& engine) {
  const std::string task = taskPrefix(config);
  if (task == "pretrain" || task == "sft" || task == "lora")
    return true;
  engine
      .report(diag::Kind::InvalidData, range,
              "there is no task `" + config.task + "`")
      .help("the tasks are `pre_train`, `sft`, `finetune` and `lora`");
  return false;
}

} // namespace

std::optional<Job> jobOf(const PerformanceConfig& config, SourceRange range,
                         diag::Engine& engine) {
  const PerformanceModel* model = findModel(config.model, config.size);
  if (!checkTask(config, range, engine))
    return std::nullopt;
  if (!model || model->module.empty()) {
    reportModel(config, model, range, engine);
    return std::nullopt;
  }
  Job job;
  job.name =
      identifierOf(taskPrefix(config) + "_" + config.model + "_" + config.size +
                   "_" + config.gpu + "_" + precisionOf(config));
  job.summary = summaryOf(config);
  job.task = config.task == "pre_train" ? "pretrain" : "sft";
  job.model = {std::string(model->module), std::string(model->value), {}};
  job.hardware = config.gpu;
  job.layout = config.layout;
  if (model->hasExperts)
    addExperts(job);
  job.sequence = config.sequence > 0 ? config.sequence : model->sequence;
  job.omissions = config.omissions;
  if (model->isTextPart)
    job.omit(config.model, "the encoder of images has no counterpart; the "
                           "recipe has the language model alone");
  if (config.isFsdp)
    job.set("parallel.shard", "\"parameters\"");
  job.set("batch.global", std::to_string(config.global));
  job.set("batch.micro", std::to_string(config.micro));
  job.set("data.train", "mock()");
  job.set("train.steps", std::to_string(config.steps));
  addAdapter(job, config);
  addPrecision(job, config);
  addMemory(job, config);
  return job;
}

std::vector<std::string> performanceHeader() {
  return {
      "Data and weights are random, as for measuring.",
      "NeMo's performance scripts add to their tables: gradients in bf16; with "
      "bf16 an optimizer that keeps the lower halves of the fp32 weights; with "
      "fp8 delayed scaling, for DeepSeek blocks; a `capacity` of 1.0 for "
      "experts; "
      "recomputation for DeepSeek; LoRA of the projections of queries, keys "
      "and "
      "values."};
}

} // namespace recipec::importer
