#include "diagnose/plan.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "base/strings.h"
#include "diagnose/knowledge.h"
#include "diagnose/pace.h"

namespace muster::diagnose {

namespace {

constexpr Marker kMarkers[] = {
    {"nvrm:", "kernel log", false},
    {"linux version ", "kernel log"},
    {" kernel: ", "kernel log"},
    {"mlx5_core ", "kernel log", false},
    {"pci 0000:", "kernel log"},
    {"nvidia-nvswitch", "kernel log", false},
    {"systemd[", "kernel log"},
    {"nccl info", "NCCL log"},
    {"nccl warn", "NCCL log"},
    {"nccl version", "NCCL log", false},
    {"torch/distributed", "PyTorch log", false},
    {"processgroup", "PyTorch log", false},
    {"traceback (most recent call last)", "Python traceback", false},
    {"iteration ", "training log", true, true},
    {" loss:", "training log", true, true},  // not "packet loss, time 3 ms"
    {" loss=", "training log", true, true},
    {" loss ", "training log", true, true},
    {"step:", "training log", true, true},
    {"step=", "training log", true, true},
    {"step ", "training log", true, true},
    {"slurmctld", "Slurm log", false},
    {"slurmd", "Slurm log", false},
    {"slurmstepd", "Slurm log", false},
    {"jobid=", "Slurm", false},
    {"partition", "Slurm", false},
    {"apiversion:", "Kubernetes object", false},
    {"namespace:", "Kubernetes object", false},
    {"events:", "Kubernetes object", false},
    {"normal ", "Kubernetes events"},
    {"kubelet[", "kubelet log"},
    {"vllm", "vLLM log", false},
    {"engine core", "vLLM log", false},
    {"fabric manager", "fabric manager log", false},
    {"fabricmanager", "fabric manager log", false},
    {"sminfo:", "sminfo"},
    {"osm_", "subnet manager log"},
    {"subnet up", "subnet manager log"},
    {"dcgm", "DCGM", false},
    {"overall health            | healthy", "dcgmi health"},
    {"overall health: healthy", "dcgmi health"},
    {" gpus found", "dcgmi discovery"},
    {"degrees c", "ipmitool"},
    {" | asserted", "ipmitool"},
    {"ibdiagnet", "ibdiagnet", false},
    {"-i- ", "ibdiagnet"},
    {"initializing a v", "vLLM log", false},
    {"application startup complete", "vLLM log"},
    {"kv_cache_utils", "vLLM log"},
    {"gpu_model_runner", "vLLM log"},
    {"checkpoint", "training log", true, true},
    {"starting (type=", "systemd"},
    {"fabric manager log", "fabric manager log"},
    {"gpu 00000000:", "nvidia-smi"},
    {"nodes checked", "ibqueryerrors"},
    {"server is fired up", "SGLang log"},
    {"gen throughput", "SGLang log", true, true},
    {"#new-token: ", "SGLang log", true, true},
    {"token usage: ", "SGLang log", true, true},
    {"'loss': ", "training log", true, true},
    {"it/s]", "training log", false},
    {"it/s, ", "training log"},
    {"|loss: ", "training log", true, true},
    {"loss/train/total: ", "training log", true, true},
    {R"("loss": ")", "training log", true, true},
    {"\tloss ", "training log", true, true},
    {"img/sec", "training log"},
    {"torchelastic.worker.status.succeeded", "torchelastic's events"},
    {"| train_loss ", "training log", true, true},
    {"`trainer.fit` stopped: `max_", "training log"},
    {"# osu mpi", "OSU benchmark"},
    {"bw average[gb/sec]", "perftest"},
    {"bw average[mb/sec]", "perftest"},
    {"t_avg[usec]", "perftest"},
    {" level=info ", "log in logfmt"},
    {R"("event":"step",)", "training log"},
};

constexpr InsideKey kInside[] = {
    {"lnksta:", "lspci"},
    {"kernel driver in use:", "lspci"},
    {"kernel modules:", "lspci"},
    {"lnkcap:", "lspci"},
    {"     enabled              ", "rocm-smi"},
    {"physical state:", "ibstat"},
    {"gpu link info", "nvidia-smi -q"},
    {"pcie generation", "nvidia-smi -q"},
    {"remapping failure occurred", "nvidia-smi -q"},
    {"hw thermal slowdown", "nvidia-smi -q"},
    {"gpu current temp", "nvidia-smi -q"},
    {"persistence-m", "nvidia-smi"},
    {"| denylist", "dcgmi diag"},
    {"| nvml library", "dcgmi diag"},
    {"| gpu memory ", "dcgmi diag"},
    {"symbolerrorcounter:.", "perfquery"},
    {"linkdownedcounter:.", "perfquery"},
    {"portrcverrors:.", "perfquery"},
    {"portxmitdiscards:.", "perfquery"},
    {"locallinkintegrityerrors:.", "perfquery"},
    {"  state=", "scontrol show node"},
    {"counter == ", "ibqueryerrors"},
    {"[portrcverrors == ", "ibqueryerrors"},
    {"sensor type (", "ipmitool sensor record"},
    {"states asserted  ", "ipmitool sensor record"},
    {"assertions enabled  ", "ipmitool sensor record"},
};

constexpr std::string_view kKernelAnchors[] = {"nvrm: xid",
                                               "sxid",
                                               "xid (",
                                               "fallen off the bus",
                                               "gpu at pci:",
                                               "rate limiting gsp",
                                               "aer:",
                                               "dpc:",
                                               "link down",
                                               "card not present",
                                               "mlx5_core",
                                               "killed process",
                                               "nv_get_p2p",
                                               "libnccl",
                                               "pcieport",
                                               "pciehp",
                                               "corrected error",
                                               ": link up",
                                               ": link is ",
                                               ": nic link is ",
                                               ": link down",
                                               "gained carrier",
                                               "lost carrier",
                                               "linux version ",
                                               "link status definitely"};

// Headings around the extended resources of a node, and their names.
constexpr std::string_view kDeviceAnchors[] = {
    "capacity:",   "allocatable:",         "limits:", "requests:",     "allocated resources:",
    "nvidia.com/", "amd.com/gpu",          "rdma/",   "mellanox.com/", "habana.ai/",
    "intel.com/",  "vpc.amazonaws.com/efa"};

}  // namespace

const Marker& MarkerAt(size_t index) { return kMarkers[index]; }
const InsideKey& InsideAt(size_t index) { return kInside[index]; }

bool Says(const Marker& marker, std::string_view line) {
  if (!marker.digit) return true;
  constexpr size_t kNear = 12;
  const std::string lower = ToLower(line);
  for (size_t at = lower.find(marker.anchor); at != std::string::npos;
       at = lower.find(marker.anchor, at + 1)) {
    const std::string_view rest =
        std::string_view(lower).substr(at + marker.anchor.size()).substr(0, kNear);
    if (rest.find_first_of("0123456789") != std::string_view::npos) return true;
  }
  return false;
}

std::shared_ptr<const ReaderPlan> MakeReaderPlan(const std::vector<SignLine>& lines) {
  auto plan = std::make_shared<ReaderPlan>();
  std::vector<std::string> anchors;
  const auto add = [&](std::string_view anchor, Owner owner, size_t index) {
    anchors.emplace_back(anchor);
    plan->uses.push_back({owner, index});
  };
  for (size_t i = 0; i < lines.size(); ++i) add(lines[i].pattern.anchor(), Owner::kPattern, i);
  for (const auto list :
       {HcaSections(),        LinkSections(),      CounterSections(),  SmiSections(),
        SmiTableSections(),   NvlinkSections(),    DcgmSections(),     PciSections(),
        SchedulerSections(),  ObjectSections(),    MeasureSections(),  CollectiveSections(),
        PeerTestSections(),   BandwidthSections(), TopologySections(), BmcSections(),
        CompletionSections(), ServiceSections(),   PortSections(),     ReportSections(),
        HostSections(),       DeviceSections(),    FaultSections()})
    for (const SectionKind& known : list) {
      add(known.anchor, Owner::kSection, plan->kinds.size());
      plan->kinds.push_back(&known);
    }
  for (size_t i = 0; i < std::size(kMarkers); ++i) add(kMarkers[i].anchor, Owner::kMarker, i);
  for (size_t i = 0; i < std::size(kInside); ++i) add(kInside[i].anchor, Owner::kInside, i);
  for (const std::string_view anchor : kKernelAnchors) add(anchor, Owner::kKernel, 0);
  for (const std::string_view anchor : {".go:", ".cc:", ".cpp:", ".py:"})
    add(anchor, Owner::kLevel, 0);
  add("\", line ", Owner::kFrame, 0);
  for (size_t i = 0; i < PaceKeys().size(); ++i) add(PaceKeys()[i].anchor, Owner::kPace, i);
  for (const std::string_view anchor : kDeviceAnchors) add(anchor, Owner::kDevices, 0);
  add("exception ignored in", Owner::kCaught, 0);
  add("--- logging error ---", Owner::kCaught, 0);
  plan->scanner = std::make_unique<Scanner>(std::move(anchors));
  return plan;
}

}  // namespace muster::diagnose
