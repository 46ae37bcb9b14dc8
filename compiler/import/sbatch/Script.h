// An sbatch script: its lines `#SBATCH` and its commands.

#ifndef RECIPEC_IMPORT_SBATCH_SCRIPT_H
#define RECIPEC_IMPORT_SBATCH_SCRIPT_H

#include "compiler/import/manifest/Commands.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace recipec::importer::sbatch {

using manifest::Command;
using manifest::Given;

/// An option of a line `#SBATCH`.
struct Option {
  std::string name;    // the long one: `nodes`
  std::string value;   // empty: none
  SourceRange range;   // with the value
  bool isLate = false; // behind the first command, where sbatch reads none
};

struct Script {
  const SourceMap* sources = nullptr;
  std::vector<Option> options;
  std::vector<SourceRange> comments; // `# SBATCH`, which is a comment
  std::vector<Command> commands;     // constants of the script are expanded
  SourceRange start;                 // of the first line
  bool hasInterpreter = false;       // begins with `#!`

  /// The option that takes effect: the last one; nullptr if there is none.
  const Option* find(std::string_view name) const;
};

/// Whether a file is a shell script rather than a manifest.
bool isScript(std::string_view text);

Script readScript(SourceId source, const SourceMap& sources);

/// What the options give a job; nullopt where they do not say.
struct Allocation {
  std::optional<Given> nodes, tasksPerNode, gpusPerNode;
  int64_t tasks() const;
};
Allocation allocationOf(const Script& script);

/// How the ranks start: by srun, or by the script itself on its first node.
struct Launch {
  bool hasSrun = false;
  bool exports = false;         // srun has `--export`
  std::optional<Given> tasks;   // of srun's own options
  std::optional<Given> perNode; // the same
  SourceRange range;            // of `srun`, or else of the program
  manifest::Start start;
};
/// Nullopt if no command starts ranks.
std::optional<Launch> launchOf(const Script& script);

} // namespace recipec::importer::sbatch

#endif // RECIPEC_IMPORT_SBATCH_SCRIPT_H
