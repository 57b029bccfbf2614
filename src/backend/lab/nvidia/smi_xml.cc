// `nvidia-smi -q -x` as driver 570 writes it (DTD v12): about 9 KB a GPU. The list of supported
// clocks, 7 KB a GPU on a bare-metal H100, is "N/A" as on a guest: nothing reads it, and 8,192 GPUs
// are asked.
#include <fmt/format.h>

#include "backend/lab/nvidia/node_view.h"
#include "base/strings.h"

namespace muster::lab {
namespace {

using Text = fmt::memory_buffer;

std::string_view YesNo(bool yes) { return yes ? "Yes" : "No"; }
std::string_view Enabled(bool on) { return on ? "Enabled" : "Disabled"; }
std::string_view Active(bool on) { return on ? "Active" : "Not Active"; }

std::string_view Architecture(std::string_view model) {
  if (Contains(model, "B200") || Contains(model, "B300")) return "Blackwell";
  if (Contains(model, "H100") || Contains(model, "H200")) return "Hopper";
  if (Contains(model, "L40") || Contains(model, "L4")) return "Ada Lovelace";
  return "Ampere";
}

void Identity(Text& out, const NodeView& view, const GpuTruth& gpu) {
  fmt::format_to(std::back_inserter(out), R"(		<product_name>{}</product_name>
		<product_brand>NVIDIA</product_brand>
		<product_architecture>{}</product_architecture>
		<display_mode>Enabled</display_mode>
		<display_active>Disabled</display_active>
		<persistence_mode>{}</persistence_mode>
		<addressing_mode>None</addressing_mode>
		<mig_mode>
			<current_mig>{}</current_mig>
			<pending_mig>{}</pending_mig>
		</mig_mode>
		<mig_devices>
			None
		</mig_devices>
		<accounting_mode>Disabled</accounting_mode>
		<accounting_mode_buffer_size>4000</accounting_mode_buffer_size>
		<driver_model>
			<current_dm>N/A</current_dm>
			<pending_dm>N/A</pending_dm>
		</driver_model>
		<serial>{}</serial>
		<uuid>{}</uuid>
		<minor_number>{}</minor_number>
		<vbios_version>96.00.99.00.01</vbios_version>
		<multigpu_board>No</multigpu_board>
		<board_id>0x{}00</board_id>
		<board_part_number>692-2G520-0200-000</board_part_number>
		<gpu_part_number>2330-885-A1</gpu_part_number>
		<gpu_fru_part_number>N/A</gpu_fru_part_number>
		<platformInfo>
			<chassis_serial_number>N/A</chassis_serial_number>
			<slot_number>N/A</slot_number>
			<tray_index>N/A</tray_index>
			<host_id>N/A</host_id>
			<peer_type>N/A</peer_type>
			<module_id>{}</module_id>
			<gpu_fabric_guid>N/A</gpu_fabric_guid>
		</platformInfo>
		<inforom_version>
			<img_version>G520.0200.00.05</img_version>
			<oem_object>2.1</oem_object>
			<ecc_object>7.16</ecc_object>
			<pwr_object>N/A</pwr_object>
		</inforom_version>
		<inforom_bbx_flush>
			<latest_timestamp>N/A</latest_timestamp>
			<latest_duration>N/A</latest_duration>
		</inforom_bbx_flush>
		<gpu_operation_mode>
			<current_gom>N/A</current_gom>
			<pending_gom>N/A</pending_gom>
		</gpu_operation_mode>
		<c2c_mode>N/A</c2c_mode>
		<gpu_virtualization_mode>
			<virtualization_mode>None</virtualization_mode>
			<host_vgpu_mode>N/A</host_vgpu_mode>
			<vgpu_heterogeneous_mode>N/A</vgpu_heterogeneous_mode>
		</gpu_virtualization_mode>
		<gpu_reset_status>
			<reset_required>{}</reset_required>
			<drain_and_reset_recommended>{}</drain_and_reset_recommended>
		</gpu_reset_status>
		<gpu_recovery_action>{}</gpu_recovery_action>
		<gsp_firmware_version>{}</gsp_firmware_version>
		<ibmnpu>
			<relaxed_ordering_mode>N/A</relaxed_ordering_mode>
		</ibmnpu>
)",
                 gpu.model, Architecture(gpu.model), Enabled(gpu.persistence),
                 Enabled(gpu.mig_enabled), Enabled(gpu.mig_enabled), gpu.serial, gpu.uuid,
                 gpu.index, gpu.pci_bus_id.substr(9, 2), gpu.index + 1, "No",
                 YesNo(gpu.remap_pending), gpu.remap_pending ? "Drain and Reset" : "None",
                 view.truth.driver_version);
}

void Pci(Text& out, const GpuTruth& gpu) {
  fmt::format_to(std::back_inserter(out), R"(		<pci>
			<pci_bus>{0}</pci_bus>
			<pci_device>00</pci_device>
			<pci_domain>0000</pci_domain>
			<pci_base_class>3</pci_base_class>
			<pci_sub_class>2</pci_sub_class>
			<pci_device_id>233010DE</pci_device_id>
			<pci_bus_id>{1}</pci_bus_id>
			<pci_sub_system_id>16C110DE</pci_sub_system_id>
			<pci_gpu_link_info>
				<pcie_gen>
					<max_link_gen>{2}</max_link_gen>
					<current_link_gen>{2}</current_link_gen>
					<device_current_link_gen>{2}</device_current_link_gen>
					<max_device_link_gen>{3}</max_device_link_gen>
					<max_host_link_gen>{3}</max_host_link_gen>
				</pcie_gen>
				<link_widths>
					<max_link_width>{5}x</max_link_width>
					<current_link_width>{4}x</current_link_width>
				</link_widths>
			</pci_gpu_link_info>
			<pci_bridge_chip>
				<bridge_chip_type>N/A</bridge_chip_type>
				<bridge_chip_fw>N/A</bridge_chip_fw>
			</pci_bridge_chip>
			<replay_counter>{6}</replay_counter>
			<replay_rollover_counter>0</replay_rollover_counter>
			<tx_util>496 KB/s</tx_util>
			<rx_util>480 KB/s</rx_util>
			<atomic_caps_outbound>N/A</atomic_caps_outbound>
			<atomic_caps_inbound>N/A</atomic_caps_inbound>
		</pci>
		<fan_speed>N/A</fan_speed>
		<performance_state>P0</performance_state>
)",
                 gpu.pci_bus_id.substr(9, 2), gpu.pci_bus_id, gpu.pcie_gen, gpu.pcie_gen_max,
                 gpu.pcie_width, gpu.pcie_width_max, gpu.pcie_replays);
}

void Reasons(Text& out, const GpuTruth& gpu) {
  const bool hardware = gpu.throttle_thermal || gpu.throttle_power_brake;
  fmt::format_to(std::back_inserter(out), R"(		<clocks_event_reasons>
			<clocks_event_reason_gpu_idle>{}</clocks_event_reason_gpu_idle>
			<clocks_event_reason_applications_clocks_setting>Not Active</clocks_event_reason_applications_clocks_setting>
			<clocks_event_reason_sw_power_cap>Not Active</clocks_event_reason_sw_power_cap>
			<clocks_event_reason_hw_slowdown>{}</clocks_event_reason_hw_slowdown>
			<clocks_event_reason_hw_thermal_slowdown>{}</clocks_event_reason_hw_thermal_slowdown>
			<clocks_event_reason_hw_power_brake_slowdown>{}</clocks_event_reason_hw_power_brake_slowdown>
			<clocks_event_reason_sync_boost>Not Active</clocks_event_reason_sync_boost>
			<clocks_event_reason_sw_thermal_slowdown>{}</clocks_event_reason_sw_thermal_slowdown>
			<clocks_event_reason_display_clocks_setting>Not Active</clocks_event_reason_display_clocks_setting>
		</clocks_event_reasons>
		<clocks_event_reasons_counters>
			<clocks_event_reasons_counters_sw_power_cap>0 us</clocks_event_reasons_counters_sw_power_cap>
			<clocks_event_reasons_counters_sync_boost>0 us</clocks_event_reasons_counters_sync_boost>
			<clocks_event_reasons_counters_sw_therm_slowdown>0 us</clocks_event_reasons_counters_sw_therm_slowdown>
			<clocks_event_reasons_counters_hw_therm_slowdown>{} us</clocks_event_reasons_counters_hw_therm_slowdown>
			<clocks_event_reasons_counters_hw_power_brake>{} us</clocks_event_reasons_counters_hw_power_brake>
		</clocks_event_reasons_counters>
		<sparse_operation_mode>N/A</sparse_operation_mode>
)",
                 Active(!hardware), Active(hardware), Active(gpu.throttle_thermal),
                 Active(gpu.throttle_power_brake), Active(false),
                 gpu.throttle_thermal ? 5216000 : 0, gpu.throttle_power_brake ? 812000 : 0);
}

void Memory(Text& out, const GpuTruth& gpu) {
  fmt::format_to(std::back_inserter(out), R"(		<fb_memory_usage>
			<total>{0:.0f} MiB</total>
			<reserved>551 MiB</reserved>
			<used>{1:.0f} MiB</used>
			<free>{2:.0f} MiB</free>
		</fb_memory_usage>
		<bar1_memory_usage>
			<total>131072 MiB</total>
			<used>1 MiB</used>
			<free>131071 MiB</free>
		</bar1_memory_usage>
		<cc_protected_memory_usage>
			<total>0 MiB</total>
			<used>0 MiB</used>
			<free>0 MiB</free>
		</cc_protected_memory_usage>
		<compute_mode>Default</compute_mode>
		<utilization>
			<gpu_util>{3} %</gpu_util>
			<memory_util>0 %</memory_util>
			<encoder_util>0 %</encoder_util>
			<decoder_util>0 %</decoder_util>
			<jpeg_util>0 %</jpeg_util>
			<ofa_util>0 %</ofa_util>
		</utilization>
		<encoder_stats>
			<session_count>0</session_count>
			<average_fps>0</average_fps>
			<average_latency>0</average_latency>
		</encoder_stats>
		<fbc_stats>
			<session_count>0</session_count>
			<average_fps>0</average_fps>
			<average_latency>0</average_latency>
		</fbc_stats>
		<dram_encryption_mode>
			<current_dram_encryption>N/A</current_dram_encryption>
			<pending_dram_encryption>N/A</pending_dram_encryption>
		</dram_encryption_mode>
)",
                 gpu.memory_total_mib, gpu.memory_used_mib,
                 gpu.memory_total_mib - gpu.memory_used_mib - 551,
                 static_cast<int>(gpu.utilisation * 100));
}

void Ecc(Text& out, const GpuTruth& gpu) {
  fmt::format_to(std::back_inserter(out), R"(		<ecc_mode>
			<current_ecc>Enabled</current_ecc>
			<pending_ecc>Enabled</pending_ecc>
		</ecc_mode>
		<ecc_errors>
			<volatile>
				<sram_correctable>0</sram_correctable>
				<sram_uncorrectable_parity>0</sram_uncorrectable_parity>
				<sram_uncorrectable_secded>0</sram_uncorrectable_secded>
				<dram_correctable>{0}</dram_correctable>
				<dram_uncorrectable>{1}</dram_uncorrectable>
			</volatile>
			<aggregate>
				<sram_correctable>0</sram_correctable>
				<sram_uncorrectable_parity>0</sram_uncorrectable_parity>
				<sram_uncorrectable_secded>0</sram_uncorrectable_secded>
				<dram_correctable>{2}</dram_correctable>
				<dram_uncorrectable>{3}</dram_uncorrectable>
				<sram_threshold_exceeded>No</sram_threshold_exceeded>
			</aggregate>
			<aggregate_uncorrectable_sram_sources>
				<sram_l2>0</sram_l2>
				<sram_sm>0</sram_sm>
				<sram_microcontroller>0</sram_microcontroller>
				<sram_pcie>0</sram_pcie>
				<sram_other>0</sram_other>
			</aggregate_uncorrectable_sram_sources>
		</ecc_errors>
		<retired_pages>
			<multiple_single_bit_retirement>
				<retired_count>N/A</retired_count>
				<retired_pagelist>N/A</retired_pagelist>
			</multiple_single_bit_retirement>
			<double_bit_retirement>
				<retired_count>N/A</retired_count>
				<retired_pagelist>N/A</retired_pagelist>
			</double_bit_retirement>
			<pending_blacklist>N/A</pending_blacklist>
			<pending_retirement>N/A</pending_retirement>
		</retired_pages>
)",
                 gpu.ecc_corrected_volatile, gpu.ecc_uncorrected_volatile,
                 gpu.ecc_corrected_aggregate, gpu.ecc_uncorrected_aggregate);
  // NVML has no remap counts of a GPU in MIG mode.
  if (gpu.mig_enabled) {
    fmt::format_to(std::back_inserter(out), "\t\t<remapped_rows>N/A</remapped_rows>\n");
    return;
  }
  fmt::format_to(std::back_inserter(out), R"(		<remapped_rows>
			<remapped_row_corr>{}</remapped_row_corr>
			<remapped_row_unc>{}</remapped_row_unc>
			<remapped_row_pending>{}</remapped_row_pending>
			<remapped_row_failure>{}</remapped_row_failure>
			<row_remapper_histogram>
				<row_remapper_histogram_max>{} bank(s)</row_remapper_histogram_max>
				<row_remapper_histogram_high>0 bank(s)</row_remapper_histogram_high>
				<row_remapper_histogram_partial>{} bank(s)</row_remapper_histogram_partial>
				<row_remapper_histogram_low>0 bank(s)</row_remapper_histogram_low>
				<row_remapper_histogram_none>{} bank(s)</row_remapper_histogram_none>
			</row_remapper_histogram>
		</remapped_rows>
)",
                 gpu.remapped_correctable, gpu.remapped_uncorrectable, YesNo(gpu.remap_pending),
                 YesNo(gpu.remap_failed), gpu.remapped_uncorrectable > 0 ? 2559 : 2560,
                 gpu.remapped_uncorrectable > 0 && !gpu.remap_failed ? 1 : 0,
                 gpu.remap_failed ? 1 : 0);
}

void Power(Text& out, const GpuTruth& gpu) {
  fmt::format_to(std::back_inserter(out), R"(		<temperature>
			<gpu_temp>{0:.0f} C</gpu_temp>
			<gpu_temp_tlimit>{1:.0f} C</gpu_temp_tlimit>
			<gpu_temp_max_tlimit_threshold>-8 C</gpu_temp_max_tlimit_threshold>
			<gpu_temp_slow_tlimit_threshold>-2 C</gpu_temp_slow_tlimit_threshold>
			<gpu_temp_max_gpu_tlimit_threshold>0 C</gpu_temp_max_gpu_tlimit_threshold>
			<gpu_target_temperature>N/A</gpu_target_temperature>
			<memory_temp>{2:.0f} C</memory_temp>
			<gpu_temp_max_mem_tlimit_threshold>0 C</gpu_temp_max_mem_tlimit_threshold>
		</temperature>
		<supported_gpu_target_temp>
			<gpu_target_temp_min>N/A</gpu_target_temp_min>
			<gpu_target_temp_max>N/A</gpu_target_temp_max>
		</supported_gpu_target_temp>
		<gpu_power_readings>
			<power_state>P0</power_state>
			<average_power_draw>{3:.2f} W</average_power_draw>
			<instant_power_draw>{3:.2f} W</instant_power_draw>
			<current_power_limit>{4:.2f} W</current_power_limit>
			<requested_power_limit>{4:.2f} W</requested_power_limit>
			<default_power_limit>{4:.2f} W</default_power_limit>
			<min_power_limit>200.00 W</min_power_limit>
			<max_power_limit>{4:.2f} W</max_power_limit>
		</gpu_power_readings>
		<gpu_memory_power_readings>
			<average_power_draw>N/A</average_power_draw>
			<instant_power_draw>N/A</instant_power_draw>
		</gpu_memory_power_readings>
		<module_power_readings>
			<power_state>P0</power_state>
			<average_power_draw>N/A</average_power_draw>
			<instant_power_draw>N/A</instant_power_draw>
			<current_power_limit>N/A</current_power_limit>
			<requested_power_limit>N/A</requested_power_limit>
			<default_power_limit>N/A</default_power_limit>
			<min_power_limit>N/A</min_power_limit>
			<max_power_limit>N/A</max_power_limit>
		</module_power_readings>
		<power_smoothing>N/A</power_smoothing>
		<power_profiles>
			<power_profile_requested_profiles>N/A</power_profile_requested_profiles>
			<power_profile_enforced_profiles>N/A</power_profile_enforced_profiles>
		</power_profiles>
)",
                 gpu.temperature_celsius, 87 - gpu.temperature_celsius,
                 gpu.memory_temperature_celsius, gpu.power_watt, gpu.power_limit_watt);
}

void Rest(Text& out, const GpuTruth& gpu) {
  const bool slow = gpu.throttle_thermal || gpu.throttle_power_brake;
  fmt::format_to(std::back_inserter(out), R"(		<clocks>
			<graphics_clock>{0} MHz</graphics_clock>
			<sm_clock>{0} MHz</sm_clock>
			<mem_clock>2619 MHz</mem_clock>
			<video_clock>{1} MHz</video_clock>
		</clocks>
		<applications_clocks>
			<graphics_clock>1980 MHz</graphics_clock>
			<mem_clock>2619 MHz</mem_clock>
		</applications_clocks>
		<default_applications_clocks>
			<graphics_clock>1980 MHz</graphics_clock>
			<mem_clock>2619 MHz</mem_clock>
		</default_applications_clocks>
		<deferred_clocks>
			<mem_clock>N/A</mem_clock>
		</deferred_clocks>
		<max_clocks>
			<graphics_clock>1980 MHz</graphics_clock>
			<sm_clock>1980 MHz</sm_clock>
			<mem_clock>2619 MHz</mem_clock>
			<video_clock>1545 MHz</video_clock>
		</max_clocks>
		<max_customer_boost_clocks>
			<graphics_clock>1980 MHz</graphics_clock>
		</max_customer_boost_clocks>
		<clock_policy>
			<auto_boost>N/A</auto_boost>
			<auto_boost_default>N/A</auto_boost_default>
		</clock_policy>
		<voltage>
			<graphics_volt>N/A</graphics_volt>
		</voltage>
		<fabric>
			<state>{2}</state>
			<status>{3}</status>
			<cliqueId>0</cliqueId>
			<clusterUuid>00000000-0000-0000-0000-000000000000</clusterUuid>
			<health>
				<bandwidth>N/A</bandwidth>
				<route_recovery_in_progress>N/A</route_recovery_in_progress>
				<route_unhealthy>N/A</route_unhealthy>
				<access_timeout_recovery>N/A</access_timeout_recovery>
			</health>
		</fabric>
		<supported_clocks>N/A</supported_clocks>
		<processes>
		</processes>
		<accounted_processes>
		</accounted_processes>
		<capabilities>
			<egm>disabled</egm>
		</capabilities>
)",
                 slow ? 345 : 1980, slow ? 765 : 1545, gpu.fabric_state, gpu.fabric_status);
}

// Listed by the driver, and every question about it ends in the same words (Xid 79).
void Lost(Text& out, const GpuTruth& gpu) {
  constexpr std::string_view kWords = "GPU is lost";
  for (std::string_view leaf : {"product_name", "product_brand", "product_architecture",
                                "display_mode", "display_active", "persistence_mode"})
    fmt::format_to(std::back_inserter(out), "\t\t<{}>{}</{}>\n", leaf, kWords, leaf);
  fmt::format_to(std::back_inserter(out), R"(		<mig_mode>
			<current_mig>{0}</current_mig>
			<pending_mig>{0}</pending_mig>
		</mig_mode>
		<serial>{0}</serial>
		<uuid>{0}</uuid>
		<minor_number>{1}</minor_number>
		<vbios_version>{0}</vbios_version>
		<pci>
			<pci_bus>{2}</pci_bus>
			<pci_bus_id>{3}</pci_bus_id>
			<pci_gpu_link_info>
				<pcie_gen>
					<max_link_gen>{0}</max_link_gen>
					<current_link_gen>{0}</current_link_gen>
				</pcie_gen>
				<link_widths>
					<max_link_width>{0}</max_link_width>
					<current_link_width>{0}</current_link_width>
				</link_widths>
			</pci_gpu_link_info>
			<replay_counter>{0}</replay_counter>
		</pci>
		<fan_speed>{0}</fan_speed>
		<performance_state>{0}</performance_state>
		<clocks_event_reasons>{0}</clocks_event_reasons>
		<ecc_errors>{0}</ecc_errors>
		<remapped_rows>{0}</remapped_rows>
		<temperature>
			<gpu_temp>{0}</gpu_temp>
			<memory_temp>{0}</memory_temp>
		</temperature>
		<fabric>
			<state>{0}</state>
			<status>{0}</status>
		</fabric>
)",
                 kWords, gpu.index, gpu.pci_bus_id.substr(9, 2), gpu.pci_bus_id);
}

}  // namespace

CommandResult SmiXml(const NodeView& view) {
  Text out;
  fmt::format_to(std::back_inserter(out), R"({}<?xml version="1.0" ?>
<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">
<nvidia_smi_log>
	<timestamp>{}</timestamp>
	<driver_version>{}</driver_version>
	<cuda_version>{}</cuda_version>
	<attached_gpus>{}</attached_gpus>
)",
                 LostLines(view), CTime(view.NodeTime()), view.truth.driver_version,
                 view.truth.cuda_version, view.gpus.size());
  for (const GpuTruth& gpu : view.gpus) {
    if (!gpu.present) continue;
    fmt::format_to(std::back_inserter(out), "\t<gpu id=\"{}\">\n", gpu.pci_bus_id);
    if (gpu.lost) {
      Lost(out, gpu);
    } else {
      Identity(out, view, gpu);
      Pci(out, gpu);
      Reasons(out, gpu);
      Memory(out, gpu);
      Ecc(out, gpu);
      Power(out, gpu);
      Rest(out, gpu);
    }
    fmt::format_to(std::back_inserter(out), "\t</gpu>\n\n");
  }
  fmt::format_to(std::back_inserter(out), "</nvidia_smi_log>\n");
  return Printed(fmt::to_string(out));
}

}  // namespace muster::lab
