// `reciperun train`: one rank of a job.
//
// Errors that all ranks share are printed once, by rank 0, and every rank exits
// with the same code. A rank that fails by itself in the midst of a step names
// itself and ends the others, which wait for it in a collective.

#include "runtime/train/Commands.h"

#include "runtime/plan/StopSignal.h"
#include "runtime/train/Answers.h"
#include "runtime/train/Host.h"
#include "runtime/train/RankJob.h"
#include "runtime/train/Training.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <optional>

namespace reciperun::train {
namespace {

constexpr const char* trainHelp =
    "usage: reciperun train PLAN [options]\n"
    "       mpirun -np N reciperun train PLAN [options]\n"
    "\n"
    "Carries out a plan that recipec compiled, on as many ranks as it wants.\n"
    "Relative paths in it start in the recipe's folder, to which the plan "
    "knows\n"
    "the way. SIGTERM and SIGINT end the run after the step in progress, with "
    "a\n"
    "checkpoint where the plan saves any. A run whose standard output is "
    "closed or\n"
    "full goes on without it.\n"
    "\n"
    "  --folder=DIR           relative paths of the plan start in DIR instead\n"
    "  --progress=STYLE       `bar`, `lines`, or `auto` (default): a bar on a\n"
    "                         terminal\n"
    "  --dump-gradients=FILE  write the first step's gradients to a "
    "safetensors\n"
    "                         file, for comparison with other programs\n"
    "  --op-times             tell how long the parts of the start took, and "
    "at\n"
    "                         the end how long ops of each kind take a step, "
    "of\n"
    "                         every fourth one, on rank 0\n"
    "  --profile=FIRST:LAST:RANKS\n"
    "                         write a trace of these steps for Chrome and\n"
    "                         Perfetto into `profile` of the run's folder, "
    "and\n"
    "                         have nsys and ncu look at them; RANKS is `0,3` "
    "or\n"
    "                         `all`\n";

struct TrainArguments {
  std::string planPath;
  std::string folder; // empty: the plan says it
  Options options;
};

Expected<Style> parseStyle(const std::string& name) {
  if (name == "auto")
    return Style::automatic;
  if (name == "bar")
    return Style::bar;
  if (name == "lines")
    return Style::lines;
  return Status::error("`--progress` is `auto`, `bar` or `lines`, not `" +
                       name + "`");
}

/// Of the option at `i`, if it is `option`: `--option=VALUE`, or VALUE is the
/// next argument, and `i` leads there.
Expected<std::optional<std::string>>
valueOf(const std::string& option, const std::vector<std::string>& arguments,
        size_t& i) {
  const std::string& argument = arguments[i];
  if (argument.starts_with(option + "="))
    return std::optional(argument.substr(option.size() + 1));
  if (argument != option)
    return std::optional<std::string>();
  if (i + 1 == arguments.size())
    return Status::error("`" + option + "` wants a value: `" + option +
                         "=VALUE`");
  return std::optional(arguments[++i]);
}

/// Whether the argument at `i` is an option with a value, which is taken.
Expected<bool> takeValue(const std::vector<std::string>& arguments, size_t& i,
                         TrainArguments& line) {
  Options& options = line.options;
  auto value = valueOf("--folder", arguments, i);
  RECIPERUN_TRY(value);
  if (*value) {
    line.folder = **value;
    return true;
  }
  value = valueOf("--progress", arguments, i);
  RECIPERUN_TRY(value);
  if (*value) {
    Expected<Style> style = parseStyle(**value);
    RECIPERUN_TRY(style);
    options.style = *style;
    return true;
  }
  value = valueOf("--profile", arguments, i);
  RECIPERUN_TRY(value);
  if (*value) {
    Expected<ProfileRange> range = ProfileRange::parse(**value);
    RECIPERUN_TRY(range);
    options.profile = *std::move(range);
    return true;
  }
  value = valueOf("--dump-gradients", arguments, i);
  RECIPERUN_TRY(value);
  if (*value)
    options.gradients = **value;
  return value->has_value();
}

Expected<TrainArguments>
parseTrainArguments(const std::vector<std::string>& arguments) {
  TrainArguments line;
  for (size_t i = 0; i < arguments.size(); ++i) {
    Expected<bool> taken = takeValue(arguments, i, line);
    RECIPERUN_TRY(taken);
    if (*taken)
      continue;
    const std::string& argument = arguments[i];
    if (argument == "--op-times")
      line.options.timesOps = true;
    else if (argument.starts_with("-"))
      return Status::error("`reciperun train` has no option `" + argument +
                           "`");
    else if (!line.planPath.empty())
      return Status::error("`reciperun train` takes one plan, not `" +
                           line.planPath + "` and `" + argument + "`");
    else
      line.planPath = argument;
  }
  if (line.planPath.empty())
    return Status::error("`reciperun train` needs the path of a plan");
  return line;
}

/// `by SIGTERM`.
std::string causeOf(int signal) {
  if (signal == SIGUSR1)
    return "on request";
  return signal == SIGTERM ? "by SIGTERM" : "by SIGINT";
}

Status stoppedEarly(int signal) {
  return Status::error("ended " + causeOf(signal) +
                       " while the data was read, before the first step; "
                       "nothing is exported");
}

Status stoppedBy(const Outcome& outcome) {
  return Status::error(
      "ended " + causeOf(outcome.signal) + " after step " +
      std::to_string(outcome.steps) + "; nothing is exported" +
      (outcome.checkpoint.empty()
           ? ""
           : "; the state is in `" + outcome.checkpoint + "`"));
}

int train(comm::MpiSession& session, const plan::Plan& plan,
          const Options& options) {
  Expected<Rank> rank = joinRanks(session, plan);
  if (!rank)
    return failTogether(session, rank.status());
  Training training(plan, *rank, options);
  if (Status status = training.prepare(); !status.isOk()) {
    const int signal = training.stoppedBy();
    return signal ? failTogether(session, stoppedEarly(signal), 128 + signal)
                  : failTogether(session, status);
  }
  Expected<Outcome> outcome = training.run();
  if (!outcome)
    failAlone(session, outcome.status());
  if (!outcome->failure.isOk())
    return failTogether(session, outcome->failure);
  if (outcome->signal)
    return failTogether(session, stoppedBy(*outcome), 128 + outcome->signal);
  if (Status status = training.finish(); !status.isOk())
    return failTogether(session, status);
  return 0;
}

/// Everything up to the point where the ranks part.
int runRank(comm::MpiSession& session,
            const std::vector<std::string>& arguments,
            std::optional<plan::Plan>& plan) {
  Expected<TrainArguments> line = parseTrainArguments(arguments);
  if (!line)
    return failTogether(session, line.status(), 2);
  Expected<plan::Plan> read =
      readJobPlan(session, line->planPath, line->folder);
  if (!read)
    return failTogether(session, read.status());
  plan = std::move(*read);
  releaseFreeMemory();
  raiseFileLimit();
  watchStopSignals();
  std::signal(SIGPIPE, SIG_IGN); // a failed write says the same
  return train(session, *plan, line->options);
}

} // namespace

int trainCommand(const std::vector<std::string>& arguments) {
  if (std::find(arguments.begin(), arguments.end(), "--help") !=
      arguments.end()) {
    std::fputs(trainHelp, stdout);
    return 0;
  }
  std::optional<plan::Plan> plan;
  int code = 0, rank = 0;
  {
    Expected<comm::MpiSession> session = comm::MpiSession::start();
    if (!session) {
      std::fprintf(stderr, "error: %s\n", session.message().c_str());
      return 1;
    }
    rank = session->rank();
    code = runGuarded(*session,
                      [&] { return runRank(*session, arguments, plan); });
  }
  // The ranks have parted (MPI is finalised on all of them): rank 0 answers
  // alone and has all cores.
  if (code != 0 || rank != 0)
    return code;
  releaseStopSignals(); // all is saved
  Status status = answerPrompts(*plan);
  if (!status.isOk())
    std::fprintf(stderr, "error: %s\n", status.message().c_str());
  return status.isOk() ? 0 : 1;
}

} // namespace reciperun::train
