// The server of the tests (Inputs/s3_server.py) beside this program, and a
// client of it that soon gives up.

#ifndef RECIPEC_TEST_RUNTIME_STORAGE_S3SERVER_H
#define RECIPEC_TEST_RUNTIME_STORAGE_S3SERVER_H

#include "runtime/storage/S3Store.h"

#include <gtest/gtest.h>
#include <memory>
#include <string>

namespace reciperun::storage {

/// Settings of the process's environment with short waits.
Settings quickSettings();

/// A client with these settings and the environment's credentials.
std::shared_ptr<S3Client> clientWith(const Settings& settings);

/// Sets the faults of the next requests, a JSON list.
void setFaults(const std::string& faults);
/// Sets the server's clock ahead.
void setClock(int seconds);
/// Sets the number of keys on a page of a list.
void setPage(int keys);
/// The number of requests so far whose record has this text.
int requestsWith(const std::string& text);

/// A test with a store at a prefix of its own.
class S3Test : public testing::Test {
protected:
  S3Test();
  ~S3Test() override;

  std::shared_ptr<S3Client> client;
  S3Store store;
};

/// Bytes that differ from place to place.
std::string patternOf(size_t bytes);

} // namespace reciperun::storage

#endif // RECIPEC_TEST_RUNTIME_STORAGE_S3SERVER_H
