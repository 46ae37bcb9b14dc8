// The workspace of cuDNN's attention gradient, as reported on an H200 (cuDNN
// 9.19). CudaMatrixParityTest asks the library when there is a GPU.

#include "runtime/sizes/AttentionWorkspace.h"

#include <gtest/gtest.h>

namespace reciperun::sizes {
namespace {

/// A row of 4096 tokens with the heads of an 8B model.
AttentionSizes aRow() {
  AttentionSizes sizes;
  sizes.type = DType::bf16;
  sizes.batch = 1;
  sizes.queries = sizes.keys = 4096;
  sizes.heads = 32;
  sizes.keyHeads = 8;
  sizes.width = 128;
  sizes.isDeterministic = false;
  return sizes;
}

TEST(AttentionWorkspace, ofDocumentsIsThatOfTheirRow) {
  AttentionSizes sizes = aRow();
  sizes.hasDocuments = false;
  EXPECT_EQ(libraryWorkspace(sizes), 134742272);
  sizes.hasDocuments = true;
  sizes.mostDocuments = 64;
  EXPECT_EQ(libraryWorkspace(sizes), 134771968);
  EXPECT_EQ(attentionWorkspace(sizes), 134771968 / 4);
}

TEST(AttentionWorkspace, hasNoneOfDocumentsThatNobodyCounts) {
  AttentionSizes sizes = aRow();
  EXPECT_FALSE(isForLibrary(sizes));
  EXPECT_EQ(libraryWorkspace(sizes), 0);
  // Our kernels sum dk and dv in f32.
  EXPECT_EQ(attentionWorkspace(sizes), 2 * 4096 * 8 * 128);
  // They also keep a number for each query and head, which takes more when
  // there are few key heads.
  sizes.keyHeads = 1;
  sizes.width = 8;
  EXPECT_EQ(attentionWorkspace(sizes), 4096 * 32);
}

TEST(AttentionWorkspace, ofF32IsWhatTheScratchDoesNotHold) {
  AttentionSizes sizes = aRow();
  sizes.type = DType::f32;
  EXPECT_EQ(attentionWorkspace(sizes), 0);
  sizes.queries = sizes.keys = 262'144;
  EXPECT_EQ(attentionWorkspace(sizes), 262'144 * 32);
}

TEST(AttentionWorkspace, hasNoneOfDocumentsInOrder) {
  AttentionSizes sizes = aRow();
  sizes.mostDocuments = 64;
  sizes.isDeterministic = true;
  EXPECT_TRUE(isForLibrary(sizes)); // the forward is always in order
  EXPECT_EQ(libraryWorkspace(sizes), 0);
}

TEST(AttentionWorkspace, ofAWindowIsThatOfTheRowButNotInARing) {
  AttentionSizes sizes = aRow();
  sizes.hasDocuments = false;
  const int64_t whole = libraryWorkspace(sizes);
  EXPECT_EQ(blockWorkspace(sizes), whole / 4);
  sizes.window = 1024;
  EXPECT_EQ(libraryWorkspace(sizes), whole);
  // Our kernels keep a number for each query and head.
  EXPECT_EQ(blockWorkspace(sizes), 4096 * 32);
  sizes.isDeterministic = true;
  EXPECT_EQ(libraryWorkspace(sizes), 0);
}

TEST(AttentionWorkspace, takesHeadsOfDocumentsInStepsOf16) {
  AttentionSizes sizes = aRow();
  sizes.mostDocuments = 64;
  for (int64_t width : {16, 112, 128}) {
    sizes.width = width;
    EXPECT_TRUE(isForLibrary(sizes));
  }
  for (int64_t width : {8, 72, 144}) {
    sizes.width = width;
    EXPECT_FALSE(isForLibrary(sizes));
  }
}

} // namespace
} // namespace reciperun::sizes
