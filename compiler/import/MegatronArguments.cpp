// 1. Split the words into the launcher's options and the script's, and apply
//    the rules.
// 2. Find the model of the library that the options describe, and its sizes.
// 3. Convert the other values to a job.

#include "compiler/import/MegatronArguments.h"

#include "compiler/import/LayerPatterns.h"
#include "compiler/import/MegatronModel.h"
#include "compiler/import/MegatronRules.h"
#include "compiler/import/Recipes.h"

#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <numeric>

namespace recipec::importer {
namespace {

/// Megatron's names of recomputed modules, and those of
/// `memory.recompute_modules`.
constexpr std::pair<std::string_view, std::string_view> recomputedParts[] = {
    {"core_attn", "attention"}, {"layernorm", "norm"},
    {"moe_act", "activation"},  {"mlp", "mlp"},
    {"moe", "experts"},         {"shared_experts", "experts"},
    {"mla_up_proj", "mla_up"}};

/// The layers of each chunk in the order of the model, if the first and the
/// last stage have numbers of their own and the others share the rest. Numbers
/// that do not divide are rounded down.
std::vector<int64_t> unevenChunks(int64_t layers, int64_t pp, int64_t vp,
                                  std::optional<int64_t> first,
                                  std::optional<int64_t> last) {
  const int64_t others = pp - int64_t(first.has_value()) - last.has_value();
  const int64_t rest = layers - first.value_or(0) - last.value_or(0);
  const int64_t share = others > 0 ? rest / others : 0;
  std::vector<int64_t> chunks;
  for (int64_t chunk = 0; chunk < pp * vp; ++chunk) {
    const int64_t stage = chunk % pp;
    int64_t ofStage = share;
    if (stage == 0)
      ofStage = first.value_or(share);
    else if (stage == pp - 1)
      ofStage = last.value_or(share);
    chunks.push_back(ofStage / vp);
  }
  return chunks;
}

/// `[3] + [2] * 29 + [0]`.
std::string runsOf(const std::vector<int64_t>& chunks) {
  std::string text;
  for (size_t i = 0; i < chunks.size();) {
    size_t end = i;
    while (end < chunks.size() && chunks[end] == chunks[i])
      ++end;
    text += (text.empty() ? "[" : " + [") + std::to_string(chunks[i]) + "]";
    if (end - i > 1)
      text += " * " + std::to_string(end - i);
    i = end;
  }
  return text;
}

bool isScript(const Word& word) {
  return word.text.ends_with("pretrain_gpt.py");
}

/// Reads the values of the options, one function per group.
class MegatronReader {
public:
  MegatronReader(Found found, SourceRange range, diag::Engine& engine)
      : found(std::move(found)), range(range), engine(engine) {}

  std::optional<UnsizedJob> read() {
    job.name = "pretrain_gpt";
    job.summary = "The command of Megatron-LM's pretrain_gpt.py.";
    job.omissions = found.omissions;
    const auto count = readMegatronModel(found, job, range, engine);
    if (!count)
      return std::nullopt;
    layers = *count;
    if (!readLayout())
      return std::nullopt;
    readSharding();
    readBatch();
    readPrecision();
    readMemory();
    readOptimizer();
    readLength();
    readCheckpoints();
    for (const std::string& option : found.untaken())
      job.omit(option, "without effect beside the other options, or on the "
                       "library's model");
    return std::move(made);
  }

private:
  void copySetting(const std::string& path, const std::string& meaning,
                   const std::string& unit = "") {
    if (const auto value = found.take(meaning))
      job.set(path, *value + unit);
  }

  bool readLayout();
  void readStages();
  void readSharding();
  void readBatch();
  void readPrecision();
  void readMemory();
  void readOptimizer();
  void readLength();
  void readCheckpoints();

  Found found;
  const SourceRange range;
  diag::Engine& engine;
  UnsizedJob made;
  Job& job = made.job;
  int64_t layers = 0;
  int64_t global = 0; // 0: the sequences that the ranks of `dp` process at once
};

bool MegatronReader::readLayout() {
  Layout& layout = job.layout;
  layout.tp = found.takeCount("tp").value_or(1);
  layout.cp = found.takeCount("cp").value_or(1);
  layout.pp = found.takeCount("pp").value_or(1);
  layout.ep = found.takeCount("ep").value_or(1);
  layout.etp = found.takeCount("etp");
  layout.vp = found.takeCount("vp").value_or(1);
  const std::pair<const char*, int64_t> degrees[] = {
      {"--tensor-model-parallel-size", layout.tp},
      {"--context-parallel-size", layout.cp},
      {"--pipeline-model-parallel-size", layout.pp},
      {"--expert-model-parallel-size", layout.ep},
      {"--expert-tensor-parallel-size", layout.etp.value_or(1)},
      {"--num-virtual-stages-per-pipeline-rank", layout.vp}};
  for (const auto& [option, degree] : degrees)
    if (degree < 1) {
      engine
          .report(diag::Kind::InvalidData, range,
                  "`" + std::string(option) +
                      "` is 0, and a degree is at "
                      "least 1")
          .help("leave the option out");
      return false;
    }
  if (const auto chunk = found.takeCount("chunk_layers"); chunk.value_or(0) > 0)
    layout.vp = std::max<int64_t>(1, layers / layout.pp / *chunk);
  const bool isSequence = found.takeFlag("is_sequence");
  if (layout.tp > 1 && !isSequence)
    job.set("parallel.sequence", "false");
  readStages();
  const int64_t nodes = found.takeCount("nodes").value_or(1);
  if (const auto devices = found.takeCount("devices"))
    layout.ranks = *devices * nodes;
  else
    made.multiple = layout.tp * layout.cp * layout.pp;
  return true;
}

/// The layers of each chunk of the pipeline, where they are not even.
void MegatronReader::readStages() {
  for (const auto& [meaning, path] :
       {std::pair("has_embedding_layer", "parallel.embedding_as_layer"),
        std::pair("has_loss_layer", "parallel.loss_as_layer")})
    if (found.takeFlag(meaning))
      job.set(path, "true");
  Layout& layout = job.layout;
  const auto first = found.takeCount("first_layers");
  const auto last = found.takeCount("last_layers");
  std::optional<std::vector<int64_t>> chunks;
  std::string written;
  if (const auto text = found.take("pipeline_layout")) {
    written = "--pipeline-model-parallel-layout = " + *text;
    chunks = chunkLayers(*text);
    const int64_t count = chunks ? int64_t(chunks->size()) : 0;
    if (count % layout.pp != 0)
      chunks = std::nullopt;
    else if (chunks)
      layout.vp = count / layout.pp;
  } else if (first || last) {
    written = first ? "--decoder-first-pipeline-num-layers"
                    : "--decoder-last-pipeline-num-layers";
    chunks = unevenChunks(layers, layout.pp, layout.vp, first, last);
  } else {
    return;
  }
  const bool isWhole = chunks && std::accumulate(chunks->begin(), chunks->end(),
                                                 int64_t(0)) == layers;
  if (isWhole)
    job.set("parallel.layers", runsOf(*chunks));
  else
    job.omit(written, "does not divide the model's " + std::to_string(layers) +
                          " layers among the pipeline's chunks");
}

void MegatronReader::readSharding() {
  const bool isFsdp = found.takeFlag("is_fsdp");
  const bool isDistributed = found.takeFlag("is_distributed");
  const std::string strategy = found.take("strategy").value_or("no_shard");
  std::string shard = isDistributed ? "optimizer" : "none";
  if (isFsdp)
    shard = strategy == "optim_grads" ? "gradients" : "parameters";
  job.set("parallel.shard", literal(shard));
}

void MegatronReader::readBatch() {
  const int64_t micro = found.takeCount("micro").value_or(1);
  global = found.takeCount("global").value_or(0);
  job.set("batch.micro", std::to_string(micro));
  const int64_t parts = job.layout.tp * job.layout.cp * job.layout.pp;
  if (global == 0 && made.multiple == 0)
    global = micro * std::max<int64_t>(1, job.layout.ranks / parts);
  if (global > 0)
    job.set("batch.global", std::to_string(global));
  else
    made.perRank = micro;
  job.sequence = found.takeCount("sequence").value_or(0);
  job.set("data.train", "mock()");
  job.remarks.push_back(
      "The recipe takes random tokens: name files in `data`.");
}

void MegatronReader::readPrecision() {
  const bool isBf16 = found.takeFlag("is_bf16");
  if (found.takeFlag("is_fp16"))
    job.omit("--fp16", "there is no fp16; the recipe takes `bf16`");
  else if (!isBf16)
    job.set("precision.compute", literal("fp32"));
  if (found.take("grads").value_or("fp32") == "bf16")
    job.set("precision.grads", literal("bf16"));
  const std::string first = found.take("moments").value_or("fp32"),
                    second = found.take("second_moments").value_or("fp32");
  if (first == second && first != "fp16" && first != "fp32")
    job.set("precision.moments", literal(first));
  else if (first != second || first == "fp16")
    job.omit("--exp-avg-dtype = " + first + ", --exp-avg-sq-dtype = " + second,
             "`precision.moments` is one type for both moments, of fp32, bf16 "
             "and fp8");
  const auto format = found.take("fp8");
  const std::string scaling = found.take("fp8_recipe").value_or("delayed");
  if (!format)
    return;
  job.set("precision.compute", literal("fp8"));
  job.set("precision.fp8", literal(scaling));
  if (*format == "e4m3" && scaling != "blockwise" && scaling != "mxfp8")
    job.set("precision.fp8_grads", literal("e4m3"));
}

void MegatronReader::readMemory() {
  const bool isSelected = found.takeFlag("recompute_selected");
  const bool hasExperts = found.takeFlag("recompute_experts");
  const auto granularity = found.take("recompute");
  if (!granularity && !isSelected && !hasExperts)
    return;
  const std::string kind = granularity.value_or("selective");
  job.set("memory.recompute", literal(kind));
  if (kind == "full") {
    copySetting("memory.recompute_layers", "recompute_layers");
    return;
  }
  std::vector<std::string> modules = found.takeList("recompute_modules");
  if (hasExperts)
    modules.push_back("moe");
  std::vector<std::string> parts;
  for (const std::string& module : modules) {
    const auto part = std::ranges::find(
        recomputedParts, module,
        &std::pair<std::string_view, std::string_view>::first);
    if (part == std::end(recomputedParts))
      job.omit("--recompute-modules = " + module,
               "no part of `memory.recompute_modules`");
    else if (const std::string text = literal(part->second);
             std::ranges::find(parts, text) == parts.end())
      parts.push_back(text);
  }
  if (!parts.empty())
    job.set("memory.recompute_modules", "[" + llvm::join(parts, ", ") + "]");
}

void MegatronReader::readOptimizer() {
  if (const auto name = found.take("optimizer"); name && *name != "adam")
    job.omit("--optimizer " + *name, "AdamW is the one optimizer");
  const std::string style = found.take("decay").value_or("linear");
  auto steps = found.take("warmup");
  const auto samples = found.takeCount("warmup_samples");
  if (samples && !steps && global > 0)
    steps = std::to_string(*samples / global);
  const auto part = found.take("warmup_part");
  std::string schedule = "linear";
  if (style == "cosine" || style == "constant")
    schedule = style;
  else if (style == "WSD")
    schedule = "wsd";
  else if (style == "inverse-square-root")
    schedule = "inverse_sqrt";
  std::string text = schedule + "(peak = " + found.take("lr").value_or("1e-4");
  if (steps || part)
    text += ", warmup = " + (steps ? *steps + " steps" : *part);
  if (const auto least = found.take("min_lr"); least && schedule != "constant")
    text += ", min = " + *least;
  job.set("optimizer.lr", text + ")");
  job.set("optimizer.betas", "[" + found.take("beta1").value_or("0.9") + ", " +
                                 found.take("beta2").value_or("0.999") + "]");
  copySetting("optimizer.eps", "eps");
  copySetting("optimizer.weight_decay", "weight_decay");
  copySetting("optimizer.clip", "clip");
}

void MegatronReader::readLength() {
  const auto samples = found.takeCount("samples");
  if (const auto steps = found.take("steps"))
    job.set("train.steps", *steps);
  else if (samples && global > 0)
    job.set("train.steps", std::to_string(*samples / global));
  else if (samples)
    job.omit("--train-samples = " + std::to_string(*samples),
             "`train.steps` times `batch.global` are the samples");
  copySetting("train.validate_every", "validate_every", " steps");
  copySetting("train.log_every", "log_every", " steps");
  if (const auto folder = found.take("tensorboard"))
    job.set("train.tensorboard", literal(*folder));
  job.set("train.seed", found.take("seed").value_or("1234"));
  for (const char* meaning : {"attention_dropout", "hidden_dropout"})
    if (found.takeNumber(meaning).value_or(0.1) > 0)
      job.omit(std::string("--") +
                   (meaning[0] == 'a' ? "attention" : "hidden") + "-dropout",
               "the library's models have no dropout; Megatron's default is "
               "0.1");
}

void MegatronReader::readCheckpoints() {
  const auto folder = found.take("save"), every = found.take("save_every");
  if (!folder)
    return;
  job.set("checkpoint.dir", literal(*folder));
  if (every)
    job.set("checkpoint.every", *every + " steps");
}

} // namespace

bool isMegatron(const std::vector<Word>& words) {
  return std::ranges::any_of(words, isScript);
}

std::optional<UnsizedJob> megatronJob(const std::vector<Word>& words,
                                      diag::Engine& engine) {
  const auto script = std::ranges::find_if(words, isScript);
  const CommandLine launcher = readArguments({words.begin(), script});
  const CommandLine command = readArguments({script, words.end()});
  const Found launched = applyRules(launcher.options, torchrunRules(), engine);
  Found found = applyRules(command.options, megatronRules(), engine);
  if (engine.hasErrors())
    return std::nullopt;
  found.add(launched);
  return MegatronReader(std::move(found), script->range, engine).read();
}

} // namespace recipec::importer
