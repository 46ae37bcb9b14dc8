// See Commands.h. A word's range is found by searching for the word in the text
// of the scalar, because a block scalar of YAML is indented in the file.

#include "compiler/import/manifest/Commands.h"

#include "compiler/import/Rules.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <span>

namespace recipec::importer::manifest {
namespace {

/// Splits a script into words and commands.
class ScriptReader {
public:
  ScriptReader(const std::string& script, SourceRange whole,
               std::string_view raw)
      : script(script), whole(whole), raw(raw) {}

  std::vector<Command> read() {
    while (at < script.size())
      readNext();
    endCommand();
    return std::move(commands);
  }

private:
  void readNext() {
    const char c = script[at];
    if (c == '\\' && at + 1 < script.size() && script[at + 1] == '\n') {
      at += 2;
    } else if (c == '#' && (at == 0 || std::isspace(static_cast<unsigned char>(
                                           script[at - 1])))) {
      at = std::min(script.find('\n', at), script.size());
    } else if (c == '\n' ||
               std::string_view(";&|()").find(c) != std::string_view::npos) {
      endCommand();
      ++at;
    } else if (std::isspace(static_cast<unsigned char>(c))) {
      ++at;
    } else {
      readWord();
    }
  }

  void readWord() {
    const size_t begin = at;
    std::string text;
    char quote = 0;
    for (; at < script.size(); ++at) {
      const char c = script[at];
      if (quote == 0 &&
          (std::isspace(static_cast<unsigned char>(c)) ||
           std::string_view(";&|()").find(c) != std::string_view::npos))
        break;
      if (c == '\\' && quote != '\'' && at + 1 < script.size()) {
        if (script[at + 1] == '\n' && quote == 0)
          break;
        text += script[++at];
      } else if (quote == 0 && (c == '"' || c == '\'')) {
        quote = c;
      } else if (c == quote) {
        quote = 0;
      } else {
        text += c;
      }
    }
    if (at == begin)
      ++at; // never stand still
    words.push_back({std::move(text), rangeOf(begin)});
  }

  /// The place of the word that ends here. Words stand in the file in the order
  /// of the script; in a script of its own, at the same offsets.
  SourceRange rangeOf(size_t begin) {
    const std::string word = script.substr(begin, at - begin);
    const size_t found = raw == script ? begin : raw.find(word, cursor);
    if (found == raw.npos)
      return whole;
    cursor = found + word.size();
    return {whole.source, whole.begin + uint32_t(found),
            whole.begin + uint32_t(cursor)};
  }

  void endCommand() {
    if (!words.empty())
      commands.push_back(std::move(words));
    words.clear();
  }

  const std::string& script;
  SourceRange whole;
  std::string_view raw;
  size_t at = 0, cursor = 0;
  Command words;
  std::vector<Command> commands;
};

bool isShell(std::string_view program) {
  const std::string_view name = program.substr(program.rfind('/') + 1);
  return name == "bash" || name == "sh" || name == "dash" || name == "ash";
}

std::vector<Node> wordNodes(const Node& container) {
  std::vector<Node> nodes = container["command"].elements();
  for (const Node& each : container["args"].elements())
    nodes.push_back(each);
  return nodes;
}

/// The script of a ConfigMap at a path of a container; none if there is none.
Node mountedScript(const std::string& path, const Pod& pod,
                   const Node& container, const Manifest& manifest) {
  for (const Node& mount : container["volumeMounts"].elements()) {
    const std::string folder = mount["mountPath"].text() + "/";
    if (!path.starts_with(folder))
      continue;
    for (const Node& volume : pod.spec["volumes"].elements()) {
      if (volume["name"].text() != mount["name"].text())
        continue;
      const Object* files =
          manifest.find("ConfigMap", volume.at("configMap.name").text());
      if (files)
        return files->root["data"][path.substr(folder.size())];
    }
  }
  return {};
}

/// Whether a word is `NAME=VALUE`.
bool isAssignment(std::string_view word) {
  const size_t equals = word.find('=');
  if (equals == word.npos || equals == 0 ||
      std::isdigit(static_cast<unsigned char>(word[0])))
    return false;
  return std::all_of(
      word.begin(), word.begin() + std::ptrdiff_t(equals),
      [](unsigned char c) { return std::isalnum(c) || c == '_'; });
}

std::string_view baseName(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

/// The words behind `exec`, `env` and assignments.
std::span<const Word> programOf(const Command& command) {
  std::span<const Word> words = command;
  while (!words.empty() && (isAssignment(words[0].text) ||
                            words[0].text == "exec" || words[0].text == "env" ||
                            words[0].text == "time" || words[0].text == "sudo"))
    words = words.subspan(1);
  return words;
}

std::optional<Given> givenOf(const std::string& text, SourceRange range) {
  const auto number = numberOf(text);
  if (!number || *number < 1 || *number != double(int64_t(*number)))
    return std::nullopt;
  return Given{int64_t(*number), range};
}

/// The number of arguments of an option of mpirun.
size_t argumentsOf(std::string_view option) {
  constexpr std::array<std::string_view, 5> pairs = {"--mca", "-mca", "-genv",
                                                     "--gmca", "-gmca"};
  constexpr std::array<std::string_view, 25> single = {
      "-np",      "--np",      "-n",         "--n",        "-c",
      "-N",       "-npernode", "--npernode", "-x",         "-H",
      "-host",    "--host",    "-hostfile",  "--hostfile", "--machinefile",
      "-bind-to", "--bind-to", "-map-by",    "--map-by",   "--rank-by",
      "-wdir",    "--wdir",    "--prefix",   "--timeout",  "-ppn"};
  if (std::find(pairs.begin(), pairs.end(), option) != pairs.end())
    return 2;
  return std::find(single.begin(), single.end(), option) != single.end() ? 1
                                                                         : 0;
}

/// Reads the options of mpirun; the rest is the program of the ranks.
Start mpirunOf(std::span<const Word> words) {
  Start start;
  start.program = Start::Program::mpirun;
  size_t i = 1;
  while (i < words.size() && words[i].text.starts_with('-')) {
    const std::string& option = words[i].text;
    const size_t arguments = argumentsOf(option);
    const bool isCount = option == "-np" || option == "--np" ||
                         option == "-n" || option == "--n" || option == "-c";
    const bool isPerNode = option == "-N" || option == "-npernode" ||
                           option == "--npernode" || option == "-ppn";
    if (i + 1 < words.size() && (isCount || isPerNode))
      (isCount ? start.ranks : start.perNode) =
          givenOf(words[i + 1].text, words[i + 1].range);
    i += 1 + arguments;
  }
  for (; i < words.size(); ++i)
    start.training.push_back(words[i]);
  return start;
}

/// Reads the options of torchrun; the rest is the script with its arguments.
Start torchrunOf(std::span<const Word> words) {
  Start start;
  start.program = Start::Program::torchrun;
  size_t i = 0;
  while (i < words.size() && words[i].text.starts_with('-')) {
    std::string name = words[i].text, value;
    SourceRange range = words[i].range;
    std::replace(name.begin(), name.end(), '-', '_');
    const size_t equals = name.find('=');
    if (equals != name.npos) {
      value = words[i].text.substr(equals + 1);
      name = name.substr(0, equals);
    } else if (name != "__standalone" && name != "__no_python" &&
               name != "_m" && name != "__module" && i + 1 < words.size()) {
      value = words[++i].text;
      range = words[i].range;
    }
    ++i;
    if (name == "__nproc_per_node") {
      start.perNode = givenOf(value, range);
      start.hasPerNode = true;
    }
    if (name == "__nnodes")
      start.nodes = givenOf(value, range);
    if (name == "_m" || name == "__module")
      break;
  }
  for (; i < words.size(); ++i)
    start.training.push_back(words[i]);
  return start;
}

bool isPython(std::string_view program) {
  return baseName(program).starts_with("python");
}

std::optional<Start> startOfCommand(const Command& command) {
  const std::span<const Word> words = programOf(command);
  if (words.empty())
    return std::nullopt;
  const std::string_view program = baseName(words[0].text);
  if (program == "mpirun" || program == "mpiexec" || program == "horovodrun")
    return mpirunOf(words);
  if (program == "torchrun")
    return torchrunOf(words.subspan(1));
  if (isPython(program)) {
    const bool isRun = words.size() > 2 && words[1].text == "-m" &&
                       (words[2].text == "torch.distributed.run" ||
                        words[2].text == "torch.distributed.launch");
    if (isRun)
      return torchrunOf(words.subspan(3));
  } else if (program != "reciperun" && program != "recipec") {
    return std::nullopt;
  }
  Start start;
  start.program =
      isPython(program) ? Start::Program::python : Start::Program::other;
  start.training.assign(words.begin(), words.end());
  return start;
}

/// Names of other programs for the degrees, without what stands before their
/// last dot, and with `_` for `-`.
struct DegreeName {
  std::string_view theirs, ours;
};
constexpr DegreeName degreeNames[] = {
    {"tensor_model_parallel_size", "tp"},
    {"tensor_parallel_degree", "tp"},
    {"tensor_parallel_size", "tp"},
    {"tp_size", "tp"},
    {"tensorParallelism", "tp"},
    {"pipeline_model_parallel_size", "pp"},
    {"pipeline_parallel_degree", "pp"},
    {"pipeline_parallel_size", "pp"},
    {"pp_size", "pp"},
    {"pipelineParallelism", "pp"},
    {"context_parallel_size", "cp"},
    {"context_parallel_degree", "cp"},
    {"contextParallelism", "cp"},
    {"data_parallel_replicate_degree", "dp"},
    {"dataParallelism", "dp"},
    {"devices", "devices"},
    {"num_nodes", "nodes"},
    {"num_gpus_per_node", "devices"},
};

void addDegree(std::vector<Degree>& degrees, std::string key,
               const std::string& value, SourceRange range) {
  key = key.substr(std::min(key.find_first_not_of("-+"), key.size()));
  std::replace(key.begin(), key.end(), '-', '_');
  const size_t dot = key.rfind('.');
  const std::string last = dot == key.npos ? key : key.substr(dot + 1);
  // `devices` alone is an option of many programs.
  const bool isNested = dot != key.npos;
  for (const DegreeName& each : degreeNames) {
    if (each.theirs != last)
      continue;
    if ((each.ours == "devices" || each.ours == "nodes") && !isNested)
      continue;
    if (const auto given = givenOf(value, range))
      degrees.push_back({std::string(each.ours), *given});
  }
}

} // namespace

std::vector<Command> commandsOfScript(const std::string& script,
                                      const Node& place) {
  const SourceRange whole = place.valueRange();
  return commandsOfScript(script, whole, place.sourceMap().text(whole));
}

std::vector<Command> commandsOfScript(const std::string& script,
                                      SourceRange whole, std::string_view raw) {
  return ScriptReader(script, whole, raw).read();
}

std::vector<Command> commandsOf(const Pod& pod, const Node& container,
                                const Manifest& manifest) {
  const std::vector<Node> words = wordNodes(container);
  if (words.empty())
    return {};
  if (isShell(words[0].text()))
    for (size_t i = 1; i < words.size(); ++i) {
      const std::string text = words[i].text();
      if (text.starts_with('-') && text.ends_with('c') && i + 1 < words.size())
        return commandsOfScript(words[i + 1].text(), words[i + 1]);
      if (text.starts_with('-'))
        continue;
      const Node script = mountedScript(text, pod, container, manifest);
      return script ? commandsOfScript(script.text(), script)
                    : std::vector<Command>();
    }
  Command command;
  for (const Node& each : words)
    command.push_back({each.text(), each.valueRange()});
  return {command};
}

std::optional<Start> startOf(const std::vector<Command>& commands) {
  for (const Command& command : commands)
    if (auto start = startOfCommand(command))
      return start;
  return std::nullopt;
}

std::vector<std::pair<std::string, Word>>
assignmentsOf(const std::vector<Command>& commands) {
  std::vector<std::pair<std::string, Word>> found;
  for (const Command& command : commands)
    for (const Word& word : command)
      if (isAssignment(word.text)) {
        const size_t equals = word.text.find('=');
        found.push_back({word.text.substr(0, equals),
                         {word.text.substr(equals + 1), word.range}});
      }
  return found;
}

std::vector<Degree> degreesOf(const Command& training) {
  std::vector<Degree> degrees;
  for (size_t i = 0; i < training.size(); ++i) {
    const Word& word = training[i];
    const size_t equals = word.text.find('=');
    if (equals != word.text.npos)
      addDegree(degrees, word.text.substr(0, equals),
                word.text.substr(equals + 1), word.range);
    else if (word.text.starts_with("--") && i + 1 < training.size())
      addDegree(degrees, word.text, training[i + 1].text,
                cover(word.range, training[i + 1].range));
  }
  return degrees;
}

} // namespace recipec::importer::manifest
