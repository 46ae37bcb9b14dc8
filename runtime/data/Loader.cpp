// Finds a step's rows by number: the epoch, then the row in that epoch. Each
// row is filled whole, and the rank copies its slice.

#include "runtime/data/Loader.h"

#include "runtime/data/BlendRows.h"
#include "runtime/data/DocumentRows.h"
#include "runtime/data/MockRows.h"
#include "runtime/data/StreamRows.h"

#include <algorithm>
#include <new>
#include <optional>
#include <utility>

namespace reciperun::data {

namespace {

constexpr int64_t listedRows = 8; // in a message

/// The slice of a view for one row, or the rest of a row.
BatchView viewFrom(const BatchView& view, int64_t place) {
  const auto at = [&](auto* pointer) {
    return pointer ? pointer + place : pointer;
  };
  return {at(view.tokens),    at(view.labels),        at(view.weights),
          at(view.positions), at(view.segments),      at(view.places),
          view.samples,       at(view.furtherLabels), at(view.furtherWeights),
          view.furtherFactor};
}

template <class T>
void copyPiece(const std::vector<T>& row, int64_t first, int64_t count, T* to) {
  if (to)
    std::copy_n(row.begin() + first, count, to);
}

/// What the positions of a row predict beyond the next token: what the position
/// behind predicts, if it is of the same document.
struct FurtherTokens {
  FurtherTokens(const Row& row, float factor)
      : labels(row.labels.size()), weights(row.labels.size()) {
    for (size_t i = 0; i + 1 < labels.size(); ++i)
      if (row.segments[i] == row.segments[i + 1]) {
        labels[i] = row.labels[i + 1];
        weights[i] = factor * row.weights[i + 1];
      }
  }

  std::vector<int32_t> labels;
  std::vector<float> weights;
};

std::string nameOf(DataSet set) {
  return set == DataSet::train ? "data.train" : "data.valid";
}

Expected<std::unique_ptr<Rows>> openStream(const plan::DataSource& source,
                                           const plan::Data& data, DataSet set,
                                           const Tokenizer* tokenizer) {
  Expected<std::unique_ptr<TokenStream>> stream =
      source.kind == "text" ? openText(source, data, *tokenizer)
                            : openTokenFiles(source, data);
  RECIPERUN_TRY(stream);
  return StreamRows::make(std::move(*stream), data, set);
}

Expected<std::unique_ptr<Rows>> openDocuments(const plan::DataSource& source,
                                              const plan::Data& data,
                                              DataSet set,
                                              const Tokenizer& tokenizer) {
  Expected<Documents> documents = Documents::read(source, data, tokenizer);
  RECIPERUN_TRY(documents);
  return std::unique_ptr<Rows>(
      std::make_unique<DocumentRows>(std::move(*documents), data, set));
}

Expected<std::unique_ptr<Rows>> openMock(const plan::Data& data,
                                         const plan::Train& train, DataSet set,
                                         const std::string& name) {
  if (set == DataSet::train && train.steps <= 0)
    return Status::error("`" + name +
                         "` is `mock()`, which has no epochs; "
                         "set `train.steps` in place of `train.epochs`");
  if (data.vocab <= 0)
    return Status::error("the plan's `data.vocab` is " +
                         std::to_string(data.vocab) +
                         ", so that there are no tokens to draw");
  return std::unique_ptr<Rows>(std::make_unique<MockRows>(data, set));
}

/// Opens a source of files; `name` is the setting that names it.
Expected<std::unique_ptr<Rows>> openFiles(const plan::DataSource& source,
                                          const plan::Data& data, DataSet set,
                                          const Tokenizer* tokenizer,
                                          const std::string& name) {
  const bool isText = source.kind == "jsonl" || source.kind == "text";
  if (!isText && source.kind != "token_file")
    return Status::error("`" + name + "` is of the kind `" + source.kind +
                         "`; this version reads `jsonl`, `text`, "
                         "`token_file`, `blend` and `mock`");
  if (isText && !tokenizer)
    return Status::error("`" + name +
                         "` needs a tokenizer: set `tokenizer` to "
                         "the path of a tokenizer.json, or `weights` to a "
                         "folder that holds one");
  Expected<std::unique_ptr<Rows>> rows =
      source.kind == "jsonl" ? openDocuments(source, data, set, *tokenizer)
                             : openStream(source, data, set, tokenizer);
  if (!rows)
    return rows.status().withContext("`" + name + "`");
  return rows;
}

/// Opens a blend. Each source gets its own seed, so that sources of equal
/// length are not shuffled alike.
Expected<std::unique_ptr<Rows>> openBlend(const plan::DataSource& blend,
                                          const plan::Data& data, DataSet set,
                                          const Tokenizer* tokenizer,
                                          const std::string& name) {
  std::vector<std::unique_ptr<Rows>> sources;
  plan::Data own = data;
  for (size_t i = 0; i < blend.sources.size(); ++i) {
    own.seed = data.seed + static_cast<int64_t>(i);
    auto rows = openFiles(blend.sources[i], own, set, tokenizer,
                          name + ".sources[" + std::to_string(i) + "]");
    RECIPERUN_TRY(rows);
    sources.push_back(*std::move(rows));
  }
  return std::unique_ptr<Rows>(
      std::make_unique<BlendRows>(blend, std::move(sources)));
}

Expected<std::unique_ptr<Rows>> openRows(const plan::Data& data,
                                         const plan::Train& train, DataSet set,
                                         const Tokenizer* tokenizer) {
  const std::optional<plan::DataSource>& source =
      set == DataSet::train ? data.train : data.valid;
  const std::string name = nameOf(set);
  if (!source)
    return Status::error("`" + name + "` is `none`, so that there is no data");
  if (source->kind == "mock")
    return openMock(data, train, set, name);
  if (source->kind == "blend")
    return openBlend(*source, data, set, tokenizer, name);
  return openFiles(*source, data, set, tokenizer, name);
}

} // namespace

Loader::Loader(const plan::Data& data, const plan::Train& train, DataSet set,
               BatchShard shard, std::shared_ptr<const Rows> opened)
    : set(set), shard(shard), micro(train.microBatch), sequence(data.sequence),
      rows(std::move(opened)) {
  const auto& source = set == DataSet::train ? data.train : data.valid;
  isEndless = source->kind == "mock";
  limitRows(train);
}

Expected<Loader> Loader::open(const plan::Data& data, const plan::Train& train,
                              DataSet set, BatchShard shard,
                              const Tokenizer* tokenizer) {
  try {
    Expected<std::unique_ptr<Rows>> rows =
        openRows(data, train, set, tokenizer);
    RECIPERUN_TRY(rows);
    Loader loader(data, train, set, shard, std::move(*rows));
    RECIPERUN_TRY(loader.checkTotal());
    return loader;
  } catch (const std::bad_alloc&) {
    return Status::error("`" + nameOf(set) +
                         "` does not fit into the memory of this machine; "
                         "`text` and `jsonl` are kept in memory as token ids, "
                         "`tokens` are not");
  }
}

/// Steps beyond the last row would train on empty rows.
Status Loader::checkTotal() const {
  if (rowLimit <= rows->total())
    return {};
  return Status::error(
      "`" + nameOf(set) + "` has " + std::to_string(rows->total()) +
      " rows in all with its `epochs`, and `train.steps` take " +
      std::to_string(rowLimit) +
      " of them: " + std::to_string(rowLimit / globalBatch()) + " steps of " +
      std::to_string(globalBatch()) +
      "; raise `epochs` of a source or lower `train.steps`");
}

void Loader::limitRows(const plan::Train& train) {
  if (set == DataSet::valid) {
    rowLimit = isEndless ? globalBatch() : rowsOfEpoch(0);
    return;
  }
  if (train.steps > 0) {
    rowLimit = train.steps * globalBatch();
    return;
  }
  rowLimit = rowsIn(*rows, train.epochs);
}

int64_t Loader::globalBatch() const {
  return micro * shard.ranks * shard.microBatches;
}

int64_t Loader::steps() const {
  return (rowLimit + globalBatch() - 1) / globalBatch();
}

int64_t Loader::samplesBefore(int64_t step) const {
  return std::min(step * globalBatch(), rowLimit);
}

double Loader::epochsBefore(int64_t step) const {
  if (isEndless)
    return 0;
  return epochsOf(*rows, samplesBefore(step));
}

Expected<double> Loader::weight(int64_t step) const {
  int64_t sum = 0;
  const int64_t first = step * globalBatch();
  for (int64_t i = first; i < std::min(first + globalBatch(), rowLimit); ++i) {
    const Expected<int64_t> weight = rows->weight(rows->placeOf(i));
    RECIPERUN_TRY(weight);
    sum += *weight;
  }
  return static_cast<double>(sum);
}

// ---- filling

int64_t Loader::firstRow(int64_t step, int64_t microBatch) const {
  return step * globalBatch() + (microBatch * shard.ranks + shard.rank) * micro;
}

Status Loader::fill(int64_t step, int64_t microBatch,
                    const BatchView& view) const {
  const int64_t first = firstRow(step, microBatch);
  Row row(sequence);
  for (int64_t i = 0; i < micro; ++i) {
    row.clear();
    RECIPERUN_TRY(fillRow(first + i, row));
    deal(row, viewFrom(view, i * (sequence / shard.parts)));
    if (view.samples)
      view.samples[i] = first + i;
  }
  return {};
}

Status Loader::fillRow(int64_t number, Row& row) const {
  if (number >= rowLimit)
    return {};
  return rows->fill(rows->placeOf(number), row);
}

/// Copies the whole row, or with `cp` an early and a late piece of it. With
/// causal attention early tokens see few tokens and late ones many, so each
/// rank gets the same work.
void Loader::deal(const Row& row, const BatchView& view) const {
  const bool isWhole = shard.parts == 1;
  const int64_t size = isWhole ? sequence : sequence / (2 * shard.parts);
  const int64_t late = 2 * shard.parts - 1 - shard.part;
  std::vector<int64_t> pieces = {shard.part};
  if (!isWhole)
    pieces.push_back(late);
  std::optional<FurtherTokens> further;
  if (view.furtherLabels || view.furtherWeights)
    further.emplace(row, view.furtherFactor);
  for (size_t i = 0; i < pieces.size(); ++i) {
    const int64_t first = pieces[i] * size;
    const BatchView to = viewFrom(view, int64_t(i) * size);
    copyPiece(row.tokens, first, size, to.tokens);
    copyPiece(row.labels, first, size, to.labels);
    copyPiece(row.weights, first, size, to.weights);
    if (further) {
      copyPiece(further->labels, first, size, to.furtherLabels);
      copyPiece(further->weights, first, size, to.furtherWeights);
    }
    copyPiece(row.positions, first, size, to.positions);
    copyPiece(row.segments, first, size, to.segments);
    for (int64_t place = 0; to.places && place < size; ++place)
      to.places[place] = static_cast<int32_t>(first + place);
  }
}

std::string Loader::origin(int64_t step) const {
  return originOf(step * globalBatch(), globalBatch());
}

std::string Loader::origin(int64_t step, int64_t microBatch) const {
  return originOf(firstRow(step, microBatch), micro);
}

std::string Loader::originOf(int64_t first, int64_t count) const {
  count = std::min(count, rowLimit - first);
  std::string text;
  for (int64_t i = 0; i < std::min(count, listedRows); ++i) {
    const std::string row = rows->origin(rows->placeOf(first + i));
    if (!row.empty())
      text += (text.empty() ? "" : "; ") + row;
  }
  if (!text.empty() && count > listedRows)
    text += "; and " + std::to_string(count - listedRows) + " more rows";
  return text;
}

} // namespace reciperun::data
