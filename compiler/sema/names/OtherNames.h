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
/// records that its fields may hold. Names such as `path`, which say nothing
/// without their record, are those of the schema's own fields alone, and of
/// none where `isElsewhere`: the name was written in another record.
std::optional<KnownField> fieldKnownAs(Evaluator& evaluator,
                                       const Schema& schema,
                                       std::string_view name,
                                       bool isElsewhere = false);

/// The one name of other tools for a field of a schema, or of the records in
/// it, that `name` is a misspelling of.
std::optional<std::string> nearestOtherName(Evaluator& evaluator,
                                            const Schema& schema,
                                            std::string_view name);

/// Whether the other tool's values mean something else here, so that none can
/// be taken over: the remark says what, and lists no values.
bool differsInMeaning(const KnownField& field);
/// `` that is `batch.micro` here ``
std::string helpFor(const KnownField& field);
/// What the comment of a field says of several of its values, "several are
/// ..."; empty where it says nothing.
std::string severalOf(const KnownField& field);
/// Whether the field may take the place of the name without a question.
diag::Applicability applicabilityOf(const KnownField& field);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_NAMES_OTHERNAMES_H
