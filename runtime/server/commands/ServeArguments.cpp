// Declares the options.

#include "runtime/server/commands/ServeArguments.h"

#include "runtime/cli/Options.h"

namespace reciperun::server {
namespace {

constexpr int mostPort = 65535;

cli::Check checkServe(const ServeArguments& arguments) {
  if (arguments.address.port <= mostPort)
    return checkAccess(arguments.access);
  return cli::UsageError{"`--port` takes a number up to 65535, not `" +
                         std::to_string(arguments.address.port) + "`"};
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
      cli::text("--served-model-name", "NAME",
                "the model's name in requests (the folder's)", arguments.name),
      serve::adapterOption("requests choose one by its name as `model`",
                           arguments.adapters),
      cli::number("--max-queue", "N",
                  "answers in progress and waiting; more are refused with "
                  "status 503 (4096)",
                  1, arguments.mostAnswers),
      cli::number("--drain-timeout", "SECONDS",
                  "time for open answers after SIGTERM or SIGINT (30)", 0,
                  arguments.drainSeconds),
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
  for (cli::Option& each : accessOptions(arguments.access))
    options.push_back(std::move(each));
  return {.name = "serve",
          .synopsis = "DIR [options]",
          .summary = "serve a model over HTTP, with OpenAI's API",
          .details =
              "Serves the model in DIR, a folder that a training exported or a "
              "Hugging Face directory of a library model, until SIGTERM or "
              "SIGINT arrives. Clients of OpenAI's API work unchanged: "
              "/v1/chat/completions, /v1/completions and /v1/models, with "
              "streaming, structured output and vLLM's further fields; and "
              "/tokenize, /detokenize, /health, /version and /metrics as vLLM "
              "has them.",
          .options = std::move(options),
          .operands = {1, 1, "the model's directory", &arguments.directories},
          .check = [&arguments] { return checkServe(arguments); }};
}

} // namespace reciperun::server
