// Reads the `##` comments of declarations.
//
// The last lines of a comment list the names that other tools have for the
// declaration:
//
//   ## Also known as `micro_batch_size`, `local_batch_size`.
//
// Words in parentheses after a name, or after several with "or" between them,
// say how to write its values here:
//
//   ## Also known as `zero_stage` or `zero` (3 is `"parameters"`).
//
// Before those lines a comment may say what values of other tools are here, and
// which of their values and fields have no counterpart:
//
//   ## Values of other tools: `"zero3"` is `"parameters"`.
//   ## No value for `"dualpipe"` (no schedule splits the backward pass).
//   ## No field for `load_in_4bit`, `quantization` (there is no QLoRA).
//
// It may say what to do about values that have no counterpart:
//
//   ## No value for `"int64"` (write the ids anew as `uint32`).
//
// A comment may say where several values are set, of a field that takes one:
//
//   ## Several are listed as `eos_token_id` in `generation_config.json`.
//
// The comment of an op says the same of its arguments, which have no comments:
//
//   ## Arguments of other tools: `base` is `theta`, `rope_theta` is `theta`.
//   ## No argument for `dim` (the operand has the width).

#ifndef RECIPEC_SEMA_VALUES_COMMENTS_H
#define RECIPEC_SEMA_VALUES_COMMENTS_H

#include "compiler/sema/values/Value.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace recipec::sema {

/// A name of other tools and the words in parentheses after it.
struct ListedName {
  std::string name;
  std::string remark; // may be empty
};

/// The names that a comment lists behind "Also known as".
std::vector<ListedName> namesListedIn(const ast::Comments& comments);

/// Whether two names differ at most in capitals, `_` and `-`.
bool isSameName(std::string_view left, std::string_view right);

/// The words in parentheses after `name` in a comment's list of names, empty
/// when there are none. Returns nullopt when the list lacks `name`.
std::optional<std::string> listedAs(const ast::Comments& comments,
                                    std::string_view name);

/// Why there is no field for `name`; empty where the comment does not say so.
std::string whyAbsent(const ast::Comments& comments, std::string_view name);

/// Why no value is what another tool calls `written`; empty where the comment
/// does not say so. Texts may differ in capitals, `_` and `-`.
std::string whyNoValue(const ast::Comments& comments, std::string_view written);

/// What a comment says that a value of another tool, as it is written, is here.
/// Texts may differ in capitals, `_` and `-`.
std::optional<std::string> valueListedAs(const ast::Comments& comments,
                                         std::string_view written);

/// What the comment of a field that takes one value says of several: "are
/// listed as ...". Empty where it says nothing.
std::string whereSeveral(const ast::Comments& comments);

/// The argument of an op that other tools call `name`, as its comment says.
std::optional<std::string> argumentListedAs(const ast::Comments& comments,
                                            std::string_view name);

/// Names of other tools for which there is no field, and why.
struct AbsentNames {
  std::vector<std::string> names;
  std::string reason;
};

/// What a comment lists behind "No field for" and "No argument for".
std::vector<AbsentNames> absentNamesIn(const ast::Comments& comments);

/// Whether a line of a comment, without its marks, begins what follows the
/// description: a list of names, values or arguments of other tools.
bool beginsList(std::string_view line);

/// The text of a comment before those lists, on one line.
std::string descriptionOf(const ast::Comments& comments);

/// The first value that a comment writes behind "say": `say "out/model"`.
std::string exampleIn(const ast::Comments& comments);

/// The comments of a field's declaration; null where there is no such field.
const ast::Comments* commentsOf(const Schema& schema, std::string_view field);

/// The first sentence of a comment, without its point; empty where it has none.
std::string summaryOf(const ast::Comments& comments);
/// The first sentence of the comment of a field's declaration.
std::string summaryOf(const Schema& schema, std::string_view field);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_VALUES_COMMENTS_H
