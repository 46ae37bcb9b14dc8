// The main thread opens the model and runs the engine. The front's thread
// listens from the beginning, so that /health says 503 while the model loads.
//
//   1. Listen; 2. open the model; 3. answer until a stop signal; 4. drain:
//   refuse new requests and finish the open ones; 5. stop the front.

#include "runtime/server/commands/ServeCommand.h"

#include "runtime/base/StopSignal.h"
#include "runtime/serve/engine/ServingRanks.h"
#include "runtime/serve/prompts/PromptTokens.h"
#include "runtime/server/commands/Front.h"
#include "runtime/server/commands/ServeArguments.h"
#include "runtime/server/front/EngineQueue.h"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <memory>
#include <optional>
#include <sys/resource.h>

namespace reciperun::server {
namespace {

using serve::Engine;
using serve::ModelFolder;
using serve::ServingRanks;

std::string nameOf(const ServeArguments& arguments) {
  if (!arguments.name.empty())
    return arguments.name;
  const std::filesystem::path path =
      std::filesystem::absolute(arguments.directories.front());
  return (path.filename().empty() ? path.parent_path() : path)
      .filename()
      .string();
}

/// Decides when the engine stops: when a drain is complete or takes too long.
class Shutdown {
public:
  Shutdown(Front& front, int drainSeconds)
      : front(front), limit(std::chrono::seconds(drainSeconds)) {}

  bool isDue() {
    if (stopSignal() == 0)
      return false;
    if (!begin) {
      begin = std::chrono::steady_clock::now();
      std::fputs("note: stopping; open answers are completed, new requests "
                 "refused\n",
                 stderr);
      front.drain();
    }
    return front.isDrained() || (front.drains() && isLate());
  }
  bool cutsAnswers() const { return !front.isDrained(); }

private:
  bool isLate() const {
    return std::chrono::steady_clock::now() - *begin >= limit;
  }

  Front& front;
  std::chrono::seconds limit;
  std::optional<std::chrono::steady_clock::time_point> begin;
};

/// The defaults of requests. Fails when the file is there and invalid.
Expected<std::optional<serve::GenerationConfig>>
readDefaults(const std::filesystem::path& folder) {
  using Defaults = std::optional<serve::GenerationConfig>;
  const std::filesystem::path path = folder / "generation_config.json";
  std::error_code code;
  if (!std::filesystem::exists(path, code))
    return Defaults();
  const auto config = serve::readGenerationConfig(path);
  RECIPERUN_TRY(config);
  return config->temperature > 0 ? Defaults(*config) : Defaults();
}

std::string urlOf(const HttpAddress& address, int port) {
  const bool isIpv6 = address.host.find(':') != std::string::npos;
  return "http://" + (isIpv6 ? "[" + address.host + "]" : address.host) + ":" +
         std::to_string(port);
}

/// The part of rank 0.
Status serveModel(const ServeArguments& arguments, const ModelFolder& folder,
                  ServingRanks& ranks) {
  if (!folder.tokenizer)
    return noTokenizer(folder);
  const auto prompts =
      serve::PromptTokens::open(folder.path, folder.plan, *folder.tokenizer);
  RECIPERUN_TRY(prompts);
  const auto defaults = readDefaults(folder.path);
  RECIPERUN_TRY(defaults);
  ApiModel served{.name = nameOf(arguments),
                  .adapters = {},
                  .folder = folder,
                  .prompts = *prompts,
                  .defaults = *defaults,
                  .created = std::time(nullptr)};
  for (const serve::NamedAdapter& each : arguments.adapters)
    served.adapters.push_back(each.name);
  EngineQueue queue;
  auto opened = Front::open({.version = RECIPERUN_VERSION,
                             .mostAnswers = size_t(arguments.mostAnswers)},
                            queue);
  RECIPERUN_TRY(opened);
  Front& front = **opened;
  const auto port = front.listenForOpenAi(arguments.address);
  RECIPERUN_TRY(port);
  front.start();
  auto model = ranks.open(folder);
  RECIPERUN_TRY(model);
  const auto engine = makeEngine(folder, *std::move(model));
  RECIPERUN_TRY(engine);
  RECIPERUN_TRY(addAdapters(arguments.adapters, **engine));
  served.vocab = (*engine)->vocab();
  watchStopSignals();
  front.open(served);
  std::fprintf(stderr, "note: `%s` is served at %s\n", served.name.c_str(),
               urlOf(arguments.address, *port).c_str());
  Shutdown shutdown(front, arguments.drainSeconds);
  RECIPERUN_TRY(queue.run(**engine, [&] { return shutdown.isDue(); }));
  return shutdown.cutsAnswers()
             ? Status::error("open answers took longer than the " +
                             std::to_string(arguments.drainSeconds) +
                             " s of `--drain-timeout` and were cut off")
             : Status::ok();
}

/// Each connection is an open file.
void allowManyConnections() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
    return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

int runServe(const ServeArguments& arguments) {
  // Writing to a connection that the client has closed must not end the
  // process.
  std::signal(SIGPIPE, SIG_IGN);
  allowManyConnections();
  const Expected<ModelFolder> folder = serve::readModelFolder(
      arguments.directories.front(), arguments.adapters.size());
  const auto ranks = ServingRanks::join(folder, arguments.threads);
  if (!ranks->leads())
    return ranks->follow(folder);
  Status ended = ranks->status();
  if (ended.isOk())
    ended = serveModel(arguments, *folder, *ranks);
  if (ended.isOk())
    return 0;
  std::fprintf(stderr, "error: %s\n", ended.message().c_str());
  return 1;
}

} // namespace

cli::Command serveCommand() {
  const auto arguments = std::make_shared<ServeArguments>();
  cli::Command command = describeServe(*arguments);
  command.run = [arguments] { return runServe(*arguments); };
  return command;
}

} // namespace reciperun::server
