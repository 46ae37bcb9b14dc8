// Lookup: finds what a name means, and the members of records and files.

#ifndef RECIPEC_SEMA_NAMES_LOOKUP_H
#define RECIPEC_SEMA_NAMES_LOOKUP_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/sema/values/Value.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace recipec::sema {

class Evaluator;

class Lookup {
public:
  explicit Lookup(Evaluator& evaluator) : evaluator(evaluator) {}

  /// The value of a name, or nullopt when nothing has that name.
  std::optional<Value> find(std::string_view name, const Env& env);
  /// The value of a name; poison (reported) when nothing has that name.
  Value valueOf(const ast::Name& name, const Env& env);
  /// The meaning of a name within braces and parameters. Empty when the name
  /// has to be looked up in the file.
  Binding findBinding(std::string_view name, const Env& env);
  /// All names that an expression could use, for suggestions.
  std::vector<std::string> visibleNames(const Env& env);
  Value memberOf(const Value& base, const ast::Name& member, SourceRange range);
  void reportUnknownMember(const Value& base, const std::string& member,
                           SourceRange range, bool isIndex,
                           SourceRange whole = {});
  Value letValue(const ast::Let& let, const Env& env);

private:
  void reportUnknownName(const ast::Name& name, const Env& env);
  // OwnFields.cpp
  /// Reports `run.data.max-length` for the key `max-length` of a map, or for
  /// the field `max_length`.
  bool reportHyphenatedKey(const std::vector<std::string>& keys, bool isMap,
                           SourceRange member);
  bool isPartOfKey(SourceRange name) const;
  bool helpWithLiteral(diag::Builder& builder, const ast::Name& name);
  bool helpWithWord(diag::Builder& builder, const ast::Name& name);
  bool helpWithSection(diag::Builder& builder, const ast::Name& name,
                       const Env& env);
  bool helpWithLibrary(diag::Builder& builder, const ast::Name& name,
                       const Env& env);

  Evaluator& evaluator;
  /// Keys with hyphens that were reported. The names behind a hyphen are parts
  /// of the key.
  std::vector<SourceRange> hyphenatedKeys;
};

} // namespace recipec::sema

#endif // RECIPEC_SEMA_NAMES_LOOKUP_H
