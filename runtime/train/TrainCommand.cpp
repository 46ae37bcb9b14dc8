// `reciperun train`: one rank of a job.
//
// An error that all ranks know is printed once, by rank 0, and every rank exits
// with the same code. A rank that fails alone in the middle of a step prints
// its number and aborts the others, which wait for it in a collective.

#include "runtime/train/Commands.h"

#include "runtime/base/StopSignal.h"
#include "runtime/cli/Options.h"
#include "runtime/train/Answers.h"
#include "runtime/train/Host.h"
#include "runtime/train/RankJob.h"
#include "runtime/train/Restarting.h"
#include "runtime/train/Training.h"

#include <csignal>
#include <cstdio>
#include <memory>
#include <optional>
#include <utility>

namespace reciperun::train {
namespace {

constexpr size_t mostPlans = 64; // layouts of a run

struct TrainArguments {
  std::vector<std::string> plans; // one; several with `restarts`
  std::string folder;             // empty: the plan's folder
  Options options;
  std::optional<int> restarts; // nullopt: this process is a rank
  std::string hostfile;
  std::vector<std::string> passedOn; // to mpirun
};

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
  const std::string cause =
      outcome.notice.empty() ? causeOf(outcome.signal) : "by a spot notice";
  return Status::error(
      "ended " + cause + " after step " + std::to_string(outcome.steps) +
      "; nothing is exported" +
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

/// Runs a rank until MPI is finalized.
int runRank(comm::MpiSession& session, const TrainArguments& line,
            Expected<plan::Plan>& plan) {
  Expected<plan::Plan> agreed =
      agreeOnPlan(session, line.plans.front(), std::move(plan));
  if (!agreed)
    return failTogether(session, agreed.status());
  plan = std::move(*agreed);
  releaseFreeMemory();
  raiseFileLimit();
  watchStopSignals();
  std::signal(SIGPIPE, SIG_IGN); // failed writes are reported instead
  return train(session, *plan, line.options);
}

Expected<plan::Plan> readTrainPlan(const TrainArguments& line,
                                   const std::string& path) {
  return readJobPlan(path, line.folder, [](const std::string& folder) {
    return "`weights = \"" + folder +
           "\"` into a recipe and run `reciperun train PLAN`";
  });
}

/// Starts the ranks, with `--restarts`.
int runRestarting(const TrainArguments& line) {
  std::vector<Layout> layouts;
  for (const std::string& path : line.plans) {
    Expected<plan::Plan> plan = readTrainPlan(line, path);
    if (!plan) {
      std::fprintf(stderr, "error: %s\n", plan.message().c_str());
      return 1;
    }
    layouts.push_back({path, *std::move(plan)});
  }
  return trainAgain(std::move(layouts), {*line.restarts, line.hostfile,
                                         line.passedOn, line.options.style});
}

int runTrain(const TrainArguments& line) {
  if (line.restarts)
    return runRestarting(line);
  Expected<plan::Plan> plan = readTrainPlan(line, line.plans.front());
  int code = 0, rank = 0;
  {
    Expected<comm::MpiSession> session = comm::MpiSession::start();
    if (!session) {
      std::fprintf(stderr, "error: %s\n", session.message().c_str());
      return 1;
    }
    rank = session->rank();
    code = runGuarded(*session, [&] { return runRank(*session, line, plan); });
  }
  // MPI is finalized on all ranks: only rank 0 answers the prompts, with all
  // cores.
  if (code != 0 || rank != 0)
    return code;
  releaseStopSignals(); // everything is saved
  Status status = answerPrompts(*plan);
  if (!status.isOk())
    std::fprintf(stderr, "error: %s\n", status.message().c_str());
  return status.isOk() ? 0 : 1;
}

std::vector<cli::Option> optionsOf(TrainArguments& line) {
  return {
      cli::text("--folder", "DIR",
                "relative paths of the plan start in DIR instead", line.folder),
      cli::choice("--progress", "STYLE", "how the run tells how far it is:",
                  {{"auto", Style::automatic,
                    "a bar on a terminal, lines elsewhere (default)"},
                   {"bar", Style::bar, "a bar"},
                   {"lines", Style::lines, "a line for each logged step"}},
                  line.options.style),
      cli::text("--dump-gradients", "FILE",
                "write the first step's gradients to a safetensors file, for "
                "comparison with other programs",
                line.options.gradients),
      {.name = "--restarts",
       .valueName = "N",
       .help = "start the ranks of the plan, and up to N times again after a "
               "failure, from the last checkpoint",
       .store = [&line](const cli::Given& given) -> cli::Check {
         const auto count = cli::parseNumber<int>(given.value);
         if (!count || *count < 0)
           return cli::UsageError{"`--restarts` takes a whole number from 0, "
                                  "not `" +
                                  given.value + "`"};
         line.restarts = count;
         return std::nullopt;
       }},
      cli::text("--hostfile", "FILE",
                "with `--restarts`: the hosts to run on, as mpirun reads them",
                line.hostfile),
      cli::flag("--op-times",
                "tell how long the parts of the start took, and at the end how "
                "long ops of each kind take a step, of every fourth one, on "
                "rank 0",
                line.options.timesOps),
      {.name = "--profile",
       .valueName = "FIRST:LAST:RANKS",
       .help = "write a trace of these steps for Chrome and Perfetto into "
               "`profile` of the run's folder, and have nsys and ncu look at "
               "them; RANKS is `0,3` or `all`",
       .store = [&line](const cli::Given& given) -> cli::Check {
         Expected<ProfileRange> range = ProfileRange::parse(given.value);
         if (!range)
           return cli::UsageError{range.message()};
         line.options.profile = *std::move(range);
         return std::nullopt;
       }}};
}

} // namespace

cli::Command trainCommand() {
  auto line = std::make_shared<TrainArguments>();
  return {
      .name = "train",
      .synopsis = "PLAN... [options]",
      .summary =
          "carry out a plan; `mpirun -np N reciperun train PLAN` for N ranks",
      .details =
          "Carries out a plan that recipec compiled, on as many ranks as it "
          "wants. Relative paths in it start in the recipe's folder, to which "
          "the plan knows the way. SIGTERM and SIGINT end the run after the "
          "step in progress, with a checkpoint where the plan saves any. A run "
          "whose standard output is closed or full goes on without it. With "
          "`--restarts`, this process starts the ranks by mpirun and starts "
          "them again when a rank has died or hangs, or when the run has saved "
          "a checkpoint before it failed; what stands behind `--` goes to "
          "mpirun. Several plans of one run, for different numbers of ranks, "
          "let it go on when hosts are lost: each start takes the plan with "
          "the most ranks for which the host file has slots, and a restart "
          "leaves out hosts that do not answer.",
      .moreUsage = {"mpirun -np N reciperun train PLAN [options]",
                    "reciperun train PLAN... --restarts N [options] "
                    "[-- OPTIONS]"},
      .options = optionsOf(*line),
      .operands = {1, mostPlans, "the path of a plan", &line->plans},
      .passedOn = &line->passedOn,
      .check = [line]() -> cli::Check {
        if (!line->restarts && line->plans.size() > 1)
          return cli::UsageError{
              "several plans are for `--restarts`, which chooses between them; "
              "otherwise `reciperun train` takes one"};
        if (line->restarts ||
            (line->hostfile.empty() && line->passedOn.empty()))
          return std::nullopt;
        return cli::UsageError{
            "`--hostfile` and options of mpirun are for `--restarts`, which "
            "starts the ranks; otherwise mpirun takes them: `mpirun --hostfile "
            "FILE -np N reciperun train PLAN`"};
      },
      .run = [line] { return runTrain(*line); }};
}

} // namespace reciperun::train
