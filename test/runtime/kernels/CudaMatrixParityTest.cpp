// Matrix products and attention on a GPU against their CPU twins, which compute
// the same inputs in f64. A program of its own, as it wants a GPU:
//   CudaMatrixParityTest [--gtest_filter=...]
//
// Tolerances, relative to the largest element:
//   f32   1e-5   sums of some hundred terms, rounded at 6e-8, and exponentials
//                of scores of size 10
//   bf16  2^-8   a product is summed in f32 and rounded once: 2^-9
//         none   where a product is added to bf16: cuBLASLt rounds it before
//                it adds, and the sum; some kernels round once. It is either,
//                to the bit, of a product that is known to 1e-5
//         2^-7   attention rounds its weights to 2^-9, and its output
//         2^-6   its gradients take from do v a delta that nearly cancels, of
//                an output rounded to 2^-9; and round P and dS
//   A gradient in f32 of bf16 operands is a sum of exact products: 1e-5.

#include "runtime/device/cuda/ProductChoices.h"
#include "runtime/kernels/AttentionLibrary.h"
#include "runtime/kernels/LinearProducts.h"
#include "test/runtime/kernels/CudaMatrixCalls.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <numeric>
#include <random>

#include <gtest/gtest.h>

namespace reciperun::kernels {
namespace {

using plan::DType;
using plan::OpKind;

std::string nameOf(DType type) {
  return type == DType::f32 ? "f32" : "bf16";
}

double productTolerance(DType output) {
  return output == DType::f32 ? 1e-5 : 0x1p-8;
}

class OnGpu : public testing::Test {
protected:
  void SetUp() override {
    std::string cause;
    if (!testGpu(&cause))
      GTEST_SKIP() << cause;
  }
};

using CudaLinear = OnGpu;
using CudaExperts = OnGpu;
using CudaAttention = OnGpu;
using CudaLibraryAttention = OnGpu;
using CudaRing = OnGpu;
using CudaProducts = OnGpu;

// ---- products

struct LinearCase {
  int64_t tokens, out, in;
  double alpha = 1;
  bool accumulate = false;
};

double inBf16(double value) {
  return double(float(device::bf16(float(value))));
}

/// Expects of a product that was added to bf16 one of two roundings, exactly:
/// of the sum, or of the product and then the sum. The product itself is known
/// to what sums in f32 lose.
void expectAdded(const std::string& what, const Array& start, const Array& got,
                 const Array& wanted) {
  auto once = [](double sum, double) { return inBf16(sum); };
  auto twice = [](double product, double before) {
    return inBf16(inBf16(product) + before);
  };
  double largest = 0;
  for (int64_t i = 0; i < got.size(); ++i)
    largest = std::max(largest, std::abs(wanted.get(i) - start.get(i)));
  const double lost = productTolerance(DType::f32) * largest;
  int64_t byOne = 0, byTwo = 0, byBoth = 0, at = -1, wrong = 0;
  for (int64_t i = 0; i < got.size(); ++i) {
    const double before = start.get(i), value = got.get(i);
    const double sum = wanted.get(i), product = sum - before;
    const bool one =
        once(sum - lost, before) <= value && value <= once(sum + lost, before);
    const bool two = twice(product - lost, before) <= value &&
                     value <= twice(product + lost, before);
    ++(one && two ? byBoth : one ? byOne : two ? byTwo : wrong);
    at = one || two ? at : i;
  }
  std::printf("  %-58s rounded once %lld, twice %lld, either %lld\n",
              what.c_str(), (long long)(byOne), (long long)(byTwo),
              (long long)(byBoth));
  EXPECT_EQ(wrong, 0) << what << ": element " << at << " is " << got.get(at)
                      << ", of " << start.get(at) << " and "
                      << wanted.get(at) - start.get(at);
  // A kernel rounds all of its sums alike.
  EXPECT_TRUE(byOne == 0 || byTwo == 0) << what;
}

void checkLinear(const LinearCase& c, DType type) {
  const std::string what = std::to_string(c.tokens) + " x " +
                           std::to_string(c.out) + " x " +
                           std::to_string(c.in) + " " + nameOf(type);
  const Attributes attributes = {{"alpha", c.alpha},
                                 {"accumulate", c.accumulate}};
  Array x = Array::random(type, {c.tokens, c.in}, 1);
  Array w = Array::random(type, {c.out, c.in}, 2);
  Array dy = Array::random(type, {c.tokens, c.out}, 3);
  auto check = [&](const char* name, OpKind kind, Array& a, Array& b,
                   const Array& start) {
    Array a64 = a.cast(DType::f64), b64 = b.cast(DType::f64);
    Array wanted = start.cast(DType::f64), got = start;
    call(kind, {&a64, &b64}, {&wanted}, attributes);
    callOnGpu(kind, {&a, &b}, {&got}, attributes);
    const std::string title =
        name + (" " + what) + " into " + nameOf(start.dtype());
    if (c.accumulate && start.dtype() == DType::bf16)
      expectAdded(title, start, got, wanted);
    else
      expectClose(title, got, wanted, productTolerance(start.dtype()));
  };
  check("linear", OpKind::Linear, x, w,
        Array::random(type, {c.tokens, c.out}, 4));
  check("dgrad", OpKind::LinearDgrad, dy, w,
        Array::random(type, {c.tokens, c.in}, 5));
  check("wgrad", OpKind::LinearWgrad, x, dy,
        Array::random(type, {c.out, c.in}, 6));
  if (type == DType::bf16)
    check("wgrad", OpKind::LinearWgrad, x, dy,
          Array::random(DType::f32, {c.out, c.in}, 6));
}

TEST_F(CudaLinear, AgreesWithTheCpu) {
  for (DType type : {DType::f32, DType::bf16}) {
    checkLinear({128, 256, 64}, type);
    checkLinear({200, 136, 72, 0.5, true}, type);
    checkLinear({1, 8, 8}, type);
    checkLinear({37, 19, 53, -1.5, false}, type);
    checkLinear({33, 130, 1, 1, true}, type);
  }
}

TEST_F(CudaProducts, AreChosenOnceAndKept) {
  const auto file = std::filesystem::temp_directory_path() /
                    ("reciperun-products-" + std::to_string(getpid()));
  device::CudaContext& gpu = *testGpu();
  DeviceBytes a(1 << 20), b(1 << 20), c(1 << 20);
  const device::MatrixProducts::Shape shape{256, 512, 128, false, true};
  auto prepared = [&] {
    device::MatrixProducts products;
    products.setPlace({gpu.stream(), gpu.scratch<void>(),
                       size_t(device::cudaScratchBytes),
                       gpu.properties().name});
    products.setFile(file);
    Status status = products.prepare(shape, {a.data(), b.data(), c.data()});
    EXPECT_TRUE(status.isOk()) << status.message();
    status = products.save();
    EXPECT_TRUE(status.isOk()) << status.message();
    EXPECT_EQ(products.notice(), "");
    std::ifstream in(file);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  const std::string first = prepared();
  std::printf("%s", first.c_str());
  EXPECT_NE(first.find("256 512 128 nt bf16 bf16 set"), std::string::npos);
  EXPECT_EQ(prepared(), first);
  std::filesystem::remove(file);
}

TEST(ProductChoices, IgnoresAFileThatIsNotItsOwn) {
  const auto file = std::filesystem::temp_directory_path() /
                    ("reciperun-foreign-" + std::to_string(getpid()));
  std::ofstream(file) << "a letter to a friend\n";
  device::ProductChoices choices;
  EXPECT_FALSE(choices.load(file));
  choices.keep("key", {1, 2, 3});
  EXPECT_TRUE(choices.save()); // nowhere
  std::string line;
  std::ifstream in(file);
  std::getline(in, line);
  EXPECT_EQ(line, "a letter to a friend");
  std::filesystem::remove(file);
}

TEST(ProductChoices, KeepsWhatOthersHaveWritten) {
  const auto folder = std::filesystem::temp_directory_path() /
                      ("reciperun-choices-" + std::to_string(getpid()));
  const auto file = folder / "products";
  device::ProductChoices one, two, all;
  EXPECT_TRUE(one.load(file));
  EXPECT_TRUE(two.load(file));
  one.keep("a b", {1});
  two.keep("a b", {2});
  two.keep("c", {~uint64_t(0), 5, 6, 7, 8, 9, 10, 11});
  EXPECT_TRUE(one.save());
  EXPECT_TRUE(two.save());
  std::ofstream(file, std::ios::app) << "torn = 0012";
  EXPECT_TRUE(all.load(file));
  ASSERT_TRUE(all.find("a b"));
  EXPECT_EQ((*all.find("a b"))[0], 1u); // who was first
  ASSERT_TRUE(all.find("c"));
  EXPECT_EQ((*all.find("c"))[0], ~uint64_t(0));
  EXPECT_EQ((*all.find("c"))[7], 11u);
  EXPECT_FALSE(all.find("torn"));
  std::filesystem::remove_all(folder);
}

// ---- experts

struct ExpertCase {
  int64_t groups, blocks, members, height, from, to;
  bool isStacked = false, accumulate = false;
  double alpha = 1;
  std::vector<int64_t> counts = {}; // of each block's members; or drawn
};

/// Counts of which some are 0 and some blocks are full or claim to be more.
Array countsOf(const ExpertCase& c) {
  if (!c.counts.empty())
    return Array::integers({c.groups, c.blocks, c.members}, c.counts);
  std::mt19937 generator(7);
  std::vector<int64_t> counts;
  for (int64_t block = 0; block < c.groups * c.blocks; ++block) {
    int64_t left = c.height;
    for (int64_t e = 0; e < c.members; ++e) {
      int64_t count = int64_t(generator()) % (2 * c.height / c.members + 2);
      if (generator() % 4 == 0)
        count = 0;
      if (block % 2 == 0)
        count = std::min(count, left);
      left -= count;
      counts.push_back(count);
    }
  }
  return Array::integers({c.groups, c.blocks, c.members}, counts);
}

/// Makes rows that belong to no token what no product may meet.
void spoilUnused(const ExpertCase& c, const Array& counts, Array& rows) {
  const int64_t width = rows.size() / (c.groups * c.blocks * c.height);
  for (int64_t block = 0; block < c.groups * c.blocks; ++block) {
    int64_t used = 0;
    for (int64_t e = 0; e < c.members; ++e)
      used += int64_t(counts.get(block * c.members + e));
    for (int64_t i = std::min(used, c.height) * width; i < c.height * width;
         ++i)
      rows.set(block * c.height * width + i, std::nan(""));
  }
}

void checkExperts(const ExpertCase& c, DType type) {
  const std::string what =
      std::to_string(c.groups) + " x " + std::to_string(c.blocks) + " x " +
      std::to_string(c.members) + " experts, " + std::to_string(c.from) +
      " to " + std::to_string(c.to) + (c.isStacked ? " stacked " : " ") +
      nameOf(type);
  const int64_t rows = c.blocks * c.height;
  const Attributes attributes = {{"alpha", c.alpha},
                                 {"accumulate", c.accumulate},
                                 {"stacked", c.isStacked}};
  const std::vector<int64_t> matrix = {c.groups * c.members,
                                       c.isStacked ? c.from : c.to,
                                       c.isStacked ? c.to : c.from};
  Array counts = countsOf(c);
  Array x = Array::random(type, {c.groups, rows, c.from}, 1);
  Array w = Array::random(type, matrix, 2);
  Array dy = Array::random(type, {c.groups, rows, c.to}, 3);
  spoilUnused(c, counts, x);
  spoilUnused(c, counts, dy);
  auto check = [&](const char* name, OpKind kind, Array& a, Array& b,
                   std::vector<Array*> extra, const Array& start) {
    Array a64 = a.cast(DType::f64), b64 = b.cast(DType::f64);
    Array wanted = start.cast(DType::f64), got = start;
    std::vector<Array*> on64 = {&a64, &b64}, onGpu = {&a, &b};
    on64.insert(on64.end(), extra.begin(), extra.end());
    onGpu.insert(onGpu.end(), extra.begin(), extra.end());
    call(kind, on64, {&wanted}, attributes);
    callOnGpu(kind, onGpu, {&got}, attributes, 1 << 20);
    expectClose(name + (" " + what) + " into " + nameOf(start.dtype()), got,
                wanted, productTolerance(start.dtype()));
  };
  check("forward", OpKind::ExpertLinear, x, w, {&counts},
        Array::random(type, {c.groups, rows, c.to}, 4));
  check("dgrad", OpKind::ExpertLinearDgrad, dy, w, {&counts},
        Array::random(type, {c.groups, rows, c.from}, 5));
  check("wgrad", OpKind::ExpertLinearWgrad, x, dy, {&counts},
        Array::random(type, matrix, 6));
  if (type == DType::bf16)
    check("wgrad", OpKind::ExpertLinearWgrad, x, dy, {&counts},
          Array::random(DType::f32, matrix, 6));
}

TEST_F(CudaExperts, AgreeWithTheCpu) {
  for (DType type : {DType::f32, DType::bf16}) {
    checkExperts({1, 1, 4, 300, 72, 136}, type);
    checkExperts({2, 3, 3, 150, 64, 128, true}, type);
    checkExperts({2, 2, 40, 200, 200, 24, false, true, 0.5}, type);
    checkExperts({1, 2, 3, 130, 19, 33}, type);
    checkExperts({1, 2, 3, 130, 33, 19, true, true}, type);
  }
}

/// Tiles are of 128 rows, 256 columns and 64 of the sum.
TEST_F(CudaExperts, AgreeAtTheEdgesOfTiles) {
  const std::vector<int64_t> one = {0, 1, 127, 129, 60};
  const std::vector<int64_t> several = {129, 0,   1, 127, 128, 45,
                                        300, 300, 5, 63,  64,  65};
  for (DType type : {DType::f32, DType::bf16})
    for (bool isStacked : {false, true}) {
      checkExperts({1, 1, 5, 400, 64, 256, isStacked, false, 1, one}, type);
      checkExperts({2, 2, 3, 300, 200, 328, isStacked, true, 0.5, several},
                   type);
    }
}

// ---- attention

/// Segments and places of one side, [batch, tokens].
struct Side {
  std::vector<int64_t> segments, places;
};

struct AttentionCase {
  std::string name;
  int64_t batch, queries, keys, heads, keyHeads, width;
  Attributes attributes;
  Side asking, asked;
};

/// Rows of one document each.
Side plainSide(int64_t batch, int64_t tokens) {
  Side side;
  for (int64_t i = 0; i < batch * tokens; ++i) {
    side.segments.push_back(0);
    side.places.push_back(i % tokens);
  }
  return side;
}

/// Documents behind one another in each row, then padding.
Side packedSide(int64_t batch, int64_t tokens,
                const std::vector<int64_t>& lengths) {
  Side side = plainSide(batch, tokens);
  for (int64_t b = 0; b < batch; ++b) {
    std::vector<int64_t> row;
    for (size_t i = 0; i < lengths.size(); ++i)
      row.insert(row.end(), size_t(lengths[i]), int64_t(i));
    row.resize(size_t(tokens), -1);
    std::copy(row.begin(), row.end(), side.segments.begin() + b * tokens);
  }
  return side;
}

AttentionCase plainCase(const std::string& name, int64_t batch, int64_t tokens,
                        int64_t heads, int64_t keyHeads, int64_t width,
                        Attributes attributes = {}) {
  const Side side = plainSide(batch, tokens);
  return {name,  batch,    tokens, tokens,
          heads, keyHeads, width,  std::move(attributes),
          side,  side};
}

AttentionCase packedCase(const std::string& name, int64_t tokens,
                         const std::vector<int64_t>& lengths, int64_t width,
                         Attributes attributes = {}) {
  AttentionCase made =
      plainCase(name, 2, tokens, 6, 2, width, std::move(attributes));
  made.asking = made.asked = packedSide(2, tokens, lengths);
  return made;
}

/// The first and the last piece of a row ask all of it, as a rank of context
/// parallelism does.
AttentionCase partCase(const std::string& name, int64_t tokens, int64_t width) {
  AttentionCase made =
      packedCase(name, tokens, {tokens / 3, tokens / 2}, width);
  const Side all = made.asked;
  made.asking = {};
  const int64_t piece = tokens / 4;
  made.queries = 2 * piece;
  for (int64_t b = 0; b < made.batch; ++b)
    for (int64_t first : {int64_t(0), tokens - piece})
      for (int64_t i = first; i < first + piece; ++i) {
        made.asking.segments.push_back(all.segments[size_t(b * tokens + i)]);
        made.asking.places.push_back(i);
      }
  return made;
}

struct AttentionArrays {
  Array q, k, v, dout;
  Array askingSegments, askingPlaces, askedSegments, askedPlaces;

  AttentionArrays(const AttentionCase& c, DType type)
      : q(Array::random(type, {c.batch, c.queries, c.heads, c.width}, 1)),
        k(Array::random(type, {c.batch, c.keys, c.keyHeads, c.width}, 2)),
        v(Array::random(type, {c.batch, c.keys, c.keyHeads, c.width}, 3)),
        dout(Array::random(type, {c.batch, c.queries, c.heads, c.width}, 4)),
        askingSegments(
            Array::integers({c.batch, c.queries}, c.asking.segments)),
        askingPlaces(Array::integers({c.batch, c.queries}, c.asking.places)),
        askedSegments(Array::integers({c.batch, c.keys}, c.asked.segments)),
        askedPlaces(Array::integers({c.batch, c.keys}, c.asked.places)) {}

  std::vector<Array*> tokens() {
    return {&askingSegments, &askingPlaces, &askedSegments, &askedPlaces};
  }
};

struct AttentionResults {
  Array out, lse, dq, dk, dv;

  explicit AttentionResults(const AttentionCase& c, DType type)
      : out(type, {c.batch, c.queries, c.heads, c.width}),
        lse(accumulatorOf(type), {c.batch, c.heads, c.queries}),
        dq(type, out.shape()), dk(type, {c.batch, c.keys, c.keyHeads, c.width}),
        dv(type, dk.shape()) {}
};

template <class Call>
AttentionResults attend(const AttentionCase& c, AttentionArrays& in, DType type,
                        Call call) {
  AttentionResults r(c, type);
  std::vector<Array*> forward = {&in.q, &in.k, &in.v};
  std::vector<Array*> backward = {&in.dout, &r.out, &in.q,
                                  &in.k,    &in.v,  &r.lse};
  for (std::vector<Array*>* inputs : {&forward, &backward})
    for (Array* array : in.tokens())
      inputs->push_back(array);
  call(OpKind::Attention, forward, std::vector<Array*>{&r.out, &r.lse});
  call(OpKind::AttentionBackward, backward,
       std::vector<Array*>{&r.dq, &r.dk, &r.dv});
  return r;
}

AttentionResults onCpu(const AttentionCase& c, DType type) {
  AttentionArrays in(c, type);
  for (Array* array : {&in.q, &in.k, &in.v, &in.dout})
    *array = array->cast(DType::f64);
  return attend(c, in, DType::f64, [&](OpKind kind, auto inputs, auto outputs) {
    call(kind, inputs, outputs, c.attributes);
  });
}

AttentionResults onGpu(const AttentionCase& c, DType type,
                       int64_t workspaceBytes = 0) {
  AttentionArrays in(c, type);
  if (!workspaceBytes && type == DType::bf16)
    workspaceBytes = 2 * in.k.size() * 4;
  return attend(c, in, type, [&](OpKind kind, auto inputs, auto outputs) {
    callOnGpu(kind, inputs, outputs, c.attributes,
              kind == OpKind::AttentionBackward ? workspaceBytes : 0);
  });
}

void compare(const std::string& what, const AttentionResults& got,
             const AttentionResults& wanted, DType type) {
  const double forward = type == DType::f32 ? 1e-5 : 0x1p-7;
  const double backward = type == DType::f32 ? 2e-5 : 0x1p-6;
  expectClose(what + " out", got.out, wanted.out, forward);
  expectClose(what + " lse", got.lse, wanted.lse, 1e-5); // always in f32
  expectClose(what + " dq", got.dq, wanted.dq, backward);
  expectClose(what + " dk", got.dk, wanted.dk, backward);
  expectClose(what + " dv", got.dv, wanted.dv, backward);
}

void checkAttention(const AttentionCase& c) {
  for (DType type : {DType::f32, DType::bf16})
    compare(c.name + " " + nameOf(type), onGpu(c, type), onCpu(c, type), type);
}

TEST_F(CudaAttention, OfOneDocument) {
  checkAttention(plainCase("few tokens", 1, 9, 4, 4, 64));
  checkAttention(plainCase("causal", 2, 150, 4, 2, 64));
  checkAttention(plainCase("whole tiles", 1, 256, 2, 2, 128));
  checkAttention(
      plainCase("not causal", 1, 130, 2, 1, 128, {{"causal", false}}));
  checkAttention(plainCase("one key head", 1, 200, 8, 1, 64));
}

TEST_F(CudaAttention, OfAnyWidth) {
  for (int64_t width : {1, 8, 19, 40, 80, 96, 130, 160, 192, 200, 256})
    checkAttention(
        plainCase("width " + std::to_string(width), 1, 140, 4, 2, width));
}

TEST_F(CudaAttention, OfPackedDocuments) {
  checkAttention(packedCase("packed", 140, {30, 1, 70, 20}, 64));
  checkAttention(packedCase("packed far", 400, {100, 3, 200, 80}, 128));
  checkAttention(
      packedCase("packed not causal", 140, {64, 60}, 64, {{"causal", false}}));
  checkAttention(packedCase("padding alone", 70, {3}, 64));
}

TEST_F(CudaAttention, WithinBounds) {
  for (int64_t bound : {2, 20, 64, 100, 500}) {
    checkAttention(plainCase("window " + std::to_string(bound), 1, 300, 2, 1,
                             64, {{"window", bound}}));
    checkAttention(plainCase("chunk " + std::to_string(bound), 1, 300, 2, 1, 64,
                             {{"chunk", bound}}));
  }
  checkAttention(packedCase("packed window", 140, {30, 1, 70, 20}, 64,
                            {{"window", int64_t(20)}, {"causal", false}}));
}

TEST_F(CudaAttention, OfCappedScores) {
  checkAttention(plainCase("softcap", 1, 150, 4, 2, 64,
                           {{"softcap", 3.0}, {"scale", 1.0}}));
  checkAttention(
      packedCase("softcap, packed", 140, {30, 1, 70, 20}, 256,
                 {{"softcap", 1.5}, {"scale", 0.5}, {"window", int64_t(20)}}));
}

TEST_F(CudaAttention, OfAPartOfTheQueries) {
  checkAttention(partCase("part", 240, 64));
  checkAttention(partCase("part, wide", 400, 128));
}

TEST_F(CudaAttention, GivesTheSameBitsEachTime) {
  const AttentionCase c =
      packedCase("same", 700, {300, 1, 250}, 128, {{"causal", true}});
  const AttentionResults one = onGpu(c, DType::bf16),
                         two = onGpu(c, DType::bf16);
  expectClose("out again", two.out, one.out, 0);
  expectClose("dq again", two.dq, one.dq, 0);
  expectClose("dk again", two.dk, one.dk, 0);
  expectClose("dv again", two.dv, one.dv, 0);
}

// ---- attention by cuDNN

void checkLibrary(const std::string& name, int64_t tokens, int64_t keyHeads,
                  int64_t width, bool isCausal, bool isDeterministic,
                  int64_t window = 0) {
  const AttentionCase c = plainCase(name + (isDeterministic ? " in order" : ""),
                                    2, tokens, 4, keyHeads, width,
                                    {{"documents", false},
                                     {"causal", isCausal},
                                     {"window", window},
                                     {"deterministic", isDeterministic}});
  device::AttentionPlans& plans = testGpu()->attentionPlans();
  const device::AttentionPlans::Shape shape{2,
                                            tokens,
                                            tokens,
                                            4,
                                            keyHeads,
                                            width,
                                            float(1 / std::sqrt(double(width))),
                                            isCausal,
                                            isDeterministic,
                                            /*queryRows=*/0,
                                            /*keyRows=*/0,
                                            /*tokens=*/0,
                                            window};
  const int64_t forward = plans.forwardBytes(shape);
  const int64_t backward = plans.backwardBytes(shape);
  ASSERT_GE(forward, 0) << plans.notice();
  ASSERT_GE(backward, 0) << plans.notice();
  std::printf("%s: workspace %lld bytes forward, %lld backward\n",
              c.name.c_str(), (long long)(forward), (long long)(backward));
  const AttentionResults wanted = onCpu(c, DType::bf16);
  const AttentionResults got = onGpu(c, DType::bf16, backward + 256);
  compare("cuDNN " + c.name, got, wanted, DType::bf16);
  if (!isDeterministic)
    return;
  const AttentionResults again = onGpu(c, DType::bf16, backward + 256);
  expectClose("cuDNN dq again", again.dq, got.dq, 0);
  expectClose("cuDNN dk again", again.dk, got.dk, 0);
}

TEST_F(CudaLibraryAttention, AgreesWithTheCpu) {
  for (bool isDeterministic : {false, true}) {
    checkLibrary("causal 64", 256, 2, 64, true, isDeterministic);
    checkLibrary("causal 128", 256, 2, 128, true, isDeterministic);
    checkLibrary("not causal", 192, 4, 128, false, isDeterministic);
    checkLibrary("ragged", 333, 1, 64, true, isDeterministic);
    // Of a window of 1 the gradients of q and k are 0, and no error is small.
    for (int64_t window : {2, 20, 128, 332})
      checkLibrary("window " + std::to_string(window), 333, 2, 128, true,
                   isDeterministic, window);
  }
}

// ---- packed documents by cuDNN

using Lengths = std::vector<int64_t>;

/// Two rows of documents, with padding behind the last of each.
AttentionCase rowsCase(const std::string& name, int64_t tokens, int64_t width,
                       const Lengths& first, const Lengths& second,
                       Attributes attributes) {
  AttentionCase c =
      packedCase(name, tokens, first, width, std::move(attributes));
  const Side row = packedSide(1, tokens, second);
  std::copy(row.segments.begin(), row.segments.end(),
            c.asking.segments.begin() + tokens);
  c.asked = c.asking;
  return c;
}

/// The same lengths, of which the last has what else the row has.
Lengths filled(Lengths lengths, int64_t tokens) {
  if (lengths.empty())
    lengths.push_back(0);
  lengths.back() +=
      tokens - std::accumulate(lengths.begin(), lengths.end(), int64_t(0));
  return lengths;
}

/// Rows of up to `most` documents. Padding is attended from like the end of the
/// document before it, which no token of a document sees.
void checkDocuments(const std::string& name, int64_t most, int64_t tokens,
                    int64_t width, const Lengths& first, const Lengths& second,
                    int64_t window = 0) {
  const Attributes attributes = {
      {"most_documents", most}, {"window", window}, {"deterministic", false}};
  const AttentionCase c =
      rowsCase(name, tokens, width, first, second, attributes);
  plan::Op op;
  op.attributes = {attributes.begin(), attributes.end()};
  const std::vector<int64_t> queries = {c.batch, tokens, c.heads, width},
                             keys = {c.batch, tokens, c.keyHeads, width};
  const auto shape = libraryAttention(op, {nullptr, DType::bf16, queries},
                                      {nullptr, DType::bf16, keys});
  ASSERT_TRUE(shape);
  device::AttentionPlans& plans = testGpu()->attentionPlans();
  ASSERT_GE(plans.forwardBytes(*shape), 0) << plans.notice();
  ASSERT_GE(plans.backwardBytes(*shape), 0) << plans.notice();
  const int64_t given = plan::libraryWorkspace(
      plan::attentionSizes(op, DType::bf16, queries, keys));
  std::printf("  %s: workspace %lld bytes forward, %lld backward of %lld\n",
              name.c_str(), (long long)(plans.forwardBytes(*shape)),
              (long long)(plans.backwardBytes(*shape)), (long long)(given));
  EXPECT_LE(plans.backwardBytes(*shape), given);
  compare("cuDNN " + name, onGpu(c, DType::bf16, given),
          onCpu(rowsCase(name, tokens, width, filled(first, tokens),
                         filled(second, tokens), {{"window", window}}),
                DType::bf16),
          DType::bf16);
}

TEST_F(CudaLibraryAttention, OfPackedDocuments) {
  checkDocuments("documents", 4, 140, 64, {30, 1, 70, 20}, {100, 3, 37});
  // The same plan finds others the next time.
  checkDocuments("others", 4, 140, 64, {140}, {1, 1, 1, 137});
  checkDocuments("far apart", 16, 400, 128, {100, 3, 200, 80}, {129, 127, 144});
  checkDocuments("padding", 16, 400, 128, {7}, {});
  checkDocuments("of one token each", 130, 130, 128, Lengths(130, 1), {65, 65});
  checkDocuments("long", 64, 2000, 128, {1000, 999}, Lengths(60, 33));
  checkDocuments("window", 8, 400, 128, {100, 3, 200, 80}, {130, 270}, 100);
}

// ---- blocks of a ring

/// The tokens of a rank: an early and a late piece of a row.
std::vector<int64_t> tokensOf(int64_t rank, int64_t ranks, int64_t piece) {
  std::vector<int64_t> tokens;
  for (int64_t number : {rank, 2 * ranks - 1 - rank})
    for (int64_t i = 0; i < piece; ++i)
      tokens.push_back(number * piece + i);
  return tokens;
}

/// Those tokens of data [b, tokens, heads, width].
Array rowsOf(const Array& data, const std::vector<int64_t>& tokens) {
  std::vector<int64_t> shape = data.shape();
  const int64_t all = shape[1], row = shape[2] * shape[3];
  shape[1] = int64_t(tokens.size());
  Array part(data.dtype(), shape);
  for (int64_t i = 0; i < part.size(); ++i) {
    const int64_t token = tokens[size_t(i / row % shape[1])];
    part.set(i, data.get((i / row / shape[1] * all + token) * row + i % row));
  }
  return part;
}

/// A rank's queries to all ranks' keys, block by block, and the gradients of
/// each block; against attention to all of them at once.
void checkRing(const std::string& name, int64_t ranks, int64_t rank,
               int64_t piece, int64_t width, DType type,
               const Attributes& attributes) {
  AttentionCase c = plainCase(name, 2, 2 * ranks * piece, 4, 2, width);
  const std::vector<int64_t> own = tokensOf(rank, ranks, piece);
  c.attributes = attributes;
  c.queries = 2 * piece;
  c.asking = {};
  for (int64_t i = 0; i < c.batch * c.queries; ++i) {
    c.asking.segments.push_back(0);
    c.asking.places.push_back(own[size_t(i % c.queries)]);
  }
  const AttentionResults wanted = onCpu(c, type);
  AttentionArrays in(c, type);
  AttentionResults got(c, type);
  Array sum(DType::f32, in.q.shape()), dq(DType::f32, in.q.shape());
  Array room = in.q, dqRoom = in.q;
  std::vector<std::string> owners;
  std::vector<Array> k, v, places;
  auto withStep = [&](size_t step) {
    Attributes all = attributes;
    all.emplace_back("is_first", step == 0);
    all.emplace_back("keys", owners[step]);
    return all;
  };
  Array zeros(DType::i32, {c.batch, c.queries});
  for (int64_t step = 0; step < ranks; ++step) {
    const int64_t from = (rank - step + ranks) % ranks;
    const std::vector<int64_t> tokens = tokensOf(from, ranks, piece);
    owners.push_back(from == rank ? "own" : from < rank ? "earlier" : "later");
    k.push_back(rowsOf(in.k, tokens));
    v.push_back(rowsOf(in.v, tokens));
    places.emplace_back(DType::i32, zeros.shape());
    for (int64_t i = 0; i < zeros.size(); ++i)
      places.back().set(i, double(tokens[size_t(i % c.queries)]));
    callOnGpu(OpKind::AttentionBlock,
              {&in.q, &k.back(), &v.back(), &zeros, &places[0], &zeros,
               &places.back()},
              {&sum, &got.lse, &room}, withStep(size_t(step)));
  }
  callOnGpu(OpKind::AttentionBlocksEnd, {&sum}, {&got.out, &got.lse});
  const std::string what = name + " " + nameOf(type) + " rank " +
                           std::to_string(rank) + " of " +
                           std::to_string(ranks);
  // Of several blocks each is rounded to bf16 before it is merged.
  const double forward = type == DType::f32 ? 1e-5 : 0x1p-6;
  const double backward = type == DType::f32 ? 2e-5 : 0x1p-5;
  expectClose(what + " out", got.out, wanted.out, forward);
  expectClose(what + " lse", got.lse, wanted.lse, 1e-5);
  for (size_t step = 0; step < k.size(); ++step) {
    const int64_t from = (rank - int64_t(step) + ranks) % ranks;
    Array dk(DType::f32, k[step].shape()), dv = dk;
    Array dkRoom = k[step], dvRoom = k[step];
    callOnGpu(OpKind::AttentionBlockBackward,
              {&in.dout, &got.out, &in.q, &k[step], &v[step], &got.lse, &zeros,
               &places[0], &zeros, &places[step]},
              {&dq, &dk, &dv, &dqRoom, &dkRoom, &dvRoom}, withStep(step),
              8 << 20);
    const std::vector<int64_t> tokens = tokensOf(from, ranks, piece);
    expectClose(what + " dk of " + std::to_string(from), dk,
                rowsOf(wanted.dk, tokens), backward);
    expectClose(what + " dv of " + std::to_string(from), dv,
                rowsOf(wanted.dv, tokens), backward);
  }
  expectClose(what + " dq", dq, wanted.dq, backward);
}

TEST_F(CudaRing, AgreesWithAttentionToTheWhole) {
  for (int64_t ranks : {2, 3})
    for (int64_t rank = 0; rank < ranks; ++rank) {
      checkRing("ours", ranks, rank, 37, 64, DType::f32, {});
      checkRing("ours", ranks, rank, 70, 128, DType::bf16, {});
      for (bool isDeterministic : {true, false})
        checkRing(isDeterministic ? "cuDNN in order" : "cuDNN", ranks, rank,
                  128, isDeterministic ? 128 : 64, DType::bf16,
                  {{"documents", false}, {"deterministic", isDeterministic}});
    }
  checkRing("cuDNN, ragged", 2, 1, 83, 64, DType::bf16, {{"documents", false}});
  checkRing("cuDNN, not causal", 2, 0, 64, 64, DType::bf16,
            {{"documents", false}, {"causal", false}});
  std::printf("  %s\n", testGpu()->attentionPlans().notice().c_str());
}

/// What a plan's workspace is sized by: the own block, of which others are
/// parts.
TEST_F(CudaRing, BlocksFitTheWorkspaceOfThePlan) {
  const std::vector<int64_t> queries = {1, 4096, 32, 128},
                             keys = {1, 4096, 8, 128};
  const device::Tensor q{nullptr, DType::bf16, queries},
      k{nullptr, DType::bf16, keys};
  for (bool isDeterministic : {true, false})
    for (const char* owner : {"own", "earlier", "later"}) {
      plan::Op op;
      op.attributes = {{"documents", false},
                       {"deterministic", isDeterministic},
                       {"keys", std::string(owner)}};
      const auto block = libraryBlock(op, q, k);
      ASSERT_TRUE(block);
      device::AttentionPlans& plans = testGpu()->attentionPlans();
      const int64_t forward = plans.forwardBytes(block->shape),
                    backward = plans.backwardBytes(block->shape);
      const int64_t given = plan::libraryWorkspace(
          plan::attentionSizes(op, DType::bf16, queries, keys));
      std::printf(
          "  %s%s: workspace %lld bytes forward, %lld backward of %lld\n",
          owner, isDeterministic ? " in order" : "", (long long)(forward),
          (long long)(backward), (long long)(given));
      EXPECT_GE(forward, 0) << plans.notice();
      EXPECT_GE(backward, 0) << plans.notice();
      EXPECT_LE(backward, given);
    }
}

} // namespace
} // namespace reciperun::kernels
