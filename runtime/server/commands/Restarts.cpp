// See Restarts.h.

#include "runtime/server/commands/Restarts.h"

#include "runtime/base/Log.h"
#include "runtime/comm/MpiSession.h"
#include "runtime/launch/Launch.h"
#include "runtime/launch/Mpirun.h"
#include "runtime/serve/engine/ModelFolder.h"
#include "runtime/server/commands/ServedPlaces.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

namespace reciperun::server {
namespace {

constexpr std::chrono::seconds firstPause(1), longestPause(30);
constexpr const char* readyVariable = "RECIPERUN_READY_FILE";

/// A file that the server creates when it is ready.
class ReadyFile {
public:
  ReadyFile() {
    std::string name =
        std::filesystem::temp_directory_path() / "reciperun-ready-XXXXXX";
    if (mkdtemp(name.data()))
      folder = name;
    setenv(readyVariable, (folder / "ready").c_str(), /*replace=*/1);
  }
  ReadyFile(const ReadyFile&) = delete;
  ReadyFile& operator=(const ReadyFile&) = delete;
  ~ReadyFile() {
    std::error_code code;
    if (!folder.empty())
      std::filesystem::remove_all(folder, code);
  }

  bool isThere() const {
    std::error_code code;
    return std::filesystem::exists(folder / "ready", code);
  }
  bool isUsable() const { return !folder.empty(); }

private:
  std::filesystem::path folder;
};

/// The command line of this process without `--restart`.
std::vector<std::string> ownCommand() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) {
    if (word == "--restart")
      std::getline(file, word, '\0');
    else if (!word.starts_with("--restart="))
      words.push_back(word);
  }
  if (!words.empty())
    words.front() = std::filesystem::read_symlink("/proc/self/exe").string();
  return words;
}

/// How many ranks the engine's plan has.
Expected<int> ranksOf(const ServeArguments& arguments) {
  const auto places =
      findPlaces(arguments.directories, arguments.engine, arguments.configName);
  RECIPERUN_TRY(places);
  if (places->engine.empty())
    return 1;
  const auto folder = serve::readModelFolder(
      places->engine, arguments.adapters.size(), arguments.plan);
  RECIPERUN_TRY(folder);
  return folder->plan.mesh.ranks;
}

std::vector<std::string> commandFor(int ranks) {
  std::vector<std::string> own = ownCommand();
  if (ranks == 1)
    return own;
  std::vector<std::string> command = launch::mpirun(ranks);
  for (const std::string& each : launch::optionsHere(ranks))
    command.push_back(each);
  // The ranks divide the cores themselves, and print themselves why they end.
  command.insert(command.end(), {"--bind-to", "none", "--quiet"});
  command.insert(command.end(), own.begin(), own.end());
  return command;
}

/// Returns false when a stop signal arrives before the end of the pause.
bool pauseFor(std::chrono::seconds time) {
  sigset_t stops, before;
  sigemptyset(&stops);
  for (const int number : {SIGTERM, SIGINT, SIGUSR1})
    sigaddset(&stops, number);
  sigprocmask(SIG_BLOCK, &stops, &before);
  const timespec limit = {.tv_sec = time.count(), .tv_nsec = 0};
  const bool isAsked = sigtimedwait(&stops, nullptr, &limit) > 0;
  sigprocmask(SIG_SETMASK, &before, nullptr);
  return !isAsked;
}

int fail(const std::string& message) {
  logLine(LogLevel::error, message);
  return 1;
}

} // namespace

void noteReady() {
  if (const char* const path = std::getenv(readyVariable))
    std::ofstream file(path);
}

int serveAgain(const ServeArguments& arguments) {
  if (comm::MpiSession::isOneOfSeveral())
    return fail("`--restart` starts the ranks itself; leave out `mpirun`");
  const auto ranks = ranksOf(arguments);
  if (!ranks)
    return fail(ranks.status().message());
  const std::vector<std::string> command = commandFor(*ranks);
  const ReadyFile ready;
  if (!ready.isUsable())
    return fail("cannot make a folder in the folder of temporary files");
  std::chrono::seconds pause = firstPause;
  for (int restart = 1;; ++restart) {
    const launch::LaunchResult result =
        launch::run(command, std::cerr, /*passesHangup=*/true);
    if (result.error != 0)
      return fail("cannot start `" + command.front() +
                  "`: " + std::strerror(result.error));
    if (result.wasAsked || result.exitCode == 0 || !ready.isThere() ||
        restart > arguments.restarts)
      return result.exitCode;
    logLine(LogLevel::warning, "the server has ended with exit code " +
                                   std::to_string(result.exitCode) +
                                   " and starts again in " +
                                   std::to_string(pause.count()) +
                                   " s, restart " + std::to_string(restart) +
                                   " of " + std::to_string(arguments.restarts));
    if (!pauseFor(pause))
      return result.exitCode;
    pause = std::min(pause * 2, longestPause);
  }
}

} // namespace reciperun::server
