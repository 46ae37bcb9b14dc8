// The GPU's mixture-of-experts kernels compared with their CPU twins: choices
// and row indices match exactly, computed values within a tolerance.

#include "runtime/ops/OpKind.h"
#include "test/runtime/kernels/CudaOperands.h"

namespace reciperun::kernels {
namespace {

using plan::DType;
using plan::OpKind;

// ---- routing

class CudaRouter : public CudaParityTest {};

struct RouteShape {
  int64_t batch, sequence, experts, choices;
  Attributes attributes = {};
  bool hasBias = false;
};

const std::string sigmoid = "sigmoid";

// With a capacity, gates are not normalised. A gate that depends on only two
// logits often equals another up to rounding, and the two devices would then
// keep different tokens.
const RouteShape routes[] = {
    {2, 7, 8, 2},
    {1, 1, 1, 1},
    {1, 33, 60, 4, {{"normalize", false}, {"scale", 2.5}}},
    {3, 50, 40, 6, {{"groups", int64_t(8)}, {"top_groups", int64_t(3)}}},
    {2,
     50,
     256,
     8,
     {{"score", sigmoid},
      {"groups", int64_t(8)},
      {"top_groups", int64_t(4)},
      {"scale", 2.5},
      {"aux_loss", 0.001}},
     true},
    {1,
     30,
     128,
     8,
     {{"groups", int64_t(64)}, {"top_groups", int64_t(9)}, {"z_loss", 0.01}}},
    {2,
     300,
     16,
     2,
     {{"limit", int64_t(20)}, {"normalize", false}, {"aux_loss", 0.01}}},
    {1,
     2000,
     8,
     2,
     {{"limit", int64_t(500)},
      {"normalize", false},
      {"score", sigmoid},
      {"z_loss", 0.001},
      {"aux_loss", 0.01},
      {"share", 0.5}},
     true},
    {1, 20, 1500, 10, {{"aux_loss", 0.01}, {"z_loss", 0.001}}},
};

/// All sequences but the first end in padding.
Array segmentsOf(int64_t batch, int64_t sequence) {
  Array segments(DType::i32, {batch, sequence});
  for (int64_t i = 0; i < segments.size(); ++i)
    segments.set(i, i / sequence > 0 && i % sequence > sequence / 2 ? -1 : 0);
  return segments;
}

TEST_F(CudaRouter, RouteAndItsGradient) {
  for (DType type : types)
    for (const RouteShape& shape : routes) {
      const std::vector<int64_t> chosen = {shape.batch, shape.sequence,
                                           shape.choices};
      Array logits =
          numbers(type, {shape.batch, shape.sequence, shape.experts}, 1);
      Array segments = segmentsOf(shape.batch, shape.sequence);
      Array bias = numbers(DType::f32, {shape.experts}, 2, 0.3);
      Array weights = below(3, {shape.batch, shape.sequence}, 3, DType::f32);
      Array scale = one(DType::f32, 0.0625);
      Array choices(DType::i32, chosen), gates(DType::f32, chosen);
      Array loss = one(DType::f64, 2);
      Array load = below(100, {shape.experts}, 4, DType::f64);
      Array dropped = below(100, {2}, 5, DType::f64);
      // A gate is a quotient of exponentials; the loss is a sum of gates.
      compare({OpKind::Route,
               {&logits, &segments, shape.hasBias ? &bias : nullptr, &weights,
                &scale},
               {&choices, &gates, &loss, &load, &dropped},
               shape.attributes},
              {exact, exponentials, {0x1p-17, 0}, exact, exact});
      compare({OpKind::Route,
               {&logits, &segments, nullptr, nullptr, nullptr},
               {&choices, &gates, nullptr, nullptr, nullptr},
               shape.attributes},
              {exact, exponentials});
      Array dgates = numbers(DType::f32, chosen, 6), dlogits = logits;
      const Tolerance slopes = tolerance(type, {0x1p-16, 0x1p-18});
      compare({OpKind::RouteBackward,
               {&dgates, &logits, &segments, &choices, &weights, &scale},
               {&dlogits},
               shape.attributes},
              {slopes});
      compare({OpKind::RouteBackward,
               {nullptr, &logits, &segments, &choices, &weights, &scale},
               {&dlogits},
               shape.attributes},
              {slopes});
      compare({OpKind::RouteBackward,
               {&dgates, &logits, &segments, &choices, nullptr, nullptr},
               {&dlogits},
               shape.attributes},
              {slopes});
    }
}

TEST_F(CudaRouter, OfEqualScoresTheLowerNumberWins) {
  Array logits(DType::f32, {1, 40, 64});
  Array segments(DType::i32, {1, 40});
  Array choices(DType::i32, {1, 40, 5}), gates(DType::f32, {1, 40, 5});
  compare({OpKind::Route,
           {&logits, &segments, nullptr, nullptr, nullptr},
           {&choices, &gates, nullptr, nullptr, nullptr},
           {{"limit", int64_t(7)}}},
          {exact, exponentials});
}

TEST_F(CudaRouter, BalanceExperts) {
  for (int64_t experts : {1, 8, 60, 700}) {
    Array load = below(5, {experts}, 1, DType::f64);
    Array bias = numbers(DType::f32, {experts}, 2);
    compare({OpKind::BalanceExperts, {&load}, {&bias}, {{"rate", 0.001}}},
            {exact});
  }
}

// ---- tokens to experts and back

class CudaExperts : public CudaParityTest {};

struct DispatchShape {
  int64_t tokens, choices, groups, members;
};

const DispatchShape dispatches[] = {{1, 1, 1, 1},    {7, 2, 1, 4},
                                    {300, 2, 3, 4},  {200, 8, 4, 64},
                                    {5000, 2, 1, 8}, {300, 5, 1, 1500}};

/// The experts that each token chooses. A tenth of the choices has no slot, and
/// a tenth of the tokens is padding.
Array choicesOf(const DispatchShape& shape) {
  Array choices =
      below(shape.groups * shape.members, {1, shape.tokens, shape.choices}, 1);
  for (int64_t i = 0; i < choices.size(); ++i) {
    if (i % 10 == 3)
      choices.set(i, -1 - choices.get(i));
    if (i / shape.choices % 10 == 7)
      choices.set(i, -1);
  }
  return choices;
}

TEST_F(CudaExperts, DispatchAndCombine) {
  for (DType type : types)
    for (const DispatchShape& shape : dispatches)
      for (int64_t width : {1, 40, 257})
        for (bool isGated : {false, true}) {
          if (shape.tokens > 1000 && width == 257)
            continue;
          const int64_t places = shape.tokens * shape.choices + 3;
          const std::vector<int64_t> chosen = {1, shape.tokens, shape.choices};
          Array x = numbers(type, {1, shape.tokens, width}, 2);
          Array choices = choicesOf(shape);
          Array gates = numbers(DType::f32, chosen, 3);
          Array* gate = isGated ? &gates : nullptr;
          Array y(type, {shape.groups, places, width});
          Array rows(DType::i32, chosen);
          Array counts(DType::i32, {shape.groups, 1, shape.members});
          compare(
              {OpKind::Dispatch, {&x, &choices, gate}, {&y, &rows, &counts}},
              {exact});
          Array dy = numbers(type, y.shape(), 4), dx = x;
          Array dgates(DType::f32, chosen);
          // Sums a few products, contracted into FMAs or not.
          const Tolerance added = tolerance(type, {0x1p-20, 0x1p-21});
          compare({OpKind::DispatchBackward,
                   {&dy, &rows, isGated ? &x : nullptr, gate},
                   {&dx, isGated ? &dgates : nullptr}},
                  {added, sums});
          Array out = x;
          compare({OpKind::Combine, {&dy, &rows, gate}, {&out}}, {added});
          compare({OpKind::CombineBackward,
                   {&x, &rows, nullptr, gate},
                   {&y, nullptr}},
                  {exact});
          if (isGated)
            compare({OpKind::CombineBackward,
                     {&x, &rows, &dy, gate},
                     {&y, &dgates}},
                    {exact, sums});
          Array dots = numbers(DType::f32, {shape.groups, places, 1}, 5);
          // A division on either device is correctly rounded.
          if (isGated)
            compare({OpKind::GatesBackward, {&dots, &rows, &gates}, {&dgates}},
                    {exact});
        }
}

TEST_F(CudaExperts, TakesBuffersThatAreNotAligned) {
  const DispatchShape shape{60, 2, 2, 4};
  for (DType type : types) {
    Array x = numbers(type, {1, 60, 64}, 2), y(type, {2, 120, 64}), out = x;
    Array choices = choicesOf(shape), rows = choices;
    Array counts(DType::i32, {2, 1, 4});
    compare({OpKind::Dispatch,
             {&x, &choices, nullptr},
             {&y, &rows, &counts},
             {},
             {},
             1},
            {exact});
    compare({OpKind::Combine, {&y, &rows, nullptr}, {&out}, {}, {}, 1},
            {tolerance(type, fewUnits)});
  }
}

TEST_F(CudaExperts, DotProductsOfRows) {
  for (DType type : types)
    for (int64_t rows : {1, 7, 300})
      for (int64_t width : {1, 40, 257, 1536})
        for (int offset : {0, 1}) {
          const std::vector<int64_t> shape = {1, rows, width};
          Array dy = numbers(type, shape, 1), gate = numbers(type, shape, 2),
                up = numbers(type, shape, 3), dgate = dy, dup = dy;
          Array dots(DType::f32, {1, rows, 1});
          compare({OpKind::RowDots, {&dy, &up}, {&dots}, {}, {}, offset},
                  {sums});
          // y is rounded before it is multiplied, and the devices'
          // exponentials may differ.
          const Tolerance products = tolerance(type, {0x1p-14, 0x1p-12});
          const Tolerance slopes = tolerance(type, exponentials);
          compare({OpKind::SwigluBackwardDots,
                   {&dy, &gate, &up},
                   {&dgate, &dup, &dots},
                   {},
                   {},
                   offset},
                  {slopes, slopes, products});
        }
}

struct PackShape {
  int64_t groups, blocks, members, height, places;
};

const PackShape packs[] = {{1, 1, 1, 5, 5},         {2, 3, 4, 20, 60},
                           {2, 3, 4, 20, 25},       {1, 8, 32, 96, 500},
                           {3, 4, 400, 1500, 5999}, {1, 2, 4, 20, 1}};

TEST_F(CudaExperts, PackAndUnpackRows) {
  for (DType type : types)
    for (const PackShape& shape : packs)
      for (int64_t width : {1, 8, 19}) {
        Array x = numbers(
            type, {shape.groups, shape.blocks * shape.height, width}, 1);
        // Some counts exceed the block's capacity: a kernel clamps values that
        // it reads from a buffer.
        Array counts = below(7, {shape.groups, shape.blocks, shape.members}, 2);
        Array y(type, {shape.groups, shape.places, width});
        Array packed(DType::i32, {shape.groups, 1, shape.members});
        Array overflow = below(50, {2}, 3, DType::f64);
        for (int64_t begin : {int64_t(0), shape.places / 2, shape.places}) {
          const Attributes from = {{"begin", begin}};
          compare(
              {OpKind::PackRows, {&x, &counts}, {&y, &packed, &overflow}, from},
              {exact});
          compare(
              {OpKind::PackRows, {&x, &counts}, {&y, nullptr, nullptr}, from},
              {exact});
          compare({OpKind::UnpackRows, {&y, &counts}, {&x}, from}, {exact});
        }
      }
}

} // namespace
} // namespace reciperun::kernels
