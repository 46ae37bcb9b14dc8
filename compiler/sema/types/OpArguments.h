// Helps about the arguments of ops: tensors, and names of other tools.

#ifndef RECIPEC_SEMA_TYPES_OPARGUMENTS_H
#define RECIPEC_SEMA_TYPES_OPARGUMENTS_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/sema/values/Value.h"

#include <string>
#include <string_view>

namespace recipec::sema {

class Evaluator;

/// Whether an argument of the type is an operand.
bool takesTensor(const Type& type);

/// Helps with a value in place of a tensor; false where none is due. Proposes
/// no `none`, which would compile and mean another model.
bool helpWithTensor(Evaluator& evaluator, diag::Builder& builder,
                    const Value& value, const Type& type, SourceRange range);

/// Reports a list of tensors at `place`, `concat([a, b])`, where the callee
/// takes `taken` tensors from there on, each as an argument of its own.
void reportTensorList(Evaluator& evaluator, const std::string& callee,
                      const ListValue& list, size_t taken, SourceRange place);

/// Reports a value of another type for a parameter without a type, which takes
/// a tensor. Returns false for a value whose type has no name to declare.
bool reportUntyped(Evaluator& evaluator, const std::string& callee,
                   const ast::Parameter& parameter, const Value& value,
                   SourceRange place);

/// A tensor of the block around `env`, for an example; `otherwise` where it has
/// several or none.
std::string onlyTensor(const Env& env, const std::string& otherwise);

/// Whether a string may be meant as an argument of a type: one of its choices,
/// or a parameter for the tensor that it names.
bool mayMeanText(const Evaluator& evaluator, const Type& type,
                 const std::string& text);

/// Reports a string in the place of `parameter`, which is empty behind the last
/// one: a mapping in quotation marks, `linear(x, "hidden -> ffn")`, or the name
/// of the call without `name =`.
void reportText(Evaluator& evaluator, const std::string& callee,
                const std::string& text, SourceRange place,
                const std::string& parameter);

/// "`init` of `linear` takes `normal(...)` or `zeros {}`" for an argument of a
/// call of an op that takes records; empty for others.
std::string recordsOfArgument(Evaluator& evaluator, const ast::File& file,
                              const ast::Call& call, size_t argument);

/// Helps with an argument of an op that other tools call `name`, by the comment
/// of the op; false where the comment does not have the name.
bool helpWithOpArgument(Evaluator& evaluator, diag::Builder& builder,
                        const std::string& op, const ast::Name& name);

/// An operand as it is written at `range`, without the name of its parameter
/// before it.
recipe::WrittenOperand writtenOperand(const Evaluator& evaluator,
                                      std::string_view parameter,
                                      SourceRange range);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_TYPES_OPARGUMENTS_H
