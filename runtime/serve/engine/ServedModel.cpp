// See ServedModel.h. The order of the parts in a step is that of the tokens in
// the inputs of its bucket; what is left of an input is padding.

#include "runtime/serve/engine/ServedModel.h"

#include "runtime/checkpoint/Elements.h"
#include "runtime/checkpoint/HuggingFaceImport.h"
#include "runtime/device/HostCopy.h"
#include "runtime/device/cpu/Parallel.h"
#include "runtime/exec/Weights.h"
#include "runtime/plan/Mesh.h"
#include "runtime/sizes/DrawNumbers.h"

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
  const plan::MemoryTable& memory = stage().memory;
  Expected<memory::Arena> taken =
      device().allocate(memory.arena, memory.offloaded);
  // Executor::make is collective, so all ranks must have succeeded so far.
  RECIPERUN_TRY(rank.communicator->agree(taken.status()));
  arena = *std::move(taken);
  Expected<exec::Executor> made =
      exec::Executor::make(program, arena, *rank.communicator, device());
  RECIPERUN_TRY(made);
  executor.emplace(*std::move(made));
  if (limits().hostPages > 0)
    hostPages = HostPages(stage(), *executor, arena);
  return Status::ok();
}

/// Rank 0 chooses algorithms first; the other ranks reuse its choices.
Status ServedModel::prepareKernels() {
  const bool isFirst = rank.communicator->rank() == 0;
  comm::Communicator& ranks = *rank.communicator;
  RECIPERUN_TRY(ranks.agree(isFirst ? executor->prepare() : Status::ok()));
  RECIPERUN_TRY(ranks.agree(isFirst ? Status::ok() : executor->prepare()));
  return ranks.agree(executor->rehearse());
}

Status ServedModel::load(const std::filesystem::path& weights) {
  const int number = rank.communicator->rank();
  if (weights.empty())
    return exec::initializeParameters(program, *executor, number, rank.threads);
  checkpoint::ArenaParameters access(program, number, arena.base(), device());
  return checkpoint::loadHuggingFace(program, number, weights, access);
}

Status ServedModel::start(const StepPlan& step) {
  underway = readsOf(step);
  return run(step);
}

Status ServedModel::finish(StepResults& results) {
  return read(underway, results);
}

Status ServedModel::run(const StepPlan& step) {
  const plan::Bucket& bucket = limits().buckets[size_t(step.bucket)];
  assert(step.tokens <= bucket.tokens && step.rows <= bucket.rows &&
         "the step fits its bucket");
  RECIPERUN_TRY(hostPages.copy(step, device()));
  RECIPERUN_TRY(loadAdapters(step));
  const StepReads reads = readsOf(step);
  const bool isLast = &stage() == &program.stages.back();
  if (reads.hidden.empty() || !isLast)
    return runSchedule(step);
  hidden.begin(reads, device());
  executor->setObserver(&hidden);
  const Status ran = runSchedule(step);
  executor->setObserver(nullptr);
  RECIPERUN_TRY(ran);
  return hidden.status();
}

Status ServedModel::runSchedule(const StepPlan& step) {
  const plan::StageStep& part = stage().steps[size_t(step.bucket)];
  return executor->run(stage().schedules[size_t(part.schedule)],
                       [&](int) { return writeInputs(part.inputs, step); });
}

Status ServedModel::addAdapter(AdapterId adapter,
                               const std::filesystem::path& directory) {
  Expected<checkpoint::LoraAdapter> read = checkpoint::readLoraAdapter(
      program, rank.communicator->rank(), directory);
  RECIPERUN_TRY(read);
  adapters.insert_or_assign(adapter, *std::move(read));
  return Status::ok();
}

Status ServedModel::removeAdapter(AdapterId adapter) {
  adapters.erase(adapter);
  return Status::ok();
}

Status ServedModel::loadAdapters(const StepPlan& step) {
  checkpoint::ArenaParameters access(program, rank.communicator->rank(),
                                     arena.base(), device());
  for (const AdapterLoad& load : step.loads)
    RECIPERUN_TRY(checkpoint::placeLoraAdapter(adapters.at(load.adapter),
                                               load.place, access));
  return Status::ok();
}

Status ServedModel::writeInputs(const plan::StepInputs& inputs,
                                const StepPlan& step) {
  RECIPERUN_TRY(writeTokens(inputs, step));
  RECIPERUN_TRY(writeRows(inputs, step));
  RECIPERUN_TRY(writeDraws(inputs, step));
  return writePages(inputs, step);
}

Status ServedModel::writeTokens(const plan::StepInputs& inputs,
                                const StepPlan& step) {
  device::HostCopy tokens(device(), executor->tensor(inputs.tokens));
  device::HostCopy positions(device(), executor->tensor(inputs.positions));
  device::HostCopy sequences(device(), executor->tensor(inputs.sequences));
  device::HostCopy adapters(device(), executor->tensor(inputs.adapters));
  int64_t at = 0;
  auto put = [&](int32_t id, int64_t position, int slot, int adapter) {
    if (int32_t* ids = tokens.as<int32_t>())
      ids[at] = id;
    if (int32_t* places = positions.as<int32_t>())
      places[at] = int32_t(position);
    if (int32_t* slots = sequences.as<int32_t>())
      slots[at] = slot;
    if (int32_t* places = adapters.as<int32_t>())
      places[at] = adapter;
    ++at;
  };
  for (const StepPart& part : step.parts)
    for (size_t i = 0; i < part.ids.size(); ++i)
      put(part.ids[i], part.position + int64_t(i), part.slot, part.adapter);
  while (at < limits().buckets[size_t(step.bucket)].tokens)
    put(/*id=*/0, /*position=*/-1, /*slot=*/-1, /*adapter=*/-1);
  RECIPERUN_TRY(adapters.store());
  RECIPERUN_TRY(tokens.store());
  RECIPERUN_TRY(positions.store());
  return sequences.store();
}

Status ServedModel::writeRows(const plan::StepInputs& inputs,
                              const StepPlan& step) {
  device::HostCopy rows(device(), executor->tensor(inputs.rows));
  int32_t* out = rows.as<int32_t>();
  if (!out)
    return Status::ok();
  int64_t end = 0, written = 0;
  for (const StepPart& part : step.parts) {
    end += int64_t(part.ids.size());
    for (int64_t row = end - part.rows; row < end; ++row)
      out[written++] = int32_t(row);
  }
  std::fill(out + written, out + limits().buckets[size_t(step.bucket)].rows,
            -1);
  return rows.store();
}

/// Writes how the token of each row is sampled. Rows whose logits are wanted
/// instead, and padding rows, take the likeliest token.
Status ServedModel::writeDraws(const plan::StepInputs& inputs,
                               const StepPlan& step) {
  device::HostCopy draws(device(), executor->tensor(inputs.draws));
  double* out = draws.as<double>();
  if (!out)
    return Status::ok();
  auto put = [&](const kernels::DrawOptions& options, double uniform) {
    out[sizes::drawTemperature] = options.temperature;
    out[sizes::drawTopK] = double(options.topK);
    out[sizes::drawTopP] = options.topP;
    out[sizes::drawMinP] = options.minP;
    out[sizes::drawUniform] = uniform;
    out += sizes::drawNumbers;
  };
  for (const StepPart& part : step.parts)
    for (int64_t row = 0; row < part.rows; ++row)
      if (part.draw && row >= part.promptRows)
        put(part.draw->options, part.draw->uniform(row - part.promptRows));
      else
        put({}, /*uniform=*/0);
  const int64_t rows = limits().buckets[size_t(step.bucket)].rows;
  for (int64_t row = step.rows; row < rows; ++row)
    put({}, /*uniform=*/0);
  return draws.store();
}

/// Uploads the rows of the page table that have changed. A slot may keep stale
/// entries after the pages of its sequence; no token reads them.
Status ServedModel::writePages(const plan::StepInputs& inputs,
                               const StepPlan& step) {
  const exec::Tensor pages = executor->tensor(inputs.pages);
  if (!pages.present())
    return Status::ok();
  const size_t width = size_t(pages.shape.back());
  std::vector<int32_t>& table = pageTables[inputs.pages];
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

Status ServedModel::read(const StepReads& reads, StepResults& results) {
  const plan::StageStep& part = stage().steps[size_t(reads.bucket)];
  results.resize(reads, vocab(), hiddenWidth());
  if (reads.chosen)
    RECIPERUN_TRY(
        device().download(std::as_writable_bytes(std::span(results.chosen)),
                          executor->tensor(part.chosen).data));
  for (const RowRange& range : reads.logits)
    RECIPERUN_TRY(
        readLogits(range.first, executor->tensor(part.logits),
                   results.logitsOf(range.first, range.count, vocab())));
  for (const RowRange& range : reads.hidden)
    std::ranges::copy(
        hidden.rowsOf(range),
        results.hiddenOf(range.first, range.count, hiddenWidth()).begin());
  return Status::ok();
}

/// Reads rows of logits from the row `first` on.
Status ServedModel::readLogits(int64_t first, const exec::Tensor& logits,
                               std::span<float> out) {
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

} // namespace reciperun::serve
