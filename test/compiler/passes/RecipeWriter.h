// Builds recipes for tests of passes without the front end.
//
// The model is written call by call, as sema would trace it. Settings are
// written by their dotted paths.

#ifndef RECIPEC_TEST_COMPILER_PASSES_RECIPEWRITER_H
#define RECIPEC_TEST_COMPILER_PASSES_RECIPEWRITER_H

#include "compiler/recipe/Recipe.h"

#include <string>
#include <vector>

namespace recipec::test {

class RecipeWriter {
public:
  using DimId = recipe::DimId;
  using TensorId = recipe::TensorId;
  using Dims = std::vector<DimId>;

  /// Settings of a small run on one rank in fp32: 2 samples of 8 tokens.
  RecipeWriter();

  template <class T> RecipeWriter& set(const std::string& path, T data) {
    at(path).data = std::move(data);
    return *this;
  }
  RecipeWriter& degrees(int64_t dp, int64_t tp, bool sequence);
  /// The layout of experts over the ranks of `degrees`.
  RecipeWriter& experts(int64_t ep, int64_t etp);
  RecipeWriter& lora(int64_t rank, double dropout,
                     const std::vector<std::string>& targets);

  DimId dim(const std::string& name, int64_t size);
  TensorId tokens() const { return result.model.tokens; }
  TensorId parameter(const std::string& name, const Dims& shape);
  TensorId embedding(TensorId tokens, TensorId table);
  TensorId linear(const std::string& name, TensorId x, const Dims& from,
                  const Dims& to, TensorId weight = TensorId::none,
                  bool hasBias = false);
  TensorId norm(const std::string& name, TensorId x,
                TensorId weight = TensorId::none, bool isCentered = false);
  TensorId layerNorm(const std::string& name, TensorId x, bool hasBias = true,
                     bool isCentered = false, TensorId weight = TensorId::none);
  TensorId rope(TensorId x, double fraction = 1.0, bool isInterleaved = false);
  /// 0 means no bound.
  struct AttentionBounds {
    int64_t window = 0;
    int64_t chunk = 0;
    double softcap = 0;
  };
  TensorId attention(TensorId q, TensorId k, TensorId v) {
    return attention(q, k, v, AttentionBounds());
  }
  TensorId attention(TensorId q, TensorId k, TensorId v,
                     const AttentionBounds& bounds);
  /// `silu`, `add`, `mul`: an op without attributes.
  TensorId op(const std::string& name, const std::vector<TensorId>& operands);
  /// An op with one activation and arguments.
  TensorId
  unary(const std::string& name, TensorId x,
        const std::vector<std::pair<std::string, recipe::Value>>& arguments);
  TensorId narrow(TensorId x, DimId from, DimId to, int64_t begin = 0);
  TensorId select(TensorId x, DimId over, int64_t index);
  TensorId concat(TensorId a, TensorId b, DimId to);
  TensorId broadcast(TensorId x, DimId over);
  TensorId scale(TensorId x, double alpha);
  TensorId furtherLoss(TensorId logits, TensorId further, double factor);
  TensorId dropout(TensorId x, double p);

  /// `capacity` 0 means no limit.
  struct RouterSettings {
    int64_t choices = 2;
    double capacity = 0;
    bool isSigmoid = false;
    double auxLoss = 0;
    double zLoss = 0;
  };
  TensorId router(const std::string& name, TensorId x, DimId from,
                  DimId experts, const RouterSettings& settings);
  TensorId dispatch(TensorId x, TensorId routing, bool weighted = false);
  TensorId expertLinear(const std::string& name, TensorId x, DimId from,
                        const Dims& to, DimId experts, bool stacked = false);
  TensorId combine(TensorId x, TensorId routing, bool weighted = true);

  struct Mamba {
    DimId heads, headDim, groups, state;
    int64_t kernel = 3;
    int64_t chunk = 3;
  };
  TensorId mamba2(const std::string& name, TensorId x, DimId from,
                  const Mamba& mixer);

  /// Assigns the following calls to a layer; -1 means no layer.
  void layer(int number) { currentLayer = number; }
  recipe::Recipe finish(TensorId output);

private:
  recipe::Value& at(const std::string& path);
  recipe::Call& call(const std::string& op, std::vector<TensorId> operands,
                     const std::string& name = "");

  recipe::Recipe result;
  int currentLayer = -1;
};

/// A Llama of width 16 with 8 heads of 4, 4 key heads, ffn 24, vocabulary 32.
recipe::Recipe llama(RecipeWriter writer, int layers, bool tied = false);

} // namespace recipec::test

#endif // RECIPEC_TEST_COMPILER_PASSES_RECIPEWRITER_H
