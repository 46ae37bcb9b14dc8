// See AdapterArguments.h.

#include "runtime/serve/engine/AdapterArguments.h"

#include "runtime/cli/Options.h"

#include <filesystem>

namespace reciperun::serve {
namespace {

/// `a=runs/a/adapter`, or `runs/a/adapter`, which is called `adapter`.
NamedAdapter namedAdapter(const std::string& value) {
  const size_t equals = value.find('=');
  if (equals != std::string::npos)
    return {value.substr(0, equals), value.substr(equals + 1)};
  const std::filesystem::path path =
      std::filesystem::path(value + "/").parent_path();
  return {path.filename().string(), value};
}

} // namespace

cli::Option adapterOption(const std::string& use,
                          std::vector<NamedAdapter>& adapters) {
  return {.name = "--adapter",
          .valueName = "[NAME=]DIR",
          .help = "a LoRA adapter of peft beside the model, called NAME or "
                  "like its folder; " +
                  use,
          .repeats = true,
          .store = [&adapters](const cli::Given& given) -> cli::Check {
            NamedAdapter adapter = namedAdapter(given.value);
            if (adapter.name.empty() || adapter.directory.empty())
              return cli::UsageError{"`--adapter` takes a name and a folder, "
                                     "not `" +
                                         given.value + "`",
                                     "write `--adapter NAME=DIR`"};
            adapters.push_back(std::move(adapter));
            return std::nullopt;
          }};
}

Status addAdapters(const std::vector<NamedAdapter>& adapters, Engine& engine) {
  for (const NamedAdapter& each : adapters)
    RECIPERUN_TRY(engine.addAdapter(each.name, each.directory)
                      .withContext("`--adapter " + each.name + "=" +
                                   each.directory + "`"));
  return Status::ok();
}

} // namespace reciperun::serve
