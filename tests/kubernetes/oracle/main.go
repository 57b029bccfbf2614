// Command oracle answers what the kubelet decides when pods are bound to a node: its own Topology
// Manager, Device Manager and the static policies of its CPU and Memory Managers, in process. It
// reads JSON cases, one a line, and writes one JSON answer a line. Nothing here decides.
//
// The CPU and Memory Managers' shells (locking, a checkpoint file, a reconcile loop that never ends)
// are left out: their policies are called as the shells call them.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	_ "unsafe"

	cadvisorapi "github.com/google/cadvisor/lib/model"
	"google.golang.org/grpc"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
	"k8s.io/kubernetes/pkg/kubelet/cm/containermap"
	"k8s.io/kubernetes/pkg/kubelet/cm/cpumanager"
	cpustate "k8s.io/kubernetes/pkg/kubelet/cm/cpumanager/state"
	cputopology "k8s.io/kubernetes/pkg/kubelet/cm/cpumanager/topology"
	"k8s.io/kubernetes/pkg/kubelet/cm/devicemanager"
	"k8s.io/kubernetes/pkg/kubelet/cm/memorymanager"
	memorystate "k8s.io/kubernetes/pkg/kubelet/cm/memorymanager/state"
	"k8s.io/kubernetes/pkg/kubelet/cm/topologymanager"
	"k8s.io/kubernetes/pkg/kubelet/config"
	"k8s.io/kubernetes/pkg/kubelet/lifecycle"
	"k8s.io/utils/cpuset"
)

// The exported constructor fixes the kubelet's socket folder; the inner one takes a path, so that
// the oracle writes only into a temporary folder of its own.
//
//go:linkname newDeviceManager k8s.io/kubernetes/pkg/kubelet/cm/devicemanager.newManagerImpl
func newDeviceManager(klog.Logger, string, []cadvisorapi.Node, topologymanager.Store) (*devicemanager.ManagerImpl, error)

type zone struct {
	CPUs           int      `json:"cpus"`
	Memory         uint64   `json:"memory"`
	ReservedMemory uint64   `json:"reserved_memory"`
	Distances      []uint64 `json:"distances"`
}
type deviceResource struct {
	Name          string  `json:"name"`
	Zones         [][]int `json:"zones"` // of each device; empty: the plugin names none
	PrefersLowest bool    `json:"prefers_lowest"`
}
type container struct {
	Devices map[string]int64 `json:"devices"`
	CPU     string           `json:"cpu"`
	Memory  int64            `json:"memory"`
}
type step struct {
	Pod        string           `json:"pod,omitempty"`
	Guaranteed bool             `json:"guaranteed,omitempty"`
	Containers []container      `json:"containers,omitempty"`
	Remove     string           `json:"remove,omitempty"`    // a pod that ended
	Unhealthy  map[string][]int `json:"unhealthy,omitempty"` // all that are unhealthy from now on
}
type testCase struct {
	Name             string            `json:"name"`
	Zones            []zone            `json:"zones"`
	ThreadsPerCore   int               `json:"threads_per_core"`
	SiblingsAdjacent bool              `json:"siblings_adjacent"`
	ZonesPerSocket   int               `json:"zones_per_socket"`
	Devices          []deviceResource  `json:"devices"`
	Policy           string            `json:"policy"`
	Scope            string            `json:"scope"`
	Options          map[string]string `json:"options"`
	CPUStatic        bool              `json:"cpu_static"`
	CPUOptions       map[string]string `json:"cpu_options"`
	ReservedCPUs     int               `json:"reserved_cpus"`
	MemoryStatic     bool              `json:"memory_static"`
	Steps            []step            `json:"steps"`
}
type given struct {
	Affinity    []int            `json:"affinity"` // null: none recorded
	Preferred   bool             `json:"preferred"`
	Devices     map[string][]int `json:"devices,omitempty"`
	CPUs        []int            `json:"cpus,omitempty"`
	MemoryZones []int            `json:"memory_zones,omitempty"`
}
type decision struct {
	Pod        string  `json:"pod"`
	Admit      bool    `json:"admit"`
	Reason     string  `json:"reason,omitempty"`
	Message    string  `json:"message,omitempty"`
	Containers []given `json:"containers,omitempty"`
}
type answer struct {
	Name  string     `json:"name"`
	Error string     `json:"error,omitempty"`
	Steps []decision `json:"steps,omitempty"`
}

// plugin is a device plugin without a socket. With a preference it gives the lowest ids first.
type plugin struct {
	pluginapi.DevicePluginClient
	resource string
	prefers  bool
}

func (p plugin) API() pluginapi.DevicePluginClient { return p }
func (p plugin) Resource() string                  { return p.resource }
func (p plugin) SocketPath() string                { return "/" + p.resource }
func (p plugin) GetDevicePluginOptions(context.Context, *pluginapi.Empty, ...grpc.CallOption) (*pluginapi.DevicePluginOptions, error) {
	return &pluginapi.DevicePluginOptions{GetPreferredAllocationAvailable: p.prefers}, nil
}
func (p plugin) Allocate(_ context.Context, r *pluginapi.AllocateRequest, _ ...grpc.CallOption) (*pluginapi.AllocateResponse, error) {
	out := &pluginapi.AllocateResponse{}
	for range r.ContainerRequests {
		out.ContainerResponses = append(out.ContainerResponses, &pluginapi.ContainerAllocateResponse{})
	}
	return out, nil
}
func (p plugin) GetPreferredAllocation(_ context.Context, r *pluginapi.PreferredAllocationRequest, _ ...grpc.CallOption) (*pluginapi.PreferredAllocationResponse, error) {
	out := &pluginapi.PreferredAllocationResponse{}
	for _, q := range r.ContainerRequests {
		ids := append([]string{}, q.MustIncludeDeviceIDs...)
		must := sets.New(ids...)
		rest := append([]string{}, q.AvailableDeviceIDs...)
		sort.Slice(rest, func(i, j int) bool { return index(rest[i]) < index(rest[j]) })
		for _, id := range rest {
			if len(ids) < int(q.AllocationSize) && !must.Has(id) {
				ids = append(ids, id)
			}
		}
		out.ContainerResponses = append(out.ContainerResponses, &pluginapi.ContainerPreferredAllocationResponse{DeviceIDs: ids})
	}
	return out, nil
}

func index(id string) int { n, _ := strconv.Atoi(id); return n }

// cpuProvider and memoryProvider hand the Topology Manager's questions to the static policies.
type cpuProvider struct {
	policy cpumanager.Policy
	state  cpustate.State
}

func (c *cpuProvider) GetTopologyHints(l klog.Logger, p *v1.Pod, k *v1.Container, o lifecycle.Operation) map[string][]topologymanager.TopologyHint {
	return c.policy.GetTopologyHints(l, c.state, p, k, o)
}
func (c *cpuProvider) GetPodTopologyHints(l klog.Logger, p *v1.Pod, o lifecycle.Operation) map[string][]topologymanager.TopologyHint {
	return c.policy.GetPodTopologyHints(l, c.state, p, o)
}
func (c *cpuProvider) AllocatePod(l klog.Logger, p *v1.Pod, o lifecycle.Operation) error {
	return c.policy.AllocatePod(l, c.state, p, o)
}
func (c *cpuProvider) Allocate(ctx context.Context, p *v1.Pod, k *v1.Container, o lifecycle.Operation) error {
	return c.policy.Allocate(klog.FromContext(ctx), c.state, p, k, o)
}

type memoryProvider struct {
	policy memorymanager.Policy
	state  memorystate.State
}

func (m *memoryProvider) GetTopologyHints(l klog.Logger, p *v1.Pod, k *v1.Container, o lifecycle.Operation) map[string][]topologymanager.TopologyHint {
	return m.policy.GetTopologyHints(l, m.state, p, k, o)
}
func (m *memoryProvider) GetPodTopologyHints(l klog.Logger, p *v1.Pod, o lifecycle.Operation) map[string][]topologymanager.TopologyHint {
	return m.policy.GetPodTopologyHints(l, m.state, p, o)
}
func (m *memoryProvider) AllocatePod(l klog.Logger, p *v1.Pod, o lifecycle.Operation) error {
	return m.policy.AllocatePod(l, m.state, p, o)
}
func (m *memoryProvider) Allocate(ctx context.Context, p *v1.Pod, k *v1.Container, o lifecycle.Operation) error {
	return m.policy.Allocate(ctx, m.state, p, k, o)
}

func deviceList(r *deviceResource, unhealthy sets.Set[int]) *pluginapi.ListAndWatchResponse {
	out := &pluginapi.ListAndWatchResponse{}
	for i, zones := range r.Zones {
		d := &pluginapi.Device{ID: strconv.Itoa(i), Health: pluginapi.Healthy}
		if unhealthy.Has(i) {
			d.Health = pluginapi.Unhealthy
		}
		if len(zones) > 0 {
			d.Topology = &pluginapi.TopologyInfo{}
			for _, z := range zones {
				d.Topology.Nodes = append(d.Topology.Nodes, &pluginapi.NUMANode{ID: int64(z)})
			}
		}
		out.Devices = append(out.Devices, d)
	}
	return out
}

func machineInfo(c *testCase) *cadvisorapi.MachineInfo {
	sockets := len(c.Zones) / c.ZonesPerSocket
	total := 0
	for _, z := range c.Zones {
		total += z.CPUs / c.ThreadsPerCore
	}
	mi := &cadvisorapi.MachineInfo{NumSockets: sockets, NumPhysicalCores: total, NumCores: total * c.ThreadsPerCore}
	core := 0
	for id, z := range c.Zones {
		n := cadvisorapi.Node{Id: id, Distances: z.Distances, Memory: z.Memory}
		for range z.CPUs / c.ThreadsPerCore {
			x := cadvisorapi.Core{Id: core, SocketID: id / c.ZonesPerSocket, UncoreCaches: []cadvisorapi.Cache{{Id: id, Level: 3}}}
			for t := range c.ThreadsPerCore {
				if c.SiblingsAdjacent {
					x.Threads = append(x.Threads, core*c.ThreadsPerCore+t)
				} else {
					x.Threads = append(x.Threads, core+t*total)
				}
			}
			n.Cores = append(n.Cores, x)
			core++
		}
		mi.Topology = append(mi.Topology, n)
	}
	return mi
}

func makePod(s *step) *v1.Pod {
	p := &v1.Pod{}
	p.Name, p.UID, p.Namespace = s.Pod, types.UID(s.Pod), "default"
	p.Status.QOSClass = v1.PodQOSBurstable
	if s.Guaranteed {
		p.Status.QOSClass = v1.PodQOSGuaranteed
	}
	for i, k := range s.Containers {
		limits := v1.ResourceList{}
		for r, n := range k.Devices {
			limits[v1.ResourceName(r)] = *resource.NewQuantity(n, resource.DecimalSI)
		}
		if k.CPU != "" {
			limits["cpu"] = resource.MustParse(k.CPU)
		}
		if k.Memory > 0 {
			limits["memory"] = *resource.NewQuantity(k.Memory, resource.BinarySI)
		}
		p.Spec.Containers = append(p.Spec.Containers, v1.Container{
			Name: "c" + strconv.Itoa(i), Resources: v1.ResourceRequirements{Requests: limits, Limits: limits}})
	}
	return p
}

func decide(ctx context.Context, c *testCase, dir string) (out answer) {
	lg := klog.FromContext(ctx)
	out = answer{Name: c.Name}
	fail := func(err error) answer { out.Error = err.Error(); return out }
	mi := machineInfo(c)
	tm, err := topologymanager.NewManager(lg, mi.Topology, c.Policy, c.Scope, c.Options)
	if err != nil {
		return fail(err)
	}
	dm, err := newDeviceManager(lg, filepath.Join(dir, "k.sock"), mi.Topology, tm)
	if err != nil {
		return fail(err)
	}
	live := map[string]*v1.Pod{}
	active := func() (l []*v1.Pod) {
		for _, p := range live {
			l = append(l, p)
		}
		return
	}
	ready := config.NewSourcesReady(func(sets.Set[string]) bool { return true })
	if err := dm.Start(lg, active, ready, containermap.NewContainerMap(), sets.New[string]()); err != nil {
		return fail(err)
	}
	defer dm.Stop(lg)
	for i := range c.Devices {
		r := &c.Devices[i]
		if err := dm.PluginConnected(ctx, r.Name, plugin{resource: r.Name, prefers: r.PrefersLowest}); err != nil {
			return fail(err)
		}
		dm.PluginListAndWatchReceiver(lg, r.Name, deviceList(r, sets.New[int]()))
	}
	tm.AddHintProvider(lg, dm) // the kubelet's own order: devices, CPU, memory
	var cpu *cpuProvider
	if c.CPUStatic {
		topo, err := cputopology.Discover(lg, mi)
		if err != nil {
			return fail(err)
		}
		policy, err := cpumanager.NewStaticPolicy(lg, topo, c.ReservedCPUs, cpuset.New(), tm, c.CPUOptions)
		if err != nil {
			return fail(err)
		}
		cpu = &cpuProvider{policy, cpustate.NewMemoryState(lg)}
		if err := policy.Start(lg, cpu.state); err != nil {
			return fail(err)
		}
		tm.AddHintProvider(lg, cpu)
	}
	var memory *memoryProvider
	if c.MemoryStatic {
		reserved := map[int]map[v1.ResourceName]uint64{}
		for id, z := range c.Zones {
			reserved[id] = map[v1.ResourceName]uint64{v1.ResourceMemory: z.ReservedMemory}
		}
		policy, err := memorymanager.NewPolicyStatic(lg, mi, reserved, tm)
		if err != nil {
			return fail(err)
		}
		memory = &memoryProvider{policy, memorystate.NewMemoryState(lg)}
		if err := policy.Start(lg, memory.state); err != nil {
			return fail(err)
		}
		tm.AddHintProvider(lg, memory)
	}
	remove := func(p *v1.Pod) { // what the shells do with pods that are no longer active
		delete(live, p.Name)
		for _, k := range p.Spec.Containers {
			if cpu != nil {
				cpu.policy.RemoveContainer(lg, cpu.state, p.Name, k.Name)
			}
			if memory != nil {
				memory.policy.RemoveContainer(lg, memory.state, p.Name, k.Name)
			}
		}
	}

	for i := range c.Steps {
		s := &c.Steps[i]
		if s.Remove != "" {
			if p := live[s.Remove]; p != nil {
				remove(p)
			}
			continue
		}
		if s.Unhealthy != nil {
			for j := range c.Devices {
				r := &c.Devices[j]
				dm.PluginListAndWatchReceiver(lg, r.Name, deviceList(r, sets.New(s.Unhealthy[r.Name]...)))
			}
			continue
		}
		p := makePod(s)
		live[s.Pod] = p
		a := tm.Admit(ctx, &lifecycle.PodAdmitAttributes{Pod: p, Operation: lifecycle.AddOperation})
		d := decision{Pod: s.Pod, Admit: a.Admit, Reason: a.Reason, Message: a.Message}
		if !a.Admit {
			remove(p)
			out.Steps = append(out.Steps, d)
			continue
		}
		for _, k := range p.Spec.Containers {
			h := tm.GetAffinity(lg, s.Pod, k.Name)
			g := given{Preferred: h.Preferred, Devices: map[string][]int{}}
			if h.NUMANodeAffinity != nil {
				g.Affinity = h.NUMANodeAffinity.GetBits()
			}
			for r, m := range dm.GetDevices(s.Pod, k.Name) {
				for id := range m {
					g.Devices[r] = append(g.Devices[r], index(id))
				}
				sort.Ints(g.Devices[r])
			}
			if cpu != nil {
				if set, ok := cpu.state.GetCPUSet(s.Pod, k.Name); ok {
					g.CPUs = set.List()
				}
			}
			if memory != nil {
				for _, b := range memory.state.GetMemoryBlocks(s.Pod, k.Name) {
					g.MemoryZones = b.NUMAAffinity
				}
			}
			d.Containers = append(d.Containers, g)
		}
		out.Steps = append(out.Steps, d)
	}
	return out
}

func main() {
	klog.InitFlags(nil)
	flag.Set("logtostderr", "false")
	flag.Set("stderrthreshold", "10")
	flag.Parse()
	klog.SetOutput(io.Discard)
	ctx := klog.NewContext(context.Background(), klog.Logger{}) // a logger that drops everything
	dec := json.NewDecoder(bufio.NewReaderSize(os.Stdin, 1<<20))
	w := bufio.NewWriterSize(os.Stdout, 1<<20)
	defer w.Flush()
	enc := json.NewEncoder(w)
	base := ""
	if i, err := os.Stat("/dev/shm"); err == nil && i.IsDir() {
		base = "/dev/shm" // the device manager writes a checkpoint at each allocation
	}
	for {
		var c testCase
		if err := dec.Decode(&c); err == io.EOF {
			return
		} else if err != nil {
			w.Flush()
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		dir, err := os.MkdirTemp(base, "numa")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		enc.Encode(decide(ctx, &c, dir))
		os.RemoveAll(dir)
	}
}
