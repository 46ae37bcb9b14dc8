// Names and sentences of one meaning have equal words.

#include "runtime/search/Words.h"

#include <gtest/gtest.h>

namespace reciperun::search {
namespace {

using Texts = std::vector<std::string>;

TEST(Words, SplitsNamesOfAllStyles) {
  const Texts words = {"valid", "every", "step"};
  EXPECT_EQ(wordsOf("eval_every_n_iters"), words);
  EXPECT_EQ(wordsOf("evalEveryNIters"), words);
  EXPECT_EQ(wordsOf("--eval-every-n-steps"), words);
  EXPECT_EQ(wordsOf("Evaluate every n iterations."), words);
}

TEST(Words, CutsEndings) {
  EXPECT_EQ(wordsOf("checkpointing"), wordsOf("checkpoints"));
  EXPECT_EQ(wordsOf("batches"), wordsOf("batch"));
  EXPECT_EQ(wordsOf("processes"), wordsOf("process"));
  EXPECT_NE(wordsOf("loss"), wordsOf("los"));
}

TEST(Words, WritesAbbreviationsOut) {
  EXPECT_EQ(wordsOf("tp_size"), wordsOf("tensor_parallel_size"));
  EXPECT_EQ(wordsOf("lr"), wordsOf("learning_rate"));
  EXPECT_EQ(wordsOf("mbs"), wordsOf("micro_batch_size"));
}

TEST(Words, DropsWordsWithoutSubject) {
  EXPECT_EQ(wordsOf("enable_use_the"), Texts());
  EXPECT_EQ(wordsOf(""), Texts());
}

} // namespace
} // namespace reciperun::search
