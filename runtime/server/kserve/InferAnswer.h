// The body of an answer to an infer request.

#ifndef RECIPERUN_SERVER_KSERVE_INFERANSWER_H
#define RECIPERUN_SERVER_KSERVE_INFERANSWER_H

#include "runtime/server/kserve/InferBody.h"

#include <cstddef>
#include <string>

namespace reciperun::server {

struct InferAnswer {
  std::string body;
  size_t jsonBytes = 0; // the rest are tensors as bytes
  bool isBinary() const { return jsonBytes < body.size(); }
};

/// The answer with a response that did not fail. Fails where an output cannot
/// be written in the form that `call` asks for.
Expected<InferAnswer> inferAnswerOf(const InferResponse& response,
                                    const InferCall& call);

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_KSERVE_INFERANSWER_H
