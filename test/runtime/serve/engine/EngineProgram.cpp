// Random loads on a model of random weights: each answer is that of its prompt
// alone, token by token.
//
//   engineProgram LOADS FIRST_SEED PLAIN PLAN...
//   mpirun -np N engineProgram LOADS FIRST_SEED PLAIN PLAN
//
// 1. PLAIN is a serving plan for one sequence whose cache is one page. It
//    answers each prompt alone, in a single step followed by one for each
//    token.
// 2. A load runs on one of the PLANs, which are of the same model with other
//    pages and buckets; with mpirun there is one, for N ranks. Its seed draws
//    the requests, their arrivals and cancellations, and limits within those of
//    the plan: policy, slots, tokens of a step and pages so few that sequences
//    are preempted.
//    Plans that serve adapters get three of them, of random weights, and
//    requests choose one or none.
// 3. Tokens must be equal, and log probabilities up to rounding in the half of
//    the requests that ask for them. They show a wrong key or position that
//    happens to leave the likeliest token in place.
//
// A plan with a draft model runs with it; its weights are drawn, too, so that a
// draft model with the config.json of the plan's model is the same model.
//
// Prints the counts of what has happened, so that the test can check that all
// cases have.

#include "runtime/checkpoint/Safetensors.h"
#include "runtime/plan/PlanJson.h"
#include "runtime/serve/engine/DraftFolder.h"
#include "runtime/serve/engine/Engine.h"
#include "runtime/serve/engine/ServedModel.h"
#include "runtime/serve/engine/ServingRanks.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <set>
#include <span>
#include <string>
#include <vector>

using namespace reciperun;
using namespace reciperun::serve;

namespace {

/// Steps of other widths add the terms of fp32 matmuls in another order: about
/// 1e-6 of log probabilities of the order of 1 to 10.
constexpr float tolerance = 1e-4F;
/// A greedy choice between tokens that are closer than rounding is free.
constexpr float tie = 1e-5F;

using Tokens = std::vector<SampledToken>;

struct Ask {
  std::vector<int32_t> prompt;
  SamplingOptions sampling;
  int priority = 0;
  std::string adapter;    // empty: none
  int64_t step = 0;       // of its arrival
  int64_t cancelled = -1; // before this step
};

/// A model that outlives its engines.
class BorrowedModel : public StepModel {
public:
  explicit BorrowedModel(StepModel& model) : model(model) {}
  int64_t vocab() const override { return model.vocab(); }
  int depth() const override { return model.depth(); }
  Status start(const StepPlan& step) override { return model.start(step); }
  Status finish(StepResults& results) override { return model.finish(results); }
  Status addAdapter(AdapterId adapter,
                    const std::filesystem::path& directory) override {
    return model.addAdapter(adapter, directory);
  }
  Status removeAdapter(AdapterId adapter) override {
    return model.removeAdapter(adapter);
  }
  int threads() const override { return model.threads(); }

private:
  StepModel& model;
};

/// A model and the limits of its plan, and its draft model or null.
struct Served {
  std::unique_ptr<StepModel> model;
  plan::Serving limits;
  std::unique_ptr<ServedModel> draft = {};
};

constexpr const char* adapterNames[] = {"a", "b", "c"};

/// With the adapters that writeAdapters has written.
Expected<std::unique_ptr<Engine>> engineOn(const Served& served,
                                           const plan::Serving& limits) {
  std::unique_ptr<DraftSource> drafts;
  if (served.draft)
    drafts = std::make_unique<DraftModel>(
        std::make_unique<BorrowedModel>(*served.draft), served.draft->limits());
  auto engine = std::make_unique<Engine>(
      std::make_unique<BorrowedModel>(*served.model), limits,
      /*endTokens=*/std::set<int32_t>(), std::move(drafts));
  if (limits.adapters > 0)
    for (const char* name : adapterNames)
      RECIPERUN_TRY(engine->addAdapter(name, std::string("adapter-") + name));
  return engine;
}

/// Writes an adapter of random weights, whose rank is that of the plan or less.
Status writeAdapter(const plan::Plan& plan, const std::string& name,
                    int64_t below) {
  const std::filesystem::path folder = "adapter-" + name;
  std::filesystem::create_directories(folder);
  std::mt19937 random(static_cast<uint32_t>(name[0]));
  std::normal_distribution<float> normal(0, 0.3F);
  std::vector<checkpoint::TensorSpec> specs;
  std::vector<float> values;
  int64_t rank = 0;
  for (const plan::Parameter& parameter : plan.parameters) {
    if (!parameter.adapter)
      continue;
    std::vector<int64_t> shape(parameter.hfShape.begin() + 1,
                               parameter.hfShape.end());
    int64_t& side =
        parameter.hfName.ends_with("lora_A.weight") ? shape[0] : shape[1];
    rank = side -= below;
    specs.push_back({parameter.hfName, "F32", shape});
    for (int64_t i = 0; i < shape[0] * shape[1]; ++i)
      values.push_back(normal(random));
  }
  std::ofstream(folder / "adapter_config.json")
      << R"({"peft_type": "LORA", "r": )" << rank << R"(, "lora_alpha": )"
      << 2 * rank << "}";
  auto writer = checkpoint::SafetensorsWriter::create(
      folder / "adapter_model.safetensors", specs);
  RECIPERUN_TRY(writer);
  RECIPERUN_TRY(writer->append(std::as_bytes(std::span(values))));
  return writer->finish();
}

/// Writes the adapters of a plan to the working folder.
Status writeAdapters(const std::string& path) {
  Expected<plan::Plan> plan = plan::readPlan(path);
  RECIPERUN_TRY(plan);
  if (!plan->serving || plan->serving->adapters == 0)
    return Status::ok();
  int64_t below = 0;
  for (const char* name : adapterNames)
    RECIPERUN_TRY(writeAdapter(*plan, name, below++));
  return Status::ok();
}

class LoadDrawer {
public:
  explicit LoadDrawer(uint32_t seed) : random(seed) {}

  int64_t from(int64_t least, int64_t most) {
    return least + int64_t(random() % uint64_t(most - least + 1));
  }
  bool once(int64_t in) { return from(1, in) == 1; }

  plan::Serving limitsWithin(const plan::Serving& plan) {
    plan::Serving limits = plan;
    limits.maxBatch = from(std::min<int64_t>(2, plan.maxBatch), plan.maxBatch);
    limits.tokenBudget = from(limits.maxBatch, plan.tokenBudget);
    const int64_t longest = plan::pagesOfSequence(plan);
    limits.pages =
        longest ? from(longest, std::min(plan.pages, 2 * longest)) : 0;
    limits.prefixCache = plan.prefixCache && !once(4);
    limits.hostPages = limits.prefixCache ? plan.hostPages : 0;
    limits.chunkedPrefill = !once(4);
    if (limits.draftTokens > 0)
      limits.draftTokens = from(0, plan.draftTokens);
    if (limits.adapters > 0)
      limits.adapters = from(1, plan.adapters);
    limits.policy = once(3) ? plan::ServingPolicy::guaranteedNoEvict
                            : plan::ServingPolicy::maxUtilization;
    return limits;
  }

  std::vector<Ask> asks(const plan::Serving& limits, int64_t vocab) {
    int64_t longest = std::min(limits.maxInput, limits.maxTokens - 1);
    if (!limits.chunkedPrefill)
      longest = std::min(longest, limits.tokenBudget);
    std::vector<Ask> all;
    int64_t step = 0;
    for (int64_t i = from(3, 10); i > 0; --i) {
      Ask ask;
      ask.step = step += once(2) ? 0 : from(0, 5);
      ask.prompt = promptOf(from(1, longest), vocab, all);
      ask.sampling.temperature = once(2) ? 0 : 1;
      ask.sampling.seed = uint64_t(i);
      ask.sampling.maxTokens = from(1, 24);
      ask.sampling.logprobs = once(2) ? 2 : -1;
      ask.sampling.promptLogprobs = once(4) ? 1 : -1;
      ask.priority = int(from(0, 2));
      if (limits.adapters > 0 && !once(4))
        ask.adapter = adapterNames[from(0, 2)];
      ask.cancelled = once(6) ? step + from(0, 12) : -1;
      all.push_back(std::move(ask));
    }
    return all;
  }

private:
  /// Tokens that begin like an earlier prompt, in half of the cases.
  std::vector<int32_t> promptOf(int64_t length, int64_t vocab,
                                const std::vector<Ask>& earlier) {
    std::vector<int32_t> ids;
    if (!earlier.empty() && once(2)) {
      ids = earlier[size_t(from(0, int64_t(earlier.size()) - 1))].prompt;
      ids.resize(size_t(from(0, std::min(length, int64_t(ids.size())))));
    }
    while (int64_t(ids.size()) < length)
      ids.push_back(int32_t(from(0, vocab - 1)));
    return ids;
  }

  std::mt19937 random;
};

/// The tokens of a prompt, from its second on, and those of its answer.
struct Answered {
  Tokens prompt, answer;

  void append(const Progress& progress) {
    prompt.insert(prompt.end(), progress.scoredPrompt.begin(),
                  progress.scoredPrompt.end());
    answer.insert(answer.end(), progress.tokens.begin(), progress.tokens.end());
  }
};

/// The answer to a prompt alone.
Expected<Answered> answerAlone(const Served& plain, const Ask& ask) {
  auto engine = engineOn(plain, plain.limits);
  RECIPERUN_TRY(engine);
  SamplingOptions sampling = ask.sampling;
  sampling.logprobs = 2;
  Expected<RequestId> id = (*engine)->submit(
      {.prompt = ask.prompt, .sampling = sampling, .adapter = ask.adapter});
  RECIPERUN_TRY(id);
  Answered answered;
  while (!(*engine)->isIdle()) {
    Expected<std::vector<Progress>> all = (*engine)->step();
    RECIPERUN_TRY(all);
    for (const Progress& each : *all) {
      answered.append(each);
      if (each.finished == FinishReason::failed)
        return Status::error(each.error);
    }
  }
  return answered;
}

/// The outcome of a load, by request.
struct LoadAnswers {
  std::vector<Answered> requests;
  std::vector<FinishReason> reasons;
  EngineStatistics statistics;
};

Expected<LoadAnswers> runLoad(const Served& served, const plan::Serving& limits,
                              const std::vector<Ask>& asks) {
  constexpr int64_t mostSteps = 100000;
  auto made = engineOn(served, limits);
  RECIPERUN_TRY(made);
  Engine& engine = **made;
  LoadAnswers out{std::vector<Answered>(asks.size()),
                  std::vector<FinishReason>(asks.size(), FinishReason::failed),
                  {}};
  size_t submitted = 0;
  for (int64_t step = 0; submitted < asks.size() || !engine.isIdle(); ++step) {
    if (step == mostSteps)
      return Status::error("the load does not end");
    for (; submitted < asks.size() && asks[submitted].step == step;
         ++submitted) {
      const Ask& ask = asks[submitted];
      Expected<RequestId> id = engine.submit({.prompt = ask.prompt,
                                              .sampling = ask.sampling,
                                              .priority = ask.priority,
                                              .adapter = ask.adapter});
      RECIPERUN_TRY(id); // ids count from 0, as requests do
    }
    for (size_t i = 0; i < submitted; ++i)
      if (asks[i].cancelled == step)
        engine.cancel(RequestId(i));
    Expected<std::vector<Progress>> all = engine.step();
    RECIPERUN_TRY(all);
    for (const Progress& each : *all) {
      out.requests[size_t(each.request)].append(each);
      if (each.finished == FinishReason::failed)
        return Status::error(each.error);
      if (each.finished)
        out.reasons[size_t(each.request)] = *each.finished;
    }
  }
  out.statistics = engine.statistics();
  if (out.statistics.heldPages != 0)
    return Status::error(std::to_string(out.statistics.heldPages) +
                         " pages are held when the load has ended");
  return out;
}

/// Whether a choice between the two likeliest tokens is one of rounding.
bool isTie(const SampledToken& token, const SamplingOptions& sampling) {
  return sampling.temperature == 0 && token.top.size() > 1 &&
         token.top[0].second - token.top[1].second < tie;
}

/// Compares what was reported of the prompt's tokens: a beginning, where the
/// request was cancelled.
Status comparePrompts(const Tokens& alone, const Tokens& loaded, const Ask& ask,
                      bool isWhole) {
  const size_t wanted =
      ask.sampling.promptLogprobs < 0 ? 0 : ask.prompt.size() - 1;
  if (alone.size() != wanted || loaded.size() > wanted ||
      (isWhole && loaded.size() < wanted))
    return Status::error("of " + std::to_string(wanted) +
                         " tokens of the prompt " +
                         std::to_string(loaded.size()) + " are reported");
  for (size_t i = 0; i < loaded.size(); ++i)
    if (loaded[i].id != ask.prompt[i + 1] ||
        !(std::fabs(alone[i].logprob - loaded[i].logprob) <= tolerance))
      return Status::error("the log probability of the prompt's token " +
                           std::to_string(i + 1) + " differs");
  return Status::ok();
}

Status compare(const Tokens& alone, const Tokens& loaded, const Ask& ask,
               FinishReason reason) {
  const bool isWhole = reason != FinishReason::cancelled;
  for (size_t i = 0; i < loaded.size(); ++i) {
    const std::string place = "token " + std::to_string(i) + " after " +
                              std::to_string(ask.prompt.size());
    if (i == alone.size())
      return Status::error(place + " is one too many");
    if (alone[i].id != loaded[i].id && isTie(alone[i], ask.sampling))
      return Status::ok();
    if (alone[i].id != loaded[i].id)
      return Status::error(place + " is " + std::to_string(loaded[i].id) +
                           ", and alone " + std::to_string(alone[i].id));
    const float apart = std::fabs(alone[i].logprob - loaded[i].logprob);
    if (ask.sampling.logprobs >= 0 && !(apart <= tolerance))
      return Status::error("the log probability of " + place + " differs by " +
                           std::to_string(apart));
  }
  if (isWhole && loaded.size() != alone.size())
    return Status::error("the answer has " + std::to_string(loaded.size()) +
                         " tokens, and alone " + std::to_string(alone.size()));
  return Status::ok();
}

struct Counts {
  int64_t answers = 0, cancelled = 0, preemptions = 0, reused = 0, restored = 0,
          recomputed = 0, drafted = 0, accepted = 0, adapterLoads = 0;
};

Status runSeed(uint32_t seed, const Served& plain, const Served& served,
               Counts& counts) {
  LoadDrawer drawer(seed);
  const plan::Serving limits = drawer.limitsWithin(served.limits);
  const std::vector<Ask> asks = drawer.asks(limits, served.model->vocab());
  Expected<LoadAnswers> loaded = runLoad(served, limits, asks);
  RECIPERUN_TRY(loaded);
  for (size_t i = 0; i < asks.size(); ++i) {
    Expected<Answered> alone = answerAlone(plain, asks[i]);
    RECIPERUN_TRY(alone);
    const Answered& found = loaded->requests[i];
    const FinishReason reason = loaded->reasons[i];
    const std::string request = "request " + std::to_string(i);
    RECIPERUN_TRY(comparePrompts(alone->prompt, found.prompt, asks[i],
                                 reason != FinishReason::cancelled)
                      .withContext(request));
    RECIPERUN_TRY(compare(alone->answer, found.answer, asks[i], reason)
                      .withContext(request));
  }
  const EngineStatistics& statistics = loaded->statistics;
  counts.answers += int64_t(asks.size());
  counts.cancelled += statistics.cancelled;
  counts.preemptions += statistics.scheduler.preemptions;
  counts.reused += statistics.scheduler.reusedTokens;
  counts.restored += statistics.scheduler.restoredTokens;
  counts.recomputed += statistics.scheduler.recomputedTokens;
  counts.drafted += statistics.scheduler.draftedTokens;
  counts.accepted += statistics.scheduler.acceptedTokens;
  counts.adapterLoads += statistics.scheduler.adapterLoads;
  return Status::ok();
}

/// A folder without weights, which are drawn.
Expected<ModelFolder> readFolder(const std::string& path) {
  Expected<plan::Plan> plan = plan::readPlan(path);
  RECIPERUN_TRY(plan);
  if (!plan->serving)
    return Status::error("`" + path + "` does not serve");
  ModelFolder folder{{}, *std::move(plan), {}, {}};
  if (folder.plan.draft) {
    Expected<plan::Plan> draft = draftPlan(folder.plan);
    RECIPERUN_TRY(draft);
    folder.draft = DraftFolder{{}, *std::move(draft)};
  }
  return folder;
}

/// The folder's model, which has been opened, with its draft model.
Expected<Served> servedOf(const ModelFolder& folder,
                          std::unique_ptr<StepModel> model) {
  Served served{std::move(model), *folder.plan.serving};
  if (!folder.draft)
    return served;
  auto draft = ServedModel::open(folder.draft->path, folder.draft->plan,
                                 /*threads=*/1);
  RECIPERUN_TRY(draft);
  served.draft = *std::move(draft);
  return served;
}

Expected<Served> openAlone(const std::string& path) {
  Expected<ModelFolder> folder = readFolder(path);
  RECIPERUN_TRY(folder);
  auto model = ServedModel::open(folder->path, folder->plan, /*threads=*/1);
  RECIPERUN_TRY(model);
  return servedOf(*folder, *std::move(model));
}

Status runLoads(uint32_t loads, uint32_t first, const std::string& plainPath,
                const std::vector<Served>& models) {
  Expected<Served> plain = openAlone(plainPath);
  RECIPERUN_TRY(plain);
  Counts counts;
  for (uint32_t seed = first; seed < first + loads; ++seed)
    RECIPERUN_TRY(runSeed(seed, *plain, models[seed % models.size()], counts)
                      .withContext("seed " + std::to_string(seed)));
  std::printf("%u loads, %lld answers, %lld cancelled, %lld preemptions, "
              "%lld tokens reused, %lld of them from the host, %lld "
              "recomputed, %lld drafted, %lld accepted, %lld adapters "
              "loaded\n",
              loads, static_cast<long long>(counts.answers),
              static_cast<long long>(counts.cancelled),
              static_cast<long long>(counts.preemptions),
              static_cast<long long>(counts.reused),
              static_cast<long long>(counts.restored),
              static_cast<long long>(counts.recomputed),
              static_cast<long long>(counts.drafted),
              static_cast<long long>(counts.accepted),
              static_cast<long long>(counts.adapterLoads));
  return Status::ok();
}

Status runAlone(uint32_t loads, uint32_t first, const std::string& plain,
                const std::vector<std::string>& paths) {
  RECIPERUN_TRY(writeAdapters(plain));
  std::vector<Served> models;
  for (const std::string& path : paths) {
    Expected<Served> model = openAlone(path);
    RECIPERUN_TRY(model);
    models.push_back(*std::move(model));
  }
  return runLoads(loads, first, plain, models);
}

/// The part of rank 0.
Status lead(uint32_t loads, uint32_t first, const std::string& plain,
            const Expected<ModelFolder>& folder, ServingRanks& ranks) {
  RECIPERUN_TRY(ranks.status());
  RECIPERUN_TRY(writeAdapters(plain));
  auto model = ranks.open(*folder);
  RECIPERUN_TRY(model);
  Expected<Served> served = servedOf(*folder, *std::move(model));
  RECIPERUN_TRY(served);
  std::vector<Served> models;
  models.push_back(*std::move(served));
  return runLoads(loads, first, plain, models);
}

} // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    std::fprintf(stderr,
                 "usage: engineProgram LOADS FIRST_SEED PLAIN PLAN...\n");
    return 2;
  }
  const auto loads = uint32_t(std::atoi(argv[1])),
             first = uint32_t(std::atoi(argv[2]));
  const std::vector<std::string> paths(argv + 4, argv + argc);
  Status done;
  if (comm::MpiSession::isOneOfSeveral()) {
    const Expected<ModelFolder> folder = readFolder(paths.front());
    const auto ranks = ServingRanks::join(folder, /*threads=*/1);
    if (!ranks->leads())
      return ranks->follow(folder);
    done = lead(loads, first, argv[3], folder, *ranks);
  } else {
    done = runAlone(loads, first, argv[3], paths);
  }
  if (done.isOk())
    return 0;
  std::fprintf(stderr, "error: %s\n", done.message().c_str());
  return 1;
}
