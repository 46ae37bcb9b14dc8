// 1. Open the model; 2. read or draw the requests; 3. warm up; 4. measure;
// 5. print the table and write the report.

#include "runtime/serve/bench/BenchCommand.h"

#include "runtime/base/SamePlace.h"
#include "runtime/base/StopSignal.h"
#include "runtime/serve/bench/BenchArguments.h"
#include "runtime/serve/bench/BenchReport.h"
#include "runtime/serve/bench/BenchRequests.h"
#include "runtime/serve/bench/BenchRun.h"
#include "runtime/serve/bench/BenchStatistics.h"
#include "runtime/serve/bench/EngineTarget.h"
#include "runtime/serve/engine/ServingRanks.h"

#include <cstdio>
#include <memory>

namespace reciperun::serve {
namespace {

Expected<std::vector<BenchRequest>> requestsFor(const BenchArguments& arguments,
                                                const ModelFolder& folder,
                                                int64_t vocab) {
  const auto given = [](int64_t value, int64_t otherwise) {
    return value > 0 ? value : otherwise;
  };
  if (arguments.dataset.empty())
    return randomBenchRequests(
        given(arguments.requests, 100), given(arguments.inputTokens, 128),
        given(arguments.outputTokens, 128), vocab, arguments.seed);
  return readBenchRequests(
      arguments.dataset, given(arguments.requests, BenchLoad::unlimited),
      folder.tokenizer ? &*folder.tokenizer : nullptr, vocab);
}

BenchSettings settingsOf(const BenchArguments& arguments) {
  BenchSettings settings;
  settings.model = arguments.directories.front();
  settings.dataset = arguments.dataset;
  settings.warmup = arguments.warmup;
  settings.load.requestRate = arguments.requestRate;
  settings.load.seed = arguments.seed;
  if (arguments.concurrency > 0)
    settings.load.concurrency = arguments.concurrency;
  return settings;
}

/// Fails when a request of the warm-up does.
Status warmUp(BenchTarget& target, const std::vector<BenchRequest>& requests) {
  SteadyBenchClock clock;
  Expected<BenchResult> result = runBench(target, clock, requests, BenchLoad());
  RECIPERUN_TRY(result);
  for (const BenchRecord& record : result->records)
    if (!record.error.empty())
      return Status::error("the warm-up failed: " + record.error);
  return Status::ok();
}

/// Checks that the report does not replace the requests.
Status checkReportPath(const BenchArguments& arguments) {
  if (!isSamePlace(arguments.dataset, arguments.reportPath))
    return Status::ok();
  return Status::error("`" + arguments.reportPath +
                       "` is the file of the requests; name another file by "
                       "`--report-json`");
}

std::vector<std::string> namesOf(const std::vector<NamedAdapter>& adapters) {
  std::vector<std::string> names;
  for (const NamedAdapter& each : adapters)
    names.push_back(each.name);
  return names;
}

/// Returns the statistics, after they are printed and written.
Expected<BenchStatistics> bench(const BenchArguments& arguments,
                                const ModelFolder& folder,
                                ServingRanks& ranks) {
  RECIPERUN_TRY(checkReportPath(arguments));
  auto model = ranks.open(folder);
  RECIPERUN_TRY(model);
  const auto opened = makeEngine(folder, *std::move(model));
  RECIPERUN_TRY(opened);
  Engine& engine = **opened;
  const int64_t vocab = engine.vocab();
  const auto requests = requestsFor(arguments, folder, vocab);
  RECIPERUN_TRY(requests);
  BenchSettings settings = settingsOf(arguments);
  settings.ranks = folder.plan.mesh.ranks;
  RECIPERUN_TRY(addAdapters(arguments.adapters, engine));
  EngineTarget target(engine, distributionOf(arguments.sampling),
                      namesOf(arguments.adapters));
  watchStopSignals();
  RECIPERUN_TRY(warmUp(target, warmupRequests(*requests, arguments.warmup,
                                              vocab, arguments.seed)));
  SteadyBenchClock clock;
  Expected<BenchResult> result =
      runBench(target, clock, *requests, settings.load);
  RECIPERUN_TRY(result);
  BenchStatistics statistics = statisticsOf(*std::move(result), settings.ranks);
  const SchedulerStatistics& counts = engine.statistics().scheduler;
  statistics.draftedTokens = counts.draftedTokens;
  statistics.acceptedTokens = counts.acceptedTokens;
  std::fputs(benchTable(statistics, settings).c_str(), stdout);
  if (!arguments.reportPath.empty())
    RECIPERUN_TRY(
        writeReport(arguments.reportPath, benchJson(statistics, settings)));
  return statistics;
}

int runBenchServe(const BenchArguments& arguments) {
  const Expected<ModelFolder> folder =
      readModelFolder(arguments.directories.front(), arguments.adapters.size());
  const auto ranks = ServingRanks::join(folder, arguments.threads);
  if (!ranks->leads())
    return ranks->follow(folder);
  const Expected<BenchStatistics> statistics =
      ranks->status().isOk() ? bench(arguments, *folder, *ranks)
                             : Expected<BenchStatistics>(ranks->status());
  if (!statistics) {
    std::fprintf(stderr, "error: %s\n", statistics.message().c_str());
    return stopSignal() ? 128 + stopSignal() : 1;
  }
  if (statistics->failed == 0)
    return 0;
  std::fprintf(
      stderr, "error: %lld of %lld requests failed; the first: %s\n",
      static_cast<long long>(statistics->failed),
      static_cast<long long>(statistics->failed + statistics->completed),
      statistics->firstError.c_str());
  return 1;
}

} // namespace

cli::Command benchServeCommand() {
  const auto arguments = std::make_shared<BenchArguments>();
  cli::Command serve = describeBenchServe(*arguments);
  serve.run = [arguments] { return runBenchServe(*arguments); };
  return serve;
}

} // namespace reciperun::serve
