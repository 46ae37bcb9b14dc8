// An endless sequence of rows of random tokens for benchmarks; each row is
// generated from its number.

#ifndef RECIPERUN_DATA_MOCKROWS_H
#define RECIPERUN_DATA_MOCKROWS_H

#include "runtime/data/Rows.h"
#include "runtime/plan/Plan.h"

namespace reciperun::data {

class MockRows : public Rows {
public:
  MockRows(const plan::Data& data, DataSet set);

  int64_t ofEpoch(int64_t epoch) const override;
  Expected<int64_t> weight(const RowPlace& place) const override;
  Status fill(const RowPlace& place, Row& row) const override;
  std::string extent() const override { return "mock rows"; }
  std::string origin(const RowPlace& place) const override;

private:
  DataSet set;
  int64_t sequence;
  int64_t vocab;
  uint64_t seed;
};

} // namespace reciperun::data

#endif // RECIPERUN_DATA_MOCKROWS_H
