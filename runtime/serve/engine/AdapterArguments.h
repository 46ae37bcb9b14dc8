// The adapters that a command line adds to a model.

#ifndef RECIPERUN_SERVE_ENGINE_ADAPTERARGUMENTS_H
#define RECIPERUN_SERVE_ENGINE_ADAPTERARGUMENTS_H

#include "runtime/base/Status.h"
#include "runtime/cli/Command.h"
#include "runtime/serve/engine/Engine.h"

#include <string>
#include <vector>

namespace reciperun::serve {

struct NamedAdapter {
  std::string name;
  std::string directory;
};

/// The option `--adapter [NAME=]DIR`, which may be given several times; `use`
/// ends its help. Without NAME an adapter is called like its folder. Values are
/// stored in `adapters`, which must outlive the option.
cli::Option adapterOption(const std::string& use,
                          std::vector<NamedAdapter>& adapters);

/// Adds all adapters to the engine. Fails as Engine::addAdapter does, naming
/// the option.
Status addAdapters(const std::vector<NamedAdapter>& adapters, Engine& engine);

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_ENGINE_ADAPTERARGUMENTS_H
