// The options of `reciperun serve` about clients: TLS, API keys, limits and the
// access log.

#ifndef RECIPERUN_SERVER_COMMANDS_ACCESSARGUMENTS_H
#define RECIPERUN_SERVER_COMMANDS_ACCESSARGUMENTS_H

#include "runtime/cli/Command.h"
#include "runtime/server/access/Gate.h"
#include "runtime/server/http/HttpLimits.h"
#include "runtime/server/http/TlsContext.h"

#include <cstddef>
#include <vector>

namespace reciperun::server {

struct AccessArguments {
  TlsFiles tls;
  GateSettings gate;
  HttpLimits limits;
  size_t connections = 0; // asked for; 0: those of `limits`, if possible

  bool usesTls() const { return !tls.certificate.empty(); }
};

/// The options, which store their values in `arguments`; it must outlive them.
std::vector<cli::Option> accessOptions(AccessArguments& arguments);

/// Whether the options fit together.
cli::Check checkAccess(const AccessArguments& arguments);

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_COMMANDS_ACCESSARGUMENTS_H
