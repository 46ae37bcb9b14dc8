// Builds recipes call by call; see RecipeWriter.h.

#include "test/compiler/passes/RecipeWriter.h"

namespace recipec::test {

using recipe::Attribute;
using recipe::DimsMapping;
using recipe::DimValue;
using recipe::List;
using recipe::Record;
using recipe::Value;

namespace {

Value valueOf(decltype(Value::data) data) {
  return {std::move(data), {}};
}

Value normal() {
  return valueOf(Record{"normal", {{"std", valueOf(0.02)}}});
}

} // namespace

RecipeWriter::RecipeWriter() {
  result.name = "test";
  result.settings.data = Record{"recipe", {}};
  result.model.tokens = TensorId(result.model.tensorCount++);
  set("task", std::string("pretrain"));
  set("precision.compute", std::string("fp32"));
  set("batch.micro", int64_t(2));
  set("data.sequence", int64_t(8));
  set("train.seed", int64_t(7));
  set("adapter", recipe::None{});
  set("memory.expert_rows", recipe::None{});
  degrees(1, 1, false);
}

Value& RecipeWriter::at(const std::string& path) {
  Value* value = &result.settings;
  for (size_t begin = 0; begin <= path.size();) {
    size_t end = std::min(path.find('.', begin), path.size());
    if (!std::holds_alternative<Record>(value->data))
      value->data = Record{};
    auto& fields = std::get<Record>(value->data).fields;
    std::string name = path.substr(begin, end - begin);
    value = nullptr;
    for (auto& [key, field] : fields)
      if (key == name)
        value = &field;
    if (!value)
      value = &fields.emplace_back(name, Value{}).second;
    begin = end + 1;
  }
  return *value;
}

RecipeWriter& RecipeWriter::degrees(int64_t dp, int64_t tp, bool sequence) {
  set("parallel.dp", dp);
  set("parallel.tp", tp);
  for (const char* name :
       {"pp", "cp", "cp_a2a", "shard_instances", "ep", "etp"})
    set(std::string("parallel.") + name, int64_t(1));
  set("parallel.edp", dp * tp);
  set("parallel.cp_comm", std::string("p2p"));
  return set("parallel.sequence", sequence);
}

RecipeWriter& RecipeWriter::experts(int64_t ep, int64_t etp) {
  int64_t ranks = std::get<int64_t>(at("parallel.dp").data) *
                  std::get<int64_t>(at("parallel.tp").data);
  set("parallel.ep", ep);
  set("parallel.etp", etp);
  return set("parallel.edp", ranks / (ep * etp));
}

RecipeWriter& RecipeWriter::lora(int64_t rank, double dropout,
                                 const std::vector<std::string>& targets) {
  List names;
  for (const std::string& target : targets)
    names.push_back(valueOf(target));
  set("adapter.rank", rank);
  set("adapter.alpha", 2.0 * double(rank));
  set("adapter.dropout", dropout);
  return set("adapter.targets", std::move(names));
}

recipe::DimId RecipeWriter::dim(const std::string& name, int64_t size) {
  result.model.dims.push_back({name, size, {}});
  return DimId(result.model.dims.size() - 1);
}

recipe::Call& RecipeWriter::call(const std::string& op,
                                 std::vector<TensorId> operands,
                                 const std::string& name) {
  recipe::Call call;
  call.op = op;
  call.operands = std::move(operands);
  call.name = name;
  call.hfName = name.empty() ? "" : "hf." + name;
  call.layer = currentLayer;
  call.result = TensorId(result.model.tensorCount++);
  return result.model.calls.emplace_back(std::move(call));
}

recipe::TensorId RecipeWriter::parameter(const std::string& name,
                                         const Dims& shape) {
  List dims;
  for (DimId dim : shape)
    dims.push_back(valueOf(DimValue{dim}));
  recipe::Call& made = call("parameter", {}, name);
  made.attributes = {{"shape", valueOf(std::move(dims))},
                     {"init", normal()},
                     {"decay", valueOf(recipe::Auto{})}};
  return made.result;
}

recipe::TensorId RecipeWriter::embedding(TensorId tokens, TensorId table) {
  return call("embedding", {tokens, table}).result;
}

recipe::TensorId RecipeWriter::linear(const std::string& name, TensorId x,
                                      const Dims& from, const Dims& to,
                                      TensorId weight, bool hasBias) {
  recipe::Call& made = call("linear", {x, weight}, name);
  made.attributes = {{"dims", valueOf(DimsMapping{from, to})},
                     {"bias", valueOf(hasBias)},
                     {"init", normal()},
                     {"decay", valueOf(recipe::Auto{})}};
  return made.result;
}

recipe::TensorId RecipeWriter::norm(const std::string& name, TensorId x,
                                    TensorId weight, bool isCentered) {
  recipe::Call& made = call("rmsnorm", {x, weight}, name);
  made.attributes = {{"eps", valueOf(1e-5)},
                     {"centered", valueOf(isCentered)},
                     {"decay", valueOf(recipe::Auto{})}};
  return made.result;
}

recipe::TensorId RecipeWriter::layerNorm(const std::string& name, TensorId x,
                                         bool hasBias, bool isCentered,
                                         TensorId weight) {
  recipe::Call& made = call("layernorm", {x, weight}, name);
  made.attributes = {{"eps", valueOf(1e-5)},
                     {"bias", valueOf(hasBias)},
                     {"centered", valueOf(isCentered)},
                     {"decay", valueOf(recipe::Auto{})}};
  return made.result;
}

recipe::TensorId RecipeWriter::rope(TensorId x, double fraction,
                                    bool isInterleaved) {
  recipe::Call& made = call("rope", {x});
  made.attributes = {{"theta", valueOf(10000.0)},
                     {"scaling", valueOf(recipe::None{})},
                     {"fraction", valueOf(fraction)},
                     {"interleaved", valueOf(isInterleaved)}};
  return made.result;
}

recipe::TensorId RecipeWriter::attention(TensorId q, TensorId k, TensorId v,
                                         const AttentionBounds& bounds) {
  auto boundOf = [](auto bound) {
    return bound > 0 ? valueOf(bound) : valueOf(recipe::None{});
  };
  recipe::Call& made = call("attention", {q, k, v});
  made.attributes = {{"causal", valueOf(true)},
                     {"scale", valueOf(recipe::Auto{})},
                     {"window", boundOf(bounds.window)},
                     {"chunk", boundOf(bounds.chunk)},
                     {"softcap", boundOf(bounds.softcap)}};
  return made.result;
}

recipe::TensorId RecipeWriter::op(const std::string& name,
                                  const std::vector<TensorId>& operands) {
  return call(name, operands).result;
}

recipe::TensorId RecipeWriter::unary(
    const std::string& name, TensorId x,
    const std::vector<std::pair<std::string, Value>>& arguments) {
  recipe::Call& made = call(name, {x});
  for (const auto& [argument, value] : arguments)
    made.attributes.push_back({argument, value});
  return made.result;
}

recipe::TensorId RecipeWriter::narrow(TensorId x, DimId from, DimId to,
                                      int64_t begin) {
  recipe::Call& made = call("narrow", {x});
  made.attributes = {{"dims", valueOf(DimsMapping{{from}, {to}})},
                     {"begin", valueOf(begin)}};
  return made.result;
}

recipe::TensorId RecipeWriter::select(TensorId x, DimId over, int64_t index) {
  recipe::Call& made = call("select", {x});
  made.attributes = {{"over", valueOf(DimValue{over})},
                     {"index", valueOf(index)}};
  return made.result;
}

recipe::TensorId RecipeWriter::concat(TensorId a, TensorId b, DimId to) {
  recipe::Call& made = call("concat", {a, b});
  made.attributes = {{"to", valueOf(DimValue{to})}};
  return made.result;
}

recipe::TensorId RecipeWriter::broadcast(TensorId x, DimId over) {
  recipe::Call& made = call("broadcast", {x});
  made.attributes = {{"over", valueOf(DimValue{over})}};
  return made.result;
}

recipe::TensorId RecipeWriter::furtherLoss(TensorId logits, TensorId further,
                                           double factor) {
  recipe::Call& made = call("further_loss", {logits, further});
  made.attributes = {{"factor", valueOf(factor)}};
  return made.result;
}

recipe::TensorId RecipeWriter::scale(TensorId x, double alpha) {
  recipe::Call& made = call("scale", {x});
  made.attributes = {{"alpha", valueOf(alpha)}};
  return made.result;
}

recipe::TensorId RecipeWriter::dropout(TensorId x, double p) {
  recipe::Call& made = call("dropout", {x});
  made.attributes = {{"p", valueOf(p)}};
  return made.result;
}

recipe::TensorId RecipeWriter::router(const std::string& name, TensorId x,
                                      DimId from, DimId experts,
                                      const RouterSettings& settings) {
  recipe::Call& made = call("router", {x}, name);
  Value capacity = valueOf(recipe::None{});
  if (settings.capacity > 0)
    capacity = valueOf(settings.capacity);
  made.attributes = {
      {"dims", valueOf(DimsMapping{{from}, {experts}})},
      {"top_k", valueOf(settings.choices)},
      {"score",
       valueOf(std::string(settings.isSigmoid ? "sigmoid" : "softmax"))},
      {"normalize", valueOf(!settings.isSigmoid)},
      {"scale", valueOf(settings.isSigmoid ? 1.5 : 1.0)},
      {"groups", valueOf(int64_t(1))},
      {"top_groups", valueOf(int64_t(1))},
      {"correction", valueOf(false)},
      {"aux_loss", valueOf(settings.auxLoss)},
      {"z_loss", valueOf(settings.zLoss)},
      {"capacity", std::move(capacity)},
      {"overflow", valueOf(std::string("drop"))},
      {"init", normal()},
      {"decay", valueOf(recipe::Auto{})}};
  return made.result;
}

recipe::TensorId RecipeWriter::dispatch(TensorId x, TensorId routing,
                                        bool weighted) {
  recipe::Call& made = call("dispatch", {x, routing});
  made.attributes = {{"weighted", valueOf(weighted)}};
  return made.result;
}

recipe::TensorId RecipeWriter::expertLinear(const std::string& name, TensorId x,
                                            DimId from, const Dims& to,
                                            DimId experts, bool stacked) {
  recipe::Call& made = call("expert_linear", {x}, name);
  made.attributes = {{"dims", valueOf(DimsMapping{{from}, to})},
                     {"experts", valueOf(DimValue{experts})},
                     {"stacked", valueOf(stacked)},
                     {"init", normal()},
                     {"decay", valueOf(recipe::Auto{})}};
  return made.result;
}

recipe::TensorId RecipeWriter::combine(TensorId x, TensorId routing,
                                       bool weighted) {
  recipe::Call& made = call("combine", {x, routing});
  made.attributes = {{"weighted", valueOf(weighted)}};
  return made.result;
}

recipe::TensorId RecipeWriter::mamba2(const std::string& name, TensorId x,
                                      DimId from, const Mamba& mixer) {
  recipe::Call& made = call("mamba2", {x}, name);
  made.attributes = {
      {"dims", valueOf(DimsMapping{{from}, {mixer.heads, mixer.headDim}})},
      {"groups", valueOf(DimValue{mixer.groups})},
      {"state", valueOf(DimValue{mixer.state})},
      {"kernel", valueOf(mixer.kernel)},
      {"chunk", valueOf(mixer.chunk)},
      {"eps", valueOf(1e-5)},
      {"init", normal()},
      {"decay", valueOf(recipe::Auto{})}};
  return made.result;
}

recipe::Recipe RecipeWriter::finish(TensorId output) {
  result.model.output = output;
  return std::move(result);
}

recipe::Recipe llama(RecipeWriter w, int layers, bool tied) {
  auto vocab = w.dim("vocab", 32), hidden = w.dim("hidden", 16),
       ffn = w.dim("ffn", 24), heads = w.dim("heads", 8),
       kvHeads = w.dim("kv_heads", 4), width = w.dim("head_dim", 4);
  auto table = w.parameter("embed", {vocab, hidden});
  auto x = w.embedding(w.tokens(), table);
  for (int i = 0; i < layers; ++i) {
    w.layer(i);
    std::string scope = "layers." + std::to_string(i) + ".";
    auto n = w.norm(scope + "input_norm", x);
    auto q = w.linear(scope + "q", n, {hidden}, {heads, width});
    auto k = w.linear(scope + "k", n, {hidden}, {kvHeads, width});
    auto v = w.linear(scope + "v", n, {hidden}, {kvHeads, width});
    auto a = w.attention(w.rope(q), w.rope(k), v);
    x = w.op("add", {x, w.linear(scope + "o", a, {heads, width}, {hidden})});
    n = w.norm(scope + "post_norm", x);
    auto gate = w.linear(scope + "gate", n, {hidden}, {ffn});
    auto up = w.linear(scope + "up", n, {hidden}, {ffn});
    auto wide = w.op("mul", {w.op("silu", {gate}), up});
    x = w.op("add", {x, w.linear(scope + "down", wide, {ffn}, {hidden})});
  }
  w.layer(-1);
  x = w.norm("norm", x);
  auto weight = tied ? table : recipe::TensorId::none;
  return w.finish(
      w.linear(tied ? "" : "lm_head", x, {hidden}, {vocab}, weight));
}

} // namespace recipec::test
