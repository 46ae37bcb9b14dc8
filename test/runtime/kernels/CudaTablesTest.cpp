// The GPU's embedding, its gradient and dropout compared with their CPU twins,
// on one rank of several. All of them look up values by token, sample or
// position.

#include "runtime/ops/OpKind.h"
#include "test/runtime/kernels/CudaOperands.h"

namespace reciperun::kernels {
namespace {

using plan::DType;
using plan::OpKind;

class CudaTables : public CudaParityTest {};

TEST_F(CudaTables, Embedding) {
  for (DType type : types)
    for (int64_t width : {1, 7, 64, 4096})
      for (int rank : {0, 1}) {
        Array tokens = below(60, {3, 50}, 1);
        Array table = numbers(type, {30, width}, 2), y(type, {3, 50, width});
        compare({OpKind::Embedding,
                 {&tokens, &table},
                 {&y},
                 {{"axis", std::string("tp")}},
                 {meshOf("tp", 2), rank}},
                {exact});
      }
}

TEST_F(CudaTables, EmbeddingBackward) {
  for (DType type : types)
    for (DType gradient : {DType::f32, type})
      for (int64_t width : {1, 7, 64, 1000, 4096})
        for (int64_t vocabulary : {2, 4, 60, 3000}) {
          if (width == 4096 && vocabulary == 3000)
            continue;
          Array tokens = below(vocabulary, {1, 333}, 1);
          Array dy = numbers(type, {1, 333, width}, 2);
          Array dtable = numbers(gradient, {vocabulary / 2, width}, 3);
          // The CPU accumulates one token after another.
          compare({OpKind::EmbeddingBackward,
                   {&tokens, &dy},
                   {&dtable},
                   {{"axis", std::string("tp")}},
                   {meshOf("tp", 2), 1}},
                  {tolerance(gradient, sums)});
        }
}

TEST_F(CudaTables, Dropout) {
  const std::vector<int64_t> shapes[] = {
      {2, 3},        {2, 5, 1},    {3, 7, 64},     {2, 9, 30},
      {2, 3, 4, 16}, {2, 3, 5, 7}, {1, 2, 3, 4, 8}};
  for (DType type : types)
    for (const auto& shape : shapes)
      for (int sharded : {-1, 2, 3}) {
        if (sharded >= int(shape.size()))
          continue;
        std::vector<std::string> axes(shape.size());
        if (sharded >= 0)
          axes[size_t(sharded)] = "tp";
        Array x = numbers(type, shape, 1), y = x;
        Array samples = below(1 << 30, {shape[0]}, 2, DType::i64);
        Array places = below(5000, {shape[0], shape[1]}, 3);
        compare({OpKind::Dropout,
                 {&x, &samples, &places},
                 {&y},
                 {{"p", 0.3},
                  {"seed", int64_t(17)},
                  {"stream", int64_t(-5)},
                  {"axes", axes}},
                 {meshOf("tp", 2), 1}},
                {exact});
      }
}

} // namespace
} // namespace reciperun::kernels
