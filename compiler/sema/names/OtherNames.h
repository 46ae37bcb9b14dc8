// What other tools call a field: `micro_batch_size` is `batch.micro` here.

#ifndef RECIPEC_SEMA_NAMES_OTHERNAMES_H
#define RECIPEC_SEMA_NAMES_OTHERNAMES_H

#include "compiler/sema/Evaluator.h"

#include <optional>
#include <string>
#include <string_view>

namespace recipec::sema {

/// A field, and the path to it from the record that was looked through.
struct KnownField {
  std::string path; // empty where there is no such field
  bool isFixed = false;
  std::string values; // what those of the other tool are here; may be empty
  /// A number means the same there and here: not so where the field takes
  /// numbers with a unit and without.
  bool hasOneMeaning = true;
};

/// The first field of a schema, or of the records that its fields may hold,
/// that another tool calls `name`.
std::optional<KnownField>
fieldKnownAs(Evaluator& evaluator, const Schema& schema, std::string_view name);

/// `` that is `batch.micro` here ``
std::string helpFor(const KnownField& field);
/// Whether the field may take the place of the name without a question.
diag::Applicability applicabilityOf(const KnownField& field);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_NAMES_OTHERNAMES_H
