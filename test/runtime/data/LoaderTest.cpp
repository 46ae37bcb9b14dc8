// The data of a step: layout conventions, independence of the number of ranks,
// and dependence on the step only.

#include "runtime/data/Loader.h"

#include "test/runtime/data/ScratchFile.h"
#include "test/runtime/data/SmallTokenizer.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

namespace reciperun::data {
namespace {

constexpr int32_t bos = 300, eos = 301;

struct Batch {
  Batch(int64_t micro, int64_t sequence)
      : tokens(micro * sequence), labels(tokens.size()), weights(tokens.size()),
        positions(tokens.size()), segments(tokens.size()),
        places(tokens.size()), samples(micro), furtherLabels(tokens.size()),
        furtherWeights(tokens.size()) {}
  BatchView view() {
    return {tokens.data(),          labels.data(),        weights.data(),
            positions.data(),       segments.data(),      places.data(),
            samples.data(),         furtherLabels.data(), furtherWeights.data(),
            /*furtherFactor=*/0.25F};
  }
  std::vector<int32_t> tokens, labels;
  std::vector<float> weights;
  std::vector<int32_t> positions, segments, places;
  std::vector<int64_t> samples;
  std::vector<int32_t> furtherLabels;
  std::vector<float> furtherWeights;
};

class LoaderTest : public testing::Test {
protected:
  LoaderTest() {
    Expected<Tokenizer> parsed =
        Tokenizer::parse(smallTokenizer().dump(), "small");
    tokenizer.emplace(std::move(*parsed));
    data.sequence = 16;
    data.vocab = 302;
    data.bosToken = bos;
    data.eosToken = eos;
    data.seed = 5;
    train.microBatch = 2;
    train.epochs = 1;
  }

  /// `count` samples: the prompt is one character that identifies the sample,
  /// the completion has 1 to 6 digits.
  void writeSamples(int count) {
    std::string text;
    for (int i = 0; i < count; ++i)
      text += std::string(R"({"p": ")") + static_cast<char>('A' + i % 60 % 26) +
              R"(", "c": ")" + std::string(1 + i % 6, '0') + "\"}\n";
    write(text);
  }
  void write(const std::string& text) {
    file = std::make_unique<ScratchFile>(text);
    data.train = plan::DataSource{"jsonl", file->path(), "p", "c", ""};
    data.valid = data.train;
  }
  Loader open(BatchShard shard = {}, DataSet set = DataSet::train) {
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
  Batch fill(const Loader& loader, int64_t step, int64_t microBatch = 0) {
    Batch batch(train.microBatch, data.sequence);
    const Status filled = loader.fill(step, microBatch, batch.view());
    EXPECT_TRUE(filled.isOk()) << filled.message();
    return batch;
  }

  plan::Data data;
  plan::Train train;
  std::optional<Tokenizer> tokenizer;
  std::unique_ptr<ScratchFile> file;
};

using Ints = std::vector<int32_t>;
using Floats = std::vector<float>;

TEST_F(LoaderTest, laysOutASample) {
  write(R"({"p": "hello", "c": " wo!"})");
  data.sequence = 6;
  const Loader loader = open();
  const Batch batch = fill(loader, 0);
  // [bos] hello | Ġwo ! [eos], and an empty second row.
  EXPECT_EQ(batch.tokens, (Ints{bos, 259, 261, '!', 0, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(batch.labels, (Ints{259, 261, '!', eos, 0, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(batch.weights, (Floats{0, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(batch.positions, (Ints{0, 1, 2, 3, 0, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(batch.segments, (Ints{0, 0, 0, 0, -1, -1, -1, -1, -1, -1, -1, -1}));
  EXPECT_EQ(batch.places, (Ints{0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(batch.samples, (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(*loader.weight(0), 3);
  EXPECT_EQ(loader.origin(0, 0), "line 1 of `" + file->path() + "`");
  EXPECT_EQ(loader.steps(), 1);
}

TEST_F(LoaderTest, givesAnEarlyAndALatePieceOfEachRow) {
  writeSamples(4);
  data.pack = true;
  const Batch whole = fill(open(), 0);
  for (int64_t part : {0, 1}) {
    Batch batch(train.microBatch, data.sequence / 2);
    ASSERT_TRUE(open({0, 1, 1, part, 2}).fill(0, 0, batch.view()).isOk());
    EXPECT_EQ(batch.samples, whole.samples);
    for (size_t i = 0; i < batch.tokens.size(); ++i) {
      // The sequence is split into chunks of four tokens: part 0 has chunks 0
      // and 3, part 1 has chunks 1 and 2.
      const auto early = int32_t(4 * part), late = int32_t(4 * (3 - part));
      const int32_t place = (i % 8 < 4 ? early : late) + int32_t(i % 4);
      const size_t at = i / 8 * 16 + size_t(place);
      EXPECT_EQ(batch.places[i], place);
      EXPECT_EQ(batch.tokens[i], whole.tokens[at]);
      EXPECT_EQ(batch.labels[i], whole.labels[at]);
      EXPECT_EQ(batch.weights[i], whole.weights[at]);
      EXPECT_EQ(batch.positions[i], whole.positions[at]);
      EXPECT_EQ(batch.segments[i], whole.segments[at]);
      EXPECT_EQ(batch.furtherLabels[i], whole.furtherLabels[at]);
      EXPECT_EQ(batch.furtherWeights[i], whole.furtherWeights[at]);
    }
  }
}

TEST_F(LoaderTest, packsDocumentsWithSegmentsOfTheirOwn) {
  write(R"({"p": "a", "c": "b"})"
        "\n"
        R"({"p": "c", "c": "d"})");
  data.sequence = 7;
  data.pack = true;
  const Batch batch = fill(open({}, DataSet::valid), 0);
  const Ints row(batch.tokens.begin(), batch.tokens.begin() + 7);
  EXPECT_EQ(row, (Ints{bos, 'a', 'b', bos, 'c', 'd', 0}));
  const Ints labels(batch.labels.begin(), batch.labels.begin() + 7);
  EXPECT_EQ(labels, (Ints{'a', 'b', eos, 'c', 'd', eos, 0}));
  const Ints segments(batch.segments.begin(), batch.segments.begin() + 7);
  EXPECT_EQ(segments, (Ints{0, 0, 0, 1, 1, 1, -1}));
  const Ints positions(batch.positions.begin(), batch.positions.begin() + 7);
  EXPECT_EQ(positions, (Ints{0, 1, 2, 0, 1, 2, 0}));
  const Ints further(batch.furtherLabels.begin(),
                     batch.furtherLabels.begin() + 7);
  EXPECT_EQ(further, (Ints{'b', eos, 0, 'd', eos, 0, 0}));
  const Floats weights(batch.furtherWeights.begin(),
                       batch.furtherWeights.begin() + 7);
  EXPECT_EQ(weights, (Floats{0.25, 0.25, 0, 0.25, 0.25, 0, 0}));
}

TEST_F(LoaderTest, saysWhereTheNumberOfDocumentsFillsRows) {
  writeSamples(5);
  data.sequence = 64;
  data.pack = true;
  const auto hasNote = [](const Loader& loader) {
    for (const std::string& note : loader.notes())
      if (note.find("`data.pack_documents` = 2") != std::string::npos)
        return note.rfind("2 of the first epoch's 3 rows of ", 0) == 0;
    return false;
  };
  EXPECT_FALSE(hasNote(open()));
  data.packDocuments = 2;
  EXPECT_TRUE(hasNote(open()));
}

TEST_F(LoaderTest, laysOutChat) {
  write(R"({"m": [{"role": "user", "content": "a"},)"
        R"( {"role": "assistant", "content": "b"}]})");
  data.train->messages = "m";
  data.chat = {"<{role}>", "|"};
  data.eosToken = -1;
  data.sequence = 40;
  const Batch batch = fill(open(), 0);
  std::string counted;
  for (size_t i = 0; i < batch.weights.size(); ++i)
    if (batch.weights[i] == 1)
      counted += static_cast<char>(batch.labels[i]);
  EXPECT_EQ(counted, "b|");
  EXPECT_EQ(tokenizer->decode(*encodePrompt(data, *tokenizer, "q")),
            "<user>q|<assistant>");
}

TEST_F(LoaderTest, encodesAPromptAsInTraining) {
  EXPECT_EQ(*encodePrompt(data, *tokenizer, "hello"), (Ints{bos, 259}));
}

TEST_F(LoaderTest, everyLayoutLoadsTheSameGlobalBatch) {
  writeSamples(50);
  train.epochs = 3;
  for (const bool pack : {false, true}) {
    data.pack = pack;
    train.microBatch = 8;
    const Loader whole = open();
    for (int64_t step = 0; step < whole.steps(); ++step) {
      train.microBatch = 8;
      const Batch all = fill(whole, step);
      train.microBatch = 2;
      for (int64_t rank = 0; rank < 2; ++rank) {
        const Loader part = open({rank, 2, 2});
        EXPECT_EQ(part.steps(), whole.steps());
        EXPECT_EQ(*part.weight(step), *whole.weight(step));
        for (int64_t m = 0; m < 2; ++m) {
          const Batch some = fill(part, step, m);
          const int64_t first = (m * 2 + rank) * 2;
          EXPECT_EQ(some.tokens, Ints(all.tokens.begin() + first * 16,
                                      all.tokens.begin() + (first + 2) * 16));
          EXPECT_EQ(some.samples[0], all.samples[first]);
        }
      }
    }
  }
}

TEST_F(LoaderTest, aStepIsAFunctionOfItsNumber) {
  writeSamples(50);
  train.epochs = 4;
  data.pack = true;
  const Loader inOrder = open();
  for (int64_t step = 0; step < inOrder.steps(); ++step)
    fill(inOrder, step);
  for (int64_t step = inOrder.steps() - 1; step >= 0; step -= 7)
    EXPECT_EQ(fill(open(), step).tokens, fill(inOrder, step).tokens);
}

TEST_F(LoaderTest, everyEpochHasEachSampleOnce) {
  writeSamples(26);
  train.epochs = 2;
  train.microBatch = 13;
  const Loader loader = open();
  ASSERT_EQ(loader.steps(), 4);
  std::vector<Ints> epochs;
  for (int64_t epoch = 0; epoch < 2; ++epoch) {
    Ints names;
    for (int64_t half = 0; half < 2; ++half) {
      const Batch batch = fill(loader, 2 * epoch + half);
      for (int row = 0; row < 13; ++row)
        names.push_back(batch.tokens[row * 16 + 1]);
    }
    EXPECT_EQ(std::set<int32_t>(names.begin(), names.end()).size(), 26u);
    epochs.push_back(names);
  }
  EXPECT_NE(epochs[0], epochs[1]);
  EXPECT_EQ(loader.epochsBefore(1), 0.5);
  EXPECT_EQ(loader.epochsBefore(4), 2);
}

TEST_F(LoaderTest, theLastBatchIsFilledWithEmptyRows) {
  writeSamples(5);
  train.epochs = 1.5; // of 5 rows: 5 + 3 (2.5, away from zero)
  train.microBatch = 3;
  const Loader loader = open();
  ASSERT_EQ(loader.steps(), 3);
  const Batch last = fill(loader, 2);
  EXPECT_EQ(std::accumulate(last.weights.begin(), last.weights.end(), 0.0),
            *loader.weight(2));
  EXPECT_GE(last.segments[16], 0);  // row 1 is the eighth
  EXPECT_EQ(last.segments[32], -1); // row 2 is empty
  EXPECT_EQ(loader.samplesBefore(2), 6);
  EXPECT_EQ(loader.samplesBefore(3), 8);
}

TEST_F(LoaderTest, validationTakesEachOnceInOrder) {
  writeSamples(5);
  const Loader loader = open({}, DataSet::valid);
  ASSERT_EQ(loader.steps(), 3);
  std::string names;
  for (int64_t step = 0; step < 3; ++step) {
    const Batch batch = fill(loader, step);
    for (int row = 0; row < 2; ++row)
      if (batch.segments[row * 16] == 0)
        names += static_cast<char>(batch.tokens[row * 16 + 1]);
  }
  EXPECT_EQ(names, "ABCDE");
  EXPECT_EQ(fill(loader, 2).segments[16], -1);
}

TEST_F(LoaderTest, cutsPromptsOnTheLeftAndTells) {
  write(R"({"p": "abcdefgh", "c": "xy"})"
        "\n"
        R"({"p": "a", "c": "xyxyxyxy"})"
        "\n"
        R"({"p": "a", "c": "b"})");
  data.sequence = 6;
  const Loader loader = open();
  EXPECT_EQ(loader.rowsOfEpoch(0), 2);
  ASSERT_EQ(loader.notes().size(), 2u);
  EXPECT_EQ(loader.notes()[0], "1 of the 3 samples of `" + file->path() +
                                   "` were cut on the left of the prompt to "
                                   "fit `data.sequence` = 6");
  EXPECT_EQ(loader.notes()[1], "1 of the 3 samples of `" + file->path() +
                                   "` were dropped: their completion is longer "
                                   "than `data.sequence` = 6");
  const Batch batch = fill(open({}, DataSet::valid), 0);
  const Ints row(batch.tokens.begin(), batch.tokens.begin() + 6);
  EXPECT_EQ(row, (Ints{bos, 'f', 'g', 'h', 'x', 'y'}));
}

TEST_F(LoaderTest, failWhereNothingFits) {
  write(R"({"p": "a", "c": "xyxyxyxy"})");
  data.sequence = 4;
  EXPECT_NE(failure().find("no sample of the data set"), std::string::npos);
}

TEST_F(LoaderTest, failIdsBeyondTheVocabulary) {
  write(R"({"p": "hello", "c": "b"})");
  data.vocab = 259;
  EXPECT_EQ(
      failure(),
      "`data.train`: line 1 of `" + file->path() +
          "` has the token 300 (`<s>`) of the 302 that the tokenizer has, "
          "but the model's `vocab` is 259; use the tokenizer that the "
          "recipe was compiled with, or compile it again with a larger "
          "`vocab`");
}

TEST_F(LoaderTest, failSources) {
  data.train = plan::DataSource{"parquet", "", "", "", ""};
  EXPECT_EQ(failure(), "`data.train` is of the kind `parquet`; this version "
                       "reads `jsonl`, `text`, `token_file`, `blend` and "
                       "`mock`");
  data.train.reset();
  EXPECT_EQ(failure(), "`data.train` is `none`, so that there is no data");
  data.train = plan::DataSource{"mock", "", "", "", ""};
  train.steps = 0;
  EXPECT_EQ(failure(), "`data.train` is `mock()`, which has no epochs; set "
                       "`train.steps` in place of `train.epochs`");
}

TEST_F(LoaderTest, mockTokensAreAFunctionOfTheirPlace) {
  data.train = plan::DataSource{"mock", "", "", "", ""};
  train.steps = 10;
  const Loader whole = open({0, 1, 2});
  const Loader second = open({1, 2, 1});
  EXPECT_EQ(whole.steps(), 10);
  EXPECT_EQ(fill(whole, 3, 1).tokens, fill(second, 3).tokens);
  EXPECT_NE(fill(whole, 3, 0).tokens, fill(whole, 3, 1).tokens);
  const Batch batch = fill(whole, 0);
  for (int32_t token : batch.tokens)
    EXPECT_LT(token, data.vocab);
  EXPECT_EQ(batch.labels[0], batch.tokens[1]);
  EXPECT_EQ(*whole.weight(0), 4 * 16);
  EXPECT_EQ(whole.epochsBefore(5), 0);
}

} // namespace
} // namespace reciperun::data
