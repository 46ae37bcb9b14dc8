// Declares the options. Those that vLLM or Triton have too have their names.

#include "runtime/server/commands/AccessArguments.h"

#include "runtime/cli/Options.h"

namespace reciperun::server {
namespace {

constexpr const char* securityGroup = "security";
constexpr const char* limitsGroup = "limits of clients";

void setGroup(std::vector<cli::Option>& options, const char* group) {
  for (cli::Option& each : options)
    each.group = group;
}

cli::Option apiKeyOption(std::vector<std::string>& keys) {
  return {.name = "--api-key",
          .valueName = "KEY",
          .help = "requests must have this key; others on this machine may "
                  "see it, `--api-key-file` hides it",
          .repeats = true,
          .store = [&keys](const cli::Given& given) -> cli::Check {
            keys.push_back(given.value);
            return std::nullopt;
          }};
}

cli::Option restrictionOption(RestrictedApis& restricted) {
  return {.name = "--http-restricted-api",
          .valueName = "API,API:KEY=VALUE",
          .help = "requests of these groups of endpoints need the header KEY "
                  "with VALUE",
          .repeats = true,
          .store = [&restricted](const cli::Given& given) -> cli::Check {
            const Status added = restricted.add(given.value);
            if (added.isOk())
              return std::nullopt;
            return cli::UsageError{"`--http-restricted-api`: " +
                                   added.message()};
          }};
}

cli::Option originOption(Origins& origins) {
  return {.name = "--allowed-origins",
          .valueName = "ORIGINS",
          .help = "the origins of web pages that may call the server from a "
                  "browser, `https://a.example,http://localhost:3000`; `*` is "
                  "every page (none)",
          .repeats = true,
          .store = [&origins](const cli::Given& given) -> cli::Check {
            const Status added = origins.add(given.value);
            if (added.isOk())
              return std::nullopt;
            return cli::UsageError{"`--allowed-origins`: " + added.message()};
          }};
}

std::vector<cli::Option> securityOptions(AccessArguments& arguments) {
  using Demand = ClientCertificates;
  std::vector<cli::Option> made = {
      cli::text("--ssl-certfile", "FILE",
                "the server's certificate in PEM form; with it the server "
                "speaks TLS alone",
                arguments.tls.certificate),
      cli::text("--ssl-keyfile", "FILE",
                "its private key (in the file of the certificate)",
                arguments.tls.key),
      cli::text("--ssl-ca-certs", "FILE",
                "the authorities that sign the certificates of clients",
                arguments.tls.clientAuthorities),
      cli::choice<Demand>(
          "--ssl-cert-reqs", "N", "whether clients show a certificate (0)",
          {{"0", Demand::none, "no"},
           {"1", Demand::optional, "one that is shown must be valid"},
           {"2", Demand::required, "each must show one"}},
          arguments.tls.demand),
      apiKeyOption(arguments.gate.apiKeys),
      cli::text("--api-key-file", "FILE",
                "keys by their SHA-256 hashes, with names and limits",
                arguments.gate.apiKeyFile),
      cli::flag("--guard-metrics", "/metrics needs an API key, too",
                arguments.gate.guardsMetrics),
      restrictionOption(arguments.gate.restricted),
      originOption(arguments.gate.origins),
      cli::text("--access-log", "FILE",
                "appends a line of JSON for each request; `-` is stdout (none)",
                arguments.gate.accessLog)};
  setGroup(made, securityGroup);
  return made;
}

std::vector<cli::Option> limitOptions(AccessArguments& arguments) {
  HttpLimits& limits = arguments.limits;
  std::vector<cli::Option> made = {
      cli::number("--max-connections", "N",
                  "connections; more are answered with 503 (16384, or what "
                  "`ulimit -n` allows)",
                  1, arguments.connections),
      cli::number("--max-concurrent-requests", "N",
                  "requests of inference that are answered at once; more get a "
                  "503 (one a connection)",
                  1, arguments.gate.mostRequests),
      cli::number("--http-max-input-size", "BYTES",
                  "of a request's body (67108864)", 1, limits.bodyBytes),
      cli::number("--http-max-total-size", "BYTES",
                  "of all requests that are read or answered (1073741824)", 1,
                  limits.totalBytes),
      cli::number("--read-timeout", "SECONDS",
                  "time for a client to send a whole request (60)", 1,
                  limits.readSeconds),
      cli::number("--idle-timeout", "SECONDS",
                  "after which a connection without a request is closed (60)",
                  1, limits.idleSeconds)};
  setGroup(made, limitsGroup);
  return made;
}

} // namespace

std::vector<cli::Option> accessOptions(AccessArguments& arguments) {
  std::vector<cli::Option> made = securityOptions(arguments);
  for (cli::Option& each : limitOptions(arguments))
    made.push_back(std::move(each));
  return made;
}

cli::Check checkAccess(const AccessArguments& arguments) {
  const TlsFiles& tls = arguments.tls;
  const bool hasAuthorities = !tls.clientAuthorities.empty();
  const bool demands = tls.demand != ClientCertificates::none;
  if (!arguments.usesTls() && (!tls.key.empty() || hasAuthorities || demands))
    return cli::UsageError{"options of TLS need `--ssl-certfile`"};
  if (hasAuthorities != demands)
    return cli::UsageError{
        "`--ssl-ca-certs` and `--ssl-cert-reqs` 1 or 2 need each other"};
  constexpr int mostSeconds = 1'000'000; // fits the system's milliseconds
  if (arguments.limits.readSeconds > mostSeconds ||
      arguments.limits.idleSeconds > mostSeconds)
    return cli::UsageError{"`--read-timeout` and `--idle-timeout` take at "
                           "most 1000000 seconds"};
  return std::nullopt;
}

} // namespace reciperun::server
