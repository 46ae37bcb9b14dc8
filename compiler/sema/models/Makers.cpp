// Finds the calls that made a tensor or parameter, for messages.

#include "compiler/sema/models/TensorHelp.h"
#include "compiler/sema/models/Trace.h"

namespace recipec::sema {

Value Tracer::reportIndex(const Tensor& tensor, SourceRange range,
                          const std::string& written) {
  // The parts of one tensor are one mistake.
  if (indexed.insert(tensor.id).second)
    evaluator.messages
        .report(diag::Kind::WrongType, range,
                "a tensor has no elements to take by `[]`")
        .help(wayOutOfIndex(written, lastDims(tensor.id)));
  return {};
}

std::string_view Tracer::makerOf(const Value& value) const {
  const Tensor* tensor = value.get<Tensor>();
  for (const recipe::Call& call : dataflow.calls)
    if (tensor && call.result == tensor->id)
      return call.op;
  return {};
}

std::string Tracer::lastDims(recipe::TensorId tensor) const {
  // Go back through ops that keep the last dimensions: norms, activations,
  // sums.
  for (size_t i = dataflow.calls.size(); i > 0; --i) {
    const recipe::Call& call = dataflow.calls[i - 1];
    if (call.result != tensor)
      continue;
    for (const recipe::Attribute& attribute : call.attributes)
      if (auto* mapping =
              std::get_if<recipe::DimsMapping>(&attribute.value.data)) {
        std::string text;
        for (recipe::DimId dim : mapping->to)
          text += (text.empty() ? "" : ", ") + dataflow.dims[size_t(dim)].name;
        return mapping->to.size() == 1 ? text : "[" + text + "]";
      }
    if (call.operands.empty())
      return {};
    // For a sum, follow the last operand: the first may be a residual stream
    // that comes from the embedding.
    tensor = call.op == "add" ? call.operands.back() : call.operands.front();
  }
  return {};
}

SourceRange Tracer::parameterMade(std::string_view name) const {
  for (const recipe::Call& call : dataflow.calls)
    if (call.op == "parameter" &&
        (call.name == name || call.name.ends_with("." + std::string(name))))
      return call.range;
  return {};
}

SourceRange Evaluator::parameterMade(std::string_view name) const {
  return tracer ? tracer->parameterMade(name) : SourceRange{};
}

} // namespace recipec::sema
