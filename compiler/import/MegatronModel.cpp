// 1. Read the sizes that every model has.
// 2. Find the family by the form of the layers: norms, positions, activation,
//    biases, latent attention and experts.
// 3. Read the fields of the family. An option that changes what a layer
//    computes, but that no model of the library has, is an error.

#include "compiler/import/MegatronModel.h"

#include "compiler/import/LayerPatterns.h"

#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <string>

namespace recipec::importer {
namespace {

class ModelReader {
public:
  ModelReader(Found& found, Job& job, SourceRange range, diag::Engine& engine)
      : found(found), job(job), range(range), engine(engine) {}

  std::optional<int64_t> read() {
    if (!readSizes() || !readFamily())
      return std::nullopt;
    return layers;
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
  /// Fails if the option is given.
  bool refuse(const char* meaning, const std::string& option) {
    return !found.takeFlag(meaning) || failForm("`" + option + "`");
  }
  /// Fails unless the model's embedding and output layer are two matrices.
  bool requireUntied(const std::string& part) {
    return found.takeFlag("is_untied") ||
           failForm(part + " and without "
                           "`--untie-embeddings-and-output-weights`");
  }

  /// Reads a size that Megatron requires.
  bool take(int64_t& size, const char* meaning, const std::string& option) {
    const auto value = found.takeCount(meaning);
    size = value.value_or(0);
    if (!value)
      return fail("the command has no `" + option + "`",
                  "give the option: it is a size of the model");
    return size > 0 || failForm("`" + option + " 0`");
  }

  void setField(const std::string& name, const std::string& value) {
    job.model.fields.push_back({name, value});
  }
  void copyField(const std::string& name, const std::string& meaning) {
    if (const auto value = found.take(meaning))
      setField(name, *value);
  }
  void copyField(const std::string& name, const std::string& meaning,
                 const std::string& usual) {
    setField(name, found.take(meaning).value_or(usual));
  }

  bool readSizes();
  bool readFamily();
  bool readDense();
  bool readMixture();
  bool readDeepseek();
  bool readGpt3();
  bool readLatentAttention();
  bool readYarn();
  bool readDenseLayers();
  bool readSharedExpert();
  bool readRouter();
  bool readPlainRouter();
  bool readBalancing();
  bool readFurtherTokens();
  void readCapacity();
  void readHeads();
  bool readPositions();
  void fitEndToken(int64_t usual);
  int64_t ffnWidth();

  Found& found;
  Job& job;
  const SourceRange range;
  diag::Engine& engine;
  int64_t layers = 0, hidden = 0, heads = 0, vocab = 0, experts = 0;
  int64_t expertFfn = 0;
  bool hasNorms = false;  // of the heads' queries and keys, or of latents
  bool hasBiases = false; // of queries, keys and values alone
};

bool ModelReader::readSizes() {
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

/// The library has the architectures of Llama, Mixtral, Qwen, DeepSeek-V3 and
/// GPT-3.
bool ModelReader::readFamily() {
  const bool isLatent = found.takeFlag("is_latent");
  hasNorms = found.takeFlag("has_qk_norm");
  hasBiases = found.takeFlag("has_qkv_bias");
  if (!refuse("is_squared_relu", "--squared-relu"))
    return false;
  if (experts > 0 && found.takeFlag("has_rope_scaling"))
    return failForm("`--use-rope-scaling` and `--num-experts`");
  if (hasBiases && (hasNorms || isLatent || experts > 0))
    return failForm("`--add-qkv-bias` and `" +
                    std::string(isLatent   ? "--multi-latent-attention"
                                : hasNorms ? "--qk-layernorm"
                                           : "--num-experts") +
                    "`");
  const bool isRotary = found.takeFlag("is_rotary") ||
                        found.take("positions").value_or("") == "rope";
  const std::pair<bool, const char*> parts[] = {
      {found.takeFlag("is_swiglu"), "--swiglu"},
      {found.take("norm").value_or("") == "RMSNorm", "--normalization RMSNorm"},
      {isRotary, "--position-embedding-type rope"},
      {found.takeFlag("has_no_bias"), "--disable-bias-linear"}};
  const auto given = [](const auto& part) { return part.first; };
  if (std::ranges::all_of(parts, given))
    return isLatent      ? readDeepseek()
           : experts > 0 ? readMixture()
                         : readDense();
  const auto missing = std::ranges::find_if_not(parts, given);
  if (isLatent)
    return failForm("`--multi-latent-attention` and without `" +
                    std::string(missing->second) + "`");
  if (std::ranges::none_of(parts, given))
    return readGpt3();
  const auto there = std::ranges::find_if(parts, given);
  return failForm("`" + std::string(there->second) + "` and without `" +
                  missing->second + "`");
}

/// Sets the token at the end of documents to none if the model's own is not in
/// the vocabulary.
void ModelReader::fitEndToken(int64_t usual) {
  if (vocab <= usual)
    setField("eos_token", "none");
}

/// Megatron's default: 4 * hidden * 2 / 3, rounded down to a multiple of 64.
int64_t ModelReader::ffnWidth() {
  return found.takeCount("ffn").value_or(hidden * 8 / 3 / 64 * 64);
}

void ModelReader::readHeads() {
  setField("layers", std::to_string(layers));
  setField("heads", std::to_string(heads));
}

/// The fields behind the sizes of Llama, Mixtral and Qwen.
bool ModelReader::readPositions() {
  const auto keyHeads = found.take("kv_heads");
  if (found.takeFlag("is_grouped"))
    setField("kv_heads", keyHeads.value_or("1"));
  if (hasNorms)
    copyField("head_dim", "head_dim", std::to_string(hidden / heads));
  else
    copyField("head_dim", "head_dim");
  copyField("max_positions", "max_positions");
  copyField("rope_theta", "rotary_base", "10000");
  copyField("rms_eps", "norm_eps", "1e-5");
  if (job.model.module == "qwen")
    fitEndToken(/*usual=*/151643);
  return found.takeNumber("rotary_part").value_or(1) == 1 ||
         failForm("`--rotary-percent` below 1");
}

/// Llama's architecture, or Qwen's: with norms or biases of queries and keys.
bool ModelReader::readDense() {
  job.model = {"llama", "llama"};
  if (hasNorms || hasBiases)
    job.model = {"qwen", hasNorms ? "qwen3" : "qwen2"};
  setField("vocab", std::to_string(vocab));
  setField("hidden", std::to_string(hidden));
  setField("ffn", std::to_string(ffnWidth()));
  setField("tied", found.takeFlag("is_untied") ? "false" : "true");
  readHeads();
  if (!readPositions())
    return false;
  // Megatron's constants are those of Llama 3.1, the library's defaults.
  const std::string factor = found.take("rope_scaling").value_or("8.0");
  if (!found.takeFlag("has_rope_scaling"))
    return true;
  if (hasNorms || hasBiases)
    return failForm("`--use-rope-scaling` and `--" +
                    std::string(hasNorms ? "qk-layernorm`" : "add-qkv-bias`"));
  setField("rope_scaling", "rope_scaling { factor = " + factor + " }");
  return true;
}

/// Mixtral's architecture, or that of Qwen3 with experts.
bool ModelReader::readMixture() {
  if (!requireUntied("experts"))
    return false;
  job.model = {"mixtral", "mixtral"};
  if (hasNorms)
    job.model = {"qwen", "qwen3_moe"};
  setField("vocab", std::to_string(vocab));
  setField("hidden", std::to_string(hidden));
  setField("experts", std::to_string(experts));
  copyField("top_k", "top_k", "2");
  expertFfn = found.takeCount("expert_ffn").value_or(ffnWidth());
  setField("expert_ffn", std::to_string(expertFfn));
  const auto pattern = found.take("expert_layers");
  if (pattern && denseLayers(*pattern, layers) != 0)
    return failForm("`--moe-layer-freq " + *pattern +
                    "` and without `--multi-latent-attention`");
  if (!readPlainRouter() || !readBalancing())
    return false;
  readCapacity();
  readHeads();
  return readPositions();
}

/// Mixtral's router: the softmax over the chosen experts alone.
bool ModelReader::readPlainRouter() {
  const std::string score = found.take("score").value_or("softmax");
  if (score != "softmax")
    return failForm("`--moe-router-score-function " + score +
                    "` and without `--multi-latent-attention`");
  const std::pair<bool, const char*> others[] = {
      {found.takeFlag("is_pre_softmax"), "--moe-router-pre-softmax"},
      {found.takeCount("top_groups").value_or(0) > 0,
       "--moe-router-group-topk"},
      {found.takeNumber("route_scale").value_or(1) != 1,
       "--moe-router-topk-scaling-factor"},
      {found.takeFlag("has_expert_bias"), "--moe-router-enable-expert-bias"},
      {found.takeCount("shared_ffn").value_or(0) > 0,
       "--moe-shared-expert-intermediate-size"},
      {found.takeCount("expert_latent").value_or(0) > 0, "--moe-latent-size"},
      {found.takeCount("mtp_layers").value_or(0) > 0, "--mtp-num-layers"}};
  for (const auto& [isGiven, option] : others)
    if (isGiven)
      return failForm("`" + std::string(option) +
                      "` and without `--multi-latent-attention`");
  return true;
}

/// DeepSeek-V3's architecture.
bool ModelReader::readDeepseek() {
  const std::string form = "`--multi-latent-attention`";
  if (experts == 0)
    return failForm(form + " and without `--num-experts`");
  if (!requireUntied(form))
    return false;
  if (!hasNorms)
    return failForm(form + " and without `--qk-layernorm`");
  job.model = {"deepseek", "deepseek"};
  setField("vocab", std::to_string(vocab));
  setField("hidden", std::to_string(hidden));
  const int64_t ffn = ffnWidth();
  setField("ffn", std::to_string(ffn));
  expertFfn = found.takeCount("expert_ffn").value_or(ffn);
  setField("expert_ffn", std::to_string(expertFfn));
  setField("experts", std::to_string(experts));
  if (!readRouter() || !readBalancing() || !readSharedExpert())
    return false;
  readCapacity();
  readHeads();
  if (!readDenseLayers() || !readFurtherTokens() || !readLatentAttention())
    return false;
  copyField("max_positions", "max_positions");
  copyField("rope_theta", "rotary_base", "10000");
  if (!readYarn())
    return false;
  copyField("rms_eps", "norm_eps", "1e-5");
  copyField("init_std", "init_std", "0.02");
  return true;
}

bool ModelReader::readRouter() {
  const std::string score = found.take("score").value_or("softmax");
  if (score != "sigmoid")
    return failForm("`--multi-latent-attention` and "
                    "`--moe-router-score-function " +
                    score + "`");
  if (found.takeCount("expert_latent").value_or(0) > 0)
    return failForm("`--moe-latent-size`");
  // Sigmoid scores are divided by their sum also with this option.
  found.take("is_pre_softmax");
  copyField("top_k", "top_k", "2");
  const auto groups = found.take("groups"), kept = found.take("top_groups");
  // Without `--moe-router-group-topk` Megatron's router has no groups.
  setField("groups", kept ? groups.value_or("1") : "1");
  setField("top_groups", kept.value_or("1"));
  copyField("route_scale", "route_scale", "1.0");
  // The bias starts at 0 and stays there with a rate of 0.
  const std::string rate = found.take("bias_rate").value_or("1e-3");
  setField("correction_rate", found.takeFlag("has_expert_bias") ? rate : "0.0");
  return true;
}

bool ModelReader::readBalancing() {
  std::vector<std::string> kinds = found.takeList("balancing");
  const std::string coefficient = found.take("aux_loss").value_or("0.0");
  if (kinds.empty())
    kinds = {"aux_loss"};
  for (const std::string& kind : kinds)
    if (kind == "sinkhorn" || kind == "quantile_balancing")
      return failForm("`--moe-router-load-balancing-type " + kind + "`");
  const bool hasNone = kinds == std::vector<std::string>{"none"};
  const bool hasLoss = !hasNone && numberOf(coefficient).value_or(0) > 0;
  setField("aux_loss", hasLoss ? coefficient : "0.0");
  if (hasLoss && kinds != std::vector<std::string>{"seq_aux_loss"})
    job.omit("--moe-router-load-balancing-type = " + llvm::join(kinds, ", "),
             "the library's loss balances each sequence, as `seq_aux_loss`");
  return true;
}

bool ModelReader::readSharedExpert() {
  if (!refuse("has_shared_gate", "--moe-shared-expert-gate"))
    return false;
  const int64_t width = found.takeCount("shared_ffn").value_or(0);
  return width == expertFfn ||
         failForm("`--multi-latent-attention` and "
                  "`--moe-shared-expert-intermediate-size` other than "
                  "`--moe-ffn-hidden-size`: " +
                  std::to_string(width) + " and " + std::to_string(expertFfn));
}

void ModelReader::readCapacity() {
  const auto capacity = found.take("capacity");
  const std::string policy = found.take("drop_policy").value_or("probs");
  if (!capacity)
    return;
  setField("capacity", *capacity);
  setField("overflow", "\"drop\"");
  if (policy != "probs")
    job.omit("--moe-token-drop-policy = " + policy,
             "a full expert keeps the tokens with the largest weights");
}

bool ModelReader::readDenseLayers() {
  const std::string pattern = found.take("expert_layers").value_or("1");
  const auto dense = denseLayers(pattern, layers);
  if (!dense)
    return failForm("`--moe-layer-freq " + pattern +
                    "`, which is no number of dense layers before those with "
                    "experts, " +
                    std::to_string(layers) + " in all");
  setField("dense_layers", std::to_string(*dense));
  return true;
}

bool ModelReader::readFurtherTokens() {
  const int64_t modules = found.takeCount("mtp_layers").value_or(0);
  if (modules > 1)
    return failForm("`--mtp-num-layers` above 1");
  if (modules == 0)
    return true;
  setField("mtp_layers", "1");
  copyField("mtp_loss", "mtp_loss", "0.1");
  return true;
}

bool ModelReader::readLatentAttention() {
  if (!found.has("q_rank"))
    return failForm("`--multi-latent-attention` and without `--q-lora-rank`");
  copyField("q_rank", "q_rank");
  copyField("kv_rank", "kv_rank", "32");
  copyField("nope_dim", "nope_dim", "128");
  copyField("rope_dim", "rope_dim", "64");
  copyField("v_dim", "v_dim", "128");
  return found.takeNumber("rotary_part").value_or(1) == 1 ||
         failForm("`--rotary-percent` below 1");
}

/// Megatron's constants: `original_max_position_embeddings` is 4096.
bool ModelReader::readYarn() {
  const std::string kind = found.take("rope_type").value_or("yarn");
  const std::string factor = found.take("rotary_scaling").value_or("1");
  const std::string scale = found.take("mscale").value_or("1.0");
  const std::string scaleOfAll = found.take("mscale_all_dim").value_or("0.0");
  if (kind != "yarn" || numberOf(factor).value_or(1) <= 1)
    return true;
  if (numberOf(scale) != numberOf(scaleOfAll))
    return failForm("`--mscale " + scale + "` and `--mscale-all-dim " +
                    scaleOfAll + "`, which scale the rotary positions");
  setField("rope_scaling",
           "yarn { factor = " + factor + ", original_max_position = 4096 }");
  if (numberOf(scale) != 1.0)
    setField("softmax_factor",
             "pow(0.1 * " + scale + " * log(" + factor + ") + 1, 2)");
  return true;
}

bool ModelReader::readGpt3() {
  if (experts > 0)
    return failForm("experts and without `--swiglu`");
  if (found.takeFlag("is_untied"))
    return failForm("biases and `--untie-embeddings-and-output-weights`");
  if (found.takeFlag("is_grouped"))
    return failForm("biases and `--group-query-attention`");
  if (hasNorms || hasBiases)
    return failForm("LayerNorm and `--" +
                    std::string(hasNorms ? "qk-layernorm`" : "add-qkv-bias`"));
  job.model = {"gpt3", "gpt3"};
  setField("vocab", std::to_string(vocab));
  setField("hidden", std::to_string(hidden));
  copyField("ffn", "ffn");
  readHeads();
  copyField("head_dim", "head_dim");
  copyField("max_positions", "max_positions");
  copyField("norm_eps", "norm_eps");
  copyField("init_std", "init_std");
  return true;
}

} // namespace

std::optional<int64_t> readMegatronModel(Found& found, Job& job,
                                         SourceRange range,
                                         diag::Engine& engine) {
  return ModelReader(found, job, range, engine).read();
}

} // namespace recipec::importer
