// reciperun's commands: one line each in the table, a file each elsewhere.

#include "runtime/train/Commands.h"

#include "runtime/exec/Devices.h"
#include "runtime/plan/Plan.h"
#include "runtime/serve/GenerateCommand.h"
#include "runtime/train/Exceptions.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <string_view>

namespace reciperun::train {
namespace {

struct Command {
  const char* name;
  const char* summary;
  int (*run)(const std::vector<std::string>& arguments);
};

constexpr Command commands[] = {
    {"train",
     "carry out a plan; `mpirun -np N reciperun train PLAN` for N ranks",
     trainCommand},
    {"eval", "the loss of a checkpoint on the plan's validation data",
     evalCommand},
    {"generate", "answer prompts with an exported model",
     serve::generateCommand},
    {"convert",
     "write a checkpoint for Hugging Face or peft, or a Hugging Face model as "
     "a checkpoint",
     convertCommand},
    {"checkpoint", "list, verify, prune and compare the checkpoints of a run",
     checkpointCommand},
};

/// Levenshtein's distance: insertions, deletions and substitutions.
size_t editDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t(0));
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0]++;
    for (size_t j = 0; j < b.size(); ++j) {
      size_t substituted = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({diagonal + 1, row[j] + 1, substituted});
    }
  }
  return row.back();
}

int printHelp() {
  std::printf("usage: reciperun COMMAND ARGUMENTS\n\n"
              "Carries out the plans that recipec compiles.\n\n"
              "commands:\n");
  for (const Command& command : commands)
    std::printf("  %-12s%s\n", command.name, command.summary);
  std::printf("\nSee `reciperun COMMAND --help`; `reciperun --version`.\n"
              "Exit codes: 0 done, 1 failed, 2 wrong usage, 128 + n ended by "
              "signal n\nafter the step in progress.\n");
  return 0;
}

int printVersion() {
  const std::string gpus = exec::gpuNames();
  std::printf("reciperun " RECIPERUN_VERSION ", plans of version %d.%d, "
              "kernels for CPUs %s\n",
              plan::majorVersion, plan::minorVersion,
              gpus.empty()
                  ? "alone"
                  : ("and GPUs of compute capability " + gpus).c_str());
  return 0;
}

int unknownCommand(const std::string& name) {
  auto nearest = std::min_element(std::begin(commands), std::end(commands),
                                  [&](const Command& a, const Command& b) {
                                    return editDistance(name, a.name) <
                                           editDistance(name, b.name);
                                  });
  std::fprintf(stderr, "error: there is no command `%s`\n", name.c_str());
  if (editDistance(name, nearest->name) <= 1 + name.size() / 3)
    std::fprintf(stderr, "help: did you mean `%s`?\n", nearest->name);
  else
    std::fprintf(stderr, "help: `reciperun --help` lists the commands\n");
  return 2;
}

int dispatch(const std::vector<std::string>& arguments) {
  if (arguments.empty() || arguments[0] == "--help" || arguments[0] == "-h" ||
      arguments[0] == "help") {
    printHelp();
    return arguments.empty() ? 2 : 0;
  }
  if (arguments[0] == "--version")
    return printVersion();
  for (const Command& command : commands)
    if (arguments[0] == command.name)
      return command.run({arguments.begin() + 1, arguments.end()});
  return unknownCommand(arguments[0]);
}

/// The exit code of a command, and 1 where what it printed did not arrive.
int finishOutput(int code) {
  errno = 0;
  const bool isWritten = std::fflush(stdout) == 0 && !std::ferror(stdout);
  if (isWritten)
    return code;
  std::fprintf(stderr, "error: cannot write to standard output: %s\n",
               std::strerror(errno ? errno : EIO));
  return code ? code : 1;
}

} // namespace

int runCommand(const std::vector<std::string>& arguments) {
  reportExceptionsOfThreads();
  try {
    return finishOutput(dispatch(arguments));
  } catch (...) {
    std::fprintf(stderr, "error: %s\n", statusOfException().message().c_str());
    return 1;
  }
}

} // namespace reciperun::train
