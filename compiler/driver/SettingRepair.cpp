// Rewrites a wrong argument of `--set`; see SettingRepair.h.
//
// 1. Split several settings in one argument: `a.b=1,c.d=2`.
// 2. Cut the path off at `=`, `:`, `==`, a space or a brace. Replace other
//    separators by dots: `parallel/tp`, `parallel["tp"]`, `--parallel-tp`.
// 3. Rewrite the value: JSON and YAML flow syntax, tuples, lists without
//    brackets, paths without quotation marks.
// 4. Keep the result if it can be parsed.

#include "compiler/driver/SettingRepair.h"

#include "compiler/driver/LibraryIndex.h"
#include "compiler/parse/Parse.h"
#include "runtime/base/Shell.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cctype>
#include <regex>

namespace recipec::driver {
namespace {

using Json = nlohmann::ordered_json;

/// A longer argument is not rewritten.
constexpr size_t longest = 500;

struct PathAndValue {
  std::string path, value;
};

std::string trimmed(const std::string& text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == text.npos)
    return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

bool isParsed(const std::string& text) {
  SourceMap sources;
  diag::Engine engine;
  const SourceId source = sources.add("--set", text, SourceKind::commandLine);
  return parse::parseOverride(sources, source, engine) && !engine.hasErrors();
}

// ---- paths

/// Splits `path = value`, with the separators of other programs.
PathAndValue partsOf(const std::string& text) {
  static const std::regex form(
      R"(^[-+~/$.\s]*([\w./:\-\[\]"']+?)\s*(==|:=|\+=|=|:\s|:$|:(?=[\d{\["(])|\s+(?=\{)|(?=\{)|\s)\s*(.*)$)");
  std::smatch match;
  if (!std::regex_match(text, match, form))
    return {};
  return {match[1], trimmed(match[3])};
}

/// Rewrites `parallel/tp`, `parallel["tp"]` or `parallel-tp` to `parallel.tp`.
std::string repairedPath(const std::string& path, const LibraryIndex& index) {
  std::string dotted, joined;
  for (char c : path) {
    const bool isQuote = c == '"' || c == '\'' || c == ']';
    const bool isPoint = c == '.' || c == '/' || c == ':' || c == '[';
    if (isQuote)
      continue;
    dotted += isPoint || c == '-' ? '.' : c;
    joined += isPoint ? '.' : c == '-' ? '_' : c;
  }
  const std::string known = index.settingOf(dotted);
  if (known == dotted)
    return dotted;
  // `base:parallel.tp`: drop the name of the recipe before the path.
  const std::string rest = joined.substr(joined.find('.') + 1);
  const bool hasName = index.settingOf(joined).empty() && rest != joined &&
                       rest.find('.') != rest.npos &&
                       index.settingOf(rest) == rest;
  return hasName ? rest : joined;
}

// ---- values

/// Writes JSON as a value of the language.
std::string recipeTextOf(const Json& json) {
  if (json.is_null())
    return "none";
  if (!json.is_structured())
    return json.dump();
  std::string text;
  for (const auto& [key, value] : json.items()) {
    text += text.empty() ? "" : ", ";
    text += json.is_object() ? key + " = " + recipeTextOf(value)
                             : recipeTextOf(value);
  }
  if (json.is_array())
    return "[" + text + "]";
  return text.empty() ? "{}" : "{ " + text + " }";
}

/// Rewrites `{tp: 2}`, `{'tp': 2}` or `{"tp" = 2}` to `{ tp = 2 }`.
std::string withAssignments(const std::string& value) {
  static const std::regex key(R"(([{,]\s*)["']?(\w+)["']?\s*[:=]\s*)");
  std::string text = std::regex_replace(value, key, "$1$2 = ");
  static const std::regex brace(R"(\{\s*)"), end(R"(\s*\})"), comma(R"(,\s*)");
  text = std::regex_replace(text, brace, "{ ");
  text = std::regex_replace(text, end, " }");
  text = std::regex_replace(text, comma, ", ");
  std::replace(text.begin(), text.end(), '\'', '"');
  return text;
}

bool isPathOfFile(const std::string& value) {
  return value.find('/') != value.npos &&
         value.find_first_of("\"'{}[]() ,") == value.npos;
}

std::string repairedValue(const std::string& value) {
  const Json json = Json::parse(value, nullptr, false);
  if (!json.is_discarded())
    return recipeTextOf(json);
  if (value.starts_with('{'))
    return withAssignments(value);
  if (value.starts_with('(') && value.ends_with(')'))
    return "[" + value.substr(1, value.size() - 2) + "]";
  if (value.starts_with('\'') && value.ends_with('\'') && value.size() > 1)
    return "\"" + value.substr(1, value.size() - 2) + "\"";
  if (isPathOfFile(value))
    return "\"" + value + "\"";
  static const std::regex list(R"(^[^,\[\]{}()="]+(,[^,\[\]{}()="]+)+$)");
  if (std::regex_match(value, list))
    return "[" + std::regex_replace(value, std::regex(R"(\s*,\s*)"), ", ") +
           "]";
  return value;
}

// ---- the whole argument

/// `a.b=1` and `c.d=2` of `a.b=1,c.d=2`; empty for anything else.
std::vector<std::string> several(const std::string& argument) {
  static const std::regex one(
      R"(\s*([A-Za-z_][\w.]*\s*=\s*[^,;=\s{}]+)[,;\s]*)");
  std::vector<std::string> settings;
  std::sregex_iterator at(argument.begin(), argument.end(), one), none;
  std::ptrdiff_t end = 0;
  for (; at != none && at->position() == end; ++at) {
    settings.push_back((*at)[1]);
    end = at->position() + at->length();
  }
  const bool isWhole = end == std::ptrdiff_t(argument.size());
  return isWhole && settings.size() > 1 ? settings : std::vector<std::string>();
}

/// Adds the section of the first setting to paths without one: `pp` in
/// `parallel.tp=2,pp=2` becomes `parallel.pp`.
void addSections(std::vector<std::string>& settings,
                 const LibraryIndex& index) {
  const std::string section =
      settings[0].substr(0, settings[0].find_first_of(".="));
  for (std::string& each : settings) {
    const std::string path = trimmed(each.substr(0, each.find('=')));
    const std::string whole = section + "." + path;
    if (path.find('.') == path.npos && index.settingOf(path) != path &&
        index.settingOf(whole) == whole)
      each = whole + each.substr(each.find('='));
  }
}

/// The settings that a wrong argument most likely means, each for a `--set` of
/// its own. All can be parsed. Empty if no meaning is found.
std::vector<std::string> repairedSettings(const std::string& argument,
                                          FileLoader& loader) {
  const LibraryIndex index(loader);
  if (std::vector<std::string> settings = several(argument);
      std::all_of(settings.begin(), settings.end(), isParsed) &&
      !settings.empty()) {
    addSections(settings, index);
    return settings;
  }
  const PathAndValue parts = partsOf(argument);
  const bool isElement = !parts.path.empty() && parts.path.ends_with(']') &&
                         std::isdigit((unsigned char)parts.path.rbegin()[1]);
  if (parts.path.empty() || parts.value.empty() || isElement)
    return {};
  const std::string path = repairedPath(parts.path, index);
  const std::string meant = repairedValue(parts.value);
  // `optimizer.lr=1e-4,2e-4`: several values of one field are a sweep.
  const bool isSweep = meant.starts_with('[') && meant != parts.value &&
                       !parts.value.starts_with('(') && !index.takesLists(path);
  if (std::string text = "sweep." + path + "=" + meant;
      isSweep && isParsed(text))
    return {text};
  // `train=steps=100`: `=` was written in place of the dot.
  if (const size_t sign = parts.value.find('='); sign != parts.value.npos) {
    const std::string whole = path + "." + parts.value.substr(0, sign);
    if (std::string text = whole + parts.value.substr(sign);
        index.settingOf(whole) == whole && isParsed(text))
      return {text};
  }
  for (const std::string& value : {parts.value, meant})
    if (std::string text = path + "=" + value;
        text != argument && text.find('\'') == text.npos && isParsed(text))
      return {text};
  return {};
}

std::string listed(const std::vector<std::string>& settings) {
  std::string text;
  for (const std::string& each : settings)
    text += (text.empty() ? "" : " ") + ("--set " + reciperun::shellWord(each));
  return text;
}

/// Helps with a value that is missing or that the shell should expand.
std::string helpWithoutValue(const PathAndValue& parts) {
  if (parts.path.empty())
    return "a setting is written `--set PATH=VALUE`, as in `--set "
           "parallel.tp=2`";
  static const std::regex element(R"(^([\w.]+)\[\d+\]$)");
  if (std::smatch match; std::regex_match(parts.path, match, element))
    return "an element is not set alone: write the whole list, `--set '" +
           match[1].str() + "=[...]'`";
  if (parts.value.empty())
    return "write a value behind `=`, `--set " + parts.path +
           "=VALUE`; a shell variable that is not set leaves none";
  if (parts.value.starts_with('$'))
    return "in single quotes a shell does not expand `" + parts.value +
           "`: write `--set \"" + parts.path + "=" + parts.value + "\"`";
  return {};
}

} // namespace

void reportWrongSetting(SourceMap& sources, SourceId source,
                        const diag::Engine& found, FileLoader& loader,
                        diag::Engine& engine) {
  const std::string argument(sources.text(source));
  const bool isShort = argument.size() <= longest &&
                       argument.find_first_of("\n\r") == argument.npos;
  if (!isShort) {
    engine.append(found);
    return;
  }
  const std::vector<std::string> meant = repairedSettings(argument, loader);
  std::string help = meant.empty() ? helpWithoutValue(partsOf(argument))
                                   : "write `" + listed(meant) + "`";
  if (found.all().empty() || help.empty()) {
    engine.append(found);
    return;
  }
  const diag::Diagnostic& first = found.all().front();
  auto builder = engine.report(first.kind, first.range, first.message);
  builder.help(help);
  if (meant.size() == 1)
    builder.fixIt({source, 0, uint32_t(argument.size())}, meant.front());
}

} // namespace recipec::driver
