// The names that other tools have for a field: `micro_batch_size` is
// `batch.micro` here.

#ifndef RECIPEC_SEMA_NAMES_OTHERNAMES_H
#define RECIPEC_SEMA_NAMES_OTHERNAMES_H

#include "compiler/sema/Evaluator.h"

#include <optional>
#include <string>
#include <string_view>

namespace recipec::sema {

/// A field and the path to it from the record that was searched.
struct KnownField {
  std::string path; // empty where there is no such field
  bool isFixed = false;
  std::string values; // how to write the other tool's values here; may be empty
  /// Whether a number means the same in both tools. It does not when the field
  /// takes numbers both with and without a unit.
  bool hasOneMeaning = true;
  /// The declaration of the field and the schema that has it; null where there
  /// is no such field.
  const Schema* owner = nullptr;
  const ast::FieldDecl* declaration = nullptr;
};

/// The first field that another tool calls `name`, in a schema or in the
/// records that its fields may hold. Generic names such as `path` are searched
/// only in the schema's own fields, or not at all if `isElsewhere` says that
/// the name was written in another record.
std::optional<KnownField> fieldKnownAs(Evaluator& evaluator,
                                       const Schema& schema,
                                       std::string_view name,
                                       bool isElsewhere = false);

/// Another tool's name of which `name` is clearly a misspelling, for a field of
/// the schema or of the records in it; nullopt if there is none.
std::optional<std::string> nearestOtherName(Evaluator& evaluator,
                                            const Schema& schema,
                                            std::string_view name);

/// Whether the other tool's values have a different meaning, so that none can
/// be copied: the field has a remark that explains the difference and lists no
/// values.
bool differsInMeaning(const KnownField& field);
/// `` that is `batch.micro` here ``
std::string helpFor(const KnownField& field);
/// The field's comment on setting several values, "several are ..."; empty if
/// it has none.
std::string severalOf(const KnownField& field);
/// Whether the name may be replaced by the field without asking.
diag::Applicability applicabilityOf(const KnownField& field);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_NAMES_OTHERNAMES_H
