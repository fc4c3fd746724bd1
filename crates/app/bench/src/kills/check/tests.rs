//! A correct run made by hand, and each way in which it may be wrong: a check that found no fault
//! there would be worthless.

use super::{Verdict, judge};
use crate::kills::{Note, Timeline, parse};

/// The grace of these runs.
const GRACE: u64 = 5_000_000;

/// Node 1 is killed at 20 s. Times are in milliseconds.
const NODES: &str = "\
20000 kills 1
22000 restarts 1
30000 whole
60000 ends";

/// Federate 0 stays at node 0 for the whole run.
const STAYS: &str = "\
0 tries 0 1
10 joined 0 1 11
20 ready
30 registered 100
40 discovers 101 12
41 discovers 102 13
100 updates 1
101 updated 1
105 reflects 101 1.1.1
106 reflects 102 2.1.1
200 sends 1
201 sent 1
205 receives 1.1.1
206 receives 2.1.1
9000 updates 2
9001 updated 2
9004 reflects 101 1.1.2
9005 reflects 102 2.1.2
9100 sends 2
9101 sent 2
9105 receives 1.1.2
9106 receives 2.1.2
19999 reflects 102 2.1.3
21000 removes 102
21300 discovers 103 14
21301 discovers 104 15
21400 updates 3
21401 updated 3
21500 sends 3
21501 sent 3
30005 reflects 103 1.2.1
30006 receives 1.2.1
40000 quiet
60000 ends";

/// Federate 1 was at node 1, and its object stays.
const DIVESTS: &str = "\
0 tries 1 1
10 joined 1 1 12
20 ready
30 registered 101
40 discovers 100 11
41 discovers 102 13
100 updates 1
101 updated 1
104 reflects 100 0.1.1
105 reflects 102 2.1.1
200 sends 1
201 sent 1
204 receives 0.1.1
205 receives 2.1.1
9000 updates 2
9001 updated 2
9004 reflects 100 0.1.2
9005 reflects 102 2.1.2
9100 sends 2
9101 sent 2
9104 receives 0.1.2
9105 receives 2.1.2
19998 reflects 102 2.1.3
20005 lost it is gone
20006 tries 1 2
20007 failed refused
20010 tries 0 2
20600 joined 0 2 14
20610 ready
20620 registered 103
20701 discovers 100 11
20702 discovers 102 13
21000 removes 102
21302 discovers 104 15
21405 reflects 100 0.1.3
21505 receives 0.1.3
30000 updates 1
30001 updated 1
30002 sends 1
30003 sent 1
40000 quiet
60000 ends";

/// Federate 2 was at node 1, and its object went with it.
const DELETES: &str = "\
0 tries 1 1
10 joined 1 1 13
20 ready
30 registered 102
40 discovers 100 11
41 discovers 101 12
100 updates 1
101 updated 1
104 reflects 100 0.1.1
105 reflects 101 1.1.1
200 sends 1
201 sent 1
204 receives 0.1.1
205 receives 1.1.1
9000 updates 2
9001 updated 2
9004 reflects 100 0.1.2
9005 reflects 101 1.1.2
9100 sends 2
9101 sent 2
9104 receives 0.1.2
9105 receives 1.1.2
19990 updates 3
20005 lost it is gone
20010 tries 0 2
20600 joined 0 2 15
20610 ready
20620 registered 104
20701 discovers 100 11
20702 discovers 103 14
21405 reflects 100 0.1.3
21505 receives 0.1.3
30005 reflects 103 1.2.1
30006 receives 1.2.1
40000 quiet
60000 ends";

const SOUND: [&str; 4] = [NODES, STAYS, DIVESTS, DELETES];

fn timeline(logs: &[String; 4]) -> Timeline {
    let mut read = logs.iter().map(|text| {
        let mut notes = parse(text).expect("it is a log");
        notes.sort_by_key(|(at, _)| *at);
        notes.into_iter().map(|(at, note)| (at * 1_000, note)).collect::<Vec<(u64, Note)>>()
    });
    let nodes = read.next().expect("there are four");
    Timeline::of(&nodes, &read.collect::<Vec<_>>())
}

/// Judges the correct run with lines of one log replaced; an empty replacement removes the line.
fn changed(log: usize, changes: &[(&str, &str)]) -> Verdict {
    let mut logs = SOUND.map(str::to_owned);
    for (from, to) in changes {
        let lines: Vec<&str> = logs[log].lines().collect();
        assert!(lines.contains(from), "there is no line `{from}`");
        let lines = lines.into_iter().map(|line| if line == *from { *to } else { line });
        logs[log] = lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n");
    }
    judge(&timeline(&logs), GRACE)
}

#[test]
fn nothing_is_wrong_with_a_sound_run() {
    let verdict = changed(0, &[]);
    assert_eq!(verdict.violations, []);
    assert_eq!(verdict.sessions, 5);
    assert_eq!(verdict.delivered, 34);
    assert!(verdict.promised >= 24, "{verdict:?}");
    assert!(verdict.objects >= 12, "{verdict:?}");
}

/// A log, its replaced lines and their replacements, and words of the expected violation.
type Fault<'a> = (usize, &'a [(&'a str, &'a str)], &'a str);

/// Every line is a fault.
#[test]
fn every_fault_is_found() {
    #[rustfmt::skip]
    let faults: &[Fault<'_>] = &[
        // Messages.
        (1, &[("9004 reflects 101 1.1.2", "")], "never got Update 2 of federate 1.1"),
        (1, &[("9105 receives 1.1.2", "")], "never got Interaction 2 of federate 1.1"),
        (1, &[("30005 reflects 103 1.2.1", "")], "never got Update 1 of federate 1.2"),
        (1, &[("30006 receives 1.2.1", "")], "never got Interaction 1 of federate 1.2"),
        (1, &[("30005 reflects 103 1.2.1", "36000 reflects 103 1.2.1")], "took 6.000 s"),
        (1, &[("9004 reflects 101 1.1.2", "9004 reflects 101 1.1.1")], "came after 1"),
        (1, &[("105 reflects 101 1.1.1", "9005 reflects 101 1.1.1")], "came after 2"),
        (1, &[("9005 reflects 102 2.1.2", "")], "what was between is lost"),
        (1, &[("205 receives 1.1.1", "205 receives 1.1.7")], "was not sent before"),
        (1, &[("205 receives 1.1.1", "150 receives 1.1.1")], "was not sent before"),
        (1, &[("205 receives 1.1.1", "205 receives 9.1.1")], "nobody sent"),
        (1, &[("205 receives 1.1.1", "205 receives 0.1.1")], "its own"),
        (2, &[("21505 receives 0.1.3", "21505 receives 1.2.1")], "its own"),
        (2, &[("204 receives 0.1.1", "204 receives 1.2.1")], "its own"),
        (2, &[("20702 discovers 102 13", "20702 discovers 102 13\n20703 receives 1.1.2\n20704 receives 1.1.1")],
            "came after 2"),
        (2, &[("20702 discovers 102 13", "20702 discovers 102 13\n20703 receives 1.1.3")], "was not sent before"),
        (1, &[("105 reflects 101 1.1.1", "105 reflects 102 1.1.1")], "as an update of the object 102"),
        // Objects.
        (1, &[("40 discovers 101 12", "150 discovers 101 12")], "reflects the object 101, which it does not know"),
        (1, &[("21000 removes 102", "")], "still knows the object 102"),
        (1, &[("21000 removes 102", "26000 removes 102")], "removed after 6.000 s"),
        (1, &[("21000 removes 102", "19999 removes 102")], "removed, which is there"),
        (1, &[("41 discovers 102 13", "41 discovers 102 13\n50 discovers 102 13")], "a second time"),
        (1, &[("21300 discovers 103 14", "21300 discovers 103 14\n30000 removes 101")], "removed, which exists"),
        (1, &[("21300 discovers 103 14", "21300 discovers 103 14\n35000 removes 103")], "removed, which exists"),
        (1, &[("21301 discovers 104 15", "")], "never discovered the object 104"),
        (1, &[("21301 discovers 104 15", "27000 discovers 104 15")], "took 6.380 s to discover the object 104"),
        (1, &[("21301 discovers 104 15", "21301 removes 104")], "which it does not know"),
        (2, &[("20701 discovers 100 11", "")], "never discovered the object 100"),
        (2, &[("20701 discovers 100 11", "20701 discovers 100 11\n30000 discovers 101 12")], "after its end"),
        (2, &[("20702 discovers 102 13", "30000 discovers 102 13"), ("21000 removes 102", "31000 removes 102")],
            "after its end"),
        (3, &[("20701 discovers 100 11", "20701 discovers 100 11\n20703 discovers 177 99")], "nobody registered"),
        (1, &[("40 discovers 101 12", "40 discovers 101 12\n41 discovers 178 0\n50 removes 178")], "nobody registered"),
        // Sessions.
        (1, &[("40000 quiet", "40000 lost resigned")], "which is there, lost its session"),
        (1, &[("40000 quiet", "40000 refused NotConnected")], "was refused: NotConnected"),
        (1, &[("40000 quiet", "40000 lost resigned")], "found no node any more"),
        (2, &[("20005 lost it is gone", "19990 lost resigned")], "before that was killed"),
        (2, &[("20005 lost it is gone", ""), ("20006 tries 1 2", ""), ("20007 failed refused", "")], "never learned"),
        (3, &[("20600 joined 0 2 15", "26000 joined 0 2 15"), ("20610 ready", "26001 ready"),
            ("20620 registered 104", "26002 registered 104"),
            ("20701 discovers 100 11", "26003 discovers 100 11"), ("20702 discovers 103 14", "26004 discovers 103 14"),
            ("21405 reflects 100 0.1.3", "26005 reflects 100 0.1.3"), ("21505 receives 0.1.3", "26006 receives 0.1.3")],
            "was without a session for 5.995 s"),
        (3, &[("20620 registered 104", "")], "never got as far as to register"),
        (3, &[("20620 registered 104", "27000 registered 104")], "took 6.400 s to register"),
        (2, &[("20007 failed refused", "20007 failed refused\n20008 tries 0 2\n20009 failed not within 10 s")],
            "was not taken in by node 0, which was up"),
        (3, &[("60000 ends", "")], "has no end"),
        (3, &[("20005 lost it is gone", "20005 lost it is gone\n20006 receives 0.1.3")], "after its end"),
        // Errors within one log.
        (3, &[("9000 updates 2", "9000 updates 4")], "sends number 4 where 2 is next"),
        (3, &[("9001 updated 2", "9001 updated 3")], "has an answer for number 3"),
    ];
    for (log, changes, words) in faults {
        let verdict = changed(*log, changes);
        let found = verdict.violations.iter().any(|violation| violation.what.contains(words));
        assert!(found, "{changes:?}: no `{words}` in {:#?}", verdict.violations);
    }
}

/// A federate that never joined has no session to judge.
#[test]
fn a_federate_that_never_joins_is_missed() {
    let mut logs = SOUND.map(str::to_owned);
    logs[3] = "0 tries 1 1\n10 failed refused\n60000 ends".to_owned();
    let violations = judge(&timeline(&logs), GRACE).violations;
    assert!(violations.iter().any(|violation| violation.what == "federate 2 found no node any more"));
}

/// Nothing is promised about messages that a node had not passed on when it was killed, or about
/// messages so late that nobody could tell.
#[test]
fn unpromised_messages_may_be_missing() {
    #[rustfmt::skip]
    let harmless: &[(usize, &[(&str, &str)])] = &[
        // The last update of a federate whose node was killed, without its answer.
        (1, &[("19999 reflects 102 2.1.3", "")]),
        // An interaction before anything else of the sender was heard, within the grace of its
        // beginning.
        (1, &[("205 receives 1.1.1", "")]),
        // The second life of a federate discovers the object of its first one, which is not
        // resigned yet, and gets the last message of that life.
        (2, &[("20702 discovers 102 13", "20702 discovers 102 13\n20703 discovers 101 12\n20704 reflects 101 1.1.2")]),
        (2, &[("20702 discovers 102 13", "20702 discovers 102 13\n20703 receives 1.1.2")]),
        // A kill that nobody has had the time to notice.
        (0, &[("60000 ends", "59000 kills 0\n60000 ends")]),
    ];
    for (log, changes) in harmless {
        assert_eq!(changed(*log, changes).violations, [], "{changes:?}");
    }
}

/// An object whose registration was never answered, because its node died, may be known, and is
/// treated like others.
#[test]
fn a_federate_without_news_of_its_object_has_one() {
    let unanswered = |removed: &str| {
        let mut logs = SOUND.map(str::to_owned);
        // Federate 2 registers late; its messages, and the messages of others about its object, are
        // left out.
        logs[3] = logs[3].replace("30 registered 102\n", "");
        for log in &mut logs[1..3] {
            *log = log.replace("41 discovers 102 13", "19990 discovers 102 13");
            let lines = log.lines().filter(|line| !line.contains(" 2.1.") && !line.contains("20702 "));
            *log = lines.collect::<Vec<_>>().join("\n");
        }
        logs[1] = logs[1].replace("21000 removes 102", removed);
        logs[2] = logs[2].replace("21000 removes 102\n", "");
        let violations = judge(&timeline(&logs), GRACE).violations;
        violations.iter().filter(|violation| violation.what.contains("102")).count()
    };
    assert_eq!(unanswered("21000 removes 102"), 0);
    assert!(unanswered("40000 quiet") > 0);
}
