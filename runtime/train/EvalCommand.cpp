// `reciperun eval`: computes the loss of a model on the validation data of its
// plan.

#include "runtime/train/Commands.h"

#include "runtime/cli/Options.h"
#include "runtime/train/Host.h"
#include "runtime/train/RankJob.h"
#include "runtime/train/Training.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdio>
#include <memory>
#include <utility>

namespace reciperun::train {
namespace {

struct EvalArguments {
  std::vector<std::string> plans; // one
  std::string checkpoint;
  std::string folder; // empty: the plan's folder
  bool json = false;
};

void print(const Validation& found, const std::string& weights, bool asJson) {
  double perplexity = std::exp(found.loss);
  auto tokens = static_cast<int64_t>(found.weight);
  if (!asJson) {
    std::printf("loss %.6g, perplexity %.6g on %ld tokens, weights of `%s`\n",
                found.loss, perplexity, long(tokens), weights.c_str());
    return;
  }
  const nlohmann::ordered_json object = {{"loss", found.loss},
                                         {"perplexity", perplexity},
                                         {"tokens", tokens},
                                         {"weights", weights}};
  std::printf("%s\n", object.dump().c_str());
}

int evaluate(comm::MpiSession& session, const plan::Plan& plan,
             const EvalArguments& line) {
  Expected<Rank> rank = joinRanks(session, plan);
  if (!rank)
    return failTogether(session, rank.status());
  Options options;
  options.style = Style::lines;
  Training training(plan, *rank, options);
  if (Status status = training.prepareEvaluation(line.checkpoint);
      !status.isOk())
    return failTogether(session, status);
  Expected<Validation> found = training.evaluate();
  if (!found)
    failAlone(session, found.status());
  if (session.rank() == 0)
    print(*found, training.weightsPath(), line.json);
  return 0;
}

int runRank(comm::MpiSession& session, const EvalArguments& line,
            Expected<plan::Plan> read) {
  Expected<plan::Plan> plan =
      agreeOnPlan(session, line.plans.front(), std::move(read));
  if (!plan)
    return failTogether(session, plan.status());
  releaseFreeMemory();
  raiseFileLimit();
  return evaluate(session, *plan, line);
}

int runEval(const EvalArguments& line) {
  Expected<plan::Plan> plan = readJobPlan(
      line.plans.front(), line.folder, [](const std::string& folder) {
        return "`reciperun eval PLAN --checkpoint " + folder + "`";
      });
  Expected<comm::MpiSession> session = comm::MpiSession::start();
  if (!session) {
    std::fprintf(stderr, "error: %s\n", session.message().c_str());
    return 1;
  }
  return runGuarded(*session,
                    [&] { return runRank(*session, line, std::move(plan)); });
}

} // namespace

cli::Command evalCommand() {
  auto line = std::make_shared<EvalArguments>();
  return {
      .name = "eval",
      .synopsis = "PLAN [options]",
      .summary = "the loss of a model on the plan's validation data",
      .details =
          "Goes through the validation data of a plan once and prints the mean "
          "loss over the tokens that count, its exponential, the perplexity, "
          "and how many tokens these are. Without options the weights are "
          "those of the run's last checkpoint, or of the recipe's `weights` "
          "where it has none.",
      .moreUsage = {"mpirun -np N reciperun eval PLAN [options]"},
      .options = {cli::pathOrAddress(
                      "--checkpoint", "PATH",
                      "a checkpoint of any layout, a Hugging Face "
                      "directory, quantized or not, or `latest` for the "
                      "run's last checkpoint",
                      line->checkpoint),
                  cli::text("--folder", "DIR",
                            "relative paths of the plan start in DIR instead "
                            "of the recipe's folder",
                            line->folder),
                  cli::flag("--json",
                            "print one object: `loss`, `perplexity`, `tokens`, "
                            "`weights`",
                            line->json)},
      .operands = {1, 1, "the path of a plan", &line->plans},
      .run = [line] { return runEval(*line); }};
}

} // namespace reciperun::train
