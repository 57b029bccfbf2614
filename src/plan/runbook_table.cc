// The runbooks inside this binary.
#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "catalogue/catalogue.h"
#include "plan/runbook.h"

namespace muster {

Result<std::vector<Runbook>> LoadEmbeddedRunbooks() {
  TRY(const Catalogue* const catalogue, LoadEmbedded());
  std::vector<std::string> codes;
  for (const Criterion& criterion : catalogue->criteria) codes.push_back(criterion.code);
  std::vector<Runbook> books;
  for (const EmbeddedFile& file : EmbeddedCatalogue()) {
    if (!file.name.starts_with("runbooks/")) continue;
    TRY(Runbook book, ParseRunbook(file.text, fmt::format("catalogue/{}", file.name), codes));
    books.push_back(std::move(book));
  }
  const auto number = [](const Runbook& book) {
    const auto n = ParseInt(std::string_view(book.id).substr(book.id.empty() ? 0 : 1));
    return n.ok() ? *n : 1'000'000;
  };
  std::stable_sort(books.begin(), books.end(), [&](const Runbook& a, const Runbook& b) {
    return std::pair(number(a), a.id) < std::pair(number(b), b.id);
  });
  return books;
}

}  // namespace muster
