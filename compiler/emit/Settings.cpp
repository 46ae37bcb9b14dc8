// Copies settings field by field. The schemas in stdlib/schema give the types.

#include "compiler/emit/Settings.h"

namespace recipec::emit {
namespace {

namespace plan = reciperun::plan;

const recipe::Value* field(const recipe::Record& record,
                           std::string_view name) {
  const recipe::Value* value = record.find(name);
  return value && !value->isNone() ? value : nullptr;
}

std::string text(const recipe::Record& record, std::string_view name) {
  const recipe::Value* value = field(record, name);
  return value ? std::get<std::string>(value->data) : std::string();
}

double real(const recipe::Value& value) {
  if (const auto* whole = std::get_if<int64_t>(&value.data))
    return double(*whole);
  if (const auto* quantity = std::get_if<recipe::Quantity>(&value.data))
    return quantity->amount;
  return std::get<double>(value.data);
}

double realOr(const recipe::Record& record, std::string_view name,
              double otherwise) {
  const recipe::Value* value = field(record, name);
  return value ? real(*value) : otherwise;
}

double realOr(const recipe::Recipe& recipe, std::string_view path,
              double otherwise) {
  const recipe::Value* value = recipe.find(path);
  return value && !value->isNone() ? real(*value) : otherwise;
}

/// One string, or a list of them.
std::vector<std::string> texts(const recipe::Value& value) {
  std::vector<std::string> list;
  if (const auto* one = std::get_if<std::string>(&value.data))
    list.push_back(*one);
  else
    for (const recipe::Value& each : std::get<recipe::List>(value.data))
      list.push_back(std::get<std::string>(each.data));
  return list;
}

std::optional<plan::DataSource> source(const recipe::Value& value);

/// Reads the sources of a blend, with a weight and an epoch count for each.
void readBlend(const recipe::Record& record, plan::DataSource& blend) {
  const auto list = [&](std::string_view name) {
    return std::get<recipe::List>(field(record, name)->data);
  };
  for (const recipe::Value& each : list("sources"))
    blend.sources.push_back(*source(each));
  for (const recipe::Value& weight : list("weights"))
    blend.weights.push_back(real(weight));
  for (const recipe::Value& epochs : list("epochs"))
    blend.epochs.push_back(epochs.isNone() ? 0 : real(epochs));
  blend.stopping = text(record, "stopping");
}

std::optional<plan::DataSource> source(const recipe::Value& value) {
  const auto* record = std::get_if<recipe::Record>(&value.data);
  if (!record)
    return std::nullopt;
  plan::DataSource source;
  source.kind = record->schema;
  if (source.kind == "blend")
    readBlend(*record, source);
  if (const recipe::Value* path = field(*record, "path")) {
    if (source.kind == "jsonl")
      source.path = std::get<std::string>(path->data);
    else
      source.paths = texts(*path);
  }
  source.prompt = text(*record, "prompt");
  source.completion = text(*record, "completion");
  source.messages = text(*record, "messages");
  source.separator = text(*record, "separator");
  const recipe::Value* type = field(*record, "type");
  if (type && !type->isAuto())
    source.type = std::get<std::string>(type->data);
  return source;
}

std::string tokenizerPath(const recipe::Recipe& recipe) {
  std::string path = stringOr(recipe, "tokenizer");
  std::string weights = stringOr(recipe, "weights");
  if (!path.empty() || weights.empty())
    return path;
  return weights + "/tokenizer.json";
}

/// A length of a schedule: steps, or a fraction of the run.
void readLength(const recipe::Record& record, std::string_view name,
                int64_t& steps, double& fraction) {
  const recipe::Value* value = field(record, name);
  if (!value)
    return;
  if (std::holds_alternative<recipe::Quantity>(value->data))
    steps = int64_t(real(*value));
  else
    fraction = real(*value);
}

plan::LearningRate learningRate(const recipe::Value& value) {
  plan::LearningRate rate;
  const auto* record = std::get_if<recipe::Record>(&value.data);
  if (!record) {
    rate.kind = "constant";
    rate.peak = rate.min = real(value);
    return rate;
  }
  rate.kind = record->schema;
  rate.peak = realOr(*record, "peak", 0);
  rate.min = realOr(*record, "min", 0);
  rate.shape = text(*record, "shape");
  readLength(*record, "warmup", rate.warmup, rate.warmupFraction);
  readLength(*record, "decay", rate.decay, rate.decayFraction);
  return rate;
}

} // namespace

std::string stringOr(const recipe::Recipe& recipe, std::string_view path) {
  const recipe::Value* value = recipe.find(path);
  return value && !value->isNone() ? std::get<std::string>(value->data)
                                   : std::string();
}

plan::Data dataSection(const recipe::Recipe& recipe) {
  plan::Data data;
  data.train = source(recipe.at("data.train"));
  data.valid = source(recipe.at("data.valid"));
  data.sequence = recipe.integer("data.sequence");
  data.pack = recipe.boolean("data.pack");
  if (data.pack)
    data.packDocuments = recipe.integer("data.pack_documents");
  data.seed = recipe.integer("data.seed");
  data.chat.before = recipe.string("data.chat.before");
  data.chat.after = recipe.string("data.chat.after");
  data.specialTokens = recipe.boolean("data.special_tokens");
  data.tokenizer = tokenizerPath(recipe);
  data.bosToken = int64_t(realOr(recipe, "model.bos_token", -1));
  data.eosToken = int64_t(realOr(recipe, "model.eos_token", -1));
  return data;
}

plan::Train trainSection(const recipe::Recipe& recipe) {
  plan::Train train;
  train.directory = recipe.string("train.dir");
  train.steps = int64_t(realOr(recipe, "train.total_steps", 0));
  train.epochs = realOr(recipe, "train.epochs", 0);
  train.validateEvery = int64_t(realOr(recipe, "train.validate_every", 0));
  train.logEvery = int64_t(recipe.real("train.log_every"));
  train.seed = recipe.integer("train.seed");
  train.globalBatch = recipe.integer("batch.global");
  train.microBatch = recipe.integer("batch.micro");
  train.accumulation = recipe.integer("batch.accumulation");
  train.learningRate = learningRate(recipe.at("optimizer.lr"));
  for (const recipe::Value& prompt :
       std::get<recipe::List>(recipe.at("train.prompts").data))
    train.prompts.push_back(std::get<std::string>(prompt.data));
  train.spike = realOr(recipe, "train.spike", 0);
  if (train.spike > 0) {
    train.spikeWindow = int64_t(recipe.real("train.spike_window"));
    train.spikeStops = recipe.string("train.on_spike") == "stop";
  }
  train.straggler = realOr(recipe, "train.straggler", 0);
  if (train.straggler > 0)
    train.stragglerWindow = int64_t(recipe.real("train.straggler_window"));
  if (std::string groups = recipe.string("train.log_norms"); groups != "none")
    train.logNorms = std::move(groups);
  train.spotNotices = stringOr(recipe, "train.spot_notices");
  train.tensorboard = stringOr(recipe, "train.tensorboard");
  train.mlflow = stringOr(recipe, "train.mlflow");
  train.metricsPort = int64_t(realOr(recipe, "train.metrics_port", 0));
  return train;
}

plan::Checkpoint checkpointSection(const recipe::Recipe& recipe) {
  plan::Checkpoint checkpoint;
  checkpoint.directory = recipe.string("checkpoint.dir");
  const auto* every =
      std::get_if<recipe::Quantity>(&recipe.at("checkpoint.every").data);
  if (every && every->unit == recipe::Unit::steps)
    checkpoint.every = int64_t(every->amount);
  else if (every)
    checkpoint.everySeconds = every->amount;
  checkpoint.keepTop = recipe.integer("checkpoint.keep_top");
  checkpoint.keepLast = recipe.integer("checkpoint.keep_last");
  checkpoint.resume = recipe.string("checkpoint.resume");
  checkpoint.async = recipe.boolean("checkpoint.async");
  return checkpoint;
}

} // namespace recipec::emit
