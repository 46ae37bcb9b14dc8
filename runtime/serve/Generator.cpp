// Generation: 1. load plan, arena, weights, tokenizer; 2. process the prompt in
// buckets; 3. choose a token, emit the text it completes, process it, until it
// is an end token, the limit is reached or the cache is full. When the plan
// does not keep the states of earlier tokens, a token is processed together
// with all of them.

#include "runtime/serve/Generator.h"

#include "runtime/checkpoint/Elements.h"
#include "runtime/checkpoint/FolderKind.h"
#include "runtime/checkpoint/HuggingFaceImport.h"
#include "runtime/data/Documents.h"
#include "runtime/device/HostCopy.h"
#include "runtime/exec/Devices.h"
#include "runtime/plan/PlanJson.h"
#include "runtime/serve/CompilePlan.h"
#include "runtime/serve/EndTokens.h"
#include "runtime/serve/Sampler.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace reciperun::serve {
namespace {

namespace fs = std::filesystem;

/// Converts logits in host memory from any compute type to floats.
void toFloats(const exec::Tensor& logits, float* out) {
  auto type =
      checkpoint::findElementType(checkpoint::safetensorsName(logits.type));
  assert(type && "logits are of a floating-point type");
  checkpoint::convertElements(
      *type, logits.as<const std::byte>(), plan::DType::f32,
      reinterpret_cast<std::byte*>(out), logits.elements());
}

/// Fails when logits are not finite, since they are then no distribution.
Status checkFinite(std::span<const float> logits) {
  auto isFinite = [](float value) { return std::isfinite(value); };
  auto first = std::find_if_not(logits.begin(), logits.end(), isFinite);
  if (first == logits.end())
    return Status::ok();
  const auto count = std::count_if(first, logits.end(), isFinite);
  return Status::error(
      "the model's logits are not finite: that of token " +
      std::to_string(first - logits.begin()) + " is " + std::to_string(*first) +
      ", and so are " + std::to_string(logits.end() - first - count) +
      " of the " + std::to_string(logits.size()) +
      "; its weights are damaged, or too large for the type that it computes "
      "in");
}

Status checkPlan(const plan::Plan& plan, const fs::path& path) {
  std::string place = "`" + path.string() + "`";
  if (plan.task != "generate" || plan.buckets.empty())
    return Status::error(place + " is of task `" + plan.task +
                         "`, not `generate`; compile it with `--set "
                         "'task=\"generate\"'`");
  if (plan.mesh.ranks != 1)
    return Status::error(place + " is for " + std::to_string(plan.mesh.ranks) +
                         " ranks, and prompts are answered on one; compile it "
                         "with `--set cluster.ranks=1`");
  return Status::ok();
}

/// The error for a path that is no exported model: says what it is, and how a
/// model comes from it.
Status noModel(const fs::path& path) {
  using checkpoint::FolderKind;
  const checkpoint::Folder folder = checkpoint::lookAt(path);
  std::string message = checkpoint::describe(path, folder);
  const fs::path saved =
      folder.kind == FolderKind::checkpoint ? path : folder.newest;
  if (folder.kind == FolderKind::adapter)
    message += "; give the folder of the export, where it is merged into the "
               "weights";
  else if (folder.kind == FolderKind::model || folder.kind == FolderKind::other)
    message = "`" + path.string() +
              "` holds neither `generate.plan.json` nor `config.json`, so that "
              "it is no model; give the folder that `export.hf` names";
  else if (folder.kind == FolderKind::file)
    message += "; give the folder of a model";
  else if (!saved.empty())
    message += "; write a model of it with `reciperun convert " +
               saved.string() + " DIR`, and give DIR";
  return Status::error(message);
}

/// The folder's own plan, or one that is compiled for it.
Expected<plan::Plan> planOf(const fs::path& directory) {
  const fs::path path = directory / "generate.plan.json";
  std::error_code code;
  if (fs::exists(fs::symlink_status(path, code)))
    return plan::readPlan(path.string());
  return fs::exists(directory / "config.json", code) ? compilePlan(directory)
                                                     : noModel(directory);
}

} // namespace

Expected<plan::Plan> Generator::readPlan(const fs::path& directory) {
  Expected<plan::Plan> plan = planOf(directory);
  RECIPERUN_TRY(plan);
  RECIPERUN_TRY(checkPlan(*plan, directory / "generate.plan.json"));
  return plan;
}

Expected<std::unique_ptr<Generator>> Generator::open(const fs::path& directory,
                                                     int threads) {
  Expected<plan::Plan> plan = readPlan(directory);
  RECIPERUN_TRY(plan);
  return open(directory, *std::move(plan), threads);
}

Expected<std::unique_ptr<Generator>>
Generator::open(const fs::path& directory, plan::Plan plan, int threads) {
  std::unique_ptr<Generator> generator(new Generator(std::move(plan)));
  RECIPERUN_TRY(generator->load(directory, threads));
  return generator;
}

Status Generator::load(const fs::path& directory, int threads) {
  fs::path tokenizerPath = directory / "tokenizer.json";
  std::error_code code;
  if (fs::exists(tokenizerPath, code)) {
    Expected<data::Tokenizer> read =
        data::Tokenizer::read(tokenizerPath.string());
    RECIPERUN_TRY(read);
    tokenizer.emplace(*std::move(read));
  }
  const plan::Stage& stage = program.stages.front();
  auto opened = exec::openDevice(program, stage, /*place=*/0, threads);
  RECIPERUN_TRY(opened);
  device = *std::move(opened);
  auto connected = exec::connectDevices(
      program, std::make_unique<comm::LocalCommunicator>(), *device);
  RECIPERUN_TRY(connected);
  communicator = *std::move(connected);
  Expected<memory::Arena> taken =
      device->allocate(stage.memory.arena, stage.memory.offloaded);
  RECIPERUN_TRY(taken);
  arena = *std::move(taken);
  checkpoint::ArenaParameters access(program, 0, arena.base(), *device);
  RECIPERUN_TRY(checkpoint::loadHuggingFace(program, 0, directory, access));
  Expected<exec::Executor> made =
      exec::Executor::make(program, arena, *communicator, *device);
  RECIPERUN_TRY(made);
  executor.emplace(*std::move(made));
  Expected<std::set<int32_t>> ends =
      readEndTokens(directory / "generation_config.json");
  RECIPERUN_TRY(ends);
  endTokens = *std::move(ends);
  if (program.data.eosToken >= 0)
    endTokens.insert(int32_t(program.data.eosToken));
  return Status::ok();
}

Expected<Answer> Generator::answer(const std::string& prompt,
                                   const GenerateOptions& options,
                                   const TextSink& sink) {
  if (!tokenizer)
    return Status::error("the model's folder holds no `tokenizer.json`");
  Expected<std::vector<int32_t>> ids =
      data::encodePrompt(program.data, *tokenizer, prompt);
  RECIPERUN_TRY(ids);
  RECIPERUN_TRY(checkIds(*ids));
  restart();
  RECIPERUN_TRY(enter(*ids, nullptr));
  Answer answer;
  data::StreamDecoder decoder(*tokenizer);
  auto show = [&](const std::string& piece) {
    answer.text += piece;
    if (sink && !piece.empty())
      sink(piece);
  };
  Sampler sampler(options.temperature, options.seed);
  for (answer.stop = Stop::tokenLimit;
       int64_t(answer.ids.size()) < options.maxTokens;) {
    int32_t id = sampler.next(last);
    if (endTokens.contains(id)) {
      answer.stop = Stop::endToken;
      break;
    }
    answer.ids.push_back(id);
    show(decoder.next(id));
    if (position == program.cacheTokens) {
      answer.stop = Stop::cacheFull;
      break;
    }
    // The last token of the limit needs no successor.
    if (int64_t(answer.ids.size()) < options.maxTokens)
      RECIPERUN_TRY(enter({&id, 1}, nullptr));
  }
  show(decoder.finish());
  return answer;
}

Expected<Logits> Generator::logits(std::span<const int32_t> ids) {
  RECIPERUN_TRY(checkIds(ids));
  restart();
  Logits all;
  RECIPERUN_TRY(enter(ids, &all));
  return all;
}

Status Generator::checkIds(std::span<const int32_t> ids) const {
  if (ids.empty())
    return Status::error("the prompt has no token");
  if (int64_t(ids.size()) > program.cacheTokens)
    return Status::error("the prompt has " + std::to_string(ids.size()) +
                         " tokens, the plan's KV cache holds " +
                         std::to_string(program.cacheTokens) +
                         "; compile with a larger `data.sequence`");
  int64_t vocab = executor->tensor(program.buckets[0].logits).shape.back();
  for (int32_t id : ids)
    if (id < 0 || id >= vocab)
      return Status::error("token " + std::to_string(id) +
                           " is outside the model's vocabulary of " +
                           std::to_string(vocab));
  return Status::ok();
}

/// The narrowest bucket that fits all `tokens`, or the widest.
const plan::Bucket& Generator::bucketFor(int64_t tokens) const {
  const plan::Bucket* best = &program.buckets[0];
  for (const plan::Bucket& bucket : program.buckets)
    if (bucket.tokens >= tokens && bucket.tokens < best->tokens)
      best = &bucket;
  return *best;
}

/// Processes tokens into the cache; `last` is then the logits after the last of
/// them.
Status Generator::enter(std::span<const int32_t> ids, Logits* all) {
  if (recomputes()) {
    entered.insert(entered.end(), ids.begin(), ids.end());
    ids = entered;
    position = 0;
  }
  while (!ids.empty()) {
    const plan::Bucket& bucket = bucketFor(int64_t(ids.size()));
    size_t count = std::min(ids.size(), size_t(bucket.tokens));
    RECIPERUN_TRY(step(bucket, ids.first(count)));
    if (all)
      RECIPERUN_TRY(appendRows(bucket, int64_t(count), *all));
    ids = ids.subspan(count);
    if (ids.empty())
      RECIPERUN_TRY(takeLast(bucket, int64_t(count) - 1));
  }
  return Status::ok();
}

Status Generator::step(const plan::Bucket& bucket,
                       std::span<const int32_t> ids) {
  device::HostCopy tokens(*device, executor->tensor(bucket.inputs.tokens));
  device::HostCopy positions(*device,
                             executor->tensor(bucket.inputs.positions));
  for (int64_t i = 0; i < bucket.tokens; ++i) {
    bool used = i < int64_t(ids.size());
    tokens.as<int32_t>()[i] = used ? ids[size_t(i)] : 0;
    positions.as<int32_t>()[i] = used ? int32_t(position + i) : -1;
  }
  if (recomputes()) {
    device::HostCopy segments(*device,
                              executor->tensor(bucket.inputs.segments));
    std::fill_n(segments.as<int32_t>(), bucket.tokens, 0); // one document
    RECIPERUN_TRY(segments.store());
  }
  RECIPERUN_TRY(tokens.store());
  RECIPERUN_TRY(positions.store());
  RECIPERUN_TRY(executor->run(bucket.function));
  position += int64_t(ids.size());
  return Status::ok();
}

Status Generator::appendRows(const plan::Bucket& bucket, int64_t rows,
                             Logits& out) const {
  out.vocab = executor->tensor(bucket.logits).shape.back();
  out.values.resize(size_t((out.tokens + rows) * out.vocab));
  for (int64_t row = 0; row < rows; ++row, ++out.tokens)
    RECIPERUN_TRY(readLogits(
        bucket, row,
        std::span(out.values)
            .subspan(size_t(out.tokens * out.vocab), size_t(out.vocab))));
  return Status::ok();
}

Status Generator::takeLast(const plan::Bucket& bucket, int64_t row) {
  last.resize(size_t(executor->tensor(bucket.logits).shape.back()));
  return readLogits(bucket, row, last);
}

/// Reads a row of the bucket's logits as floats.
Status Generator::readLogits(const plan::Bucket& bucket, int64_t row,
                             std::span<float> out) const {
  const exec::Tensor logits = executor->tensor(bucket.logits);
  const int64_t shape[] = {int64_t(out.size())};
  const exec::Tensor from{logits.as<std::byte>() +
                              row * shape[0] * plan::byteSize(logits.type),
                          logits.type, shape};
  RECIPERUN_TRY(device::readPieces(
      *device, from, [&](const exec::Tensor& piece, int64_t first) {
        toFloats(piece, out.data() + first);
        return Status::ok();
      }));
  return checkFinite(out);
}

} // namespace reciperun::serve
