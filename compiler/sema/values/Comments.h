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
// Before those lines, a comment may translate values of other tools, and list
// values and fields that have no counterpart:
//
//   ## Values of other tools: `"zero3"` is `"parameters"`.
//   ## No value for `"dualpipe"` (no schedule splits the backward pass).
//   ## No field for `load_in_4bit`, `quantization` (there is no QLoRA).
//
// It may also explain what to do about a value without a counterpart:
//
//   ## No value for `"int64"` (write the ids anew as `uint32`).
//
// The comment of a field that takes one value may say where to set several:
//
//   ## Several are listed as `eos_token_id` in `generation_config.json`.
//
// An op's arguments have no comments of their own, so the op's comment has
// their names in other tools:
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

/// The reason why there is no field for `name`; empty if the comment gives
/// none.
std::string whyAbsent(const ast::Comments& comments, std::string_view name);

/// The reason why the field has no counterpart for the value that another tool
/// calls `written`; empty if the comment gives none. Strings may differ in
/// case, `_` and `-`.
std::string whyNoValue(const ast::Comments& comments, std::string_view written);

/// The value that a comment gives for another tool's value, as written. Strings
/// may differ in case, `_` and `-`.
std::optional<std::string> valueListedAs(const ast::Comments& comments,
                                         std::string_view written);

/// What the comment of a field with one value says about setting several: "are
/// listed as ...". Empty if it says nothing.
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

/// Whether a line of a comment, without its marks, ends the description because
/// it begins a list of names, values or arguments of other tools.
bool beginsList(std::string_view line);

/// The text of a comment before those lists, on one line.
std::string descriptionOf(const ast::Comments& comments);

/// The first value after the word "say" in a comment: `say "out/model"`.
std::string exampleIn(const ast::Comments& comments);

/// The comments of a field's declaration; null where there is no such field.
const ast::Comments* commentsOf(const Schema& schema, std::string_view field);

/// The first sentence of a comment, without its point; empty where it has none.
std::string summaryOf(const ast::Comments& comments);
/// The first sentence of the comment of a field's declaration.
std::string summaryOf(const Schema& schema, std::string_view field);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_VALUES_COMMENTS_H
