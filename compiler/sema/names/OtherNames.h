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
};

/// The first field that another tool calls `name`, in a schema or in the
/// records that its fields may hold.
std::optional<KnownField>
fieldKnownAs(Evaluator& evaluator, const Schema& schema, std::string_view name);

/// `` that is `batch.micro` here ``
std::string helpFor(const KnownField& field);
/// Whether the field may take the place of the name without a question.
diag::Applicability applicabilityOf(const KnownField& field);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_NAMES_OTHERNAMES_H
