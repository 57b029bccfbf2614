// What is physically so in a lab at a moment: one place where faults become readings. Every tool
// renderer asks here and only formats; so nvidia-smi, dcgmi, the exporter, the kernel log and sysfs
// tell one story. Pure.
#pragma once

#include <string>
#include <vector>

#include "backend/lab/state/lab_state.h"

namespace muster::lab {

struct XidEvent {
  int code = 0;
  TimePoint at;
  std::string text;  // what follows "NVRM: Xid (PCI:...): NN, " in the kernel log
};

struct GpuTruth {
  bool present = true;  // false: not on the bus at all
  bool lost = false;    // on the list, but "GPU is lost" (Xid 79)
  std::string model, uuid, serial, pci_bus_id;
  int index = 0, numa = 0;
  double temperature_celsius = 34, memory_temperature_celsius = 40, power_watt = 75,
         power_limit_watt = 700;
  bool throttle_thermal = false, throttle_power_brake = false;
  int64_t ecc_corrected_volatile = 0, ecc_uncorrected_volatile = 0, ecc_corrected_aggregate = 0,
          ecc_uncorrected_aggregate = 0;
  int64_t remapped_correctable = 0, remapped_uncorrectable = 0;
  bool remap_pending = false, remap_failed = false;
  bool mig_enabled = false, persistence = true;
  int pcie_gen = 5, pcie_gen_max = 5, pcie_width = 16, pcie_width_max = 16;
  int64_t pcie_replays = 0;
  int nvlinks = 18, nvlinks_active = 18;
  double nvlink_gbyte_per_s = 26.562;  // per link and direction, as nvidia-smi nvlink -s prints it
  int64_t nvlink_crc_errors = 0, nvlink_replays = 0;
  double memory_total_mib = 81559, memory_used_mib = 1;
  double utilisation = 0;  // 0 to 1
  std::string fabric_state = "Completed", fabric_status = "Success";
  bool diag_fails = false;        // a level-3 diagnostic of this GPU ends in Fail
  bool diag_hides_error = false;  // ... or in Pass with an allocation error inside
  std::vector<XidEvent> xids;
};

struct NodeTruth {
  bool reachable = true;
  std::string driver_version = "570.211.01", loaded_driver_version = "570.211.01",
              cuda_version = "12.8";
  std::string fabric_manager_version = "570.211.01", kernel = "6.8.0-87-generic",
              ofed_version = "MLNX_OFED_LINUX-24.10-2.1.8.0";
  std::string os_version = "22.04.5", dcgm_version = "4.2.3", container_toolkit_version = "1.18.0",
              containerd_version = "1.7.28";
  std::string hca_firmware = "28.43.2026", boot_id;
  bool fabric_manager_running = true, peermem_loaded = true;
  bool module_built = true;  // the NVIDIA module of the kernel that runs; without it none is loaded
  bool headers = true;       // of the kernel that runs
  int advertised_per_gpu = 1;  // how often the scheduler is offered each GPU
  bool mps_runs = false;
  Duration clock_offset{};
  Duration uptime{};
  bool exporter_answers = true;         // dcgm-exporter on port 9400
  double scrape_interval_seconds = 15;  // as Prometheus is told for this node
};

struct HcaTruth {
  bool present = true;
  std::string state = "Active", physical_state = "LinkUp";
  double rate_gbit_per_s = 400;  // aggregate, as ibstat prints it
  int lid = 0, sm_lid = 0;
  std::string node_guid, port_guid;  // 16 hex digits
};

// Counters as the hardware holds them now; the classic ones saturate (16 bit: 65535, some 8 or 4
// bit).
struct PortCounters {
  int64_t symbol_errors = 0, link_error_recovery = 0, link_downed = 0, rcv_errors = 0,
          rcv_remote_physical_errors = 0, rcv_switch_relay_errors = 0, xmit_discards = 0,
          xmit_constraint_errors = 0, rcv_constraint_errors = 0, local_link_integrity = 0,
          excessive_buffer_overrun = 0, vl15_dropped = 0, xmit_wait = 0;
  int64_t xmit_data = 0, rcv_data = 0, xmit_packets = 0, rcv_packets = 0;  // data in 32-bit words
};

struct LinkTruth {
  bool up = true;
  std::string state = "Active", physical_state = "LinkUp";  // of both ends
  int width = 4;                                            // lanes in use
  double lane_gbit_per_s = 106.25;  // as iblinkinfo prints it: 4 x 106.25 is NDR 400
  PortCounters a, b;                // of Link::a and Link::b
};

struct SubnetManager {
  std::string host;  // node it runs on
  int lid = 0, priority = 0, activity_count = 0;
  std::string guid;   // port GUID
  std::string state;  // "SMINFO_MASTER", "SMINFO_STANDBY"
};

GpuTruth GpuNow(const LabState& state, const Node& node, int index, TimePoint now);
NodeTruth NodeNow(const LabState& state, const Node& node, TimePoint now);
HcaTruth HcaNow(const LabState& state, const Node& node, const Nic& nic, TimePoint now);
LinkTruth LinkNow(const LabState& state, size_t link_index, TimePoint now);
std::vector<SubnetManager> SubnetManagersNow(const LabState& state, TimePoint now);
// LIDs: switches 1.. in order, then host adapters in order; 0 for a device that the subnet manager
// cannot see.
int LidOf(const LabState& state, std::string_view device);
// The link of a host adapter ("node-07/mlx5_4") or of a switch port; nothing when there is none.
std::optional<size_t> LinkOf(const LabState& state, const PortRef& port);

// The modelled fabric: all-reduce bus bandwidth in GB/s that these nodes (ranks_per_node on each,
// rail by rail) would see for a message of `bytes`. Inside one node it is NVLink, between nodes the
// slowest rail that is used, with a latency term for small sizes. NIC rates are as the adapters run
// now. Nodes are in ring order, the last is joined to the first. Under two ranks it is 0.
double BusBandwidth(const LabState& state, const std::vector<std::string>& nodes,
                    int ranks_per_node, double bytes, TimePoint now);
// The same over chosen rails only (a rail at a time is how a slow one is named).
double RingBandwidth(const LabState& state, const std::vector<std::string>& nodes,
                     const std::vector<int>& rails, double bytes, TimePoint now);
// How collectives between these nodes travel on a rail: what NCCL's log would say of its channels.
struct Transport {
  bool rdma = true;  // NET/IB; false: NET/Socket
  bool gdr = true;   // GPUDirect RDMA
};
Transport TransportNow(const LabState& state, const Node& node, int rail, TimePoint now);
// False when a collective that includes this node gives wrong sums.
bool ResultsRight(const LabState& state, const std::vector<std::string>& nodes, TimePoint now);
// Signalling rate of one lane of a 4X link as iblinkinfo prints it: 100 Gb/s is 25.78125, 200
// is 53.125, 400 is 106.25.
double LaneRate(double link_gbit_per_s);
// Lane rate times width as people say it: 4 x 106.25 is 400.
double NominalRate(double lane_gbit_per_s, int width);

// The RDMA write bandwidth of one pair of adapters in Gb/s, as ib_write_bw would print it.
double PairBandwidth(const LabState& state, std::string_view node_a, std::string_view node_b,
                     int rail, TimePoint now);

}  // namespace muster::lab
