// 1. Find the devices, or read and check the file.
// 2. Print them, with what is unusual about them.
// 3. Write NCCL's files.

#include "runtime/topology/TopologyCommand.h"

#include "runtime/checkpoint/Files.h"
#include "runtime/cli/Options.h"
#include "runtime/topology/Draw.h"
#include "runtime/topology/FindMachine.h"
#include "runtime/topology/NcclConf.h"
#include "runtime/topology/Remarks.h"

#include <cstdio>
#include <memory>

namespace reciperun::topology {
namespace {

constexpr int64_t mostBytesOfFile = int64_t(16) << 20;

struct TopologyArguments {
  std::vector<std::string> files; // at most one
  std::string output, ncclConf;   // paths; empty: not written
  std::string root = "/";
  bool isJson = false;
};

void print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
}

// ---- a file

/// A line of a text, from 1, without its end.
std::string lineOf(const std::string& text, int number) {
  size_t begin = 0;
  for (int line = 1; line < number && begin != text.npos; ++line) {
    begin = text.find('\n', begin);
    begin += begin != text.npos;
  }
  return begin == text.npos
             ? ""
             : text.substr(begin, text.find('\n', begin) - begin);
}

std::string textOf(const Finding& finding, const std::string& path,
                   const std::string& source) {
  constexpr size_t longestLine = 120;
  const std::string number = std::to_string(finding.position.line);
  const std::string line = lineOf(source, finding.position.line);
  std::string text = std::string(finding.isError ? "error: " : "warning: ") +
                     finding.message + "\n --> " + path + ":" + number + ":" +
                     std::to_string(finding.position.column) + "\n " + number +
                     " | " + line.substr(0, longestLine) +
                     (line.size() > longestLine ? "..." : "") + "\n";
  if (!finding.help.empty())
    text += "help: " + finding.help + "\n";
  return text + "\n";
}

Expected<bool> showFile(const std::string& path, bool isJson) {
  const auto text = readTextFile(path, mostBytesOfFile);
  RECIPERUN_TRY(text.status().withContext("`" + path + "`"));
  const XmlFile file = parseXml(*text);
  const std::vector<Finding> findings = checkNcclXml(file);
  const Machine machine = file.root ? machineOf(*file.root) : Machine();
  if (isJson) {
    print(toJson(machine, findings));
  } else {
    for (const Finding& each : findings)
      print(textOf(each, path, *text));
    if (!machine.nodes.empty())
      print(drawingOf(machine));
  }
  for (const Finding& each : findings)
    if (each.isError)
      return false;
  return true;
}

// ---- this machine

void show(const Machine& machine) {
  print(drawingOf(machine));
  std::vector<std::string> remarks = remarksOn(machine);
  if (machine.asksDriver && machine.driver.empty())
    remarks.insert(remarks.begin(),
                   std::string("there is no NVIDIA driver "
                               "(`libnvidia-ml.so.1`)") +
                       (machine.gpus.empty()
                            ? ""
                            : ": the names and NVLinks of GPUs are unknown"));
  if (!remarks.empty())
    print("\n");
  for (const std::string& each : remarks)
    print("note: " + each + "\n");
}

Status writeFiles(const Machine& machine, const TopologyArguments& line) {
  if (!line.output.empty())
    RECIPERUN_TRY(
        checkpoint::writeTextFile(line.output, toXml(toNcclXml(machine))));
  if (!line.ncclConf.empty())
    RECIPERUN_TRY(checkpoint::writeTextFile(line.ncclConf, ncclConf(machine)));
  return Status::ok();
}

Expected<bool> showMachine(const TopologyArguments& line) {
  const auto machine = findMachine({.root = line.root});
  RECIPERUN_TRY(machine);
  RECIPERUN_TRY(writeFiles(*machine, line));
  if (line.isJson)
    print(toJson(*machine));
  else
    show(*machine);
  return true;
}

int runTopology(const TopologyArguments& line) {
  const auto isRight = line.files.empty()
                           ? showMachine(line)
                           : showFile(line.files.front(), line.isJson);
  if (isRight)
    return *isRight ? 0 : 1;
  std::fprintf(stderr, "error: %s\n", isRight.message().c_str());
  return 1;
}

cli::Check checkArguments(const TopologyArguments& line) {
  if (!line.files.empty() && !(line.output.empty() && line.ncclConf.empty()))
    return cli::UsageError{"`--output` and `--nccl-conf` write this machine's "
                           "files, and a file is given",
                           "leave out `" + line.files.front() + "`"};
  return std::nullopt;
}

std::vector<cli::Option> topologyOptions(TopologyArguments& line) {
  cli::Option output = cli::text(
      "--output", "XML", "write NCCL's topology file, for `NCCL_TOPO_FILE`",
      line.output);
  output.shortName = "-o";
  return {cli::flag("--json", "print JSON", line.isJson), std::move(output),
          cli::text("--nccl-conf", "FILE",
                    "write NCCL's settings for this machine, for "
                    "`NCCL_CONF_FILE`, each with its reason",
                    line.ncclConf),
          cli::text("--root", "DIR",
                    "read `sys` and `proc` in DIR, as in a container that has "
                    "its host's there",
                    line.root)};
}

} // namespace

cli::Command topologyCommand() {
  auto line = std::make_shared<TopologyArguments>();
  return {
      .name = "topology",
      .synopsis = "[FILE.xml] [options]",
      .summary = "show GPUs, NVLinks, PCIe, NUMA nodes and NICs",
      .details =
          "Finds processors and PCI devices by hwloc, links and NICs by sysfs, "
          "GPUs and NVLinks by NVML. The matrix has the words of `nvidia-smi "
          "topo -m`. hwloc's variables, such as HWLOC_XMLFILE, name another "
          "machine.\n\n"
          "With FILE.xml, a topology file of NCCL's, says what NCCL would "
          "refuse, ignore or misread in it, and shows the rest. Exit code 1 "
          "where there is an error.",
      .options = topologyOptions(*line),
      .operands = {0, 1, "a topology file", &line->files},
      .check = [line] { return checkArguments(*line); },
      .run = [line] { return runTopology(*line); }};
}

} // namespace reciperun::topology
