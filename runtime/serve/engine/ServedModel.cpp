// See ServedModel.h. The order of the parts in a step is that of the tokens in
// the bucket's inputs; what is left of an input is padding.

#include "runtime/serve/engine/ServedModel.h"

#include "runtime/checkpoint/Elements.h"
#include "runtime/checkpoint/HuggingFaceImport.h"
#include "runtime/device/HostCopy.h"
#include "runtime/device/cpu/Parallel.h"
#include "runtime/exec/Weights.h"
#include "runtime/plan/Mesh.h"

#include <algorithm>
#include <cassert>

namespace reciperun::serve {
namespace {

/// Converts logits in host memory from any compute type to floats.
void convertLogits(const exec::Tensor& logits, float* out, int threads) {
  constexpr int64_t grain = 1 << 15;
  auto type =
      checkpoint::findElementType(checkpoint::safetensorsName(logits.type));
  assert(type && "logits are of a floating-point type");
  const int64_t size = plan::byteSize(logits.type);
  device::parallelFor(
      threads, logits.elements(), grain, [&](int64_t begin, int64_t end) {
        checkpoint::convertElements(
            *type, logits.as<const std::byte>() + begin * size,
            plan::DType::f32, reinterpret_cast<std::byte*>(out + begin),
            end - begin);
      });
}

} // namespace

Expected<std::unique_ptr<ServedModel>>
ServedModel::open(const std::filesystem::path& weights, plan::Plan plan,
                  exec::RankDevice rank) {
  assert(plan.serving && plan.mesh.ranks == rank.communicator->ranks() &&
         "a serving plan of these ranks");
  std::unique_ptr<ServedModel> model(
      new ServedModel(std::move(plan), std::move(rank)));
  comm::Communicator& ranks = *model->rank.communicator;
  RECIPERUN_TRY(ranks.agree(model->takeMemory()));
  RECIPERUN_TRY(model->prepareKernels());
  RECIPERUN_TRY(ranks.agree(model->load(weights)));
  return model;
}

Expected<std::unique_ptr<ServedModel>>
ServedModel::open(const std::filesystem::path& weights, plan::Plan plan,
                  int threads) {
  Expected<exec::RankDevice> rank = exec::openOnlyRank(plan, threads);
  RECIPERUN_TRY(rank);
  return open(weights, std::move(plan), *std::move(rank));
}

Status ServedModel::takeMemory() {
  const plan::Stage& stage = plan::stageOf(program, rank.communicator->rank());
  Expected<memory::Arena> taken =
      device().allocate(stage.memory.arena, stage.memory.offloaded);
  // What follows is collective, so all ranks must have succeeded.
  RECIPERUN_TRY(rank.communicator->agree(taken.status()));
  arena = *std::move(taken);
  Expected<exec::Executor> made =
      exec::Executor::make(program, arena, *rank.communicator, device());
  RECIPERUN_TRY(made);
  executor.emplace(*std::move(made));
  return Status::ok();
}

/// Rank 0 chooses algorithms before all others, which reuse its choices.
Status ServedModel::prepareKernels() {
  const bool isFirst = rank.communicator->rank() == 0;
  RECIPERUN_TRY(
      rank.communicator->agree(isFirst ? executor->prepare() : Status::ok()));
  return rank.communicator->agree(isFirst ? Status::ok() : executor->prepare());
}

Status ServedModel::load(const std::filesystem::path& weights) {
  const int number = rank.communicator->rank();
  if (weights.empty())
    return exec::initializeParameters(program, *executor, number, rank.threads);
  checkpoint::ArenaParameters access(program, number, arena.base(), device());
  return checkpoint::loadHuggingFace(program, number, weights, access);
}

int64_t ServedModel::vocab() const {
  return executor->tensor(limits().buckets.front().logits).shape.back();
}

const plan::Bucket& ServedModel::bucketOf(const StepPlan& step) const {
  const plan::Bucket& bucket = limits().buckets[size_t(step.bucket)];
  assert(step.tokens <= bucket.tokens && step.rows <= bucket.rows &&
         "the step fits its bucket");
  return bucket;
}

Status ServedModel::run(const StepPlan& step) {
  const plan::Bucket& bucket = bucketOf(step);
  last = step.bucket;
  RECIPERUN_TRY(writeTokens(bucket, step));
  RECIPERUN_TRY(writeRows(bucket, step));
  RECIPERUN_TRY(writePages(bucket, step));
  return executor->run(bucket.function);
}

Status ServedModel::writeTokens(const plan::Bucket& bucket,
                                const StepPlan& step) {
  device::HostCopy tokens(device(), executor->tensor(bucket.inputs.tokens));
  device::HostCopy positions(device(),
                             executor->tensor(bucket.inputs.positions));
  device::HostCopy sequences(device(),
                             executor->tensor(bucket.inputs.sequences));
  int64_t at = 0;
  auto put = [&](int32_t id, int64_t position, int slot) {
    tokens.as<int32_t>()[at] = id;
    positions.as<int32_t>()[at] = int32_t(position);
    if (int32_t* slots = sequences.as<int32_t>())
      slots[at] = slot;
    ++at;
  };
  for (const StepPart& part : step.parts)
    for (size_t i = 0; i < part.ids.size(); ++i)
      put(part.ids[i], part.position + int64_t(i), part.slot);
  while (at < bucket.tokens)
    put(/*id=*/0, /*position=*/-1, /*slot=*/-1);
  RECIPERUN_TRY(tokens.store());
  RECIPERUN_TRY(positions.store());
  return sequences.store();
}

Status ServedModel::writeRows(const plan::Bucket& bucket,
                              const StepPlan& step) {
  device::HostCopy rows(device(), executor->tensor(bucket.inputs.rows));
  int32_t* out = rows.as<int32_t>();
  int64_t end = 0, written = 0;
  for (const StepPart& part : step.parts) {
    end += int64_t(part.ids.size());
    for (int64_t row = end - part.rows; row < end; ++row)
      out[written++] = int32_t(row);
  }
  std::fill(out + written, out + bucket.rows, -1);
  return rows.store();
}

/// Copies the rows of pages that differ from those in the buffer. A slot keeps
/// stale pages behind those of its sequence, which no token reads.
Status ServedModel::writePages(const plan::Bucket& bucket,
                               const StepPlan& step) {
  const exec::Tensor pages = executor->tensor(bucket.inputs.pages);
  if (!pages.present())
    return Status::ok();
  const size_t width = size_t(pages.shape.back());
  std::vector<int32_t>& table = pageTables[bucket.inputs.pages];
  table.resize(size_t(pages.elements()), -1);
  for (const StepPart& part : step.parts) {
    const auto row = std::span(table).subspan(size_t(part.slot) * width, width);
    if (std::equal(part.pages.begin(), part.pages.end(), row.begin()))
      continue;
    std::copy(part.pages.begin(), part.pages.end(), row.begin());
    RECIPERUN_TRY(device().upload(
        pages.as<int32_t>() + size_t(part.slot) * width, std::as_bytes(row)));
  }
  return Status::ok();
}

Status ServedModel::readRows(int64_t first, std::span<float> out) {
  const exec::Tensor logits = executor->tensor(lastBucket().logits);
  const int64_t width = vocab();
  const int64_t shape[] = {int64_t(out.size()) / width, width};
  const exec::Tensor rows{logits.as<std::byte>() +
                              first * width * plan::byteSize(logits.type),
                          logits.type, shape};
  return device::readPieces(
      device(), rows, [&](const exec::Tensor& piece, int64_t at) {
        convertLogits(piece, out.data() + at, rank.threads);
        return Status::ok();
      });
}

Status ServedModel::readLikeliest(std::span<int32_t> out) {
  return device().download(std::as_writable_bytes(out),
                           executor->tensor(lastBucket().likeliest).data);
}

} // namespace reciperun::serve
