// A request of KServe's protocol and its responses, independent of HTTP and
// gRPC.

#ifndef RECIPERUN_SERVER_MODELS_INFERREQUEST_H
#define RECIPERUN_SERVER_MODELS_INFERREQUEST_H

#include "runtime/base/Status.h"
#include "runtime/server/models/Tensor.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace reciperun::server {

using Parameter = std::variant<bool, int64_t, uint64_t, double, std::string>;
using Parameters = std::map<std::string, Parameter>;

/// Identifies the sequence of a request. 0 or an empty text: no sequence.
using SequenceId = std::variant<uint64_t, std::string>;

struct RequestedOutput {
  std::string name;
  /// How many of the likeliest classes to send in place of the tensor; 0: the
  /// tensor.
  int64_t classes = 0;
};

struct InferRequest {
  std::string model;
  int64_t version = -1; // -1: the greatest that is ready
  std::string id;       // empty: none
  SequenceId sequence = uint64_t(0);
  bool isSequenceStart = false, isSequenceEnd = false;
  uint64_t priority = 0;            // 1 is the highest; 0: the model's default
  uint64_t timeoutMicroseconds = 0; // in a queue; 0: the model's default
  Parameters parameters;            // all others
  std::vector<Tensor> inputs;
  std::vector<RequestedOutput> outputs; // empty: all
};

/// The input with a name; null without it.
inline const Tensor* findInput(const InferRequest& request,
                               const std::string& name) {
  const auto found = std::ranges::find(request.inputs, name, &Tensor::name);
  return found == request.inputs.end() ? nullptr : &*found;
}

/// The tokens that a language model has read and written.
struct TokenCounts {
  int64_t prompt = 0, answer = 0;

  TokenCounts& operator+=(const TokenCounts& more) {
    prompt += more.prompt;
    answer += more.answer;
    return *this;
  }
};

/// One response. A model without decoupled transactions sends exactly one.
struct InferResponse {
  Status status = {};       // a failed response has only this
  std::string model = {};   // the model that answered
  std::string version = {}; // of that model
  std::string id = {};      // of the request
  Parameters parameters = {};
  std::vector<Tensor> outputs = {};
  TokenCounts tokens = {}; // since the previous response
  bool isLast = true;
  /// A last response without contents, which says that no other one follows.
  bool isEmpty = false;
};

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_MODELS_INFERREQUEST_H
