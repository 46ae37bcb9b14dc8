// Text and tokens as one stream, cut into rows.

#include "runtime/data/Loader.h"

#include "test/runtime/data/ScratchFile.h"
#include "test/runtime/data/SmallTokenizer.h"

#include <gtest/gtest.h>

#include <set>

namespace reciperun::data {
namespace {

using Ints = std::vector<int32_t>;
using Floats = std::vector<float>;

constexpr int32_t bos = 300, eos = 301;

class StreamRowsTest : public testing::Test {
protected:
  StreamRowsTest() {
    Expected<Tokenizer> parsed =
        Tokenizer::parse(smallTokenizer().dump(), "small");
    tokenizer.emplace(std::move(*parsed));
    data.sequence = 4;
    data.vocab = 302;
    data.eosToken = eos;
    train.microBatch = 1;
    train.epochs = 1;
  }

  void use(std::vector<std::string> paths, const std::string& kind = "text") {
    data.train = plan::DataSource{kind, "", "", "", "", std::move(paths)};
    data.valid = data.train;
  }
  Loader open(DataSet set = DataSet::valid, BatchShard shard = {}) {
    Expected<Loader> loader =
        Loader::open(data, train, set, shard, &*tokenizer);
    EXPECT_TRUE(loader) << loader.message();
    return std::move(*loader);
  }
  std::string failure() {
    const Expected<Loader> loader =
        Loader::open(data, train, DataSet::train, {}, &*tokenizer);
    EXPECT_FALSE(loader);
    return loader.message();
  }
  struct Batch {
    Ints tokens, labels, positions, segments;
    Floats weights;
  };
  Batch fill(const Loader& loader, int64_t step, int64_t microBatch = 0) {
    const size_t places = size_t(train.microBatch * data.sequence);
    Batch batch{Ints(places), Ints(places), Ints(places), Ints(places),
                Floats(places)};
    const Status filled = loader.fill(
        step, microBatch,
        {batch.tokens.data(), batch.labels.data(), batch.weights.data(),
         batch.positions.data(), batch.segments.data(), nullptr, nullptr});
    EXPECT_TRUE(filled.isOk()) << filled.message();
    return batch;
  }

  plan::Data data;
  plan::Train train;
  std::optional<Tokenizer> tokenizer;
};

TEST_F(StreamRowsTest, cutsDocumentsIntoRows) {
  const ScratchFile first("abc"), second("\xEF\xBB\xBFxy\n");
  use({first.path(), second.path()});
  data.bosToken = bos;
  const Loader loader = open();
  // [bos] a b c [eos] [bos] x y \n [eos]: nine predictions.
  ASSERT_EQ(loader.steps(), 3);
  Batch row = fill(loader, 0);
  EXPECT_EQ(row.tokens, (Ints{bos, 'a', 'b', 'c'}));
  EXPECT_EQ(row.labels, (Ints{'a', 'b', 'c', eos}));
  row = fill(loader, 1);
  EXPECT_EQ(row.tokens, (Ints{eos, bos, 'x', 'y'}));
  EXPECT_EQ(row.labels, (Ints{bos, 'x', 'y', '\n'}));
  EXPECT_EQ(row.weights, (Floats{1, 1, 1, 1}));
  EXPECT_EQ(row.positions, (Ints{0, 1, 2, 3}));
  EXPECT_EQ(row.segments, (Ints{0, 0, 0, 0}));
  row = fill(loader, 2);
  EXPECT_EQ(row.tokens, (Ints{'\n', 0, 0, 0}));
  EXPECT_EQ(row.labels, (Ints{eos, 0, 0, 0}));
  EXPECT_EQ(row.weights, (Floats{1, 0, 0, 0}));
  EXPECT_EQ(row.segments, (Ints{0, -1, -1, -1}));
  EXPECT_EQ(*loader.weight(1), 4);
  EXPECT_EQ(*loader.weight(2), 1);
  EXPECT_EQ(loader.extent(), "3 rows an epoch (10 tokens)");
  EXPECT_EQ(loader.origin(0, 0), "`" + first.path() + "`");
  EXPECT_EQ(loader.origin(1, 0),
            "`" + first.path() + "` to `" + second.path() + "`");
}

TEST_F(StreamRowsTest, keepsDocumentsApartWherePacked) {
  const ScratchFile first("a"), second("xy");
  use({first.path(), second.path()});
  data.sequence = 8;
  data.pack = true;
  const Loader loader = open();
  const Batch row = fill(loader, 0);
  // a [eos] x y [eos]
  EXPECT_EQ(row.tokens, (Ints{'a', eos, 'x', 'y', 0, 0, 0, 0}));
  EXPECT_EQ(row.labels, (Ints{eos, 'x', 'y', eos, 0, 0, 0, 0}));
  EXPECT_EQ(row.weights, (Floats{1, 0, 1, 1, 0, 0, 0, 0}));
  EXPECT_EQ(row.positions, (Ints{0, 1, 0, 1, 0, 0, 0, 0}));
  EXPECT_EQ(row.segments, (Ints{0, 0, 1, 1, -1, -1, -1, -1}));
  EXPECT_EQ(*loader.weight(0), 3);
}

TEST_F(StreamRowsTest, dividesAFileAtSeparators) {
  const ScratchFile file("ab<|>\n<|>c<|>");
  use({file.path()});
  data.valid->separator = "<|>";
  EXPECT_EQ(fill(open(), 0).tokens, (Ints{'a', 'b', eos, 'c'}));
  EXPECT_EQ(open().notes(),
            (std::vector<std::string>{"the text `" + file.path() +
                                      "`: 2 documents of 5 tokens in all"}));
}

TEST_F(StreamRowsTest, anEpochHasEachRowOnceInAnOrderOfItsOwn) {
  std::string text;
  for (int i = 0; i < 26; ++i)
    text += std::string(4, char('a' + i));
  const ScratchFile file(text);
  use({file.path()});
  train.epochs = 2;
  const Loader loader = open(DataSet::train);
  ASSERT_EQ(loader.steps(), 52);
  std::vector<Ints> epochs(2);
  for (int64_t step = 0; step < 52; ++step)
    epochs[size_t(step / 26)].push_back(fill(loader, step).tokens[0]);
  for (const Ints& epoch : epochs)
    EXPECT_EQ(std::set<int32_t>(epoch.begin(), epoch.end()).size(), 26u);
  EXPECT_NE(epochs[0], epochs[1]);
  EXPECT_EQ(loader.epochsBefore(39), 1.5);
  data.seed = 1;
  Ints other;
  for (int64_t step = 0; step < 26; ++step)
    other.push_back(fill(open(DataSet::train), step).tokens[0]);
  EXPECT_NE(other, epochs[0]);
}

TEST_F(StreamRowsTest, everyLayoutLoadsTheSameGlobalBatch) {
  const ScratchFile file(std::string(500, 'a') + std::string(500, 'b'));
  use({file.path()});
  train.microBatch = 4;
  const Loader whole = open(DataSet::train);
  for (int64_t step : {0, 7, 61, 62}) {
    train.microBatch = 4;
    const Batch all = fill(whole, step);
    train.microBatch = 1;
    for (int64_t rank = 0; rank < 2; ++rank)
      for (int64_t m = 0; m < 2; ++m) {
        const Loader part = open(DataSet::train, {rank, 2, 2});
        const Batch some = fill(part, step, m);
        const auto from = all.tokens.begin() + (m * 2 + rank) * 4;
        EXPECT_EQ(some.tokens, Ints(from, from + 4));
        EXPECT_EQ(*part.weight(step), *whole.weight(step));
      }
  }
}

TEST_F(StreamRowsTest, rowsGoOnFromFileToFile) {
  const ScratchFile first(std::string("\1\0\2\0\3\0", 6)),
      second(std::string("\4\0\5\0", 4));
  use({first.path(), second.path()}, "token_file");
  const Loader loader = open();
  ASSERT_EQ(loader.steps(), 1);
  EXPECT_EQ(fill(loader, 0).tokens, (Ints{1, 2, 3, 4}));
  EXPECT_EQ(loader.origin(0, 0), "tokens 0 of `" + first.path() +
                                     "` to 1 of `" + second.path() + "`");
}

TEST_F(StreamRowsTest, failText) {
  use({"no/such.txt"});
  EXPECT_EQ(failure(), "`data.train`: cannot read `no/such.txt`: No such "
                       "file or directory");
  use({"no/such*.txt"});
  EXPECT_EQ(failure(), "`data.train`: no file matches `no/such*.txt`");
  const ScratchFile empty("\n");
  use({empty.path()});
  EXPECT_EQ(failure(), "`data.train`: the text `" + empty.path() +
                           "` is empty; write text into it, in UTF-8");
  const ScratchFile bad("a\nb\xFF");
  use({bad.path()});
  EXPECT_TRUE(failure().starts_with(
      "`data.train`: the text `" + bad.path() +
      "` is not UTF-8 at byte 3 (0xFF), in line 2; if its encoding is Latin-1, "
      "convert it by `iconv "))
      << failure();
  const ScratchFile greeting("hello");
  use({greeting.path()});
  data.vocab = 259;
  EXPECT_EQ(
      failure(),
      "`data.train`: the document that begins in line 1 of `" +
          greeting.path() +
          "`: it has the token 259 (`hello`) of the 302 that the tokenizer "
          "has, but the model's `vocab` is 259; use the tokenizer that the "
          "recipe was compiled with, or compile it again with a larger "
          "`vocab`");
}

TEST_F(StreamRowsTest, failDocumentsWithoutAnEnd) {
  const ScratchFile file("ab");
  use({file.path()});
  data.pack = true;
  data.eosToken = -1;
  EXPECT_EQ(failure(), "`data.train`: `data.pack` keeps documents apart by the "
                       "model's `eos_token`, and it has none; set the model's "
                       "`eos_token`, or leave `pack` out");
}

} // namespace
} // namespace reciperun::data
