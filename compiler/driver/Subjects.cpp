// Names the recipes of a diagnostic; see Subjects.h.
//
// 1. Skip diagnostics about all recipes or about none in particular.
// 2. Name only the recipe if the diagnostic is about all points of its sweep.
// 3. List the first names and count the rest.

#include "compiler/driver/Subjects.h"

#include <algorithm>

namespace recipec::driver {
namespace {

/// The maximum number of listed names; the rest are counted.
constexpr size_t mostListed = 3;

using Selections = std::vector<sema::Selection>;

/// The names of the recipes and points, in the order of the file.
std::vector<std::string> namesOf(const std::vector<std::string>& subjects,
                                 const Selections& compiled) {
  std::vector<std::string> names;
  // The points of a recipe are adjacent.
  for (size_t begin = 0, end = 0; begin < compiled.size(); begin = end) {
    const std::string& recipe = compiled[begin].recipe;
    std::vector<std::string> points;
    for (; end < compiled.size() && compiled[end].recipe == recipe; ++end)
      if (std::find(subjects.begin(), subjects.end(), compiled[end].name) !=
          subjects.end())
        points.push_back(compiled[end].name);
    if (points.size() == end - begin)
      points = {recipe};
    names.insert(names.end(), points.begin(), points.end());
  }
  return names;
}

std::string joinedSubjects(const std::vector<std::string>& names) {
  size_t shown = names.size() <= mostListed ? names.size() : mostListed - 1;
  size_t rest = names.size() - shown;
  std::string text;
  for (size_t i = 0; i < shown; ++i) {
    bool isLast = i + 1 == shown && rest == 0;
    text += i == 0 ? "" : isLast ? " and " : ", ";
    text += "`" + names[i] + "`";
  }
  return rest ? text + " and " + std::to_string(rest) + " more" : text;
}

} // namespace

void noteSubjects(diag::Engine& engine, const Selections& compiled) {
  for (size_t i = 0; i < engine.all().size(); ++i) {
    const std::vector<std::string>& subjects = engine.all()[i].subjects;
    if (subjects.empty() || subjects.size() == compiled.size())
      continue;
    std::vector<std::string> names = namesOf(subjects, compiled);
    engine.at(i).note((names.size() == 1 ? "of recipe " : "of recipes ") +
                      joinedSubjects(names));
  }
}

} // namespace recipec::driver
