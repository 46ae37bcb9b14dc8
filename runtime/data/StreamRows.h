// Rows of a token stream, as in pre-training: row i of an epoch has the inputs
// i * S ... i * S + S - 1 of the stream, where S is `data.sequence`, and each
// input predicts the next token. So every token but the first is predicted once
// an epoch; the last row may be short.
//
// Rows may begin and end within documents. Without `data.pack` a row is one
// segment, whose tokens attend across documents (Brown et al. 2020, section
// 2.4). With it tokens only attend within their own document, positions restart
// after each `eos_token`, and the prediction of an `eos_token`, the beginning
// of another document, does not count in the loss.
//
// Training shuffles the rows of an epoch by (data.seed, epoch); validation
// takes them in order.

#ifndef RECIPERUN_DATA_STREAMROWS_H
#define RECIPERUN_DATA_STREAMROWS_H

#include "runtime/data/Rows.h"
#include "runtime/data/TokenStream.h"
#include "runtime/plan/Plan.h"

#include <memory>

namespace reciperun::data {

class StreamRows : public Rows {
public:
  /// Fails when there are fewer than two tokens, and when `data.pack` separates
  /// documents but the model has no `eos_token`.
  static Expected<std::unique_ptr<Rows>>
  make(std::unique_ptr<TokenStream> stream, const plan::Data& data,
       DataSet set);

  int64_t ofEpoch(int64_t epoch) const override;
  Expected<int64_t> weight(const RowPlace& place) const override;
  Status fill(const RowPlace& place, Row& row) const override;
  std::string extent() const override;
  std::string origin(const RowPlace& place) const override;
  std::vector<std::string> notes() const override { return stream->notes(); }
  int64_t bytes() const override { return stream->bytes(); }

private:
  StreamRows(std::unique_ptr<TokenStream> stream, const plan::Data& data,
             DataSet set);
  /// The range of the stream that holds a row's inputs.
  struct Stretch {
    int64_t first = 0;
    int64_t count = 0;
  };
  Stretch stretchOf(const RowPlace& place) const;
  bool endsDocument(int32_t id) const { return keepsApart && id == eos; }

  std::unique_ptr<TokenStream> stream;
  DataSet set;
  bool keepsApart;
  int32_t eos;
  int64_t sequence;
  uint64_t seed;
};

} // namespace reciperun::data

#endif // RECIPERUN_DATA_STREAMROWS_H
