// See Script.h.
//
// 1. Read the options of all lines `#SBATCH`. sbatch stops at the first line
//    that is neither empty nor a comment.
// 2. Split the rest into commands, and put in the constants that the script
//    assigns: `GPUS=8`, `--nproc_per_node=$GPUS`.

#include "compiler/import/sbatch/Script.h"

#include "compiler/import/Rules.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>

namespace recipec::importer::sbatch {
namespace {

/// Short options of sbatch and srun.
constexpr std::pair<char, std::string_view> shortOptions[] = {
    {'N', "nodes"},
    {'n', "ntasks"},
    {'c', "cpus-per-task"},
    {'t', "time"},
    {'p', "partition"},
    {'A', "account"},
    {'J', "job-name"},
    {'o', "output"},
    {'e', "error"},
    {'G', "gpus"},
    {'w', "nodelist"},
    {'x', "exclude"},
    {'q', "qos"},
    {'a', "array"},
    {'d', "dependency"},
    {'C', "constraint"},
    {'D', "chdir"},
    {'L', "licenses"},
    {'b', "begin"},
    {'i', "input"},
    {'m', "distribution"},
    {'F', "nodefile"},
    {'M', "clusters"},
    {'S', "core-spec"},
    {'B', "extra-node-info"},
};

std::string longName(char letter) {
  for (const auto& [own, name] : shortOptions)
    if (own == letter)
      return std::string(name);
  return {};
}

/// The words of a line, without quotes, and their places.
std::vector<Word> wordsOf(std::string_view line, SourceId source,
                          uint32_t begin) {
  std::vector<Word> words;
  for (size_t at = 0; at < line.size();) {
    if (std::isspace(static_cast<unsigned char>(line[at]))) {
      ++at;
      continue;
    }
    if (line[at] == '#') // a comment
      break;
    const size_t first = at;
    std::string text;
    char quote = 0;
    for (; at < line.size(); ++at) {
      const char c = line[at];
      if (quote == 0 && std::isspace(static_cast<unsigned char>(c)))
        break;
      if (quote == 0 && (c == '"' || c == '\''))
        quote = c;
      else if (c == quote)
        quote = 0;
      else
        text += c;
    }
    words.push_back({std::move(text),
                     {source, begin + uint32_t(first), begin + uint32_t(at)}});
  }
  return words;
}

/// Reads `--name=value`, `--name value`, `-N4` and `-N 4` from the front of the
/// words.
Option takeOption(const std::vector<Word>& words, size_t& at) {
  const Word& word = words[at++];
  const std::string& text = word.text;
  Option option{{}, {}, word.range};
  const bool hasNext = at < words.size() && !words[at].text.starts_with('-');
  bool takesNext = hasNext;
  if (text.starts_with("--")) {
    const size_t equals = text.find('=');
    option.name = text.substr(2, equals == text.npos ? equals : equals - 2);
    if (equals != text.npos)
      option.value = text.substr(equals + 1);
    takesNext = hasNext && equals == text.npos;
  } else if (text.starts_with('-') && text.size() > 1) {
    option.name = longName(text[1]);
    option.value = text.substr(2);
    takesNext = hasNext && option.value.empty();
  } else {
    option.name = text;
    return option;
  }
  if (takesNext) {
    option.value = words[at].text;
    option.range = cover(word.range, words[at++].range);
  }
  return option;
}

/// The lines of a script that begin with `#`.
class DirectiveReader {
public:
  DirectiveReader(SourceId source, std::string_view text, Script& script)
      : source(source), text(text), script(script) {}

  void read() {
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = std::min(text.find('\n', begin), text.size());
      readLine(text.substr(begin, end - begin), uint32_t(begin));
      begin = end + 1;
    }
  }

private:
  void readLine(std::string_view line, uint32_t begin) {
    constexpr std::string_view mark = "#SBATCH";
    const size_t first = line.find_first_not_of(" \t\r");
    if (first == line.npos)
      return;
    if (line.starts_with(mark)) {
      const auto words = wordsOf(line.substr(mark.size()), source,
                                 begin + uint32_t(mark.size()));
      for (size_t at = 0; at < words.size();) {
        script.options.push_back(takeOption(words, at));
        script.options.back().isLate = isBehind;
      }
    } else if (line[first] != '#') {
      isBehind = true;
    } else if (isNearly(line.substr(first))) {
      const size_t length = line.find_last_not_of(" \t\r") + 1;
      script.comments.push_back(
          {source, begin + uint32_t(first), begin + uint32_t(length)});
    }
  }

  /// `# SBATCH --nodes=2` and `#sbatch -N2`. `##SBATCH` is meant as a comment.
  static bool isNearly(std::string_view comment) {
    size_t at = 1;
    while (at < comment.size() && comment[at] == ' ')
      ++at;
    std::string word;
    for (; at < comment.size() &&
           std::isalpha(static_cast<unsigned char>(comment[at]));
         ++at)
      word += char(std::toupper(static_cast<unsigned char>(comment[at])));
    at = comment.find_first_not_of(' ', at);
    return word == "SBATCH" && at != comment.npos && comment[at] == '-';
  }

  SourceId source;
  std::string_view text;
  Script& script;
  bool isBehind = false; // the first command
};

/// Puts the constants of the script into its words.
void expandConstants(std::vector<Command>& commands) {
  std::map<std::string, std::string> constants;
  const auto expanded = [&](const std::string& text) {
    std::string result;
    for (size_t at = 0; at < text.size();) {
      const bool hasBrace = text.compare(at, 2, "${") == 0;
      size_t end = at + (hasBrace ? 2 : 1);
      const size_t begin = end;
      while (text[at] == '$' && end < text.size() &&
             (std::isalnum(static_cast<unsigned char>(text[end])) ||
              text[end] == '_'))
        ++end;
      const auto known = constants.find(text.substr(begin, end - begin));
      const bool isClosed =
          !hasBrace || (end < text.size() && text[end] == '}');
      if (text[at] != '$' || known == constants.end() || !isClosed) {
        result += text[at++];
        continue;
      }
      result += known->second;
      at = end + (hasBrace ? 1 : 0);
    }
    return result;
  };
  for (Command& command : commands) {
    for (Word& word : command)
      word.text = expanded(word.text);
    for (const auto& [name, word] : manifest::assignmentsOf({command}))
      if (word.text.find_first_of("$`(") == std::string::npos)
        constants[name] = word.text;
      else
        constants.erase(name);
  }
}

std::optional<Given> countOf(const Option* option) {
  const auto number = option ? numberOf(option->value) : std::nullopt;
  if (!number || *number < 1 || *number != double(int64_t(*number)))
    return std::nullopt;
  return Given{int64_t(*number), option->range};
}

/// The GPUs of `8`, `h100:8`, `gpu:h100:8` and lists of these. Of a list with
/// names of resources, those of `gpu` count.
std::optional<Given> gpusOf(const Option* option, bool hasResources) {
  if (!option || option->value.empty())
    return std::nullopt;
  int64_t sum = 0;
  const std::string& list = option->value;
  for (size_t begin = 0; begin < list.size();) {
    const size_t end = std::min(list.find(',', begin), list.size());
    std::string each = list.substr(begin, end - begin);
    begin = end + 1;
    if (hasResources && !each.starts_with("gpu"))
      continue;
    each.resize(std::min(each.find('('), each.size())); // `(S:0-1)`
    const size_t colon = each.rfind(':');
    const std::string last = colon == each.npos ? each : each.substr(colon + 1);
    const auto number = numberOf(last);
    if (!number && !hasResources)
      return std::nullopt; // a variable, which sbatch does not know
    sum += number ? int64_t(*number) : 1;
  }
  return sum > 0 ? std::optional(Given{sum, option->range}) : std::nullopt;
}

/// Options of srun that take no value.
bool isFlag(std::string_view name) {
  constexpr std::array<std::string_view, 19> flags = {
      "exclusive",
      "overlap",
      "exact",
      "label",
      "unbuffered",
      "pty",
      "verbose",
      "quiet",
      "overcommit",
      "multi-prog",
      "no-kill",
      "oversubscribe",
      "contiguous",
      "immediate",
      "spread-job",
      "kill-on-bad-exit",
      "no-container-mount-home",
      "container-remap-root",
      "no-container-remap-root"};
  return std::find(flags.begin(), flags.end(), name) != flags.end();
}

/// Reads srun's options; the rest is the program of the tasks.
Launch srunOf(const Command& command, size_t at, const SourceMap& sources) {
  Launch launch;
  launch.hasSrun = true;
  launch.range = command[at++].range;
  while (at < command.size() && command[at].text.starts_with('-')) {
    const size_t first = at;
    Option option = takeOption(command, at);
    const bool isLetter = option.name.empty(); // `-l`, `-u`, `-K`
    if ((isFlag(option.name) || isLetter) && at > first + 1)
      at = first + 1;
    if (option.name == "ntasks")
      launch.tasks = countOf(&option);
    if (option.name == "ntasks-per-node")
      launch.perNode = countOf(&option);
    launch.exports |= option.name == "export";
  }
  Command rest(command.begin() + std::ptrdiff_t(at), command.end());
  if (rest.size() > 2 &&
      (rest[0].text.ends_with("bash") || rest[0].text.ends_with("sh")))
    for (size_t i = 1; i + 1 < rest.size(); ++i)
      if (rest[i].text.starts_with('-') && rest[i].text.ends_with('c')) {
        if (auto start = manifest::startOf(
                manifest::commandsOfScript(rest[i + 1].text, rest[i + 1].range,
                                           sources.text(rest[i + 1].range))))
          launch.start = std::move(*start);
        return launch;
      }
  if (auto start = manifest::startOf({rest}))
    launch.start = std::move(*start);
  else
    launch.start.training = std::move(rest);
  return launch;
}

} // namespace

const Option* Script::find(std::string_view name) const {
  const Option* found = nullptr;
  for (const Option& each : options)
    if (!each.isLate && each.name == name)
      found = &each;
  return found;
}

int64_t Allocation::tasks() const {
  return (nodes ? nodes->value : 1) * (tasksPerNode ? tasksPerNode->value : 1);
}

bool isScript(std::string_view text) {
  return text.starts_with("#!") || text.starts_with("#SBATCH") ||
         text.find("\n#SBATCH") != text.npos;
}

Script readScript(SourceId source, const SourceMap& sources) {
  Script script;
  script.sources = &sources;
  const std::string text(sources.text(source));
  const auto line = uint32_t(std::min(text.find('\n'), text.size()));
  script.start = {source, 0, line};
  script.hasInterpreter = text.starts_with("#!");
  DirectiveReader(source, text, script).read();
  script.commands = manifest::commandsOfScript(
      text, {source, 0, uint32_t(text.size())}, text);
  expandConstants(script.commands);
  return script;
}

Allocation allocationOf(const Script& script) {
  Allocation found;
  found.nodes = countOf(script.find("nodes"));
  found.tasksPerNode = countOf(script.find("ntasks-per-node"));
  const auto tasks = countOf(script.find("ntasks"));
  const int64_t nodes = found.nodes ? found.nodes->value : 1;
  const bool isOneNode = !script.find("nodes");
  if (!found.tasksPerNode && tasks && (found.nodes || isOneNode) &&
      tasks->value % nodes == 0)
    found.tasksPerNode = Given{tasks->value / nodes, tasks->range};
  found.gpusPerNode = gpusOf(script.find("gpus-per-node"), false);
  if (!found.gpusPerNode)
    found.gpusPerNode = gpusOf(script.find("gres"), true);
  if (const auto all = gpusOf(script.find("gpus"), false);
      !found.gpusPerNode && all && all->value % nodes == 0)
    found.gpusPerNode = Given{all->value / nodes, all->range};
  if (const auto each = gpusOf(script.find("gpus-per-task"), false);
      !found.gpusPerNode && each && found.tasksPerNode)
    found.gpusPerNode =
        Given{each->value * found.tasksPerNode->value, each->range};
  return found;
}

std::optional<Launch> launchOf(const Script& script) {
  for (const Command& command : script.commands) {
    size_t at = 0;
    while (at < command.size() &&
           (command[at].text == "exec" || command[at].text == "time"))
      ++at;
    if (at < command.size() && command[at].text == "srun")
      return srunOf(command, at, *script.sources);
    if (auto start = manifest::startOf({command})) {
      Launch launch;
      launch.range = command[at].range;
      launch.start = std::move(*start);
      return launch;
    }
  }
  return std::nullopt;
}

} // namespace recipec::importer::sbatch
