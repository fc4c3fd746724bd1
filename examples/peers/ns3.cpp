// The torus study of `meshrti sim via-torus --packets 1KiB` with ns-3: UDP/IPv4 over point-to-point links, on the messages that `--messages FILE` wrote.
//
//   ns3 MESSAGES [LATENCIES]
//
// A packet has 1,024 bytes of its message and 30 of PPP, IPv4 and UDP. Links are faster by as much, so that a packet takes as long as one of 1,024 bytes at
// 856 Mbit/s. Queues are first come, first served, have room for everything, and no traffic control before them. Prints messages, mean and deviation of the
// latency, and processor time; LATENCIES gets one line per message, in the order of birth: number and seconds from birth to end.

#include <ns3/core-module.h>
#include <ns3/internet-module.h>
#include <ns3/network-module.h>
#include <ns3/point-to-point-module.h>

#include <algorithm>
#include <cstring>
#include <ctime>

#include "messages.h"

using namespace ns3;

constexpr uint32_t packet_bytes = 1024, header_bytes = 2 + 20 + 8;
constexpr uint64_t bits_per_s = 856'000'000ULL * (packet_bytes + header_bytes) / packet_bytes;
constexpr uint16_t port = 9;

static double processor_s() {
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

static Ipv4Address address(uint32_t number) { return Ipv4Address((10U << 24) + 1 + number); }

// Routes are by destination. Where the host sends from matters not: all that go to one host come by one way.
static void route(const Ptr<Node> &at, uint32_t destination, const Ptr<NetDevice> &by) {
    const Ptr<Ipv4> ip = at->GetObject<Ipv4>();
    Ipv4StaticRoutingHelper().GetStaticRouting(ip)->AddHostRouteTo(address(destination), ip->GetInterfaceForDevice(by));
}

struct Network {
    Torus torus;
    NodeContainer hosts, switches;
    /// By host: from it, and to it from its switch; by number of the cable: from its switch.
    std::vector<Ptr<NetDevice>> out, in, cables;

    explicit Network(const std::vector<uint32_t> &destinations) : cables(4 * torus.switches()) {
        hosts.Create(torus.hosts());
        switches.Create(torus.switches());
        InternetStackHelper stack;
        Ipv4StaticRoutingHelper only_static;
        stack.SetRoutingHelper(only_static);
        stack.SetIpv6StackInstall(false);
        stack.Install(hosts);
        stack.Install(switches);
        PointToPointHelper link;
        link.SetDeviceAttribute("DataRate", DataRateValue(DataRate(bits_per_s)));
        link.SetChannelAttribute("Delay", TimeValue(Seconds(0)));
        link.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue("10000000p"));
        link.DisableFlowControl();
        uint32_t joined = 0;
        const auto join = [&](const Ptr<Node> &a, const Ptr<Node> &b) {
            const NetDeviceContainer ends = link.Install(a, b);
            add_interface(ends.Get(0), torus.hosts() + 2 * joined);
            add_interface(ends.Get(1), torus.hosts() + 2 * joined + 1);
            ++joined;
            return ends;
        };
        for (uint32_t host = 0; host < torus.hosts(); ++host) {
            const auto ends = join(hosts.Get(host), switches.Get(host / Torus::hosts_per_switch));
            out.push_back(ends.Get(0));
            in.push_back(ends.Get(1));
            add_address(out.back(), address(host));
        }
        for (uint32_t at = 0; at < torus.switches(); ++at) {
            for (const uint32_t up : {0U, 2U}) {
                const uint32_t next = torus.neighbour(at, up);
                const auto ends = join(switches.Get(at), switches.Get(next));
                cables[4 * at + up] = ends.Get(0);
                cables[4 * next + up + 1] = ends.Get(1);
            }
        }
        for (uint32_t host = 0; host < torus.hosts(); ++host) {
            const uint32_t to = destinations[host];
            if (to == Messages::nobody) continue;
            route(hosts.Get(host), to, out[host]);
            for (const uint32_t cable : torus.cables(host)) route(switches.Get(cable / 4), to, cables[cable]);
            route(switches.Get(to / Torus::hosts_per_switch), to, in[to]);
        }
    }

    // An interface needs an address of its own, though nothing is sent to that.
    static void add_interface(const Ptr<NetDevice> &device, uint32_t number) {
        const Ptr<Ipv4> ip = device->GetNode()->GetObject<Ipv4>();
        ip->SetUp(ip->AddInterface(device));
        add_address(device, address(number));
    }

    static void add_address(const Ptr<NetDevice> &device, Ipv4Address own) {
        const Ptr<Ipv4> ip = device->GetNode()->GetObject<Ipv4>();
        ip->AddAddress(ip->GetInterfaceForDevice(device), Ipv4InterfaceAddress(own, Ipv4Mask::GetOnes()));
    }
};

struct Run {
    const Messages &messages;
    std::vector<uint32_t> left;
    std::vector<double> latencies;
    std::vector<Ptr<Socket>> sockets;

    explicit Run(const Messages &all) : messages(all), left(all.all.size()), latencies(all.all.size()) {}

    Ptr<Socket> open(const Ptr<Node> &node) {
        const Ptr<Socket> socket = Socket::CreateSocket(node, UdpSocketFactory::GetTypeId());
        socket->SetAttribute("RcvBufSize", UintegerValue(1U << 30));
        socket->Bind(InetSocketAddress(Ipv4Address::GetAny(), port));
        socket->SetRecvCallback(MakeCallback(&Run::take, this));
        return socket;
    }

    // All packets of a message enter the queue of the host at once. The first bytes of each say which message it is of.
    void send(uint32_t place) {
        const Message &message = messages.all[place];
        uint8_t payload[packet_bytes] = {};
        std::memcpy(payload, &place, sizeof place);
        for (uint64_t sent = 0; sent < message.bytes; sent += packet_bytes, ++left[place]) {
            const uint64_t size = std::min<uint64_t>(packet_bytes, message.bytes - sent);
            sockets[message.source]->SendTo(Create<Packet>(payload, static_cast<uint32_t>(size)), 0,
                                            InetSocketAddress(address(message.destination), port));
        }
    }

    void take(Ptr<Socket> socket) {
        while (const Ptr<Packet> packet = socket->Recv()) {
            uint32_t place = 0;
            packet->CopyData(reinterpret_cast<uint8_t *>(&place), sizeof place);
            if (--left[place] == 0) {
                latencies[place] = static_cast<double>(Simulator::Now().GetPicoSeconds() - static_cast<int64_t>(messages.all[place].born_ps)) * 1e-12;
            }
        }
    }
};

int main(int argc, char **argv) {
    if (argc < 2) {
        std::fprintf(stderr, "usage: ns3 MESSAGES [LATENCIES]\n");
        return 2;
    }
    const Messages messages = Messages::read(argv[1]);
    const double begun = processor_s();
    Time::SetResolution(Time::PS);
    const Network network(messages.destinations(Torus().hosts()));
    const double built = processor_s();
    Run run(messages);
    for (uint32_t host = 0; host < network.torus.hosts(); ++host) run.sockets.push_back(run.open(network.hosts.Get(host)));
    for (uint32_t place = 0; place < messages.all.size(); ++place) {
        Simulator::ScheduleWithContext(network.hosts.Get(messages.all[place].source)->GetId(), PicoSeconds(messages.all[place].born_ps),
                                       &Run::send, &run, place);
    }
    Simulator::Run();
    const double ended = processor_s();
    for (size_t place = 0; place < run.left.size(); ++place) {
        if (run.latencies[place] == 0) fail(argv[1], "a message did not arrive");
    }
    // Building is left out: a window that is short for ns-3's sake would consist of it.
    std::fprintf(stderr, "ns3: built in %.2f s\n", built - begun);
    report("ns3", run.latencies, ended - built);
    if (argc > 2) write(argv[2], messages, run.latencies);
    Simulator::Destroy();
    return 0;
}
