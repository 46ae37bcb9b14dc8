// The layouts of token files, byte by byte, and their errors.
// token_files.recipe tests files in the formats of other programs.

#include "runtime/data/TokenFile.h"

#include "test/runtime/data/ScratchFile.h"

#include <gtest/gtest.h>

#include <vector>

namespace reciperun::data {
namespace {

template <class T> std::string bytesOf(std::vector<T> numbers) {
  return {reinterpret_cast<const char*>(numbers.data()),
          numbers.size() * sizeof(T)};
}

std::vector<int32_t> idsOf(const Expected<TokenFile>& file) {
  EXPECT_TRUE(file) << file.message();
  std::vector<int32_t> ids(size_t(file->tokens()));
  const Status status = file->read(0, ids);
  EXPECT_TRUE(status.isOk()) << status.message();
  return ids;
}

const std::vector<int32_t> wide = {1, 70000, 3};
const std::vector<int32_t> narrow = {1, 60000, 3};

TEST(TokenFileTest, readsNothingButIds) {
  const ScratchFile two(bytesOf<uint16_t>({1, 60000, 3}));
  EXPECT_EQ(idsOf(TokenFile::open(two.path(), "uint16", 1 << 20)), narrow);
  // Without a type, the vocabulary size decides.
  EXPECT_EQ(idsOf(TokenFile::open(two.path(), "", 1 << 16)), narrow);
  const ScratchFile four(bytesOf<uint32_t>({1, 70000, 3}));
  EXPECT_EQ(idsOf(TokenFile::open(four.path(), "", (1 << 16) + 5000)), wide);
  const Expected<TokenFile> file = TokenFile::open(two.path(), "", 1 << 16);
  std::vector<int32_t> one(1);
  ASSERT_TRUE(file->read(2, one).isOk());
  EXPECT_EQ(one[0], 3);
}

TEST(TokenFileTest, failWhatHoldsNoIds) {
  const ScratchFile text("It was a dark and stormy night.\n");
  EXPECT_EQ(TokenFile::open(text.path(), "uint16", 1 << 20).message(),
            "`" + text.path() +
                "` holds no token ids: it begins with text, `It was a dark "
                "and stormy`; have it tokenized, by `text(\"" +
                text.path() + "\")`");
  const ScratchFile packed("\x1f\x8b\x08\x01 and so on");
  EXPECT_EQ(TokenFile::open(packed.path(), "", 1 << 20).message(),
            "`" + packed.path() +
                "` holds no token ids: it is a file of gzip; write the "
                "ids alone, as NumPy's `tofile` does, or name the file that "
                "has them");
  // Files of small ids contain bytes that text never has. Files below 16 bytes
  // are too short to tell.
  const ScratchFile small(bytesOf<uint16_t>(std::vector<uint16_t>(64, 0x41)));
  EXPECT_TRUE(TokenFile::open(small.path(), "", 1 << 16));
  const ScratchFile few("ABCDEFGH");
  EXPECT_TRUE(TokenFile::open(few.path(), "", 1 << 20));
}

TEST(TokenFileTest, looksAtTheFirstIds) {
  const ScratchFile file(bytesOf<uint16_t>({1, 2, 60000}));
  const Expected<TokenFile> opened = TokenFile::open(file.path(), "", 50000);
  ASSERT_TRUE(opened);
  EXPECT_TRUE(opened->checkHead(2).isOk());
  EXPECT_EQ(opened->checkHead(1000).message(),
            "token 2 of `" + file.path() +
                "` is 60000, but the model's `vocab` is 50000; use the tokens "
                "of the model's own tokenizer or a larger `vocab`");
}

std::string llmcHeader(int32_t magic, int32_t version, int32_t count) {
  std::vector<int32_t> header(256);
  header[0] = magic;
  header[1] = version;
  header[2] = count;
  return bytesOf(header);
}

TEST(TokenFileTest, readsLlmC) {
  const ScratchFile gpt2(llmcHeader(20240520, 1, 3) +
                         bytesOf<uint16_t>({1, 60000, 3}));
  EXPECT_EQ(idsOf(TokenFile::open(gpt2.path(), "", 1 << 20)), narrow);
  const ScratchFile llama(llmcHeader(20240801, 7, 3) +
                          bytesOf<uint32_t>({1, 70000, 3}));
  EXPECT_EQ(idsOf(TokenFile::open(llama.path(), "", 1 << 20)), wide);
}

std::string npy(const std::string& header) {
  return std::string("\x93NUMPY\1\0", 8) +
         bytesOf<uint16_t>({uint16_t(header.size())}) + header;
}

/// A scratch file with another suffix.
class SuffixedFile {
public:
  SuffixedFile(const std::string& suffix, const std::string& text)
      : file(""), path_(file.path() + suffix) {
    std::ofstream(path_, std::ios::binary) << text;
  }
  ~SuffixedFile() { std::filesystem::remove(path_); }
  std::string path() const { return path_; }

private:
  ScratchFile file;
  std::string path_;
};

TEST(TokenFileTest, readsNumPy) {
  const SuffixedFile file(
      ".npy",
      npy("{'descr': '<u4', 'fortran_order': False, 'shape': (3,), }   \n") +
          bytesOf<uint32_t>({1, 70000, 3}));
  EXPECT_EQ(idsOf(TokenFile::open(file.path(), "", 1 << 20)), wide);
}

TEST(TokenFileTest, failNumPy) {
  const auto failure = [](const std::string& bytes) {
    const SuffixedFile file(".npy", bytes);
    std::string message = TokenFile::open(file.path(), "", 100).message();
    const size_t at = message.find(file.path());
    return at == message.npos ? message
                              : message.replace(at, file.path().size(), "F");
  };
  EXPECT_EQ(failure("\1\2\3\4\5\6\7\1\2\3\4\5"),
            "`F` does not begin as a NumPy file; a file of ids alone is called "
            "`.bin`");
  EXPECT_EQ(failure(npy("{'descr': '<f4', 'shape': (3,), }")),
            "`F` is of NumPy's type `<f4`, and ids are of type `<u2`, `<u4` or "
            "`<i4`; token ids are whole numbers: write those of a tokenizer");
  const std::string wide = failure(npy("{'descr': '<i8', 'shape': (3,), }"));
  EXPECT_TRUE(wide.starts_with(
      "`F` is of NumPy's type `<i8`, and ids are of type `<u2`, `<u4` or "
      "`<i4`; convert it by `python3 -c 'import numpy, sys; "
      "numpy.save(sys.argv[2], numpy.load(sys.argv[1]).reshape(-1).astype("
      "\"uint16\"))' "))
      << wide;
  EXPECT_TRUE(failure(npy("{'descr': '<u2', 'shape': (3, 4), }"))
                  .starts_with("`F` has not one dimension, but the shape (3, "
                               "4); convert it by `python3 "));
  EXPECT_EQ(failure(npy("{'descr': '<u4', 'shape': (9223372036854775807,), }")),
            "the token file `F` has 61 bytes, and NumPy's header speaks of "
            "9223372036854775807 ids; copy or write the file again");
  EXPECT_EQ(failure(npy("{'descr': '<u2', 'shape': (3,), }") + "ab"),
            "the token file `F` has 45 bytes, and 49 are due for the 3 ids of "
            "NumPy's header; copy or write the file again");
}

TEST(TokenFileTest, failSizesAndTypes) {
  const ScratchFile empty("");
  EXPECT_EQ(TokenFile::open(empty.path(), "", 100).message(),
            "the token file `" + empty.path() +
                "` is empty; write token ids into it");
  const ScratchFile odd("abc");
  EXPECT_EQ(TokenFile::open(odd.path(), "", 100).message(),
            "the token file `" + odd.path() +
                "` has 3 bytes, which is no whole number of ids of type "
                "uint16; copy or write the file again");
  const ScratchFile cut(llmcHeader(20240520, 1, 3) + "ab");
  EXPECT_EQ(TokenFile::open(cut.path(), "", 100).message(),
            "the token file `" + cut.path() +
                "` has 1026 bytes, and 1030 are due for the 3 ids of llm.c's "
                "header; copy or write the file again");
  const ScratchFile negative(llmcHeader(20240520, 1, -1));
  EXPECT_EQ(
      TokenFile::open(negative.path(), "", 100).message(),
      "the token file `" + negative.path() +
          "` has 1024 bytes, and llm.c's header speaks of -1 ids; copy or "
          "write the file again");
  const ScratchFile other(llmcHeader(20240520, 1, 1) + "ab");
  EXPECT_EQ(TokenFile::open(other.path(), "uint32", 100).message(),
            "`" + other.path() +
                "` has ids of 2 bytes, as llm.c's header says, and `type` is "
                "\"uint32\"; leave `type` out");
}

/// Ids read in another width than they have: those of the file are all below
/// the vocabulary.
TEST(TokenFileTest, failIdsOfAnotherType) {
  std::vector<uint16_t> narrowIds(64);
  for (size_t i = 0; i < narrowIds.size(); ++i)
    narrowIds[i] = uint16_t(i + 1);
  const ScratchFile file(bytesOf(narrowIds));
  const Expected<TokenFile> opened =
      TokenFile::open(file.path(), "uint32", 640);
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->checkHead(1).message(),
            "token 0 of `" + file.path() +
                "` is 131073, but the model's `vocab` is 640; its ids are of "
                "type `uint16`: leave `type` out");
}

/// The zeros of wider ids.
TEST(TokenFileTest, tellsWiderIdsByTheirZeros) {
  std::vector<int64_t> ids(64);
  for (size_t i = 0; i < ids.size(); ++i)
    ids[i] = int64_t(i + 1);
  const ScratchFile eight(bytesOf(ids));
  EXPECT_EQ(TokenFile::open(eight.path(), "", 640)->bytesByZeros(), 8);
  EXPECT_EQ(TokenFile::open(eight.path(), "uint32", 640)->bytesByZeros(), 8);
  const ScratchFile four(bytesOf(std::vector<uint32_t>(64, 5)));
  EXPECT_EQ(TokenFile::open(four.path(), "", 640)->bytesByZeros(), 4);
  EXPECT_EQ(TokenFile::open(four.path(), "uint32", 640)->bytesByZeros(), 4);
  const ScratchFile two(bytesOf(std::vector<uint16_t>(64, 5)));
  EXPECT_EQ(TokenFile::open(two.path(), "", 640)->bytesByZeros(), 2);
  const ScratchFile zeros(bytesOf(std::vector<uint16_t>(64, 0)));
  EXPECT_EQ(TokenFile::open(zeros.path(), "", 640)->bytesByZeros(), 2);
}

TEST(TokenFileTest, failIdsBeyondTheVocabulary) {
  const ScratchFile file(bytesOf<uint16_t>({1, 2, 640}));
  const Expected<TokenFile> opened = TokenFile::open(file.path(), "", 640);
  ASSERT_TRUE(opened);
  std::vector<int32_t> ids(2);
  EXPECT_TRUE(opened->read(0, ids).isOk());
  EXPECT_EQ(opened->read(1, ids).message(),
            "token 2 of `" + file.path() +
                "` is 640, but the model's `vocab` is 640; use the tokens of "
                "the model's own tokenizer or a larger `vocab`");
}

} // namespace
} // namespace reciperun::data
