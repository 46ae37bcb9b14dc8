// The data source determines whether a row is one document (runtime/data):
//   - `mock`: a row is one full document;
//   - `text`, `token_file`: a row is a stretch of the stream. Its documents
//     attend to each other unless `data.pack` separates them. The last row of
//     an epoch ends with padding;
//   - `jsonl`: one sample followed by padding; with `data.pack`, up to
//     `data.pack_documents` samples;
//   - `blend`: a row of one of its sources.
// Rows after the last one of a run contain only padding.
//
// The number of documents in a stretch of a stream is not known, so attention
// needs segments and places.
//
// Causal attention never attends to padding at the end of a row. The output for
// padding tokens is finite and reaches no other token. Their labels have weight
// 0, so all gradients computed there are 0. Without `causal` every token would
// attend to the padding, so rows must be full.
//
// Ranks of `cp` hold pieces of rows out of order. The sharding pass keeps the
// attributes when it knows which pieces attend to each other, and removes them
// when segments and places are needed.

#include "compiler/passes/fuse/Documents.h"
#include "runtime/ops/AttentionOps.h"
#include "runtime/ops/OpKind.h"

#include <algorithm>

namespace recipec::passes {
namespace {

enum class Rows {
  full,   // one document each
  padded, // one document, then padding
  packed, // up to a known number of documents, then padding
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

/// The case of the blend's sources that allows the least to be skipped.
Rows rowsOfBlend(const recipe::Record& blend, bool isPacked) {
  Rows worst = Rows::full;
  const recipe::Value* sources = blend.find("sources");
  for (const recipe::Value& source : std::get<recipe::List>(sources->data))
    worst = std::max(worst, rowsOf(source, isPacked));
  return worst;
}

/// The same of the training and the validation data.
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
