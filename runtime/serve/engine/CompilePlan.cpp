// Runs a child process. Its standard output is a pipe that is read to the end;
// its standard error is a memfd that is read after it has ended. Reading one
// after the other therefore never blocks the child.

#include "runtime/serve/engine/CompilePlan.h"

#include "runtime/base/RemoteFiles.h"
#include "runtime/plan/PlanJson.h"
#include "runtime/serve/engine/ModelHeaders.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

extern char** environ;

namespace reciperun::serve {
namespace {

namespace fs = std::filesystem;

/// An owned file descriptor.
struct Handle {
  int number = -1;
  Handle() = default;
  Handle(const Handle&) = delete;
  ~Handle() { close(); }
  void close() {
    if (number >= 0)
      ::close(number);
    number = -1;
  }
};

struct Outcome {
  int code = 0; // 128 + the signal's number after a signal
  std::string output;
  std::string errors;
};

Status failure(const std::string& what, int error) {
  return Status::error("cannot " + what + ": " + std::strerror(error));
}

Expected<std::string> readToEnd(int descriptor) {
  std::string text;
  char chunk[1 << 16];
  while (true) {
    ssize_t got = ::read(descriptor, chunk, sizeof chunk);
    if (got == 0)
      return text;
    if (got > 0)
      text.append(chunk, size_t(got));
    else if (errno != EINTR)
      return failure("read what `recipec` prints", errno);
  }
}

int codeOf(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR)
    ;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/// Fails when there is no such program.
Expected<Outcome> run(std::vector<std::string> words) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return failure("make a pipe", errno);
  Handle in, out, errors;
  in.number = ends[0];
  out.number = ends[1];
  errors.number = memfd_create("recipec", MFD_CLOEXEC);
  if (errors.number < 0)
    return failure("keep what `recipec` prints", errno);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, out.number, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, errors.number, STDERR_FILENO);
  std::vector<char*> arguments;
  for (std::string& word : words)
    arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t child = 0;
  int error = posix_spawnp(&child, words[0].c_str(), &actions, nullptr,
                           arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0)
    return failure("start `" + words[0] + "`", error);
  out.close();
  Expected<std::string> output = readToEnd(in.number);
  in.close(); // ends a child that still writes
  Outcome outcome;
  outcome.code = codeOf(child);
  RECIPERUN_TRY(output);
  outcome.output = *std::move(output);
  lseek(errors.number, 0, SEEK_SET);
  Expected<std::string> messages = readToEnd(errors.number);
  RECIPERUN_TRY(messages);
  outcome.errors = *std::move(messages);
  return outcome;
}

/// The path of the `recipec` next to this program, or the bare name, which is
/// searched in PATH.
std::string compiler() {
  std::error_code code;
  fs::path beside = fs::read_symlink("/proc/self/exe", code);
  beside.replace_filename("recipec");
  return !code && access(beside.c_str(), X_OK) == 0 ? beside.string()
                                                    : "recipec";
}

/// A text with all occurrences of `from` replaced.
std::string replaced(std::string text, const std::string& from,
                     const std::string& to) {
  for (size_t at = text.find(from); at != text.npos;
       at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

/// Why no plan was compiled, and what to do.
Status noCompiler(const fs::path& directory, const std::string& options,
                  const std::string& why) {
  const std::string folder = directory.string();
  const std::string message =
      "`" + folder +
      "` holds no `generate.plan.json`, and `recipec` is neither beside this "
      "program nor in PATH (" +
      why + "); ";
  if (isAddress(directory))
    return Status::error(message + "put the plan there that `recipec plan DIR" +
                         options + "` compiles of a copy");
  return Status::error(
      message + "where it is, compile one with `recipec plan " + folder +
      options + " -o " + (directory / "generate.plan.json").string() + "`");
}

/// Compiles the plan of a folder that is called `name` in messages.
Expected<plan::Plan> compileFolder(const fs::path& folder, const fs::path& name,
                                   const std::vector<std::string>& settings) {
  std::vector<std::string> words = {compiler(), "plan", folder.string()};
  std::string options; // as a user writes them
  for (const std::string& setting : settings) {
    words.insert(words.end(), {"--set", setting});
    options += " --set " + setting;
  }
  Expected<Outcome> outcome = run(std::move(words));
  if (!outcome)
    return noCompiler(name, options, outcome.message());
  if (outcome->code != 0)
    return Status::error(
        "`" + name.string() +
        "` holds no `generate.plan.json`, and `recipec plan " + name.string() +
        options + "` ends with code " + std::to_string(outcome->code) + ":\n" +
        replaced(outcome->errors, folder.string(), name.string()));
  Expected<plan::Plan> plan = plan::fromJson(outcome->output);
  RECIPERUN_TRY(plan.status().withContext("what `recipec` prints"));
  RECIPERUN_TRY(plan::validate(*plan).withContext("what `recipec` prints"));
  return plan;
}

} // namespace

Expected<plan::Plan> compilePlan(const fs::path& directory,
                                 const std::vector<std::string>& settings) {
  if (!isAddress(directory))
    return compileFolder(directory, directory, settings);
  const Expected<ModelHeaders> headers = ModelHeaders::copyFrom(directory);
  RECIPERUN_TRY(headers);
  return compileFolder(headers->path(), directory, settings);
}

} // namespace reciperun::serve
