// Help with the axes of sweeps.

#ifndef RECIPEC_SEMA_RECIPES_AXISHELP_H
#define RECIPEC_SEMA_RECIPES_AXISHELP_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/sema/values/Value.h"

#include <string>

namespace recipec::sema {

class Evaluator;
struct Axis;

/// Reports an axis in braces, `optimizer.lr { values = [1e-4, 2e-4] }`, whose
/// keys the field does not have. `path` is the field's path, `item` the whole
/// item. Returns false for braces that set fields.
bool reportAxisInBraces(Evaluator& evaluator, Object& settings,
                        const std::vector<ast::Name>& path,
                        const ast::Body& body, const ast::File& file,
                        SourceRange item);

/// Reports a random distribution of another program,
/// `optimizer.lr = loguniform(1e-5, 1e-3)`. Returns false for other values.
bool reportDistribution(Evaluator& evaluator,
                        const std::vector<ast::Name>& path, ast::ExprId value,
                        const Env& env);

/// Reports an axis that is no list, or a list that was meant as one value of a
/// field which is a list itself. `settings` is the recipe without its sweep.
/// Returns false for any other axis.
bool reportAxis(Evaluator& evaluator, Object& settings,
                const std::vector<ast::Name>& path, const Value& axis,
                SourceRange range);

/// What to write for an axis with equal values: seeds for as many runs, or only
/// the values that differ.
std::string helpWithEqual(const SourceMap& sources, const Axis& axis);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_RECIPES_AXISHELP_H
