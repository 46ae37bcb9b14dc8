// The commands that a container runs: its `command` and `args`, and the scripts
// that these start.

#ifndef RECIPEC_IMPORT_MANIFEST_COMMANDS_H
#define RECIPEC_IMPORT_MANIFEST_COMMANDS_H

#include "compiler/import/Arguments.h"
#include "compiler/import/manifest/Objects.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace recipec::importer::manifest {

/// A simple command of a shell, without redirections.
using Command = std::vector<Word>;

/// The commands of a shell script, in its order. Variables are not expanded.
/// `place` is the scalar that holds the script.
std::vector<Command> commandsOfScript(const std::string& script,
                                      const Node& place);
/// The same of a script whose text in the file, `raw`, is at `whole`.
std::vector<Command> commandsOfScript(const std::string& script,
                                      SourceRange whole, std::string_view raw);

/// A container's commands: one, or those of the script that it starts, if that
/// is an argument of `bash -c` or a file of a ConfigMap of the manifest.
std::vector<Command> commandsOf(const Pod& pod, const Node& container,
                                const Manifest& manifest);

/// A number of an option, and where it is.
struct Given {
  int64_t value = 0;
  SourceRange range;
};

/// A command that starts ranks, or is one.
struct Start {
  enum class Program { other, python, torchrun, mpirun } program = {};
  std::optional<Given> nodes, perNode, ranks;
  bool hasPerNode = false; // also one that is no number, such as `gpu`
  Command training;        // the program of the ranks with its arguments
};

/// The starting command among the commands; nullopt if none starts Python,
/// torchrun, mpirun or reciperun.
std::optional<Start> startOf(const std::vector<Command>& commands);

/// `NAME=VALUE` of commands: assignments, `export`, and `-x` of mpirun.
std::vector<std::pair<std::string, Word>>
assignmentsOf(const std::vector<Command>& commands);

/// Degrees of parallelism that the arguments of a training name, by the names
/// of a recipe (`tp`, `pp`, `cp`, `dp`), and `devices` and `nodes`.
struct Degree {
  std::string name;
  Given given;
};
std::vector<Degree> degreesOf(const Command& training);

} // namespace recipec::importer::manifest

#endif // RECIPEC_IMPORT_MANIFEST_COMMANDS_H
