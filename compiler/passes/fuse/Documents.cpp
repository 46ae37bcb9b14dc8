// Whether a row is one document is a matter of its source (runtime/data):
//   - `mock`: a row is one document, and full;
//   - `text`, `token_file`: one stretch of the stream, whose documents see one
//     another, unless `data.pack` keeps them apart; the last row of an epoch
//     has padding behind it;
//   - `jsonl`: one sample and padding behind it, or, with `data.pack`, as many
//     as `data.pack_documents` lets into a row.
//   - `blend`: a row of one of its sources.
// Rows beyond the last of a run are padding alone.
//
// How many documents a stretch of a stream has is known to no one: then
// segments and places have to tell.
//
// Padding behind a row is out of the sight of causal attention. What attends
// from it is finite and reaches no other token; its labels weigh 0, so that the
// gradient of all that is computed there is 0. Without `causal` every token
// would see it: then only full rows will do.
//
// Ranks of `cp` hold pieces of rows out of order: there the sharding keeps the
// mark where it knows which pieces meet, and takes it off where segments and
// places have to tell.

#include "compiler/passes/fuse/Documents.h"
#include "runtime/ops/AttentionOps.h"
#include "runtime/ops/OpKind.h"

#include <algorithm>

namespace recipec::passes {
namespace {

enum class Rows {
  full,   // one document each
  padded, // one document, and padding behind it
  packed, // up to a known number of them, and padding behind the last
  mixed,  // any number
};

Rows rowsOfBlend(const recipe::Record& blend, bool isPacked);

Rows rowsOf(const recipe::Value& source, bool isPacked) {
  if (source.isNone())
    return Rows::full;
  const auto& record = std::get<recipe::Record>(source.data);
  if (record.schema == "mock")
    return Rows::full;
  if (record.schema == "blend")
    return rowsOfBlend(record, isPacked);
  if (record.schema == "jsonl")
    return isPacked ? Rows::packed : Rows::padded;
  bool isStream = record.schema == "text" || record.schema == "token_file";
  return isStream && !isPacked ? Rows::padded : Rows::mixed;
}

/// The worst of its sources'.
Rows rowsOfBlend(const recipe::Record& blend, bool isPacked) {
  Rows worst = Rows::full;
  const recipe::Value* sources = blend.find("sources");
  for (const recipe::Value& source : std::get<recipe::List>(sources->data))
    worst = std::max(worst, rowsOf(source, isPacked));
  return worst;
}

/// The worse of what is trained and of what is validated on.
Rows rowsOf(const recipe::Recipe& recipe) {
  bool isPacked = recipe.boolean("data.pack");
  return std::max(rowsOf(recipe.at("data.train"), isPacked),
                  rowsOf(recipe.at("data.valid"), isPacked));
}

bool isCausal(const ir::Op& op) {
  return ops::AttentionAttributes(op.attributes).causal;
}

} // namespace

void markDocuments(ir::Module& program, const recipe::Recipe& recipe) {
  if (recipe.string("cluster.hardware.kind") != "cuda")
    return;
  Rows rows = rowsOf(recipe);
  for (ir::Function& function : program.functions)
    for (ir::Op& op : function.ops) {
      if (op.kind != ir::OpKind::Attention)
        continue;
      if (rows == Rows::full || (rows == Rows::padded && isCausal(op)))
        op.attributes["documents"] = false;
      if (rows == Rows::packed && isCausal(op))
        op.attributes["most_documents"] = recipe.integer("data.pack_documents");
      if (!recipe.boolean("train.deterministic"))
        op.attributes["deterministic"] = false;
    }
}

} // namespace recipec::passes
