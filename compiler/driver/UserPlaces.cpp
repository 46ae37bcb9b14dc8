// Moves places in the library to the user's; see UserPlaces.h.
//
// 1. A value from the library moves to the innermost enclosing record that the
//    user wrote.
// 2. The text of a model moves to the setting `model`.
// 3. If two sizes conflict, the place is the recipe's own size, not a parent's,
//    because it was changed last.

#include "compiler/driver/UserPlaces.h"

#include <algorithm>
#include <string>
#include <utility>

namespace recipec::driver {
namespace {

using recipe::Value;

class Mover {
public:
  Mover(const recipe::Recipe& recipe, const SourceMap& sources)
      : recipe(recipe), sources(sources) {}

  void move(diag::Diagnostic& diagnostic) const {
    SourceRange place = diagnostic.range;
    if (!place.isValid())
      return;
    if (isUsers(place))
      return moveToOwn(diagnostic);
    SourceRange user = recipe.range;
    if (!findValue(recipe.settings, place, user))
      user = placeOf("model");
    diagnostic.range = user;
    diagnostic.label.clear();
    diagnostic.notes.insert(diagnostic.notes.begin(),
                            {"found in `" + textOf(place) + "`", place});
  }

private:
  bool isOwn(SourceRange range) const {
    return (range.source == recipe.range.source &&
            range.begin > recipe.range.begin) ||
           (range.isValid() &&
            sources.kind(range.source) == SourceKind::commandLine);
  }

  void moveToOwn(diag::Diagnostic& diagnostic) const {
    const bool isOfSizes = diagnostic.kind == diag::Kind::Indivisible ||
                           diagnostic.kind == diag::Kind::UnfitForFp8;
    if (!isOfSizes || isOwn(diagnostic.range))
      return;
    const auto own = std::find_if(
        diagnostic.labels.begin(), diagnostic.labels.end(),
        [&](const diag::Label& label) { return isOwn(label.range); });
    if (own == diagnostic.labels.end())
      return;
    std::swap(own->range, diagnostic.range);
    std::swap(own->text, diagnostic.label);
  }

  bool isUsers(SourceRange range) const {
    return range.isValid() &&
           sources.kind(range.source) != SourceKind::standardLibrary;
  }

  /// The first line of the text, with `...` if there are more.
  std::string textOf(SourceRange place) const {
    std::string_view text = sources.text(place);
    std::string_view line = text.substr(0, text.find('\n'));
    return std::string(line) + (line.size() < text.size() ? " ..." : "");
  }

  SourceRange placeOf(std::string_view path) const {
    const Value* value = recipe.find(path);
    bool isOfUser = value && isUsers(value->origin.range);
    return isOfUser ? value->origin.range : recipe.range;
  }

  /// Whether a value in `around` is at `place`. If so, sets `user` to the
  /// innermost enclosing place of the user's.
  bool findValue(const Value& around, SourceRange place,
                 SourceRange& user) const {
    if (around.origin.range == place)
      return true;
    SourceRange outer = user;
    if (isUsers(around.origin.range))
      user = around.origin.range;
    if (const auto* list = std::get_if<recipe::List>(&around.data))
      for (const Value& element : *list)
        if (findValue(element, place, user))
          return true;
    if (const auto* record = std::get_if<recipe::Record>(&around.data))
      for (const auto& [name, value] : record->fields)
        if (findValue(value, place, user))
          return true;
    user = outer;
    return false;
  }

  const recipe::Recipe& recipe;
  const SourceMap& sources;
};

} // namespace

void moveToUser(diag::Engine& engine, const recipe::Recipe& recipe,
                const SourceMap& sources) {
  Mover mover(recipe, sources);
  for (size_t i = 0; i < engine.all().size(); ++i)
    mover.move(engine.edit(i));
}

} // namespace recipec::driver
