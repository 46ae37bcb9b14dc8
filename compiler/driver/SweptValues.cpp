// Values of a sweep's axis at which no point compiles; see SweptValues.h.
//
// 1. Find the list of an axis that has an element at the diagnostic's place.
// 2. The element is unfit if all points that have it report the diagnostic:
//    each element has an equal share of the recipe's points.
// 3. The list without unfit elements is the help, if any is left.

#include "compiler/driver/SweptValues.h"

#include <algorithm>

namespace recipec::driver {
namespace {

using diag::Diagnostic;

/// The list of an axis and its path.
struct AxisList {
  const ast::ListExpr* list = nullptr;
  std::string path;
};

class SweptValues {
public:
  explicit SweptValues(Session& session) : session(session) {}

  void run() {
    for (size_t i = 0; i < session.engine.all().size(); ++i)
      help(session.engine.edit(i));
  }

private:
  const ast::File& file() const { return *session.file; }

  bool has(const ast::ListExpr& list, SourceRange range) const {
    return std::any_of(
        list.elements.begin(), list.elements.end(),
        [&](ast::ExprId each) { return file()[each].range == range; });
  }

  /// The axis in the braces of a sweep that has an element at `range`.
  AxisList axisIn(ast::BodyId body, const std::string& outer,
                  SourceRange range) const {
    for (const ast::Item& item : file()[body].items) {
      const auto* node = std::get_if<ast::Assignment>(&item.node);
      if (!node)
        continue;
      std::string path = outer;
      for (const ast::Name& name : node->path)
        path += (path.empty() ? "" : ".") + name.text;
      if (node->body != ast::BodyId::none) {
        if (AxisList found = axisIn(node->body, path, range); found.list)
          return found;
        continue;
      }
      const auto* list = std::get_if<ast::ListExpr>(&file()[node->value].node);
      if (list && has(*list, range))
        return {list, path};
    }
    return {};
  }

  AxisList axisWith(ast::BodyId body, SourceRange range) const {
    for (const ast::Item& item : file()[body].items) {
      const auto* node = std::get_if<ast::Assignment>(&item.node);
      const bool isSweep = node && node->path.size() == 1 &&
                           node->path[0].text == "sweep" &&
                           node->body != ast::BodyId::none;
      if (isSweep)
        return axisIn(node->body, "", range);
    }
    return {};
  }

  /// Whether all points with an element of the list report an error at it.
  bool isUnfit(const std::string& recipe, const ast::ListExpr& list,
               SourceRange element) const {
    std::vector<std::string> points;
    for (const sema::Selection& each : session.selection)
      if (each.recipe == recipe && each.point)
        points.push_back(each.name);
    const size_t share = points.size() / list.elements.size();
    return std::any_of(
        session.engine.all().begin(), session.engine.all().end(),
        [&](const Diagnostic& each) {
          const auto count = std::count_if(
              points.begin(), points.end(), [&](const std::string& point) {
                return std::count(each.subjects.begin(), each.subjects.end(),
                                  point) > 0;
              });
          return each.range == element && share > 0 && size_t(count) == share;
        });
  }

  void help(Diagnostic& diagnostic) {
    for (const sema::Selection& each : session.selection) {
      const bool isSubject = each.point && !diagnostic.subjects.empty() &&
                             diagnostic.subjects.front() == each.name;
      const ast::RecipeDecl* recipe =
          isSubject ? sema::findRecipe(file(), each.recipe) : nullptr;
      if (recipe)
        return help(diagnostic, each.recipe,
                    axisWith(recipe->body, diagnostic.range));
    }
  }

  void help(Diagnostic& diagnostic, const std::string& recipe,
            const AxisList& axis) {
    if (!axis.list || !isUnfit(recipe, *axis.list, diagnostic.range))
      return;
    std::string rest;
    for (ast::ExprId each : axis.list->elements)
      if (const SourceRange range = file()[each].range;
          !isUnfit(recipe, *axis.list, range))
        rest += (rest.empty() ? "" : ", ") +
                std::string(session.sources.text(range));
    if (rest.empty() || rest.find('\n') != rest.npos)
      return;
    diagnostic.proposals.clear();
    diagnostic.otherwise.clear();
    // A help with an edit corrects the value itself.
    if (diagnostic.fixIts.empty())
      diagnostic.helps.clear();
    diagnostic.helps.push_back(
        "leave `" + std::string(session.sources.text(diagnostic.range)) +
        "` out of the axis: write `" + axis.path + " = [" + rest + "]`");
  }

  Session& session;
};

} // namespace

void helpWithSweptValues(Session& session) {
  if (session.file)
    SweptValues(session).run();
}

} // namespace recipec::driver
