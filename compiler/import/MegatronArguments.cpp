// 1. Split the words into the launcher's options and the script's, and apply
//    the rules.
// 2. Find the model of the library that the options describe, and its sizes.
// 3. Convert the other values to a job.

#include "compiler/import/MegatronArguments.h"

#include "compiler/import/Recipes.h"
#include "compiler/import/Rules.h"

#include <algorithm>

namespace recipec::importer {
namespace {

constexpr std::string_view ofMetrics = "a run writes metrics.jsonl";
constexpr std::string_view ofKernels = "the plan decides which kernels run";
constexpr std::string_view ofOverlap = "`comm` decides what overlaps";
constexpr std::string_view ofLauncher = "a setting of the launcher";
constexpr std::string_view ofData =
    "a recipe names its files in `data.train` and `data.valid`";
constexpr std::string_view ofTokenizer =
    "`tokenizer` names a tokenizer.json, once `data` holds text";

constexpr Rule launcherRules[] = {
    {"--nproc_per_node", Reading::count, "devices"},
    {"--nproc-per-node", Reading::count, "devices"},
    {"--nnodes", Reading::count, "nodes"},
    {"*", Reading::omitted, ofLauncher},
};

constexpr Rule megatronRules[] = {
    // the model
    {"--num-layers", Reading::count, "layers"},
    {"--hidden-size", Reading::count, "hidden"},
    {"--ffn-hidden-size", Reading::count, "ffn"},
    {"--num-attention-heads", Reading::count, "heads"},
    {"--group-query-attention", Reading::flag, "is_grouped"},
    {"--num-query-groups", Reading::count, "kv_heads"},
    {"--kv-channels", Reading::count, "head_dim"},
    {"--max-position-embeddings", Reading::count, "max_positions"},
    {"--position-embedding-type", Reading::text, "positions"},
    {"--use-rotary-position-embeddings", Reading::flag, "is_rotary"},
    {"--rotary-base", Reading::number, "rotary_base"},
    {"--rotary-percent", Reading::number, "rotary_part"},
    {"--normalization", Reading::text, "norm"},
    {"--norm-epsilon", Reading::number, "norm_eps"},
    {"--layernorm-epsilon", Reading::number, "norm_eps"},
    {"--swiglu", Reading::flag, "is_swiglu"},
    {"--squared-relu", Reading::flag, "is_squared_relu"},
    {"--disable-bias-linear", Reading::flag, "has_no_bias"},
    {"--add-qkv-bias", Reading::flag, "has_qkv_bias"},
    {"--qk-layernorm", Reading::flag, "has_qk_norm"},
    {"--untie-embeddings-and-output-weights", Reading::flag, "is_untied"},
    {"--vocab-size", Reading::count, "vocab"},
    {"--init-method-std", Reading::number, "init_std"},
    {"--num-experts", Reading::count, "experts"},
    {"--moe-router-topk", Reading::count, "top_k"},
    {"--moe-ffn-hidden-size", Reading::count, "expert_ffn"},
    {"--moe-aux-loss-coeff", Reading::number, "aux_loss"},
    {"--moe-expert-capacity-factor", Reading::number, "capacity"},
    {"--attention-dropout", Reading::number, "attention_dropout"},
    {"--hidden-dropout", Reading::number, "hidden_dropout"},
    // the layout
    {"--tensor-model-parallel-size", Reading::count, "tp"},
    {"--pipeline-model-parallel-size", Reading::count, "pp"},
    {"--context-parallel-size", Reading::count, "cp"},
    {"--expert-model-parallel-size", Reading::count, "ep"},
    {"--expert-tensor-parallel-size", Reading::count, "etp"},
    {"--num-layers-per-virtual-pipeline-stage", Reading::count, "chunk_layers"},
    {"--num-virtual-stages-per-pipeline-rank", Reading::count, "vp"},
    {"--sequence-parallel", Reading::flag, "is_sequence"},
    {"--use-distributed-optimizer", Reading::flag, "is_distributed"},
    {"--use-torch-fsdp2", Reading::flag, "is_fsdp"},
    {"--use-custom-fsdp", Reading::flag, "is_fsdp"},
    {"--use-megatron-fsdp", Reading::flag, "is_fsdp"},
    {"--data-parallel-sharding-strategy", Reading::text, "strategy"},
    // a step
    {"--micro-batch-size", Reading::count, "micro"},
    {"--global-batch-size", Reading::count, "global"},
    {"--seq-length", Reading::count, "sequence"},
    {"--train-iters", Reading::count, "steps"},
    {"--train-samples", Reading::count, "samples"},
    {"--eval-interval", Reading::count, "validate_every"},
    {"--log-interval", Reading::count, "log_every"},
    {"--seed", Reading::count, "seed"},
    {"--bf16", Reading::flag, "is_bf16"},
    {"--fp16", Reading::flag, "is_fp16"},
    {"--fp8-format", Reading::text, "fp8"},
    {"--fp8-recipe", Reading::text, "fp8_recipe"},
    {"--recompute-activations", Reading::flag, "recompute_selected"},
    {"--recompute-granularity", Reading::text, "recompute"},
    {"--recompute-num-layers", Reading::count, "recompute_layers"},
    {"--recompute-method", Reading::omitted,
     "`memory.recompute_layers` counts layers from the first on"},
    // the optimizer
    {"--lr", Reading::number, "lr"},
    {"--min-lr", Reading::number, "min_lr"},
    {"--lr-decay-style", Reading::text, "decay"},
    {"--lr-warmup-iters", Reading::count, "warmup"},
    {"--lr-warmup-fraction", Reading::number, "warmup_part"},
    {"--weight-decay", Reading::number, "weight_decay"},
    {"--adam-beta1", Reading::number, "beta1"},
    {"--adam-beta2", Reading::number, "beta2"},
    {"--adam-eps", Reading::number, "eps"},
    {"--clip-grad", Reading::number, "clip"},
    {"--optimizer", Reading::text, "optimizer"},
    // checkpoints
    {"--save", Reading::text, "save"},
    {"--save-interval", Reading::count, "save_every"},
    {"--load", Reading::omitted,
     "a run resumes from its own folder; `weights` names a Hugging Face model"},
    // options that do not change a recipe
    {"--use-mcore-models", Reading::implied},
    {"--mock-data", Reading::implied},
    {"--transformer-impl", Reading::omitted, ofKernels},
    {"--use-flash-attn", Reading::omitted, ofKernels},
    {"--attention-backend", Reading::omitted, ofKernels},
    {"--no-masked-softmax-fusion", Reading::omitted, ofKernels},
    {"--cross-entropy-loss-fusion", Reading::omitted, ofKernels},
    {"--overlap-grad-reduce", Reading::omitted, ofOverlap},
    {"--overlap-param-gather", Reading::omitted, ofOverlap},
    {"--tp-comm-overlap", Reading::omitted, ofOverlap},
    {"--data-path", Reading::omitted, ofData},
    {"--split", Reading::omitted, ofData},
    {"--tokenizer-type", Reading::text, "tokenizer"},
    {"--tokenizer-*", Reading::omitted, ofTokenizer},
    {"--vocab-file", Reading::omitted, ofTokenizer},
    {"--merge-file", Reading::omitted, ofTokenizer},
    {"--tensorboard-*", Reading::omitted, ofMetrics},
    {"--log-*", Reading::omitted, ofMetrics},
    {"--wandb-*", Reading::omitted, ofMetrics},
    {"--eval-iters", Reading::omitted,
     "validation runs over all of `data.valid`"},
    {"--lr-decay-iters", Reading::omitted,
     "a rate reaches its end at the last step"},
    {"--moe-*", Reading::omitted, "the library's experts have one form"},
};

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
    if (!readSizes() || !readModel())
      return std::nullopt;
    readLayout();
    readSharding();
    readBatch();
    readPrecision();
    readMemory();
    readOptimizer();
    readLength();
    readCheckpoints();
    return std::move(made);
  }

private:
  bool fail(const std::string& message, const std::string& help) {
    engine.report(diag::Kind::NotSupported, range, message).help(help);
    return false;
  }
  bool failForm(const std::string& what) {
    return fail("the standard library has no GPT model with " + what,
                "write the model in the recipe language, as "
                "std/models/llama.recipe does");
  }

  /// Reads a size that Megatron requires.
  bool take(int64_t& size, const char* meaning, const std::string& option) {
    const auto value = found.takeCount(meaning);
    size = value.value_or(0);
    return value ? true
                 : fail("the command has no `" + option + "`",
                        "give the option: it is a size of the model");
  }

  void setField(const std::string& name, const std::string& value) {
    job.model.fields.push_back({name, value});
  }
  void copyField(const std::string& name, const std::string& meaning) {
    if (const auto value = found.take(meaning))
      setField(name, *value);
  }
  void copySetting(const std::string& path, const std::string& meaning,
                   const std::string& unit = "") {
    if (const auto value = found.take(meaning))
      job.set(path, *value + unit);
  }

  bool readSizes();
  bool readModel();
  bool readLlama();
  bool readGpt3();
  void readLayout();
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
  int64_t layers = 0, hidden = 0, heads = 0, vocab = 0, experts = 0;
  int64_t global = 0; // 0: the sequences that the ranks of `dp` process at once
};

bool MegatronReader::readSizes() {
  experts = found.takeCount("experts").value_or(0);
  const bool isGpt2 =
      found.take("tokenizer").value_or("") == "GPT2BPETokenizer";
  if (isGpt2 && !found.has("vocab"))
    found.put("vocab", {"50257"});
  return take(layers, "layers", "--num-layers") &&
         take(hidden, "hidden", "--hidden-size") &&
         take(heads, "heads", "--num-attention-heads") &&
         take(vocab, "vocab", "--vocab-size");
}

/// The library has Llama's architecture, with or without experts, and GPT-3's.
bool MegatronReader::readModel() {
  for (const auto& [meaning, option] :
       {std::pair("has_qk_norm", "--qk-layernorm"),
        std::pair("has_qkv_bias", "--add-qkv-bias"),
        std::pair("is_squared_relu", "--squared-relu")})
    if (found.takeFlag(meaning))
      return failForm("`" + std::string(option) + "`");
  const bool isRotary = found.takeFlag("is_rotary") ||
                        found.take("positions").value_or("") == "rope";
  const std::pair<bool, const char*> parts[] = {
      {found.takeFlag("is_swiglu"), "--swiglu"},
      {found.take("norm").value_or("") == "RMSNorm", "--normalization RMSNorm"},
      {isRotary, "--position-embedding-type rope"},
      {found.takeFlag("has_no_bias"), "--disable-bias-linear"}};
  const auto given = [](const auto& part) { return part.first; };
  if (std::ranges::all_of(parts, given))
    return readLlama();
  if (std::ranges::none_of(parts, given))
    return readGpt3();
  const auto there = std::ranges::find_if(parts, given);
  const auto missing = std::ranges::find_if_not(parts, given);
  return failForm("`" + std::string(there->second) + "` and without `" +
                  missing->second + "`");
}

bool MegatronReader::readLlama() {
  const bool isTied = !found.takeFlag("is_untied");
  if (experts > 0 && isTied)
    return failForm("experts and without "
                    "`--untie-embeddings-and-output-weights`");
  // Megatron's default: 4 * hidden * 2 / 3, rounded down to a multiple of 64.
  const int64_t usual = hidden * 8 / 3 / 64 * 64;
  const int64_t ffn = found.takeCount("ffn").value_or(usual);
  job.model = {experts > 0 ? "mixtral" : "llama",
               experts > 0 ? "mixtral" : "llama"};
  setField("vocab", std::to_string(vocab));
  setField("hidden", std::to_string(hidden));
  if (experts > 0) {
    setField("experts", std::to_string(experts));
    setField("top_k", found.take("top_k").value_or("2"));
    setField("expert_ffn",
             found.take("expert_ffn").value_or(std::to_string(ffn)));
    setField("aux_loss", found.take("aux_loss").value_or("0.0"));
    copyField("capacity", "capacity");
  } else {
    setField("ffn", std::to_string(ffn));
    setField("tied", isTied ? "true" : "false");
  }
  setField("layers", std::to_string(layers));
  setField("heads", std::to_string(heads));
  const auto keyHeads = found.take("kv_heads");
  if (found.takeFlag("is_grouped"))
    setField("kv_heads", keyHeads.value_or("1"));
  copyField("head_dim", "head_dim");
  copyField("max_positions", "max_positions");
  setField("rope_theta", found.take("rotary_base").value_or("10000"));
  setField("rms_eps", found.take("norm_eps").value_or("1e-5"));
  return found.takeNumber("rotary_part").value_or(1) == 1 ||
         failForm("`--rotary-percent` below 1");
}

bool MegatronReader::readGpt3() {
  if (experts > 0)
    return failForm("experts and without `--swiglu`");
  if (found.takeFlag("is_untied"))
    return failForm("biases and `--untie-embeddings-and-output-weights`");
  if (found.takeFlag("is_grouped"))
    return failForm("biases and `--group-query-attention`");
  job.model = {"gpt3", "gpt3"};
  setField("vocab", std::to_string(vocab));
  setField("hidden", std::to_string(hidden));
  copyField("ffn", "ffn");
  setField("layers", std::to_string(layers));
  setField("heads", std::to_string(heads));
  copyField("head_dim", "head_dim");
  copyField("max_positions", "max_positions");
  copyField("norm_eps", "norm_eps");
  copyField("init_std", "init_std");
  return true;
}

void MegatronReader::readLayout() {
  Layout& layout = job.layout;
  layout.tp = found.takeCount("tp").value_or(1);
  layout.cp = found.takeCount("cp").value_or(1);
  layout.pp = found.takeCount("pp").value_or(1);
  layout.ep = found.takeCount("ep").value_or(1);
  layout.etp = found.takeCount("etp");
  layout.vp = found.takeCount("vp").value_or(1);
  if (const auto chunk = found.takeCount("chunk_layers"); chunk.value_or(0) > 0)
    layout.vp = std::max<int64_t>(1, layers / layout.pp / *chunk);
  if (layout.tp > 1 && !found.takeFlag("is_sequence"))
    job.set("parallel.sequence", "false");
  const int64_t nodes = found.takeCount("nodes").value_or(1);
  if (const auto devices = found.takeCount("devices"))
    layout.ranks = *devices * nodes;
  else
    made.multiple = layout.tp * layout.cp * layout.pp;
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
  const auto granularity = found.take("recompute");
  if (!granularity && !isSelected)
    return;
  const std::string kind = granularity.value_or("selective");
  job.set("memory.recompute", literal(kind));
  if (kind == "full")
    copySetting("memory.recompute_layers", "recompute_layers");
}

void MegatronReader::readOptimizer() {
  if (const auto name = found.take("optimizer"); name && *name != "adam")
    job.omit("--optimizer " + *name, "AdamW is the one optimizer");
  const std::string style = found.take("decay").value_or("linear");
  const auto steps = found.take("warmup"), part = found.take("warmup_part");
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
  const Found launched = applyRules(launcher.options, launcherRules, engine);
  Found found = applyRules(command.options, megatronRules, engine);
  if (engine.hasErrors())
    return std::nullopt;
  found.add(launched);
  return MegatronReader(std::move(found), script->range, engine).read();
}

} // namespace recipec::importer
