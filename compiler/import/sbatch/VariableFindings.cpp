// The variables of an sbatch script; see Findings.h.

#include "compiler/import/sbatch/Findings.h"

#include "compiler/environment/Lint.h"
#include "compiler/environment/Variables.h"
#include "compiler/import/Rules.h"
#include "compiler/import/manifest/Findings.h"

#include <algorithm>
#include <array>
#include <span>

namespace recipec::importer::sbatch {
namespace {

using diag::Kind;

/// Variables that PyTorch's rendezvous reads in every rank.
constexpr std::array<std::string_view, 7> rendezvous = {
    "MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE",     "RANK",
    "LOCAL_RANK",  "NODE_RANK",   "OMP_NUM_THREADS"};
/// Variables of Slurm that differ between the tasks. In the script they are
/// those of its own task, 0.
constexpr std::array<std::string_view, 3> ofTasks = {
    "SLURM_PROCID", "SLURM_LOCALID", "SLURM_NODEID"};

bool isAmong(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

bool isThisMachine(std::string_view address) {
  return address.starts_with("localhost") || address.starts_with("127.") ||
         address == "0.0.0.0";
}

class VariableInspector {
public:
  VariableInspector(const Script& script, diag::Engine& engine)
      : script(script), engine(engine), given(allocationOf(script)),
        launch(launchOf(script)) {
    nodes = given.nodes ? given.nodes->value : 1;
    assigned = manifest::assignmentsOf(script.commands);
  }

  void inspect() {
    for (const auto& [name, word] : assigned)
      checkAssignment(name, word);
    checkTaskVariables();
    checkHidden();
    checkExport();
    checkAddress();
    lint();
  }

private:
  void checkAssignment(const std::string& name, const Word& word) {
    if (manifest::isSecretVariable(name, word.text))
      engine
          .report(Kind::ManifestSecret, {},
                  "the value of `" + name + "` stands in the script, at " +
                      script.sources->describe(word.range) +
                      ", where all who read it have it")
          .help("read it from a file of yours, `export " + name +
                "=$(cat ~/.token)`; replace the value, which is known now");
    if (name == "WORLD_SIZE")
      checkWorldSize(word);
    if (name == "MASTER_ADDR" && nodes > 1 && isThisMachine(word.text))
      reportAddress("`MASTER_ADDR` = `" + word.text + "`", word.range);
    if (name == "CUDA_VISIBLE_DEVICES")
      checkVisible(word);
  }

  void checkWorldSize(const Word& word) {
    const auto number = numberOf(word.text);
    if (!number || !launch || (script.find("nodes") && !given.nodes))
      return;
    using Program = manifest::Start::Program;
    const auto& perNode = launch->start.perNode;
    const bool isTorchrun = launch->start.program == Program::torchrun;
    const int64_t ranks =
        isTorchrun && perNode ? nodes * perNode->value : given.tasks();
    if (int64_t(*number) == ranks || (isTorchrun && !perNode))
      return;
    engine
        .report(Kind::ManifestRanks, word.range,
                "`WORLD_SIZE` = " + word.text + ", and the job starts " +
                    std::to_string(ranks) + " ranks")
        .help(isTorchrun ? "leave it out: torchrun sets it"
                         : "write `export WORLD_SIZE=$SLURM_NTASKS`");
  }

  void reportAddress(const std::string& what, SourceRange range) {
    engine
        .report(Kind::ManifestRanks, range,
                what + " is each node itself, and the ranks of the " +
                    std::to_string(nodes) + " nodes never meet")
        .label(given.nodes->range, "the nodes")
        .help("write `MASTER_ADDR=$(scontrol show hostnames "
              "\"$SLURM_JOB_NODELIST\" | head -n 1)`");
  }

  /// `--master_addr=localhost` and `--rdzv_endpoint localhost:29500`.
  void checkAddress() {
    if (nodes == 1)
      return;
    for (const Command& command : script.commands)
      for (size_t i = 0; i < command.size(); ++i) {
        std::string name = command[i].text, value;
        const size_t equals = name.find('=');
        if (equals != name.npos) {
          value = name.substr(equals + 1);
          name.resize(equals);
        } else if (i + 1 < command.size()) {
          value = command[i + 1].text;
        }
        std::ranges::replace(name, '-', '_');
        if ((name == "__master_addr" || name == "__rdzv_endpoint") &&
            isThisMachine(value))
          reportAddress("`" + value + "`", command[i].range);
      }
  }

  void checkVisible(const Word& word) {
    const auto count = std::ranges::count(word.text, ',') + 1;
    if (!given.gpusPerNode || word.text.find('$') != word.text.npos ||
        word.text.empty() || count >= given.gpusPerNode->value)
      return;
    engine
        .report(Kind::ManifestRanks, word.range,
                "`CUDA_VISIBLE_DEVICES` = `" + word.text + "` hides " +
                    std::to_string(given.gpusPerNode->value - count) +
                    " of the GPUs of each node from all ranks")
        .label(given.gpusPerNode->range, "GPUs of a node")
        .help("leave it out: Slurm sets it");
  }

  /// `export RANK=$SLURM_PROCID` and `srun torchrun --node_rank=$SLURM_NODEID`:
  /// the script's shell expands the variable once.
  void checkTaskVariables() {
    if (!launch || !launch->hasSrun)
      return;
    for (const Command& command : script.commands)
      for (const Word& word : command)
        for (const std::string_view name : ofTasks) {
          const std::string_view raw = script.sources->text(word.range);
          const bool isQuoted = raw.find('\'') != raw.npos;
          if (isQuoted || (raw.find("$" + std::string(name)) == raw.npos &&
                           raw.find("${" + std::string(name)) == raw.npos))
            continue;
          engine
              .report(Kind::ManifestRanks, word.range,
                      "the script's shell expands `" + std::string(name) +
                          "` once, on its own node, and all tasks get 0")
              .help("let the shell of each task expand it: `srun bash -c "
                    "'...'`, in single quotation marks");
        }
  }

  /// `MASTER_PORT=29500` on a line of its own is no variable of the ranks.
  void checkHidden() {
    for (const Command& command : script.commands) {
      const auto own = manifest::assignmentsOf({command});
      if (own.size() != command.size())
        continue; // `export`, or the variables of one command
      for (const auto& [name, word] : own)
        if ((isAmong(rendezvous, name) || environment::findKnown(name)) &&
            !isExported(name) && launch)
          engine
              .report(Kind::ManifestPolicy, word.range,
                      "`" + name +
                          "` is a variable of the script alone, and "
                          "the ranks do not see it")
              .help("write `export " + name + "=...`");
    }
  }

  bool isExported(const std::string& name) const {
    return std::ranges::any_of(script.commands, [&](const Command& command) {
      const std::string& first = command.front().text;
      const bool isExport =
          first == "export" ||
          (first == "set" && command.size() > 1 && command[1].text == "-a");
      return isExport && (first == "set" ||
                          std::ranges::any_of(command, [&](const Word& word) {
                            return word.text == name ||
                                   word.text.starts_with(name + "=");
                          }));
    });
  }

  /// With `--export=NONE`, srun passes nothing on, either.
  void checkExport() {
    const Option* option = script.find("export");
    const auto exported =
        std::ranges::find_if(script.commands, [](const Command& command) {
          return command.front().text == "export";
        });
    if (!option || option->value != "NONE" || !launch || !launch->hasSrun ||
        launch->exports || exported == script.commands.end())
      return;
    engine
        .report(Kind::ManifestPolicy, option->range,
                "`--export=NONE` also holds for srun, and the ranks get none "
                "of the script's variables")
        .label(exported->front().range, "the first `export`")
        .help("write `srun --export=ALL ...`");
  }

  void lint() {
    std::vector<environment::Variable> variables;
    for (const auto& [name, word] : assigned)
      variables.push_back(
          {.name = name, .value = word.text, .range = word.range});
    environment::lint(variables, {.hasSeveralNodes = nodes > 1}, engine);
  }

  const Script& script;
  diag::Engine& engine;
  const Allocation given;
  const std::optional<Launch> launch;
  int64_t nodes = 1;
  std::vector<std::pair<std::string, Word>> assigned;
};

} // namespace

void checkVariables(const Script& script, diag::Engine& engine) {
  VariableInspector(script, engine).inspect();
}

} // namespace recipec::importer::sbatch
