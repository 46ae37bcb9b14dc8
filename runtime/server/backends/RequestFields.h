// The values of a request's inputs and parameters by name.

#ifndef RECIPERUN_SERVER_BACKENDS_REQUESTFIELDS_H
#define RECIPERUN_SERVER_BACKENDS_REQUESTFIELDS_H

#include "runtime/base/Status.h"
#include "runtime/server/models/InferRequest.h"

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace reciperun::server {

/// Reads inputs or, if there is none with the name, parameters. An input of one
/// element is a scalar. A value of the wrong type counts as absent and is
/// reported by status().
class RequestFields {
public:
  /// `request` must outlive the object.
  explicit RequestFields(const InferRequest& request) : request(request) {}

  std::optional<double> number(const std::string& name);
  std::optional<int64_t> integer(const std::string& name);
  std::optional<bool> flag(const std::string& name);
  std::optional<std::string> text(const std::string& name);

  // All elements of an input; empty without it.
  std::vector<int64_t> integers(const std::string& name);
  std::vector<double> numbers(const std::string& name);
  std::vector<std::string> texts(const std::string& name);

  /// Fails with the first value of a wrong type.
  const Status& status() const { return failure; }
  /// Fails if an input that has elements was never read.
  Status checkAllRead() const;

private:
  const Tensor* input(const std::string& name);
  const Parameter* parameter(const std::string& name);
  const Tensor* scalar(const std::string& name);
  void refuse(const std::string& name, const std::string& wanted);

  const InferRequest& request;
  std::set<std::string> read;
  Status failure;
};

/// The elements of a tensor of any integer type. Fails for other types.
Expected<std::vector<int64_t>> integersOf(const Tensor& tensor);
/// The elements of a tensor of any type of numbers. Fails for BYTES.
Expected<std::vector<double>> numbersOf(const Tensor& tensor);

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_BACKENDS_REQUESTFIELDS_H
