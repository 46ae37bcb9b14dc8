// Several sources as one data set: their shares, and that a row depends only on
// its index.

#include "runtime/data/BlendOrder.h"
#include "runtime/data/Loader.h"

#include "test/runtime/data/ScratchFile.h"
#include "test/runtime/data/SmallTokenizer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <set>

namespace reciperun::data {
namespace {

constexpr int64_t endless = std::numeric_limits<int64_t>::max();

std::vector<int64_t> noLimits(size_t sources) {
  return std::vector<int64_t>(sources, endless);
}

/// The sources of the first rows, looked up row by row.
std::string drawn(const BlendOrder& order, int64_t rows) {
  std::string text;
  for (int64_t row = 0; row < rows; ++row)
    text += char('a' + order.at(row).source);
  return text;
}

// ---- the order

TEST(BlendOrder, takesTheSourceFurthestBehind) {
  EXPECT_EQ(drawn(BlendOrder({1, 1}, noLimits(2)), 6), "ababab");
  EXPECT_EQ(drawn(BlendOrder({3, 1}, noLimits(2)), 8), "aabaaaba");
  EXPECT_EQ(drawn(BlendOrder({0.5, 0.25, 0.25}, noLimits(3)), 8), "abcaabca");
}

TEST(BlendOrder, keepsToItsSharesOnTheWholeWay) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 50; ++round) {
    std::vector<double> weights(2 + random() % 6);
    for (double& weight : weights)
      weight = std::exp(double(random() % 1000) / 100 - 5);
    const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    const BlendOrder order(weights, noLimits(weights.size()));
    for (const int64_t rows : {1, 10, 1000, 123'457, 1'000'000'007}) {
      const std::vector<int64_t> given = order.before(rows);
      EXPECT_EQ(std::accumulate(given.begin(), given.end(), int64_t{0}), rows);
      for (size_t i = 0; i < weights.size(); ++i)
        EXPECT_NEAR(double(given[i]), double(rows) * weights[i] / sum,
                    double(weights.size()) / 2 + 1);
    }
  }
}

TEST(BlendOrder, aRowFollowsFromItsPlaceAlone) {
  const BlendOrder order({0.7, 0.2, 0.1}, {endless, 11, 30});
  std::vector<int64_t> given(3);
  for (int64_t row = 0; row < 400; ++row) {
    EXPECT_EQ(order.before(row), given);
    const BlendOrder::Place place = order.at(row);
    EXPECT_EQ(place.row, given[place.source]++);
    EXPECT_EQ(order.through(place), row + 1);
  }
  EXPECT_EQ(given[1], 11);
  EXPECT_EQ(given[2], 30);
}

TEST(BlendOrder, endsWhereAllSourcesHaveLimits) {
  const BlendOrder order({1, 2}, {5, 3});
  EXPECT_EQ(order.total(), 8);
  EXPECT_EQ(drawn(order, 8), "babbaaaa");
  EXPECT_EQ(order.before(8), (std::vector<int64_t>{5, 3}));
  EXPECT_EQ(BlendOrder({1, 1}, {5, endless}).total(), endless);
}

// ---- rows

using Ints = std::vector<int32_t>;

/// Two token files, of ten and of four rows with distinct tokens, and twelve
/// samples.
class BlendTest : public testing::Test {
protected:
  BlendTest() : large(ids(41, 100)), small(ids(17, 200)), samples(lines(12)) {
    Expected<Tokenizer> parsed =
        Tokenizer::parse(smallTokenizer().dump(), "small");
    tokenizer.emplace(std::move(*parsed));
    data.sequence = 4;
    data.vocab = 302;
    data.eosToken = 301;
    train.microBatch = 1;
    train.epochs = 1;
    use({{file(large.path(), "token_file"), 3},
         {file(small.path(), "token_file"), 1}});
  }

  static std::string ids(int count, int first) {
    std::string bytes;
    for (int i = 0; i < count; ++i)
      bytes += {char(first + i % 50), char(0)};
    return bytes;
  }
  static std::string lines(int count) {
    std::string text;
    for (int i = 0; i < count; ++i)
      text += R"({"p": ")" + std::string(1, char('a' + i)) +
              R"(", "c": "."})"
              "\n";
    return text;
  }
  static plan::DataSource file(const std::string& path,
                               const std::string& kind) {
    plan::DataSource source;
    source.kind = kind;
    source.paths = {path};
    return source;
  }
  plan::DataSource jsonl() const {
    return {"jsonl", samples.path(), "p", "c", ""};
  }

  void use(const std::vector<std::pair<plan::DataSource, double>>& sources) {
    plan::DataSource blend;
    blend.kind = "blend";
    for (const auto& [source, weight] : sources) {
      blend.sources.push_back(source);
      blend.weights.push_back(weight);
      blend.epochs.push_back(0);
    }
    blend.stopping = "all_exhausted";
    data.train = data.valid = blend;
  }
  Loader open(BatchShard shard = {}, DataSet set = DataSet::train) {
    Expected<Loader> loader =
        Loader::open(data, train, set, shard, &*tokenizer);
    EXPECT_TRUE(loader) << loader.message();
    return std::move(*loader);
  }
  Ints fill(const Loader& loader, int64_t step, int64_t microBatch = 0) {
    Ints tokens(size_t(train.microBatch * data.sequence));
    BatchView view;
    view.tokens = tokens.data();
    const Status filled = loader.fill(step, microBatch, view);
    EXPECT_TRUE(filled.isOk()) << filled.message();
    return tokens;
  }

  ScratchFile large, small, samples;
  plan::Data data;
  plan::Train train;
  std::optional<Tokenizer> tokenizer;
};

TEST_F(BlendTest, anEpochEndsWithTheLastSourceOrTheFirst) {
  // `small` gives its fourth row at index 15, `large` its tenth at index 13.
  EXPECT_EQ(open().steps(), 15);
  data.train->stopping = "first_exhausted";
  EXPECT_EQ(open().steps(), 13);
  train.epochs = 2.5;
  const Loader loader = open();
  EXPECT_EQ(loader.steps(), 26 + 7);
  EXPECT_EQ(loader.epochsBefore(26), 2);
  EXPECT_EQ(loader.extent(), "13 rows an epoch of 2 blended sources");
}

TEST_F(BlendTest, eachSourceGoesOnWhereItWas) {
  train.epochs = 0;
  train.steps = 80;
  const Loader loader = open();
  std::vector<Ints> firsts(2);
  for (int64_t step = 0; step < 80; ++step) {
    const int32_t first = fill(loader, step)[0];
    firsts[first >= 200].push_back(first);
  }
  ASSERT_EQ(firsts[0].size(), 60u);
  ASSERT_EQ(firsts[1].size(), 20u);
  // Each epoch of a source contains all of its rows, in an order of its own.
  for (const Ints& source : firsts) {
    const size_t rows = &source == &firsts[0] ? 10 : 4;
    const Ints first(source.begin(), source.begin() + int64_t(rows));
    const Ints second(source.begin() + int64_t(rows),
                      source.begin() + int64_t(2 * rows));
    EXPECT_TRUE(std::is_permutation(first.begin(), first.end(), second.begin(),
                                    second.end()));
    EXPECT_EQ(std::set<int32_t>(first.begin(), first.end()).size(), rows);
  }
  const std::vector<SourceRows> given = loader.sourcesBefore(80);
  EXPECT_EQ(given[0].name, "`" + large.path() + "`");
  EXPECT_EQ(given[0].rows, 60);
  EXPECT_EQ(given[0].epochs, 6);
  EXPECT_EQ(given[1].rows, 20);
  EXPECT_EQ(given[1].epochs, 5);
}

TEST_F(BlendTest, goesOnAnywhereInAnyLayout) {
  use({{file(large.path(), "token_file"), 2},
       {jsonl(), 5},
       {file(small.path(), "token_file"), 1}});
  train.epochs = 0;
  train.steps = 60;
  train.microBatch = 4;
  const Loader whole = open();
  // Reads steps in reverse: a row does not depend on the rows before it.
  for (int64_t step = 59; step >= 0; step -= 7) {
    train.microBatch = 4;
    const Ints all = fill(whole, step);
    train.microBatch = 1;
    for (int64_t rank = 0; rank < 2; ++rank)
      for (int64_t m = 0; m < 2; ++m) {
        const Loader part = open({rank, 2, 2});
        const auto from = all.begin() + (m * 2 + rank) * 4;
        EXPECT_EQ(fill(part, step, m), Ints(from, from + 4));
        EXPECT_EQ(*part.weight(step), *whole.weight(step));
        EXPECT_EQ(part.origin(step), whole.origin(step));
      }
  }
}

TEST_F(BlendTest, blendsPackedSamplesWithStreams) {
  data.pack = true;
  data.sequence = 8;
  use({{jsonl(), 1}, {file(large.path(), "token_file"), 1}});
  const Loader loader = open();
  // Four samples of two tokens make one row; 41 tokens make five rows.
  EXPECT_EQ(loader.rowsOfEpoch(0), 10);
  EXPECT_NE(loader.origin(0).find("line "), std::string::npos);
  EXPECT_NE(loader.origin(1).find("tokens "), std::string::npos);
}

TEST_F(BlendTest, aSourceThatMayNotBeRepeatedLeavesItsShare) {
  data.train->epochs = {0, 1};
  train.epochs = 0;
  train.steps = 40;
  const Loader loader = open();
  EXPECT_EQ(loader.sourcesBefore(16)[1].rows, 4);
  EXPECT_EQ(loader.sourcesBefore(40)[1].rows, 4);
  EXPECT_EQ(loader.sourcesBefore(40)[0].rows, 36);
  for (int64_t step = 16; step < 40; ++step)
    EXPECT_LT(fill(loader, step)[0], 200);
}

TEST_F(BlendTest, endsWhereAllSourcesMayNotBeRepeated) {
  data.train->epochs = {1, 0.5};
  train.epochs = 3; // the file has one epoch
  EXPECT_EQ(open().steps(), 12);
  EXPECT_EQ(open().epochsBefore(12), 1);
  train.epochs = 0;
  train.steps = 13;
  const Expected<Loader> loader =
      Loader::open(data, train, DataSet::train, {}, &*tokenizer);
  ASSERT_FALSE(loader);
  EXPECT_EQ(loader.message(),
            "`data.train` has 12 rows in all with its `epochs`, and "
            "`train.steps` take 13 of them: 13 steps of 1; raise `epochs` of a "
            "source or lower `train.steps`");
}

TEST_F(BlendTest, shufflesSourcesBySeedsOfTheirOwn) {
  use({{file(large.path(), "token_file"), 1},
       {file(large.path(), "token_file"), 1}});
  const Loader loader = open();
  Ints first, second;
  for (int64_t step = 0; step < 20; ++step)
    (step % 2 ? second : first).push_back(fill(loader, step)[0]);
  EXPECT_NE(first, second);
  EXPECT_TRUE(std::is_permutation(first.begin(), first.end(), second.begin(),
                                  second.end()));
}

TEST_F(BlendTest, aBlendOfOneSourceIsThatSource) {
  use({{jsonl(), 0.3}});
  const Loader blended = open();
  data.train = jsonl();
  const Loader plain = open();
  ASSERT_EQ(blended.steps(), plain.steps());
  for (int64_t step = 0; step < plain.steps(); ++step)
    EXPECT_EQ(fill(blended, step), fill(plain, step));
}

TEST_F(BlendTest, validatesOnOneEpochInTheOrderOfTheFiles) {
  const Loader loader = open({}, DataSet::valid);
  EXPECT_EQ(loader.steps(), 15);
  EXPECT_EQ(fill(loader, 0)[0], 100);
  EXPECT_EQ(fill(loader, 1)[0], 104);
}

TEST_F(BlendTest, failNamesTheSource) {
  data.train->sources[1].paths = {"no/such.bin"};
  const Expected<Loader> loader =
      Loader::open(data, train, DataSet::train, {}, &*tokenizer);
  ASSERT_FALSE(loader);
  EXPECT_EQ(loader.message(), "`data.train.sources[1]`: cannot read "
                              "`no/such.bin`: No such file or directory");
}

} // namespace
} // namespace reciperun::data
