// The lines `#SBATCH` of a script; see Findings.h. The options are those of
// sbatch 24.11 and of the plugin pyxis.

#include "compiler/import/sbatch/Findings.h"

#include <algorithm>
#include <array>

namespace recipec::importer::sbatch {
namespace {

using diag::Kind;

constexpr std::string_view knownOptions[] = {"account",
                                             "acctg-freq",
                                             "array",
                                             "batch",
                                             "bb",
                                             "bbf",
                                             "begin",
                                             "chdir",
                                             "cluster-constraint",
                                             "clusters",
                                             "comment",
                                             "constraint",
                                             "container",
                                             "container-env",
                                             "container-id",
                                             "container-image",
                                             "container-mount-home",
                                             "container-mounts",
                                             "container-name",
                                             "container-remap-root",
                                             "container-save",
                                             "container-workdir",
                                             "container-writable",
                                             "contiguous",
                                             "core-spec",
                                             "cores-per-socket",
                                             "cpu-freq",
                                             "cpus-per-gpu",
                                             "cpus-per-task",
                                             "deadline",
                                             "delay-boot",
                                             "dependency",
                                             "distribution",
                                             "error",
                                             "exclude",
                                             "exclusive",
                                             "export",
                                             "export-file",
                                             "extra",
                                             "extra-node-info",
                                             "get-user-env",
                                             "gid",
                                             "gpu-bind",
                                             "gpu-freq",
                                             "gpus",
                                             "gpus-per-node",
                                             "gpus-per-socket",
                                             "gpus-per-task",
                                             "gres",
                                             "gres-flags",
                                             "help",
                                             "hint",
                                             "hold",
                                             "ignore-pbs",
                                             "input",
                                             "job-name",
                                             "kill-on-invalid-dep",
                                             "licenses",
                                             "mail-type",
                                             "mail-user",
                                             "mcs-label",
                                             "mem",
                                             "mem-bind",
                                             "mem-per-cpu",
                                             "mem-per-gpu",
                                             "mincpus",
                                             "network",
                                             "nice",
                                             "no-container-mount-home",
                                             "no-container-remap-root",
                                             "no-kill",
                                             "no-requeue",
                                             "nodefile",
                                             "nodelist",
                                             "nodes",
                                             "ntasks",
                                             "ntasks-per-core",
                                             "ntasks-per-gpu",
                                             "ntasks-per-node",
                                             "ntasks-per-socket",
                                             "oom-kill-step",
                                             "open-mode",
                                             "output",
                                             "overcommit",
                                             "oversubscribe",
                                             "parsable",
                                             "partition",
                                             "power",
                                             "prefer",
                                             "priority",
                                             "profile",
                                             "propagate",
                                             "qos",
                                             "quiet",
                                             "reboot",
                                             "requeue",
                                             "reservation",
                                             "resv-ports",
                                             "segment",
                                             "signal",
                                             "sockets-per-node",
                                             "spread-job",
                                             "stepmgr",
                                             "switches",
                                             "test-only",
                                             "thread-spec",
                                             "threads-per-core",
                                             "time",
                                             "time-min",
                                             "tmp",
                                             "tres-bind",
                                             "tres-per-task",
                                             "uid",
                                             "use-min-nodes",
                                             "verbose",
                                             "wait",
                                             "wait-all-nodes",
                                             "wckey",
                                             "wrap"};

/// Whether sbatch knows the option, also by the beginning of its name.
bool isKnown(std::string_view name) {
  return name.empty() || std::ranges::any_of(knownOptions, [&](auto each) {
           return each.starts_with(name);
         });
}

class OptionInspector {
public:
  OptionInspector(const Script& script, diag::Engine& engine)
      : script(script), engine(engine) {}

  void inspect() {
    if (!script.hasInterpreter)
      engine
          .report(Kind::ManifestSchema, script.start,
                  "sbatch refuses a script without an interpreter")
          .help("begin the first line with `#!/bin/bash`");
    checkLate();
    for (const SourceRange& each : script.comments)
      engine
          .report(Kind::ManifestPolicy, each,
                  "this line is a comment to sbatch")
          .help("write `#SBATCH`, in capitals and without a blank");
    for (const Option& each : script.options)
      checkOption(each);
    checkSignal();
    checkRequeue();
  }

private:
  void checkLate() {
    const auto isLate = [](const Option& each) { return each.isLate; };
    const auto first = std::ranges::find_if(script.options, isLate);
    if (first == script.options.end())
      return;
    const auto count = std::ranges::count_if(script.options, isLate);
    engine
        .report(Kind::ManifestPolicy, first->range,
                "sbatch reads no options behind the first command, and `--" +
                    first->name + "` is behind it" +
                    (count > 1 ? ", with " + std::to_string(count - 1) + " more"
                               : ""))
        .help("move the lines `#SBATCH` to the head of the script");
  }

  void checkOption(const Option& option) {
    if (!isKnown(option.name)) {
      auto builder = engine.report(Kind::ManifestSchema, option.range,
                                   "sbatch has no option `--" + option.name +
                                       "`, and refuses the script");
      const std::vector<std::string> names(std::begin(knownOptions),
                                           std::end(knownOptions));
      if (const auto near = diag::didYouMean(option.name, names))
        builder.help("did you mean `--" + *near + "`?");
      return;
    }
    if (option.value.find('$') != option.value.npos)
      engine
          .report(Kind::ManifestPolicy, option.range,
                  "no shell expands the variables of a line `#SBATCH`: "
                  "`--" +
                      option.name + "` is `" + option.value + "` as it stands")
          .help("write the value, or give the option on the command line: "
                "`sbatch --" +
                option.name + "=... SCRIPT`");
  }

  /// The command `trap` for a signal by which the job is told of its end.
  const Word* trap() const {
    for (const Command& command : script.commands)
      if (command.front().text == "trap")
        for (const Word& word : command)
          if (word.text.ends_with("USR1") || word.text.ends_with("USR2") ||
              word.text.ends_with("TERM"))
            return &command.front();
    return nullptr;
  }

  bool hasCommand(std::string_view name) const {
    return std::ranges::any_of(script.commands, [&](const Command& command) {
      return std::ranges::any_of(
          command, [&](const Word& word) { return word.text == name; });
    });
  }

  void checkSignal() {
    const Option* signal = script.find("signal");
    const Word* handler = trap();
    if (signal && handler && !signal->value.starts_with("B:"))
      engine
          .report(Kind::ManifestPolicy, signal->range,
                  "`--signal=" + signal->value +
                      "` goes to the steps of srun, and not to the script")
          .label(handler->range, "this `trap` of the script never runs")
          .help("write `--signal=B:" + signal->value + "`");
    if (signal && signal->value.starts_with("B:") && !handler)
      engine
          .report(Kind::ManifestPolicy, signal->range,
                  "`--signal=" + signal->value +
                      "` goes to the script alone, which has no `trap` for it "
                      "and ends")
          .help("pass it on, `trap 'kill -USR1 \"$job\"' USR1`, or write "
                "`--signal=" +
                signal->value.substr(2) + "` for the ranks");
    if (handler && !hasCommand("wait"))
      engine
          .report(Kind::ManifestPolicy, handler->range,
                  "bash runs a `trap` when the command in the foreground has "
                  "ended, and this script has no `wait`")
          .help("start the ranks in the background and wait for them: `srun "
                "... & job=$!; wait \"$job\"`");
  }

  /// Whether an argument of the ranks is about checkpoints.
  const Word* checkpoints() const {
    const auto launch = launchOf(script);
    for (const Command& command : script.commands)
      for (const Word& word : command)
        if (launch && word.text.starts_with('-') &&
            (word.text.find("checkpoint") != word.text.npos ||
             word.text.find("ckpt") != word.text.npos ||
             word.text.find("save") != word.text.npos ||
             word.text.find("resume") != word.text.npos))
          return &word;
    return nullptr;
  }

  void checkRequeue() {
    const Word* saves = checkpoints();
    if (!saves || (script.find("requeue") && script.find("signal")))
      return;
    const bool hasBoth = !script.find("requeue") && !script.find("signal");
    const std::string missing = hasBoth ? "`--requeue` and `--signal`"
                                : script.find("signal") ? "`--requeue`"
                                                        : "`--signal`";
    engine
        .report(Kind::ManifestPolicy, saves->range,
                "the training saves checkpoints, and the script has no line "
                "`#SBATCH` with " +
                    missing)
        .help("`#SBATCH --signal=USR1@120` tells the ranks two minutes before "
              "the time limit, and `#SBATCH --requeue` lets the job go on "
              "after preemption and the failure of a node");
  }

  const Script& script;
  diag::Engine& engine;
};

} // namespace

void checkOptions(const Script& script, diag::Engine& engine) {
  OptionInspector(script, engine).inspect();
}

void checkScript(const Script& script, diag::Engine& engine) {
  checkOptions(script, engine);
  checkRanks(script, engine);
  checkVariables(script, engine);
}

} // namespace recipec::importer::sbatch
