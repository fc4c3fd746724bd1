// The torus study of `meshrti sim via-torus` with SimGrid's max-min fluid model, on the messages that `--messages FILE` wrote.
//
//   simgrid MESSAGES [LATENCIES] [--cfg=surf/precision:1e-13]
//
// 16 x 16 switches with four hosts each, links of 856 Mbit/s (107 bytes/us) without latency, no model of TCP. A message waits for earlier ones of its
// source; then it holds the links of its path. Prints messages, mean and deviation of the latency, and processor time; LATENCIES gets one line per
// message, in the order of the input: number and seconds from birth to end, without the time in hosts.

#include <simgrid/s4u.hpp>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include "messages.h"

namespace sg4 = simgrid::s4u;

constexpr double bytes_per_s = 856e6 / 8;

static double processor_s() {
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// One route for each host that sends: its own link, those between switches, the receiver's.
static std::vector<sg4::Host *> build(const Torus &torus, const std::vector<uint32_t> &destinations) {
    auto *zone = sg4::create_full_zone("torus");
    std::vector<sg4::Host *> hosts;
    std::vector<const sg4::Link *> out, in, cables;
    const auto link = [&](const std::string &name) {
        return zone->create_link(name, bytes_per_s)->set_latency(0)->seal();
    };
    for (uint32_t host = 0; host < torus.hosts(); ++host) {
        const std::string name = std::to_string(host);
        hosts.push_back(zone->create_host("host-" + name, 1e9)->seal());
        out.push_back(link("out-" + name));
        in.push_back(link("in-" + name));
    }
    for (uint32_t number = 0; number < 4 * torus.switches(); ++number) {
        cables.push_back(link("cable-" + std::to_string(number)));
    }
    for (uint32_t host = 0; host < torus.hosts(); ++host) {
        if (destinations[host] == Messages::nobody) continue;
        std::vector<sg4::LinkInRoute> path{sg4::LinkInRoute(out[host])};
        for (uint32_t cable : torus.cables(host)) path.emplace_back(cables[cable]);
        path.emplace_back(in[destinations[host]]);
        zone->add_route(hosts[host]->get_netpoint(), hosts[destinations[host]]->get_netpoint(), nullptr, nullptr, path, false);
    }
    zone->seal();
    return hosts;
}

int main(int argc, char **argv) {
    sg4::Engine engine(&argc, argv);
    if (argc < 2) {
        std::fprintf(stderr, "usage: simgrid MESSAGES [LATENCIES] [--cfg=surf/precision:1e-13]\n");
        return 2;
    }
    const Messages messages = Messages::read(argv[1]);
    const double begun = processor_s();
    sg4::Engine::set_config("network/model:CM02");
    sg4::Engine::set_config("network/crosstraffic:0");
    sg4::Engine::set_config("network/TCP-gamma:0");
    const Torus torus;
    const std::vector<uint32_t> destinations = messages.destinations(torus.hosts());
    const std::vector<sg4::Host *> hosts = build(torus, destinations);
    std::vector<double> latencies(messages.all.size());
    const auto by_source = messages.by_source(torus.hosts());
    for (uint32_t source = 0; source < torus.hosts(); ++source) {
        if (by_source[source].empty()) continue;
        sg4::Actor::create("source-" + std::to_string(source), hosts[source], [&, source] {
            sg4::Host *self = hosts[source], *peer = hosts[destinations[source]];
            for (uint32_t number : by_source[source]) {
                const Message &message = messages.all[number];
                sg4::this_actor::sleep_until(message.born_s());
                sg4::Comm::sendto(self, peer, message.bytes);
                latencies[number] = sg4::Engine::get_clock() - message.born_s();
            }
        });
    }
    engine.run();
    report("simgrid", latencies, processor_s() - begun);
    if (argc > 2) write(argv[2], messages, latencies);
    return 0;
}
