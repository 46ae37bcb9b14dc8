// See FoundJob.h.

#include "compiler/import/FoundJob.h"

#include "compiler/import/ModelNames.h"
#include "compiler/import/Recipes.h"

#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <array>

namespace recipec::importer {
namespace {

/// Recipe paths whose values are copied unchanged.
constexpr std::array<std::string_view, 12> plainPaths = {
    "adapter.rank",
    "adapter.alpha",
    "adapter.dropout",
    "optimizer.eps",
    "optimizer.weight_decay",
    "optimizer.clip",
    "train.steps",
    "train.epochs",
    "train.seed",
    "checkpoint.keep_top",
    "data.seed",
    "data.pack"};

constexpr std::array<std::string_view, 3> stepPaths = {
    "train.validate_every", "train.log_every", "checkpoint.every"};

/// A path that a run can open. For an address other than `s3://` it is local,
/// with a remark that the address has to be mounted there.
std::string openablePath(Job& job, const std::string& path) {
  const size_t scheme = path.find("://");
  if (scheme == path.npos || path.starts_with("s3://"))
    return path;
  const std::string local = path.substr(scheme + 3);
  job.remarks.push_back("`" + path + "` is an address: copy or mount it at `" +
                        local + "`.");
  return local;
}

std::string samples(Job& job, const std::string& path) {
  return "jsonl(" + literal(openablePath(job, path)) +
         ", prompt = \"input\", completion = \"output\")";
}

void takeLayout(Job& job, Found& found) {
  Layout& layout = job.layout;
  layout.tp = found.takeCount("tp").value_or(1);
  layout.cp = found.takeCount("cp").value_or(1);
  layout.pp = found.takeCount("pp").value_or(1);
  layout.vp = found.takeCount("vp").value_or(1);
  layout.ep = found.takeCount("ep").value_or(1);
  layout.etp = found.takeCount("etp");
  const int64_t dp = found.takeCount("dp").value_or(1);
  const bool hasCluster = found.has("devices") || found.has("nodes");
  const int64_t devices = found.takeCount("devices").value_or(1);
  layout.ranks = hasCluster ? devices * found.takeCount("nodes").value_or(1)
                            : dp * layout.tp * layout.cp * layout.pp;
}

void takeBatch(Job& job, Found& found) {
  const int64_t micro = found.takeCount("micro").value_or(1);
  const int64_t parts = job.layout.tp * job.layout.cp * job.layout.pp;
  const int64_t dp =
      std::max<int64_t>(1, job.layout.ranks / std::max<int64_t>(1, parts));
  const int64_t steps = found.takeCount("accumulation").value_or(1);
  const int64_t global = found.takeCount("global").value_or(micro * steps * dp);
  job.set("batch.global", std::to_string(global));
  job.set("batch.micro", std::to_string(micro));
  job.sequence = found.takeCount("sequence").value_or(0);
}

void takePrecision(Job& job, Found& found) {
  const auto precision = found.take("precision");
  if (!precision)
    return;
  if (precision->find("32") != precision->npos)
    job.set("precision.compute", "\"fp32\"");
  else if (precision->starts_with("bf16"))
    job.set("precision.compute", "\"bf16\"");
  else {
    job.omit("precision = " + *precision, "there is no fp16; the recipe takes "
                                          "`bf16`");
    job.set("precision.compute", "\"bf16\"");
  }
}

void takeOptimizer(Job& job, Found& found) {
  const auto name = found.take("optimizer");
  if (name && name->find("adam") == name->npos)
    job.omit("optimizer = " + *name, "AdamW is the one optimizer");
  const auto lr = found.take("lr");
  const auto warmup = found.take("warmup");
  const auto least = found.take("min_lr");
  if (lr && (warmup || least))
    job.set("optimizer.lr", "cosine(peak = " + *lr +
                                ", warmup = " + warmup.value_or("0") +
                                " steps, min = " + least.value_or("0") + ")");
  else if (lr)
    job.set("optimizer.lr", *lr);
  std::vector<std::string> betas = found.takeList("betas");
  const auto first = found.take("beta1"), second = found.take("beta2");
  if (first && second)
    betas = {*first, *second};
  if (!betas.empty())
    job.set("optimizer.betas", "[" + llvm::join(betas, ", ") + "]");
}

/// The recipe's ops for a LoRA target: `q` for `q_proj`; NeMo's fused
/// projections mean several ops.
std::vector<std::string> adaptedOps(const std::string& target) {
  if (target == "linear_qkv" || target == "attention_qkv")
    return {"q", "k", "v"};
  if (target == "linear_proj" || target == "attention_dense")
    return {"o"};
  if (target == "linear_fc1" || target == "mlp_fc1")
    return {"gate", "up"};
  if (target == "linear_fc2" || target == "mlp_fc2")
    return {"down"};
  return {target.substr(0, target.rfind("_proj"))};
}

void takeAdapter(Job& job, Found& found) {
  std::vector<std::string> ops;
  for (const std::string& target : found.takeList("targets"))
    for (const std::string& op : adaptedOps(target))
      ops.push_back(literal(op));
  const auto scheme = found.take("peft");
  const bool isLora = scheme && *scheme == "lora";
  if (scheme && !isLora && *scheme != "none" && *scheme != "null")
    job.omit("peft = " + *scheme, "LoRA is the one adapter");
  if (!isLora)
    return;
  if (!ops.empty())
    job.set("adapter.targets", "[" + llvm::join(ops, ", ") + "]");
  else if (!found.has("adapter.rank"))
    job.set("adapter.rank", "32");
}

void takeData(Job& job, Found& found) {
  const auto train = found.take("train_file");
  job.set("data.train", train ? samples(job, *train) : "mock()");
  if (!train)
    job.remarks.push_back("The configuration names no data: the recipe takes "
                          "random tokens.");
  if (const auto valid = found.take("valid_file"))
    job.set("data.valid", samples(job, *valid));
}

void takeCheckpoints(Job& job, Found& found) {
  const auto folder = found.take("save_dir");
  const bool isPath = folder && folder->find("$") == folder->npos;
  if (isPath)
    job.set("checkpoint.dir", literal(openablePath(job, *folder)));
  else if (folder)
    job.omit("save_dir = " + *folder, "a recipe has no variables; its own "
                                      "folder has the recipe's name");
  if (found.take("save_last").value_or("true") == "false")
    job.omit("save_last = false", "the last checkpoint is always kept");
  const auto resume = found.take("resume_from");
  if (found.take("resume").value_or("true") == "false")
    job.set("checkpoint.resume", "\"never\"");
  else if (resume)
    job.set("checkpoint.resume", literal(*resume));
}

void takePlain(Job& job, Found& found) {
  for (const std::string_view path : plainPaths)
    if (const auto value = found.take(std::string(path)))
      job.set(std::string(path), *value);
  for (const std::string_view path : stepPaths)
    if (const auto value = found.take(std::string(path)))
      job.set(std::string(path), *value + " steps");
}

/// The model and its weights. Returns false with a diagnostic.
bool takeModel(Job& job, Found& found, const std::vector<Model>& library,
               SourceRange range, diag::Engine& engine) {
  const auto path = found.take("model_path");
  const std::string name = found.take("model").value_or(path.value_or(""));
  const auto model = requireModel(name, library, range, engine);
  if (!model)
    return false;
  job.model = *model;
  const std::string weights = path.value_or(name);
  if (weights.find('/') == weights.npos)
    return true;
  const bool isArchive = weights.ends_with(".nemo");
  job.set("weights",
          literal(isArchive ? weights.substr(0, weights.size() - 5) : weights));
  job.remarks.push_back(
      isArchive ? "`" + weights +
                      "` is an archive of NeMo: `weights` names "
                      "the model's Hugging Face folder."
                : "`weights` names a folder: nothing is downloaded.");
  return true;
}

/// NeMo fine-tunes on samples from files, and treats LoRA as a task of its own.
void takeTask(Job& job, Found& found) {
  const std::string task = found.take("task").value_or("");
  if (task == "lora" || task == "peft")
    found.put("peft", {"lora"});
  const bool isTuning =
      found.has("peft") || found.has("train_file") || task == "sft";
  job.task = isTuning ? "sft" : "pretrain";
  const bool isKnown = task.empty() || task == "sft" || task == "lora" ||
                       task == "peft" || task == "pretrain";
  if (!isKnown)
    job.omit("task = " + task, "a recipe pretrains or fine-tunes");
}

} // namespace

std::optional<Job> jobOf(Found found, const std::vector<Model>& library,
                         SourceRange range, diag::Engine& engine) {
  Job job;
  job.omissions = found.omissions;
  job.isMixin = !found.has("model") && !found.has("model_path");
  if (!job.isMixin) {
    if (!takeModel(job, found, library, range, engine))
      return std::nullopt;
    takeTask(job, found);
    takeLayout(job, found);
    takeBatch(job, found);
    takeData(job, found);
    takePrecision(job, found);
    takeOptimizer(job, found);
    takeAdapter(job, found);
  }
  takeCheckpoints(job, found);
  takePlain(job, found);
  return job;
}

} // namespace recipec::importer
