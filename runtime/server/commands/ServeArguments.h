// The command line of `reciperun serve`.

#ifndef RECIPERUN_SERVER_COMMANDS_SERVEARGUMENTS_H
#define RECIPERUN_SERVER_COMMANDS_SERVEARGUMENTS_H

#include "runtime/base/Log.h"
#include "runtime/cli/Command.h"
#include "runtime/serve/engine/AdapterArguments.h"
#include "runtime/server/commands/AccessArguments.h"
#include "runtime/server/grpc/GrpcSettings.h"
#include "runtime/server/http/HttpServer.h"
#include "runtime/server/metrics/MetricsConfig.h"
#include "runtime/server/repository/Repository.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace reciperun::server {

struct ServeArguments {
  std::vector<std::string> directories; // a model's, or repositories
  std::string engine;                   // of repositories; empty: they name it
  std::string configName;               // of a file in `configs` of models
  Repository::Settings repository;
  int pollSeconds = 15; // of ModelControl::poll
  std::string cache;    // `local,size=N`; empty: none
  bool endsOnFailedLoad = true;
  HttpAddress address;
  /// Without a value: with a repository, Triton's; otherwise none.
  std::optional<int> grpcPort, metricsPort;
  std::optional<int> openAiPort; // beside `address`, which has that API too
  std::map<std::string, GrpcRestriction> grpcRestricted; // by API
  std::string name; // of the model; empty: the folder's
  std::string plan; // a file; empty: the model's
  std::vector<serve::NamedAdapter> adapters;
  int mostAnswers = 4096; // in progress and waiting
  int drainSeconds = 30;  // for open answers after a stop signal
  int stallSeconds = 3;   // of a step, until the server is not ready
  int stepSeconds = 600;  // that a step may take
  int restarts = 0;       // after failures
  MetricsConfig metrics;
  int threads = 0; // of the CPU; 0: OMP_NUM_THREADS or all cores
  LogLevel logLevel = LogLevel::info;
  AccessArguments access;
};

/// The command without its `run`; it stores its values in `arguments`, which
/// must outlive it.
cli::Command describeServe(ServeArguments& arguments);

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_COMMANDS_SERVEARGUMENTS_H
