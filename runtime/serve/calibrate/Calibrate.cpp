// 1. Read the texts and choose samples; encode and cut them, so that mistakes
//    are reported before the model is read.
// 2. Open the model and follow its executor.
// 3. Run each sample from the start of a sequence, in steps of the largest
//    bucket.

#include "runtime/serve/calibrate/Calibrate.h"

#include "runtime/device/cpu/Threads.h"
#include "runtime/exec/Devices.h"
#include "runtime/serve/calibrate/InputObserver.h"
#include "runtime/serve/engine/ModelFolder.h"
#include "runtime/serve/engine/ServedModel.h"
#include "runtime/serve/prompts/PromptFile.h"
#include "runtime/serve/prompts/PromptTokens.h"

#include <algorithm>
#include <ctime>
#include <memory>
#include <numeric>
#include <span>
#include <vector>

namespace reciperun::serve {
namespace {

using Ids = std::vector<int32_t>;

Status checkRanks(const ModelFolder& folder) {
  const int ranks = folder.plan.mesh.ranks;
  if (ranks == 1)
    return Status::ok();
  const std::string path = (folder.path / "generate.plan.json").string();
  return Status::error("`" + path + "` is a plan of " + std::to_string(ranks) +
                       " ranks, and a calibration runs on one; compile one "
                       "with `--set cluster.ranks=1 --set parallel.tp=1`");
}

/// Samples of the file, spread evenly, as ids.
Expected<std::vector<Ids>> readSamples(const ModelFolder& folder,
                                       const CalibrationOptions& options) {
  Expected<std::vector<Prompt>> prompts = readPrompts({{true, options.file}});
  RECIPERUN_TRY(prompts);
  if (!folder.tokenizer)
    return noTokenizer(folder);
  Expected<PromptTokens> tokens =
      PromptTokens::open(folder.path, folder.plan, *folder.tokenizer);
  RECIPERUN_TRY(tokens);
  const int64_t all = int64_t(prompts->size()),
                count = std::min(all, options.samples),
                most = std::min(options.tokens, folder.plan.serving->maxTokens);
  const std::time_t now = std::time(nullptr);
  std::vector<Ids> samples;
  for (int64_t i = 0; i < count; ++i) {
    const Prompt& prompt = (*prompts)[size_t(i * all / count)];
    Expected<Ids> ids = tokens->ofAnyLength(prompt.content, now);
    if (!ids)
      return ids.status().withContext(prompt.place);
    ids->resize(std::min(ids->size(), size_t(most)));
    samples.push_back(*std::move(ids));
  }
  return samples;
}

Expected<std::unique_ptr<ServedModel>> openModel(const ModelFolder& folder) {
  device::setEnvironment(exec::environmentOf(folder.plan));
  Expected<int> threads = device::threadsOfProcess(/*sharing=*/1);
  RECIPERUN_TRY(threads);
  return ServedModel::open(folder.path, folder.plan, *threads);
}

class CalibrationRun {
public:
  CalibrationRun(ServedModel& model, const CalibrationOptions& options)
      : model(model), options(options), observer(model.plan(), model.device()) {
    model.follow(&observer);
  }
  ~CalibrationRun() { model.follow(nullptr); }

  Expected<Calibration> run(const std::vector<Ids>& samples) {
    Calibration made;
    for (const Ids& ids : samples) {
      RECIPERUN_TRY(runSample(ids));
      ++made.samples;
      made.tokens += int64_t(ids.size());
      if (options.progress)
        options.progress(made.samples, int64_t(samples.size()));
    }
    made.statistics = observer.take();
    return made;
  }

private:
  Status runSample(std::span<const int32_t> ids) {
    const plan::Serving& limits = model.limits();
    const size_t most = size_t(limits.buckets.back().tokens);
    std::vector<int32_t> pages;
    if (limits.page > 0)
      pages.resize((ids.size() + size_t(limits.page) - 1) /
                   size_t(limits.page));
    std::iota(pages.begin(), pages.end(), 0);
    for (size_t at = 0; at < ids.size(); at += most)
      RECIPERUN_TRY(runStep(int64_t(at),
                            ids.subspan(at, std::min(most, ids.size() - at)),
                            pages));
    return Status::ok();
  }

  Status runStep(int64_t position, std::span<const int32_t> ids,
                 std::span<const int32_t> pages) {
    if (options.goesOn)
      RECIPERUN_TRY(options.goesOn());
    const std::vector<plan::Bucket>& buckets = model.limits().buckets;
    const int64_t count = int64_t(ids.size()),
                  rows = std::min(count, buckets.back().rows);
    StepPart part{/*request=*/0, /*slot=*/0, position,
                  ids,           pages,      rows};
    part.draw.emplace(); // instead of all logits
    const StepPlan step{bucketFor(buckets, count, rows), count, rows, {part}};
    observer.startStep(step);
    RECIPERUN_TRY(model.start(step));
    RECIPERUN_TRY(model.finish(results));
    return observer.status();
  }

  ServedModel& model;
  const CalibrationOptions& options;
  InputObserver observer;
  StepResults results;
};

} // namespace

Expected<Calibration> calibrate(const std::filesystem::path& directory,
                                const CalibrationOptions& options) {
  Expected<ModelFolder> folder = readModelFolder(directory);
  RECIPERUN_TRY(folder);
  RECIPERUN_TRY(checkRanks(*folder));
  Expected<std::vector<Ids>> samples = readSamples(*folder, options);
  RECIPERUN_TRY(samples);
  auto model = openModel(*folder);
  RECIPERUN_TRY(model);
  return CalibrationRun(**model, options).run(*samples);
}

} // namespace reciperun::serve
