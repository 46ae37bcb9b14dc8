// The main thread opens the model and runs the engine. The front's thread
// listens from the beginning, so that /health says 503 while the model loads.
//
//   1. Listen; 2. open the model; 3. answer until a stop signal; 4. drain:
//   refuse new requests and finish the open ones; 5. stop the front.

#include "runtime/server/commands/ServeCommand.h"

#include "runtime/base/Log.h"
#include "runtime/base/RemoteFiles.h"
#include "runtime/base/SamePlace.h"
#include "runtime/base/StopSignal.h"
#include "runtime/comm/MpiSession.h"
#include "runtime/serve/engine/ServingRanks.h"
#include "runtime/serve/prompts/PromptTokens.h"
#include "runtime/server/commands/Front.h"
#include "runtime/server/commands/Restarts.h"
#include "runtime/server/commands/ServeArguments.h"
#include "runtime/server/commands/ServedPlaces.h"
#include "runtime/server/front/EngineQueue.h"
#include "runtime/server/repository/EngineSource.h"
#include "runtime/server/repository/FolderSource.h"

#include <chrono>
#include <csignal>
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

/// The name of the engine's model in requests.
std::string nameOf(const ServeArguments& arguments,
                   const std::filesystem::path& engine) {
  return arguments.name.empty() ? lastNameOf(engine) : arguments.name;
}

/// The defaults of requests. Fails when the file is there and invalid.
Expected<std::optional<serve::GenerationConfig>>
readDefaults(const std::filesystem::path& folder) {
  using Defaults = std::optional<serve::GenerationConfig>;
  const std::filesystem::path path = folder / "generation_config.json";
  if (isAbsent(path))
    return Defaults();
  const auto config = serve::readGenerationConfig(path);
  RECIPERUN_TRY(config);
  return config->temperature > 0 ? Defaults(*config) : Defaults();
}

std::string urlOf(const ServeArguments& arguments, int port) {
  const std::string& host = arguments.address.host;
  const bool isIpv6 = host.find(':') != std::string::npos;
  return (arguments.access.usesTls() ? "https://" : "http://") +
         (isIpv6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

FrontSettings frontSettings(const ServeArguments& arguments) {
  FrontSettings made;
  made.openAi = {.version = RECIPERUN_VERSION,
                 .mostAnswers = size_t(arguments.mostAnswers)};
  made.metrics = arguments.metrics;
  made.repository = arguments.repository;
  made.endsOnFailedLoad = arguments.endsOnFailedLoad;
  made.shutdown = {.drain = std::chrono::seconds(arguments.drainSeconds),
                   .step = std::chrono::seconds(arguments.stepSeconds),
                   .isPartOfJob = comm::MpiSession::isOneOfSeveral()};
  made.stall = std::chrono::seconds(arguments.stallSeconds);
  made.gate = arguments.access.gate;
  made.grpcRestricted = arguments.grpcRestricted;
  made.limits = arguments.access.limits;
  if (arguments.access.usesTls())
    made.tls = arguments.access.tls;
  return made;
}

/// Where the models of the server come from.
std::unique_ptr<ModelSource> sourceOf(const ServeArguments& arguments,
                                      const ServedPlaces& places) {
  if (places.repositories.empty())
    return std::make_unique<EngineSource>(nameOf(arguments, places.engine));
  return std::make_unique<FolderSource>(FolderSource::Settings{
      .folders = places.repositories, .configName = arguments.configName});
}

/// The ports of a server; -1: none.
struct Ports {
  int http = -1, openAi = -1, grpc = -1, metrics = -1;
};

/// A front that listens.
Expected<std::unique_ptr<Front>> openFront(const ServeArguments& arguments,
                                           EngineQueue& queue,
                                           ModelSource& source,
                                           bool hasRepository, Ports& ports) {
  constexpr int none = -1, tritonsGrpc = 8001, tritonsMetrics = 8002;
  auto opened = Front::open(frontSettings(arguments), queue, source);
  RECIPERUN_TRY(opened);
  Front& front = **opened;
  const auto addressOf = [&](std::optional<int> given, int otherwise) {
    HttpAddress address = arguments.address;
    address.port = given.value_or(hasRepository ? otherwise : none);
    return address;
  };
  const auto http = front.listen(arguments.address);
  RECIPERUN_TRY(http);
  ports.http = *http;
  if (const HttpAddress address = addressOf(arguments.openAiPort, none);
      address.port >= 0) {
    const auto openAi = front.listenForOpenAi(address);
    RECIPERUN_TRY(openAi);
    ports.openAi = *openAi;
  }
  if (const HttpAddress address = addressOf(arguments.grpcPort, tritonsGrpc);
      address.port >= 0) {
    const auto grpc = front.listenForGrpc(address);
    RECIPERUN_TRY(grpc);
    ports.grpc = *grpc;
  }
  if (const HttpAddress address =
          addressOf(arguments.metricsPort, tritonsMetrics);
      address.port >= 0) {
    const auto metrics = front.listenForMetrics(address);
    RECIPERUN_TRY(metrics);
    ports.metrics = *metrics;
  }
  front.start();
  return opened;
}

/// The server is ready.
void tellPlaces(const ServeArguments& arguments, const std::string& what,
                const Ports& ports) {
  std::string line = what + " served at " + urlOf(arguments, ports.http);
  if (ports.openAi >= 0)
    line += ", OpenAI's API also at port " + std::to_string(ports.openAi);
  if (ports.grpc >= 0)
    line += ", gRPC at port " + std::to_string(ports.grpc);
  if (ports.metrics >= 0)
    line += ", metrics at port " + std::to_string(ports.metrics);
  logLine(LogLevel::info, line);
  noteReady();
}

/// The part of rank 0.
Status serveEngine(const ServeArguments& arguments, const ServedPlaces& places,
                   const ModelFolder& folder, ServingRanks& ranks) {
  if (!folder.tokenizer)
    return noTokenizer(folder);
  const auto prompts =
      serve::PromptTokens::open(folder.path, folder.plan, *folder.tokenizer);
  RECIPERUN_TRY(prompts);
  const auto defaults = readDefaults(folder.path);
  RECIPERUN_TRY(defaults);
  ApiModel served{.name = nameOf(arguments, places.engine),
                  .adapters = {},
                  .folder = folder,
                  .prompts = *prompts,
                  .defaults = *defaults,
                  .created = std::time(nullptr)};
  for (const serve::NamedAdapter& each : arguments.adapters)
    served.adapters.push_back(each.name);
  EngineQueue queue;
  const std::unique_ptr<ModelSource> source = sourceOf(arguments, places);
  Ports ports;
  const auto front =
      openFront(arguments, queue, *source, !places.repositories.empty(), ports);
  RECIPERUN_TRY(front);
  auto model = ranks.open(folder);
  RECIPERUN_TRY(model);
  const auto engine = makeEngine(folder, *std::move(model));
  RECIPERUN_TRY(engine);
  RECIPERUN_TRY(addAdapters(arguments.adapters, **engine));
  served.vocab = (*engine)->vocab();
  watchStopSignals();
  (*front)->open(&served, [&] {
    tellPlaces(arguments, "`" + served.name + "` is", ports);
  });
  const Shutdown& shutdown = (*front)->shutdown();
  RECIPERUN_TRY(queue.run(**engine, [&] { return shutdown.isDue(); }));
  return shutdown.outcome();
}

/// Serves a repository without a language model.
Status serveModels(const ServeArguments& arguments,
                   const ServedPlaces& places) {
  constexpr auto interval = std::chrono::milliseconds(20);
  EngineQueue queue; // that nobody fills
  const std::unique_ptr<ModelSource> source = sourceOf(arguments, places);
  Ports ports;
  const auto front =
      openFront(arguments, queue, *source, /*hasRepository=*/true, ports);
  RECIPERUN_TRY(front);
  watchStopSignals();
  (*front)->open(nullptr, [&] {
    tellPlaces(arguments, "the repository's models are", ports);
  });
  const Shutdown& shutdown = (*front)->shutdown();
  while (!shutdown.isDue())
    std::this_thread::sleep_for(interval);
  return shutdown.outcome();
}

/// Sets the limit of connections, each of which is an open file. Lowers it to
/// what the system allows, with a warning if more were requested: without a
/// free descriptor a server cannot even refuse a connection.
void allowManyConnections(AccessArguments& access) {
  constexpr size_t otherFiles = 256;
  size_t& connections = access.limits.connections;
  if (access.connections > 0)
    connections = access.connections;
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
    return;
  limit.rlim_cur = limit.rlim_max;
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
    return;
  const size_t most = limit.rlim_cur <= otherFiles * 2
                          ? otherFiles
                          : size_t(limit.rlim_cur) - otherFiles;
  if (access.connections > most)
    logLine(LogLevel::warning, "the limit of open files allows " +
                                   std::to_string(most) + " connections, not " +
                                   std::to_string(access.connections) +
                                   "; raise it by `ulimit -n`");
  connections = std::min(connections, most);
}

int exitCodeOf(const Status& ended) {
  if (ended.isOk())
    return 0;
  logLine(LogLevel::error, ended.message());
  return 1;
}

/// The folder of the engine. A failure says which model of a repository names
/// it.
Expected<ModelFolder> folderOf(const Expected<ServedPlaces>& places,
                               const ServeArguments& arguments) {
  RECIPERUN_TRY(places);
  Expected<ModelFolder> folder = serve::readModelFolder(
      places->engine, arguments.adapters.size(), arguments.plan);
  if (!folder && !places->user.empty())
    return folder.status().withContext("the engine of `" +
                                       places->user.string() + "`");
  return folder;
}

int runServe(ServeArguments& arguments) {
  setLogLevel(arguments.logLevel);
  if (arguments.restarts > 0)
    return serveAgain(arguments);
  // Writing to a connection that the client has closed must not end the
  // process.
  std::signal(SIGPIPE, SIG_IGN);
  // The signal reaches all ranks; only the front on rank 0 handles it.
  std::signal(SIGUSR2, SIG_IGN);
  allowManyConnections(arguments.access);
  const auto places =
      findPlaces(arguments.directories, arguments.engine, arguments.configName);
  if (places && places->engine.empty())
    return exitCodeOf(serveModels(arguments, *places));
  const Expected<ModelFolder> folder = folderOf(places, arguments);
  const auto ranks = ServingRanks::join(folder, arguments.threads);
  if (!ranks->leads())
    return ranks->follow(folder);
  return exitCodeOf(ranks->status().isOk()
                        ? serveEngine(arguments, *places, *folder, *ranks)
                        : ranks->status());
}

} // namespace

cli::Command serveCommand() {
  const auto arguments = std::make_shared<ServeArguments>();
  cli::Command command = describeServe(*arguments);
  command.run = [arguments] { return runServe(*arguments); };
  return command;
}

} // namespace reciperun::server
