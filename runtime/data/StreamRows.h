// Rows of a stream of tokens, as language models are pre-trained on: row i of
// an epoch has the inputs i * S ... i * S + S - 1 of the stream, S being
// `data.sequence`, and each predicts the token behind it. So every token but
// the first is predicted once an epoch; the last row may be a short one.
//
// Rows may begin and end within documents. Without `data.pack` a row is one
// segment, whose tokens see one another across documents (Brown et al. 2020,
// section 2.4). With it a document's tokens see those of their own document
// alone, positions begin anew behind each `eos_token`, and what an `eos_token`
// would predict, the beginning of another document, does not count.
//
// Training takes the rows of an epoch in an order that (data.seed, epoch)
// decides; validation takes them as they come.

#ifndef RECIPERUN_DATA_STREAMROWS_H
#define RECIPERUN_DATA_STREAMROWS_H

#include "runtime/data/Rows.h"
#include "runtime/data/TokenStream.h"
#include "runtime/plan/Plan.h"

#include <memory>

namespace reciperun::data {

class StreamRows : public Rows {
public:
  /// Fails where there are fewer than two tokens, and where documents are to be
  /// kept apart and the model has no `eos_token`.
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
  /// The stretch of the stream whose tokens are a row's inputs.
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
