use super::*;
use crate::sim::federation::plan::live_plan;
use bench::federation as live;

const TEXT: &str = r#"
kind = "federation"
title = "three nodes"

[nodes]
count = 3
joined = "star"

[[tasks]]
task = "round-trips"
from = 1
to = 2
size = "64B"
count = 100

[[tasks]]
task = "flood"
from = 0
to = 2
size = "1KiB"
count = 1000
subscribers = 5
"#;

fn federation(text: &str) -> Result<Federation, String> {
    Scenario::parse(text)?.federation(Path::new(""), None, Seed(1))
}

#[test]
fn a_file_is_a_federation_and_a_plan() {
    let federation = federation(TEXT).unwrap();
    assert_eq!((federation.nodes, &federation.joined), (3, &Joined::Star));
    assert_eq!(federation.hosts, HostModel::EXAMPLE);
    let trips = Task::RoundTrips { count: 100, warm_up: 50 };
    assert_eq!(federation.work[0], Work { task: trips, size_bytes: 64, from: 1, to: vec![2] });
    let plan = live_plan(&federation, &[]).unwrap();
    assert_eq!(plan.nodes, 3);
    let flood = live::Task::Flood { count: 1_000, subscribers: 5 };
    assert_eq!(plan.work[1], live::Work { task: flood, size: 1_024, from: 0, to: vec![2] });
}

#[test]
fn a_tree_has_layers() {
    let tree = TEXT.replace("count = 3\njoined = \"star\"", "joined = \"tree\"\nlayers = [1, 3]");
    let federation = federation(&tree).unwrap();
    assert_eq!((federation.nodes, &federation.joined), (5, &Joined::Tree([1, 3].into())));
    assert_eq!(live_plan(&federation, &[]).unwrap().joined, bench::Joined::Tree([0, 1, 1, 1].into()));
    let say = |from: &str, to: &str| super::tests::federation(&tree.replacen(from, to, 1)).unwrap_err();
    assert!(say("layers = [1, 3]", "").contains("`layers` is missing"));
    assert!(say("[1, 3]", "[1, 3]\ncount = 5").contains("leave `count` out"));
    assert!(say("[1, 3]", "[1, 0, 3]").contains("the number of nodes in a layer must be from 1"));
    assert!(say("[1, 3]", "[1, 3000]").contains("the number of nodes must be from 1 to 1000"));
    assert!(say("\"tree\"", "\"star\"").contains("`layers` belongs to"));
    let none = TEXT.replace("count = 3\n", "");
    assert!(super::tests::federation(&none).unwrap_err().contains("`count` is missing"));
}

#[test]
fn computers_of_their_own_need_a_network() {
    let by_node =
        TEXT.replace("[[tasks]]\ntask = \"r", "[hosts]\nplacement = \"by-node\"\n[[tasks]]\ntask = \"r");
    assert!(federation(&by_node).unwrap_err().contains("[network] is missing"));
    let network = by_node + "\n[network]\nrate = \"10Gbit/s\"\ndelay = \"2us\"\n";
    let federation = federation(&network).unwrap();
    assert_eq!(
        (federation.ethernet.rate, federation.ethernet.propagation.as_nanos()),
        (10_000_000_000, 2_000)
    );
    assert_eq!(federation.hosts.cores, HostModel::EXAMPLE.cores);
    assert!(live_plan(&federation, &[]).unwrap_err().contains("one computer"));
    let cores = |count: &str| {
        super::tests::federation(&network.replace("by-node\"\n", &format!("by-node\"\ncores = {count}\n")))
    };
    assert_eq!(cores("1").unwrap().hosts, HostModel { cores: 1, ..HostModel::EXAMPLE });
    assert!(cores("0").unwrap_err().contains("`cores` is 0"));
    let alone = TEXT.to_owned() + "\n[network]\nrate = \"10Gbit/s\"\n";
    assert!(Scenario::parse(&alone).unwrap_err().contains("leave it out"));
}

#[test]
fn mistakes_are_reported() {
    let say = |from: &str, to: &str| federation(&TEXT.replacen(from, to, 1)).unwrap_err();
    assert!(say("count = 3", "count = 0").contains("the number of nodes must be from 1"));
    assert!(say("to = 2", "to = 3").contains("task 1 is at node 3, but nodes are numbered from 0 to 2"));
    assert!(say("\"64B\"", "64").contains("the unit is missing"));
    assert!(say("\"64B\"", "\"7B\"").contains("must be from 8 to 1048576, not 7"));
    assert!(say("\"1KiB\"", "\"8B\"").contains("must be from 16 to 1048576, not 8"));
    assert!(say("subscribers", "subscriber").contains("unknown field `subscriber`"));
    assert!(say("round-trips", "trips").contains("unknown variant `trips`"));
    assert!(say("joined = \"star\"", "joined = \"ring\"").contains("unknown variant `ring`"));
    let entities = TEXT.split("[[tasks]]").next().unwrap_or_default().to_owned()
        + "[[tasks]]\ntask = \"entities\"\nfrom = 0\nto = 2\nworkload = \"table1\"\nobjects = 9\nrun = \"2s\"\n";
    let two_seconds = Duration::from_secs(2);
    let entity_task = Task::Entities { workload: 0, run: two_seconds, subscribers: 1 };
    let of_entities = federation(&entities).unwrap();
    assert_eq!((of_entities.work[0].task, of_entities.workloads[0].objects()), (entity_task, 9));
    let plan = live_plan(&of_entities, &[]).unwrap();
    let live::Task::Entities { objects, script, subscribers } = &plan.work[0].task else {
        panic!("{plan:?}")
    };
    assert_eq!((*objects, *subscribers), (9, 1));
    assert!(!script.is_empty() && script.iter().all(|update| update.object < 9 && update.size == 250));
    let say_of = |from: &str, to: &str| federation(&entities.replacen(from, to, 1)).unwrap_err();
    assert!(say_of("objects = 9\n", "").contains("say in `objects` how many"));
    assert!(say_of("\"table1\"", "\"mine.toml\"").contains("leave `objects` out"));
    assert!(say_of("\"2s\"", "2").contains("the unit is missing"));
    let paced = TEXT.replace("task = \"flood\"", "task = \"paced\"\nmean_gap = \"0us\"");
    assert!(federation(&paced).unwrap_err().contains("`mean_gap` is zero"));
    let paced = federation(&paced.replace("\"0us\"", "\"20us\"")).unwrap();
    let plan = live_plan(&paced, &[]).unwrap();
    let live::Task::Entities { objects: 1, script: last, .. } = &plan.work.last().unwrap().task else {
        panic!("{plan:?}")
    };
    let mean = last.last().unwrap().at / last.len() as u32;
    assert!((15..25).contains(&mean.as_micros()), "20 us apart on average: {mean:?}");
}

#[test]
fn fan_in_and_recordings_are_tasks() {
    let fan_in = TEXT.replace("task = \"flood\"", "task = \"fan-in\"").replace("subscribers", "publishers");
    let fan_in = federation(&fan_in).unwrap();
    assert_eq!(fan_in.work[1].task, Task::FanIn { count: 1_000, publishers: 5 });
    let plan = live_plan(&fan_in, &[]).unwrap();
    assert_eq!(plan.work[1].task, live::Task::FanIn { count: 1_000, publishers: 5 });
    let pinned = live_plan(&Federation { pinned: true, ..fan_in }, &[]).unwrap();
    assert_eq!(pinned.cores.unwrap().federates[1], [0, 1, 2, 3, 4, 4], "publishers, then the subscriber");

    let folder = std::env::temp_dir().join(format!("meshrti-recording-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("mine.csv"), "at_s,object,bytes,reliable\n0.5,2,100,false\n0,0,3,true\n")
        .unwrap();
    let tasks = "[[tasks]]\ntask = \"replay\"\nfrom = 0\nto = 2\nrecording = \"mine.csv\"\n";
    let text = TEXT.split("[[tasks]]").next().unwrap_or_default().to_owned() + tasks;
    let replay = Scenario::parse(&text).unwrap().federation(&folder, None, Seed(1)).unwrap();
    assert_eq!(replay.work[0].task, Task::Replay { recording: 0, subscribers: 1 });
    let plan = live_plan(&replay, &[]).unwrap();
    let live::Task::Entities { objects, script, subscribers } = &plan.work[0].task else {
        panic!("{plan:?}")
    };
    assert_eq!((*objects, *subscribers, script.len()), (3, 1, 2));
    assert_eq!((script[0].size, script[1].size), (16, 100), "a number and a time fit into each");
    let gone = Scenario::parse(&text).unwrap().federation(Path::new("nowhere"), None, Seed(1)).unwrap_err();
    assert!(gone.contains("mine.csv"), "{gone}");
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn groups_are_those_of_live_nodes_unless_the_file_says_more() {
    let live: node::link::MulticastUrl = "srmp://239.255.44.32:4420".parse().unwrap();
    let Multicast { groups, rate_min, loss } = Multicast::default();
    assert_eq!((usize::from(groups), rate_min), (live.groups, live.rate_min));
    assert!(loss == Share::NONE && live.line.is_empty());
}

#[test]
fn nodes_share_groups_and_several_listen() {
    let with = |section: &str| TEXT.replacen("[[tasks]]", &format!("[multicast]\n{section}\n[[tasks]]"), 1);
    assert_eq!(federation(&with("")).unwrap().multicast, Some(Multicast::default()));
    assert_eq!(federation(TEXT).unwrap().multicast, None);
    let all = with("groups = 3\nrate_min = \"20Mbit/s\"\nloss = \"7%\"\n");
    let all = federation(&all.replacen("from = 0\nto = 2", "from = 0\nto = [2, 1]", 1)).unwrap();
    let share = netmodel::units::parse_share("7%").unwrap();
    assert_eq!(all.multicast, Some(Multicast { groups: 3, rate_min: 20_000_000, loss: share }));
    assert_eq!(all.work[1].to, [2, 1]);
    let plan = live_plan(&all, &[]).unwrap();
    let groups = plan.groups.unwrap();
    assert_eq!((groups.count, groups.rate_min, groups.loss), (3, Some(20_000_000), 0.07));
    assert_eq!(plan.work[1].to, [2, 1]);
    assert!(live_plan(&federation(TEXT).unwrap(), &[]).unwrap().groups.is_none());

    let say = |text: &str| federation(text).unwrap_err();
    assert!(say(&with("group = 3")).contains("unknown field `group`"));
    assert!(say(&with("groups = 0")).contains("the number of multicast groups must be from 1 to 64, not 0"));
    assert!(say(&with("rate_min = 5")).contains("the unit is missing"));
    assert!(say(&with("loss = \"much\"")).contains("`much` is no share"));
    assert!(say(&with("loss = 1")).contains("the loss of multicast groups is 100%"));
    let alone = with("")
        .replacen("count = 3", "count = 1", 1)
        .replace("from = 1", "from = 0")
        .replace("to = 2", "to = 0");
    assert!(say(&alone).contains("multicast groups are for two nodes or more, but there is one"));
    let to = |places: &str| TEXT.replacen("from = 0\nto = 2", &format!("from = 0\nto = {places}"), 1);
    assert!(say(&to("[1, 1]")).contains("task 2: `to` names node 1 twice"));
    assert!(say(&to("[]")).contains("task 2: `to` names no node"));
    assert!(say(&to("[1, \"all\"]")).contains("`to` has `\"all\"`, expected the number of a node"));
    assert!(say(&to("-1")).contains("`to` has `-1`"));
    let trips = TEXT.replacen("from = 1\nto = 2", "from = 1\nto = [2, 0]", 1);
    assert!(say(&trips).contains("task 1: round trips are with one node, but `to` names 2"));
}
