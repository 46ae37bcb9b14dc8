// See Lint.h.
//
// 1. Names: what no library reads.
// 2. Values: what the library does not accept, or what is its default.
// 3. The table of mistakes.
// 4. Pairs of variables that contradict each other.

#include "compiler/environment/Lint.h"

#include "compiler/environment/Variables.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

namespace recipec::environment {
namespace {

using diag::Kind;

std::string lowerCase(std::string_view text) {
  std::string lower;
  for (const char c : text)
    lower += char(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

bool isSame(std::string_view a, std::string_view b) {
  return lowerCase(a) == lowerCase(b);
}

std::optional<int64_t> integerOf(std::string_view text) {
  int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || last != end)
    return std::nullopt;
  return value;
}

/// The texts between separators.
std::vector<std::string> partsOf(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (true) {
    const size_t end = text.find(separator);
    parts.emplace_back(text.substr(0, end));
    if (end == text.npos)
      return parts;
    text.remove_prefix(end + 1);
  }
}

constexpr std::array<std::string_view, 7> algorithmNames = {
    "Ring", "Tree", "CollnetDirect", "CollnetChain", "NVLS", "NVLSTree", "PAT"};
constexpr std::array<std::string_view, 3> protocolNames = {"LL", "LL128",
                                                           "Simple"};
constexpr std::array<std::string_view, 6> levelNames = {"LOC", "NVL", "PIX",
                                                        "PXB", "PHB", "SYS"};
/// Read as well, and not documented.
constexpr std::array<std::string_view, 4> otherLevels = {"NVB", "C2C", "P2C",
                                                         "PXN"};
constexpr std::array<std::string_view, 4> verbosityNames = {"VERSION", "WARN",
                                                            "INFO", "TRACE"};

template <size_t count>
bool isOneOf(std::string_view text,
             const std::array<std::string_view, count>& names) {
  return std::any_of(names.begin(), names.end(),
                     [&](std::string_view name) { return isSame(text, name); });
}

template <size_t count>
std::string listOf(const std::array<std::string_view, count>& names) {
  std::string list;
  for (size_t i = 0; i < count; ++i)
    list += (i == 0           ? "`"
             : i + 1 == count ? "` and `"
                              : "`, `") +
            std::string(names[i]);
  return list + "`";
}

/// The names in a list of algorithms or protocols, without functions and `^`.
std::vector<std::string> namesIn(std::string_view value) {
  std::vector<std::string> names;
  for (std::string part : partsOf(value, ';')) {
    if (const size_t colon = part.find(':'); colon != part.npos)
      part = part.substr(colon + 1);
    if (part.starts_with('^'))
      part = part.substr(1);
    for (std::string& name : partsOf(part, ','))
      if (!name.empty())
        names.push_back(std::move(name));
  }
  return names;
}

class Linter {
public:
  Linter(const std::vector<Variable>& variables, const Ranks& ranks,
         diag::Engine& engine)
      : variables(variables), ranks(ranks), engine(engine) {}

  void run() {
    for (const Variable& each : variables)
      if (checkName(each)) {
        if (each.value && checkValue(each))
          checkDefault(each);
        checkMistakes(each);
      }
    checkPairs();
  }

private:
  const Variable* find(std::string_view name) const {
    for (const Variable& each : variables)
      if (each.name == name)
        return &each;
    return nullptr;
  }
  /// nullptr if the variable is not set, or its value is not known.
  const std::string* valueOf(std::string_view name) const {
    const Variable* variable = find(name);
    return variable && variable->value ? &*variable->value : nullptr;
  }
  bool isSet(std::string_view name, std::string_view value) const {
    const std::string* own = valueOf(name);
    return own && isSame(*own, value);
  }
  std::optional<int64_t> numberIn(std::string_view name) const {
    const std::string* value = valueOf(name);
    return value ? integerOf(*value) : std::nullopt;
  }
  static std::string shown(const Variable& variable) {
    return "`" + variable.name +
           (variable.value ? "=" + *variable.value + "`" : "`");
  }
  static void noteDefault(diag::Builder& builder, std::string_view name) {
    if (const Known* known = findKnown(name))
      builder.note("the default is: " + std::string(known->usual));
  }

  bool checkName(const Variable& variable);
  bool checkValue(const Variable& variable);
  void checkDefault(const Variable& variable);
  void checkMistakes(const Variable& variable);
  void checkForced(const Variable& variable);
  bool applies(const Mistake& mistake, const Variable& variable) const;
  void refuse(const Variable& variable, const std::string& wanted,
              const std::string& help, const char* replacement);
  void checkPairs();
  void checkAlgorithm();
  void checkSwitchedOff();
  void checkOrder(const std::string& least, const std::string& most);
  void checkSockets();
  void checkNames(const Variable& variable, bool areProtocols);
  void checkWithout(std::string_view name, std::string_view needed,
                    const std::string& reason);
  void contradict(const Variable& variable, const Variable& other,
                  const std::string& reason, const std::string& help);

  const std::vector<Variable>& variables;
  const Ranks& ranks;
  diag::Engine& engine;
};

// ---- names

std::vector<std::string> candidates() {
  std::vector<std::string> names;
  for (const Known& each : knownVariables())
    names.emplace_back(each.name);
  return names;
}

/// Whether other findings may follow.
bool Linter::checkName(const Variable& variable) {
  const std::string& name = variable.name;
  const auto isOfTable = [&](const Mistake& each) { return each.name == name; };
  if (std::ranges::any_of(knownMistakes(), isOfTable))
    return true;
  if (name.starts_with("TORCH_NCCL_") && !ranks.hasPython) {
    engine
        .report(Kind::EnvironmentUnused, variable.range,
                "`" + name +
                    "` is read by PyTorch, which a recipe does not run")
        .help("leave it out: `reciperun` reports a rank that waits too long");
    return false;
  }
  if (!name.starts_with("NCCL_") || isRead(name))
    return true;
  auto builder = engine.report(Kind::EnvironmentUnused, variable.range,
                               "`" + name + "` is not a variable of NCCL");
  if (!builder.suggest({}, name, candidates()))
    builder.help("leave it out: nothing reads it");
  return false;
}

// ---- values

void Linter::refuse(const Variable& variable, const std::string& wanted,
                    const std::string& help, const char* replacement) {
  auto builder = engine.report(Kind::EnvironmentValue, variable.range,
                               shown(variable) + ": " + wanted);
  builder.help(help);
  if (replacement && variable.valueRange.isValid())
    builder.fixIt(variable.valueRange, "\"" + std::string(replacement) + "\"");
  noteDefault(builder, variable.name);
}

void Linter::checkNames(const Variable& variable, bool areProtocols) {
  for (const std::string& name : namesIn(*variable.value)) {
    if (areProtocols ? isOneOf(name, protocolNames)
                     : isOneOf(name, algorithmNames))
      continue;
    refuse(variable,
           "`" + name + "` is no " +
               (areProtocols
                    ? "protocol, which are " + listOf(protocolNames)
                    : "algorithm, which are " + listOf(algorithmNames)),
           "leave it out: an unknown name is an error of NCCL since 2.24",
           nullptr);
    return;
  }
}

/// The names of the legacy integers of levels. Larger ones are SYS, too.
const char* levelOf(int64_t number) {
  constexpr std::array<const char*, 5> levels = {"LOC", "PIX", "PXB", "PHB",
                                                 "SYS"};
  return levels[size_t(std::clamp<int64_t>(number, 0, levels.size() - 1))];
}

/// Whether the library accepts the value.
bool Linter::checkValue(const Variable& variable) {
  const Known* known = findKnown(variable.name);
  if (!known || variable.value->empty())
    return true;
  const size_t before = engine.all().size();
  const std::string& value = *variable.value;
  const auto number = integerOf(value);
  switch (known->values) {
  case Values::any:
    break;
  case Values::flag:
    if (!number || (*number != 0 && *number != 1))
      refuse(variable, "the values are 0 and 1", "write `0` or `1`", nullptr);
    break;
  case Values::number:
    if (!number || *number < known->least || *number > known->most)
      refuse(variable,
             known->most == INT64_MAX
                 ? "a whole number of at least " + std::to_string(known->least)
                 : "a whole number from " + std::to_string(known->least) +
                       " to " + std::to_string(known->most),
             "write such a number, or leave it out", nullptr);
    break;
  case Values::level:
    if (number) {
      const char* level = levelOf(*number);
      engine
          .report(Kind::EnvironmentOutdated, variable.range,
                  shown(variable) +
                      ": integers are the notation of NCCL "
                      "before 2.4, and this one is `" +
                      level + "`")
          .help("leave it out, or write `" + std::string(level) + "`")
          .fixIt(variable.valueRange, "\"" + std::string(level) + "\"")
          .note("the default is: " + std::string(known->usual));
    } else if (!isOneOf(value, levelNames) && !isOneOf(value, otherLevels)) {
      refuse(variable, "the levels are " + listOf(levelNames),
             "leave it out: NCCL knows the topology", nullptr);
    }
    break;
  case Values::verbosity:
    if (!isOneOf(value, verbosityNames))
      refuse(variable, "the levels are " + listOf(verbosityNames),
             "write `INFO`", "INFO");
    break;
  case Values::algorithms:
  case Values::protocols:
    checkNames(variable, known->values == Values::protocols);
    break;
  }
  return engine.all().size() == before;
}

/// A value that equals the default. Defaults that begin with another text
/// depend on the system.
void Linter::checkDefault(const Variable& variable) {
  const Known* known = findKnown(variable.name);
  const auto isOfTable = [&](const Mistake& each) {
    return each.name == variable.name && applies(each, variable);
  };
  if (!known || variable.value->empty() ||
      std::ranges::any_of(knownMistakes(), isOfTable))
    return;
  const std::string_view usual = known->usual;
  const bool isDefault =
      usual == *variable.value || usual.starts_with(*variable.value + " (");
  if (!isDefault)
    return;
  engine
      .report(Kind::EnvironmentUnused, variable.range,
              shown(variable) + " is the default")
      .help("leave it out")
      .note("the default is: " + std::string(usual));
}

// ---- the table

bool Linter::applies(const Mistake& mistake, const Variable& variable) const {
  if (mistake.name != variable.name ||
      (mistake.where == Where::efa && !ranks.hasEfa) ||
      (mistake.where == Where::severalNodes && !ranks.hasSeveralNodes))
    return false;
  return mistake.value.empty() ||
         (variable.value && isSame(*variable.value, mistake.value));
}

void Linter::checkMistakes(const Variable& variable) {
  for (const Mistake& mistake : knownMistakes()) {
    if (!applies(mistake, variable))
      continue;
    auto builder = engine.report(
        mistake.kind, variable.range,
        (mistake.value.empty() ? "`" + variable.name + "`" : shown(variable)) +
            " " + std::string(mistake.reason));
    builder.help(std::string(mistake.remedy));
    if (!mistake.evidence.empty())
      builder.note("measured: " + std::string(mistake.evidence));
    noteDefault(builder, variable.name);
    return;
  }
  checkForced(variable);
}

/// LL128 needs hardware that stores 128 bytes at once; NCCL knows where.
void Linter::checkForced(const Variable& variable) {
  if (!variable.value || variable.value->starts_with('^'))
    return;
  const std::vector<std::string> names = namesIn(*variable.value);
  const bool isProtocol = variable.name == "NCCL_PROTO" && !names.empty() &&
                          isOneOf(names[0], protocolNames);
  if (isProtocol &&
      std::any_of(names.begin(), names.end(), [](const std::string& name) {
        return isSame(name, "LL128");
      })) {
    auto builder = engine.report(
        Kind::EnvironmentHarmful, variable.range,
        shown(variable) + " forces LL128, also where it can corrupt data");
    builder.help("leave it out: NCCL takes LL128 where it is safe and faster");
    noteDefault(builder, variable.name);
    return;
  }
  const bool isAlgorithm = variable.name == "NCCL_ALGO" && names.size() == 1 &&
                           isOneOf(names[0], algorithmNames);
  if ((isProtocol && names.size() == 1) || isAlgorithm) {
    auto builder = engine.report(Kind::EnvironmentHarmful, variable.range,
                                 shown(variable) + " forces one " +
                                     (isProtocol ? "protocol" : "algorithm") +
                                     " for messages of all sizes");
    builder.help(isProtocol
                     ? "leave it out: LL is fast for small messages, LL128 for "
                       "medium ones over NVLink, Simple for large ones"
                     : "leave it out: on 8 H100, NCCL takes Ring for small "
                       "messages and NVLS for large ones");
    noteDefault(builder, variable.name);
  }
}

// ---- pairs

void Linter::contradict(const Variable& variable, const Variable& other,
                        const std::string& reason, const std::string& help) {
  engine
      .report(Kind::EnvironmentContradiction, variable.range,
              shown(variable) + " and " + shown(other) + ": " + reason)
      .label(other.range, "the other one")
      .help(help);
}

/// A variable that does nothing unless another one is set.
void Linter::checkWithout(std::string_view name, std::string_view needed,
                          const std::string& reason) {
  const Variable* variable = find(name);
  if (!variable || find(needed))
    return;
  engine
      .report(Kind::EnvironmentUnused, variable->range,
              "`" + variable->name + "` does nothing: " + reason)
      .help("set `" + std::string(needed) + "`, or leave both out");
}

bool namesOne(const std::string* value, std::string_view begin) {
  if (!value || value->starts_with('^'))
    return false;
  const std::vector<std::string> names = namesIn(*value);
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    return lowerCase(name).starts_with(lowerCase(begin));
  });
}

void Linter::checkPairs() {
  checkAlgorithm();
  checkSwitchedOff();
  for (const char* unit : {"CTAS", "NCHANNELS"})
    checkOrder(std::string("NCCL_MIN_") + unit,
               std::string("NCCL_MAX_") + unit);
  checkSockets();
  for (const char* name : {"NCCL_DEBUG_SUBSYS", "NCCL_DEBUG_FILE"})
    checkWithout(name, "NCCL_DEBUG",
                 "NCCL writes no messages unless `NCCL_DEBUG` is set");
  checkWithout("NCCL_COLLNET_NODE_THRESHOLD", "NCCL_COLLNET_ENABLE",
               "reductions in switches are off by default");
}

void Linter::checkAlgorithm() {
  const Variable* algorithm = find("NCCL_ALGO");
  if (isSet("NCCL_NVLS_ENABLE", "0") && namesOne(valueOf("NCCL_ALGO"), "nvls"))
    contradict(*algorithm, *find("NCCL_NVLS_ENABLE"),
               "an algorithm of NVLink's switches, which are off",
               "leave both out");
  if (!namesOne(valueOf("NCCL_ALGO"), "collnet") ||
      isSet("NCCL_COLLNET_ENABLE", "1"))
    return;
  engine
      .report(Kind::EnvironmentContradiction, algorithm->range,
              shown(*algorithm) + " needs `NCCL_COLLNET_ENABLE=1`, whose "
                                  "default is 0")
      .help("set `NCCL_COLLNET_ENABLE=1`, or leave the algorithm out");
}

/// Settings of a part of NCCL that another variable turns off.
void Linter::checkSwitchedOff() {
  if (isSet("NCCL_COLLNET_ENABLE", "1") && isSet("NCCL_NET_PLUGIN", "none"))
    contradict(*find("NCCL_COLLNET_ENABLE"), *find("NCCL_NET_PLUGIN"),
               "reductions in switches need a plugin",
               "leave `NCCL_NET_PLUGIN` out");
  if (isSet("NCCL_P2P_DISABLE", "1") && find("NCCL_P2P_LEVEL"))
    contradict(*find("NCCL_P2P_LEVEL"), *find("NCCL_P2P_DISABLE"),
               "a distance for what is off", "leave both out");
  if (!isSet("NCCL_IB_DISABLE", "1"))
    return;
  for (const Variable& each : variables)
    if (each.name.starts_with("NCCL_IB_") && each.name != "NCCL_IB_DISABLE" &&
        isRead(each.name))
      contradict(each, *find("NCCL_IB_DISABLE"),
                 "a setting of InfiniBand, which is off",
                 "leave one of the two out");
}

void Linter::checkOrder(const std::string& least, const std::string& most) {
  const auto low = numberIn(least), high = numberIn(most);
  if (low && high && *low > *high)
    contradict(*find(least), *find(most), "the least is above the most",
               "leave both out: NCCL chooses by size");
}

void Linter::checkSockets() {
  constexpr int64_t mostSockets = 64;
  const auto threads = numberIn("NCCL_SOCKET_NTHREADS"),
             sockets = numberIn("NCCL_NSOCKS_PERTHREAD");
  if (!threads || !sockets || *threads * *sockets <= mostSockets)
    return;
  contradict(*find("NCCL_SOCKET_NTHREADS"), *find("NCCL_NSOCKS_PERTHREAD"),
             std::to_string(*threads * *sockets) +
                 " sockets, and a connection has at most " +
                 std::to_string(mostSockets),
             "lower one of the two");
}

} // namespace

void lint(const std::vector<Variable>& variables, const Ranks& ranks,
          diag::Engine& engine) {
  Linter(variables, ranks, engine).run();
}

} // namespace recipec::environment
