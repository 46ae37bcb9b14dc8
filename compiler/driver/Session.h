// The sources, messages and parsed files of one compilation.

#ifndef RECIPEC_DRIVER_SESSION_H
#define RECIPEC_DRIVER_SESSION_H

#include "compiler/driver/Driver.h"
#include "compiler/driver/Loader.h"
#include "compiler/parse/Parse.h"
#include "compiler/recipe/Recipe.h"
#include "compiler/sema/recipes/Select.h"

#include <deque>
#include <optional>

namespace recipec::driver {

/// The input on the command line: `FILE`, `FILE:NAME` or, for a sweep,
/// `FILE:NAME@POINT`.
struct Target {
  std::string file;
  std::string recipe; // empty: not named
  std::string point;  // empty: not named
};

/// Splits at the last colon, unless a file has the whole argument as its name.
Target parseTarget(const std::string& argument);

/// The folder of the target's file, which is the base of relative paths in its
/// recipes. For the standard library it is the working folder.
std::string folderOf(const Target& target);

/// Owns everything that a recipe's values refer to.
class Session {
public:
  explicit Session(const std::string& argument)
      : Session(parseTarget(argument)) {}
  explicit Session(Target named)
      : target(std::move(named)), loader(sources, engine),
        folder(folderOf(target)) {}
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Parses the file and the settings. Returns false with diagnostics.
  bool open(const std::vector<std::string>& arguments);

  /// The recipes and points that the target names, in the order of the file;
  /// see sema::select. Returns nullopt, with diagnostics, if it names none or
  /// too many.
  std::optional<std::vector<sema::Selection>> select(sema::Extent extent);
  /// Appends the diagnostics of compiling the selected recipe.
  void take(const diag::Engine& found);
  /// Appends the warnings of compiling the selected recipe, except those that
  /// its `silence` names.
  void doubt(const diag::Engine& found, const recipe::Recipe& recipe);
  /// Prepares the diagnostics for printing: sorts them, merges duplicates, and
  /// keeps only proposals that work.
  void arrange();

  /// Selects the one recipe that the target names.
  bool selectOne();

  /// Checks the declarations of the file other than the launched recipes.
  void checkDeclarations();

  /// Parses `PATH=VALUE` as a further setting, for a second plan of the same
  /// recipe. `origin` names its source in messages.
  bool addOverride(std::vector<sema::Override>& overrides,
                   const std::string& text, const std::string& origin);

  Target target;
  SourceMap sources;
  diag::Engine engine;
  diag::Engine doubts; // printed as warnings; the command continues
  FileLoader loader;
  std::string folder;              // base of relative paths
  std::string place = ".";         // folder of the output
  bool looksForInputs = true;      // when a plan is made
  const ast::File* file = nullptr; // of `open`
  std::vector<std::string> sets;   // as given
  std::vector<sema::Override> overrides;
  sema::Selection selected;               // what `compile` compiles
  std::vector<sema::Selection> selection; // of the last `select`
  bool hasCheckedDeclarations = false;

private:
  std::deque<parse::Override> parsed; // a deque, so that references stay valid
};

/// Prints the session's diagnostics in source order to `invocation.err` and
/// returns the exit code.
int finish(Session& session, const Invocation& invocation);

} // namespace recipec::driver

#endif // RECIPEC_DRIVER_SESSION_H
