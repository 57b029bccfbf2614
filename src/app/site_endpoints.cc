#include "app/site_endpoints.h"

namespace muster {

namespace {

class NamedModel final : public ServedModel {
 public:
  NamedModel(std::string url, std::string model) : url_(std::move(url)), model_(std::move(model)) {}
  std::string url() const override { return url_; }
  std::string model() const override { return model_; }

 private:
  std::string url_, model_;
};

}  // namespace

Result<std::unique_ptr<ServedModel>> NamedEndpoint::Open(const std::string&) {
  if (site_.inference.url.empty())
    return Fail(Code::kNotFound, "the site names no inference endpoint (inference.url)");
  return std::make_unique<NamedModel>(site_.inference.url, site_.inference.model);
}

}  // namespace muster
