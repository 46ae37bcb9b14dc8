// 1. Apply the rules, which list a renamed key next to its former names.
// 2. Make the job from the values, with torchtitan's defaults for missing keys.

#include "compiler/import/Torchtitan.h"

#include "compiler/import/ModelNames.h"
#include "compiler/import/Recipes.h"

#include <algorithm>
#include <charconv>

namespace recipec::importer {
namespace {

constexpr std::string_view ofLogs =
    "a recipe logs to metrics.jsonl; see `recipec doc train`";
constexpr std::string_view ofTraces = "`reciperun profile` writes traces";
constexpr std::string_view ofPython = "there is no Python process to set up";
constexpr std::string_view compiledAhead = "a plan is always compiled ahead";

constexpr Rule rules[] = {
    {"job.dump_folder", Reading::text, "dump_folder"},
    {"job.description", Reading::text, "description"},
    {"job.*", Reading::implied},
    {"profiling.*", Reading::omitted, ofTraces},
    {"metrics.log_freq", Reading::count, "log_every"},
    {"metrics.*", Reading::omitted, ofLogs},
    {"model.name", Reading::text, "name"},
    {"model.flavor", Reading::text, "flavor"},
    {"model.hf_assets_path", Reading::text, "assets"},
    {"model.tokenizer_path", Reading::text, "assets"},
    {"model.converters", Reading::texts, "converters"},
    {"optimizer.name", Reading::text, "optimizer"},
    {"optimizer.lr", Reading::number, "lr"},
    {"optimizer.beta1", Reading::number, "beta1"},
    {"optimizer.beta2", Reading::number, "beta2"},
    {"optimizer.eps", Reading::number, "eps"},
    {"optimizer.weight_decay", Reading::number, "weight_decay"},
    {"optimizer.*", Reading::omitted, "the plan decides how the step runs"},
    {"lr_scheduler.warmup_steps", Reading::count, "warmup"},
    {"lr_scheduler.decay_ratio", Reading::number, "decay_ratio"},
    {"lr_scheduler.decay_type", Reading::text, "decay_type"},
    {"lr_scheduler.lr_min", Reading::number, "min_ratio"},
    {"lr_scheduler.min_lr_factor", Reading::number, "min_ratio"},
    {"training.batch_size", Reading::count, "local"},
    {"training.local_batch_size", Reading::count, "local"},
    {"training.global_batch_size", Reading::number, "global"},
    {"training.seq_len", Reading::count, "sequence"},
    {"training.max_norm", Reading::number, "clip"},
    {"training.steps", Reading::count, "steps"},
    {"training.seed", Reading::count, "seed"},
    {"training.dataset", Reading::text, "dataset"},
    {"training.dataset_path", Reading::text, "dataset_path"},
    {"training.mixed_precision_param", Reading::text, "precision"},
    {"training.mixed_precision_reduce", Reading::implied},
    {"training.compile", Reading::omitted, compiledAhead},
    {"training.gc_*", Reading::omitted, ofPython},
    {"compile.*", Reading::omitted, compiledAhead},
    {"parallelism.data_parallel_replicate_degree", Reading::count, "replicas"},
    {"parallelism.data_parallel_shard_degree", Reading::number, "shards"},
    {"parallelism.fsdp_reshard_after_forward", Reading::text, "reshard"},
    {"parallelism.tensor_parallel_degree", Reading::count, "tp"},
    {"parallelism.context_parallel_degree", Reading::count, "cp"},
    {"parallelism.context_parallel_rotate_method", Reading::text, "rotate"},
    {"parallelism.pipeline_parallel_degree", Reading::count, "pp"},
    {"parallelism.pipeline_parallel_schedule", Reading::text, "schedule"},
    {"parallelism.pipeline_parallel_microbatch_size", Reading::count, "micro"},
    {"parallelism.expert_parallel_degree", Reading::count, "ep"},
    {"parallelism.expert_tensor_parallel_degree", Reading::count, "etp"},
    {"parallelism.enable_async_tensor_parallel", Reading::omitted,
     "`comm` decides what overlaps"},
    {"checkpoint.enable", Reading::flag, "checkpoints"},
    {"checkpoint.enable_checkpoint", Reading::flag, "checkpoints"},
    {"checkpoint.folder", Reading::text, "folder"},
    {"checkpoint.interval", Reading::count, "interval"},
    {"checkpoint.keep_latest_k", Reading::count, "keep_last"},
    {"checkpoint.initial_load_path", Reading::text, "weights"},
    {"checkpoint.async_mode", Reading::omitted,
     "checkpoints are written while training goes on"},
    {"checkpoint.*", Reading::omitted,
     "a checkpoint holds the whole state, and the model is exported at the "
     "end"},
    {"activation_checkpoint.mode", Reading::text, "recompute"},
    {"activation_checkpoint.selective_ac_option", Reading::text, "selection"},
    {"*float8.recipe_name", Reading::text, "scaling"},
    {"*float8.*", Reading::omitted, "all linear ops of the layers are in fp8"},
    {"float8.*", Reading::omitted, "all linear ops of the layers are in fp8"},
    {"quantize.linear.*", Reading::omitted,
     "all linear ops of the layers are in fp8"},
    {"validation.*", Reading::omitted,
     "name samples in `data.valid` and set `train.validate_every`"},
};

/// Names of models that differ from torchtitan's by more than case and
/// punctuation.
constexpr std::pair<std::string_view, std::string_view> otherNames[] = {
    {"llama3_405b", "llama3_1_405b"},
    {"llama4_17bx16e", "llama4_scout"},
    {"llama4_17bx128e", "llama4_maverick"},
    {"deepseek_v3_671b", "deepseek_v3"},
};

std::string modelName(Found& found) {
  const std::string name = found.take("name").value_or("llama3");
  const std::string flavor = found.take("flavor").value_or("debugmodel");
  const std::string whole = identifierOf(name + "_" + flavor);
  for (const auto& [theirs, ours] : otherNames)
    if (whole == theirs)
      return std::string(ours);
  return whole;
}

/// Formats a number as the language writes it, with six significant digits.
std::string numberText(double value) {
  char text[32];
  const auto [end, error] = std::to_chars(text, text + sizeof text, value,
                                          std::chars_format::general, 6);
  return std::string(text, end);
}

void readOptimizer(Job& job, Found& found) {
  if (const auto name = found.take("optimizer"); name && *name != "AdamW")
    job.omit("optimizer.name = " + *name, "AdamW is the one optimizer");
  const std::string lr = found.take("lr").value_or("8e-4");
  const std::string warmup = found.take("warmup").value_or("200") + " steps";
  const double least =
      numberOf(lr).value_or(0) * found.takeNumber("min_ratio").value_or(0);
  const std::string end = least > 0 ? ", min = " + numberText(least) : "";
  const std::string shape = found.take("decay_type").value_or("linear");
  const std::string start = "(peak = " + lr + ", warmup = " + warmup;
  if (const auto part = found.take("decay_ratio"))
    job.set("optimizer.lr", "wsd" + start + ", decay = " + *part +
                                ", shape = " + literal(shape) + end + ")");
  else
    job.set("optimizer.lr",
            (shape == "cosine" ? "cosine" : "linear") + start + end + ")");
  if (shape == "sqrt" && !job.settings.back().value.starts_with("wsd"))
    job.omit("lr_scheduler.decay_type = sqrt",
             "a recipe falls along a root with `wsd` alone; it is a line");
  job.set("optimizer.betas", "[" + found.take("beta1").value_or("0.9") + ", " +
                                 found.take("beta2").value_or("0.95") + "]");
  job.set("optimizer.eps", found.take("eps").value_or("1e-8"));
  job.set("optimizer.weight_decay", found.take("weight_decay").value_or("0.1"));
  job.set("optimizer.clip", found.take("clip").value_or("1.0"));
}

void readPrecision(Job& job, Found& found) {
  std::string compute =
      found.take("precision").value_or("bfloat16") == "float32" ? "fp32"
                                                                : "bf16";
  std::string scaling;
  for (const std::string& converter : found.takeList("converters"))
    if (converter.find("float8") != converter.npos)
      scaling = found.take("scaling").value_or("tensorwise");
    else if (converter.find("mx") != converter.npos)
      scaling = "mxfp8";
    else
      job.omit("model.converters = " + converter,
               "this command knows no counterpart");
  if (!scaling.empty()) {
    compute = "fp8";
    // Rowwise scaling has no counterpart in training.
    if (scaling.starts_with("rowwise")) {
      job.omit("recipe_name = " + scaling,
               "scales are of tensors or of blocks; the recipe takes tensors");
      scaling = "tensorwise";
    }
    job.set("precision.fp8", literal(scaling));
  }
  job.set("precision.compute", literal(compute));
}

void readRecompute(Job& job, Found& found) {
  const std::string mode = found.take("recompute").value_or("selective");
  const std::string selection = found.take("selection").value_or("2");
  if (mode == "none")
    return;
  if (mode == "full") {
    job.set("memory.recompute", literal("full"));
    return;
  }
  job.set("memory.recompute", literal("selective"));
  job.set("memory.recompute_modules", "[\"norm\", \"activation\"]");
  job.omit("activation_checkpoint.selective_ac_option = " + selection,
           "modules are chosen by name; the recipe computes those again that "
           "hold no matmul");
}

void readData(Job& job, Found& found) {
  const std::string dataset = found.take("dataset").value_or("c4_test");
  const auto path = found.take("dataset_path");
  job.set("data.train", "mock()");
  job.remarks.push_back(
      "`" + path.value_or(dataset) +
      "` is a dataset of Hugging Face: the recipe takes random tokens. Name "
      "files with `data.train = text(...)`.");
  if (const auto assets = found.take("assets"))
    job.omit("model.tokenizer = " + *assets,
             "`tokenizer` names a tokenizer.json, once `data` holds text");
  job.sequence = found.takeCount("sequence").value_or(2048);
}

void readCheckpoints(Job& job, Found& found) {
  const bool isOn = found.takeFlag("checkpoints");
  const auto folder = found.take("folder");
  const std::string root = found.take("dump_folder").value_or("outputs");
  const auto every = found.take("interval"), kept = found.take("keep_last");
  if (!isOn)
    return;
  job.set("checkpoint.dir",
          literal(root + "/" + folder.value_or("checkpoint")));
  job.set("checkpoint.every", every.value_or("500") + " steps");
  if (kept)
    job.set("checkpoint.keep_last", *kept);
}

void readLength(Job& job, Found& found) {
  job.set("train.steps", found.take("steps").value_or("10000"));
  if (const auto every = found.take("log_every"))
    job.set("train.log_every", *every + " steps");
  if (const auto seed = found.take("seed"))
    job.set("train.seed", *seed);
}

/// Sets how the ranks of `dp` shard the parameters and optimizer state: FSDP2,
/// HSDP or DDP.
void readSharding(Job& job, Found& found, int64_t replicas, int64_t shards) {
  const std::string reshard = found.take("reshard").value_or("default");
  if (shards == 1) {
    job.set("parallel.shard", literal("none"));
    return;
  }
  // With a pipeline, torchtitan by default keeps the gathered parameters from
  // forward to backward.
  const bool isKept =
      reshard == "never" || (reshard == "default" && job.layout.pp > 1);
  job.set("parallel.shard", literal(isKept ? "gradients" : "parameters"));
  if (replicas > 1)
    job.set("parallel.shard_instances", std::to_string(replicas));
}

void readPipeline(Job& job, Found& found) {
  const std::string schedule = found.take("schedule").value_or("1F1B");
  if (job.layout.pp == 1 || schedule == "1F1B")
    return;
  if (schedule == "GPipe")
    job.set("parallel.schedule", literal("gpipe"));
  else if (schedule == "Interleaved1F1B")
    job.layout.vp = 2; // torchtitan's stages per rank
  else
    job.omit("parallelism.pipeline_parallel_schedule = " + schedule,
             "the recipe takes 1F1B");
}

void readLayout(UnsizedJob& made, Found& found) {
  Layout& layout = made.job.layout;
  layout.tp = found.takeCount("tp").value_or(1);
  layout.cp = found.takeCount("cp").value_or(1);
  layout.pp = found.takeCount("pp").value_or(1);
  layout.ep = found.takeCount("ep").value_or(1);
  layout.etp = found.takeCount("etp").value_or(1);
  const int64_t replicas = found.takeCount("replicas").value_or(1);
  const int64_t shards = found.takeCount("shards").value_or(-1);
  const int64_t parts = layout.tp * layout.cp * layout.pp * replicas;
  if (shards >= 1)
    layout.ranks = parts * shards;
  else
    made.multiple = parts; // the launcher chooses the ranks
  readPipeline(made.job, found);
  readSharding(made.job, found, replicas, shards);
  if (const auto rotate = found.take("rotate"); rotate && layout.cp > 1)
    made.job.set("parallel.cp_comm",
                 literal(*rotate == "allgather" ? "all_gather" : "a2a"));
}

/// Runs after readLayout, which sets `layout.ranks` and `multiple`.
void readBatch(UnsizedJob& made, Found& found) {
  Job& job = made.job;
  const Layout& layout = job.layout;
  const int64_t local = found.takeCount("local").value_or(8);
  const int64_t micro = found.takeCount("micro").value_or(1);
  job.set("batch.micro", std::to_string(layout.pp > 1 ? micro : local));
  int64_t global = found.takeCount("global").value_or(-1);
  if (global <= 0 && made.multiple == 0)
    global = local * (layout.ranks / (layout.tp * layout.cp * layout.pp));
  if (global > 0)
    job.set("batch.global", std::to_string(global));
  else
    made.perRank = local;
}

} // namespace

std::span<const Rule> torchtitanRules() {
  return rules;
}

std::optional<UnsizedJob> torchtitanJob(Found found,
                                        const std::vector<Model>& library,
                                        SourceRange range,
                                        diag::Engine& engine) {
  const auto model = requireModel(modelName(found), library, range, engine);
  if (!model)
    return std::nullopt;
  UnsizedJob made;
  Job& job = made.job;
  job.model = *model;
  job.omissions = found.omissions;
  readLayout(made, found);
  readBatch(made, found);
  readData(job, found);
  readPrecision(job, found);
  readRecompute(job, found);
  readOptimizer(job, found);
  readLength(job, found);
  readCheckpoints(job, found);
  if (const auto weights = found.take("weights"))
    job.omit("checkpoint.initial_load_path = " + *weights,
             "`weights` names the folder of a Hugging Face model");
  if (const auto text = found.take("description"))
    job.summary = *text + ", as torchtitan's configuration says.";
  return made;
}

} // namespace recipec::importer
