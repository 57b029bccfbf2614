#include "backend/lab/lab_endpoints.h"

#include "backend/lab/work/serve.h"

namespace muster::lab {

namespace {

class LabServed final : public ServedModel {
 public:
  explicit LabServed(ServedEndpoint served) : served_(std::move(served)) {}
  std::string url() const override { return served_.url; }
  std::string model() const override { return served_.model; }

 private:
  ServedEndpoint served_;
};

}  // namespace

Result<std::unique_ptr<ServedModel>> LabEndpoints::Open(const std::string& checkpoint) {
  EndpointOptions options;
  options.argv = {self_binary_, "lab-rank", "serve"};
  options.checkpoint = checkpoint;
  options.lab = lab_folder_;
  TRY(ServedEndpoint served, StartEndpoint(base_, options));
  return std::make_unique<LabServed>(std::move(served));
}

}  // namespace muster::lab
