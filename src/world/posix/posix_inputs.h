// Files of this machine as Inputs. gzip, xz, zstd, bzip2, tar and zip are taken apart by
// libarchive, known by their first bytes and never by a name.
#pragma once

#include "world/inputs.h"

namespace muster {

class PosixInputs : public Inputs {
 public:
  void Visit(const std::string& path, InputSink& sink) override;
  Result<uint64_t> ReadFrom(const std::string& path, uint64_t offset, InputSink& sink) override;

 private:
  void VisitFolder(const std::string& path, InputSink& sink, int depth);
  void VisitFile(const std::string& path, InputSink& sink);
};

}  // namespace muster
