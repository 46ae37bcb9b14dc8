// A step's rows are found by their number in the stream: the epoch that holds
// it, the row in that epoch's layout, the documents of that row.

#include "runtime/data/Loader.h"

#include "runtime/data/Random.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace reciperun::data {

namespace {

constexpr int64_t endless = std::numeric_limits<int64_t>::max();
// Layouts kept: a step and its neighbours span at most a few epochs.
constexpr size_t keptLayouts = 4;

const std::optional<plan::DataSource>& sourceOf(const plan::Data& data,
                                                DataSet set) {
  return set == DataSet::train ? data.train : data.valid;
}

/// The part of a view that belongs to one row, or to a row's tail.
BatchView viewFrom(const BatchView& view, int64_t place) {
  const auto at = [&](auto* pointer) {
    return pointer ? pointer + place : pointer;
  };
  return {at(view.tokens),    at(view.labels),   at(view.weights),
          at(view.positions), at(view.segments), at(view.places),
          view.samples};
}

template <class T> void put(T* pointer, int64_t place, T value) {
  if (pointer)
    pointer[place] = value;
}

void fillPadding(int64_t places, const BatchView& view) {
  for (int64_t i = 0; i < places; ++i) {
    put(view.tokens, i, 0);
    put(view.labels, i, 0);
    put(view.weights, i, 0.0f);
    put(view.positions, i, 0);
    put(view.segments, i, -1);
  }
}

/// A row of which ranks get parts.
struct WholeRow {
  explicit WholeRow(int64_t sequence)
      : tokens(sequence), labels(sequence), weights(sequence),
        positions(sequence), segments(sequence) {}
  BatchView view() {
    return {tokens.data(),   labels.data(), weights.data(), positions.data(),
            segments.data(), nullptr,       nullptr};
  }
  std::vector<int32_t> tokens, labels;
  std::vector<float> weights;
  std::vector<int32_t> positions, segments;
};

template <class T>
void copyPiece(const std::vector<T>& row, int64_t first, int64_t count, T* to) {
  if (to)
    std::copy_n(row.begin() + first, count, to);
}

} // namespace

Loader::Loader(const plan::Data& data, const plan::Train& train, DataSet set,
               BatchShard shard)
    : set(set), shard(shard), mock(sourceOf(data, set)->kind == "mock"),
      pack(data.pack), micro(train.microBatch), sequence(data.sequence),
      vocab(data.vocab), seed(static_cast<uint64_t>(data.seed)) {}

Expected<Loader> Loader::open(const plan::Data& data, const plan::Train& train,
                              DataSet set, BatchShard shard,
                              const Tokenizer* tokenizer) {
  const std::optional<plan::DataSource>& source = sourceOf(data, set);
  const std::string name = set == DataSet::train ? "data.train" : "data.valid";
  if (!source)
    return Status::error("`" + name + "` is `none`, so that there is no data");
  Loader loader(data, train, set, shard);
  if (loader.mock) {
    if (set == DataSet::train && train.steps <= 0)
      return Status::error("`" + name +
                           "` is `mock()`, which has no epochs; "
                           "set `train.steps` in place of `train.epochs`");
    if (data.vocab <= 0)
      return Status::error("the plan's `data.vocab` is " +
                           std::to_string(data.vocab) +
                           ", so that there are no tokens to draw");
    loader.limitRows(train);
    return loader;
  }
  if (source->kind != "jsonl")
    return Status::error("`" + name + "` is of the kind `" + source->kind +
                         "`; this version reads `jsonl` and `mock`");
  if (!tokenizer)
    return Status::error("`" + name +
                         "` needs a tokenizer: set `tokenizer` to "
                         "the path of a tokenizer.json, or `weights` to a "
                         "folder that holds one");

  Expected<Documents> documents = Documents::read(*source, data, *tokenizer);
  RECIPERUN_TRY(documents);
  loader.messages = documents->notes();
  loader.documents = std::make_shared<const Documents>(std::move(*documents));
  for (int64_t i = 0; i < loader.documents->size(); ++i)
    loader.places.push_back((*loader.documents)[i].places());
  loader.limitRows(train);
  return loader;
}

void Loader::limitRows(const plan::Train& train) {
  if (set == DataSet::valid) {
    rowLimit = mock ? globalBatch() : rowsOfEpoch(0);
    return;
  }
  if (train.steps > 0) {
    rowLimit = train.steps * globalBatch();
    return;
  }
  const auto whole = static_cast<int64_t>(std::floor(train.epochs));
  const double part = train.epochs - static_cast<double>(whole);
  rowLimit = firstRowOf(whole);
  if (part > 0)
    rowLimit += std::llround(part * static_cast<double>(rowsOfEpoch(whole)));
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
  if (mock)
    return 0;
  const int64_t rows = samplesBefore(step);
  const Place place = placeOf(rows);
  return static_cast<double>(place.epoch) +
         static_cast<double>(place.row) /
             static_cast<double>(rowsOfEpoch(place.epoch));
}

// ---- rows of the stream
// ------------------------------------------------------

RowLayout Loader::layEpoch(int64_t epoch) const {
  const int64_t count = documents->size();
  std::vector<int64_t> order;
  if (set == DataSet::train) {
    order = shuffledOrder(count, seed, static_cast<uint64_t>(epoch));
  } else {
    order.resize(count);
    std::iota(order.begin(), order.end(), 0);
  }
  return pack ? packFirstFit(order, places, sequence) : layOneByOne(order);
}

const RowLayout& Loader::layoutOf(int64_t epoch) const {
  const auto found = layouts.find(epoch);
  if (found != layouts.end())
    return found->second;
  if (layouts.size() == keptLayouts)
    layouts.erase(layouts.begin());
  return layouts.emplace(epoch, layEpoch(epoch)).first->second;
}

int64_t Loader::rowsOfEpoch(int64_t epoch) const {
  if (mock)
    return endless;
  return pack ? layoutOf(epoch).rows() : documents->size();
}

int64_t Loader::firstRowOf(int64_t epoch) const {
  if (!pack)
    return epoch * documents->size();
  // How many rows an epoch packs to is known only when it has been packed.
  while (static_cast<int64_t>(epochStarts.size()) <= epoch) {
    const auto last = static_cast<int64_t>(epochStarts.size()) - 1;
    epochStarts.push_back(epochStarts.back() + rowsOfEpoch(last));
  }
  return epochStarts[epoch];
}

Loader::Place Loader::placeOf(int64_t row) const {
  if (!pack)
    return {row / documents->size(), row % documents->size()};
  while (epochStarts.back() <= row)
    firstRowOf(static_cast<int64_t>(epochStarts.size()));
  const auto behind =
      std::upper_bound(epochStarts.begin(), epochStarts.end(), row);
  const int64_t epoch = behind - epochStarts.begin() - 1;
  return {epoch, row - epochStarts[epoch]};
}

int64_t Loader::weightOfRow(int64_t row) const {
  if (row >= rowLimit)
    return 0;
  if (mock)
    return sequence;
  const Place place = placeOf(row);
  int64_t sum = 0;
  for (int64_t document : layoutOf(place.epoch).row(place.row))
    sum += documents->weight(document);
  return sum;
}

double Loader::weight(int64_t step) const {
  int64_t sum = 0;
  for (int64_t i = 0; i < globalBatch(); ++i)
    sum += weightOfRow(step * globalBatch() + i);
  return static_cast<double>(sum);
}

float Loader::lossScale(int64_t step) const {
  const double sum = weight(step);
  return sum > 0 ? static_cast<float>(1.0 / sum) : 0.0f;
}

// ---- filling
// -----------------------------------------------------------------

void Loader::fill(int64_t step, int64_t microBatch,
                  const BatchView& view) const {
  const int64_t first =
      step * globalBatch() + (microBatch * shard.ranks + shard.rank) * micro;
  const int64_t tokens = sequence / shard.parts;
  for (int64_t i = 0; i < micro; ++i) {
    const BatchView row = viewFrom(view, i * tokens);
    if (shard.parts > 1)
      fillPart(first + i, row);
    else
      fillRow(first + i, row);
    put(view.samples, i, first + i);
  }
}

/// Two pieces of the row, an early and a late one: what the tokens of one see
/// more of causal attention, those of the other see less.
void Loader::fillPart(int64_t number, const BatchView& view) const {
  WholeRow row(sequence);
  fillRow(number, row.view());
  const int64_t size = sequence / (2 * shard.parts);
  const int64_t pieces[] = {shard.part, 2 * shard.parts - 1 - shard.part};
  for (int64_t i : {0, 1}) {
    const int64_t first = pieces[i] * size;
    const BatchView to = viewFrom(view, i * size);
    copyPiece(row.tokens, first, size, to.tokens);
    copyPiece(row.labels, first, size, to.labels);
    copyPiece(row.weights, first, size, to.weights);
    copyPiece(row.positions, first, size, to.positions);
    copyPiece(row.segments, first, size, to.segments);
    for (int64_t place = 0; place < size; ++place)
      put(to.places, place, static_cast<int32_t>(first + place));
  }
}

void Loader::fillRow(int64_t row, const BatchView& view) const {
  for (int64_t i = 0; i < sequence; ++i)
    put(view.places, i, static_cast<int32_t>(i));
  if (row >= rowLimit)
    return fillPadding(sequence, view);
  if (mock)
    return fillMockRow(row, view);
  const Place place = placeOf(row);
  int64_t used = 0;
  int segment = 0;
  for (int64_t number : layoutOf(place.epoch).row(place.row)) {
    const Document document = (*documents)[number];
    fillDocument(document, segment++, viewFrom(view, used));
    used += document.places();
  }
  fillPadding(sequence - used, viewFrom(view, used));
}

void Loader::fillDocument(const Document& document, int segment,
                          const BatchView& view) const {
  for (int64_t i = 0; i < document.places(); ++i) {
    put(view.tokens, i, document.ids[i]);
    put(view.labels, i, document.ids[i + 1]);
    put(view.weights, i, document.counts[i + 1] ? 1.0f : 0.0f);
    put(view.positions, i, static_cast<int32_t>(i));
    put(view.segments, i, static_cast<int32_t>(segment));
  }
}

void Loader::fillMockRow(int64_t row, const BatchView& view) const {
  Random random({seed, static_cast<uint64_t>(row),
                 static_cast<uint64_t>(set == DataSet::train ? 0 : 1)});
  std::vector<int32_t> ids(sequence + 1);
  for (int32_t& id : ids)
    id = static_cast<int32_t>(random.below(vocab));
  const std::vector<uint8_t> counts(ids.size(), 1);
  fillDocument({ids, counts}, 0, view);
}

} // namespace reciperun::data
