// 1. Import the modules of the jobs' models, each once.
// 2. Write each job as a recipe: its comment, the omissions and remarks, then
//    the fields in the order of the schema, grouped by section.

#include "compiler/import/Recipes.h"

#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <sstream>

namespace recipec::importer {
namespace {

constexpr size_t commentWidth = 78;

/// The sections of a recipe in the order of its schema.
struct Section {
  std::string_view name;
  std::string_view constructor; // `adamw`; empty for a section in braces
};
constexpr std::array<Section, 13> sections = {{{"adapter", "lora"},
                                               {"cluster", ""},
                                               {"parallel", ""},
                                               {"batch", ""},
                                               {"data", ""},
                                               {"precision", ""},
                                               {"memory", ""},
                                               {"comm", ""},
                                               {"optimizer", "adamw"},
                                               {"train", ""},
                                               {"checkpoint", ""},
                                               {"export", ""},
                                               {"launch", ""}}};

/// Formats a paragraph as comment lines. Lines after the first are indented by
/// `indent`.
std::string comment(std::string_view text, std::string_view marker,
                    std::string_view indent = "") {
  std::string result, line(marker);
  std::istringstream words{std::string(text)};
  bool isEmpty = true;
  for (std::string word; words >> word; isEmpty = false) {
    if (!isEmpty && line.size() + 1 + word.size() > commentWidth) {
      result += line + "\n";
      line = std::string(marker) + std::string(indent);
    }
    line += " " + word;
  }
  return result + line + "\n";
}

void addDegree(std::vector<Setting>& settings, const char* path, int64_t value,
               int64_t usual = 1) {
  if (value != usual)
    settings.push_back({path, std::to_string(value)});
}

/// `cluster` and the degrees of `parallel` that are not the defaults.
std::vector<Setting> layoutSettings(const Job& job) {
  const Layout& layout = job.layout;
  std::vector<Setting> settings = {
      {"cluster.hardware", job.hardware},
      {"cluster.ranks", std::to_string(layout.ranks)}};
  addDegree(settings, "parallel.tp", layout.tp);
  addDegree(settings, "parallel.cp", layout.cp);
  addDegree(settings, "parallel.pp", layout.pp);
  addDegree(settings, "parallel.vp", layout.vp);
  addDegree(settings, "parallel.ep", layout.ep);
  addDegree(settings, "parallel.etp", layout.etp.value_or(1));
  return settings;
}

std::string withComment(const Setting& setting) {
  return setting.comment.empty() ? setting.value
                                 : setting.value + "  # " + setting.comment;
}

/// `{ tp = 2, pp = 4 }`, or one field a line where one has a comment.
std::string bodyText(const std::vector<Setting>& fields, size_t prefix) {
  const bool hasComment = std::ranges::any_of(
      fields, [](const Setting& each) { return !each.comment.empty(); });
  std::vector<std::string> texts;
  for (const Setting& field : fields)
    texts.push_back(field.path.substr(prefix) + " = " + withComment(field));
  if (hasComment)
    return "{\n" + llvm::join(texts, "\n") + "\n}";
  return "{ " + llvm::join(texts, ", ") + " }";
}

std::string sectionText(const Section& section,
                        const std::vector<Setting>& settings) {
  const std::string prefix = std::string(section.name) + ".";
  std::vector<Setting> fields;
  for (const Setting& setting : settings)
    if (setting.path.starts_with(prefix))
      fields.push_back(setting);
  if (fields.empty())
    return "";
  const std::string begin = section.constructor.empty()
                                ? std::string(section.name)
                                : std::string(section.name) + " = " +
                                      std::string(section.constructor);
  return begin + " " + bodyText(fields, prefix.size()) + "\n";
}

std::string modelText(const Model& model) {
  std::string text = "model = " + model.module + "." + model.name;
  if (model.fields.empty())
    return text + "\n";
  return text + " " + bodyText(model.fields, 0) + "\n";
}

std::string commentsOf(const Job& job) {
  std::string text;
  for (const std::string& remark : job.remarks)
    text += comment(remark, "#");
  if (!job.omissions.empty())
    text += comment("Not in the recipe:", "#");
  for (const Omission& omission : job.omissions)
    text += comment("- `" + omission.what + "`: " + omission.reason, "#", "  ");
  return text + comment(job.summary, "##");
}

std::string recipeText(const Job& job) {
  std::vector<Setting> settings;
  if (!job.isMixin)
    settings = layoutSettings(job);
  if (job.sequence > 0)
    settings.push_back({"data.sequence", std::to_string(job.sequence)});
  settings.insert(settings.end(), job.settings.begin(), job.settings.end());
  std::string text = commentsOf(job) + (job.isMixin ? "mixin " : "recipe ") +
                     job.name + " {\n";
  if (job.task != "pretrain")
    text += "task = " + literal(job.task) + "\n";
  if (!job.model.module.empty())
    text += modelText(job.model);
  for (const Setting& setting : settings)
    if (setting.path.find('.') == setting.path.npos)
      text += setting.path + " = " + withComment(setting) + "\n";
  text += "\n";
  for (const Section& section : sections)
    text += sectionText(section, settings);
  return text + "}\n";
}

} // namespace

std::string identifierOf(std::string_view text) {
  std::string name;
  for (unsigned char character : text)
    name += std::isalnum(character) ? char(std::tolower(character)) : '_';
  const bool isName =
      !name.empty() && !std::isdigit(static_cast<unsigned char>(name[0]));
  return isName ? name : "model_" + name;
}

std::string literal(std::string_view text) {
  std::string result = "\"";
  for (char character : text) {
    if (character == '"' || character == '\\' || character == '{')
      result += '\\';
    result += character;
  }
  return result + "\"";
}

void distinguishNames(std::vector<Job>& jobs) {
  std::map<std::string, std::set<int64_t>> ranks;
  for (const Job& job : jobs)
    ranks[job.name].insert(job.layout.ranks);
  for (Job& job : jobs)
    if (ranks[job.name].size() > 1)
      job.name += "_" + std::to_string(job.layout.ranks) + "gpus";
  std::map<std::string, int> count;
  for (Job& job : jobs)
    if (const int number = ++count[job.name]; number > 1)
      job.name += "_" + std::to_string(number);
}

std::string recipesText(const std::vector<Job>& jobs,
                        const std::vector<std::string>& header) {
  std::string text;
  for (const std::string& sentence : header)
    text += comment(sentence, "#");
  std::set<std::string> modules;
  for (const Job& job : jobs)
    if (!job.model.module.empty())
      modules.insert(job.model.module);
  text += "\n";
  for (const std::string& module : modules)
    text += "import std.models." + module + "\n";
  for (const Job& job : jobs)
    text += "\n" + recipeText(job);
  return text;
}

} // namespace recipec::importer
