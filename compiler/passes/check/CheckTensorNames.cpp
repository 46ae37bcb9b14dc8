// Keeps the first parameter of each tensor name, to report it with the second.

#include "compiler/passes/check/CheckTensorNames.h"

#include <map>
#include <string>

namespace recipec::passes {
namespace {

void report(const ir::Module& graph, const ir::Param& first,
            const ir::Param& second, diag::Engine& engine) {
  const SourceRange made = graph[first.value].range,
                    again = graph[second.value].range;
  auto builder =
      engine.report(diag::Kind::DuplicateName, again,
                    "the parameters `" + first.name + "` and `" + second.name +
                        "` are both the tensor `" + second.hfName +
                        "` of a Hugging Face checkpoint");
  if (made == again)
    builder.help("each turn of a loop makes one: let `hf` have the number of "
                 "the turn, as in `hf = \"model.layers.{i}\"`");
  else
    builder.note("the first is made here", made)
        .help("give one of them another `hf`");
}

} // namespace

void checkTensorNames(const ir::Module& graph, diag::Engine& engine) {
  std::map<std::string, const ir::Param*> tensors;
  for (const ir::Param& param : graph.params) {
    if (param.hfName.empty() || param.hfRows > 0)
      continue;
    const auto [first, isNew] = tensors.emplace(param.hfName, &param);
    if (!isNew)
      return report(graph, *first->second, param, engine);
  }
}

} // namespace recipec::passes
