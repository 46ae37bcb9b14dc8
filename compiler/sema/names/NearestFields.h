// Searches fields by their descriptions, for a name that is neither a
// misspelling nor listed as another tool's name.

#ifndef RECIPEC_SEMA_NAMES_NEARESTFIELDS_H
#define RECIPEC_SEMA_NAMES_NEARESTFIELDS_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/sema/names/AbsentFields.h"
#include "compiler/sema/values/Value.h"
#include "runtime/search/WordIndex.h"

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace recipec::sema {

namespace search = reciperun::search;

class Evaluator;

/// Searches the comments of the fields. An index of words is made when a
/// diagnostic first needs it.
class NearestFields {
public:
  explicit NearestFields(Evaluator& evaluator) : evaluator(evaluator) {}

  /// Names the one or two fields nearest to a key that `schema` lacks, or the
  /// library's remark about a similar setting of other tools. Returns false if
  /// nothing is clearly nearer than the rest. `isRecord` says that braces
  /// follow the key.
  bool help(diag::Builder& builder, const Schema& schema,
            const std::string& name, bool isRecord);

private:
  /// A possible meaning of a name: a field with a path, or a setting without a
  /// field.
  struct Subject {
    std::string path; // empty: there is no such field
    bool isFixed = false;
    std::string text; // what the field is, or what to do instead
  };
  struct Index {
    std::string path; // of the schema's record
    std::vector<Subject> subjects;
    std::unique_ptr<search::WordIndex> words;
  };
  /// The documents of an index that is being made.
  struct Draft {
    std::vector<Subject> subjects;
    std::vector<search::Document> documents;
    bool isRecord = false;
  };
  const Index& indexOf(const Schema& schema, bool isRecord);
  std::string pathOf(const Schema& schema);
  void addPaths(const Schema& schema, const Schema& wanted,
                const std::string& path, int depth,
                std::vector<std::string>& paths);
  void addFields(Draft& draft, const Schema& schema, const std::string& path,
                 int depth);
  void addField(Draft& draft, const Schema& schema, const Field& field,
                const std::string& path);
  void addAbsent(Draft& draft, const Schema& schema);
  bool isOffered(const Schema& schema, const Field& field, bool isRecord);
  std::string textOf(const Subject& subject) const;

  Evaluator& evaluator;
  std::map<std::pair<const Schema*, bool>, Index> indices;
};

} // namespace recipec::sema

#endif // RECIPEC_SEMA_NAMES_NEARESTFIELDS_H
