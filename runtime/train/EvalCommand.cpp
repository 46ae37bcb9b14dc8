// `reciperun eval`: the loss of a model on the validation data of its plan.

#include "runtime/train/Commands.h"

#include "runtime/train/Host.h"
#include "runtime/train/RankJob.h"
#include "runtime/train/Training.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace reciperun::train {
namespace {

constexpr const char* evalHelp =
    "usage: reciperun eval PLAN [options]\n"
    "       mpirun -np N reciperun eval PLAN [options]\n"
    "\n"
    "Goes through the validation data of a plan once and prints the mean loss\n"
    "over the tokens that count, its exponential, the perplexity, and how "
    "many\n"
    "tokens these are. Without options the weights are those of the run's "
    "last\n"
    "checkpoint, or of the recipe's `weights` where it has none.\n"
    "\n"
    "  --checkpoint PATH    a checkpoint of any layout, or `latest` for the\n"
    "                       run's last one\n"
    "  --folder DIR         relative paths of the plan start in DIR instead "
    "of\n"
    "                       the recipe's folder\n"
    "  --json               one object: `loss`, `perplexity`, `tokens`,\n"
    "                       `weights`\n";

struct EvalArguments {
  std::string planPath;
  std::string checkpoint;
  std::string folder; // empty: the plan says it
  bool json = false;
};

/// Takes the value of the option `name` where the argument at `i` is that one.
Expected<bool> take(const std::string& name, const char* what,
                    const std::vector<std::string>& arguments, size_t& i,
                    std::string& value) {
  const std::string& argument = arguments[i];
  if (argument.starts_with(name + "=")) {
    value = argument.substr(name.size() + 1);
    return true;
  }
  if (argument != name)
    return false;
  if (i + 1 == arguments.size())
    return Status::error("`" + name + "` needs " + what);
  value = arguments[++i];
  return true;
}

Expected<EvalArguments>
parseEvalArguments(const std::vector<std::string>& arguments) {
  EvalArguments line;
  for (size_t i = 0; i < arguments.size(); ++i) {
    Expected<bool> taken = take("--checkpoint", "a path, or `latest`",
                                arguments, i, line.checkpoint);
    RECIPERUN_TRY(taken);
    if (!*taken)
      taken = take("--folder", "a folder", arguments, i, line.folder);
    RECIPERUN_TRY(taken);
    if (*taken)
      continue;
    const std::string& argument = arguments[i];
    if (argument == "--json") {
      line.json = true;
    } else if (argument.starts_with("-")) {
      return Status::error("`reciperun eval` has no option `" + argument + "`");
    } else if (!line.planPath.empty()) {
      return Status::error("`reciperun eval` takes one plan, not `" +
                           line.planPath + "` and `" + argument + "`");
    } else {
      line.planPath = argument;
    }
  }
  if (line.planPath.empty())
    return Status::error("`reciperun eval` needs the path of a plan");
  return line;
}

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

int runRank(comm::MpiSession& session,
            const std::vector<std::string>& arguments) {
  Expected<EvalArguments> line = parseEvalArguments(arguments);
  if (!line)
    return failTogether(session, line.status(), 2);
  Expected<plan::Plan> plan =
      readJobPlan(session, line->planPath, line->folder);
  if (!plan)
    return failTogether(session, plan.status());
  releaseFreeMemory();
  raiseFileLimit();
  return evaluate(session, *plan, *line);
}

} // namespace

int evalCommand(const std::vector<std::string>& arguments) {
  if (std::find(arguments.begin(), arguments.end(), "--help") !=
      arguments.end()) {
    std::fputs(evalHelp, stdout);
    return 0;
  }
  Expected<comm::MpiSession> session = comm::MpiSession::start();
  if (!session) {
    std::fprintf(stderr, "error: %s\n", session.message().c_str());
    return 1;
  }
  return runGuarded(*session, [&] { return runRank(*session, arguments); });
}

} // namespace reciperun::train
