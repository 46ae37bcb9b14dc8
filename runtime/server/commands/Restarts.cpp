// See Restarts.h.

#include "runtime/server/commands/Restarts.h"

#include "runtime/base/Log.h"
#include "runtime/comm/MpiSession.h"
#include "runtime/launch/Mpirun.h"
#include "runtime/launch/Restarts.h"
#include "runtime/serve/engine/ModelFolder.h"
#include "runtime/server/commands/ServedPlaces.h"

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

namespace reciperun::server {
namespace {

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
  const std::vector<std::string> own = launch::ownCommand({"--restart"});
  if (ranks == 1)
    return own;
  std::vector<std::string> command = launch::mpirun(ranks, {});
  command.insert(command.end(), own.begin(), own.end());
  return command;
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
  const launch::LaunchResult result = launch::runWithRestarts(
      command,
      {.most = arguments.restarts,
       .judge =
           [&](const auto&) {
             return ready.isThere() ? launch::Worth::again
                                    : launch::Worth::none;
           },
       .warn = [](const auto& text) { logLine(LogLevel::warning, text); },
       .job = "the server"},
      std::cerr, /*passesHangup=*/true);
  if (result.error != 0)
    return fail("cannot start `" + command.front() +
                "`: " + std::strerror(result.error));
  return result.exitCode;
}

} // namespace reciperun::server
