// Declares the options.

#include "runtime/server/commands/ServeArguments.h"

#include "runtime/cli/Options.h"
#include "runtime/server/program/ServerProgram.h"

#include <algorithm>

namespace reciperun::server {
namespace {

constexpr int mostPort = 65535;

/// `local,size=1048576`, as Triton has it.
cli::Check readCache(ServeArguments& arguments) {
  constexpr std::string_view begin = "local,size=";
  if (arguments.cache.empty())
    return std::nullopt;
  const auto bytes =
      arguments.cache.starts_with(begin)
          ? cli::parseNumber<size_t>(arguments.cache.substr(begin.size()))
          : std::nullopt;
  if (!bytes)
    return cli::UsageError{"`--cache-config` takes `local,size=BYTES`, not `" +
                           arguments.cache + "`"};
  arguments.repository.cacheBytes = *bytes;
  return std::nullopt;
}

/// A port, which is absent until it is given.
cli::Option portOption(const std::string& name, const std::string& help,
                       std::optional<int>& target) {
  return {.name = name,
          .valueName = "N",
          .help = help,
          .store = [name, &target](const cli::Given& given) -> cli::Check {
            target = cli::parseNumber<int>(given.value);
            if (target && *target >= 0 && *target <= mostPort)
              return std::nullopt;
            return cli::UsageError{"`" + name + "` takes a number up to " +
                                   std::to_string(mostPort) + ", not `" +
                                   given.value + "`"};
          }};
}

/// `health,metadata:key=value`.
cli::Check restrictGrpc(ServeArguments& arguments, const std::string& text) {
  const size_t colon = text.find(':'), equal = text.find('=', colon + 1);
  if (colon == std::string::npos || equal == std::string::npos || colon == 0 ||
      equal == colon + 1)
    return cli::UsageError{"`--grpc-restricted-protocol` takes "
                           "API,...:KEY=VALUE, not `" +
                           text + "`"};
  const GrpcRestriction rule{.key = text.substr(colon + 1, equal - colon - 1),
                             .value = text.substr(equal + 1)};
  for (size_t begin = 0; begin < colon;) {
    const size_t end = std::min(text.find(',', begin), colon);
    arguments.grpcRestricted[text.substr(begin, end - begin)] = rule;
    begin = end + 1;
  }
  return std::nullopt;
}

/// Checks what no option can check by itself, and completes the settings.
cli::Check completeServe(ServeArguments& arguments) {
  if (arguments.address.port > mostPort)
    return cli::UsageError{"`--port` takes a number up to 65535, not `" +
                           std::to_string(arguments.address.port) + "`"};
  if (auto error = readCache(arguments))
    return error;
  if (!arguments.repository.startWith.empty() &&
      arguments.repository.control != ModelControl::explicitly)
    return cli::UsageError{
        "`--load-model` needs `--model-control-mode explicit`"};
  arguments.repository.pollInterval =
      std::chrono::seconds(arguments.pollSeconds);
  return checkAccess(arguments.access);
}

/// `R1:4`, of the rate limiter.
cli::Check addResource(ServeArguments& arguments, const std::string& text) {
  const size_t colon = text.find(':');
  const auto count = colon == std::string::npos || colon == 0
                         ? std::nullopt
                         : cli::parseNumber<uint64_t>(text.substr(colon + 1));
  if (!count)
    return cli::UsageError{"`--rate-limit-resource` takes NAME:COUNT, not `" +
                           text + "`"};
  arguments.repository.resources[text.substr(0, colon)] = *count;
  return std::nullopt;
}

/// The options of repositories, under Triton's names.
std::vector<cli::Option> repositoryOptions(ServeArguments& arguments) {
  Repository::Settings& repository = arguments.repository;
  return {
      cli::pathOrAddress(
          "--engine", "DIR",
          "the model that language models of a repository run (that of "
          "their `gpt_model_path`)",
          arguments.engine),
      cli::choice<ModelControl>(
          "--model-control-mode", "MODE",
          "who decides which models of a repository are served (none)",
          {{"none", ModelControl::none, "all are"},
           {"explicit", ModelControl::explicitly,
            "those of --load-model, then clients"},
           {"poll", ModelControl::poll, "all are, also new and changed ones"}},
          repository.control),
      {.name = "--load-model",
       .valueName = "NAME",
       .help = "a model to load at the start with --model-control-mode "
               "explicit; `*` is all",
       .repeats = true,
       .store = [&repository](const cli::Given& given) -> cli::Check {
         repository.startWith.insert(given.value);
         return std::nullopt;
       }},
      cli::number("--repository-poll-secs", "SECONDS",
                  "between two looks at a repository (15)", 1,
                  arguments.pollSeconds),
      cli::text("--model-config-name", "NAME",
                "take configs/NAME.pbtxt of a model in place of config.pbtxt",
                arguments.configName),
      cli::text("--cache-config", "local,size=BYTES",
                "keep responses of models with response_cache (none)",
                arguments.cache),
      cli::choice<bool>("--rate-limit", "MODE",
                        "whether instances wait for their resources (off)",
                        {{"off", false, "they do not"},
                         {"execution_count", true,
                          "they do, the one that ran less often first"}},
                        repository.limitsRates),
      {.name = "--rate-limit-resource",
       .valueName = "NAME:COUNT",
       .help = "how much of a resource there is",
       .repeats = true,
       .store =
           [&arguments](const cli::Given& given) {
             return addResource(arguments, given.value);
           }},
      cli::choice<bool>("--exit-on-error", "BOOL",
                        "whether a model that cannot be loaded at the start "
                        "ends the server (true)",
                        {{"true", true, "it does"},
                         {"false", false, "the others are served"}},
                        arguments.endsOnFailedLoad),
      cli::choice<bool>("--strict-readiness", "BOOL",
                        "whether the server is ready only while all models "
                        "are (true)",
                        {{"true", true, "it is"},
                         {"false", false, "it is ready once it has started"}},
                        repository.isReadyWithAllModels)};
}

cli::Option metricsOption(MetricsConfig& config) {
  return {.name = "--metrics-config",
          .valueName = "SETTING=VALUE",
          .help = "what /metrics has of models: `counter_latencies` (true), "
                  "`histogram_latencies` (false), `summary_latencies` (false), "
                  "`summary_quantiles` (0.5:0.05,0.9:0.01,0.95:0.001,...)",
          .repeats = true,
          .store = [&config](const cli::Given& given) -> cli::Check {
            const Status status = applySetting(given.value, config);
            if (status.isOk())
              return std::nullopt;
            return cli::UsageError{"`--metrics-config`: " + status.message()};
          }};
}

} // namespace

cli::Command describeServe(ServeArguments& arguments) {
  std::vector<cli::Option> options = {
      cli::text("--host", "ADDRESS",
                "where to listen (127.0.0.1); 0.0.0.0 listens at all addresses "
                "of this machine, and whoever reaches them may use the model",
                arguments.address.host),
      cli::number("--port", "N", "the port (8000); 0 takes a free one", 0,
                  arguments.address.port),
      portOption("--grpc-port",
                 "a port for KServe's protocol over gRPC (8001 with a "
                 "repository, otherwise none)",
                 arguments.grpcPort),
      portOption("--openai-port",
                 "a port for OpenAI's API alone (none); --port has it too",
                 arguments.openAiPort),
      portOption("--metrics-port",
                 "a port for /metrics alone (8002 with a repository, otherwise "
                 "none); --port has it too",
                 arguments.metricsPort),
      {.name = "--grpc-restricted-protocol",
       .valueName = "API,...:KEY=VALUE",
       .help = "let only calls of gRPC with the header "
               "`triton-grpc-protocol-KEY: VALUE` use some of Triton's APIs",
       .repeats = true,
       .store =
           [&arguments](const cli::Given& given) {
             return restrictGrpc(arguments, given.value);
           }},
      cli::text("--served-model-name", "NAME",
                "the model's name in requests (the folder's)", arguments.name),
      cli::pathOrAddress(
          "--plan", "FILE",
          "serve by this plan (DIR/generate.plan.json, or one that is "
          "compiled for DIR)",
          arguments.plan),
      serve::adapterOption("requests choose one by its name as `model`",
                           arguments.adapters),
      cli::number("--max-queue", "N",
                  "answers in progress and waiting; more are refused with "
                  "status 503 (4096)",
                  1, arguments.mostAnswers),
      cli::number("--drain-timeout", "SECONDS",
                  "time for open answers after SIGTERM or SIGINT (30)", 0,
                  arguments.drainSeconds),
      cli::number("--stall-timeout", "SECONDS",
                  "a step of the engine that takes longer makes the server "
                  "not ready until it ends (3)",
                  1, arguments.stallSeconds),
      cli::number("--step-timeout", "SECONDS",
                  "a step of the engine that takes longer ends the server, as "
                  "when a rank hangs (600)",
                  1, arguments.stepSeconds),
      cli::number("--restart", "N",
                  "start the server again after a failure, at most N times "
                  "(0); it also starts the ranks of the plan with mpirun",
                  0, arguments.restarts),
      metricsOption(arguments.metrics),
      cli::number("--threads", "N",
                  "of the CPU (`OMP_NUM_THREADS`, or all cores)", 1,
                  arguments.threads),
      cli::choice<LogLevel>(
          "--log-level", "LEVEL", "the least important lines on stderr (info)",
          {{"debug", LogLevel::debug, "also each malformed request"},
           {"info", LogLevel::info, "start and stop"},
           {"warning", LogLevel::warning, "what may be a mistake"},
           {"error", LogLevel::error, "failures"}},
          arguments.logLevel)};
  for (cli::Option& each : repositoryOptions(arguments))
    options.push_back(std::move(each));
  for (cli::Option& each : accessOptions(arguments.access))
    options.push_back(std::move(each));
  cli::Command command = nameServe();
  command.details =
      "Serves the model in DIR, a folder that a training exported or a "
      "Hugging Face directory of a library model, which may be at "
      "`s3://BUCKET/PREFIX`, or the models of "
      "repositories in Triton's layout, until SIGTERM or SIGINT "
      "arrives. Clients of OpenAI's API work unchanged: "
      "/v1/chat/completions, /v1/completions and /v1/models, with "
      "streaming, structured output and vLLM's further fields; and "
      "/tokenize, /detokenize, /health, /version and /metrics as vLLM "
      "has them. So do clients of KServe's protocol, below /v2, with "
      "Triton's extensions. A browser shows the server's load live at "
      "/.";
  command.options = std::move(options);
  command.operands = {1, 64, "the model's directory, or repositories",
                      &arguments.directories, /*takeAddresses=*/true};
  command.check = [&arguments] { return completeServe(arguments); };
  return command;
}

} // namespace reciperun::server
