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

/// Helps with a value in place of a tensor; returns false if `type` takes no
/// tensor. Never proposes `none`, which would compile but change the model.
bool helpWithTensor(Evaluator& evaluator, diag::Builder& builder,
                    const Value& value, const Type& type, SourceRange range);

/// Reports a list of tensors at `place`, `concat([a, b])`. The callee takes
/// `taken` more tensors from this argument on, each as a separate argument.
void reportTensorList(Evaluator& evaluator, const std::string& callee,
                      const ListValue& list, size_t taken, SourceRange place);

/// Reports a value of another type for a parameter without a type, which takes
/// a tensor. Returns false for a value whose type has no name to declare.
bool reportUntyped(Evaluator& evaluator, const std::string& callee,
                   const ast::Parameter& parameter, const Value& value,
                   SourceRange place);

/// The name of the only tensor in the block around `env`, for an example;
/// `otherwise` if there are none or several.
std::string onlyTensor(const Env& env, const std::string& otherwise);

/// Whether a string may be meant for an argument of this type: as one of its
/// literals, or as the name of a parameter where a tensor is needed.
bool mayMeanText(const Evaluator& evaluator, const Type& type,
                 const std::string& text);

/// Reports a string given for `parameter`, which is empty after the last
/// parameter. The string is either a mapping in quotation marks,
/// `linear(x, "hidden -> ffn")`, or the call's name without `name =`.
void reportText(Evaluator& evaluator, const std::string& callee,
                const std::string& text, SourceRange place,
                const std::string& parameter);

/// "`init` of `linear` takes `normal(...)` or `zeros {}`", for an argument of
/// an op that takes records; empty for other arguments.
std::string recordsOfArgument(Evaluator& evaluator, const ast::File& file,
                              const ast::Call& call, size_t argument);

/// Helps with an op argument that other tools call `name`, using the op's
/// comment or a general list. Returns false if neither has the name.
bool helpWithOpArgument(Evaluator& evaluator, diag::Builder& builder,
                        const std::string& op, const ast::Name& name);

/// An operand as written at `range`, without a leading `parameter =`.
recipe::WrittenOperand writtenOperand(const Evaluator& evaluator,
                                      std::string_view parameter,
                                      SourceRange range);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_TYPES_OPARGUMENTS_H
