// Builds attention cases and runs them, forward and backward, on the CPU and on
// a GPU.

#include "test/runtime/kernels/CudaAttentionCases.h"
#include "runtime/ops/OpKind.h"

#include <algorithm>
#include <utility>

namespace reciperun::kernels {

using plan::DType;
using plan::OpKind;

namespace {

/// Rows of one document each.
Side plainSide(int64_t batch, int64_t tokens) {
  Side side;
  for (int64_t i = 0; i < batch * tokens; ++i) {
    side.segments.push_back(0);
    side.places.push_back(i % tokens);
  }
  return side;
}

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

} // namespace

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
                        Attributes attributes) {
  const Side side = plainSide(batch, tokens);
  return {name,  batch,    tokens, tokens,
          heads, keyHeads, width,  std::move(attributes),
          side,  side};
}

AttentionCase packedCase(const std::string& name, int64_t tokens,
                         const std::vector<int64_t>& lengths, int64_t width,
                         Attributes attributes) {
  AttentionCase made =
      plainCase(name, 2, tokens, 6, 2, width, std::move(attributes));
  made.asking = made.asked = packedSide(2, tokens, lengths);
  return made;
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
                       int64_t workspaceBytes) {
  AttentionArrays in(c, type);
  if (!workspaceBytes && type == DType::bf16)
    workspaceBytes = 2 * in.k.size() * 4;
  return attend(c, in, type, [&](OpKind kind, auto inputs, auto outputs) {
    callOnGpu(kind, inputs, outputs, c.attributes,
              kind == OpKind::AttentionBackward ? workspaceBytes : 0);
  });
}

void compareAttention(const std::string& what, const AttentionResults& got,
                      const AttentionResults& wanted, DType type) {
  const double forward = type == DType::f32 ? 1e-5 : 0x1p-7;
  const double backward = type == DType::f32 ? 2e-5 : 0x1p-6;
  expectClose(what + " out", got.out, wanted.out, forward);
  expectClose(what + " lse", got.lse, wanted.lse, 1e-5); // always in f32
  expectClose(what + " dq", got.dq, wanted.dq, backward);
  expectClose(what + " dk", got.dk, wanted.dk, backward);
  expectClose(what + " dv", got.dv, wanted.dv, backward);
}

} // namespace reciperun::kernels
