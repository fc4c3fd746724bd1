//! Servers and members as processes, over TCP on loopback.

mod process;

use process::{Member, Server, eventually, rooms};

/// Starts servers, each joined to earlier ones, and waits until all of them reach each other. Returns
/// them with a member at each, `m` and the letter of the server.
fn network(shape: &str, edges: &[(&str, &[usize])]) -> (Vec<Server>, Vec<Member>) {
    let mut servers: Vec<Server> = Vec::new();
    for (name, joins) in edges {
        let urls: Vec<&str> = joins.iter().map(|at| &*servers[*at].links).collect();
        let server = Server::start(name, shape, &urls);
        servers.push(server);
    }
    let mut members: Vec<Member> = servers.iter().map(|server| Member::join(server, "m")).collect();
    let others = format!("servers reached: {}", servers.len() - 1);
    for member in &mut members {
        eventually("all servers reach each other", || member.links().contains(&others).then_some(()));
    }
    (servers, members)
}

/// Puts members into a room, and waits until each of them knows of all others.
fn gather(room: &str, members: &mut [&mut Member]) {
    for member in members.iter_mut() {
        member.say(&format!("enter {room}"));
    }
    let mut names: Vec<String> = members.iter().map(|member| member.name.clone()).collect();
    names.sort();
    for member in members.iter_mut() {
        eventually("all members of the room know each other", || {
            member.who(room).ends_with(&format!("here are {}", names.join(", "))).then_some(())
        });
    }
}

#[test]
fn in_a_tree_a_message_crosses_only_links_that_lead_to_a_member() {
    let (_servers, mut members) = network("tree", &[("A", &[]), ("B", &[0]), ("C", &[1]), ("D", &[1])]);
    let [a, b, c, d] = &mut members[..] else { panic!("there are four") };
    gather("kitchen", &mut [&mut *a, &mut *c]);
    gather("garden", &mut [&mut *d]);
    for number in 0..100 {
        a.say(&format!("say kitchen number {number}"));
    }
    for number in 0..100 {
        c.expect(&format!("kitchen: m@A says number {number}"));
    }
    // The answer comes behind all that was said before, by the same path.
    c.say("say kitchen that is all");
    a.expect("kitchen: m@C says that is all");
    assert_eq!((a.said(), c.said()), (1, 100), "each message came once");
    let links = b.links();
    let to = |name: &str| links.iter().find(|line| line.starts_with(&format!("link to {name}:"))).cloned();
    assert_eq!(to("D").as_deref(), Some("link to D: messages sent: 0, rooms wanted: 1"));
    assert!(to("C").is_some_and(|line| !line.contains("sent: 0,")), "{links:?}");
    assert_eq!((b.said(), d.said()), (0, 0));
    // A member who leaves ends the interest of its server, and a member who closes leaves.
    c.say("leave kitchen");
    a.expect("kitchen: m@C leaves");
    eventually("the interest is gone", || {
        b.links()
            .iter()
            .any(|line| line.starts_with("link to C:") && line.ends_with("rooms wanted: 0"))
            .then_some(())
    });
    let mut guest = Member::join(&_servers[3], "guest");
    gather("kitchen", &mut [&mut *a, &mut guest]);
    drop(guest);
    a.expect("kitchen: guest@D leaves");
}

#[test]
fn in_a_mesh_of_triads_servers_find_each_other_and_survive_the_first() {
    let (mut servers, mut members) = network("mesh", &[("A", &[]), ("B", &[0]), ("C", &[0]), ("D", &[0])]);
    // All but A know only A, and yet each gets a link to each.
    for member in &mut members {
        eventually("every server has a link to every other", || {
            (member.links().iter().filter(|line| line.starts_with("link to ")).count() == 3).then_some(())
        });
    }
    let [a, b, c, d] = &mut members[..] else { panic!("there are four") };
    gather("kitchen", &mut [&mut *a, &mut *b, &mut *c]);
    b.say("say kitchen hello");
    a.expect("kitchen: m@B says hello");
    c.expect("kitchen: m@B says hello");
    let sent = |member: &mut Member, to: &str| {
        let links = member.links();
        let line = links
            .iter()
            .find_map(|line| line.strip_prefix(&format!("link to {to}: messages sent: ")).map(str::to_owned));
        line.and_then(|line| line.split(',').next()?.parse::<u64>().ok()).expect("there is such a link")
    };
    assert_eq!(sent(b, "D"), 0, "nobody at D is in the kitchen");
    assert_eq!((sent(d, "A"), sent(d, "B"), sent(d, "C")), (0, 0, 0), "D relays nothing");
    servers[0].kill();
    b.expect("kitchen: m@A is lost");
    c.expect("kitchen: m@A is lost");
    b.say("say kitchen still there?");
    c.expect("kitchen: m@B says still there?");
    c.say("say kitchen yes");
    b.expect("kitchen: m@C says yes");
    assert_eq!((b.said(), c.said(), d.said()), (1, 2, 0), "each message came once");
    // It comes back under its name, by any other server.
    let again = Server::start("A", "mesh", &[&servers[3].links]);
    let mut late = Member::join(&again, "late");
    gather("kitchen", &mut [&mut *b, &mut *c, &mut late]);
    late.say("say kitchen here again");
    b.expect("kitchen: late@A says here again");
}

#[test]
fn a_spare_link_takes_over_when_a_server_of_a_tree_dies() {
    // A ring: one of its four links stands by.
    let ring: &[(&str, &[usize])] = &[("A", &[]), ("B", &[0]), ("C", &[1]), ("D", &[0, 2])];
    let (mut servers, mut members) = network("redundant-tree", ring);
    let [a, b, c, _] = &mut members[..] else { panic!("there are four") };
    gather("kitchen", &mut [&mut *a, &mut *b, &mut *c]);
    servers[1].kill();
    a.expect("kitchen: m@B is lost");
    // Presence tells when there is a path again, whichever link stood by.
    gather("hall", &mut [&mut *a, &mut *c]);
    a.say("say kitchen still there?");
    c.expect("kitchen: m@A says still there?");
    c.say("say kitchen yes");
    a.expect("kitchen: m@C says yes");
    assert_eq!((a.said(), c.said()), (1, 1), "each message came once");
}

#[test]
fn wrong_lines_are_answered_and_harm_nobody() {
    let (servers, mut members) = network("tree", &[("A", &[])]);
    let a = &mut members[0];
    for (line, answer) in [
        ("shout", "error in line 3: `shout` is no command: expected `enter ROOM`"),
        ("say kitchen hello", "error in line 4: you are not in kitchen: enter it first"),
        ("enter the kitchen", "error in line 5: expected `enter ROOM`"),
        ("name other", "error in line 6: your name is m@A"),
        ("leave kitchen", "error in line 7: you are not in kitchen"),
    ] {
        a.say(line);
        a.expect(answer);
    }
    let mut nobody = Member::connect(&servers[0]);
    nobody.say("enter kitchen");
    nobody.expect("error in line 1: say who you are first: `name NAME`");
    nobody.say("name m");
    nobody.expect("error in line 2: there is a m@A already: choose another name");
    nobody.say(&"x".repeat(2_000));
    nobody.expect("error in line 3: a line has at most 1024 bytes");
    assert!(nobody.is_over(), "it is disconnected");
    for room in 0..32 {
        a.say(&format!("enter room{room}"));
    }
    a.say("enter another");
    a.expect("error in line 40: you are in 32 rooms, and may be in no more: leave one first");
}

#[test]
fn servers_of_two_networks_or_shapes_refuse_each_other() {
    let first = Server::start("A", "tree", &[]);
    let mut other = Server::start("B", "mesh", &[&first.links]);
    other.logs("one node is set up for the topology");
    let mut foreign = Server::start_in("C", "tree", &[&first.links], "elsewhere");
    foreign.logs("are two");
    let mut namesake = Server::start("A", "tree", &[&first.links]);
    namesake.logs("there are two nodes with the name A");
}

#[test]
fn wrong_arguments_are_named() {
    for (arguments, status, reason) in [
        (&["serve"][..], 2, "--name <NAME>"),
        (&["serve", "--name", "two words"], 2, "`two words` is no name"),
        (&["serve", "--name", "A", "--shape", "star"], 2, "possible values: tree, redundant-tree, mesh"),
        (&["serve", "--name", "A", "--join", "tcp://*:1"], 2, "invalid value 'tcp://*:1' for '--join <URL>'"),
        (&["serve", "--name", "A", "--links", "tcp://127.0.0.1:x"], 2, "invalid value"),
        (
            &["serve", "--name", "A", "--members", "tcp://192.0.2.1:1"],
            1,
            "error: cannot listen on tcp://192.0.2.1:1",
        ),
        (&["join"], 2, "<HOST:PORT>"),
        (&["join", "127.0.0.1:1"], 1, "error: 127.0.0.1:1: "),
    ] {
        let output = rooms(arguments).output().expect("it starts");
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(status), "{arguments:?}: {text}");
        assert!(text.contains(reason), "{arguments:?}: {text}");
    }
}

#[test]
fn a_terminal_is_a_member() {
    use std::io::Write as _;
    let server = Server::start("A", "tree", &[]);
    let mut other = Member::join(&server, "other");
    gather("kitchen", &mut [&mut other]);
    let mut terminal = rooms(&["join", &server.members])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut typed = terminal.stdin.take().expect("it is piped");
    typed.write_all(b"name alice\nenter kitchen\nsay kitchen good morning\n").expect("it reads");
    other.expect("kitchen: alice@A enters");
    other.expect("kitchen: alice@A says good morning");
    drop(typed);
    other.expect("kitchen: alice@A leaves");
    let output = terminal.wait_with_output().expect("it ends");
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(text, "welcome, alice@A\nkitchen: here are alice@A, other@A\nbye\n");
    assert!(output.status.success());
}
